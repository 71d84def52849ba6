//! Standard output and standard error.
//!
//! The same rule applies to all commands: a closed reader (`| head`, a closed window) is not an
//! error. Further output is dropped, the command completes its work, and the exit status is
//! unaffected. Any other failure of standard output (a full disk) is an error, because a result is
//! lost; a failure of standard error cannot be reported.
//!
//! All output passes through [`printable`], so that no name from a file, a request or a neighbour
//! reaches a terminal unescaped.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

use crate::printable;

/// Writes a line of progress or a warning to standard error. Line breaks in quoted text are
/// escaped.
macro_rules! say {
    ($($arg:tt)*) => { $crate::cli::terminal::eprint(format_args!($($arg)*)) };
}
pub(crate) use say;

/// Standard output, locked, for results as text.
pub(super) fn stdout() -> Shown<io::StdoutLock<'static>> {
    Shown(io::stdout().lock(), "standard output")
}

/// Standard error, locked.
pub(super) fn stderr() -> Shown<io::StderrLock<'static>> {
    Shown(io::stderr().lock(), "standard error")
}

/// Prints a result as text.
///
/// # Errors
/// Standard output cannot be written, except for a closed reader.
pub(super) fn print(text: impl fmt::Display) -> Result<()> {
    Ok(write!(stdout(), "{text}")?)
}

/// Prints a result as JSON.
///
/// # Errors
/// As [`print`].
pub(super) fn print_json(value: &impl Serialize) -> Result<()> {
    let document = serde_json::to_string_pretty(value)?;
    // Escaped as JSON requires; `Shown` has nothing left to escape.
    Ok(writeln!(stdout(), "{}", printable::json(&document))?)
}

/// See [`say!`].
pub(crate) fn eprint(what: fmt::Arguments<'_>) {
    // One write, so that lines of several threads do not mix.
    let _ = stderr().write_all(printable::lines([what.to_string()]).as_bytes());
}

/// Writes an error to standard error: a line, or one line per finding of a file.
pub(super) fn print_error(error: &anyhow::Error, has_findings: bool) {
    let text = format!("sluice: {error:#}");
    // Findings have a line each already.
    let text = match has_findings {
        true => text + "\n",
        // The lines of a driver's log follow the message.
        false => {
            let mut parts = text.split("\n  DPDK: ");
            let first = printable::message(parts.next().unwrap_or_default()).into_owned();
            printable::lines([first].into_iter().chain(parts.map(|line| format!("  DPDK: {line}"))))
        }
    };
    let _ = stderr().write_all(text.as_bytes());
}

/// Progress on standard error: a bar on a terminal, otherwise a line per period.
pub(super) struct Progress {
    pub(super) bar: Option<ProgressBar>,
    every: Duration,
    next_line: Instant,
}

impl Progress {
    /// Progress of `name` to `steps`, if they are known, by the template of the bar.
    pub(super) fn new(template: &str, name: &str, steps: Option<u64>, every: Duration) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let style = ProgressStyle::with_template(template);
            let style = style.expect("the template is well formed").progress_chars("=> ");
            let bar = steps.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
            bar.with_style(style).with_prefix(printable::line(name).into_owned())
        });
        Self { bar, every, next_line: Instant::now() + every }
    }

    /// Shows the step with the text of the bar, or the line if it is due.
    pub(super) fn update(&mut self, step: u64, text: String, line: impl FnOnce(String) -> String) {
        if let Some(bar) = &self.bar {
            bar.set_position(step);
            bar.set_message(text);
        } else if Instant::now() >= self.next_line {
            say!("{}", line(text));
            self.next_line += self.every;
        }
    }

    /// Writes lines in place of the bar, which is drawn again behind them.
    pub(super) fn over(&self, write: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    pub(super) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A writer to a terminal or a pipe, and its name in errors: escapes its input, and drops it once
/// the reader has closed.
pub(super) struct Shown<W>(W, &'static str);

impl<W: Write> Write for Shown<W> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        // `write!` passes whole strings, so no character is split here.
        let text = String::from_utf8_lossy(octets);
        let written = self.0.write_all(printable::text(&text).as_bytes());
        self.unread(written).map(|()| octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.0.flush();
        self.unread(flushed)
    }
}

impl<W> Shown<W> {
    /// Treats a closed reader as success, and names the output in any other error.
    fn unread(&self, result: io::Result<()>) -> io::Result<()> {
        match result {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(io::Error::new(error.kind(), format!("{}: {error}", self.1))),
            Ok(()) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fails(io::ErrorKind);

    impl Write for Fails {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn a_reader_that_has_gone_is_no_error_and_a_full_disk_is_one() {
        assert!(writeln!(Shown(Fails(io::ErrorKind::BrokenPipe), "x"), "x").is_ok());
        let full = writeln!(Shown(Fails(io::ErrorKind::StorageFull), "x"), "x");
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn what_a_terminal_would_obey_never_gets_there() {
        let mut out = Shown(Vec::new(), "x");
        writeln!(out, "{:<8}|", "\u{1b}[31m\u{202e}").unwrap();
        assert_eq!(out.0, b"\\u{1b}[31m\\u{202e}  |\n");
    }
}
