//! DPDK's log, held back until a call fails.
//!
//! DPDK gives the reason of a failed call in its log alone. Within [`capture`] its lines are held
//! for the error's text; outside of it warnings and errors go to standard error, never to standard
//! output, which is for results.

use core::ffi::{c_char, c_int};
use std::cell::RefCell;
use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};

use dpdk_sys as sys;

use super::error::Logged;
use ground::printable;

/// Most lines that one failure can quote.
const CAPTURE_MAX: usize = 16;

/// Most verbose level that is printed outside of a capture.
static ECHO: AtomicU32 = AtomicU32::new(sys::RTE_LOG_WARNING);

thread_local! {
    /// Captured lines of this thread; none outside of a capture.
    static HELD: RefCell<Option<Vec<(u32, String)>>> = const { RefCell::new(None) };
}

/// Installs the handler of DPDK's log.
pub(super) fn take_over() {
    // SAFETY: `receive` matches the type, stays for ever and does not unwind. On failure DPDK's log
    // continues to go to standard error.
    unsafe { sys::sluice_log_to(Some(receive)) };
}

/// Sets the most verbose level that goes to standard error (`RTE_LOG_*`).
pub(super) fn echo_up_to(level: u32) {
    ECHO.store(level, Ordering::Relaxed);
}

/// Runs `f`; if it fails, returns the lines that this thread logged meanwhile at level warning or
/// worse. Lines logged during a success go to standard error like the rest.
pub(super) fn capture<T, E>(f: impl FnOnce() -> Result<T, E>) -> Result<T, (E, Logged)> {
    HELD.with(|held| *held.borrow_mut() = Some(Vec::new()));
    let out = f();
    let lines = HELD.with(|held| held.borrow_mut().take()).unwrap_or_default();
    out.map_err(|err| (err, Logged(lines.iter().map(|(_, line)| line.clone()).collect()))).inspect(
        |_| {
            for (level, line) in &lines {
                echo(*level, line);
            }
        },
    )
}

fn echo(level: u32, line: &str) {
    if level <= ECHO.load(Ordering::Relaxed) {
        // Standard error may have no reader, which must not end the program.
        let _ = writeln!(std::io::stderr(), "dpdk: {}", printable::line(line));
    }
}

unsafe extern "C" fn receive(text: *const c_char, len: usize, level: c_int) {
    let level = u32::try_from(level).unwrap_or(0);
    // SAFETY: the shim passes the text that stdio wrote: `len` readable octets.
    let bytes = unsafe { core::slice::from_raw_parts(text.cast::<u8>(), len) };
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
        let held = level <= sys::RTE_LOG_WARNING
            && HELD.with(|held| match held.try_borrow_mut().as_deref_mut() {
                Ok(Some(lines)) if lines.len() < CAPTURE_MAX => {
                    lines.push((level, line.to_string()));
                    true
                }
                _ => false,
            });
        if !held {
            echo(level, line);
        }
    }
}
