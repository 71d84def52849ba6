//! Classification: from the first bytes of a frame to its treatment (802.1Q 8.6.1, 8.6.2, 6.9.3), by
//! the lookup tables that are compiled from the plan of a port.

use crate::{ClassifyPlan, PortPlan, Trust, VlanPlan};
use buffer::{GroupKind, GroupPlan};
use congestion::{EcnPlan, SourceMap};
use contracts::port::FRAME_MIN;
use contracts::stats::DropReason;
use ground::memory::fetch;
use ground::units::{
    Dscp, Mac, PRIORITIES, Pcp, Priority, PriorityGroup, PrioritySet, TrafficClass, Vid,
};
use link::PortAgents;
use wire::vlan::{self, Tpid};
use wire::{EtherType, WireError, group, ipv4, ipv6};

/// Class of a received frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// A frame to be forwarded.
    Data(Meta),
    /// PFC or PAUSE, well-formed or not.
    MacControl,
    /// A link-protocol frame: LLDP, PTP peer delay, headroom measurement.
    Agents,
    /// A frame to be dropped.
    Drop(DropReason),
}

/// Fields of a frame that forwarding needs. They fit into registers and stay there on the fast
/// path: a struct that is written in parts and read whole stalls the processor (store forwarding).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Meta {
    /// Destination and source address, as numbers below 2^48.
    pub(super) dst: u64,
    pub(super) src: u64,
    pub(super) vid: Vid,
    pub(super) priority: Priority,
    /// The VLAN identifier in the frame's C-tag: 0 for a priority tag, [`UNTAGGED`] without a tag.
    pub(super) tag: u16,
    /// The EtherType behind all tags.
    pub(super) ethertype: EtherType,
    /// Offset of the network header.
    pub(super) l3: u8,
}

/// [`Meta::tag`] of a frame without a C-tag.
pub(super) const UNTAGGED: u16 = u16::MAX;

/// Group bit of an address as a number.
const GROUP_BIT: u64 = 1 << 40;

impl Meta {
    pub(super) const fn dst(&self) -> Mac {
        mac_of(self.dst)
    }

    pub(super) const fn src(&self) -> Mac {
        mac_of(self.src)
    }

    /// Returns true if the destination is a group address.
    #[inline]
    pub(super) const fn is_to_group(&self) -> bool {
        self.dst & GROUP_BIT != 0
    }
}

const fn mac_of(n: u64) -> Mac {
    let [_, _, a, b, c, d, e, f] = n.to_be_bytes();
    Mac([a, b, c, d, e, f])
}

/// Returns true for a length at which a frame may leave as it came: it is neither too long, nor too
/// short for the line, so that it has to be padded.
#[inline(always)]
pub(super) const fn is_usual_len(wire_len: u32, max_frame: u32) -> bool {
    wire_len.wrapping_sub(FRAME_MIN) <= max_frame.wrapping_sub(FRAME_MIN)
}

