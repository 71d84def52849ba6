//! Memory of frames.
//!
//! A frame is a pointer to its body, so that it moves from queue to queue as one word. It lives for
//! microseconds, and nearly all bodies are alike: that of a frame which is dropped is kept for the next
//! one of the thread, which is a tenth of the work of an allocator that splits and joins blocks where
//! many frames come and go at once.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

/// Bytes kept free in front for `prepend`.
pub(super) const ROOM: usize = 8;

/// Bytes that a body has for those of its frame.
pub(super) const OCTETS: usize = 144;

/// Most bodies that a thread keeps: 12 MiB.
const KEPT_MAX: usize = 1 << 16;

/// A frame in flight: its first bytes, and its length on the wire. A frame of 9 KB takes no more
/// memory than one of 140 bytes; bytes that are not kept are zero.
#[derive(Debug)]
pub struct VirtualFrame(pub(super) Option<Box<Body>>);

/// A protected frame on the line.
#[derive(Clone, Debug)]
pub struct Sealed {
    /// From the destination, with SecTAG and check value, as far as they are kept.
    pub(super) octets: Box<[u8]>,
    /// Bytes on the line in addition to the plain frame, and those of them that are in the frame's
    /// length.
    pub(super) overhead: u32,
    pub(super) counted: u32,
    /// Bytes of the plain frame, as far as they are kept, if its receiver's `SecY` accepted it.
    pub(super) opened: Option<Box<[u8]>>,
}

impl Sealed {
    /// Returns the overhead that is not in the frame's length.
    pub(super) const fn uncounted(&self) -> u32 {
        self.overhead - self.counted
    }
}

/// The content of a frame. What a line needs comes first, in one cache line with the addresses.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Body {
    /// Digest of the bytes at the last update.
    pub(super) digest: u64,
    /// Protected bytes on the line, with MACsec.
    pub(super) sealed: Option<Box<Sealed>>,
    /// The bytes of a frame that keeps more than [`OCTETS`], in place of `octets`.
    #[allow(clippy::box_collection)] // one word, as hardly any frame has it
    pub(super) long: Option<Box<Vec<u8>>>,
    pub(super) wire_len: u32,
    /// Length at its last start on a line.
    pub(super) started_len: u32,
    /// Offset of the frame in its bytes, and the end of the kept ones in `octets`.
    pub(super) start: u8,
    pub(super) end: u8,
    /// The bytes of `octets` from here on are zero; all may have been written if it is [`OCTETS`].
    used: u8,
    pub(super) damaged: bool,
    /// True if a defect of its sender damaged it, not a line.
    pub(super) spoilt: bool,
    pub(super) control: bool,
    /// True if it could not be protected, and is lost at the start of its line.
    pub(super) refused: bool,
    /// True if the bytes have changed since the last update of the digest.
    pub(super) changed: bool,
    /// Free room in front, and the kept bytes.
    pub(super) octets: [u8; OCTETS],
}

const _: () = assert!(size_of::<Body>() == 192, "a body is three cache lines");

impl Body {
    const EMPTY: Self = Self {
        digest: 0,
        sealed: None,
        long: None,
        wire_len: 0,
        started_len: 0,
        start: 0,
        end: 0,
        used: 0,
        damaged: false,
        spoilt: false,
        control: false,
        refused: false,
        changed: true,
        octets: [0; OCTETS],
    };

    /// Sets the bytes: [`ROOM`] zero bytes, those of `head`, and zero bytes up to `kept` bytes behind the
    /// room. `head` is not longer than `kept`.
    #[inline]
    pub(super) fn fill(&mut self, kept: usize, head: &[u8]) {
        let (end, written) = (ROOM + kept, ROOM + head.len());
        self.start = ROOM as u8;
        self.changed = true;
        if end <= OCTETS {
            // The last cache line of most frames is never touched: it was zero before.
            match usize::from(self.used) {
                OCTETS => self.octets = [0; OCTETS],
                used if used > written => self.octets[written..used].fill(0),
                _ => {}
            }
            self.octets[ROOM..written].copy_from_slice(head);
            (self.end, self.used) = (end as u8, written as u8);
            // The test is cheaper than to drop a box that is nearly never there.
            if self.long.is_some() {
                self.long = None;
            }
        } else {
            // Few frames get here: long ones of link protocols, of which every byte is kept.
            let mut long = vec![0; end];
            long[ROOM..written].copy_from_slice(head);
            self.long = Some(Box::new(long));
        }
    }

    /// The bytes from the frame's start.
    #[inline]
    pub(super) fn head(&self) -> &[u8] {
        let start = usize::from(self.start);
        match &self.long {
            None => &self.octets[start..usize::from(self.end)],
            Some(long) => &long[start..],
        }
    }

