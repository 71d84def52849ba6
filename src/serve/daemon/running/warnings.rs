//! Warnings of a running switch, at most one per cause and minute: addresses that the bridge did not learn,
//! polls that were later than the headroom allows for, and suspected deadlocks, which are pauses that wait
//! for each other across this switch.
//!
//! A switch sees its part of a circle alone: frames that came in by one port wait at another, whose
//! peer has paused their priority, and the port that they came in by pauses its own peer in turn.
//! Such a dependency is usual for moments. One that holds in two samples in a row, in which the
//! priority was paused all the time and sent no frame, is reported as a suspicion with its ports, and
//! its end too. Dependencies that form a circle in the switch itself are reported as such.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use contracts::stats::{PortSnapshot, PriorityCounters};
use ground::time::Duration as Span;
use results::Summary;

/// Shortest time between two warnings about one cause. A gap between polls that is twice as long as the last
/// one reported does not wait for it.
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
        // The increase since the last warning is kept for the next one, so no frame is left out of the sums.
        let recent = at.is_some_and(|at| now.duration_since(at) < WARN_EVERY);
        if count <= before || recent {
            return None;
        }
        self.0.insert(cause, (count, now));
        Some(count - before)
    }
}

/// Last warning: late polls, longest gap, and the time.
#[derive(Default)]
pub(crate) struct PollWarnings(Option<(u64, u64, Instant)>);

impl PollWarnings {
    /// Returns the warning that is due, by the polls in `summary`.
    pub(crate) fn due(&mut self, now: Instant, summary: &Summary) -> Option<String> {
        let late: u64 = summary.polls.iter().map(|polls| polls.late_polls).sum();
        // A worker without headroom has no planned gap, and its polls are never late.
        let by_gap = summary.polls.iter().filter(|polls| polls.late_polls > 0);
        let worst = by_gap.max_by_key(|polls| polls.longest_gap_ns)?;
        let (longest, planned) = (worst.longest_gap_ns, worst.planned_gap_ns?);
        if let Some((before, told, at)) = self.0 {
            let recent = now.duration_since(at) < WARN_EVERY;
            // Counters that were cleared start again.
            if late >= before && (late == before || (recent && longest < told.saturating_mul(2))) {
                return None;
            }
        }
        self.0 = Some((late, longest, now));
        Some(format!(
            "ports were polled {late} times later than planned, once after {}, and their \
             headroom is calculated for {} (link.poll_gap): it is not guaranteed; give each \
             worker a core (`core`), or raise link.poll_gap",
            Span::from_nanos(longest),
            Span::from_nanos(planned),
        ))
    }
}

/// Samples in a row in which a dependency has to hold.
const SAMPLES: u32 = 2;
/// Share of the time between samples for which a priority has to be paused, in percent. Counters of
/// workers are read one after another.
const PAUSED_PERCENT: u128 = 95;

/// Frames of `priority` from the port `ingress` wait at the port `egress`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Dependency {
    priority: usize,
    ingress: usize,
    egress: usize,
}

/// Dependencies that hold, and the sample before.
#[derive(Default)]
pub(crate) struct Deadlocks {
    /// Time since which each holds, and the samples in a row.
    held: BTreeMap<Dependency, (u64, u32)>,
    before: Option<(u64, Vec<[PriorityCounters; 8]>)>,
}

/// Result of a sample.
#[derive(Default, Debug)]
pub(crate) struct Suspicions {
    /// Warnings, each about a new suspicion, and its egress port.
    pub(crate) suspected: Vec<(usize, String)>,
    /// Messages about suspicions that ended.
    pub(crate) ended: Vec<String>,
}

impl Deadlocks {
    /// Compares the counters with those of the sample before.
    pub(crate) fn examine(&mut self, summary: &Summary) -> Suspicions {
        let now = summary.elapsed_ns;
        let counters = summary.ports.iter().map(|p| p.port.counters.priorities);
        let before = self.before.replace((now, counters.collect()));
        let mut found = Suspicions::default();
        let Some((then, before)) = before.filter(|(then, before)| {
            // Counters that were cleared, or another set of ports, start again.
            *then < now && before.len() == summary.ports.len()
        }) else {
            self.held.clear();
            return found;
        };
        let holding = holding(summary, &before, now - then);
        let name = |at: usize| summary.ports[at].port.name.as_str();
        self.held.retain(|dependency, (since, samples)| {
            let holds = holding.contains(dependency);
            if !holds && *samples >= SAMPLES {
                let Dependency { priority, ingress, egress } = *dependency;
                found.ended.push(format!(
                    "priority {priority}: frames from {} to {} move again after {}",
                    name(ingress),
                    name(egress),
                    Span::from_nanos(now - *since)
                ));
            }
            holds
        });
        for dependency in &holding {
            // It held since the sample before, at least.
            self.held.entry(*dependency).or_insert((then, 0)).1 += 1;
        }
        let suspected: Vec<_> = holding
            .iter()
            .filter(|dependency| self.held[dependency].1 >= SAMPLES)
            .copied()
            .collect();
        for dependency in &suspected {
            let (since, samples) = self.held[dependency];
            // Exactly then, so that a suspicion that lasts is reported once.
            if samples == SAMPLES {
                let Dependency { priority, ingress, egress } = *dependency;
                let what = match circle(&suspected, *dependency) {
                    true => "its dependencies form a circle in this switch".to_owned(),
                    false => format!(
                        "a deadlock if the peer of {} waits for the peer of {}",
                        name(egress),
                        name(ingress)
                    ),
                };
                found.suspected.push((
                    egress,
                    format!(
                        "deadlock suspected: priority {priority} at {} was paused for {} without a \
                         frame sent, its frames came from {}, which is paused in turn: {what}",
                        name(egress),
                        Span::from_nanos(now - since),
                        name(ingress)
                    ),
                ));
            }
        }
        found
    }
}

