//! One lab, run with all checkers, and what comes of it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::circles::has_circle;
use super::promises::Promises;
use crate::lab::{LabPlan, raw, resolve_raw};
use crate::sim::check::{Check, Checkers, Deadlock, Finding, Shares, Totals};
use crate::sim::{FaultKind, Network, NetworkPlan, NodeKind, Which};
use crate::time::{Duration, Instant};
use crate::units::{BitsPerSec, Bytes, Quanta};
use crate::verdict::Verdict;

/// How often the checkers look at the nodes, if anything happens: whenever so many octets have
/// passed on the slowest link, about forty frames.
const LOOK: Bytes = Bytes(60_000);
/// Deadlocks after which a lab is given up: one that is broken up again and again, by watchdogs
/// that drop what senders repeat, need never end.
const DEADLOCKS_MOST: usize = 8;
/// For how long a deadlock is given the chance to be broken up, by a watchdog or a fault.
const STANDING: Duration = Duration::from_millis(2);
/// Frames after which a lab is given up: several times what the largest have.
const FRAMES_MOST: u64 = 5_000_000;
/// Flows whose way a port remembers: memory that is not needed need not be made.
const SHORTCUTS: usize = 64;

/// What came of a lab.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trial {
    /// What identifies all that happened.
    pub trace_hash: u64,
    /// Frames that started on a line.
    pub frames: u64,
    /// What else there was.
    pub totals: Totals,
    /// The planned faults.
    pub faults: Faults,
    /// Deadlocks found, whether they had to be expected or not.
    pub deadlocks: u64,
    /// True if its switch had to mark before it paused, and paused.
    pub judges_marks: bool,
    /// True if its flows had to get equal shares.
    pub judges_shares: bool,
    /// What is wrong, the most telling first.
    pub failures: Vec<Failure>,
}

/// Planned faults by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Faults {
    /// Links that went down.
    pub flaps: u64,
    /// Times that pauses were to be lost.
    pub lost_pauses: u64,
    /// Times that other frames, or any, were to be lost.
    pub lost_frames: u64,
    /// Directions with bit or frame errors.
    pub errors: u64,
    /// Nodes that stood still.
    pub stalls: u64,
    /// Hosts that sent storms.
    pub storms: u64,
    /// Frames that nobody sent, or that arrived once more.
    pub forgeries: u64,
    /// Groups and marking curves that were changed.
    pub changes: u64,
}

/// What is wrong with a lab's run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The check that objects, `finished`, `same_trace`, `panic` or `resolve`.
    pub check: &'static str,
    /// In words.
    pub detail: String,
}

/// Witnesses of a lab.
pub(super) type Watch = (Checkers, Shares);

/// Runs a lab as it is.
pub fn run(lab: &raw::Lab) -> Trial {
    run_with(lab, |_| (), |_| ())
}

/// Runs a lab in which `plan` has changed what is run, and `built` what was made of it; the
/// checkers know of neither. A panic on the way is a failure like others.
pub(super) fn run_with(
    lab: &raw::Lab,
    plan: impl FnOnce(&mut NetworkPlan),
    built: impl FnOnce(&mut Network<Watch>),
) -> Trial {
    let resolved = match resolve_raw(lab) {
        Ok((resolved, _)) => resolved,
        Err(error) => return Trial::failed("resolve", error.to_string()),
    };
    // Nothing of what is unwound over is looked at again.
    let done = catch_unwind(AssertUnwindSafe(|| drive(resolved, plan, built)));
    done.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Trial::failed("panic", text.unwrap_or("without a message").to_owned())
    })
}

impl Trial {
    fn failed(check: &'static str, detail: String) -> Self {
        Self { failures: vec![Failure { check, detail }], ..Self::default() }
    }

    /// FAIL if anything is wrong, else PASS.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        Verdict::of(self.failures.is_empty())
    }

    /// The first thing that is wrong, if anything.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        self.failures.first()
    }
}

fn drive(
    mut lab: LabPlan,
    plan: impl FnOnce(&mut NetworkPlan),
    built: impl FnOnce(&mut Network<Watch>),
) -> Trial {
    let network = &mut lab.network;
    let slowest = slowest(network);
    for node in &mut network.nodes {
        if let NodeKind::Switch(switch) = &mut node.kind {
            switch.bridge.shortcuts = switch.bridge.shortcuts.min(SHORTCUTS);
        }
    }
    let faults = Faults::of(network);
    let promises = Promises::of(network);
    let marks_first = promises.marks_first;
    let lawless =
        Lawless { circle: has_circle(network), answered: is_answered(network), marks_first };
    let span = promises.fair.as_ref().map(|fair| (fair.from, fair.to));
    let (from, to) = span.unwrap_or((Instant::NEVER, Instant::NEVER));
    let watch = (Checkers::new(network), Shares::new(network, from, to));
    plan(network);
    let mut network = match Network::new(network, watch) {
        Ok(network) => network,
        Err(error) => return Trial::failed("resolve", error.to_string()),
    };
    built(&mut network);
    let finished = finish(&mut network, lab.duration, slowest);
    let (trace_hash, frames, now) = (network.trace_hash(), network.tally().frames, network.now());
    let ((checkers, shares), mut nodes) = network.finish();
    let totals = checkers.totals();
    let deadlocks = checkers.deadlocks().len();
    let mut findings = checkers.finish(now, &mut nodes);
    let judged = promises.fair.map(|fair| shares.finding(&fair.flows, fair.tolerance));
    let judges_shares = judged.is_some();
    findings.extend(judged);
    let (storms, excused) = (totals.storms, totals.excused.total());
    let end = End { finished, now, frames, deadlocks, storms, excused };
    let failures = judge(&findings, &end, &lawless);
    let (deadlocks, judges_marks) = (deadlocks as u64, marks_first && totals.pauses > 0);
    Trial { trace_hash, frames, totals, faults, deadlocks, judges_marks, judges_shares, failures }
}

