//! Ports in memory that allocate nothing in operation: only the data plane allocates, if anything.
//!
//! A frame's memory is taken from its thread's stock and returned there, as an mbuf's to its pool.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use sluice::frame::{Burst, FCS_BYTES, Frame};
use sluice::port::{Port, PortCaps, Source};
use sluice::units::Bytes;

/// Bytes in front of a frame for tags, as in an mbuf.
const ROOM: usize = 128;

/// Longest frame, without its FCS.
const FRAME_MAX: usize = 256;

struct Slot {
    start: usize,
    end: usize,
    octets: [u8; ROOM + FRAME_MAX],
}

thread_local! {
    // The boxes are taken and returned; their contents do not move.
    #[allow(clippy::vec_box)]
    static STOCK: RefCell<Vec<Box<Slot>>> = const { RefCell::new(Vec::new()) };
}

/// Allocates memory for `frames` more frames of this thread.
pub fn stock(frames: usize) {
    STOCK.with_borrow_mut(|stock| {
        let slot = || Box::new(Slot { start: 0, end: 0, octets: [0; ROOM + FRAME_MAX] });
        stock.extend(std::iter::repeat_with(slot).take(frames));
    });
}

/// A frame in a slot; none only during its drop.
pub struct MemFrame(Option<Box<Slot>>);

impl MemFrame {
    /// A frame with these bytes (without FCS), or none if the stock is used up.
    pub fn new(octets: &[u8]) -> Option<Self> {
        let mut slot = STOCK.with_borrow_mut(Vec::pop)?;
        (slot.start, slot.end) = (ROOM, ROOM + octets.len());
        slot.octets[ROOM..][..octets.len()].copy_from_slice(octets);
        Some(Self(Some(slot)))
    }

    #[inline(always)]
    fn slot(&self) -> &Slot {
        self.0.as_ref().expect("a frame has its slot")
    }

    #[inline(always)]
    fn slot_mut(&mut self) -> &mut Slot {
        self.0.as_mut().expect("a frame has its slot")
    }
}

impl Drop for MemFrame {
    fn drop(&mut self) {
        let slot = self.0.take().expect("a frame has its slot");
        // The stock may be gone when a thread ends.
        let _ = STOCK.try_with(|stock| stock.borrow_mut().push(slot));
    }
}

impl Frame for MemFrame {
    #[inline]
    fn head(&self) -> &[u8] {
        let slot = self.slot();
        &slot.octets[slot.start..slot.end]
    }
    #[inline]
    fn head_mut(&mut self) -> &mut [u8] {
        let slot = self.slot_mut();
        &mut slot.octets[slot.start..slot.end]
    }
    #[inline]
    fn wire_len(&self) -> u32 {
        let slot = self.slot();
        (slot.end - slot.start) as u32 + FCS_BYTES
    }
    fn prepend(&mut self, n: usize) -> bool {
        let slot = self.slot_mut();
        let fits = n <= slot.start;
        slot.start -= if fits { n } else { 0 };
        fits
    }
    fn trim_front(&mut self, n: usize) -> bool {
        let slot = self.slot_mut();
        let fits = n <= slot.end - slot.start;
        slot.start += if fits { n } else { 0 };
        fits
    }
    fn append(&mut self, n: usize) -> bool {
        let slot = self.slot_mut();
        let fits = slot.end + n <= slot.octets.len();
        slot.end += if fits { n } else { 0 };
        fits
    }
    fn trim_back(&mut self, n: usize) -> bool {
        let slot = self.slot_mut();
        let there = n <= slot.end - slot.start;
        slot.end -= if there { n } else { 0 };
        there
    }
    fn whole_mut(&mut self) -> Option<&mut [u8]> {
        Some(self.head_mut())
    }
    fn duplicate(&mut self) -> Option<Self> {
        Self::new(self.head())
    }
}

type Line = Rc<RefCell<VecDeque<MemFrame>>>;

/// One end of a link.
pub struct MemPort {
    rx: Line,
    tx: Line,
}

impl MemPort {
    /// Two ports on one link that holds `capacity` frames each way. Both may belong to the same
    /// switch: frames between hosts behind them then circulate for ever.
    pub fn pair(capacity: usize) -> (Self, Self) {
        let line = || Rc::new(RefCell::new(VecDeque::with_capacity(capacity)));
        let (there, back): (Line, Line) = (line(), line());
        (Self { rx: back.clone(), tx: there.clone() }, Self { rx: there, tx: back })
    }
}

impl Port for MemPort {
    type Frame = MemFrame;

    #[inline]
    fn rx_burst(&mut self, out: &mut Burst<MemFrame>) {
        let mut rx = self.rx.borrow_mut();
        let n = rx.len().min(out.remaining_capacity());
        out.extend(rx.drain(..n));
    }
    #[inline]
    fn tx_burst(&mut self, out: &mut Burst<MemFrame>) {
        let mut tx = self.tx.borrow_mut();
        let n = out.len().min(tx.capacity() - tx.len());
        tx.extend(out.drain(..n));
    }
    fn control_frame(&mut self, octets: &[u8]) -> Option<MemFrame> {
        MemFrame::new(octets)
    }
    fn caps(&self) -> &PortCaps {
        &PortCaps { link_rate: None, rx_backlog_max: Bytes(0), tx_committed_max: Bytes(0) }
    }
}

impl Source for MemPort {
    fn data_frame(&mut self, head: &[u8], wire_len: u32) -> Option<MemFrame> {
        let mut frame = MemFrame::new(head)?;
        let slot = frame.slot_mut();
        let end = ROOM + (wire_len - FCS_BYTES) as usize;
        slot.octets[slot.end..end].fill(0);
        slot.end = end;
        Some(frame)
    }
}
