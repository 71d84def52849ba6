//! Runs a test from start to end in either world: start, sample, stop, drain.
//!
//! A test is over when every finite flow has stopped; infinite flows are stopped then. A test
//! with only infinite flows runs until its duration is over or a signal ends it.

pub use super::judge::Why;

use super::history::History;
use super::judge::{Course, Finding, judge};
use super::plan::{FlowKind, FlowPlan, TestPlan};
use super::report::{Flow, Report};
use ground::time::{Duration, Instant};

/// The world of a test: real ports or a simulation.
pub trait Runner {
    type Error;

    /// Starts captures, and all flows at one time.
    ///
    /// # Errors
    /// A missing resource of the machine.
    fn start(&mut self) -> Result<(), Self::Error>;

    /// Stops all flows. Frames in flight still arrive.
    ///
    /// # Errors
    /// A failure since the start.
    fn stop(&mut self) -> Result<(), Self::Error>;

    /// Lets time pass.
    ///
    /// # Errors
    /// A failure in this time.
    fn advance(&mut self, span: Duration) -> Result<(), Self::Error>;

    /// Returns the counters so far; `whole` includes the latency distributions.
    ///
    /// # Errors
    /// A failure since the start.
    fn report(&mut self, whole: bool) -> Result<Report, Self::Error>;

    /// Interval between two reports.
    fn step(&self) -> Duration;

    /// Describes an error that says nothing about the test itself, such as a machine that is too
    /// busy; `None` for any other.
    fn disturbance(_: &Self::Error) -> Option<String> {
        None
    }
}

/// The limits of a test's time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Maximum time from its start; `None` to wait for the end of its flows.
    pub duration: Option<Duration>,
    /// Time to wait for frames in flight.
    pub drain: Duration,
}

/// Maximum time that flows wait for a link that is down. A choice: longer than a link takes to
/// come up.
const DOWN_MAX: Duration = Duration::from_secs(5);

/// A test that has ended.
#[derive(Clone, Debug)]
pub struct Ran {
    pub why: Why,
    pub report: Report,
    pub history: History,
    pub findings: Vec<Finding>,
}

/// Runs a test. `observe` gets every report, with the progress (0 to 1) if that is known, and
/// returns true to continue.
///
/// # Errors
/// A missing resource or a failure of the runner.
pub fn drive<R: Runner>(
    plan: &TestPlan,
    runner: &mut R,
    limits: Limits,
    mut observe: impl FnMut(&Report, Option<f64>) -> bool,
) -> Result<Ran, R::Error> {
    let mut history = History::default();
    runner.start()?;
    let (why, before) = send(plan, runner, limits, &mut history, &mut observe)?;
    let (why, report) = match drain(runner, limits) {
        Ok(report) => (why, report),
        // No further results are available.
        Err(error) => (Why::Disturbed(R::disturbance(&error).ok_or(error)?), before.clone()),
    };
    history.finish(&report);
    let findings = judge(&Course { plan, before: &before, report: &report, why: &why });
    Ok(Ran { why, report, history, findings })
}

/// Lets the flows send until the test ends. Returns the reason and the last report.
fn send<R: Runner>(
    plan: &TestPlan,
    runner: &mut R,
    limits: Limits,
    history: &mut History,
    observe: &mut impl FnMut(&Report, Option<f64>) -> bool,
) -> Result<(Why, Report), R::Error> {
    let mut last = None;
    let mut down = Duration::ZERO;
    loop {
        let step = step(runner.step(), limits.duration, last.as_ref());
        let result = runner.advance(step).and_then(|()| runner.report(false));
        // An error in the first step is the test's. A later one may be the machine's, and what was measured counts.
        let report = match (result, last.take()) {
            (Ok(report), _) => report,
            (Err(error), None) => return Err(error),
            (Err(error), Some(last)) => {
                return Ok((Why::Disturbed(R::disturbance(&error).ok_or(error)?), last));
            }
        };
        history.push(&report);
        let over = limits.duration.is_some_and(|d| elapsed(&report) >= d.as_secs_f64());
        let goes_on = observe(&report, progress(plan, &report, limits.duration));
        // A link that comes back starts the time again.
        down = if are_down(plan, &report) { down + runner.step() } else { Duration::ZERO };
        if !goes_on {
            let has_an_end = limits.duration.is_some() || plan.flows.iter().any(ends);
            return Ok((if has_an_end { Why::Interrupted } else { Why::Asked }, report));
        }
        if over {
            return Ok((Why::Over, report));
        }
        if are_done(plan, &report) {
            return Ok((Why::Done, report));
        }
        if down >= DOWN_MAX {
            return Ok((Why::Down, report));
        }
        last = Some(report);
    }
}

