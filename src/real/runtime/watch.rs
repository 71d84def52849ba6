//! Detection of broken guarantees of the data plane in the real world.

use buffer::GroupKind;
use contracts::stats::{DropKind, DropReason};
use contracts::world::Events;
use ground::counters;
use ground::time::Instant;
use ground::units::{PortId, Priority, PriorityGroup, PrioritySet};
use switch::SwitchPlan;

counters! {
    /// Frames of lossless groups that a switch lost.
    LosslessLosses {
        /// To congestion: a broken guarantee.
        congestion,
        /// To watchdogs.
        watchdog,
        /// To links that were down or went down.
        link,
    }
}

/// Counts lost frames of lossless groups. It costs nothing per frame: only drops are examined.
#[derive(Clone, Debug)]
pub struct LossWatch {
    /// By port: the priorities whose ingress group is lossless.
    lossless: Vec<PrioritySet>,
    /// By port: priority to group, to follow changes of a group.
    groups: Vec<[PriorityGroup; 8]>,
    lost: LosslessLosses,
}

impl LossWatch {
    /// Watches all ports of `plan`.
    #[must_use]
    pub fn new(plan: &SwitchPlan) -> Self {
        let groups: Vec<_> = plan.ports.iter().map(|p| p.classify.group).collect();
        let (lossless, lost) = (vec![PrioritySet::EMPTY; groups.len()], LosslessLosses::default());
        let mut watch = Self { lossless, groups, lost };
        for (n, kinds) in (0u16..).zip(&plan.buffer.groups) {
            let port = PortId::new(n).expect("a plan's ports have identifiers");
            for group in PriorityGroup::ALL {
                watch.set_kind(port, group, kinds[group.index()].kind);
            }
        }
        watch
    }

    /// Records that a group became lossless or lossy.
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

    /// Lost frames of lossless groups.
    #[must_use]
    pub const fn lost(&self) -> LosslessLosses {
        self.lost
    }

    /// Takes back what was counted since `lost`: frames that the end of a run flushes are no losses.
    pub const fn restore(&mut self, lost: LosslessLosses) {
        self.lost = lost;
    }

    /// Priorities whose ingress group is lossless, by port.
    #[must_use]
    pub fn lossless(&self) -> &[PrioritySet] {
        &self.lossless
    }

    /// Resets the count.
    pub fn clear(&mut self) {
        self.lost = LosslessLosses::default();
    }
}

impl Events for LossWatch {
    #[inline]
    fn received_all(&mut self, _: Instant, _: PortId, _: Priority, _: impl Iterator<Item = u32>) {}

    #[inline]
    fn sent_all(&mut self, _: Instant, _: PortId, _: Priority, _: impl Iterator<Item = u32>) {}

    #[inline]
    fn dropped(
        &mut self,
        _: Instant,
        port: PortId,
        priority: Option<Priority>,
        reason: DropReason,
    ) {
        let Some(p) = priority else { return };
        if !self.lossless[port.index()].contains(p) {
            return;
        }
        match reason.kind() {
            DropKind::Congestion => self.lost.congestion += 1,
            DropKind::Watchdog => self.lost.watchdog += 1,
            DropKind::Link => self.lost.link += 1,
            DropKind::Frame | DropKind::Control => {}
        }
    }
}
