//! System calls on sockets.

use core::ffi::c_int;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use arrayvec::ArrayVec;
use contracts::frame::BURST;

/// Opens a socket of no protocol, which receives nothing until it is bound.
pub(super) fn socket(family: c_int, kind: c_int) -> io::Result<OwnedFd> {
    // SAFETY: plain system call without pointers.
    let fd = unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, and without another owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sets an option of a socket to a plain value.
pub(super) fn set_option<T: Copy>(
    socket: &impl AsFd,
    level: c_int,
    name: c_int,
    value: &T,
) -> io::Result<()> {
    let (fd, len) = (socket.as_fd().as_raw_fd(), size_of::<T>() as libc::socklen_t);
    // SAFETY: the value is readable for its length.
    let code = unsafe { libc::setsockopt(fd, level, name, (&raw const *value).cast(), len) };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Packets that found the ring of a packet socket full since the last read; nothing if it does not tell.
pub(super) fn take_ring_full(socket: &impl AsFd) -> Option<u32> {
    // `struct tpacket_stats`: all packets, and these.
    let mut counts = [0_u32; 2];
    let mut len = size_of_val(&counts) as libc::socklen_t;
    let fd = socket.as_fd().as_raw_fd();
    let place = (&raw mut counts).cast();
    // SAFETY: both are writable, and there is room for `len` octets, any of which are numbers.
    let code =
        unsafe { libc::getsockopt(fd, libc::SOL_PACKET, libc::PACKET_STATISTICS, place, &mut len) };
    (code == 0).then_some(counts[1])
}

/// Takes the pending error of a socket, such as that its interface was down.
pub(super) fn clear_error(socket: &impl AsFd) {
    let (mut error, mut len) = (0_i32, size_of::<i32>() as libc::socklen_t);
    let fd = socket.as_fd().as_raw_fd();
    let place = (&raw mut error).cast();
    // SAFETY: both are writable, and there is room for `len` octets.
    unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_ERROR, place, &mut len) };
}

/// Waits until a socket can be read, for at most `patience`. A pending error of a socket, which would end each wait, is
/// taken.
pub(super) fn wait_readable(sockets: &[impl AsFd], patience: Duration) {
    let entry = |socket: &_| libc::pollfd {
        fd: AsFd::as_fd(socket).as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let mut entries: Vec<libc::pollfd> = sockets.iter().map(entry).collect();
    let patience = libc::timespec {
        tv_sec: patience.as_secs().try_into().unwrap_or(libc::time_t::MAX),
        tv_nsec: patience.subsec_nanos().into(),
    };
    let count = entries.len() as libc::nfds_t;
    // SAFETY: the entries are readable and writable, the time is readable, and the signals stay as they are.
    unsafe { libc::ppoll(entries.as_mut_ptr(), count, &patience, core::ptr::null()) };
    for (socket, entry) in sockets.iter().zip(&entries) {
        if entry.revents & libc::POLLERR != 0 {
            clear_error(socket);
        }
    }
}

/// Binds a packet socket to all protocols of an interface.
pub(super) fn bind_packets(socket: &impl AsFd, index: u32) -> io::Result<()> {
    // SAFETY: an address is plain data, for which all zeroes is a valid value.
    let mut address: libc::sockaddr_ll = unsafe { core::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index as c_int;
    let (fd, len) = (socket.as_fd().as_raw_fd(), size_of_val(&address) as libc::socklen_t);
    // SAFETY: the address is readable for its length.
    let code = unsafe { libc::bind(fd, (&raw const address).cast(), len) };
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Most parts of the messages of one call.
pub(super) const PARTS_MAX: usize = 2 * BURST;

/// Messages of one call: the parts of all, and where each message ends.
#[derive(Default)]
pub(super) struct Messages<'a> {
    parts: ArrayVec<IoSlice<'a>, PARTS_MAX>,
    ends: ArrayVec<usize, BURST>,
}

impl<'a> Messages<'a> {
    /// Adds a part to the last message.
    ///
    /// # Panics
    /// There are too many.
    #[inline]
    pub(super) fn part(&mut self, octets: &'a [u8]) {
        self.parts.push(IoSlice::new(octets));
    }

    /// Ends the last message.
    #[inline]
    pub(super) fn end(&mut self) {
        self.ends.push(self.parts.len());
    }

    /// Sends the messages; returns how many the socket took.
    ///
    /// # Errors
    /// That of the first message. Later ones are told by the next call.
    pub(super) fn send(&self, socket: &impl AsFd) -> io::Result<usize> {
        let mut headers: ArrayVec<libc::mmsghdr, BURST> = ArrayVec::new();
        let mut begin = 0;
        for end in &self.ends {
            // SAFETY: a message header is plain data, for which all zeroes is a valid value.
            let mut header: libc::mmsghdr = unsafe { core::mem::zeroed() };
            // An `IoSlice` has the layout of an `iovec`, which is only read in sending.
            header.msg_hdr.msg_iov = self.parts[begin..*end].as_ptr().cast_mut().cast();
            header.msg_hdr.msg_iovlen = (*end - begin) as _;
            headers.push(header);
            begin = *end;
        }
        let (fd, flags) = (socket.as_fd().as_raw_fd(), libc::MSG_DONTWAIT);
        // SAFETY: the headers are writable, and their parts readable while this function borrows them.
        let sent =
            unsafe { libc::sendmmsg(fd, headers.as_mut_ptr(), headers.len() as u32, flags as _) };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }
}