/// Classifies an untagged or singly C-tagged data frame in a few loads. Returns `None` for all
/// other frames and for those to be dropped, which need the full [`classify`].
#[inline(always)]
pub(super) fn classify_usual(
    tables: &Tables,
    head: &[u8],
    wire_len: u32,
    max_frame: u32,
) -> Option<Meta> {
    // Both addresses, one tag and the EtherType behind it. The full classifier handles shorter frames.
    let h = head.first_chunk::<18>()?;
    let be48 = |offset: usize| {
        u64::from_be_bytes(*h[offset..].first_chunk().expect("within the header")) >> 16
    };
    let be16 = |offset: usize| u16::from_be_bytes([h[offset], h[offset + 1]]);
    let (dst, src) = (be48(0), be48(6));
    let (mut ethertype, mut tag, mut pcp, mut l3) = (EtherType(be16(12)), UNTAGGED, None, 14);
    if ethertype == EtherType::C_TAG {
        let tci = be16(14);
        ethertype = EtherType(be16(16));
        pcp = Pcp::new((tci >> 13) as u8);
        tag = tci & 0xfff;
        l3 = 18;
    }
    // Each of these is rare and treated apart: a second or a service tag, MAC control, one of the sixteen reserved
    // addresses (802.1Q table 8-1), which differ in their last four bits, and a group as source.
    let usual = is_usual_len(wire_len, max_frame)
        && Tpid::new(ethertype).is_none()
        && ethertype != EtherType::MAC_CONTROL
        && dst >> 4 != group::NEAREST_CUSTOMER_BRIDGE.to_u64() >> 4
        && src & GROUP_BIT == 0;
    if !usual {
        return None;
    }
    // A priority tag (VID 0) leaves the frame in the port's own VLAN.
    let vid = if tag == 0 || tag == UNTAGGED { tables.pvid() } else { Vid::new(tag) };
    let vid = vid.filter(|vid| tables.is_member(*vid))?;
    let priority = tables.priority(pcp, || dscp(ethertype, &head[l3..]));
    Some(Meta { dst, src, vid, priority, tag, ethertype, l3: l3 as u8 })
}

/// Returns true for the frames that [`classify`] finds to be of a link protocol.
#[inline]
pub(super) fn is_for_agents(head: &[u8], wire_len: u32, max_frame: u32) -> bool {
    let Some(h) = head.first_chunk::<14>() else { return false };
    let dst = u64::from_be_bytes(*h.first_chunk().expect("within the header")) >> 16;
    // The full classifier drops longer frames, whatever they are.
    wire_len <= max_frame
        && dst >> 4 == group::NEAREST_CUSTOMER_BRIDGE.to_u64() >> 4
        && PortAgents::speak(EtherType(u16::from_be_bytes([h[12], h[13]])))
}

/// Classifies a frame of any format received by the port with these tables.
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
    // Before the reserved addresses, of which one is MAC control's: such a frame is obeyed or counted, never
    // forwarded.
    if walk.ethertype == EtherType::MAC_CONTROL {
        return match walk.outer {
            None => Class::MacControl,
            Some(_) => Class::Drop(DropReason::MacControlTagged),
        };
    }
    if group::is_reserved(walk.dst) {
        // Link protocols send untagged frames; behind a tag they are not for this port.
        if walk.outer.is_none() && PortAgents::speak(walk.ethertype) {
            return Class::Agents;
        }
        return Class::Drop(DropReason::ReservedAddress);
    }
    if walk.src.is_multicast() {
        return Class::Drop(DropReason::GroupSource);
    }
    // The provider owns an S-tag: its priority applies, its VLAN passes through unchanged.
    let c_tag = walk.outer.filter(|tag| tag.tpid == Tpid::C);
    let vid = match c_tag.and_then(|tag| tag.vid).or(tables.pvid()) {
        Some(vid) if tables.is_member(vid) => vid,
        _ => return Class::Drop(DropReason::IngressVlan),
    };
    let pcp = walk.outer.map(|tag| tag.pcp);
    Class::Data(Meta {
        dst: walk.dst.to_u64(),
        src: walk.src.to_u64(),
        vid,
        priority: tables.priority(pcp, || dscp(walk.ethertype, &head[walk.l3..])),
        tag: c_tag.map_or(UNTAGGED, |tag| tag.vid.map_or(0, Vid::get)),
        ethertype: walk.ethertype,
        l3: walk.l3 as u8,
    })
}

/// Returns the DSCP of an IP packet that has the right version and a whole fixed header. The router
/// validates the rest of the packet.
#[inline]
fn dscp(ethertype: EtherType, packet: &[u8]) -> Option<Dscp> {
    let [first, second, ..] = *packet else { return None };
    match (ethertype, first >> 4) {
        (EtherType::IPV4, 4) if packet.len() >= ipv4::HEADER_LEN => Dscp::new(second >> 2),
        (EtherType::IPV6, 6) if packet.len() >= ipv6::HEADER_LEN => {
            // The traffic class of IPv6 has four bits in each of the first two bytes; ECN is the lowest two.
            Dscp::new((first & 0xf) << 2 | second >> 6)
        }
        _ => None,
    }
}

