//! The ledger: per-group counters, limits, and the XOFF and XON crossings.
//!
//! It counts as switch chips (and the published RDMA simulators) do. A group has two counters:
//! `used` covers its reserved cells first and then shared cells, `headroom` its private cells above
//! the limit. Cells are released in the opposite order, headroom first, for any frame that leaves.
//!
//! One ledger belongs to one worker. It has the whole plan but charges only the ports of its
//! worker. [`Ledger::set_elsewhere`] sets the shared pool's use by groups of other workers, and
//! [`Ledger::credit`] returns cells of its groups that others released. Port ids must be those of
//! the plan; any other panics.

use super::group::{CellSize, Crossing, Group, GroupUsage};
use super::{BufferError, BufferPlan, Charge, GroupKind, GroupPlan, SharedLimit};
use ground::memory::{fetch, fetch_item};
use ground::units::{Cells, PRIORITIES, PortId, PriorityGroup};

/// Maximum number of cells of a ledger. Half the range of a `u32`, so that the sum of any two
/// counters fits.
const MAX_CELLS: u32 = u32::MAX / 2;

/// Result of admission.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Admission {
    /// The frame has space.
    Admitted {
        /// Receipt, to be released when the frame has left.
        charge: Charge,
        /// XOFF, if the group reached its limit.
        crossed: Option<Crossing>,
    },
    /// The frame has no space and must be dropped.
    Refused(Refusal),
}

/// Reason for dropping a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Its lossy group is at its shared limit, or the pool is empty.
    SharedLimit,
    /// Its lossless group has used up its headroom.
    HeadroomFull,
}

/// Ledger of a shared buffer; see the module documentation.
#[derive(Clone, Debug)]
pub struct Ledger {
    groups: Box<[Group]>,
    cell: CellSize,
    /// Shared cells: all that are not reserved, headroom or slack.
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
    /// Creates the ledger of an empty buffer.
    ///
    /// # Errors
    /// If the plan allocates more than the buffer has, or its thresholds contradict each other.
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
        // What no group has for itself is shared, less the slack.
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

    /// Brings the counts of the pool into the caches.
    #[inline]
    pub fn fetch(&self) {
        fetch(&self.pool);
        fetch(&self.groups);
    }

    /// Brings a group into the caches.
    #[inline]
    pub fn fetch_group(&self, port: PortId, group: PriorityGroup) {
        fetch_item(&self.groups, index(port, group));
    }

    /// Returns the bytes per cell.
    #[must_use]
    pub const fn cell_bytes(&self) -> u32 {
        self.cell.bytes()
    }

    /// Returns the cells of a frame of `wire_len` bytes (FCS included), at least one.
    #[inline]
    #[must_use]
    pub const fn cells_for(&self, wire_len: u32) -> Cells {
        Cells(self.cell.cells_for(wire_len))
    }

    /// Returns the free cells of the shared pool, as far as this worker knows.
    #[inline]
    const fn free(&self) -> u32 {
        // Delayed updates may let the workers together overuse the pool for a while; the plan's `slack` is for that.
        self.pool.saturating_sub(self.shared_used.saturating_add(self.elsewhere))
    }

    /// Admits a frame of `wire_len` bytes if there is space, and charges it.
    ///
    /// The frame uses reserved cells if it fits in them. Otherwise the cells that it needs of the
    /// pool must fit both the group's limit (as it is before the frame is charged) and the pool.
    /// Otherwise, in a lossless group, the whole frame is charged to headroom.
    #[inline]
    pub fn admit(&mut self, port: PortId, group: PriorityGroup, wire_len: u32) -> Admission {
        self.charge(port, group, wire_len, true)
    }

