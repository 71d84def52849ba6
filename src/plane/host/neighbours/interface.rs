//! An interface: addresses, tags, and the construction of its messages and of the requests that it sends.

use core::net::IpAddr;

use arrayvec::ArrayVec;

use super::table::Asking;
use crate::plan::stream::InterfacePlan;
use ground::units::{Dscp, Mac, Pcp, Priority, Vid};
use wire::ip::Ecn;
use wire::vlan::{self, MAX_TAGS, TAG_LEN, Tpid};
use wire::{EtherType, arp, echo, ethernet, ipv4, ipv6, neighbour};

/// Length in bytes of the longest message built here: a solicitation with its option, or a ping,
/// over IPv6 with the maximum number of tags.
const MESSAGE_MAX: usize = ethernet::HEADER_LEN
    + MAX_TAGS * TAG_LEN
    + ipv6::HEADER_LEN
    + neighbour::MESSAGE_LEN
    + neighbour::OPTION_LEN;

/// A message, from its destination address.
pub(super) type Message = ArrayVec<u8, MESSAGE_MAX>;

/// VLANs of a frame, outermost first, 12 bits each; 0 for none. Priority tags carry no VLAN and are
/// not included (802.1Q 6.9).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Vlans(u64);

impl Vlans {
    fn of(vids: impl Iterator<Item = u16>) -> Self {
        Self(vids.filter(|vid| *vid != 0).fold(0, |all, vid| all << 12 | u64::from(vid)))
    }

    /// Returns the VLANs of a frame's tags.
    pub(super) fn in_frame(head: &[u8], walk: &vlan::Walk) -> Self {
        // Each tag begins with its TPID, where an untagged frame has its EtherType.
        let tags = (0..walk.tags).map(|n| &head[ethernet::HEADER_LEN - 2 + n * TAG_LEN..]);
        Self::of(tags.filter_map(|tag| vlan::View::new(tag).ok()).map(|tag| tag.vid_bits()))
    }
}

/// An address of an interface.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    pub(super) ip: IpAddr,
    prefix_len: u8,
    pub(super) gateway: Option<IpAddr>,
}

impl Address {
    fn new<A: Into<IpAddr> + Copy>(&(ip, prefix_len, gateway): &(A, u8, Option<A>)) -> Self {
        Self { ip: ip.into(), prefix_len, gateway: gateway.map(Into::into) }
    }

