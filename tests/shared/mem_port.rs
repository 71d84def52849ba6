//! Ports in memory, for tests that run the data plane in virtual time.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use sluice::frame::{Burst, FCS_BYTES};
pub use sluice::memory::MemFrame;
use sluice::port::{Port, PortCaps, Source};
use sluice::units::Bytes;

/// One direction of a link.
type Ring = Rc<RefCell<VecDeque<MemFrame>>>;

/// A port on a link in memory.
#[derive(Clone, Debug)]
pub struct MemPort {
    rx: Ring,
    tx: Ring,
    /// Frames that the peer's ring holds.
    pub capacity: usize,
    /// Data frames that may be made before the memory is used up.
    pub pool: usize,
    /// Shortest frame that is sent without padding.
    pub frame_min: u32,
    caps: PortCaps,
}

impl MemPort {
    /// Two ports on one link whose rings hold `capacity` frames each.
    pub fn pair(capacity: usize) -> (Self, Self) {
        let (a, b) = (Ring::default(), Ring::default());
        let caps = PortCaps {
            link_rate: None,
            rx_backlog_max: Bytes(capacity as u64 * 16_384),
            tx_committed_max: Bytes(0),
        };
        let port = |rx: &Ring, tx: &Ring| Self {
            rx: Rc::clone(rx),
            tx: Rc::clone(tx),
            capacity,
            pool: usize::MAX,
            frame_min: 64,
            caps,
        };
        (port(&a, &b), port(&b, &a))
    }

    /// Sends one frame, even if the ring is full.
    pub fn give(&mut self, frame: MemFrame) {
        self.tx.borrow_mut().push_back(frame);
    }

    /// Takes all frames that have arrived.
    pub fn take(&mut self) -> Vec<MemFrame> {
        self.rx.borrow_mut().drain(..).collect()
    }
}

impl Port for MemPort {
    type Frame = MemFrame;

    fn rx_burst(&mut self, out: &mut Burst<MemFrame>) {
        let mut rx = self.rx.borrow_mut();
        let n = rx.len().min(out.remaining_capacity());
        out.extend(rx.drain(..n));
    }
    fn tx_burst(&mut self, out: &mut Burst<MemFrame>) {
        let mut tx = self.tx.borrow_mut();
        let n = out.len().min(self.capacity.saturating_sub(tx.len()));
        tx.extend(out.drain(..n));
    }
    fn control_frame(&mut self, octets: &[u8]) -> Option<MemFrame> {
        Some(MemFrame::new(octets))
    }
    fn caps(&self) -> &PortCaps {
        &self.caps
    }
}

impl Source for MemPort {
    fn data_frame(&mut self, head: &[u8], wire_len: u32) -> Option<MemFrame> {
        self.pool = self.pool.checked_sub(1)?;
        let mut octets = head.to_vec();
        octets.resize((wire_len - FCS_BYTES) as usize, 0);
        Some(MemFrame::new(&octets))
    }
    fn frame_min(&self) -> u32 {
        self.frame_min
    }
}
