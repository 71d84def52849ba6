//! What all workers of one switch saw, put together.

use crate::stats::SwitchSnapshot;

/// What a device counted below the switch: frames the switch never saw, so they are in no
/// balance. All are 0 where the driver does not count.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NicCounters {
    /// Dropped because the receive ring was full (`imissed`).
    pub rx_missed: u64,
    /// Received with errors, a bad FCS among them (`ierrors`).
    pub rx_errors: u64,
    /// Dropped because the frame pool was empty (`rx_nombuf`).
    pub rx_no_memory: u64,
    /// Not sent for an error of the device (`oerrors`).
    pub tx_errors: u64,
}

/// One worker's part.
#[derive(Clone, Debug)]
pub struct WorkerSnapshot {
    /// The counters of the ports it owns, in the order of the plan.
    pub switch: SwitchSnapshot,
    /// The device counters of the same ports, in the same order.
    pub nics: Vec<NicCounters>,
    /// Frames of lossless groups that were lost to congestion.
    pub lossless_lost: u64,
}

/// The whole switch.
#[derive(Clone, Debug)]
pub struct RunSnapshot {
    /// The counters, ports in the order of the plan. Frames between workers are those given and not
    /// yet taken.
    pub switch: SwitchSnapshot,
    /// The device counters, by port.
    pub nics: Vec<NicCounters>,
    /// Frames of lossless groups that were lost to congestion.
    pub lossless_lost: u64,
    /// How many workers it was put together from. Each part's own sums hold, so those of the whole
    /// do, though the parts are some microseconds apart while the workers run.
    pub workers: usize,
}

/// Puts the parts together. `owners[n]` is the worker of port n, an index into `parts`.
///
/// The peak of the shared pool is the sum of the workers' peaks, which need not have been at the
/// same time: an upper bound. Learnt addresses are in every worker's table, so the fullest counts.
///
/// # Panics
/// When the parts do not have the ports that `owners` says.
#[must_use]
pub fn merge(parts: Vec<WorkerSnapshot>, owners: &[usize]) -> RunSnapshot {
    let workers = parts.len();
    let first = parts.first().expect("a switch has a worker");
    let mut switch = SwitchSnapshot {
        ports: Vec::new(),
        held: 0,
        given: 0,
        taken: 0,
        shared_used_bytes: 0,
        shared_peak_bytes: 0,
        ..first.switch.clone()
    };
    let mut lossless_lost = 0;
    let mut ports = Vec::new();
    for part in parts {
        let s = part.switch;
        switch.at = switch.at.max(s.at);
        switch.held += s.held;
        switch.given += s.given;
        switch.taken += s.taken;
        switch.shared_used_bytes += s.shared_used_bytes;
        switch.shared_peak_bytes += s.shared_peak_bytes;
        switch.fdb_entries = switch.fdb_entries.max(s.fdb_entries);
        switch.fdb_full = switch.fdb_full.max(s.fdb_full);
        lossless_lost += part.lossless_lost;
        assert_eq!(s.ports.len(), part.nics.len(), "every port has a device");
        ports.push(s.ports.into_iter().zip(part.nics));
    }
    let mut nics = Vec::new();
    for owner in owners {
        let (port, nic) = ports[*owner].next().expect("a worker reports the ports it owns");
        switch.ports.push(port);
        nics.push(nic);
    }
    RunSnapshot { switch, nics, lossless_lost, workers }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{PortCounters, PortSnapshot};
    use crate::time::Instant;

    fn part(names: &[&str], at: u64, (given, taken): (u64, u64)) -> WorkerSnapshot {
        let port = |name: &&str| PortSnapshot {
            name: (*name).into(),
            up: true,
            rate_bps: 1,
            paused: 0,
            counters: PortCounters::default(),
        };
        WorkerSnapshot {
            switch: SwitchSnapshot {
                name: "s".into(),
                at: Instant::from_picos(at),
                ports: names.iter().map(port).collect(),
                held: 2,
                given,
                taken,
                shared_used_bytes: 10,
                shared_peak_bytes: 20,
                fdb_entries: at,
                fdb_full: 0,
            },
            nics: vec![NicCounters { rx_missed: at, ..NicCounters::default() }; names.len()],
            lossless_lost: 1,
        }
    }

    #[test]
    fn ports_come_in_the_order_of_the_plan() {
        let whole = merge(vec![part(&["b"], 7, (5, 0)), part(&["a", "c"], 9, (0, 4))], &[1, 0, 1]);
        let names: Vec<_> = whole.switch.ports.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert_eq!(whole.nics.iter().map(|n| n.rx_missed).collect::<Vec<_>>(), [9, 7, 9]);
        assert_eq!((whole.switch.held, whole.switch.given, whole.switch.taken), (4, 5, 4));
        assert_eq!((whole.switch.shared_used_bytes, whole.switch.shared_peak_bytes), (20, 40));
        assert_eq!((whole.switch.fdb_entries, whole.lossless_lost, whole.workers), (9, 2, 2));
        assert_eq!(whole.switch.at, Instant::from_picos(9));
    }
}
