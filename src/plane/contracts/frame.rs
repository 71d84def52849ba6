//! Frames as the data plane sees them: head bytes and length, independent of their memory.
//!
//! A [`Frame`] is owned: it is moved from its ingress port to its egress port, and dropping it
//! frees its memory. The switch's metadata (buffer charge, priority, egress) is queued beside the
//! frame, not in it, so that a frame's memory is accessed for its headers alone.

use arrayvec::ArrayVec;

use crate::port::FRAME_MIN;

/// Maximum number of frames per receive or transmit call.
pub const BURST: usize = 32;

/// A burst of frames. Moving a frame out transfers its memory.
pub type Burst<F> = ArrayVec<F, BURST>;

/// Bytes of the frame check sequence. A [`Frame`]'s contents exclude it (the port adds and checks
/// it); every accounted length includes it.
pub const FCS_BYTES: u32 = 4;

/// Bytes on the line per frame besides the frame: preamble and start delimiter (8) and the average
/// interpacket gap (12), IEEE 802.3 4.4.2.
pub const LINE_OVERHEAD_BYTES: u32 = 20;

/// An owned Ethernet frame, from destination address on, without its frame check sequence.
pub trait Frame: Sized {
    /// Returns the first bytes of the frame, contiguous: all of it, or at least the first 128 of a
    /// longer one.
    fn head(&self) -> &[u8];

    /// Returns the same bytes for changes in place.
    fn head_mut(&mut self) -> &mut [u8];

    /// Returns the length on the wire from destination address to FCS, both included.
    fn wire_len(&self) -> u32;

    /// Adds `n` uninitialized bytes in front: for a VLAN tag (n <= 8), and if [`Frame::whole_mut`]
    /// returns the frame, for a `SecTAG` (n <= 16). Returns false, without a change, if the
    /// headroom of the buffer is used up.
    #[must_use]
    fn prepend(&mut self, n: usize) -> bool;

    /// Removes the first `n` bytes. Returns false, without a change, if there are fewer.
    #[must_use]
    fn trim_front(&mut self, n: usize) -> bool;

    /// Adds `n` uninitialized bytes at the end (n <= 16 for an ICV, n < 60 for padding). Returns
    /// false, without a change, if there is no tailroom, as by default.
    #[must_use]
    fn append(&mut self, n: usize) -> bool {
        let _ = n;
        false
    }

    /// Adds zeros at the end of a frame that is shorter than Ethernet's minimum (802.3
    /// 4A.2.3.2.4). Returns false, without a change, if there is no tailroom.
    #[must_use]
    fn pad(&mut self) -> bool {
        // By the length with FCS, which the port adds.
        let missing = FRAME_MIN.saturating_sub(self.wire_len()) as usize;
        if missing == 0 || !self.append(missing) {
            return missing == 0;
        }
        if let Some((_, padding)) =
            self.whole_mut().and_then(|all| all.split_at_mut_checked(all.len() - missing))
        {
            // Appended bytes are uninitialized: whatever was in the buffer would leave the switch.
            padding.fill(0);
        }
        true
    }

    /// Removes the last `n` bytes. Returns false, without a change, if there are fewer, or if it is
    /// not supported, as by default.
    #[must_use]
    fn trim_back(&mut self, n: usize) -> bool {
        let _ = n;
        false
    }

    /// Returns the whole frame for changes in place; `None` if it is not contiguous or not stored,
    /// as by default.
    fn whole_mut(&mut self) -> Option<&mut [u8]> {
        None
    }

    /// Names the transmit queue of the frame, for ports with queues by priority. Frames of other
    /// ports have none, as by default.
    #[inline]
    fn set_queue(&mut self, queue: u8) {
        let _ = queue;
    }

    /// Brings the first bytes into the caches: the frame is about to leave a queue in which it has waited.
    /// Does nothing by default.
    #[inline]
    fn fetch(&self) {}

    /// Returns a second frame with the same contents (for flooding), or `None` if memory is
    /// exhausted.
    fn duplicate(&mut self) -> Option<Self>;

    /// Drops all frames of a burst. By default one by one.
    #[inline]
    fn free_all(frames: &mut Burst<Self>) {
        frames.clear();
    }
}
