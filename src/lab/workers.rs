//! Threads that run the parts of a network at the same time.
//!
//! A round of the virtual world takes microseconds, less than it takes to wake a thread. So a thread that has
//! nothing to do looks for work for some microseconds, then lets others run, and sleeps at last: with more
//! threads than CPUs at once. Parts move to the threads and back, so nothing is shared while they run.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Scope, available_parallelism, yield_now};

use sim::{Executor, Task};

/// Looks for a change before a thread lets others run: about 15 us.
const SPINS: u32 = 1 << 10;

/// Times that it lets others run before it sleeps.
const YIELDS: u32 = 8;

/// States of a [`Slot`].
const EMPTY: u32 = 0;
const FULL: u32 = 1;
const DONE: u32 = 2;

/// Threads that run tasks, next to the thread that gives them. They end when this is dropped.
#[derive(Debug)]
pub struct Workers<T> {
    slots: Vec<Arc<Slot<T>>>,
    spins: u32,
}

/// Place of one task, for one thread.
#[derive(Debug)]
struct Slot<T> {
    /// [`EMPTY`], [`FULL`] or [`DONE`].
    state: AtomicU32,
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
            state: AtomicU32::new(EMPTY),
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
        for _ in 0..YIELDS {
            if is_over(self) {
                return;
            }
            yield_now();
        }
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
        // Where threads wait for a CPU, one that looks for work keeps others from doing it.
        let cpus = available_parallelism().map_or(1, usize::from);
        let spins = if count < cpus { SPINS } else { 0 };
        let slots: Vec<_> = (0..count).map(|_| Arc::new(Slot::new())).collect();
        for slot in &slots {
            let slot = slot.clone();
            scope.spawn(move || work(&slot, spins));
        }
        Self { slots, spins }
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
        slot.put(task, DONE);
    }
}

impl<T: Task + Send> Executor<T> for Workers<T> {
    fn run(&mut self, tasks: &mut Vec<T>) {
        let given = self.slots.len().min(tasks.len().saturating_sub(1));
        let slots = &self.slots[..given];
        for (slot, task) in slots.iter().zip(tasks.drain(tasks.len() - given..)) {
            slot.put(task, FULL);
        }
        let own = || tasks.iter_mut().for_each(Task::run);
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

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

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
