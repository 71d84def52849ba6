//! Loss of rate of a worker with 64 ports while all of them measure their links.
//!
//! `cargo bench -p sluice-perf --bench measuring -- plain|lossless SECONDS SLICES`
//!
//! Five equal switches of 64 ports in memory with 32 links between them forward at full rate in
//! turn, SLICES times for SECONDS each. The ports of the first have no link protocols (`none`);
//! those of the second advertise themselves and answer measurements, of which there are none
//! (`idle`); the ports of the others measure by default, one measurement after the other
//! (`measuring`), or with requests 400 to 800 us apart (`spaced`), nearly the lowest rate that 100
//! rounds in 100 ms allow. The fifth has none either (`again`): its ratio to the first says how far
//! apart two equal switches are, as they have other memory, which is more than measurements cost. So
//! each also has a slice in which nothing measures, before the other: the two are of the same memory.
//! Each switch has its own clock, which stands still while the others run.
//!
//! Prints one line of JSON: for every slice the data frames per second, without the time for which
//! the thread waited for its CPU, and the share of that time, at rest (`resting`) too; and the results
//! of the measurements.

extern crate perf as sluice;

#[path = "shared/agents.rs"]
mod agents;
#[path = "shared/memory.rs"]
mod memory;
#[path = "shared/plan.rs"]
mod plan;

use std::time::Instant as Wall;

use memory::{MemFrame, MemPort};
use plan::{Pipeline, template};
use sluice::dpdk::TscClock;
use sluice::frame::Burst;
use sluice::link::{AgentsPlan, News};
use sluice::port::{Port, PortCaps, StampSource, Stamps};
use sluice::runtime::{LossWatch, Mesh, mesh};
use sluice::switch::{Change, StaticEntry, Switch};
use sluice::time::{Duration, Instant};
use sluice::units::{Mac, PortId, Vid};
use sluice::world::World;

const PORTS: u16 = 64;

/// Frames that circulate in each direction of a link.
const BURST: u8 = 32;

const FLOWS: u8 = 16;

/// Polls between two reads of the clock that ends a slice: about 2 ms.
const POLLS: u32 = 16;

/// A port in memory that timestamps frames as a DPDK port does.
struct Timed {
    port: MemPort,
    clock: TscClock,
}

impl Port for Timed {
    type Frame = MemFrame;

    #[inline]
    fn rx_burst(&mut self, out: &mut Burst<MemFrame>) {
        self.port.rx_burst(out);
    }
    #[inline]
    fn tx_burst(&mut self, out: &mut Burst<MemFrame>) {
        self.port.tx_burst(out);
    }
    fn control_frame(&mut self, octets: &[u8]) -> Option<MemFrame> {
        self.port.control_frame(octets)
    }
    fn caps(&self) -> &PortCaps {
        self.port.caps()
    }
    #[inline]
    fn clock(&self, _now: Instant) -> Instant {
        self.clock.now()
    }
    fn stamps(&self) -> Stamps {
        Stamps {
            source: StampSource::Software,
            resolution: self.clock.resolution(),
            uncertainty: Duration::ZERO,
            serializes: false,
        }
    }
}

struct Memory;

impl World for Memory {
    type Frame = MemFrame;
    type Port = Timed;
    type Events = LossWatch;
    type Handoff = Mesh<MemFrame>;
}

/// Rates of data frames, and shares of the time for which the thread waited for its CPU.
#[derive(Default)]
struct Slices {
    rates: Vec<f64>,
    waited: Vec<f64>,
}

/// One of the switches, and its results.
struct Contestant {
    name: &'static str,
    switch: Switch<Memory>,
    clock: TscClock,
    /// Time of this switch, which stands still while others run.
    now: Instant,
    /// Slices in which its ports measure, if they can, and in which they rest.
    busy: Slices,
    resting: Slices,
    /// Measurements that have begun and not ended.
    running: u64,
    /// Time in which its ports measured, and the frames of link protocols in it.
    seconds: f64,
    originated: u64,
    done: u64,
    failed: u64,
}

