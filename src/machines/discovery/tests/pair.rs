//! Two agents at the ends of a line that loses frames.

use proptest::prelude::*;

use super::*;

/// Flight time of a frame.
const FLIGHT: Duration = Duration::from_micros(5);

/// The line, its two ends, and the frames in flight. Time goes from event to event.
struct Line {
    ends: [Lldp; 2],
    flying: Vec<(Instant, usize, Vec<u8>)>,
    now: Instant,
    /// Lost frames out of every ten.
    lost: [bool; 10],
    sent: usize,
    trace: Vec<(Instant, usize, Vec<u8>)>,
}

impl Line {
    fn new(plans: [&DcbxPlan; 2], lost: [bool; 10]) -> Self {
        let ends = plans.map(|plan| started(Lldp::new(&lldp_plan(plan.mac.0[5]), Some(plan))));
        let (now, trace) = (Instant::ZERO, Vec::new());
        Self { ends, flying: Vec::new(), now, lost, sent: 0, trace }
    }

    /// Delivers the frames that have arrived, and sends those that are due.
    fn step(&mut self) {
        let now = self.now;
        while let Some(at) = self.flying.iter().position(|(due, ..)| *due <= now) {
            let (_, to, frame) = self.flying.remove(at);
            self.ends[to].on_frame(now, &frame);
        }
        for from in 0..2 {
            while let Some(frame) = taken(&mut self.ends[from], now) {
                self.trace.push((now, from, frame.clone()));
                if !self.lost[self.sent % 10] {
                    self.flying.push((now + FLIGHT, 1 - from, frame));
                }
                self.sent += 1;
            }
        }
    }

    fn next(&self) -> Instant {
        let timers = self.ends.iter().map(Lldp::next_deadline);
        timers.chain(self.flying.iter().map(|(due, ..)| *due)).min().unwrap()
    }

    /// Runs up to `end`, polling also at the times of `extra`, which are in order.
    fn run(&mut self, end: Instant, extra: &[Instant]) {
        let mut extra = extra.iter().copied().peekable();
        loop {
            self.step();
            let (now, next) = (self.now, self.next());
            while extra.next_if(|t| *t <= now).is_some() {}
            let at = extra.next_if(|t| *t < next).unwrap_or(next);
            if at > end {
                return;
            }
            assert!(at > self.now || !self.flying.is_empty(), "time stands still at {at:?}");
            self.now = at;
        }
    }

    fn enables(&self) -> [PrioritySet; 2] {
        [0, 1].map(|end: usize| self.ends[end].resolved().unwrap().pfc.unwrap().enable)
    }
}

fn minutes(n: u64) -> Instant {
    at(60_000 * n)
}

/// Losses with at least one frame out of ten delivered.
fn losses() -> impl Strategy<Value = [bool; 10]> {
    any::<[bool; 10]>().prop_filter("all are lost", |lost| lost.contains(&false))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// If at least one end is willing, both get the same priorities, under any losses.
    #[test]
    fn both_ends_come_to_the_same_pfc(
        enables in any::<[u8; 2]>(), willing in any::<[bool; 2]>(), lost in losses(),
        higher in any::<bool>(), swapped in any::<bool>()
    ) {
        let precedence =
            if higher { Precedence::HigherAddress } else { Precedence::LowerAddress };
        let macs = if swapped { [2, 1] } else { [1, 2] };
        let plans = [0, 1].map(|n: usize| DcbxPlan {
            precedence,
            ..dcbx_plan(macs[n], willing[n], enables[n])
        });
        let mut line = Line::new([&plans[0], &plans[1]], [false; 10]);
        line.run(minutes(1), &[]);
        line.lost = lost;
        line.run(minutes(2), &[]);
        // Lost frames may let a neighbour age; a line without losses restores it.
        line.lost = [false; 10];
        line.run(minutes(5), &[]);
        let [a, b] = line.enables();
        if willing == [false; 2] {
            prop_assert_eq!([a, b], enables.map(PrioritySet));
        } else {
            prop_assert_eq!(a, b);
            prop_assert!(enables.contains(&a.0), "one of the two");
        }
        for n in 0..2 {
            if !willing[n] {
                prop_assert_eq!(line.enables()[n], PrioritySet(enables[n]), "not willing");
            }
        }
    }

    /// A change at one end reaches the other over a line that loses frames.
    #[test]
    fn a_change_gets_through_a_line_that_loses_frames(lost in losses(), enable in any::<u8>()) {
        let plans = [dcbx_plan(1, true, 0), dcbx_plan(2, false, 0x08)];
        let mut line = Line::new([&plans[0], &plans[1]], lost);
        line.run(minutes(1), &[]);
        let now = line.now;
        line.ends[1].set_dcbx_pfc_enable(now, PrioritySet(enable));
        line.lost = [false; 10];
        line.run(minutes(3), &[]);
        prop_assert_eq!(line.enables(), [PrioritySet(enable); 2]);
    }

    /// Extra polls change nothing.
    #[test]
    fn polls_in_between_change_nothing(
        lost in losses(), extra in prop::collection::vec(0_u64..240_000_000, 0..200)
    ) {
        let plans = [dcbx_plan(1, true, 0), dcbx_plan(2, true, 0x08)];
        let run = |extra: &[Instant]| {
            let mut line = Line::new([&plans[0], &plans[1]], lost);
            line.run(minutes(4), extra);
            let told = line.ends.each_mut().map(events);
            (line.trace, told, line.ends.map(|end| *end.counters()))
        };
        let mut extra: Vec<_> =
            extra.into_iter().map(|us| Instant::ZERO + Duration::from_micros(us)).collect();
        extra.sort_unstable();
        prop_assert_eq!(run(&[]), run(&extra));
    }
}

#[test]
fn a_line_that_carries_one_way_only_leaves_the_other_end_alone() {
    let plans = [dcbx_plan(1, true, 0), dcbx_plan(2, true, 0x08)];
    let mut line = Line::new([&plans[0], &plans[1]], [true; 10]);
    line.run(minutes(3), &[]);
    assert_eq!(line.enables(), [PrioritySet(0), PrioritySet(0x08)]);
    assert_eq!(line.trace.len(), 14, "every 30 s from either end");
}
