//! Senders that obey pauses after a delay: the purpose of a lossless group.
//!
//! Each sender sends one frame per step while it is not paused, and receives a pause or resume
//! `delay` steps after the ledger's decision. Headroom is calculated: `delay` frames, the one that
//! triggers XOFF and those behind it. The properties are run on the model too, with and without
//! planted bugs, to prove that they can fail.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::VecDeque;

use super::super::*;
use super::model::{Fault, Model, Outcome};
use super::{G0, lossless, port};
use ground::units::Cells;

/// Interface of both ledgers.
trait Buffer {
    fn admit(&mut self, i: usize, len: u32) -> Outcome;
    fn release(&mut self, i: usize, cells: i64) -> Option<Crossing>;
    /// Returns the occupancy of group 0 of port `i`, and true if its sender should pause.
    fn state(&self, i: usize) -> (i64, bool);
}

impl Buffer for Ledger {
    fn admit(&mut self, i: usize, len: u32) -> Outcome {
        match Self::admit(self, port(i), G0, len) {
            Admission::Refused(why) => Err(why),
            Admission::Admitted { charge, crossed } => Ok((Self::part(charge).2.0.into(), crossed)),
        }
    }

    fn release(&mut self, i: usize, cells: i64) -> Option<Crossing> {
        self.credit(port(i), G0, Cells(u32::try_from(cells).unwrap()))
    }

    fn state(&self, i: usize) -> (i64, bool) {
        self.check();
        let u = self.usage(port(i), G0);
        (i64::from(u.used.0 + u.headroom.0), u.xoff)
    }
}

impl Buffer for Model {
    fn admit(&mut self, i: usize, len: u32) -> Outcome {
        Self::admit(self, super::model::slot(port(i), G0), len)
    }

    fn release(&mut self, i: usize, cells: i64) -> Option<Crossing> {
        Self::release(self, super::model::slot(port(i), G0), cells)
    }

    fn state(&self, i: usize) -> (i64, bool) {
        let g = &self.groups[super::model::slot(port(i), G0)];
        (g.used() + g.headroom, g.xoff)
    }
}

#[derive(Clone, Debug)]
struct Load {
    plan: BufferPlan,
    delay: usize,
    /// Frame lengths, used in turn.
    lens: Vec<u32>,
    /// Number of frames that leave the switch in each step, used in turn.
    leave: Vec<usize>,
}

#[derive(Default)]
struct Sender {
    paused: bool,
    /// Pending pauses and resumes: (step, paused).
    news: VecDeque<(usize, bool)>,
    queue: VecDeque<i64>,
}

fn load() -> impl Strategy<Value = Load> {
    let limit = prop_oneof![
        (0_u32..100).prop_map(|n| SharedLimit::Static(Cells(n))),
        (-4_i8..=8).prop_map(|n| SharedLimit::Dynamic(Alpha::new(n).unwrap())),
        Just(SharedLimit::Unlimited),
    ];
    let sizes = (1_usize..5, 0_u32..20, 0_u32..300, 1_usize..12, 64_u32..300);
    let lens = prop::collection::vec(64_u32..1_500, 1..20);
    let leave = prop::collection::vec(0_usize..5, 1..20);
    let thresholds = (limit, 0_u32..40, 0_u32..40);
    (thresholds, sizes, lens, leave).prop_map(
        |((limit, xon, offset), (ports, reserved, pool, delay, cell), lens, mut leave)| {
            let xon = match limit {
                SharedLimit::Static(n) => xon.min(n.0),
                _ => xon,
            };
            leave.push(1); // Some frames leave, or the test would be empty.
            let longest = 1_500_u32.div_ceil(cell);
            let headroom = longest * u32::try_from(delay).unwrap();
            let group = lossless(reserved, limit, headroom, xon, offset);
            Load { plan: super::switch(cell, ports, pool, group), delay, lens, leave }
        },
    )
}

/// Runs the load for a while, then stops the senders and lets all frames leave.
fn drive(buffer: &mut impl Buffer, load: &Load) -> Result<(), String> {
    const STEPS: usize = 400;
    let mut senders: Vec<Sender> = load.plan.groups.iter().map(|_| Sender::default()).collect();
    let (mut lens, mut next) = (load.lens.iter().cycle(), 0);
    for (step, leave) in (0..STEPS).zip(load.leave.iter().cycle()) {
        for (i, s) in senders.iter_mut().enumerate() {
            while s.news.front().is_some_and(|(at, _)| *at <= step) {
                s.paused = s.news.pop_front().is_some_and(|(_, paused)| paused);
            }
            if s.paused {
                continue;
            }
            let (cells, crossed) = buffer
                .admit(i, *lens.next().unwrap())
                .map_err(|why| format!("step {step}: a frame of sender {i} was lost: {why:?}"))?;
            s.queue.push_back(cells);
            hear(s, crossed, step + load.delay);
        }
        for _ in 0..*leave {
            // The ports take turns; one without frames skips its turn.
            next = (next + 1) % senders.len();
            let s = &mut senders[next];
            if let Some(cells) = s.queue.pop_front() {
                hear(s, buffer.release(next, cells), step + load.delay);
            }
        }
    }
    for (i, s) in senders.iter_mut().enumerate() {
        while let Some(cells) = s.queue.pop_front() {
            hear(s, buffer.release(i, cells), STEPS);
        }
        let last = s.news.back().map_or(s.paused, |(_, paused)| *paused);
        if buffer.state(i) != (0, false) || last {
            return Err(format!("sender {i} is left at {:?}, paused {last}", buffer.state(i)));
        }
    }
    Ok(())
}

fn hear(s: &mut Sender, crossed: Option<Crossing>, at: usize) {
    if let Some(c) = crossed {
        s.news.push_back((at, c == Crossing::Xoff));
    }
}

proptest! {
    /// With headroom for the data in flight, no frame of a lossless group is ever refused, and
    /// every pause ends when the switch has drained.
    #[test]
    fn a_lossless_group_loses_nothing_and_resumes(load in load()) {
        let mut ledger = Ledger::new(&load.plan).unwrap();
        drive(&mut ledger, &load).map_err(TestCaseError::fail)?;
    }

    /// One cell less than calculated is too little under a continuous flow of frames of maximum
    /// length.
    #[test]
    fn the_headroom_arithmetic_is_tight(delay in 1_usize..12, cell in 64_u32..300) {
        let longest = 1_500_u32.div_ceil(cell);
        let headroom = longest * u32::try_from(delay).unwrap();
        for (size, lost) in [(headroom, false), (headroom - 1, true)] {
            let group = lossless(0, SharedLimit::Static(Cells(longest + 1)), size, 0, 0);
            let plan = super::switch(cell, 1, 1_000, group);
            let load = Load { plan, delay, lens: vec![1_500], leave: vec![0] };
            let result = drive(&mut Ledger::new(&load.plan).unwrap(), &load);
            prop_assert_eq!(result.is_err(), lost, "{:?}", result);
        }
    }
}

/// Bugs that lose frames or leave a sender paused are found by these properties alone.
#[test]
fn the_properties_catch_planted_bugs() {
    let sees = |fault| {
        let mut runner = TestRunner::deterministic();
        (0..500).any(|_| {
            let load = load().new_tree(&mut runner).unwrap().current();
            drive(&mut Model::new(&load.plan, fault), &load).is_err()
        })
    };
    assert!(!sees(None), "the model itself is right");
    for fault in [Fault::XonTooEarly, Fault::XonNeedsOffset, Fault::ReserveForgotten] {
        assert!(sees(Some(fault)), "{fault:?} went unseen");
    }
}
