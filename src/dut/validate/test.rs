//! A test of the catalogue, and the context in which it runs.

mod awaited;
mod counters;
mod description;
mod several;
mod starved;
mod storms;
mod topology;

use crate::bench::{Bench, Capability, TrialError};
use crate::judge::{Limits, Measurement, Outcome};
use crate::observation::{Observation, Record, Way};
use crate::setup::{FlowControl, Keep, Setup, TesterPort};
use crate::trace::Seen;
use crate::trial::{Flow, FlowId, Port, Rate, Trial, pause_frame, pfc_frame};
use core::ops::Range;
pub use description::{Kind, Level, Scope, Test};
use ground::time::Duration;
use ground::units::{Priority, PrioritySet, Quanta};
use starved::Starved;
use std::collections::BTreeSet;
pub use topology::Topology;
pub(crate) use topology::too_few;

/// The context of a running test.
pub struct Context<'a> {
    pub setup: &'a Setup,
    /// Extent of the run, which decides about the number of values that are tried.
    pub level: Level,
    bench: &'a mut dyn Bench,
    /// Port whose NIC sends the flows of trials, in tests of one.
    nic: Option<Port>,
    /// The port that is the first one of the test, and the number of values before it became so.
    first: usize,
    turned: usize,
    measured: Vec<Measurement>,
    /// Trials that are kept, and the number of values before the last one.
    seen: Vec<Seen>,
    before: usize,
    /// CPU time that the device missed in the trials of the next value.
    starved: Starved,
}

/// Most trials of a test that are kept: the first, the last, and those in which something failed.
const SEEN_MAX: usize = 6;

impl<'a> Context<'a> {
    pub(crate) fn new(setup: &'a Setup, level: Level, bench: &'a mut dyn Bench) -> Self {
        let (measured, seen) = (Vec::new(), Vec::new());
        let (nic, starved) = (None, Starved::default());
        Self { setup, level, bench, nic, first: 0, turned: 0, measured, seen, before: 0, starved }
    }

    /// Gives each role of the test to the next port: the values so far are those of the former roles.
    pub(crate) fn turn(&mut self, first: usize) {
        (self.first, self.turned) = (first, self.measured.len());
    }

    /// Adds the first port of the roles to the values since the last turn.
    pub(crate) fn name_turn(&mut self) {
        let name = &self.setup.ports[self.first].name;
        self.name_since(self.turned, &format!(" (roles from port {name} on)"));
    }

    /// Adds a text to the values from one on.
    fn name_since(&mut self, first: usize, text: &str) {
        for measurement in &mut self.measured[first..] {
            measurement.what += text;
            measurement.detail += text;
        }
    }

    /// Runs a trial.
    ///
    /// # Errors
    /// The trial could not be run, or the machine disturbed it.
    pub fn observe(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        self.without_storm(trial)?;
        let seen = match self.setup.keep {
            Keep::Frames => self.bench.run(&Trial { keep: true, ..trial.clone() })?,
            Keep::Nothing | Keep::Traces => self.bench.run(trial)?,
        };
        // Kept before it is checked: the trial that ended a test is the one to look at.
        self.keep(trial, &seen);
        self.starved.add(self.measured.len(), trial, &seen, self.setup);
        let seen = self.trusted(trial, seen)?;
        self.cabled(trial, &seen)?;
        Ok(seen)
    }

    /// Runs a trial on a cable instead of the DUT.
    ///
    /// # Errors
    /// As [`Context::observe`].
    pub fn observe_cable(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        let seen = self.bench.run_on_cable(trial)?;
        self.keep(trial, &seen);
        self.trusted(trial, seen)
    }

    /// Keeps a trial as evidence.
    fn keep(&mut self, trial: &Trial, seen: &Observation) {
        if self.setup.keep == Keep::Nothing {
            return;
        }
        self.release();
        self.seen.push(Seen::of(trial, seen, self.setup, self.setup.keep));
        self.before = self.measured.len();
    }

