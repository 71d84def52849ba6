//! Progress of a run, and of several at the same time.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration as StdDuration, Instant as StdInstant};

use crate::cli::terminal::{self, say};
use crate::lab::{LabPlan, Outcome, Progress, World};
use ::text::{count, scaled};

/// Progress display: a bar on a terminal, otherwise a line every second.
pub(super) struct Show {
    progress: terminal::Progress,
    begun: StdInstant,
}

/// Period of progress lines without a terminal.
const LINE_EVERY: StdDuration = StdDuration::from_secs(1);

/// Steps of the bar.
const STEPS: u64 = 1_000;

impl Show {
    pub(super) fn new(plan: &LabPlan, world: World) -> Self {
        let template = "{prefix} [{bar:32}] {msg}";
        let progress = terminal::Progress::new(template, &name(plan), Some(STEPS), LINE_EVERY);
        if progress.bar.is_none() {
            say!("{}", introduction(plan, world));
        }
        Self { progress, begun: StdInstant::now() }
    }

    pub(super) fn update(&mut self, p: Progress) {
        let text = format!("{} of {}, {} frame-hops", p.at, p.of, count(p.frames));
        let part = p.at.as_secs_f64() / p.of.as_secs_f64().max(1e-12);
        self.progress.update((part * STEPS as f64) as u64, text, |text| text);
    }

    /// Prints the speed, which is not part of the result and so stays off standard output.
    pub(super) fn finish(&self, outcome: &Outcome) {
        self.progress.clear();
        say!("{}", speed(outcome, self.begun.elapsed()));
    }
}

/// Name of a run in lines of progress.
fn name(plan: &LabPlan) -> String {
    match &plan.variant {
        Some(variant) => format!("{} {variant}", plan.name),
        None => plan.name.clone(),
    }
}

fn introduction(plan: &LabPlan, world: World) -> String {
    let network = &plan.network;
    format!(
        "{}: {} nodes, {} links and {} flows in the {world} world, for up to {}",
        name(plan),
        network.nodes.len(),
        network.links.len(),
        plan.flows.len(),
        plan.duration
    )
}

fn speed(outcome: &Outcome, took: StdDuration) -> String {
    let seconds = took.as_secs_f64();
    let per_second = |n: u64, unit| scaled(n as f64 / seconds.max(1e-9), unit);
    // Events are of the virtual world, polls of the real one.
    let work = match outcome.real {
        None => per_second(outcome.engine.events, " events/s"),
        Some(_) => per_second(outcome.engine.polls, " polls/s"),
    };
    let frames = per_second(outcome.engine.frames, " frame-hops/s");
    format!("{} took {seconds:.2} s: {frames}, {work}", outcome.elapsed_ns)
}

/// Progress of several runs at the same time, of all of them together, with the time left.
pub(super) struct All {
    progress: Mutex<terminal::Progress>,
    runs: u64,
    ended: AtomicU64,
    /// Parts of all runs, of which a whole one has [`STEPS`].
    steps: AtomicU64,
}

/// Parts of a run after which the bar moves: a run of milliseconds is not held up.
const PART: u64 = STEPS / 10;

/// Period of progress lines of several runs without a terminal.
const LINE_OF_ALL_EVERY: StdDuration = StdDuration::from_secs(5);

impl All {
    pub(super) fn new(runs: u64) -> Self {
        let template = "[{bar:32}] {msg}, {eta} left";
        let steps = runs.saturating_mul(STEPS);
        let progress = terminal::Progress::new(template, "", Some(steps), LINE_OF_ALL_EVERY);
        let (ended, steps) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { progress: Mutex::new(progress), runs, ended, steps }
    }

    fn lock(&self) -> MutexGuard<'_, terminal::Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a function that takes the progress of one run.
    pub(super) fn part(&self) -> impl FnMut(Progress) + '_ {
        let mut shown = 0;
        move |p| {
            let part = p.at.as_secs_f64() / p.of.as_secs_f64().max(1e-12);
            let part = (part * STEPS as f64) as u64;
            // Rarely, because the lock is shared by all runs.
            if part >= shown + PART {
                self.steps.fetch_add(part - shown, Ordering::Relaxed);
                shown = part;
                self.update();
            }
        }
    }

    /// Counts a run that has ended.
    pub(super) fn ended(&self) {
        let ended = self.ended.fetch_add(1, Ordering::Relaxed) + 1;
        // A run may end before its time.
        self.steps.fetch_max(ended * STEPS, Ordering::Relaxed);
        self.update();
    }

    fn update(&self) {
        let (ended, runs) = (self.ended.load(Ordering::Relaxed), count(self.runs));
        let text = format!("{} of {runs} runs", count(ended));
        self.lock().update(self.steps.load(Ordering::Relaxed), text, |text| text);
    }

    /// Reports the end of a run, with its size and speed.
    pub(super) fn report(
        &self,
        plan: &LabPlan,
        world: World,
        outcome: &Outcome,
        took: StdDuration,
    ) {
        let progress = self.lock();
        let print = || {
            if progress.bar.is_none() {
                say!("{}", introduction(plan, world));
            }
            say!("{}", speed(outcome, took));
        };
        progress.over(print);
    }

    /// Writes lines without the bar.
    pub(super) fn over(&self, write: impl FnOnce()) {
        self.lock().over(write);
    }

    pub(super) fn clear(&self) {
        self.lock().clear();
    }
}
