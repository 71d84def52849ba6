//! The meter against numbers calculated by hand, and against a reference that evaluates the whole
//! history for each result.

use proptest::prelude::*;

use super::*;
use contracts::frame::BURST;
use ground::time::{Duration, Total};
use ground::units::Quanta;
use wire::{group, pause, pfc};

const MAC: Mac = Mac([2, 0, 0, 0, 0, 1]);
const P3: Priority = Priority::ALL[3];

fn at(ns: u64) -> Instant {
    Instant::from_picos((ns * 1_000).into())
}

fn ns(n: u64) -> Duration {
    Duration::from_nanos(n)
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Pause(u64),
    Resume,
    Frame,
}

fn events() -> impl Strategy<Value = Vec<(u64, Event)>> {
    let event = prop_oneof![
        3 => (1_u64..30).prop_map(Event::Pause),
        1 => Just(Event::Resume),
        4 => Just(Event::Frame),
    ];
    prop::collection::vec((0_u64..12, event), 0..60).prop_map(|steps| {
        let mut t = 0;
        let dated = steps.into_iter().map(|(dt, event)| {
            t += dt;
            (t, event)
        });
        dated.collect()
    })
}

/// Reference results, each found in the whole history.
struct History<'a>(&'a [(u64, Event)]);

impl History<'_> {
    /// Returns the last pause before event `i`, if no resume followed it.
    fn pause_before(&self, i: usize) -> Option<(usize, u64, u64)> {
        let said = self.0[..i].iter().enumerate().rev();
        match said.into_iter().find(|(_, (_, e))| !matches!(e, Event::Frame)) {
            Some((n, (t, Event::Pause(window)))) => Some((n, *t, *window)),
            _ => None,
        }
    }

    /// Returns the start of the run in progress at event `i`.
    fn run_at(&self, i: usize) -> Option<u64> {
        let (mut n, mut start, window) = self.pause_before(i)?;
        if start + window <= self.0[i].0 {
            return None;
        }
        while let Some((earlier, t, window)) = self.pause_before(n) {
            if t + window <= start {
                break;
            }
            (n, start) = (earlier, t);
        }
        Some(start)
    }

    /// Returns the end of the last run before event `i`, if no frame has come since.
    fn ended_before(&self, i: usize) -> Option<u64> {
        let n = self.0[..i].iter().rposition(|(_, e)| matches!(e, Event::Pause(_)))?;
        let (t, Event::Pause(window)) = self.0[n] else { unreachable!() };
        let resume = (n..i).find(|k| matches!(self.0[*k].1, Event::Resume));
        let (end, from) = match resume {
            Some(k) if self.0[k].0 < t + window => (self.0[k].0, k),
            _ => (t + window, n),
        };
        let seen = self.0[from..i].iter().any(|(t, e)| matches!(e, Event::Frame) && *t >= end);
        (!seen && end <= self.0[i].0).then_some(end)
    }

    fn requested(&self, end: u64) -> u64 {
        let asked = |tick: u64| {
            let i = self.0.partition_point(|(t, _)| *t <= tick);
            self.pause_before(i).is_some_and(|(_, t, window)| t + window > tick)
        };
        (0..end).filter(|tick| asked(*tick)).count() as u64
    }

    fn times(&self, end: u64) -> PauseTimes {
        let mut times = PauseTimes::default();
        let span = Duration::from_picos;
        for (i, (t, event)) in self.0.iter().enumerate() {
            match event {
                Event::Pause(window) => {
                    times.pauses += 1;
                    times.window = Some(span(*window));
                    times.last = Some(Instant::from_picos((*t).into()));
                    times.last_frame = times.last_frame.max(Some(Duration::ZERO));
                    times.runs += u64::from(self.run_at(i).is_none());
                    if let Some((_, before, window)) = self.pause_before(i) {
                        times.gap_max = times.gap_max.max(Some(span(t - before)));
                        times.lapses += u64::from(before + window <= *t);
                        times.uncovered += span(t.saturating_sub(before + window));
                    }
                }
                Event::Resume => times.resumes += 1,
                Event::Frame => {
                    if let Some(start) = self.run_at(i) {
                        times.last_frame = times.last_frame.max(Some(span(t - start)));
                    } else if let Some(end) = self.ended_before(i) {
                        times.first_frame = times.first_frame.max(Some(span(t - end)));
                    }
                }
            }
        }
        times.requested = span(self.requested(end)).into();
        times
    }
}

