//! A trial: streams of frames, and what the device forwarded of them.

use std::collections::BTreeSet;
use std::time::Instant;

use ground::time::Duration;
use ground::units::{Bytes, Priority};
use serde::Serialize;
use tester::report::Report;
use validate::bench::{Acknowledged, Bench, Capability, TrialError};
use validate::observation::Observation;
use validate::trial::{Flow, FlowId, Limit, Obeys, Port, Rate, Trial};

use crate::arrivals::{Arrivals, impossible};
use crate::disturbance::{self, Disturbed, Judge, Use};
use crate::plan::Plan;
use crate::run::Took;

/// Frames from a port to another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stream {
    pub ends: (Port, Port),
    /// Frame size in bytes, FCS included.
    pub size: u32,
    /// Share of the sender's line, above 0 and at most 1.
    pub share: f64,
    pub start: Duration,
    pub limit: Limit,
}

/// Runs of a trial that the machine disturbs.
pub(crate) const ATTEMPTS: u32 = 3;

/// Result of a stream.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// Frames that were to be sent.
    pub intended: u64,
    /// Frames that were sent; fewer than intended if the device paused the tester.
    pub offered: u64,
    /// Frames that arrived, without duplicates.
    pub forwarded: u64,
    /// True if the device paused the sender.
    pub paused: bool,
    /// Absent if no frame arrived.
    pub latency: Option<Latency>,
}

/// Pauses of the plan's priority that a port of the tester received in a trial.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Pauses {
    /// Received pauses, those that renew another included.
    pub received: u64,
    /// Received frames that end a pause (XON).
    pub resumes: u64,
    /// Transitions from running to paused.
    pub pauses: u64,
    /// Time in which the priority was paused, in nanoseconds.
    pub paused_ns: f64,
}

/// Results of a trial.
#[derive(Clone, PartialEq, Debug)]
pub struct Counted {
    /// By stream.
    pub samples: Vec<Sample>,
    /// By port of the tester.
    pub pauses: Vec<Pauses>,
    /// Those of the other priorities that were paused, with the number of the port.
    pub others: Vec<(usize, Priority, Pauses)>,
    /// Seconds to the arrival of the first frame and of the last, by stream; `None` if no frame arrived.
    pub arrivals: Vec<Option<(f64, f64)>>,
}

impl Counted {
    /// Returns the sum over all streams.
    #[must_use]
    pub fn sum(&self) -> Sample {
        Sample::sum(&self.samples)
    }
}

/// Latencies from the first bit in to the last bit out (FILO), in nanoseconds. None is below
/// `resolution_ns`; one that is equal to it is at most that. Rows and baselines have these figures alone, so it is no
/// [`tester::report::Latency`], which has a number of frames and more percentiles.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Latency {
    pub min_ns: f64,
    pub mean_ns: f64,
    /// Of the flow with the largest one, as the other percentiles.
    pub p50_ns: f64,
    pub p99_ns: f64,
    pub max_ns: f64,
    /// Shortest time that the stamps of the ports distinguish from none; 0 in virtual time.
    pub resolution_ns: f64,
}

impl Latency {
    /// Returns that of several streams with their numbers of frames; `None` without frames. Percentiles are
    /// those of the stream with the largest.
    #[must_use]
    pub fn of_all(all: &[(f64, Self)]) -> Option<Self> {
        let frames: f64 = all.iter().map(|(frames, _)| frames).sum();
        let largest =
            |value: fn(&Self) -> f64| all.iter().map(|(_, l)| value(l)).fold(0.0, f64::max);
        (frames > 0.0).then(|| Self {
            min_ns: all.iter().map(|(_, l)| l.min_ns).fold(f64::INFINITY, f64::min),
            // Over all frames, so a stream weighs as much as it has frames.
            mean_ns: all.iter().map(|(n, l)| n * l.mean_ns).sum::<f64>() / frames,
            p50_ns: largest(|l| l.p50_ns),
            p99_ns: largest(|l| l.p99_ns),
            max_ns: largest(|l| l.max_ns),
            resolution_ns: largest(|l| l.resolution_ns),
        })
    }
}

