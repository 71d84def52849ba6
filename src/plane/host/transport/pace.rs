//! Rate limit of a flow, independent of its window.

use congestion::Dcqcn;
use congestion::qcn::{QuantizedFeedback, ReactionPoint};
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes};

/// Interval between two frames of a flow limited by its link only: enough for flows that share a
/// link to alternate, too little to be visible otherwise.
const TURN: Duration = Duration::from_picos(1);

/// The pace of one flow: the minimum of a fixed limit, DCQCN's and QCN's, as far as configured.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    cap: Option<BitsPerSec>,
    line: BitsPerSec,
    dcqcn: Option<Dcqcn>,
    qcn: Option<Box<ReactionPoint>>,
    /// Bytes of a full frame, and its duration at the current rate.
    full: u32,
    full_time: Duration,
    /// Nominal time of the last frame, and its length.
    last: Option<(Instant, u32)>,
    due: Instant,
    /// Nothing is due before.
    not_before: Instant,
}

impl Pace {
    /// Creates a pace on a link of `line`, for frames of mostly `full` bytes, from `start`.
    pub(super) fn new(
        cap: Option<BitsPerSec>,
        dcqcn: Option<Dcqcn>,
        line: BitsPerSec,
        full: u32,
        start: Instant,
    ) -> Self {
        let mut pace = Self {
            cap,
            line,
            dcqcn,
            qcn: None,
            full,
            full_time: TURN,
            last: None,
            due: start,
            not_before: Instant::ZERO,
        };
        pace.refresh();
        pace
    }

    /// Adds the limit of a reaction point.
    pub(super) fn with_reaction(mut self, point: Option<ReactionPoint>) -> Self {
        self.qcn = point.map(Box::new);
        self.refresh();
        self
    }

    /// Returns the time at which the next frame is due.
    #[inline]
    pub(super) const fn due(&self) -> Instant {
        self.due
    }

    /// Returns the current rate, in bits of frames.
    pub(super) fn rate(&self) -> BitsPerSec {
        let mut rate = self.cap.map_or(self.line, |cap| cap.min(self.line));
        if let Some(dcqcn) = &self.dcqcn {
            rate = rate.min(dcqcn.rate());
        }
        if let Some(qcn) = &self.qcn {
            rate = rate.min(qcn.rate());
        }
        rate
    }

    /// Records that a frame of `wire_len` bytes was sent now. The flow may catch up with its
    /// schedule by at most `backlog`.
    #[inline]
    pub(super) fn on_sent(&mut self, now: Instant, wire_len: u32, backlog: Duration) {
        // At the link's own rate there is no schedule to catch up with.
        let counts = if self.full_time == TURN { now } else { now.saturating_sub(backlog) };
        self.last = Some((self.due.max(counts), wire_len));
        if self.dcqcn.is_some() || self.qcn.is_some() {
            // Bytes sent may raise the rate of either reaction point.
            let before = self.rate();
            if let Some(dcqcn) = &mut self.dcqcn {
                dcqcn.on_sent(wire_len);
            }
            if let Some(qcn) = &mut self.qcn {
                qcn.on_sent(wire_len);
            }
            if self.rate() != before {
                return self.refresh();
            }
        }
        self.find_due();
    }

    /// Makes the next frame due no earlier than `at`. The time before is not caught up with.
    pub(super) fn defer(&mut self, time: Instant) {
        self.due = self.due.max(time);
        self.not_before = time;
    }

    /// Processes a congestion notification.
    pub(super) fn on_cnp(&mut self, now: Instant) {
        if let Some(dcqcn) = &mut self.dcqcn {
            dcqcn.on_cnp(now);
            self.refresh();
        }
    }

    /// Processes feedback of a congestion point. Returns false without a reaction point.
    pub(super) fn on_cnm(&mut self, now: Instant, feedback: QuantizedFeedback) -> bool {
        let Some(qcn) = &mut self.qcn else { return false };
        qcn.on_cnm(now, feedback);
        self.refresh();
        true
    }

