//! Flows of neighbouring frames, looked up before the first of them joins its queue.
//!
//! With many flows each lookup waits for memory. Those of a group of frames are made together, so
//! that they wait at the same time.

use core::net::IpAddr;

use super::Signals;
use crate::Switch;
use crate::shortcut::{Decision, Layout};
use congestion::Queue;
use congestion::sfc::Ahead;
use contracts::frame::{BURST, Frame};
use contracts::world::World;
use ground::time::Instant;
use wire::flow::{FiveTuple, PLAIN};
use wire::roce::{self, Opcode};

const _: () = assert!(BURST <= Ahead::MOST, "a group is at most a burst");

impl<W: World> Switch<W> {
    /// Looks up the flows of frames that are about to join the queue of `decision` one after the
    /// other, `bytes` in all, if the queue may become so long that their sources are paused. The
    /// caller names each frame with [`Self::set_turn`], and calls [`Self::looked_ahead`] at the end.
    #[inline]
    pub(crate) fn look_ahead(
        &mut self,
        now: Instant,
        decision: &Decision,
        (layout, bytes): (Layout, u64),
        frames: &[W::Frame],
    ) {
        if self.signals.sfc.is_some() {
            self.look_ahead_of_sfc(now, decision, (layout, bytes), frames);
        }
    }

    #[inline(never)]
    fn look_ahead_of_sfc(
        &mut self,
        now: Instant,
        decision: &Decision,
        (layout, bytes): (Layout, u64),
        frames: &[W::Frame],
    ) {
        let Signals { sfc: Some(sfc), notifier: None, quantizer: None, ahead, .. } =
            &mut self.signals
        else {
            return;
        };
        let port = decision.egress;
        let class = self.tables[port.index()].class(decision.priority);
        let queue = Queue { port, class };
        let to = &self.ports[usize::from(decision.to)];
        let (before, drain) = (to.scheduler.bytes(class), to.rate);
        if before + bytes <= sfc.point.floor(queue).0 {
            return;
        }
        let l3 = match layout {
            Layout::Ipv4 => 14,
            Layout::TaggedIpv4 => 18,
            Layout::Other => return,
        };
        for frame in frames {
            match data_flow(frame.head(), l3) {
                Some(FiveTuple {
                    src: IpAddr::V4(src),
                    dst: IpAddr::V4(dst),
                    protocol,
                    src_port,
                    dst_port,
                }) => {
                    let addresses = (src.to_bits(), dst.to_bits());
                    ahead.push(queue, addresses, protocol, (src_port, dst_port));
                }
                _ => ahead.push_other(),
            }
        }
        sfc.point.look_ahead(now, queue, drain, ahead);
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

/// Returns the flow of a frame with an IPv4 header without options at `l3`, if it is certain to be no
/// congestion message.
#[inline(always)]
fn data_flow(head: &[u8], l3: usize) -> Option<FiveTuple> {
    let packet = head.get(l3..)?.first_chunk::<{ PLAIN + 1 }>()?;
    let flow = FiveTuple::of_plain(packet.first_chunk()?)?;
    let is_cnp = flow.dst_port == roce::UDP_PORT && Opcode(packet[PLAIN]) == Opcode::CNP;
    (!is_cnp).then_some(flow)
}
