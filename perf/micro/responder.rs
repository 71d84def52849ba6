//! Response time of a worker under full load to a measurement: t3 - t2, by its own stamps.
//!
//! `cargo bench -p sluice-perf --bench responder -- [plain|lossless] [SECONDS] [OPTIONS]`
//!
//! A switch on one CPU has four ports: two `net_null`, whose frames of 64 bytes go from each to the
//! other as fast as it can take them; one of a ring pair; and one that only sends. At the other end
//! of the ring pair, on another CPU, is a station that fills the ring with frames for the port that
//! only sends, and measures the link, by default, one measurement after the other: its requests
//! arrive in bursts of data. Prints one line of JSON: the times in the valid answers, the duration
//! of the measurements without a failure, and the rate of the switch.
//! Options: `--huge` or `--no-huge`; `--cpu N` for the worker and `--asker N` for the station, else
//! the last two; `--quiet`, to let the station measure only.

extern crate perf as sluice;

#[path = "shared/agents.rs"]
mod agents;
#[path = "shared/null.rs"]
mod null;
#[path = "shared/plan.rs"]
mod plan;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use null::{null_port, open, refuse};
use plan::{Pipeline, template};
use sluice::dpdk::{
    DpdkPort, Eal, EalOptions, Mbuf, Memory, Pool, PoolOptions, PortOptions, RingOptions,
    SourcePort, TscClock, ring_pair,
};
use sluice::host::plan::stream::{Limit, Pace, Path, Payload, Sizes, StreamPlan, TemplatePlan};
use sluice::host::{FlowId, Rate, Station, StationPlan, TesterPlan};
use sluice::link::News;
use sluice::runtime::{LossWatch, Mesh, mesh};
use sluice::switch::{StaticEntry, Switch};
use sluice::time::Duration;
use sluice::units::{BitsPerSec, Bytes, Mac, PortId, Priority, Vid};
use sluice::world::World;

/// The world of the product.
struct Real;

impl World for Real {
    type Frame = Mbuf;
    type Port = DpdkPort;
    type Events = LossWatch;
    type Handoff = Mesh<Mbuf>;
}

/// The measured port, and the one that only sends.
const RING: usize = 2;
const SINK: usize = 3;

/// Polls of the worker between two checks of the stop flag.
const POLLS: u32 = 4096;

struct Args {
    pipeline: Pipeline,
    seconds: f64,
    memory: Memory,
    cpus: [usize; 2],
    quiet: bool,
}

/// Results of the station. Times in nanoseconds.
#[derive(Default)]
struct Found {
    turnarounds: Vec<u64>,
    round_trips: Vec<u64>,
    measurements: Vec<u64>,
    failed: u64,
    offered: u64,
}

fn main() {
    let args = arguments();
    let eal = Eal::start(&EalOptions { memory: args.memory, ..EalOptions::default() })
        .unwrap_or_else(|error| refuse(&error.to_string()));
    let clock = TscClock::new();
    let (near, far) =
        ring_pair(&eal, &RingOptions::default()).unwrap_or_else(|error| refuse(&error.to_string()));
    let pool = |name: &str| {
        let options = PoolOptions { name: name.into(), ..PoolOptions::default() };
        Pool::new(&eal, &options).unwrap_or_else(|error| refuse(&error.to_string()))
    };
    let start = |port: DpdkPort<_>, pool: &Pool| {
        let options = PortOptions { clock: Some(clock), ..PortOptions::default() };
        port.start(&options, pool).unwrap_or_else(|error| refuse(&error.to_string()))
    };
    let (switch_pool, station_pool) = (pool("switch"), pool("station"));
    let (near, far) = (start(near, &switch_pool), start(far, &station_pool));
    let mut switch = switch(&eal, &args, near, &switch_pool);
    let mut station = station(SourcePort::new(far, station_pool));
    let stop = AtomicBool::new(false);
    let (rate, found) = thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let _worker = pinned(&eal, args.cpus[0]);
            forward(&mut switch, &clock, &stop)
        });
        let asker = scope.spawn(|| {
            let _worker = pinned(&eal, args.cpus[1]);
            ask(&mut station, &clock, &args)
        });
        let found = asker.join().expect("the station's thread");
        stop.store(true, Ordering::Relaxed);
        (worker.join().expect("the worker's thread"), found)
    });
    show(rate, found);
}

