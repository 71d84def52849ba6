//! The way from a polling thread to its driver, which another thread can shut.
//!
//! A device is opened anew while the thread that polls it goes on. That thread looks at the gate before
//! it calls the driver; once it has seen it shut, it says so and calls the driver no more, so a shut
//! gate with that answer means that nobody is in the driver.

use core::sync::atomic::{AtomicU8, Ordering};

const OPEN: u8 = 0;
/// Shut, but the polling thread may still be in the driver.
const SHUTTING: u8 = 1;
/// Shut, and the polling thread has seen it.
const SHUT: u8 = 2;

/// A gate between one polling thread and one that shuts it.
#[derive(Debug, Default)]
pub(super) struct Gate(AtomicU8);

impl Gate {
    /// True if the polling thread may call the driver. It calls this before each call, from outside
    /// of the driver.
    #[inline]
    pub(super) fn may_pass(&self) -> bool {
        match self.0.load(Ordering::Acquire) {
            OPEN => true,
            _ => self.turn_away(),
        }
    }

    #[cold]
    fn turn_away(&self) -> bool {
        self.0.store(SHUT, Ordering::Release);
        false
    }

    /// Shuts the gate, if it is open.
    pub(super) fn shut(&self) {
        // One that the polling thread has already seen shut stays so.
        let _ = self.0.compare_exchange(OPEN, SHUTTING, Ordering::AcqRel, Ordering::Acquire);
    }

    /// True if the polling thread is outside of the driver, and stays there.
    pub(super) fn is_shut(&self) -> bool {
        self.0.load(Ordering::Acquire) == SHUT
    }

    /// Opens the gate again. What was done to the device before is seen by the polling thread.
    pub(super) fn open(&self) {
        self.0.store(OPEN, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gate_is_shut_once_the_polling_thread_has_seen_it() {
        let gate = Gate::default();
        assert!(gate.may_pass() && !gate.is_shut());
        gate.shut();
        assert!(!gate.is_shut(), "the polling thread may be in the driver");
        assert!(!gate.may_pass() && gate.is_shut());
        gate.shut();
        assert!(gate.is_shut());
        gate.open();
        assert!(gate.may_pass());
    }
}