impl Contestant {
    fn new(
        name: &'static str,
        pipeline: Pipeline,
        clock: TscClock,
        agents: Option<fn(Mac, &str) -> AgentsPlan>,
    ) -> Self {
        let mut plan = plan::plan(PORTS, pipeline, 1);
        for port in &mut plan.ports {
            port.agents = agents.map(|of| of(port.mac, &port.name));
            // The bench itself starts each measurement.
            let measure = port.agents.as_mut().and_then(|agents| agents.measure.as_mut());
            let initiate = measure.and_then(|measure| measure.initiate.as_mut());
            initiate.into_iter().for_each(|initiate| initiate.period = None);
        }
        let id = |n| PortId::new(n).expect("a small number");
        let vid = Vid::new(1).expect("a small number");
        // Static entries prevent flooding: the copies would circulate, too.
        plan.bridge.statics = (0..PORTS)
            .flat_map(|n| (0..FLOWS).map(move |flow| (n, Mac(plan::mac(n as u8, flow)))))
            .map(|(n, mac)| StaticEntry { vid, mac, port: id(n) })
            .collect();
        // The reserved space of every port is more than two ports need.
        plan.buffer.total.0 *= u32::from(PORTS / 2);
        memory::stock(usize::from(PORTS) * (usize::from(BURST) + 16));
        let owners = vec![0; PORTS.into()];
        let end = mesh(&owners, 1, 1).pop().expect("one worker");
        let mut ports = Vec::new();
        for (n, (mut a, mut b)) in
            (0..PORTS as u8).step_by(2).map(|n| (n, MemPort::pair(4 * usize::from(BURST))))
        {
            // Frames sent at one end arrive at the other.
            for (port, from) in [(&mut b, n), (&mut a, n + 1)] {
                let frame = |flow| MemFrame::new(&template(from, from ^ 1, flow % FLOWS));
                let mut frames: Burst<_> = (0..BURST).map_while(frame).collect();
                port.tx_burst(&mut frames);
            }
            ports.extend([a, b].map(|port| Timed { port, clock }));
        }
        let ports = (0..).map(id).zip(ports).collect();
        let switch = Switch::new(&plan, ports, end, LossWatch::new(&plan)).expect("a switch");
        let (busy, resting) = Default::default();
        let (now, running, seconds) = (Instant::ZERO, 0, 0.0);
        let (originated, done, failed) = (0, 0, 0);
        #[rustfmt::skip]
        let mut made = Self {
            name, switch, clock, now, busy, resting, running, seconds, originated, done, failed,
        };
        // A measurement begins as the link comes up.
        made.poll(false);
        made.rest();
        made
    }

    /// Returns true if its ports measure when told to.
    fn measures(&self) -> bool {
        matches!(self.name, "measuring" | "spaced")
    }

    /// Data frames sent since it was made.
    fn sent(&mut self) -> u64 {
        let snap = self.switch.snapshot(self.now);
        assert!(snap.balance().holds() && snap.drops().total() == 0, "{snap:?}");
        snap.ports.iter().map(|p| p.counters.tx_frames - p.counters.originated).sum()
    }

    /// Polls some times. Measurements that end begin again, if they are to `repeat`.
    fn poll(&mut self, repeat: bool) {
        let (base, own) = (self.clock.now(), self.now);
        for _ in 0..POLLS {
            self.now = own + self.clock.now().since(base);
            self.switch.poll(self.now);
        }
        while let Some((port, news)) = self.switch.next_news() {
            match news {
                News::Measuring(_) => {
                    self.running += 1;
                    continue;
                }
                News::Found(_) => self.done += 1,
                News::Failed(_) => self.failed += 1,
                News::Switched { .. }
                | News::Negotiated(_)
                | News::Neighbours
                | News::Surroundings(_)
                | News::Again(_) => continue,
            }
            self.running -= 1;
            if repeat {
                self.measure(port);
            }
        }
    }

