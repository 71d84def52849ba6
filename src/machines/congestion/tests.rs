//! Flows, queues and times for tests, and tests of the limit of messages.

use std::net::{IpAddr, Ipv4Addr};

use proptest::prelude::*;

use crate::{FlowKey, Limit, LimitPlan, Queue};
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

proptest! {
    #[test]
    fn no_window_lets_more_pass_than_its_intervals_and_a_burst(
        gaps in prop::collection::vec(0_u64..30, 1..300), interval in 1_u64..20, burst in 1_u32..9
    ) {
        let plan = LimitPlan { interval: Duration::from_micros(interval), burst };
        let mut limit = Limit::new(plan);
        let (mut now, mut passed) = (0, Vec::new());
        for gap in gaps {
            now += gap;
            if limit.pass(Instant::ZERO + Duration::from_micros(now)) {
                passed.push(now);
            }
        }
        for (n, first) in passed.iter().enumerate() {
            for (more, last) in passed[n..].iter().enumerate() {
                let allowed = u64::from(burst) + (last - first) / interval;
                prop_assert!((more as u64) < allowed, "{passed:?}");
            }
        }
    }
}

#[test]
fn without_an_interval_everything_passes() {
    let mut limit = Limit::new(LimitPlan { interval: Duration::ZERO, burst: 1 });
    assert!((0..1_000).all(|_| limit.pass(Instant::ZERO)));
}
