//! Time of a worker per frame between two DPDK ports.
//!
//! `cargo bench -p sluice-perf --bench forward -- [plain|lossless|raw|macswap] [SECONDS] [RUNS] [OPTIONS]`
//!
//! prints a line per run: pipeline, frames per second, ns per frame; the first run warms up.
//! Options: `--huge` or `--no-huge`; `--device NAME`, two for each worker, else `net_null`s of 64
//! bytes; `--workers N`; `--cpu N`, one for each worker, else the last ones; `--alone`, to leave
//! out the parts of `sluice switch` for several workers and for the detection of losses; `--serve`,
//! to be driven: every line of the standard input is a number of seconds to measure for, answered
//! by a line of frames and nanoseconds; `--cold N`, for ports that return N frames in turn, which
//! are more than the caches hold, instead of the same burst.
//!
//! `net_null` returns the frames of its pool unchanged, so each port has its own pool, filled with
//! frames for the other port's hosts: the switch learns, looks up and forwards as for any frame. A
//! pool returns the last freed buffer first, so the same burst circulates; the number of flows
//! divides its length, so that the burst contains all flows.

extern crate perf as sluice;

#[path = "shared/null.rs"]
mod null;
#[path = "shared/plan.rs"]
mod plan;
#[path = "shared/serve.rs"]
mod serve;

use std::marker::PhantomData;
use std::sync::mpsc;
use std::time::{Duration, Instant as Wall};

use null::{FLOWS, null_port, open, refuse};
use plan::Pipeline;
use serve::serve;
use sluice::dpdk::{DpdkPort, Eal, EalOptions, Mbuf, Memory, Pool, PoolOptions, TscClock};
use sluice::frame::{Burst, Frame};
use sluice::port::Port;
use sluice::runtime::{LossWatch, Mesh, mesh};
use sluice::switch::{Switch, SwitchPlan};
use sluice::units::PortId;
use sluice::world::{Alone, Events, Handoff, World};

/// The world of the product (a mesh, a watch), or a minimal one.
struct Real<H, E>(PhantomData<(H, E)>);

impl<H: Handoff<Mbuf>, E: Events> World for Real<H, E> {
    type Frame = Mbuf;
    type Port = DpdkPort;
    type Events = E;
    type Handoff = H;
}

/// Polls between two reads of the clock that ends a run: about 2 ms.
const POLLS: u32 = 4096;

/// Frames that a ring between two workers holds.
const RING: usize = 1024;

/// Arguments of the command line.
struct Args {
    /// Pipeline between the ports.
    job: Job,
    seconds: f64,
    runs: u32,
    memory: Memory,
    devices: Vec<String>,
    workers: usize,
    cpus: Vec<usize>,
    cold: Option<u32>,
    alone: bool,
    serve: bool,
}

#[derive(Clone, Copy)]
enum Job {
    Switch(Pipeline),
    /// The ports alone; with `swap`, as testpmd's macswap.
    Raw {
        swap: bool,
    },
}

impl Job {
    const ALL: [Self; 4] = [
        Self::Switch(Pipeline::Plain),
        Self::Switch(Pipeline::Lossless),
        Self::Raw { swap: false },
        Self::Raw { swap: true },
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Switch(Pipeline::Plain) => "plain",
            Self::Switch(Pipeline::Lossless) => "lossless",
            Self::Raw { swap: false } => "raw",
            Self::Raw { swap: true } => "macswap",
        }
    }
}

/// Result of a run.
#[derive(Clone, Copy, Default)]
struct Measured {
    frames: u64,
    time: Duration,
}

/// One worker's pair of ports and the pipeline between them: does some thousand polls, and returns
/// the number of frames sent since it was made.
type Lane = Box<dyn FnMut() -> u64 + Send>;

fn main() {
    let args = arguments();
    let eal = Eal::start(&EalOptions { memory: args.memory, ..EalOptions::default() })
        .unwrap_or_else(|error| refuse(&error.to_string()));
    let (answers, results) = mpsc::channel();
    let mut orders = Vec::new();
    for (lane, &cpu) in lanes(&eal, &args).into_iter().zip(&args.cpus) {
        let (order, wanted) = mpsc::channel();
        let (eal, answers) = (eal.clone(), answers.clone());
        std::thread::spawn(move || worker(&eal, cpu, lane, &wanted, &answers));
        orders.push(order);
    }
    let measure = |seconds: f64| {
        for order in &orders {
            order.send(seconds).expect("the worker runs");
        }
        let mut all = Measured::default();
        for _ in &orders {
            let one: Measured = results.recv().expect("the worker runs");
            all = Measured { frames: all.frames + one.frames, time: all.time.max(one.time) };
        }
        all
    };
    if args.serve {
        return serve(|seconds| {
            let Measured { frames, time } = measure(seconds);
            (frames, time)
        });
    }
    for _ in 0..=args.runs {
        let Measured { frames, time } = measure(args.seconds);
        let (frames, seconds) = (frames as f64, time.as_secs_f64());
        let (mpps, ns) = (frames / seconds / 1e6, seconds * 1e9 / frames);
        println!("{} {mpps:.2} Mpps {ns:.2} ns", args.job.name());
    }
}

/// Thread of a worker: pinned, registered, and idle until it receives the time to run.
fn worker(
    eal: &Eal,
    cpu: usize,
    mut lane: Lane,
    wanted: &mpsc::Receiver<f64>,
    answers: &mpsc::Sender<Measured>,
) {
    if !core_affinity::set_for_current(core_affinity::CoreId { id: cpu }) {
        refuse(&format!("this process may not use CPU {cpu}"));
    }
    let _worker = eal.register_worker().expect("a worker");
    let mut before = 0;
    while let Ok(seconds) = wanted.recv() {
        let start = Wall::now();
        let mut after = before;
        while start.elapsed().as_secs_f64() < seconds {
            after = lane();
        }
        let run = Measured { frames: after - before, time: start.elapsed() };
        before = after;
        if answers.send(run).is_err() {
            return;
        }
    }
}

