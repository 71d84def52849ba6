//! The ledger itself: per-group counters, limits, and the XOFF and XON crossings.
//!
//! It counts as switch chips (and the published RDMA simulators) do. A group has two counters:
//! `used` covers its reserved cells first and shared cells above them, `headroom` its private
//! cells above the limit. Space is given back in the opposite order, headroom first, whichever
//! frame leaves.
//!
//! One ledger belongs to one worker. It knows the whole plan but charges only the ports of its
//! worker; what the others' groups use of the shared pool comes in by [`Ledger::set_elsewhere`],
//! and what the others release of its groups by [`Ledger::credit`]. Port ids must be those of the
//! plan; any other panics.

use super::cells::CellSize;
use super::group::{Crossing, Group, GroupUsage};
use super::{BufferError, BufferPlan, Charge, GroupKind, GroupPlan, SharedLimit};
use crate::units::{Cells, PRIORITIES, PortId, PriorityGroup};

/// The most cells a ledger counts. Half of what a `u32` holds, so that the sum of any two of its
/// counters fits.
const MAX_CELLS: u32 = u32::MAX / 2;

/// What became of a frame that asked for buffer space.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Admission {
    /// It has space.
    Admitted {
        /// The receipt, to be released when the frame has left.
        charge: Charge,
        /// XOFF, if the group is over its limit from now on.
        crossed: Option<Crossing>,
    },
    /// It has none and must be dropped.
    Refused(Refusal),
}

/// Why a frame has no buffer space.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Its lossy group is at its shared limit, or the pool is empty.
    SharedLimit,
    /// Its lossless group has used up its headroom.
    HeadroomFull,
}

/// See the module's head.
#[derive(Clone, Debug)]
pub struct Ledger {
    groups: Box<[Group]>,
    cell: CellSize,
    /// Cells that groups share: all that is not reserved, headroom or slack.
    pool: u32,
    /// Shared cells used by the groups of this ledger: the sum of their shared parts.
    shared_used: u32,
    shared_peak: u32,
    elsewhere: u32,
    total: u32,
    slack: u32,
}

const fn index(port: PortId, group: PriorityGroup) -> usize {
    port.index() * PRIORITIES + group.index()
}

impl Ledger {
    /// A ledger of an empty buffer.
    ///
    /// # Errors
    /// A plan that promises more than the buffer has, or thresholds that contradict each other.
    pub fn new(plan: &BufferPlan) -> Result<Self, BufferError> {
        let cell = CellSize::new(plan.cell_bytes)
            .ok_or(BufferError::CellSize { bytes: plan.cell_bytes })?;
        if plan.total.0 > MAX_CELLS {
            return Err(BufferError::TooLarge { total: plan.total.0, most: MAX_CELLS });
        }
        for (port, groups) in plan.groups.iter().enumerate() {
            let id = u16::try_from(port).ok().and_then(PortId::new);
            let port = id.ok_or(BufferError::TooManyPorts { ports: plan.groups.len() })?;
            for (group, plan) in PriorityGroup::ALL.into_iter().zip(groups) {
                check_group(port, group, plan)?;
            }
        }
        let groups: Box<[Group]> = plan.groups.iter().flatten().map(Group::new).collect();
        let pool = shared_pool(&groups, plan.total.0, plan.slack.0, cell)?;
        Ok(Self {
            groups,
            cell,
            pool,
            shared_used: 0,
            shared_peak: 0,
            elsewhere: 0,
            total: plan.total.0,
            slack: plan.slack.0,
        })
    }

    /// Octets per cell.
    #[must_use]
    pub const fn cell_bytes(&self) -> u32 {
        self.cell.bytes()
    }

    /// The cells that a frame of `wire_len` octets (FCS included) takes, at least one.
    #[inline]
    #[must_use]
    pub const fn cells_for(&self, wire_len: u32) -> Cells {
        Cells(self.cell.cells_for(wire_len))
    }

    /// What nobody uses of the shared pool, as far as this worker knows.
    #[inline]
    const fn free(&self) -> u32 {
        self.pool.saturating_sub(self.shared_used.saturating_add(self.elsewhere))
    }

    /// Decides whether a frame of `wire_len` octets has space, and charges it if so.
    ///
    /// The frame takes reserved cells if it fits in them. Else what it needs of the pool must fit
    /// both the group's limit (as it is before the frame is charged) and the pool. Else, in a
    /// lossless group, the whole frame goes to headroom.
    #[inline]
    pub fn admit(&mut self, port: PortId, group: PriorityGroup, wire_len: u32) -> Admission {
        self.charge(port, group, wire_len, true)
    }

    /// As [`Self::admit`], for a further copy of a flooded frame: it never goes to headroom, which
    /// is reckoned for what the link brings and not for what is made of it here.
    pub fn admit_copy(&mut self, port: PortId, group: PriorityGroup, wire_len: u32) -> Admission {
        self.charge(port, group, wire_len, false)
    }

