//! Times of pause frames on the lines, for plots: when each one left its sender, and when its receiver
//! began to obey it. Bounded: the first frames of each line are kept.

use ground::time::Instant;
use ground::units::{PauseVector, Priority, PrioritySet, Quanta};

/// Most frames of each kind of a direction that are kept. A choice: more than a plot can resolve.
pub const FRAMES_MAX: usize = 1_000;

/// Most frames of a network that are kept: 10 MB.
const ALL_MAX: usize = 200_000;

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

    /// Records a frame that starts on its line, `kept` being the number of all that are kept. Returns
    /// true if it is kept too.
    pub(super) fn sent(
        &mut self,
        at: Instant,
        pause: &PauseVector,
        named: PrioritySet,
        kept: usize,
    ) -> bool {
        self.add(|frames| &mut frames.sent, at, pause, named, kept)
    }

    /// As [`Self::sent`], for a frame that is obeyed.
    pub(super) fn obeyed(
        &mut self,
        at: Instant,
        pause: &PauseVector,
        named: PrioritySet,
        kept: usize,
    ) -> bool {
        self.add(|frames| &mut frames.obeyed, at, pause, named, kept)
    }

    fn add(
        &mut self,
        to: fn(&mut PauseFrames) -> &mut Vec<FrameAt>,
        at: Instant,
        pause: &PauseVector,
        named: PrioritySet,
        kept: usize,
    ) -> bool {
        let stops = |p: &Priority| pause.time[p.index()] > Quanta(0);
        let enabled = || pause.enabled.iter().filter(|p| named.contains(*p));
        let xoff: PrioritySet = enabled().filter(stops).collect();
        let xon: PrioritySet = enabled().filter(|p| !stops(p)).collect();
        if xoff.is_empty() && xon.is_empty() {
            return false;
        }
        let frames = self.0.get_or_insert_default();
        if kept >= ALL_MAX || to(frames).len() >= FRAMES_MAX {
            frames.left_out += 1;
            return false;
        }
        to(frames).push(FrameAt { at, xoff, xon });
        true
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
        assert!(!frames.sent(at(1), &pause(0b1, 0b1), PrioritySet(0b1100), 0), "none is obeyed");
        assert!(frames.get().is_none());
        assert!(frames.sent(at(2), &pause(0b1111, 0b0101), PrioritySet(0b1100), 0));
        assert!(frames.obeyed(at(5), &pause(0b1111, 0b0101), PrioritySet(0b1100), 1));
        let found = frames.get().unwrap();
        let [xoff, xon] = [PrioritySet(0b0100), PrioritySet(0b1000)];
        assert_eq!(found.sent, [FrameAt { at: at(2), xoff, xon }]);
        assert_eq!(found.obeyed, [FrameAt { at: at(5), xoff, xon }]);
    }

    #[test]
    fn memory_is_bounded_and_the_rest_is_counted() {
        let mut frames = Frames::default();
        let mut kept = 0;
        for n in 0..5_000 {
            let (now, all) = (Instant::from_picos(n), pause(8, 8));
            kept += usize::from(frames.sent(now, &all, PrioritySet::ALL, kept));
        }
        assert!(!frames.obeyed(Instant::ZERO, &pause(8, 8), PrioritySet::ALL, ALL_MAX));
        let found = frames.get().unwrap();
        assert_eq!((kept, found.sent.len(), found.obeyed.len()), (FRAMES_MAX, FRAMES_MAX, 0));
        assert_eq!(found.left_out, 4_001);
    }
}
