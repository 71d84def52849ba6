//! Comparison of runs: one row per run, with the figures of its results.

use serde::Serialize;

use ::text::{Align, Table, count, scaled};
use ground::printable;
use ground::time::Duration;
use ground::verdict::Verdict;
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
        // Verdicts are ordered from good to bad.
        let is_bad = |check: &&CheckOutcome| check.verdict > Verdict::NotJudged;
        Self {
            lab: outcome.lab.clone(),
            variant: outcome.variant.clone(),
            seed: outcome.seed,
            trace_hash: outcome.trace_hash.clone(),
            verdict: outcome.verdict,
            failed: outcome.checks.iter().filter(is_bad).cloned().collect(),
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
        // Runs that were not made could have failed.
        let missing = (runs.len() < planned).then_some(Verdict::Inconclusive);
        let verdict = Verdict::of_all(runs.iter().map(|run| run.verdict).chain(missing));
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
        let count = |verdict| self.runs.iter().filter(|run| run.verdict == verdict).count();
        let noun = if self.runs.len() == 1 { "run" } else { "runs" };
        let (whole, of) = (self.verdict, self.runs.len());
        let mut line = format!("{whole}: {} of {of} {noun}", count(whole));
        // Even if a run failed, the number of runs that proved nothing is of interest.
        for other in [Verdict::Inconclusive, Verdict::NotJudged] {
            if other != whole && count(other) > 0 {
                line += &format!("; {} {}", count(other), other.label().to_lowercase());
            }
        }
        line
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

/// The columns before those of hops.
const BEFORE: [(&str, Align); 8] = [
    ("lab", Align::Left),
    ("variant", Align::Left),
    ("messages", Align::Right),
    ("p50", Align::Right),
    ("p99", Align::Right),
    ("victims", Align::Right),
    ("peak buffer", Align::Right),
    ("peak queue", Align::Right),
];
const BEHIND: [(&str, Align); 5] = [
    ("lost", Align::Right),
    ("fairness", Align::Right),
    ("signals", Align::Right),
    ("done in", Align::Right),
    ("verdict", Align::Left),
];

/// Returns the table's head and its rows, for text and HTML.
pub(super) fn sheet(comparison: &Comparison) -> (Vec<(String, Align)>, Vec<Vec<String>>) {
    let hops = 1..=comparison.farthest();
    let owned = |(name, align): &(&str, Align)| ((*name).to_owned(), *align);
    let of_hop = |hop| (format!("pauses hop {hop}"), Align::Right);
    let head = BEFORE.iter().map(owned).chain(hops.map(of_hop)).chain(BEHIND.iter().map(owned));
    let rows = comparison.runs.iter().map(|run| cells(comparison, run)).collect();
    (head.collect(), rows)
}

fn cells(comparison: &Comparison, run: &ComparedRun) -> Vec<String> {
    let f = &run.figures;
    let none = || "-".to_owned();
    let time = |time: Option<Duration>| time.map_or_else(none, |t| t.to_string());
    let mut cells = vec![
        run.lab.clone(),
        run.name().to_owned(),
        f.fct.map_or_else(none, |fct| count(fct.count)),
        time(f.fct.map(|fct| fct.p50)),
        time(f.fct.map(|fct| fct.p99)),
        f.victim_bps.map_or_else(none, |bps| scaled(bps, "b/s")),
        scaled(f.buffer_peak_bytes as f64, "B"),
        scaled(f.queue_peak_bytes as f64, "B"),
    ];
    cells.extend((1..=comparison.farthest()).map(|hop| match run.paused(hop) {
        Some((0, _)) => "0".to_owned(),
        Some((pauses, span)) => format!("{} for {span}", count(pauses)),
        None => none(),
    }));
    cells.extend([
        count(f.lost_frames),
        f.fairness.map_or_else(none, |index| format!("{index:.3}")),
        sent(&f.signals),
        if run.done { run.elapsed_ns.to_string() } else { "not done".into() },
        run.verdict.label().to_owned(),
    ]);
    cells
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
    let (head, rows) = sheet(comparison);
    let mut table = Table::new(head.iter().map(|(name, align)| (name.as_str(), *align)));
    rows.into_iter().for_each(|row| table.row(row));
    let mut out = format!("{table}\n{LEGEND}\n");
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
