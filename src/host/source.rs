//! The flows of one station, in the order in which their frames are due.

use core::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::plan::{FlowId, FlowPlan, PlanError};
use super::template::Template;
use crate::schedule::Line;
use crate::time::{Duration, Instant};
use crate::units::{PRIORITIES, Priority, PrioritySet};

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

/// The sending end of one flow.
#[derive(Debug)]
struct Flow {
    counters: SourceCounters,
    template: Template,
    interval: Duration,
    stop: Instant,
    /// Frames still to be sent.
    left: u64,
}

/// A flow in its heap: the time its next frame is due, then its place for a stable order.
type Due = Reverse<(Instant, usize)>;

/// All flows of a station. Each priority has a heap of its own, so that a paused one costs nothing.
#[derive(Debug)]
pub(super) struct Sources {
    flows: Vec<Flow>,
    heaps: [BinaryHeap<Due>; PRIORITIES],
    backlog: Duration,
}

impl Sources {
    /// Prepares the flows of a checked plan on a link.
    ///
    /// # Errors
    /// As [`FlowPlan::interval`].
    pub(super) fn new(
        plans: &[FlowPlan],
        line: &Line,
        backlog: Duration,
    ) -> Result<Self, PlanError> {
        let mut heaps: [BinaryHeap<Due>; PRIORITIES] = Default::default();
        let mut flows = Vec::with_capacity(plans.len());
        for (i, plan) in plans.iter().enumerate() {
            let left = plan.frames.unwrap_or(u64::MAX);
            if left > 0 && plan.start < plan.stop {
                heaps[plan.priority.index()].push(Reverse((plan.start, i)));
            }
            flows.push(Flow {
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
                left,
            });
        }
        Ok(Self { flows, heaps, backlog })
    }

    /// The flow whose frame is due first among those that are not paused, and when. Ties go to
    /// the lower priority number, then to the flow that was planned first.
    #[inline]
    pub(super) fn first(&self, paused: PrioritySet) -> Option<(Instant, Priority)> {
        Priority::ALL
            .into_iter()
            .filter(|p| !paused.contains(*p))
            .filter_map(|p| self.heaps[p.index()].peek().map(|Reverse((due, _))| (*due, p)))
            .min()
    }

    /// Makes the next frame of the flow that leads priority `p`: `give` gets its first octets and
    /// its length and says whether it took them. If so the flow moves on to its next frame.
    #[inline]
    pub(super) fn send(
        &mut self,
        now: Instant,
        p: Priority,
        give: impl FnOnce(&[u8], u32) -> bool,
    ) -> bool {
        let heap = &mut self.heaps[p.index()];
        let Some(mut top) = heap.peek_mut() else { return false };
        let Reverse((due, i)) = *top;
        let flow = &mut self.flows[i];
        let wire_len = flow.template.wire_len();
        if !give(flow.template.stamp(flow.counters.frames, now), wire_len) {
            flow.counters.dry += 1;
            return false;
        }
        flow.counters.frames += 1;
        flow.counters.bytes += u64::from(wire_len);
        flow.left -= 1;
        let next = due.max(now.saturating_sub(self.backlog)).saturating_add(flow.interval);
        if flow.left > 0 && next < flow.stop {
            *top = Reverse((next, i));
        } else {
            PeekMut::pop(top);
        }
        true
    }

    /// Ends the flows whose time is over, whether they have sent all that was due or not. One that
    /// waits behind another of its priority ends when it comes to the front.
    #[inline]
    pub(super) fn expire(&mut self, now: Instant) {
        for heap in &mut self.heaps {
            while heap.peek().is_some_and(|Reverse((_, i))| self.flows[*i].stop <= now) {
                heap.pop();
            }
        }
    }

    /// Ends all flows.
    pub(super) fn stop(&mut self) {
        self.heaps.iter_mut().for_each(BinaryHeap::clear);
    }

    /// Whether no flow has anything more to send.
    pub(super) fn is_done(&self) -> bool {
        self.heaps.iter().all(BinaryHeap::is_empty)
    }

    /// What was sent, by flow in the order of the plan.
    pub(super) fn counters(&self) -> impl Iterator<Item = &SourceCounters> {
        self.flows.iter().map(|f| &f.counters)
    }
}
