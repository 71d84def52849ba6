//! A slow second ledger, written independently: three counters per group instead of two, every sum
//! calculated anew, every limit calculated in wide integers. It can be given a bug of the kinds
//! found in well-known simulators, to prove that the properties find it.

use super::super::*;
use ground::units::{Cells, PRIORITIES, PortId, PriorityGroup};

/// A planted bug.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The frame that exceeds the limit is still admitted to the shared pool.
    HeadroomLate,
    /// The part that fits is charged to the shared pool and the rest to headroom.
    HeadroomSplit,
    /// The limit is calculated as if the frame were already in the pool.
    LimitAfterCharge,
    /// Shared cells are released before headroom.
    ReleaseOrder,
    /// All released cells count as shared.
    ReserveForgotten,
    /// XOFF is sent above the limit, not at it.
    XoffAbove,
    /// XON is sent while headroom is still in use.
    XonTooEarly,
    /// XON waits for the limit to exceed the shared part by its offset, even if that is empty.
    XonNeedsOffset,
    /// 2^-n is calculated as the integer 1 / 2^n.
    AlphaTruncated,
    /// A frame uses only the cells that it fills completely.
    CellsRoundedDown,
    /// The pool's use by others is not counted.
    OthersForgotten,
}

impl Fault {
    pub const ALL: [Self; 11] = [
        Self::HeadroomLate,
        Self::HeadroomSplit,
        Self::LimitAfterCharge,
        Self::ReleaseOrder,
        Self::ReserveForgotten,
        Self::XoffAbove,
        Self::XonTooEarly,
        Self::XonNeedsOffset,
        Self::AlphaTruncated,
        Self::CellsRoundedDown,
        Self::OthersForgotten,
    ];
}

#[derive(Clone, Copy)]
pub struct Group {
    plan: GroupPlan,
    reserved: i64,
    pub shared: i64,
    pub headroom: i64,
    pub xoff: bool,
}

impl Group {
    pub fn used(&self) -> i64 {
        self.reserved + self.shared
    }

    fn thresholds(&self) -> Option<(i64, i64, i64)> {
        match self.plan.kind {
            GroupKind::Lossy => None,
            GroupKind::Lossless { headroom, xon, xon_offset } => {
                Some((headroom.0.into(), xon.0.into(), xon_offset.0.into()))
            }
        }
    }
}

/// Result for a frame: its cells, or the reason for refusal.
pub type Outcome = Result<(i64, Option<Crossing>), Refusal>;

#[derive(Clone)]
pub struct Model {
    pub groups: Vec<Group>,
    plan: BufferPlan,
    pub elsewhere: i64,
    fault: Option<Fault>,
}

pub fn slot(port: PortId, group: PriorityGroup) -> usize {
    port.index() * PRIORITIES + group.index()
}

