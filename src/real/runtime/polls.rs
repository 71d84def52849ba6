//! Gaps between the polls of a worker, which the headroom of its ports depends on.
//!
//! Headroom has room for the frames that a link brings between two polls, if the gap is no longer
//! than planned (`link.poll_gap`). The system may take the processor away for longer, and then
//! received frames may find no room, or may wait in a ring that is too short.

use ground::time::{Duration, Instant};

/// Gaps between the polls of one worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PollRecord {
    /// Longest gap that the headroom of the worker's ports allows for; none if no port has
    /// headroom.
    pub planned: Option<Duration>,
    /// Longest gap that occurred.
    pub longest: Duration,
    /// Gaps longer than planned.
    pub late: u64,
}

impl PollRecord {
    /// True if a gap was longer than planned.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.late > 0
    }
}

/// Measures the gaps: two comparisons for each poll.
#[derive(Clone, Copy, Debug)]
pub(super) struct PollMeter {
    gaps: PollRecord,
    planned: Duration,
    last: Instant,
    is_over: bool,
}

impl PollMeter {
    /// Makes a meter whose first gap begins at `now`.
    pub(super) fn new(planned: Option<Duration>, now: Instant) -> Self {
        let gaps = PollRecord { planned, ..PollRecord::default() };
        Self { gaps, planned: planned.unwrap_or(Duration::MAX), last: now, is_over: false }
    }

    /// Records a poll.
    #[inline]
    pub(super) fn poll(&mut self, now: Instant) {
        let gap = now.since(self.last);
        self.last = now;
        if gap > self.gaps.longest {
            self.lengthen(gap);
        }
        if gap > self.planned {
            self.gaps.late += u64::from(!self.is_over);
        }
    }

    #[cold]
    fn lengthen(&mut self, gap: Duration) {
        if !self.is_over {
            self.gaps.longest = gap;
        }
    }

    /// Restarts the measurement.
    pub(super) fn clear(&mut self) {
        let planned = self.gaps.planned;
        self.gaps = PollRecord { planned, ..PollRecord::default() };
    }

    /// Ends the measurement: frames received from now on are not part of the run.
    pub(super) fn finish(&mut self) {
        self.is_over = true;
    }

    pub(super) const fn gaps(&self) -> PollRecord {
        self.gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    #[test]
    fn the_longest_gap_and_those_beyond_the_plan_are_known() {
        let mut meter = PollMeter::new(Some(Duration::from_micros(10)), at(5));
        for us in [6, 16, 27, 28, 128] {
            meter.poll(at(us));
        }
        let longest = Duration::from_micros(100);
        let planned = Some(Duration::from_micros(10));
        assert_eq!(meter.gaps(), PollRecord { planned, longest, late: 2 });
        meter.clear();
        meter.poll(at(131));
        assert_eq!(meter.gaps().longest, Duration::from_micros(3));
        assert!(!meter.gaps().is_late());
    }

    #[test]
    fn gaps_after_the_end_do_not_count() {
        let mut meter = PollMeter::new(Some(Duration::from_micros(10)), at(0));
        meter.poll(at(1));
        meter.finish();
        meter.poll(at(1_000));
        assert_eq!((meter.gaps().longest, meter.gaps().late), (Duration::from_micros(1), 0));
    }

    #[test]
    fn without_a_plan_no_gap_is_late() {
        let mut meter = PollMeter::new(None, at(0));
        meter.poll(at(1_000_000));
        assert!(!meter.gaps().is_late());
    }
}
