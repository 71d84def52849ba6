//! Everything that one worker keeps of one of its ports.

use std::collections::VecDeque;

use super::plan::PortPlan;
use crate::buffer::{Charge, SharedLimit};
use crate::frame::{BURST, Burst, Frame, LINE_OVERHEAD_BYTES};
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
    pub(super) charge: Charge,
    pub(super) ingress: PortId,
    pub(super) priority: Priority,
    pub(super) marked: bool,
    pub(super) wire_len: u32,
}

/// What is still to be counted for straight frames in `staged`: added up by priority, because a
/// port nearly always takes them all.
#[derive(Debug)]
pub(super) struct Passing {
    priorities: [Priority; BURST],
    count: usize,
    /// The priorities that `tally` has something for, one bit each.
    seen: u8,
    /// Frames and octets by priority.
    tally: [(u64, u64); PRIORITIES],
}

impl Default for Passing {
    fn default() -> Self {
        let (priorities, tally) = ([Priority::MIN; BURST], [(0, 0); PRIORITIES]);
        Self { priorities, count: 0, seen: 0, tally }
    }
}

impl Passing {
    #[inline]
    fn add(&mut self, priority: Priority, wire_len: u32) {
        self.priorities[self.count] = priority;
        self.count += 1;
        self.seen |= 1 << priority.get();
        let (frames, bytes) = &mut self.tally[priority.index()];
        *frames += 1;
        *bytes += u64::from(wire_len);
    }

    /// The priorities of the frames, in their order; none are left afterwards.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Priority> + use<> {
        let Self { priorities, count, .. } = core::mem::take(self);
        priorities.into_iter().take(count)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }
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
    /// Frames that the port has not taken yet: either all scheduled, with one entry each in
    /// `settle`, or all gone straight, with one each in `passing`.
    pub(super) staged: Burst<W::Frame>,
    pub(super) settle: VecDeque<Staged>,
    pub(super) passing: Passing,
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
            passing: Passing::default(),
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
        self.straight
            && self.up
            && self.scheduler.is_empty()
            && self.settle.is_empty()
            && !self.staged.is_full()
    }

    /// Adds a frame that waits for nothing to what goes to the port next. There must be room.
    #[inline]
    pub(super) fn stage_straight(&mut self, frame: W::Frame, priority: Priority) {
        self.passing.add(priority, frame.wire_len());
        self.staged.push(frame);
    }

    /// Adds a scheduled frame to what goes to the port next. There must be room.
    #[inline]
    pub(super) fn stage(&mut self, frame: W::Frame, settle: Staged) {
        self.staged.push(frame);
        self.settle.push_back(settle);
    }

    /// Counts the straight frames that the port took, given that it left those in `staged`.
    pub(super) fn settle_straight(&mut self) {
        let Self { passing, staged, counters, .. } = self;
        let mut left = Passing::default();
        let first = passing.count - staged.len();
        for (frame, priority) in staged.iter().zip(&passing.priorities[first..]) {
            left.add(*priority, frame.wire_len());
        }
        let mut seen = passing.seen;
        while seen != 0 {
            let p = seen.trailing_zeros() as usize;
            seen &= seen - 1;
            let frames = passing.tally[p].0 - left.tally[p].0;
            let bytes = passing.tally[p].1 - left.tally[p].1;
            counters.tx_frames += frames;
            counters.tx_bytes += bytes;
            counters.priorities[p].tx_frames += frames;
            counters.priorities[p].tx_bytes += bytes;
            passing.tally[p] = (0, 0);
        }
        if left.count == 0 {
            passing.seen = 0;
            passing.count = 0;
        } else {
            *passing = left;
        }
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
