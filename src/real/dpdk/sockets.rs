//! Sockets that DPDK's drivers opened in this process, and the kernel's counters of them.
//!
//! The drivers do not expose their sockets, and DPDK 22.11's af_packet does not read the counter of
//! frames that found its ring full. The sockets are found among the process's open files, and
//! duplicated, so that a descriptor that the driver has closed is never taken for another file.

use core::ffi::{c_int, c_void};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

/// `SOL_XDP`, `XDP_STATISTICS` of `linux/if_xdp.h`.
const SOL_XDP: c_int = 283;
const XDP_STATISTICS: c_int = 7;
/// Version 2 of the rings of packet sockets, which DPDK's driver uses and libpcap does not.
const TPACKET_V2: c_int = 1;

/// `struct tpacket_stats`: counts since the last read.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct PacketStatistics {
    packets: u32,
    drops: u32,
}

/// `struct xdp_statistics`, since Linux 5.9; an older kernel fills in less of it.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct XdpStatistics {
    rx_dropped: u64,
    rx_invalid_descs: u64,
    tx_invalid_descs: u64,
    rx_ring_full: u64,
    rx_fill_ring_empty_descs: u64,
    tx_ring_empty_descs: u64,
}

/// Packet sockets of af_packet's driver on the interface with this index, duplicated.
pub(super) fn packet_rings(index: u32) -> Vec<OwnedFd> {
    let is_ring = |fd: &OwnedFd| {
        let version: Option<c_int> = option(fd, libc::SOL_PACKET, libc::PACKET_VERSION);
        version == Some(TPACKET_V2) && bound_to(fd) == Some(index)
    };
    of_family(libc::AF_PACKET).into_iter().filter(is_ring).collect()
}

/// XDP sockets of this process, duplicated.
pub(super) fn xdp_sockets() -> Vec<OwnedFd> {
    of_family(libc::AF_XDP)
}

/// True if both are one socket.
pub(super) fn is_same(a: &OwnedFd, b: &OwnedFd) -> bool {
    let inode = |fd: &OwnedFd| fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).ok();
    inode(a).is_some() && inode(a) == inode(b)
}

/// Frames that found the ring of a packet socket full since the last call.
pub(super) fn take_ring_drops(socket: &OwnedFd) -> Option<u64> {
    let counted: PacketStatistics = option(socket, libc::SOL_PACKET, libc::PACKET_STATISTICS)?;
    Some(counted.drops.into())
}

/// Frames that found the ring of an XDP socket full since it was opened. The driver counts those
/// that found no memory.
pub(super) fn xdp_ring_full(socket: &OwnedFd) -> Option<u64> {
    let counted: XdpStatistics = option(socket, SOL_XDP, XDP_STATISTICS)?;
    Some(counted.rx_ring_full)
}

/// Clears the pending error of a socket: that its interface was down. The driver would take it for
/// an error of its next burst, which the kernel sends all the same.
pub(super) fn clear_error(socket: &OwnedFd) {
    let _: Option<c_int> = option(socket, libc::SOL_SOCKET, libc::SO_ERROR);
}

fn of_family(family: c_int) -> Vec<OwnedFd> {
    let Ok(files) = fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let numbers = files.flatten().filter_map(|file| file.file_name().to_str()?.parse().ok());
    // Descriptors that are closed meanwhile cannot be duplicated, and are not sockets of a port.
    let open = numbers.filter_map(|number: c_int| {
        // SAFETY: the number is that of an open file, or else the duplication fails.
        let fd = unsafe { BorrowedFd::borrow_raw(number) };
        fd.try_clone_to_owned().ok()
    });
    open.filter(|fd| option(fd, libc::SOL_SOCKET, libc::SO_DOMAIN) == Some(family)).collect()
}

/// Index of the interface that a packet socket is bound to.
fn bound_to(socket: &OwnedFd) -> Option<u32> {
    // SAFETY: an address is plain data, for which all zeroes is a valid value.
    let mut address: libc::sockaddr_ll = unsafe { core::mem::zeroed() };
    let mut len = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the address has room for `len` bytes, and both are writable.
    let code =
        unsafe { libc::getsockname(socket.as_raw_fd(), (&raw mut address).cast(), &mut len) };
    (code == 0).then_some(address.sll_ifindex as u32)
}

/// Reads an option of a socket; none if it has no such option.
fn option<T: Copy + Default>(socket: &OwnedFd, level: c_int, name: c_int) -> Option<T> {
    let mut value = T::default();
    let mut len = size_of::<T>() as libc::socklen_t;
    let place: *mut c_void = (&raw mut value).cast();
    // SAFETY: `value` has room for `len` bytes and is plain data, for which any content is valid.
    let code = unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, place, &mut len) };
    (code == 0).then_some(value)
}

/// Keeps an interface promiscuous while it is held, and no longer than the process lives; the
/// interface's flag does not change.
#[derive(Debug)]
pub(super) struct Promiscuity {
    /// Not read: the open socket alone has the effect.
    _socket: OwnedFd,
}

impl Promiscuity {
    /// Enables it for the interface with this index.
    pub(super) fn on(index: u32) -> io::Result<Self> {
        // Of no protocol, so it receives nothing.
        let socket = socket(libc::AF_PACKET, libc::SOCK_RAW)?;
        let request = libc::packet_mreq {
            mr_ifindex: index as c_int,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        let (name, len) = (libc::PACKET_ADD_MEMBERSHIP, size_of_val(&request) as libc::socklen_t);
        let place: *const c_void = (&raw const request).cast();
        // SAFETY: `request` is readable for `len` bytes.
        let code =
            unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, name, place, len) };
        if code != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { _socket: socket })
    }
}

/// Opens a socket of no protocol.
pub(super) fn socket(family: c_int, kind: c_int) -> io::Result<OwnedFd> {
    use std::os::fd::FromRawFd;
    // SAFETY: plain system call without pointers.
    let fd = unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, and without another owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
