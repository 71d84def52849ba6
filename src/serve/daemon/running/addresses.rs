//! Warnings about addresses that the bridge did not learn, at most one per cause and minute.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use contracts::stats::PortSnapshot;
use results::Summary;

/// Shortest time between two warnings about one cause.
const WARN_EVERY: Duration = Duration::from_secs(60);

/// Last warnings by cause: the count and the time.
#[derive(Default)]
pub(crate) struct AddressWarnings(BTreeMap<Option<String>, (u64, Instant)>);

impl AddressWarnings {
    /// Returns the warnings that are due, by the counters of `summary`.
    pub(crate) fn due(&mut self, now: Instant, summary: &Summary) -> Vec<String> {
        let mut due = Vec::new();
        for port in &summary.ports {
            let PortSnapshot { name, counters: port, .. } = &port.port;
            if let Some(n) = self.grown(now, Some(name), port.addresses_refused) {
                due.push(format!(
                    "{name}: {} addresses are learnt from it, which is the most that a port may have; \
                     {n} frames came from others, and frames to those are flooded \
                     (bridge.addresses_per_port raises the limit)",
                    port.addresses
                ));
            }
        }
        if let Some(n) = self.grown(now, None, summary.fdb.full) {
            due.push(format!(
                "the address table is full: {n} frames came from addresses that were not learnt, \
                 and frames to those are flooded (bridge.table_size makes it larger)"
            ));
        }
        due
    }

    /// Increase of a counter since its last warning, if a warning is due.
    fn grown(&mut self, now: Instant, port: Option<&str>, count: u64) -> Option<u64> {
        let cause = port.map(str::to_owned);
        let (before, at) = self.0.get(&cause).copied().unzip();
        let before = before.unwrap_or(0);
        let recent = at.is_some_and(|at| now.duration_since(at) < WARN_EVERY);
        if count <= before || recent {
            return None;
        }
        self.0.insert(cause, (count, now));
        Some(count - before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contracts::stats::NicCounters;
    use ground::time::Duration as Span;
    use runtime::RunSnapshot;
    use switch::rig::{Lab, frame, host, plan};

    /// Summary of a two-port switch that received `n` new addresses on port 0, of which it learns
    /// four.
    fn summary(n: u8) -> Summary {
        let mut plan = plan(2);
        plan.bridge.port_limit = 4;
        let mut lab: Lab = Lab::new(&plan);
        for n in 0..n {
            lab.inject(0, &frame(host(200), host(n), None, 60));
            lab.poll_until_idle();
            let _ = lab.sent(1);
        }
        let switch = lab.switch.snapshot(lab.now);
        let nics = vec![NicCounters::default(); 2];
        let (lossless, polls) = (Vec::new(), Vec::new());
        let run = RunSnapshot { switch, nics, lossless_lost: Default::default(), lossless, polls };
        Summary::new(&run, Span::ZERO)
    }

    #[test]
    fn a_port_at_its_limit_is_named_once_a_minute_with_what_came_since() {
        let (start, mut warnings) = (Instant::now(), AddressWarnings::default());
        assert_eq!(warnings.due(start, &summary(4)), Vec::<String>::new());
        let [one] = &warnings.due(start, &summary(10))[..] else { panic!("one warning") };
        assert!(one.starts_with("p0: 4 addresses") && one.contains("; 6 frames"), "{one}");
        assert!(warnings.due(start + WARN_EVERY / 2, &summary(100)).is_empty());
        let [one] = &warnings.due(start + WARN_EVERY, &summary(100))[..] else { panic!() };
        assert!(one.contains("; 90 frames"), "{one}");
        assert!(warnings.due(start + 2 * WARN_EVERY, &summary(100)).is_empty());
    }

    #[test]
    fn a_full_table_is_named() {
        let (start, mut warnings) = (Instant::now(), AddressWarnings::default());
        let mut full = summary(0);
        full.fdb.full = 3;
        let [one] = &warnings.due(start, &full)[..] else { panic!("one warning") };
        assert!(one.contains("table is full: 3 frames"), "{one}");
    }
}
