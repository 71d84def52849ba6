//! Validates the runs of a study before the first one, all of them or a sample, and runs points on several threads,
//! which hand over their results in order.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};

use super::Study;
use super::sweep::spread;
use crate::Resolved;
use config::{ConfigError, Finding, Warning};

/// Points that one thread may be ahead of the last one that was handed over. A choice: a slow point holds
/// up the others for no less than a thousand times the time of a point, and results are small.
const AHEAD: usize = 1_024;

/// Returns the number of threads for `jobs`, by default the number of cores.
#[must_use]
pub fn jobs(jobs: Option<u16>) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    jobs.map_or_else(cores, usize::from).max(1)
}

/// Calls `work` with each of `points`, on `jobs` threads, and `done` with each point and its result, in
/// the order of `points`, on the calling thread. So results do not depend on the number of threads.
///
/// Ends early if `stop` is set or `done` breaks: no thread takes another point, and after `stop` the
/// results of all points that were finished are handed over. `work` returns `None` for a point without a
/// result, such as one that was interrupted; it is left out.
///
/// `points` may be any number: they are taken one by one, a bounded number ahead of those handed over.
///
/// # Panics
/// `work` panicked.
pub fn in_order<P: Send, T: Send>(
    points: impl Iterator<Item = P> + Send,
    jobs: usize,
    stop: &AtomicBool,
    work: impl Fn(&P) -> Option<T> + Sync,
    mut done: impl FnMut(P, T) -> ControlFlow<()>,
) {
    let jobs = jobs.max(1);
    let queue = Queue::new(points, jobs.saturating_mul(AHEAD));
    let (send, results) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            let (queue, work, send) = (&queue, &work, send.clone());
            scope.spawn(move || {
                // Without it the other threads would wait for a point that is never delivered.
                let _end = EndOnPanic(queue);
                while let Some((n, point)) = queue.take(stop) {
                    let result = work(&point);
                    // The receiver is gone: `done` has ended the work.
                    if send.send((n, point, result)).is_err() {
                        return;
                    }
                }
            });
        }
        // The receiving loop ends when the last sender is dropped, and this one sends nothing.
        drop(send);
        let mut waiting = BTreeMap::new();
        let mut next = 0;
        for (n, point, result) in results {
            waiting.insert(n, (point, result));
            // Results that come early wait here; AHEAD bounds how many.
            while let Some((point, result)) = waiting.remove(&next) {
                next += 1;
                queue.delivered(next);
                if result.is_some_and(|result| done(point, result).is_break()) {
                    queue.end();
                    return;
                }
            }
        }
    });
}

/// Does the same with work that may fail: its first error, in the order of `points`, ends it.
///
/// # Errors
/// That of `work`.
pub fn try_in_order<P: Send, T: Send, E: Send>(
    points: impl Iterator<Item = P> + Send,
    jobs: usize,
    stop: &AtomicBool,
    work: impl Fn(&P) -> Result<Option<T>, E> + Sync,
    mut done: impl FnMut(P, T) -> ControlFlow<()>,
) -> Result<(), E> {
    let mut wrong = None;
    in_order(
        points,
        jobs,
        stop,
        |point| work(point).transpose(),
        |point, result| match result {
            Ok(result) => done(point, result),
            Err(error) => {
                wrong = Some(error);
                ControlFlow::Break(())
            }
        },
    );
    wrong.map_or(Ok(()), Err)
}

/// Points that are not taken yet.
struct Queue<I> {
    state: Mutex<State<I>>,
    moved: Condvar,
    ahead: usize,
}

struct State<I> {
    points: I,
    taken: usize,
    delivered: usize,
    ended: bool,
}

impl<I: Iterator> Queue<I> {
    fn new(points: I, ahead: usize) -> Self {
        let state = State { points, taken: 0, delivered: 0, ended: false };
        Self { state: Mutex::new(state), moved: Condvar::new(), ahead }
    }

    fn lock(&self) -> MutexGuard<'_, State<I>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next point with its number, or `None` after the last one.
    fn take(&self, stop: &AtomicBool) -> Option<(usize, I::Item)> {
        let mut state = self.lock();
        // No deadlock: the thread with the oldest point never waits here, and its result moves `delivered` on.
        while !state.ended && state.taken >= state.delivered + self.ahead {
            state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.ended || stop.load(Ordering::SeqCst) {
            return None;
        }
        let point = state.points.next()?;
        state.taken += 1;
        Some((state.taken - 1, point))
    }

    fn delivered(&self, n: usize) {
        self.lock().delivered = n;
        self.moved.notify_all();
    }

    fn end(&self) {
        self.lock().ended = true;
        self.moved.notify_all();
    }
}

/// Ends the queue if its thread panics, as its point will never be delivered.
struct EndOnPanic<'a, I: Iterator>(&'a Queue<I>);