    /// Drops what is kept of the last trial if nothing failed in it: its frames, and for others than
    /// the first one all of it.
    fn release(&mut self) {
        let failed = self.measured[self.before..].iter().any(|m| m.outcome >= Outcome::Fail);
        // The first trial stays as an example of how the test looks when it passes.
        let kept = self.seen.len();
        if kept > 1 && (!failed || kept >= SEEN_MAX) {
            self.seen.pop();
        } else if let Some(first) = self.seen.last_mut().filter(|_| !failed) {
            first.forget_frames();
        }
    }

    /// Marks a frame of the last trial as one by which the DUT failed, with the reason.
    pub fn mark(&mut self, record: &Record, why: &str) {
        if let Some(last) = self.seen.last_mut() {
            last.mark(record, why);
        }
    }

    /// Checks that something arrives from each port at each other one that it sends to: a DUT that is not
    /// cabled as the file says is not judged.
    fn cabled(&self, trial: &Trial, seen: &Observation) -> Result<(), TrialError> {
        let own = trial.flows[..trial.own_flows()].iter().filter(|flow| !flow.is_to_nic());
        let pairs: BTreeSet<_> = own.map(|flow| (flow.from, flow.to)).collect();
        for (from, to) in pairs {
            let of = |flow: &Flow| (flow.from, flow.to) == (from, to);
            let ids = (0..trial.flows.len()).filter(|n| of(&trial.flows[*n])).map(FlowId);
            let tallies = ids.map(|id| seen.tally(id));
            let (sent, received) =
                tallies.fold((0, 0), |(s, r), tally| (s + tally.sent, r + tally.received));
            // A device drops numbers below those of an earlier run.
            let hint = match self.port(from).macsec {
                Some(_) => {
                    "; or give the tester's MACsec a `next_pn` behind that of an earlier run"
                }
                None => "",
            };
            let (from, to) = (&self.port(from).name, &self.port(to).name);
            if sent == 0 {
                let mut flows = trial.flows.iter().filter(|flow| of(flow));
                let paused = flows.find_map(|flow| self.paused_before(seen, flow));
                let none = || format!("the tester sent no frame from port {from} to port {to}");
                return Err(TrialError::Error(paused.unwrap_or_else(none)));
            }
            if received == 0 {
                let what = format!(
                    "none of {sent} frames from port {from} arrives at port {to}; check the cables, \
                     and that the DUT forwards between these ports{hint}"
                );
                return Err(TrialError::Error(what));
            }
        }
        Ok(())
    }

    /// Returns the reason, in words, why a flow without any frame was not sent, if the DUT paused it.
    pub fn paused_before(&self, seen: &Observation, flow: &Flow) -> Option<String> {
        let (priority, from) = (flow.priority, &self.port(flow.from).name);
        let what =
            || format!("the DUT pauses priority {priority} at port {from} before the first frame");
        self.first_stop(seen, flow.from, priority).map(|_| what())
    }

    /// Checks that the tester sent what the trial says, so that a DUT is not judged by frames that
    /// never left.
    fn trusted(&self, trial: &Trial, seen: Observation) -> Result<Observation, TrialError> {
        if let Some(why) = &seen.disturbed {
            return Err(TrialError::Disturbed(why.clone()));
        }
        let ports = (0..self.setup.ports.len()).map(Port);
        // A protected frame is compared as it was made and as it was on the line: a test may make either.
        let octets: Vec<Vec<_>> = ports.map(|port| seen.sent_octets(port).collect()).collect();
        for (n, control) in trial.control.iter().enumerate() {
            let same = |octets: &[u8]| {
                // Captures have the first bytes of a frame only.
                let common = octets.len().min(control.octets.len());
                octets[..common] == control.octets[..common]
            };
            let is_it =
                |(octets, line): &&(&[u8], Option<&[u8]>)| same(octets) || line.is_some_and(same);
            let sent = octets[control.port.0].iter().filter(|sent| is_it(sent)).count();
            if sent < control.frames as usize {
                let what = format!(
                    "the tester sent {sent} of {} control frames (number {n} of {})",
                    control.frames, trial.name
                );
                return Err(TrialError::Error(what));
            }
        }
        Ok(seen)
    }

    /// Returns the first `N` ports of the tester, which have the common rate. All are the same one where
    /// its NIC sends the flows.
    ///
    /// # Errors
    /// The set-up has fewer.
    pub fn ports<const N: usize>(&self) -> Result<[Port; N], TrialError> {
        if let Some(port) = self.nic {
            return Ok([port; N]);
        }
        let given = self.setup.alike();
        if given < N {
            return Err(TrialError::Missing(too_few(self.setup, N, given)));
        }
        Ok(core::array::from_fn(|n| Port((self.first + n) % given)))
    }