    #[inline(always)]
    fn charge(
        &mut self,
        port: PortId,
        group: PriorityGroup,
        wire_len: u32,
        may_use_headroom: bool,
    ) -> Admission {
        let cells = self.cell.cells_for(wire_len);
        let free = self.free();
        let g = &mut self.groups[index(port, group)];
        let shared = g.shared();
        let used = u64::from(g.used) + u64::from(cells);
        let new_shared = used.saturating_sub(u64::from(g.reserved));
        let limit = u64::from(g.limit.now(shared, free));
        let mut free_after = free;
        if new_shared == 0
            || (new_shared <= limit && new_shared - u64::from(shared) <= u64::from(free))
        {
            // At most `reserved + shared + free`, which the plan bounds by MAX_CELLS.
            g.used = used as u32;
            let grown = new_shared as u32 - shared;
            free_after -= grown;
            self.shared_used += grown;
            self.shared_peak = self.shared_peak.max(self.shared_used);
        } else if !g.lossless || !may_use_headroom {
            return Admission::Refused(Refusal::SharedLimit);
        } else if u64::from(g.headroom) + u64::from(cells) <= u64::from(g.headroom_size) {
            g.headroom += cells;
        } else {
            return Admission::Refused(Refusal::HeadroomFull);
        }
        g.note_peaks();
        let crossed = if g.xoff { None } else { g.turn(free_after) };
        Admission::Admitted { charge: Charge { cells, port: port.get(), group }, crossed }
    }

    /// Takes back the space of a frame that has left.
    #[inline]
    pub fn release(&mut self, charge: Charge) -> Option<Crossing> {
        let Charge { cells, port, group } = charge;
        self.give_back(usize::from(port) * PRIORITIES + group.index(), cells)
    }

    /// Opens the charge of a frame that has left by this worker but came in by another: the cells
    /// must reach [`Self::credit`] of the ledger that admitted it.
    #[inline]
    #[must_use]
    pub fn part(charge: Charge) -> (PortId, PriorityGroup, Cells) {
        let Charge { cells, port, group } = charge;
        (PortId::new(port).expect("a charge is made with a PortId"), group, Cells(cells))
    }

    /// Takes back cells that other workers released: the sum of any number of charges.
    pub fn credit(&mut self, port: PortId, group: PriorityGroup, cells: Cells) -> Option<Crossing> {
        self.give_back(index(port, group), cells.0)
    }

    #[inline]
    fn give_back(&mut self, index: usize, cells: u32) -> Option<Crossing> {
        let g = &mut self.groups[index];
        let from_headroom = cells.min(g.headroom);
        let from_used = cells - from_headroom;
        let from_shared = from_used.min(g.shared());
        assert!(
            from_used <= g.used && from_shared <= self.shared_used,
            "more cells came back than were charged"
        );
        g.headroom -= from_headroom;
        g.used -= from_used;
        self.shared_used -= from_shared;
        if !g.xoff || g.headroom > 0 {
            return None;
        }
        let free = self.free();
        self.groups[index].turn(free)
    }

    /// Tells what other workers' groups use of the shared pool. Being late with it by no more than
    /// the plan's `slack` costs no one their headroom.
    #[inline]
    pub fn set_elsewhere(&mut self, shared: Cells) {
        self.elsewhere = shared.0;
    }

    /// What this worker's own groups use of the shared pool.
    #[inline]
    #[must_use]
    pub const fn shared_used(&self) -> Cells {
        Cells(self.shared_used)
    }

    /// The most that this worker's own groups ever used of the shared pool.
    #[must_use]
    pub const fn shared_peak(&self) -> Cells {
        Cells(self.shared_peak)
    }

    /// The size of the shared pool.
    #[must_use]
    pub const fn shared_pool(&self) -> Cells {
        Cells(self.pool)
    }

    /// What an egress queue under `limit` may hold now. A queue without a limit may hold all there
    /// is: reserved and headroom cells too, for its frames are in those as well.
    #[inline]
    #[must_use]
    pub const fn queue_limit(&self, limit: SharedLimit) -> Cells {
        match limit {
            SharedLimit::Static(cells) => cells,
            SharedLimit::Dynamic(alpha) => alpha.of(Cells(self.free())),
            SharedLimit::Unlimited => Cells(u32::MAX),
        }
    }

    /// Whether the senders of a group are to be paused.
    #[inline]
    #[must_use]
    pub fn is_xoff(&self, port: PortId, group: PriorityGroup) -> bool {
        self.groups[index(port, group)].xoff
    }

    /// What a group holds.
    #[must_use]
    pub fn usage(&self, port: PortId, group: PriorityGroup) -> GroupUsage {
        let g = &self.groups[index(port, group)];
        GroupUsage {
            used: Cells(g.used),
            shared: Cells(g.shared()),
            headroom: Cells(g.headroom),
            peak: Cells(g.peak),
            headroom_peak: Cells(g.headroom_peak),
            xoff: g.xoff,
        }
    }

