//! A network interface of the kernel: its state, its counters, and word of changes, by netlink.
//!
//! Everything is about the network namespace of the calling thread, which is the one that devices on
//! interfaces are opened in. No frame waits for any of this.
//!
//! [`undone_checksums`] finds hosts that leave checksums to hardware, which a veth pair does not have.
//! The kernel gives a TCP or UDP segment to a virtual interface without its checksum, because it
//! assumes that the other end is a kernel too, which would trust it. A packet socket receives the
//! frame in that state, and a switch would forward a frame that each host drops.

use core::ffi::c_char;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::time::Duration;
use std::{io, thread};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoKind, LinkAttribute, LinkFlags, LinkInfo, LinkMessage, State, Stats64,
};
use netlink_packet_route::nsid::{NsidAttribute, NsidMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

use crate::sys;
use ground::units::{BitsPerSec, Mac};

/// The multicast group of changes of interfaces (`RTMGRP_LINK`).
const LINK_GROUP: u32 = 1;

/// An interface at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    pub name: String,
    /// Its number, which no later interface of the same name has.
    pub index: u32,
    /// True if it is up, and has a carrier. The kernel may still drop what it is given to send.
    pub carrier: bool,
    /// True if it is operational: it has a carrier, and its operational state is up, or unknown where
    /// its driver does not tell (RFC 2863, 3.1.13 and 3.1.14).
    pub link: bool,
    /// Frames that its hardware lost on the way in, before the kernel gave them to any socket.
    pub rx_lost: u64,
    /// Frames that it sent, whichever program gave them.
    pub tx_frames: u64,
    /// Frames that the kernel was given to send, and dropped.
    pub tx_dropped: u64,
    /// The other end, of a pair of virtual interfaces.
    pub peer: Option<Peer>,
    /// Its own address.
    pub mac: Option<Mac>,
    /// Longest packet behind the Ethernet header and a tag, in octets.
    pub mtu: u32,
}

/// The other end of a veth pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer {
    /// Its number in its namespace.
    pub index: u32,
    /// This namespace's number for the namespace of the peer; nothing where it is this one.
    pub namespace: Option<i32>,
}

impl Interface {
    /// Looks up the interface of this name; nothing where there is none.
    ///
    /// # Errors
    /// The kernel's, which says nothing about the interface.
    pub fn named(name: &str) -> io::Result<Option<Self>> {
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(name.into()));
        Self::get(message)
    }

    /// Looks up the interface with this number.
    ///
    /// # Errors
    /// The kernel's.
    pub fn numbered(index: u32) -> io::Result<Option<Self>> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        Self::get(message)
    }

    fn get(message: LinkMessage) -> io::Result<Option<Self>> {
        match ask(RouteNetlinkMessage::GetLink(message), 0) {
            Ok(Some(RouteNetlinkMessage::NewLink(link))) => Ok(Some(Self::of(&link))),
            Ok(_) => Err(io::ErrorKind::InvalidData.into()),
            Err(error) if error.raw_os_error() == Some(libc::ENODEV) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn of(link: &LinkMessage) -> Self {
        let header = &link.header;
        let (mut name, mut stats) = (String::new(), Stats64::default());
        let (mut is_veth, mut peer, mut namespace) = (false, None, None);
        let mut state = State::Unknown;
        let (mut mac, mut mtu) = (None, 0);
        for attribute in &link.attributes {
            match attribute {
                LinkAttribute::IfName(text) => name.clone_from(text),
                LinkAttribute::Stats64(counted) => stats = *counted,
                LinkAttribute::OperState(told) => state = *told,
                LinkAttribute::Address(octets) => mac = octets.first_chunk().copied().map(Mac),
                LinkAttribute::Mtu(octets) => mtu = *octets,
                LinkAttribute::Link(index) => peer = Some(*index),
                LinkAttribute::LinkNetNsId(id) => namespace = Some(*id),
                LinkAttribute::LinkInfo(infos) => {
                    is_veth = infos.contains(&LinkInfo::Kind(InfoKind::Veth));
                }
                _ => {}
            }
        }
        let carrier = header.flags.contains(LinkFlags::Up | LinkFlags::LowerUp);
        Self {
            name,
            index: header.index,
            carrier,
            // The kernel changes the state and the queueing discipline, which drops all frames until
            // then, later than the carrier, in its deferred "linkwatch".
            link: carrier && matches!(state, State::Up | State::Unknown),
            // Not `rx_dropped`: each tagged frame of a VLAN that the kernel has no interface for is in
            // it, too, though the driver's socket received it.
            rx_lost: stats.rx_missed_errors,
            tx_frames: stats.tx_packets,
            tx_dropped: stats.tx_dropped,
            peer: peer.filter(|_| is_veth).map(|index| Peer { index, namespace }),
            mac: mac.filter(|mac| *mac != Mac::default()),
            mtu,
        }
    }

    /// Sets an interface administratively up or down.
    ///
    /// # Errors
    /// The kernel's: no such interface, or no right to.
    pub fn set_up(index: u32, up: bool) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.change_mask = LinkFlags::Up;
        message.header.flags = if up { LinkFlags::Up } else { LinkFlags::empty() };
        ask(RouteNetlinkMessage::SetLink(message), NLM_F_ACK).map(|_| ())
    }
}

