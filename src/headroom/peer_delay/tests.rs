use super::*;

const US: Mac = Mac([2, 0, 0, 0, 0, 1]);
const THEM: Mac = Mac([2, 0, 0, 0, 0, 2]);
const PLAN: PeerDelayPlan = PeerDelayPlan { rounds: 2, ..PeerDelayPlan::DEFAULT };
const SECOND: Duration = Duration::from_secs(1);

fn ps(n: u64) -> Instant {
    Instant::from_picos(n)
}

fn at(second: u64) -> Instant {
    ps(0) + SECOND.saturating_mul(second)
}

fn port(mac: Mac) -> PeerDelay {
    PeerDelay::new(&PLAN, mac)
}

/// What `of` sends at `now` by a clock that is `offset` ahead.
fn sends(of: &mut PeerDelay, now: Instant, offset: Duration) -> Option<Message> {
    of.take(now, now + offset)
}

#[test]
fn two_steps_between_two_ports_give_the_delay_to_the_picosecond() {
    let (mut us, mut them) = (port(US), port(THEM));
    let offset = Duration::from_picos(123_456_789_123_457);
    let (there, turnaround) = (Duration::from_picos(500_123), Duration::from_picos(777_777));
    us.start(at(1));
    for round in 1..=2 {
        let sent = at(round);
        let request = sends(&mut us, sent, Duration::ZERO).unwrap();
        assert_eq!((request.body, request.sequence), (Body::PdelayReq, round as u16));
        let t2 = sent + there;
        them.on_message(t2, &request, t2 + offset);
        let t3 = t2 + turnaround;
        let response = sends(&mut them, t3, offset).unwrap();
        assert!(response.two_step);
        let follow_up = sends(&mut them, t3, offset).unwrap();
        assert_eq!(sends(&mut them, t3, offset), None);
        let t4 = t3 + there;
        us.on_message(t4, &response, t4);
        us.on_message(t4, &follow_up, t4);
    }
    assert_eq!((us.next_event(), us.next_event()), (Some(Event::Done), None));
    let found = us.estimate().unwrap();
    assert_eq!((found.count(), found.min(), found.max()), (2, there, there));
}