impl<I: Iterator> Drop for EndOnPanic<'_, I> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
    }
}

/// Most findings that a check of many runs reports.
const FINDINGS_MAX: usize = 20;

/// A run that the file refuses, and the reason.
pub type Impossible = (u64, String);

impl Study {
    /// Resolves runs until `most` of them are: all of them, or those in which every value of every axis
    /// occurs, and others evenly spread. `fits` may refuse a resolved run. Returns the number of resolved
    /// runs, and their warnings, each once.
    ///
    /// # Errors
    /// The errors of all these runs, each once.
    pub fn check(
        &self,
        most: u64,
        jobs: usize,
        fits: impl Fn(&Resolved) -> Result<(), ConfigError> + Sync,
    ) -> Result<(u64, Vec<Warning>), ConfigError> {
        self.check_these(&self.sample(most), jobs, fits)
    }

    /// Resolves these runs, so that a bad value is found before the first of them runs. Returns the runs
    /// that are possible, and those that the file refuses although each of their values is possible in
    /// another run, with the reason.
    ///
    /// # Errors
    /// Those of the runs with a value that is possible in no run, each once.
    pub fn possible(
        &self,
        numbers: &[u64],
        jobs: usize,
    ) -> Result<(Vec<u64>, Vec<Impossible>), ConfigError> {
        let (mut good, mut refused) = (Vec::new(), Vec::new());
        let first = |error: ConfigError| {
            error.findings.first().map_or_else(String::new, |finding| finding.what.clone())
        };
        let work = |n: &u64| Some(self.resolve(*n).map(|_| ()).map_err(first));
        in_order(numbers.iter().copied(), jobs, &AtomicBool::new(false), work, |n, result| {
            match result {
                Ok(()) => good.push(n),
                Err(why) => refused.push((n, why)),
            }
            ControlFlow::Continue(())
        });
        let values = |n: u64| self.run(n).point.map_or_else(Vec::new, |point| point.shown());
        // A value that is good in one run is not wrong in itself: only its combination with others is.
        let known: BTreeSet<(usize, String)> =
            good.iter().flat_map(|n| values(*n).into_iter().enumerate()).collect();
        let is_wrong =
            |n: &u64| values(*n).into_iter().enumerate().any(|value| !known.contains(&value));
        let wrong: Vec<u64> = refused.iter().map(|(n, _)| *n).filter(is_wrong).collect();
        // Resolved again for the whole errors, of which the first pass kept a sentence each.
        self.check_these(&wrong, jobs, |_| Ok(()))?;
        Ok((good, refused))
    }

