//! Cache of the forwarding decisions for recent flows of a port, so that the next frame of the same
//! flow need not be classified, learnt and looked up again (Open vSwitch calls it an exact-match
//! cache).
//!
//! A shortcut gives the result of the full path: it holds for frames with the same addresses, tag,
//! EtherType and DSCP, until anything that it was derived from changes (the table's version), and
//! for a 64th of the ageing time at most, after which the full path refreshes the source address
//! and checks the destination. A flow is in its slot, or in one of the three beside it if
//! another flow has that slot: flows in turn that push each other out would be classified anew each
//! time.

use super::classify::{Meta, UNTAGGED};
use ground::memory::fetch_item;
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

/// Two bytes of a frame in wire order, as a number.
const fn wire(octets: [u8; 2]) -> u16 {
    u16::from_le_bytes(octets)
}

const C_TAG: u16 = wire([0x81, 0x00]);
const S_TAG: u16 = wire([0x88, 0xa8]);
const IPV4: u16 = wire([0x08, 0x00]);
const IPV6: u16 = wire([0x86, 0xdd]);

/// Group bit of the destination, in the first word of a frame.
const GROUP_BIT: u64 = 1;

impl Flow {
    /// Returns the flow of a frame; `None` if the frame is too short, or has a service tag or
    /// several tags, whose priority is outside the key.
    #[inline(always)]
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        let h = head.first_chunk::<WHOLE>()?;
        let word = |offset: usize| {
            u64::from_le_bytes(*h[offset..].first_chunk().expect("within the header"))
        };
        let (first, second) = (word(0), word(8));
        // Bytes 12 and 13: an EtherType, or that of a tag.
        match (second >> 32) as u16 {
            C_TAG => {
                let third = u32::from_le_bytes(*h[16..].first_chunk().expect("within the header"));
                match third as u16 {
                    // The priority of a second tag would be outside of the key.
                    C_TAG | S_TAG => None,
                    IPV4 | IPV6 => Some(Self { first, second, third }),
                    // The last two bytes are payload.
                    _ => Some(Self { first, second, third: third & 0xffff }),
                }
            }
            IPV4 | IPV6 => Some(Self { first, second, third: 0 }),
            S_TAG => None,
            // The last two bytes of the second word are payload.
            _ => Some(Self { first, second: second & 0x0000_ffff_ffff_ffff, third: 0 }),
        }
    }

    /// Returns the place of the IP header, by the EtherType and the first byte behind it.
    const fn layout(&self) -> Layout {
        const NO_OPTIONS: u8 = 0x45;
        let (outer, inner) = ((self.second >> 32) as u16, self.third as u16);
        match (outer, inner) {
            (IPV4, _) if (self.second >> 48) as u8 == NO_OPTIONS => Layout::Ipv4,
            (C_TAG, IPV4) if (self.third >> 16) as u8 == NO_OPTIONS => Layout::TaggedIpv4,
            _ => Layout::Other,
        }
    }

    #[inline(always)]
    const fn hash(&self) -> usize {
        // Multiplication carries each bit upwards, so the upper bits depend on all others. The third word is
        // compared, not hashed.
        let mixed = (self.first ^ self.second.rotate_left(23)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 48) as usize
    }
}

/// Place of the IP header in the frames of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Layout {
    /// Not known, or not IPv4 without options.
    Other,
    /// IPv4 without options, behind the EtherType.
    Ipv4,
    /// IPv4 without options, behind a C-tag.
    TaggedIpv4,
}

/// Decision for a frame that leaves unmodified, by a port of this worker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decision {
    pub(super) egress: PortId,
    /// Local index of the egress port.
    pub(super) to: u16,
    pub(super) priority: Priority,
    pub(super) group: PriorityGroup,
    pub(super) lossy: bool,
}

impl Decision {
    /// Returns the whole decision and the layout of its frames as one number, for comparisons.
    #[inline(always)]
    const fn number(&self, layout: Layout) -> u64 {
        // Every field has bits of its own: equal numbers are equal decisions.
        let Self { egress, to, priority, group, lossy } = *self;
        let treatment = (priority.get() as u64) << 16 | (group.get() as u64) << 8 | lossy as u64;
        (layout as u64) << LAYOUT_SHIFT | treatment << 32 | (to as u64) << 16 | egress.get() as u64
    }
}

