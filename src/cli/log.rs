//! The log on standard error: one line per event, whatever the event quotes, and a bounded number
//! of lines that peers and clients can cause.
//!
//! Rate limit of log lines, so that a peer or a client that repeats an event cannot fill a disk.
//!
//! Lines are limited per call site and subject, which is the text before the first `: `, usually a
//! port. So a flood at one port hides no line of another. Each gets [`BURST`] lines per window;
//! further lines are counted, and the count is written when the window ends. Time is an argument.

use std::collections::HashMap;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, thread};

use tracing::callsite::Identifier;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::printable;

/// Target of events that files and arguments cause before a command starts; they are not limited.
pub(super) const START: &str = "sluice::start";

/// Target of what a switch tells when it starts, at every verbosity; it is not limited.
pub(super) const RUNNING: &str = "sluice::running";

/// Target of details of a start, such as the drivers of its ports; they are not limited.
pub(super) const DETAIL: &str = "sluice::detail";

/// Period at which windows of the limit are examined after a flood.
const FLUSH: Duration = Duration::from_secs(1);

/// The log. Its drop writes the remaining counts of suppressed lines.
pub(super) struct Log {
    limiter: Arc<Mutex<Limiter>>,
    colours: bool,
}

impl Drop for Log {
    fn drop(&mut self) {
        let held = self.limiter.lock().unwrap_or_else(PoisonError::into_inner).all();
        print_suppressed(&held, self.colours);
    }
}

/// Starts logging. `verbose` is the number of `-v` options; `SLUICE_LOG` has precedence.
pub(super) fn start(verbose: u8) -> Log {
    // Steps that ports' results cause are logged at every verbosity.
    let quiet = "warn,sluice::steps=info,sluice::running=info";
    let default = [quiet, "sluice=info,warn", "sluice=debug,info"][usize::from(verbose.min(2))];
    let filter = EnvFilter::try_from_env("SLUICE_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    let colours = colours(std::env::var_os("NO_COLOR").is_some(), std::io::stderr().is_terminal());
    let limiter = Arc::new(Mutex::new(Limiter::default()));
    let began = Instant::now();
    let log = Log { limiter: Arc::clone(&limiter), colours };
    let lines = Lines::new(limiter, move || began.elapsed());
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(colours)
        // An error of standard error cannot be reported.
        .log_internal_errors(false)
        .event_format(Lines { time: time_now, flush: Some((Once::new(), colours)), ..lines })
        .init();
    log
}

/// True if levels are coloured: on a terminal, unless `NO_COLOR` (no-color.org) is set.
const fn colours(no_color: bool, terminal: bool) -> bool {
    terminal && !no_color
}

/// Writes counts to standard error.
fn print_suppressed(suppressed: &[Suppressed], colours: bool) {
    let lines = suppressed.iter().map(|held| line(time_now(), held.level, &held.line(), colours));
    // An error of standard error cannot be reported.
    let _ = io::stderr().write_all(lines.collect::<String>().as_bytes());
}

/// Formats a line of the log, with the time before it if there is one.
fn line(time: Option<String>, level: Level, text: &str, colours: bool) -> String {
    let text = printable::line(text);
    let time = time.map_or_else(String::new, |time| time + " ");
    match colours {
        true => format!("{time}\x1b[{}m{level:>5}\x1b[0m {text}\n", colour(level)),
        false => format!("{time}{level:>5} {text}\n"),
    }
}

/// Returns the time of the day in UTC, with its date (RFC 3339).
fn time_now() -> Option<String> {
    let mut time = String::new();
    SystemTime.format_time(&mut Writer::new(&mut time)).ok()?;
    Some(time)
}

/// Writes an event as its level and its fields, escaped, unless the limit suppresses it.
struct Lines {
    limiter: Arc<Mutex<Limiter>>,
    clock: Arc<dyn Fn() -> Duration + Send + Sync>,
    /// Time of a line, for those that are not about a file or an argument; tests have none.
    time: fn() -> Option<String>,
    /// Starts the thread that writes counts after a flood; true for colours.
    flush: Option<(Once, bool)>,
}

impl Lines {
    fn new(
        limiter: Arc<Mutex<Limiter>>,
        clock: impl Fn() -> Duration + Send + Sync + 'static,
    ) -> Self {
        Self { limiter, clock: Arc::new(clock), time: || None, flush: None }
    }

    /// Starts the thread that closes windows, once.
    fn flush(&self) {
        let Some((once, colours)) = &self.flush else { return };
        once.call_once(|| {
            let (limiter, clock, colours) =
                (Arc::clone(&self.limiter), Arc::clone(&self.clock), *colours);
            // Without the thread, counts are written with the next line, or at the end.
            let _ = thread::Builder::new().name("log".into()).spawn(move || {
                loop {
                    thread::sleep(FLUSH);
                    let mut limiter = limiter.lock().unwrap_or_else(PoisonError::into_inner);
                    let held = limiter.ended(clock());
                    drop(limiter);
                    print_suppressed(&held, colours);
                }
            });
        });
    }
}

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
        let (metadata, colours) = (event.metadata(), out.has_ansi_escapes());
        if ![START, RUNNING, DETAIL].contains(&metadata.target()) {
            let now = (self.clock)();
            let mut limiter = self.limiter.lock().unwrap_or_else(PoisonError::into_inner);
            let held = limiter.ended(now);
            let admitted = limiter.admit(event, &fields, now);
            drop(limiter);
            for held in held {
                out.write_str(&line((self.time)(), held.level, &held.line(), colours))?;
            }
            if !admitted {
                self.flush();
                return Ok(());
            }
        }
        // Findings begin with their place in a file.
        let time = if metadata.target() == START { None } else { (self.time)() };
        out.write_str(&line(time, *metadata.level(), &fields, colours))
    }
}

