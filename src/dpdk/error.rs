//! What can go wrong at the border to DPDK, translated once, with what to do about it.

use core::ffi::{CStr, c_int};
use core::fmt;

use dpdk_sys as sys;

use crate::printable::excerpt;

/// What DPDK logged while it failed: usually the only place where the reason stands.
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

/// A failure of the real world. The text says what to do about it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Error {
    /// EAL starts once per process, and this process has had its start.
    #[error("DPDK was already started in this process; it starts once, so share the one Eal")]
    AlreadyStarted,
    /// EAL did not start.
    #[error("DPDK did not start: {reason}. {remedy}{logged}")]
    Start {
        /// What DPDK says of it.
        reason: String,
        /// What to do.
        remedy: &'static str,
        /// What it logged.
        logged: Logged,
    },
    /// No more threads can be given a share of the pools.
    #[error("this thread cannot be made a DPDK worker: {0}")]
    Worker(String),
    /// There is not enough memory.
    #[error("not enough memory for {what} ({need_kib} KiB): {remedy}{logged}")]
    NoMemory {
        /// What was to be made.
        what: String,
        /// About how much it takes.
        need_kib: u64,
        /// What to do.
        remedy: &'static str,
        /// What it logged.
        logged: Logged,
    },
    /// An option is out of its range.
    #[error("{}: {why}", excerpt(what))]
    Option {
        /// Which one, and what it was.
        what: String,
        /// What it may be.
        why: String,
    },
    /// No such device.
    #[error("there is no device {}: {remedy}{logged}", excerpt(device))]
    Absent {
        /// The EAL name as given.
        device: String,
        /// What to do.
        remedy: String,
        /// What it logged.
        logged: Logged,
    },
    /// No driver has this name, or none takes this device.
    #[error("no driver takes {}: {remedy}{logged}", excerpt(device))]
    NoDriver {
        /// The EAL name as given.
        device: String,
        /// What to do.
        remedy: String,
        /// What it logged.
        logged: Logged,
    },
    /// Two ports on one device.
    #[error(
        "{} is already open as {}; give every port a device of its own",
        excerpt(device),
        excerpt(by)
    )]
    InUse {
        /// The EAL name as given.
        device: String,
        /// The EAL name under which it is open.
        by: String,
    },
    /// Another process works on the device's interface.
    #[error(
        "{}: its interface is in use by {by}, which would receive the same frames; stop that \
         first, or give this port another interface",
        excerpt(device)
    )]
    Taken {
        /// The EAL name as given.
        device: String,
        /// The other process.
        by: String,
    },
    /// The process may not use this device.
    #[error("no permission to use {}: {remedy}{logged}", excerpt(device))]
    Permission {
        /// The EAL name as given.
        device: String,
        /// What to do.
        remedy: &'static str,
        /// What it logged.
        logged: Logged,
    },
    /// The device refused a step of its set-up.
    #[error("{}: cannot {step}: {reason}{logged}", excerpt(device))]
    Device {
        /// The EAL name as given.
        device: String,
        /// What was tried.
        step: &'static str,
        /// What DPDK says of it.
        reason: String,
        /// What it logged.
        logged: Logged,
    },
    /// Hardware PFC was asked for and the device has none.
    #[error(
        "{device} ({driver}) has no hardware PFC that DPDK can set: {reason}; \
         leave it out, and Sluice does PFC in software"
    )]
    NoHardwarePfc {
        /// The EAL name as given.
        device: String,
        /// Its driver.
        driver: String,
        /// What DPDK says of it.
        reason: String,
    },
}

/// The words for a C error code, positive or negative.
pub(super) fn strerror(code: c_int) -> String {
    // SAFETY: rte_strerror takes any number and returns a string that lives as long as the thread.
    let text = unsafe { sys::rte_strerror(code.abs()) };
    // SAFETY: the string is never null and ends with a zero; it is copied before another call.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The calling thread's `rte_errno`.
pub(super) fn errno() -> c_int {
    // SAFETY: reads a thread-local variable.
    unsafe { sys::sluice_errno() }
}
