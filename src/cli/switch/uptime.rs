//! The longest uptime of a switch. Its time is a `u64` of picoseconds, which ends after 213.5 days, so a
//! run warns from 30 days before that on, and drains and ends before its workers reach it.

use std::time::Duration as StdDuration;

use crate::report::CheckSummary;
use crate::verdict::Verdict;

const DAY: StdDuration = StdDuration::from_secs(86_400);

/// The uptime at which a switch has ended. The half day up to 2^64 ps is for the two clocks, of which
/// one measures this time and one is that of the workers, and for their last polls.
pub(super) const LONGEST: StdDuration = StdDuration::from_secs(213 * 86_400);

/// The time before the end from which on there are warnings, one a day.
const WARNED: StdDuration = StdDuration::from_secs(30 * 86_400);

// 1,000 ppm is more than two clocks of one machine differ by.
const _: () =
    assert!(LONGEST.as_secs() + LONGEST.as_secs() / 1_000 + 3_600 < u64::MAX / 1_000_000_000_000);

/// The part of the uptime that is left to a switch.
#[derive(Debug)]
pub(super) struct Uptime {
    end: StdDuration,
    warn_at: StdDuration,
}

impl Uptime {
    /// The uptime of a switch that goes on sending for up to `drain` after its end.
    pub(super) fn new(drain: StdDuration) -> Self {
        let end = LONGEST.saturating_sub(drain);
        Self { end, warn_at: end.saturating_sub(WARNED) }
    }

    /// The switch has to end now.
    pub(super) fn is_over(&self, ran: StdDuration) -> bool {
        ran >= self.end
    }

    /// The warning that is due after `ran`, once a day.
    pub(super) fn warning(&mut self, ran: StdDuration) -> Option<String> {
        if ran < self.warn_at {
            return None;
        }
        while self.warn_at <= ran {
            self.warn_at += DAY;
        }
        let left = self.end.saturating_sub(ran);
        let (days, hours) = (left.as_secs() / 86_400, left.as_secs() % 86_400 / 3_600);
        Some(format!(
            "the clock of the switch ends in {days} days and {hours} hours: it will send what it holds \
             and end then, so start it anew before"
        ))
    }
}

/// The check of a run that ended for this reason.
pub(super) fn ended() -> CheckSummary {
    CheckSummary {
        name: "uptime".into(),
        verdict: Verdict::Inconclusive,
        detail: format!(
            "the run ended before its time, as the clock of a switch ends after {} days",
            LONGEST.as_secs() / 86_400
        ),
        applies: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Summary;
    use crate::runtime::RunSnapshot;
    use crate::stats::SwitchSnapshot;
    use crate::time::Duration;

    #[test]
    fn a_switch_warns_each_day_for_30_days_and_is_over_before_its_time_is() {
        let mut uptime = Uptime::new(StdDuration::from_secs(1));
        let (mut warned, mut over) = (Vec::new(), None);
        for hour in 0..214 * 24 {
            let ran = StdDuration::from_secs(hour * 3_600);
            if uptime.is_over(ran) {
                over = Some(ran);
                break;
            }
            warned.extend(uptime.warning(ran).map(|warning| (hour / 24, warning)));
        }
        let over = over.expect("it ends within 214 days");
        assert!(over.as_nanos() * 1_000 + 10_000_000_000_000_000 < Duration::MAX.as_picos().into());
        assert_eq!((warned.first().unwrap().0, warned.last().unwrap().0), (183, 212));
        assert_eq!(warned.len(), 30);
        assert!(warned[0].1.contains("ends in 29 days and 23 hours"), "{}", warned[0].1);
    }

    #[test]
    fn a_long_drain_is_over_in_time_too() {
        let drain = StdDuration::from_secs(20 * 86_400);
        let uptime = Uptime::new(drain);
        assert!(!uptime.is_over(LONGEST - drain - DAY) && uptime.is_over(LONGEST - drain));
        assert!(Uptime::new(StdDuration::MAX).is_over(StdDuration::ZERO));
    }

    #[test]
    fn a_run_that_ended_by_its_clock_does_not_pass() {
        let switch = SwitchSnapshot {
            name: "s".into(),
            at: crate::time::Instant::ZERO,
            ports: vec![],
            held: 0,
            given: 0,
            taken: 0,
            shared_used_bytes: 0,
            shared_peak_bytes: 0,
            fdb_entries: 0,
            fdb_full: 0,
            congestion: None,
        };
        let (nics, lossless, polls) = (vec![], vec![], vec![]);
        let run = RunSnapshot { switch, nics, lossless_lost: 0, lossless, polls };
        let summary = Summary::new(&run, Duration::ZERO);
        let summary = summary.with_check(ended());
        assert_eq!((summary.verdict, summary.verdict.exit_status()), (Verdict::Inconclusive, 4));
        assert!(summary.checks.last().unwrap().detail.contains("213 days"));
    }
}
