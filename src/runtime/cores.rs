//! CPUs for the threads of a lab in one process.

use std::sync::OnceLock;
use std::thread;

use core_affinity::CoreId;

use super::Idle;

/// CPUs of a number of polling threads.
#[derive(Clone, Debug)]
pub struct Cores {
    threads: usize,
    /// CPU by thread; empty if there are too few CPUs for one each.
    pinned: Vec<CoreId>,
    idle: Option<Idle>,
}

/// Idle action of this process's threads, if it was set.
static IDLE: OnceLock<Idle> = OnceLock::new();

impl Cores {
    /// Selects a CPU for each of `threads` threads if this process may use enough of them, else
    /// none. The first CPU, which has most of the system's work, is the last thread's.
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

    /// Sets the idle action of this process's threads. Default: spin, or yield if there are fewer
    /// CPUs than threads. Must be called once, before [`Self::find`].
    pub fn set_idle(idle: Idle) {
        let _ = IDLE.set(idle);
    }

    /// Number of CPUs that this process may use.
    #[must_use]
    pub fn available() -> usize {
        core_affinity::get_core_ids().map_or(1, |ids| ids.len().max(1))
    }

    #[must_use]
    pub const fn threads(&self) -> usize {
        self.threads
    }

    /// True if the threads share fewer CPUs.
    #[must_use]
    pub fn shared(&self) -> bool {
        self.pinned.is_empty() && self.threads > 1
    }

    /// Pins the calling thread. A refusal is ignored, because it only costs speed.
    pub fn pin(&self, thread: usize) {
        if let Some(core) = self.pinned.get(thread) {
            core_affinity::set_for_current(*core);
        }
    }

    /// Called between two polls: yields the CPU if the thread `waits` for another one.
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
