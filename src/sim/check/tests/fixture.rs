//! Small networks to check, and their runs as lists of events that a test can doctor.

use core::net::Ipv4Addr;

use crate::check::{Check, Checkers, Finding};
pub(super) use crate::teststar::{host, the_switch};
use crate::*;
use ::host::{Demand, FlowId, FlowPlan, Headers, PausePlan, Rate, StationPlan, Udp};
use ::wire::ip::Ecn;
use buffer::GroupKind;
use contracts::frame::Frame;
use ground::time::{Duration, Instant};
use ground::units::*;
use ground::verdict::Verdict;
use pfc::FlowControl;
use schedule::LinePlan;
use switch::rig;
use switch::{Change, StaticEntry, SwitchPlan};

pub(super) const RATE: BitsPerSec = BitsPerSec::gbps(100);
pub(super) const P3: Priority = Priority::ALL[3];

pub(super) fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

/// A switch of `ports` ports of 100 Gb/s, whose priority 3 is lossless, with a static limit of
/// `limit` cells of 64 octets a group and enough headroom for 500 ns.
pub(super) fn switch(name: &str, ports: u16, limit: u32) -> SwitchPlan {
    let mut plan = rig::plan(ports);
    plan.name = name.into();
    plan.max_frame = 1522;
    let limit = buffer::SharedLimit::Static(Cells(limit));
    for (n, port) in plan.ports.iter_mut().enumerate() {
        port.name = format!("p{n}");
        (port.rate, port.shaped) = (RATE, true);
        port.pfc.refresh = Duration::from_micros(100);
    }
    for groups in &mut plan.buffer.groups {
        *groups = rig::groups(400);
        groups[3].limit = limit;
        if let GroupKind::Lossless { xon_offset, .. } = &mut groups[3].kind {
            *xon_offset = Cells(50);
        }
    }
    plan.buffer.total = Cells((400 + 1000) * u32::from(ports));
    plan
}

/// Host `n` sends `frames` frames of 1,000 octets of priority 3 to each of `to`, and expects `from`.
pub(super) fn station(n: u8, to: &[u8], frames: u64, from: &[u8]) -> StationPlan {
    let flow = |to: &u8| FlowPlan {
        id: flow(n, *to),
        src: rig::host(n),
        dst: rig::host(*to),
        tag: None,
        priority: P3,
        headers: Headers::Udp4(Udp {
            src: Ipv4Addr::new(10, 0, 0, n),
            dst: Ipv4Addr::new(10, 0, 0, *to),
            src_port: 5000,
            dst_port: 5000,
            dscp: Dscp::new(24).unwrap(),
            ecn: Ecn::NotEct,
        }),
        size: 1000,
        rate: Rate::LineShare(1_000_000),
        start: Instant::ZERO,
        stop: Instant::NEVER,
        frames: Some(frames),
    };
    StationPlan {
        flow_control: FlowControl::Pfc { send: PrioritySet::EMPTY, obey: PrioritySet::of(P3) },
        backlog: Duration::MAX,
        flows: to.iter().map(flow).collect(),
        expects: from.iter().map(|from| self::flow(*from, n)).collect(),
        ..StationPlan::new(format!("h{n}"), rig::host(n), RATE)
    }
}

pub(super) fn flow(from: u8, to: u8) -> FlowId {
    FlowId(u32::from(from) * 100 + u32::from(to))
}

pub(super) fn link(a: (u32, u16), b: (u32, u16)) -> LinkPlan {
    let end = |(node, port)| End { node: NodeId(node), port: PortId::new(port).unwrap() };
    let direction = DirectionPlan { delay: Duration::from_nanos(500), ..Default::default() };
    LinkPlan {
        name: format!("{}.{}-{}.{}", a.0, a.1, b.0, b.1),
        a: end(a),
        b: end(b),
        rate: RATE,
        line: LinePlan::ETHERNET,
        ab: direction,
        ba: direction,
    }
}

pub(super) fn network(nodes: Vec<NodeKind>, links: Vec<LinkPlan>) -> NetworkPlan {
    NetworkPlan {
        nodes: nodes.into_iter().map(NodePlan::new).collect(),
        links,
        faults: vec![],
        seed: 1,
        shuffle: None,
        sample_every: Some(Duration::from_micros(5)),
    }
}

/// Returns a switch's static entries for hosts.
pub(super) fn statics(places: impl Iterator<Item = (u8, u16)>) -> Vec<StaticEntry> {
    let port = |n| PortId::new(n).unwrap();
    let entry = |(n, at)| StaticEntry { vid: Vid::MIN, mac: rig::host(n), port: port(at) };
    places.map(entry).collect()
}

