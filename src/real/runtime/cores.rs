//! CPUs for the threads of a lab in one process.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration as StdDuration;

use core_affinity::CoreId;
use ground::time::Duration;

use super::claims::Claims;
use super::placement::{Claimed, Pin, Unpinned};
use super::poll_threads::AfterPoll;
use super::{CpuSet, Idle};

/// CPUs of a number of polling threads.
#[derive(Clone, Debug)]
pub struct Cores {
    threads: usize,
    /// CPU by thread; empty if the threads are not pinned.
    pinned: Vec<usize>,
    /// Keeps them from other processes of Sluice.
    _claims: Claims,
    /// Reason why there is no CPU for each thread.
    shared: Option<Unpinned>,
    /// Chosen CPUs that other processes of Sluice poll on.
    claimed: Vec<Claimed>,
    idle: Option<Idle>,
    /// True once the kernel refused to pin a thread.
    refused: Arc<AtomicBool>,
}

/// Real time for which a thread waits for another one before it sleeps. A choice: longer than most polls take.
const WAIT_AWAKE: Duration = Duration::from_micros(200);

/// Sleep of a thread that waits for another one. The kernel adds about as much.
const NAP: StdDuration = StdDuration::from_micros(50);

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

pub(super) fn allowed_ids() -> Vec<usize> {
    allowed().iter().map(|core| core.id).collect()
}

/// Pins the calling thread to a CPU. False if the kernel does not let it run there alone.
pub(super) fn pin_to(id: usize) -> bool {
    core_affinity::set_for_current(CoreId { id })
}

