//! Rings without DPDK, for tests that control the order of polls.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use super::MemFrame;
use crate::frame::{Burst, FCS_BYTES};
use crate::port::{Port, PortCaps, Source};
use crate::world::{Alone, World};
use ground::units::Bytes;

/// One direction.
type Ring = Rc<RefCell<VecDeque<MemFrame>>>;

/// One end of a link in memory, bounded as real rings are.
pub struct RingPort {
    rx: Ring,
    tx: Ring,
    capacity: usize,
    /// True: the poll was just before the arrival of the frames that are there now.
    pub blind: Rc<Cell<bool>>,
}

impl Port for RingPort {
    type Frame = MemFrame;

    fn rx_burst(&mut self, out: &mut Burst<MemFrame>) {
        if !self.blind.get() {
            let mut rx = self.rx.borrow_mut();
            let n = rx.len().min(out.remaining_capacity());
            out.extend(rx.drain(..n));
        }
    }
    fn tx_burst(&mut self, out: &mut Burst<MemFrame>) {
        let mut tx = self.tx.borrow_mut();
        let n = out.len().min(self.capacity - tx.len());
        tx.extend(out.drain(..n));
    }
    fn control_frame(&mut self, octets: &[u8]) -> Option<MemFrame> {
        Some(MemFrame::new(octets))
    }
    fn caps(&self) -> &PortCaps {
        &PortCaps { link_rate: None, rx_backlog_max: Bytes(0), tx_committed_max: Bytes(0) }
    }
}

impl Source for RingPort {
    fn data_frame(&mut self, head: &[u8], wire_len: u32) -> Option<MemFrame> {
        let mut octets = head.to_vec();
        octets.resize((wire_len - FCS_BYTES) as usize, 0);
        Some(MemFrame::new(&octets))
    }
}

/// World of a switch on such ports.
pub enum InMemory {}

impl World for InMemory {
    type Frame = MemFrame;
    type Port = RingPort;
    type Events = ();
    type Handoff = Alone;
}

/// Both ends of a link whose rings hold `entries` frames each.
pub fn ring_pair(entries: u32) -> (RingPort, RingPort) {
    let (there, back) = (Ring::default(), Ring::default());
    let end = |rx: &Ring, tx: &Ring| RingPort {
        rx: rx.clone(),
        tx: tx.clone(),
        capacity: entries as usize,
        blind: Rc::default(),
    };
    (end(&back, &there), end(&there, &back))
}
