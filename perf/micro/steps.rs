//! The pipeline alone, on ports in memory and in virtual time: the same instructions in every run.
//!
//! `cargo bench -p sluice-perf --bench steps -- JOB POLLS BURST`, where a job is plain, agents, measuring,
//! lossless, sfc-idle, macsec-pfc, queued, sfc-64k, refill, ports, stream or sink,
//!
//! lets `BURST` frames circulate in each direction between two ports for `POLLS` polls, with the
//! switch between them (or without it, `ports`), and prints the number of frames. `agents` is
//! `plain` with ports that advertise themselves and answer measurements; `measuring` is `plain` with
//! ports that also measure, with requests 4 to 5 us apart, and says how many messages that were (their
//! instructions are those that it has more than `agents`); `sfc-idle` is `lossless`
//! with Source Flow Control, Congestion Isolation and a proxy without work; `macsec-pfc` is
//! `lossless` with MACsec for pauses alone; `queued` is `lossless` where each frame joins a queue
//! and the frames are of 65,536 flows in turn (`refill`: without a switch); `sfc-64k` is the same
//! with congestion by each of them. `stream` lets a station generate a stream in such bursts, which
//! are discarded; `sink` lets frames of 16 flows arrive at a station that counts, orders and times
//! them. `perf/run instructions` counts the instructions of two such runs of different length:
//! their difference is the frames'.

extern crate perf as sluice;

#[path = "shared/agents.rs"]
#[allow(dead_code)] // the benches of measurements use more of it
mod agents;
#[path = "shared/memory.rs"]
mod memory;
#[path = "shared/plan.rs"]
mod plan;
#[path = "shared/probed.rs"]
#[allow(dead_code)] // the bench of the receiving side uses more of it
mod probed;
#[path = "../../tests/shared/secys.rs"]
mod secys;
#[path = "shared/streams.rs"]
mod streams;

use memory::{MemFrame, MemPort};
use plan::{Pipeline, template};
use sluice::frame::Burst;
use sluice::host::{Rate, Station};
use sluice::link::AgentsPlan;
use sluice::port::{Port, Secured};
use sluice::runtime::{LossWatch, Mesh, mesh};
use sluice::switch::{Switch, SwitchPlan};
use sluice::time::{Duration, Instant};
use sluice::units::{Bytes, Mac, PortId};
use sluice::world::World;

/// The world of the product, with ports in memory.
struct Memory;

impl World for Memory {
    type Frame = MemFrame;
    type Port = Secured<MemPort>;
    type Events = LossWatch;
    type Handoff = Mesh<MemFrame>;
}

/// Duration of a burst of 32 minimal frames at 100 Gb/s, preamble and gap included.
const STEP: Duration = Duration::from_nanos(32 * 672 / 100);

const FLOWS: u8 = 16;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let [job, polls, burst] = args.as_slice() else {
        // `cargo bench` without arguments runs every bench: nothing is measured here.
        println!("usage: steps JOB POLLS BURST");
        return;
    };
    let polls: u64 = polls.parse().expect("a number of polls");
    let burst: u8 = burst.parse().expect("frames in a burst");
    memory::stock(4 * usize::from(burst) + 64);
    let (mut a, mut b) = MemPort::pair(256);
    let sides = if job == "sink" { vec![] } else { vec![(&mut b, 0), (&mut a, 1)] };
    for (port, from) in sides {
        let frame = |n| MemFrame::new(&template(from, 1 - from, n % FLOWS)).expect("in stock");
        let mut frames: Burst<_> = (0..burst).map(frame).collect();
        port.tx_burst(&mut frames);
    }
    let frames = match job.as_str() {
        "stream" => stream(a, b, polls, burst.into()),
        "ports" => ports(a, b, polls),
        "plain" => switch(plan::plan(2, Pipeline::Plain, 1), a, b, polls),
        "agents" => switch(with_agents(agents::responder), a, b, polls),
        "measuring" => switch(with_agents(agents::often), a, b, polls),
        "lossless" => switch(plan::plan(2, Pipeline::Lossless, 1), a, b, polls),
        "sfc-idle" => {
            let plan = plan::plan(2, Pipeline::Lossless, 1);
            switch(plan::congested(plan, Bytes(200_000)), a, b, polls)
        }
        "macsec-pfc" => switch(with_macsec(), a, b, polls),
        "queued" => flows(Some(plan::queued(plan::plan(2, Pipeline::Lossless, 1))), polls, burst),
        "sfc-64k" => {
            let plan = plan::queued(plan::plan(2, Pipeline::Lossless, 1));
            flows(Some(plan::congested(plan, Bytes(0))), polls, burst)
        }
        "refill" => flows(None, polls, burst),
        "sink" => sink(a, b, polls, burst),
        _ => panic!("no such job"),
    };
    println!("{frames}");
}

