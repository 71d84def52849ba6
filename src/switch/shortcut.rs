//! Cache of the forwarding decisions for recent flows of a port, so that the next frame of the same
//! flow need not be classified, learnt and looked up again (Open vSwitch calls it an exact-match
//! cache).
//!
//! A shortcut gives the result of the full path: it holds for frames with the same addresses, tag,
//! EtherType and DSCP, until anything that it was derived from changes (the table's version), and
//! for a 64th of the ageing time at most, after which the full path refreshes the source address
//! and checks the destination. It is direct-mapped; flows that share a slot evict each other.

use super::classify::{Meta, UNTAGGED};
use ground::time::Instant;
use ground::units::{PortId, Priority, PriorityGroup};

/// Key of a flow: the bytes of a frame from its destination address through its EtherType, or
/// through the EtherType behind one C-tag; and of IP the first two bytes, which contain the version
/// and the DSCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Flow {
    first: u64,
    second: u64,
    third: u32,
}

/// Minimum length of a frame with a C-tag and an IPv6 header: in a frame of this length the bytes
/// above decide if it is IP.
const WHOLE: usize = 18 + 40;

/// Returns true if an EtherType, in wire order, is IP.
#[inline(always)]
const fn is_ip(ethertype: [u8; 2]) -> bool {
    matches!(ethertype, [0x08, 0x00] | [0x86, 0xdd])
}

impl Flow {
    /// Returns the flow of a frame; `None` if the frame is too short, or has a service tag or
    /// several tags, whose priority is outside the key.
    #[inline(always)]
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        let h = head.first_chunk::<WHOLE>()?;
        let word =
            |at: usize| u64::from_le_bytes(*h[at..].first_chunk().expect("within the header"));
        let (first, second) = (word(0), word(8));
        if h[12..14] == [0x81, 0x00] {
            if matches!([h[16], h[17]], [0x81, 0x00] | [0x88, 0xa8]) {
                return None;
            }
            let ip = if is_ip([h[16], h[17]]) { [h[18], h[19]] } else { [0, 0] };
            let third = u32::from_le_bytes([h[16], h[17], ip[0], ip[1]]);
            return Some(Self { first, second, third });
        }
        if is_ip([h[12], h[13]]) {
            return Some(Self { first, second, third: 0 });
        }
        if h[12..14] == [0x88, 0xa8] {
            return None;
        }
        // The last two bytes of the second word are payload.
        Some(Self { first, second: second & 0x0000_ffff_ffff_ffff, third: 0 })
    }

    #[inline(always)]
    const fn hash(&self) -> usize {
        let mixed = (self.first ^ self.second.rotate_left(23)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 48) as usize
    }
}

/// Decision for a frame that leaves unmodified, by a port of this worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Decision {
    pub(super) egress: PortId,
    /// Local index of the egress port.
    pub(super) to: u16,
    pub(super) priority: Priority,
    pub(super) group: PriorityGroup,
    pub(super) lossy: bool,
}

/// An entry, in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Entry {
    flow: Flow,
    until: Instant,
    version: u32,
    decision: Decision,
}

#[derive(Debug)]
pub(super) struct Shortcuts {
    entries: Box<[Entry]>,
}

impl Shortcuts {
    /// Creates `slots` slots, rounded up to a power of two, at most 65,536.
    pub(super) fn new(slots: usize) -> Self {
        let decision = Decision {
            egress: PortId::MIN,
            to: 0,
            priority: Priority::MIN,
            group: PriorityGroup::MIN,
            lossy: false,
        };
        // Expired from the start.
        let entry = Entry { flow: Flow::default(), until: Instant::ZERO, version: 0, decision };
        Self {
            entries: vec![entry; slots.clamp(1, 1 << 16).next_power_of_two()].into_boxed_slice(),
        }
    }

    #[inline(always)]
    const fn slot(&self, flow: &Flow) -> usize {
        flow.hash() & (self.entries.len() - 1)
    }

    /// Returns the decision for this flow, if it is still valid.
    #[inline(always)]
    pub(super) fn find(&self, now: Instant, version: u32, flow: Flow) -> Option<Decision> {
        let entry = &self.entries[self.slot(&flow)];
        let holds = entry.flow == flow && entry.version == version && now < entry.until;
        holds.then_some(entry.decision)
    }

    /// Stores a decision.
    pub(super) fn note(&mut self, until: Instant, version: u32, flow: Flow, decision: Decision) {
        let at = self.slot(&flow);
        self.entries[at] = Entry { flow, until, version, decision };
    }
}

/// Returns true if a frame leaves with the tag that it arrived with; `tagged` is the egress
/// setting.
#[inline]
pub(super) fn leaves_as_it_came(meta: &Meta, tagged: bool) -> bool {
    meta.tag == if tagged { meta.vid.get() } else { UNTAGGED }
}
