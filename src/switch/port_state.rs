//! Everything that one worker keeps of one of its ports.

use std::collections::VecDeque;

use super::plan::PortPlan;
use crate::buffer::{Charge, SharedLimit};
use crate::frame::{BURST, Burst, LINE_OVERHEAD_BYTES};
use crate::pfc::{FlowControl, Receiver, Sender, StormAction, Watchdog};
use crate::schedule::{Scheduler, Shaper};
use crate::stats::PortCounters;
use crate::time::Instant;
use crate::units::{BitsPerSec, PRIORITIES, PortId, Priority, PrioritySet, TrafficClass};
use crate::world::World;

/// A frame in an egress queue with what it holds.
#[derive(Debug)]
pub(super) struct Queued<F> {
    pub(super) frame: F,
    pub(super) charge: Charge,
    pub(super) ingress: PortId,
    /// Whether CE was set on it here.
    pub(super) marked: bool,
}

/// What is still to be settled for a frame in `staged`, in the same order.
#[derive(Debug)]
pub(super) struct Staged {
    /// What it holds of the buffer: nothing if it never waited in it.
    pub(super) charge: Option<Charge>,
    pub(super) ingress: PortId,
    pub(super) priority: Priority,
    pub(super) marked: bool,
    pub(super) wire_len: u32,
}

/// The state of one port.
pub(super) struct PortState<W: World> {
    pub(super) id: PortId,
    pub(super) port: W::Port,
    pub(super) up: bool,
    pub(super) rate: BitsPerSec,
    pub(super) scheduler: Scheduler,
    pub(super) shaper: Option<Shaper>,
    pub(super) limits: [SharedLimit; PRIORITIES],
    /// Control frames that the port has not taken yet; they go before everything else.
    pub(super) control: Burst<W::Frame>,
    /// Frames that were scheduled and that the port has not taken yet.
    pub(super) staged: Burst<W::Frame>,
    pub(super) settle: VecDeque<Staged>,
    /// Whether a lossy frame may go straight to `staged` while nothing is queued: the port is not
    /// shaped, obeys no pauses, and neither marks nor limits.
    pub(super) straight: bool,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    pub(super) watchdog: Watchdog,
    pub(super) counters: PortCounters,
}

impl<W: World> PortState<W> {
    pub(super) fn new(id: PortId, port: W::Port, plan: &PortPlan) -> Self {
        Self {
            id,
            port,
            up: true,
            rate: plan.rate,
            scheduler: Scheduler::new(&plan.schedule),
            shaper: plan.shaped.then(|| Shaper::new(plan.rate, plan.schedule.shaper_burst)),
            limits: plan.queue_limits,
            control: Burst::new(),
            staged: Burst::new(),
            settle: VecDeque::with_capacity(BURST),
            straight: goes_straight(plan),
            sender: Sender::new(plan.pfc, plan.rate),
            receiver: Receiver::new(plan.pfc.mode, plan.rate),
            watchdog: Watchdog::new(&plan.watchdog),
            counters: PortCounters::default(),
        }
    }

    /// Whether a lossy frame that comes now would not wait here.
    #[inline]
    pub(super) fn is_straight(&self) -> bool {
        self.straight && self.scheduler.is_empty() && !self.staged.is_full()
    }

    /// Frames that left the queues but have not been taken by the port.
    pub(super) fn in_hand(&self) -> usize {
        self.control.len() + self.staged.len()
    }

    /// Whether the link is free for a frame to start.
    #[inline]
    pub(super) fn link_free(&self, now: Instant) -> bool {
        self.shaper.as_ref().is_none_or(|s| s.ready(now))
    }

    /// Takes note that a frame starts on the line now.
    #[inline]
    pub(super) fn occupy_link(&mut self, now: Instant, wire_len: u32) {
        if let Some(shaper) = &mut self.shaper {
            shaper.charge(now, u64::from(wire_len + LINE_OVERHEAD_BYTES));
        }
    }

    /// The priorities that may not send now: those the peer paused, less those whose queue is
    /// stormed and whose watchdog ignores pauses.
    #[inline]
    pub(super) fn held_back(
        &mut self,
        now: Instant,
        of_class: impl Fn(TrafficClass) -> PrioritySet,
    ) -> PrioritySet {
        let mut paused = self.receiver.paused(now);
        if !paused.is_empty() && self.watchdog.any_stormed() {
            for class in TrafficClass::ALL {
                if self.watchdog.action(class) == Some(StormAction::Forward) {
                    paused = PrioritySet(paused.0 & !of_class(class).0);
                }
            }
        }
        paused
    }

    /// When this port has something to do though no frame arrives.
    pub(super) fn next_deadline(&self, now: Instant) -> Instant {
        let mut at = self.sender.next_deadline().min(self.watchdog.next_deadline());
        let waiting = !self.scheduler.is_empty() || self.sender.due(now).is_some();
        if waiting && !self.link_free(now) {
            at = at.min(self.shaper.as_ref().map_or(Instant::NEVER, Shaper::free_at));
        }
        at.min(self.receiver.next_deadline())
    }
}

/// Whether nothing that a frame meets at this port looks at the queue it did not wait in.
fn goes_straight(plan: &PortPlan) -> bool {
    let obeys_nothing = match plan.pfc.mode {
        FlowControl::Off => true,
        FlowControl::Pfc { obey, .. } => obey.is_empty(),
        FlowControl::Pause { obey, .. } => !obey,
    };
    !plan.shaped
        && obeys_nothing
        && plan.ecn.iter().all(Option::is_none)
        && plan.watchdog.iter().all(Option::is_none)
        && plan.queue_limits.iter().all(|l| *l == SharedLimit::Unlimited)
}