impl Sample {
    /// Returns the sum of several streams. Percentiles are those of the stream with the largest.
    #[must_use]
    pub fn sum(all: &[Self]) -> Self {
        let sum = |value: fn(&Self) -> u64| all.iter().map(value).sum::<u64>();
        let latencies: Vec<_> =
            all.iter().filter_map(|s| s.latency.map(|l| (s.forwarded as f64, l))).collect();
        let latency = Latency::of_all(&latencies);
        Self {
            intended: sum(|s| s.intended),
            offered: sum(|s| s.offered),
            forwarded: sum(|s| s.forwarded),
            paused: all.iter().any(|s| s.paused),
            latency,
        }
    }

    /// Returns the number of lost frames.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.offered.saturating_sub(self.forwarded)
    }

    /// Returns the share of the intended frames that did not arrive. Frames that the tester held
    /// back because of pauses count as lost.
    #[must_use]
    pub fn loss_ratio(&self) -> f64 {
        (self.intended - self.forwarded.min(self.intended)) as f64 / self.intended as f64
    }
}

/// A device, and the trials on it.
pub struct Runner<'a> {
    pub plan: &'a Plan,
    bench: &'a mut dyn Bench,
    /// Called before each trial with its description; ends the run by returning false.
    progress: &'a mut dyn FnMut(&str) -> bool,
    /// Trials so far.
    pub trials: u64,
    /// Lines for the reader, once each.
    pub notes: Vec<String>,
    /// Tests that were not run although they apply to the device.
    pub not_run: BTreeSet<String>,
    /// Tests that do not apply to such a device, or to what its file has.
    pub not_applicable: BTreeSet<String>,
    /// Frames of all trials that arrived otherwise than sent.
    pub arrivals: Arrivals,
    /// Durations of the rows so far.
    pub took: Vec<Took>,
    /// Seconds of all trials since the last row.
    spent: f64,
    /// Use of the missing frames of the trials.
    used: Use,
    /// Runs that are left for a trial that the machine disturbs.
    left: u32,
    /// Small doubt about the last trial of a search.
    doubt: Option<String>,
}

impl<'a> Runner<'a> {
    pub fn new(
        plan: &'a Plan,
        bench: &'a mut dyn Bench,
        progress: &'a mut dyn FnMut(&str) -> bool,
    ) -> Self {
        // Outside of a search every missing frame is part of a result.
        let (notes, took, used) = (Vec::new(), Vec::new(), Use::Number);
        let (spent, left, doubt) = (0.0, ATTEMPTS, None);
        let (not_run, not_applicable) = (BTreeSet::new(), BTreeSet::new());
        let arrivals = Arrivals::default();
        Self {
            plan,
            bench,
            progress,
            trials: 0,
            notes,
            not_run,
            not_applicable,
            arrivals,
            took,
            spent,
            used,
            left,
            doubt,
        }
    }

