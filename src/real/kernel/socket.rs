//! A packet socket on an interface, with its receive ring.

use core::ffi::c_int;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::ring::{Ring, RingSize};
use crate::sys;

/// Version 2 of the rings: a slot for each packet, given over when the packet is in it. Version 3 gives over blocks
/// of packets, a partly filled one after a millisecond at the earliest.
const TPACKET_V2: c_int = 1;
/// `PACKET_IGNORE_OUTGOING` of `linux/if_packet.h`, since Linux 4.20.
const PACKET_IGNORE_OUTGOING: c_int = 23;

/// Octets that may wait in the socket to be sent. A choice: a hundred packets of 64 KiB.
const SEND_BUFFER: c_int = 8 << 20;

/// Longest packet that a sender leaves to be cut: 64 KiB from its IP header on, behind two tags.
const SEGMENT_MAX: usize = 65_535 + wire::ethernet::HEADER_LEN + 8;

/// Settings of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SocketOptions {
    /// Least number of packets that the ring holds.
    pub(super) slots: usize,
    /// Longest frame without FCS.
    pub(super) longest: usize,
    /// Receives frames to any address.
    pub(super) promiscuous: bool,
}

/// A step of opening that failed.
#[derive(Debug, thiserror::Error)]
#[error("{step}: {error}")]
pub struct StepError {
    /// The step, as "to bind the socket".
    pub step: &'static str,
    pub error: io::Error,
}

/// An open socket and its ring.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) socket: Arc<OwnedFd>,
    pub(super) ring: Ring,
}

/// Opens a socket on the interface with this index.
///
/// # Errors
/// [`StepError`].
pub(super) fn open(index: u32, options: &SocketOptions) -> Result<Opened, StepError> {
    let at = |step| move |error| StepError { step, error };
    let socket =
        sys::socket(libc::AF_PACKET, libc::SOCK_RAW).map_err(at("to open a packet socket"))?;
    let set = |name, value: c_int| sys::set_option(&socket, libc::SOL_PACKET, name, &value);
    set(libc::PACKET_VERSION, TPACKET_V2).map_err(at("to choose the kind of ring"))?;
    set(PACKET_IGNORE_OUTGOING, 1).map_err(at("to leave out what the host itself sends"))?;
    set(libc::PACKET_VNET_HDR, 1).map_err(at("to take offloads"))?;
    let longest = options.longest.max(SEGMENT_MAX);
    let size = RingSize::new(options.slots, longest);
    let ring = Ring::new(&socket, size).map_err(at("to make the receive ring"))?;
    // Beyond the system's limit only for who may; a smaller buffer makes some more sends wait.
    let buffer = |name| sys::set_option(&socket, libc::SOL_SOCKET, name, &SEND_BUFFER);
    if buffer(libc::SO_SNDBUFFORCE).is_err() {
        buffer(libc::SO_SNDBUF).map_err(at("to set the send buffer"))?;
    }
    if options.promiscuous {
        let request = libc::packet_mreq {
            mr_ifindex: index as c_int,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        sys::set_option(&socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
            .map_err(at("to receive frames to any address"))?;
    }
    sys::bind_packets(&socket, index).map_err(at("to bind the socket"))?;
    Ok(Opened { socket: Arc::new(socket), ring })
}
