//! Time of a generator's receiving side per frame: counted by flow, in order, and timed.
//!
//! `cargo bench -p sluice-perf --bench sink -- DEVICE [SECONDS] [RUNS] [OPTIONS]`
//!
//! polls a station on a device that returns the same frames repeatedly, as `net_pcap` does with
//! `infinite_rx=1`: probed frames of `--flows N` flows (256), which `perf/run gen-rx` writes. After
//! reception each frame gets the next sequence number of its flow and a time of sending, as if from
//! a generator over a link with delay. That is work which no generator's receiver does, and it is
//! in the figures.
//!
//! Options: `--huge` or `--no-huge`; `--cpu N`, else the last one; `--raw`, to only receive and
//! free; `--number`, to number and date frames in that loop too; `--serve`, to be driven: every line of the standard input is a number of seconds to
//! measure for, answered by a line of frames and nanoseconds.

extern crate perf as sluice;

#[path = "shared/probed.rs"]
#[allow(dead_code)] // its frames are for ports in memory
mod probed;
#[path = "shared/serve.rs"]
mod serve;

use std::process::exit;
use std::time::Instant as Wall;

use serve::serve;
use sluice::dpdk::{
    DpdkPort, Eal, EalOptions, Mbuf, Memory, Pool, PoolOptions, PortOptions, SourcePort, TscClock,
};
use sluice::frame::{Burst, Frame};
use sluice::host::Station;
use sluice::port::{Port, PortCaps, Source};
use sluice::time::{Duration, Instant};

/// Polls between two reads of the clock that ends a run.
const POLLS: u32 = 4096;

struct Args {
    device: String,
    seconds: f64,
    runs: u32,
    memory: Memory,
    flows: u32,
    cpu: usize,
    raw: bool,
    number: bool,
    serve: bool,
}

/// A port that numbers and timestamps received frames.
struct Numbered {
    port: SourcePort,
    /// Time of the poll, which is later than all stamps.
    now: Instant,
    numbers: Vec<u64>,
    /// State of the generator of random latencies, which vary as on a link.
    chance: u64,
}

impl Port for Numbered {
    type Frame = Mbuf;

    #[inline]
    fn rx_burst(&mut self, out: &mut Burst<Mbuf>) {
        self.port.rx_burst(out);
        for frame in out {
            let head = frame.head_mut();
            let flow = probed::flow(head);
            // The low bits of this generator repeat soon, the high ones do not.
            self.chance = self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let took = Duration::from_picos(2_000_000 + (self.chance >> 46));
            probed::stamp(head, flow, self.numbers[flow as usize], self.now.saturating_sub(took));
            self.numbers[flow as usize] += 1;
        }
    }
    fn tx_burst(&mut self, out: &mut Burst<Mbuf>) {
        self.port.tx_burst(out);
    }
    fn control_frame(&mut self, octets: &[u8]) -> Option<Mbuf> {
        self.port.control_frame(octets)
    }
    fn caps(&self) -> &PortCaps {
        self.port.caps()
    }
}

impl Source for Numbered {
    fn data_frame(&mut self, head: &[u8], wire_len: u32) -> Option<Mbuf> {
        self.port.data_frame(head, wire_len)
    }
}

fn main() {
    let Some(args) = arguments() else {
        // `cargo bench` without arguments runs every bench: nothing is measured here.
        println!("usage: sink DEVICE [SECONDS] [RUNS] [OPTIONS]");
        return;
    };
    let eal = Eal::start(&EalOptions { memory: args.memory, ..EalOptions::default() })
        .unwrap_or_else(|error| refuse(&error.to_string()));
    if !core_affinity::set_for_current(core_affinity::CoreId { id: args.cpu }) {
        refuse(&format!("this process may not use CPU {}", args.cpu));
    }
    let _worker = eal.register_worker().expect("a worker");
    let options = PoolOptions { name: "frames".into(), ..PoolOptions::default() };
    let pool = Pool::new(&eal, &options).expect("a pool");
    let port = DpdkPort::open(&eal, &args.device)
        .and_then(|port| port.start(&PortOptions::default(), &pool))
        .unwrap_or_else(|error| refuse(&error.to_string()));
    let mut polls = receiver(&args, SourcePort::new(port, pool));
    let mut before = 0;
    let mut measure = |seconds: f64| {
        let start = Wall::now();
        let mut after = before;
        while start.elapsed().as_secs_f64() < seconds {
            after = polls();
        }
        let (frames, time) = (after - before, start.elapsed());
        before = after;
        (frames, time)
    };
    if args.serve {
        return serve(&mut measure);
    }
    for _ in 0..=args.runs {
        let (frames, time) = measure(args.seconds);
        println!("{:.2} ns", time.as_nanos() as f64 / frames as f64);
    }
}

/// Does some thousand polls, and returns the number of frames received since it was made.
fn receiver(args: &Args, port: SourcePort) -> Box<dyn FnMut() -> u64> {
    if args.raw && !args.number {
        return receive_only(port);
    }
    let numbers = vec![0; args.flows as usize];
    let port = Numbered { port, now: Instant::ZERO, numbers, chance: 1 };
    if args.raw {
        return receive_only(port);
    }
    let mut station = Station::new(&probed::sink(args.flows), port).expect("a station");
    station.spares().fill();
    let clock = TscClock::new();
    let mut checked = 0;
    Box::new(move || {
        for _ in 0..POLLS {
            let now = clock.now();
            station.port_mut().now = now;
            station.poll(now);
        }
        // A full snapshot takes long, and a fault concerns all frames.
        checked += 1;
        if checked % 256 == 1 {
            probed::check(&station.snapshot(clock.now()));
        }
        station.counters().rx_frames
    })
}

fn receive_only<P: Port + 'static>(mut port: P) -> Box<dyn FnMut() -> u64> {
    let (mut burst, mut frames) = (Burst::new(), 0);
    Box::new(move || {
        for _ in 0..POLLS {
            port.rx_burst(&mut burst);
            frames += burst.len() as u64;
            burst.clear();
        }
        frames
    })
}

fn refuse(why: &str) -> ! {
    eprintln!("sink: {why}");
    exit(3)
}

fn arguments() -> Option<Args> {
    let last = core_affinity::get_core_ids().unwrap_or_default().last().map_or(0, |core| core.id);
    let mut args = Args {
        device: String::new(),
        seconds: 1.0,
        runs: 3,
        memory: Memory::Auto,
        flows: 256,
        cpu: last,
        raw: false,
        number: false,
        serve: false,
    };
    let mut plain = Vec::new();
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_else(|| refuse(&format!("{word} of what?")));
        let number = |text: String| text.parse().unwrap_or_else(|_| refuse(&text));
        match word.as_str() {
            "--huge" => args.memory = Memory::Hugepages,
            "--no-huge" => args.memory = Memory::NoHuge,
            "--flows" => args.flows = number(value()) as u32,
            "--cpu" => args.cpu = number(value()),
            "--raw" => args.raw = true,
            "--number" => args.number = true,
            "--serve" => args.serve = true,
            _ => plain.push(word),
        }
    }
    let mut plain = plain.into_iter();
    args.device = plain.next()?;
    let mut number = || plain.next().map(|text| text.parse().unwrap_or_else(|_| refuse(&text)));
    args.seconds = number().unwrap_or(args.seconds);
    args.runs = number().map_or(args.runs, |n: f64| n as u32);
    Some(args)
}
