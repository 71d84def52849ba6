//! One run of the demo: a switch in one thread, its hosts in another, rings between them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration as StdDuration;

use anyhow::{Context, Result, anyhow};

use super::plan::{Setup, port};
use crate::dpdk::{
    DpdkPort, Eal, Mbuf, Pool, PoolOptions, PortOptions, RingOptions, SourcePort, Started,
    TscClock, ring_pair,
};
use crate::host::{Station, StationSnapshot};
use crate::runtime::{Cores, Disturbance, Leash, Patience, Preemption, Tether};
use crate::stats::SwitchSnapshot;
use crate::switch::Switch;
use crate::time::{Duration, Instant, Total};
use crate::world::{Alone, World};

/// Free frames that each of the two threads caches.
const CACHE: u32 = 64;

/// Period of the progress display.
const LOOK_EVERY: StdDuration = StdDuration::from_millis(50);

/// Longest time without progress of the demo's clocks while its threads have their CPUs.
const PATIENCE: StdDuration = StdDuration::from_secs(60);

/// World of the switch.
pub(super) enum Real {}

impl World for Real {
    type Frame = Mbuf;
    type Port = DpdkPort<Started>;
    type Events = ();
    type Handoff = Alone;
}

/// State shared by the two threads and the progress display.
struct Shared<'a> {
    leash: Leash,
    /// Time for which each thread was preempted.
    preemption: Preemption,
    /// True once the hosts have sent all their frames.
    sent_all: AtomicBool,
    /// True once the switch and the rings to it are empty.
    drained: AtomicBool,
    /// Ends both threads at once.
    abort: AtomicBool,
    /// Set by a signal: the hosts send no more.
    stop: &'a AtomicBool,
    progress: [AtomicU64; 3],
}

/// Progress of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Progress {
    /// Time since the hosts started to send.
    pub(super) elapsed: Duration,
    /// Frames sent by all hosts.
    pub(super) sent: u64,
    /// Frames received by the receiver.
    pub(super) received: u64,
}

/// Result of a run.
pub(super) struct Run {
    /// State of the switch at the end.
    pub(super) switch: SwitchSnapshot,
    /// State of the hosts at the end, the receiver last.
    pub(super) hosts: Vec<StationSnapshot>,
    /// Excluded real time of the thread that was preempted longer.
    pub(super) stalled: Total,
    /// True if a signal ended it. Frames sent before that were still delivered or dropped.
    pub(super) interrupted: bool,
}

/// End of a run.
pub(super) enum Ended {
    /// All frames were delivered or dropped.
    Whole(Run),
    /// The threads were preempted too long, with frames still in flight.
    Starved(Disturbance),
}

/// Creates the mbuf pool for all runs.
pub(super) fn pool(eal: &Eal, setup: &Setup) -> Result<Pool> {
    // Frames in one thread's cache cannot be used by the other.
    let frames = setup.frames_max() + 2 * CACHE * 3 / 2;
    let options = PoolOptions { name: "demo".into(), frames, max_frame: setup.size, cache: CACHE };
    Ok(Pool::new(eal, &options)?)
}

/// Runs switch and hosts until all frames are delivered or dropped. Once `stop` is set, the hosts
/// send no more.
pub(super) fn run(
    eal: &Eal,
    pool: &Pool,
    setup: &Setup,
    pfc: bool,
    (cores, stop): (&Cores, &AtomicBool),
    mut watch: impl FnMut(Progress),
) -> Result<Ended> {
    let (mut switch, mut hosts) = build(eal, pool, setup, pfc)?;
    let shared = Shared {
        leash: Leash::new(2, setup.leash()),
        sent_all: AtomicBool::new(false),
        drained: AtomicBool::new(false),
        abort: AtomicBool::new(false),
        stop,
        preemption: Preemption::new(2),
        progress: Default::default(),
    };
    let clock = TscClock::new();
    let mut patience = Patience::new(&shared.preemption, PATIENCE);
    let (switch_end, hosts_end) = thread::scope(|s| {
        let (shared, clock) = (&shared, &clock);
        let real = clock.now();
        let side = |n: usize| shared.leash.tether(n, real);
        let (at_switch, at_hosts) = (side(0), side(1));
        let switch = &mut switch;
        let switch = s.spawn(move || -> Result<_> {
            let _worker = eal.register_worker()?;
            cores.pin(0);
            Ok(run_switch(switch, at_switch, clock, shared, cores))
        });
        let hosts = &mut hosts;
        let hosts = s.spawn(move || -> Result<_> {
            let _worker = eal.register_worker()?;
            cores.pin(1);
            Ok(run_hosts(hosts, at_hosts, clock, shared, cores))
        });
        let mut reached = Instant::ZERO;
        while !(switch.is_finished() && hosts.is_finished()) {
            thread::sleep(LOOK_EVERY);
            watch(shared.look());
            // One thread alone would wait for the other forever.
            let alone = switch.is_finished() != hosts.is_finished() && !shared.is_drained();
            let at = shared.leash.polled();
            if at > reached {
                reached = at;
                patience.renew();
            }
            if alone || patience.is_over() {
                shared.abort.store(true, Ordering::Relaxed);
            }
        }
        (join(switch.join()), join(hosts.join()))
    });
    watch(shared.look());
    let ((snapshot, switch_stalled), (stations, hosts_stalled)) = (switch_end?, hosts_end?);
    if shared.abort.load(Ordering::Relaxed) {
        let stuck = || anyhow!("the demo's time did not go on for {} s", PATIENCE.as_secs());
        return patience.starved().map(Ended::Starved).ok_or_else(stuck);
    }
    let stalled = switch_stalled.max(hosts_stalled);
    let interrupted = stop.load(Ordering::Relaxed);
    Ok(Ended::Whole(Run { switch: snapshot, hosts: stations, stalled, interrupted }))
}