    /// Admits neighbouring frames of one group that take `cells` together, if it is certain that
    /// admitting one after the other would admit them all without a crossing or headroom. `None`,
    /// without effect, if not: they are then to be admitted one by one.
    #[inline]
    pub fn admit_all(
        &mut self,
        port: PortId,
        group: PriorityGroup,
        cells: Cells,
    ) -> Option<Charge> {
        let free = self.free();
        let g = &mut self.groups[index(port, group)];
        let shared = g.shared();
        let used = u64::from(g.used) + u64::from(cells.0);
        let new_shared = used.saturating_sub(u64::from(g.reserved));
        let grown = new_shared - u64::from(shared);
        // With headroom in use the group is at XOFF, and frames over its limit belong in headroom.
        if grown > u64::from(free) || g.headroom > 0 {
            return None;
        }
        // Each frame raises the shared part and does not raise the limit, so what holds behind the
        // last one holds behind each.
        let free_after = free - grown as u32;
        let limit = u64::from(g.limit.now(new_shared as u32, free_after));
        // The condition of XOFF in `Group::turn`: admitted one by one, the right frame causes the crossing.
        if used >= u64::from(g.reserved) && new_shared >= limit {
            return None;
        }
        g.used = used as u32;
        self.shared_used += grown as u32;
        self.shared_peak = self.shared_peak.max(self.shared_used);
        g.note_peaks();
        Some(Charge::new(port, group, cells))
    }

