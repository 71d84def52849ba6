//! Errors at the border to DPDK, translated once, with their remedy.

use core::ffi::{CStr, c_char, c_int};
use core::fmt;

use dpdk_sys as sys;

use ground::printable::excerpt;

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