/// One bit per VLAN identifier.
#[derive(Clone, Debug)]
struct VidSet([u64; 64]);

impl VidSet {
    const EMPTY: Self = Self([0; 64]);

    #[inline]
    const fn contains(&self, vid: Vid) -> bool {
        self.0[vid.index() >> 6] >> (vid.index() & 63) & 1 == 1
    }

    const fn insert(&mut self, vid: Vid) {
        self.0[vid.index() >> 6] |= 1 << (vid.index() & 63);
    }
}

/// The lookup tables of one port. Every worker has those of all ports.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    pub(super) name: String,
    pub(super) mac: Mac,
    /// The priorities whose ingress group is lossy.
    pub(super) lossy: PrioritySet,
    trust: Trust,
    pcp: [Priority; 8],
    dscp: [Priority; 64],
    default: Priority,
    group: [PriorityGroup; PRIORITIES],
    class: [TrafficClass; PRIORITIES],
    pub(super) ecn: [Option<EcnPlan>; PRIORITIES],
    pvid: Option<Vid>,
    member: VidSet,
    tagged: VidSet,
    /// Maps for source flow control messages to the host at this port.
    pub(super) source: SourceMap,
}

impl Tables {
    pub(super) fn new(plan: &PortPlan, groups: &[GroupPlan; PRIORITIES]) -> Self {
        let source = plan.classify.source_map();
        let ClassifyPlan { trust, pcp, dscp, default, group, class } = plan.classify.clone();
        let VlanPlan { pvid, members } = &plan.vlan;
        let (mut member, mut tagged) = (VidSet::EMPTY, VidSet::EMPTY);
        for m in members {
            member.insert(m.vid);
            if m.tagged {
                tagged.insert(m.vid);
            }
        }
        // By priority, although it is a property of the group: that spares each frame a lookup.
        let is_lossy = |p: &Priority| groups[group[p.index()].index()].kind == GroupKind::Lossy;
        Self {
            name: plan.name.clone(),
            mac: plan.mac,
            lossy: Priority::ALL.into_iter().filter(is_lossy).collect(),
            trust,
            pcp,
            dscp,
            default,
            group,
            class,
            ecn: plan.ecn,
            pvid: *pvid,
            member,
            tagged,
            source,
        }
    }

    /// Brings what each frame needs into the caches.
    #[inline]
    pub(super) fn fetch(&self) {
        fetch(&self.lossy);
        fetch(&self.class);
        for curve in &self.ecn {
            fetch(curve);
        }
    }

    /// Returns the priority of a frame with these fields. `dscp` is called only when it decides.
    #[inline]
    pub(super) fn priority(
        &self,
        pcp: Option<Pcp>,
        dscp: impl FnOnce() -> Option<Dscp>,
    ) -> Priority {
        let by_pcp = || pcp.map(|p| self.pcp[p.index()]);
        let by_dscp = || dscp().map(|d| self.dscp[d.index()]);
        match self.trust {
            Trust::Pcp => by_pcp(),
            Trust::Dscp => by_dscp(),
            Trust::PcpThenDscp => by_pcp().or_else(by_dscp),
            Trust::DscpThenPcp => by_dscp().or_else(by_pcp),
            Trust::Port => None,
        }
        .unwrap_or(self.default)
    }

