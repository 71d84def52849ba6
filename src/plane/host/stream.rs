//! The streams of a traffic generator: their frames, their schedule, and their counters.
//!
//! A stream makes no frame before it is started. All streams of one start share an epoch for their
//! schedules, so a late port, processor or pause delays no other stream. A frame for which the port
//! has no memory is made again later, unchanged.

mod frames;
mod pace;
mod quick;
mod reference;
mod sums;
#[cfg(test)]
mod tests;
mod values;

pub use reference::Damage;
pub(super) use reference::Reference;
pub(super) use sums::order;

use super::histogram::Spares;
use super::latency::Latency;
use super::plan::stream::{Path, StreamPlan};
use super::plan::{FRAME_MAX, FlowId};
use contracts::frame::Burst;
use contracts::port::Source;
use frames::{Frames, Numbers};
use ground::time::{Duration, Instant};
use pace::Pace;
use schedule::{Line, Shaper};

/// State of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StreamState {
    /// Never started, or stopped.
    #[default]
    Stopped,
    /// Sending, or waiting for its time.
    Started,
    /// Started, and waiting to be resumed.
    Paused,
    /// Finished: it has sent all frames, or its time is over.
    Done,
}

/// Counters of a stream since its last start.
#[derive(Clone, Debug)]
pub struct StreamCounters {
    pub id: FlowId,
    pub path: Path,
    pub state: StreamState,
    /// Frames made for the port.
    pub frames: u64,
    /// Bytes sent, FCS included.
    pub bytes: u64,
    /// Number of due frames for which there was no memory.
    pub dry: u64,
    /// Time at which the first frame was made for the port.
    pub first_sent: Option<Instant>,
    /// Time at which the last frame was made for the port.
    pub last_sent: Option<Instant>,
    /// Intervals between frames.
    pub gaps: Latency,
}

/// Frames of one stream that were made together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) made: u64,
    /// Bytes of each on the wire, FCS included.
    pub(super) wire_len: u32,
    /// True if there was no memory for more that were due.
    pub(super) dry: bool,
}

#[derive(Debug)]
pub(super) struct Stream {
    counters: StreamCounters,
    plan: StreamPlan,
    frames: Frames,
    pace: Pace,
    /// Next frame of the recording, if there is one.
    played: usize,
    line: Line,
    /// Minimum frame that is sent without padding, FCS included.
    frame_min: u32,
    /// Minimum lag behind its schedule that it may catch up: the line time of a frame that it has
    /// to wait for.
    slack: Duration,
    /// End of its last frame on the line.
    on_line: Instant,
    /// Sequence number of the next frame. It continues over all starts.
    sequence: u64,
    /// Remaining frames.
    left: u64,
    /// Time at which the next frame is due.
    due: Instant,
    /// Time from which no frame is due.
    stop: Instant,
    /// Start of the pause.
    since: Instant,
}

impl Stream {
    /// Creates a stopped stream from a validated plan. `frame_min` is the minimum frame, with FCS,
    /// that its port does not pad.
    pub(super) fn new(plan: &StreamPlan, line: &Line, frame_min: u32, spares: &Spares) -> Self {
        let counters = StreamCounters {
            id: plan.id,
            path: plan.path,
            state: StreamState::Stopped,
            frames: 0,
            bytes: 0,
            dry: 0,
            first_sent: None,
            last_sent: None,
            gaps: Latency::sparse(spares),
        };
        Self {
            counters,
            frames: Frames::new(plan),
            pace: Pace::new(plan.pace, line),
            played: 0,
            line: *line,
            frame_min,
            slack: slack(plan, line, frame_min),
            on_line: Instant::ZERO,
            sequence: 0,
            left: 0,
            due: Instant::NEVER,
            stop: Instant::NEVER,
            since: Instant::ZERO,
            plan: plan.clone(),
        }
    }

    /// Starts it from its first frame at `epoch`. Its counters are reset, its sequence numbers
    /// continue.
    pub(super) fn start(&mut self, epoch: Instant) {
        let c = &mut self.counters;
        (c.frames, c.bytes, c.dry, c.first_sent, c.last_sent) = (0, 0, 0, None, None);
        c.gaps.clear();
        c.state = StreamState::Started;
        self.frames.restart();
        self.pace.restart();
        self.played = 0;
        self.left = self.plan.limit.frames.unwrap_or(u64::MAX);
        self.due = epoch.saturating_add(self.plan.delay);
        let time = self.plan.limit.time;
        self.stop = time.map_or(Instant::NEVER, |time| self.due.saturating_add(time));
        // A limit of no frames, or of no time, is over before it begins.
        self.end_if_over(Instant::ZERO);
    }

