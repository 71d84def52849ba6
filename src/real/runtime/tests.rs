//! Workers on ports in memory: real threads, real rings, no DPDK.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration as StdDuration, Instant as StdInstant};

use super::exchange::slack_cells;
use super::*;
use buffer::{GroupKind, GroupPlan, SharedLimit};
use contracts::frame::{BURST, Burst, Frame};
use contracts::port::{Port, PortCaps};
use contracts::stats::{DropReason, NicCounters};
use contracts::world::World;
use ground::time::{Instant, Total};
use ground::units::*;
use switch::rig::{MemFrame, frame, groups, host, plan, port};
use switch::{Change, Switch, SwitchPlan};

const G3: PriorityGroup = PriorityGroup::ALL[3];

/// State that the test and a port share.
#[derive(Default)]
struct Link {
    to_switch: VecDeque<MemFrame>,
    from_switch: Vec<MemFrame>,
    blocked: bool,
    broken: bool,
}

struct TestPort(Arc<Mutex<Link>>);

impl Port for TestPort {
    type Frame = MemFrame;
    fn rx_burst(&mut self, out: &mut Burst<MemFrame>) {
        let mut link = self.0.lock().unwrap();
        assert!(!link.broken, "the port is broken");
        let n = link.to_switch.len().min(BURST);
        out.extend(link.to_switch.drain(..n));
    }
    fn tx_burst(&mut self, out: &mut Burst<MemFrame>) {
        let mut link = self.0.lock().unwrap();
        if !link.blocked {
            link.from_switch.extend(out.drain(..));
        }
    }
    fn control_frame(&mut self, octets: &[u8]) -> Option<MemFrame> {
        Some(MemFrame::new(octets))
    }
    fn caps(&self) -> &PortCaps {
        &PortCaps { link_rate: None, rx_backlog_max: Bytes(0), tx_committed_max: Bytes(0) }
    }
}

struct Threads;

impl World for Threads {
    type Frame = MemFrame;
    type Port = TestPort;
    type Events = LossWatch;
    type Handoff = Mesh<MemFrame>;
}

/// A running switch whose peers are played by the test.
struct Bench {
    links: Vec<Arc<Mutex<Link>>>,
    workers: Workers,
}

impl Bench {
    fn new(plan: &SwitchPlan, owners: &[usize], ring: usize) -> Self {
        let links: Vec<_> = owners.iter().map(|_| Arc::new(Mutex::new(Link::default()))).collect();
        let workers = owners.iter().max().unwrap() + 1;
        let start_of_time = StdInstant::now();
        let parts = mesh(owners, workers, ring)
            .into_iter()
            .enumerate()
            .map(|(me, handoff)| {
                let mine = (0..owners.len()).filter(|n| owners[*n] == me);
                let ports = mine.map(|n| (port(n as u16), TestPort(Arc::clone(&links[n]))));
                let switch: Switch<Threads> =
                    Switch::new(plan, ports.collect(), handoff, LossWatch::new(plan)).unwrap();
                let clock = move || Instant::ZERO + Total::from(start_of_time.elapsed());
                Part {
                    switch,
                    clock,
                    place: Place { cpu: None, idle: Idle::Yield },
                    waiter: None,
                    poll_gap: None,
                }
            })
            .collect();
        let ports = owners.len();
        let nics: NicReader = Arc::new(move || vec![NicCounters::default(); ports]);
        let workers = start(parts, owners.to_vec(), nics, || Ok(())).unwrap();
        Self { links, workers }
    }

    fn inject(&self, n: usize, octets: &[u8]) {
        self.links[n].lock().unwrap().to_switch.push_back(MemFrame::new(octets));
    }

    /// Waits until all injected frames were received.
    fn settle(&self) {
        let waiting = || self.links.iter().any(|l| !l.lock().unwrap().to_switch.is_empty());
        let start = StdInstant::now();
        while waiting() {
            assert!(start.elapsed() < StdDuration::from_secs(30), "the workers do not take frames");
            std::thread::yield_now();
        }
    }

    fn sent(&self, n: usize) -> Vec<Vec<u8>> {
        let mut link = self.links[n].lock().unwrap();
        link.from_switch.drain(..).map(|f| f.head().to_vec()).collect()
    }

    fn show(&self) -> RunSnapshot {
        let shown = self.workers.controller().snapshot().unwrap();
        assert!(shown.switch.balance().holds(), "{:?}", shown.switch.balance());
        shown
    }

    fn stop(self) -> (Ended, RunSnapshot) {
        let mut ended = self.workers.stop(StdDuration::from_secs(10));
        let snapshot = ended.snapshot.take().unwrap_or_else(|| panic!("{:?}", ended.panics));
        assert!(snapshot.switch.balance().holds(), "{:?}", snapshot.switch.balance());
        assert_eq!(snapshot.switch.given, snapshot.switch.taken);
        (ended, snapshot)
    }
}

