//! Flows with acknowledgements: RoCEv2 and TCP.

use super::carrier::{Batch, Carrier};
use super::parts::{Bound, KindOf, Marked, One, PORT_FIRST, PORTS, Sent, Times, has_room};
use super::sizes::Sizes;
use crate::resolve::addresses::{ip, mac};
use crate::resolve::graph;
use config::Cx;
use ground::units::BitsPerSec;
use host::{
    Message, PlanError, Rate, RocePlan, StationPlan, TcpPlan, Transport, TransportPlan, Work,
};
use labrun::message_log::ENDLESS;
use schedule::Line;
use wire::roce::U24;

/// Destination port of the first flows; from flow 16384 on the next port, and so on.
const TCP_PORT: u16 = 5_001;

/// Plans a flow; `None` if the station cannot send it.
pub(super) fn plan(
    cx: &mut Cx,
    at: &graph::Source<'_>,
    kind: &KindOf,
    one: &One,
    marked: Marked,
    times: Times,
    station: &StationPlan,
) -> Option<TransportPlan> {
    let (from, to) = (one.sent.from, one.sent.to);
    let (id, spread) = (one.id.0, (one.id.0 % PORTS) as u16);
    let (transport, messages) = match &kind.carrier {
        Carrier::Roce(roce, messages) => {
            // Both numbers are unique in the lab and so at every station; QPs 0 and 1 are reserved.
            let qp = |n: u32| U24::wrapping(2 + 2 * u64::from(id) + u64::from(n));
            let (src_qp, dst_qp) = (qp(0), qp(1));
            let RocePlan { src_port, .. } = RocePlan::new(src_qp, dst_qp);
            let roce = RocePlan { src_qp, dst_qp, src_port, ..(**roce).clone() };
            (Transport::Roce(roce), messages)
        }
        Carrier::Tcp(tcp, messages) => {
            let dst_port = TCP_PORT + (id / PORTS) as u16;
            let tcp = TcpPlan { src_port: PORT_FIRST + spread, dst_port, ..tcp.clone() };
            (Transport::TcpLike(tcp), messages)
        }
        Carrier::Udp | Carrier::Ethernet => return None,
    };
    let mut plan = TransportPlan {
        id: one.id,
        src: mac(from),
        dst: mac(to),
        src_ip: ip(from),
        dst_ip: ip(to),
        tag: None,
        priority: marked.priority,
        dscp: marked.dscp,
        ecn: kind.ecn,
        size: kind.size,
        rate: rate(kind.rate, kind.size, station),
        start: times.start,
        stop: times.stop,
        message: None,
        work: Work { list: one.sent.list.clone(), after: one.after, log: 0 },
        kind: transport,
    };
    if !has_room(cx, at, plan.size, plan.size_min()) {
        return None;
    }
    if plan.work.list.is_none() {
        plan.message = message(&one.sent, messages.as_ref(), plan.payload());
    }
    if let Err(e) = plan.check() {
        let field = match e {
            PlanError::Short { .. } | PlanError::Long { .. } => "size",
            PlanError::Message(_) => "duration",
            _ => "transport",
        };
        cx.error(&at.key(field), what_of(&e));
        return None;
    }
    Some(plan)
}

/// Returns a plan's error without the flow's number, which the file does not contain.
fn what_of(e: &PlanError) -> String {
    let text = e.to_string();
    text.split_once(": ").map_or(text.clone(), |(_, what)| what.to_owned())
}

/// Returns the rate limit of a flow in bits of frames per second; `None` for the full link rate.
fn rate(rate: Rate, size: u32, station: &StationPlan) -> Option<BitsPerSec> {
    let bits = match rate {
        Rate::LineShare(1_000_000) => return None,
        Rate::LineShare(ppm) => {
            let line = Line::new(station.rate, station.line);
            let whole = u128::from(station.rate.get()) * u128::from(size)
                / u128::from(line.octets(size).max(1));
            whole * u128::from(ppm) / 1_000_000
        }
        Rate::FrameBits(rate) => return Some(rate),
        Rate::Frames(n) => u128::from(n) * u128::from(size) * 8,
    };
    BitsPerSec::new(u64::try_from(bits.max(1)).unwrap_or(u64::MAX))
}

/// Returns the configured equal messages of a flow, or those of its whole amount.
fn message(sent: &Sent, said: Option<&Batch>, payload: u32) -> Option<Message> {
    let all = match sent.bound {
        Bound::Bytes(n) => Some(n),
        Bound::Frames(n) => Some(n.saturating_mul(payload.into())),
        Bound::None | Bound::Time(_) => None,
    };
    let Some(said) = said else {
        return all.map(|bytes| Message { count: sent.times, ..Message::once(bytes) });
    };
    // Sizes that are drawn are in a list.
    let Sizes::Fixed(bytes) = said.sizes else { return None };
    let fit = all.map_or(ENDLESS, |all| all.div_ceil(bytes.max(1)));
    Some(Message { bytes, count: said.count.unwrap_or(fit), every: said.every })
}
