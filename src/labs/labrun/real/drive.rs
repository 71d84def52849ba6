//! Starts the threads of a lab, monitors them, and detects the end of the run.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration as StdDuration;

use super::error::{PATIENCE, RealError};
use super::poller::{Poller, PollerEnd, Sample, Shared};
use crate::plan::LabPlan;
use crate::virtual_run::{Progress, Tell};
use dpdk::{Eal, TscClock};
use ground::time::Instant;
use runtime::{Cores, Disturbance, Patience};

/// Sampling interval of the threads' state.
const LOOK_EVERY: StdDuration = StdDuration::from_millis(5);

/// Runs the threads until all traffic is done or one of them fails. A run for which the machine had
/// no CPU time ends with the results so far, and with the disturbance that ended it.
pub(super) fn drive(
    eal: &Eal,
    pollers: Vec<Poller>,
    shared: &Shared,
    plan: &LabPlan,
    stopped: &dyn Fn() -> bool,
    progress: Tell<'_>,
) -> Result<(Vec<PollerEnd>, Option<Disturbance>), RealError> {
    let (clock, cores) = (TscClock::new(), Cores::find(pollers.len()));
    let patience = Patience::new(&shared.preemption, PATIENCE);
    let mut watcher = Watcher { at: Instant::ZERO, patience, stuck: false, last: None };
    let joined = thread::scope(|s| {
        let (clock, cores, real) = (&clock, &cores, clock.now());
        let start = |(n, poller): (usize, Poller)| {
            let tether = shared.leash.tether(n, real);
            s.spawn(move || {
                let mut bell = Bell { shared, armed: true };
                let _worker = eal.register_worker()?;
                cores.pin(n);
                let end = poller.run(tether, clock, shared, (n, cores))?;
                bell.armed = false;
                Ok(end)
            })
        };
        let threads: Vec<_> = pollers.into_iter().enumerate().map(start).collect();
        while !threads.iter().all(|thread| thread.is_finished()) {
            thread::sleep(LOOK_EVERY);
            progress(so_far(shared, plan));
            if watcher.is_over(shared, plan.until_done) || stopped() {
                shared.stop.store(true, Ordering::Relaxed);
            }
        }
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join();
        let ends = threads.into_iter().map(join).map(|end| end.unwrap_or(Err(RealError::Panicked)));
        ends.collect::<Result<Vec<_>, _>>()
    });
    progress(so_far(shared, plan));
    let ends = joined?;
    match (watcher.stuck, watcher.patience.starved()) {
        (false, _) => Ok((ends, None)),
        (true, Some(disturbance)) => Ok((ends, Some(disturbance))),
        (true, None) => Err(RealError::Stuck),
    }
}

fn so_far(shared: &Shared, plan: &LabPlan) -> Progress {
    let (frames, events) = shared.work();
    let at = shared.leash.polled().since(Instant::ZERO);
    Progress { at, of: plan.duration, frames, events }
}

/// Stops the other threads if one fails or panics; they would wait for ever.
struct Bell<'a> {
    shared: &'a Shared,
    armed: bool,
}

impl Drop for Bell<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.shared.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// Detects the end of a run, and a run without progress.
struct Watcher<'a> {
    at: Instant,
    /// Time since the last progress.
    patience: Patience<'a>,
    /// True if that time exceeds the limit.
    stuck: bool,
    last: Option<Sample>,
}

impl Watcher<'_> {
    fn is_over(&mut self, shared: &Shared, until_done: bool) -> bool {
        let at = shared.leash.polled();
        if at > self.at {
            self.at = at;
            self.patience.renew();
        }
        let sample = until_done.then(|| shared.sample());
        let quiet = sample.as_ref().is_some_and(Sample::is_quiet) && sample == self.last;
        self.last = sample;
        self.stuck |= !quiet && self.patience.is_over();
        quiet || self.stuck
    }
}