/// Stops the flows and waits for the frames in flight.
fn drain<R: Runner>(runner: &mut R, limits: Limits) -> Result<Report, R::Error> {
    runner.stop()?;
    let mut waited = Duration::ZERO;
    loop {
        // With distributions, as it may be the last.
        let report = runner.report(true)?;
        if waited >= limits.drain || report.flows.iter().all(is_stopped) {
            return Ok(report);
        }
        runner.advance(runner.step())?;
        waited += runner.step();
    }
}

/// Returns the time to the next report: a step, or what is left of the duration after the last report.
fn step(step: Duration, duration: Option<Duration>, last: Option<&Report>) -> Duration {
    let Some(duration) = duration else { return step };
    let passed = Duration::from_nanos_f64(last.map_or(0.0, elapsed) * 1e9);
    // The elapsed time is rounded, so what is left may be 0 before the duration is over.
    duration.saturating_sub(passed).clamp(Duration::from_nanos(1), step)
}

fn elapsed(report: &Report) -> f64 {
    report.elapsed_s.unwrap_or(0.0)
}

fn is_stopped(flow: &Flow) -> bool {
    flow.transmit == "stopped"
}

/// Returns true for a finite flow.
fn ends(flow: &FlowPlan) -> bool {
    match &flow.kind {
        FlowKind::Stream(stream) => stream.limit.frames.is_some() || stream.limit.time.is_some(),
        FlowKind::Roce(plan) => {
            plan.stop < Instant::NEVER || plan.message.is_some_and(|m| m.count < u64::MAX)
        }
    }
}

/// Returns true if there is a finite flow, and every one has ended.
fn are_done(plan: &TestPlan, report: &Report) -> bool {
    let finite = plan.flows.iter().filter(|flow| ends(flow));
    let states: Vec<bool> = finite
        .map(|flow| report.flows.iter().any(|f| f.name == flow.name && is_stopped(f)))
        .collect();
    !states.is_empty() && states.into_iter().all(|stopped| stopped)
}

/// True if there are unfinished flows, and all of their links are down.
fn are_down(plan: &TestPlan, report: &Report) -> bool {
    let waits = |flow: &&FlowPlan| {
        ends(flow) && report.flows.iter().any(|f| f.name == flow.name && !is_stopped(f))
    };
    let mut waiting = plan.flows.iter().filter(waits).peekable();
    let is_down = |flow: &FlowPlan| report.ports.get(flow.tx).is_some_and(|port| !port.link_up);
    waiting.peek().is_some() && waiting.all(is_down)
}