/// A station makes a burst in each poll: as many frames as its line has room for since the last.
fn stream(a: MemPort, mut b: MemPort, polls: u64, burst: u64) -> u64 {
    let plan = streams::station(Rate::LineShare(1_000_000));
    let step = plan.rate.time_for(Bytes(84)).saturating_mul(burst);
    let mut station = Station::new(&plan, a).expect("a station");
    let (mut now, mut gone) = (Instant::ZERO, Burst::new());
    station.start_streams(now, &[streams::ID]);
    for _ in 0..polls {
        now += step;
        station.poll(now);
        b.rx_burst(&mut gone);
        gone.clear();
    }
    station.counters().tx_frames
}

fn with_agents(of: fn(Mac, &str) -> AgentsPlan) -> SwitchPlan {
    let mut plan = plan::plan(2, Pipeline::Plain, 1);
    for port in &mut plan.ports {
        port.agents = Some(of(port.mac, &port.name));
    }
    plan
}

/// Both ports protect pauses and require that protection; data is unprotected.
fn with_macsec() -> SwitchPlan {
    let mut plan = plan::plan(2, Pipeline::Lossless, 1);
    for (n, port) in (1..).zip(&mut plan.ports) {
        port.secy = Some(Box::new(secys::secy(n, n + 2, false)));
    }
    plan
}

/// A port as in the product's worlds.
fn secured(plan: &SwitchPlan, n: u16, port: MemPort) -> (PortId, Secured<MemPort>) {
    let id = PortId::new(n).expect("a small number");
    let secy = plan.ports[id.index()].secy.as_deref();
    (id, Secured::new(port, secy).expect("a plan of a SecY"))
}

fn switch(plan: SwitchPlan, a: MemPort, b: MemPort, polls: u64) -> u64 {
    let end = mesh(&[0, 0], 1, 1).pop().expect("one worker");
    let ports = vec![secured(&plan, 0, a), secured(&plan, 1, b)];
    let mut sw: Switch<Memory> =
        Switch::new(&plan, ports, end, LossWatch::new(&plan)).expect("a switch");
    let mut now = Instant::ZERO;
    for _ in 0..polls {
        sw.poll(now);
        now += STEP;
    }
    let snap = sw.snapshot(now);
    assert!(snap.balance().holds() && snap.drops().total() == 0, "{snap:?}");
    let messages: u64 = snap.ports.iter().map(|p| p.counters.originated).sum();
    eprintln!("{messages} messages of link protocols");
    snap.ports.iter().map(|p| p.counters.tx_frames - p.counters.originated).sum()
}

