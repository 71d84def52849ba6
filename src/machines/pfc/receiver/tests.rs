use super::*;
use crate::tests::{RATE, at, p};
use proptest::prelude::*;

fn pfc() -> Receiver {
    let obey = PrioritySet(0b0001_1000);
    Receiver::new(FlowControl::Pfc { send: PrioritySet::EMPTY, obey }, RATE)
}

fn vector(entries: &[(u8, u16)]) -> PauseVector {
    let mut v = PauseVector::default();
    for (n, time) in entries {
        v.enabled.insert(p(*n));
        v.time[usize::from(*n)] = Quanta(*time);
    }
    v
}

/// 802.3 31D.3, one step after the other. 100 quanta are 512 ns.
#[test]
fn times_replace_expire_and_resume() {
    let mut r = pfc();
    assert!(r.on_pfc(at(0), &vector(&[(3, 100), (4, 200)])));
    assert_eq!(r.paused(at(511)), PrioritySet(0b0001_1000));
    assert_eq!(r.next_deadline(), at(512));
    assert_eq!(r.paused(at(512)), PrioritySet::of(p(4)), "over at the very instant");
    // A shorter time replaces a longer one, and priorities that are not enabled are unchanged.
    assert!(r.on_pfc(at(600), &vector(&[(4, 10)])));
    assert_eq!(r.next_deadline(), at(600) + Quanta(10).at(RATE));
    assert!(r.on_pfc(at(610), &vector(&[(3, 100)])));
    assert_eq!(r.paused(at(620)), PrioritySet(0b0001_1000));
    // 0 resumes, also repeatedly.
    assert!(r.on_pfc(at(630), &vector(&[(3, 0), (4, 0)])));
    assert!(r.on_pfc(at(631), &vector(&[(3, 0)])));
    assert_eq!((r.paused(at(631)), r.next_deadline()), (PrioritySet::EMPTY, Instant::NEVER));
    assert_eq!(r.paused_time(at(900), p(3)), Duration::from_nanos(512 + 20));
    assert_eq!((r.transitions(p(3)), r.transitions(p(4))), (2, 1));
}

#[test]
fn times_of_bits_that_are_off_mean_nothing() {
    let mut r = pfc();
    let mut v = vector(&[(3, 100)]);
    v.time = [Quanta::MAX; PRIORITIES];
    v.time[3] = Quanta(100);
    assert!(r.on_pfc(at(0), &v));
    assert_eq!(r.paused(at(0)), PrioritySet::of(p(3)));
}

#[test]
fn disabled_priorities_and_modes_are_not_obeyed() {
    let mut r = pfc();
    assert!(r.on_pfc(at(0), &vector(&[(0, 100), (7, 100)])));
    assert_eq!(r.paused(at(0)), PrioritySet::EMPTY);
    assert!(!r.on_pause(at(0), Quanta(100)), "PAUSE never together with PFC");
    let nothing = FlowControl::Pfc { send: PrioritySet::ALL, obey: PrioritySet::EMPTY };
    let sends = FlowControl::Pause { send: true, obey: false };
    for mode in [FlowControl::Off, nothing, sends] {
        let mut r = Receiver::new(mode, RATE);
        assert!(!r.on_pfc(at(0), &vector(&[(3, 100)])) && !r.on_pause(at(0), Quanta(100)));
        assert_eq!(r.paused(at(0)), PrioritySet::EMPTY);
    }
}

#[test]
fn pause_stops_every_priority() {
    let mut r = Receiver::new(FlowControl::Pause { send: false, obey: true }, RATE);
    assert!(r.on_pause(at(0), Quanta(100)));
    assert_eq!((r.paused(at(511)), r.next_deadline()), (PrioritySet::ALL, at(512)));
    assert_eq!(r.paused(at(512)), PrioritySet::EMPTY);
    assert!(!r.on_pfc(at(600), &vector(&[(3, 100)])));
}

#[test]
fn a_running_pause_keeps_its_quanta_at_another_rate() {
    let mut r = pfc();
    r.on_pfc(at(0), &vector(&[(3, 100)]));
    r.set_rate(at(256), BitsPerSec::gbps(25));
    assert_eq!(r.next_deadline(), at(256 + 4 * 256));
    r.on_pfc(at(300), &vector(&[(3, 1)]));
    assert_eq!(r.next_deadline(), at(300) + Duration::from_picos(20_480));
}

