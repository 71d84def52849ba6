//! Record of the frames that a station has made and its port has not accepted yet.

use arrayvec::ArrayVec;

use contracts::frame::BURST;
use ground::time::Duration;
use ground::units::Priority;
use pfc::PauseVector;

/// Kind of a frame to send, as far as a meter distinguishes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Leaving {
    /// Data of this priority.
    Data(Priority),
    /// A source flow control message, sent as data of the first priority: the priority that it names, and its
    /// pause.
    Message(Priority, Priority, Duration),
    /// A pause.
    Pause(PauseVector),
    /// A MAC control frame that is not a pause.
    Malformed,
    /// Anything else.
    Other,
}

/// The unsent frames of a station, in order, with equal neighbours combined.
#[derive(Debug, Default)]
pub(super) struct Hand {
    pieces: ArrayVec<(Leaving, usize), BURST>,
    /// Total number of frames.
    frames: usize,
}

impl Hand {
    /// Appends `n` frames. There are never more than a burst.
    #[inline]
    pub(super) fn push(&mut self, what: Leaving, n: usize) {
        self.frames += n;
        match self.pieces.last_mut() {
            Some((last, count)) if *last == what => *count += n,
            _ => self.pieces.push((what, n)),
        }
    }

    /// Inserts a frame behind the first `place` ones.
    pub(super) fn insert(&mut self, what: Leaving, place: usize) {
        let mut before = 0;
        for i in 0..self.pieces.len() {
            let (there, count) = self.pieces[i];
            if place < before + count {
                let front = place - before;
                self.pieces[i].1 = count - front;
                self.pieces.insert(i, (what, 1));
                if front > 0 {
                    self.pieces.insert(i, (there, front));
                }
                self.frames += 1;
                return;
            }
            before += count;
        }
        self.push(what, 1);
    }

    /// Returns the number of frames.
    pub(super) const fn frames(&self) -> usize {
        self.frames
    }

    /// Removes and returns the next sent frame when only `left` are still unsent. Messages and pauses
    /// are returned one by one; of other pieces one frame represents all that were sent, since they
    /// left together.
    #[inline]
    pub(super) fn next_gone(&mut self, left: usize) -> Option<Leaving> {
        let gone = self.frames.checked_sub(left).expect("no more is left than there was");
        if gone == 0 {
            return None;
        }
        let (what, count) = &mut self.pieces[0];
        let what = *what;
        let each = matches!(what, Leaving::Message(..) | Leaving::Pause(_) | Leaving::Malformed);
        let n = if each { 1 } else { gone.min(*count) };
        *count -= n;
        self.frames -= n;
        if *count == 0 {
            self.pieces.remove(0);
        }
        Some(what)
    }

    /// Removes all frames without sending.
    pub(super) fn clear(&mut self) {
        self.pieces.clear();
        self.frames = 0;
    }
}
