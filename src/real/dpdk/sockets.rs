//! Sockets that DPDK's drivers opened in this process, and the kernel's counters of them.
//!
//! The drivers do not expose their sockets, and DPDK 22.11's af_packet does not read the counter of
//! frames that found its ring full. The sockets are found among the process's open files, and
//! duplicated, so that a descriptor that the driver has closed is never taken for another file.
//!
//! DPDK's af_packet driver joins its socket to a fanout group of the kernel, alone. The group's number is the
//! process id exclusive-ored with the interface's index, in 16 bits. Two processes that were
//! started in sequence on interfaces that were created in sequence easily have the same number, and
//! the kernel refuses the second. The driver has no argument for it, so [`attach`] lets the shim replace the
//! number in the `setsockopt` call (`dpdk-sys/csrc/shim.c`, which changes no other call)
//! and attaches the device again.

use core::ffi::{c_int, c_void};
use std::hash::{BuildHasher, RandomState};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::{fs, io};

use dpdk_sys as sys;

use super::error::Logged;

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
        let socket = kernel::raw_socket()?;
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

/// Numbers to try, out of 65,535 of which a machine uses a few.
const TRIES: usize = 8;

/// Attaches a device, with another group number if the first is taken.
pub(super) fn attach(
    attach: impl Fn() -> Result<(), (c_int, Logged)>,
) -> Result<(), (c_int, Logged)> {
    let mut result = attach();
    for _ in 1..TRIES {
        if !result.as_ref().is_err_and(|(_, logged)| is_taken(logged)) {
            break;
        }
        let _group = Group::new();
        result = attach();
    }
    result
}

/// True if the failure is the kernel's EINVAL for a group number that is taken.
pub(super) fn is_taken(logged: &Logged) -> bool {
    logged.0.iter().any(|line| line.contains("PACKET_FANOUT"))
}

/// Replacement number for the groups that this thread joins while it is held.
struct Group;

impl Group {
    fn new() -> Self {
        let number = RandomState::new().hash_one(0) % 65_535 + 1;
        // SAFETY: it sets a variable of this thread.
        unsafe { sys::sluice_fanout_group(number as u16) };
        Self
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // SAFETY: it sets a variable of this thread.
        unsafe { sys::sluice_fanout_group(0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flags of a group and the driver's number for it.
    const DRIVERS: u32 = 0x9000_0000 | 0x1234;

    fn argument() -> u32 {
        // SAFETY: it reads a variable of this thread.
        unsafe { sys::sluice_fanout_argument(DRIVERS) }
    }

    #[test]
    fn another_number_is_tried_where_one_is_taken_and_only_there() {
        let taken = || Logged(vec!["x: could not set PACKET_FANOUT on AF_PACKET socket".into()]);
        let seen = core::cell::RefCell::new(vec![]);
        let busy = |until: usize| {
            seen.borrow_mut().push(argument());
            let elsewhere = std::thread::spawn(argument).join().unwrap();
            assert_eq!(elsewhere, DRIVERS, "of another thread");
            if seen.borrow().len() < until { Err((-1, taken())) } else { Ok(()) }
        };
        assert!(attach(|| busy(3)).is_ok());
        let tried = seen.take();
        assert_eq!(tried[0], DRIVERS);
        assert!(tried.len() == 3 && tried[1] != tried[2], "{tried:x?}");
        assert!(tried.iter().all(|one| one >> 16 == DRIVERS >> 16), "{tried:x?}");
        assert!(is_taken(&attach(|| busy(usize::MAX)).unwrap_err().1));
        assert_eq!((seen.take().len(), argument()), (TRIES, DRIVERS));
        let other = || {
            seen.borrow_mut().push(argument());
            Err((-1, Logged::default()))
        };
        assert!(attach(other).is_err());
        assert_eq!(seen.take(), [DRIVERS]);
    }

    /// Other calls of `setsockopt` work unchanged, with a replacement number and without.
    #[test]
    fn other_options_of_sockets_are_set_as_ever() {
        let set_and_get = |seconds| {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.set_ttl(seconds).unwrap();
            socket.set_nonblocking(true).unwrap();
            assert!(socket.set_ttl(256).is_err(), "the kernel's answer");
            socket.ttl().unwrap()
        };
        assert_eq!(set_and_get(17), 17);
        let _group = Group::new();
        assert_eq!(set_and_get(18), 18);
    }
}
