//! Comparison of runs: one row per run, with the figures of its results.

use serde::Serialize;

use crate::sheet::{Medium, Sheet};
use ::text::{Column, Kind, columns, count, scaled};
use ground::printable;
use ground::time::Duration;
use ground::verdict::{Verdict, Verdicts};
use lab::study::{SameTrace, Traced};
use lab::{CheckOutcome, Figures, Outcome, Signals};

/// The compared runs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Comparison {
    pub version: String,
    /// The world of the runs.
    pub world: &'static str,
    /// The verdict of all runs together.
    pub verdict: Verdict,
    /// Variants that have one trace, so what they differ in had no effect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub same_traces: Vec<SameTrace>,
    /// In the order of the command.
    pub runs: Vec<ComparedRun>,
}

/// One compared run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ComparedRun {
    pub lab: String,
    pub variant: Option<String>,
    pub seed: u64,
    /// Hash of the whole event trace, in a world that has one.
    pub trace_hash: Option<String>,
    /// The verdict of the run's checks.
    pub verdict: Verdict,
    /// The checks that are neither PASS nor not judged.
    pub failed: Vec<CheckOutcome>,
    /// Run time on the network's clock.
    pub elapsed_ns: Duration,
    /// True if all configured traffic was sent, and each frame arrived or was counted as lost.
    pub done: bool,
    pub figures: Figures,
    /// All results, if they are requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

impl ComparedRun {
    /// Summarises a run by its results, which are kept if `whole`.
    #[must_use]
    pub fn new(outcome: Outcome, whole: bool) -> Self {
        Self {
            lab: outcome.lab.clone(),
            variant: outcome.variant.clone(),
            seed: outcome.seed,
            trace_hash: outcome.trace_hash.clone(),
            verdict: outcome.verdict,
            failed: outcome.failed().cloned().collect(),
            elapsed_ns: outcome.elapsed_ns,
            done: outcome.done,
            figures: outcome.figures.clone(),
            outcome: whole.then_some(outcome),
        }
    }

    /// Returns the name of the run among those of its lab.
    #[must_use]
    pub fn name(&self) -> &str {
        self.variant.as_deref().unwrap_or("-")
    }

    /// Returns the number and the total time of pauses of ports at this distance from the
    /// destination; `None` if there are no such ports.
    fn paused(&self, distance: usize) -> Option<(u64, Duration)> {
        let hops = self.figures.hops.iter().filter(|hop| hop.distance == distance);
        // Without a port at that distance the sum is unknown, which is not 0.
        hops.fold(None, |sum, hop| {
            let (pauses, span) = sum.unwrap_or((0, Duration::ZERO));
            Some((pauses + hop.pauses, span + hop.paused_ns))
        })
    }
}

impl Comparison {
    /// Compares runs in one world. If they are fewer than were planned, the verdict is inconclusive at
    /// best.
    #[must_use]
    pub fn new(world: &'static str, runs: Vec<ComparedRun>, planned: usize) -> Self {
        let verdict = verdicts(&runs).verdict_of(planned as u64);
        let traced = runs.iter().filter_map(|run| {
            let (variant, trace) = (run.variant.as_deref()?, run.trace_hash.as_deref()?);
            Some(Traced { lab: &run.lab, variant, point: run.seed.to_string(), trace })
        });
        // Equal traces mean that a change had no effect, which a table of equal figures does not tell.
        let same_traces = SameTrace::find(traced);
        Self { version: ground::program::version().into(), world, verdict, same_traces, runs }
    }

    /// Returns the verdict in a line, such as `PASS: 3 of 3 runs`.
    pub(super) fn summary(&self) -> String {
        let noun = if self.runs.len() == 1 { "run" } else { "runs" };
        verdicts(&self.runs).line(self.verdict, noun, |n| n.to_string())
    }

    /// Returns the labs in order, each with its runs.
    pub fn labs(&self) -> impl Iterator<Item = (&str, &[ComparedRun])> {
        // Runs of a lab stand together, in the order of the command.
        let labs = self.runs.chunk_by(|a, b| a.lab == b.lab);
        labs.map(|runs| (runs[0].lab.as_str(), runs))
    }