/// Registers this thread and pins it to one CPU.
fn pinned(eal: &Eal, cpu: usize) -> impl Sized {
    if !core_affinity::set_for_current(core_affinity::CoreId { id: cpu }) {
        refuse(&format!("this process may not use CPU {cpu}"));
    }
    eal.register_worker().unwrap_or_else(|error| refuse(&error.to_string()))
}

fn switch(eal: &Eal, args: &Args, ring: DpdkPort, pool: &Pool) -> Switch<Real> {
    let mut plan = plan::plan(4, args.pipeline, 1);
    let port = &mut plan.ports[RING];
    port.agents = Some(agents::responder(port.mac, &port.name));
    let id = |n: usize| PortId::new(n as u16).expect("a small number");
    let vid = Vid::new(1).expect("a small number");
    plan.bridge.statics =
        vec![StaticEntry { vid, mac: Mac(plan::mac(SINK as u8, 0)), port: id(SINK) }];
    let sink = open(eal, "net_null3,size=60,no-rx=1", pool);
    let null = |n| null_port(eal, (n, 1 - n), 1, null::HOT);
    let ports = [null(0), null(1), ring, sink];
    let ports = (0..).map(id).zip(ports).collect();
    let end = mesh(&[0; 4], 1, 1).pop().expect("one worker");
    Switch::new(&plan, ports, end, LossWatch::new(&plan)).expect("a switch")
}

/// A station that fills its link and measures it.
fn station(port: SourcePort) -> Station<SourcePort> {
    let mac = Mac(plan::mac(RING as u8, 0));
    let stream = StreamPlan {
        id: FlowId(1),
        path: Path::Data(Priority::ALL[3]),
        template: TemplatePlan {
            headers: template(RING as u8, SINK as u8, 0)[..46].to_vec(),
            payload: Payload::Zero,
            edits: vec![],
            lengths: vec![],
            checksums: vec![],
            probe_at: None,
            run: 0,
        },
        recording: None,
        sizes: Sizes::Fixed(64),
        pace: Pace { rate: Rate::LineShare(1_000_000), gap: 12, burst: None },
        limit: Limit::default(),
        delay: Duration::ZERO,
        seed: 1,
    };
    let plan = StationPlan {
        shaper_burst: Bytes(131_072),
        backlog: Duration::from_millis(5),
        tester: TesterPlan { streams: vec![stream], ..TesterPlan::default() },
        agents: Some(agents::initiator(mac, "asker")),
        ..StationPlan::new("asker", mac, BitsPerSec::gbps(100))
    };
    Station::new(&plan, port).unwrap_or_else(|error| refuse(&error.to_string()))
}

/// Forwards until told to stop. Returns the data frames per second that it sent.
fn forward(switch: &mut Switch<Real>, clock: &TscClock, stop: &AtomicBool) -> f64 {
    let start = clock.now();
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..POLLS {
            switch.poll(clock.now());
        }
    }
    let snap = switch.snapshot(clock.now());
    let (balance, drops) = (snap.balance(), snap.drops());
    assert!(balance.holds() && drops.total() == 0, "{balance:?} {drops:?}");
    let sent: u64 = snap.ports.iter().map(|p| p.counters.tx_frames - p.counters.originated).sum();
    sent as f64 / clock.now().since(start).as_secs_f64()
}