/// Returns the dependencies that hold over the `elapsed` nanoseconds since `before`.
fn holding(summary: &Summary, before: &[[PriorityCounters; 8]], elapsed: u64) -> Vec<Dependency> {
    let least = u128::from(elapsed) * PAUSED_PERCENT / 100;
    let mut holding = vec![];
    for (egress, port) in summary.ports.iter().enumerate() {
        for (priority, ingress) in port.port.waiting.iter().enumerate() {
            // The head of the queue decides: it is the frame that has to move first.
            let Some(ingress) = ingress.map(|port| port.index()) else { continue };
            let (Some(from), Some(from_before)) = (summary.ports.get(ingress), before.get(ingress))
            else {
                continue;
            };
            let (now, then) = (&port.port.counters.priorities[priority], &before[egress][priority]);
            let (up, up_then) = (&from.port.counters.priorities[priority], &from_before[priority]);
            let paused = now.pfc_rx_paused.as_nanos().saturating_sub(then.pfc_rx_paused.as_nanos());
            let pauses =
                up.pfc_tx_paused.as_nanos().saturating_sub(up_then.pfc_tx_paused.as_nanos());
            // All three conditions over the whole interval; any frame that was sent would break the dependency.
            let is_still = now.tx_frames == then.tx_frames;
            if is_still && u128::from(paused) >= least && u128::from(pauses) >= least {
                holding.push(Dependency { priority, ingress, egress });
            }
        }
    }
    holding
}

