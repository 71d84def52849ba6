//! Measured switches and frames, the same with DPDK's ports and with ports in memory.

use sluice::buffer::{Alpha, BufferPlan, GroupKind, GroupPlan, SharedLimit};
use sluice::congestion::isolation::{IsolationPlan, MapReading, QueueMap};
use sluice::congestion::proxy::{PausePolicy, Senders};
use sluice::congestion::sfc::{Monitor, SfcPlan};
use sluice::congestion::{Detect, EcnPlan, MarkAt, NotEct};
use sluice::pfc::{FlowControl, PfcPlan};
use sluice::schedule::{ClassPlan, SchedulePlan};
use sluice::switch::*;
use sluice::time::Duration;
use sluice::units::*;
use sluice::wire::cim;

/// Stages of the pipeline that a frame passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pipeline {
    /// Parse, learn, look up, forward; no priority is lossless.
    Plain,
    /// Also: priority 3 is lossless, groups have dynamic limits, PFC is sent and obeyed, every
    /// class marks ECN.
    Lossless,
}

/// Slack for the use that workers do not yet know of each other, in cells of 256 bytes: the bursts
/// of one other worker, each way, in frames of 1522 bytes.
const SLACK: Cells = Cells(2 * 4 * 32 * 6);

/// A switch of `ports` ports with 2 MiB of buffer. All ports belong to VLAN 1, or with several
/// workers, those of each worker to a separate VLAN; all tagged.
pub fn plan(ports: u16, pipeline: Pipeline, workers: u16) -> SwitchPlan {
    let groups = core::array::from_fn(|g| group(g, pipeline));
    let plans = (0..ports).map(|n| port(n as u8, n * workers / ports, pipeline)).collect();
    let buffer = BufferPlan {
        cell_bytes: 256,
        total: Cells(8192),
        groups: vec![groups; ports.into()],
        slack: if workers > 1 { SLACK } else { Cells(0) },
    };
    SwitchPlan::new("bench", plans, buffer)
}

/// Adds Source Flow Control from queues of `from` bytes on, Congestion Isolation of class 3, and a
/// proxy for the hosts at all ports.
#[allow(dead_code)] // for the benches and tests that congest
pub fn congested(plan: SwitchPlan, from: Bytes) -> SwitchPlan {
    let ports = plan.ports.len();
    let monitor = Monitor { detect: Detect::Length(from), target: Bytes(from.0 / 2) };
    let point = SfcPlan {
        enabled: true,
        monitored_queues: 0xff,
        streams: sluice::congestion::streams::STREAMS_MAX,
        ..SfcPlan::new()
    };
    let map = QueueMap::new([0, 0, 0, -6, 0, 4, 0, 0], MapReading::Partner).expect("a pair");
    let control = Dscp::new(48).expect("six bits");
    let sfc = SourceFlowControlPlan {
        point,
        transmit_priority: Priority::ALL[7],
        dscp: Some(control),
        form: SfcmForm::Encapsulated,
        min_header_octets: 64,
        unknown: UnknownHost::Drop,
        from: SfcmFrom::Swapped,
        mac: None,
        ipv4: None,
        ipv6: None,
        monitors: vec![[Some(monitor); PRIORITIES]; ports],
    };
    let isolation = CongestionIsolationPlan {
        machine: IsolationPlan { enabled: true, map, ..IsolationPlan::new() },
        cim_tx_priority: Priority::ALL[6],
        dscp: Some(control),
        min_header_octets: 48,
        watches: vec![],
        points: vec![],
        peers: vec![],
        dialect: cim::Dialect::default(),
    };
    let proxy = SfcProxyPlan {
        udp_port: point.udp_port,
        unknown: UnknownHost::Drop,
        max_flow_life: point.max_flow_life,
        fabric: Senders::Anybody,
        hosts: Senders::Nobody,
        policy: PausePolicy::standard(),
        cache: None,
    };
    let congestion = CongestionPlan {
        sfc: Some(sfc),
        isolation: Some(isolation),
        proxy: Some(proxy),
        ports: vec![Attached { kind: AttachedKind::Host, locator: None }; ports],
        ..CongestionPlan::default()
    };
    SwitchPlan { congestion, ..plan }
}

/// Lets all frames join a queue, as in a congested switch.
#[allow(dead_code)] // for the benches that congest
pub fn queued(mut plan: SwitchPlan) -> SwitchPlan {
    for port in &mut plan.ports {
        port.queue_limits = [SharedLimit::Dynamic(Alpha::new(3).expect("in range")); PRIORITIES];
    }
    plan
}

fn group(index: usize, pipeline: Pipeline) -> GroupPlan {
    match pipeline {
        Pipeline::Plain => {
            GroupPlan { reserved: Cells(16), limit: SharedLimit::Unlimited, kind: GroupKind::Lossy }
        }
        Pipeline::Lossless => GroupPlan {
            reserved: Cells(16),
            limit: SharedLimit::Dynamic(Alpha::new(0).expect("in range")),
            kind: match index {
                3 => GroupKind::Lossless {
                    headroom: Cells(500),
                    xon: Cells(100),
                    xon_offset: Cells(8),
                },
                _ => GroupKind::Lossy,
            },
        },
    }
}

fn port(n: u8, worker: u16, pipeline: Pipeline) -> PortPlan {
    let vid = Vid::new(1 + worker).expect("a small number");
    let lossless = pipeline == Pipeline::Lossless;
    let p3 = PrioritySet::of(Priority::ALL[3]);
    let ecn = EcnPlan {
        kmin: Bytes(20_000),
        kmax: Bytes(80_000),
        pmax: 6554,
        at: MarkAt::Enqueue,
        not_ect: NotEct::Pass,
    };
    let plan = PortPlan::new(format!("p{n}"), Mac([2, 0, 0, n, 1, 0]), BitsPerSec::gbps(100));
    PortPlan {
        classify: ClassifyPlan {
            trust: if lossless { Trust::PcpThenDscp } else { Trust::Pcp },
            ..plan.classify
        },
        pfc: PfcPlan {
            mode: if lossless { FlowControl::Pfc { send: p3, obey: p3 } } else { FlowControl::Off },
            quanta: Quanta::MAX,
            refresh: Duration::from_micros(100),
        },
        schedule: SchedulePlan { classes: [ClassPlan::Dwrr { weight: 12 }; 8], ..plan.schedule },
        ecn: [lossless.then_some(ecn); 8],
        vlan: VlanPlan { pvid: Some(vid), members: vec![VlanMember { vid, tagged: true }] },
        ..plan
    }
}

/// Address of a host behind port `side`.
pub const fn mac(side: u8, flow: u8) -> [u8; 6] {
    [2, 0, 0, side, 0, flow]
}

/// A frame from host `flow` behind port `from` to the host of the same number behind port `to`, in
/// VLAN 1: 64 bytes on the wire, tagged with PCP 3, an IPv4 packet with ECT(0) and UDP.
pub fn template(from: u8, to: u8, flow: u8) -> [u8; 60] {
    let mut f = [0; 60];
    f[..6].copy_from_slice(&mac(to, flow));
    f[6..12].copy_from_slice(&mac(from, flow));
    f[12..18].copy_from_slice(&[0x81, 0, 3 << 5, 1, 8, 0]);
    let ip = [0x45, 2, 0, 42, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, from, flow, 10, 0, to, flow];
    f[18..38].copy_from_slice(&ip);
    f[38..46].copy_from_slice(&[0x12, 0xb7, 0x12, 0xb7, 0, 22, 0, 0]);
    f
}
