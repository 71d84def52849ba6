//! A trial at a load: what was sent, and what the device forwarded.

use ground::time::Duration;
use ground::units::Bytes;
use serde::Serialize;
use tester::report::Report;
use validate::bench::{Bench, Trouble};
use validate::trial::{Flow, Limit, Rate, Trial};

use crate::plan::Plan;

/// Runs of a trial that the machine disturbs.
const ATTEMPTS: u32 = 3;

/// Result of a trial, summed over the flows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// Frames that were to be sent.
    pub intended: u64,
    /// Frames that were sent; fewer than intended if the device paused the tester.
    pub offered: u64,
    /// Frames that arrived, without duplicates.
    pub forwarded: u64,
    /// True if the device paused a sender.
    pub paused: bool,
    /// Absent if no frame arrived.
    pub latency: Option<Latency>,
}

/// Latencies from the first bit in to the last bit out (FILO), in nanoseconds. None is below
/// `resolution_ns`; one that is equal to it is at most that.
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

impl Sample {
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
}

impl<'a> Runner<'a> {
    pub fn new(
        plan: &'a Plan,
        bench: &'a mut dyn Bench,
        progress: &'a mut dyn FnMut(&str) -> bool,
    ) -> Self {
        Self { plan, bench, progress, trials: 0, notes: Vec::new() }
    }

    /// True if equal trials have equal results.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.bench.world() == "virtual"
    }

    /// Adds a line for the reader.
    pub fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// Runs a trial at `load` frames/s of the first flow, and the same share of the line of the
    /// others.
    ///
    /// # Errors
    /// The tester cannot be trusted, the machine disturbed it repeatedly, or the user ended the run.
    pub fn at(&mut self, size: u32, load: f64, duration: Duration) -> Result<Sample, Trouble> {
        let share = (load / self.plan.line_rate(0, size)).min(1.0);
        let what = format!("{size} bytes, {:.3} % of the line", share * 100.0);
        let mut trial = Trial::new(what, duration + self.plan.drain);
        self.add(&mut trial, size, share, (Duration::ZERO, Limit::Time(duration)));
        let seconds = duration.as_secs_f64();
        let rates = (0..self.plan.flows.len()).map(|n| self.plan.line_rate(n, size) * share);
        let intended = rates.map(|rate| (rate * seconds).floor().max(1.0) as u64).sum();
        self.sampled(&trial, intended)
    }

    /// Sends a burst of `frames` at line rate on each flow.
    ///
    /// # Errors
    /// As [`Self::at`].
    pub fn burst(&mut self, size: u32, frames: u32) -> Result<Sample, Trouble> {
        let what = format!("{size} bytes, a burst of {frames} frames");
        let wire = Bytes(u64::from(size) + 20);
        let slowest =
            self.plan.flows.iter().map(|(from, _)| self.plan.setup.port(*from).rate).min();
        let time = slowest.expect("there is a flow").time_for(wire).saturating_mul(frames.into());
        let mut trial = Trial::new(what, time + self.plan.drain);
        self.add(&mut trial, size, 1.0, (Duration::ZERO, Limit::Frames(frames)));
        self.sampled(&trial, u64::from(frames) * self.plan.flows.len() as u64)
    }

    /// Adds the frames of all flows to a trial.
    pub fn add(&self, trial: &mut Trial, size: u32, share: f64, (start, limit): (Duration, Limit)) {
        for ends in &self.plan.flows {
            let flow = Flow::new(*ends, self.plan.priority, limit);
            trial.flow(flow.size(size).rate(Rate::Line(share)).start(start));
        }
    }

    /// Runs a trial, again if the machine disturbs it, and returns the counters.
    ///
    /// # Errors
    /// As [`Self::at`].
    pub fn run(&mut self, trial: &Trial) -> Result<Report, Trouble> {
        self.attempts(trial, |_, report| Ok(report))
    }

    /// Runs a trial, again if the machine disturbs it, and returns the sums of its flows.
    fn sampled(&mut self, trial: &Trial, intended: u64) -> Result<Sample, Trouble> {
        self.attempts(trial, |runner, report| runner.sample(&report, intended))
    }

    fn attempts<T>(
        &mut self,
        trial: &Trial,
        read: impl Fn(&Self, Report) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let mut attempt = 1;
        loop {
            if !(self.progress)(&trial.name) {
                return Err(Trouble::Interrupted);
            }
            if !self.is_exact() {
                std::thread::sleep(std::time::Duration::from_nanos(self.plan.rest.as_nanos()));
            }
            self.trials += 1;
            let counted = self.bench.count(trial);
            match counted.and_then(|report| read(self, report)) {
                Err(Trouble::Disturbed(_)) if attempt < ATTEMPTS => attempt += 1,
                other => return other,
            }
        }
    }

    /// Returns the sums of the flows of a trial.
    fn sample(&self, report: &Report, intended: u64) -> Result<Sample, Trouble> {
        let flows = &report.flows[..self.plan.flows.len()];
        let sum = |value: fn(&tester::report::Flow) -> u64| flows.iter().map(value).sum::<u64>();
        let (offered, forwarded) = (sum(|f| f.frames_tx), sum(|f| f.frames_rx));
        let paused = report.ports.iter().any(|port| {
            port.priorities
                .iter()
                .any(|p| p.priority == self.plan.priority.get() && p.transitions > 0)
        });
        if offered == 0 {
            return Err(Trouble::Error("the tester sent nothing".to_owned()));
        }
        let short = intended.saturating_sub(offered);
        // A larger error of the load than the width of the search would move its result.
        if !paused && short > flows.len() as u64 && short as f64 > self.plan.width * intended as f64
        {
            return Err(Trouble::Disturbed(format!(
                "the tester sent {offered} frames of {intended}, without being paused: the machine is \
                 busy, or too slow for this load; lower `max_load`, or widen `width`"
            )));
        }
        // Without pauses, a difference is the tester's pacing and not the device's.
        let intended = if paused { intended.max(offered) } else { offered };
        let latencies: Vec<_> = flows.iter().filter_map(|flow| flow.latency.as_ref()).collect();
        let frames: f64 = latencies.iter().map(|l| l.frames as f64).sum();
        let of =
            |value: fn(&tester::report::Latency) -> f64| latencies.iter().map(move |l| value(l));
        let largest = |value| of(value).fold(0.0, f64::max);
        let latency = (frames > 0.0).then(|| Latency {
            min_ns: of(|l| l.min_ns.ns()).fold(f64::INFINITY, f64::min),
            mean_ns: of(|l| l.mean_ns.ns() * l.frames as f64).sum::<f64>() / frames,
            p50_ns: largest(|l| l.p50_ns.ns()),
            p99_ns: largest(|l| l.p99_ns.ns()),
            max_ns: largest(|l| l.max_ns.ns()),
            resolution_ns: report.stamps.floor_ns(),
        });
        Ok(Sample { intended, offered, forwarded, paused, latency })
    }
}
