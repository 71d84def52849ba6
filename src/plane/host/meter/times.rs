//! Pauses of one priority in one direction, and the data frames in the other direction that they
//! stop.

use ground::time::{Duration, Instant, Total};
use ground::units::BitsPerSec;

/// Requested pauses of one priority, and their effect.
///
/// A run is a pause and all that follow it before it ends: by a resume, or by expiry of the last
/// one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PauseTimes {
    /// Frames that request a pause.
    pub pauses: u64,
    /// Frames that end a pause, with a time of 0.
    pub resumes: u64,
    /// Total requested pause time: the union, as each frame replaces the one before.
    pub requested: Total,
    /// Number of runs.
    pub runs: u64,
    /// Longest interval from one pause to the next without a resume in between.
    pub gap_max: Option<Duration>,
    /// Time of the last pause: the window in which the next has to arrive.
    pub window: Option<Duration>,
    /// Pauses that arrived after the previous one had expired, without a resume in between. A pause
    /// is over at the very instant at which it ends.
    pub lapses: u64,
    /// Total time without a pause in those lapses.
    pub uncovered: Total,
    /// Arrival of the last pause. The time since then is not a gap yet.
    pub last: Option<Instant>,
    /// Longest time from the first frame of a run to the last data frame in it. Zero for pauses
    /// without data in them.
    pub last_frame: Option<Duration>,
    /// Longest time from the end of a run to the first data frame after it.
    pub first_frame: Option<Duration>,
}

impl PauseTimes {
    /// Returns true if each pause arrived before the previous one expired; `None` if no pause
    /// followed another.
    #[must_use]
    pub fn continuous(&self) -> Option<bool> {
        self.gap_max.map(|_| self.lapses == 0)
    }
}

/// Meter of the pauses of one priority in one direction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PauseMeter {
    /// Start and end of the current or last run.
    start: Instant,
    until: Instant,
    /// Previous pause for the next gap; `None` after a resume.
    before: Option<Instant>,
    /// True if no data frame was seen after the last run.
    waits: bool,
    /// Excludes `requested` of the current or last run.
    times: PauseTimes,
}

impl PauseMeter {
    /// Records a pause that lasts for `window`, and counts it if `counts`.
    pub(super) fn on_pause(&mut self, now: Instant, window: Duration, counts: bool) {
        let t = &mut self.times;
        t.pauses += u64::from(counts);
        t.window = Some(window);
        t.last = Some(now);
        if let Some(before) = self.before {
            t.gap_max = t.gap_max.max(Some(now.since(before)));
            if now >= self.until {
                t.lapses += 1;
                t.uncovered += now.total_since(self.until);
            }
        }
        if now >= self.until {
            t.requested += self.until.since(self.start);
            t.runs += 1;
            self.start = now;
        }
        t.last_frame = t.last_frame.max(Some(Duration::ZERO));
        self.before = Some(now);
        self.until = now.saturating_add(window);
        self.waits = true;
    }

    /// Ends the pause at `now`: by a resume frame that counts (`said`), or because the link went
    /// down, or another queue of the port received one.
    pub(super) fn on_resume(&mut self, now: Instant, said: bool) {
        self.times.resumes += u64::from(said);
        self.before = None;
        self.until = self.until.min(now);
    }

    /// Records a data frame. Returns true if further ones before the next pause cannot change the
    /// result.
    pub(super) fn on_frame(&mut self, now: Instant) -> bool {
        if now < self.until {
            self.times.last_frame = self.times.last_frame.max(Some(now.since(self.start)));
            return false;
        }
        if self.waits {
            self.times.first_frame = self.times.first_frame.max(Some(now.since(self.until)));
            self.waits = false;
        }
        true
    }

    /// Converts the remaining pause to another link rate.
    pub(super) fn stretch(&mut self, now: Instant, from: BitsPerSec, to: BitsPerSec) {
        if now < self.until {
            let bits = u128::from(self.until.since(now).as_picos()) * u128::from(from.get());
            let left = u64::try_from(bits.div_ceil(to.get().into())).unwrap_or(u64::MAX);
            self.until = now.saturating_add(Duration::from_picos(left));
        }
    }

    /// Resets the results from data frames.
    pub(super) fn clear_frames(&mut self) {
        self.times.last_frame = None;
        self.times.first_frame = None;
    }

    /// Resets all but the counts and the requested time; the next pause starts a new sequence.
    pub(super) fn clear(&mut self) {
        let PauseTimes { pauses, resumes, requested, runs, .. } = self.times;
        self.times = PauseTimes { pauses, resumes, requested, runs, ..PauseTimes::default() };
        self.before = None;
    }

    /// Returns the results up to `now`.
    pub(super) fn times(&self, now: Instant) -> PauseTimes {
        let mut times = self.times;
        times.requested += self.until.min(now.max(self.start)).since(self.start);
        times
    }
}
