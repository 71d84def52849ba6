//! Frames and ports of the virtual world: real header octets in a box, and a length on the wire.

use std::collections::VecDeque;

use super::guard::{Guard, Sealed};
use super::hash::digest;
use crate::frame::{Burst, FCS_BYTES, Frame};
use crate::port::{Port, PortCaps, Source, StampSource, Stamps};
use crate::secure::{Secy, SecyError, SecyPlan};
use crate::time::Duration;
use crate::units::Bytes;

/// Octets kept free in front for what `prepend` adds.
const ROOM: usize = 8;
/// First octets that are kept: what the data plane may look at, and what `trim_front` may take.
const KEPT: usize = 128 + ROOM;

/// A frame in flight: its first octets, and how long it is on the wire. A frame of 9 KB costs no
/// more memory than one of 140 octets; what is not kept is zero.
///
/// What a line has to know of it is beside the octets, not in them: a frame that has waited long
/// is out of the caches, and is sent without being read.
#[derive(Clone, Debug)]
pub struct VirtualFrame {
    /// Some room in front, and what is kept.
    octets: Box<[u8]>,
    /// Of the octets, when they were last looked at.
    digest: u64,
    /// What is on the line, where that is protected.
    pub(super) sealed: Option<Box<Sealed>>,
    wire_len: u32,
    /// As it was when it last started on a line.
    started_len: u32,
    /// Where the frame begins in its octets.
    start: u8,
    damaged: bool,
    control: bool,
    /// Whether it could not be protected, and is lost at the beginning of its line.
    refused: bool,
    /// Whether the octets have changed since.
    changed: bool,
}

/// Octets of a frame that its digest covers: all headers, and the probe behind them.
const DIGESTED: usize = 96;

impl VirtualFrame {
    /// A frame of `wire_len` octets, FCS included, that begins with `head` and is zero from there
    /// on. What of `head` is longer than the frame without FCS, or than what is kept, is left out.
    #[must_use]
    pub fn new(head: &[u8], wire_len: u32) -> Self {
        let kept = (wire_len.saturating_sub(FCS_BYTES) as usize).min(KEPT);
        Self::keeping(kept, head, wire_len)
    }

    /// A frame of these octets and an FCS, of which all are kept: what ports say to each other may be
    /// longer than what a switch looks at.
    #[must_use]
    pub fn whole(octets: &[u8]) -> Self {
        Self::keeping(octets.len(), octets, octets.len() as u32 + FCS_BYTES)
    }

    fn keeping(kept: usize, head: &[u8], wire_len: u32) -> Self {
        let mut octets = Vec::with_capacity(ROOM + kept);
        octets.extend_from_slice(&[0; ROOM]);
        octets.extend_from_slice(&head[..head.len().min(kept)]);
        octets.resize(ROOM + kept, 0);
        let mut frame = Self {
            octets: octets.into_boxed_slice(),
            digest: 0,
            sealed: None,
            wire_len,
            started_len: wire_len,
            start: ROOM as u8,
            damaged: false,
            control: false,
            refused: false,
            changed: true,
        };
        frame.look();
        frame
    }

    /// Looks at the octets again if they have changed.
    #[inline]
    pub(super) fn look(&mut self) {
        if self.changed {
            self.changed = false;
            self.control = self.head().get(12..14) == Some(&[0x88, 0x08]);
            let head = self.head();
            self.digest = digest(&head[..head.len().min(DIGESTED)]);
        }
    }

    /// What tells its first octets from others, as of the last look.
    #[inline]
    pub(super) const fn digest(&self) -> u64 {
        self.digest
    }

    /// Whether it is MAC control, which the MAC itself takes, as of the last look.
    #[inline]
    #[must_use]
    pub const fn is_control(&self) -> bool {
        self.control
    }

    /// Whether its FCS no longer fits what it covers.
    #[must_use]
    pub const fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// Starts on a line.
    #[inline]
    pub(super) fn start(&mut self) {
        self.look();
        self.started_len = self.wire_len;
    }

    /// The octets, FCS included, with which it started on its line; what it is given to a node with may
    /// be shorter, where it was protected, or longer, where nobody took the protection off.
    #[inline]
    #[must_use]
    pub const fn started_len(&self) -> u32 {
        self.started_len
    }