/// Lets a network run until nothing more will happen and its last pause is over, or a deadlock
/// stands, or its time is up; whether it came to an end.
fn finish(network: &mut Network<Watch>, most: Duration, slowest: BitsPerSec) -> bool {
    let end = Instant::ZERO + most;
    let step = slowest.time_for(LOOK);
    while network.now() < end {
        // Where nothing happens for long there is nothing to look at.
        let next = network.next_at().max(network.now() + step);
        network.run_until(next.min(end));
        network.look();
        if network.is_quiet() {
            let rest = network.now() + Quanta::MAX.at(slowest) + step;
            network.run_until(rest);
            return true;
        }
        let now = network.now();
        let stands = |d: &Deadlock| d.ended.is_none() && d.at + STANDING < now;
        let endless = network.tally().frames > FRAMES_MOST;
        let deadlocks = network.witness_mut().0.deadlocks();
        if endless || deadlocks.len() >= DEADLOCKS_MOST || deadlocks.iter().any(stands) {
            return false;
        }
    }
    false
}

/// The slowest rate of all links.
fn slowest(plan: &NetworkPlan) -> BitsPerSec {
    let rates = plan.links.iter().map(|link| link.rate);
    rates.min_by_key(|rate| rate.get()).unwrap_or(BitsPerSec::gbps(1))
}

/// What lets a lab do what others may not.
struct Lawless {
    /// The ways of its flows form a circle, and may deadlock.
    circle: bool,
    /// It has connections, which repeat what gets lost.
    answered: bool,
    /// Its switch marks before it pauses. Elsewhere that is a matter of thresholds, which are drawn.
    marks_first: bool,
}

fn is_answered(plan: &NetworkPlan) -> bool {
    plan.nodes.iter().any(|node| match &node.kind {
        NodeKind::Host(host) => !host.senders.is_empty(),
        NodeKind::Switch(_) => false,
    })
}

/// How a run ended.
struct End {
    finished: bool,
    now: Instant,
    frames: u64,
    deadlocks: usize,
    storms: u64,
    excused: u64,
}

/// What of the findings is wrong in a lab such as this, in their order.
fn judge(findings: &[Finding], end: &End, lawless: &Lawless) -> Vec<Failure> {
    let wrong = findings.iter().filter(|finding| {
        finding.verdict == Verdict::Fail
            && match finding.check {
                Check::Deadlock => !lawless.circle,
                // Pauses last as long as what they are for.
                Check::PausesEnd => end.finished,
                Check::EcnBeforePfc => lawless.marks_first,
                // Looked at where it is promised alone.
                Check::Fairness
                | Check::Frames
                | Check::Cells
                | Check::Lossless
                | Check::PauseLegality
                | Check::PausesTold
                | Check::IdleLines => true,
            }
    });
    let failure = |f: &Finding| Failure { check: f.check.name(), detail: f.detail.clone() };
    let mut failures: Vec<Failure> = wrong.map(failure).collect();
    // What watchdogs and overrun processors take out of the way and senders repeat may be in the way
    // again for ever.
    let repeated = lawless.answered && (end.storms > 0 || end.excused > 0);
    if !end.finished && end.deadlocks == 0 && !repeated {
        let End { now, frames, .. } = end;
        let by = now.since(Instant::ZERO);
        let detail = format!("not all was sent and received by {by}, after {frames} frames");
        failures.push(Failure { check: "finished", detail });
    }
    failures
}

impl Faults {
    fn of(plan: &NetworkPlan) -> Self {
        let mut faults = Self::default();
        for fault in &plan.faults {
            match fault.kind {
                FaultKind::Link { up, .. } => faults.flaps += u64::from(!up),
                FaultKind::Lose { which: Which::Control, .. } => faults.lost_pauses += 1,
                FaultKind::Lose { .. } => faults.lost_frames += 1,
                FaultKind::Errors { .. } => faults.errors += 1,
                FaultKind::Forge { .. } | FaultKind::Replay { .. } => faults.forgeries += 1,
                FaultKind::Stall { .. } => faults.stalls += 1,
                FaultKind::Change { .. } => faults.changes += 1,
            }
        }
        for link in &plan.links {
            let wrong = [link.ab, link.ba].into_iter().filter(|d| d.errors != Default::default());
            faults.errors += wrong.count() as u64;
        }
        let storms = plan.nodes.iter().filter(|node| match &node.kind {
            NodeKind::Host(host) => !host.pauses.is_empty(),
            NodeKind::Switch(_) => false,
        });
        faults.storms = storms.count() as u64;
        faults
    }

    /// Adds another's.
    pub(super) const fn add(&mut self, other: &Self) {
        self.flaps += other.flaps;
        self.lost_pauses += other.lost_pauses;
        self.lost_frames += other.lost_frames;
        self.errors += other.errors;
        self.stalls += other.stalls;
        self.storms += other.storms;
        self.forgeries += other.forgeries;
        self.changes += other.changes;
    }
}
