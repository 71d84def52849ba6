//! Flows, queues and times for tests.

use std::net::{IpAddr, Ipv4Addr};

use crate::{FlowKey, LimitPlan, Queue};
use ground::time::{Duration, Instant};
use ground::units::{PortId, TrafficClass};
use wire::flow::FiveTuple;
use wire::ip::Protocol;

/// A limit that lets everything pass.
pub(crate) const UNLIMITED: LimitPlan = LimitPlan { interval: Duration::ZERO, burst: 1 };

pub(crate) fn us(n: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(n)
}

pub(crate) fn queue(port: u16, class: u8) -> Queue {
    Queue { port: PortId::new(port).unwrap(), class: TrafficClass::new(class).unwrap() }
}

/// Returns a flow of RoCEv2, different for each `n`.
pub(crate) fn flow(n: u32) -> FiveTuple {
    FiveTuple {
        src: IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 | n)),
        dst: IpAddr::V4(Ipv4Addr::new(10, 255, 0, 1)),
        protocol: Protocol::UDP,
        src_port: n as u16,
        dst_port: 4791,
    }
}

pub(crate) fn key(n: u32) -> FlowKey {
    FlowKey::Ip(flow(n))
}