    /// What is on its line in place of its own octets, where it is protected by MACsec: from the
    /// destination on to the check value, of a long frame as far as it is kept.
    #[must_use]
    pub fn protected(&self) -> Option<&[u8]> {
        self.sealed.as_ref().map(|sealed| sealed.octets())
    }

    /// The first octets of what is on its line, as who listens there has them, and the length of that
    /// with FCS.
    #[must_use]
    pub fn on_line(&self) -> (&[u8], u32) {
        let Some(sealed) = &self.sealed else { return (self.head(), self.wire_len) };
        let (octets, len) = (sealed.octets(), self.wire_len + sealed.uncounted());
        // Of a long frame the check value is not where it is kept.
        let is_whole = octets.len() as u32 + FCS_BYTES >= len;
        let shown = octets.len() - if is_whole { 0 } else { Secy::BACK };
        (&octets[..shown], len)
    }

    /// Whether it could not be protected, and is lost for that.
    pub(super) const fn is_refused(&self) -> bool {
        self.refused
    }

    pub(super) const fn refuse(&mut self) {
        self.refused = true;
    }

    pub(super) const fn lengthen(&mut self, octets: u32) {
        self.wire_len += octets;
    }

    pub(super) const fn shorten(&mut self, octets: u32) {
        self.wire_len = self.wire_len.saturating_sub(octets);
    }

    /// Has these first octets from now on.
    pub(super) fn replace(&mut self, octets: &[u8]) {
        if self.head() == octets {
            return;
        }
        self.changed = true;
        if self.head().len() == octets.len() {
            self.octets[usize::from(self.start)..].copy_from_slice(octets);
        } else {
            self.octets = [&[0; ROOM], octets].concat().into_boxed_slice();
            self.start = ROOM as u8;
        }
    }

    /// A bit of it flipped on the way.
    pub const fn damage(&mut self) {
        self.damaged = true;
    }
}

const _: () = assert!(ROOM + KEPT <= u8::MAX as usize, "places in a frame's octets are a byte");

impl Frame for VirtualFrame {
    #[inline]
    fn head(&self) -> &[u8] {
        &self.octets[usize::from(self.start)..]
    }

    #[inline]
    fn head_mut(&mut self) -> &mut [u8] {
        self.changed = true;
        &mut self.octets[usize::from(self.start)..]
    }

    #[inline]
    fn wire_len(&self) -> u32 {
        self.wire_len
    }

    fn prepend(&mut self, n: usize) -> bool {
        let fits = usize::from(self.start) >= n;
        if fits {
            self.start -= n as u8;
            self.changed = true;
            self.wire_len += n as u32;
        }
        fits
    }

    fn trim_front(&mut self, n: usize) -> bool {
        let there = self.head().len() >= n;
        if there {
            self.start += n as u8;
            self.changed = true;
            self.wire_len -= n as u32;
        }
        there
    }

    fn duplicate(&mut self) -> Option<Self> {
        Some(self.clone())
    }
}

/// A port whose other side is the network: it takes what the node sends, and gives what arrived.
#[derive(Debug)]
pub struct VirtualPort {
    arrived: VecDeque<VirtualFrame>,
    sent: Vec<VirtualFrame>,
    guard: Option<Box<Guard>>,
    /// The length on the wire that control frames are said to have, if not their own.
    control_len: Option<u32>,
    #[cfg(test)]
    saboteur: Option<super::sabotage::Saboteur>,
}

impl VirtualPort {
    /// A port on which nothing has arrived, with a `SecY` if there is a plan for one. `control_len`
    /// gives MAC control frames another length on the wire than the 64 octets they have, for
    /// comparison with simulators that do.
    ///
    /// # Errors
    /// What contradicts itself in the plan.
    pub fn new(control_len: Option<u32>, secy: Option<&SecyPlan>) -> Result<Self, SecyError> {
        Ok(Self {
            arrived: VecDeque::new(),
            sent: Vec::new(),
            guard: secy.map(Guard::new).transpose()?.map(Box::new),
            control_len,
            #[cfg(test)]
            saboteur: None,
        })
    }

    /// Whether a frame that is at the end of its line is let through. Where nobody takes its
    /// protection off it is then what was on the line.
    #[inline]
    pub(super) fn admits(&mut self, frame: &mut VirtualFrame) -> bool {
        match &mut self.guard {
            Some(guard) => guard.admits(frame),
            None => {
                frame.open();
                true
            }
        }
    }

