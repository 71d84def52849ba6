//! A frame in DPDK's memory.
//!
//! An [`Mbuf`] owns its buffer: it is moved, never cloned, and dropping it returns the buffer to
//! its pool, from any thread. It stays valid if the pool's handle is dropped first. Its frame is in
//! one segment if Sluice made it or the driver had room for it in one buffer; a driver may chain
//! buffers for frames longer than the pool's room, of which [`Frame::head`] shows the first.

use core::fmt;
use core::ptr::{self, NonNull};
use core::slice;

use dpdk_sys as sys;
use dpdk_sys::rte_mbuf;

use super::hot;
use super::stamps::StampField;
use contracts::frame::{Burst, FCS_BYTES, Frame};

/// An owned DPDK packet buffer with one Ethernet frame.
// A driver takes and returns arrays of pointers to buffers, and a `Burst<Mbuf>` is passed as one.
#[repr(transparent)]
pub struct Mbuf(NonNull<rte_mbuf>);

const _: () = assert!(size_of::<Mbuf>() == size_of::<*mut rte_mbuf>());
const _: () = assert!(align_of::<Mbuf>() == align_of::<*mut rte_mbuf>());

// SAFETY: a buffer is plain memory, and its pool takes it back from any thread.
unsafe impl Send for Mbuf {}

impl Mbuf {
    /// Takes over a buffer.
    ///
    /// # Safety
    /// `m` is alive, no other owner frees or reads it, and its pool outlives it.
    #[inline(always)]
    pub(super) const unsafe fn from_raw(m: NonNull<rte_mbuf>) -> Self {
        Self(m)
    }

    #[inline(always)]
    fn header(&self) -> &rte_mbuf {
        // SAFETY: owned, so alive and not written by another.
        unsafe { self.0.as_ref() }
    }

    #[inline(always)]
    fn header_mut(&mut self) -> &mut rte_mbuf {
        // SAFETY: owned, so alive and not read or written by another.
        unsafe { self.0.as_mut() }
    }

    /// Pointer to the first byte of the frame.
    #[inline(always)]
    fn data(&self) -> *mut u8 {
        let h = self.header();
        // SAFETY: every change of `data_off` keeps it within the buffer.
        unsafe { h.buf_addr.cast::<u8>().add(h.data_off.into()) }
    }

    /// Free bytes behind the frame in its first buffer.
    pub fn tailroom(&self) -> usize {
        let h = self.header();
        usize::from(h.buf_len).saturating_sub(usize::from(h.data_off) + usize::from(h.data_len))
    }

    /// Adds `n` bytes of unset content at the end and returns them. Returns none, with no change,
    /// if there is less room or the frame is in several buffers.
    #[must_use]
    pub fn append(&mut self, n: usize) -> Option<&mut [u8]> {
        if n > self.tailroom() || self.header().nb_segs != 1 {
            return None;
        }
        let at = usize::from(self.header().data_len);
        let h = self.header_mut();
        h.data_len += n as u16;
        h.pkt_len += n as u32;
        Some(&mut self.head_mut()[at..])
    }

    /// Shortens the frame to its first `len` bytes, as for the removal of padding. Returns false,
    /// with no change, if it has fewer or is in several buffers.
    #[must_use]
    pub fn truncate(&mut self, len: usize) -> bool {
        let h = self.header_mut();
        if len > usize::from(h.data_len) || h.nb_segs != 1 {
            return false;
        }
        h.data_len = len as u16;
        h.pkt_len = len as u32;
        true
    }

    /// Number of buffers of the frame: 1 unless a driver chained them.
    pub fn segments(&self) -> u16 {
        self.header().nb_segs
    }

    /// Transmit queue of its priority, for ports that have queues by priority.
    #[inline]
    pub(super) fn queue(&self) -> u8 {
        (self.header().hash[1] >> 16) as u8
    }

    /// Sets transmit flags (`RTE_MBUF_F_TX_*`) for the driver.
    pub(super) fn set_flags(&mut self, flags: u64) {
        self.header_mut().ol_flags |= flags;
    }

    /// True if a flag of reception (`RTE_MBUF_F_RX_*`) is set.
    #[inline]
    pub(super) fn has_flag(&self, flag: u64) -> bool {
        self.header().ol_flags & flag != 0
    }

    /// Place of the frame's header in memory, for the driver and as its identity.
    #[inline]
    pub(super) const fn as_ptr(&self) -> *const rte_mbuf {
        self.0.as_ptr()
    }

    /// Timestamp that the device wrote to `field`, if any.
    #[inline]
    pub(super) fn rx_stamp(&self, field: &StampField) -> Option<u64> {
        if self.header().ol_flags & field.flag == 0 {
            return None;
        }
        // SAFETY: the field was registered, so it is within the structure.
        let at = unsafe { self.0.as_ptr().cast::<u8>().add(field.offset) };
        // SAFETY: owned, and eight bytes of plain memory.
        Some(unsafe { at.cast::<u64>().read_unaligned() })
    }

