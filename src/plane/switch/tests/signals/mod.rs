//! Congestion messages of the switch and its handling of received ones: messages by the right port
//! in the poll that caused them, byte for byte, and pauses of hosts by the proxy.

mod forged;
mod notify;
mod objects;
mod point;
mod proxy;
mod sections;
mod sent;
mod workers;

use core::net::IpAddr;

use crate::rig::*;
use crate::*;
use congestion::proxy::CachePlan;
use congestion::sfc::{Monitor, SfcPlan};
use congestion::{Detect, FlowKey, LimitPlan};
use contracts::stats::CongestionSnapshot;
use ground::time::Duration;
use ground::units::*;
use wire::flow::FiveTuple;
use wire::ip::{Ecn, Protocol};
use wire::sfcm::{self, Form, Locator, Sfcm};
use wire::{EtherType, datagram};

pub(super) const PORT: u16 = sfcm::PORT_DEFAULT;

fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

pub(super) fn v4(n: u8) -> IpAddr {
    [10, 0, 0, n].into()
}

pub(super) fn v6(n: u8) -> IpAddr {
    [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, n].into()
}

/// A UDP datagram of `len` bytes in total in a frame from host `src` to host `dst`, with these
/// ports.
pub(super) fn packet(
    (src, dst): ((u8, IpAddr), (u8, IpAddr)),
    tag: Option<(u8, u16)>,
    ports: (u16, u16),
    len: usize,
) -> Vec<u8> {
    let headers = datagram::Repr {
        src: src.1,
        dst: dst.1,
        dscp: Dscp::new(26).unwrap(),
        ecn: Ecn::Ect0,
        ttl: 9,
        src_port: ports.0,
        dst_port: ports.1,
    };
    let mut packet = vec![0; len];
    headers.emit(&mut packet).unwrap();
    framed((host(src.0), host(dst.0)), tag, headers.ethertype(), &packet)
}

/// A packet in a frame from one address to another.
pub(super) fn framed(
    (src, dst): (Mac, Mac),
    tag: Option<(u8, u16)>,
    ethertype: EtherType,
    packet: &[u8],
) -> Vec<u8> {
    let mut out = frame(dst, src, tag, 0);
    out.truncate(out.len() - 2);
    out.extend_from_slice(&ethertype.0.to_be_bytes());
    out.extend_from_slice(packet);
    out.resize(out.len().max(60), 0);
    out
}

/// The flow of [`packet`] from host 1 to host 2.
fn flow(ports: (u16, u16)) -> FiveTuple {
    FiveTuple {
        src: v4(1),
        dst: v4(2),
        protocol: Protocol::UDP,
        src_port: ports.0,
        dst_port: ports.1,
    }
}

/// Monitors every queue from 3,000 bytes, down to 1,000.
pub(super) fn sfc(ports: usize) -> SourceFlowControlPlan {
    let monitor = Monitor { detect: Detect::Length(Bytes(3_000)), target: Bytes(1_000) };
    SourceFlowControlPlan {
        point: SfcPlan {
            enabled: true,
            monitored_queues: 0xff,
            budget: LimitPlan { interval: Duration::ZERO, burst: 1 },
            ..SfcPlan::new()
        },
        monitors: vec![[Some(monitor); 8]; ports],
        ..rig::congestion().sfc.unwrap()
    }
}

/// A proxy that accepts every message, with a cache.
pub(super) fn proxy() -> SfcProxyPlan {
    let cache = Some(CachePlan::standard());
    SfcProxyPlan { cache, ..rig::congestion().proxy.unwrap() }
}

pub(super) fn attached(kind: AttachedKind) -> Attached {
    Attached { kind, locator: None }
}

/// Shaped ports, so that simultaneous frames queue.
fn shaped(n: u16) -> SwitchPlan {
    let mut p = plan(n);
    p.ports.iter_mut().for_each(|port| port.shaped = true);
    p
}

/// A switch that has learnt host n + 1 at each port n, and has sent everything.
fn lab(plan: &SwitchPlan) -> Lab {
    let mut lab = Lab::new(plan);
    for n in 0..plan.ports.len() as u16 {
        lab.inject(n, &frame(host(99), host(n as u8 + 1), None, 60));
    }
    // Each call sends one frame per shaped port, which frees its line.
    for _ in 0..=plan.ports.len() {
        lab.advance(Duration::from_micros(10));
    }
    lab.clear();
    lab
}

/// Frames of 1,000 bytes with FCS of priority 3 from host 1 to host 2, all at once, of a flow with these
/// ports.
fn burst(lab: &mut Lab, n: usize, ports: (u16, u16)) {
    let data = packet(((1, v4(1)), (2, v4(2))), Some((3, 0)), ports, 1_000 - 22);
    (0..n).for_each(|_| lab.inject(0, &data));
    lab.switch.poll(lab.now);
}

/// As [`burst`], of six frames on an idle switch, all of which leave; returns what host 1 receives.
fn congest(lab: &mut Lab, ports: (u16, u16)) -> Vec<Vec<u8>> {
    burst(lab, 6, ports);
    // One frame per call leaves each shaped port.
    for _ in 0..12 {
        lab.advance(us(20));
    }
    lab.check();
    lab.sent(0)
}

/// Returns the content of a message about the flow of [`flow`].
fn said(priority: u8, pause: Duration, locator: Locator) -> Sfcm<'static> {
    Sfcm {
        form: Form::Simplified(flow((7, 9))),
        priority: Priority::ALL[usize::from(priority)],
        dscp: Dscp::new(26).unwrap(),
        pause,
        locator,
        level: None,
    }
}

/// A message from host `sender`, or a switch behind it, to host 1 about its flow to host 2.
pub(super) fn sfcm_frame(
    sender: u8,
    tag: Option<(u8, u16)>,
    priority: u8,
    pause: Duration,
) -> Vec<u8> {
    let headers = datagram::Repr {
        src: v4(2),
        dst: v4(1),
        dscp: Dscp::new(48).unwrap(),
        ecn: Ecn::NotEct,
        ttl: 64,
        src_port: PORT,
        dst_port: PORT,
    };
    let repr = sfcm::Repr { headers, message: said(priority, pause, Locator::Incast) };
    let mut packet = vec![0; repr.buffer_len()];
    repr.emit(&mut packet).unwrap();
    framed((host(sender), host(1)), tag, EtherType::IPV4, &packet)
}

/// The message in a frame without tags.
fn parsed(frame: &[u8]) -> sfcm::Repr<'_> {
    let ethertype = EtherType(u16::from_be_bytes([frame[12], frame[13]]));
    sfcm::Repr::parse(ethertype, &frame[14..]).unwrap()
}

pub(super) fn counted(lab: &mut Lab) -> CongestionSnapshot {
    *lab.switch.congestion_snapshot().unwrap()
}
