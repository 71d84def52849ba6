//! Starts the threads of a lab, watches them, and sees when all is done.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration as StdDuration;

use super::RealError;
use super::crew::{Crew, CrewEnd, Look, Shared};
use crate::dpdk::{Eal, TscClock};
use crate::lab::plan::LabPlan;
use crate::lab::virtual_run::Progress;
use crate::runtime::{Cores, Disturbance, Patience};
use crate::time::Instant;

/// How often the progress is looked at.
const LOOK_EVERY: StdDuration = StdDuration::from_millis(5);

/// For how long nothing may get on, while the threads have their processors, before the run is given
/// up.
pub(super) const PATIENCE: StdDuration = StdDuration::from_secs(60);

/// Lets the threads run, and stops them when all is done, or when one of them cannot go on. A run that
/// the machine gave no time ends with what there is, and with the disturbance that ended it.
pub(super) fn drive(
    eal: &Eal,
    crews: Vec<Crew>,
    shared: &Shared,
    plan: &LabPlan,
    stopped: impl Fn() -> bool,
    mut progress: impl FnMut(Progress),
) -> Result<(Vec<CrewEnd>, Option<Disturbance>), RealError> {
    let (clock, cores) = (TscClock::new(), Cores::find(crews.len()));
    let patience = Patience::new(&shared.preemption, PATIENCE);
    let mut watcher = Watcher { at: Instant::ZERO, patience, stuck: false, last: None };
    let joined = thread::scope(|s| {
        let (clock, cores, real) = (&clock, &cores, clock.now());
        let start = |(n, crew): (usize, Crew)| {
            let tether = shared.leash.tether(n, real);
            s.spawn(move || {
                let mut bell = Bell { shared, armed: true };
                let _worker = eal.register_worker()?;
                cores.pin(n);
                let end = crew.run(tether, clock, shared, (n, cores))?;
                bell.armed = false;
                Ok(end)
            })
        };
        let threads: Vec<_> = crews.into_iter().enumerate().map(start).collect();
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

/// Stops the other threads, which would wait for ever, when one fails or panics.
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

/// Sees whether a run is over, or gets nowhere.
struct Watcher<'a> {
    at: Instant,
    /// Since time last went on.
    patience: Patience<'a>,
    /// The patience is at its end.
    stuck: bool,
    last: Option<Look>,
}

impl Watcher<'_> {
    fn is_over(&mut self, shared: &Shared, until_done: bool) -> bool {
        let at = shared.leash.polled();
        if at > self.at {
            self.at = at;
            self.patience.renew();
        }
        let look = until_done.then(|| shared.look());
        let quiet = look.as_ref().is_some_and(Look::is_quiet) && look == self.last;
        self.last = look;
        self.stuck |= !quiet && self.patience.is_over();
        quiet || self.stuck
    }
}
