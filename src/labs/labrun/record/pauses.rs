//! Pauses of each priority, and the pause frames that cause them.
//!
//! Pause times are derived from received pause frames: a pause lasts until it is resumed, replaced, or its time
//! expires (802.3 31D.3). Times of frames on the lines are for plots: when each one left its sender, and when its
//! receiver began to obey it. Both are bounded: the first frames of each line are kept.

use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, PRIORITIES, PauseVector, Priority, PrioritySet, Quanta};

/// Most separate pieces of a timeline. A choice: more than a plot can resolve.
pub const PIECES_MAX: usize = 1_000;

/// A piece of a timeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    pub from: Instant,
    pub to: Instant,
    /// Paused time in the piece: all of it, unless pieces were merged across short gaps.
    pub paused: Duration,
    /// Number of pauses in the piece.
    pub pauses: u64,
}

/// Pauses of one priority at one receiver.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    pieces: Vec<Piece>,
    /// Current pause: its start, and its latest end.
    now: Option<(Instant, Instant)>,
    /// Changes from running to paused.
    pub pauses: u64,
    /// Sum of pause times.
    pub total: Duration,
    /// Longest pause.
    pub longest: Duration,
}

impl Timeline {
    /// Records a received pause of `span`; zero resumes. True if a pause begins.
    fn pause(&mut self, at: Instant, span: Duration, keep: bool) -> bool {
        self.expire(at, keep);
        if span == Duration::ZERO {
            self.end(at, keep);
            return false;
        }
        // A new pause time replaces the remainder; the pause itself goes on.
        let (since, begins) = match self.now {
            Some((since, _)) => (since, false),
            None => (at, true),
        };
        self.now = Some((since, at.saturating_add(span)));
        self.pauses += u64::from(begins);
        begins
    }

    /// Ends a pause whose time has expired.
    fn expire(&mut self, at: Instant, keep: bool) {
        if let Some((_, until)) = self.now.filter(|(_, until)| *until <= at) {
            self.end(until, keep);
        }
    }

    fn end(&mut self, at: Instant, keep: bool) {
        let Some((from, _)) = self.now.take() else { return };
        // Pauses that follow each other without a gap are one: a refresh does not end a pause.
        let paused = at.since(from);
        self.total += paused;
        self.longest = self.longest.max(paused);
        if keep {
            if self.pieces.len() == PIECES_MAX {
                merge(&mut self.pieces);
            }
            self.pieces.push(Piece { from, to: at, paused, pauses: 1 });
        }
    }

    /// Returns the pieces in order.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }
}

/// Merges the pieces across the smallest half of the gaps.
fn merge(pieces: &mut Vec<Piece>) {
    let mut gaps: Vec<Duration> = pieces.windows(2).map(|w| w[1].from.since(w[0].to)).collect();
    let middle = gaps.len() / 2;
    // The median without a sort: half of the gaps close, and the list is at most half as long.
    let (_, &mut widest, _) = gaps.select_nth_unstable(middle);
    let mut joined: Vec<Piece> = Vec::with_capacity(PIECES_MAX);
    for piece in pieces.drain(..) {
        match joined.last_mut() {
            Some(last) if piece.from.since(last.to) <= widest => {
                last.to = piece.to;
                last.paused += piece.paused;
                last.pauses += piece.pauses;
            }
            _ => joined.push(piece),
        }
    }
    *pieces = joined;
}

/// Pauses received at one end of a link.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// Priorities whose pauses it obeys.
    pub(super) obeys: PrioritySet,
    /// True for PFC, false for PAUSE.
    pub(super) pfc: bool,
    pub(super) rate: BitsPerSec,
    lines: Option<Box<[Timeline; PRIORITIES]>>,
}

impl Receiver {
    pub(super) const fn new(obeys: PrioritySet, pfc: bool, rate: BitsPerSec) -> Self {
        Self { obeys, pfc, rate, lines: None }
    }

    /// Records a received pause frame with these times; returns the priorities whose pause begins.
    pub(super) fn take(
        &mut self,
        at: Instant,
        named: PrioritySet,
        time: impl Fn(Priority) -> Quanta,
        keep: bool,
    ) -> PrioritySet {
        let lines = self.lines.get_or_insert_default();
        let named = named.iter().filter(|p| self.obeys.contains(*p));
        named.filter(|p| lines[p.index()].pause(at, time(*p).at(self.rate), keep)).collect()
    }

