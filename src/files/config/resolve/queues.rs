//! Resolves egress queues: scheduling, ECN and limits.

use super::cx::by_number;
use super::groups::{cells_below, shared};
use super::{Cx, Draft, Place};
use crate::quantity::{Ratio, Size, Threshold, octets};
use crate::raw;
use buffer::{BufferPlan, SharedLimit};
use congestion::{EcnPlan, MarkAt, NotEct};
use ground::units::{BitsPerSec, Bytes, PRIORITIES};
use schedule::{ClassPlan, LinePlan, SchedulePlan};

/// Default Kmin is rate / 250,000: 4 KB per Gb/s.
const KMIN_RATE_DIVISOR: u64 = 250_000;
/// Default Pmax, 20 %, in millionths.
const PMAX_DEFAULT: Ratio = Ratio(200_000);

/// Egress queue settings of a port.
pub struct Queues {
    pub schedule: SchedulePlan,
    pub ecn: [Option<EcnPlan>; PRIORITIES],
    pub limits: [SharedLimit; PRIORITIES],
}

/// Resolves the egress queues of a port.
pub fn queues(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &raw::Port,
    rate: BitsPerSec,
    cell: u32,
) -> Queues {
    let mut out = Queues {
        schedule: SchedulePlan {
            classes: [ClassPlan::Strict; PRIORITIES],
            shaper_burst: Bytes(0),
            line: LinePlan::ETHERNET,
        },
        ecn: [None; PRIORITIES],
        limits: [SharedLimit::Unlimited; PRIORITIES],
    };
    for (n, (range, queue)) in by_number(cx, place, &raw.queues, 7) {
        let (place, n) = (place.key(&range.to_string()), usize::from(n));
        out.schedule.classes[n] = class(cx, &place, queue);
        let limit =
            shared(cx, &place.key("limit"), queue.limit.as_ref(), |s| cells_below(s.0, cell));
        out.limits[n] = limit.unwrap_or(SharedLimit::Unlimited);
        out.ecn[n] = queue.ecn.as_ref().map(|e| ecn(cx, &place.key("ecn"), e, rate, None));
    }
    out
}

fn class(cx: &mut Cx, place: &Place<'_>, queue: &raw::Queue) -> ClassPlan {
    match (queue.strict, queue.weight) {
        (Some(true) | None, None) => ClassPlan::Strict,
        (Some(false), None) => {
            cx.error(place, "a queue that is not strict needs a `weight`, 1 to 65535");
            ClassPlan::Strict
        }
        (Some(true), Some(_)) => {
            cx.error(place, "a queue is either strict or has a weight; take one out");
            ClassPlan::Strict
        }
        // DWRR gives credit in proportion to the weight.
        (_, Some(0)) => {
            let what = "a weight of 0 would never send; choose 1 to 65535, or leave it strict";
            cx.error(&place.key("weight"), what);
            ClassPlan::Strict
        }
        (_, Some(weight)) => ClassPlan::Dwrr { weight },
    }
}

/// Resolves an ECN marking curve. Shares are of `port_buffer`; until it is known, a curve that has
/// one is that of the defaults.
pub fn ecn(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &raw::Ecn,
    rate: BitsPerSec,
    port_buffer: Option<Bytes>,
) -> EcnPlan {
    // Both lengths wait for a share in one of them, as they are compared with each other.
    let known = port_buffer.is_some() || !has_share(raw);
    let length = |threshold: Option<Threshold>| match threshold.filter(|_| known)? {
        Threshold::Bytes(size) => Some(size),
        Threshold::Share(Ratio(millionths)) => {
            let buffer = u128::from(port_buffer.unwrap_or_default().0);
            Some(Size((buffer * u128::from(millionths) / 1_000_000) as u64))
        }
    };
    let lengths = raw::Aqm { kmin: length(raw.kmin), kmax: length(raw.kmax), pmax: raw.pmax };
    let plan = curve(cx, place, &lengths, kmin_default(rate));
    EcnPlan {
        at: match raw.at.unwrap_or_default() {
            raw::MarkPoint::Enqueue => MarkAt::Enqueue,
            raw::MarkPoint::Dequeue | raw::MarkPoint::FastEcn => MarkAt::Dequeue,
            raw::MarkPoint::Queue => MarkAt::Queue,
        },
        not_ect: raw.not_ect.unwrap_or_default(),
        ..plan
    }
}

