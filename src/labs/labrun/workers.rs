//! Threads that run the parts of a network at the same time.
//!
//! A round of the virtual world takes microseconds, less than it takes to wake a thread. So a thread that has
//! nothing to do looks for work for some microseconds before it sleeps, and sleeps at once where there are more
//! threads than CPUs. It yields to no one: on a busy machine that takes milliseconds. Parts move to the threads
//! and back, so nothing is shared while they run.

use std::any::Any;
use std::num::NonZeroU16;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Scope, available_parallelism};
use std::time::{Duration, Instant};

use crate::record::Recorder;
use crossbeam::utils::CachePadded;
use sim::check::Checkers;
use sim::{Executor, Network, Partition, Task, Witness};

/// Looks for a change before a thread sleeps: some 50 us, which is about what it takes to wake it.
const SPINS: u32 = 1 << 12;

/// Calls of a trial of each way, and those for which the faster one is kept: few at first, when caches are cold
/// and traffic begins, and twice as many each time, up to more where threads are the slower way.
const TRIAL: u32 = 6;
/// Calls of a trial whose time counts, the shortest ones: a thread that loses its CPU meanwhile, or caches that
/// are cold, take longer than all calls of a trial.
const COUNTED: usize = 4;
const KEPT_FIRST: u32 = 1 << 5;
const KEPT: u32 = 1 << 10;
const KEPT_MAX: u32 = 1 << 14;

/// States of a [`Slot`].
const EMPTY: u32 = 0;
const FULL: u32 = 1;
const DONE: u32 = 2;

/// Threads that run tasks, next to the thread that gives them. They end when this is dropped.
#[derive(Debug)]
pub struct Workers<T> {
    slots: Vec<Arc<Slot<T>>>,
    spins: u32,
    choice: Choice,
}

/// The choice between threads and the caller's thread alone, by the time that calls take.
#[derive(Debug)]
struct Choice {
    step: Step,
    /// Calls of this step that are left.
    left: u32,
    /// The shortest calls of this step, in their order.
    shortest: [Duration; COUNTED],
    /// Calls for which the next result is kept.
    kept: u32,
}

/// Steps of a [`Choice`], in their order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    TryThreads,
    /// After the shortest calls with threads have taken this time.
    TryAlone(Duration),
    /// True if threads are faster.
    Keep(bool),
}

impl Choice {
    const START: Self = Self {
        step: Step::TryThreads,
        left: TRIAL,
        shortest: [Duration::MAX; COUNTED],
        kept: KEPT_FIRST / 2,
    };

    /// True if threads are to be used for the next call.
    fn is_threads(&self) -> bool {
        matches!(self.step, Step::TryThreads | Step::Keep(true))
    }

    /// The call has taken this time.
    fn took(&mut self, time: Duration) {
        self.left -= 1;
        if !matches!(self.step, Step::Keep(_)) {
            let mut time = time;
            // An insertion into the sorted list: each step keeps the shorter and passes the longer one on.
            for shortest in &mut self.shortest {
                let longer = time.max(*shortest);
                *shortest = time.min(*shortest);
                time = longer;
            }
        }
        if self.left > 0 {
            return;
        }
        let spent =
            self.shortest.iter().fold(Duration::ZERO, |sum, time| sum.saturating_add(*time));
        (self.step, self.left) = match self.step {
            Step::TryThreads => (Step::TryAlone(spent), TRIAL),
            Step::TryAlone(threads) => {
                let faster = threads < spent;
                // The choice is trusted longer each time, and longest where threads lost: their trials cost the most.
                self.kept = (2 * self.kept).min(if faster { KEPT } else { KEPT_MAX });
                (Step::Keep(faster), self.kept)
            }
            Step::Keep(_) => (Step::TryThreads, TRIAL),
        };
        self.shortest = [Duration::MAX; COUNTED];
    }
}

/// Place of one task, for one thread.
#[derive(Debug)]
struct Slot<T> {
    /// [`EMPTY`], [`FULL`] or [`DONE`]. A thread that looks at it does not slow down the lock of the task.
    state: CachePadded<AtomicU32>,
    ended: AtomicBool,
    task: Mutex<Option<T>>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// Threads that sleep until the state changes.
    sleepers: AtomicU32,
    gate: Mutex<()>,
    changed: Condvar,
}

