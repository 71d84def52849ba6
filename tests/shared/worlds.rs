//! The same lab in both worlds, and the pauses of each in order.

use std::collections::BTreeMap;

use sluice::dpdk::Eal;
use sluice::lab::real::{self, Happening, RealOptions, RealRun};
use sluice::lab::{Options, Outcome, World, parse, run};
use sluice::sim::{Direction, Network, NodeId, Note, VirtualFrame, Witness};
use sluice::time::Instant;
use sluice::units::{PortId, PrioritySet};
use sluice::wire::mac_control;

use sluice::frame::Frame;

/// Pauses in one world, in order and without their times.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pauses {
    /// By switch, port and group: true for XOFF, false for XON.
    pub crossings: BTreeMap<(NodeId, PortId, u8), Vec<bool>>,
    /// By direction of a link: the priorities that the node at its end is told to pause, at each
    /// change.
    pub told: BTreeMap<Direction, Vec<PrioritySet>>,
    /// By switch and port: the priorities that it may not send there, at each change.
    pub obeyed: BTreeMap<(NodeId, PortId), Vec<PrioritySet>>,
}

/// A lab in both worlds.
pub struct Both {
    pub exact: (Outcome, Pauses),
    pub real: (Outcome, Pauses),
    pub run: RealRun,
}

impl Pauses {
    fn noted(&mut self, node: NodeId, note: &Note) {
        match *note {
            Note::Crossed { port, group, xoff } => {
                self.crossings.entry((node, port, group.get())).or_default().push(xoff);
            }
            Note::PauseObeyed { port, paused } => {
                let states = self.obeyed.entry((node, port)).or_default();
                if states.last() != Some(&paused) {
                    states.push(paused);
                }
            }
            _ => {}
        }
    }

    fn arrived(&mut self, direction: Direction, head: &[u8]) {
        if head.get(12..14) != Some(&[0x88, 0x08]) {
            return;
        }
        let mut octets = [0; mac_control::FRAME_LEN];
        let known = head.len().min(octets.len());
        octets[..known].copy_from_slice(&head[..known]);
        let Ok(mac_control::Repr::Pfc(pfc)) =
            mac_control::Repr::parse(&octets, sluice::units::Mac([0; 6]))
        else {
            panic!("labs of these tests send PFC alone");
        };
        let states = self.told.entry(direction).or_default();
        let mut state = states.last().copied().unwrap_or(PrioritySet::EMPTY);
        for p in pfc.enabled.iter() {
            match pfc.times[p.index()].0 {
                0 => state.remove(p),
                _ => state.insert(p),
            }
        }
        if states.last() != Some(&state) {
            states.push(state);
        }
    }
}

impl Witness for Pauses {
    fn arrived(&mut self, _: Instant, direction: Direction, frame: &VirtualFrame) {
        Self::arrived(self, direction, frame.head());
    }
    fn noted(&mut self, _: Instant, node: NodeId, note: &Note) {
        Self::noted(self, node, note);
    }
}

/// Runs the lab of a text in both worlds.
pub fn both(eal: &Eal, text: &str) -> Both {
    let (plan, _) = parse("lab", text).unwrap_or_else(|e| panic!("{e}"));
    let exact = run(&plan, World::Virtual, Options::default(), |_| {}).unwrap();
    let mut network = Network::new(&plan.network, Pauses::default()).unwrap();
    network.run_until(Instant::ZERO + plan.duration);
    let (in_order, _) = network.finish();

    let ran = real::run(eal, &plan, RealOptions::default(), |_| {}).unwrap();
    let mut pauses = Pauses::default();
    for event in &ran.noted.events {
        match event.what {
            Happening::Noted(note) => pauses.noted(event.node, &note),
            Happening::Arrived { direction, octets } => pauses.arrived(direction, &octets),
        }
    }
    assert_eq!(ran.noted.events_left_off, 0);
    let real = (ran.outcome(), pauses);
    Both { exact: (exact.outcome, in_order), real, run: ran }
}

impl Both {
    /// Asserts all results that must agree for any scheduling: every check passes, every frame of a
    /// lossless flow is delivered, the same number in both worlds, and every pause is ended.
    pub fn agree(&self) {
        for (outcome, pauses) in [&self.exact, &self.real] {
            let world = outcome.world;
            assert!(outcome.done && outcome.is_pass(), "{world}: {:#?}", outcome.checks);
            assert_eq!(outcome.lossless_drops, 0, "{world}");
            for flow in outcome.flows.iter().filter(|flow| flow.lossless) {
                let lost = (flow.loss_frames, flow.pending_frames);
                assert_eq!(lost, (0, 0), "{world}: {flow:?}");
            }
            for (at, crossings) in &pauses.crossings {
                let alternate = (0..).zip(crossings).all(|(n, xoff)| *xoff == (n % 2 == 0));
                assert!(alternate, "{world}: {at:?} {crossings:?}");
                assert_eq!(crossings.len() % 2, 0, "{world}: {at:?} ends paused");
            }
            for (direction, states) in &pauses.told {
                assert_eq!(states.last(), Some(&PrioritySet::EMPTY), "{world}: {direction:?}");
            }
        }
        let [exact, real] = [&self.exact.0, &self.real.0];
        for (exact, real) in exact.flows.iter().zip(&real.flows).filter(|(e, _)| e.lossless) {
            assert_eq!(exact.name, real.name);
            let what = |f: &sluice::lab::FlowOutcome| {
                let delivered = f.transport.map(|t| (t.sender.done, t.receiver.delivered));
                let datagrams = f.transport.is_none().then_some((f.tx_frames, f.rx_frames));
                (delivered, datagrams)
            };
            assert_eq!(what(exact), what(real), "{}", exact.name);
        }
        let what = |o: &Outcome| o.faults.iter().map(|f| f.what.clone()).collect::<Vec<_>>();
        assert_eq!(what(exact), what(real));
    }
}
