//! Display of a running test: a bar and tables on a terminal, otherwise a line per interval.

use crate::printable;
use crate::report::{self, Screen};
use tester::report::Report;

/// Width of the bar in characters.
const BAR: usize = 32;

/// Display of a running test.
pub(super) struct Show {
    /// None disables the display.
    screen: Option<Screen>,
    name: String,
    /// Seconds of the test between updates.
    every_s: f64,
    /// Second of the next update.
    next_s: f64,
}

impl Show {
    pub(super) fn new(name: &str, every_s: f64, quiet: bool) -> Self {
        let screen = (!quiet).then(Screen::new);
        Self { screen, name: name.to_owned(), every_s, next_s: every_s }
    }

    /// Shows a report if an update is due.
    pub(super) fn update(&mut self, report: &Report, part: Option<f64>) {
        let at = report.elapsed_s.unwrap_or(0.0);
        let Some(screen) = self.screen.as_mut().filter(|_| at >= self.next_s) else { return };
        self.next_s = at + self.every_s;
        let head = format!("{} {}", printable::line(&self.name), bar(part));
        screen.show(
            || format!("{}\n{}", head.trim_end(), report::tester_text(report, None)),
            || report::tester_line(report),
        );
    }

    /// Clears the display.
    pub(super) fn clear(&mut self) {
        if let Some(screen) = &mut self.screen {
            screen.clear();
        }
    }
}

/// Progress bar; empty if the progress is unknown.
fn bar(part: Option<f64>) -> String {
    let Some(part) = part else { return String::new() };
    let full = (part * BAR as f64).round().clamp(0.0, BAR as f64) as usize;
    let tip = if (1..BAR).contains(&full) { ">" } else { "" };
    let body = format!("{}{tip}", "=".repeat(full - tip.len()));
    format!("[{body:<BAR$}] {:3.0} %", 100.0 * part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_is_as_wide_at_any_part() {
        assert_eq!(bar(None), "");
        let widths = [0.0, 0.01, 0.5, 0.999, 1.0].map(|part| bar(Some(part)).len());
        assert_eq!(widths, [BAR + 8; 5]);
        assert!(
            bar(Some(0.5)).starts_with("[===============>   ") && bar(Some(0.5)).ends_with(" 50 %")
        );
    }
}
