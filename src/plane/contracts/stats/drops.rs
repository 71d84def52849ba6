//! Reasons for dropping a frame: every end of a frame except transmission.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Category of a [`DropReason`], for observers that do not need the exact reason.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DropKind {
    /// The frame's contents or destination: no switch could forward it, even with an empty buffer.
    Frame,
    /// MAC control that this port cannot process, or a message of the switch itself: no frame that
    /// it had to forward.
    Control,
    /// Lack of room. Losslessness excludes these.
    Congestion,
    /// A pause storm, ended by the configured action.
    Watchdog,
    /// A link that was down or went down, or the end of the run.
    Link,
}

/// Declares the reasons once: variant, category, counter name, and meaning.
macro_rules! drop_reasons {
    ($($(#[doc = $doc:literal])+ $variant:ident: $kind:ident = $name:literal,)+) => {
        /// Reason for dropping a frame. Each is counted by port at the point of the drop.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum DropReason {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl DropReason {
            /// All reasons, in the order of processing in the switch.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];
            /// Number of reasons.
            pub const COUNT: usize = Self::ALL.len();

            /// Returns the name of the counter.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Returns the category of the reason.
            #[must_use]
            pub const fn kind(self) -> DropKind {
                match self { $(Self::$variant => DropKind::$kind,)+ }
            }

            /// Returns the meaning, in a sentence or two.
            #[must_use]
            pub const fn doc(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),+),)+ }
            }
        }
    };
}

drop_reasons! {
    /// Shorter than an Ethernet header.
    Runt: Frame = "runt",
    /// Longer than the configured maximum frame.
    Oversize: Frame = "oversize",
    /// It came in while the port was down.
    LinkDown: Link = "link_down",
    /// A VLAN tag was cut off by the end of the frame.
    TruncatedTag: Frame = "truncated_tag",
    /// VLAN identifier 4095, which is reserved (802.1Q table 9-2).
    ReservedVid: Frame = "reserved_vid",
    /// The source address is a group address.
    GroupSource: Frame = "group_source",
    /// A MAC control frame with an opcode that is neither PAUSE nor PFC.
    MacControlOpcode: Control = "mac_control_opcode",
    /// A MAC control frame that is too short for its opcode.
    MacControlShort: Control = "mac_control_short",
    /// A MAC control frame whose destination is not the one that its opcode demands.
    MacControlAddress: Control = "mac_control_address",
    /// A MAC control frame behind a VLAN tag; pauses are never tagged.
    MacControlTagged: Control = "mac_control_tagged",
    /// PAUSE on a port that does not obey PAUSE.
    PauseNotEnabled: Control = "pause_not_enabled",
    /// PFC on a port that does not obey PFC.
    PfcNotEnabled: Control = "pfc_not_enabled",
    /// To one of the addresses 01-80-C2-00-00-0x that bridges never forward (802.1Q table 8-1).
    ReservedAddress: Frame = "reserved_address",
    /// Of a VLAN that the ingress port does not belong to (802.1Q 8.6.2).
    IngressVlan: Frame = "ingress_vlan",
    /// Its destination is behind the port it came from.
    SameSegment: Frame = "same_segment",
    /// No other port belongs to its VLAN.
    NoEgress: Frame = "no_egress",
    /// Its egress port is down.
    EgressDown: Link = "egress_down",
    /// To the router, and it is not a valid IPv4 or IPv6 packet.
    IpMalformed: Frame = "ip_malformed",
    /// Its TTL or hop limit has run out.
    TtlExpired: Frame = "ttl_expired",
    /// No route matches its destination.
    NoRoute: Frame = "no_route",
    /// The next hop has no static neighbour entry.
    NoNeighbour: Frame = "no_neighbour",
    /// To the router itself, and of a protocol that it does not answer.
    RouterNotSpoken: Frame = "router_not_spoken",
    /// A congestion isolation message (802.1Qcz) to a port's own point that could not be read or was not
    /// believed; isolation's counters say why.
    CimRefused: Control = "cim_refused",
    /// To the UDP port of source flow control messages, and not a valid one (P802.1Qdw).
    SfcmMalformed: Frame = "sfcm_malformed",
    /// A source flow control message that the proxy's policy refuses; its counters say why.
    SfcmRefused: Frame = "sfcm_refused",
    /// A message about congestion to an address that the switch has not learnt: those are not flooded.
    MessageUnknown: Frame = "message_unknown",
    /// A message about congestion that the switch made, and the shared limit of its priority group was
    /// reached: headroom is for what links bring.
    MessageNoRoom: Control = "message_no_room",
    /// Its lossy priority group is at its shared limit; or it is a further copy of a flooded frame,
    /// which never uses headroom, and its group is.
    SharedLimit: Congestion = "shared_limit",
    /// Its lossless priority group has used up its headroom: the sender went on after XOFF.
    HeadroomFull: Congestion = "headroom_full",
    /// Its egress queue is at its limit.
    QueueLimit: Congestion = "queue_limit",
    /// RED picked it, and it is not ECN-capable.
    RedNotEct: Congestion = "red_not_ect",
    /// Its queue is stormed and the watchdog's action is drop.
    Watchdog: Watchdog = "watchdog",
    /// No memory for a copy of a flooded frame.
    NoMemory: Congestion = "no_memory",
    /// No room in front of the frame for the VLAN tag that its egress demands, or behind it for
    /// the padding of a short frame.
    NoTagRoom: Frame = "no_tag_room",
    /// The ring to the worker of its egress port was full.
    HandoffFull: Congestion = "handoff_full",
    /// Still queued when the switch was stopped, or its queue was flushed by a link that went down.
    Flushed: Link = "flushed",
}