    fn measure(&mut self, port: PortId) {
        self.switch.apply(self.now, Change::Measure(port)).expect("its link is up");
    }

    /// Lets running measurements end.
    fn rest(&mut self) {
        while self.running > 0 {
            self.poll(false);
        }
    }

    /// A slice in which its ports rest, and one in which they measure if they can.
    fn slices(&mut self, seconds: f64) {
        self.slice(seconds, false);
        if self.measures() {
            (0..PORTS).for_each(|n| self.measure(PortId::new(n).expect("a small number")));
        }
        let before = self.originated();
        self.seconds += self.slice(seconds, self.measures());
        self.originated += self.originated() - before;
        self.rest();
    }

    /// Returns the time for which the thread had its CPU.
    fn slice(&mut self, seconds: f64, measures: bool) -> f64 {
        let before = self.sent();
        let (start, waited) = (Wall::now(), waited_seconds());
        while start.elapsed().as_secs_f64() < seconds {
            self.poll(measures);
        }
        let took = start.elapsed().as_secs_f64();
        let waited = waited_seconds() - waited;
        let sent = self.sent() - before;
        // Each slice at rest is followed by one that is not.
        let is_second = self.resting.rates.len() > self.busy.rates.len();
        let of = if is_second { &mut self.busy } else { &mut self.resting };
        of.rates.push(sent as f64 / (took - waited));
        of.waited.push(waited / took);
        took - waited
    }

    /// Frames of link protocols sent since it was made.
    fn originated(&mut self) -> u64 {
        let snap = self.switch.snapshot(self.now);
        snap.ports.iter().map(|p| p.counters.originated).sum()
    }
}

/// Time for which this thread has waited for its CPU.
fn waited_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().nth(1).and_then(|n| n.parse::<f64>().ok());
    nanos.unwrap_or(0.0) / 1e9
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let [pipeline, seconds, slices] = args.as_slice() else {
        // `cargo bench` without arguments runs every bench: nothing is measured here.
        println!("usage: measuring plain|lossless SECONDS SLICES");
        return;
    };
    let pipeline = match pipeline.as_str() {
        "plain" => Pipeline::Plain,
        "lossless" => Pipeline::Lossless,
        _ => panic!("plain or lossless"),
    };
    let seconds: f64 = seconds.parse().expect("seconds of a slice");
    let slices: usize = slices.parse().expect("a number of slices");
    let clock = TscClock::new();
    let mut all = [
        Contestant::new("none", pipeline, clock, None),
        Contestant::new("idle", pipeline, clock, Some(agents::responder)),
        Contestant::new("measuring", pipeline, clock, Some(agents::initiator)),
        Contestant::new("spaced", pipeline, clock, Some(agents::spaced)),
        Contestant::new("again", pipeline, clock, None),
    ];
    for one in &mut all {
        one.slices(seconds);
        (one.busy, one.resting) = Default::default();
    }
    for n in 0..slices {
        for turn in 0..all.len() {
            all[(n + turn) % all.len()].slices(seconds);
        }
    }
    let shown = all.map(|one| {
        let per_second = one.originated as f64 / one.seconds;
        let Contestant { name, busy: Slices { rates, waited }, resting, done, failed, .. } = one;
        let Slices { rates: rest, waited: rest_waited } = resting;
        format!(
            "\"{name}\": {{\"rates\": {rates:?}, \"waited\": {waited:?}, \"resting\": {rest:?}, \
             \"resting_waited\": {rest_waited:?}, \"done\": {done}, \"failed\": {failed}, \
             \"agent_frames_per_second\": {per_second:.0}}}"
        )
    });
    println!("{{{}}}", shown.join(", "));
}