    /// Forgets past peaks: they start again from what is held now.
    pub fn clear_peaks(&mut self) {
        self.shared_peak = self.shared_used;
        for g in &mut self.groups {
            g.peak = g.used + g.headroom;
            g.headroom_peak = g.headroom;
        }
    }

    /// Changes the sizes and thresholds of one group while frames are held, and says whether that
    /// turned it to XOFF or XON. All workers of a switch must be told of the change, because the
    /// shared pool takes or gives the difference; tell the owner of the port first, and undo it
    /// there if another refuses.
    ///
    /// # Errors
    /// As [`Self::new`], and when frames now held would not fit: nothing is changed then.
    pub fn set_group(
        &mut self,
        port: PortId,
        group: PriorityGroup,
        plan: GroupPlan,
    ) -> Result<Option<Crossing>, BufferError> {
        let ports = self.groups.len() / PRIORITIES;
        if port.index() >= ports {
            return Err(BufferError::UnknownPort { port, ports });
        }
        check_group(port, group, &plan)?;
        let i = index(port, group);
        let old = self.groups[i];
        let new = Group {
            used: old.used,
            headroom: old.headroom,
            peak: old.peak,
            headroom_peak: old.headroom_peak,
            xoff: old.xoff,
            ..Group::new(&plan)
        };
        if new.headroom > new.headroom_size {
            let (held, size) = (new.headroom, new.headroom_size);
            return Err(BufferError::HeadroomInUse { port, group, held, size });
        }
        let pool = self.pool_with(i, new)?;
        let shared_used = self.shared_used - old.shared() + new.shared();
        let used = shared_used.saturating_add(self.elsewhere);
        // A pool may be over-used already, by the lag of what the others tell; but not further.
        let over = self.shared_used.saturating_add(self.elsewhere).saturating_sub(self.pool);
        if used.saturating_sub(pool) > over {
            return Err(BufferError::PoolInUse { used, pool });
        }
        self.groups[i] = new;
        self.pool = pool;
        self.shared_used = shared_used;
        self.shared_peak = self.shared_peak.max(shared_used);
        let free = self.free();
        Ok(self.groups[i].turn(free))
    }

    /// The shared pool there would be with group `i` replaced.
    fn pool_with(&self, i: usize, new: Group) -> Result<u32, BufferError> {
        let mut groups = self.groups.clone();
        groups[i] = new;
        shared_pool(&groups, self.total, self.slack, self.cell)
    }

    /// Panics unless every counter agrees with every other: what must hold between any two calls.
    pub fn check(&self) {
        let sum = |part: fn(&Group) -> u32| self.groups.iter().map(|g| u64::from(part(g))).sum();
        let (shared, held): (u64, u64) = (sum(Group::shared), sum(|g| g.used + g.headroom));
        assert_eq!(shared, u64::from(self.shared_used), "the pool is what its groups use of it");
        assert!(self.shared_used <= self.pool, "{} of {} shared", self.shared_used, self.pool);
        assert!(held <= u64::from(self.total), "{held} cells held in a buffer of {}", self.total);
        for (i, g) in self.groups.iter().enumerate() {
            assert!(g.headroom <= g.headroom_size, "headroom of group {i}: {g:?}");
            assert!(g.headroom == 0 || g.xoff, "headroom is used under XOFF alone, {i}: {g:?}");
            assert!(!g.xoff || (g.lossless && g.used + g.headroom > 0), "empty XOFF, {i}: {g:?}");
            assert!(g.peak >= g.used + g.headroom && g.headroom_peak >= g.headroom, "{i}: {g:?}");
        }
    }
}

/// Refuses thresholds of one group that contradict each other.
fn check_group(port: PortId, group: PriorityGroup, plan: &GroupPlan) -> Result<(), BufferError> {
    let GroupKind::Lossless { headroom, xon, .. } = plan.kind else { return Ok(()) };
    if headroom.0 == 0 {
        return Err(BufferError::NoHeadroom { port, group });
    }
    match plan.limit {
        SharedLimit::Static(limit) if xon > limit => {
            Err(BufferError::XonAboveLimit { port, group, xon: xon.0, limit: limit.0 })
        }
        _ => Ok(()),
    }
}

/// What is left for sharing when every promise is kept.
fn shared_pool(
    groups: &[Group],
    total: u32,
    slack: u32,
    cell: CellSize,
) -> Result<u32, BufferError> {
    let reserved = groups.iter().map(|g| u64::from(g.reserved)).sum::<u64>();
    let headroom = groups.iter().map(|g| u64::from(g.headroom_size)).sum::<u64>();
    let sum = reserved + headroom + u64::from(slack);
    let short = BufferError::Overcommitted {
        reserved,
        headroom,
        slack,
        sum,
        total,
        cell_bytes: cell.bytes(),
    };
    // What is left is no more than `total`, a `u32`.
    u64::from(total).checked_sub(sum).map(|left| left as u32).ok_or(short)
}
