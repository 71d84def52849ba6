//! Rate limit of log lines, so that a peer or a client that repeats an event cannot fill a disk.
//!
//! Lines are limited per call site and subject, which is the text before the first `: `, usually a
//! port. So a flood at one port hides no line of another. Each gets [`BURST`] lines per window;
//! further lines are counted, and the count is written when the window ends. Time is an argument.

use std::collections::HashMap;
use std::time::Duration;

use tracing::callsite::Identifier;
use tracing::{Event, Level};

/// Lines per window.
pub(super) const BURST: u64 = 10;
/// Length of a window.
pub(super) const WINDOW: Duration = Duration::from_secs(10);
/// Number of separate subjects; further ones share their call site's lines.
pub(super) const SUBJECTS: usize = 256;
/// Longest subject in characters.
const SUBJECT_MAX: usize = 64;

/// Open windows.
#[derive(Default)]
pub(super) struct Limiter {
    open: HashMap<(Identifier, String), Window>,
}

struct Window {
    /// Time of the first line.
    start: Duration,
    level: Level,
    lines: u64,
}

/// Lines that were suppressed.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Suppressed {
    subject: String,
    pub(super) level: Level,
    lines: u64,
}

impl Suppressed {
    /// The line that reports them.
    pub(super) fn line(&self) -> String {
        let Self { subject, lines, .. } = self;
        let colon = if subject.is_empty() { "" } else { ": " };
        let seconds = WINDOW.as_secs();
        format!("{subject}{colon}{lines} more suppressed within {seconds} s of the first")
    }
}

impl Limiter {
    /// Counts a line and returns true if it may be written. Call [`Self::ended`] first.
    pub(super) fn admit(&mut self, event: &Event<'_>, line: &str, now: Duration) -> bool {
        let (place, level) = (event.metadata().callsite(), *event.metadata().level());
        let mut key = (place, subject(line));
        if self.open.len() >= SUBJECTS && !self.open.contains_key(&key) {
            key.1.clear();
        }
        let window = self.open.entry(key).or_insert(Window { start: now, level, lines: 0 });
        window.lines += 1;
        window.lines <= BURST
    }

    /// Closes the windows that have ended, and returns their suppressed lines.
    pub(super) fn ended(&mut self, now: Duration) -> Vec<Suppressed> {
        self.close(|window| now.saturating_sub(window.start) >= WINDOW)
    }

    /// Closes all windows.
    pub(super) fn all(&mut self) -> Vec<Suppressed> {
        self.close(|_| true)
    }

    fn close(&mut self, is_closed: impl Fn(&Window) -> bool) -> Vec<Suppressed> {
        let mut over = Vec::new();
        self.open.retain(|(_, subject), window| {
            let closed = is_closed(window);
            if closed && window.lines > BURST {
                let (level, lines) = (window.level, window.lines - BURST);
                over.push(Suppressed { subject: subject.clone(), level, lines });
            }
            !closed
        });
        over.sort();
        over
    }
}

/// Text before the first `: `, or nothing.
fn subject(line: &str) -> String {
    let before = line.split_once(": ").map_or("", |(before, _)| before);
    before.chars().take(SUBJECT_MAX).collect()
}
