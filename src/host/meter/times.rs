//! The pauses of one priority that went one way, and the data frames that they were to stop, which
//! go the other way.

use crate::time::{Duration, Instant, Total};
use crate::units::BitsPerSec;

/// What pauses of one priority asked for, and what became of it.
///
/// A run is a pause and all that follow it before it has ended: by a resume, or because the time of
/// the last of them is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PauseTimes {
    /// Frames that asked for a pause.
    pub pauses: u64,
    /// Frames that asked for its end, with a time of 0.
    pub resumes: u64,
    /// How long a pause was asked for in all, as each frame replaced the one before: the union.
    pub requested: Total,
    /// How many runs there were.
    pub runs: u64,
    /// The longest from one pause to the next without a resume in between.
    pub gap_max: Option<Duration>,
    /// How long the last pause lasts from its frame on: the window within which the next has to
    /// come.
    pub window: Option<Duration>,
    /// How often a pause had run out when the next came, without a resume in between. A pause is
    /// over at the very instant at which it ends.
    pub lapses: u64,
    /// How long nothing was asked for in those lapses.
    pub uncovered: Total,
    /// When the last pause came. What has passed since is no gap yet.
    pub last: Option<Instant>,
    /// The longest from a run's first frame to the last data frame in it. Zero where pauses came and
    /// no data in them.
    pub last_frame: Option<Duration>,
    /// The longest from the end of a run to the first data frame behind it.
    pub first_frame: Option<Duration>,
}

impl PauseTimes {
    /// Whether each pause came before the one before it had run out; nothing when no pause followed
    /// another.
    #[must_use]
    pub fn continuous(&self) -> Option<bool> {
        self.gap_max.map(|_| self.lapses == 0)
    }
}

/// Measures the pauses of one priority that go one way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PauseMeter {
    /// The run now or last: when it began, and when it ends.
    start: Instant,
    until: Instant,
    /// The pause that the next one has to follow; none behind a resume.
    before: Option<Instant>,
    /// Whether no data frame was seen behind the last run.
    waits: bool,
    /// Without `requested` of the run now or last.
    times: PauseTimes,
}

impl PauseMeter {
    /// A pause went by that lasts for `window`.
    pub(super) fn on_pause(&mut self, now: Instant, window: Duration) {
        let t = &mut self.times;
        t.pauses += 1;
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

    /// What is paused goes on from now: a frame said so, or the link went down.
    pub(super) fn on_resume(&mut self, now: Instant, said: bool) {
        self.times.resumes += u64::from(said);
        self.before = None;
        self.until = self.until.min(now);
    }

    /// A data frame went by. Whether there is nothing more to learn from one before the next pause.
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

    /// The rate that quanta are counted in is another from now on.
    pub(super) fn stretch(&mut self, now: Instant, from: BitsPerSec, to: BitsPerSec) {
        if now < self.until {
            let bits = u128::from(self.until.since(now).as_picos()) * u128::from(from.get());
            let left = u64::try_from(bits.div_ceil(to.get().into())).unwrap_or(u64::MAX);
            self.until = now.saturating_add(Duration::from_picos(left));
        }
    }

    /// Forgets what data frames have shown.
    pub(super) fn clear_frames(&mut self) {
        self.times.last_frame = None;
        self.times.first_frame = None;
    }

    /// Forgets all but the counts and the time asked for; the next pause follows none.
    pub(super) fn clear(&mut self) {
        let PauseTimes { pauses, resumes, requested, runs, .. } = self.times;
        self.times = PauseTimes { pauses, resumes, requested, runs, ..PauseTimes::default() };
        self.before = None;
    }

    /// What was measured up to `now`.
    pub(super) fn times(&self, now: Instant) -> PauseTimes {
        let mut times = self.times;
        times.requested += self.until.min(now.max(self.start)).since(self.start);
        times
    }
}
