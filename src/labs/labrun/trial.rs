//! Runs one lab with all checkers.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::LabPlan;
use crate::promises::{Promises, has_circle};
use ground::counters;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes, Quanta};
use ground::verdict::Verdict;
use sim::check::{Check, Checkers, Deadlock, ExcusedDrops, Finding, Shares, Totals};
use sim::{FaultClass, Network, NetworkPlan, NodeKind};

/// Sampling interval of the checkers, in bytes on the slowest link: about forty frames.
const SAMPLE: Bytes = Bytes(60_000);
/// Deadlocks after which a lab is ended: a deadlock that recurs, because watchdogs drop frames that
/// senders retransmit, may never end.
const DEADLOCKS_MOST: usize = 8;
/// Time in which a watchdog or a fault may resolve a deadlock.
const STANDING: Duration = Duration::from_millis(2);
/// Time for which a queue may starve behind the flows that are isolated from it before the lab is ended, if
/// senders repeat what starves: many times that of the largest loads.
const STARVED: Duration = Duration::from_millis(100);
/// Frames after which a lab is ended: several times those of the largest labs.
const FRAMES_MOST: u64 = 5_000_000;
/// Routes that a port caches; few, to save memory.
const SHORTCUTS: usize = 64;

/// Results of a lab.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trial {
    /// Hash of all events.
    pub trace_hash: u64,
    pub counts: Counts,
    /// Frames of lossless priorities dropped with an excuse.
    pub excused: ExcusedDrops,
    /// Time at which all its traffic and the last pause had ended; `None` if they did not.
    pub ended: Option<Duration>,
    /// Failures, the most significant first.
    pub failures: Vec<Failure>,
}

/// Counters of a lab, as its row has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Counts {
    /// Frames that started on a line.
    pub frames: u64,
    /// Further totals.
    pub totals: Totals,
    /// Frames of lossless priorities dropped because the buffer was full, without an excuse.
    pub lossless_drops: u64,
    pub faults: Faults,
    pub defects: Defects,
    /// Deadlocks detected, expected or not.
    pub deadlocks: u64,
    /// True if isolated flows starved the class that they came from: theirs is strictly served before it, and
    /// senders repeated what did not arrive.
    pub stood_still: bool,
    /// True if its switch had to mark before it paused, and paused.
    pub judges_marks: bool,
    /// True if its flows had to get equal throughput.
    pub judges_shares: bool,
}

counters! {
    /// Planned faults by kind.
    #[derive(serde::Serialize, serde::Deserialize)]
    Faults {
        /// Links that went down.
        flaps,
        /// Planned losses of pauses.
        lost_pauses,
        /// Planned losses of other frames, or of any.
        lost_frames,
        /// Directions with bit or frame errors.
        errors,
        /// Nodes that stalled.
        stalls,
        /// Hosts that sent storms.
        storms,
        /// Forged and replayed frames.
        forgeries,
        /// Changes of groups and marking curves.
        changes,
    }
}

counters! {
    /// Defects of devices, and what came of them.
    #[derive(serde::Serialize, serde::Deserialize)]
    Defects {
        /// Labs with a defect.
        labs,
        /// Those that do not end, or take long, without the defect.
        not_compared,
        /// Those in which it did harm: frames lost, repeated or in another order, traffic that stands still.
        harmful,
        /// Those whose checks fail.
        failed,
        /// Those whose checks do not judge.
        not_judged,
    }
}

/// A failure of a lab's run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Check that failed, or `finished`, `same_trace`, `panic` or `resolve`.
    pub check: &'static str,
    pub detail: String,
}

/// Observers of a trial.
pub type Watch = (Checkers, Shares);

/// Runs a lab in which `change` has changed the plan, and `built` the network made of it; the
/// checkers know of neither. A panic is a failure like others.
pub fn run(
    plan: LabPlan,
    change: &mut dyn FnMut(&mut NetworkPlan),
    built: &mut dyn FnMut(&mut Network<Watch>),
) -> Trial {
    caught(|| drive(plan, change, built))
}

/// Runs a lab. A panic is a failure of it.
pub fn caught(run: impl FnOnce() -> Trial) -> Trial {
    // State that was unwound over is not read again.
    let done = catch_unwind(AssertUnwindSafe(run));
    done.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Trial::failed("panic", text.unwrap_or("without a message").to_owned())
    })
}

impl Trial {
    /// A trial with this failure alone.
    pub fn failed(check: &'static str, detail: String) -> Self {
        Self { failures: vec![Failure { check, detail }], ..Self::default() }
    }

