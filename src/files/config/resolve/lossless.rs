//! Checks that PFC, group and queue of each lossless priority agree on every port.

use super::{Cx, Draft, groups};
use buffer::{BufferPlan, GroupKind, SharedLimit};
use congestion::NotEct;
use ground::units::{PRIORITIES, Priority, PrioritySet, Quanta, TrafficClass};
use pfc::{FlowControl, PfcPlan};

/// Checks all ports.
pub fn check(cx: &mut Cx, drafts: &[Draft<'_>], buffer: &BufferPlan) {
    let mut lossless = PrioritySet::EMPTY;
    for (draft, groups) in drafts.iter().zip(&buffer.groups) {
        for (g, protected) in groups::protected(draft).into_iter().enumerate() {
            lossless.0 |= protected.0;
            let is_lossless = matches!(groups[g].kind, GroupKind::Lossless { .. });
            group(cx, draft, g, protected, is_lossless);
        }
        found_headroom(cx, draft);
        refresh(cx, draft);
        stated_rate(cx, draft);
    }
    // Now all lossless priorities are known: one that is lossless where it enters must not be dropped where it
    // leaves, at any port.
    for draft in drafts {
        queues(cx, draft, lossless);
        classes(cx, draft);
    }
}

/// Checks a group against the flow control of its priorities.
fn group(cx: &mut Cx, draft: &Draft<'_>, g: usize, protected: PrioritySet, is_lossless: bool) {
    let port = &draft.plan;
    let place = draft.place.key("priority_groups");
    // All priorities of the group, whether pauses are sent for them or not.
    let holds: PrioritySet =
        Priority::ALL.into_iter().filter(|p| port.classify.group[p.index()].index() == g).collect();
    let unprotected = PrioritySet(holds.0 & !protected.0);
    if is_lossless && protected.is_empty() {
        let what = format!(
            "port {} group {g} is lossless, but no priority is paused for it: enable PFC for {}, or \
             give the group a lossy profile",
            port.name,
            if holds.is_empty() { "a priority that maps to it".into() } else { list(holds) }
        );
        return cx.error(&place.key(&g.to_string()), what);
    }
    if !is_lossless && !protected.is_empty() {
        let what = format!(
            "port {} group {g} is lossy, but flow control is sent for {}: give it a lossless \
             profile, or take it out of `pfc` or `pause`",
            port.name,
            list(protected)
        );
        return cx.error(&place.key(&g.to_string()), what);
    }
    if is_lossless && !unprotected.is_empty() {
        let what = format!(
            "port {} group {g} is lossless and PFC is sent for {}, but {} shares the group and \
             cannot be stopped: map it to another group, or enable PFC for it",
            port.name,
            list(protected),
            list(unprotected)
        );
        cx.error(&draft.place.key("maps").key("priority_to_group"), what);
    }
}

/// Refuses automatic headroom on a port without a group that has headroom.
fn found_headroom(cx: &mut Cx, draft: &Draft<'_>) {
    if draft.finds_headroom() && groups::protected(draft).iter().all(|set| set.is_empty()) {
        let what = format!(
            "port {} has no lossless group whose headroom could be found: give it `pfc`, or write \
             `headroom: computed`",
            draft.plan.name
        );
        cx.error(&draft.place.key("headroom"), what);
    }
}

/// Checks that a pause is refreshed before it ends, even if the poll that refreshes it is late.
fn refresh(cx: &mut Cx, draft: &Draft<'_>) {
    let pfc = &draft.plan.pfc;
    let field = if matches!(pfc.mode, FlowControl::Pause { .. }) { "pause" } else { "pfc" };
    let sends = !pfc.mode.sends().is_empty();
    let (pause, gap) = (pfc.quanta.at(draft.plan.rate), draft.link.1.poll_gap);
    // A refresh at or above the pause time was reported separately.
    if sends && pfc.refresh < pause && pfc.refresh.as_picos() + gap.as_picos() >= pause.as_picos() {
        let what = format!(
            "port {}: a pause of {} quanta ends after {pause} at {}, but its refresh after {} may \
             come {gap} late (link.poll_gap); lower one of them, so that both together are below \
             {pause}",
            draft.plan.name, pfc.quanta.0, draft.plan.rate, pfc.refresh
        );
        cx.error(&draft.place.key(field).key("refresh"), what);
    }
    if sends {
        refresh_leaves_room(cx, draft, field);
    }
}

/// Refreshes must leave time on the line for data, which waits while a PFC frame is sent.
fn refresh_leaves_room(cx: &mut Cx, draft: &Draft<'_>, field: &str) {
    let port = &draft.plan;
    let (pfc, rate) = (&port.pfc, port.rate);
    let (pause, least) = (pfc.quanta.at(rate), PfcPlan::refresh_least(rate));
    if pfc.refresh >= least || pfc.refresh >= pause {
        return;
    }
    let too_often = format!(
        "port {}: a refresh every {} leaves too little of the line to data, as each takes {} at {rate}",
        port.name,
        pfc.refresh,
        // The least refresh is the time of four PFC frames.
        least.div(4)
    );
    let place = draft.place.key(field);
    if pause.div(2) >= least {
        let half = pause.div(2);
        let what = format!("{too_often}; choose {least} or more, such as {half} or auto");
        return cx.error(&place.key("refresh"), what);
    }
    // The shortest pause whose half, the default of the refresh, leaves enough of the line.
    let quanta = (1..=u16::MAX).find(|n| Quanta(*n).at(rate).div(2) >= least).unwrap_or(u16::MAX);
    let what = format!("{too_often}; choose {quanta} quanta or more, and `refresh: auto`");
    cx.error(&place.key("quanta"), what);
}

/// Warns of a NIC port without a configured rate: its headroom is calculated for the rate in the
/// file, whatever the link negotiates.
fn stated_rate(cx: &mut Cx, draft: &Draft<'_>) {
    let sends = groups::protected(draft).iter().any(|set| !set.is_empty());
    if sends && !draft.is_virtual && draft.raw.rate.is_none() {
        let what = format!(
            "headroom is computed for {}, as the file does not say how fast this NIC's link is; \
             state `rate`",
            draft.plan.rate
        );
        cx.warn(&draft.place.key("device"), what);
    }
}

/// Checks that a queue of lossless priorities does not drop.
fn queues(cx: &mut Cx, draft: &Draft<'_>, lossless: PrioritySet) {
    for class in TrafficClass::ALL {
        let through = PrioritySet(of_class(draft, class).0 & lossless.0);
        if through.is_empty() {
            continue;
        }
        let (n, place) = (class.index(), draft.place.key("queues").key(&class.to_string()));
        if draft.plan.queue_limits[n] != SharedLimit::Unlimited {
            let what = format!(
                "port {} queue {n} carries {}, which must not be dropped: take its limit out; \
                 the ingress groups pause the senders instead",
                draft.plan.name,
                list(through)
            );
            cx.error(&place.key("limit"), what);
        }
        if draft.plan.ecn[n].is_some_and(|e| e.not_ect != NotEct::Pass) {
            let what = format!(
                "port {} queue {n} carries {}, which must not be dropped: write `not_ect: pass`",
                draft.plan.name,
                list(through)
            );
            cx.error(&place.key("ecn").key("not_ect"), what);
        }
    }
}

/// Warns of priorities that share a queue: PFC for one of them stops all of them.
fn classes(cx: &mut Cx, draft: &Draft<'_>) {
    let FlowControl::Pfc { obey, .. } = draft.plan.pfc.mode else { return };
    for class in TrafficClass::ALL {
        let all = of_class(draft, class);
        let paused = PrioritySet(all.0 & obey.0);
        // A pause of one priority stops its whole queue, so a queue with one alone is harmless.
        if paused.is_empty() || all.0.count_ones() < 2 {
            continue;
        }
        let what = format!(
            "port {} queue {class} is shared by {}: a pause of {} holds up the others too; one \
             queue for each priority that obeys PFC is better",
            draft.plan.name,
            list(all),
            list(paused)
        );
        cx.warn(&draft.place.key("maps").key("priority_to_queue"), what);
    }
}

fn of_class(draft: &Draft<'_>, class: TrafficClass) -> PrioritySet {
    Priority::ALL.into_iter().filter(|p| draft.plan.classify.class[p.index()] == class).collect()
}

const _: () = assert!(PRIORITIES == 8, "a PrioritySet has a bit for every priority");

/// Formats `priority 3`, `priorities 3 and 4`, `priorities 0, 1 and 2`.
fn list(set: PrioritySet) -> String {
    let numbers: Vec<String> = set.iter().map(|p| p.to_string()).collect();
    match numbers.as_slice() {
        [] => "no priority".into(),
        [one] => format!("priority {one}"),
        [init @ .., last] => format!("priorities {} and {last}", init.join(", ")),
    }
}
