//! Tests of the demo's calculation against the worst schedules of two threads.

use std::cell::Cell;
use std::rc::Rc;

use proptest::prelude::*;

use super::lab::{Ended, Run};
use super::outcome::Outcome;
use super::plan::{LOSSLESS, Setup, port};
use super::text;
use crate::buffer::Ledger;
use crate::host::Station;
use crate::memory::rings::{InMemory, RingPort, ring_pair};
use crate::runtime::{Disturbance, Leash, Tether};
use crate::switch::Switch;
use crate::time::{Duration, Instant};
use crate::units::BitsPerSec;
use crate::verdict::Verdict;
use crate::world::Alone;

/// The demo without threads: the test schedules the polls.
struct Net<'a> {
    switch: Switch<InMemory>,
    hosts: Vec<Station<RingPort>>,
    blind: Vec<Rc<Cell<bool>>>,
    clocks: [Tether<'a>; 2],
    real: Instant,
}

impl<'a> Net<'a> {
    fn new(setup: &Setup, pfc: bool, leash: &'a Leash) -> Self {
        let (mut at_switch, mut hosts, mut blinds) = (vec![], vec![], vec![]);
        for (n, plan) in (0..).zip(setup.stations(pfc)) {
            let (near, far) = ring_pair(setup.ring());
            at_switch.push((port(n), near));
            blinds.push(far.blind.clone());
            hosts.push(Station::new(&plan, far).unwrap());
        }
        let switch =
            Switch::new(&setup.switch(pfc), at_switch, Alone::default(), ()).expect("a good plan");
        let clocks = [0, 1].map(|side| leash.tether(side, Instant::ZERO));
        Self { switch, hosts, blind: blinds, clocks, real: Instant::ZERO }
    }

    fn poll_switch(&mut self) -> bool {
        let now = self.clocks[0].tick(self.real);
        let progressed = self.switch.poll(now).progressed;
        self.clocks[0].publish();
        progressed
    }

    /// Polls all hosts. Those in the mask `blind` read their rings as they were before the switch's
    /// last poll, and send after it.
    fn poll_hosts(&mut self, blind: u8) -> bool {
        let mut progressed = false;
        for (n, host) in self.hosts.iter_mut().enumerate() {
            let now = self.clocks[1].tick(self.real);
            self.blind[n].set(blind & 1 << n != 0);
            progressed |= host.poll(now).progressed;
            self.blind[n].set(false);
        }
        self.clocks[1].publish();
        progressed
    }

    /// Returns dropped frames of the lossless priority, peak headroom of any group, and PFC frames
    /// sent.
    fn result(&mut self) -> (u64, u64, u64) {
        let snapshot = self.switch.snapshot(self.clocks[0].now());
        assert!(snapshot.balance().holds(), "{:?}", snapshot.balance());
        let class = LOSSLESS.index();
        let of = || snapshot.ports.iter().map(|p| &p.counters.priorities[class]);
        (
            of().map(|c| c.dropped).sum(),
            of().map(|c| c.headroom_peak_bytes).max().unwrap(),
            of().map(|c| c.pfc_tx_frames).sum(),
        )
    }
}

fn setup(senders: u16, rate: BitsPerSec, size: u32) -> Setup {
    Setup { senders, rate, size, send_for: Duration::from_secs(3) }
}

/// One thread's turn: the thread, the number of polls, the real time of each, and the hosts that
/// read their rings too early.
type Turn = (bool, u8, u64, u8);

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let poll_ns = prop_oneof![500_u64..5_000, 5_000_u64..50_000, 50_000_u64..5_000_000];
    prop::collection::vec((any::<bool>(), 1_u8..40, poll_ns, any::<u8>()), 100..400)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_schedule_of_the_two_threads_costs_a_lossless_frame(
        senders in 2_u16..=7, size in prop_oneof![Just(74_u32), 75_u32..2000, Just(9216_u32)],
        gbps in 1_u64..=10, turns in turns(),
    ) {
        let setup = setup(senders, BitsPerSec::gbps(gbps), size);
        let leash = Leash::new(2, setup.leash());
        let mut net = Net::new(&setup, true, &leash);
        for (hosts, polls, ns, blind) in turns {
            for n in 0..polls {
                net.real += Duration::from_nanos(ns);
                if hosts {
                    // Only the first poll of a turn can have started before the switch's last.
                    net.poll_hosts(if n == 0 { blind } else { 0 });
                } else {
                    net.poll_switch();
                }
            }
        }
        let (lost, headroom, _) = net.result();
        prop_assert_eq!(lost, 0);
        prop_assert!(headroom <= setup.headroom_bytes());
    }

    #[test]
    fn every_setup_has_plans_that_close(
        senders in 2_u16..=7, size in 74_u32..=9216, mbps in 1_u64..=100_000
    ) {
        let setup = setup(senders, BitsPerSec::new(mbps * 1_000_000).unwrap(), size);
        for pfc in [false, true] {
            let plan = setup.switch(pfc);
            let ledger = Ledger::new(&plan.buffer).unwrap();
            let shared = u64::from(ledger.shared_pool().0) * u64::from(ledger.cell_bytes());
            prop_assert_eq!(shared, setup.shared_bytes(pfc));
            for station in setup.stations(pfc) {
                prop_assert_eq!(station.check(), Ok(()));
            }
        }
    }
}

