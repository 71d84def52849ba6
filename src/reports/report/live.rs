//! The live view: a table redrawn in place on a terminal, one plain line per interval elsewhere.

use std::io::Write;

use console::Term;

use super::text::{line, text};
use ground::printable;
use results::Summary;

/// The progress display on standard error, which leaves standard output to the results.
pub struct Screen {
    term: Term,
    /// Number of lines of the last table, to be overwritten.
    drawn: usize,
}

impl Default for Screen {
    fn default() -> Self {
        Self::new()
    }
}

impl Screen {
    #[must_use]
    pub fn new() -> Self {
        Self { term: Term::buffered_stderr(), drawn: 0 }
    }

    /// Shows the table on a terminal, in place of the last one, and the line elsewhere. Write
    /// errors (a closed pipe) are ignored, as they must not stop a run.
    pub fn show(&mut self, table: impl FnOnce() -> String, line: impl FnOnce() -> String) {
        if self.term.is_term() {
            let (rows, columns) = self.term.size();
            let shown = table();
            let shown = printable::text(&shown);
            // Longer output would scroll, and could not be overwritten.
            let lines: Vec<_> = shown
                .lines()
                .map(|l| console::truncate_str(l, columns.into(), ""))
                .take(usize::from(rows).saturating_sub(1))
                .collect();
            let _ = self.term.clear_last_lines(self.drawn);
            for l in &lines {
                let _ = self.term.write_line(l);
            }
            self.drawn = lines.len();
        } else {
            let _ = writeln!(self.term, "{}", printable::line(&line()));
        }
        let _ = self.term.flush();
    }

    /// Removes the table from the terminal, before other output.
    pub fn clear(&mut self) {
        if self.term.is_term() {
            let _ = self.term.clear_last_lines(self.drawn);
            let _ = self.term.flush();
        }
        self.drawn = 0;
    }
}

/// The live view of a switch.
#[derive(Default)]
pub struct Live {
    screen: Screen,
    before: Option<Summary>,
}

impl Live {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows the state of a run.
    pub fn show(&mut self, now: Summary) {
        let before = self.before.as_ref();
        self.screen.show(|| text(&now, before), || line(&now, before));
        self.before = Some(now);
    }

    /// Removes the table from the terminal.
    pub fn clear(&mut self) {
        self.screen.clear();
    }
}