/// Returns a thread's result, with a panic turned into an error.
fn join<T>(result: thread::Result<Result<T>>) -> Result<T> {
    result.unwrap_or_else(|_| Err(anyhow!("a thread of the demo panicked")))
}

type Parts = (Switch<Real>, Vec<Station<SourcePort>>);

/// Creates links, switch and hosts.
fn build(eal: &Eal, pool: &Pool, setup: &Setup, pfc: bool) -> Result<Parts> {
    let options = PortOptions::default();
    let (mut at_switch, mut at_hosts) = (Vec::new(), Vec::new());
    for (n, plan) in (0..).zip(setup.stations(pfc)) {
        let name = format!("{}{n}", if pfc { "on" } else { "off" });
        let (near, far) = ring_pair(eal, &RingOptions { name, entries: setup.ring(), queues: 1 })?;
        at_switch.push((port(n), near.start(&options, pool)?));
        let source = SourcePort::new(far.start(&options, pool)?, pool.clone());
        let host = Station::new(&plan, source)?;
        host.spares().fill();
        at_hosts.push(host);
    }
    let switch = Switch::new(&setup.switch(pfc), at_switch, Alone::default(), ())
        .context("the demo's own switch plan")?;
    Ok((switch, at_hosts))
}

/// Polls the switch until the hosts have sent all frames and it is empty.
fn run_switch(
    switch: &mut Switch<Real>,
    mut clock: Tether<'_>,
    real: &TscClock,
    shared: &Shared<'_>,
    cores: &Cores,
) -> (SwitchSnapshot, Total) {
    let mut gaps = shared.preemption.enter(0, real.now());
    loop {
        // Read before the rings: frames sent before it was set are in them by now.
        let sent_all = shared.sent_all.load(Ordering::Acquire);
        let now = clock.tick(real.now());
        let progressed = switch.poll(now).progressed;
        clock.publish();
        if sent_all && !progressed && switch.held() == 0 || shared.abort.load(Ordering::Relaxed) {
            break;
        }
        gaps.polled(clock.real());
        cores.rest(progressed, clock.waits());
    }
    shared.drained.store(true, Ordering::Release);
    (switch.snapshot(clock.now()), clock.stalled())
}

/// Polls the hosts until they have sent all frames and received all that the switch forwarded.
fn run_hosts(
    hosts: &mut [Station<SourcePort>],
    mut clock: Tether<'_>,
    real: &TscClock,
    shared: &Shared<'_>,
    cores: &Cores,
) -> (Vec<StationSnapshot>, Total) {
    let mut stopped = false;
    let mut gaps = shared.preemption.enter(1, real.now());
    loop {
        let drained = shared.is_drained();
        let mut progressed = false;
        if !stopped && shared.stop.load(Ordering::Relaxed) {
            stopped = true;
            hosts.iter_mut().for_each(Station::stop);
        }
        for host in &mut *hosts {
            progressed |= host.poll(clock.tick(real.now())).progressed;
        }
        clock.publish();
        shared.show(clock.now(), hosts);
        if hosts.iter().all(Station::is_done) {
            shared.sent_all.store(true, Ordering::Release);
        }
        if drained && !progressed || shared.abort.load(Ordering::Relaxed) {
            break;
        }
        gaps.polled(clock.real());
        cores.rest(progressed, clock.waits());
    }
    (hosts.iter().map(|h| h.snapshot(clock.now())).collect(), clock.stalled())
}

impl Shared<'_> {
    fn is_drained(&self) -> bool {
        self.drained.load(Ordering::Acquire)
    }

    /// Publishes the hosts' progress.
    #[inline]
    fn show(&self, now: Instant, hosts: &[Station<SourcePort>]) {
        let sent = hosts.iter().map(|h| h.counters().tx_frames).sum();
        let received = hosts.last().map_or(0, |h| h.counters().rx_frames);
        let elapsed = now.since(super::plan::START).as_picos();
        for (cell, value) in self.progress.iter().zip([elapsed, sent, received]) {
            cell.store(value, Ordering::Relaxed);
        }
    }

    fn look(&self) -> Progress {
        let [elapsed, sent, received] =
            [0, 1, 2].map(|n: usize| self.progress[n].load(Ordering::Relaxed));
        Progress { elapsed: Duration::from_picos(elapsed), sent, received }
    }
}