    /// Stops it until the next start.
    pub(super) const fn stop(&mut self) {
        self.counters.state = StreamState::Stopped;
    }

    /// Changes its plan from the next frame. Its number and path, its counters, its remaining
    /// frames and its end stay as they are.
    pub(super) fn change(&mut self, plan: &StreamPlan) {
        debug_assert_eq!((plan.id, plan.path), (self.plan.id, self.plan.path));
        self.frames = Frames::new(plan);
        self.pace = Pace::new(plan.pace, &self.line);
        self.played = 0;
        self.plan = plan.clone();
    }

    /// Pauses it until it is resumed.
    pub(super) fn pause(&mut self, now: Instant) {
        self.end_if_over(now);
        if self.counters.state == StreamState::Started {
            self.counters.state = StreamState::Paused;
            self.since = now;
        }
    }

    /// Resumes it; its end is postponed by the time of the pause.
    pub(super) fn resume(&mut self, now: Instant) {
        if self.counters.state == StreamState::Paused {
            self.counters.state = StreamState::Started;
            let paused = now.total_since(self.since);
            // Its schedule moves as a whole, so that no frames are caught up with.
            self.due = self.due.saturating_add_total(paused);
            self.stop = self.stop.saturating_add_total(paused);
        }
    }

    /// Ends it if its time is over.
    pub(super) fn end_if_over(&mut self, now: Instant) {
        if self.counters.state == StreamState::Started && self.is_over(now) {
            self.counters.state = StreamState::Done;
        }
    }

    /// Returns true if a started stream has nothing more to send at `now`.
    fn is_over(&self, now: Instant) -> bool {
        self.left == 0 || self.due >= self.stop || now >= self.stop
    }

    /// Returns the end of its time, if it is running.
    pub(super) fn stops_at(&self) -> Instant {
        if self.counters.state == StreamState::Started { self.stop } else { Instant::NEVER }
    }

    /// Returns true if it sends nothing more unless it is started.
    pub(super) const fn is_done(&self) -> bool {
        matches!(self.counters.state, StreamState::Stopped | StreamState::Done)
    }

    /// Returns the time at which the next frame is due; NEVER if there is none.
    #[inline]
    pub(super) fn next_at(&self) -> Instant {
        if self.counters.state == StreamState::Started { self.due } else { Instant::NEVER }
    }

    /// Makes the next frame: `give` receives its first bytes and its length with FCS and returns
    /// true if it accepted them. `start` is the start of the frame on the line, if not before its
    /// due time.
    #[inline]
    pub(super) fn send(
        &mut self,
        now: Instant,
        start: Instant,
        backlog: Duration,
        give: impl FnOnce(&[u8], u32) -> bool,
    ) -> bool {
        if self.plan.recording.is_some() {
            return self.play(now, start, backlog, give);
        }
        // The port pads shorter frames: they take the line for that long.
        let size = self.frames.size().max(self.frame_min);
        let numbers = Numbers { sequence: self.sequence, sent: now };
        if !give(self.frames.stamp(numbers), size) {
            self.counters.dry += 1;
            return false;
        }
        self.frames.advance();
        self.count(now, size, 1);
        let due = self.caught_up(now, start, backlog);
        let start = start.max(due);
        self.on_line = start.saturating_add(self.line.time_for(size));
        self.due = self.pace.after(due, start, size);
        self.end_if_over(now);
        true
    }

    /// As [`Self::send`], for a recording.
    fn play(
        &mut self,
        now: Instant,
        start: Instant,
        backlog: Duration,
        give: impl FnOnce(&[u8], u32) -> bool,
    ) -> bool {
        let recording = self.plan.recording.as_ref().expect("it was looked at by the caller");
        let (octets, len, gap) = recording.frame(self.played);
        let size = len.max(self.frame_min);
        if !give(octets, size) {
            self.counters.dry += 1;
            return false;
        }
        let (frames, timed) = (recording.len(), recording.timed);
        // In a loop; a limit ends it.
        self.played = if self.played + 1 == frames { 0 } else { self.played + 1 };
        self.count(now, size, 1);
        let due = self.caught_up(now, start, backlog);
        let start = start.max(due);
        self.on_line = start.saturating_add(self.line.time_for(size));
        self.due = if timed { due.saturating_add(gap) } else { self.pace.after(due, start, size) };
        self.end_if_over(now);
        true
    }

