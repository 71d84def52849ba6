//! What the real world watches of its data plane: whether a guarantee was broken.

use crate::buffer::GroupKind;
use crate::stats::DropReason;
use crate::switch::SwitchPlan;
use crate::time::Instant;
use crate::units::{PortId, Priority, PriorityGroup, PrioritySet};
use crate::world::Events;

/// Counts frames of lossless groups that were lost to congestion. It costs nothing per frame: only
/// drops are looked at.
#[derive(Clone, Debug)]
pub struct LossWatch {
    /// By port: the priorities whose ingress group is lossless.
    lossless: Vec<PrioritySet>,
    /// By port: priority to group, to follow changes of a group.
    groups: Vec<[PriorityGroup; 8]>,
    lost: u64,
}

/// Whether a drop for `reason` is what losslessness rules out. The others are about what the frame
/// is, where it should go, or an end of the run or of a storm that somebody configured.
const fn is_congestion(reason: DropReason) -> bool {
    use DropReason as R;
    match reason {
        R::SharedLimit
        | R::HeadroomFull
        | R::QueueLimit
        | R::RedNotEct
        | R::NoMemory
        | R::HandoffFull => true,
        R::Runt
        | R::Oversize
        | R::LinkDown
        | R::TruncatedTag
        | R::ReservedVid
        | R::GroupSource
        | R::MacControlOpcode
        | R::MacControlShort
        | R::MacControlAddress
        | R::MacControlTagged
        | R::PauseNotEnabled
        | R::PfcNotEnabled
        | R::ReservedAddress
        | R::IngressVlan
        | R::SameSegment
        | R::NoEgress
        | R::EgressDown
        | R::IpMalformed
        | R::TtlExpired
        | R::NoRoute
        | R::NoNeighbour
        | R::RouterNotSpoken
        | R::Watchdog
        | R::NoTagRoom
        | R::Flushed => false,
    }
}

impl LossWatch {
    /// A watch over all ports of `plan`.
    #[must_use]
    pub fn new(plan: &SwitchPlan) -> Self {
        let groups: Vec<_> = plan.ports.iter().map(|p| p.classify.group).collect();
        let mut watch = Self { lossless: vec![PrioritySet::EMPTY; groups.len()], groups, lost: 0 };
        for (n, kinds) in (0u16..).zip(&plan.buffer.groups) {
            let port = PortId::new(n).expect("a plan's ports have identifiers");
            for group in PriorityGroup::ALL {
                watch.set_kind(port, group, kinds[group.index()].kind);
            }
        }
        watch
    }

    /// Takes note that a group became lossless or lossy.
    pub fn set_kind(&mut self, port: PortId, group: PriorityGroup, kind: GroupKind) {
        let set = &mut self.lossless[port.index()];
        for p in Priority::ALL.into_iter().filter(|p| self.groups[port.index()][p.index()] == group)
        {
            match kind {
                GroupKind::Lossless { .. } => set.insert(p),
                GroupKind::Lossy => set.remove(p),
            }
        }
    }

    /// Frames of lossless groups that were lost to congestion.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Starts to count again.
    pub const fn clear(&mut self) {
        self.lost = 0;
    }
}

impl Events for LossWatch {
    #[inline]
    fn dropped(
        &mut self,
        _: Instant,
        port: PortId,
        priority: Option<Priority>,
        reason: DropReason,
    ) {
        let Some(p) = priority else { return };
        if is_congestion(reason) && self.lossless[port.index()].contains(p) {
            self.lost += 1;
        }
    }
}
