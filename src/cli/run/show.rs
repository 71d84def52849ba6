//! Progress of a run.

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
        let name = match &plan.variant {
            Some(variant) => format!("{} {variant}", plan.name),
            None => plan.name.clone(),
        };
        let template = "{prefix} [{bar:32}] {msg}";
        let progress = terminal::Progress::new(template, &name, Some(STEPS), LINE_EVERY);
        if progress.bar.is_none() {
            let network = &plan.network;
            say!(
                "{name}: {} nodes, {} links and {} flows in the {world} world, for up to {}",
                network.nodes.len(),
                network.links.len(),
                plan.flows.len(),
                plan.duration
            );
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
        let seconds = self.begun.elapsed().as_secs_f64();
        let per_second = |n: u64, unit| scaled(n as f64 / seconds.max(1e-9), unit);
        let work = match outcome.real {
            None => per_second(outcome.engine.events, " events/s"),
            Some(_) => per_second(outcome.engine.polls, " polls/s"),
        };
        say!(
            "{} took {seconds:.2} s: {}, {work}",
            outcome.elapsed_ns,
            per_second(outcome.engine.frames, " frame-hops/s"),
        );
    }
}
