//! Times in which flows had no data to send, or may have had none: shares of such times say nothing.

use serde_json::Value;

use crate::outcome::find;
use crate::plan::{Bound, Ends, LabFlow, LabPlan, bound, ends, host, start, transport};
use ground::time::{Duration, Instant};
use host::{OnOffPlan, TransportPlan};
use sim::FaultKind;

/// A time of a run, from its start.
#[derive(Clone, Copy)]
struct Window {
    from: Duration,
    to: Duration,
}

impl Window {
    fn length(self) -> Duration {
        self.to.saturating_sub(self.from)
    }

    /// The part of it from one time to another.
    fn part(self, from: Duration, to: Duration) -> Self {
        Self { from: self.from.max(from), to: self.to.min(to) }
    }
}

/// Returns the reason for which the rates of flows say nothing about their shares: one of them had no data
/// to send for more of the time in which rates were measured than shares may differ by, or may have had none.
pub(super) fn without_data(
    plan: &LabPlan,
    results: &Value,
    flows: &[usize],
    tolerance: f64,
) -> Option<String> {
    let measured = |key: &str| duration(&results["measured"][key]);
    let window = Window { from: measured("from_ns")?, to: measured("to_ns")? };
    let ends = ends(plan);
    flows.iter().find_map(|n| {
        let (flow, ends) = (&plan.flows[*n], &ends[*n]);
        let (name, Window { from, to }) = (&flow.name, window);
        let result = find(results, &format!("flows.{name}")).ok()?;
        let starts = start(plan, ends).since(Instant::ZERO);
        let own = window.part(starts, ended(plan, ends, result, starts).unwrap_or(Duration::MAX));
        let causes = [
            (window.length().saturating_sub(own.length()), ""),
            (off(plan, flow, starts, own), ", as it sends in periods"),
            (undue(plan, ends, starts, own), ", as its messages become due one after the other"),
            (down(plan, flow, own), ", as a planned fault took a link of its path down"),
        ];
        // What two of them take at one time counts twice, and then less is judged.
        let without = causes.iter().fold(Duration::ZERO, |sum, (time, _)| sum.saturating_add(*time));
        let (_, why) = causes.iter().max_by_key(|(time, _)| *time)?;
        (without.as_secs_f64() > tolerance * window.length().as_secs_f64()).then(|| {
            format!(
                "{name} had data for a part of the time alone in which rates were measured ({from} to {to}){why}; \
                 `measure` names a time in which all compared flows have data"
            )
        })
    })
}

/// Time from which a flow has sent all that it has.
fn ended(plan: &LabPlan, ends: &Ends, result: &Value, starts: Duration) -> Option<Duration> {
    match bound(plan, ends) {
        Bound::Frames(frames) => {
            let is_sent = result["tx_frames"].as_u64().is_some_and(|sent| sent >= frames);
            let lasts = duration(&result["fct_ns"]);
            // Where the time of its last frame is not known, it may have been any.
            is_sent.then(|| lasts.map_or(starts, |lasts| starts + lasts))
        }
        // When they ended is not in the results; that they did may mean that the flow was idle all the time.
        Bound::Messages => (result["transport"]["done"] == true).then_some(starts),
        Bound::Time(Instant::NEVER) => None,
        Bound::Time(stop) => Some(stop.since(Instant::ZERO)),
    }
}

/// The part of a time that is in OFF periods of a flow. What is left of an ON period may be sent in them, which is
/// not known; nor are periods of random lengths.
fn off(plan: &LabPlan, flow: &LabFlow, starts: Duration, own: Window) -> Duration {
    let periods = &host(plan, flow.from).on_off;
    let Some(OnOffPlan { on, off, random, .. }) = periods.iter().find(|p| p.flow == flow.id) else {
        return Duration::ZERO;
    };
    if random.is_some() {
        return own.length();
    }
    let (on, off) = (on.as_picos(), off.as_picos());
    // OFF time from the start of the flow to a time.
    let until = |time: Duration| {
        let time = time.saturating_sub(starts).as_picos();
        let (whole, rest) = (time / (on + off), time % (on + off));
        Duration::from_picos(whole * off + rest.saturating_sub(on))
    };
    if own.length() == Duration::ZERO { Duration::ZERO } else { until(own.to) - until(own.from) }
}

/// The part of a time in which not all messages of a flow are due, so that it may have none to send.
fn undue(plan: &LabPlan, ends: &Ends, starts: Duration, own: Window) -> Duration {
    let Some(TransportPlan { message, work, .. }) = transport(plan, ends) else {
        return Duration::ZERO;
    };
    let last = match (&work.list, message) {
        // Each waits for one of another flow.
        _ if work.after.is_some() => Duration::MAX,
        (Some(list), _) => list.messages().last().map_or(Duration::ZERO, |last| last.due),
        (None, Some(message)) => message.every.saturating_mul(message.count.saturating_sub(1)),
        (None, None) => Duration::ZERO,
    };
    own.part(starts, starts.saturating_add(last)).length()
}

/// The part of a time in which planned faults have a link of a flow's path down.
fn down(plan: &LabPlan, flow: &LabFlow, own: Window) -> Duration {
    let mut sum = Duration::ZERO;
    for line in &flow.way {
        let mut changes: Vec<(Duration, bool)> = plan
            .network
            .faults
            .iter()
            .filter_map(|fault| {
                let FaultKind::Link { link, up } = fault.kind else { return None };
                (link == line.link()).then(|| (fault.at.since(Instant::ZERO), up))
            })
            .collect();
        changes.sort_by_key(|(time, _)| *time);
        // Down until it comes up, or to the end of the run.
        for (n, (time, _)) in changes.iter().enumerate().filter(|(_, (_, up))| !up) {
            let until = changes.get(n + 1).map_or(Duration::MAX, |(next, _)| *next);
            sum = sum.saturating_add(own.part(*time, until).length());
        }
    }
    sum
}

/// Returns a duration of the results, which has decimals where it is no whole number of nanoseconds.
fn duration(value: &Value) -> Option<Duration> {
    value.as_f64().map(Duration::from_nanos_f64)
}
