//! Times of pause frames on the lines, for plots: when each one left its sender, and when its receiver
//! began to obey it. Bounded: the first frames of each line are kept.

use ground::time::Instant;
use ground::units::{PauseVector, Priority, PrioritySet, Quanta};

/// Most frames of each kind of a direction that are kept. A choice: more than a plot can resolve.
pub const FRAMES_MAX: usize = 1_000;

/// Most frames of a network that are kept: 10 MB. Each direction has an equal share.
const ALL_MAX: usize = 200_000;

/// Returns the frames of each kind that are kept of each of `directions`.
pub(super) const fn most(directions: usize) -> usize {
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
