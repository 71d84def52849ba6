//! The fields of a frame that the checkers read, by a parser independent of the product's, and the
//! priority that a plan gives them.

use crate::VirtualFrame;
use contracts::frame::Frame;
use ground::units::{PRIORITIES, Priority, PrioritySet, Quanta};
use host::{Headers, Marking, StationPlan, Transport};
use switch::{ClassifyPlan, Trust};

/// No such field in the frame, and no such entry in a map.
pub(super) const NONE: u8 = u8::MAX;

/// In place of a priority: that of a frame of which nothing says which of several it has.
pub(super) const EITHER: u8 = u8::MAX - 1;

/// A frame as it is on a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Parsed {
    /// MAC control.
    Control(Request),
    /// To an address that no bridge passes on (802.1Q Table 8-1): it goes no further than the next
    /// node, and comes from nowhere but the last.
    Reserved,
    /// Any other.
    Data(Data),
}

/// The addresses that no bridge passes on: 01-80-C2-00-00-00 to 0F.
const RESERVED: u64 = 0x0180_c200_0000 >> 4;

/// Request of a MAC control frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Request {
    /// PFC: the priorities that it names and how long each is to pause.
    Pfc {
        /// The enable vector.
        named: PrioritySet,
        /// The times.
        times: [Quanta; PRIORITIES],
    },
    /// PAUSE, for the whole link.
    Pause(Quanta),
    /// Something that nobody has to obey.
    Other,
}

/// The fields of a data frame that say whose it is and how urgent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Data {
    /// Destination and source, as numbers below 2^48.
    pub(super) dst: u64,
    pub(super) src: u64,
    /// The PCP of its tag, or [`NONE`].
    pub(super) pcp: u8,
    /// The VLAN of its tag, 0 for a priority tag or without one.
    pub(super) vid: u16,
    /// The DSCP of its packet, or [`NONE`].
    pub(super) dscp: u8,
    /// Octets, FCS included.
    pub(super) len: u32,
}

/// Fields of a data frame that stay while switches add and remove its tag: addresses, DSCP and length.
pub(super) type Kind = (u64, u64, u8, u32);

impl Data {
    /// Returns the fields that stay on the way.
    pub(super) const fn kind(&self) -> Kind {
        // A switch may add or remove the tag, so its length does not count.
        let tag = if self.pcp == NONE { 0 } else { 4 };
        (self.dst, self.src, self.dscp, self.len - tag)
    }
}

impl Request {
    /// The priorities that are named, and those of them that are to pause.
    pub(super) fn sets(&self) -> (PrioritySet, PrioritySet) {
        match self {
            Self::Pfc { named, times } => {
                (*named, named.iter().filter(|p| times[p.index()].0 > 0).collect())
            }
            Self::Pause(Quanta(0)) => (PrioritySet::ALL, PrioritySet::EMPTY),
            Self::Pause(_) => (PrioritySet::ALL, PrioritySet::ALL),
            Self::Other => (PrioritySet::EMPTY, PrioritySet::EMPTY),
        }
    }

    /// The time that is asked for a priority, by its number.
    pub(super) const fn time(&self, p: usize) -> Quanta {
        match self {
            Self::Pfc { times, .. } => times[p],
            Self::Pause(time) => *time,
            Self::Other => Quanta(0),
        }
    }
}

impl Parsed {
    /// Reads a frame. What is shorter than the shortest frame has the fields that it has.
    #[inline]
    pub(super) fn new(frame: &VirtualFrame) -> Self {
        let head = frame.head();
        // An Ethernet header, a tag and 16 bytes behind them: all that is read below.
        let Some(h) = head.first_chunk::<34>() else {
            return Self::Data(Data {
                dst: 0,
                src: 0,
                pcp: NONE,
                vid: 0,
                dscp: NONE,
                len: frame.wire_len(),
            });
        };
        let be16 = |offset: usize| u16::from_be_bytes([h[offset], h[offset + 1]]);
        // An address and the two bytes behind it, which are there.
        let be48 = |offset: usize| {
            let octets = h[offset..].first_chunk::<8>().expect("the first 34 bytes are there");
            u64::from_be_bytes(*octets) >> 16
        };
        let mut ethertype = be16(12);
        if ethertype == 0x8808 {
            return Self::Control(control(head));
        }
        let dst = be48(0);
        if dst >> 4 == RESERVED {
            return Self::Reserved;
        }
        let (mut pcp, mut vid, mut tos) = (NONE, 0, (h[14], h[15]));
        if ethertype == 0x8100 {
            (pcp, vid) = (h[14] >> 5, be16(14) & 0xfff);
            ethertype = be16(16);
            tos = (h[18], h[19]);
        }
        // The version has to match the EtherType.
        let dscp = match (ethertype, tos.0 >> 4) {
            (0x0800, 4) => tos.1 >> 2,
            (0x86dd, 6) => (tos.0 & 0xf) << 2 | tos.1 >> 6,
            _ => NONE,
        };
        Self::Data(Data { dst, src: be48(6), pcp, vid, dscp, len: frame.wire_len() })
    }
}