#[test]
fn a_starved_second_run_keeps_the_results_of_the_first() {
    let mut setup = setup(2, BitsPerSec::gbps(1), 1024);
    setup.send_for = Duration::from_millis(100);
    let leash = Leash::new(2, setup.leash());
    let mut net = Net::new(&setup, false, &leash);
    for _ in 0..20_000 {
        net.real += Duration::from_micros(10);
        net.poll_hosts(0);
        net.poll_switch();
    }
    let now = net.clocks[0].now();
    let off = Run {
        switch: net.switch.snapshot(now),
        hosts: net.hosts.iter().map(|host| host.snapshot(now)).collect(),
        stalled: Duration::ZERO.into(),
        interrupted: false,
    };
    let (preempted, longest) = (Duration::from_secs(61), Duration::ZERO);
    let starved = Ended::Starved(Disturbance { preempted: preempted.into(), longest });
    let outcome = Outcome::new(&setup, false, &off, Some(&starved));
    assert_eq!((outcome.verdict, outcome.interrupted), (Verdict::Inconclusive, false));
    assert!(outcome.runs.len() == 1 && outcome.runs[0].accounted, "{:?}", outcome.runs);
    let (text, json) = (text::text(&outcome, "sluice"), serde_json::to_value(&outcome).unwrap());
    let lost = outcome.runs[0].lossless.lost_frames;
    assert!(lost > 0 && json["runs"][0]["lossless"]["lost_frames"] == lost);
    assert!(text.contains("PASS          PFC off: the overload cost priority 3"), "{text}");
    assert!(text.contains("INCONCLUSIVE  PFC on: "), "{text}");
    assert!(json["disturbance"].as_str().unwrap().contains("61000 ms"), "{json}");
}

#[test]
fn a_demo_that_is_interrupted_before_its_first_frame_passes_no_check() {
    let setup = setup(2, BitsPerSec::gbps(1), 1024);
    let leash = Leash::new(2, setup.leash());
    let mut net = Net::new(&setup, false, &leash);
    let now = net.clocks[0].now();
    let silent = Run {
        switch: net.switch.snapshot(now),
        hosts: net.hosts.iter().map(|host| host.snapshot(now)).collect(),
        stalled: Duration::ZERO.into(),
        interrupted: true,
    };
    let outcome = Outcome::new(&setup, false, &silent, None);
    assert_eq!(outcome.verdict, Verdict::Inconclusive);
    let passed = outcome.checks.iter().find(|check| check.verdict.is_pass());
    assert!(passed.is_none(), "{:?}", passed.map(|check| &check.text));
}

#[test]
fn turns_as_long_as_the_leash_fill_half_the_headroom_and_pause_without_loss() {
    let setup = setup(2, BitsPerSec::gbps(1), 1024);
    for pfc in [false, true] {
        let leash = Leash::new(2, setup.leash());
        let mut net = Net::new(&setup, pfc, &leash);
        for _ in 0..200 {
            for blind in [0xff].into_iter().chain([0; 100]) {
                net.real += Duration::from_micros(50);
                net.poll_hosts(blind);
            }
            for _ in 0..100 {
                net.real += Duration::from_micros(50);
                net.poll_switch();
            }
        }
        let (lost, headroom, pauses) = net.result();
        if pfc {
            assert_eq!(lost, 0);
            assert!(headroom > setup.headroom_bytes() / 3, "{headroom}");
            assert!(pauses > 20, "{pauses}");
        } else {
            assert!(lost > 1000, "{lost}");
            assert_eq!((headroom, pauses), (0, 0));
        }
    }
}
