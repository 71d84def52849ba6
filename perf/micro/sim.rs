//! Speed of the virtual world.
//!
//! `cargo bench -p sluice-perf --bench sim -- [checked] [threads N] incast HOSTS FRAMES |
//! two-tier FRAMES | fat-tree K MICROSECONDS | hold PENDING EVENTS`
//!
//! runs it once and prints one line of JSON: frame-hops (frames that started on a line), events, polls of
//! nodes, seconds, nodes, threads, the peak memory of the process in KiB, and the trace's hash. `threads 0` takes
//! as many as `sluice run` does by default.
//!
//! `incast`: HOSTS hosts each send FRAMES frames of 1,048 bytes to one more host at line rate,
//! through one switch with PFC and 16 MiB, on links of 100 Gb/s and 500 ns (the case that HPCC's
//! simulator was measured with). `fat-tree`: every host of a tree of K-port switches sends to
//! another at half of its link. `two-tier`: 16 of 128 hosts behind 16 leaves and 8 spines, of other
//! leaves, each send FRAMES frames of 1,064 bytes to one host, over connections of RoCEv2 with one
//! acknowledgement per frame, on links of 100 Gb/s and 500 ns (the case that csg-htsim was measured
//! with). Without an observer, this is the engine, the data plane and the hosts; with `checked` before
//! the case it is what `sluice run` does, with its recorder and checkers.
//!
//! `hold`: the standard library's heap alone, from which the earliest of PENDING events is
//! repeatedly taken and put back later: the cost of the event queue of any event-driven simulator.

extern crate perf as sluice;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::num::NonZeroU16;
use std::thread;
use std::time::Instant as Wall;

use sluice::lab::{self, LabPlan, Options, Workers, World};
use sluice::rand::Rng;
use sluice::sim::{Executor, InTurn, Job, Network, Node, NodeId, Partition};
use sluice::time::{Duration, Instant};

const PROFILES: &str = "
profiles:
  tor:
    buffer:
      total: 16MiB
      cell: 208
      profiles:
        roce: {shared: {dynamic_th: -3}, lossless: {xoff: auto}}
    defaults: {pfc: {enable: [3]}, priority_groups: {3: roce}}
";

fn main() {
    // Cargo adds `--bench`.
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let (run, args): (fn(&LabPlan, bool, u16), _) = match args.first().map(String::as_str) {
        Some("checked") => (run_checked, &args[1..]),
        _ => (run_alone, &args[..]),
    };
    let (threads, args) = match args {
        [word, number, rest @ ..] if word == "threads" => (number.parse().unwrap_or(1), rest),
        _ => (1, args),
    };
    let run = |plan: &LabPlan, until_done| run(plan, until_done, threads);
    let number = |n: usize| args.get(n).and_then(|a| a.parse::<u64>().ok());
    match (args.first().map(String::as_str), number(1), number(2)) {
        (Some("incast"), Some(hosts), Some(frames)) => run(&incast(hosts, frames), true),
        (Some("two-tier"), Some(frames), None) => run(&two_tier(frames), true),
        (Some("fat-tree"), Some(k), Some(micros)) => run(&fat_tree(k, micros), false),
        (Some("hold"), Some(pending), Some(events)) => hold(pending, events),
        _ => {
            eprintln!(
                "sim [checked] [threads N] incast HOSTS FRAMES | two-tier FRAMES | \
                 fat-tree K MICROSECONDS | hold PENDING EVENTS"
            );
            std::process::exit(2);
        }
    }
}

fn incast(hosts: u64, frames: u64) -> LabPlan {
    let receiver = hosts + 1;
    plan(&format!(
        "name: incast\nduration: 10s\nuntil_done: true{PROFILES}
topology: {{star: {{hosts: {receiver}}}}}
defaults: {{links: {{rate: 100G, delay: 500ns, phy: none}}}}
flows:
  - {{name: f, from: all, to: h{receiver}, priority: 3, size: 1048, duration: {{frames: {frames}}}}}
"
    ))
}

fn two_tier(frames: u64) -> LabPlan {
    let senders: Vec<String> = (9..=121).step_by(8).map(|n| format!("h{n}")).collect();
    let senders = senders.join(", ");
    plan(&format!(
        "name: two-tier\nduration: 10s\nuntil_done: true{PROFILES}
topology: {{leaf_spine: {{leaves: 16, spines: 8, hosts_per_leaf: 8}}}}
defaults: {{links: {{rate: 100G, delay: 500ns, phy: none}}}}
flows:
  - name: f
    from: [{senders}, h122]
    to: h1
    priority: 3
    size: 1064
    transport: {{roce: {{ack_every: 1, timeout: 100ms, cnp_interval: 0}}}}
    duration: {{frames: {frames}}}
"
    ))
}