    /// Ends every pause: the link went down, or the run is over.
    pub(super) fn end(&mut self, at: Instant, keep: bool) {
        for line in self.lines.iter_mut().flat_map(|lines| lines.iter_mut()) {
            // First by its own time, which may be before this end.
            line.expire(at, keep);
            line.end(at, keep);
        }
    }

    /// Returns the priorities that were ever paused, with their timelines.
    pub(super) fn lines(&self) -> impl Iterator<Item = (Priority, &Timeline)> {
        let lines = self.lines.iter().flat_map(|lines| lines.iter());
        Priority::ALL.into_iter().zip(lines).filter(|(_, line)| line.pauses > 0)
    }
}

/// Most frames of each kind of a direction that are kept. A choice: more than a plot can resolve.
pub const FRAMES_MAX: usize = 1_000;

/// Most frames of a network that are kept: 10 MB. Each direction has an equal share.
const ALL_MAX: usize = 200_000;

/// Returns the frames of each kind that are kept of each of `directions`.
pub(super) const fn most(directions: usize) -> usize {
    // Two kinds for each direction; the 1 only avoids a division by 0.
    let share = ALL_MAX / (2 * directions + 1);
    if share > FRAMES_MAX { FRAMES_MAX } else { share }
}

/// A pause frame at some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameAt {
    pub at: Instant,
    /// Priorities that it pauses.
    pub xoff: PrioritySet,
    /// Priorities that it resumes.
    pub xon: PrioritySet,
}

/// The first pause frames of a direction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PauseFrames {
    /// Frames by the time at which they started on the line.
    pub sent: Vec<FrameAt>,
    /// Frames by the time at which the far end obeyed them.
    pub obeyed: Vec<FrameAt>,
    /// Number of frames of either kind that were not kept.
    pub left_out: u64,
}

/// Pause frames of a direction; no memory before the first.
#[derive(Clone, Debug, Default)]
pub(super) struct Frames(Option<Box<PauseFrames>>);

impl Frames {
    pub(super) fn get(&self) -> Option<&PauseFrames> {
        self.0.as_deref()
    }

    /// Records a frame that starts on its line, if fewer than `most` are kept.
    pub(super) fn sent(
        &mut self,
        at: Instant,
        pause: &PauseVector,
        named: PrioritySet,
        most: usize,
    ) {
        self.add(|frames| &mut frames.sent, at, pause, named, most);
    }

    /// As [`Self::sent`], for a frame that is obeyed.
    pub(super) fn obeyed(
        &mut self,
        at: Instant,
        pause: &PauseVector,
        named: PrioritySet,
        most: usize,
    ) {
        self.add(|frames| &mut frames.obeyed, at, pause, named, most);
    }

    /// Adds the frames that another part of the network has recorded: those that started, or those that
    /// were obeyed.
    pub(super) fn unite(&mut self, other: Self) {
        let Some(other) = other.0 else { return };
        let frames = self.0.get_or_insert_default();
        frames.sent.extend(other.sent);
        frames.obeyed.extend(other.obeyed);
        frames.left_out += other.left_out;
    }

