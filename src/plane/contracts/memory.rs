//! Frames and ports in memory, for tests, benches and programs without a network: a frame is a vector, a
//! port is two queues. A [`ring_pair`] is a link for tests that control the order of polls; the
//! configurations of two matching `SecY`s are for tests, too.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use crate::frame::{Burst, FCS_BYTES, Frame};
use crate::port::{Port, PortCaps, Source};
use crate::world::{Alone, World};
use ground::units::{Bytes, Mac, PrioritySet};
use secure::{CipherSuite, ReceiveScPlan, SaPlan, Sak, Sci, SecyPlan};

/// Bytes in front of a frame, for tags.
const HEADROOM: usize = 24;

/// A frame whose bytes are a vector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemFrame {
    octets: Vec<u8>,
    start: usize,
}

impl MemFrame {
    /// Makes a frame of these bytes, which have no FCS.
    #[must_use]
    pub fn new(octets: &[u8]) -> Self {
        // As a buffer of a real port, which has room in front for a tag.
        let mut all = vec![0; HEADROOM];
        all.extend_from_slice(octets);
        Self { octets: all, start: HEADROOM }
    }
}

impl Frame for MemFrame {
    fn head(&self) -> &[u8] {
        &self.octets[self.start..]
    }
    fn head_mut(&mut self) -> &mut [u8] {
        &mut self.octets[self.start..]
    }
    fn wire_len(&self) -> u32 {
        (self.octets.len() - self.start) as u32 + FCS_BYTES
    }
    fn prepend(&mut self, n: usize) -> bool {
        let room = self.start >= n;
        self.start -= if room { n } else { 0 };
        room
    }
    fn trim_front(&mut self, n: usize) -> bool {
        let there = self.octets.len() - self.start >= n;
        self.start += if there { n } else { 0 };
        there
    }
    fn append(&mut self, n: usize) -> bool {
        self.octets.resize(self.octets.len() + n, 0);
        true
    }
    fn trim_back(&mut self, n: usize) -> bool {
        let there = self.head().len() >= n;
        self.octets.truncate(self.octets.len() - if there { n } else { 0 });
        there
    }
    fn whole_mut(&mut self) -> Option<&mut [u8]> {
        Some(self.head_mut())
    }
    fn duplicate(&mut self) -> Option<Self> {
        Some(Self::new(self.head()))
    }
}

/// A port whose caller fills `rx` and empties `tx`.
#[derive(Debug)]
pub struct MemPort {
    /// Frames that the port will receive.
    pub rx: VecDeque<MemFrame>,
    /// Frames that the port has sent.
    pub tx: Vec<MemFrame>,
    /// Number of frames that it accepts before it refuses.
    pub room: usize,
    /// Number of control frames that can be allocated.
    pub control: usize,
    /// Priorities of which it takes no frames, as a device that does PFC itself.
    pub held: PrioritySet,
}

impl MemPort {
    /// A port that accepts every frame.
    #[must_use]
    pub fn endless() -> Self {
        Self {
            rx: VecDeque::new(),
            tx: vec![],
            room: usize::MAX,
            control: usize::MAX,
            held: PrioritySet::EMPTY,
        }
    }
}

impl Port for MemPort {
    type Frame = MemFrame;
    fn rx_burst(&mut self, out: &mut Burst<MemFrame>) {
        while !out.is_full() {
            let Some(frame) = self.rx.pop_front() else { break };
            out.push(frame);
        }
    }
    fn tx_burst(&mut self, out: &mut Burst<MemFrame>) {
        // What does not fit stays in `out`, in order, as with a real port.
        let n = out.len().min(self.room);
        self.room -= n;
        self.tx.extend(out.drain(..n));
    }
    fn control_frame(&mut self, octets: &[u8]) -> Option<MemFrame> {
        self.control = self.control.checked_sub(1)?;
        Some(MemFrame::new(octets))
    }
    fn held(&self) -> PrioritySet {
        self.held
    }
    fn caps(&self) -> &PortCaps {
        &PortCaps { link_rate: None, rx_backlog_max: Bytes(0), tx_committed_max: Bytes(0) }
    }
}

/// A frame of `len` bytes without FCS: destination, source, an optional C-tag (PCP, VID), the rest zero.
#[must_use]
pub fn frame(dst: Mac, src: Mac, tag: Option<(u8, u16)>, len: usize) -> Vec<u8> {
    let mut f = Vec::with_capacity(len);
    f.extend_from_slice(&dst.0);
    f.extend_from_slice(&src.0);
    if let Some((pcp, vid)) = tag {
        f.extend_from_slice(&[0x81, 0]);
        f.extend_from_slice(&(u16::from(pcp) << 13 | vid).to_be_bytes());
    }
    // Local experimental EtherType (802 9.2.3): no classifier takes such a frame for anything else.
    f.extend_from_slice(&[0x88, 0xb5]);
    f.resize(len.max(f.len()), 0);
    f
}

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
        // Frames are there, and this poll does not see them yet.
        if !self.blind.get() {
            let mut rx = self.rx.borrow_mut();
            let n = rx.len().min(out.remaining_capacity());
            out.extend(rx.drain(..n));
        }
    }
    fn tx_burst(&mut self, out: &mut Burst<MemFrame>) {
        let mut tx = self.tx.borrow_mut();
        // A full ring refuses, so that tests meet what a slow peer causes.
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
    // What one end sends is what the other receives.
    let (there, back) = (Ring::default(), Ring::default());
    let end = |rx: &Ring, tx: &Ring| RingPort {
        rx: rx.clone(),
        tx: tx.clone(),
        capacity: entries as usize,
        blind: Rc::default(),
    };
    (end(&back, &there), end(&there, &back))
}

/// Returns an association with this key, from packet number 1 on.
#[must_use]
pub fn association(key: u8) -> SaPlan {
    SaPlan {
        key: Sak::new(&[key; 16]).expect("16 bytes make a key"),
        pn: 1,
        ssci: u32::from(key),
        salt: [7; 12],
    }
}

/// Returns the `SecY` at end `own` of a link whose other end is `peer`, both below 100: MAC control
/// is protected and must be, data too if `data`.
#[must_use]
pub fn secy(own: u8, peer: u8, data: bool) -> SecyPlan {
    let sci = |n| Sci { mac: Mac([2, 0, 0, 0xee, 0, n]), port: 1 };
    // The first of the four association numbers.
    let only = |sa| [Some(sa), None, None, None];
    SecyPlan {
        protect_data: data,
        // LLDP stays in the clear (802.1AE's uncontrolled port).
        uncontrolled: vec![0x88cc],
        transmit: only(association(own + 100)),
        receive: vec![ReceiveScPlan {
            sci: sci(peer),
            associations: only(association(peer + 100)),
        }],
        ..SecyPlan::standard(CipherSuite::GcmAes128, sci(own))
    }
}
