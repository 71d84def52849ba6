//! Resolves congestion notifications: CNPs and QCN.

use core::net::IpAddr;

use super::parts::{
    ByClass, Queues, Section, Selection, detect, ip, limit, named, queues, settings,
    settings_of_queues,
};
use super::{ByQueue, Context, Cx, Draft, Place};
use crate::raw;
use crate::resolve::queues::kmin_default;
use congestion::qcn::PointPlan;
use congestion::{Detect, LimitPlan};
use ground::time::Duration;
use ground::units::{PRIORITIES, Priority};
use switch::managed::At;
use switch::{CongestionPlan, FastCnpPlan, QuantizedPlan, QueuePairs, SourceQp};
use wire::roce::U24;

/// Resolves the CNP section at `place`.
pub fn fast_cnp<'m>(
    cx: &mut Cx,
    place: &Place<'m>,
    raw: &'m raw::FastCnp,
    context: &Context<'_, 'm>,
    plan: &mut CongestionPlan,
) {
    let own = |port: &'m raw::Port| port.fast_cnp.as_ref().map(|own| &own.queues);
    let by_port = queues(cx, "fast_cnp", Queues { place, map: &raw.queues }, context.drafts, own);
    let one =
        |cx: &mut Cx, place: &Place<'_>, queue: &raw::FastCnpQueue, draft: &Draft<'_>, class| {
            // The curve that marks the queue's frames selects them here, too, so sources hear the same as from their
            // destinations.
            if let (None, None, Some(ecn)) = (queue.threshold, &queue.aqm, draft.plan.ecn[class]) {
                return Detect::Aqm(ecn);
            }
            let usual = raw::Aqm::default();
            // A threshold excludes the default curve.
            let aqm = queue.aqm.as_ref().or(queue.threshold.is_none().then_some(&usual));
            let selection = Selection { threshold: queue.threshold, aqm };
            detect(cx, place, selection, kmin_default(draft.plan.rate), context)
        };
    let usual = usual(cx, place, raw.queues.is_empty(), &by_port, context);
    plan.fast_cnp = Some(FastCnpPlan {
        detect: of_queues(cx, place, usual, context.drafts.iter().zip(&by_port), one),
        // Placeholders: `settings` below fills in what the table of objects has ranges and defaults of.
        spacing: Duration::ZERO,
        budget: LimitPlan { interval: Duration::ZERO, burst: 1 },
        flows: 0,
        source_qp: source_qp(cx, &place.key("source_qp"), raw.source_qp.as_ref()),
        priority: Priority::ALL[0],
        dscp: None,
    });
    let section = Section { place, name: "fast_cnp" };
    settings(cx, section, raw, plan, At::default());
    limit(cx, section, "budget", raw.budget.as_ref(), plan);
    if let Some(plan) = plan.fast_cnp.as_mut().filter(|_| raw.dscp.is_none()) {
        plan.dscp = None;
    }
}

/// Returns the classes that a section concerns without naming them, bit n for class n: those of lossless traffic if it
/// names no queue, as `all` says, else none. Warns of a section that concerns no queue.
fn usual<S>(
    cx: &mut Cx,
    place: &Place<'_>,
    all: bool,
    raw: &[ByClass<'_, S>],
    context: &Context<'_, '_>,
) -> u8 {
    let usual = if all { context.protected } else { 0 };
    if usual | named(raw) == 0 {
        let what = "concerns no queue, as PFC protects no priority: name queues, such as \
                    `queues: {3: {}}`";
        cx.warn(place, what);
    }
    usual
}

/// Resolves one value per queue of each port: for the queues that the file names, and for the `usual` classes with the
/// defaults.
fn of_queues<'p, 'm: 'p, T: Copy, S: Default + 'm>(
    cx: &mut Cx,
    place: &Place<'_>,
    usual: u8,
    ports: impl Iterator<Item = (&'p Draft<'m>, &'p ByClass<'m, S>)>,
    one: impl Fn(&mut Cx, &Place<'_>, &S, &Draft<'_>, usize) -> T,
) -> ByQueue<Option<T>> {
    let nothing = S::default();
    let mut out = Vec::new();
    for (draft, queues) in ports {
        let mut of_port = [None; PRIORITIES];
        for (class, queue) in queues.iter().enumerate() {
            let (place, raw) = match queue {
                Some((place, raw)) => (place, *raw),
                None if usual >> class & 1 == 1 => (place, &nothing),
                None => continue,
            };
            of_port[class] = Some(one(cx, place, raw, draft, class));
        }
        out.push(of_port);
    }
    out
}

fn source_qp(cx: &mut Cx, place: &Place<'_>, raw: Option<&raw::SourceQp>) -> SourceQp {
    let Some(raw::SourceQp::List(list)) = raw else { return SourceQp::Learnt };
    let mut out: Vec<QueuePairs> = Vec::with_capacity(list.len());
    for (i, entry) in list.iter().enumerate() {
        let place = place.index(i);
        let destination: Option<IpAddr> =
            ip(cx, &place.key("destination"), Some(&entry.destination), "10.0.0.2");
        let destination_qp = qp(cx, &place.key("destination_qp"), entry.destination_qp);
        let source_qp = qp(cx, &place.key("source_qp"), entry.source_qp);
        let Some(destination) = destination else { continue };
        let same =
            |p: &QueuePairs| (p.destination, p.destination_qp) == (destination, destination_qp);
        if out.iter().any(same) {
            let what =
                format!("queue pair {} of {destination} is given twice", entry.destination_qp);
            cx.error(&place.key("destination_qp"), what);
        }
        out.push(QueuePairs { destination, destination_qp, source_qp });
    }
    SourceQp::Configured(out)
}

fn qp(cx: &mut Cx, place: &Place<'_>, n: u32) -> U24 {
    const MAX: u32 = 0xff_ffff;
    U24::new(cx.ranged(place, n, (0, MAX), 0)).unwrap_or_default()
}

/// Resolves the section of QCN congestion points at `place`.
pub fn qcn<'m>(
    cx: &mut Cx,
    place: &Place<'m>,
    raw: &'m raw::Qcn,
    context: &Context<'_, 'm>,
    plan: &mut CongestionPlan,
) {
    let own = |port: &'m raw::Port| port.qcn.as_ref().map(|own| &own.queues);
    let by_port = queues(cx, "qcn", Queues { place, map: &raw.queues }, context.drafts, own);
    let one =
        |_: &mut Cx, _: &Place<'_>, _: &raw::QcnQueue, _: &Draft<'_>, _| PointPlan::standard();
    let usual = usual(cx, place, raw.queues.is_empty(), &by_port, context);
    let points = of_queues(cx, place, usual, context.drafts.iter().zip(&by_port), one);
    let (transmit_priority, msdu_octets) = (Priority::ALL[0], 0);
    plan.qcn = Some(QuantizedPlan { points, transmit_priority, msdu_octets });
    settings(cx, Section { place, name: "qcn" }, raw, plan, At::default());
    settings_of_queues(cx, "qcn.queues", &by_port, plan);
}