    /// A frame has arrived and was let through.
    pub(super) fn deliver(&mut self, mut frame: VirtualFrame) {
        frame.open();
        #[cfg(test)]
        if let Some(saboteur) = &mut self.saboteur {
            saboteur.rx(&mut frame);
        }
        self.arrived.push_back(frame);
    }

    /// Frames that have arrived and that the node has not taken.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.arrived.len()
    }

    /// Those frames, in order.
    pub(super) fn arrived(&self) -> impl Iterator<Item = &VirtualFrame> {
        self.arrived.iter()
    }

    /// From now on the port does something wrong.
    #[cfg(test)]
    pub(crate) fn sabotage(&mut self, what: super::sabotage::Sabotage) {
        self.saboteur = Some(super::sabotage::Saboteur::new(what));
    }

    /// Takes what the node has sent, in order.
    pub(super) fn take_sent(&mut self) -> std::vec::Drain<'_, VirtualFrame> {
        #[cfg(test)]
        if let Some(saboteur) = &mut self.saboteur {
            saboteur.tx(&mut self.sent);
        }
        if let Some(guard) = &mut self.guard {
            self.sent.iter_mut().for_each(|frame| guard.seal(frame, false));
        }
        self.sent.drain(..)
    }
}

impl Port for VirtualPort {
    type Frame = VirtualFrame;

    #[inline]
    fn rx_burst(&mut self, out: &mut Burst<VirtualFrame>) {
        while !out.is_full() {
            let Some(frame) = self.arrived.pop_front() else { break };
            out.push(frame);
        }
    }

    #[inline]
    fn tx_burst(&mut self, out: &mut Burst<VirtualFrame>) {
        // One frame at a time is what a shaped port sends.
        if out.len() > 1 {
            self.sent.extend(out.drain(..));
        } else if let Some(frame) = out.pop() {
            self.sent.push(frame);
        }
    }

    fn control_frame(&mut self, octets: &[u8]) -> Option<VirtualFrame> {
        let mut frame = VirtualFrame::whole(octets);
        if let Some(len) = self.control_len.filter(|_| frame.is_control()) {
            frame.wire_len = len;
        }
        if let Some(guard) = self.guard.as_mut().filter(|guard| !guard.data) {
            guard.seal(&mut frame, true);
        }
        Some(frame)
    }

    fn caps(&self) -> &PortCaps {
        &PortCaps { link_rate: None, rx_backlog_max: Bytes(0), tx_committed_max: Bytes(0) }
    }

    fn stamps(&self) -> Stamps {
        Stamps {
            source: StampSource::Exact,
            resolution: Duration::from_picos(1),
            uncertainty: Duration::ZERO,
            serializes: true,
        }
    }

    fn secy(&self) -> Option<&Secy> {
        self.guard.as_ref().map(|guard| &guard.secy)
    }

    fn secy_mut(&mut self) -> Option<&mut Secy> {
        self.guard.as_mut().map(|guard| &mut guard.secy)
    }
}

impl Source for VirtualPort {
    #[inline]
    fn data_frame(&mut self, head: &[u8], wire_len: u32) -> Option<VirtualFrame> {
        Some(VirtualFrame::new(head, wire_len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_frame_keeps_its_first_octets_and_its_length() {
        let head: Vec<u8> = (0..200).map(|n| n as u8).collect();
        let mut frame = VirtualFrame::new(&head, 9018);
        assert_eq!(frame.wire_len(), 9018);
        assert_eq!(frame.head(), &head[..KEPT]);
        assert!(frame.prepend(4) && frame.wire_len() == 9022);
        frame.head_mut()[..4].fill(7);
        assert!(frame.trim_front(4) && frame.head() == &head[..KEPT]);
        assert!(frame.trim_front(4) && frame.head().len() >= 128, "the contract of Frame::head");
    }

    #[test]
    fn a_short_frame_is_whole_and_has_no_more_than_its_octets() {
        let frame = VirtualFrame::new(&[1, 2, 3], 64);
        assert_eq!(frame.head().len(), 60);
        assert_eq!(frame.head()[..4], [1, 2, 3, 0]);
        assert_eq!(VirtualFrame::new(&[9; 300], 64).head().len(), 60);
    }

    #[test]
    fn more_than_the_room_in_front_is_refused() {
        let mut frame = VirtualFrame::new(&[0; 60], 64);
        assert!(frame.prepend(8) && !frame.prepend(1));
        assert_eq!(frame.wire_len(), 72);
    }
}
