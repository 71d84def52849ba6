//! What the frames are that a station has made and its port has not taken yet.

use arrayvec::ArrayVec;

use crate::frame::BURST;
use crate::pfc::PauseVector;
use crate::units::Priority;

/// A frame that was made, as far as it matters to a meter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::host) enum Leaving {
    /// Data of this priority.
    Data(Priority),
    /// A pause.
    Pause(PauseVector),
    /// A MAC control frame that is no pause.
    Malformed,
    /// Anything else.
    Other,
}

/// The frames in a station's hand, in order, equal neighbours in one piece.
#[derive(Debug, Default)]
pub(super) struct Hand {
    pieces: ArrayVec<(Leaving, usize), BURST>,
    /// How many frames there are.
    frames: usize,
}

impl Hand {
    /// `n` more, behind all others. There are never more than a burst.
    #[inline]
    pub(super) fn push(&mut self, what: Leaving, n: usize) {
        self.frames += n;
        match self.pieces.last_mut() {
            Some((last, count)) if *last == what => *count += n,
            _ => self.pieces.push((what, n)),
        }
    }

    /// One more, behind `place` others and ahead of the rest.
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

    /// Takes out the next that is gone when only `left` are still there. Pauses come one by one,
    /// of other pieces one frame stands for all that are gone of it, since they went together.
    #[inline]
    pub(super) fn next_gone(&mut self, left: usize) -> Option<Leaving> {
        let gone = self.frames.checked_sub(left).expect("no more is left than there was");
        if gone == 0 {
            return None;
        }
        let (what, count) = &mut self.pieces[0];
        let what = *what;
        let each = matches!(what, Leaving::Pause(_) | Leaving::Malformed);
        let n = if each { 1 } else { gone.min(*count) };
        *count -= n;
        self.frames -= n;
        if *count == 0 {
            self.pieces.remove(0);
        }
        Some(what)
    }

    /// All are gone elsewhere.
    pub(super) fn clear(&mut self) {
        self.pieces.clear();
        self.frames = 0;
    }
}