const LAYOUT_SHIFT: u32 = 56;

/// Returns the layout in a decision's number.
#[inline(always)]
pub(super) const fn layout_of(number: u64) -> Layout {
    match number >> LAYOUT_SHIFT {
        1 => Layout::Ipv4,
        2 => Layout::TaggedIpv4,
        _ => Layout::Other,
    }
}

/// A cached decision, in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Entry {
    flow: Flow,
    until: Instant,
    version: u32,
    decision: Decision,
    /// [`Decision::number`].
    number: u64,
}

impl Entry {
    #[inline(always)]
    fn holds(&self, now: Instant, version: u32, flow: &Flow) -> bool {
        // All differences in one number: one branch instead of five that are predicted alike.
        let (own, other) = (&self.flow, flow);
        let addresses = (own.first ^ other.first) | (own.second ^ other.second);
        let rest = (own.third ^ other.third) | (self.version ^ version);
        addresses | u64::from(rest) == 0 && now < self.until
    }
}

const _: () = assert!(size_of::<Entry>() == 64, "a lookup reads one cache line");

#[derive(Debug)]
pub(super) struct Shortcuts {
    entries: Box<[Entry]>,
    /// Distance from its slot of the entry that was evicted last.
    evicted: usize,
}

/// The slots of a cache, for lookups in a loop.
#[derive(Clone, Copy)]
pub(super) struct Slots<'a>(&'a [Entry]);

impl Slots<'_> {
    /// Returns true if there is a valid decision for this flow in its slot, with this number.
    #[inline(always)]
    pub(super) fn agrees(self, now: Instant, version: u32, flow: Flow, number: u64) -> bool {
        let entry = &self.0[slot(self.0, &flow)];
        entry.number == number && entry.holds(now, version, &flow)
    }
}

/// Returns the slot of a flow in a cache, whose number of slots is a power of two.
#[inline(always)]
const fn slot(entries: &[Entry], flow: &Flow) -> usize {
    flow.hash() & (entries.len() - 1)
}

/// Neighbouring slots that a flow may be in.
const WAYS: usize = 4;

impl Shortcuts {
    /// Creates `slots` slots, rounded up to a power of two, 4 to 65,536.
    pub(super) fn new(slots: usize) -> Self {
        let decision = Decision {
            egress: PortId::MIN,
            to: 0,
            priority: Priority::MIN,
            group: PriorityGroup::MIN,
            lossy: false,
        };
        // Expired from the start.
        let entry =
            Entry { flow: Flow::default(), until: Instant::ZERO, version: 0, decision, number: 0 };
        Self {
            entries: vec![entry; slots.clamp(WAYS, 1 << 16).next_power_of_two()].into_boxed_slice(),
            evicted: 0,
        }
    }

    /// Brings the slot of a flow into the caches.
    #[inline]
    pub(super) fn fetch(&self, flow: &Flow) {
        fetch_item(&self.entries, slot(&self.entries, flow));
    }

    /// Returns the decision in the slot of a flow, which may be of another one or no longer valid.
    #[inline]
    pub(super) fn guess(&self, flow: &Flow) -> Decision {
        self.entries[slot(&self.entries, flow)].decision
    }

    /// Returns the decision for this flow, if it is still valid and in its slot, and its number. If
    /// not, it may be beside it ([`Self::find_beside`]).
    #[inline(always)]
    pub(super) fn find(&self, now: Instant, version: u32, flow: Flow) -> Option<(Decision, u64)> {
        let entry = &self.entries[slot(&self.entries, &flow)];
        entry.holds(now, version, &flow).then_some((entry.decision, entry.number))
    }

