//! Defects in the holding of frames while a port is paused, and of the watchdog that ends it.

use core::fmt;
use std::collections::VecDeque;

use super::frame::{Pauses, QUANTUM_BYTES, is_pfc, opcode, paused, priority, remove, set_time};
use super::stage::{Act, Context};
use contracts::frame::{Frame, LINE_OVERHEAD_BYTES};
use ground::time::{Duration, Instant};
use ground::units::{PRIORITIES, PrioritySet};

/// Longest time that a frame waits for the one that is to overtake it, in quanta.
const OVERTAKEN_WITHIN: u64 = 1_000;

/// A defect in the holding of frames while a port is paused. The priority of a frame is that of its
/// VLAN tag, else the class selector of its DSCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holding {
    /// Priorities without PFC are paused, too.
    ObeysAlso { priorities: PrioritySet },
    /// Frames of paused priorities are dropped, not held.
    Drops { priorities: PrioritySet },
    /// Pauses are ignored for `frames` data frames after the link has gone down in a pause.
    ReleasesAfterFlap { frames: u32 },
    /// The first two frames of a priority after a pause leave in the wrong order.
    Reorders,
    /// No PFC is sent while a priority is paused.
    PausesWait,
    /// Frames of these priorities are dropped once another one has been paused for a time.
    DropsOthers { priorities: PrioritySet, after: Duration },
    /// A priority that is paused for longer is dropped and held by turns, each for this time.
    DropsByTurns { period: Duration },
    /// A priority that has been paused for a time is stormed, with frames or without: its frames are
    /// dropped until the pause ends.
    WatchesEmpty { after: Duration },
    /// Once a priority has been paused for a time, its pauses are sent from all other ports.
    PausesUpstream { after: Duration },
}

/// The state of such a defect.
#[derive(Debug)]
pub(super) struct State<F> {
    what: Holding,
    pauses: Pauses,
    /// Frames that leave later, in order.
    waiting: VecDeque<F>,
    /// Earliest time at which the first of them leaves, besides its pause.
    free: Instant,
    /// Priorities that have been paused since their last frame.
    resumed: u8,
    /// Data frames that are still to be released.
    release: u32,
}

impl<F: Frame> State<F> {
    pub(super) const fn new(what: Holding) -> Self {
        Self {
            what,
            pauses: Pauses::new(),
            waiting: VecDeque::new(),
            free: Instant::ZERO,
            resumed: 0,
            release: 0,
        }
    }

    /// Returns true if the frames of a paused priority are dropped now.
    fn is_dropped(&self, priority: usize, now: Instant) -> bool {
        let held = self.pauses.held_for(priority, now);
        held.is_some_and(|held| match self.what {
            // Held in the first period of a pause, dropped in the second, and so on.
            Holding::DropsByTurns { period } => held.as_picos() / period.as_picos() % 2 == 1,
            Holding::WatchesEmpty { after } => held >= after,
            _ => false,
        })
    }

    /// Returns true if a priority outside of a set has been paused for a time.
    fn any_for(&self, set: u8, now: Instant, span: Duration) -> bool {
        let others = (0..PRIORITIES).filter(|p| set >> p & 1 == 0);
        others.filter_map(|p| self.pauses.held_for(p, now)).any(|held| held >= span)
    }

    /// Handles a frame that must not be overtaken, or be overtaken once.
    fn reorder(&mut self, cx: &mut Context<'_, F>, frame: F, priority: usize) {
        if self.resumed >> priority & 1 == 1 && !self.pauses.holds(priority, cx.now) {
            self.resumed &= !(1 << priority);
            self.free = cx.now.saturating_add(cx.quantum.saturating_mul(OVERTAKEN_WITHIN));
            // A frame that still waits after an earlier pause goes first.
            cx.out.line.extend(self.waiting.drain(..));
            return self.waiting.push_back(frame);
        }
        cx.out.line.push(frame);
        if self.waiting.front().is_some_and(|first| self::priority(first.head()) == priority) {
            cx.out.line.extend(self.waiting.drain(..));
        }
    }