    /// Returns the first of packet numbers for frames that a test protects at a port. No frame of the port
    /// before them has one of these.
    pub fn packet_numbers(&mut self, port: Port, frames: u32) -> u64 {
        self.bench.packet_numbers(port, frames)
    }

    /// Returns the last port of the common rate, and the others.
    ///
    /// # Errors
    /// The set-up has fewer than two.
    pub fn to_last(&self) -> Result<(Port, Vec<Port>), TrialError> {
        self.ports::<2>()?;
        let given = self.setup.alike();
        let port = |n| Port((self.first + n) % given);
        Ok((port(given - 1), (0..given - 1).map(port).collect()))
    }

    pub fn port(&self, port: Port) -> &TesterPort {
        self.setup.port(port)
    }

    /// Returns the lossless priority of tests with one.
    ///
    /// # Errors
    /// The set-up has none.
    pub fn lossless(&self) -> Result<Priority, TrialError> {
        let first = self.sent(self.setup.lossless).iter().next();
        first.ok_or_else(|| TrialError::Missing("lossless: it is empty".into()))
    }

    /// Returns a priority that pauses of the DUT's kind stop: a lossless one, or any with PAUSE.
    ///
    /// # Errors
    /// The set-up has none.
    pub fn stopped(&self) -> Result<Priority, TrialError> {
        match self.setup.flow_control {
            FlowControl::Pfc => self.lossless(),
            FlowControl::Pause => self.lossy(),
        }
    }

    /// Returns a pause of the DUT's kind from a port: PFC for a set of priorities, or PAUSE.
    pub fn pause(&self, port: Port, set: PrioritySet, time: Quanta) -> Vec<u8> {
        let src = self.port(port).mac;
        match self.setup.flow_control {
            FlowControl::Pfc => {
                let times: Vec<_> = set.iter().map(|priority| (priority, time)).collect();
                pfc_frame(src, &times)
            }
            FlowControl::Pause => pause_frame(src, time),
        }
    }

    /// Returns the time of the first pause of the DUT's kind that stops a priority at a port.
    pub fn first_stop(
        &self,
        seen: &Observation,
        port: Port,
        priority: Priority,
    ) -> Option<Duration> {
        match self.setup.flow_control {
            FlowControl::Pfc => seen.pauses(port).find(|p| p.stops(priority)).map(|p| p.at),
            FlowControl::Pause => {
                let mut all = seen.link_pauses(port);
                all.find(|(_, time)| *time > Quanta(0)).map(|(at, _)| at)
            }
        }
    }

    /// Returns a lossy priority.
    ///
    /// # Errors
    /// The set-up has none.
    pub fn lossy(&self) -> Result<Priority, TrialError> {
        let first = self.sent(self.setup.lossy).iter().next();
        first.ok_or_else(|| TrialError::Missing("lossy: it is empty".into()))
    }

    /// Returns all priorities of traffic that the set-up knows.
    pub fn priorities(&self) -> PrioritySet {
        self.sent(PrioritySet(self.setup.lossless.0 | self.setup.lossy.0))
    }

    /// Judges a value with an uncertainty.
    pub fn judge(
        &mut self,
        what: impl Into<String>,
        value: f64,
        limits: Limits,
        uncertainty: f64,
        unit: &'static str,
    ) {
        let value = Measurement::judge(what, value, limits, uncertainty, unit);
        self.measured.push(self.starved.judge(value));
    }

    /// Judges a count, which has no uncertainty, and no unit beside the things that `what` names.
    pub fn count(&mut self, what: impl Into<String>, count: u64, limits: Limits) {
        self.judge(what, count as f64, limits, 0.0, "");
    }

    /// Records a failure that explains other values of the test, and so is the reason of its outcome.
    pub fn cause(&mut self, what: impl Into<String>, count: u64) {
        let cause = Measurement::judge(what, count as f64, Limits::exactly(0.0), 0.0, "");
        self.measured.push(self.starved.judge(Measurement { explains: true, ..cause }));
    }