    /// Returns the largest hop distance of all runs.
    fn farthest(&self) -> usize {
        let hops = self.runs.iter().flat_map(|run| &run.figures.hops);
        hops.map(|hop| hop.distance).max().unwrap_or(0)
    }
}

fn verdicts(runs: &[ComparedRun]) -> Verdicts {
    runs.iter().map(|run| run.verdict).collect()
}

/// The columns before those of hops.
const BEFORE: &[Column<ComparedRun>] = &columns! { run =>
    Text ["lab"] = &*run.lab;
    Text ["variant"] = run.name();
    Whole ["messages"] = run.figures.fct.map(|fct| fct.count);
    Time ["p50"] = run.figures.fct.map(|fct| fct.p50);
    Time ["p99"] = run.figures.fct.map(|fct| fct.p99);
    Printed ["victims"] = run.figures.victim_bps.map(|bps| scaled(bps, "b/s"));
    Printed ["peak buffer"] = scaled(run.figures.buffer_peak_bytes as f64, "B");
    Printed ["peak queue"] = scaled(run.figures.queue_peak_bytes as f64, "B");
};
const BEHIND: &[Column<ComparedRun>] = &columns! { run =>
    Whole ["lost"] = run.figures.lost_frames;
    Printed ["fairness"] = run.figures.fairness.map(|index| format!("{index:.3}"));
    Printed ["signals"] = sent(&run.figures.signals);
    Printed ["done in"] =
        if run.done { run.elapsed_ns.to_string() } else { "not done".to_owned() };
    Text ["verdict"] = run.verdict.label();
};

/// Returns the table, for text and HTML: the columns of hops are between the others.
pub(super) fn sheet(comparison: &Comparison) -> Sheet {
    let runs = &comparison.runs;
    let [mut sheet, behind] = [BEFORE, BEHIND].map(|all| Medium::Terminal.sheet(all, runs));
    for hop in 1..=comparison.farthest() {
        sheet.head.push((format!("pauses hop {hop}").into(), Kind::Number));
        for (row, run) in sheet.rows.iter_mut().zip(runs) {
            row.push(match run.paused(hop) {
                Some((0, _)) => "0".to_owned(),
                Some((pauses, span)) => format!("{} for {span}", count(pauses)),
                None => "-".to_owned(),
            });
        }
    }
    sheet.head.extend(behind.head);
    sheet.rows.iter_mut().zip(behind.rows).for_each(|(row, behind)| row.extend(behind));
    sheet
}

/// Describes congestion messages by kind.
fn sent(signals: &Signals) -> String {
    let Signals { cnps, cnms, sfcms, cims } = *signals;
    let kinds = [(cnps, "CNP"), (cnms, "CNM"), (sfcms, "SFCM"), (cims, "CIM")];
    let sent = kinds.iter().filter(|(n, _)| *n > 0);
    let sent: Vec<_> = sent.map(|(n, kind)| format!("{} {kind}", count(*n))).collect();
    if sent.is_empty() { "-".into() } else { sent.join(", ") }
}

/// Prints the comparison as a table, with a legend and the failed checks.
#[must_use]
pub fn comparison_text(comparison: &Comparison) -> String {
    let mut out = format!("{}\n{LEGEND}\n", sheet(comparison).whole());
    for run in &comparison.runs {
        for check in &run.failed {
            let (lab, name) = (&run.lab, run.name());
            let failed = format!("{lab} {name}: {}: {}", check.name, check.detail);
            out += &printable::lines([format!("{}  {failed}", check.verdict)]);
        }
    }
    out += &same_text(&comparison.same_traces);
    out + &format!("{}\n", comparison.summary())
}

/// Returns a line for each pair of variants with one trace.
pub(super) fn same_text(all: &[SameTrace]) -> String {
    all.iter().map(|same| printable::lines([format!("note: {}", same.line())])).collect()
}

/// The legend of the columns.
pub(super) const LEGEND: &str = "\
p50 and p99: message completion. Victims: throughput of the flows that are marked as victims. Pauses
hop n: at ports n lines before the destination, with the sum of the pause times of all priorities.
Fairness: Jain's index of the throughput of all other flows. Signals: messages about congestion.";