    /// Returns FAIL if there is a failure, and at best not judged if it stood still.
    pub fn verdict(&self) -> Verdict {
        let still = self.counts.stood_still.then_some(Verdict::NotJudged);
        Verdict::of_all([Verdict::of(self.failures.is_empty())].into_iter().chain(still))
    }

    /// Returns the first failure.
    pub fn failure(&self) -> Option<&Failure> {
        self.failures.first()
    }
}

fn drive(
    mut lab: LabPlan,
    change: &mut dyn FnMut(&mut NetworkPlan),
    built: &mut dyn FnMut(&mut Network<Watch>),
) -> Trial {
    let network = &mut lab.network;
    let slowest = slowest(network);
    for node in &mut network.nodes {
        if let NodeKind::Switch(switch) = &mut node.kind {
            switch.bridge.shortcuts = switch.bridge.shortcuts.min(SHORTCUTS);
        }
    }
    // Everything that judges is made from the plan before `change`, which plants a bug that it must not know.
    let faults = Faults::of(network);
    let promises = Promises::of(network);
    let marks_first = promises.marks_first;
    let properties =
        Properties { circle: has_circle(network), answered: is_answered(network), marks_first };
    let span = promises.fair.as_ref().map(|fair| (fair.from, fair.to));
    // Without a promise nothing is measured.
    let (from, to) = span.unwrap_or((Instant::NEVER, Instant::NEVER));
    let watch = (Checkers::new(network), Shares::new(network, from, to));
    change(network);
    let mut network = match Network::new(network, watch) {
        Ok(network) => network,
        Err(error) => return Trial::failed("resolve", error.to_string()),
    };
    built(&mut network);
    let outcome = finish(&mut network, lab.duration, slowest, &properties);
    let finished = outcome == Outcome::Finished;
    let stood_still = outcome == Outcome::StoodStill;
    let (trace_hash, frames, now) = (network.trace_hash(), network.tally().frames, network.now());
    let ((checkers, shares), mut nodes) = network.finish();
    let totals = checkers.totals();
    let (lossless_drops, excused) = checkers.lossless_drops();
    let deadlocks = checkers.deadlocks().len();
    // Counts are read before: finishing consumes the checkers.
    let mut findings = checkers.finish(now, &mut nodes);
    let judged = promises.fair.map(|fair| shares.finding(&fair.flows, fair.tolerance));
    let judges_shares = judged.is_some();
    findings.extend(judged);
    let storms = totals.watchdog_storms;
    let end =
        End { finished, stood_still, now, frames, deadlocks, storms, excused: excused.total() };
    let failures = judge(&findings, &end, &properties);
    let (deadlocks, judges_marks) = (deadlocks as u64, marks_first && totals.pauses > 0);
    let counts = Counts {
        frames,
        totals,
        lossless_drops,
        faults,
        defects: Defects::default(),
        deadlocks,
        stood_still,
        judges_marks,
        judges_shares,
    };
    let ended = finished.then(|| now.since(Instant::ZERO));
    Trial { trace_hash, counts, excused, ended, failures }
}

/// Outcome of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    /// All traffic and its last pause have ended.
    Finished,
    /// A deadlock persists, or the time or the frames of the lab are used up.
    Ended,
    /// A queue has starved for [`STARVED`].
    StoodStill,
}

/// Runs a network until all traffic and its last pause have ended, a deadlock persists, or its time
/// is over, or a queue starves.
fn finish(
    network: &mut Network<Watch>,
    most: Duration,
    slowest: BitsPerSec,
    properties: &Properties,
) -> Outcome {
    let end = Instant::ZERO + most;
    let step = slowest.time_for(SAMPLE);
    while network.now() < end {
        // In long idle times there is nothing to sample.
        let next = network.next_at().max(network.now() + step);
        network.run_until(next.min(end));
        network.sample();
        if network.is_quiet() {
            // The longest pause on the slowest link: pauses in force get the time to expire, so that their end is
            // judged.
            let rest = network.now() + Quanta::MAX.at(slowest) + step;
            network.run_until(rest);
            return Outcome::Finished;
        }
        let now = network.now();
        let stands = |d: &Deadlock| d.ended.is_none() && d.at + STANDING < now;
        let endless = network.tally().frames > FRAMES_MOST;
        let deadlocks = network.witness_mut().0.deadlocks();
        if endless || deadlocks.len() >= DEADLOCKS_MOST || deadlocks.iter().any(stands) {
            return Outcome::Ended;
        }
        if properties.answered && network.witness_mut().0.starved() > STARVED {
            return Outcome::StoodStill;
        }
    }
    Outcome::Ended
}

