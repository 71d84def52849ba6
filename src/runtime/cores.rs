//! Where the threads of a lab in one process run.

use std::sync::OnceLock;
use std::thread;

use core_affinity::CoreId;

use super::Idle;

/// The CPUs of some threads that poll.
#[derive(Clone, Debug)]
pub struct Cores {
    threads: usize,
    /// By thread; nothing where there are too few CPUs for each to have its own.
    pinned: Vec<CoreId>,
    idle: Option<Idle>,
}

/// Action of this process's threads when there is nothing to do, if it was set.
static IDLE: OnceLock<Idle> = OnceLock::new();

impl Cores {
    /// Places for `threads` threads: a CPU each if this process may use so many, else none in
    /// particular. The first CPU, which has most of the system's own work, is the last thread's.
    #[must_use]
    pub fn find(threads: usize) -> Self {
        let mut pinned = core_affinity::get_core_ids().unwrap_or_default();
        pinned.truncate(threads);
        pinned.reverse();
        if pinned.len() < threads {
            pinned.clear();
        }
        Self { threads, pinned, idle: IDLE.get().copied() }
    }

    /// Says what the threads of this process do when there is nothing to do. Default: they spin, or
    /// yield where there are fewer CPUs than threads. To be called once, before [`Self::find`].
    pub fn set_idle(idle: Idle) {
        let _ = IDLE.set(idle);
    }

    /// How many CPUs this process may use.
    #[must_use]
    pub fn available() -> usize {
        core_affinity::get_core_ids().map_or(1, |ids| ids.len().max(1))
    }

    /// How many threads there are.
    #[must_use]
    pub const fn threads(&self) -> usize {
        self.threads
    }

    /// Whether the threads take turns on fewer CPUs.
    #[must_use]
    pub fn shared(&self) -> bool {
        self.pinned.is_empty() && self.threads > 1
    }

    /// Puts the calling thread in its place. Pinning may be refused, and then only costs speed.
    pub fn pin(&self, thread: usize) {
        if let Some(core) = self.pinned.get(thread) {
            core_affinity::set_for_current(*core);
        }
    }

    /// Between two polls: leaves the CPU to another thread if that is what it `waits` for.
    #[inline]
    pub fn rest(&self, progressed: bool, waits: bool) {
        let yields = match self.idle {
            None => self.shared(),
            Some(Idle::Spin) => false,
            Some(Idle::Yield) => !progressed,
        };
        if waits || yields {
            thread::yield_now();
        } else if !progressed {
            std::hint::spin_loop();
        }
    }
}
