//! Pauses of one priority in one direction: their times, the data frames in the other direction that they
//! stop, and the reaction time of a peer to them.
//!
//! A pause forbids starting a frame later than a limit after it was received (IEEE 802.3 31B.3.7,
//! 802.1Q-2022 36.1.3); a frame that has started is finished. The reaction to a pause is therefore
//! the time from sending it to the start of the last frame of the train that it stops. The train
//! ends with the first silence: a later frame, such as one that a peer sends a moment before the
//! pause ends, is not part of the reaction. It is counted as a frame after the stop.

use ground::statistics;
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
        // Without a resume in between the peer was to be paused all the time.
        if let Some(before) = self.before {
            t.gap_max = t.gap_max.max(Some(now.since(before)));
            if now >= self.until {
                t.lapses += 1;
                t.uncovered += now.total_since(self.until);
            }
        }
        if now >= self.until {
            // A run is added when the next one begins, as its end is not known before.
            t.requested += self.until.since(self.start);
            t.runs += 1;
            self.start = now;
        }
        t.last_frame = t.last_frame.max(Some(Duration::ZERO));
        self.before = Some(now);
        self.until = now.saturating_add(window);
        // The first data frame after the run has not come yet.
        self.waits = true;
    }

    /// Ends the pause at `now`: by a resume frame, if this one `counts`, or because the link went
    /// down, or another queue of the port received one.
    pub(super) fn on_resume(&mut self, now: Instant, counts: bool) {
        self.times.resumes += u64::from(counts);
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
            // The remaining bit times stay; rounded up, a pause never ends early.
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
        // The part of the current run that has passed.
        times.requested += self.until.min(now.max(self.start)).since(self.start);
        times
    }
}

/// Maximum silence within a train, where frames came at shorter intervals before. A choice: longer
/// than polling devices take between two polls.
const SILENCE: Duration = Duration::from_millis(1);

/// Number of recent reactions used for percentiles.
const KEPT: usize = 128;

/// Reactions to pauses: one for each time that a priority was stopped, however often the pause was
/// renewed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reactions {
    /// Pauses that began.
    pub count: u64,
    /// Shortest reaction.
    pub min: Option<Duration>,
    /// Longest reaction.
    pub max: Option<Duration>,
    /// Frames that started after a pause and before its end.
    pub in_window: u64,
    /// Frames among these that came after the train had stopped.
    pub after_stop: u64,
    /// Recent reactions.
    kept: [Duration; KEPT],
}

impl Default for Reactions {
    fn default() -> Self {
        let kept = [Duration::ZERO; KEPT];
        Self { count: 0, min: None, max: None, in_window: 0, after_stop: 0, kept }
    }
}

impl Reactions {
    /// Returns the reaction that `percent` (0 to 100) of the last 128 did not exceed; `None`
    /// without any.
    pub fn percentile(&self, percent: usize) -> Option<Duration> {
        // Before the ring is full its rest is zeros.
        let known = usize::try_from(self.count).map_or(KEPT, |count| count.min(KEPT));
        let mut kept = self.kept;
        let kept = &mut kept[..known];
        kept.sort_unstable();
        statistics::percentile(kept, percent)
    }

    /// Adds other reactions, whose recent ones count as the most recent.
    pub(super) fn merge(&mut self, other: &Self) {
        let sum = self.count + other.count;
        let known = usize::try_from(other.count).map_or(KEPT, |count| count.min(KEPT));
        for reaction in &other.kept[..known] {
            self.kept[(self.count % KEPT as u64) as usize] = *reaction;
            self.count += 1;
        }
        self.count = sum;
        self.min = [self.min, other.min].into_iter().flatten().min();
        self.max = self.max.max(other.max);
        self.in_window += other.in_window;
        self.after_stop += other.after_stop;
    }

    fn add(&mut self, reaction: Duration) {
        self.kept[(self.count % KEPT as u64) as usize] = reaction;
        self.count += 1;
        self.min = Some(self.min.map_or(reaction, |min| min.min(reaction)));
        self.max = self.max.max(Some(reaction));
    }
}

/// Meter of the reactions to the pauses of one priority.
#[derive(Clone, Debug, Default)]
pub(super) struct ReactionMeter {
    /// True if a pause has begun that is not in `reactions` yet.
    open: bool,
    start: Instant,
    until: Instant,
    /// Start of the last frame of the train.
    last: Instant,
    /// Silence that ends the train.
    silence: Duration,
    stopped: bool,
    /// Last frame outside of pauses, and the longest recent interval of such frames.
    last_outside: Option<Instant>,
    interval: Duration,
    reactions: Reactions,
}

impl ReactionMeter {
    /// Records a sent pause that lasts for `window`.
    pub(super) fn on_pause(&mut self, now: Instant, window: Duration) {
        // A renewal belongs to the pause that runs.
        if now >= self.until || !self.open {
            self.close();
            (self.open, self.stopped, self.start, self.last) = (true, false, now, now);
            // A short pause leaves no room for a long silence.
            self.silence = SILENCE.min(window.div(4)).max(self.interval.saturating_mul(2));
        }
        self.until = now.saturating_add(window);
        // Intervals of frames count outside of pauses only.
        self.last_outside = None;
    }

