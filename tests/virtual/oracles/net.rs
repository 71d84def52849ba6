//! Small networks, built from the inputs of the published numbers: hosts at one or two switches
//! that have one lossless priority.

use sluice::buffer::{BufferPlan, GroupKind, GroupPlan, GroupUsage, SharedLimit};
use sluice::host::{Demand, FlowId, FlowPlan, Headers, PausePlan, Rate, StationPlan, Udp};
use sluice::pfc::{FlowControl, PfcPlan};
use sluice::schedule::{ClassPlan, LinePlan, SchedulePlan};
use sluice::sim::{
    DirectionPlan, End, LinkPlan, Network, NetworkPlan, Node, NodeId, NodeKind, NodePlan,
};
use sluice::switch::{
    BridgePlan, ClassifyPlan, CongestionPlan, PortPlan, RoutingPlan, StaticEntry, SwitchPlan,
    Trust, VlanMember, VlanPlan,
};
use sluice::time::{Duration, Instant};
use sluice::units::{
    BitsPerSec, Bytes, Cells, Dscp, Mac, PRIORITIES, PortId, Priority, PriorityGroup, PrioritySet,
    Quanta, TrafficClass, Vid,
};
use sluice::wire::ip::Ecn;

use super::seen::Seen;

/// The lossless priority: that of frames without IP here.
pub const LOSSLESS: Priority = Priority::ALL[3];

/// A line without overhead per frame, as in simulators.
pub const BARE: LinePlan = LinePlan { overhead: 0, step: Duration::from_picos(1) };

/// A network. Host `n` is at end `b` of link `n`; behind those is the trunk, if there is one.
#[derive(Clone, Debug)]
pub struct Net {
    /// All lines are equal.
    pub line: LinePlan,
    /// Bytes of a pause on the line, if not the standard's.
    pub pause: Option<u32>,
    /// Bytes of a cell.
    pub cell: u32,
    /// Buffer of each switch.
    pub total: Cells,
    /// Group of the lossless priority at every port; the others are lossy and reserve nothing.
    pub group: GroupPlan,
    pub hosts: Vec<Host>,
    /// Link between switches 0 and 1.
    pub trunk: Option<(BitsPerSec, Duration)>,
}

/// A host and its link.
#[derive(Clone, Debug)]
pub struct Host {
    /// Index of its switch.
    pub switch: usize,
    /// Rate of its link.
    pub rate: BitsPerSec,
    /// One-way delay of a bit.
    pub delay: Duration,
    /// Response time of the host to a pause.
    pub response: Duration,
    /// True if it obeys pauses.
    pub obeys: bool,
    /// True if it pauses the lossless priority all the time, from the start.
    pub blocks: bool,
    /// Traffic that it sends.
    pub flow: Option<Flow>,
}

/// Equal frames at line rate.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Destination host.
    pub to: usize,
    /// True for the lossless priority, else priority 0.
    pub lossless: bool,
    /// Bytes of each.
    pub len: u32,
    /// Number of frames, if limited.
    pub frames: Option<u64>,
    /// Start of the first.
    pub start: Instant,
}

impl Host {
    /// A host that sends nothing.
    pub fn new(rate: BitsPerSec, delay: Duration) -> Self {
        let response = Duration::ZERO;
        Self { switch: 0, rate, delay, response, obeys: true, blocks: false, flow: None }
    }

    /// Adds a lossless flow of frames of `len` bytes to host `to`, from the start.
    pub fn sends(self, to: usize, len: u32, frames: Option<u64>) -> Self {
        let flow = Flow { to, lossless: true, len, frames, start: Instant::ZERO };
        Self { flow: Some(flow), ..self }
    }
}

impl Net {
    fn switches(&self) -> usize {
        1 + usize::from(self.trunk.is_some())
    }

    /// Links at the ports of a switch, in the order of the ports.
    fn links_of(&self, switch: usize) -> Vec<usize> {
        let hosts = (0..self.hosts.len()).filter(|n| self.hosts[*n].switch == switch);
        hosts.chain(self.trunk.map(|_| self.hosts.len())).collect()
    }

