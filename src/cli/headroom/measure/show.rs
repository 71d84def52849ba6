//! Progress of a measurement: a bar on a terminal, otherwise lines if it takes long.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::cli::terminal::say;
use crate::printable;
use ::measure::Told;
use ::text::count;

/// Period of progress lines without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(1);

/// Progress of a measurement.
pub(super) struct Show {
    bar: Option<ProgressBar>,
    /// Rounds of all measurements; None if requests are answered.
    rounds: Option<u64>,
    of_one: u64,
    made: u64,
    next_line: Instant,
}

impl Show {
    /// Progress of `measurements` with `rounds` each, or of answers if there are none.
    pub(super) fn new(port: &str, measurements: u64, rounds: u64) -> Self {
        let all = (measurements > 0).then_some(measurements * rounds);
        let bar = std::io::stderr().is_terminal().then(|| {
            let (bar, form) = match all {
                Some(all) => (ProgressBar::new(all), "{prefix} [{bar:32}] {msg}"),
                None => (ProgressBar::new_spinner(), "{prefix} {spinner} {msg}"),
            };
            let style = ProgressStyle::with_template(form).expect("the template is well formed");
            bar.with_style(style.progress_chars("=> "))
                .with_prefix(printable::line(port).into_owned())
        });
        if all.is_none() {
            say!("{port} answers headroom measurements and PTP peer delays; Ctrl-C ends it");
        }
        let next_line = Instant::now() + LINE_EVERY;
        Self { bar, rounds: all, of_one: rounds, made: 0, next_line }
    }

    /// Shows an event.
    pub(super) fn update(&mut self, told: &Told) {
        let done = match told {
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
        if let Some(bar) = &self.bar {
            bar.set_position(done);
            bar.set_message(text);
        } else if Instant::now() >= self.next_line {
            say!("{text}");
            self.next_line += LINE_EVERY;
        }
    }

    /// Clears the display.
    pub(super) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