/// Measures for the given time, and keeps the results.
fn ask(station: &mut Station<SourcePort>, clock: &TscClock, args: &Args) -> Found {
    let mut found = Found::default();
    if !args.quiet {
        station.start_streams(clock.now(), &[FlowId(1)]);
    }
    let end = clock.now() + Duration::from_picos((args.seconds * 1e12) as u64);
    let mut now = clock.now();
    let mut began = now;
    while now < end {
        station.poll(now);
        now = clock.now();
        let Some(agents) = station.agents_mut().filter(|agents| agents.has_news()) else {
            continue;
        };
        while let Some(news) = agents.next_news() {
            match news {
                News::Found(_) => {
                    found.measurements.push(now.since(began).as_nanos());
                    let trips = agents.measurer().and_then(|m| m.round_trips());
                    let trips = trips.expect("what was found");
                    let nanos = |samples: &[Duration]| {
                        samples.iter().map(|d| d.as_nanos()).collect::<Vec<_>>()
                    };
                    found.turnarounds.extend(nanos(trips.turnaround().sorted()));
                    found.round_trips.extend(nanos(trips.round_trip().sorted()));
                    began = now;
                }
                News::Failed(_) => {
                    found.failed += 1;
                    began = now;
                }
                News::Measuring(_)
                | News::Switched { .. }
                | News::Negotiated(_)
                | News::Neighbours
                | News::Surroundings(_)
                | News::Again(_) => {}
            }
        }
    }
    found.offered = station.counters().tx_frames;
    found
}

/// Prints the results as one line of JSON.
fn show(rate: f64, mut found: Found) {
    let spread = |times: &mut Vec<u64>| {
        if times.is_empty() {
            refuse("nothing was measured");
        }
        times.sort_unstable();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        format!(
            "{{\"min\": {}, \"p50\": {}, \"p90\": {}, \"p99\": {}, \"p99.9\": {}, \"max\": {}}}",
            at(0.0),
            at(0.5),
            at(0.9),
            at(0.99),
            at(0.999),
            at(1.0),
        )
    };
    // Upper bounds in steps of a tenth of a microsecond, then doubling.
    let mut histogram: Vec<(u64, usize)> = (1..=20).map(|n| (100 * n, 0)).collect();
    histogram.extend((2..20).map(|n| (1000 << n, 0)));
    for time in &found.turnarounds {
        let at = histogram.iter().position(|(most, _)| time < most).unwrap_or(histogram.len() - 1);
        histogram[at].1 += 1;
    }
    let bars: Vec<_> = histogram
        .iter()
        .filter(|(_, n)| *n > 0)
        .map(|(most, n)| format!("[{most}, {n}]"))
        .collect();
    println!(
        "{{\"answers\": {}, \"turnaround_ns\": {}, \"below_ns\": [{}], \"round_trip_ns\": {}, \
         \"measurements\": {}, \"measurement_ns\": {}, \"failed\": {}, \"offered\": {}, \
         \"frames_per_second\": {rate:.0}}}",
        found.turnarounds.len(),
        spread(&mut found.turnarounds),
        bars.join(", "),
        spread(&mut found.round_trips),
        found.measurements.len(),
        spread(&mut found.measurements),
        found.failed,
        found.offered,
    );
}

fn arguments() -> Args {
    let all: Vec<_> =
        core_affinity::get_core_ids().unwrap_or_default().iter().rev().map(|c| c.id).collect();
    let [worker, asker, ..] = all[..] else { refuse("two CPUs are needed") };
    let mut args = Args {
        pipeline: Pipeline::Plain,
        seconds: 2.0,
        memory: Memory::Auto,
        cpus: [worker, asker],
        quiet: false,
    };
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    while let Some(word) = words.next() {
        let mut cpu = || words.next().and_then(|n| n.parse().ok());
        match word.as_str() {
            "plain" => args.pipeline = Pipeline::Plain,
            "lossless" => args.pipeline = Pipeline::Lossless,
            "--huge" => args.memory = Memory::Hugepages,
            "--no-huge" => args.memory = Memory::NoHuge,
            "--cpu" => args.cpus[0] = cpu().unwrap_or_else(|| refuse("--cpu takes a number")),
            "--asker" => args.cpus[1] = cpu().unwrap_or_else(|| refuse("--asker takes a number")),
            "--quiet" => args.quiet = true,
            other => args.seconds = other.parse().unwrap_or_else(|_| refuse(other)),
        }
    }
    args
}
