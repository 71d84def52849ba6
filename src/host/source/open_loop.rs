//! A flow that nobody answers.

use crate::host::plan::{FlowId, FlowPlan, PlanError};
use crate::host::template::Template;
use crate::schedule::Line;
use crate::time::{Duration, Instant};
use crate::units::Priority;

/// What was sent of one flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceCounters {
    /// The flow.
    pub id: FlowId,
    /// The priority that pauses it.
    pub priority: Priority,
    /// Frames given to the port.
    pub frames: u64,
    /// Their octets, FCS included.
    pub bytes: u64,
    /// Times that a frame was due and there was no memory for it. The frame is sent later, if the
    /// backlog allows.
    pub dry: u64,
}

/// A flow that nobody answers.
#[derive(Debug)]
pub(super) struct OpenLoop {
    counters: SourceCounters,
    template: Template,
    plan: FlowPlan,
    interval: Duration,
    stop: Instant,
    /// When the next frame is due.
    due: Instant,
    /// Frames still to be sent.
    left: u64,
}

impl OpenLoop {
    pub(super) fn new(plan: &FlowPlan, line: &Line) -> Result<Self, PlanError> {
        Ok(Self {
            counters: SourceCounters {
                id: plan.id,
                priority: plan.priority,
                frames: 0,
                bytes: 0,
                dry: 0,
            },
            template: Template::new(plan),
            interval: plan.interval(line)?,
            stop: plan.stop,
            due: plan.start,
            left: plan.frames.unwrap_or(u64::MAX),
            plan: plan.clone(),
        })
    }

    /// When the next frame is due; NEVER when there is none.
    #[inline]
    pub(super) fn next_at(&self) -> Instant {
        if self.left > 0 && self.due < self.stop { self.due } else { Instant::NEVER }
    }

    #[inline]
    pub(super) fn send(
        &mut self,
        now: Instant,
        backlog: Duration,
        give: impl FnOnce(&[u8], u32) -> bool,
    ) -> bool {
        let wire_len = self.template.wire_len();
        if !give(self.template.stamp(self.counters.frames, now), wire_len) {
            self.counters.dry += 1;
            return false;
        }
        self.counters.frames += 1;
        self.counters.bytes += u64::from(wire_len);
        self.left -= 1;
        self.due = self.due.max(now.saturating_sub(backlog)).saturating_add(self.interval);
        true
    }

    pub(super) fn set_line(&mut self, line: &Line) {
        let full = line.time_for(self.plan.size);
        self.interval = self.plan.interval(line).unwrap_or(full);
    }

    /// Nothing more is sent of it.
    pub(super) const fn end(&mut self) {
        self.left = 0;
    }

    /// No frame is due from here on.
    pub(super) const fn stop(&self) -> Instant {
        self.stop
    }

    /// What was sent.
    pub(super) const fn counters(&self) -> SourceCounters {
        self.counters
    }
}
