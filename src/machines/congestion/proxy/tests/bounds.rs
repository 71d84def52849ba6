//! Messages that are forged, repeated, or too frequent.

use proptest::prelude::*;

use super::*;
use ground::time::Total;

/// Returns the paused time of one priority, as its host counts it, at every step of a storm.
fn storm(
    policy: PausePolicy,
    messages: impl Iterator<Item = (Duration, Message)>,
) -> (Proxy, Vec<(Instant, Total)>, u64) {
    let mut proxy = Proxy::new(&ProxyPlan { policy, ..plan(RATE) }, 1);
    let (mut host, mut now, mut frames) = (receiver(RATE), us(1), 0);
    let mut paused = vec![(now, Total::ZERO)];
    for (gap, message) in messages {
        let next = now + gap;
        while proxy.next_deadline(HOST) < next {
            let at = proxy.next_deadline(HOST).max(now);
            frames += u64::from(send(&mut proxy, at, HOST, &mut host).is_some());
        }
        now = next;
        proxy.on_message(now, &message);
        frames += u64::from(send(&mut proxy, now, HOST, &mut host).is_some());
        host.paused(now);
        paused.push((now, host.paused_time(now, P3)));
    }
    (proxy, paused, frames)
}

#[test]
fn a_message_repeated_for_ever_pauses_for_the_policys_share() {
    let policy = PausePolicy::standard();
    let each = (Duration::from_micros(20), message(Duration::from_secs(3_600)));
    let (proxy, paused, _) = storm(policy, std::iter::repeat_n(each, 20_000));
    let (end, paused) = *paused.last().unwrap();
    let most = policy.credit + end.since(Instant::ZERO).div(4).saturating_mul(3);
    assert!(paused <= most + Duration::from_micros(1), "{paused} of {most}");
    // It is also used: the bound is not met by refusing all messages.
    assert!(paused >= most.div(100).saturating_mul(99), "{paused} of {most}");
    let counters = proxy.counters(HOST);
    assert_eq!(counters.cut_to_longest, counters.accepted);
    assert!(counters.cut_to_credit > 10_000);
}

#[test]
fn a_flood_is_cut_to_the_policys_rate() {
    let policy = PausePolicy::standard();
    // A message each 100 ns for 10 ms: 64 at once, then one per 10 us.
    let each = (Duration::from_nanos(100), message(Duration::from_nanos(50)));
    let (proxy, _, _) = storm(policy, std::iter::repeat_n(each, 100_000));
    let accepted = proxy.counters(HOST).accepted;
    assert!((1_063..=1_064).contains(&accepted), "{accepted}");
    assert_eq!(proxy.refused(Refusal::TooMany), 100_000 - accepted);
}

#[test]
fn wrong_messages_use_nothing_up() {
    let mut proxy = Proxy::new(&plan(RATE), 1);
    let good = message(Duration::from_micros(10));
    for _ in 0..10_000 {
        proxy.on_message(us(1), &Message { ingress: Some(OTHER), ..good });
        proxy.on_message(us(1), &Message { priority: Priority::MIN, ..good });
        proxy.on_message(us(1), &of_flow(good, ("10.0.1.2", "10.0.9.1")));
    }
    assert_eq!(proxy.on_message(us(1), &good), Outcome::Paused(us(11)));
}

#[test]
fn one_host_and_priority_pays_for_no_other() {
    let policy = PausePolicy { share: 0, ..PausePolicy::standard() };
    let each = (Duration::from_micros(100), message(Duration::from_secs(1)));
    let (mut proxy, paused, _) = storm(policy, std::iter::repeat_n(each, 1_000));
    let now = paused.last().unwrap().0;
    let good = message(Duration::from_micros(10));
    assert_eq!(proxy.on_message(now, &good), Outcome::Refused(Refusal::NoCredit));
    let others =
        [Message { egress: Some(OTHER), ..good }, Message { priority: Priority::ALL[4], ..good }];
    for other in others {
        assert!(matches!(proxy.on_message(now, &other), Outcome::Paused(_)));
    }
}

proptest! {
    #[test]
    fn nothing_pauses_a_host_beyond_the_policy(
        longest in 1_u64..2_000, credit in 1_u64..5, share in 0_u32..=PausePolicy::SHARE_ONE,
        spacing in 1_u64..100, burst in 1_u32..100,
        wild in prop::collection::vec(
            (0_u64..400_000_000, any::<u64>(), any::<u64>(), 0_u8..8, any::<bool>()), 1..150
        ),
    ) {
        let policy = PausePolicy {
            longest: Duration::from_micros(longest),
            credit: Duration::from_micros(longest).saturating_mul(credit),
            share,
            spacing: Duration::from_micros(spacing),
            burst,
        };
        let ports = [Some(FABRIC), Some(HOST), Some(OTHER), Some(SMART), None];
        let sent = wild.len() as u64;
        let messages = wild.into_iter().map(|(gap, pause, way, priority, good)| {
            let pause = Duration::from_picos(pause >> (way >> 58));
            let mut m = message(pause);
            if !good {
                m.ingress = ports[way as usize % 4];
                m.egress = ports[(way >> 8) as usize % 5];
                m.priority = Priority::ALL[usize::from(priority)];
            }
            (Duration::from_picos(gap), m)
        });
        let (proxy, paused, frames) = storm(policy, messages);
        let refused: u64 = Refusal::ALL.iter().map(|&why| proxy.refused(why)).sum();
        let accepted: u64 = [HOST, OTHER].iter().map(|&p| proxy.counters(p).accepted).sum();
        prop_assert_eq!(proxy.forwarded() + refused + accepted, sent);
        let rounding = Quanta(1).at(RATE).saturating_mul(frames + 1);
        for (n, &(from, before)) in paused.iter().enumerate() {
            for &(to, after) in &paused[n..] {
                let span = to.since(from).as_secs_f64() * f64::from(share) / 65_536.0;
                let most = (policy.credit + rounding).as_secs_f64() + span + 1e-12;
                let got = (after - before).as_secs_f64();
                prop_assert!(got <= most, "{got} s of {most} s from {from:?} to {to:?}");
            }
        }
    }
}
