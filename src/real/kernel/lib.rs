//! Ports on interfaces that the kernel drives: veth pairs, bridges' ports, TAPs, and NICs under the kernel's driver.
//!
//! A [`KernelPort`] implements the contracts of [`contracts::port`] over a packet socket. It takes what hosts leave to
//! their interfaces' hardware: large segments are cut into the frames of a wire, and unfinished checksums are finished,
//! before anybody sees them. [`KernelControl`] is the port for other threads. [`Interface`] is an interface as netlink
//! tells of it, and [`InterfaceLock`] keeps two processes off one.
//!
//! Unsafe code is in `ring` (memory that the kernel shares), `sys` (system calls) and `interface`.

#![allow(unsafe_code)]

mod control;
mod cut;
mod headers;
mod interface;
mod lock;
mod memory;
mod merge;
mod offload;
mod port;
mod ring;
mod socket;
mod sys;
#[cfg(test)]
mod testframes;
mod wait;

use std::io;
use std::os::fd::OwnedFd;

pub use control::{KernelControl, OpenError};
pub use cut::{Cut, Lie};
pub use interface::{Interface, LinkEvents, Peer, Undone, rate_of, undone_checksums};
pub use lock::InterfaceLock;
pub use memory::{Memory, Packet, Packets};
pub use offload::{HEADER_LEN, Offload, SegmentKind, Segments, Unfinished, UnknownSegments};
pub use port::{Clock, KernelOptions, KernelPort, SystemClock, UPTIME};
pub use socket::StepError;
pub use wait::Waiter;

/// Opens a packet socket of no protocol, which receives nothing.
///
/// # Errors
/// The kernel's.
pub fn raw_socket() -> io::Result<OwnedFd> {
    sys::socket(libc::AF_PACKET, libc::SOCK_RAW)
}