#[test]
fn a_link_that_goes_down_ends_all_pauses() {
    let mut r = pfc();
    r.on_pfc(at(0), &vector(&[(3, 100), (4, 1)]));
    r.clear(at(100));
    assert_eq!((r.paused(at(100)), r.next_deadline()), (PrioritySet::EMPTY, Instant::NEVER));
    assert_eq!(r.paused_time(at(900), p(3)), Duration::from_nanos(100));
    assert_eq!(r.paused_time(at(900), p(4)), Quanta(1).at(RATE), "it had run out before");
}

/// 100 quanta are 512 ns.
#[test]
fn a_delayed_pause_is_obeyed_late_and_ends_in_time() {
    let mut r = pfc().with_delay(Quanta(100));
    assert!(r.on_pfc(at(0), &vector(&[(3, 300), (4, 100)])));
    assert_eq!((r.paused(at(511)), r.next_deadline()), (PrioritySet::EMPTY, at(512)));
    // Priority 4 runs out at the start of its pause.
    assert_eq!((r.paused(at(512)), r.next_deadline()), (PrioritySet::of(p(3)), at(1536)));
    // An extension does not interrupt a pause, and a resume takes effect at once.
    r.on_pfc(at(1000), &vector(&[(3, 300)]));
    assert_eq!((r.paused(at(1600)), r.next_deadline()), (PrioritySet::of(p(3)), at(2536)));
    r.on_pfc(at(2000), &vector(&[(3, 0)]));
    assert_eq!((r.paused(at(2000)), r.next_deadline()), (PrioritySet::EMPTY, Instant::NEVER));
    assert_eq!(r.paused_time(at(9000), p(3)), Duration::from_nanos(2000 - 512));
    assert_eq!((r.transitions(p(3)), r.transitions(p(4))), (1, 0));
    // A pause that is resumed early has no effect; the next has a delay again.
    r.on_pfc(at(3000), &vector(&[(3, 300)]));
    r.on_pfc(at(3400), &vector(&[(3, 0)]));
    r.on_pfc(at(3500), &vector(&[(3, 300)]));
    assert_eq!((r.paused(at(4011)), r.next_deadline()), (PrioritySet::EMPTY, at(4012)));
    assert_eq!(r.paused_time(at(4112), p(3)), Duration::from_nanos(2000 - 512 + 100), "unpolled");
}

#[test]
fn what_is_left_of_a_delay_keeps_its_quanta_too() {
    let mut r = pfc().with_delay(Quanta(100));
    r.on_pfc(at(0), &vector(&[(3, 300)]));
    r.set_rate(at(256), BitsPerSec::gbps(25));
    assert_eq!(r.next_deadline(), at(256 + 4 * 256));
    assert_eq!(r.paused(at(1280)), PrioritySet::of(p(3)));
    assert_eq!(r.next_deadline(), at(256 + 4 * 1280));
    r.clear(at(1280));
    r.on_pfc(at(2000), &vector(&[(3, 300)]));
    r.clear(at(2001));
    assert_eq!((r.paused(at(9000)), r.next_deadline()), (PrioritySet::EMPTY, Instant::NEVER));
}