    /// The same bytes, for changes.
    #[inline]
    pub(super) fn head_mut(&mut self) -> &mut [u8] {
        let start = usize::from(self.start);
        // The caller may write anywhere, so all bytes count as written from now on.
        self.used = OCTETS as u8;
        match &mut self.long {
            None => &mut self.octets[start..usize::from(self.end)],
            Some(long) => &mut long[start..],
        }
    }
}

thread_local! {
    /// Bodies of frames that were dropped, the last one on top: it is still in the caches.
    #[allow(clippy::vec_box)] // bodies do not move
    static BODIES: RefCell<Vec<Box<Body>>> = const { RefCell::new(Vec::new()) };
}

/// Bodies without frames, on their way from one thread to another.
#[allow(clippy::vec_box)] // bodies do not move
pub(super) type Spares = Vec<Box<Body>>;

/// Bodies that a thread keeps for itself when it gives others away.
const KEPT_MIN: usize = 64;

/// Most bodies that are given at a time.
const GIVEN_MAX: usize = 1 << 10;

/// Moves up to `most` of the bodies that this thread keeps to `out`, for the thread that the frames came
/// from, which would have to allocate new ones. Returns their number.
pub(super) fn give(most: usize, out: &mut Spares) -> usize {
    BODIES.with_borrow_mut(|bodies| {
        // Some stay, so that a thread that gives does not have to allocate for its own next frames.
        let n = most.min(GIVEN_MAX).min(bodies.len().saturating_sub(KEPT_MIN));
        let rest = bodies.len() - n;
        out.extend(bodies.drain(rest..));
        n
    })
}

/// Takes over bodies that another thread has given.
pub(super) fn adopt(spares: &mut Spares) {
    if !spares.is_empty() {
        BODIES.with_borrow_mut(|bodies| {
            // What does not fit is freed here, as the list of spares goes back empty.
            let room = KEPT_MAX.saturating_sub(bodies.len());
            bodies.extend(spares.drain(..).take(room));
        });
    }
}

impl VirtualFrame {
    /// Returns a frame of `wire_len` bytes whose bytes are not set yet.
    #[inline]
    pub(super) fn blank(wire_len: u32) -> Self {
        let kept = BODIES.with_borrow_mut(Vec::pop);
        let mut body = kept.unwrap_or_else(|| Box::new(Body::EMPTY));
        (body.wire_len, body.started_len) = (wire_len, wire_len);
        // All other fields are set with the bytes, or when the digest is updated.
        (body.damaged, body.spoilt, body.refused) = (false, false, false);
        Self(Some(body))
    }
}

impl Drop for VirtualFrame {
    #[inline]
    fn drop(&mut self) {
        let Some(mut body) = self.0.take() else { return };
        // A body that is kept does not hold memory of its former frame.
        if body.sealed.is_some() || body.long.is_some() {
            (body.sealed, body.long) = (None, None);
        }
        // A thread that ends keeps nothing more.
        let _ = BODIES.try_with(|bodies| {
            let mut bodies = bodies.borrow_mut();
            if bodies.len() < KEPT_MAX {
                bodies.push(body);
            }
        });
    }
}

impl Clone for VirtualFrame {
    fn clone(&self) -> Self {
        let mut frame = Self::blank(self.wire_len);
        (*frame).clone_from(self);
        frame
    }
}

/// Reason for which a frame always has a body.
const WHOLE: &str = "a frame has its body until it is dropped";

impl Deref for VirtualFrame {
    type Target = Body;

    #[inline(always)]
    fn deref(&self) -> &Body {
        self.0.as_deref().expect(WHOLE)
    }
}

impl DerefMut for VirtualFrame {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Body {
        self.0.as_deref_mut().expect(WHOLE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_was_another_frames_is_zero_behind_the_head() {
        for (kept, len) in [(136, 136), (60, 60), (136, 3), (0, 0), (300, 7), (137, 137)] {
            let mut before = VirtualFrame::blank(64);
            before.fill(136, &[0xff; 136]);
            (before.damaged, before.refused) = (true, true);
            if len % 2 == 0 {
                before.start = 0;
                before.head_mut().fill(0xff);
            }
            drop(before);
            let mut frame = VirtualFrame::blank(64);
            frame.fill(kept, &[7; 300][..len]);
            assert!(!frame.damaged && !frame.refused);
            assert_eq!(frame.head().len(), kept);
            assert!(frame.head()[..len].iter().all(|o| *o == 7));
            assert!(frame.head()[len..].iter().all(|o| *o == 0));
            frame.start = 0;
            assert!(frame.head()[..8].iter().all(|o| *o == 0));
            assert_eq!(frame.clone().head(), frame.head());
        }
    }
}