/// Returns the source address of a frame, as a number below 2^48.
pub(super) fn source(head: &[u8]) -> u64 {
    head[6..12].iter().fold(0, |mac, octet| mac << 8 | u64::from(*octet))
}

/// Returns true for an IP packet with CE, the mark of congestion (RFC 3168).
#[inline]
pub(super) fn is_ce(head: &[u8]) -> bool {
    let Some(h) = head.first_chunk::<20>() else { return false };
    let at = if [h[12], h[13]] == [0x81, 0] { 18 } else { 14 };
    match [h[at - 2], h[at - 1]] {
        [0x08, 0] => h[at + 1] & 3 == 3,
        // In IPv6 the two bits are in the upper half of the second byte.
        [0x86, 0xdd] => h[at + 1] >> 4 & 3 == 3,
        _ => false,
    }
}

/// Returns false for an IPv4 packet whose header is complete and has a wrong checksum.
pub(super) fn checksum_holds(head: &[u8]) -> bool {
    let at = if head.get(12..14) == Some(&[0x81, 0]) { 18 } else { 14 };
    let Some([0x08, 0]) = head.get(at - 2..at) else { return true };
    wire::ipv4::View::new(&head[at..]).map_or(true, |packet| packet.checksum_ok())
}

/// Returns a hash of addresses, protocol and ports of an IP packet; 0 for any other frame.
pub(super) fn five_tuple(frame: &VirtualFrame) -> u32 {
    let head = frame.head();
    let at = if head.get(12..14) == Some(&[0x81, 0]) { 18 } else { 14 };
    let fields = match (head.get(at - 2..at), head.get(at)) {
        (Some([8, 0]), Some(first)) if first >> 4 == 4 => {
            let ports = at + 4 * usize::from(first & 15);
            [at + 9..at + 10, at + 12..at + 20, ports..ports + 4]
        }
        (Some([0x86, 0xdd]), Some(_)) => [at + 6..at + 7, at + 8..at + 40, at + 40..at + 44],
        _ => return 0,
    };
    let octets = fields.into_iter().filter_map(|field| head.get(field)).flatten();
    octets
        // FNV-1a, 32 bits.
        .fold(0x811c_9dc5, |hash: u32, octet| (hash ^ u32::from(*octet)).wrapping_mul(0x0100_0193))
}

/// Returns the number of a frame's flow by its probe; without one, the hash of its packet.
pub(super) fn flow(frame: &VirtualFrame) -> u64 {
    let probe = host::probe_of(frame.head());
    probe.map_or_else(|| 1 << 32 | u64::from(five_tuple(frame)), |probe| probe.flow.0.into())
}

/// Reads a MAC control frame (802.3 Annexes 31B and 31D).
#[cold]
fn control(head: &[u8]) -> Request {
    const GROUP: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 0x01];
    // MAC control has the minimum length, which is 60 bytes without FCS.
    let Some(h) = head.first_chunk::<60>() else { return Request::Other };
    let be16 = |offset: usize| u16::from_be_bytes([h[offset], h[offset + 1]]);
    match be16(14) {
        0x0001 => Request::Pause(Quanta(be16(16))),
        // PFC goes to the group address alone; PAUSE may be sent to the port's own.
        0x0101 if h[..6] == GROUP => Request::Pfc {
            named: PrioritySet(h[17]),
            times: core::array::from_fn(|p| Quanta(be16(18 + 2 * p))),
        },
        _ => Request::Other,
    }
}

/// From a frame's fields to its priority; [`NONE`] where the plan says nothing.
#[derive(Clone, Debug)]
pub(super) struct Maps {
    trust: Trust,
    pcp: [u8; 8],
    dscp: [u8; 64],
    default: u8,
}

impl Maps {
    /// Those of a port whose plan tells no priorities.
    pub(super) const UNKNOWN: Self =
        Self { trust: Trust::Port, pcp: [NONE; 8], dscp: [NONE; 64], default: NONE };

    pub(super) fn of_switch(plan: &ClassifyPlan) -> Self {
        Self {
            trust: plan.trust,
            pcp: plan.pcp.map(Priority::get),
            dscp: plan.dscp.map(Priority::get),
            default: plan.default.get(),
        }
    }