proptest! {
    /// With a delay, a priority is paused when a pause has been running for that long, and polls do
    /// not change it.
    #[test]
    fn a_delay_takes_the_front_off_every_run(
        frames in prop::collection::vec((0_u64..2_000, 0_u16..300), 1..40),
        polls in prop::collection::vec(0_u64..40_000, 0..60), delay in 0_u16..200,
    ) {
        let new = || pfc().with_delay(Quanta(delay));
        let (mut lazy, mut busy, mut prompt) = (new(), new(), pfc());
        let mut polls = polls;
        polls.sort_unstable();
        let mut polls = polls.into_iter().peekable();
        let (mut now, mut since, mut until, mut runs) = (0, 0, 0, vec![]);
        for (gap, time) in frames {
            now += gap;
            while let Some(t) = polls.next_if(|t| *t < now) {
                busy.paused(at(t));
                let paused = prompt.paused(at(t)).contains(p(3));
                let late = t * 1_000 >= since + u64::from(delay) * 5_120;
                prop_assert_eq!(busy.paused(at(t)).contains(p(3)), paused && late);
            }
            for r in [&mut lazy, &mut busy, &mut prompt] {
                r.on_pfc(at(now), &vector(&[(3, time)]));
            }
            let ps = now * 1_000;
            if ps >= until {
                runs.push(until - since);
                since = ps;
            }
            until = if time == 0 { until.min(ps) } else { ps + u64::from(time) * 5_120 };
            if time == 0 && ps == since {
                until = since;
            }
        }
        runs.push(until - since);
        let end = at(now + 100_000);
        let delay = u64::from(delay) * 5_120;
        let paused: u64 = runs.iter().map(|run| run.saturating_sub(delay)).sum();
        for r in [&mut lazy, &mut busy] {
            prop_assert_eq!(r.paused_time(end, p(3)).as_picos(), paused.into());
            r.paused(end);
            prop_assert_eq!(r.paused_time(end, p(3)).as_picos(), paused.into());
            let obeyed = runs.iter().filter(|run| **run > delay).count() as u64;
            prop_assert_eq!(r.transitions(p(3)), obeyed);
        }
    }

    /// Polls at any other times change neither the pauses nor their counters.
    #[test]
    fn polls_leave_no_trace(
        frames in prop::collection::vec((0_u64..2_000, any::<u8>(), prop::array::uniform8(0_u16..300)), 1..40),
        polls in prop::collection::vec(0_u64..40_000, 0..60),
    ) {
        let obey = PrioritySet(0b0111_1010);
        let mode = FlowControl::Pfc { send: PrioritySet::EMPTY, obey };
        let (mut lazy, mut busy) = (Receiver::new(mode, RATE), Receiver::new(mode, RATE));
        let mut polls = polls;
        polls.sort_unstable();
        let mut polls = polls.into_iter().peekable();
        let (mut now, mut until) = (0, [0_u64; 8]);
        for (gap, enabled, times) in frames {
            now += gap;
            while let Some(t) = polls.next_if(|t| *t < now) {
                busy.paused(at(t));
            }
            let v = PauseVector { enabled: PrioritySet(enabled), time: times.map(Quanta) };
            prop_assert!(lazy.on_pfc(at(now), &v) && busy.on_pfc(at(now), &v));
            for q in Priority::ALL {
                if obey.contains(q) && v.enabled.contains(q) {
                    until[q.index()] = now * 1_000 + u64::from(times[q.index()]) * 5_120;
                }
                let expected = until[q.index()] > now * 1_000;
                prop_assert_eq!(busy.paused(at(now)).contains(q), expected);
            }
        }
        let end = at(now + 100_000);
        for q in Priority::ALL {
            prop_assert_eq!(lazy.paused_time(end, q), busy.paused_time(end, q));
            prop_assert_eq!(lazy.transitions(q), busy.transitions(q));
        }
    }
}

#[test]
fn pauses_of_priorities_that_lose_pfc_end_and_others_go_on() {
    let mut r = pfc();
    assert!(r.on_pfc(at(0), &vector(&[(3, 100), (4, 200)])));
    let obey = PrioritySet(0b0011_0000);
    let mode = FlowControl::Pfc { send: PrioritySet::EMPTY, obey };
    r.set_mode(at(100), mode);
    assert_eq!((r.mode(), r.paused(at(100))), (mode, PrioritySet::of(p(4))));
    assert_eq!(r.paused_time(at(900), p(3)), Duration::from_nanos(100));
    assert!(r.on_pfc(at(110), &vector(&[(3, 100), (5, 100)])));
    assert_eq!(r.paused(at(120)), PrioritySet(0b0011_0000));
    r.set_mode(at(130), FlowControl::Off);
    assert_eq!((r.paused(at(130)), r.next_deadline()), (PrioritySet::EMPTY, Instant::NEVER));
}

/// A thread that was preempted handles a frame at the time before that, and dates it later.
#[test]
fn a_pause_with_a_later_date_counts_once_even_if_it_seems_over() {
    for late in [400, 512, 700, 100_000] {
        let mut r = pfc();
        let pause = vector(&[(3, 100), (4, 0)]);
        assert!(r.on_pfc(at(0), &pause));
        r.redate(at(late), &pause);
        assert_eq!(r.paused(at(late + 511)), PrioritySet::of(p(3)));
        assert_eq!(r.paused(at(late + 512)), PrioritySet::EMPTY);
        assert_eq!(r.transitions(p(3)), 1, "dated {late} ns later");
        assert_eq!(r.paused_time(at(200_000), p(3)), Duration::from_nanos(late + 512));
    }
    // A pause that ended for another reason does not start anew.
    let mut r = pfc();
    assert!(r.on_pfc(at(0), &vector(&[(3, 100)])) && r.on_pfc(at(1), &vector(&[(3, 0)])));
    r.redate(at(2), &vector(&[(3, 100)]));
    assert_eq!((r.paused(at(3)), r.transitions(p(3))), (PrioritySet::EMPTY, 1));
}