    /// Admits a further copy of a flooded frame, or a message of the switch. Unlike [`Self::admit`] it
    /// never uses headroom, which is sized for the data from the link.
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
        // An admission never leads to XON: it raises the use and lowers the limit.
        let crossed = if g.xoff { None } else { g.turn(free_after) };
        Admission::Admitted { charge: Charge::new(port, group, Cells(cells)), crossed }
    }

    /// Releases the space of a frame that has left.
    #[inline]
    pub fn release(&mut self, charge: Charge) -> Option<Crossing> {
        self.give_back(charge.index(), charge.cells().0)
    }

    /// Splits up the charge of a frame that was received by another worker and left by this one:
    /// the cells must be passed to [`Self::credit`] of the ledger that admitted it.
    #[inline]
    #[must_use]
    pub fn part(charge: Charge) -> (PortId, PriorityGroup, Cells) {
        charge.open()
    }

    /// Releases cells of frames that left by other workers: the sum of any number of charges.
    pub fn credit(&mut self, port: PortId, group: PriorityGroup, cells: Cells) -> Option<Crossing> {
        self.give_back(index(port, group), cells.0)
    }

    #[inline]
    fn give_back(&mut self, index: usize, cells: u32) -> Option<Crossing> {
        let g = &mut self.groups[index];
        // Headroom first, whichever frame leaves: what the next XOFF needs is free again before the shared part.
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
        // XON requires that no headroom is in use (SAI), so nothing can turn before.
        if !g.xoff || g.headroom > 0 {
            return None;
        }
        let free = self.free();
        self.groups[index].turn(free)
    }

    /// Sets the shared pool's use by other workers' groups. A delay of updates within the plan's
    /// `slack` never reduces headroom.
    #[inline]
    pub fn set_elsewhere(&mut self, shared: Cells) {
        self.elsewhere = shared.0;
    }

    /// Returns the shared pool's use by this worker's groups.
    #[inline]
    #[must_use]
    pub const fn shared_used(&self) -> Cells {
        Cells(self.shared_used)
    }

    /// Returns the maximum of shared cells ever in use by this worker's groups.
    #[must_use]
    pub const fn shared_peak(&self) -> Cells {
        Cells(self.shared_peak)
    }

    /// Returns the size of the shared pool.
    #[must_use]
    pub const fn shared_pool(&self) -> Cells {
        Cells(self.pool)
    }

    /// Returns the current limit of an egress queue under `limit`. A queue without a limit may use
    /// the whole buffer, reserved and headroom cells included, as its frames are stored in those
    /// too.
    #[inline]
    #[must_use]
    pub const fn queue_limit(&self, limit: SharedLimit) -> Cells {
        match limit {
            SharedLimit::Static(cells) => cells,
            SharedLimit::Dynamic(alpha) => alpha.of(Cells(self.free())),
            SharedLimit::Unlimited => Cells(u32::MAX),
        }
    }

    /// Returns true if the senders of a group are to be paused.
    #[inline]
    #[must_use]
    pub fn is_xoff(&self, port: PortId, group: PriorityGroup) -> bool {
        self.groups[index(port, group)].xoff
    }

    /// Returns the occupancy of a group.
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

    /// Resets the peaks to the present occupancy.
    pub fn clear_peaks(&mut self) {
        self.shared_peak = self.shared_used;
        for g in &mut self.groups {
            g.peak = g.used + g.headroom;
            g.headroom_peak = g.headroom;
        }
    }

    /// Changes the sizes and thresholds of one group while frames are buffered, and returns a
    /// resulting XOFF or XON. All workers of a switch must apply the change, because the difference
    /// is taken from or returned to the shared pool; apply it to the owner of the port first, and
    /// revert it there if another refuses.
    ///
    /// # Errors
    /// As [`Self::new`], and if the frames in the buffer would not fit; the state is then
    /// unchanged.
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
        // Counters and pause state go on: the frames admitted by the old plan are still in the buffer.
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
        // What the group gets or gives up, reserved or as headroom, is taken from the shared pool or returned to it.
        let pool = self.pool_with(i, new)?;
        let shared_used = self.shared_used - old.shared() + new.shared();
        let used = shared_used.saturating_add(self.elsewhere);
        // The pool may be overused already, by delayed updates of the others; but not further.
        let over = self.shared_used.saturating_add(self.elsewhere).saturating_sub(self.pool);
        if used.saturating_sub(pool) > over {
            return Err(BufferError::PoolInUse { used, pool });
        }
        self.groups[i] = new;
        self.pool = pool;
        self.shared_used = shared_used;
        self.shared_peak = self.shared_peak.max(shared_used);
        let free = self.free();
        // A threshold may be crossed by the change alone, without a frame.
        Ok(self.groups[i].turn(free))
    }

    /// Takes cells from a group's free headroom for good, as a device does that loses count of them: a
    /// planted fault. A group that is changed later has its headroom again.
    pub fn leak(&mut self, port: PortId, group: PriorityGroup, cells: Cells) {
        if let Some(g) = self.groups.get_mut(index(port, group)) {
            g.headroom_size -= cells.0.min(g.headroom_size - g.headroom);
        }
    }

    /// Returns the size of the shared pool with group `i` replaced.
    fn pool_with(&self, i: usize, new: Group) -> Result<u32, BufferError> {
        let mut groups = self.groups.clone();
        groups[i] = new;
        shared_pool(&groups, self.total, self.slack, self.cell)
    }

    /// Checks that all counters are consistent, as must hold between any two calls. Panics if not.
    pub fn check(&self) {
        let sum = |part: fn(&Group) -> u32| self.groups.iter().map(|g| u64::from(part(g))).sum();
        let (shared, held): (u64, u64) = (sum(Group::shared), sum(|g| g.used + g.headroom));
        assert_eq!(shared, u64::from(self.shared_used), "the pool is what its groups use of it");
        assert!(self.shared_used <= self.pool, "{} of {} shared", self.shared_used, self.pool);
        assert!(held <= u64::from(self.total), "{held} cells held in a buffer of {}", self.total);
        for (i, g) in self.groups.iter().enumerate() {
            assert!(g.headroom <= g.headroom_size, "headroom of group {i}: {g:?}");
            assert!(g.headroom == 0 || g.xoff, "headroom is used under XOFF alone, {i}: {g:?}");
            // A paused group holds cells: without any, no release would come to resume it.
            assert!(!g.xoff || (g.lossless && g.used + g.headroom > 0), "empty XOFF, {i}: {g:?}");
            assert!(g.peak >= g.used + g.headroom && g.headroom_peak >= g.headroom, "{i}: {g:?}");
        }
    }
}

/// Refuses contradictory thresholds of one group.
fn check_group(port: PortId, group: PriorityGroup, plan: &GroupPlan) -> Result<(), BufferError> {
    let GroupKind::Lossless { headroom, xon, .. } = plan.kind else { return Ok(()) };
    if headroom.0 == 0 {
        return Err(BufferError::NoHeadroom { port, group });
    }
    match plan.limit {
        // XON above the limit would be sent at once after XOFF, and both would alternate with every frame.
        SharedLimit::Static(limit) if xon > limit => {
            Err(BufferError::XonAboveLimit { port, group, xon: xon.0, limit: limit.0 })
        }
        _ => Ok(()),
    }
}

/// Returns the cells left for the shared pool.
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
    // The remainder is at most `total`, a `u32`.
    u64::from(total).checked_sub(sum).map(|left| left as u32).ok_or(short)
}
