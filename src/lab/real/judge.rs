//! What was asked of a run on rings, against what its nodes counted.

use std::collections::BTreeMap;

use serde_json::Value;

use super::RealRun;
use super::collect::Firsts;
use super::log::Happening;
use super::node::Snapshot;
use crate::lab::outcome::Outcome;
use crate::lab::plan::CheckKind;
use crate::lab::verdict::{self, CheckOutcome};
use crate::report::count;
use crate::runtime::Disturbance;
use crate::sim::{NodeKind, Note};
use crate::verdict::Verdict;

impl RealRun {
    /// Holds the results against what was asked, as far as it can be judged here.
    pub(super) fn judge(&self, outcome: &mut Outcome) {
        let results = serde_json::to_value(&*outcome).unwrap_or(Value::Null);
        let checks = self.plan.checks.iter().enumerate().map(|(n, check)| {
            if let Some(why) = self.judged.why_not(n) {
                return CheckOutcome::not_judged(check, why);
            }
            let (good, detail) = match check.kind {
                CheckKind::Conservation => self.conservation(),
                CheckKind::LosslessDelivery => {
                    let of_groups = lossless(outcome);
                    let (verdict, detail) =
                        verdict::worse(of_groups, verdict::lossy_way(&results));
                    return CheckOutcome::new(check, verdict, detail);
                }
                CheckKind::PausesEnd => self.pauses_end(),
                CheckKind::EcnBeforePfc => self.ecn_before_pfc(),
                CheckKind::NoDeadlock if self.quiet => {
                    (true, "nothing was held and nothing waited in the end".to_owned())
                }
                CheckKind::Value { .. }
                | CheckKind::Fairness { .. }
                | CheckKind::PauseLegality
                | CheckKind::WorkConserving => {
                    let found = verdict::outcome(check, &self.plan, &[], &results);
                    let why = self.judged.too_close(check, &results).filter(|_| found.verdict.is_fail());
                    return why.map_or(found, |why| CheckOutcome::not_judged(check, why));
                }
                CheckKind::NoDeadlock => {
                    let why = "frames were still queued at the end, and nothing says what they waited for";
                    return CheckOutcome::not_judged(check, why);
                }
            };
            CheckOutcome::new(check, Verdict::of(good), detail)
        });
        outcome.checks = checks.collect();
        if let Some(disturbance) = &self.starved {
            cut_off(&mut outcome.checks, disturbance);
        }
        outcome.verdict = Verdict::of_all(outcome.checks.iter().map(|check| check.verdict));
    }

    /// Every switch accounts for its frames; and if nobody answers or floods and all is over, what
    /// hosts miss is what switches dropped or hosts lost with their links.
    fn conservation(&self) -> (bool, String) {
        let (mut switches, mut dropped, mut unknown, mut copied) = (0, 0, 0, 0);
        let (mut sent, mut arrived, mut flushed, mut answered) = (0, 0, 0, false);
        for node in &self.nodes {
            match node {
                Snapshot::Switch(switch) => {
                    let balance = switch.balance();
                    if !balance.holds() {
                        return (false, format!("{}: {balance:?}", switch.name));
                    }
                    switches += 1;
                    for port in &switch.ports {
                        let by_priority = port.counters.priorities.iter();
                        let data = by_priority.map(|p| p.dropped).sum::<u64>();
                        dropped += data;
                        unknown += port.counters.drops.total() - data;
                        copied += port.counters.copied;
                    }
                }
                Snapshot::Host(host) => {
                    sent += host.sources.iter().map(|s| s.frames).sum::<u64>();
                    // Of a generator's frames not all are told apart where they arrive.
                    answered |= !host.streams.is_empty();
                    arrived += host.sinks.iter().map(|s| s.frames).sum::<u64>();
                    flushed += host.counters.flushed;
                    answered |= !host.senders.is_empty();
                }
            }
        }
        let all = format!("every frame is accounted for, switch by switch ({switches})");
        if !self.quiet || answered || copied > 0 {
            return (true, all);
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
        // What is dropped at a port that is down may have been data, and may have been a pause.
        (sent >= arrived && (known..=known + unknown).contains(&lost), detail)
    }

    /// The last crossing of every group is an XON.
    fn pauses_end(&self) -> (bool, String) {
        let mut last = BTreeMap::new();
        for event in &self.events {
            if let Happening::Noted(Note::Crossed { port, group, xoff }) = event.what {
                last.insert((event.node, port, group), xoff);
            }
        }
        let name = |id: crate::sim::NodeId| self.plan.network.nodes[id.index()].name();
        match last.iter().find(|(_, xoff)| **xoff) {
            Some(((node, port, group), _)) => {
                let detail = format!(
                    "group {} of port {port} of {} still pauses its peer",
                    group.get(),
                    name(*node)
                );
                (false, detail)
            }
            None => (true, format!("{} groups paused their peers, none still does", last.len())),
        }
    }

    /// No switch that marks pauses before it has marked.
    fn ecn_before_pfc(&self) -> (bool, String) {
        let mut marked = 0;
        for (node, Firsts { mark, xoff }) in self.plan.network.nodes.iter().zip(&self.firsts) {
            let NodeKind::Switch(plan) = &node.kind else { continue };
            if plan.ports.iter().all(|port| port.ecn.iter().all(Option::is_none)) {
                continue;
            }
            marked += u64::from(mark.is_some());
            if let Some(xoff) = xoff.filter(|xoff| mark.is_none_or(|mark| *xoff < mark)) {
                let at = xoff.since(crate::time::Instant::ZERO);
                return (false, format!("{} paused at {at} and had marked nothing", plan.name));
            }
        }
        (true, format!("{marked} switches marked, none paused before it had"))
    }
}

/// Allows for a run that a busy machine ended before its time: what had failed by then may have
/// held at the end, and what held may have failed.
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

fn lossless(outcome: &Outcome) -> (Verdict, String) {
    let elsewhere = outcome.lossy_way.as_ref().map_or(0, |way| way.lost_frames);
    let lost = outcome.lossless_drops - elsewhere;
    let detail = match lost {
        0 => "no frame of a lossless priority was dropped".to_owned(),
        n => format!("{} frames of lossless priorities were dropped", count(n)),
    };
    (Verdict::of(lost == 0), detail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;

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
            cut_off(&mut checks, &Disturbance { preempted, longest: Duration::ZERO });
            let whole = Verdict::of_all(checks.iter().map(|check| check.verdict));
            assert_eq!(whole, Verdict::Inconclusive, "{verdict}");
            assert!(checks[1].detail.contains("busy for 61000 ms"), "{:?}", checks[1]);
        }
    }
}