/// True if frames that wait at the egress port of `first` lead back to its ingress port.
fn circle(all: &[Dependency], first: Dependency) -> bool {
    // Breadth first; the list of reached ports ends the search where there is no way back.
    let mut reached = vec![first.egress];
    let mut next = 0;
    while let Some(&port) = reached.get(next) {
        next += 1;
        let on = all.iter().filter(|d| d.priority == first.priority && d.ingress == port);
        for dependency in on {
            if dependency.egress == first.ingress {
                return true;
            }
            if !reached.contains(&dependency.egress) {
                reached.push(dependency.egress);
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use contracts::stats::{NicCounters, PortCounters, SwitchSnapshot};
    use ground::time::Total;
    use ground::units::{PortId, PrioritySet};
    use results::PollsSummary;
    use runtime::RunSnapshot;
    use switch::rig::{Lab, frame, host, plan};

    use super::*;

    /// Summary of a two-port switch that received `n` new addresses on port 0, of which it learns
    /// four.
    fn learnt(n: u8) -> Summary {
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
        assert_eq!(warnings.due(start, &learnt(4)), Vec::<String>::new());
        let [one] = &warnings.due(start, &learnt(10))[..] else { panic!("one warning") };
        assert!(one.starts_with("p0: 4 addresses") && one.contains("; 6 frames"), "{one}");
        assert!(warnings.due(start + WARN_EVERY / 2, &learnt(100)).is_empty());
        let [one] = &warnings.due(start + WARN_EVERY, &learnt(100))[..] else { panic!() };
        assert!(one.contains("; 90 frames"), "{one}");
        assert!(warnings.due(start + 2 * WARN_EVERY, &learnt(100)).is_empty());
    }

    #[test]
    fn a_full_table_is_named() {
        let (start, mut warnings) = (Instant::now(), AddressWarnings::default());
        let mut full = learnt(0);
        full.fdb.full = 3;
        let [one] = &warnings.due(start, &full)[..] else { panic!("one warning") };
        assert!(one.contains("table is full: 3 frames"), "{one}");
    }

    fn polled(late_polls: u64, longest_gap_ns: u64) -> Summary {
        let switch = SwitchSnapshot::new("s".into(), ground::time::Instant::ZERO);
        let (nics, lossless, polls) = (vec![], vec![], vec![]);
        let run = RunSnapshot { switch, nics, lossless_lost: Default::default(), lossless, polls };
        let mut summary = Summary::new(&run, Span::ZERO);
        summary.polls =
            vec![PollsSummary { longest_gap_ns, planned_gap_ns: Some(100_000), late_polls }];
        summary
    }

    #[test]
    fn late_polls_are_warned_of_at_once_and_then_seldom() {
        let (mut warnings, start) = (PollWarnings::default(), Instant::now());
        let mut due = |seconds, late, gap| {
            warnings.due(start + Duration::from_secs(seconds), &polled(late, gap))
        };
        assert_eq!(due(0, 0, 90_000), None);
        let first = due(1, 3, 250_000).unwrap();
        for part in ["3 times", "250us", "100us", "not guaranteed"] {
            assert!(first.contains(part), "{part}: {first}");
        }
        assert_eq!(due(2, 4, 260_000), None);
        assert!(due(3, 5, 500_000).is_some(), "twice as long");
        assert_eq!(due(100, 5, 500_000), None, "nothing new");
        assert!(due(101, 6, 500_000).is_some());
        assert!(due(102, 1, 200_000).is_some(), "counted anew");
    }

    const SECOND: u64 = 1_000_000_000;

    /// A summary at `seconds` of ports whose priority 3 waits for frames of another port, and has
    /// been paused, and has paused, for so many seconds.
    fn dependent(seconds: u64, ports: &[(Option<u16>, u64, u64, u64)]) -> Summary {
        let port = |(n, (waits, paused, pauses, sent)): (usize, &(Option<u16>, u64, u64, u64))| {
            let mut counters = PortCounters::default();
            let of = &mut counters.priorities[3];
            let total = |seconds| Total::from_nanos(seconds * SECOND);
            (of.pfc_rx_paused, of.pfc_tx_paused) = (total(*paused), total(*pauses));
            of.tx_frames = *sent;
            let mut waiting = [None; 8];
            waiting[3] = waits.map(|n| PortId::new(n).unwrap());
            let (name, secy) = (format!("p{n}"), None);
            PortSnapshot { name, up: true, rate_bps: 1, counters, waiting, secy }
        };
        let mut switch = SwitchSnapshot::new("s".into(), ground::time::Instant::ZERO);
        switch.ports = ports.iter().enumerate().map(port).collect();
        let nics = vec![NicCounters::default(); ports.len()];
        let lossless = vec![PrioritySet::EMPTY; ports.len()];
        let run = RunSnapshot {
            switch,
            nics,
            lossless_lost: Default::default(),
            lossless,
            polls: vec![],
        };
        Summary::new(&run, Span::from_nanos(seconds * SECOND))
    }

    #[test]
    fn a_dependency_that_lasts_is_told_once_and_so_is_its_end() {
        let mut deadlocks = Deadlocks::default();
        let mut at = |n: u64, sent| {
            let ports = [(None, 0, n, 0), (Some(0), n, 0, sent), (None, 0, 0, 0)];
            deadlocks.examine(&dependent(n, &ports))
        };
        for n in 1..=2 {
            assert!(at(n, 7).suspected.is_empty(), "{n}");
        }
        let told = at(3, 7);
        let [(1, warning)] = &told.suspected[..] else { panic!("{told:?}") };
        for part in ["priority 3 at p1", "for 2s", "from p0", "if the peer of p1 waits"] {
            assert!(warning.contains(part), "{part}: {warning}");
        }
        assert!(at(4, 7).suspected.is_empty() && at(5, 7).ended.is_empty());
        let told = at(6, 8);
        assert!(told.ended[0].contains("frames from p0 to p1 move again after 5s"), "{told:?}");
        assert!(at(7, 9).ended.is_empty());
    }

    #[test]
    fn what_moves_or_is_not_paused_all_the_time_is_no_deadlock() {
        // Frames leave; the ingress port does not pause; the egress port is paused half of the time.
        for step in [
            |n: u64| [(None, 0, n, 0), (Some(0), n, 0, n)],
            |_: u64| [(None, 0, 0, 0), (Some(0), 9, 0, 0)],
            |n: u64| [(None, 0, n, 0), (Some(0), n / 2, 0, 0)],
            |n: u64| [(None, 0, n, 0), (None, n, 0, 0)],
        ] {
            let mut deadlocks = Deadlocks::default();
            for n in 1..10 {
                let told = deadlocks.examine(&dependent(n, &step(n)));
                assert!(told.suspected.is_empty(), "{told:?}");
            }
        }
    }

    #[test]
    fn a_circle_in_the_switch_is_named() {
        let mut deadlocks = Deadlocks::default();
        let mut last = Suspicions::default();
        for n in 1..=3 {
            last = deadlocks.examine(&dependent(n, &[(Some(1), n, n, 0), (Some(0), n, n, 0)]));
        }
        assert_eq!(last.suspected.len(), 2);
        assert!(last.suspected.iter().all(|(_, what)| what.contains("a circle in this switch")));
        // Another priority does not close it.
        let one = |priority, ingress, egress| Dependency { priority, ingress, egress };
        assert!(circle(&[one(3, 0, 1), one(3, 1, 2), one(3, 2, 0)], one(3, 0, 1)));
        assert!(!circle(&[one(3, 0, 1), one(4, 1, 0)], one(3, 0, 1)));
    }

    #[test]
    fn cleared_counters_start_again() {
        let mut deadlocks = Deadlocks::default();
        for n in [5, 6, 1, 2] {
            let told = deadlocks.examine(&dependent(n, &[(None, 0, n, 0), (Some(0), n, 0, 0)]));
            assert!(told.suspected.is_empty(), "{told:?}");
        }
    }
}