/// True if a length of the curve is a share of the port's buffer.
fn has_share(raw: &raw::Ecn) -> bool {
    [raw.kmin, raw.kmax].iter().any(|threshold| matches!(threshold, Some(Threshold::Share(_))))
}

/// Returns a port's part of a buffer. In a shared buffer that is an equal one: the overviews have a
/// buffer for each port, and an equal part is as much as all ports can have at once.
pub fn port_buffer(buffer: &BufferPlan, ports: usize) -> Bytes {
    let total = u64::from(buffer.total.0) * u64::from(buffer.cell_bytes);
    Bytes(total / (ports as u64).max(1))
}

/// Resolves the curves with shares of a port's buffer.
pub fn shares(cx: &mut Cx, drafts: &mut [Draft<'_>], buffer: &BufferPlan) {
    let part = port_buffer(buffer, drafts.len());
    for draft in drafts {
        let (place, rate) = (draft.place.key("queues"), draft.plan.rate);
        for (n, (range, queue)) in by_number(cx, &place, &draft.raw.queues, 7) {
            let Some(raw) = queue.ecn.as_ref().filter(|raw| has_share(raw)) else { continue };
            let place = place.key(&range.to_string()).key("ecn");
            draft.plan.ecn[usize::from(n)] = Some(ecn(cx, &place, raw, rate, Some(part)));
        }
    }
}

pub(super) const fn kmin_default(rate: BitsPerSec) -> Bytes {
    Bytes(rate.get() / KMIN_RATE_DIVISOR)
}

/// Resolves Kmin, Kmax and Pmax to a curve that marks at enqueue and does not drop.
pub(super) fn curve(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &raw::Aqm,
    kmin_default: Bytes,
) -> EcnPlan {
    let kmin = raw.kmin.map_or(kmin_default.0, |s| s.0);
    // Four times Kmin is the ratio of HPCC's DCQCN configuration.
    let kmax = raw.kmax.map_or(kmin.saturating_mul(4), |s| s.0);
    if kmin > kmax {
        let what = format!(
            "kmin ({}) is above kmax ({}); marking starts at kmin and is certain above kmax",
            octets(kmin),
            octets(kmax)
        );
        // The finding goes to the field that the author wrote; the other has its default.
        let field = if raw.kmin.is_some() { "kmin" } else { "kmax" };
        cx.error(&place.key(field), what);
    }
    let pmax = raw.pmax.unwrap_or(PMAX_DEFAULT).parts();
    EcnPlan {
        kmin: Bytes(kmin),
        kmax: Bytes(kmax),
        pmax,
        at: MarkAt::Enqueue,
        not_ect: NotEct::Pass,
    }
}

/// Reports ECN thresholds above the size of the buffer.
pub fn check_against_buffer(cx: &mut Cx, drafts: &[Draft<'_>], buffer: &BufferPlan) {
    let total = u64::from(buffer.total.0) * u64::from(buffer.cell_bytes);
    for draft in drafts {
        for (n, ecn) in draft.plan.ecn.iter().enumerate() {
            let Some(ecn) = ecn else { continue };
            if ecn.kmin.0 >= total {
                let what = format!(
                    "queue {n} starts to mark at {}, but the whole buffer has {}: it never marks",
                    octets(ecn.kmin.0),
                    octets(total)
                );
                cx.warn(&draft.place.key("queues").key(&n.to_string()).key("ecn"), what);
            }
        }
    }
}
