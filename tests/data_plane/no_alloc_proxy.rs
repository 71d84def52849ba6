//! The proxy of Source Flow Control and both ends of Quantized Congestion Notification allocate
//! nothing once they exist, also under floods.

use std::hint::black_box;
use std::net::IpAddr;

use sluice::congestion::proxy::{
    CachePlan, Kind, Message, PausePolicy, PortPlan, Proxy, ProxyPlan,
};
use sluice::congestion::qcn::{
    CongestionPoint, PointPlan, QuantizedFeedback, ReactionPlan, ReactionPoint,
};
use sluice::time::{Duration, Instant};
use sluice::units::{BitsPerSec, Bytes, PauseVector, PortId, Priority, PrioritySet};
use sluice::wire::flow::FiveTuple;
use sluice::wire::ip::Protocol;

const RATE: BitsPerSec = BitsPerSec::gbps(100);

#[test]
fn a_flood_of_messages_and_destinations_costs_the_proxy_no_allocation() {
    let port = |kind| PortPlan { kind, rate: RATE, protected: PrioritySet::ALL };
    let ports = vec![port(Kind::Fabric), port(Kind::Host { reacts: false })];
    let policy = PausePolicy { burst: 1_000, ..PausePolicy::standard() };
    let cache = Some(CachePlan { entries: 1_024, ..CachePlan::standard() });
    let mut proxy = Proxy::new(&ProxyPlan { policy, cache, ..ProxyPlan::standard(ports) }, 1);
    let [fabric, host] = [0, 1].map(|n| PortId::new(n).unwrap());
    let own = PauseVector { enabled: PrioritySet::of(Priority::MIN), ..PauseVector::default() };
    let mut now = Instant::ZERO;
    let counted = allocation_counter::measure(|| {
        for n in 0..100_000_u32 {
            now += Duration::from_micros(1);
            let address = |n: u32| IpAddr::V4(n.into());
            let message = Message {
                ingress: Some(fabric),
                egress: Some(host),
                sender: address(n),
                host: address(1),
                flow: FiveTuple {
                    src: address(1),
                    dst: address(n),
                    protocol: Protocol::UDP,
                    src_port: 49_152,
                    dst_port: 4_791,
                },
                priority: Priority::ALL[n as usize % 8],
                pause: Duration::from_micros(u64::from(n % 3_000)),
                is_paused_by_port: false,
            };
            proxy.on_message(now, &message);
            proxy.on_flow(now, host, address(n / 2), Priority::MIN);
            let frame = proxy.due(now, host).unwrap_or_else(|| proxy.merge(now, host, own));
            proxy.on_sent(now, host, &frame);
        }
    });
    assert!(proxy.counters(host).accepted > 5_000 && proxy.cache_counters().full > 0);
    assert_eq!(counted.count_total, 0, "{counted:?}");
}

#[test]
fn quantized_notifications_cost_no_allocation() {
    let mut point = CongestionPoint::new(PointPlan::standard(), 1);
    let mut flow = ReactionPoint::new(ReactionPlan::standard(), RATE, 1);
    let mut now = Instant::ZERO;
    let counted = allocation_counter::measure(|| {
        for n in 0..100_000_u64 {
            now += Duration::from_micros(10);
            let seen = point.on_enqueue(Bytes(n % 997 * 100), Bytes(1_500));
            let feedback = seen.map_or(QuantizedFeedback::MAX, |seen| seen.quantized);
            if n % 100 == 0 || seen.is_some() {
                flow.on_cnm(now, feedback);
            }
            flow.on_timeout(now);
            flow.on_sent(1_500);
        }
    });
    assert!(point.answered() > 0 && flow.rate() < RATE);
    assert_eq!(counted.count_total, 0, "{counted:?}");
    let control = allocation_counter::measure(|| drop(black_box(vec![0_u8; 100])));
    assert_eq!(control.count_total, 1, "the counter counts");
}
