//! Memory of frames: what a port asks of it, and one of the process's own heap.

use core::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contracts::frame::{FCS_BYTES, Frame};

/// Memory from which a port takes frames.
pub trait Memory {
    type Frame: Frame;

    /// Returns a frame of `len` octets without FCS, of any contents, with room for tags in front of it and for
    /// padding and a check value behind; nothing while the memory is used up, or where no frame is that long.
    fn frame(&mut self, len: usize) -> Option<Self::Frame>;

    /// Octets of the longest frame without FCS.
    fn longest(&self) -> usize;

    /// All octets of a frame without its FCS.
    fn octets(frame: &Self::Frame) -> &[u8];

    /// The same, for changes.
    fn octets_mut(frame: &mut Self::Frame) -> &mut [u8];

    /// Returns true if these are all octets of the frame, and not its first buffer's.
    #[inline]
    fn is_whole(_frame: &Self::Frame) -> bool {
        true
    }

    /// Notes that the checksum of the frame's transport header is known to be right.
    fn set_checked(frame: &mut Self::Frame);

    /// Returns true if that was noted.
    fn is_checked(frame: &Self::Frame) -> bool;
}

/// Octets in front of a frame, for tags and a `SecTAG`.
const HEADROOM: usize = 32;
/// Octets behind the longest frame, for an ICV.
const TAILROOM: usize = 16;

/// A bounded number of frames on the heap. Clones are handles on the same frames, which any thread may return.
#[derive(Clone)]
pub struct Packets(Arc<Inner>);

struct Inner {
    /// The last one that came back is taken first, as it is in the caches.
    free: Mutex<Vec<Box<[u8]>>>,
    /// Longest frame in octets, without FCS.
    longest: usize,
}

impl Packets {
    /// Reserves `frames` frames that have room for `longest` octets, FCS included, rounded up to whole KiB: a switch drops
    /// a frame that is a little too long by that name. The memory is touched when it is first used.
    pub fn new(frames: usize, longest: u32) -> Self {
        let longest = (longest - FCS_BYTES).next_multiple_of(1_024) as usize;
        let room = HEADROOM + longest + TAILROOM;
        let free = (0..frames).map(|_| vec![0; room].into()).collect();
        Self(Arc::new(Inner { free: Mutex::new(free), longest }))
    }

    fn free(&self) -> MutexGuard<'_, Vec<Box<[u8]>>> {
        self.0.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Packets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Packets({} free)", self.free().len())
    }
}

/// A frame of [`Packets`].
pub struct Packet {
    /// Empty only while it is dropped.
    body: Box<[u8]>,
    start: u32,
    len: u32,
    is_checked: bool,
    home: Packets,
}

impl Memory for Packets {
    type Frame = Packet;

    fn frame(&mut self, len: usize) -> Option<Packet> {
        if len > self.0.longest {
            return None;
        }
        let body = self.free().pop()?;
        let (start, home) = (HEADROOM as u32, self.clone());
        Some(Packet { body, start, len: len as u32, is_checked: false, home })
    }

    fn longest(&self) -> usize {
        self.0.longest
    }

    #[inline]
    fn octets(frame: &Packet) -> &[u8] {
        frame.head()
    }

    #[inline]
    fn octets_mut(frame: &mut Packet) -> &mut [u8] {
        frame.head_mut()
    }

    #[inline]
    fn set_checked(frame: &mut Packet) {
        frame.is_checked = true;
    }

    #[inline]
    fn is_checked(frame: &Packet) -> bool {
        frame.is_checked
    }
}

impl Frame for Packet {
    #[inline]
    fn head(&self) -> &[u8] {
        &self.body[self.start as usize..][..self.len as usize]
    }

    #[inline]
    fn head_mut(&mut self) -> &mut [u8] {
        &mut self.body[self.start as usize..][..self.len as usize]
    }

    #[inline]
    fn wire_len(&self) -> u32 {
        self.len + FCS_BYTES
    }

    fn prepend(&mut self, n: usize) -> bool {
        let fits = n <= self.start as usize;
        if fits {
            self.start -= n as u32;
            self.len += n as u32;
        }
        fits
    }

    fn trim_front(&mut self, n: usize) -> bool {
        let fits = n <= self.len as usize;
        if fits {
            self.start += n as u32;
            self.len -= n as u32;
        }
        fits
    }

    fn append(&mut self, n: usize) -> bool {
        let fits = self.start as usize + self.len as usize + n <= self.body.len();
        if fits {
            self.len += n as u32;
        }
        fits
    }

    fn trim_back(&mut self, n: usize) -> bool {
        let fits = n <= self.len as usize;
        if fits {
            self.len -= n as u32;
        }
        fits
    }

    fn whole_mut(&mut self) -> Option<&mut [u8]> {
        Some(self.head_mut())
    }

    fn duplicate(&mut self) -> Option<Self> {
        let mut copy = self.home.frame(self.len as usize)?;
        copy.head_mut().copy_from_slice(self.head());
        copy.is_checked = self.is_checked;
        Some(copy)
    }
}

impl Drop for Packet {
    #[inline]
    fn drop(&mut self) {
        let body = core::mem::take(&mut self.body);
        self.home.free().push(body);
    }
}

impl fmt::Debug for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = self.head();
        write!(f, "Packet({} B, {:02x?}..)", self.wire_len(), &head[..head.len().min(32)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_to_their_memory_from_any_thread() {
        let mut memory = Packets::new(2, 1_522);
        assert_eq!(memory.longest(), 2_048);
        let (a, b) = (memory.frame(60).unwrap(), memory.frame(2_048).unwrap());
        assert!(memory.frame(60).is_none());
        std::thread::spawn(move || drop((a, b))).join().unwrap();
        let again = memory.frame(60).unwrap();
        assert!(!Packets::is_checked(&again));
        assert!(memory.frame(60).is_some());
        assert!(memory.frame(2_049).is_none(), "longer than any");
    }

    #[test]
    fn tags_and_check_values_have_room_and_a_copy_has_all() {
        let mut memory = Packets::new(2, 1_522);
        let mut frame = memory.frame(2_048).unwrap();
        frame.head_mut().fill(7);
        Packets::set_checked(&mut frame);
        assert!(frame.prepend(8) && frame.prepend(16) && !frame.prepend(9));
        assert!(frame.append(16) && !frame.append(1));
        assert_eq!((frame.wire_len(), frame.head().len()), (2_092, 2_088));
        assert!(frame.trim_front(24) && frame.trim_back(16));
        let copy = frame.duplicate().unwrap();
        assert_eq!(copy.head(), [7; 2_048]);
        assert!(Packets::is_checked(&copy));
        assert!(frame.duplicate().is_none());
        assert!(!frame.trim_front(2_049) && !frame.trim_back(2_049));
    }
}