proptest! {
    #[test]
    fn all_times_are_those_of_the_whole_history(events in events(), beyond in 0_u64..40) {
        let mut meter = PauseMeter::default();
        for (t, event) in &events {
            let now = Instant::from_picos((*t).into());
            match event {
                Event::Pause(window) => meter.on_pause(now, Duration::from_picos(*window), true),
                Event::Resume => meter.on_resume(now, true),
                Event::Frame => {
                    meter.on_frame(now);
                }
            }
        }
        let end = events.last().map_or(0, |(t, _)| *t) + beyond;
        prop_assert_eq!(meter.times(Instant::from_picos(end.into())), History(&events).times(end));
    }

    #[test]
    fn frames_leave_the_hand_in_order_whatever_the_port_takes(
        made in prop::collection::vec(prop::collection::vec(0_u8..4, 0..8), 1..40),
        taken in prop::collection::vec(0_usize..12, 1..40),
    ) {
        let (mut hand, mut model) = (Hand::default(), std::collections::VecDeque::new());
        for (frames, taken) in made.iter().zip(taken.iter().cycle()) {
            for kind in frames.iter().take(BURST - model.len()) {
                let what = match kind {
                    0 => Leaving::Data(P3),
                    1 => Leaving::Data(Priority::MIN),
                    2 => Leaving::Malformed,
                    _ => Leaving::Other,
                };
                hand.push(what, 1);
                model.push_back(what);
            }
            let left = model.len() - (*taken).min(model.len());
            let mut gone = vec![];
            while let Some(what) = hand.next_gone(left) {
                gone.push(what);
            }
            let mut expected: Vec<_> = model.drain(..model.len() - left).collect();
            expected.dedup_by(|a, b| a == b && *a != Leaving::Malformed);
            prop_assert_eq!(gone, expected);
        }
    }
}

#[test]
fn a_storm_with_one_late_frame_is_not_continuous() {
    let mut meter = PauseMeter::default();
    for t in [0, 100, 250, 300] {
        meter.on_pause(at(t), ns(140), true);
    }
    // The third came 10 ns after the second had expired.
    let times = meter.times(at(400));
    assert_eq!((times.gap_max, times.window), (Some(ns(150)), Some(ns(140))));
    assert_eq!((times.lapses, times.uncovered, times.runs), (1, ns(10).into(), 2));
    assert_eq!((times.continuous(), times.requested), (Some(false), ns(390).into()));
    // It requests 40 ns more, and nothing afterwards.
    assert_eq!(meter.times(at(10_000)).requested, ns(430));
    meter.clear();
    meter.on_pause(at(20_000), ns(140), true);
    let times = meter.times(at(20_000));
    assert_eq!((times.continuous(), times.gap_max, times.pauses), (None, None, 5));
    meter.on_pause(at(20_100), ns(140), true);
    assert_eq!(meter.times(at(20_100)).continuous(), Some(true));
}

#[test]
fn a_pause_that_comes_as_the_one_before_ends_is_a_lapse_of_no_length() {
    let mut meter = PauseMeter::default();
    meter.on_pause(at(0), ns(100), true);
    meter.on_pause(at(100), ns(100), true);
    let times = meter.times(at(100));
    assert_eq!((times.lapses, times.uncovered), (1, Total::ZERO));
}

#[test]
fn a_changed_rate_leaves_the_quanta_that_are_left() {
    let mut meter = PauseMeter::default();
    meter.on_pause(at(0), ns(100), true);
    meter.stretch(at(40), BitsPerSec::gbps(100), BitsPerSec::gbps(25));
    assert_eq!(meter.times(at(10_000)).requested, ns(40 + 4 * 60));
    meter.stretch(at(10_000), BitsPerSec::gbps(25), BitsPerSec::gbps(100));
    assert_eq!(meter.times(at(10_000)).requested, ns(280));
}

#[test]
fn control_frames_are_told_apart_by_what_a_port_makes_of_them() {
    let mut repr = pfc::Repr::new(MAC);
    repr.set(P3, Quanta(7));
    let octets = |repr: mac_control::Repr| {
        let mut octets = [0; mac_control::FRAME_LEN];
        repr.emit(&mut octets).unwrap();
        octets
    };
    let good = octets(mac_control::Repr::Pfc(repr));
    let with = |changes: &[(usize, u8)]| {
        let mut octets = good;
        changes.iter().for_each(|(at, octet)| octets[*at] = *octet);
        control_frame(&octets, MAC)
    };
    let mut time = [Quanta(0); PRIORITIES];
    time[3] = Quanta(7);
    let asked = Leaving::Pause(PauseVector { enabled: PrioritySet::of(P3), time });
    assert_eq!(with(&[]), asked);
    // A receiver ignores reserved bits of the vector.
    assert_eq!(with(&[(16, 0xff)]), asked);
    assert_eq!(with(&[(15, 0x02)]), Leaving::Malformed);
    assert_eq!(with(&[(0, 0x02), (1, 0)]), Leaving::Malformed);
    assert_eq!(control_frame(&good[..40], MAC), Leaving::Malformed);
    let tagged = [&good[..12], &[0x81, 0, 0x60, 0], &good[12..]].concat();
    assert_eq!(control_frame(&tagged, MAC), Leaving::Malformed);
    assert_eq!(with(&[(12, 0x08), (13, 0x00)]), Leaving::Other);
    assert_eq!(control_frame(&good[..10], MAC), Leaving::Other);
    for dst in [group::MAC_CONTROL, Mac([2, 0, 0, 0, 0, 9])] {
        let pause = pause::Repr { dst, src: MAC, time: Quanta(9) };
        let asked = PauseVector { enabled: PrioritySet::ALL, time: [Quanta(9); PRIORITIES] };
        let octets = octets(mac_control::Repr::Pause(pause));
        assert_eq!(control_frame(&octets, MAC), Leaving::Pause(asked));
    }
}
