//! Judges the checks of a run on rings against the counters of its nodes.

use std::collections::BTreeMap;

use serde_json::Value;

use super::collect::{Firsts, RealRun};
use super::judged::lossless_of;
use super::log::{Event, Happening};
use super::node::Snapshot;
use crate::outcome::{CheckOutcome, FaultOutcome, Outcome};
use crate::plan::{Check, CheckKind};
use crate::verdict;
use contracts::stats::{DropKind, DropReason};
use ground::units::PortId;
use ground::verdict::Verdict;
use runtime::Disturbance;
use sim::{NodeId, NodeKind, Note};
use text::count;

/// Advice about a check that rings cannot judge.
const INSTEAD: &str = "remove it from `checks`, or use the virtual world";

const NOTHING_RECEIVED: &str = "no switch received a frame";

/// Verdict of one check, and its reason.
struct Judgement {
    verdict: Verdict,
    detail: String,
}

impl Judgement {
    /// Judges `count` items; `without` is the reason if there are none.
    fn new(held: bool, detail: String, count: u64, without: &str) -> Self {
        let verdict = Verdict::of_judged(held, count);
        let detail = if verdict == Verdict::NotJudged { without.into() } else { detail };
        Self { verdict, detail }
    }

    const fn fail(detail: String) -> Self {
        Self { verdict: Verdict::Fail, detail }
    }
}

/// Says why frames that are queued at the end are not judged: planned faults hold frames back, too.
fn still_queued(faults: &[FaultOutcome]) -> String {
    let what = "frames were still queued at the end";
    let without = "rings have no check for cyclic buffer dependencies";
    match faults {
        [] => format!("{what}, and {without}"),
        faults => {
            let named: Vec<_> = faults.iter().take(3).map(|fault| fault.what.as_str()).collect();
            let more = if faults.len() > named.len() { ", and others" } else { "" };
            format!("{what}, after planned faults ({}{more}); {without}", named.join(", "))
        }
    }
}

impl RealRun {
    /// Adds the outcomes of the checks to the results, as far as rings can judge them.
    pub(super) fn judge(&self, outcome: &mut Outcome) {
        let results = serde_json::to_value(&*outcome).unwrap_or(Value::Null);
        // Those that rings cannot judge are not asked for by default.
        let applies =
            |(n, check): &(usize, &Check)| !check.by_default || self.judged.why_not(*n).is_none();
        let checks = self.plan.checks.iter().enumerate().filter(applies).map(|(n, check)| {
            if let Some(why) = self.judged.why_not(n) {
                return CheckOutcome::not_judged(check, format!("{why}; {INSTEAD}"));
            }
            let judged = match check.kind {
                CheckKind::Conservation => {
                    let Judgement { verdict, detail } = self.conservation();
                    let (verdict, detail) =
                        verdict::in_order((verdict, detail), &self.plan, &results);
                    Judgement { verdict, detail }
                }
                CheckKind::LosslessDelivery => {
                    let Judgement { verdict, detail } = self.lossless(outcome);
                    let planned = self.planned_losses(outcome);
                    let (verdict, detail) = verdict::lossless((verdict, detail), planned, &results);
                    Judgement { verdict, detail }
                }
                CheckKind::PausesEnd => {
                    let nodes = &self.plan.network.nodes;
                    let name = |id: NodeId, port| {
                        let node = &nodes[id.index()];
                        format!("port {} of {}", node.port_name(port), node.name())
                    };
                    pauses_end(&self.noted.events, self.noted.events_left_off, name)
                }
                CheckKind::EcnBeforePfc => self.ecn_before_pfc(),
                CheckKind::NoDeadlock if self.quiet => {
                    let detail = "nothing was held and nothing waited in the end".into();
                    Judgement::new(true, detail, self.received().0, NOTHING_RECEIVED)
                }
                CheckKind::Value { .. }
                | CheckKind::Fairness { .. }
                | CheckKind::PauseLegality
                | CheckKind::WorkConserving => {
                    let found = verdict::outcome(check, &self.plan, &[], &results);
                    let why =
                        self.judged.too_close(check, &results).filter(|_| found.verdict.is_fail());
                    return why.map_or(found, |why| CheckOutcome::not_judged(check, why));
                }
                CheckKind::NoDeadlock => {
                    return CheckOutcome::not_judged(check, still_queued(&outcome.faults));
                }
            };
            CheckOutcome::new(check, judged.verdict, judged.detail)
        });
        outcome.checks = checks.collect();
        if let Some(disturbance) = &self.ran.starved {
            cut_off(&mut outcome.checks, disturbance);
        }
        outcome.verdict = verdict::whole(&outcome.checks, false);
    }