    /// Makes all frames that are due now and before the next flow at `until`, at most `most` and no
    /// more than fit the shaper's line: the same frames at the same times as with [`Self::send`]
    /// for each. `None`, without effect, if frames have to be made one by one.
    #[allow(
        clippy::too_many_arguments,
        reason = "plain values in registers, on the path of a frame"
    )]
    #[inline]
    pub(super) fn run<P: Source>(
        &mut self,
        now: Instant,
        until: Instant,
        most: usize,
        shaper: &Shaper,
        backlog: Duration,
        port: &mut P,
        hand: &mut Burst<P::Frame>,
    ) -> Option<Run> {
        // Frames of a run differ in their head alone, and only the rate decides when each is due.
        let alike = self.plan.recording.is_none() && self.frames.is_even();
        if most < 2 || until <= now || !self.pace.is_plain() || !alike {
            return None;
        }
        let wire_len = self.frames.size().max(self.frame_min);
        let due = self.caught_up(now, shaper.start(now), backlog);
        // The line, the hand, the limit of the stream, and what is due: the least of the four.
        let n = shaper.room(now, wire_len).min(most as u64).min(self.left);
        let n = n.min(1 + self.pace.more_by(due, wire_len, now));
        // A stream too far behind its schedule may have to be cut short in between.
        if n < 2 || due < now.saturating_sub(backlog.max(self.slack)) {
            return None;
        }
        let numbers = Numbers { sequence: self.sequence, sent: now };
        let made = self.frames.burst(n as usize, numbers, wire_len, port, hand) as u64;
        if made > 0 {
            self.count(now, wire_len, made);
            // The last of them starts after those before it, and not before it is due.
            let last = self.pace.after_many(due, wire_len, made - 1);
            let each = self.line.time_for(wire_len);
            let gone = shaper.start(now).saturating_add(each.saturating_mul(made - 1));
            let start = gone.max(last);
            self.on_line = start.saturating_add(each);
            // Behind the last frame, with the rounding error that all of them left.
            self.due = self.pace.after_many(last, wire_len, 1);
            self.end_if_over(now);
        }
        self.counters.dry += u64::from(made < n);
        Some(Run { made, wire_len, dry: made < n })
    }

    /// Returns the due time of the next frame if it is sent now and starts on the line at `start`,
    /// less the lag that it may not catch up.
    #[inline]
    fn caught_up(&self, now: Instant, start: Instant, backlog: Duration) -> Instant {
        // The line time of its own frames is part of its schedule, however long they are.
        if start.max(self.due) > self.on_line {
            self.due.max(now.saturating_sub(backlog.max(self.slack)))
        } else {
            self.due
        }
    }

    /// Counts `n` frames of `size` bytes.
    #[inline]
    fn count(&mut self, now: Instant, size: u32, n: u64) {
        self.sequence += n;
        self.left -= n;
        let c = &mut self.counters;
        c.frames += n;
        c.bytes += n * u64::from(size);
        match c.last_sent {
            // The gap before the first of these; between them there is none, as they were made together.
            Some(last) => c.gaps.record(now.since(last)),
            None => c.first_sent = Some(now),
        }
        if n > 1 {
            c.gaps.record_many(Duration::ZERO, n - 1);
        }
        c.last_sent = Some(now);
    }

    /// Sets another link rate.
    pub(super) fn set_line(&mut self, line: &Line) {
        self.line = *line;
        self.slack = slack(&self.plan, line, self.frame_min);
        self.pace.set_line(line);
    }

    /// Returns the counters, as of the last poll.
    pub(super) const fn counters(&self) -> &StreamCounters {
        &self.counters
    }

    /// Returns the counters at `now`.
    pub(super) fn counters_at(&self, now: Instant) -> StreamCounters {
        let mut counters = self.counters.clone();
        if counters.state == StreamState::Started && self.is_over(now) {
            counters.state = StreamState::Done;
        }
        counters
    }
}

/// Returns the line time of the longest frame that a stream has to wait for: one of its own, or, on
/// the control path, any.
fn slack(plan: &StreamPlan, line: &Line, frame_min: u32) -> Duration {
    line.time_for(match plan.path {
        Path::Data(_) => plan.sizes.longest().max(frame_min),
        Path::Control => FRAME_MAX,
    })
}
