//! Test networks in the form of a star: hosts h0, h1, ... that send to host r through switch s.

use super::{DirectionPlan, End, LinkPlan, NetworkPlan, NodeId, NodeKind, NodePlan};
use ::host::{FlowId, FlowPlan, Headers, Rate, StationPlan, Tag};
use ground::time::{Duration, Instant};
use ground::units::*;
use pfc::FlowControl;
use schedule::LinePlan;
use switch::{StaticEntry, SwitchPlan, rig};

pub const RATE: BitsPerSec = BitsPerSec::gbps(100);
pub const LOSSLESS: Priority = Priority::ALL[3];

/// A host that sends `frames` frames of 1,048 bytes to `to` at line rate, or only receives.
fn station(n: u8, name: String, to: Option<u8>, frames: u64, expects: Vec<FlowId>) -> StationPlan {
    let flow = |to: u8| FlowPlan {
        id: FlowId(n.into()),
        src: rig::host(n),
        dst: rig::host(to),
        tag: Some(Tag { vid: None, pcp: Pcp::new(3).unwrap() }),
        priority: LOSSLESS,
        headers: Headers::Ethernet,
        size: 1048,
        rate: Rate::LineShare(1_000_000),
        start: Instant::ZERO,
        stop: Instant::NEVER,
        frames: Some(frames),
    };
    StationPlan {
        flow_control: FlowControl::Pfc {
            send: PrioritySet::EMPTY,
            obey: PrioritySet::of(LOSSLESS),
        },
        backlog: Duration::MAX,
        flows: to.map(flow).into_iter().collect(),
        expects,
        ..StationPlan::new(name, rig::host(n), RATE)
    }
}

fn switch(ports: u16) -> SwitchPlan {
    let mut switch = rig::plan(ports);
    switch.name = "s".into();
    switch.buffer.total = Cells(4096 + 400 * u32::from(ports));
    for (n, port) in switch.ports.iter_mut().enumerate() {
        let name = if n + 1 == usize::from(ports) { "r".into() } else { format!("h{n}") };
        (port.name, port.rate, port.shaped) = (format!("to_{name}"), RATE, true);
        port.pfc.refresh = Duration::from_micros(100);
        let (vid, mac, port) = (Vid::MIN, rig::host(n as u8), PortId::new(n as u16).unwrap());
        switch.bridge.statics.push(StaticEntry { vid, mac, port });
    }
    for groups in &mut switch.buffer.groups {
        *groups = rig::groups(400);
    }
    switch
}

/// The one switch.
pub fn the_switch(plan: &mut NetworkPlan) -> &mut SwitchPlan {
    let NodeKind::Switch(switch) = &mut plan.nodes[0].kind else { panic!("node 0 is the switch") };
    switch
}

/// Host `n`.
pub fn host(plan: &mut NetworkPlan, n: usize) -> &mut StationPlan {
    let NodeKind::Host(host) = &mut plan.nodes[1 + n].kind else { panic!("the others are hosts") };
    host
}

/// `senders` hosts at one switch, all sending `frames` frames to one more at line rate. The switch
/// is node 0, the receiver the last; host n sends flow n.
pub fn incast(senders: u8, frames: u64) -> NetworkPlan {
    let ports = u16::from(senders) + 1;
    let expects = (0..senders).map(|n| FlowId(n.into())).collect();
    let mut nodes = vec![NodePlan::new(NodeKind::Switch(switch(ports)))];
    for n in 0..senders {
        let host = station(n, format!("h{n}"), Some(senders), frames, vec![]);
        nodes.push(NodePlan::new(NodeKind::Host(host)));
    }
    let receiver = station(senders, "r".into(), None, 0, expects);
    nodes.push(NodePlan::new(NodeKind::Host(receiver)));
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