    /// Judges a time in nanoseconds. The longest time stands for one without an end, which is a failure
    /// of every limit.
    pub fn time(&mut self, what: impl Into<String>, time: Duration, limits: Limits, u: Duration) {
        if time == Duration::MAX {
            return self.cause(format!("{} without an end", what.into()), 1);
        }
        self.judge(what, time.as_nanos_f64(), limits, u.as_nanos_f64(), "ns");
    }

    /// Records a value that the standards leave open.
    pub fn policy(
        &mut self,
        what: impl Into<String>,
        value: f64,
        unit: &'static str,
        clause: &str,
    ) {
        self.measured.push(Measurement::policy(what, value, unit, clause));
    }

    /// Records that a part of the test was not run.
    pub fn skip(&mut self, what: impl Into<String>, why: &str) {
        self.measured.push(Measurement::skip(what, why));
    }

    /// Records that a part of the test was not run because something came too late. It is inconclusive if that is
    /// explained by `least` for which this machine was busy.
    pub fn skip_late(&mut self, what: impl Into<String>, why: &str, least: Duration) {
        self.measured.push(self.starved.excuse(Measurement::skip(what, why), least));
    }

    /// Returns true if the tester's ports have a capability.
    pub fn has(&self, capability: Capability) -> bool {
        self.bench.has(capability)
    }

    /// Returns the first number at level quick, the second at level full.
    pub const fn by_level<T: Copy>(&self, quick: T, full: T) -> T {
        if matches!(self.level, Level::Quick) { quick } else { full }
    }

    /// Returns the intended rate of a flow in bits per second, without preamble and gap.
    fn intended(&self, flow: &Flow) -> f64 {
        match flow.rate {
            Rate::Line(share) => self.setup.share_of(self.port(flow.from).rate, share, flow.size),
            Rate::Frames(n) => n as f64 * f64::from(flow.size) * 8.0,
        }
    }

    /// Judges the rate of a flow in a span against its intended share of the line.
    pub fn rate(
        &mut self,
        seen: &Observation,
        trial: &Trial,
        flow: FlowId,
        span: &Range<Duration>,
    ) {
        let of = &trial.flows[flow.0];
        if of.is_awaited() {
            return self.awaited_rate(seen, flow, of, span);
        }
        let Flow { priority, size, .. } = *of;
        let wanted = self.intended(of);
        let value = self.rate_of(seen, trial, flow, span);
        // The first and the last frame of the span are counted whole, and times are uncertain at both
        // ends of it.
        let seconds = span.end.saturating_sub(span.start).as_secs_f64();
        let frame = f64::from(size) * 8.0 / seconds;
        let ends = seen.uncertainty.as_secs_f64() * 2.0 / seconds * wanted;
        let delayed = self.delay(trial, flow) / seconds * wanted;
        let unsent = self.unsent(seen, trial, flow, span);
        let u = (frame + ends + delayed + unsent) / wanted * 100.0;
        let limits = Limits::around(100.0, self.setup.limits.rate * 100.0);
        self.judge(format!("rate of priority {priority}"), value, limits, u, "%");
    }

    /// Returns the seconds by which frames of the others delay those of a flow, at either end of a span.
    fn delay(&self, trial: &Trial, flow: FlowId) -> f64 {
        let to = trial.flows[flow.0].to;
        let others = trial.flows.iter().enumerate();
        let others = others.filter(|(n, other)| *n != flow.0 && other.to == to);
        others.map(|(_, other)| self.setup.line_time(other.size).as_secs_f64()).sum()
    }

    /// Returns the shortest span in which [`Context::rate`] can judge the rate of a flow. In a shorter one a good device
    /// may be inconclusive: the frames at its ends change the value, and are its uncertainty as well.
    pub(super) fn least_span(&self, trial: &Trial, flow: FlowId) -> Duration {
        let of = &trial.flows[flow.0];
        let frame = f64::from(of.size) * 8.0 / self.intended(of);
        let seconds = 2.0 * (frame + self.delay(trial, flow)) / self.setup.limits.rate;
        Duration::from_nanos_f64(seconds * 1e9)
    }

