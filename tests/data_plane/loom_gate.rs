//! The gate between a polling thread and its driver under loom: every interleaving of a thread that
//! polls and one that shuts the gate, opens the device again and opens the gate.
//!
//! The source of the gate is compiled here again, with loom's atomics in place of the standard
//! ones.

#[allow(dead_code)]
#[path = "../../src/real/dpdk/gate.rs"]
mod gate;

/// Atomics that `gate.rs` uses as `super::sync`.
mod sync {
    pub(super) use loom::sync::atomic::{AtomicU8, Ordering};
}

use gate::Gate;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

/// Polls of the polling thread, and checks of the gate by the other one.
const TRIES: usize = 3;

/// A device: loom reports two threads that use it at once.
#[derive(Default)]
struct Device {
    gate: Gate,
    driver: UnsafeCell<()>,
}

impl Device {
    fn poll(&self) -> bool {
        let passes = self.gate.may_pass();
        if passes {
            self.in_driver();
        }
        passes
    }

    fn in_driver(&self) {
        self.driver.with_mut(|_| ());
    }

    /// Opens the device again if the polling thread acknowledges in time; otherwise the gate stays
    /// shut.
    fn reopen(&self) -> bool {
        self.gate.shut();
        for _ in 0..TRIES {
            if self.gate.is_shut() {
                self.in_driver();
                self.gate.open();
                return true;
            }
            thread::yield_now();
        }
        false
    }
}

#[test]
fn a_device_opened_anew_is_polled_again_and_never_by_two_threads() {
    loom::model(|| {
        let device = Arc::new(Device::default());
        let other = Arc::clone(&device);
        let reopening = thread::spawn(move || other.reopen());
        for _ in 0..TRIES {
            device.poll();
            thread::yield_now();
        }
        let is_reopened = reopening.join().unwrap();
        assert_eq!(device.poll(), is_reopened, "an opened gate stays open, a shut one shut");
    });
}

#[test]
fn a_gate_is_shut_once_the_polling_thread_has_seen_it() {
    loom::model(|| {
        let gate = Gate::default();
        assert!(gate.may_pass() && !gate.is_shut());
        gate.shut();
        assert!(!gate.is_shut(), "the polling thread may be in the driver");
        assert!(!gate.may_pass() && gate.is_shut());
        gate.shut();
        assert!(gate.is_shut());
        gate.open();
        assert!(gate.may_pass());
    });
}
