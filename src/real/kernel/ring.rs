//! The receive ring of a packet socket: slots in memory that the kernel fills and this process gives back.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use crate::offload::HEADER_LEN;
use crate::sys;

/// Octets of a block, which the kernel allocates in one piece. A slot never crosses two.
const BLOCK: usize = 1 << 20;

/// `TP_STATUS_*` of `linux/if_packet.h`.
const KERNEL: u32 = 0;
const USER: u32 = 1;
const VLAN: u32 = 1 << 4;
const VLAN_TPID: u32 = 1 << 6;

/// Header of a slot, `struct tpacket2_hdr`.
#[repr(C)]
#[derive(Clone, Copy)]
struct SlotHeader {
    status: u32,
    len: u32,
    held: u32,
    mac: u16,
    net: u16,
    seconds: u32,
    nanoseconds: u32,
    vlan_tci: u16,
    vlan_tpid: u16,
    padding: [u8; 4],
}

/// Size of a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RingSize {
    /// Octets of a slot, a multiple of 16 and at most a block's.
    slot: usize,
    blocks: usize,
}

impl RingSize {
    /// A ring of at least `slots` slots for packets of `longest` octets.
    pub(super) fn new(slots: usize, longest: usize) -> Self {
        // Header, address, alignment, a tag and the offload header precede the packet.
        const AHEAD: usize = 128;
        let slot = (longest + AHEAD).next_multiple_of(64).min(BLOCK);
        Self { slot, blocks: slots.max(1).div_ceil(BLOCK / slot) }
    }

    const fn per_block(self) -> usize {
        BLOCK / self.slot
    }

    /// Number of slots.
    pub(super) const fn slots(self) -> usize {
        self.blocks * self.per_block()
    }

    /// Octets of memory.
    pub(super) const fn octets(self) -> usize {
        self.blocks * BLOCK
    }
}

/// A mapped ring. It outlives its socket if need be: the kernel keeps the memory while it is mapped.
#[derive(Debug)]
pub(super) struct Ring {
    memory: NonNull<u8>,
    size: RingSize,
    /// The slot that the kernel fills next.
    next: usize,
}

// SAFETY: the memory is this value's alone but for the kernel, which does not care about threads.
unsafe impl Send for Ring {}

/// A packet in its slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot<'a> {
    /// The header of what the sender left to hardware.
    pub(super) offload: [u8; HEADER_LEN],
    /// From the destination address on, without the tag in `vlan`.
    pub(super) octets: &'a [u8],
    /// True if the slot had no room for all of the packet.
    pub(super) is_cut_off: bool,
    /// A tag that the kernel has taken out.
    pub(super) vlan: Option<Tag>,
}

/// A VLAN tag as it stands in a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tag {
    pub(super) tpid: u16,
    pub(super) tci: u16,
}

impl Ring {
    /// Makes the ring of a socket with offload headers and maps it. The socket must not be bound yet.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn new(socket: &impl AsFd, size: RingSize) -> io::Result<Self> {
        let request = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: size.blocks as u32,
            tp_frame_size: size.slot as u32,
            tp_frame_nr: size.slots() as u32,
        };
        sys::set_option(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let (protection, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
        let fd = socket.as_fd().as_raw_fd();
        // SAFETY: a new mapping at an address of the kernel's choice.
        let memory =
            unsafe { libc::mmap(core::ptr::null_mut(), size.octets(), protection, flags, fd, 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let memory = NonNull::new(memory.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { memory, size, next: 0 })
    }

    /// The start of the next slot.
    #[inline]
    fn slot(&self) -> NonNull<u8> {
        let (block, place) = (self.next / self.size.per_block(), self.next % self.size.per_block());
        // SAFETY: a slot of a block of the mapping.
        unsafe { self.memory.add(block * BLOCK + place * self.size.slot) }
    }

    #[inline]
    fn status(&self) -> &AtomicU32 {
        // SAFETY: a slot begins with its status, aligned to 16 octets, and it is accessed by this function alone.
        unsafe { self.slot().cast::<AtomicU32>().as_ref() }
    }

    /// The oldest packet in the ring.
    #[inline]
    pub(super) fn first(&self) -> Option<Slot<'_>> {
        let status = self.status().load(Ordering::Acquire);
        if status & USER == 0 {
            return None;
        }
        let slot = self.slot();
        // SAFETY: the slot is this process's until it is given back, and begins with its header.
        let header = unsafe { slot.cast::<SlotHeader>().read() };
        const AHEAD: usize = size_of::<SlotHeader>() + HEADER_LEN;
        let (mac, held) = (usize::from(header.mac), header.held as usize);
        // What the kernel says is looked at before it is used as an address.
        let is_inside = mac >= AHEAD && mac + held <= self.size.slot;
        let (mac, held) = if is_inside { (mac, held) } else { (AHEAD, 0) };
        // SAFETY: inside of the slot.
        let packet = unsafe { slot.add(mac) };
        // SAFETY: the slot has these octets, and nobody writes them until it is given back, for which this borrow has
        // to end.
        let octets = unsafe { core::slice::from_raw_parts(packet.as_ptr(), held) };
        // SAFETY: behind the slot's own header, as `mac` is at least that much further.
        let before = unsafe { packet.sub(HEADER_LEN) };
        // SAFETY: as above; any octets are valid.
        let offload = unsafe { before.cast::<[u8; HEADER_LEN]>().read() };
        let tpid = if status & VLAN_TPID != 0 { header.vlan_tpid } else { 0x8100 };
        Some(Slot {
            offload,
            octets,
            is_cut_off: header.len as usize > held,
            vlan: (status & VLAN != 0).then_some(Tag { tpid, tci: header.vlan_tci }),
        })
    }

    /// Gives the oldest slot back to the kernel.
    #[inline]
    pub(super) fn give_back(&mut self) {
        self.status().store(KERNEL, Ordering::Release);
        self.next = if self.next + 1 == self.size.slots() { 0 } else { self.next + 1 };
    }

    pub(super) const fn size(&self) -> RingSize {
        self.size
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`, to which no borrow is left.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.size.octets()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_have_room_for_a_packet_and_do_not_cross_blocks() {
        let large = RingSize::new(512, 65_550);
        assert!(large.slot >= 65_550 + 96 && large.slot % 16 == 0);
        assert_eq!((large.per_block(), large.slots()), (15, 525));
        assert_eq!(large.octets(), 35 << 20);
        let small = RingSize::new(4_096, 1_518);
        assert!(small.slots() >= 4_096 && small.octets() <= 8 << 20);
        assert_eq!(RingSize::new(0, 60).blocks, 1);
    }
}