    /// Every switch accounts for its frames. If there are no acknowledgements and no flooding, and
    /// all traffic is done, then the frames missing at hosts are those that switches dropped or
    /// hosts lost at a link that was down.
    fn conservation(&self) -> Judgement {
        let (mut switches, mut dropped, mut unknown, mut copied) = (0, 0, 0, 0);
        let (mut sent, mut arrived, mut flushed, mut answered) = (0, 0, 0, false);
        for node in &self.nodes {
            match node {
                Snapshot::Switch(switch) => {
                    let balance = switch.balance();
                    if !balance.holds() {
                        return Judgement::fail(format!("{}: {balance:?}", switch.name));
                    }
                    switches += 1;
                    for port in &switch.ports {
                        // Drops with a priority are data; others may be pauses, or frames that were dropped before
                        // they were classified.
                        let by_priority = port.counters.priorities.iter();
                        let data = by_priority.map(|p| p.dropped).sum::<u64>();
                        dropped += data;
                        unknown += port.counters.drops.total() - data;
                        copied += port.counters.copied;
                    }
                }
                Snapshot::Host(host) => {
                    sent += host.sources.iter().map(|s| s.frames).sum::<u64>();
                    // Not all frames of a generator can be attributed at the receiver.
                    answered |= !host.streams.is_empty();
                    arrived += host.sinks.iter().map(|s| s.frames).sum::<u64>();
                    flushed += host.counters.flushed;
                    answered |= !host.senders.is_empty();
                }
            }
        }
        let all = format!("every frame is accounted for, switch by switch ({switches})");
        let frames = self.received().0;
        // Frames under way, repeated or copied make the sums of hosts say nothing about losses.
        if !self.quiet || answered || copied > 0 {
            return Judgement::new(true, all, frames, NOTHING_RECEIVED);
        }
        let lost = sent.saturating_sub(arrived);
        let known = dropped + flushed;
        let dropped = match unknown {
            0 => count(known),
            n => format!("{} to {}", count(known), count(known + n)),
        };
        let detail = format!(
            "{all}; of {} sent, {} arrived and {dropped} were dropped",
            count(sent),
            count(arrived)
        );
        // Frames dropped at a port that is down may be data or pauses.
        let holds = sent >= arrived && (known..=known + unknown).contains(&lost);
        Judgement::new(holds, detail, frames, NOTHING_RECEIVED)
    }

    /// Returns the frames that switches received, in all groups and in lossless groups.
    fn received(&self) -> (u64, u64) {
        let (mut all, mut lossless) = (0, 0);
        for (plan, found) in self.plan.network.nodes.iter().zip(&self.nodes) {
            let (NodeKind::Switch(plan), Snapshot::Switch(found)) = (&plan.kind, found) else {
                continue;
            };
            for (of, port) in lossless_of(plan).zip(&found.ports) {
                all += port.counters.rx_frames;
                let of = of.iter().filter(|(_, is_lossless)| *is_lossless);
                let counted = of.map(|(p, _)| port.counters.priorities[p.index()].rx_frames);
                lossless += counted.sum::<u64>();
            }
        }
        (all, lossless)
    }

    /// No frame of a lossless group was dropped.
    fn lossless(&self, outcome: &Outcome) -> Judgement {
        // Losses of flows that are lossy at a later switch have a verdict of their own; here they would count twice.
        let elsewhere = outcome.lossy_way.as_ref().map_or(0, |way| way.lost_frames);
        let lost = outcome.lossless_drops - elsewhere;
        let detail = match lost {
            0 => "no frame of a lossless priority was dropped".to_owned(),
            n => format!("{} frames of lossless priorities were dropped", count(n)),
        };
        let without = "no frame of a lossless priority arrived at a switch";
        Judgement::new(lost == 0, detail, self.received().1, without)
    }

    /// Frames that switches dropped because of links that went down, and by their watchdogs if hosts send
    /// storms.
    fn planned_losses(&self, outcome: &Outcome) -> u64 {
        let storms = self.plan.network.nodes.iter().any(|node| match &node.kind {
            NodeKind::Host(host) => !host.pauses.is_empty(),
            NodeKind::Switch(_) => false,
        });
        let is_planned = |reason: &DropReason| match reason.kind() {
            // Of unknown priority, and counted with the flows.
            DropKind::Link => *reason != DropReason::LinkDown,
            DropKind::Watchdog => storms,
            DropKind::Frame | DropKind::Control | DropKind::Congestion => false,
        };
        outcome.drops.iter().filter(|(reason, _)| is_planned(reason)).map(|(_, n)| n).sum()
    }

    /// No switch with ECN marking sends a pause before its first mark.
    fn ecn_before_pfc(&self) -> Judgement {
        let (mut marked, mut judged, mut mixed) = (0, 0, None);
        for (node, Firsts { mark, xoff }) in self.plan.network.nodes.iter().zip(&self.noted.firsts)
        {
            let NodeKind::Switch(plan) = &node.kind else { continue };
            if plan.ports.iter().all(|port| port.ecn.iter().all(Option::is_none)) {
                continue;
            }
            // The first mark of a switch is known, not that of each of its queues.
            let classes = plan.ports.iter().flat_map(|port| (0..).zip(&port.ecn));
            let classes = classes.filter(|(_, curve)| curve.is_some());
            let classes = classes.fold(0_u8, |set, (class, _): (u32, _)| set | 1 << class);
            if classes.count_ones() > 1 && xoff.is_some() {
                mixed = Some(&plan.name);
            }
            marked += u64::from(mark.is_some());
            judged += u64::from(mark.or(*xoff).is_some());
            if let Some(xoff) = xoff.filter(|xoff| mark.is_none_or(|mark| *xoff < mark)) {
                let at = xoff.since(ground::time::Instant::ZERO);
                return Judgement::fail(format!(
                    "{} paused at {at} and had marked nothing",
                    plan.name
                ));
            }
        }
        if let Some(name) = mixed {
            let what = format!(
                "{name} marks in several classes, and which of them marked first is not recorded"
            );
            return Judgement { verdict: Verdict::NotJudged, detail: what };
        }
        let detail = format!("{marked} switches marked, none paused before it had");
        Judgement::new(true, detail, judged, "no switch that marks marked or paused anything")
    }
}

