//! Gate between a polling thread and its driver, which another thread can shut.
//!
//! A device is opened again while the thread that polls it continues. The polling thread checks the
//! gate before it calls the driver. Once it has seen the gate shut, it acknowledges that and makes
//! no further calls, so an acknowledged shut gate means that the polling thread is outside the
//! driver.
//!
//! `tests/data_plane/loom_gate.rs` compiles this file against loom's atomics and tries every interleaving.

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
    /// True if the polling thread may call the driver. The polling thread calls this before each
    /// call of the driver.
    #[inline]
    pub(super) fn may_pass(&self) -> bool {
        match self.0.load(Ordering::Acquire) {
            OPEN => true,
            _ => self.turn_away(),
        }
    }

    #[cold]
    fn turn_away(&self) -> bool {
        // Not a store: the gate may have been opened since it was seen shut, and would then stay
        // shut.
        let _ = self.0.compare_exchange(SHUTTING, SHUT, Ordering::AcqRel, Ordering::Acquire);
        false
    }

    /// Shuts the gate, if it is open.
    pub(super) fn shut(&self) {
        // A gate that the polling thread has already seen shut stays in that state.
        let _ = self.0.compare_exchange(OPEN, SHUTTING, Ordering::AcqRel, Ordering::Acquire);
    }

    /// True if the polling thread is outside the driver, and stays there.
    pub(super) fn is_shut(&self) -> bool {
        self.0.load(Ordering::Acquire) == SHUT
    }

    /// Opens the gate. The polling thread sees all changes made to the device before.
    pub(super) fn open(&self) {
        self.0.store(OPEN, Ordering::Release);
    }
}
