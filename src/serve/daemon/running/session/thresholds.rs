//! Thresholds of groups and marking curves of queues, changed by clients. An absent field of a request keeps its
//! value.

use anyhow::{Context, Result, bail, ensure};

use super::{Session, lock};
use crate::messages::{SetEcn, SetGroup};
use buffer::{Alpha, BufferPlan, GroupKind, GroupPlan, SharedLimit};
use congestion::{EcnPlan, MarkAt, NotEct};
use ground::units::{Bytes, Cells, PortId, PriorityGroup, TrafficClass};
use switch::Change;

impl Session {
    pub(super) fn set_group(&self, set: &SetGroup) -> Result<()> {
        let port = self.port(&set.port)?;
        let group = PriorityGroup::new(set.group).context("group: 0 to 7")?;
        changes_something(set)?;
        // Before the plan is locked: the reconciler is locked first everywhere.
        let needed = self.headroom_needed(port, group);
        let mut plan = lock(&self.plan);
        let finds_headroom = plan.finds_headroom(port);
        ensure!(
            !finds_headroom || set.xoff.is_none(),
            "xoff: port {} finds the headroom of group {group} by itself (`headroom: auto`); leave it \
             out, or write `headroom: computed` into the switch file",
            plan.ports[port.index()].name,
        );
        // Such a port keeps the headroom that it has found.
        let needed = needed.filter(|_| !finds_headroom);
        let old = plan.buffer.groups[port.index()][group.index()];
        let new = with(old, set, &plan.buffer)?;
        if let (GroupKind::Lossless { headroom, .. }, Some(need)) = (new.kind, needed) {
            let octets = |cells: Cells| u64::from(cells.0) * u64::from(plan.buffer.cell_bytes);
            ensure!(
                headroom >= need,
                "xoff: the round trip of the link needs {} bytes of headroom, {} were requested",
                octets(need),
                octets(headroom),
            );
        }
        self.controller.apply(Change::Group { port, group, plan: new })?;
        plan.buffer.groups[port.index()][group.index()] = new;
        lock(&self.saved).group(port);
        Ok(())
    }

    /// Least headroom of a lossless group: from the measured link, otherwise from the plan.
    fn headroom_needed(&self, port: PortId, group: PriorityGroup) -> Option<Cells> {
        let reconciler = self.reconciler.as_ref().map(lock);
        let measured = reconciler.as_ref().and_then(|s| s.headroom(port));
        // A measured value that was not set yet is not what the port has.
        let measured = measured.filter(|headroom| headroom.set).map(|h| h.required.cells);
        measured.or_else(|| self.headroom.get(&(port, group)).copied())
    }

    pub(super) fn set_ecn(&self, set: &SetEcn) -> Result<()> {
        let port = self.port(&set.port)?;
        let class = TrafficClass::new(set.class).context("class: 0 to 7")?;
        ensure!(
            set.off || set.kmin.is_some() || set.kmax.is_some() || set.pmax.is_some(),
            "nothing to change: give kmin, kmax or pmax, or off"
        );
        let mut plan = lock(&self.plan);
        let ecn = &mut plan.ports[port.index()].ecn[class.index()];
        let new = curve(*ecn, set)?;
        self.controller.apply(Change::Ecn { port, class, plan: new })?;
        *ecn = new;
        lock(&self.saved).curve(port, class);
        Ok(())
    }
}

/// Refuses a request about a group that names no threshold.
fn changes_something(set: &SetGroup) -> Result<()> {
    let (port, group) = (set.port.clone(), set.group);
    ensure!(
        *set != SetGroup { port, group, ..SetGroup::default() },
        "nothing to change: give reserved, dynamic_th, static_th, unlimited, xoff, xon or xon_offset"
    );
    Ok(())
}

/// Thresholds of a group after a request.
fn with(old: GroupPlan, set: &SetGroup, buffer: &BufferPlan) -> Result<GroupPlan> {
    // Reserved space is rounded up to whole cells, so that it is never less than requested.
    let cells = |octets: u64| {
        let cells = octets.div_ceil(buffer.cell_bytes.into());
        u32::try_from(cells).map(Cells).context("a size is larger than any buffer")
    };
    // An absent field keeps its value.
    let keep = |new: Option<u64>, old: Cells| new.map_or(Ok(old), cells);
    let limit = match (set.dynamic_th, set.static_th, set.unlimited) {
        (None, None, None) => old.limit,
        (Some(n), None, None) => {
            SharedLimit::Dynamic(Alpha::new(n).context("dynamic_th: -8 to 8")?)
        }
        (None, Some(octets), None) => SharedLimit::Static(cells(octets)?),
        (None, None, Some(true)) => SharedLimit::Unlimited,
        // Also `unlimited: false`, which says no other limit.
        _ => bail!("one of dynamic_th, static_th and unlimited (true)"),
    };
    let kind = match old.kind {
        GroupKind::Lossless { headroom, xon, xon_offset } => GroupKind::Lossless {
            headroom: keep(set.xoff, headroom)?,
            xon: keep(set.xon, xon)?,
            xon_offset: keep(set.xon_offset, xon_offset)?,
        },
        GroupKind::Lossy => {
            let lossless = [set.xoff, set.xon, set.xon_offset];
            ensure!(
                lossless.iter().all(Option::is_none),
                "the group is lossy and has no xoff, xon or xon_offset; make it lossless in the \
                 switch file"
            );
            GroupKind::Lossy
        }
    };
    Ok(GroupPlan { reserved: keep(set.reserved, old.reserved)?, limit, kind })
}