/// The last crossing of every group is an XON.
fn pauses_end(
    events: &[Event],
    left_off: u64,
    name: impl Fn(NodeId, PortId) -> String,
) -> Judgement {
    if left_off > 0 {
        let what = "more pauses were sent than are kept, so the last of each group is not known";
        return Judgement { verdict: Verdict::NotJudged, detail: what.into() };
    }
    let mut last = BTreeMap::new();
    for event in events {
        if let Happening::Noted(Note::Crossed { port, group, xoff }) = event.what {
            // Events are in the order of time, so the last entry of a group is its state at the end.
            last.insert((event.node, port, group), xoff);
        }
    }
    match last.iter().find(|(_, xoff)| **xoff) {
        Some(((node, port, group), _)) => {
            let (group, port) = (group.get(), name(*node, *port));
            Judgement::fail(format!("group {group} of {port} still pauses its peer"))
        }
        None => Judgement::new(
            true,
            format!("{} groups paused their peers, none still does", last.len()),
            last.len() as u64,
            "no group paused its peer",
        ),
    }
}

/// Adjusts the checks of a run that a busy machine ended early: a failed check might have passed at
/// the end, and a passed one might have failed.
fn cut_off(checks: &mut Vec<CheckOutcome>, disturbance: &Disturbance) {
    for check in &mut *checks {
        if check.verdict == Verdict::Fail {
            check.verdict = Verdict::Inconclusive;
        }
    }
    let (name, detail) = ("run".into(), format!("{disturbance}, so it ended before its time"));
    let (verdict, excuses, source) = (Verdict::Inconclusive, vec![], None);
    checks.push(CheckOutcome { name, verdict, detail, excuses, source });
}

#[cfg(test)]
mod tests {
    use super::*;
    use ground::time::{Duration, Instant};
    use ground::units::PriorityGroup;

    #[test]
    fn pauses_that_go_on_fail_and_those_that_are_not_kept_are_not_judged() {
        let crossed = |xoff| Event {
            at: Instant::ZERO,
            node: NodeId(0),
            what: Happening::Noted(Note::Crossed {
                port: PortId::MIN,
                group: PriorityGroup::ALL[3],
                xoff,
            }),
        };
        let judge = |xoffs: &[bool], left_off| {
            let events: Vec<_> = xoffs.iter().copied().map(crossed).collect();
            pauses_end(&events, left_off, |_, _| "port h1 of s1".to_owned())
        };
        let detail = judge(&[true], 0).detail;
        assert!(detail.ends_with("of port h1 of s1 still pauses its peer"), "{detail}");
        let judge = |xoffs: &[bool], left_off| judge(xoffs, left_off).verdict;
        assert_eq!(judge(&[true, false], 0), Verdict::Pass);
        assert_eq!(judge(&[true, false, true], 0), Verdict::Fail);
        assert_eq!(judge(&[], 0), Verdict::NotJudged);
        assert_eq!(judge(&[true, false], 1), Verdict::NotJudged);
        assert_eq!(judge(&[true, false, true], 1), Verdict::NotJudged);
    }

    #[test]
    fn faults_that_hold_frames_back_are_named_beside_frames_that_are_queued() {
        let fault = |what: &str| FaultOutcome { at_ns: Duration::ZERO, what: what.into() };
        let stalled = still_queued(&[fault("h1 stalls for 1s")]);
        assert!(stalled.contains("after planned faults (h1 stalls for 1s);"), "{stalled}");
        let many = still_queued(&["a", "b", "c", "d"].map(fault));
        assert!(many.contains("(a, b, c, and others)"), "{many}");
        assert!(!still_queued(&[]).contains("fault"));
    }

    #[test]
    fn a_run_that_was_starved_neither_passes_nor_fails() {
        let check = |verdict| CheckOutcome {
            name: "c".into(),
            verdict,
            detail: String::new(),
            excuses: vec![],
            source: None,
        };
        for verdict in [Verdict::Pass, Verdict::Fail, Verdict::NotJudged] {
            let mut checks = vec![check(verdict)];
            let preempted = Duration::from_secs(61);
            cut_off(
                &mut checks,
                &Disturbance { preempted: preempted.into(), ..Disturbance::default() },
            );
            let whole = verdict::whole(&checks, false);
            assert_eq!(whole, Verdict::Inconclusive, "{verdict}");
            assert!(checks[1].detail.contains("busy for 61000 ms"), "{:?}", checks[1]);
        }
    }
}