    /// True if equal trials have equal results.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.bench.world() == "virtual"
    }

    /// Returns the memory that the device uses, in bytes; `None` if it is unknown.
    ///
    /// # Errors
    /// The device does not answer, or not with a number.
    pub(crate) fn memory(&mut self) -> Result<Option<u64>, TrialError> {
        if self.has(Capability::Memory) { self.bench.memory() } else { Ok(None) }
    }

    /// True if the bench has a capability.
    #[must_use]
    pub fn has(&self, capability: Capability) -> bool {
        self.bench.has(capability)
    }

    /// Ends the measurement of a row of a table.
    pub(crate) fn row(&mut self, table: &'static str) {
        self.rows(table, 1);
    }

    /// Ends the measurement of several rows by the same trials: each has the time of all of them.
    pub(crate) fn rows(&mut self, table: &'static str, count: usize) {
        let seconds = core::mem::take(&mut self.spent);
        self.took.extend((0..count).map(|_| Took { table, seconds }));
    }

    /// Adds rows of the same trials to their table, and ends their measurement.
    pub(crate) fn add<R>(
        &mut self,
        name: &'static str,
        table: &mut Vec<R>,
        rows: impl IntoIterator<Item = R>,
    ) {
        let before = table.len();
        table.extend(rows);
        self.rows(name, table.len() - before);
    }

    /// Adds rows of another table that the trials of the last row gave, too.
    pub(crate) fn also(&mut self, table: &'static str, count: usize) {
        let seconds = self.took.last().map_or(0.0, |took| took.seconds);
        self.took.extend((0..count).map(|_| Took { table, seconds }));
    }

    /// Records that a test does not apply to the device, with the reason as a line for the reader.
    pub fn not_applicable(&mut self, test: &str, why: &str) {
        self.not_applicable.insert(test.to_owned());
        self.note(format!("{test}: does not apply; {why}"));
    }

    /// Records that a test that applies to the device was not run, with the reason as a line for the reader.
    pub fn not_run(&mut self, test: &str, why: &str) {
        self.not_run.insert(test.to_owned());
        self.note(format!("{test}: not run; {why}"));
    }

    /// Adds a line for the reader.
    pub fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// Runs a trial of the plan's flows at `load` frames/s of the first, and the same share of the
    /// line of the others.
    ///
    /// # Errors
    /// As [`Self::measure`].
    pub fn offer(
        &mut self,
        size: u32,
        load: f64,
        duration: Duration,
    ) -> Result<Sample, TrialError> {
        // A division may end a little above the line.
        let share = (load / self.plan.line_rate(0, size)).min(1.0);
        let streams = self.flows(size, share, Duration::ZERO, Limit::Time(duration));
        let what = format!("{size} bytes, {:.3} % of the line", share * 100.0);
        self.measure(what, &streams).map(|counted| counted.sum())
    }

    /// Sends a burst of `frames` at line rate on each of the plan's flows.
    ///
    /// # Errors
    /// As [`Self::measure`].
    pub fn burst(&mut self, size: u32, frames: u32) -> Result<Sample, TrialError> {
        let streams = self.flows(size, 1.0, Duration::ZERO, Limit::Frames(frames));
        let what = format!("{size} bytes, a burst of {frames} frames");
        self.measure(what, &streams).map(|counted| counted.sum())
    }

    /// Returns a stream for each of the plan's flows.
    #[must_use]
    pub fn flows(&self, size: u32, share: f64, start: Duration, limit: Limit) -> Vec<Stream> {
        let stream = |ends: &(Port, Port)| Stream { ends: *ends, size, share, start, limit };
        self.plan.flows.iter().map(stream).collect()
    }

    /// Runs a trial of streams, again if the machine disturbs it.
    ///
    /// # Errors
    /// The tester cannot be trusted, the machine disturbed it repeatedly, or the user ended the run.
    pub fn measure(
        &mut self,
        name: impl Into<String>,
        streams: &[Stream],
    ) -> Result<Counted, TrialError> {
        self.measure_with(name, streams, &[])
    }

    /// Runs a trial of streams in which some ports of the tester react otherwise to pauses.
    ///
    /// # Errors
    /// As [`Self::measure`].
    pub fn measure_with(
        &mut self,
        name: impl Into<String>,
        streams: &[Stream],
        obeys: &[(Port, Obeys)],
    ) -> Result<Counted, TrialError> {
        let ends = streams.iter().map(|stream| stream.start + self.length(stream));
        let end = ends.max().unwrap_or(Duration::ZERO);
        // Frames that the device still holds when the last sender stops are not lost.
        let mut trial = Trial::new(name, end + self.plan.drain);
        trial.obeys = obeys.to_vec();
        for stream in streams {
            let flow = Flow::new(stream.ends, self.plan.priority, stream.limit);
            let flow = flow.size(stream.size).rate(Rate::Line(stream.share));
            trial.flow(flow.start(stream.start));
        }
        self.attempts(&trial, self.plan.rest, |runner, report| {
            runner.counted(&report, &trial.flows)
        })
    }

    /// Returns the time for which a stream sends.
    pub(crate) fn length(&self, stream: &Stream) -> Duration {
        match stream.limit {
            Limit::Time(time) => time,
            Limit::Bursts(bursts) => bursts.every.saturating_mul(bursts.count.into()),
            Limit::Frames(frames) => {
                let rate = self.plan.setup.port(stream.ends.0).rate;
                let line = rate.time_for(Bytes(self.plan.on_line(stream.size)));
                // Each frame takes its slot on the line, which a share of the line makes longer.
                let all = line.saturating_mul(frames.into());
                Duration::from_picos((all.as_picos() as f64 / stream.share) as u64)
            }
        }
    }

    /// Runs a trial after a rest, again if the machine disturbs it, and returns what `read` makes of its
    /// counters.
    ///
    /// # Errors
    /// As [`Self::measure`].
    pub(crate) fn attempts<T>(
        &mut self,
        trial: &Trial,
        rest: Duration,
        read: impl Fn(&Self, Report) -> Result<T, TrialError>,
    ) -> Result<T, TrialError> {
        self.repeated(trial, rest, |runner| {
            let report = runner.bench.count(trial)?;
            // First the disturbance: `read` may take its effect for an error of the set-up.
            runner.undisturbed(trial, &report)?;
            read(runner, report)
        })
    }

    /// Runs trials of a search, which compares the share of missing frames with these limits.
    pub(crate) fn searching<T>(
        &mut self,
        limits: Vec<f64>,
        search: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before = core::mem::replace(&mut self.used, Use::Limits(limits));
        let found = search(self);
        self.used = before;
        found
    }

    fn judge(&self) -> Judge<'_> {
        Judge { setup: &self.plan.setup, width: self.plan.width, used: &self.used }
    }

    /// An error if a counted trial was disturbed.
    fn undisturbed(&mut self, trial: &Trial, report: &Report) -> Result<(), TrialError> {
        if let Some(remark) = disturbance::unnoticed(report) {
            self.note(remark);
        }
        let found = self.judge().counted(trial, report);
        self.repeat(trial, found)?;
        if let Some(why) = impossible(trial, report) {
            return Err(TrialError::Error(why));
        }
        self.arrivals.count(&self.plan.setup, trial, report);
        Ok(())
    }

    /// An error if a trial was disturbed. After the last run, a small doubt of a search is kept instead.
    fn repeat(&mut self, trial: &Trial, found: Option<Disturbed>) -> Result<(), TrialError> {
        let Some(Disturbed { why, is_small }) = found else { return Ok(()) };
        let why = format!("{}: {why}", trial.name);
        if is_small && self.left == 0 {
            self.doubt = Some(why);
            return Ok(());
        }
        Err(TrialError::Disturbed(why))
    }

    /// Takes the doubt about the last trial of a search.
    pub(crate) fn doubt(&mut self) -> Option<String> {
        self.doubt.take()
    }

    /// Runs a trial after a rest, again if the machine disturbs it.
    fn repeated<T>(
        &mut self,
        trial: &Trial,
        rest: Duration,
        mut run: impl FnMut(&mut Self) -> Result<T, TrialError>,
    ) -> Result<T, TrialError> {
        // A doubt that is still there is about an earlier trial.
        self.doubt = None;
        for left in (0..ATTEMPTS).rev() {
            // `repeat` accepts a small doubt when no run is left.
            self.left = left;
            if !(self.progress)(&trial.name) {
                return Err(TrialError::Interrupted);
            }
            let begun = Instant::now();
            self.bench.rest(rest);
            self.trials += 1;
            let ended = run(self);
            // Virtual time, so that the durations of a virtual device are the same on every machine.
            self.spent += match self.is_exact() {
                true => trial.length.as_secs_f64(),
                false => begun.elapsed().as_secs_f64(),
            };
            match ended {
                Err(TrialError::Disturbed(_)) if left > 0 => {}
                other => return other,
            }
        }
        unreachable!("the last run returns")
    }

    /// Runs a trial with connections after a rest, again if the machine disturbs it.
    ///
    /// # Errors
    /// As [`Self::measure`].
    pub(crate) fn acknowledged(
        &mut self,
        trial: &Trial,
    ) -> Result<(Report, Vec<Acknowledged>), TrialError> {
        let rest = self.plan.rest;
        self.repeated(trial, rest, |runner| {
            let (report, acknowledged) = runner.bench.acknowledged(trial)?;
            runner.undisturbed(trial, &report)?;
            Ok((report, acknowledged))
        })
    }

    /// Runs a trial after a rest, again if the machine disturbs it, and returns each frame of it.
    ///
    /// # Errors
    /// As [`Self::measure`].
    pub(crate) fn observe(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        let rest = self.plan.rest;
        self.repeated(trial, rest, |runner| {
            let seen = runner.bench.run(trial)?;
            let found = runner.judge().observed(trial, &seen);
            runner.repeat(trial, found)?;
            let tallies = (0..trial.own_flows()).map(|n| seen.tally(FlowId(n)));
            tallies.for_each(|tally| runner.arrivals.tally(tally));
            Ok(seen)
        })
    }

    /// Returns the results in a report of flows.
    fn counted(&self, report: &Report, flows: &[Flow]) -> Result<Counted, TrialError> {
        let pauses: Vec<Pauses> =
            report.ports.iter().map(|port| pauses(port, self.plan.priority)).collect();
        let all = || flows.iter().zip(&report.flows);
        let offered: u64 = all().map(|(_, counts)| counts.frames_tx).sum();
        // A ratio of nothing says nothing, and a port that is down must not look like a device that drops.
        if offered == 0 {
            return Err(TrialError::Error("the tester sent nothing".to_owned()));
        }
        let mut samples = Vec::new();
        for (flow, counts) in all() {
            // Pauses of a port hold all of its flows, so they count for each of them.
            let paused = pauses.get(flow.from.0).is_some_and(|p| p.pauses > 0);
            let (offered, forwarded) = (counts.frames_tx, counts.frames_rx);
            let intended = flow.intended(&self.plan.setup);
            // Without pauses, a difference is the tester's pacing and not the device's.
            let intended = if paused { intended.max(offered) } else { offered };
            let latency = latency_of(counts, report);
            samples.push(Sample { intended, offered, forwarded, paused, latency });
        }
        let arrivals = all().map(|(_, flow)| flow.first_rx_s.zip(flow.last_rx_s)).collect();
        let others = others(report, self.plan.priority);
        Ok(Counted { samples, pauses, others, arrivals })
    }
}