/// A plan whose priority 3 is lossless and whose pool is small enough for contention.
fn two_workers_plan() -> SwitchPlan {
    let mut plan = plan(4);
    let burst = 2 * BURST * 3;
    plan.buffer.slack = slack_cells(2, burst, plan.buffer.cells_for(plan.max_frame));
    plan.buffer.total = Cells(plan.buffer.slack.0 + 4 * 200 + 2048);
    plan
}

/// A frame of priority 3 from one host to another that carries a number: in bytes 20 to 23, and in
/// 16 to 19 after its tag was removed.
fn numbered(dst: u8, src: u8, number: u32) -> Vec<u8> {
    let mut f = frame(host(dst), host(src), Some((3, 1)), 60 + number as usize % 200);
    f[20..24].copy_from_slice(&number.to_be_bytes());
    f
}

#[test]
fn two_workers_lose_no_frame_and_keep_every_flow_in_order() {
    let bench = Bench::new(&two_workers_plan(), &[0, 1, 0, 1], 256);
    for n in 0..4 {
        bench.inject(n, &frame(Mac::BROADCAST, host(n as u8), Some((3, 1)), 60));
        bench.settle();
    }
    while bench.links.iter().any(|l| l.lock().unwrap().from_switch.len() < 3) {
        std::thread::yield_now();
    }
    (0..4).for_each(|n| drop(bench.sent(n)));
    // All to all, paced so that the groups never exceed their limit: a sender that obeys PFC loses
    // nothing.
    let rounds = 4_000;
    for number in 0..rounds {
        for src in 0..4u8 {
            let dst = (src + 1 + number as u8 % 3) % 4;
            bench.inject(src.into(), &numbered(dst, src, number));
        }
        if number % 16 == 0 {
            bench.settle();
        }
    }
    bench.settle();
    bench.show();
    let links = bench.links.clone();
    let (ended, run) = bench.stop();
    assert!(ended.drained);
    assert_eq!(run.switch.drops().total(), 0, "{:?}", run.switch.drops());
    assert_eq!(run.lossless_lost.congestion, 0);
    assert_eq!(run.switch.held, 0);
    assert!(run.switch.given > 10_000, "{}", run.switch.given);
    let mut delivered = 0;
    for link in links {
        let mut last = [None; 4];
        for f in &link.lock().unwrap().from_switch {
            let octets = f.head();
            if octets[12..14] != [0x88, 0x08] {
                let src = usize::from(octets[11]);
                let number = u32::from_be_bytes(octets[16..20].try_into().unwrap());
                assert!(last[src].is_none_or(|before| before < number), "out of order");
                last[src] = Some(number);
                delivered += 1;
            }
        }
    }
    assert_eq!(delivered, 4 * rounds);
}

#[test]
fn a_full_ring_is_a_named_drop_and_a_lossless_loss() {
    let bench = Bench::new(&two_workers_plan(), &[0, 1, 0, 1], 1);
    for n in [0, 1] {
        bench.inject(n, &frame(Mac::BROADCAST, host(n as u8), Some((3, 1)), 60));
    }
    for number in 0..2_000 {
        bench.inject(0, &numbered(1, 0, number));
    }
    bench.settle();
    let (_, run) = bench.stop();
    let full = run.switch.drops().get(DropReason::HandoffFull);
    assert!(full > 0);
    assert_eq!(run.lossless_lost.congestion, full);
}

#[test]
fn what_a_port_does_not_take_is_flushed_in_bounded_time() {
    let bench = Bench::new(&two_workers_plan(), &[0, 1, 0, 1], 1024);
    bench.inject(1, &frame(Mac::BROADCAST, host(1), Some((3, 1)), 60));
    bench.settle();
    bench.links[1].lock().unwrap().blocked = true;
    for number in 0..500 {
        bench.inject(0, &numbered(1, 0, number));
        bench.settle();
    }
    let links = bench.links.clone();
    let start = StdInstant::now();
    let ended = bench.workers.stop(StdDuration::from_millis(50));
    assert!(start.elapsed() < StdDuration::from_secs(5));
    let run = ended.snapshot.unwrap().switch;
    assert!(!ended.drained && run.balance().holds());
    assert_eq!(run.held, 0);
    assert!(run.drops().get(DropReason::Flushed) > 200, "{:?}", run.drops());
    // The paused peer does not stay paused: the last pause frame sent to it is a resume.
    let link = links[0].lock().unwrap();
    let last = link.from_switch.iter().rfind(|f| f.head()[12..14] == [0x88, 0x08]);
    let last = last.expect("500 frames are more than the limit");
    assert_eq!(last.head()[18 + 2 * 3..20 + 2 * 3], [0, 0]);
}

