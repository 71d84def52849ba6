//! Flows that a NIC under test sends. Their frames have no numbers, so loss is not seen, and their rates are
//! compared with those at rest.

use core::ops::Range;

use super::{Context, Test};
use crate::bench::TrialError;
use crate::judge::{Limits, Outcome};
use crate::observation::{Observation, Record, Way};
use crate::trial::{Flow, FlowId, Limit, Port, Trial};
use ground::time::Duration;
use ground::units::{Priority, PrioritySet};

impl Context<'_> {
    /// Runs a test of switches with the traffic of the NIC at a port in the place of the tester's. Its
    /// values have the test's name before theirs.
    ///
    /// # Errors
    /// As the test.
    pub(crate) fn at_nic(&mut self, port: Port, test: &Test) -> Result<(), TrialError> {
        let before = self.measured.len();
        self.nic = Some(port);
        let ended = (test.run)(self);
        self.nic = None;
        let failed = self.measured[before..].iter().any(|m| m.outcome >= Outcome::Fail);
        // Without traffic after the test its failures are the host's, not those of the NIC's flow control.
        if failed && self.wait_for_nic(port)?.is_err() {
            self.measured.truncate(before);
            let what = format!(
                "the traffic to port {} ended in {}: its host ended it, or the NIC is stuck",
                self.port(port).name,
                test.id
            );
            return Err(TrialError::Disturbed(what));
        }
        let place = format!("{} at {}: ", test.id, self.port(port).name);
        for value in &mut self.measured[before..] {
            value.what.insert_str(0, &place);
            value.detail.insert_str(0, &place);
        }
        ended
    }

    /// Waits for the traffic of the NIC at a port, and returns it, with the first bytes of the frames; or the
    /// first priority of which none comes.
    ///
    /// # Errors
    /// As [`Context::observe`].
    pub(crate) fn wait_for_nic(
        &mut self,
        port: Port,
    ) -> Result<Result<Observation, Priority>, TrialError> {
        let Some(nic) = &self.setup.nic else {
            return Err(TrialError::Missing("nic is missing".to_owned()));
        };
        let length = self.setup.times.settle;
        let mut left = nic.wait;
        loop {
            // One trial after the other until all priorities come, or the time is over.
            let mut trial = Trial { keep: true, ..Trial::new("traffic of the NIC", length) };
            for priority in nic.sends.iter() {
                trial.flow(Flow::new((port, port), priority, Limit::Time(length)));
            }
            let seen = self.observe(&trial)?;
            let is_there = |n| seen.of(FlowId(n), Way::Received).next().is_some();
            let Some(missing) = (0..trial.flows.len()).find(|n| !is_there(*n)) else {
                return Ok(Ok(seen));
            };
            if left < length {
                return Ok(Err(trial.flows[missing].priority));
            }
            left = left.saturating_sub(length);
        }
    }

    /// Returns those of a set of priorities that a NIC sends, if it sends the flows.
    pub(super) fn sent(&self, set: PrioritySet) -> PrioritySet {
        match (self.nic, &self.setup.nic) {
            (Some(_), Some(nic)) => PrioritySet(set.0 & nic.sends.0),
            _ => set,
        }
    }

    /// Returns true if a NIC sends the flows of trials.
    pub(crate) const fn is_at_nic(&self) -> bool {
        self.nic.is_some()
    }

    /// Returns the time before the stimulus of a trial in which the rates at rest are taken.
    fn rest(&self) -> Range<Duration> {
        // Without the first quarter, in which the NIC may still be held by what was before.
        let baseline = self.setup.times.baseline;
        baseline.div(4)..baseline
    }

    /// Returns the frames of a flow in a span, and their bits per second.
    fn received<'s>(
        seen: &'s Observation,
        flow: FlowId,
        span: &Range<Duration>,
    ) -> (Vec<&'s Record>, f64) {
        let inside = seen.of(flow, Way::Received).filter(|record| span.contains(&record.end));
        (inside.collect(), seen.rate_in(flow, span))
    }

    /// Returns the longest time between the beginnings of two frames of a flow at rest.
    pub(crate) fn interval(&self, seen: &Observation, flow: FlowId) -> Duration {
        let (frames, _) = Self::received(seen, flow, &self.rest());
        let steps = frames.windows(2).map(|pair| pair[1].begin.saturating_sub(pair[0].begin));
        steps.max().unwrap_or_default()
    }

    /// Returns the rate of a flow in a span in percent of that at rest, and its uncertainty.
    pub(crate) fn of_rest(
        &self,
        seen: &Observation,
        flow: FlowId,
        span: &Range<Duration>,
    ) -> (f64, f64) {
        let rest = self.rest();
        let (frames, wanted) = Self::received(seen, flow, &rest);
        let longest = frames.iter().map(|record| record.len).max().unwrap_or(0);
        let (_, value) = Self::received(seen, flow, span);
        // The first and the last frame of both spans are counted whole, and times are uncertain at both ends.
        let error = |span: &Range<Duration>| {
            let seconds = span.end.saturating_sub(span.start).as_secs_f64();
            let ends = seen.uncertainty.as_secs_f64() * 2.0 * wanted;
            (f64::from(longest) * 8.0 + ends) / seconds
        };
        (value / wanted * 100.0, (error(&rest) + error(span)) / wanted * 100.0)
    }

    /// Judges the rate of a flow at a port in a span against that at rest.
    pub(super) fn awaited_rate(
        &mut self,
        seen: &Observation,
        id: FlowId,
        flow: &Flow,
        span: &Range<Duration>,
    ) {
        let (value, u) = self.of_rest(seen, id, span);
        let limits = Limits::around(100.0, self.setup.limits.rate * 100.0);
        let port = &self.port(flow.to).name;
        let what = format!("rate of priority {} at {port}, of that at rest", flow.priority);
        self.judge(what, value, limits, u, "%");
    }

    /// Checks that a flow arrives at rest.
    pub(super) fn is_sent(
        &self,
        seen: &Observation,
        id: FlowId,
        flow: &Flow,
        span: &Range<Duration>,
    ) -> Result<(), TrialError> {
        let (frames, _) = Self::received(seen, id, span);
        // A frame in the last quarter: traffic that ended before would be taken for stopped by the stimulus.
        let late = span.end.saturating_sub(span.end.saturating_sub(span.start).div(4));
        if frames.len() >= 2 && frames.last().is_some_and(|record| record.end >= late) {
            return Ok(());
        }
        let what = format!(
            "the NIC sent {} frames of priority {} to port {} at rest, and none at its end: its traffic \
             must be steady, and not end before the tests",
            frames.len(),
            flow.priority,
            self.port(flow.to).name
        );
        Err(TrialError::Disturbed(what))
    }

    /// Judges that no frame of a flow is lost; those of NICs have no numbers, and nothing is said of them.
    pub(crate) fn none_lost(&mut self, observed: &Observation, flow: FlowId, priority: Priority) {
        if !self.is_at_nic() {
            let lost = observed.tally(flow).lost();
            self.count(format!("lost frames of priority {priority}"), lost, Limits::exactly(0.0));
        }
    }

    /// Judges that frames of a flow that was paused begin after the pause.
    pub(crate) fn goes_on(
        &mut self,
        observed: &Observation,
        flow: FlowId,
        priority: Priority,
        from: Duration,
    ) {
        let after = observed.began_in(flow, &(from..Duration::MAX));
        let what = format!("frames of priority {priority} after the pause");
        self.count(what, after, Limits::at_least(1.0));
    }
}