    /// Port of a switch towards a host.
    fn towards(&self, switch: usize, host: usize) -> PortId {
        let link = if self.hosts[host].switch == switch { host } else { self.hosts.len() };
        let port = self.links_of(switch).iter().position(|l| *l == link).unwrap();
        PortId::new(port as u16).unwrap()
    }

    fn rate_of(&self, link: usize) -> BitsPerSec {
        self.hosts.get(link).map_or_else(|| self.trunk.unwrap().0, |host| host.rate)
    }

    fn groups(&self) -> [GroupPlan; PRIORITIES] {
        let (limit, kind) = (SharedLimit::Unlimited, GroupKind::Lossy);
        let mut groups = [GroupPlan { reserved: Cells(0), limit, kind }; PRIORITIES];
        groups[LOSSLESS.index()] = self.group;
        groups
    }

    fn port(&self, n: usize, rate: BitsPerSec) -> PortPlan {
        let (vid, only) = (Vid::MIN, PrioritySet::of(LOSSLESS));
        PortPlan {
            name: format!("p{n}"),
            mac: Mac([2, 0, 0, 1, (n >> 8) as u8, n as u8]),
            rate,
            shaped: true,
            classify: ClassifyPlan {
                trust: Trust::Dscp,
                pcp: Priority::ALL,
                dscp: [Priority::MIN; 64],
                default: LOSSLESS,
                group: PriorityGroup::ALL,
                class: TrafficClass::ALL,
            },
            pfc: PfcPlan {
                mode: FlowControl::Pfc { send: only, obey: only },
                quanta: Quanta::MAX,
                // Late, so that pauses without quanta, as in simulators, can be counted.
                refresh: Quanta::MAX.at(rate).div(4).saturating_mul(3),
            },
            watchdog: [None; PRIORITIES],
            schedule: SchedulePlan {
                classes: [ClassPlan::Dwrr { weight: 10 }; PRIORITIES],
                shaper_burst: Bytes(0),
                line: self.line,
            },
            ecn: [None; PRIORITIES],
            queue_limits: [SharedLimit::Unlimited; PRIORITIES],
            vlan: VlanPlan { pvid: Some(vid), members: vec![VlanMember { vid, tagged: false }] },
            agents: None,
            secy: None,
        }
    }

    fn switch(&self, switch: usize) -> NodePlan {
        let links = self.links_of(switch);
        let statics = (0..self.hosts.len()).map(|n| {
            let port = self.towards(switch, n);
            StaticEntry { vid: Vid::MIN, mac: mac(n), port }
        });
        let plan = SwitchPlan {
            name: format!("s{switch}"),
            ports: links.iter().enumerate().map(|(n, l)| self.port(n, self.rate_of(*l))).collect(),
            buffer: BufferPlan {
                cell_bytes: self.cell,
                total: self.total,
                groups: vec![self.groups(); links.len()],
                slack: Cells(0),
            },
            bridge: BridgePlan {
                shortcuts: 64,
                table_size: 1_024,
                port_limit: BridgePlan::NO_LIMIT,
                ageing: Duration::from_secs(300),
                statics: statics.collect(),
                spread: Vec::new(),
            },
            routing: RoutingPlan::default(),
            congestion: CongestionPlan::default(),
            max_frame: 9_216,
            seed: 1,
        };
        let mut node = NodePlan::new(NodeKind::Switch(plan));
        node.control_len = self.pause;
        node
    }

    fn host(&self, n: usize) -> NodePlan {
        let host = &self.hosts[n];
        let obey = if host.obeys { PrioritySet::of(LOSSLESS) } else { PrioritySet::EMPTY };
        let blocks = PausePlan {
            ask: Demand::pfc(PrioritySet::of(LOSSLESS), Quanta::MAX),
            start: Instant::ZERO,
            every: Quanta::MAX.at(host.rate).div(2),
            frames: u64::MAX,
        };
        let to_here = |m: &usize| self.hosts[*m].flow.is_some_and(|f| f.to == n);
        let mut node = NodePlan::new(NodeKind::Host(StationPlan {
            flow_control: FlowControl::Pfc { send: PrioritySet::EMPTY, obey },
            line: self.line,
            flows: host.flow.map(|flow| flow_plan(n, flow)).into_iter().collect(),
            expects: (0..self.hosts.len()).filter(to_here).map(|m| FlowId(m as u32)).collect(),
            pauses: if host.blocks { vec![blocks] } else { vec![] },
            ..StationPlan::new(format!("h{n}"), mac(n), host.rate)
        }));
        node.control_len = self.pause;
        node
    }

