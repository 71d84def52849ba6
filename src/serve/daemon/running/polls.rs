//! Warnings about polls that were later than the headroom allows for.

use std::time::{Duration, Instant};

use ground::time::Duration as Span;
use results::Summary;

/// Shortest time between two warnings, unless a gap is twice as long as the last one reported.
const WARN_EVERY: Duration = Duration::from_secs(60);

/// Last warning: late polls, longest gap, and the time.
#[derive(Default)]
pub(crate) struct PollWarnings(Option<(u64, u64, Instant)>);

impl PollWarnings {
    /// Returns the warning that is due, by the polls in `summary`.
    pub(crate) fn due(&mut self, now: Instant, summary: &Summary) -> Option<String> {
        let late: u64 = summary.polls.iter().map(|polls| polls.late_polls).sum();
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

#[cfg(test)]
mod tests {
    use super::*;
    use contracts::stats::SwitchSnapshot;
    use results::PollsSummary;
    use runtime::RunSnapshot;

    fn summary(late_polls: u64, longest_gap_ns: u64) -> Summary {
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
            warnings.due(start + Duration::from_secs(seconds), &summary(late, gap))
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
}
