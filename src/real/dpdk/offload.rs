//! Checksums that hosts leave to hardware, which a veth pair does not have.
//!
//! The kernel gives a TCP or UDP segment to a virtual interface without its checksum, because it
//! assumes that the other end is a kernel too, which would trust it. A packet socket receives the
//! frame in that state, and a switch would forward a frame that each host drops.

use core::ffi::c_char;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::thread;

use super::interface::{Interface, Peer, namespace_number};
use super::sockets;

/// Folder of the network namespaces that `ip netns` named.
const NAMED: &str = "/run/netns";
/// `ETHTOOL_GTXCSUM` of `linux/ethtool.h`.
const GTXCSUM: u32 = 0x16;

/// Source of frames without checksums that a port receives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Undone {
    /// This interface, with the command that switches the offload off.
    By {
        /// Name of the interface, with its namespace if it is in another one.
        interface: String,
        command: String,
    },
    /// Possibly the other end of the pair, in a namespace that this process cannot see.
    Hidden,
}

/// Detects frames without checksums in the traffic that `interface` receives.
#[must_use]
pub fn undone_checksums(interface: &Interface) -> Option<Undone> {
    let peer = interface.peer?;
    match peer.namespace {
        None => by(peer, None),
        Some(number) => match namespace(number) {
            Some((name, file)) => {
                let inside = move || enter(&file).then(|| by(peer, Some(&name.to_string_lossy())));
                // A separate thread, because it stays in the other namespace.
                let looked = thread::spawn(inside).join().ok().flatten();
                looked.unwrap_or(Some(Undone::Hidden))
            }
            None => Some(Undone::Hidden),
        },
    }
}

/// Checks the offloads of an interface in the calling thread's namespace.
fn by(peer: Peer, namespace: Option<&str>) -> Option<Undone> {
    let name = Interface::numbered(peer.index).ok().flatten()?.name;
    if !offloads_checksums(&name) {
        return None;
    }
    let (interface, prefix) = match namespace {
        None => (name.clone(), String::new()),
        Some(of) => (format!("{name} in namespace {of}"), format!("ip netns exec {of} ")),
    };
    Some(Undone::By { interface, command: format!("{prefix}ethtool -K {name} tx off") })
}

/// The named namespace to which this one assigns the number.
fn namespace(number: i32) -> Option<(OsString, File)> {
    fs::read_dir(NAMED).ok()?.flatten().find_map(|entry| {
        let file = File::open(entry.path()).ok()?;
        let is_it = namespace_number(&file).ok().flatten() == Some(number);
        is_it.then(|| (entry.file_name(), file))
    })
}

/// Moves the calling thread into another network namespace.
fn enter(namespace: &File) -> bool {
    // SAFETY: a plain system call on an open file; it changes the calling thread alone.
    unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) == 0 }
}

/// True if an interface leaves the checksums of sent frames to its hardware.
fn offloads_checksums(name: &str) -> bool {
    /// `struct ethtool_value`.
    #[repr(C)]
    struct Value {
        command: u32,
        data: u32,
    }
    let Ok(socket) = sockets::socket(libc::AF_INET, libc::SOCK_DGRAM) else { return false };
    let mut value = Value { command: GTXCSUM, data: 0 };
    // SAFETY: an interface request is plain data, for which all zeroes is a valid value.
    let mut request: libc::ifreq = unsafe { core::mem::zeroed() };
    // One byte less than the array, so that a zero follows.
    let room = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name[..room].iter_mut().zip(name.bytes()) {
        *to = from as c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: the socket is open, and the request points to a value that its command may write.
    let code = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &mut request) };
    code == 0 && value.data != 0
}