/// Counters by [`DropReason`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Drops([u64; DropReason::COUNT]);

impl Default for Drops {
    fn default() -> Self {
        Self([0; DropReason::COUNT])
    }
}

impl Drops {
    /// Counts one drop.
    #[inline]
    pub fn count(&mut self, reason: DropReason) {
        self.0[reason as usize] += 1;
    }

    /// Returns the number of drops for `reason`.
    #[must_use]
    pub const fn get(&self, reason: DropReason) -> u64 {
        self.0[reason as usize]
    }

    /// Returns the number of all drops.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns the reasons with drops, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (DropReason, u64)> + '_ {
        DropReason::ALL.iter().map(|r| (*r, self.get(*r))).filter(|(_, n)| *n > 0)
    }

    /// Returns the counts of all reasons by their names, 0 included.
    #[must_use]
    pub fn by_name(&self) -> BTreeMap<&'static str, u64> {
        DropReason::ALL.iter().map(|reason| (reason.name(), self.get(*reason))).collect()
    }

    /// Writes [`Self::by_name`].
    ///
    /// # Errors
    /// Those of the serialiser.
    pub fn whole<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.by_name().serialize(to)
    }

    /// Adds another's counts to these.
    pub fn add(&mut self, other: &Self) {
        for (a, b) in self.0.iter_mut().zip(other.0) {
            *a += b;
        }
    }
}

/// By the names of the reasons, without zeros.
impl Serialize for Drops {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        // Zeros are left out, because a port has few of the reasons.
        to.collect_map(self.by_name().into_iter().filter(|(_, n)| *n > 0))
    }
}

impl<'de> Deserialize<'de> for Drops {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // A name that this version does not know is ignored: another version may have written it.
        let named = BTreeMap::<String, u64>::deserialize(from)?;
        let mut drops = Self::default();
        for (reason, n) in DropReason::ALL.iter().zip(&mut drops.0) {
            *n = named.get(reason.name()).copied().unwrap_or_default();
        }
        Ok(drops)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_documented() {
        let mut names: Vec<_> = DropReason::ALL.iter().map(|r| r.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), DropReason::COUNT);
        assert!(DropReason::ALL.iter().all(|r| r.doc().trim().ends_with('.')));
    }

    #[test]
    fn counts_add_up() {
        let mut a = Drops::default();
        a.count(DropReason::Runt);
        let mut b = a;
        b.count(DropReason::Watchdog);
        a.add(&b);
        assert_eq!(
            a.iter().collect::<Vec<_>>(),
            [(DropReason::Runt, 2), (DropReason::Watchdog, 1)]
        );
        assert_eq!(a.total(), 3);
    }
}
