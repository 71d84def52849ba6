//! The flows of a group of frames that is about to join a congested queue, read from the table of
//! streams before the first of them joins.
//!
//! With many congesting flows each stream is in memory that no cache holds. Read one after the
//! other, each frame waits for its own; read together, the waits overlap.

use arrayvec::ArrayVec;

use super::Signals;
use super::seen::Seen;
use crate::Switch;
use crate::shortcut::Decision;
use congestion::streams::Hashed;
use congestion::{FlowKey, Queue};
use contracts::frame::{BURST, Frame};
use contracts::world::World;
use ground::units::Bytes;

/// A frame that will join.
struct Next {
    /// Address of its first byte, by which it is recognized.
    head: usize,
    key: FlowKey,
    is_message: bool,
    place: Hashed,
}

/// The frames that will join one queue, in their order.
#[derive(Default)]
pub(super) struct Ahead {
    queue: Option<Queue>,
    frames: ArrayVec<Next, BURST>,
    /// Index of the first frame that has not joined yet.
    next: usize,
}

impl Ahead {
    /// Returns what is known of a frame that joins `queue`, if it was looked up.
    #[inline]
    pub(super) fn take<'a>(&mut self, queue: Queue, head: &'a [u8]) -> Option<(Seen<'a>, Hashed)> {
        let left = self.frames.get(self.next..).filter(|_| self.queue == Some(queue))?;
        let n = left.iter().position(|next| next.head == head.as_ptr().addr())?;
        let Next { key, is_message, place, .. } = left[n];
        self.next += n + 1;
        Some((Seen { head, key, is_message }, place))
    }

    fn clear(&mut self) {
        self.frames.clear();
        (self.queue, self.next) = (None, 0);
    }
}

impl<W: World> Switch<W> {
    /// Reads the streams of a group's flows, if its queue is above its floor. The group has to be
    /// forwarded next, and [`Self::look_back`] called then.
    #[inline]
    pub(crate) fn look_ahead(&mut self, decision: &Decision, frames: &[W::Frame]) {
        if self.signals.sfc.is_none() || frames.len() < 2 {
            return;
        }
        let class = self.tables[decision.egress.index()].class(decision.priority);
        let length = self.ports[usize::from(decision.to)].scheduler.bytes(class);
        let length = Bytes(length + u64::from(frames[0].wire_len()));
        self.fetch_streams(Queue { port: decision.egress, class }, length, frames);
    }

    #[inline(never)]
    fn fetch_streams(&mut self, queue: Queue, length: Bytes, frames: &[W::Frame]) {
        let Signals { sfc: Some(sfc), ahead, .. } = &mut self.signals else { return };
        if !sfc.point.concerns(queue, length) {
            return;
        }
        ahead.queue = Some(queue);
        for frame in frames {
            let Some(Seen { head, key, is_message }) = Seen::of(frame.head()) else { continue };
            let place = sfc.point.place_of(queue, &key);
            ahead.frames.push(Next { head: head.as_ptr().addr(), key, is_message, place });
        }
        sfc.point.fetch(ahead.frames.iter().map(|next| &next.place));
    }

    /// Forgets the frames of [`Self::look_ahead`]: their memory may be another frame's from now on.
    #[inline]
    pub(crate) fn look_back(&mut self) {
        if self.signals.ahead.queue.is_some() {
            self.signals.ahead.clear();
        }
    }
}