    /// Writes a timestamp to the frame, as a receiving device does.
    pub fn set_rx_stamp(&mut self, field: &StampField, ticks: u64) {
        self.header_mut().ol_flags |= field.flag;
        // SAFETY: the field was registered, so it is within the structure.
        let at = unsafe { self.0.as_ptr().cast::<u8>().add(field.offset) };
        // SAFETY: owned, and eight bytes of plain memory that no other user has registered.
        unsafe { at.cast::<u64>().write_unaligned(ticks) };
    }

    /// Prefetches the first cache line of the frame for a read shortly after.
    #[inline(always)]
    pub(super) fn prefetch(&self) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a hint, which faults on no address.
        unsafe {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(self.data().cast());
        }
    }
}

impl Frame for Mbuf {
    #[inline]
    fn set_queue(&mut self, queue: u8) {
        // The member of DPDK's union for the transmit queue (`txadapter.txq`), in the header's first
        // cache line, which sending reads anyway.
        self.header_mut().hash[1] = u32::from(queue) << 16;
    }

    #[inline(always)]
    fn head(&self) -> &[u8] {
        // SAFETY: the first `data_len` bytes from there on are in the buffer, and owned.
        unsafe { slice::from_raw_parts(self.data(), self.header().data_len.into()) }
    }

    #[inline(always)]
    fn head_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `head`; the borrow is unique.
        unsafe { slice::from_raw_parts_mut(self.data(), self.header().data_len.into()) }
    }

    #[inline(always)]
    fn wire_len(&self) -> u32 {
        self.header().pkt_len + FCS_BYTES
    }

    #[inline]
    fn prepend(&mut self, n: usize) -> bool {
        let h = self.header_mut();
        let fits_behind = usize::from(h.data_len) + n <= usize::from(u16::MAX);
        if n > usize::from(h.data_off) || !fits_behind {
            return false;
        }
        h.data_off -= n as u16;
        h.data_len += n as u16;
        h.pkt_len += n as u32;
        true
    }

    #[inline]
    fn trim_front(&mut self, n: usize) -> bool {
        let h = self.header_mut();
        if n > usize::from(h.data_len) {
            return false;
        }
        h.data_off += n as u16;
        h.data_len -= n as u16;
        h.pkt_len -= n as u32;
        true
    }

    #[inline]
    fn append(&mut self, n: usize) -> bool {
        Mbuf::append(self, n).is_some()
    }

    #[inline]
    fn trim_back(&mut self, n: usize) -> bool {
        let len = usize::from(self.header().data_len);
        n <= len && self.truncate(len - n)
    }

    #[inline]
    fn whole_mut(&mut self) -> Option<&mut [u8]> {
        (self.header().nb_segs == 1).then(|| self.head_mut())
    }

    #[inline]
    fn duplicate(&mut self) -> Option<Self> {
        let from = self.header();
        if from.nb_segs != 1 {
            // SAFETY: owned, so alive; the copy is as long as the frame.
            let copy = unsafe { sys::rte_pktmbuf_copy(self.0.as_ptr(), from.pool, 0, u32::MAX) };
            // SAFETY: a new buffer of the same pool, which is ours.
            return NonNull::new(copy).map(|m| unsafe { Self::from_raw(m) });
        }
        // SAFETY: the pool outlives its buffers.
        let m = unsafe { hot::alloc(from.pool) }?;
        // SAFETY: just taken from the pool.
        let mut copy = unsafe { Self::from_raw(m) };
        let to = copy.header_mut();
        // The two buffers are of one pool, so content that fits here at this offset fits there.
        to.data_off = from.data_off;
        to.data_len = from.data_len;
        to.pkt_len = from.pkt_len;
        // SAFETY: both hold `data_len` bytes there, in buffers that do not overlap.
        unsafe { ptr::copy_nonoverlapping(self.data(), copy.data(), from.data_len.into()) };
        Some(copy)
    }

    #[inline(always)]
    fn free_all(frames: &mut Burst<Self>) {
        let n = frames.len();
        // SAFETY: nothing is longer than it was, and the first `n` are read below alone.
        unsafe { frames.set_len(0) };
        // SAFETY: `n` frames are there, and an `Mbuf` is a pointer to a buffer.
        let raw = unsafe { slice::from_raw_parts(frames.as_ptr().cast(), n) };
        // SAFETY: owned, and not used after this.
        unsafe { hot::free_many(raw) };
    }
}

/// Writes `head`, followed by zeroes, to a frame.
#[inline(always)]
pub(super) fn fill(out: &mut [u8], head: &[u8]) {
    match (head.first_chunk::<32>(), head.last_chunk::<32>()) {
        // Two copies of fixed length, which may overlap, need no call.
        (Some(first), Some(last)) if head.len() <= 64 => {
            out[..32].copy_from_slice(first);
            out[head.len() - 32..head.len()].copy_from_slice(last);
        }
        _ => out[..head.len()].copy_from_slice(head),
    }
    if head.len() < out.len() {
        out[head.len()..].fill(0);
    }
}

impl Drop for Mbuf {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: owned, and not used after this.
        unsafe { hot::free(self.0) };
    }
}

impl fmt::Debug for Mbuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = self.head();
        let shown = &head[..head.len().min(32)];
        write!(f, "Mbuf({} B, {:02x?}..)", self.wire_len(), shown)
    }
}
