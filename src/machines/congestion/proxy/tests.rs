//! The proxy against numbers calculated by hand, against a host's pause receiver, beside a port's
//! own pause sender, and against malicious senders.

mod bounds;
mod paths;
mod remembered;
mod together;

use super::*;
pub(crate) use crate::tests::us;
use ground::units::Quanta;
use pfc::{FlowControl, Receiver};
use wire::ip::Protocol;

const RATE: BitsPerSec = BitsPerSec::gbps(100);
const FABRIC: PortId = port(0);
const HOST: PortId = port(1);
const OTHER: PortId = port(2);
const SMART: PortId = port(3);
const P3: Priority = Priority::ALL[3];

const fn port(n: u16) -> PortId {
    PortId::new(n).expect("a port")
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A switch with a port to the fabric, two to hosts with PFC only, and one to a host that obeys
/// SFCMs; priorities 3 and 4 are lossless.
fn plan(rate: BitsPerSec) -> ProxyPlan {
    let kinds = [false, false, true].map(|reacts| Kind::Host { reacts });
    let kinds = [Kind::Fabric].into_iter().chain(kinds);
    let port = |kind| PortPlan { kind, rate, protected: PrioritySet(0b1_1000) };
    ProxyPlan::standard(kinds.map(port).collect())
}

/// A message from the fabric to the host at [`HOST`], about a flow of priority 3.
fn message(pause: Duration) -> Message {
    Message {
        ingress: Some(FABRIC),
        egress: Some(HOST),
        sender: ip("10.0.9.1"),
        host: ip("10.0.1.1"),
        flow: flow("10.0.1.1", "10.0.9.1"),
        priority: P3,
        pause,
        is_paused_by_port: false,
    }
}

fn flow(src: &str, dst: &str) -> FiveTuple {
    let (src_port, dst_port) = (49_152, 4_791);
    FiveTuple { src: ip(src), dst: ip(dst), protocol: Protocol::UDP, src_port, dst_port }
}

/// The message, about a flow between these addresses.
fn of_flow(message: Message, (src, dst): (&str, &str)) -> Message {
    Message { flow: flow(src, dst), ..message }
}

/// A host's pause timers on a link of `rate`.
fn receiver(rate: BitsPerSec) -> Receiver {
    let mode = FlowControl::Pfc { send: PrioritySet::EMPTY, obey: PrioritySet::ALL };
    Receiver::new(mode, rate)
}

/// Sends the frame that is due on `port`, if any, to its host, and returns it.
fn send(proxy: &mut Proxy, now: Instant, port: PortId, host: &mut Receiver) -> Option<PauseVector> {
    let times = proxy.due(now, port)?;
    assert!(host.on_pfc(now, &times));
    proxy.on_sent(now, port, &times);
    Some(times)
}
