//! What the data plane knows of a frame: its first bytes, its length, and nothing of its memory.
//!
//! A [`Frame`] is owned: it is moved from the port it came in by to the port it leaves by, and
//! dropping it gives its memory back. What the switch learns about it on the way (its buffer
//! charge, priority, egress) travels beside it in the queue, not inside it, so that a frame's
//! memory is touched for its headers alone.

use arrayvec::ArrayVec;

/// How many frames a port takes or gives in one call.
pub const BURST: usize = 32;

/// A burst of frames. Moving a frame out hands over its memory.
pub type Burst<F> = ArrayVec<F, BURST>;

/// Octets of frame check sequence. A [`Frame`]'s bytes leave it out (the port adds and checks it);
/// every length that is accounted for has it in.
pub const FCS_BYTES: u32 = 4;

/// Octets a frame takes on the line besides itself: preamble and start delimiter (8) and the
/// average interpacket gap (12), IEEE 802.3 4.4.2.
pub const LINE_OVERHEAD_BYTES: u32 = 20;

/// An owned Ethernet frame, from destination address on, without its frame check sequence.
pub trait Frame: Sized {
    /// The frame's first octets, contiguous: all of it, or at least the first 128 of a longer one.
    fn head(&self) -> &[u8];

    /// The same octets, to be changed in place.
    fn head_mut(&mut self) -> &mut [u8];

    /// The octets this frame has on the wire from destination address to FCS, both included.
    fn wire_len(&self) -> u32;

    /// Adds `n` octets of unset content in front: for a VLAN tag (n <= 8), and where
    /// [`Frame::whole_mut`] gives octets, for a `SecTAG` (n <= 16). False, and nothing changed, when
    /// the memory in front of the frame is used up.
    #[must_use]
    fn prepend(&mut self, n: usize) -> bool;

    /// Takes the first `n` octets away. False, and nothing changed, when there are fewer.
    #[must_use]
    fn trim_front(&mut self, n: usize) -> bool;

    /// Adds `n` octets of unset content at the end (n <= 16, for an ICV). False, and nothing changed,
    /// when there is no memory behind the frame, as by default.
    #[must_use]
    fn append(&mut self, n: usize) -> bool {
        let _ = n;
        false
    }

    /// Takes the last `n` octets away. False, and nothing changed, when there are fewer, or where that
    /// cannot be done, as by default.
    #[must_use]
    fn trim_back(&mut self, n: usize) -> bool {
        let _ = n;
        false
    }

    /// All of its octets, to be changed in place; nothing where they are not in one piece or not kept,
    /// as by default.
    fn whole_mut(&mut self) -> Option<&mut [u8]> {
        None
    }

    /// A second frame with the same octets (for flooding), or nothing when memory has run out.
    fn duplicate(&mut self) -> Option<Self>;
}