impl<T> Slot<T> {
    fn new() -> Self {
        Self {
            state: CachePadded::new(AtomicU32::new(EMPTY)),
            ended: AtomicBool::new(false),
            task: Mutex::new(None),
            panic: Mutex::new(None),
            sleepers: AtomicU32::new(0),
            gate: Mutex::new(()),
            changed: Condvar::new(),
        }
    }

    fn put(&self, task: T, state: u32) {
        *self.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
        self.set(state);
    }

    fn take(&self) -> Option<T> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn set(&self, state: u32) {
        self.state.store(state, Ordering::SeqCst);
        self.wake();
    }

    /// Wakes sleepers. One that is about to sleep has counted itself before it looks at the state again, so
    /// either this sees it or it sees the change.
    fn wake(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            let _gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
            self.changed.notify_all();
        }
    }

    fn is(&self, state: u32) -> bool {
        self.state.load(Ordering::SeqCst) == state
    }

    /// Waits until `is_over` returns true.
    fn wait(&self, spins: u32, is_over: impl Fn(&Self) -> bool) {
        for _ in 0..spins {
            if is_over(self) {
                return;
            }
            std::hint::spin_loop();
        }
        // Counted before the state is read again under the lock: see `wake`.
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        let woken = self.changed.wait_while(gate, |()| !is_over(self));
        drop(woken);
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

impl<T: Task + Send> Workers<T> {
    /// Starts `count` threads, none for 0.
    pub fn start<'scope, 'env>(scope: &'scope Scope<'scope, 'env>, count: usize) -> Self
    where
        T: 'scope,
    {
        // A thread that looks for work keeps others from doing it, if there are too few CPUs.
        let cpus = available_parallelism().map_or(1, usize::from);
        let spins = if count < cpus { SPINS } else { 0 };
        let slots: Vec<_> = (0..count).map(|_| Arc::new(Slot::new())).collect();
        for slot in &slots {
            let slot = slot.clone();
            scope.spawn(move || work(&slot, spins));
        }
        Self { slots, spins, choice: Choice::START }
    }
}

/// Runs the tasks of a slot until it ends.
fn work<T: Task>(slot: &Slot<T>, spins: u32) {
    loop {
        slot.wait(spins, |slot| slot.is(FULL) || slot.ended.load(Ordering::SeqCst));
        if !slot.is(FULL) {
            return;
        }
        let Some(mut task) = slot.take() else { return };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| task.run())) {
            *slot.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
        }
        // Also after a panic: the parts belong to the network, which is told of it by `share`.
        slot.put(task, DONE);
    }
}

impl<T: Task + Send> Executor<T> for Workers<T> {
    fn run(&mut self, tasks: &mut Vec<T>) {
        let begun = Instant::now();
        if self.choice.is_threads() {
            self.share(tasks);
        } else {
            tasks.iter_mut().for_each(Task::run);
        }
        self.choice.took(begun.elapsed());
    }
}

impl<T: Task + Send> Workers<T> {
    /// Gives a task to each thread, and runs the others here.
    fn share(&mut self, tasks: &mut Vec<T>) {
        // One task stays here, as this thread would only wait otherwise.
        let given = self.slots.len().min(tasks.len().saturating_sub(1));
        let slots = &self.slots[..given];
        for (slot, task) in slots.iter().zip(tasks.drain(tasks.len() - given..)) {
            slot.put(task, FULL);
        }
        let own = || tasks.iter_mut().for_each(Task::run);
        // All tasks are taken back before a panic goes on, or threads would run parts of a network that is gone.
        let mut panic = catch_unwind(AssertUnwindSafe(own)).err();
        for slot in slots {
            slot.wait(self.spins, |slot| slot.is(DONE));
            tasks.extend(slot.take());
            slot.set(EMPTY);
            let theirs = slot.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
            panic = panic.or(theirs);
        }
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }
}

impl<T> Drop for Workers<T> {
    fn drop(&mut self) {
        for slot in &self.slots {
            slot.ended.store(true, Ordering::SeqCst);
            slot.wake();
        }
    }
}