    /// Returns the slots, for [`Slots::agrees`].
    #[inline(always)]
    pub(super) fn slots(&self) -> Slots<'_> {
        Slots(&self.entries)
    }

    /// As [`Self::find`], in the slots beside that of a frame's flow. Takes the frame, so that the
    /// usual way need not keep its flow at hand.
    #[cold]
    #[inline(never)]
    pub(super) fn find_beside(
        &self,
        now: Instant,
        version: u32,
        head: &[u8],
    ) -> Option<(Decision, u64)> {
        // No group has a decision: messages of link protocols do not read three more lines.
        let flow = Flow::of(head).filter(|flow| flow.first & GROUP_BIT == 0)?;
        let index = slot(&self.entries, &flow);
        let mut beside = (1..WAYS).map(|way| &self.entries[index ^ way]);
        let entry = beside.find(|entry| entry.holds(now, version, &flow))?;
        Some((entry.decision, entry.number))
    }

    /// As [`Self::agrees`], in the slots beside that of a frame's flow.
    #[cold]
    #[inline(never)]
    pub(super) fn agrees_beside(
        &self,
        now: Instant,
        version: u32,
        head: &[u8],
        number: u64,
    ) -> bool {
        self.find_beside(now, version, head).is_some_and(|(_, of)| of == number)
    }

    /// Stores a decision. If its slot has another flow's, that one moves to a slot beside it.
    pub(super) fn note(&mut self, until: Instant, version: u32, flow: Flow, decision: Decision) {
        let index = slot(&self.entries, &flow);
        let number = decision.number(flow.layout());
        // The slot itself comes first, then the three that differ from it in the last two bits.
        let ways = || (0..WAYS).map(|way| index ^ way);
        // A flow must have one entry at most, or an old decision could outlive the new one.
        let old = ways().find(|slot| self.entries[*slot].flow == flow);
        // An entry of another version is never found again, whatever its flow.
        let free = || ways().find(|slot| self.entries[*slot].version != version);
        let slot = old.or_else(free).unwrap_or_else(|| {
            // In turn over the three, so that several flows of one slot do not evict the same one each time.
            self.evicted = self.evicted % (WAYS - 1) + 1;
            self.entries[index ^ self.evicted] = self.entries[index];
            index
        });
        self.entries[slot] = Entry { flow, until, version, decision, number };
    }
}

/// Returns true if a frame leaves with the tag that it arrived with; `tagged` is the egress
/// setting.
#[inline]
pub(super) fn leaves_as_it_came(meta: &Meta, tagged: bool) -> bool {
    meta.tag == if tagged { meta.vid.get() } else { UNTAGGED }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(n: u64) -> [u8; WHOLE] {
        let mut head = [0; WHOLE];
        head[..8].copy_from_slice(&n.to_be_bytes());
        head[12..16].copy_from_slice(&[0x08, 0, 0x45, 0]);
        head
    }

    fn flow(n: u64) -> Flow {
        Flow::of(&head(n)).expect("a frame that is long enough")
    }

    fn found(cache: &Shortcuts, version: u32, n: u64) -> Option<u64> {
        let own = cache.find(Instant::ZERO, version, flow(n));
        let found = own.or_else(|| cache.find_beside(Instant::ZERO, version, &head(n)));
        let agrees = |number| {
            cache.slots().agrees(Instant::ZERO, version, flow(n), number)
                || cache.agrees_beside(Instant::ZERO, version, &head(n), number)
        };
        if let Some((_, number)) = found {
            assert!(agrees(number) && !agrees(number ^ 1));
            assert!(layout_of(number) == Layout::Ipv4);
        }
        found.map(|(decision, _)| u64::from(decision.to))
    }

    #[test]
    fn four_flows_of_one_slot_keep_their_decisions() {
        let mut cache = Shortcuts::new(64);
        let index = slot(&cache.entries, &flow(0));
        let same = (0..).filter(|n| slot(&cache.entries, &flow(*n)) == index);
        let same: Vec<u64> = same.take(5).collect();
        let decision = |n: u64| Decision {
            egress: PortId::new(n as u16 % 64).expect("a small number"),
            to: n as u16,
            priority: Priority::MIN,
            group: PriorityGroup::MIN,
            lossy: true,
        };
        for (n, kept) in [(0, 1), (1, 2), (1, 2), (2, 3), (3, 4), (0, 4), (4, 4)] {
            cache.note(Instant::NEVER, 7, flow(same[n]), decision(same[n]));
            let there = same.iter().filter(|n| found(&cache, 7, **n) == Some(**n & 0xffff));
            assert_eq!(there.count(), kept, "after flow {n}");
            assert!(found(&cache, 7, same[n]).is_some());
        }
        // Entries of another version of the tables make room.
        cache.note(Instant::NEVER, 8, flow(same[0]), decision(same[0]));
        cache.note(Instant::NEVER, 8, flow(same[1]), decision(same[1]));
        let new = |n: &&u64| found(&cache, 8, **n).is_some();
        assert_eq!(same.iter().filter(new).count(), 2);
    }
}
