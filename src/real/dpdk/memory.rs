//! Pools as memory for ports on interfaces of the kernel, and the processor's counter as their clock: such a port
//! may stand beside DPDK's in one switch, whose frames are DPDK's.

use dpdk_sys as sys;

use super::clock::TscClock;
use super::mbuf::Mbuf;
use super::pool::Pool;
use contracts::frame::Frame;
use ground::time::{Duration, Instant};
use kernel::{Clock, Memory};

/// Flag of a frame whose checksum is known to be right.
const CHECKED: u64 = sys::RTE_MBUF_F_RX_L4_CKSUM_GOOD as u64;

impl Memory for Pool {
    type Frame = Mbuf;

    #[inline]
    fn frame(&mut self, len: usize) -> Option<Mbuf> {
        let mut frame = self.alloc()?;
        frame.append(len)?;
        Some(frame)
    }

    fn longest(&self) -> usize {
        self.room() as usize
    }

    #[inline]
    fn octets(frame: &Mbuf) -> &[u8] {
        frame.head()
    }

    #[inline]
    fn octets_mut(frame: &mut Mbuf) -> &mut [u8] {
        frame.head_mut()
    }

    #[inline]
    fn is_whole(frame: &Mbuf) -> bool {
        frame.segments() == 1
    }

    #[inline]
    fn set_checked(frame: &mut Mbuf) {
        frame.set_flags(CHECKED);
    }

    #[inline]
    fn is_checked(frame: &Mbuf) -> bool {
        frame.has_flag(CHECKED)
    }
}

impl Clock for TscClock {
    #[inline]
    fn now(&self) -> Instant {
        Self::now(self)
    }

    fn resolution(&self) -> Duration {
        Self::resolution(self)
    }
}
