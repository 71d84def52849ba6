//! Speed of a station that generates a stream, and accuracy of its pace.
//!
//! `cargo bench -p sluice-perf --bench generate -- [tx|pace] [SECONDS] [RUNS] [OPTIONS]`
//!
//! `tx` sends frames of 64 bytes (Ethernet, IPv4, UDP, a probe, a port number that changes with
//! each frame, both checksums) as fast as it can; a line per run, of which the first warms up:
//! frames per second, ns per frame. `pace` sends a million of them per second for SECONDS, and
//! prints one line of JSON: the rate's error in parts per million, and the gaps between frames.
//! Options: `--huge` or `--no-huge`; `--device NAME`, else a `net_null` that receives nothing;
//! `--queues N` of it for `tx`, each with a stream and a thread; `--cpu N`, once for each thread;
//! `--serve`, as in `forward.rs`.

extern crate perf as sluice;

#[path = "shared/serve.rs"]
mod serve;
#[path = "shared/streams.rs"]
mod streams;

use std::process::exit;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant as Wall};

use serve::serve;
use sluice::dpdk::{
    DpdkPort, Eal, EalOptions, Memory, Pool, PoolOptions, PortOptions, SourcePort, TscClock,
};
use sluice::host::{Rate, SharedPauses, Station};

/// Polls between two reads of the clock that ends a run.
const POLLS: u32 = 4096;

/// Packet buffers of a queue, the same number as in the testpmd runs.
const POOL: u32 = 8191;

struct Args {
    pace: bool,
    seconds: f64,
    runs: u32,
    memory: Memory,
    device: String,
    queues: u16,
    cpus: Vec<usize>,
    serve: bool,
}

fn main() {
    let args = arguments();
    let eal = Eal::start(&EalOptions { memory: args.memory, ..EalOptions::default() })
        .unwrap_or_else(|error| refuse(&error.to_string()));
    let mut stations = stations(&eal, &args);
    let clock = TscClock::new();
    if args.pace {
        let _worker = worker(&eal, args.cpus.first());
        pace(&mut stations[0], &clock, args.seconds);
        return;
    }
    for station in &mut stations {
        station.start_streams(clock.now(), &[streams::ID]);
    }
    let mut measure = |seconds: f64| send(&mut stations, (&eal, &args, &clock), seconds);
    if args.serve {
        return serve(&mut measure);
    }
    for _ in 0..=args.runs {
        let (frames, time) = measure(args.seconds);
        let (frames, seconds) = (frames as f64, time.as_secs_f64());
        println!("tx {:.2} Mpps {:.2} ns", frames / seconds / 1e6, seconds * 1e9 / frames);
    }
}

/// Makes the calling thread a worker, on a CPU if there is one.
fn worker(eal: &Eal, cpu: Option<&usize>) -> sluice::dpdk::Worker {
    if let Some(id) = cpu.copied() {
        if !core_affinity::set_for_current(core_affinity::CoreId { id }) {
            refuse(&format!("CPU {id} is not for this process"));
        }
    }
    eal.register_worker().unwrap_or_else(|error| refuse(&error.to_string()))
}

/// Sends by all stations for `seconds`, each polled by a thread. The clock is one for all calls: the time of a
/// station does not go back. Returns the number of frames, and the
/// time of the slowest.
fn send(
    stations: &mut [Station<SourcePort>],
    (eal, args, clock): (&Eal, &Args, &TscClock),
    seconds: f64,
) -> (u64, Duration) {
    let together = &Barrier::new(stations.len());
    let poll = |n: usize, station: &mut Station<SourcePort>| {
        let _worker = worker(eal, args.cpus.get(n));
        let before = sent(station);
        together.wait();
        let start = Wall::now();
        while start.elapsed() < Duration::from_secs_f64(seconds) {
            for _ in 0..POLLS {
                station.poll(clock.now());
            }
        }
        (sent(station) - before, start.elapsed())
    };
    if let [station] = stations {
        // Not by a thread that ends with the slice: `perf/run` asks how long it waited for its CPU.
        return poll(0, station);
    }
    let poll = &poll;
    let counts: Vec<_> = thread::scope(|scope| {
        let all = stations.iter_mut().enumerate();
        let threads: Vec<_> = all.map(|(n, one)| scope.spawn(move || poll(n, one))).collect();
        threads.into_iter().map(|one| one.join().expect("it polls")).collect()
    });
    let slowest = counts.iter().map(|(_, time)| *time).max().unwrap_or_default();
    (counts.iter().map(|(frames, _)| frames).sum(), slowest)
}