fn lanes(eal: &Eal, args: &Args) -> Vec<Lane> {
    let pairs = (0..args.workers).map(|w| pair(eal, args, w));
    let pipeline = match args.job {
        Job::Raw { swap } => return pairs.map(|ports| raw(ports, swap)).collect(),
        Job::Switch(pipeline) => pipeline,
    };
    let plan = plan::plan(2 * args.workers as u16, pipeline, args.workers as u16);
    let watch = || LossWatch::new(&plan);
    if args.alone {
        return pairs.map(|ports| switch(&plan, ports, 0, Alone::default(), ())).collect();
    }
    let owners: Vec<_> = (0..2 * args.workers).map(|port| port / 2).collect();
    let ends: Vec<Mesh<Mbuf>> = mesh(&owners, args.workers, RING);
    let parts = pairs.zip(ends).enumerate();
    parts.map(|(w, (ports, end))| switch(&plan, ports, 2 * w as u16, end, watch())).collect()
}

/// The two ports of a worker.
fn pair(eal: &Eal, args: &Args, worker: usize) -> [DpdkPort; 2] {
    if args.devices.is_empty() {
        let first = 2 * worker as u8;
        let frames = args.cold.map_or(null::HOT, |frames| (frames, 0));
        let sides = |side| (first + side, first + 1 - side);
        let port = |side| null_port(eal, sides(side), 1 + worker as u8, frames);
        return [0, 1].map(port);
    }
    let name = format!("frames{worker}");
    let pool = Pool::new(eal, &PoolOptions { name, ..PoolOptions::default() }).expect("a pool");
    [0, 1].map(|side| open(eal, &args.devices[2 * worker + side], &pool))
}

fn switch<H, E>(plan: &SwitchPlan, ports: [DpdkPort; 2], first: u16, handoff: H, events: E) -> Lane
where
    H: Handoff<Mbuf> + Send + 'static,
    E: Events + Send + 'static,
{
    let id = |n| PortId::new(n).expect("a small number");
    let ports = (first..).map(id).zip(ports).collect();
    let mut sw: Switch<Real<H, E>> = Switch::new(plan, ports, handoff, events).expect("a switch");
    let clock = TscClock::new();
    Box::new(move || {
        for _ in 0..POLLS {
            sw.poll(clock.now());
        }
        let snap = sw.snapshot(clock.now());
        // Dropped or flooded frames would be measured too.
        let (balance, drops) = (snap.balance(), snap.drops());
        assert!(balance.holds() && drops.total() == 0, "{balance:?} {drops:?}");
        assert!(snap.fdb.entries >= 2 * u64::from(FLOWS), "{}", snap.fdb.entries);
        snap.ports.iter().map(|p| p.counters.tx_frames).sum()
    })
}

fn raw(mut ports: [DpdkPort; 2], swap: bool) -> Lane {
    let mut burst: Burst<Mbuf> = Burst::new();
    let mut sent = 0;
    Box::new(move || {
        for _ in 0..POLLS {
            for side in 0..2 {
                ports[side].rx_burst(&mut burst);
                sent += burst.len() as u64;
                if swap {
                    for f in &mut burst {
                        let Some(head) = f.head_mut().first_chunk_mut::<12>() else { continue };
                        let old = *head;
                        head[..6].copy_from_slice(&old[6..]);
                        head[6..].copy_from_slice(&old[..6]);
                    }
                }
                ports[1 - side].tx_burst(&mut burst);
                sent -= burst.len() as u64;
                burst.clear();
            }
        }
        sent
    })
}

fn arguments() -> Args {
    let mut args = Args {
        job: Job::Switch(Pipeline::Plain),
        seconds: 1.0,
        runs: 3,
        memory: Memory::Auto,
        devices: Vec::new(),
        workers: 1,
        cpus: Vec::new(),
        cold: None,
        alone: false,
        serve: false,
    };
    let mut numbers = Vec::new();
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_else(|| refuse(&format!("{word} of what?")));
        let number = |text: String| text.parse().unwrap_or_else(|_| refuse(&text));
        match word.as_str() {
            "--huge" => args.memory = Memory::Hugepages,
            "--no-huge" => args.memory = Memory::NoHuge,
            "--device" => args.devices.push(value()),
            "--workers" => args.workers = number(value()),
            "--cpu" => args.cpus.push(number(value())),
            "--cold" => args.cold = Some(number(value()) as u32),
            "--alone" => args.alone = true,
            "--serve" => args.serve = true,
            name => match Job::ALL.into_iter().find(|job| job.name() == name) {
                Some(job) => args.job = job,
                None => numbers.push(name.parse().unwrap_or_else(|_| refuse(name))),
            },
        }
    }
    args.seconds = numbers.first().copied().unwrap_or(args.seconds);
    args.runs = numbers.get(1).map_or(args.runs, |n: &f64| *n as u32);
    if args.cpus.is_empty() {
        let all = core_affinity::get_core_ids().unwrap_or_default();
        args.cpus = all.iter().rev().map(|core| core.id).take(args.workers).collect();
    }
    let fits = args.devices.is_empty() || args.devices.len() == 2 * args.workers;
    if args.cpus.len() != args.workers || args.workers == 0 || !fits {
        refuse("a worker has two devices and one CPU");
    }
    if args.alone && args.workers > 1 {
        refuse("one worker can be alone");
    }
    args
}
