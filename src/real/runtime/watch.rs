//! Detection of broken guarantees of the data plane in the real world: lost frames of lossless groups, and
//! late polls. Both are reported with the counters of all workers of one switch, merged.
//!
//! Headroom has room for the frames that a link brings between two polls, if the gap is no longer
//! than planned (`link.poll_gap`). The system may take the processor away for longer, and then
//! received frames may find no room, or may wait in a ring that is too short.

use buffer::GroupKind;
use contracts::stats::{DropKind, DropReason, NicCounters, SwitchSnapshot};
use contracts::world::Events;
use ground::counters;
use ground::time::{Duration, Instant};
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
        // A frame that was dropped before it had a priority is of no group.
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

/// Gaps between the polls of one worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PollRecord {
    /// Longest gap that the headroom of the worker's ports allows for; none if no port has
    /// headroom.
    pub planned: Option<Duration>,
    /// Longest gap that occurred.
    pub longest: Duration,
    /// Gaps longer than planned.
    pub late: u64,
}

impl PollRecord {
    /// True if a gap was longer than planned.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.late > 0
    }
}

/// Measures the gaps: two comparisons for each poll.
#[derive(Clone, Copy, Debug)]
pub(super) struct PollMeter {
    gaps: PollRecord,
    planned: Duration,
    last: Instant,
    is_over: bool,
}

impl PollMeter {
    /// Makes a meter whose first gap begins at `now`.
    pub(super) fn new(planned: Option<Duration>, now: Instant) -> Self {
        let gaps = PollRecord { planned, ..PollRecord::default() };
        Self { gaps, planned: planned.unwrap_or(Duration::MAX), last: now, is_over: false }
    }

    #[inline]
    pub(super) fn poll(&mut self, now: Instant) {
        let gap = now.since(self.last);
        self.last = now;
        if gap > self.gaps.longest {
            self.lengthen(gap);
        }
        if gap > self.planned {
            self.gaps.late += u64::from(!self.is_over);
        }
    }

    #[cold]
    fn lengthen(&mut self, gap: Duration) {
        if !self.is_over {
            self.gaps.longest = gap;
        }
    }

    /// Begins the next gap at `now`, after an intended wait.
    pub(super) fn resume(&mut self, now: Instant) {
        self.last = now;
    }

    /// Restarts the measurement.
    pub(super) fn clear(&mut self) {
        let planned = self.gaps.planned;
        self.gaps = PollRecord { planned, ..PollRecord::default() };
    }

    /// Ends the measurement: frames received from now on are not part of the run.
    pub(super) fn finish(&mut self) {
        self.is_over = true;
    }

    pub(super) const fn gaps(&self) -> PollRecord {
        self.gaps
    }
}

/// Counters of one worker.
#[derive(Clone, Debug)]
pub struct WorkerSnapshot {
    /// Counters of its ports, in the order of the plan.
    pub switch: SwitchSnapshot,
    /// Lost frames of lossless groups.
    pub lossless_lost: LosslessLosses,
    /// Priorities whose group is lossless, by port of the whole switch.
    pub lossless: Vec<PrioritySet>,
    /// Gaps between its polls.
    pub polls: PollRecord,
}

/// Counters of the whole switch.
#[derive(Clone, Debug)]
pub struct RunSnapshot {
    /// Counters, ports in the order of the plan.
    pub switch: SwitchSnapshot,
    /// Device counters, by port.
    pub nics: Vec<NicCounters>,
    /// Lost frames of lossless groups.
    pub lossless_lost: LosslessLosses,
    /// Priorities whose group is lossless, by port.
    pub lossless: Vec<PrioritySet>,
    /// Gaps between the polls of each worker; empty if nothing polls in real time.
    pub polls: Vec<PollRecord>,
}