    fn add(
        &mut self,
        to: fn(&mut PauseFrames) -> &mut Vec<FrameAt>,
        at: Instant,
        pause: &PauseVector,
        named: PrioritySet,
        most: usize,
    ) {
        let stops = |p: &Priority| pause.time[p.index()] > Quanta(0);
        let enabled = || pause.enabled.iter().filter(|p| named.contains(*p));
        let xoff: PrioritySet = enabled().filter(stops).collect();
        let xon: PrioritySet = enabled().filter(|p| !stops(p)).collect();
        // A frame that names no priority which the far end obeys changes nothing there.
        if xoff.is_empty() && xon.is_empty() {
            return;
        }
        let frames = self.0.get_or_insert_default();
        if to(frames).len() >= most {
            frames.left_out += 1;
        } else {
            to(frames).push(FrameAt { at, xoff, xon });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ground::units::PRIORITIES;

    const QUANTUM: u64 = 5_120;

    fn at(ns: u64) -> Instant {
        Instant::from_picos((ns * 1_000).into())
    }

    fn receiver() -> Receiver {
        Receiver::new(PrioritySet::of(Priority::ALL[3]), true, BitsPerSec::gbps(100))
    }

    fn take(r: &mut Receiver, ns: u64, quanta: u16) -> bool {
        !r.take(at(ns), PrioritySet::ALL, |_| Quanta(quanta), true).is_empty()
    }

    #[test]
    fn a_pause_lasts_until_it_is_taken_back_or_its_time_is_over() {
        let mut r = receiver();
        assert!(take(&mut r, 100, 10), "it begins");
        assert!(!take(&mut r, 120, 10), "it is renewed");
        assert!(!take(&mut r, 130, 0), "it ends");
        assert!(take(&mut r, 200, 1), "another one begins");
        assert!(take(&mut r, 300, 1), "which had ended by itself");
        r.end(at(1_000), true);
        let (_, line) = r.lines().next().unwrap();
        let lengths: Vec<_> = line.pieces().iter().map(|p| p.paused.as_picos()).collect();
        assert_eq!(lengths, [30_000, QUANTUM, QUANTUM]);
        assert_eq!((line.pauses, line.longest), (3, Duration::from_nanos(30)));
        assert_eq!(r.lines().count(), 1, "nothing is paused that is not obeyed");
    }

    #[test]
    fn however_many_pauses_there_are_memory_is_bounded_and_no_time_is_lost() {
        let mut r = receiver();
        for n in 0..50_000 {
            assert!(take(&mut r, 100 * n, 5));
            assert!(!take(&mut r, 100 * n + 10 + n % 7, 0));
        }
        let (_, line) = r.lines().next().unwrap();
        assert!((PIECES_MAX / 4..=PIECES_MAX).contains(&line.pieces().len()));
        let total: u64 = line.pieces().iter().map(|p| p.paused.as_picos()).sum();
        assert_eq!((total, line.pauses), (line.total.as_picos(), 50_000));
        assert_eq!(line.pieces().iter().map(|p| p.pauses).sum::<u64>(), 50_000);
        assert!(line.pieces().windows(2).all(|w| w[0].to <= w[1].from));
    }

    fn pause(enabled: u8, stopped: u8) -> PauseVector {
        let time = core::array::from_fn(|p| Quanta(u16::from(stopped >> p & 1) * 9));
        let _: [Quanta; PRIORITIES] = time;
        PauseVector { enabled: PrioritySet(enabled), time }
    }

    #[test]
    fn a_frame_pauses_and_resumes_the_priorities_that_its_receiver_obeys() {
        let mut frames = Frames::default();
        let at = Instant::from_picos;
        assert!(frames.get().is_none());
        frames.sent(at(1), &pause(0b1, 0b1), PrioritySet(0b1100), 9);
        assert!(frames.get().is_none(), "none is obeyed");
        frames.sent(at(2), &pause(0b1111, 0b0101), PrioritySet(0b1100), 9);
        frames.obeyed(at(5), &pause(0b1111, 0b0101), PrioritySet(0b1100), 9);
        let found = frames.get().unwrap();
        let [xoff, xon] = [PrioritySet(0b0100), PrioritySet(0b1000)];
        assert_eq!(found.sent, [FrameAt { at: at(2), xoff, xon }]);
        assert_eq!(found.obeyed, [FrameAt { at: at(5), xoff, xon }]);
    }

    #[test]
    fn memory_is_bounded_and_the_rest_is_counted() {
        let mut frames = Frames::default();
        for n in 0..5_000 {
            let (now, all) = (Instant::from_picos(n), pause(8, 8));
            frames.sent(now, &all, PrioritySet::ALL, most(2));
        }
        frames.obeyed(Instant::ZERO, &pause(8, 8), PrioritySet::ALL, 0);
        let found = frames.get().unwrap();
        assert_eq!((found.sent.len(), found.obeyed.len()), (FRAMES_MAX, 0));
        assert_eq!(found.left_out, 4_001);
        for directions in [2, 100, 1_000, 50_000, 1_000_000] {
            assert!(2 * directions * most(directions) <= ALL_MAX, "{directions}");
        }
    }
}
