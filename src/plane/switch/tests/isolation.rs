//! Congestion Isolation in the switch: frame order under all conditions, and isolated frames
//! overtaken by others.

mod apart;
mod cims;
mod objects;
mod order;
mod polling;
mod together;

use core::net::{IpAddr, Ipv4Addr};

use crate::managed::At;
use crate::rig::*;
use crate::{Change, CongestionIsolationPlan, IsolationPoint, SwitchPlan};
use congestion::Detect;
use congestion::isolation::{CimType, IsolationPlan, MapReading, Peer, QueueMap, Watch};
use ground::time::Duration;
use ground::units::*;
use wire::datagram;
use wire::ip::Ecn;
use wire::{EtherType, cim, ethernet};

const MONITORED: TrafficClass = TrafficClass::ALL[3];
const CONGESTING: TrafficClass = TrafficClass::ALL[5];

/// Offset of the sequence number of a frame, behind the headers of UDP over IPv4.
const NUMBER: usize = ethernet::HEADER_LEN + 28;

fn address(n: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, n)
}

/// A frame from host `from` to host 9, with priority 3 by its DSCP: a packet of a flow, given by
/// its source port, with its sequence number.
fn packet(from: u8, flow: u16, number: u32, len: usize) -> Vec<u8> {
    let headers = datagram::Repr {
        src: IpAddr::V4(address(from)),
        dst: IpAddr::V4(address(9)),
        dscp: Dscp::new(24).unwrap(),
        ecn: Ecn::NotEct,
        ttl: 64,
        src_port: flow,
        dst_port: 4791,
    };
    let mut octets = frame(host(9), host(from), None, len.max(NUMBER + 4));
    octets[12..14].copy_from_slice(&EtherType::IPV4.0.to_be_bytes());
    octets[NUMBER..NUMBER + 4].copy_from_slice(&number.to_be_bytes());
    headers.emit(&mut octets[14..]).unwrap();
    octets
}

/// Returns the flow and the sequence number of such a frame.
fn read(octets: &[u8]) -> (u16, u32) {
    let be16 = |at: usize| u16::from_be_bytes([octets[at], octets[at + 1]]);
    (be16(34), u32::from(be16(NUMBER)) << 16 | u32::from(be16(NUMBER + 2)))
}

/// Class 3 is monitored from 2,000 bytes, its congesting flows go to class 5.
fn isolating() -> CongestionIsolationPlan {
    let watch =
        Watch { detect: Detect::Length(Bytes(2_000)), low: Bytes(500), cim_above: Bytes(1_500) };
    let plan = congestion().isolation.unwrap();
    CongestionIsolationPlan { machine: IsolationPlan { watch, ..plan.machine }, ..plan }
}

/// A switch of four ports that isolates; host 9 is behind port 3.
fn isolating_switch() -> SwitchPlan {
    let mut plan = plan(4);
    plan.congestion.isolation = Some(isolating());
    for port in &mut plan.ports {
        // Frames of priority 3 are stopped by the peer, not by the buffer.
        port.pfc.mode = pfc::FlowControl::Pfc {
            send: PrioritySet::EMPTY,
            obey: PrioritySet::of(Priority::ALL[3]),
        };
    }
    plan
}

/// A switch whose port `at` has a peer of this kind.
fn with_peer(at: u16, cim_type: CimType) -> SwitchPlan {
    let mut plan = isolating_switch();
    let isolation = plan.congestion.isolation.as_mut().unwrap();
    isolation.points = (0..4).map(point).collect();
    isolation.peers = vec![(port(at), peer(cim_type))];
    plan
}

/// A switch that knows that host 9 is behind port 3.
fn learnt(plan: &SwitchPlan) -> Lab {
    let mut lab = Lab::new(plan);
    lab.learn(3, 9);
    lab
}

/// Sends packets of a flow to port 3, which is stopped: 32 fill the staging area, which holds as many,
/// a third one more is isolated, and the congesting queue is long enough for a CIM after a fifth.
fn congest(lab: &mut Lab, flow: u16) {
    lab.port(3).room = 0;
    lab.deliver_all(0, (1..=42).map(|number| packet(1, flow, number, 1_000)));
}

/// The peer of a port, with the addresses of host 7.
fn peer(cim_type: CimType) -> Peer {
    Peer {
        cim_type,
        mac: host(7),
        ipv4: Some(address(7)),
        ipv6: Some("2001:db8::7".parse().unwrap()),
        udp_port: 50_007,
        encap_len: 64,
    }
}

fn point(n: u8) -> IsolationPoint {
    IsolationPoint {
        mac: None,
        ipv4: Some(Ipv4Addr::new(10, 9, 0, n)),
        ipv6: Some(format!("2001:db8:9::{n}").parse().unwrap()),
        cim_port: 50_008,
    }
}

/// Isolation of two classes with short thresholds and short flow lives, with peers of each kind.
pub(super) fn restless() -> CongestionIsolationPlan {
    let map = QueueMap::new([-8, 0, 0, -6, 0, 4, 0, 1], MapReading::Partner).unwrap();
    let watch =
        Watch { detect: Detect::Length(Bytes(600)), low: Bytes(200), cim_above: Bytes(400) };
    let plan = isolating();
    let max_flow_life = Duration::from_micros(20);
    CongestionIsolationPlan {
        machine: IsolationPlan { map, watch, streams: 32, max_flow_life, ..plan.machine },
        points: (0..4).map(point).collect(),
        peers: [CimType::L2, CimType::Ipv4, CimType::Ipv6, CimType::L2]
            .into_iter()
            .zip(0..)
            .map(|(cim_type, n)| (port(n), peer(cim_type)))
            .collect(),
        ..plan
    }
}

/// CIMs to port 3, to be mutated.
pub(super) fn messages() -> Vec<Vec<u8>> {
    let forms = [CimType::L2, CimType::Ipv4, CimType::Ipv6];
    let about = |form| [true, false].map(|add| cims::cim_about(5, form, host(7), add));
    forms.into_iter().flat_map(about).collect()
}