/// Returns the slowest rate of all links.
fn slowest(plan: &NetworkPlan) -> BitsPerSec {
    let rates = plan.links.iter().map(|link| link.rate);
    rates.min_by_key(|rate| rate.get()).unwrap_or(BitsPerSec::gbps(1))
}

/// Properties of a lab that decide which findings are failures.
struct Properties {
    /// The paths of its flows form a cycle, so it may deadlock.
    circle: bool,
    /// It has connections, which retransmit lost frames.
    answered: bool,
    /// Its switch marks before it pauses. Otherwise the order depends on random thresholds.
    marks_first: bool,
}

fn is_answered(plan: &NetworkPlan) -> bool {
    plan.nodes.iter().any(|node| match &node.kind {
        NodeKind::Host(host) => !host.senders.is_empty(),
        NodeKind::Switch(_) => false,
    })
}

/// End of a run.
struct End {
    finished: bool,
    stood_still: bool,
    now: Instant,
    frames: u64,
    deadlocks: usize,
    storms: u64,
    excused: u64,
}

/// Returns the findings that are failures in such a lab, in their order.
fn judge(findings: &[Finding], end: &End, properties: &Properties) -> Vec<Failure> {
    let wrong = findings.iter().filter(|finding| {
        finding.verdict == Verdict::Fail
            && match finding.check {
                Check::Deadlock => !properties.circle,
                // Pauses last as long as their causes.
                Check::PausesEnd => end.finished,
                Check::EcnBeforePfc => properties.marks_first,
                // Judged only for labs that promise it.
                Check::Fairness
                | Check::Frames
                | Check::Cells
                | Check::Marks
                | Check::Lossless
                | Check::PauseLegality
                | Check::PausesSent
                | Check::IdleLines => true,
            }
    });
    let failure = |f: &Finding| Failure { check: f.check.name(), detail: f.detail.clone() };
    let mut failures: Vec<Failure> = wrong.map(failure).collect();
    // Frames that watchdogs and overloaded CPUs drop and senders retransmit may cause congestion
    // again without end.
    let repeated = properties.answered && (end.storms > 0 || end.excused > 0);
    // A circle may stand that no check can name, because a switch lost frames and those behind them cannot be
    // followed. Without such a switch, a network that stands for another reason is unfinished.
    let found = |check, verdict| findings.iter().any(|f| f.check == check && f.verdict == verdict);
    let stands = found(Check::Deadlock, Verdict::Fail);
    let hidden = stands && found(Check::Cells, Verdict::NotJudged);
    let deadlocked = end.deadlocks > 0 || hidden;
    if !end.finished && !deadlocked && !repeated && !end.stood_still {
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
            match fault.kind.class() {
                FaultClass::LinkDown => faults.flaps += 1,
                // It belongs to a flap that was counted when the link went down.
                FaultClass::LinkUp => {}
                FaultClass::LostPauses => faults.lost_pauses += 1,
                FaultClass::LostFrames => faults.lost_frames += 1,
                FaultClass::Errors => faults.errors += 1,
                FaultClass::Forged => faults.forgeries += 1,
                FaultClass::Stall => faults.stalls += 1,
                FaultClass::Change | FaultClass::Defect => faults.changes += 1,
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
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the checks that fail a lab which is not finished at its end, without a known circle.
    fn failed(deadlock: Verdict, idle: Verdict, cells: Verdict, circle: bool) -> Vec<&'static str> {
        let end = End {
            finished: false,
            stood_still: false,
            now: Instant::ZERO,
            frames: 1,
            deadlocks: 0,
            storms: 0,
            excused: 0,
        };
        let finding = |check, verdict| Finding::new(check, verdict, String::new());
        let findings = [
            finding(Check::Deadlock, deadlock),
            finding(Check::IdleLines, idle),
            finding(Check::Cells, cells),
        ];
        let properties = Properties { circle, answered: false, marks_first: false };
        judge(&findings, &end, &properties).iter().map(|failure| failure.check).collect()
    }

    #[test]
    fn a_lab_that_does_not_finish_fails_unless_a_circle_stands_that_cannot_be_followed() {
        use Verdict::{Fail, NotJudged, Pass};
        assert_eq!(failed(Fail, Pass, NotJudged, true), [""; 0]);
        assert_eq!(failed(Fail, Pass, Pass, true), ["finished"]);
        assert_eq!(failed(Fail, Fail, NotJudged, true), ["idle_lines"]);
        assert_eq!(failed(Pass, Pass, NotJudged, true), ["finished"]);
        assert_eq!(failed(NotJudged, Pass, NotJudged, true), ["finished"]);
        assert_eq!(failed(Fail, Pass, NotJudged, false), [Check::Deadlock.name()]);
    }
}
