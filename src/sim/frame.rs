//! Frames of the virtual world: header bytes in a box, and a length on the wire.

pub use super::body::{Sealed, VirtualFrame};

use super::body::{Body, OCTETS, ROOM};
use contracts::frame::{FCS_BYTES, Frame};
use contracts::port::FRAME_MIN;
use ground::memory::fetch_lines;
use secure::Secy;
use xxhash_rust::xxh3::xxh3_64;

/// Number of first bytes that are kept: those that the data plane may read, and those that
/// `trim_front` may remove.
pub const KEPT: usize = 128 + ROOM;

/// Bytes of a frame that its digest covers: all headers, and the probe behind them.
const DIGESTED: usize = 96;

impl VirtualFrame {
    /// Creates a frame of `wire_len` bytes, FCS included, that starts with `head` and is zero
    /// behind it. Bytes of `head` beyond the frame without FCS, or beyond the kept ones, are left
    /// out.
    pub fn new(head: &[u8], wire_len: u32) -> Self {
        let kept = (wire_len.saturating_sub(FCS_BYTES) as usize).min(KEPT);
        Self::keeping(kept, head, wire_len)
    }

    /// Creates a frame of these bytes and an FCS, all of which are kept: link-protocol frames may
    /// be longer than what a switch reads.
    pub fn whole(octets: &[u8]) -> Self {
        Self::keeping(octets.len(), octets, octets.len() as u32 + FCS_BYTES)
    }

    #[inline]
    fn keeping(kept: usize, head: &[u8], wire_len: u32) -> Self {
        let mut frame = Self::blank(wire_len);
        let head = &head[..head.len().min(kept)];
        frame.fill(kept, head);
        // Then all bytes of the digest are in `head`, or fewer than these are kept.
        if head.len() >= DIGESTED || kept < DIGESTED {
            frame.update_digest();
            return frame;
        }
        // As `update_digest`, without a look at the zero bytes behind the head in memory.
        let mut first = [0; DIGESTED];
        first[..head.len()].copy_from_slice(head);
        let body = &mut *frame;
        body.changed = false;
        body.control = first[12..14] == [0x88, 0x08];
        body.digest = xxh3_64(&first);
        frame
    }

    /// Updates digest and type if the bytes have changed.
    #[inline]
    pub(super) fn update_digest(&mut self) {
        if self.changed {
            let body = &mut **self;
            body.changed = false;
            body.control = body.head().get(12..14) == Some(&[0x88, 0x08]);
            let head = body.head();
            body.digest = xxh3_64(&head[..head.len().min(DIGESTED)]);
        }
    }

    /// Returns the digest of its first bytes, as of the last update.
    #[inline]
    pub(super) fn digest(&self) -> u64 {
        self.digest
    }

    /// Returns true for a MAC control frame, which the MAC consumes, as of the last update.
    #[inline]
    pub fn is_control(&self) -> bool {
        self.control
    }

    /// Returns true for a fragment, which the MAC of a switch discards (802.3 4.2.4.1.1). Short MAC control is
    /// left to the device itself.
    #[inline]
    pub(super) fn is_short(&self) -> bool {
        self.wire_len < FRAME_MIN && !self.control
    }