    /// Ends the pause.
    pub(super) fn on_resume(&mut self, now: Instant) {
        self.until = self.until.min(now);
    }

    /// Records a received frame; `on_line` gives its time on the line. Returns true during a pause,
    /// where every frame counts.
    #[inline]
    pub(super) fn on_frame(&mut self, now: Instant, on_line: impl FnOnce() -> Duration) -> bool {
        if self.open && now < self.until {
            self.in_window(now.saturating_sub(on_line()));
            return true;
        }
        // Frames of one poll share one time.
        if self.last_outside != Some(now) {
            let gap = self.last_outside.map_or(Duration::ZERO, |last| now.since(last));
            // Rises at once and falls slowly: one short gap must not make the next silence end a train.
            self.interval = gap.max(self.interval.saturating_sub(self.interval.div(8)));
            self.last_outside = Some(now);
        }
        false
    }

    fn in_window(&mut self, began: Instant) {
        // It had started before the pause, and is finished (802.3 31B.3.7).
        if began < self.start {
            return;
        }
        self.reactions.in_window += 1;
        // After the first silence the train is over for good.
        self.stopped |= began.since(self.last) > self.silence;
        if self.stopped {
            self.reactions.after_stop += 1;
        } else {
            self.last = began;
        }
    }

    fn close(&mut self) {
        if core::mem::take(&mut self.open) {
            self.reactions.add(self.last.since(self.start));
        }
    }

    /// Resets all reactions.
    pub(super) fn clear(&mut self) {
        self.reactions = Reactions::default();
        self.open = false;
    }

    /// Returns the reactions, including that to the current pause.
    pub(super) fn reactions(&self) -> Reactions {
        // A pause that runs has a reaction so far, without ending it.
        let mut now = self.clone();
        now.close();
        now.reactions
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testtimes::{at, us};

    /// Frames every 10 us of 1 us on the line up to `stop`, with a pause of 10 ms at 1,000 us.
    fn stopped_at(meter: &mut ReactionMeter, from: u64, stop: u64) {
        (from..from + 1_000).step_by(10).for_each(|t| _ = meter.on_frame(at(t), || us(1)));
        meter.on_pause(at(from + 1_000), us(10_000));
        (from + 1_000..=stop).step_by(10).for_each(|t| _ = meter.on_frame(at(t), || us(1)));
    }

    #[test]
    fn a_frame_at_the_edge_of_a_window_is_no_reaction() {
        let mut meter = ReactionMeter::default();
        stopped_at(&mut meter, 0, 1_050);
        // Renewed for more than a second.
        (5_000..1_300_000).step_by(5_000).for_each(|t| meter.on_pause(at(t), us(10_000)));
        let quiet = meter.reactions();
        // The frame at 1,000 had started before the pause; the last started at 1,049.
        assert_eq!((quiet.count, quiet.max, quiet.in_window), (1, Some(us(49)), 5));
        meter.on_frame(at(1_304_999), || us(1));
        let edge = meter.reactions();
        assert_eq!((edge.count, edge.max), (1, Some(us(49))), "not 1.3 s");
        assert_eq!((edge.in_window, edge.after_stop), (6, 1));
    }

    #[test]
    fn a_peer_that_does_not_obey_has_no_reaction_shorter_than_the_pause() {
        let mut meter = ReactionMeter::default();
        stopped_at(&mut meter, 0, 10_990);
        let found = meter.reactions();
        assert_eq!((found.max, found.after_stop), (Some(us(9_989)), 0));
        // The same with frame intervals longer than a silence.
        let mut slow = ReactionMeter::default();
        (0..10).for_each(|n| _ = slow.on_frame(at(n * 2_000), || us(1)));
        slow.on_pause(at(19_000), us(10_000));
        (10..14).for_each(|n| _ = slow.on_frame(at(n * 2_000), || us(1)));
        assert_eq!((slow.reactions().max, slow.reactions().in_window), (Some(us(6_999)), 4));
    }

    #[test]
    fn each_pause_that_begins_is_one_reaction_and_percentiles_stay_inside() {
        let mut meter = ReactionMeter::default();
        assert_eq!((meter.reactions().percentile(50), meter.reactions().min), (None, None));
        for n in 0..300_u64 {
            let from = n * 100_000;
            stopped_at(&mut meter, from, from + 1_010 + 10 * (n % 10));
            meter.on_resume(at(from + 5_000));
        }
        let found = meter.reactions();
        assert_eq!((found.count, found.min, found.max), (300, Some(us(9)), Some(us(99))));
        assert!([50, 99].map(|p| found.percentile(p).unwrap()).is_sorted());
        let p50 = found.percentile(50).unwrap();
        assert!((us(39)..=us(59)).contains(&p50), "{p50}");
        assert_eq!(found.percentile(100), Some(us(99)));
        meter.clear();
        assert_eq!(meter.reactions(), Reactions::default());
    }
}