impl Model {
    pub fn new(plan: &BufferPlan, fault: Option<Fault>) -> Self {
        let group = |plan: &GroupPlan| Group {
            plan: *plan,
            reserved: 0,
            shared: 0,
            headroom: 0,
            xoff: false,
        };
        let groups = plan.groups.iter().flatten().map(group).collect();
        Self { groups, plan: plan.clone(), elsewhere: 0, fault }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn pool(&self) -> i64 {
        let promised = |g: &Group| i64::from(g.plan.reserved.0) + g.thresholds().map_or(0, |t| t.0);
        let promised: i64 = self.groups.iter().map(promised).sum();
        i64::from(self.plan.total.0) - i64::from(self.plan.slack.0) - promised
    }

    pub fn shared_used(&self) -> i64 {
        self.groups.iter().map(|g| g.shared).sum()
    }

    fn over(&self) -> i64 {
        (self.shared_used() + self.elsewhere - self.pool()).max(0)
    }

    fn free(&self) -> i64 {
        let others = if self.has(Fault::OthersForgotten) { 0 } else { self.elsewhere };
        (self.pool() - self.shared_used() - others).max(0)
    }

    fn limit(&self, i: usize, free: i64) -> i64 {
        let g = &self.groups[i];
        match g.plan.limit {
            SharedLimit::Static(Cells(n)) => i64::from(n).min(g.shared + free),
            SharedLimit::Unlimited => g.shared + free,
            SharedLimit::Dynamic(a) if a.exponent() >= 0 => free * (1 << a.exponent()),
            SharedLimit::Dynamic(_) if self.has(Fault::AlphaTruncated) => 0,
            SharedLimit::Dynamic(a) => free / (1 << -a.exponent()),
        }
    }

    pub fn admit(&mut self, i: usize, len: u32) -> Outcome {
        let cell = self.plan.cell_bytes;
        let cells = if self.has(Fault::CellsRoundedDown) { len / cell } else { len.div_ceil(cell) };
        let cells = i64::from(cells.max(1));
        let g = self.groups[i];
        let free = self.free();
        let grows = cells - cells.min(i64::from(g.plan.reserved.0) - g.reserved);
        let seen = if self.has(Fault::LimitAfterCharge) { (free - grows).max(0) } else { free };
        let limit = self.limit(i, seen);
        let fits = if self.has(Fault::HeadroomLate) {
            g.shared < limit
        } else {
            g.shared + grows <= limit
        };
        let shared = if grows == 0 || (fits && grows <= free) {
            grows
        } else {
            let (headroom, ..) = g.thresholds().ok_or(Refusal::SharedLimit)?;
            let mut rest = cells;
            if self.has(Fault::HeadroomSplit) {
                rest -= (limit - g.shared).min(free).clamp(0, grows);
            }
            if g.headroom + rest > headroom {
                return Err(Refusal::HeadroomFull);
            }
            self.groups[i].headroom += rest;
            self.groups[i].shared += cells - rest;
            return Ok((cells, self.turn_if(i, !g.xoff)));
        };
        self.groups[i].shared += shared;
        self.groups[i].reserved += cells - shared;
        Ok((cells, self.turn_if(i, !g.xoff)))
    }

    pub fn release(&mut self, i: usize, cells: i64) -> Option<Crossing> {
        let g = &mut self.groups[i];
        let order: &mut [&mut i64] = match self.fault {
            Some(Fault::ReleaseOrder) => &mut [&mut g.shared, &mut g.reserved, &mut g.headroom],
            Some(Fault::ReserveForgotten) => &mut [&mut g.headroom, &mut g.shared],
            _ => &mut [&mut g.headroom, &mut g.shared, &mut g.reserved],
        };
        let mut left = cells;
        for counter in order {
            let part = left.min(**counter);
            **counter -= part;
            left -= part;
        }
        self.turn_if(i, self.groups[i].xoff)
    }

    /// Arriving frames can only pause, leaving frames can only resume.
    fn turn_if(&mut self, i: usize, may: bool) -> Option<Crossing> {
        if may { self.turn(i) } else { None }
    }

    fn turn(&mut self, i: usize) -> Option<Crossing> {
        let g = self.groups[i];
        let limit = self.limit(i, self.free());
        let Some((_, xon, offset)) = g.thresholds() else {
            self.groups[i].xoff = false;
            return g.xoff.then_some(Crossing::Xon);
        };
        let above = if self.has(Fault::XoffAbove) { g.shared > limit } else { g.shared >= limit };
        let full = g.reserved >= i64::from(g.plan.reserved.0) && g.used() > 0;
        let below = limit - offset;
        let low = g.shared <= if self.has(Fault::XonNeedsOffset) { below } else { xon.max(below) };
        let turned = if g.xoff {
            (g.headroom == 0 || self.has(Fault::XonTooEarly)) && low
        } else {
            g.headroom > 0 || (full && above)
        };
        if !turned {
            return None;
        }
        self.groups[i].xoff = !g.xoff;
        Some(if g.xoff { Crossing::Xon } else { Crossing::Xoff })
    }

    /// Returns the new crossing, or `None` if the change must be refused.
    pub fn change(&mut self, i: usize, plan: GroupPlan) -> Option<Option<Crossing>> {
        let mut after = self.clone();
        let g = &mut after.groups[i];
        let used = g.used();
        g.plan = plan;
        g.reserved = used.min(plan.reserved.0.into());
        g.shared = used - g.reserved;
        let size = g.thresholds().map_or(0, |t| t.0);
        let contradictory = match (g.thresholds(), plan.limit) {
            (Some((0, ..)), _) => true,
            (Some((_, xon, _)), SharedLimit::Static(limit)) => xon > i64::from(limit.0),
            _ => false,
        };
        let loses = g.headroom > size || after.pool() < 0 || after.over() > self.over();
        if contradictory || loses {
            return None;
        }
        *self = after;
        Some(self.turn(i))
    }
}
