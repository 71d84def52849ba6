//! The live view: a table redrawn in place on a terminal, a plain line per interval elsewhere.

use std::io::Write;

use console::Term;

use super::summary::Summary;
use super::text::{line, text};

/// Where a run's progress is shown: standard error, so that results stay alone on standard output.
pub struct Live {
    term: Term,
    /// Lines of the last table, to be drawn over.
    drawn: usize,
    before: Option<Summary>,
}

impl Default for Live {
    fn default() -> Self {
        Self::new()
    }
}

impl Live {
    /// A view on standard error.
    #[must_use]
    pub fn new() -> Self {
        Self { term: Term::buffered_stderr(), drawn: 0, before: None }
    }

    /// Shows the state of a run. A view that cannot be written to (a closed pipe) is no reason to
    /// stop a switch, so errors are not reported.
    pub fn show(&mut self, now: Summary) {
        let before = self.before.as_ref();
        if self.term.is_term() {
            let (rows, columns) = self.term.size();
            let shown = text(&now, before);
            // What does not fit would scroll, and could not be drawn over.
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
            let _ = writeln!(self.term, "{}", line(&now, before));
        }
        let _ = self.term.flush();
        self.before = Some(now);
    }

    /// Takes the table off the terminal, so that what is printed next stands alone.
    pub fn clear(&mut self) {
        if self.term.is_term() {
            let _ = self.term.clear_last_lines(self.drawn);
            let _ = self.term.flush();
        }
        self.drawn = 0;
    }
}
