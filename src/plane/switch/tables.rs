//! Lookup tables for classification, compiled from the plan of one port.

use super::plan::{ClassifyPlan, PortPlan, Trust, VlanPlan};
use buffer::{GroupKind, GroupPlan};
use congestion::{EcnPlan, SourceMap};
use ground::memory::fetch;
use ground::units::{
    Dscp, Mac, PRIORITIES, Pcp, Priority, PriorityGroup, PrioritySet, TrafficClass, Vid,
};

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
        let of = self.priorities_of_group(group).0;
        self.lossy.0 = if lossy { self.lossy.0 | of } else { self.lossy.0 & !of };
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