/// Threads that ran a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Threads {
    /// Number of threads, 1 or more.
    pub used: usize,
    /// Reason for which there was one although more were configured.
    pub why_one: Option<&'static str>,
}

impl Default for Threads {
    fn default() -> Self {
        Self { used: 1, why_one: None }
    }
}

/// Divides a network before its first event, if there are to be several threads and its observers allow it.
pub(super) fn divide(
    network: &mut Network<(Recorder, Checkers)>,
    threads: Option<NonZeroU16>,
    partition: impl FnOnce() -> Partition,
) -> Threads {
    if threads.is_none_or(|threads| threads.get() == 1) {
        return Threads::default();
    }
    // Observers that need all events in the order of time cannot watch parts that run apart.
    let (recorder, checkers) = network.witness_mut();
    let captures = (!recorder.is_divisible()).then_some("captures need the order of time");
    if let Some(why) = captures.or(checkers.needs_whole()) {
        return Threads { used: 1, why_one: Some(why) };
    }
    if network.divide(partition()) {
        return Threads { used: network.parts(), why_one: None };
    }
    Threads { used: 1, why_one: Some("the network cannot be divided into parts of equal work") }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Counts its runs, and panics at one of them.
    struct Count(u64, u64);

    impl Task for Count {
        fn run(&mut self) {
            self.0 += 1;
            assert_ne!(self.0, self.1, "run {}", self.0);
            if self.0 % 100 == 0 {
                thread::sleep(Duration::from_micros(300));
            }
        }
    }

    fn tasks(n: u64) -> Vec<Count> {
        (0..n).map(|n| Count(1_000 * n, u64::MAX)).collect()
    }

    #[test]
    fn each_task_is_run_once_and_they_stay_in_order() {
        // Also more threads than CPUs, more tasks than threads, and fewer.
        for (threads, count) in [(0, 3), (1, 2), (3, 4), (7, 8), (2, 6), (4, 2), (2, 0)] {
            let mut tasks = tasks(count);
            thread::scope(|scope| {
                let mut workers = Workers::start(scope, threads);
                for _ in 0..500 {
                    workers.run(&mut tasks);
                }
            });
            let runs: Vec<u64> = tasks.iter().map(|task| task.0).collect();
            let expected: Vec<u64> = (0..count).map(|n| 1_000 * n + 500).collect();
            assert_eq!(runs, expected, "{threads} threads");
        }
    }

    #[test]
    fn the_faster_way_is_kept_and_the_other_one_is_tried_again() {
        for (threads, alone) in [(3, 5), (5, 3)] {
            let (mut choice, mut of_threads) = (Choice::START, 0);
            for _ in 0..20_000 {
                let is_threads = choice.is_threads();
                of_threads += u32::from(is_threads);
                choice.took(Duration::from_micros(if is_threads { threads } else { alone }));
            }
            let is_faster = threads < alone;
            assert_eq!(of_threads > 19_000, is_faster, "{of_threads}");
            let some = 3 * TRIAL..=20_000 - 3 * TRIAL;
            assert!(some.contains(&of_threads), "{of_threads}");
        }
    }

    #[test]
    fn calls_that_took_long_by_chance_decide_nothing() {
        let mut choice = Choice::START;
        for n in 0..20_000 {
            let is_threads = choice.is_threads();
            let late = if is_threads && n % 3 == 0 { 900 } else { 0 };
            choice.took(Duration::from_micros(late + if is_threads { 3 } else { 5 }));
            let in_trial = matches!(choice.step, Step::TryThreads | Step::TryAlone(_));
            assert!(in_trial || choice.is_threads(), "call {n}");
        }
    }

    #[test]
    fn a_panic_of_any_task_is_that_of_the_caller_and_no_thread_is_left() {
        for at in 0..4 {
            let mut tasks = tasks(4);
            tasks[at].1 = 1_000 * at as u64 + 30;
            let run = AssertUnwindSafe(|| {
                thread::scope(|scope| {
                    let mut workers = Workers::start(scope, 3);
                    loop {
                        workers.run(&mut tasks);
                    }
                });
            });
            let panic = catch_unwind(run).unwrap_err();
            let text = panic.downcast_ref::<String>().unwrap();
            assert!(text.contains(&format!("run {}", 1_000 * at + 30)), "{text}");
        }
    }
}
