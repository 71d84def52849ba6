//! Progress of a run.

use std::io::IsTerminal;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::terminal::say;
use crate::lab::{LabPlan, Outcome, Progress, World};
use crate::printable;
use ::text::{count, scaled};

/// Progress display: a bar on a terminal, otherwise a line every second.
pub(super) struct Show {
    bar: Option<ProgressBar>,
    begun: StdInstant,
    next_line: StdInstant,
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
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template("{prefix} [{bar:32}] {msg}");
            let style = style.expect("the template is well formed").progress_chars("=> ");
            let name = printable::line(&name).into_owned();
            ProgressBar::new(STEPS).with_style(style).with_prefix(name)
        });
        if bar.is_none() {
            let network = &plan.network;
            say!(
                "{name}: {} nodes, {} links and {} flows in the {world} world, for up to {}",
                network.nodes.len(),
                network.links.len(),
                plan.flows.len(),
                plan.duration
            );
        }
        let begun = StdInstant::now();
        Self { bar, begun, next_line: begun + LINE_EVERY }
    }

    pub(super) fn update(&mut self, p: Progress) {
        let text = || format!("{} of {}, {} frame-hops", p.at, p.of, count(p.frames));
        if let Some(bar) = &self.bar {
            let part = p.at.as_secs_f64() / p.of.as_secs_f64().max(1e-12);
            bar.set_position((part * STEPS as f64) as u64);
            bar.set_message(text());
        } else if StdInstant::now() >= self.next_line {
            say!("{}", text());
            self.next_line += LINE_EVERY;
        }
    }

    /// Prints the speed, which is not part of the result and so stays off standard output.
    pub(super) fn finish(&self, outcome: &Outcome) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
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
