//! From the first octets of a frame to what is to be done with it (802.1Q 8.6.1, 8.6.2, 6.9.3).

use super::tables::Tables;
use crate::stats::DropReason;
use crate::units::{Mac, Priority, Vid};
use crate::wire::vlan::{Tpid, Walk};
use crate::wire::{EtherType, WireError, group, ipv4, ipv6, vlan};

/// What a received frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// A frame to be forwarded.
    Data(Meta),
    /// PFC or PAUSE, well-formed or not.
    MacControl,
    /// Not to be forwarded.
    Drop(DropReason),
}

/// What forwarding needs to know of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Meta {
    pub(super) dst: Mac,
    pub(super) src: Mac,
    pub(super) vid: Vid,
    pub(super) priority: Priority,
    /// The VLAN identifier in the frame's C-tag (0 for a priority tag); nothing without a tag.
    pub(super) tag: Option<u16>,
    /// The EtherType behind all tags.
    pub(super) ethertype: EtherType,
    /// Where the network header starts.
    pub(super) l3: u8,
}

/// Classifies a frame that came in by the port with these tables.
#[inline]
pub(super) fn classify(tables: &Tables, head: &[u8], wire_len: u32, max_frame: u32) -> Class {
    if wire_len > max_frame {
        return Class::Drop(DropReason::Oversize);
    }
    let walk = match vlan::walk(head) {
        Ok(walk) => walk,
        Err(WireError::ReservedVid) => return Class::Drop(DropReason::ReservedVid),
        Err(_) if head.len() < 14 => return Class::Drop(DropReason::Runt),
        Err(_) => return Class::Drop(DropReason::TruncatedTag),
    };
    if walk.ethertype == EtherType::MAC_CONTROL {
        return match walk.outer {
            None => Class::MacControl,
            Some(_) => Class::Drop(DropReason::MacControlTagged),
        };
    }
    if group::is_reserved(walk.dst) {
        return Class::Drop(DropReason::ReservedAddress);
    }
    if walk.src.is_multicast() {
        return Class::Drop(DropReason::GroupSource);
    }
    data(tables, head, &walk)
}

/// The VLAN and the priority of a data frame.
#[inline]
fn data(tables: &Tables, head: &[u8], walk: &Walk) -> Class {
    // An S-tag is the provider's: its priority counts, its VLAN passes through untouched.
    let c_tag = walk.outer.filter(|tag| tag.tpid == Tpid::C);
    let vid = match c_tag.and_then(|tag| tag.vid).or(tables.pvid()) {
        Some(vid) if tables.is_member(vid) => vid,
        _ => return Class::Drop(DropReason::IngressVlan),
    };
    let dscp = || match walk.ethertype {
        EtherType::IPV4 => ipv4::View::new(&head[walk.l3..]).ok().map(|ip| ip.dscp()),
        EtherType::IPV6 => ipv6::View::new(&head[walk.l3..]).ok().map(|ip| ip.dscp()),
        _ => None,
    };
    Class::Data(Meta {
        dst: walk.dst,
        src: walk.src,
        vid,
        priority: tables.priority(walk.outer.map(|tag| tag.pcp), dscp),
        tag: c_tag.map(|tag| tag.vid.map_or(0, Vid::get)),
        ethertype: walk.ethertype,
        l3: walk.l3 as u8,
    })
}