/// Returns the progress of a test: of its duration, or of its slowest finite flow.
fn progress(plan: &TestPlan, report: &Report, duration: Option<Duration>) -> Option<f64> {
    let at = elapsed(report);
    let by_time = duration.map(|d| at / d.as_secs_f64().max(1e-12));
    let by_flows = plan.flows.iter().filter_map(|asked| {
        let FlowKind::Stream(stream) = &asked.kind else { return None };
        let flow = report.flows.iter().find(|f| f.name == asked.name)?;
        // A flow ends at the first of its limits.
        let by_frames = stream.limit.frames.map(|n| flow.frames_tx as f64 / n.max(1) as f64);
        let span = |t: Duration| (t + stream.delay).as_secs_f64().max(1e-12);
        let by_time = stream.limit.time.map(|t| at / span(t));
        match (by_frames, by_time) {
            (Some(a), Some(b)) => Some(a.max(b)),
            (a, b) => a.or(b),
        }
    });
    let slowest = by_flows.min_by(f64::total_cmp);
    let part = match (by_time, slowest) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    };
    part.map(|part| part.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::tests::flow;
    use crate::report::Port;
    use ground::verdict::Verdict;

    /// A world in which a flow sends a frame every 10 ms, unless `held`.
    struct Clockwork {
        at: Duration,
        stopped: bool,
        last: u64,
        held: bool,
        /// The time from which its threads do not answer.
        busy_from: Duration,
    }

    impl Runner for Clockwork {
        type Error = &'static str;
        fn start(&mut self) -> Result<(), &'static str> {
            self.at = Duration::ZERO;
            Ok(())
        }
        fn stop(&mut self) -> Result<(), &'static str> {
            self.stopped = true;
            Ok(())
        }
        fn advance(&mut self, span: Duration) -> Result<(), &'static str> {
            self.at += span;
            Ok(())
        }
        fn report(&mut self, _: bool) -> Result<Report, &'static str> {
            if self.at >= self.busy_from {
                return Err("busy");
            }
            let due = (self.at.as_secs_f64() / 0.01).round() as u64;
            let sent = if self.held { 0 } else { due.min(self.last) };
            let over = self.stopped || sent == self.last;
            let flow = Flow {
                name: "f".into(),
                bytes_tx: sent * 64,
                transmit: if over { "stopped" } else { "started" },
                frames_tx: sent,
                frames_rx: sent,
                ..Flow::default()
            };
            Ok(Report {
                elapsed_s: Some(self.at.as_secs_f64()),
                ports: [!self.held, true]
                    .map(|link_up| Port { link_up, speed_bps: 10_000_000_000, ..Port::default() })
                    .into(),
                flows: vec![flow],
                ..Report::default()
            })
        }
        fn step(&self) -> Duration {
            Duration::from_millis(10)
        }
        fn disturbance(error: &&'static str) -> Option<String> {
            (*error == "busy").then(|| "the machine was busy for 1 ms".into())
        }
    }

    fn run(
        frames: Option<u64>,
        held: bool,
        duration: Option<Duration>,
        asks: u64,
    ) -> (Ran, Vec<f64>) {
        let plan = TestPlan { ports: vec![], flows: vec![flow("f", frames, true)], run: 0 };
        let last = frames.unwrap_or(u64::MAX);
        let busy_from = Duration::MAX;
        let mut runner = Clockwork { at: Duration::ZERO, stopped: false, last, held, busy_from };
        let limits = Limits { duration, drain: Duration::from_millis(50) };
        let (mut parts, mut looks) = (Vec::new(), 0);
        let ran = drive(&plan, &mut runner, limits, |_, part| {
            parts.extend(part);
            looks += 1;
            looks < asks
        });
        (ran.expect("it is not busy"), parts)
    }

    #[test]
    fn a_test_ends_when_its_flows_do() {
        let (ran, parts) = run(Some(10), false, None, u64::MAX);
        assert_eq!((ran.why, ran.report.elapsed_s), (Why::Done, Some(0.1)));
        assert!(ran.findings.iter().all(|finding| finding.verdict.is_pass()), "{:?}", ran.findings);
        assert!((parts[4] - 0.5).abs() < 1e-9 && parts[9] == 1.0, "{parts:?}");
        assert_eq!(ran.history.moments().len(), 11);
    }

    #[test]
    fn a_flow_that_never_ends_is_stopped_at_the_duration() {
        let (ran, _) = run(None, false, Some(Duration::from_millis(200)), u64::MAX);
        assert_eq!((ran.why, ran.report.flows[0].frames_tx), (Why::Over, 20));
    }

    /// Reports are 10 ms apart, and the run is no longer for that.
    #[test]
    fn a_run_is_no_longer_than_its_duration() {
        for duration in
            [Duration::from_micros(1), Duration::from_millis(1), Duration::from_millis(25)]
        {
            let (ran, _) = run(None, false, Some(duration), u64::MAX);
            let over = ran.report.elapsed_s.unwrap() - duration.as_secs_f64();
            assert!(ran.why == Why::Over && (0.0..2e-9).contains(&over), "{duration}: {over}");
        }
    }

    #[test]
    fn what_is_held_up_is_not_waited_for_without_end() {
        let (ran, _) = run(Some(5), true, Some(Duration::from_millis(30)), u64::MAX);
        assert_eq!(ran.why, Why::Over);
        assert_eq!(ran.findings[0].what, "the link of port  is down: sent 0 frames");
    }

    #[test]
    fn links_that_stay_down_end_a_test() {
        let (ran, _) = run(Some(5), true, None, u64::MAX);
        assert_eq!((ran.why, ran.report.elapsed_s), (Why::Down, Some(5.0)));
        assert_eq!(ran.findings[0].verdict, Verdict::Fail);
    }

    #[test]
    fn a_busy_machine_costs_no_results_and_gives_no_verdict() {
        let plan = TestPlan { ports: vec![], flows: vec![flow("f", None, true)], run: 0 };
        let limits = Limits { duration: None, drain: Duration::ZERO };
        let busy_from = Duration::from_millis(100);
        let mut runner = Clockwork {
            at: Duration::ZERO,
            stopped: false,
            last: u64::MAX,
            held: false,
            busy_from,
        };
        let ran = drive(&plan, &mut runner, limits, |_, _| true).unwrap();
        assert_eq!(ran.report.flows[0].frames_tx, 9, "the last that was seen");
        assert_eq!(crate::judge::verdict(&ran.findings), Verdict::Inconclusive);
        let first = Clockwork { busy_from: Duration::ZERO, ..runner };
        let mut first = first;
        assert_eq!(
            drive(&plan, &mut first, limits, |_, _| true).unwrap_err(),
            "busy",
            "nothing was seen"
        );
    }

    #[test]
    fn somebody_may_end_it() {
        assert_eq!(run(Some(100), false, None, 3).0.why, Why::Interrupted);
        assert_eq!(run(None, false, None, 3).0.why, Why::Asked);
    }
}