fn fat_tree(k: u64, micros: u64) -> LabPlan {
    plan(&format!(
        "name: fat-tree\nduration: {micros}us{PROFILES}
topology: {{fat_tree: {{k: {k}}}}}
defaults: {{links: {{rate: 100G, delay: 500ns, phy: none}}}}
flows:
  - {{name: f, pattern: permutation, priority: 3, size: 1048, rate: 50%}}
"
    ))
}

fn plan(text: &str) -> LabPlan {
    match lab::parse("bench", text) {
        Ok((plan, _)) => plan,
        Err(error) => panic!("{error}"),
    }
}

/// As `sluice run`: with recorder and checkers, until the results.
fn run_checked(plan: &LabPlan, _: bool, threads: u16) {
    let start = Wall::now();
    let (mut frames, mut events) = (0, 0);
    let options = Options { threads: NonZeroU16::new(threads), ..Options::default() };
    let run = lab::run(plan, World::Virtual, options, |progress| {
        (frames, events) = (progress.frames, progress.events);
    });
    let seconds = start.elapsed().as_secs_f64();
    let run = run.expect("the plan is whole");
    println!(
        "{{\"frames\": {frames}, \"events\": {events}, \"seconds\": {seconds:.6}, \"nodes\": {}, \
         \"threads\": {}, \"peak_kib\": {}, \"hash\": \"{}\"}}",
        plan.network.nodes.len(),
        run.threads.used,
        peak_memory_kib(),
        run.outcome.trace_hash.unwrap_or_default(),
    );
}

/// Runs a network to its end; returns the seconds that it took and the time of the network.
fn timed(
    plan: &LabPlan,
    until_done: bool,
    network: &mut Network,
    executor: &mut impl Executor<Job<()>>,
) -> (f64, Instant) {
    let end = Instant::ZERO + plan.duration;
    let start = Wall::now();
    let mut until = Instant::ZERO;
    while until < end && !(until_done && until > Instant::ZERO && network.is_quiet()) {
        until = (until + Duration::from_micros(20)).min(end);
        network.run_until_on(until, executor);
    }
    (start.elapsed().as_secs_f64(), until)
}

fn run_alone(plan: &LabPlan, until_done: bool, threads: u16) {
    let mut network = Network::new(&plan.network, ()).expect("the plan is whole");
    network.divide(Partition::new(&plan.network, usize::from(threads)));
    let parts = network.parts();
    let (seconds, until) = if parts == 1 {
        timed(plan, until_done, &mut network, &mut InTurn)
    } else {
        thread::scope(|scope| {
            let mut workers = Workers::start(scope, parts - 1);
            timed(plan, until_done, &mut network, &mut workers)
        })
    };
    let (rounds, given) = network.rounds();
    let drops: u64 = (0..plan.network.nodes.len() as u32)
        .map(|n| match network.nodes_mut().get_mut(NodeId(n)) {
            Node::Switch(switch) => switch.snapshot(until).drops().total(),
            Node::Host(_) => 0,
        })
        .sum();
    assert_eq!(drops, 0, "a lossless lab loses nothing");
    let tally = network.tally();
    println!(
        "{{\"frames\": {}, \"events\": {}, \"polls\": {}, \"seconds\": {seconds:.6}, \
         \"nodes\": {}, \"threads\": {parts}, \"rounds\": {rounds}, \"given\": {given}, \
         \"peak_kib\": {}, \"hash\": \"{:016x}\"}}",
        tally.frames,
        tally.events,
        tally.polls,
        plan.network.nodes.len(),
        peak_memory_kib(),
        network.trace_hash(),
    );
}

fn hold(pending: u64, events: u64) {
    let mut rng = Rng::new(1);
    let mut heap: BinaryHeap<Reverse<(u64, u64)>> =
        (0..pending).map(|n| Reverse((rng.next_u64() >> 44, n))).collect();
    let start = Wall::now();
    for _ in 0..events {
        let mut first = heap.peek_mut().expect("something is always pending");
        let Reverse((at, n)) = *first;
        *first = Reverse((at + (rng.next_u64() >> 44), n));
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{{\"events\": {events}, \"seconds\": {seconds:.6}, \"pending\": {}}}", heap.len());
}

/// Peak memory of the process, as the kernel reports it.
fn peak_memory_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