    /// Plan of the virtual world: switches first, then hosts.
    pub fn plan(&self) -> NetworkPlan {
        let switches = self.switches();
        let links = (0..self.hosts.len() + switches - 1).map(|l| {
            let end = |switch: usize| {
                let port = self.links_of(switch).iter().position(|of| *of == l).unwrap();
                End { node: NodeId(switch as u32), port: PortId::new(port as u16).unwrap() }
            };
            let both = |delay| DirectionPlan { delay, ..DirectionPlan::default() };
            let (name, rate, line) = (format!("l{l}"), self.rate_of(l), self.line);
            let Some(host) = self.hosts.get(l) else {
                let way = both(self.trunk.unwrap().1);
                return LinkPlan { name, a: end(0), b: end(1), rate, line, ab: way, ba: way };
            };
            let b = End { node: NodeId((switches + l) as u32), port: PortId::MIN };
            let ba = both(host.delay);
            let ab = DirectionPlan { response: host.response, ..ba };
            LinkPlan { name, a: end(host.switch), b, rate, line, ab, ba }
        });
        let links = links.collect();
        let hosts = (0..self.hosts.len()).map(|n| self.host(n));
        let nodes = (0..switches).map(|n| self.switch(n)).chain(hosts).collect();
        NetworkPlan { nodes, links, faults: vec![], seed: 1, shuffle: None, sample_every: None }
    }

    /// The network at its start.
    pub fn build(&self) -> Network<Seen> {
        let links = (0..self.switches()).map(|n| self.links_of(n)).collect();
        Network::new(&self.plan(), Seen::new(links, self.hosts.len())).unwrap()
    }

    /// Runs for some time.
    pub fn run_for(&self, time: Duration) -> Network<Seen> {
        let mut network = self.build();
        network.run_until(Instant::ZERO + time);
        network
    }

    /// Usage and peak of the lossless group of the port towards a host.
    pub fn usage(&self, network: &mut Network<Seen>, host: usize) -> GroupUsage {
        let switch = self.hosts[host].switch;
        let node = network.nodes_mut().get_mut(NodeId(switch as u32));
        let Node::Switch(node) = node else { panic!("switches come first") };
        node.ledger().usage(self.towards(switch, host), PriorityGroup::ALL[LOSSLESS.index()])
    }

    /// Bytes that a host received of each flow to it, in the order of their senders.
    pub fn received(&self, network: &mut Network<Seen>, host: usize) -> Vec<u64> {
        let now = network.now();
        let node = network.nodes_mut().get_mut(NodeId((self.switches() + host) as u32));
        let Node::Host(node) = node else { panic!("hosts come behind switches") };
        node.snapshot(now).sinks.iter().map(|sink| sink.bytes).collect()
    }
}

fn mac(n: usize) -> Mac {
    Mac([2, 0, 0, 0, (n >> 8) as u8, n as u8])
}

fn flow_plan(from: usize, flow: Flow) -> FlowPlan {
    let address = |n: usize| [10, 0, (n >> 8) as u8, n as u8].into();
    let lossy = Udp {
        src: address(from),
        dst: address(flow.to),
        src_port: 1,
        dst_port: 2,
        dscp: Dscp::MIN,
        ecn: Ecn::NotEct,
    };
    FlowPlan {
        id: FlowId(from as u32),
        src: mac(from),
        dst: mac(flow.to),
        tag: None,
        priority: if flow.lossless { LOSSLESS } else { Priority::MIN },
        headers: if flow.lossless { Headers::Ethernet } else { Headers::Udp4(lossy) },
        size: flow.len,
        rate: Rate::LineShare(1_000_000),
        start: flow.start,
        stop: Instant::NEVER,
        frames: flow.frames,
    }
}