/// A station with one stream on each queue of the device.
fn stations(eal: &Eal, args: &Args) -> Vec<Station<SourcePort>> {
    let frames = POOL * u32::from(args.queues);
    let options = PoolOptions { name: "stream".into(), frames, ..PoolOptions::default() };
    let opened = Pool::new(eal, &options).and_then(|pool| {
        let port = DpdkPort::open(eal, &args.device)?;
        let queues = port.start_queues(&PortOptions::default(), &pool, args.queues)?;
        Ok(queues.into_iter().map(|queue| SourcePort::new(queue, pool.clone())).collect::<Vec<_>>())
    });
    let queues = opened.unwrap_or_else(|error| refuse(&error.to_string()));
    let rate = if args.pace { Rate::Frames(1_000_000) } else { Rate::LineShare(1_000_000) };
    let pauses = Arc::new(SharedPauses::default());
    let station = |(n, queue)| {
        let made = Station::new(&streams::station(rate), queue);
        let mut station = made.unwrap_or_else(|error| refuse(&error.to_string()));
        if args.queues > 1 {
            station.share_pauses(pauses.clone(), n);
        }
        station
    };
    (0..).zip(queues).map(station).collect()
}

fn sent(station: &Station<SourcePort>) -> u64 {
    station.streams().map(|s| s.frames).sum()
}

/// Sends at the pace for `seconds` and reports its accuracy.
fn pace(station: &mut Station<SourcePort>, clock: &TscClock, seconds: f64) {
    station.start_streams(clock.now(), &[streams::ID]);
    let end = clock.now() + sluice::time::Duration::from_picos((seconds * 1e12) as u64);
    while clock.now() < end {
        station.poll(clock.now());
    }
    let snapshot = station.snapshot(clock.now());
    let s = &snapshot.streams[0];
    let (Some(first), Some(last)) = (s.first_sent, s.last_sent) else { refuse("nothing was sent") };
    let rate = (s.frames - 1) as f64 / last.since(first).as_secs_f64();
    let gap = |percent| s.gaps.percentile(percent).as_nanos();
    println!(
        "{{\"frames\": {}, \"pps\": {rate:.3}, \"error_ppm\": {:.3}, \"gap_ns\": {{\"min\": {}, \
         \"p1\": {}, \"p50\": {}, \"p99\": {}, \"p99.9\": {}, \"max\": {}}}}}",
        s.frames,
        (rate / 1e6 - 1.0) * 1e6,
        s.gaps.min().as_nanos(),
        gap(1.0),
        gap(50.0),
        gap(99.0),
        gap(99.9),
        s.gaps.max().as_nanos(),
    );
}

fn arguments() -> Args {
    let mut args = Args {
        pace: false,
        seconds: 1.0,
        runs: 3,
        memory: Memory::Auto,
        device: "net_null0,size=60,no-rx=1".into(),
        queues: 1,
        cpus: Vec::new(),
        serve: false,
    };
    let mut numbers = Vec::new();
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_else(|| refuse(&format!("{word} takes a value")));
        match word.as_str() {
            "tx" => args.pace = false,
            "pace" => args.pace = true,
            "--huge" => args.memory = Memory::Hugepages,
            "--no-huge" => args.memory = Memory::NoHuge,
            "--device" => args.device = value(),
            "--queues" => {
                args.queues = value().parse().unwrap_or_else(|_| refuse("not a number of queues"));
            }
            "--cpu" => {
                args.cpus.push(value().parse().unwrap_or_else(|_| refuse("not a CPU's number")));
            }
            "--serve" => args.serve = true,
            _ => numbers.push(word.parse().unwrap_or_else(|_| refuse(&format!("what is {word}?")))),
        }
    }
    args.seconds = numbers.first().copied().unwrap_or(args.seconds);
    args.runs = numbers.get(1).map_or(args.runs, |n| *n as u32);
    args
}

fn refuse(why: &str) -> ! {
    eprintln!("{why}");
    exit(2)
}
