//! The way from a polling thread to its driver, which another thread can shut.
//!
//! A device is opened anew while the thread that polls it goes on. That thread looks at the gate before
//! it calls the driver; once it has seen it shut, it says so and calls the driver no more, so a shut
//! gate with that answer means that no thread is in the driver.
//!
//! `tests/loom_gate.rs` compiles this file against loom's atomics and tries every interleaving.

use super::sync::{AtomicU8, Ordering};

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
        // Not a store: the gate may have been opened since it was seen shut, and would stay shut for
        // good.
        let _ = self.0.compare_exchange(SHUTTING, SHUT, Ordering::AcqRel, Ordering::Acquire);
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