    /// Returns true if `other` is on the same link.
    fn reaches(&self, other: IpAddr) -> bool {
        // A prefix of length 0 shifts all bits out, so all addresses match.
        match (self.ip, other) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                let differ = a.to_bits() ^ b.to_bits();
                differ.checked_shr(32 - u32::from(self.prefix_len)).unwrap_or(0) == 0
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => {
                let differ = a.to_bits() ^ b.to_bits();
                differ.checked_shr(128 - u32::from(self.prefix_len)).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

/// An interface of a validated plan.
#[derive(Debug)]
pub(super) struct Interface {
    pub(super) name: String,
    pub(super) mac: Mac,
    tags: ArrayVec<vlan::Repr, MAX_TAGS>,
    pub(super) addresses: Vec<Address>,
}

impl Interface {
    pub(super) fn new(plan: &InterfacePlan) -> Self {
        let v4 = plan.ipv4.iter().map(Address::new);
        let v6 = plan.ipv6.iter().map(Address::new);
        let tag = |&(vid, priority): &(Vid, u8)| vlan::Repr {
            tpid: Tpid::C,
            pcp: Pcp::new(priority).unwrap_or(Pcp::MIN),
            dei: false,
            vid: Some(vid),
        };
        Self {
            name: plan.name.clone(),
            mac: plan.mac,
            tags: plan.vlans.iter().take(MAX_TAGS).map(tag).collect(),
            addresses: v4.chain(v6).collect(),
        }
    }

    pub(super) fn vlans(&self) -> Vlans {
        Vlans::of(self.tags.iter().filter_map(|tag| tag.vid).map(Vid::get))
    }

    /// Returns the priority of its frames: that of the outermost tag (802.1Q 6.9.3), 0 without one.
    pub(super) fn priority(&self) -> Priority {
        self.tags.first().map_or(Priority::MIN, |tag| priority_of(tag.pcp))
    }

    /// Returns the source address for `to` and the next hop: `to` itself on the link, else a
    /// gateway; `None` without a route.
    pub(super) fn route(&self, to: IpAddr) -> Option<(IpAddr, IpAddr)> {
        // A destination on the link needs no gateway.
        let near = self.addresses.iter().find(|a| a.reaches(to)).map(|a| (a.ip, to));
        let same = |a: &&Address| a.ip.is_ipv4() == to.is_ipv4();
        let by = |a: &Address| a.gateway.map(|gateway| (a.ip, gateway));
        near.or_else(|| self.addresses.iter().filter(same).find_map(by))
    }

    /// Builds a frame from the interface to `dst`; `write` fills the `len` bytes of the packet.
    pub(super) fn frame(
        &self,
        dst: Mac,
        ethertype: EtherType,
        len: usize,
        write: impl FnOnce(&mut [u8]),
    ) -> Message {
        let l3 = ethernet::HEADER_LEN + self.tags.len() * TAG_LEN;
        let mut out = Message::new();
        out.extend(core::iter::repeat_n(0, l3 + len));
        // The EtherType of the packet stands behind all tags.
        let outer = self.tags.first().map_or(ethertype, |tag| tag.tpid.ethertype());
        let header = ethernet::Repr { dst, src: self.mac, ethertype: outer };
        header.emit(&mut out).expect(ROOM);
        for (n, tag) in self.tags.iter().enumerate() {
            tag.emit(&mut out[ethernet::HEADER_LEN - 2 + n * TAG_LEN..]).expect(ROOM);
        }
        out[l3 - 2..l3].copy_from_slice(&ethertype.0.to_be_bytes());
        write(&mut out[l3..]);
        out
    }
}

/// Message for header writes that cannot fail.
pub(super) const ROOM: &str = "a message has room for all of its headers";

/// Returns the priority with the number of a code point.
pub(super) fn priority_of(pcp: Pcp) -> Priority {
    Priority::new(pcp.get()).expect("there are as many priorities as code points")
}

/// Echo identifier of this station's pings: "SL".
pub(super) const PING_IDENTIFIER: u16 = 0x534c;

/// Payload of a ping.
const PING_DATA: &[u8] = b"Sluice";

/// Builds an ARP request or neighbour solicitation for `target` from `src`, both of one IP version.
pub(super) fn question(interface: &Interface, src: IpAddr, target: IpAddr) -> Message {
    match (src, target) {
        (IpAddr::V4(src), IpAddr::V4(target)) => {
            let repr = arp::Repr::request(interface.mac, src, target);
            interface.frame(Mac::BROADCAST, EtherType::ARP, repr.buffer_len(), |out| {
                repr.emit(out).expect(ROOM);
            })
        }
        (IpAddr::V6(src), IpAddr::V6(target)) => {
            let (kind, link_layer) = (neighbour::Kind::Solicitation, Some(interface.mac));
            let repr = neighbour::Repr { kind, target, link_layer };
            // To the group of the last 24 bits, which few nodes share, instead of to all (RFC 4291 2.7.1).
            let group = neighbour::solicited_node(target);
            let mac = neighbour::group_mac(group);
            interface.frame(mac, EtherType::IPV6, repr.buffer_len(), |out| {
                repr.emit(src, group, out).expect(ROOM);
            })
        }
        _ => unreachable!("a gateway is of its address's version"),
    }
}

/// Builds the echo request of a ping.
pub(super) fn echo_request(interface: &Interface, mac: Mac, asking: &Asking) -> Message {
    let repr = echo::Repr {
        operation: echo::Operation::Request,
        identifier: PING_IDENTIFIER,
        sequence: asking.ping.number,
        data: PING_DATA,
    };
    let (src, dst, len) = (asking.src, asking.ping.dst, repr.buffer_len());
    // Best effort without ECN; the priority of the interface's tag applies on the link.
    let (dscp, ecn, protocol) = (Dscp::MIN, Ecn::NotEct, echo::protocol_of(src));
    match (src, dst) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let header = ipv4::Repr {
                dscp,
                ecn,
                identification: 0,
                dont_fragment: true,
                more_fragments: false,
                fragment_offset: 0,
                ttl: echo::ANSWER_TTL,
                protocol,
                src: from,
                dst: to,
                options: &[],
                payload_len: len as u16,
            };
            interface.frame(mac, EtherType::IPV4, ipv4::HEADER_LEN + len, |out| {
                header.emit(out).expect(ROOM);
                repr.emit(src, dst, &mut out[ipv4::HEADER_LEN..]).expect(ROOM);
            })
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let header = ipv6::Repr {
                dscp,
                ecn,
                flow_label: 0,
                payload_len: len as u16,
                next_header: protocol,
                hop_limit: echo::ANSWER_TTL,
                src: from,
                dst: to,
            };
            interface.frame(mac, EtherType::IPV6, ipv6::HEADER_LEN + len, |out| {
                header.emit(out).expect(ROOM);
                repr.emit(src, dst, &mut out[ipv6::HEADER_LEN..]).expect(ROOM);
            })
        }
        _ => unreachable!("a ping goes from an address of its own version"),
    }
}