    /// Returns the bits per second by which the tester sent less than intended, if no pause of the
    /// DUT held it back: the machine was too slow, and the DUT is not to blame.
    fn unsent(&self, seen: &Observation, trial: &Trial, id: FlowId, span: &Range<Duration>) -> f64 {
        let flow = &trial.flows[id.0];
        if self.first_stop(seen, flow.from, flow.priority).is_some() {
            return 0.0;
        }
        let sent = seen.of(id, Way::Sent).filter(|record| span.contains(&record.end));
        let bits = sent.map(|record| f64::from(record.len) * 8.0).sum::<f64>();
        let sent = bits / span.end.saturating_sub(span.start).as_secs_f64();
        (self.intended(flow) - sent).max(0.0)
    }

    /// Returns the rate of a flow in a span in percent of the intended one, by frames: a DUT may
    /// remove their tags.
    pub fn rate_of(
        &self,
        seen: &Observation,
        trial: &Trial,
        flow: FlowId,
        span: &Range<Duration>,
    ) -> f64 {
        let arrived = seen.of(flow, Way::Received).filter(|r| span.contains(&r.end)).count();
        let bits = arrived as f64 * f64::from(trial.flows[flow.0].size) * 8.0;
        let rate = bits / span.end.saturating_sub(span.start).as_secs_f64();
        rate / self.intended(&trial.flows[flow.0]) * 100.0
    }

    /// Checks that all flows of a trial arrive at their rates in a span without a stimulus.
    ///
    /// # Errors
    /// One does not, so its reaction to a stimulus says nothing.
    pub fn at_rest(
        &self,
        seen: &Observation,
        trial: &Trial,
        span: &Range<Duration>,
    ) -> Result<(), TrialError> {
        for (n, flow) in trial.flows.iter().enumerate() {
            if flow.is_awaited() {
                self.is_sent(seen, FlowId(n), flow, span)?;
                continue;
            }
            if flow.start > span.start {
                continue;
            }
            let sent = seen.of(FlowId(n), Way::Sent).filter(|r| span.contains(&r.end)).count();
            let arrived =
                seen.of(FlowId(n), Way::Received).filter(|r| span.contains(&r.end)).count();
            let seconds = span.end.saturating_sub(span.start).as_secs_f64();
            let intended = self.intended(flow) * seconds / (f64::from(flow.size) * 8.0);
            let mut pauses = seen.pauses(flow.from).filter(|pause| pause.stops(flow.priority));
            if let Some(pause) = pauses.find(|pause| pause.at < span.end) {
                let what = format!(
                    "the DUT pauses priority {} at port {} at rest ({} us after the start)",
                    flow.priority,
                    self.port(flow.from).name,
                    pause.at.as_nanos() / 1000
                );
                return Err(TrialError::Error(what));
            }
            // Its first pause may be from before the trial, and renewed after the span.
            let paused = self.paused_before(seen, flow).filter(|_| sent == 0);
            if let Some(what) = paused {
                return Err(TrialError::Error(what));
            }
            // A frame at either end of the span may be outside of it.
            if (sent as f64) < intended * 0.95 - 2.0 {
                let what = format!(
                    "the tester sent {sent} of {intended:.0} frames of priority {} at rest: the machine is \
                     busy, or too slow for this rate",
                    flow.priority
                );
                return Err(TrialError::Disturbed(what));
            }
            if sent == 0 || arrived * 10 < sent * 9 {
                self.starved.explains_missing(sent.saturating_sub(arrived))?;
                let what = format!(
                    "{arrived} of {sent} frames of priority {} arrive at port {} at rest; check the \
                     cables, and that the DUT forwards between these ports",
                    flow.priority,
                    self.port(flow.to).name
                );
                return Err(TrialError::Error(what));
            }
        }
        Ok(())
    }

    /// Returns the values so far, and the trials that are kept. The last one stays, also if it ended
    /// the test.
    pub(crate) fn into_measured(mut self) -> (Vec<Measurement>, Vec<Seen>) {
        let judged = &self.measured[self.before..];
        let passed = judged.iter().all(|m| m.outcome < Outcome::Fail) && !judged.is_empty();
        if let Some(last) = self.seen.last_mut().filter(|_| passed) {
            last.forget_frames();
        }
        (self.measured, self.seen)
    }
}