/// Colour of a level (ECMA-48, SGR).
fn colour(level: Level) -> u8 {
    match level {
        Level::ERROR => 31,
        Level::WARN => 33,
        Level::INFO => 32,
        Level::DEBUG => 34,
        Level::TRACE => 35,
    }
}

/// Lines per window.
const BURST: u64 = 10;
/// Length of a window.
const WINDOW: Duration = Duration::from_secs(10);
/// Number of separate subjects; further ones share their call site's lines.
const SUBJECTS: usize = 256;
/// Longest subject in characters.
const SUBJECT_MAX: usize = 64;

/// Open windows.
#[derive(Default)]
struct Limiter {
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
struct Suppressed {
    subject: String,
    level: Level,
    lines: u64,
}

impl Suppressed {
    /// The line that reports them.
    fn line(&self) -> String {
        let Self { subject, lines, .. } = self;
        let colon = if subject.is_empty() { "" } else { ": " };
        let seconds = WINDOW.as_secs();
        format!("{subject}{colon}{lines} more suppressed within {seconds} s of the first")
    }
}

impl Limiter {
    /// Counts a line and returns true if it may be written. Call [`Self::ended`] first.
    fn admit(&mut self, event: &Event<'_>, line: &str, now: Duration) -> bool {
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
    fn ended(&mut self, now: Duration) -> Vec<Suppressed> {
        self.close(|window| now.saturating_sub(window.start) >= WINDOW)
    }

    /// Closes all windows.
    fn all(&mut self) -> Vec<Suppressed> {
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

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

    /// Returns the lines that `log` writes; the clock is the milliseconds in its first argument.
    fn logged(log: impl FnOnce(&AtomicU64, &Mutex<Limiter>)) -> String {
        logged_at(|| None, log)
    }

    /// As [`logged`], with a time of the day.
    fn logged_at(
        time: fn() -> Option<String>,
        log: impl FnOnce(&AtomicU64, &Mutex<Limiter>),
    ) -> String {
        let (kept, at) = (Kept::default(), Arc::new(AtomicU64::new(0)));
        let (writer, clock) = (kept.clone(), Arc::clone(&at));
        let limiter = Arc::<Mutex<Limiter>>::default();
        let now = move || Duration::from_millis(clock.load(Ordering::Relaxed));
        let lines = Lines { time, ..Lines::new(Arc::clone(&limiter), now) };
        let subscriber = tracing_subscriber::fmt().with_ansi(false).event_format(lines);
        let subscriber = subscriber.with_writer(move || writer.clone()).finish();
        tracing::subscriber::with_default(subscriber, || log(&at, &limiter));
        let octets = kept.0.lock().unwrap().clone();
        String::from_utf8(octets).unwrap()
    }

    #[test]
    fn a_flood_is_bounded_and_its_count_is_right() {
        let text = logged(|at, limiter| {
            // 1,000 s with a port that flaps every 10 ms, and one that flaps once a second.
            for ms in (0..1_000_000).step_by(10) {
                at.store(ms, Ordering::Relaxed);
                for name in [("p1", 10), ("p2", 1_000)].iter().filter(|n| ms % n.1 == 0) {
                    tracing::warn!("{}: the link went down", name.0);
                }
            }
            tell_into(limiter);
        });
        let of = |part: &str| text.lines().filter(|line| line.contains(part)).count();
        assert_eq!(of("p2: the link"), 1_000, "a flood elsewhere hides nothing");
        assert_eq!(of("p1: the link"), 100 * BURST as usize);
        assert_eq!(of(" WARN p1: 990 more suppressed"), 99, "and one at the end");
        assert_eq!(of("suppressed"), 99);
    }

    /// Checks that the last windows of a flood have their count.
    fn tell_into(limiter: &Mutex<Limiter>) {
        let held = limiter.lock().unwrap().all();
        let lines: Vec<_> = held.iter().map(Suppressed::line).collect();
        assert_eq!(lines, ["p1: 990 more suppressed within 10 s of the first"]);
    }

    #[test]
    fn subjects_that_a_peer_makes_up_are_bounded_too() {
        let text = logged(|at, _| {
            for n in 0..100_000 {
                tracing::info!("name{n}: comes and goes");
            }
            at.store(10_000, Ordering::Relaxed);
            tracing::info!("name0: is here");
        });
        let most = SUBJECTS + BURST as usize;
        let expected = 100_000 - most;
        assert_eq!(text.lines().count(), most + 2, "{expected}");
        assert!(text.contains(&format!(" INFO {expected} more suppressed")), "{expected}");
        assert!(text.ends_with(" INFO name0: is here\n"));
    }

    #[test]
    fn every_finding_of_a_file_is_written() {
        let text = logged(|_, _| {
            (0..500).for_each(|n| tracing::warn!(target: START, "a.yaml: finding {n}"));
        });
        assert_eq!(text.lines().count(), 500);
    }

    #[test]
    fn all_lines_of_a_switch_have_the_time_and_none_of_its_start_is_left_out() {
        let text = logged_at(
            || Some("12:00".into()),
            |_, _| {
                tracing::warn!(target: START, "a.yaml: finding");
                (0..500).for_each(|n| tracing::info!(target: DETAIL, "tor: port {n}"));
                (0..500).for_each(|n| tracing::info!(target: RUNNING, "tor: line {n}"));
                tracing::warn!("p1: the link went down");
            },
        );
        let (first, rest) = text.split_once('\n').unwrap();
        assert_eq!(first, " WARN a.yaml: finding");
        assert_eq!(rest.lines().count(), 1_001);
        assert!(rest.lines().all(|line| line.starts_with("12:00 ")), "{rest}");
    }

    #[test]
    fn no_name_makes_a_line_or_a_colour_of_its_own() {
        let text = logged(|_, _| {
            let name = "p1\n WARN p2: down\u{1b}[2J\u{9b}5m\u{202e}";
            tracing::warn!("{name}: the link went down");
            tracing::warn!(name, "a field");
        });
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.starts_with(" WARN p1\\n WARN p2: down"), "{text}");
        assert!(text.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'), "{text:?}");
    }

    #[test]
    fn a_line_of_a_running_switch_begins_with_the_time() {
        let time = time_now().unwrap();
        assert!(time.len() >= 20 && time.ends_with('Z') && &time[10..11] == "T", "{time}");
        let stamped = || Some("2026-01-02T03:04:05.000006Z".to_owned());
        let text = line(stamped(), Level::WARN, "p1: down", false);
        assert_eq!(text, "2026-01-02T03:04:05.000006Z  WARN p1: down\n");
        assert_eq!(line(None, Level::WARN, "a.yaml:1:2: b", false), " WARN a.yaml:1:2: b\n");
    }

    #[test]
    fn no_color_turns_colours_off() {
        assert!(colours(false, true));
        assert!(!colours(true, true) && !colours(false, false));
    }
}
