//! The storm watchdog of one port: detects queues that are paused for too long.
//!
//! It follows SONiC's `pfcwd`, but with exact times instead of polled counters: a queue is stormed
//! if it had frames, was paused, and sent none for the whole detection time; it is restored when no
//! pause for it was received for the restoration time. Calls before [`Watchdog::on_timeout`] count
//! first, so a late poll never reports a queue that has just sent a frame. The switch performs the
//! action; the watchdog only reports.

use super::{StormAction, WatchdogPlan, WatchdogPlans};
use ground::memory::fetch;
use ground::time::{Duration, Instant};
use ground::units::{PRIORITIES, TrafficClass};

/// Event of a watchdog.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StormEvent {
    /// The queue is stormed: apply this action from now on.
    Detected(StormAction),
    /// The storm is over: stop the action.
    Restored,
}

/// Watchdog of the queues of one port.
#[derive(Clone, Debug)]
pub struct Watchdog {
    queues: [Option<Queue>; PRIORITIES],
    /// True if any queue is watched now.
    configured: bool,
    /// Earliest deadline of all queues.
    earliest: Instant,
    stormed: u8,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    plan: WatchdogPlan,
    /// Time since which the queue has been paused with frames waiting; NEVER if it is not.
    blocked_since: Instant,
    last_pfc: Instant,
    /// Time since which the queue has been stormed; NEVER if it is not.
    stormed_since: Instant,
}

impl Queue {
    const fn is_stormed(&self) -> bool {
        self.stormed_since.as_picos() != Instant::NEVER.as_picos()
    }

    /// Returns the time of the queue's next change without further input: to stormed, or back.
    fn deadline(&self) -> Instant {
        if self.is_stormed() {
            // As in SONiC, a storm lasts at least for the restoration time.
            self.stormed_since.max(self.last_pfc).saturating_add(self.plan.restoration)
        } else {
            self.blocked_since.saturating_add(self.plan.detection)
        }
    }
}

/// Panics if a time is zero.
fn assert_sound(plan: WatchdogPlan) {
    assert!(
        plan.detection > Duration::ZERO && plan.restoration > Duration::ZERO,
        "a watchdog needs time to detect and to restore"
    );
}

impl Watchdog {
    /// Creates a watchdog for the classes that have a plan.
    #[must_use]
    pub fn new(plans: &WatchdogPlans) -> Self {
        let queues = plans.map(|plan| {
            plan.map(|plan| {
                assert_sound(plan);
                let (never, zero) = (Instant::NEVER, Instant::ZERO);
                Queue { plan, blocked_since: never, last_pfc: zero, stormed_since: never }
            })
        });
        Self {
            queues,
            configured: queues.iter().any(Option::is_some),
            earliest: Instant::NEVER,
            stormed: 0,
        }
    }

    /// Returns true if any queue is watched: it has a plan, and the watchdog runs.
    #[inline]
    #[must_use]
    pub const fn is_configured(&self) -> bool {
        self.configured
    }

    /// Brings what each frame needs into the caches.
    #[inline]
    pub fn fetch(&self) {
        fetch(&self.earliest);
        fetch(&self.configured);
    }

    /// Starts or stops the watchdog. Stopping discards the start times of blocked queues and
    /// releases the stormed ones, which are to be [`StormEvent::Restored`]; starting gives each
    /// queue the complete detection time.
    pub fn set_enabled(&mut self, enabled: bool) -> impl Iterator<Item = TrafficClass> + use<> {
        let released = if enabled { 0 } else { core::mem::take(&mut self.stormed) };
        if enabled != self.configured {
            self.configured = enabled && self.queues.iter().any(Option::is_some);
            // The detection time is for a watch without a gap, so what was blocked before does not count.
            for queue in self.queues.iter_mut().flatten() {
                (queue.blocked_since, queue.stormed_since) = (Instant::NEVER, Instant::NEVER);
            }
            self.find_earliest();
        }
        TrafficClass::ALL.into_iter().filter(move |class| released >> class.get() & 1 == 1)
    }

    /// Changes the plan of all queues but for their actions. Times count for running storms and blocked
    /// queues too, from when these began. Returns the queues that are released because the watchdog is
    /// stopped, as [`Watchdog::set_enabled`] does.
    ///
    /// # Panics
    /// If a time is zero.
    pub fn set_plan(&mut self, plan: WatchdogPlan) -> impl Iterator<Item = TrafficClass> + use<> {
        assert_sound(plan);
        for queue in self.queues.iter_mut().flatten() {
            queue.plan = WatchdogPlan { action: queue.plan.action, ..plan };
        }
        self.find_earliest();
        self.set_enabled(plan.enabled)
    }

    /// Reports if the queue of `class` is paused with frames waiting. A frame that it sends, and
    /// the end of the pause, are reported as `blocked` false, even if it is blocked again right
    /// after.
    pub fn on_queue(&mut self, now: Instant, class: TrafficClass, blocked: bool) {
        let Some(q) = self.queues[class.index()].as_mut().filter(|_| self.configured) else {
            return;
        };
        // A repeated report must not restart the detection time.
        if blocked == (q.blocked_since < Instant::NEVER) {
            return;
        }
        q.blocked_since = if blocked { now } else { Instant::NEVER };
        self.find_earliest();
    }

    /// Records a received pause (of more than 0 quanta) for the queue of `class`.
    pub fn on_pfc(&mut self, now: Instant, class: TrafficClass) {
        let Some(q) = &mut self.queues[class.index()] else { return };
        q.last_pfc = now;
        if q.is_stormed() {
            self.find_earliest();
        }
    }

    /// Returns a queue that changed by `now`, earliest first, lowest class first among equals. To
    /// be called until it returns `None`.
    pub fn on_timeout(&mut self, now: Instant) -> Option<(TrafficClass, StormEvent)> {
        // `now` may be NEVER, which is also the deadline of a queue without one.
        if now < self.earliest || self.earliest == Instant::NEVER {
            return None;
        }
        for class in TrafficClass::ALL {
            let i = class.index();
            let Some(q) = self.queues[i].as_mut().filter(|q| q.deadline() == self.earliest) else {
                continue;
            };
            let event = if q.is_stormed() {
                q.stormed_since = Instant::NEVER;
                // A queue that is still blocked gets the complete detection time again.
                if q.blocked_since < Instant::NEVER {
                    q.blocked_since = now;
                }
                StormEvent::Restored
            } else {
                q.stormed_since = now;
                StormEvent::Detected(q.plan.action)
            };
            // Detection sets the bit and restoration clears it.
            self.stormed ^= 1 << i;
            self.find_earliest();
            return Some((class, event));
        }
        unreachable!("the earliest deadline is that of a queue");
    }

    fn find_earliest(&mut self) {
        self.earliest =
            self.queues.iter().flatten().map(Queue::deadline).fold(Instant::NEVER, Instant::min);
    }

    /// Returns the time of the next event without further input; NEVER if there is none.
    #[inline]
    #[must_use]
    pub const fn next_deadline(&self) -> Instant {
        self.earliest
    }

    /// Returns the action on the queue of `class`, if it is stormed.
    #[inline]
    #[must_use]
    pub fn action(&self, class: TrafficClass) -> Option<StormAction> {
        if self.stormed & (1 << class.get()) == 0 {
            return None;
        }
        self.queues[class.index()].map(|q| q.plan.action)
    }

    /// Returns true if any queue is stormed.
    #[inline]
    #[must_use]
    pub const fn any_stormed(&self) -> bool {
        self.stormed != 0
    }
}

#[cfg(test)]
mod tests;
