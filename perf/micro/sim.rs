//! How fast the virtual world is.
//!
//! `cargo bench --bench sim -- [incast|clos] [SIZE] [FRAMES] [RUNS]`
//!
//! prints a line per run: what, frame-hops (frames that started on a line) and events per second,
//! events and polls per frame, and the most memory the process ever had.
//!
//! `incast`: SIZE hosts blast frames of 1,048 octets at one more through one switch with PFC, on
//! links of 100 Gb/s and 500 ns.

#[path = "shared/plan.rs"]
mod plan;

use std::time::Instant as Wall;

use plan::Pipeline;
use sluice::host::{FlowId, FlowPlan, Headers, Rate, StationPlan, Udp};
use sluice::pfc::FlowControl;
use sluice::schedule::LinePlan;
use sluice::sim::{
    DirectionPlan, End, LinkId, LinkPlan, Network, NetworkPlan, Node, NodeId, NodeKind, NodePlan,
};
use sluice::switch::{StaticEntry, Trust, VlanMember};
use sluice::time::{Duration, Instant};
use sluice::units::*;
use sluice::wire::ip::Ecn;

const RATE: BitsPerSec = BitsPerSec::gbps(100);
const SIZE: u32 = 1048;

fn main() {
    // Cargo adds `--bench`.
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let number =
        |n: usize, default: u64| args.get(n).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (size, frames, runs) = (number(1, 16), number(2, 50_000), number(3, 5));
    for _ in 0..runs {
        let plan = incast(size as u16, frames);
        let mut network = Network::new(&plan, ()).expect("the plan is whole");
        let start = Wall::now();
        let mut until = Instant::ZERO;
        while !network.is_quiet() {
            until += Duration::from_micros(100);
            network.run_until(until);
        }
        let seconds = start.elapsed().as_secs_f64();
        let tally = network.tally();
        let received: u64 = (0..plan.nodes.len() as u32)
            .map(|n| match network.nodes_mut().get_mut(NodeId(n)) {
                Node::Host(host) => host.snapshot(until).sinks.iter().map(|s| s.frames).sum(),
                Node::Switch(_) => 0,
            })
            .sum();
        assert_eq!(received, size * frames, "nothing is lost");
        println!(
            "incast {size}: {:.2} M frame-hops/s, {:.2} M events/s, {:.2} events and {:.2} polls per frame, {:.0} ns per frame-hop, {} MiB, hash {:016x}",
            tally.frames as f64 / seconds / 1e6,
            tally.events as f64 / seconds / 1e6,
            tally.events as f64 / tally.frames as f64,
            tally.polls as f64 / tally.frames as f64,
            seconds * 1e9 / tally.frames as f64,
            peak_memory_kib() / 1024,
            network.trace_hash(),
        );
        assert!(plan.links.len() > LinkId(0).index());
    }
}

/// What the kernel says that the process had at most.
fn peak_memory_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn mac(n: u16) -> Mac {
    let [hi, lo] = n.to_be_bytes();
    Mac([2, 0, 0, 9, hi, lo])
}

/// A host that blasts at `to`, or only receives.
fn host(n: u16, to: Option<u16>, frames: u64, expects: Vec<FlowId>) -> StationPlan {
    let ip = |n: u16| std::net::Ipv4Addr::from(0x0a00_0000 + u32::from(n) + 1);
    let flow = |to: u16| FlowPlan {
        id: FlowId(n.into()),
        src: mac(n),
        dst: mac(to),
        tag: None,
        priority: Priority::ALL[3],
        headers: Headers::Udp4(Udp {
            src: ip(n),
            dst: ip(to),
            src_port: 49_152,
            dst_port: 4_791,
            dscp: Dscp::new(24).expect("in range"),
            ecn: Ecn::NotEct,
        }),
        size: SIZE,
        rate: Rate::LineShare(1_000_000),
        start: Instant::ZERO,
        stop: Instant::NEVER,
        frames: Some(frames),
    };
    StationPlan {
        name: format!("h{n}"),
        mac: mac(n),
        rate: RATE,
        flow_control: FlowControl::Pfc {
            send: PrioritySet::EMPTY,
            obey: PrioritySet::of(Priority::ALL[3]),
        },
        shaper_burst: Bytes(0),
        line: LinePlan::ETHERNET,
        backlog: Duration::MAX,
        flows: to.map(flow).into_iter().collect(),
        expects,
        senders: vec![],
        receivers: vec![],
        pauses: vec![],
    }
}

fn incast(senders: u16, frames: u64) -> NetworkPlan {
    let ports = senders + 1;
    let mut switch = plan::plan(ports, Pipeline::Lossless, 1);
    switch.buffer.total = Cells(64 * 1024 + 700 * u32::from(ports));
    for (n, port) in (0..).zip(&mut switch.ports) {
        port.shaped = true;
        port.ecn = [None; 8];
        port.classify.trust = Trust::Dscp;
        port.vlan.members = vec![VlanMember { vid: Vid::MIN, tagged: false }];
        let at = PortId::new(n).expect("few ports");
        switch.bridge.statics.push(StaticEntry { vid: Vid::MIN, mac: mac(n), port: at });
    }
    let mut nodes = vec![NodePlan::new(NodeKind::Switch(switch))];
    nodes.extend(
        (0..senders).map(|n| NodePlan::new(NodeKind::Host(host(n, Some(senders), frames, vec![])))),
    );
    let flows = (0..senders).map(|n| FlowId(n.into())).collect();
    nodes.push(NodePlan::new(NodeKind::Host(host(senders, None, 0, flows))));
    let direction = DirectionPlan { delay: Duration::from_nanos(500), ..Default::default() };
    let links = (0..ports).map(|n| LinkPlan {
        name: format!("l{n}"),
        a: End { node: NodeId(0), port: PortId::new(n).expect("few ports") },
        b: End { node: NodeId(u32::from(n) + 1), port: PortId::MIN },
        rate: RATE,
        line: LinePlan::ETHERNET,
        ab: direction,
        ba: direction,
    });
    NetworkPlan {
        nodes,
        links: links.collect(),
        faults: vec![],
        seed: 1,
        shuffle: None,
        sample_every: None,
    }
}
