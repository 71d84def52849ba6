//! Hosts that answer, behind a switch that pauses, marks and drops: the whole loop, in exact time.

use sluice::congestion::DcqcnPlan;
use sluice::host::{
    FlowId, Message, RocePlan, StationPlan, StationSnapshot, TcpPlan, Transport, TransportPlan,
};
use sluice::pfc::FlowControl;
use sluice::schedule::LinePlan;
use sluice::sim::{
    DirectionPlan, End, LinkPlan, Network, NetworkPlan, Node, NodeId, NodeKind, NodePlan,
};
use sluice::switch::{StaticEntry, Trust, VlanMember};
use sluice::time::{Duration, Instant};
use sluice::units::*;
use sluice::wire::ip::Ecn;
use sluice::wire::roce::U24;

use crate::plan::{self, Pipeline};

const RATE: BitsPerSec = BitsPerSec::gbps(100);
const SENDERS: u16 = 4;

fn mac(n: u16) -> Mac {
    Mac([2, 0, 0, 9, 0, n as u8])
}

/// A flow from host `n` to the last one, in the priority of its DSCP.
fn flow(n: u16, dscp: u8, bytes: u64, kind: Transport) -> TransportPlan {
    let ip = |n: u16| std::net::Ipv4Addr::from(0x0a00_0001 + u32::from(n));
    TransportPlan {
        id: FlowId(n.into()),
        src: mac(n),
        dst: mac(SENDERS),
        src_ip: ip(n),
        dst_ip: ip(SENDERS),
        tag: None,
        priority: Priority::new(dscp / 8).unwrap(),
        dscp: Dscp::new(dscp).unwrap(),
        ecn: if dscp == 0 { Ecn::NotEct } else { Ecn::Ect0 },
        size: 1_048,
        rate: None,
        start: Instant::ZERO,
        stop: Instant::NEVER,
        message: Some(Message::once(bytes)),
        work: sluice::host::Work::default(),
        kind,
    }
}

fn roce(n: u16, dcqcn: Option<DcqcnPlan>) -> Transport {
    let qp = |base| U24::new(base + u32::from(n)).unwrap();
    Transport::Roce(RocePlan { dcqcn, ..RocePlan::new(qp(0x100), qp(0x200)) })
}

fn host(n: u16, senders: Vec<TransportPlan>, receivers: Vec<TransportPlan>) -> NodeKind {
    NodeKind::Host(StationPlan {
        flow_control: FlowControl::Pfc {
            send: PrioritySet::EMPTY,
            obey: PrioritySet::of(Priority::ALL[3]),
        },
        senders,
        receivers,
        ..StationPlan::new(format!("h{n}"), mac(n), RATE)
    })
}

/// One switch, one flow from each of its hosts to the last one.
fn incast(flows: &[TransportPlan], marks: bool) -> NetworkPlan {
    let ports = SENDERS + 1;
    let mut switch = plan::plan(ports, Pipeline::Lossless, 1);
    for (n, port) in (0..).zip(&mut switch.ports) {
        port.shaped = true;
        port.classify.trust = Trust::Dscp;
        port.vlan.members = vec![VlanMember { vid: Vid::MIN, tagged: false }];
        if !marks {
            port.ecn = [None; 8];
        }
        let at = PortId::new(n).unwrap();
        switch.bridge.statics.push(StaticEntry { vid: Vid::MIN, mac: mac(n), port: at });
    }
    let mut nodes = vec![NodePlan::new(NodeKind::Switch(switch))];
    for (n, flow) in (0..).zip(flows) {
        nodes.push(NodePlan::new(host(n, vec![flow.clone()], vec![])));
    }
    nodes.push(NodePlan::new(host(SENDERS, vec![], flows.to_vec())));
    let direction = DirectionPlan { delay: Duration::from_nanos(500), ..Default::default() };
    let link = |n: u16| LinkPlan {
        name: format!("l{n}"),
        a: End { node: NodeId(0), port: PortId::new(n).unwrap() },
        b: End { node: NodeId(u32::from(n) + 1), port: PortId::MIN },
        rate: RATE,
        line: LinePlan::ETHERNET,
        ab: direction,
        ba: direction,
    };
    NetworkPlan {
        nodes,
        links: (0..ports).map(link).collect(),
        faults: vec![],
        seed: 1,
        shuffle: None,
        sample_every: None,
    }
}

