//! Resolves congestion notifications: CNPs and QCN.

use core::net::IpAddr;

use super::parts::{
    Queues, SaidOf, apart, detect, dscp, ip, limit, named, priority, queues, streams,
};
use super::{Around, ByQueue, Cx, Draft, Place};
use crate::quantity::{Ratio, Size};
use crate::raw::{self, SourceQpSaid};
use crate::resolve::queues::kmin_default;
use congestion::qcn::PointPlan;
use congestion::{Detect, LimitPlan};
use ground::time::Duration;
use ground::units::{Bytes, PRIORITIES};
use switch::{FastCnpPlan, QuantizedPlan, QueuePairs, SourceQp};
use wire::roce::U24;

/// Same priority as the CNPs of hosts.
const PRIORITY_DEFAULT: u8 = 6;
/// DCQCN's minimum time between two notifications for one flow.
const CNP_SPACING: Duration = Duration::from_micros(50);
const CNP_BUDGET: LimitPlan = LimitPlan { interval: Duration::from_micros(1), burst: 64 };
const CNP_FLOWS: usize = 4_096;
/// Longest encapsulated MSDU of a CNM in bytes; hosts receive all of it.
const MSDU_MAX: u8 = 64;
/// Range of set points and sample bases, in bytes.
const OCTETS: (u64, u64) = (1, 1 << 40);
const WEIGHT: (i8, i8) = (-10, 10);
/// Percent.
const JITTER_MAX: u32 = 99;

/// Resolves the CNP section at `at`.
pub fn fast_cnp<'m>(
    cx: &mut Cx,
    at: &Place<'m>,
    raw: &'m raw::FastCnp,
    around: &Around<'_, 'm>,
) -> FastCnpPlan {
    let own = |port: &'m raw::Port| port.fast_cnp.as_ref().map(|own| &own.queues);
    let said = queues(cx, Queues { at, map: &raw.queues }, around.drafts, ("fast_cnp", own));
    let one = |cx: &mut Cx, at: &Place<'_>, said: &raw::FastCnpQueue, draft: &Draft<'_>, class| {
        if let (None, None, Some(ecn)) = (said.threshold, &said.aqm, draft.plan.ecn[class]) {
            return Detect::Aqm(ecn);
        }
        let usual = raw::Aqm::default();
        let aqm = said.aqm.as_ref().or(said.threshold.is_none().then_some(&usual));
        detect(cx, at, (said.threshold, aqm), kmin_default(draft.plan.rate), around)
    };
    let priority = priority(cx, &at.key("priority"), raw.priority, PRIORITY_DEFAULT);
    FastCnpPlan {
        detect: of_queues(cx, at, raw.queues.is_empty(), &said, around, one),
        spacing: apart(cx, &at.key("spacing"), raw.spacing, CNP_SPACING),
        budget: limit(cx, &at.key("budget"), raw.budget.as_ref(), CNP_BUDGET),
        flows: streams(cx, &at.key("flows"), raw.flows, CNP_FLOWS),
        source_qp: source_qp(cx, &at.key("source_qp"), raw.source_qp.as_ref()),
        priority,
        dscp: dscp(cx, &at.key("dscp"), raw.dscp, priority),
    }
}