    /// Time at which the first frame that waits may leave.
    fn next(&self) -> Instant {
        let Some(frame) = self.waiting.front() else { return Instant::NEVER };
        match self.what {
            Holding::ObeysAlso { .. } => self.free.max(self.pauses.until(priority(frame.head()))),
            Holding::PausesWait => {
                (0..PRIORITIES).map(|p| self.pauses.until(p)).fold(self.free, Instant::max)
            }
            Holding::Reorders => self.free,
            Holding::Drops { .. }
            | Holding::ReleasesAfterFlap { .. }
            | Holding::DropsOthers { .. }
            | Holding::DropsByTurns { .. }
            | Holding::WatchesEmpty { .. }
            | Holding::PausesUpstream { .. } => Instant::NEVER,
        }
    }
}

impl<F: Frame + fmt::Debug + Send> Act<F> for State<F> {
    fn tx(&mut self, cx: &mut Context<'_, F>, frame: F) {
        let now = cx.now;
        if opcode(frame.head()).is_some() {
            let waits = self.what == Holding::PausesWait && self.pauses.set_of(now) != 0;
            return if waits { self.waiting.push_back(frame) } else { cx.out.line.push(frame) };
        }
        let priority = priority(frame.head());
        let is_in = |set: PrioritySet| set.0 >> priority & 1 == 1;
        match self.what {
            Holding::ObeysAlso { priorities } => {
                // Also behind frames that wait, which it would overtake.
                if is_in(priorities)
                    && (self.pauses.holds(priority, now) || !self.waiting.is_empty())
                {
                    return self.waiting.push_back(frame);
                }
            }
            Holding::Drops { priorities } => {
                if is_in(priorities) && self.pauses.holds(priority, now) {
                    return;
                }
            }
            Holding::ReleasesAfterFlap { .. } => self.release = self.release.saturating_sub(1),
            Holding::Reorders => return self.reorder(cx, frame, priority),
            Holding::DropsOthers { priorities, after } => {
                if is_in(priorities) && self.any_for(priorities.0, now, after) {
                    return;
                }
            }
            Holding::DropsByTurns { .. } | Holding::WatchesEmpty { .. } => {
                if self.is_dropped(priority, now) {
                    return;
                }
            }
            Holding::PausesWait | Holding::PausesUpstream { .. } => {}
        }
        cx.out.line.push(frame);
    }

    fn rx(&mut self, cx: &mut Context<'_, F>, mut frame: F) {
        let now = cx.now;
        self.pauses.take(frame.head(), now, cx.quantum);
        if is_pfc(frame.head()) {
            match self.what {
                Holding::Drops { priorities } => remove(frame.head_mut(), priorities.0),
                Holding::ReleasesAfterFlap { .. } => {
                    if self.release > 0 {
                        remove(frame.head_mut(), u8::MAX);
                    }
                }
                Holding::Reorders => self.resumed |= paused(frame.head()),
                Holding::DropsByTurns { .. } | Holding::WatchesEmpty { .. } => {
                    let dropped = (0..PRIORITIES).filter(|p| self.is_dropped(*p, now));
                    // The node takes the pause for over and sends, so that there are frames to drop.
                    dropped.for_each(|p| set_time(frame.head_mut(), p, 0));
                }
                Holding::PausesUpstream { after } => {
                    if self.any_for(0, now, after) {
                        cx.out.others.extend(frame.duplicate());
                    }
                }
                Holding::ObeysAlso { .. } | Holding::PausesWait | Holding::DropsOthers { .. } => {}
            }
        }
        cx.out.node.push(frame);
    }

    fn link(&mut self, cx: &mut Context<'_, F>, up: bool) {
        if let Holding::ReleasesAfterFlap { frames } = self.what {
            // Only a link that goes down in a pause starts it.
            if !up && self.pauses.set_of(cx.now) != 0 {
                self.release = frames;
            }
        }
        // A port forgets its pauses with its link.
        self.pauses = Pauses::new();
    }

    fn due(&mut self, cx: &mut Context<'_, F>) {
        while self.next() <= cx.now {
            let Some(frame) = self.waiting.pop_front() else { break };
            let bytes = u64::from(frame.wire_len() + LINE_OVERHEAD_BYTES);
            // Frames that have waited leave at the rate of the line, not in one burst.
            self.free = cx.now.saturating_add(cx.quantum.saturating_mul(bytes).div(QUANTUM_BYTES));
            cx.out.line.push(frame);
        }
    }

    fn next_at(&self) -> Instant {
        self.next()
    }

    fn held(&self) -> usize {
        self.waiting.len()
    }
}
