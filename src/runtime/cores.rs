//! CPUs for the threads of a lab in one process.

use std::sync::OnceLock;
use std::thread;

use core_affinity::CoreId;

use super::{CpuSet, Idle};

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

/// CPUs of this process's polling threads, if they were chosen.
static CHOSEN: OnceLock<CpuSet> = OnceLock::new();

/// A CPU that this process may not use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("this process may not use CPU {0}; `taskset -cp $$` lists those that it may")]
pub struct NotUsable(pub usize);

/// Returns the CPUs that this process may use.
fn allowed() -> Vec<CoreId> {
    core_affinity::get_core_ids().unwrap_or_default()
}

impl Cores {
    /// Chooses the CPUs of this process's polling threads. Default: all that it may use. Must be
    /// called once, before [`Self::find`].
    ///
    /// # Errors
    /// The process may not use one of them.
    pub fn choose(set: CpuSet) -> Result<(), NotUsable> {
        let allowed = allowed();
        let is_usable = |cpu: &usize| allowed.iter().any(|core| core.id == *cpu);
        if let Some(cpu) = set.iter().find(|cpu| !is_usable(cpu)) {
            return Err(NotUsable(cpu));
        }
        let _ = CHOSEN.set(set);
        Ok(())
    }

    /// CPUs of polling threads.
    fn usable() -> Vec<CoreId> {
        let mut cores = allowed();
        if let Some(set) = CHOSEN.get() {
            cores.retain(|core| set.contains(core.id));
        }
        cores
    }

    /// Selects a CPU for each of `threads` threads if there are enough of them, else none. The
    /// first CPU, which has most of the system's work, is the last thread's.
    #[must_use]
    pub fn find(threads: usize) -> Self {
        let mut pinned = Self::usable();
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

    /// Number of CPUs for polling threads, at least 1.
    #[must_use]
    pub fn available() -> usize {
        Self::usable().len().max(1)
    }

    /// Number of CPUs for polling threads beside one that does not poll: chosen ones are all for
    /// them, and of others one is left.
    #[must_use]
    pub fn beside_control() -> usize {
        Self::available() - usize::from(CHOSEN.get().is_none())
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

    /// Pins the calling thread if CPUs were chosen.
    pub fn pin_if_chosen(&self, thread: usize) {
        if CHOSEN.get().is_some() {
            self.pin(thread);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_is_not_there_is_refused() {
        let none = 1023;
        assert!(allowed().iter().all(|core| core.id != none), "this machine has it");
        let set = none.to_string().parse().unwrap();
        assert_eq!(Cores::choose(set), Err(NotUsable(none)));
        assert_eq!(CHOSEN.get(), None, "nothing was chosen");
    }
}
