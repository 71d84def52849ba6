//! Calls of a station's owner between two polls: streams are started, stopped, paused and changed,
//! connections are restarted, and memory is brought into the caches.
//!
//! Each `fetch` function, for drivers that know when the station is polled, brings what the one before leads
//! to. None waits, and no result depends on them.

use super::{Calm, Station};
use crate::plan::stream::StreamPlan;
use crate::plan::{FlowId, PlanError, TransportPlan};
use crate::sink::Sink;
use crate::stream::{Stream, StreamCounters};
use contracts::port::Source;
use ground::memory::fetch;
use ground::time::Instant;
use link::PortAgents;

impl<P: Source> Station<P> {
    /// Returns the link protocols, if there are any.
    pub fn agents(&self) -> Option<&PortAgents> {
        self.agents.as_deref()
    }

    /// Returns the link protocols, for reading their events.
    pub fn agents_mut(&mut self) -> Option<&mut PortAgents> {
        self.calm = Calm::OVER;
        self.agents.as_deref_mut()
    }

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
        // Before anything changes, and against the present rate of the link.
        plan.check(self.shaper.line())?;
        self.calm = Calm::OVER;
        self.sources.tell_streams(&[plan.id], |stream| stream.change(plan));
        if let Some(reactions) = &mut self.reactions {
            // Messages name a flow by its addresses, which may be others now.
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
        // Only the frames: the sender's link may be faster than this one.
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

impl<P: Source> Station<P> {
    /// Restarts the sender of a connection at `plan.start`, with counters at zero. The other end
    /// has to be restarted too, and no earlier frame may be in flight. The plan may differ from
    /// that of the station in its times only. Returns false if there is no such sender.
    pub fn restart_sender(&mut self, plan: &TransportPlan) -> bool {
        self.calm = Calm::OVER;
        self.sources.restart_sender(plan, self.shaper.line().rate())
    }

    /// Restarts the receiver of a connection and its counters.
    pub fn restart_receiver(&mut self, plan: &TransportPlan) -> bool {
        self.calm = Calm::OVER;
        let place = self.lookup.get(plan.id.0 as usize);
        let Some(i) = place.and_then(|i| (*i as usize).checked_sub(1)) else { return false };
        let Some(n) = i.checked_sub(self.expects) else { return false };
        self.answers.restart(n, plan);
        // Sequence numbers begin at 0 again: a sink that went on would take all frames for duplicates.
        self.sinks[i] = Sink::new(plan.id, self.sinks[i].priority(), &self.spares);
        true
    }

    /// Ends the senders of connections: nothing more is sent, acknowledged or not.
    pub fn end_senders(&mut self, which: &[FlowId]) {
        self.calm = Calm::OVER;
        which.iter().for_each(|id| self.sources.end_sender(*id));
    }
}

/// Flows that are received of which the counters are brought. A choice: few stations have more at a time.
const SINKS: usize = 2;

impl<P: Source> Station<P> {
    /// The state of the whole station.
    pub fn fetch(&self) {
        fetch(&self.port);
        fetch(&self.up);
        fetch(&self.mac);
        fetch(&self.slot);
        fetch(&self.shaper);
        fetch(&self.hand);
        fetch(&self.retry);
        fetch(&self.leading);
        fetch(&self.sinks);
        fetch(&self.lookup);
        fetch(&self.expects);
        fetch(&self.meter);
        fetch(&self.paused);
        fetch(&self.counters.rx_frames);
        fetch(&self.counters.tx_bytes);
        fetch(&self.calm);
        fetch(&self.read);
        self.sources.fetch();
    }

    /// The orders of its senders, and the counters of flows that it receives.
    pub fn fetch_flows(&self) {
        self.lookup.first().into_iter().for_each(fetch);
        for sink in self.sinks.iter().take(SINKS) {
            sink.fetch();
        }
        self.sources.fetch_lanes();
    }

    /// The flows that send next.
    pub fn fetch_senders(&self) {
        self.sources.fetch_flows();
    }

    /// The frames that they send next.
    pub fn fetch_heads(&self) {
        self.sources.fetch_heads();
    }
}