    /// Returns true if its FCS does not match.
    pub fn is_damaged(&self) -> bool {
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
    pub fn started_len(&self) -> u32 {
        self.started_len
    }

    /// Returns true if it could not be protected, and is lost at the start of its line.
    pub fn is_refused(&self) -> bool {
        self.refused
    }

    /// Protected bytes on its line, with MACsec: from the destination to the check value, of a long
    /// frame as far as they are kept. They stay those of the line until a node is given the frame.
    pub fn protected(&self) -> Option<&[u8]> {
        self.sealed.as_ref().map(|sealed| &*sealed.octets)
    }

    /// Returns the first bytes on its line, as a listener sees them, and their length with FCS.
    pub fn on_line(&self) -> (&[u8], u32) {
        let Some(sealed) = &self.sealed else { return (self.head(), self.wire_len) };
        let (octets, len) = (&sealed.octets, self.wire_len + sealed.uncounted());
        // The check value of a long frame is not at its real place.
        let is_whole = octets.len() as u32 + FCS_BYTES >= len;
        let shown = octets.len() - if is_whole { 0 } else { Secy::BACK };
        (&octets[..shown], len)
    }

    /// Replaces the first bytes.
    fn replace(&mut self, octets: &[u8]) {
        // Equal bytes keep their digest, which `head_mut` would make invalid.
        if self.head() == octets {
            return;
        }
        if self.head().len() == octets.len() {
            self.head_mut().copy_from_slice(octets);
        } else {
            self.fill(octets.len(), octets);
        }
    }

    /// Converts a protected frame to what its receiver's node gets: the plain frame, or if it was
    /// not accepted by a `SecY`, the protected bytes.
    #[inline]
    pub(super) fn open(&mut self) {
        if let Some(sealed) = self.sealed.take() {
            self.open_sealed(*sealed);
        }
    }

    fn open_sealed(&mut self, sealed: Sealed) {
        let Sealed { octets, overhead, counted, opened } = sealed;
        match opened {
            Some(octets) => {
                // What the sender added to the length, where MAC control alone is protected.
                self.wire_len = self.wire_len.saturating_sub(counted);
                self.replace(&octets);
            }
            None => {
                // The node gets the protected bytes, so their whole overhead counts.
                self.wire_len += overhead - counted;
                self.replace(&octets);
            }
        }
    }

    /// Marks a bit error on the way.
    pub fn damage(&mut self) {
        self.damaged = true;
    }
}

const _: () = assert!(ROOM + KEPT <= OCTETS, "the bytes of a frame fit into its body");
const _: () = assert!(ROOM + KEPT <= u8::MAX as usize, "places in a frame's octets are a byte");

impl Frame for VirtualFrame {
    #[inline]
    fn head(&self) -> &[u8] {
        Body::head(self)
    }

    #[inline]
    fn head_mut(&mut self) -> &mut [u8] {
        self.changed = true;
        Body::head_mut(self)
    }

    #[inline]
    fn wire_len(&self) -> u32 {
        self.wire_len
    }

    fn prepend(&mut self, n: usize) -> bool {
        // The room is that of two tags.
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

    fn pad(&mut self) -> bool {
        // A frame of the minimum length gets too short when its tag is removed.
        if self.wire_len < FRAME_MIN {
            let mut octets = [0; (FRAME_MIN - FCS_BYTES) as usize];
            let head = self.head();
            let len = head.len().min(octets.len());
            octets[..len].copy_from_slice(&head[..len]);
            self.fill(octets.len(), &octets);
            self.wire_len = FRAME_MIN;
        }
        true
    }

    /// The two lines with the headers.
    #[inline(always)]
    fn fetch(&self) {
        fetch_lines(&self.digest, 2);
    }

    fn duplicate(&mut self) -> Option<Self> {
        Some(self.clone())
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
    fn a_frame_that_lost_its_tag_is_padded_to_the_minimum() {
        let mut frame = VirtualFrame::new(&[9; 60], 64);
        assert!(frame.trim_front(4) && frame.wire_len() == 60);
        assert!(frame.pad() && frame.wire_len() == 64 && frame.head().len() == 60);
        assert_eq!((frame.head()[55], frame.head()[56..].to_vec()), (9, vec![0; 4]));
        assert!(frame.pad() && frame.wire_len() == 64);
    }

    #[test]
    fn more_than_the_room_in_front_is_refused() {
        let mut frame = VirtualFrame::new(&[0; 60], 64);
        assert!(frame.prepend(8) && !frame.prepend(1));
        assert_eq!(frame.wire_len(), 72);
    }
}