    fn check_these(
        &self,
        all: &[u64],
        jobs: usize,
        fits: impl Fn(&Resolved) -> Result<(), ConfigError> + Sync,
    ) -> Result<(u64, Vec<Warning>), ConfigError> {
        let (mut warnings, mut findings) = (Vec::<Warning>::new(), Vec::<Finding>::new());
        let work = |n: &u64| {
            let resolved = self.resolve(*n).and_then(|(resolved, warnings)| {
                fits(&resolved).map_err(|error| Self::with_name(&self.run(*n), error))?;
                Ok(warnings)
            });
            Some(resolved)
        };
        in_order(all.iter().copied(), jobs, &AtomicBool::new(false), work, |_, result| {
            let new = match &result {
                Ok(warnings) => warnings,
                Err(error) => &error.findings,
            };
            let known = if result.is_ok() { &mut warnings } else { &mut findings };
            for finding in new {
                // The same value is wrong in many runs.
                let is_same = |other: &Finding| {
                    // `Study::with_name` has added the name of the run, in which equal errors differ.
                    let text = |what: &str| what.split(" (run ").next().map(str::to_owned);
                    (other.mark, &other.path) == (finding.mark, &finding.path)
                        && text(&other.what) == text(&finding.what)
                };
                if !known.iter().any(is_same) {
                    known.push(finding.clone());
                }
            }
            match findings.len() < FINDINGS_MAX {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
        if findings.is_empty() {
            return Ok((all.len() as u64, warnings));
        }
        Err(ConfigError { file: self.file.name().to_owned(), findings })
    }

    /// Returns the numbers of at most about `most` runs: see [`Self::check`].
    fn sample(&self, most: u64) -> Vec<u64> {
        let len = self.len();
        if len <= most {
            return (0..len).collect();
        }
        let points = self.points();
        let variants = self.variants.len() as u64;
        let columns = self.sweep().map_or(1, |sweep| sweep.columns().len() as u64);
        // Half of the sample covers every axis, the other half is spread over all runs.
        let each = most / (2 * variants * columns).max(1);
        let covering = self.sweep().map_or(vec![0], |sweep| sweep.covering(each));
        let mut all: Vec<u64> = (0..variants)
            .flat_map(|variant| covering.iter().map(move |point| variant * points + point))
            .collect();
        all.extend((0..most / 2).map(|n| spread(n, most / 2, len)));
        all.sort_unstable();
        all.dedup();
        all
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    fn run(points: u64, jobs: usize, work: impl Fn(&u64) -> Option<u64> + Sync) -> Vec<(u64, u64)> {
        let mut all = Vec::new();
        in_order(0..points, jobs, &AtomicBool::new(false), work, |point, result| {
            all.push((point, result));
            ControlFlow::Continue(())
        });
        all
    }

    /// Takes longest for the first points, so that later ones overtake them.
    fn uneven(n: &u64) -> Option<u64> {
        let spins = 2_000_u64.saturating_sub(n * 10);
        Some((0..spins).fold(*n, |sum, _| std::hint::black_box(sum)) * 2)
    }

    #[test]
    fn results_come_in_order_whatever_the_number_of_threads() {
        let expected: Vec<(u64, u64)> = (0..500).map(|n| (n, 2 * n)).collect();
        for jobs in [1, 2, 7] {
            assert_eq!(run(500, jobs, uneven), expected, "{jobs}");
        }
        let odd = run(10, 3, |n| (n % 2 == 1).then_some(*n));
        assert_eq!(odd.iter().map(|(n, _)| *n).collect::<Vec<_>>(), [1, 3, 5, 7, 9]);
        assert_eq!(run(0, 3, uneven), []);
    }

    #[test]
    fn a_stop_keeps_what_is_finished_and_takes_no_other_point() {
        let (stop, taken) = (AtomicBool::new(false), AtomicUsize::new(0));
        let mut all = Vec::new();
        let work = |n: &u64| {
            taken.fetch_add(1, Ordering::SeqCst);
            if *n == 20 {
                stop.store(true, Ordering::SeqCst);
            }
            Some(*n)
        };
        in_order(0..1_000_000, 4, &stop, work, |_, n| {
            all.push(n);
            ControlFlow::Continue(())
        });
        let taken = taken.into_inner();
        assert!((21..=24).contains(&taken), "{taken}");
        assert_eq!(all, (0..taken as u64).collect::<Vec<_>>());
    }

    #[test]
    fn a_break_ends_at_once_also_threads_that_wait() {
        let mut all = Vec::new();
        in_order(
            0..u64::MAX,
            3,
            &AtomicBool::new(false),
            |n| Some(*n),
            |_, n| {
                all.push(n);
                if n == 9 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        );
        assert_eq!(all, (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn no_thread_runs_further_ahead_than_results_may_wait() {
        let (most, slow) = (AtomicUsize::new(0), AtomicBool::new(true));
        let work = |n: &u64| {
            most.fetch_max(*n as usize, Ordering::SeqCst);
            if *n == 0 {
                // The others come as far as they may meanwhile.
                while most.load(Ordering::SeqCst) < 2 * AHEAD - 1 {
                    std::thread::yield_now();
                }
                std::thread::sleep(std::time::Duration::from_millis(20));
                assert!(most.load(Ordering::SeqCst) < 2 * AHEAD, "{most:?}");
                slow.store(false, Ordering::SeqCst);
            }
            Some(*n)
        };
        let mut sum = 0;
        in_order(0..4 * AHEAD as u64, 2, &AtomicBool::new(false), work, |_, n| {
            assert!(!slow.load(Ordering::SeqCst), "nothing before the first");
            sum += n;
            ControlFlow::Continue(())
        });
        assert_eq!(sum, (0..4 * AHEAD as u64).sum::<u64>());
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_of_a_point_ends_all() {
        run(u64::MAX, 2, |n| if *n == 5 { panic!("planted") } else { Some(*n) });
    }
}
