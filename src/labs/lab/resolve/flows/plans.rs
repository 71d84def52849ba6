//! Plans of the two ends of a flow: with acknowledgements, over RoCEv2 or TCP, and without.

use super::carrier::{Batch, Carrier, default_timeout};
use super::parts::{Bound, KindOf, One, PORT_FIRST, PORTS, Sent, Times, has_room};
use super::traffic::Sizes;
use crate::resolve::graph::{self, ip, mac};
use config::Cx;
use contracts::frame::FCS_BYTES;
use ground::units::BitsPerSec;
use host::{
    FlowPlan, Headers, Marking, Message, PlanError, Rate, RocePlan, StationPlan, TcpPlan,
    Transport, TransportPlan, Udp, Work,
};
use labrun::ENDLESS;
use schedule::Line;
use wire::roce::U24;

/// Destination port of the first flows; from flow 16384 on the next port, and so on.
const TCP_PORT: u16 = 5_001;

/// A flow whose ends can be planned.
pub(super) struct Ready<'a> {
    pub(super) kind: &'a KindOf,
    pub(super) one: &'a One,
    pub(super) marked: Marking,
    pub(super) times: Times,
    /// Rate of the slowest link of its path.
    pub(super) slowest: BitsPerSec,
}

/// Plans a flow; `None` if the station cannot send it.
pub(super) fn plan_answered(
    cx: &mut Cx,
    source: &graph::Source<'_>,
    flow: &Ready<'_>,
    station: &StationPlan,
) -> Option<TransportPlan> {
    let Ready { kind, one, marked, times, slowest } = *flow;
    let timeout = |fast| kind.timeout.unwrap_or_else(|| default_timeout(fast, slowest));
    let (from, to) = (one.sent.from, one.sent.to);
    let (id, spread) = (one.id.0, (one.id.0 % PORTS) as u16);
    let (transport, messages) = match &kind.carrier {
        Carrier::Roce(roce, messages) => {
            // Both numbers are unique in the lab and so at every station; QPs 0 and 1 are reserved.
            let qp = |n: u32| U24::wrapping(2 + 2 * u64::from(id) + u64::from(n));
            let (src_qp, dst_qp) = (qp(0), qp(1));
            let RocePlan { src_port, .. } = RocePlan::new(src_qp, dst_qp);
            let timeout = timeout(roce.timeout);
            let roce = RocePlan { src_qp, dst_qp, src_port, timeout, ..(**roce).clone() };
            (Transport::Roce(roce), messages)
        }
        Carrier::Tcp(tcp, messages) => {
            let dst_port = TCP_PORT + (id / PORTS) as u16;
            let (src_port, timeout_min) = (PORT_FIRST + spread, timeout(tcp.timeout_min));
            let tcp = TcpPlan { src_port, dst_port, timeout_min, ..tcp.clone() };
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
    if !has_room(cx, source, plan.size, plan.size_min()) {
        return None;
    }
    if plan.work.list.is_none() {
        plan.message = message(&one.sent, messages.as_ref(), plan.payload());
    }
    if let Err(e) = plan.check() {
        // The field of the file that the number of the plan comes from.
        let field = match e {
            PlanError::Short { .. } | PlanError::Long { .. } => "size",
            PlanError::Message(_) => "duration",
            _ => "transport",
        };
        cx.error(&source.key(field), what_of(&e));
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
            // The share is that of the line, with preamble and gap; the plan counts bits of frames.
            let whole = u128::from(station.rate.get()) * u128::from(size)
                / u128::from(line.octets(size).max(1));
            whole * u128::from(ppm) / 1_000_000
        }
        Rate::FrameBits(rate) => return Some(rate),
        Rate::Frames(n) => u128::from(n) * u128::from(size) * 8,
    };
    // At least one bit per second: a rate of zero is no rate.
    BitsPerSec::new(u64::try_from(bits.max(1)).unwrap_or(u64::MAX))
}

/// Returns the configured equal messages of a flow, or those of its whole amount.
fn message(sent: &Sent, raw: Option<&Batch>, payload: u32) -> Option<Message> {
    let all = match sent.bound {
        Bound::Bytes(n) => Some(n),
        Bound::Frames(n) => Some(n.saturating_mul(payload.into())),
        Bound::None | Bound::Time(_) => None,
    };
    let Some(raw) = raw else {
        // Without a section `messages` the whole amount is one message; a collective has one for each step.
        return all.map(|bytes| Message { count: sent.times, ..Message::once(bytes) });
    };
    // Sizes that are drawn are in a list.
    let Sizes::Fixed(bytes) = raw.sizes else { return None };
    let fit = all.map_or(ENDLESS, |all| all.div_ceil(bytes.max(1)));
    Some(Message { bytes, count: raw.count.unwrap_or(fit), every: raw.every })
}

/// Discard service (RFC 863).
const UDP_PORT: u16 = 9;

/// Plans a flow; `None` if the station cannot send it.
pub(super) fn plan_open(
    cx: &mut Cx,
    source: &graph::Source<'_>,
    flow: &Ready<'_>,
    station: &StationPlan,
) -> Option<FlowPlan> {
    let Ready { kind, one, marked, times, .. } = *flow;
    let headers = match kind.carrier {
        Carrier::Ethernet => Headers::Ethernet,
        _ => Headers::Udp4(Udp {
            src: ip(one.sent.from),
            dst: ip(one.sent.to),
            // ECMP hashes the port, so flows of one pair of hosts spread over paths as RoCE's do by their queue
            // pairs.
            src_port: PORT_FIRST + (one.id.0 % PORTS) as u16,
            dst_port: UDP_PORT,
            dscp: marked.dscp,
            ecn: kind.ecn,
        }),
    };
    let mut plan = FlowPlan {
        id: one.id,
        src: mac(one.sent.from),
        dst: mac(one.sent.to),
        tag: None,
        priority: marked.priority,
        headers,
        size: kind.size,
        rate: kind.rate,
        start: times.start,
        stop: times.stop,
        frames: None,
    };
    if !has_room(cx, source, plan.size, plan.size_min()) {
        return None;
    }
    plan.frames = match one.sent.bound {
        Bound::Frames(n) => Some(n),
        // The last frame is as long as the others: an open flow has one frame size.
        Bound::Bytes(n) => Some(n.div_ceil(payload(&plan).into())),
        Bound::None | Bound::Time(_) => None,
    };
    check_rate(cx, source, &plan, station);
    Some(plan)
}

/// Returns the bytes behind the headers, probe included.
pub(super) const fn payload(plan: &FlowPlan) -> u32 {
    plan.size - FCS_BYTES - plan.probe_at() as u32
}

/// Reports a flow that is faster than its link.
fn check_rate(cx: &mut Cx, source: &graph::Source<'_>, plan: &FlowPlan, station: &StationPlan) {
    let line = Line::new(station.rate, station.line);
    if plan.interval(&line).is_err() {
        let most = u128::from(station.rate.get()) * u128::from(plan.size)
            / u128::from(line.octets(plan.size).max(1));
        // Rounded down to the megabit.
        let most = BitsPerSec::new(most as u64 / 1_000_000 * 1_000_000).unwrap_or(station.rate);
        let what = format!(
            "a link of {} carries {most} of frames of {} octets, no more; write 100% for all of it",
            station.rate, plan.size
        );
        cx.error(&source.key("rate"), what);
    }
}