    /// Returns the priority of frames with this DSCP if a tag could not change it, else `None`.
    pub(super) fn priority_of_untagged(&self, dscp: Option<Dscp>) -> Option<Priority> {
        // A CIM shows no tag of the frame that it is about, so only maps without tags give an answer.
        let by_tag = match self.trust {
            Trust::Port | Trust::Dscp => false,
            Trust::DscpThenPcp => dscp.is_none(),
            Trust::Pcp | Trust::PcpThenDscp => true,
        };
        (!by_tag).then(|| self.priority(None, || dscp))
    }

    /// Returns the VLAN of frames without a VLAN identifier.
    #[inline]
    pub(super) const fn pvid(&self) -> Option<Vid> {
        self.pvid
    }

    #[inline]
    pub(super) const fn is_member(&self, vid: Vid) -> bool {
        self.member.contains(vid)
    }

    /// Returns true if frames of `vid` leave this port tagged.
    #[inline]
    pub(super) const fn is_tagged(&self, vid: Vid) -> bool {
        self.tagged.contains(vid)
    }

    #[inline]
    pub(super) const fn group(&self, priority: Priority) -> PriorityGroup {
        self.group[priority.index()]
    }

    #[inline]
    pub(super) const fn class(&self, priority: Priority) -> TrafficClass {
        self.class[priority.index()]
    }

    /// Returns the priorities of a group: those that its XOFF pauses.
    pub(super) fn priorities_of_group(&self, group: PriorityGroup) -> PrioritySet {
        Priority::ALL.into_iter().filter(|p| self.group(*p) == group).collect()
    }

    /// Marks a group as lossy or lossless.
    pub(super) fn set_lossy(&mut self, group: PriorityGroup, lossy: bool) {
        let priorities = self.priorities_of_group(group).0;
        self.lossy.0 = if lossy { self.lossy.0 | priorities } else { self.lossy.0 & !priorities };
    }

    /// Sets the priority to traffic class map.
    pub(super) const fn set_classes(&mut self, class: [TrafficClass; PRIORITIES]) {
        self.class = class;
    }

    /// The priorities that share a class.
    pub(super) fn priorities_of_class(&self, class: TrafficClass) -> PrioritySet {
        Priority::ALL.into_iter().filter(|p| self.class(*p) == class).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rig::port_plan;
    use crate::{Trust, VlanMember};

    proptest! {
        /// The fast classifier agrees with the full one.
        #[test]
        fn the_short_way_says_what_the_walk_says(
            mut head in prop::collection::vec(any::<u8>(), 0..80),
            ethertypes in prop::collection::vec(
                prop::sample::select(
                    vec![0x8100u16, 0x88a8, 0x8808, 0x0800, 0x86dd, 0x0806, 0x8902, 0x88cc, 0x88f7],
                ),
                0..3,
            ),
            to_reserved in any::<bool>(),
            trust in 0usize..5,
        ) {
            for (n, e) in ethertypes.iter().enumerate() {
                let offset = 12 + 4 * n;
                if head.len() >= offset + 2 {
                    head[offset..offset + 2].copy_from_slice(&e.to_be_bytes());
                }
            }
            if to_reserved && head.len() > 6 {
                head[..5].copy_from_slice(&[1, 0x80, 0xc2, 0, 0]);
                head[5] &= 0x1f;
            }
            let mut plan = port_plan(0);
            plan.classify.trust =
                [Trust::Pcp, Trust::Dscp, Trust::PcpThenDscp, Trust::DscpThenPcp, Trust::Port][trust];
            for vid in 2..2048 {
                plan.vlan.members.push(VlanMember { vid: Vid::new(vid).unwrap(), tagged: true });
            }
            let tables = Tables::new(&plan, &crate::rig::groups(10));
            let class = classify(&tables, &head, 80, 1522);
            if let Some(usual) = classify_usual(&tables, &head, 80, 1522) {
                prop_assert_eq!(Class::Data(usual), class);
            }
            prop_assert_eq!(is_for_agents(&head, 80, 1522), class == Class::Agents);
            prop_assert!(!is_for_agents(&head, 1523, 1522));
        }
    }
}