/// Hosts 0 to `senders - 1` blast at the next one, over one switch, which is node 0.
pub(super) fn incast(senders: u8, frames: u64) -> NetworkPlan {
    let mut s = switch("s", u16::from(senders) + 1, 200);
    s.bridge.statics = statics((0..=senders).map(|n| (n, n.into())));
    let all: Vec<u8> = (0..senders).collect();
    let mut nodes = vec![NodeKind::Switch(s)];
    nodes.extend(all.iter().map(|n| NodeKind::Host(station(*n, &[senders], frames, &[]))));
    nodes.push(NodeKind::Host(station(senders, &[], 0, &all)));
    let links = (0..=senders).map(|n| link((0, n.into()), (u32::from(n) + 1, 0)));
    network(nodes, links.collect())
}

/// A ring of `n` switches, which are the first nodes, with a host at each. Every host sends to the
/// one `hops` switches further round, clockwise. Port 0 is the host's, 1 goes on and 2 comes from
/// behind.
pub(super) fn ring(n: u8, hops: u8, frames: u64) -> NetworkPlan {
    let mut nodes = vec![];
    for s in 0..n {
        let mut plan = switch(&format!("s{s}"), 3, 60);
        plan.bridge.statics = statics((0..n).map(|h| (h, u16::from(h != s))));
        nodes.push(NodeKind::Switch(plan));
    }
    for h in 0..n {
        nodes.push(NodeKind::Host(station(h, &[(h + hops) % n], frames, &[(h + n - hops) % n])));
    }
    let n = u32::from(n);
    let around = (0..n).map(|s| link((s, 1), ((s + 1) % n, 2)));
    let links = around.chain((0..n).map(|s| link((s, 0), (n + s, 0)))).collect();
    network(nodes, links)
}

/// A host's pauses of priority 3: the first at `start` microseconds, `frames` of them, `every` microseconds.
pub(super) fn storm(quanta: u16, start: u64, every: u64, frames: u64) -> PausePlan {
    let (ask, every) = (Demand::pfc(PrioritySet::of(P3), Quanta(quanta)), at(every));
    PausePlan { ask, start: at(start), every: every.since(Instant::ZERO), frames }
}

/// Has group 3 of the switch's first port have this headroom.
pub(super) fn headroom(plan: &mut NetworkPlan, cells: u32) {
    let GroupKind::Lossless { headroom, .. } = &mut the_switch(plan).buffer.groups[0][3].kind
    else {
        panic!("group 3 is lossless")
    };
    *headroom = Cells(cells);
}

pub(super) fn fault(at: Instant, kind: FaultKind) -> Fault {
    Fault { at, kind }
}

/// A change of the switch.
pub(super) fn changed(at: Instant, change: Change) -> Fault {
    fault(at, FaultKind::Change { node: NodeId(0), change })
}

/// One thing that a witness was shown.
#[derive(Clone, Debug)]
pub(super) enum Event {
    Sent(Instant, Direction, VirtualFrame, Instant),
    Arrived(Instant, Direction, VirtualFrame),
    Lost(Instant, Direction, VirtualFrame, Loss),
    Noted(Instant, NodeId, Note),
    Link(Instant, LinkId, bool),
    HeldUp(Instant, NodeId),
    CaughtUp(Instant, NodeId),
    Forged(Instant, Direction, VirtualFrame),
}

impl Event {
    /// Shows it to a witness.
    pub(super) fn show(&self, witness: &mut impl Witness) {
        match self {
            Self::Sent(at, direction, frame, end) => witness.sent(*at, *direction, frame, *end),
            Self::Arrived(at, direction, frame) => witness.arrived(*at, *direction, frame),
            Self::Lost(at, direction, frame, cause) => {
                witness.lost(*at, *direction, frame, *cause);
            }
            Self::Noted(at, node, note) => witness.noted(*at, *node, note),
            Self::Link(at, link, up) => witness.link(*at, *link, *up),
            Self::HeldUp(at, node) => witness.held_up(*at, *node),
            Self::CaughtUp(at, node) => witness.caught_up(*at, *node),
            Self::Forged(at, direction, frame) => witness.forged(*at, *direction, frame),
        }
    }
}

/// A witness of events.
pub(super) trait See: Sized {
    fn see(&mut self, event: Event);
    fn sample(&mut self, _: Instant, _: &mut Nodes) {}
}

