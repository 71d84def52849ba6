//! Reconciliation of DCBX results: the set of PFC priorities and the ETS table.

use super::{AGAIN, Reconciler, Refused, StepKind};
use crate::Change;
use buffer::{GroupKind, GroupPlan};
use discovery::{EtsResolved, EtsTable, PfcResolved, Resolved};
use ground::time::Instant;
use ground::units::{Cells, PRIORITIES, PortId, PriorityGroup, TrafficClass};
use pfc::FlowControl;
use schedule::ClassPlan;

impl Reconciler {
    pub(super) fn negotiated(
        &mut self,
        now: Instant,
        port: PortId,
        resolved: &Resolved,
        apply: &mut impl FnMut(Change) -> Result<(), Refused>,
    ) {
        let (peer, methods) = (resolved.peer.map(|peer| peer.mac), resolved.methods);
        self.record(now, port, StepKind::Peer { state: resolved.state, peer, methods });
        if let Some(pfc) = &resolved.pfc {
            self.set_pfc(now, port, pfc, apply);
        }
        if let Some(ets) = &resolved.ets {
            self.set_ets(now, port, ets, apply);
        }
    }

    /// Applies a new set of PFC priorities: their groups become lossless, the others lossy. A
    /// change that held frames prevent is tried again.
    pub(super) fn set_pfc(
        &mut self,
        now: Instant,
        port: PortId,
        pfc: &PfcResolved,
        apply: &mut impl FnMut(Change) -> Result<(), Refused>,
    ) {
        let index = port.index();
        let FlowControl::Pfc { send, obey } = self.plan.ports[index].pfc.mode else { return };
        let enable = pfc.enable;
        // An attempt that was refused may have changed some of the groups.
        let unfinished = self.pfc_again[index].take().is_some();
        if send == enable && obey == enable && !unfinished {
            return;
        }
        let mode = FlowControl::Pfc { send: enable, obey: enable };
        let class = &self.plan.ports[index].classify;
        let groups = PriorityGroup::ALL.map(|g| {
            let of = |p: &ground::units::Priority| class.group[p.index()] == g;
            let any = enable.iter().any(|p| of(&p));
            (g, any)
        });
        // Groups that become lossy first. A priority paused before it has headroom loses nothing.
        let result = (|| {
            for (group, lossless) in groups.iter().copied().filter(|(_, lossless)| !lossless) {
                self.set_kind(port, group, lossless, apply)?;
            }
            apply(Change::Pfc { port, mode })?;
            self.plan.ports[index].pfc.mode = mode;
            for (group, lossless) in groups.iter().copied().filter(|(_, lossless)| *lossless) {
                self.set_kind(port, group, lossless, apply)?;
            }
            Ok(())
        })();
        let kind = match result {
            Ok(()) => StepKind::Pfc { enable, from: pfc.from },
            Err(Refused::Now(_)) => {
                self.pfc_again[index] = Some(*pfc);
                return self.again.push((now.saturating_add(AGAIN), port));
            }
            Err(Refused::Never(why)) => StepKind::PfcRefused { enable, why },
        };
        self.record(now, port, kind);
        self.set_headroom(now, port, apply);
    }

    /// Makes a group lossless or lossy.
    fn set_kind(
        &mut self,
        port: PortId,
        group: PriorityGroup,
        lossless: bool,
        apply: &mut impl FnMut(Change) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let (p, g) = (port.index(), group.index());
        let was = self.plan.buffer.groups[p][g];
        if (was.kind != GroupKind::Lossy) == lossless {
            return Ok(());
        }
        // The thresholds that all groups share stay; only kind and headroom follow the peer.
        let kind = if lossless { self.lossless_kind(port, group) } else { GroupKind::Lossy };
        let plan = GroupPlan { kind, ..was };
        apply(Change::Group { port, group, plan })?;
        self.note_group(port, group, plan);
        Ok(())
    }

    /// Returns the parameters of a lossless group: as configured, or as another group of the port.
    fn lossless_kind(&self, port: PortId, group: PriorityGroup) -> GroupKind {
        let groups = &self.planned.buffer.groups[port.index()];
        let planned = groups[group.index()].kind;
        if planned != GroupKind::Lossy {
            return planned;
        }
        // A group that the file made lossy has no thresholds of its own.
        let other = groups.iter().map(|g| g.kind).find(|kind| *kind != GroupKind::Lossy);
        let cells =
            |headroom| GroupKind::Lossless { headroom, xon: Cells(0), xon_offset: Cells(0) };
        other.unwrap_or_else(|| {
            let auto =
                self.planned.ports[port.index()].agents.as_ref().and_then(|a| a.auto.as_ref());
            cells(auto.map_or(Cells(0), |auto| {
                headroom::required(&auto.link, &auto.software, auto.cell_bytes).cells
            }))
        })
    }

    /// Applies another ETS table: other shares, or another priority to class map.
    fn set_ets(
        &mut self,
        now: Instant,
        port: PortId,
        ets: &EtsResolved,
        apply: &mut impl FnMut(Change) -> Result<(), Refused>,
    ) {
        let index = port.index();
        let (classes, map) = scheduled(&ets.table);
        let here = &self.plan.ports[index];
        if here.schedule.classes == classes && here.classify.class == map {
            return;
        }
        let kind = match apply(Change::Ets { port, classes, map }) {
            Ok(()) => {
                self.plan.ports[index].schedule.classes = classes;
                self.plan.ports[index].classify.class = map;
                StepKind::Ets { table: ets.table, from: ets.from }
            }
            Err(Refused::Now(why) | Refused::Never(why)) => StepKind::EtsRefused { why },
        };
        self.record(now, port, kind);
    }
}

/// Translates an ETS table for the scheduler. Vendor-specific algorithms and shapers become strict.
fn scheduled(table: &EtsTable) -> ([ClassPlan; PRIORITIES], [TrafficClass; PRIORITIES]) {
    const ETS: u8 = 2;
    let classes = core::array::from_fn(|c| match table.algorithm[c] {
        // TSA 2 is ETS, 0 is strict. A weight of 0 would never be served.
        ETS => ClassPlan::Dwrr { weight: u16::from(table.bandwidth[c]).max(1) },
        _ => ClassPlan::Strict,
    });
    let map = table.class.map(|c| TrafficClass::new(c & 7).expect("three bits"));
    (classes, map)
}
