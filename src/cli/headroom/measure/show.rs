//! Progress of a measurement: a bar on a terminal, otherwise lines if it takes long.

use std::time::Duration;

use crate::cli::terminal::{Progress, say};
use ::measure::Told;
use ::text::count;

/// Period of progress lines without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(1);

/// Progress of a measurement.
pub(super) struct Show {
    progress: Progress,
    /// Rounds of all measurements; None if requests are answered.
    rounds: Option<u64>,
    of_one: u64,
    made: u64,
}

impl Show {
    /// Progress of `measurements` with `rounds` each, or of answers if there are none.
    pub(super) fn new(port: &str, measurements: u64, rounds: u64) -> Self {
        let all = (measurements > 0).then_some(measurements * rounds);
        let template = match all {
            Some(_) => "{prefix} [{bar:32}] {msg}",
            None => "{prefix} {spinner} {msg}",
        };
        if all.is_none() {
            say!("{port} answers headroom measurements and PTP peer delays; Ctrl-C ends it");
        }
        let progress = Progress::new(template, port, all, LINE_EVERY);
        Self { progress, rounds: all, of_one: rounds, made: 0 }
    }

    /// Shows an event.
    pub(super) fn update(&mut self, told: &Told) {
        let done = match told {
            Told::Switched { .. } => return,
            Told::Measured(_) => {
                self.made += 1;
                self.made * self.of_one
            }
            // PTP's rounds increase while it waits for the peer's advertisement.
            Told::Progress { rounds } if self.rounds.is_some() => {
                self.made * self.of_one + rounds.min(&self.of_one)
            }
            Told::Progress { rounds } => *rounds,
        };
        let text = match self.rounds {
            Some(all) => format!("{} of {} round trips", count(done), count(all)),
            None => format!("{} requests answered", count(done)),
        };
        self.progress.update(done, text, |text| text);
    }

    /// Clears the display.
    pub(super) fn clear(&self) {
        self.progress.clear();
    }
}
