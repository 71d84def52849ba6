//! Counters of all workers of one switch, merged.

use super::polls::PollRecord;
use super::watch::LosslessLosses;
use contracts::stats::{NicCounters, SwitchSnapshot};
use ground::units::PrioritySet;

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
    use super::*;
    use contracts::stats::{Fdb, PortCounters, PortSnapshot, SharedPool};
    use ground::time::Instant;

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