/// Marking curve of a class after a request.
fn curve(old: Option<EcnPlan>, set: &SetEcn) -> Result<Option<EcnPlan>> {
    if set.off {
        ensure!(set.kmin.is_none() && set.kmax.is_none() && set.pmax.is_none(), "off, or a curve");
        return Ok(None);
    }
    let pmax = match set.pmax {
        None => None,
        // The plan has the probability in parts of 65,536; a NaN is in no range.
        Some(p) if (0.0..=1.0).contains(&p) => Some((p * 65_536.0).round() as u32),
        Some(_) => bail!("pmax: 0 to 1"),
    };
    let missing = "the class has no curve yet: it needs kmin, kmax and pmax";
    Ok(Some(EcnPlan {
        kmin: set.kmin.map(Bytes).or(old.map(|o| o.kmin)).context(missing)?,
        kmax: set.kmax.map(Bytes).or(old.map(|o| o.kmax)).context(missing)?,
        pmax: pmax.or(old.map(|o| o.pmax)).context(missing)?,
        at: old.map_or(MarkAt::Enqueue, |o| o.at),
        not_ect: old.map_or(NotEct::Pass, |o| o.not_ect),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOSSLESS: GroupPlan = GroupPlan {
        reserved: Cells(1),
        limit: SharedLimit::Unlimited,
        kind: GroupKind::Lossless { headroom: Cells(10), xon: Cells(2), xon_offset: Cells(3) },
    };

    fn buffer() -> BufferPlan {
        BufferPlan { cell_bytes: 256, total: Cells(1_000), groups: vec![], slack: Cells(0) }
    }

    #[test]
    fn what_a_request_leaves_out_stays() {
        assert_eq!(with(LOSSLESS, &SetGroup::default(), &buffer()).unwrap(), LOSSLESS);
        let set = SetGroup { xoff: Some(257), dynamic_th: Some(-8), ..SetGroup::default() };
        let new = with(LOSSLESS, &set, &buffer()).unwrap();
        // A size is rounded up to whole cells.
        let kind = GroupKind::Lossless { headroom: Cells(2), xon: Cells(2), xon_offset: Cells(3) };
        let limit = SharedLimit::Dynamic(Alpha::new(-8).unwrap());
        assert_eq!(new, GroupPlan { limit, kind, ..LOSSLESS });
    }

    #[test]
    fn a_request_without_a_threshold_is_refused() {
        let none = SetGroup { port: "a".into(), group: 3, ..SetGroup::default() };
        assert!(changes_something(&none).unwrap_err().to_string().starts_with("nothing to change"));
        changes_something(&SetGroup { xon_offset: Some(0), ..none }).unwrap();
    }

    #[test]
    fn thresholds_that_make_no_sense_are_refused() {
        let lossy = GroupPlan { kind: GroupKind::Lossy, ..LOSSLESS };
        let refuse = |old, set: SetGroup| with(old, &set, &buffer()).unwrap_err().to_string();
        let both = SetGroup { dynamic_th: Some(0), static_th: Some(1), ..SetGroup::default() };
        assert!(refuse(LOSSLESS, both).contains("one of dynamic_th, static_th"));
        let alpha = SetGroup { dynamic_th: Some(9), ..SetGroup::default() };
        assert_eq!(refuse(LOSSLESS, alpha), "dynamic_th: -8 to 8");
        let xon = SetGroup { xon: Some(1), ..SetGroup::default() };
        assert!(refuse(lossy, xon).contains("the group is lossy"));
        let huge = SetGroup { reserved: Some(u64::MAX), ..SetGroup::default() };
        assert!(refuse(lossy, huge).contains("larger than any buffer"));
    }

    #[test]
    fn a_curve_is_made_changed_and_taken_away() {
        let full = SetEcn { kmin: Some(1), kmax: Some(2), pmax: Some(0.5), ..SetEcn::default() };
        let made = curve(None, &full).unwrap();
        assert_eq!(made.unwrap().pmax, 32_768);
        let more = SetEcn { kmax: Some(9), ..SetEcn::default() };
        let changed = curve(made, &more).unwrap().unwrap();
        assert_eq!((changed.kmin, changed.kmax, changed.pmax), (Bytes(1), Bytes(9), 32_768));
        assert_eq!(curve(made, &SetEcn { off: true, ..SetEcn::default() }).unwrap(), None);
        assert!(curve(None, &more).is_err());
        assert!(curve(None, &SetEcn { off: true, ..full.clone() }).is_err());
        for pmax in [-0.1, 1.1, f64::NAN] {
            assert!(curve(None, &SetEcn { pmax: Some(pmax), ..full.clone() }).is_err());
        }
    }
}
