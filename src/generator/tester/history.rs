//! The course of a test over time, for plots. Bounded for any duration.

use super::report::Report;

/// Maximum number of moments; beyond it, every second one is removed.
pub const MOMENTS_MAX: usize = 1_000;

/// Counters at several moments of one run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct History {
    moments: Vec<Moment>,
    /// One of this many reports is kept.
    every: usize,
    /// Number of reports since the last kept one.
    since: usize,
}

/// Counters at one moment.
#[derive(Clone, PartialEq, Debug)]
pub struct Moment {
    /// Seconds since the start.
    pub at_s: f64,
    /// Received bytes of each flow, in the order of the report.
    pub bytes_rx: Vec<u64>,
    /// Total pause time of each priority of each port in nanoseconds, in the order of the report.
    pub paused_ns: Vec<f64>,
}

impl From<&Report> for Moment {
    fn from(report: &Report) -> Self {
        let priorities = report.ports.iter().flat_map(|port| &port.priorities);
        Self {
            at_s: report.elapsed_s.unwrap_or(0.0),
            bytes_rx: report.flows.iter().map(|flow| flow.bytes_rx).collect(),
            paused_ns: priorities.map(|p| p.paused_ns).collect(),
        }
    }
}

impl History {
    /// Records a report. A report of another run (its time is before the last one's, or it has
    /// other flows) starts a new history.
    pub fn push(&mut self, report: &Report) {
        let moment = Moment::from(report);
        let another = self.moments.last().is_some_and(|last| {
            let sizes = |m: &Moment| (m.bytes_rx.len(), m.paused_ns.len());
            moment.at_s < last.at_s || sizes(&moment) != sizes(last)
        });
        if another {
            *self = Self::default();
        }
        self.since += 1;
        if self.since < self.every {
            return;
        }
        self.since = 0;
        self.every = self.every.max(1);
        self.moments.push(moment);
        if self.moments.len() > MOMENTS_MAX {
            // Every second moment goes, and from now on half as many are kept.
            let mut place = 0;
            self.moments.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.every *= 2;
        }
    }

    /// Records the last report of a run, which is always kept.
    pub fn finish(&mut self, report: &Report) {
        // It is kept, whatever the interval says.
        self.since = self.every;
        self.push(report);
    }

    /// Returns the moments in the order of time.
    pub fn moments(&self) -> &[Moment] {
        &self.moments
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Flow;

    fn at(elapsed: f64, flows: usize) -> Report {
        let flow = Flow { bytes_rx: elapsed as u64, ..Flow::default() };
        Report { elapsed_s: Some(elapsed), flows: vec![flow; flows], ..Report::default() }
    }

    #[test]
    fn memory_is_bounded_and_moments_stay_evenly_apart() {
        let mut history = History::default();
        for n in 0..10_500 {
            history.push(&at(f64::from(n), 1));
        }
        history.finish(&at(10_500.5, 1));
        let moments = history.moments();
        assert!((MOMENTS_MAX / 2..=MOMENTS_MAX + 1).contains(&moments.len()), "{}", moments.len());
        assert_eq!((moments[0].at_s, moments[moments.len() - 1].at_s), (0.0, 10_500.5));
        let steps = moments[..moments.len() - 1].windows(2).map(|two| two[1].at_s - two[0].at_s);
        let steps: Vec<f64> = steps.collect();
        assert!(steps.iter().all(|step| (step - steps[0]).abs() <= steps[0]), "{steps:?}");
    }

    #[test]
    fn another_run_begins_anew() {
        let mut history = History::default();
        [at(0.0, 1), at(1.0, 1), at(0.5, 1)].iter().for_each(|r| history.push(r));
        assert_eq!(history.moments().len(), 1);
        history.push(&at(2.0, 2));
        assert_eq!(history.moments()[0].bytes_rx, [2, 2]);
    }
}
