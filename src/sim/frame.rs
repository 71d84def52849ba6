//! Frames and ports of the virtual world: header bytes in a box, and a length on the wire.

use std::collections::VecDeque;

use super::guard::{Guard, Sealed};
use super::hash::digest;
use ::secure::{Secy, SecyError, SecyPlan};
use contracts::frame::{Burst, FCS_BYTES, Frame};
use contracts::port::{Port, PortCaps, Source, StampSource, Stamps};
use ground::time::Duration;
use ground::units::Bytes;

/// Bytes kept free in front for `prepend`.
const ROOM: usize = 8;
/// Number of first bytes that are kept: those that the data plane may read, and those that
/// `trim_front` may remove.
const KEPT: usize = 128 + ROOM;

/// A frame in flight: its first bytes, and its length on the wire. A frame of 9 KB takes no more
/// memory than one of 140 bytes; bytes that are not kept are zero.
///
/// The fields that a line needs are beside the bytes, not in them: a frame that has waited long is
/// out of the caches, and is sent without being read.
#[derive(Clone, Debug)]
pub struct VirtualFrame {
    /// Free room in front, and the kept bytes.
    octets: Box<[u8]>,
    /// Digest of the bytes at the last [`Self::update_digest`].
    digest: u64,
    /// Protected bytes on the line, with MACsec.
    pub(super) sealed: Option<Box<Sealed>>,
    wire_len: u32,
    /// Length at its last start on a line.
    started_len: u32,
    /// Offset of the frame in `octets`.
    start: u8,
    damaged: bool,
    control: bool,
    /// True if it could not be protected, and is lost at the start of its line.
    refused: bool,
    /// True if the bytes have changed since the last [`Self::update_digest`].
    changed: bool,
}

/// Bytes of a frame that its digest covers: all headers, and the probe behind them.
const DIGESTED: usize = 96;

impl VirtualFrame {
    /// Creates a frame of `wire_len` bytes, FCS included, that starts with `head` and is zero
    /// behind it. Bytes of `head` beyond the frame without FCS, or beyond the kept ones, are left
    /// out.
    #[must_use]
    pub fn new(head: &[u8], wire_len: u32) -> Self {
        let kept = (wire_len.saturating_sub(FCS_BYTES) as usize).min(KEPT);
        Self::keeping(kept, head, wire_len)
    }

    /// Creates a frame of these bytes and an FCS, all of which are kept: link-protocol frames may
    /// be longer than what a switch reads.
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
        frame.update_digest();
        frame
    }

    /// Updates digest and type if the bytes have changed.
    #[inline]
    pub(super) fn update_digest(&mut self) {
        if self.changed {
            self.changed = false;
            self.control = self.head().get(12..14) == Some(&[0x88, 0x08]);
            let head = self.head();
            self.digest = digest(&head[..head.len().min(DIGESTED)]);
        }
    }

    /// Returns the digest of its first bytes, as of the last update.
    #[inline]
    pub(super) const fn digest(&self) -> u64 {
        self.digest
    }

    /// Returns true for a MAC control frame, which the MAC consumes, as of the last update.
    #[inline]
    #[must_use]
    pub const fn is_control(&self) -> bool {
        self.control
    }

    /// Returns true if its FCS does not match.
    #[must_use]
    pub const fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// Marks the start on a line.
    #[inline]
    pub(super) fn start(&mut self) {
        self.update_digest();
        self.started_len = self.wire_len;
    }

    /// Length in bytes, FCS included, with which it started on its line. The length given to a node
    /// may be shorter, where it was protected, or longer, where the protection was not removed.
    #[inline]
    #[must_use]
    pub const fn started_len(&self) -> u32 {
        self.started_len
    }

    /// Protected bytes on its line, with MACsec: from the destination to the check value, of a long
    /// frame as far as they are kept.
    #[must_use]
    pub fn protected(&self) -> Option<&[u8]> {
        self.sealed.as_ref().map(|sealed| sealed.octets())
    }

    /// Returns the first bytes on its line, as a listener sees them, and their length with FCS.
    #[must_use]
    pub fn on_line(&self) -> (&[u8], u32) {
        let Some(sealed) = &self.sealed else { return (self.head(), self.wire_len) };
        let (octets, len) = (sealed.octets(), self.wire_len + sealed.uncounted());
        // The check value of a long frame is not at its real place.
        let is_whole = octets.len() as u32 + FCS_BYTES >= len;
        let shown = octets.len() - if is_whole { 0 } else { Secy::BACK };
        (&octets[..shown], len)
    }

    /// Returns true if it could not be protected, and is lost for that reason.
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

    /// Replaces the first bytes.
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

    /// Marks a bit error on the way.
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

/// A port whose other side is the network: it collects sent frames, and delivers arrived ones.
#[derive(Debug)]
pub struct VirtualPort {
    arrived: VecDeque<VirtualFrame>,
    sent: Vec<VirtualFrame>,
    guard: Option<Box<Guard>>,
    /// Length on the wire of control frames, if not their real one.
    control_len: Option<u32>,
    #[cfg(any(test, feature = "rig"))]
    saboteur: Option<super::sabotage::Saboteur>,
}

impl VirtualPort {
    /// Creates an empty port, with a `SecY` if there is a plan for one. `control_len` gives MAC
    /// control frames another length on the wire than their 64 bytes, for comparison with
    /// simulators that do.
    ///
    /// # Errors
    /// A contradiction in the plan.
    pub fn new(control_len: Option<u32>, secy: Option<&SecyPlan>) -> Result<Self, SecyError> {
        Ok(Self {
            arrived: VecDeque::new(),
            sent: Vec::new(),
            guard: secy.map(Guard::new).transpose()?.map(Box::new),
            control_len,
            #[cfg(any(test, feature = "rig"))]
            saboteur: None,
        })
    }

    /// Returns true if a frame at the end of its line is admitted. If its protection is not
    /// removed, it becomes the protected bytes.
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

    /// Delivers an admitted frame.
    pub(super) fn deliver(&mut self, mut frame: VirtualFrame) {
        frame.open();
        #[cfg(any(test, feature = "rig"))]
        if let Some(saboteur) = &mut self.saboteur {
            saboteur.rx(&mut frame);
        }
        self.arrived.push_back(frame);
    }

    /// Returns the number of arrived frames that the node has not read.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.arrived.len()
    }

    /// Iterates over those frames, in order.
    pub(super) fn arrived(&self) -> impl Iterator<Item = &VirtualFrame> {
        self.arrived.iter()
    }

    /// Makes the port misbehave.
    #[cfg(any(test, feature = "rig"))]
    pub fn sabotage(&mut self, what: super::sabotage::Sabotage) {
        self.saboteur = Some(super::sabotage::Saboteur::new(what));
    }

    /// Takes the frames that the node has sent, in order.
    pub(super) fn take_sent(&mut self) -> std::vec::Drain<'_, VirtualFrame> {
        #[cfg(any(test, feature = "rig"))]
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
        // A shaped port sends one frame at a time.
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
