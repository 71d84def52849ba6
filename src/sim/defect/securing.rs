//! Defects in MACsec: in what is checked of received frames, and in changes of keys.
//!
//! The port's guard leaves the checks out; what happens at a change of keys happens here.

use super::act::{Act, Context};
use super::frame::{MADE_BY, is_pfc, pause};
use contracts::frame::Frame;

/// A defect in MACsec.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Securing {
    /// A protected MAC control frame that was received before, or is too late, is obeyed.
    ObeysReplays,
    /// A protected MAC control frame is obeyed without regard to its check value.
    ObeysForged,
    /// A MAC control frame of an association that is not there, or with a key that was replaced, is
    /// obeyed.
    ObeysOldKeys,
    /// A protected MAC control frame of another channel is obeyed.
    ObeysAnyChannel,
    /// Protected MAC control frames are ignored once the lower half of packet numbers has begun again.
    IgnoresAfterRoll,
    /// All pauses end when a key changes.
    ResumesAtRekey,
    /// The next data frames that are sent when a key has changed are lost.
    LosesAtRekey {
        /// Number of frames.
        frames: u32,
    },
}

/// The state of such a defect.
#[derive(Debug)]
pub(super) struct State {
    what: Securing,
    /// Data frames to lose.
    left: u32,
}

impl State {
    pub(super) const fn new(what: Securing) -> Self {
        Self { what, left: 0 }
    }
}

impl<F: Frame> Act<F> for State {
    fn tx(&mut self, cx: &mut Context<'_, F>, frame: F) {
        if self.left > 0 && !is_pfc(frame.head()) {
            self.left -= 1;
            return;
        }
        cx.out.line.push(frame);
    }

    fn rekeyed(&mut self, cx: &mut Context<'_, F>) {
        match self.what {
            Securing::ResumesAtRekey => {
                let resume = pause(MADE_BY, u8::MAX, 0);
                cx.out.node.extend(cx.make.control(&resume));
            }
            Securing::LosesAtRekey { frames } => self.left = frames,
            Securing::ObeysReplays
            | Securing::ObeysForged
            | Securing::ObeysOldKeys
            | Securing::ObeysAnyChannel
            | Securing::IgnoresAfterRoll => {}
        }
    }
}