/// Returns the latency of a flow; `None` if nothing arrived.
pub(crate) fn latency_of(flow: &tester::report::Flow, report: &Report) -> Option<Latency> {
    let measured = flow.latency.as_ref().filter(|latency| latency.frames > 0)?;
    let resolution_ns = report.stamps.floor_ns();
    Some(Latency {
        min_ns: measured.min_ns.ns(),
        mean_ns: measured.mean_ns.ns(),
        p50_ns: measured.p50_ns.ns(),
        p99_ns: measured.p99_ns.ns(),
        max_ns: measured.max_ns.ns(),
        resolution_ns,
    })
}

/// Returns the pauses of a priority that a port received.
pub(crate) fn pauses(port: &tester::report::Port, priority: Priority) -> Pauses {
    let found = port.priorities.iter().find(|p| p.priority == priority.get());
    found.map_or_else(Pauses::default, |p| Pauses {
        // The frames that resume are among the received ones.
        received: p.pauses_rx - p.resumes_rx.min(p.pauses_rx),
        resumes: p.resumes_rx,
        pauses: p.transitions,
        paused_ns: p.paused_ns,
    })
}

/// Returns the pauses of all other priorities, with the number of the port.
fn others(report: &Report, own: Priority) -> Vec<(usize, Priority, Pauses)> {
    let all = report.ports.iter().enumerate();
    let of = |(n, port)| {
        Priority::ALL.into_iter().map(move |priority| (n, priority, pauses(port, priority)))
    };
    let paused = |found: &(usize, Priority, Pauses)| found.1 != own && found.2 != Pauses::default();
    all.flat_map(of).filter(paused).collect()
}