/// Frames of 65,536 flows in turn, all known before the count begins, from one port to the other;
/// without a switch the frames are made and discarded.
fn flows(plan: Option<SwitchPlan>, polls: u64, burst: u8) -> u64 {
    const FLOWS: u64 = 1 << 16;
    let (near, mut source) = MemPort::pair(256);
    let (far, mut drain) = MemPort::pair(256);
    let end = mesh(&[0, 0], 1, 1).pop().expect("one worker");
    let (mut bare, mut sw) = (None, None);
    match &plan {
        None => bare = Some((near, far)),
        Some(plan) => {
            let ports = vec![secured(plan, 0, near), secured(plan, 1, far)];
            let watch = LossWatch::new(plan);
            let made: Switch<Memory> = Switch::new(plan, ports, end, watch).expect("a switch");
            sw = Some(made);
        }
    }
    let answer = MemFrame::new(&template(1, 0, 0)).expect("in stock");
    drain.tx_burst(&mut [answer].into_iter().collect());
    let (mut now, mut frames, mut gone) = (Instant::ZERO, Burst::new(), Burst::new());
    let mut octets = template(0, 1, 0);
    let mut taken = 0;
    // At least as many warm-up polls as it takes to send every flow once.
    let warm = FLOWS.div_ceil(burst.into());
    for n in 0..(warm + polls) * u64::from(burst) {
        octets[38..40].copy_from_slice(&(n as u16).to_be_bytes());
        frames.push(MemFrame::new(&octets).expect("in stock"));
        if frames.len() < usize::from(burst) {
            continue;
        }
        source.tx_burst(&mut frames);
        now += STEP;
        match (&mut sw, &mut bare) {
            (Some(sw), _) => _ = sw.poll(now),
            (None, Some((near, far))) => {
                near.rx_burst(&mut frames);
                far.tx_burst(&mut frames);
            }
            (None, None) => unreachable!("one of the two was made"),
        }
        drain.rx_burst(&mut gone);
        taken += gone.drain(..).count() as u64;
        source.rx_burst(&mut gone);
        gone.clear();
    }
    if let Some(sw) = &mut sw {
        let snap = sw.snapshot(now);
        let told = snap.congestion.as_ref().and_then(|all| all.proxy.as_ref());
        // One host in this bench causes more messages than the proxy accepts.
        let messages = told.map_or(0, |proxy| proxy.counters.too_many);
        assert!(snap.balance().holds() && snap.drops().total() == messages, "{snap:?}");
        if let Some(sfc) = snap.congestion.and_then(|all| all.sfc) {
            assert_eq!(sfc.streams, FLOWS, "all are tracked: {:?}", sfc.counters);
            eprintln!("{:?}", sfc.counters);
        }
    }
    taken
}

fn ports(mut a: MemPort, mut b: MemPort, polls: u64) -> u64 {
    let mut burst = Burst::new();
    let mut frames = 0;
    for _ in 0..polls {
        a.rx_burst(&mut burst);
        frames += burst.len() as u64;
        b.tx_burst(&mut burst);
        b.rx_burst(&mut burst);
        frames += burst.len() as u64;
        a.tx_burst(&mut burst);
    }
    frames
}

/// Frames of all flows in turn, each the next of its flow, to a station that expects them.
fn sink(near: MemPort, mut far: MemPort, polls: u64, burst: u8) -> u64 {
    let mut station = Station::new(&probed::sink(FLOWS.into()), near).expect("a station");
    station.spares().fill();
    let mut frames: Vec<_> = (0..FLOWS).map(|flow| probed::frame(flow.into())).collect();
    let mut numbers = [0; FLOWS as usize];
    let (mut now, mut flow) = (Instant::ZERO, 0);
    let mut sent = Burst::new();
    for _ in 0..polls {
        for _ in 0..burst {
            probed::stamp(&mut frames[flow], flow as u32, numbers[flow], now);
            numbers[flow] += 1;
            sent.push(MemFrame::new(&frames[flow]).expect("in stock"));
            flow = (flow + 1) % usize::from(FLOWS);
        }
        far.tx_burst(&mut sent);
        now += STEP;
        station.poll(now);
    }
    probed::check(&station.snapshot(now))
}