/// Merges the parts. `owners[n]` is the worker of port n, an index into `parts`.
///
/// Every part balances by itself, frames handed between workers included, and so does the whole, at
/// any time. The peak of the shared pool is the sum of the workers' peaks, which need not have
/// occurred at the same time: an upper bound. Addresses are in every worker's table, so the fullest
/// counts.
///
/// # Panics
/// If the parts do not have the ports of `owners`.
#[must_use]
pub fn merge(parts: Vec<WorkerSnapshot>, owners: &[usize], nics: Vec<NicCounters>) -> RunSnapshot {
    let worker = parts.first().expect("a switch has a worker");
    let (first, lossless) = (&worker.switch, worker.lossless.clone());
    let polls = parts.iter().map(|part| part.polls).collect();
    let mut whole = SwitchSnapshot::new(first.name.clone(), first.at);
    let mut lossless_lost = LosslessLosses::default();
    let (mut ports, mut taken_over) = (Vec::new(), Vec::new());
    for WorkerSnapshot { switch: part, lossless_lost: lost, .. } in parts {
        whole.at = whole.at.max(part.at);
        whole.held += part.held;
        whole.given += part.given;
        whole.taken += part.taken;
        whole.shared_pool.used_bytes += part.shared_pool.used_bytes;
        whole.shared_pool.peak_bytes += part.shared_pool.peak_bytes;
        whole.fdb.entries = whole.fdb.entries.max(part.fdb.entries);
        whole.fdb.full = whole.fdb.full.max(part.fdb.full);
        match (&mut whole.congestion, part.congestion) {
            (Some(sum), Some(more)) => sum.add(&more),
            (sum @ None, first) => *sum = first,
            (Some(_), None) => {}
        }
        lossless_lost.add(&lost);
        ports.push(part.ports.into_iter());
        taken_over.push(part.taken_over);
    }
    for owner in owners {
        whole.ports.push(ports[*owner].next().expect("a worker reports the ports it owns"));
    }
    for of_worker in taken_over {
        for (port, of) in whole.ports.iter_mut().zip(of_worker) {
            of.add_to(&mut port.counters);
        }
    }
    RunSnapshot { switch: whole, nics, lossless_lost, lossless, polls }
}

#[cfg(test)]
mod tests {
    use contracts::stats::{Fdb, PortCounters, PortSnapshot, SharedPool};

    use super::*;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    #[test]
    fn the_longest_gap_and_those_beyond_the_plan_are_known() {
        let mut meter = PollMeter::new(Some(Duration::from_micros(10)), at(5));
        for us in [6, 16, 27, 28, 128] {
            meter.poll(at(us));
        }
        let longest = Duration::from_micros(100);
        let planned = Some(Duration::from_micros(10));
        assert_eq!(meter.gaps(), PollRecord { planned, longest, late: 2 });
        meter.clear();
        meter.poll(at(131));
        assert_eq!(meter.gaps().longest, Duration::from_micros(3));
        assert!(!meter.gaps().is_late());
    }

    #[test]
    fn gaps_after_the_end_do_not_count() {
        let mut meter = PollMeter::new(Some(Duration::from_micros(10)), at(0));
        meter.poll(at(1));
        meter.finish();
        meter.poll(at(1_000));
        assert_eq!((meter.gaps().longest, meter.gaps().late), (Duration::from_micros(1), 0));
    }

    #[test]
    fn without_a_plan_no_gap_is_late() {
        let mut meter = PollMeter::new(None, at(0));
        meter.poll(at(1_000_000));
        assert!(!meter.gaps().is_late());
    }

    fn part(names: &[&str], at: u64, given: u64, taken: u64) -> WorkerSnapshot {
        let port = |name: &&str| PortSnapshot {
            name: (*name).into(),
            up: true,
            rate_bps: 1,
            counters: PortCounters { rx_frames: given + 2, ..PortCounters::default() },
            waiting: [None; 8],
            secy: None,
        };
        WorkerSnapshot {
            switch: SwitchSnapshot {
                ports: names.iter().map(port).collect(),
                held: 2 + taken,
                given,
                taken,
                shared_pool: SharedPool { used_bytes: 10, peak_bytes: 20 },
                fdb: Fdb { entries: at, full: 0 },
                ..SwitchSnapshot::new("s".into(), Instant::from_picos(at.into()))
            },
            lossless_lost: LosslessLosses { congestion: 1, watchdog: 2, link: 3 },
            lossless: vec![],
            polls: PollRecord::default(),
        }
    }

    #[test]
    fn ports_come_in_the_order_of_the_plan() {
        let parts = vec![part(&["b"], 7, 5, 0), part(&["a", "c"], 9, 0, 4)];
        let whole = merge(parts, &[1, 0, 1], vec![NicCounters::default(); 3]);
        let names: Vec<_> = whole.switch.ports.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(whole.switch.shared_pool, SharedPool { used_bytes: 20, peak_bytes: 40 });
        assert_eq!((whole.switch.fdb.entries, whole.polls.len()), (9, 2));
        let lost = LosslessLosses { congestion: 2, watchdog: 4, link: 6 };
        assert_eq!(whole.lossless_lost, lost);
        assert_eq!(whole.switch.at, Instant::from_picos(9));
    }

    #[test]
    fn a_frame_between_two_workers_does_not_upset_the_balance() {
        let whole = merge(vec![part(&["a"], 1, 5, 0), part(&["b"], 2, 0, 4)], &[0, 1], vec![]);
        assert!(whole.switch.balance().holds(), "{:?}", whole.switch.balance());
    }
}
