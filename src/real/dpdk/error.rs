//! Errors at the border to DPDK, translated once, with their remedy.
//!
//! DPDK gives the reason of a failed call in its log alone. Within [`capture`] its lines are held
//! for the error's text; outside of it warnings and errors go to standard error, never to standard
//! output, which is for results.

use core::ffi::{CStr, c_char, c_int};
use core::fmt;
use std::cell::RefCell;
use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};

use dpdk_sys as sys;
use ground::printable::{self, excerpt};

/// DPDK's log lines during a failure: usually the only place where the reason is given.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Logged(pub Vec<String>);

impl fmt::Display for Logged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.0 {
            write!(f, "\n  DPDK: {}", excerpt(line))?;
        }
        Ok(())
    }
}

/// A failure of the real world. The text contains the remedy.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// EAL starts at most once per process, and has been started before.
    #[error("DPDK was already started in this process; it starts once, so share the one Eal")]
    AlreadyStarted,
    /// EAL did not start.
    #[error("DPDK did not start: {reason}. {remedy}{logged}")]
    Start {
        /// DPDK's text for the error.
        reason: String,
        remedy: &'static str,
        logged: Logged,
    },
    /// No more threads can get a share of the pools' caches.
    #[error("this thread cannot be made a DPDK worker: {0}")]
    Worker(String),
    /// There is not enough memory.
    #[error("not enough memory for {what} ({need_kib} KiB): {remedy}{logged}")]
    NoMemory {
        /// The object to be allocated.
        what: String,
        /// Approximate size in KiB.
        need_kib: u64,
        remedy: &'static str,
        logged: Logged,
    },
    /// An option is out of its range.
    #[error("{}: {why}", excerpt(what))]
    Option {
        /// The option and its value.
        what: String,
        /// The valid range.
        why: String,
    },
    /// The device does not exist.
    #[error("there is no device {}: {remedy}{logged}", excerpt(device))]
    Absent {
        /// EAL name as given.
        device: String,
        remedy: String,
        logged: Logged,
    },
    /// No driver has this name, or none takes this device.
    #[error("no driver takes {}: {remedy}{logged}", excerpt(device))]
    NoDriver {
        /// EAL name as given.
        device: String,
        remedy: String,
        logged: Logged,
    },
    /// The device is already open as another port.
    #[error(
        "{} is already open as {}; give every port a different device",
        excerpt(device),
        excerpt(by)
    )]
    InUse {
        /// EAL name as given.
        device: String,
        /// EAL name under which it is open.
        by: String,
    },
    /// Another process uses the device's interface.
    #[error(
        "{}: its interface is in use by {by}, which would receive the same frames; stop that \
         first, or give this port another interface",
        excerpt(device)
    )]
    Taken {
        /// EAL name as given.
        device: String,
        /// The other process.
        by: String,
    },
    /// The process may not use this device.
    #[error("no permission to use {}: {remedy}{logged}", excerpt(device))]
    Permission {
        /// EAL name as given.
        device: String,
        remedy: &'static str,
        logged: Logged,
    },
    /// The device refused a step of its setup.
    #[error("{}: cannot {step}: {reason}{logged}", excerpt(device))]
    Device {
        /// EAL name as given.
        device: String,
        /// The step that failed.
        step: &'static str,
        /// DPDK's text for the error.
        reason: String,
        logged: Logged,
    },
    /// Hardware PFC was requested and the device has none.
    #[error(
        "{device} ({driver}) has no hardware PFC that DPDK can set: {reason}; \
         leave it out, and Sluice does PFC in software"
    )]
    NoHardwarePfc {
        /// EAL name as given.
        device: String,
        driver: String,
        /// DPDK's text for the error.
        reason: String,
    },
}

/// Text of a C error code, positive or negative.
pub(super) fn strerror(code: c_int) -> String {
    // SAFETY: rte_strerror takes any number and returns a string that lives as long as the thread.
    let text = unsafe { sys::rte_strerror(code.abs()) };
    string(text)
}

/// Copies a string of DPDK; an empty one for null.
pub(super) fn string(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: DPDK's strings end with a zero; this one is copied at once.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The calling thread's `rte_errno`.
pub(super) fn errno() -> c_int {
    // SAFETY: reads a thread-local variable.
    unsafe { sys::sluice_errno() }
}

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