/// Returns the CPUs of the core of a CPU, as the kernel lists them.
pub(super) fn siblings(cpu: usize) -> Option<CpuSet> {
    let file = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// Returns what polling threads share, those that are pinned to the CPUs `pinned`, or those that are not, for
/// the reason `shared`.
fn shared_cores(
    shared: Option<&Unpinned>,
    pinned: &[usize],
    allowed: &[usize],
    siblings: impl Fn(usize) -> Option<CpuSet>,
) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(why) = shared {
        warnings.push(format!(
            "polling threads are not pinned to a CPU each: {why}; each loses its CPU to others at times; \
             use fewer queues or ports, or more CPUs"
        ));
    }
    for (n, a) in pinned.iter().enumerate() {
        let Some(core) = siblings(*a) else { continue };
        // Each pair once.
        for b in pinned[n + 1..].iter().filter(|b| core.contains(**b)) {
            warnings.push(format!(
                "polling threads on CPUs {} and {} share a core, and so its speed; choose CPUs of \
                 different cores with --cores",
                a.min(b),
                a.max(b)
            ));
        }
    }
    if !pinned.is_empty() && allowed.iter().all(|cpu| pinned.contains(cpu)) {
        warnings.push(
            "polling threads have all CPUs of this process: its other threads interrupt them; leave \
             it one more"
                .to_owned(),
        );
    }
    warnings
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
        // A second choice has no effect.
        let _ = CHOSEN.set(set);
        Ok(())
    }

    /// CPUs of polling threads.
    fn usable() -> Vec<usize> {
        let mut cpus = allowed_ids();
        if let Some(set) = CHOSEN.get() {
            cpus.retain(|cpu| set.contains(*cpu));
        }
        cpus
    }

    /// Selects a CPU for each of `threads` threads if there are enough of them, else none. The
    /// first CPU, which has most of the system's work, is the last thread's. CPUs that another process of
    /// Sluice polls on are used only if they were chosen.
    #[must_use]
    pub fn find(threads: usize) -> Self {
        let usable = Self::usable();
        let pins: Vec<Pin> = match CHOSEN.get() {
            // Chosen CPUs are all or none: the user said which ones.
            Some(_) if usable.len() < threads => return Self::unpinned(threads),
            Some(_) => usable[..threads].iter().rev().map(|cpu| Pin::Cpu(*cpu)).collect(),
            None => vec![Pin::Auto; threads],
        };
        let (placement, claims) = Claims::take(&pins, 0);
        let pinned = placement.cpus.into_iter().flatten().collect();
        let (shared, claimed) = (placement.unpinned, placement.claimed);
        Self { pinned, _claims: claims, shared, claimed, ..Self::unpinned(threads) }
    }

    /// As [`Self::find`] if CPUs were chosen, else no thread is pinned.
    #[must_use]
    pub fn find_if_chosen(threads: usize) -> Self {
        if CHOSEN.get().is_some() { Self::find(threads) } else { Self::unpinned(threads) }
    }

    fn unpinned(threads: usize) -> Self {
        let allowed = Self::usable().len();
        let too_few = Unpinned::TooFew { needed: threads, allowed, taken: 0 };
        Self {
            threads,
            pinned: Vec::new(),
            _claims: Claims::default(),
            shared: (allowed < threads).then_some(too_few),
            claimed: Vec::new(),
            idle: IDLE.get().copied(),
            refused: Arc::default(),
        }
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

    /// True if the threads share CPUs with each other or with other processes of Sluice.
    #[must_use]
    pub fn shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Pins the calling thread. A refusal only costs speed; [`Self::refusal`] reports it.
    pub fn pin(&self, thread: usize) {
        if self.pinned.get(thread).is_some_and(|cpu| !pin_to(*cpu)) {
            self.refused.store(true, Ordering::Relaxed);
        }
    }

    /// Returns a sentence if the kernel refused to pin a thread.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        self.refused.load(Ordering::Relaxed).then(|| {
            "a polling thread could not be pinned to its CPU: the kernel may move it to a busy one"
                .to_owned()
        })
    }

    /// Returns a sentence for each reason why polling threads do not have a core each.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let claimed = self.claimed.iter().map(|claimed| {
            format!(
                "{claimed}, so each loses it to the other at times; choose other CPUs with --cores"
            )
        });
        let mut warnings: Vec<_> = claimed.collect();
        warnings.extend(shared_cores(self.shared.as_ref(), &self.pinned, &allowed_ids(), siblings));
        warnings
    }

    /// Action of a thread after a poll. `waited` is the real time for which it has waited for another thread, if it
    /// waits. It yields its CPU then, and sleeps after a while: the other thread probably has no CPU, and a yield gives
    /// the CPU to none but threads of its scheduler group (a session, a container). Two labs in two groups that only
    /// yield can hold each other up for minutes: of each, the thread that waits has the CPU.
    #[inline]
    #[must_use]
    pub fn after_poll(&self, progressed: bool, waited: Option<Duration>) -> AfterPoll {
        if let Some(waited) = waited {
            return if waited < WAIT_AWAKE { AfterPoll::Yield } else { AfterPoll::Sleep(NAP) };
        }
        // Without a setting threads yield only where they share CPUs, whatever they found to do.
        let yields = match self.idle {
            None => self.shared(),
            Some(Idle::Spin) => false,
            // A tester has deadlines at any time, and does not wait.
            Some(Idle::Yield | Idle::Wait) => !progressed,
        };
        AfterPoll::rest(progressed, yields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_without_a_core_each_are_reported() {
        // Two cores with two CPUs each: 0 and 2, 1 and 3.
        let siblings = |cpu: usize| format!("{},{}", cpu % 2, cpu % 2 + 2).parse().ok();
        let of = |shared, pinned: &[usize]| shared_cores(shared, pinned, &[0, 1, 2, 3], siblings);
        assert_eq!(of(None, &[1, 2]), Vec::<String>::new());
        let one = |warnings: Vec<String>, part: &str| {
            assert!(warnings.len() == 1 && warnings[0].contains(part), "{warnings:?}");
        };
        let too_few = Unpinned::TooFew { needed: 5, allowed: 4, taken: 0 };
        one(of(Some(&too_few), &[]), "not pinned to a CPU each: they need 5 CPUs");
        one(of(None, &[3, 2, 1]), "CPUs 1 and 3 share a core");
        let all = of(None, &[3, 2, 1, 0]);
        assert!(all.len() == 3 && all[2].contains("all CPUs"), "{all:?}");
        // A machine that does not say which CPUs share a core.
        assert_eq!(shared_cores(None, &[3, 2, 1], &[0, 1, 2, 3], |_| None), Vec::<String>::new());
        assert_eq!(Cores::find(1).refusal(), None);
    }

    #[test]
    fn a_cpu_that_is_not_there_is_refused() {
        let none = 1023;
        assert!(allowed().iter().all(|core| core.id != none), "this machine has it");
        let set = none.to_string().parse().unwrap();
        assert_eq!(Cores::choose(set), Err(NotUsable(none)));
        assert_eq!(CHOSEN.get(), None, "nothing was chosen");
    }
}
