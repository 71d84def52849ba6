//! The log on standard error: a line an event, whatever the event quotes.

use std::fmt;
use std::io::IsTerminal;

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::printable;

/// Begins to log. `verbose` is how often `-v` was given; `SLUICE_LOG` goes before it.
pub(super) fn start(verbose: u8) {
    // What a port finds out and what is done about it is told whoever asks.
    let quiet = "warn,sluice::steps=info";
    let default = [quiet, "sluice=info,warn", "sluice=debug,info"][usize::from(verbose.min(2))];
    let filter = EnvFilter::try_from_env("SLUICE_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(colours(std::env::var_os("NO_COLOR").is_some(), std::io::stderr().is_terminal()))
        // Where standard error has no reader, nothing can be said about it.
        .log_internal_errors(false)
        .event_format(Lines)
        .init();
}

/// Whether levels are coloured: on a terminal, unless `NO_COLOR` (no-color.org) is set.
const fn colours(no_color: bool, terminal: bool) -> bool {
    terminal && !no_color
}

/// An event as its level and its fields, escaped.
struct Lines;

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut out: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut fields = String::new();
        context.format_fields(Writer::new(&mut fields), event)?;
        let level = *event.metadata().level();
        match out.has_ansi_escapes() {
            true => write!(out, "\x1b[{}m{level:>5}\x1b[0m", colour(level))?,
            false => write!(out, "{level:>5}")?,
        }
        writeln!(out, " {}", printable::line(&fields))
    }
}

/// The colour of a level (ECMA-48, SGR).
fn colour(level: Level) -> u8 {
    match level {
        Level::ERROR => 31,
        Level::WARN => 33,
        Level::INFO => 32,
        Level::DEBUG => 34,
        Level::TRACE => 35,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(octets)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn no_name_makes_a_line_or_a_colour_of_its_own() {
        let kept = Kept::default();
        let writer = kept.clone();
        let log = tracing_subscriber::fmt().with_ansi(false).event_format(Lines);
        tracing::subscriber::with_default(log.with_writer(move || writer.clone()).finish(), || {
            let name = "p1\n WARN p2: down\u{1b}[2J\u{9b}5m\u{202e}";
            tracing::warn!("{name}: the link went down");
            tracing::warn!(name, "a field");
        });
        let text = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.starts_with(" WARN p1\\n WARN p2: down"), "{text}");
        assert!(text.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'), "{text:?}");
    }

    #[test]
    fn no_color_turns_colours_off() {
        assert!(colours(false, true));
        assert!(!colours(true, true) && !colours(false, false));
    }
}