    /// A host knows the priorities of what it sends, and no others.
    pub(super) fn of_host(plan: &StationPlan) -> Self {
        let mut maps = Self { trust: Trust::DscpThenPcp, ..Self::UNKNOWN };
        for flow in &plan.flows {
            let dscp = match flow.headers {
                Headers::Ethernet => None,
                Headers::Udp4(udp) => Some(udp.dscp),
                Headers::Udp6(udp) => Some(udp.dscp),
            };
            match (dscp, flow.tag) {
                (Some(dscp), _) => learn(&mut maps.dscp[dscp.index()], flow.priority),
                // Without an IP header the tag alone tells the priority.
                (None, Some(tag)) => learn(&mut maps.pcp[tag.pcp.index()], flow.priority),
                (None, None) => learn(&mut maps.default, flow.priority),
            }
        }
        for sent in &plan.senders {
            learn(&mut maps.dscp[sent.dscp.index()], sent.priority);
        }
        for received in &plan.receivers {
            let data = Marking { priority: received.priority, dscp: received.dscp };
            let (ack, cnp) = match &received.kind {
                Transport::Roce(roce) => (roce.ack, Some(roce.cnp)),
                Transport::TcpLike(tcp) => (tcp.ack, None),
            };
            for marking in [Some(ack.unwrap_or(data)), cnp].into_iter().flatten() {
                learn(&mut maps.dscp[marking.dscp.index()], marking.priority);
            }
        }
        maps
    }

    /// The priority of a frame, or [`NONE`].
    #[inline]
    pub(super) fn priority(&self, data: &Data) -> u8 {
        // A field that is absent is [`NONE`], which is beyond both tables.
        let pcp = || self.pcp.get(usize::from(data.pcp)).copied();
        let dscp = || self.dscp.get(usize::from(data.dscp)).copied();
        let found = match self.trust {
            Trust::Pcp => pcp(),
            Trust::Dscp => dscp(),
            Trust::PcpThenDscp => pcp().or_else(dscp),
            Trust::DscpThenPcp => dscp().or_else(pcp),
            Trust::Port => None,
        };
        found.unwrap_or(self.default)
    }
}

/// Takes note of a priority. Where a host gives frames that look alike two, none is known.
fn learn(entry: &mut u8, priority: Priority) {
    let known = [NONE, priority.get()].contains(entry);
    *entry = if known { priority.get() } else { EITHER };
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::wire::{mac_control, pfc};
    use ground::units::{Mac, Priority};

    #[test]
    fn a_pause_frame_reads_as_the_wire_format_wrote_it() {
        let mut repr = pfc::Repr::new(Mac([2, 0, 0, 0, 0, 1]));
        repr.set(Priority::ALL[3], Quanta(700));
        repr.set(Priority::ALL[5], Quanta(0));
        let mut octets = [0; mac_control::FRAME_LEN];
        repr.emit(&mut octets).unwrap();
        let Parsed::Control(ask) = Parsed::new(&VirtualFrame::new(&octets, 64)) else { panic!() };
        assert_eq!((ask.time(3), ask.time(5)), (Quanta(700), Quanta(0)));
        let (named, paused) = ask.sets();
        assert_eq!((named.0, paused.0), (0b10_1000, 0b1000));
    }

    #[test]
    fn what_no_bridge_passes_on_is_no_data_with_a_tag_or_without() {
        for (last, ethertype) in [(0x0e, [0x89, 0xa2]), (0x00, [0x88, 0xcc]), (0x0f, [0x81, 0])] {
            let mut octets = [0; 60];
            octets[..6].copy_from_slice(&[0x01, 0x80, 0xc2, 0, 0, last]);
            octets[12..14].copy_from_slice(&ethertype);
            assert_eq!(Parsed::new(&VirtualFrame::new(&octets, 64)), Parsed::Reserved);
            octets[5] = 0x10;
            assert!(matches!(Parsed::new(&VirtualFrame::new(&octets, 64)), Parsed::Data(_)));
        }
    }

    #[test]
    fn the_fields_of_a_tagged_packet_are_found_behind_the_tag() {
        let mut octets = [0; 80];
        octets[5] = 7;
        octets[11] = 9;
        octets[12..20].copy_from_slice(&[0x81, 0, 0x60, 5, 8, 0, 0x45, 26 << 2]);
        let Parsed::Data(data) = Parsed::new(&VirtualFrame::new(&octets, 1000)) else { panic!() };
        let expected = Data { dst: 7, src: 9, pcp: 3, vid: 5, dscp: 26, len: 1000 };
        assert_eq!(data, expected);
    }
}
