//! Starting and stopping streams.

use super::Station;
use crate::host::plan::stream::StreamPlan;
use crate::host::plan::{FlowId, PlanError};
use crate::host::stream::{Stream, StreamCounters};
use crate::port::Source;
use crate::time::Instant;

impl<P: Source> Station<P> {
    /// Starts those of the streams `which` that it sends, each from its first frame. Their times
    /// count from `epoch`, which is best a little ahead, and the same for all stations of a test.
    /// What was counted of them is forgotten; their sequence numbers go on.
    pub fn start_streams(&mut self, epoch: Instant, which: &[FlowId]) {
        self.sources.tell_streams(which, |stream| stream.start(epoch));
    }

    /// Stops those of the streams `which` that it sends. Frames that are made and not yet taken by
    /// the port are still sent.
    pub fn stop_streams(&mut self, which: &[FlowId]) {
        self.sources.tell_streams(which, Stream::stop);
    }

    /// Those of the streams `which` that it sends wait until they are resumed.
    pub fn pause_streams(&mut self, now: Instant, which: &[FlowId]) {
        self.sources.tell_streams(which, |stream| stream.pause(now));
    }

    /// Those of the streams `which` that were paused go on where they were; they end so much later
    /// as they were paused.
    pub fn resume_streams(&mut self, now: Instant, which: &[FlowId]) {
        self.sources.tell_streams(which, |stream| stream.resume(now));
    }

    /// Makes the frames of a stream that it sends by another plan, from the next one on: at another
    /// pace, of other sizes, to another address. Its number and way are those it was planned with;
    /// what it still has to send, and when it ends, stay as they are.
    ///
    /// # Errors
    /// As [`StationPlan::check`](crate::host::StationPlan::check) for that stream.
    pub fn set_stream(&mut self, plan: &StreamPlan) -> Result<(), PlanError> {
        plan.check(self.shaper.line())?;
        self.sources.tell_streams(&[plan.id], |stream| stream.change(plan));
        if let Some(reactions) = &mut self.reactions {
            reactions.set_stream(plan);
        }
        Ok(())
    }

    /// Counts of one of its own streams.
    pub fn stream(&self, id: FlowId) -> Option<&StreamCounters> {
        self.sources.stream(id)
    }

    /// What was sent of its streams so far, in the order of the plan. Costs nothing to look at; a
    /// stream whose time is over is done with the next poll.
    pub fn streams(&self) -> impl Iterator<Item = &StreamCounters> {
        self.sources.streams()
    }
}
