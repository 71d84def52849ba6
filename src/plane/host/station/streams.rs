//! Control of streams: start, stop, pause, change.

use super::Station;
use super::calm::Calm;
use crate::plan::stream::StreamPlan;
use crate::plan::{FlowId, PlanError};
use crate::stream::{Stream, StreamCounters};
use contracts::port::Source;
use ground::time::Instant;

impl<P: Source> Station<P> {
    /// Starts those of the streams `which` that it sends, each from its first frame. Their times
    /// count from `epoch`, which should be a little ahead, and the same for all stations of a test.
    /// Their counters are reset; their sequence numbers continue.
    pub fn start_streams(&mut self, epoch: Instant, which: &[FlowId]) {
        self.calm = Calm::OVER;
        self.sources.tell_streams(which, |stream| stream.start(epoch));
    }

    /// Stops those of the streams `which` that it sends. Frames made and not accepted by the port
    /// yet are still sent.
    pub fn stop_streams(&mut self, which: &[FlowId]) {
        self.calm = Calm::OVER;
        self.sources.tell_streams(which, Stream::stop);
    }

    /// Pauses those of the streams `which` that it sends.
    pub fn pause_streams(&mut self, now: Instant, which: &[FlowId]) {
        self.calm = Calm::OVER;
        self.sources.tell_streams(which, |stream| stream.pause(now));
    }

    /// Resumes those of the streams `which` that were paused; their end is postponed by the time of
    /// the pause.
    pub fn resume_streams(&mut self, now: Instant, which: &[FlowId]) {
        self.calm = Calm::OVER;
        self.sources.tell_streams(which, |stream| stream.resume(now));
    }

    /// Changes the plan of a stream from its next frame: pace, sizes, addresses. Its number and
    /// path, its remaining frames and its end stay as they are.
    ///
    /// # Errors
    /// As [`StationPlan::check`](crate::StationPlan::check) for that stream.
    pub fn set_stream(&mut self, plan: &StreamPlan) -> Result<(), PlanError> {
        plan.check(self.shaper.line())?;
        self.calm = Calm::OVER;
        self.sources.tell_streams(&[plan.id], |stream| stream.change(plan));
        if let Some(reactions) = &mut self.reactions {
            reactions.set_stream(plan);
        }
        Ok(())
    }

    /// Changes what the frames of a compared stream look like. Until the next change, frames that look as
    /// before are accepted, too, as they may be in flight.
    ///
    /// # Errors
    /// As [`StationPlan::check`](crate::StationPlan::check) for the frames of that stream.
    pub fn set_compared(&mut self, plan: &StreamPlan) -> Result<(), PlanError> {
        plan.check_frames()?;
        let place = self.lookup.get(plan.id.0 as usize).and_then(|i| (*i as usize).checked_sub(1));
        if let Some(Some(reference)) = place.and_then(|i| self.references.get_mut(i)) {
            reference.change(plan);
        }
        Ok(())
    }

    /// Returns the counters of one of its streams.
    pub fn stream(&self, id: FlowId) -> Option<&StreamCounters> {
        self.sources.stream(id)
    }

    /// Iterates over the counters of its streams, in the order of the plan. Costs nothing; a stream
    /// whose time is over is done with the next poll.
    pub fn streams(&self) -> impl Iterator<Item = &StreamCounters> {
        self.sources.streams()
    }
}