impl<S: See> Witness for S {
    fn sent(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame, end: Instant) {
        self.see(Event::Sent(at, direction, frame.clone(), end));
    }
    fn arrived(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame) {
        self.see(Event::Arrived(at, direction, frame.clone()));
    }
    fn lost(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame, cause: Loss) {
        self.see(Event::Lost(at, direction, frame.clone(), cause));
    }
    fn noted(&mut self, at: Instant, node: NodeId, note: &Note) {
        self.see(Event::Noted(at, node, *note));
    }
    fn link(&mut self, at: Instant, link: LinkId, up: bool) {
        self.see(Event::Link(at, link, up));
    }
    fn held_up(&mut self, at: Instant, node: NodeId) {
        self.see(Event::HeldUp(at, node));
    }
    fn caught_up(&mut self, at: Instant, node: NodeId) {
        self.see(Event::CaughtUp(at, node));
    }
    fn forged(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame) {
        self.see(Event::Forged(at, direction, frame.clone()));
    }
    fn sampled(&mut self, at: Instant, nodes: &mut Nodes) {
        self.sample(at, nodes);
    }
}

/// All that a witness was shown.
#[derive(Default)]
pub(super) struct Tape(pub(super) Vec<Event>);

impl See for Tape {
    fn see(&mut self, event: Event) {
        self.0.push(event);
    }
}

/// All that happens in a network up to `us` microseconds.
pub(super) fn events(plan: &NetworkPlan, us: u64) -> Vec<Event> {
    let mut network = Network::new(plan, Tape::default()).unwrap();
    network.run_until(at(us));
    network.finish().0.0
}

/// The first data frame that is sent on a line, of 1,000 octets and without its probe, by which it would
/// be one of its flow.
pub(super) fn data_frame(
    plan: &NetworkPlan,
    is_there: impl Fn(Direction) -> bool,
) -> (Direction, Vec<u8>) {
    let sent = events(plan, 20).into_iter().find_map(|event| match event {
        Event::Sent(_, d, frame, _) if is_there(d) && frame.wire_len() > 500 => Some((d, frame)),
        _ => None,
    });
    let (direction, frame) = sent.expect("data is sent on the line");
    let mut octets = frame.head().to_vec();
    octets.truncate(42);
    octets.resize(996, 0);
    (direction, octets)
}

/// Runs a network up to `us` microseconds with checkers that see what happens.
pub(super) fn run(plan: &NetworkPlan, us: u64) -> Vec<Finding> {
    judged(plan, plan, us)
}

/// As [`run`], with checkers that know another network.
pub(super) fn judged(known: &NetworkPlan, plan: &NetworkPlan, us: u64) -> Vec<Finding> {
    let mut network = Network::new(plan, Checkers::new(known)).unwrap();
    network.run_until(at(us));
    let (checkers, mut nodes) = network.finish();
    checkers.finish(at(us), &mut nodes)
}

/// Runs a network up to `us` microseconds, and shows the checkers what `doctor` makes of it.
pub(super) fn doctored(
    plan: &NetworkPlan,
    us: u64,
    doctor: impl FnOnce(&mut Vec<Event>),
) -> Vec<Finding> {
    let mut network = Network::new(plan, Tape::default()).unwrap();
    network.run_until(at(us));
    let (Tape(mut events), mut nodes) = network.finish();
    doctor(&mut events);
    let mut checkers = Checkers::new(plan);
    events.iter().for_each(|event| event.show(&mut checkers));
    checkers.finish(at(us), &mut nodes)
}

pub(super) fn of(findings: &[Finding], check: Check) -> &Finding {
    findings.iter().find(|finding| finding.check == check).expect("every check has a finding")
}

#[track_caller]
pub(super) fn all_good(findings: &[Finding]) {
    // The order of marks and pauses alone is not judged if no switch marks.
    let unmarked = |f: &Finding| f.check == Check::EcnBeforePfc && f.detail == "no switch marks";
    let bad: Vec<_> =
        findings.iter().filter(|f| f.verdict != Verdict::Pass && !unmarked(f)).collect();
    assert!(bad.is_empty(), "{bad:#?}");
}

/// Asserts that `check` objects, and that what it says has all of `words` in it.
#[track_caller]
pub(super) fn objects(findings: &[Finding], check: Check, words: &[&str]) {
    let finding = of(findings, check);
    assert_eq!(finding.verdict, Verdict::Fail, "{findings:#?}");
    for word in words {
        assert!(finding.detail.contains(word), "{word:?} is not in {finding:?}");
    }
}
