//! Flows of neighbouring frames, looked up before the first of them joins its queue.
//!
//! With many flows each lookup waits for memory. Those of a group of frames are made together, so
//! that they wait at the same time.

use core::net::IpAddr;

use super::seen::Seen;
use crate::Switch;
use crate::shortcut::Decision;
use congestion::Queue;
use contracts::frame::Frame;
use contracts::world::World;

impl<W: World> Switch<W> {
    /// Looks up the flows of frames that are about to join the queue of `decision` one after the
    /// other, `bytes` in all, if the queue may become so long that their sources are paused. The
    /// caller names each frame with [`Self::set_turn`], and calls [`Self::looked_ahead`] at the end.
    #[inline]
    pub(crate) fn look_ahead(&mut self, decision: &Decision, frames: &[W::Frame], bytes: u64) {
        if self.signals.sfc.is_some() {
            self.look_ahead_of_sfc(decision, frames, bytes);
        }
    }

    #[inline(never)]
    fn look_ahead_of_sfc(&mut self, decision: &Decision, frames: &[W::Frame], bytes: u64) {
        let Some(sfc) = &self.signals.sfc else { return };
        let port = decision.egress;
        let class = self.tables[port.index()].class(decision.priority);
        let queue = Queue { port, class };
        let before = self.ports[usize::from(decision.to)].scheduler.bytes(class);
        if before + bytes <= sfc.point.floor(queue).0 {
            return;
        }
        let ahead = &mut self.signals.ahead;
        for frame in frames {
            match Seen::usual(frame.head()) {
                Some(flow) => match (flow.src, flow.dst) {
                    (IpAddr::V4(src), IpAddr::V4(dst)) => {
                        let addresses = (src.to_bits(), dst.to_bits());
                        let ports = (flow.src_port, flow.dst_port);
                        ahead.push(queue, addresses, flow.protocol, ports);
                    }
                    _ => ahead.push_other(),
                },
                None => ahead.push_other(),
            }
        }
        sfc.point.look_ahead(ahead);
    }

    /// Sets the number of the frame of the group that comes next.
    #[inline(always)]
    pub(crate) fn set_turn(&mut self, turn: usize) {
        self.signals.ahead.set_turn(turn);
    }

    /// Forgets the flows of the last group.
    #[inline(always)]
    pub(crate) fn looked_ahead(&mut self) {
        self.signals.ahead.clear();
    }
}