/// This namespace's number for another one, of which `namespace` is an open file; nothing where it
/// has none.
///
/// # Errors
/// The kernel's.
pub(super) fn namespace_number(namespace: &impl AsRawFd) -> io::Result<Option<i32>> {
    let mut message = NsidMessage::default();
    message.attributes.push(NsidAttribute::Fd(namespace.as_raw_fd() as u32));
    match ask(RouteNetlinkMessage::GetNsId(message), 0)? {
        Some(RouteNetlinkMessage::NewNsId(answer)) => {
            Ok(answer.attributes.iter().find_map(|attribute| match attribute {
                NsidAttribute::Id(id) => Some(*id).filter(|id| *id >= 0),
                _ => None,
            }))
        }
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Puts one request; the answer, or nothing where it is an acknowledgement.
fn ask(request: RouteNetlinkMessage, flags: u16) -> io::Result<Option<RouteNetlinkMessage>> {
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | flags;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::from(request));
    message.finalize();
    let mut octets = vec![0; message.buffer_len()];
    message.serialize(&mut octets);
    socket.send(&octets, 0)?;
    let (answer, _) = socket.recv_from_full()?;
    let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer);
    let answer = answer.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    match answer.payload {
        NetlinkPayload::InnerMessage(message) => Ok(Some(message)),
        NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
        _ => Ok(None),
    }
}

/// Word of changes of interfaces: that there was one, not which.
#[derive(Debug)]
pub struct LinkEvents(Socket);

impl LinkEvents {
    /// Listens from now on.
    ///
    /// # Errors
    /// The kernel's.
    pub fn listen() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind(&SocketAddr::new(0, LINK_GROUP))?;
        socket.set_non_blocking(true)?;
        Ok(Self(socket))
    }

    /// Waits for a change, for at most `patience`. The kernel may tell of a lost carrier up to a
    /// second late, so interfaces have to be read as well.
    pub fn wait(&self, patience: Duration) {
        let ms = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
        let mut fd = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: `fd` is one entry that is readable and writable.
        unsafe { libc::poll(&mut fd, 1, ms) };
        // An overrun is a change as well; what is here now has been told.
        let mut octets = [0_u8; 4_096];
        while self.0.recv(&mut &mut octets[..], libc::MSG_DONTWAIT).is_ok() {}
    }
}

/// Folder of the network namespaces that `ip netns` named.
const NAMED: &str = "/run/netns";
/// `ETHTOOL_GTXCSUM` of `linux/ethtool.h`.
const GTXCSUM: u32 = 0x16;
/// `ETHTOOL_GLINKSETTINGS`.
const GLINKSETTINGS: u32 = 0x4c;

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
    // `struct ethtool_value`: the command, and its value.
    let mut value = [GTXCSUM, 0];
    ethtool(name, &mut value).is_some() && value[1] != 0
}

/// The rate of an interface's link, if its driver tells one that is above 0. A virtual interface has one by
/// convention.
pub fn rate_of(name: &str) -> Option<BitsPerSec> {
    // `struct ethtool_link_settings`: the command, the speed in Mb/s, and at the end of the fourth word the number of
    // words in a mask, of which three follow behind twelve words.
    const HEAD: usize = 12;
    let mut settings = [0_u32; HEAD + 3 * 127];
    settings[0] = GLINKSETTINGS;
    ethtool(name, &mut settings)?;
    // The first answer has the number of words that the kernel wants, below 0.
    let words = i8::from_ne_bytes([settings[3].to_ne_bytes()[3]]).checked_neg()?;
    settings[0] = GLINKSETTINGS;
    settings[3] = u32::from_ne_bytes([0, 0, 0, words.to_ne_bytes()[0]]);
    ethtool(name, &mut settings)?;
    // All ones is a speed that is not known.
    let mbps = Some(settings[1]).filter(|mbps| *mbps != u32::MAX)?;
    BitsPerSec::new(u64::from(mbps) * 1_000_000)
}

/// Executes a command of ethtool, whose words it reads and writes.
fn ethtool(name: &str, words: &mut [u32]) -> Option<()> {
    let socket = sys::socket(libc::AF_INET, libc::SOCK_DGRAM).ok()?;
    // SAFETY: an interface request is plain data, for which all zeroes is a valid value.
    let mut request: libc::ifreq = unsafe { core::mem::zeroed() };
    // One byte less than the array, so that a zero follows.
    let room = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name[..room].iter_mut().zip(name.bytes()) {
        *to = from as c_char;
    }
    request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    // SAFETY: the socket is open, and the request points to as many words as its command may write.
    let code = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &mut request) };
    (code == 0).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_carrier_is_a_link_once_the_interface_is_operational() {
        let up = LinkFlags::Up | LinkFlags::LowerUp;
        let of = |flags, state: Option<State>| {
            let mut message = LinkMessage::default();
            message.header.flags = flags;
            message.attributes.extend(state.map(LinkAttribute::OperState));
            let Interface { carrier, link, .. } = Interface::of(&message);
            (carrier, link)
        };
        assert_eq!(of(up, Some(State::Up)), (true, true));
        assert_eq!(of(up, Some(State::Unknown)), (true, true), "a driver that does not tell");
        assert_eq!(of(up, None), (true, true));
        for state in [State::Down, State::LowerLayerDown, State::Dormant, State::Testing] {
            assert_eq!(of(up, Some(state)), (true, false), "{state}");
        }
        // A state of before, which the kernel has not changed yet.
        assert_eq!(of(LinkFlags::Up, Some(State::Up)), (false, false));
        assert_eq!(of(LinkFlags::LowerUp, Some(State::Up)), (false, false));
    }

    #[test]
    fn the_loopback_is_found_by_name_and_by_number_and_others_are_not() {
        let lo = Interface::named("lo").unwrap().expect("every namespace has a loopback");
        assert_eq!((lo.name.as_str(), lo.peer), ("lo", None));
        assert_eq!(Interface::numbered(lo.index).unwrap().unwrap().name, "lo");
        assert_eq!(Interface::named("nosuchinterface").unwrap(), None);
    }
}
