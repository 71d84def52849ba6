//! A flow without acknowledgements.

use crate::plan::{FlowId, FlowPlan, PlanError};
use crate::template::Template;
use congestion::qcn::{QuantizedFeedback, ReactionPoint};
use ground::memory::fetch;
use ground::time::{Duration, Instant};
use ground::units::{Bytes, Priority};
use schedule::Line;

/// Counters of a sent flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SourceCounters {
    pub id: FlowId,
    /// Priority that pauses it.
    pub priority: Priority,
    /// Frames given to the port.
    pub frames: u64,
    /// Bytes given to the port, FCS included.
    pub bytes: u64,
    /// Number of due frames for which there was no memory. They are sent later, if the backlog
    /// allows.
    pub dry: u64,
}

/// A flow without acknowledgements.
#[derive(Debug)]
pub(super) struct OpenLoop {
    counters: SourceCounters,
    template: Template,
    plan: FlowPlan,
    /// Planned interval between frames.
    planned: Duration,
    /// Current interval: the planned one, or longer if the reaction point requires.
    interval: Duration,
    qcn: Option<Box<ReactionPoint>>,
    /// Nominal time of the last frame.
    last: Option<Instant>,
    stop: Instant,
    /// Time at which the next frame is due.
    due: Instant,
    /// Nothing is due before.
    not_before: Instant,
    /// Remaining frames.
    left: u64,
}

impl OpenLoop {
    /// Creates the flow of a validated plan, with or without a QCN reaction point.
    pub(super) fn new(
        plan: &FlowPlan,
        line: &Line,
        qcn: Option<ReactionPoint>,
    ) -> Result<Self, PlanError> {
        let planned = plan.interval(line)?;
        let mut flow = Self {
            counters: SourceCounters {
                id: plan.id,
                priority: plan.priority,
                frames: 0,
                bytes: 0,
                dry: 0,
            },
            template: Template::new(plan),
            planned,
            interval: planned,
            qcn: qcn.map(Box::new),
            last: None,
            stop: plan.stop,
            due: plan.start,
            not_before: Instant::ZERO,
            left: plan.frames.unwrap_or(u64::MAX),
            plan: plan.clone(),
        };
        flow.find_interval();
        Ok(flow)
    }

    /// Brings what the next frame needs into the caches.
    pub(super) fn fetch(&self) {
        fetch(&self.counters.frames);
        fetch(&self.counters.bytes);
        fetch(&self.template);
        fetch(&self.planned);
        fetch(&self.qcn);
        fetch(&self.last);
        fetch(&self.stop);
        fetch(&self.due);
        fetch(&self.not_before);
        fetch(&self.left);
        self.template.fetch();
    }

    /// Brings the first bytes of the next frame into the caches.
    pub(super) fn fetch_head(&self) {
        self.template.fetch_head();
    }

    /// Returns the time at which the next frame is due; NEVER if there is none.
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
        // The number is that of the next frame: a refused one is stamped again with the same.
        if !give(self.template.stamp(self.counters.frames, now), wire_len) {
            self.counters.dry += 1;
            return false;
        }
        self.counters.frames += 1;
        self.counters.bytes += u64::from(wire_len);
        self.left -= 1;
        // Behind its schedule by more than the backlog, the flow gives the rest up.
        let last = self.due.max(now.saturating_sub(backlog));
        self.last = Some(last);
        if let Some(qcn) = &mut self.qcn {
            let before = qcn.rate();
            qcn.on_sent(wire_len);
            // By bytes sent, a reaction point may raise its rate here.
            if qcn.rate() != before {
                self.find_interval();
            }
        }
        self.due = last.saturating_add(self.interval).max(self.not_before);
        true
    }

    pub(super) fn set_line(&mut self, line: &Line) {
        let full = line.time_for(self.plan.size);
        // A rate above that of the new link becomes all of it.
        self.planned = self.plan.interval(line).unwrap_or(full);
        if let Some(qcn) = &mut self.qcn {
            qcn.set_line(line.rate());
        }
        self.find_interval();
    }

    /// Processes feedback of a congestion point. Returns false without a reaction point.
    pub(super) fn on_cnm(&mut self, now: Instant, feedback: QuantizedFeedback) -> bool {
        let Some(qcn) = &mut self.qcn else { return false };
        qcn.on_cnm(now, feedback);
        self.find_due();
        true
    }

    /// Returns the time for [`Self::on_timeout`].
    #[inline]
    pub(super) fn deadline(&self) -> Instant {
        let Some(qcn) = &self.qcn else { return Instant::NEVER };
        // A flow that is done has no rate to recover.
        if self.left > 0 { qcn.next_deadline() } else { Instant::NEVER }
    }

    /// Handles the deadline; may be called early.
    pub(super) fn on_timeout(&mut self, now: Instant) {
        if let Some(qcn) = &mut self.qcn {
            qcn.on_timeout(now);
            self.find_due();
        }
    }

    /// Makes the next frame due no earlier than `at`. The time before is not caught up with.
    pub(super) fn defer(&mut self, time: Instant) {
        self.due = self.due.max(time);
        self.not_before = time;
    }

    /// Recalculates the due time of the next frame after a rate change.
    fn find_due(&mut self) {
        self.find_interval();
        if let Some(last) = self.last {
            self.due = last.saturating_add(self.interval).max(self.not_before);
        }
    }

    fn find_interval(&mut self) {
        let size = Bytes(self.template.wire_len().into());
        let held = self.qcn.as_ref().map_or(Duration::ZERO, |qcn| qcn.rate().time_for(size));
        // The slower of the two limits.
        self.interval = self.planned.max(held);
    }

    /// Stops sending.
    pub(super) const fn end(&mut self) {
        self.left = 0;
    }

    /// Returns the time from which no frame is due.
    pub(super) const fn stop(&self) -> Instant {
        self.stop
    }

    pub(super) const fn counters(&self) -> SourceCounters {
        self.counters
    }
}
