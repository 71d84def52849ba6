//! Requests that interfaces send.

use core::net::IpAddr;

use super::interface::{Interface, Message, ROOM};
use super::ping::Asking;
use ground::units::{Dscp, Mac};
use wire::ip::Ecn;
use wire::{EtherType, arp, echo, ipv4, ipv6, neighbour};

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