/// Resolves one value per queue: for the queues in the file, or for all protected classes if it has
/// none.
fn of_queues<T: Copy, S: Default>(
    cx: &mut Cx,
    at: &Place<'_>,
    all: bool,
    said: &[SaidOf<'_, S>],
    around: &Around<'_, '_>,
    one: impl Fn(&mut Cx, &Place<'_>, &S, &Draft<'_>, usize) -> T,
) -> ByQueue<Option<T>> {
    let usual = if all { around.protected } else { 0 };
    if usual | named(said) == 0 {
        let what = "concerns no queue, as PFC protects no priority: name queues, such as \
                    `queues: {3: {}}`";
        cx.warn(at, what);
    }
    let nothing = S::default();
    let mut out = Vec::with_capacity(said.len());
    for (draft, queues) in around.drafts.iter().zip(said) {
        let mut of_port = [None; PRIORITIES];
        for (class, queue) in queues.iter().enumerate() {
            let (place, said) = match queue {
                Some((place, said)) => (place, *said),
                None if usual >> class & 1 == 1 => (at, &nothing),
                None => continue,
            };
            of_port[class] = Some(one(cx, place, said, draft, class));
        }
        out.push(of_port);
    }
    out
}

fn source_qp(cx: &mut Cx, at: &Place<'_>, said: Option<&SourceQpSaid>) -> SourceQp {
    let Some(SourceQpSaid::List(list)) = said else { return SourceQp::Learnt };
    let mut out: Vec<QueuePairs> = Vec::with_capacity(list.len());
    for (i, entry) in list.iter().enumerate() {
        let at = at.index(i);
        let destination: Option<IpAddr> =
            ip(cx, &at.key("destination"), Some(&entry.destination), "10.0.0.2");
        let destination_qp = qp(cx, &at.key("destination_qp"), entry.destination_qp);
        let source_qp = qp(cx, &at.key("source_qp"), entry.source_qp);
        let Some(destination) = destination else { continue };
        let same =
            |p: &QueuePairs| (p.destination, p.destination_qp) == (destination, destination_qp);
        if out.iter().any(same) {
            let what =
                format!("queue pair {} of {destination} is given twice", entry.destination_qp);
            cx.error(&at.key("destination_qp"), what);
        }
        out.push(QueuePairs { destination, destination_qp, source_qp });
    }
    SourceQp::Configured(out)
}

fn qp(cx: &mut Cx, at: &Place<'_>, n: u32) -> U24 {
    const MAX: u32 = 0xff_ffff;
    U24::new(cx.ranged(at, n, (0, MAX), 0)).unwrap_or_default()
}

/// Resolves the section of QCN congestion points at `at`.
pub fn qcn<'m>(
    cx: &mut Cx,
    at: &Place<'m>,
    raw: &'m raw::Qcn,
    around: &Around<'_, 'm>,
) -> QuantizedPlan {
    let own = |port: &'m raw::Port| port.qcn.as_ref().map(|own| &own.queues);
    let said = queues(cx, Queues { at, map: &raw.queues }, around.drafts, ("qcn", own));
    let one = |cx: &mut Cx, at: &Place<'_>, said: &raw::QcnQueue, _: &Draft<'_>, _| {
        congestion_point(cx, at, said)
    };
    let priority_at = at.key("transmit_priority");
    let msdu = raw.msdu_octets.unwrap_or(MSDU_MAX);
    QuantizedPlan {
        points: of_queues(cx, at, raw.queues.is_empty(), &said, around, one),
        transmit_priority: priority(cx, &priority_at, raw.transmit_priority, PRIORITY_DEFAULT),
        msdu_octets: cx.ranged(&at.key("msdu_octets"), msdu, (0, MSDU_MAX), MSDU_MAX),
    }
}

fn congestion_point(cx: &mut Cx, at: &Place<'_>, said: &raw::QcnQueue) -> PointPlan {
    let default = PointPlan::standard();
    let mut size = |field: &str, said: Option<Size>, default: Bytes| {
        let n = said.map_or(default.0, |s| s.0);
        Bytes(cx.ranged(&at.key(field), n, OCTETS, default.0))
    };
    let set_point = size("set_point", said.set_point, default.set_point);
    let sample_base = size("sample_base", said.sample_base, default.sample_base);
    let weight = said.weight.unwrap_or(default.weight);
    PointPlan {
        set_point,
        weight: cx.ranged(&at.key("weight"), weight, WEIGHT, default.weight),
        sample_base,
        jitter: jitter(cx, &at.key("jitter"), said.jitter, default.jitter),
    }
}

/// Resolves a jitter in whole percent.
fn jitter(cx: &mut Cx, at: &Place<'_>, said: Option<Ratio>, default: u8) -> u8 {
    let Some(said) = said else { return default };
    let percent = said.0 / 10_000;
    if said.0 % 10_000 != 0 || percent > JITTER_MAX {
        cx.error(at, format!("needs whole percent, 0% to {JITTER_MAX}%"));
        return default;
    }
    percent as u8
}