/// Runs for `span`; returns the senders' and the receiver's counters, and the number of pauses of
/// senders.
fn run(plan: &NetworkPlan, span: Duration) -> (Vec<StationSnapshot>, StationSnapshot, u64) {
    let mut network = Network::new(plan, ()).unwrap();
    let end = Instant::ZERO + span;
    network.run_until(end);
    let mut snapshots: Vec<_> = (1..=u32::from(SENDERS) + 1)
        .map(|n| match network.nodes_mut().get_mut(NodeId(n)) {
            Node::Host(host) => host.snapshot(end),
            Node::Switch(_) => unreachable!("the switch is the first node"),
        })
        .collect();
    let receiver = snapshots.pop().unwrap();
    let paused = snapshots.iter().map(|s| s.counters.priorities[3].transitions).sum();
    (snapshots, receiver, paused)
}

fn flows(dscp: u8, bytes: u64, kind: impl Fn(u16) -> Transport) -> Vec<TransportPlan> {
    (0..SENDERS).map(|n| flow(n, dscp, bytes, kind(n))).collect()
}

#[test]
fn pauses_alone_share_a_port_evenly_and_nothing_is_sent_twice() {
    let flows = flows(24, 2_000_000, |n| roce(n, None));
    let (senders, receiver, paused) = run(&incast(&flows, false), Duration::from_millis(2));
    assert!(paused > 10, "{paused}");
    let payload = u64::from(flows[0].payload());
    for (s, r) in senders.iter().map(|s| &s.senders[0]).zip(&receiver.receivers) {
        assert_eq!((s.acknowledged, r.delivered, s.retransmitted), (2_000_000, 2_000_000, 0));
        // A quarter of the port each: 8 MB of payload on a line of 100 Gb/s.
        let line = RATE.time_for(Bytes(4 * 2_000_000_u64.div_ceil(payload) * 1_068));
        let fct = s.completions.fct.unwrap();
        assert!(fct <= line + Duration::from_micros(10), "{fct} of {line}");
        assert!(fct.as_picos() * 10 >= line.as_picos() * 9, "{fct} of {line}");
    }
}

#[test]
fn dcqcn_keeps_the_queue_below_the_pauses_and_the_port_busy() {
    let bytes = 50_000_000;
    let span = Duration::from_millis(3);
    let blind = flows(24, bytes, |n| roce(n, None));
    let (_, _, blind_pauses) = run(&incast(&blind, true), span);
    let plan = Some(DcqcnPlan { additive: BitsPerSec::gbps(1), ..DcqcnPlan::ns3() });
    let seeing = flows(24, bytes, |n| roce(n, plan));
    let (senders, receiver, pauses) = run(&incast(&seeing, true), span);
    assert!(pauses * 5 < blind_pauses, "{pauses} of {blind_pauses}");
    let delivered: Vec<_> = receiver.receivers.iter().map(|r| r.delivered).collect();
    for (s, r) in senders.iter().map(|s| &s.senders[0]).zip(&receiver.receivers) {
        assert!(s.cnps > 5 && s.cnps <= r.cnps && r.cnps <= s.cnps + 1, "{s:?}");
        // One per 50 us at most.
        assert!(r.cnps <= 60 && s.retransmitted == 0, "{r:?}");
        assert!(s.rate < RATE, "{s:?}");
    }
    // Of 37.5 MB that the line carries in 3 ms.
    let total: u64 = delivered.iter().sum();
    assert!(total > 25_000_000, "{delivered:?}");
    let (least, most) = (delivered.iter().min().unwrap(), delivered.iter().max().unwrap());
    assert!(least * 2 > *most, "{delivered:?}");
}

#[test]
fn a_lossy_background_fills_the_port_and_repairs_what_is_dropped() {
    let bytes = 5_000_000;
    let kind = |n: u16| Transport::TcpLike(TcpPlan::new(50_000 + n, 9));
    let flows = flows(0, bytes, kind);
    let (senders, receiver, _) = run(&incast(&flows, false), Duration::from_millis(20));
    let repeated: u64 = senders.iter().map(|s| s.senders[0].retransmitted).sum();
    assert!(repeated > 10, "{repeated}");
    for (s, r) in senders.iter().map(|s| &s.senders[0]).zip(&receiver.receivers) {
        assert_eq!((s.acknowledged, r.delivered, s.done), (bytes, bytes, true), "{s:?}");
    }
    let last = senders.iter().filter_map(|s| s.senders[0].completions.fct).max().unwrap();
    // 20 MB take 1.7 ms; windows that halve together leave some of it unused.
    assert!(last < Duration::from_millis(5), "{last}");
}