#[test]
fn changes_reach_the_workers_that_they_concern() {
    let bench = Bench::new(&two_workers_plan(), &[0, 1, 0, 1], 64);
    let control = bench.workers.controller().clone();
    bench.inject(1, &frame(Mac::BROADCAST, host(1), Some((3, 1)), 60));
    bench.settle();
    // All workers know the address after it was learnt; then the link goes down behind it.
    while bench.show().switch.ports.iter().map(|p| p.counters.tx_frames).sum::<u64>() < 3 {}
    control.apply(Change::Link { port: port(1), up: false, rate: None }).unwrap();
    bench.inject(0, &numbered(1, 0, 1));
    bench.settle();
    let shown = bench.show();
    assert!(!shown.switch.ports[1].up);
    control
        .apply(Change::Link { port: port(1), up: true, rate: Some(BitsPerSec::gbps(1)) })
        .unwrap();
    assert_eq!(bench.show().switch.ports[1].rate_bps, 1_000_000_000);
    control.apply(Change::FlushFdb).unwrap();
    assert_eq!(bench.show().switch.fdb.entries, 0);
    control.apply(Change::ClearCounters).unwrap();
    let cleared = bench.show().switch;
    assert!(cleared.ports.iter().all(|p| p.counters.rx_frames == 0));
    let too_much = Change::Group {
        port: port(0),
        group: G3,
        plan: GroupPlan { reserved: Cells(u32::MAX), ..groups(0)[3] },
    };
    let refusal = control.apply(too_much).unwrap_err();
    assert!(matches!(refusal, OrderError::Refused(_)), "{refusal}");
    let unknown = Change::Link { port: port(9), up: true, rate: None };
    assert!(matches!(control.apply(unknown), Err(OrderError::Refused(_))));
    let (ended, _) = bench.stop();
    assert!(ended.drained);
    assert!(matches!(control.snapshot(), Err(OrderError::Ended(0))));
}

#[test]
fn a_groups_new_headroom_comes_off_the_pool_of_every_worker() {
    let bench = Bench::new(&two_workers_plan(), &[0, 1, 0, 1], 64);
    let group = |headroom| GroupPlan {
        reserved: Cells(0),
        limit: SharedLimit::Unlimited,
        kind: GroupKind::Lossless {
            headroom: Cells(headroom),
            xon: Cells(0),
            xon_offset: Cells(8),
        },
    };
    // 2048 cells are shared. Headroom for port 0 leaves 1024, and 1500 more for port 1 do not fit,
    // which the other worker must know.
    let change = |n, headroom| Change::Group { port: port(n), group: G3, plan: group(headroom) };
    let control = bench.workers.controller();
    control.apply(change(0, 200 + 1024)).unwrap();
    assert!(control.apply(change(1, 200 + 1500)).is_err());
    control.apply(change(1, 200 + 1000)).unwrap();
    let _ = bench.stop();
}

#[test]
fn a_panic_is_reported_and_the_other_workers_end() {
    let bench = Bench::new(&two_workers_plan(), &[0, 1, 0, 1], 64);
    bench.links[3].lock().unwrap().broken = true;
    let start = StdInstant::now();
    while !bench.workers.is_broken() {
        assert!(start.elapsed() < StdDuration::from_secs(10));
        std::thread::yield_now();
    }
    let ended = bench.workers.stop(StdDuration::from_secs(1));
    assert_eq!(ended.panics, [(1, "the port is broken".to_string())]);
    assert!(ended.snapshot.is_none() && !ended.drained);
}

#[test]
fn a_cpu_that_does_not_exist_is_refused_by_name() {
    let none = Vec::<Part<Threads, fn() -> Instant>>::new();
    assert!(start(none, vec![], Arc::new(Vec::new), || Ok(())).is_ok());
    let plan = plan(1);
    let handoff = mesh(&[0], 1, 1).pop().unwrap();
    let ports = vec![(port(0), TestPort(Arc::default()))];
    let switch = Switch::new(&plan, ports, handoff, LossWatch::new(&plan)).unwrap();
    let place = Place { cpu: Some(4095), idle: Idle::Spin };
    let part =
        Part::<Threads, _> { switch, clock: || Instant::ZERO, place, waiter: None, poll_gap: None };
    let Err(error) = start(vec![part], vec![0], Arc::new(Vec::new), || Ok(())) else {
        panic!("no machine has CPU 4095");
    };
    assert!(error.to_string().starts_with("worker 0: CPU 4095 does not exist"), "{error}");
}
