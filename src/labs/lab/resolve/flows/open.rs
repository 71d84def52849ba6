//! Flows without acknowledgements.

use super::carrier::Carrier;
use super::parts::{Bound, KindOf, Marked, One, PORT_FIRST, PORTS, Times, has_room};
use crate::resolve::addresses::{ip, mac};
use crate::resolve::graph;
use config::Cx;
use contracts::frame::FCS_BYTES;
use ground::units::BitsPerSec;
use host::{FlowPlan, Headers, StationPlan, Udp};
use schedule::Line;

/// Discard service (RFC 863).
const UDP_PORT: u16 = 9;

/// Plans a flow; `None` if the station cannot send it.
pub(super) fn plan(
    cx: &mut Cx,
    at: &graph::Source<'_>,
    kind: &KindOf,
    one: &One,
    marked: Marked,
    times: Times,
    station: &StationPlan,
) -> Option<FlowPlan> {
    let headers = match kind.carrier {
        Carrier::Ethernet => Headers::Ethernet,
        _ => Headers::Udp4(Udp {
            src: ip(one.sent.from),
            dst: ip(one.sent.to),
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
    if !has_room(cx, at, plan.size, plan.size_min()) {
        return None;
    }
    plan.frames = match one.sent.bound {
        Bound::Frames(n) => Some(n),
        Bound::Bytes(n) => Some(n.div_ceil(payload(&plan).into())),
        Bound::None | Bound::Time(_) => None,
    };
    check_rate(cx, at, &plan, station);
    Some(plan)
}

/// Returns the bytes behind the headers, probe included.
pub(super) const fn payload(plan: &FlowPlan) -> u32 {
    plan.size - FCS_BYTES - plan.probe_at() as u32
}

/// Reports a flow that is faster than its link.
fn check_rate(cx: &mut Cx, at: &graph::Source<'_>, plan: &FlowPlan, station: &StationPlan) {
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
        cx.error(&at.key("rate"), what);
    }
}