    /// Returns the time for [`Self::on_timeout`].
    #[inline]
    pub(super) fn deadline(&self) -> Instant {
        let dcqcn = self.dcqcn.as_ref().map_or(Instant::NEVER, Dcqcn::next_deadline);
        self.qcn.as_ref().map_or(dcqcn, |qcn| dcqcn.min(qcn.next_deadline()))
    }

    /// Handles the deadline; may be called early.
    pub(super) fn on_timeout(&mut self, now: Instant) {
        // A call may be early, or for the other one of the two.
        if let Some(dcqcn) = self.dcqcn.as_mut().filter(|d| d.next_deadline() <= now) {
            dcqcn.on_timeout(now);
            self.refresh();
        }
        if let Some(qcn) = self.qcn.as_mut().filter(|q| q.next_deadline() <= now) {
            qcn.on_timeout(now);
            self.refresh();
        }
    }

    /// Sets another link rate.
    pub(super) fn set_line(&mut self, line: BitsPerSec) {
        self.line = line;
        if let Some(dcqcn) = &mut self.dcqcn {
            dcqcn.set_line(line);
        }
        if let Some(qcn) = &mut self.qcn {
            qcn.set_line(line);
        }
        self.refresh();
    }

    /// Recalculates the due time of the next frame after a rate change.
    fn refresh(&mut self) {
        let rate = self.rate();
        // Only the link limits the flow, and the line keeps its frames apart.
        let free = rate == self.line;
        self.full_time = if free { TURN } else { rate.time_for(Bytes(self.full.into())) };
        self.find_due();
    }

    #[inline]
    fn find_due(&mut self) {
        let Some((last, wire_len)) = self.last else { return };
        // Nearly all frames are full, whose time is known.
        let time = if wire_len == self.full || self.full_time == TURN {
            self.full_time
        } else {
            self.rate().time_for(Bytes(wire_len.into()))
        };
        self.due = last.saturating_add(time).max(self.not_before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use congestion::DcqcnPlan;

    const LINE: BitsPerSec = BitsPerSec::gbps(100);

    fn at(ps: u64) -> Instant {
        Instant::from_picos(ps.into())
    }

    #[test]
    fn a_flow_that_nothing_bounds_takes_turns_only() {
        let mut pace = Pace::new(None, None, LINE, 1000, at(5));
        assert_eq!(pace.due(), at(5));
        pace.on_sent(at(100), 1000, Duration::from_millis(1));
        assert_eq!(pace.due(), at(101));
    }

    #[test]
    fn a_cap_is_kept_and_what_is_late_is_caught_up_with_within_the_backlog() {
        let cap = BitsPerSec::gbps(10);
        let mut pace = Pace::new(Some(cap), None, LINE, 1000, Instant::ZERO);
        pace.on_sent(at(0), 1000, Duration::ZERO);
        assert_eq!(pace.due(), at(800_000));
        pace.on_sent(at(1_000_000), 500, Duration::ZERO);
        assert_eq!(pace.due(), at(1_400_000));
        pace.on_sent(at(2_000_000), 1000, Duration::from_nanos(100));
        assert_eq!(pace.due(), at(2_000_000 - 100_000 + 800_000));
    }

    #[test]
    fn a_new_rate_counts_from_the_last_frame_on() {
        let dcqcn = Dcqcn::new(DcqcnPlan::sigcomm15(), LINE);
        let mut pace = Pace::new(None, Some(dcqcn), LINE, 1000, Instant::ZERO);
        pace.on_sent(at(1_000), 1000, Duration::ZERO);
        pace.on_cnp(at(2_000));
        assert_eq!(pace.rate(), BitsPerSec::gbps(50));
        assert_eq!(pace.due(), at(1_000 + 160_000));
        assert_eq!(pace.deadline(), at(2_000) + Duration::from_micros(55));
        pace.on_timeout(pace.deadline());
        assert_eq!(pace.due(), at(1_000 + 1_000_000_000 / 9375 + 1));
    }
}
