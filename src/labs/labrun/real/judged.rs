//! Finds the checks of a lab that a run on rings cannot judge, each with its reason.
//!
//! A check depends on its kind or the path of its value. Rings have no lines, so results that
//! depend on cable length, PHY or response time cannot be judged; headroom is enlarged by the
//! capacity of rings; times are as exact as the threads' clocks. All other values are counts of
//! frames, which rings carry as links do.

use serde_json::Value;

use super::rig::Rings;
use crate::outcome::find;
use crate::plan::{Check, CheckKind, Expectation, LabPlan, Tolerance};
use buffer::GroupKind;
use ground::time::Duration;
use ground::units::{PRIORITIES, Priority};
use schedule::Line;
use sim::{DirectionPlan, ErrorPlan, LinkPlan, NodeKind};
use switch::SwitchPlan;

/// Path names of values that only the virtual world's engine and its checkers provide.
const ENGINE: [&str; 4] = ["trace_hash", "engine", "deadlocks", "line_losses"];

/// Path names of delays on lines, and of values calculated from them.
const LINES: [&str; 8] = [
    "latency_ns",
    "round_trip",
    "path_delay",
    "turnaround",
    "measured",
    "headroom",
    "steps",
    "frames_from_first_pause_to_first_drop",
];

/// Path names of losses that insufficient headroom would cause.
const OVERRUNS: [&str; 8] = [
    "lossless_drops",
    "lossless_lost_frames",
    "headroom_full",
    "first_drop",
    "first_drop_ns",
    "frames_to_first_drop",
    "dropped_frames",
    "drops",
];

/// Path names of losses that a line or a planned fault would cause.
const LOSSES: [&str; 4] = ["loss_frames", "lost_frames", "loss_percent", "faults"];

/// Checks of a lab that rings cannot judge, found before unsupported parts are removed.
#[derive(Clone, Debug)]
pub struct Judged {
    /// By check: the reason why rings cannot judge it.
    unjudged: Vec<Option<String>>,
    /// Largest difference to the same time in the virtual world: the clocks' uncertainty, and the
    /// delay of all lines of the lab together with one frame each.
    slack: Duration,
}

impl Judged {
    /// Finds the checks of a lab as in its file.
    pub fn new(plan: &LabPlan, rings: &Rings) -> Self {
        let longest = |d: &DirectionPlan| d.delay + d.response;
        let one = |link: &LinkPlan| {
            let frame = Line::new(link.rate, link.line).time_for(rings.longest);
            longest(&link.ab).max(longest(&link.ba)) + frame
        };
        // An upper bound for any path: all lines of the lab, as if a frame took each of them.
        let slack = plan.network.links.iter().map(one).fold(rings.uncertainty(), |sum, d| sum + d);
        let unjudged = plan.checks.iter().map(|check| unjudged(check, plan, slack)).collect();
        Self { unjudged, slack }
    }

    /// Returns the reason why the check with this index cannot be judged.
    pub fn why_not(&self, check: usize) -> Option<&str> {
        self.unjudged.get(check)?.as_deref()
    }

    /// Returns the reason why a time beyond its expectation proves nothing: it exceeds it by less
    /// than the uncertainty of times.
    pub fn too_close(&self, check: &Check, results: &Value) -> Option<String> {
        let CheckKind::Value { path, expect, .. } = &check.kind else { return None };
        let found = find(results, path).ok()?.as_f64().filter(|_| is_time(path))?;
        let missed = missed_by(expect, found);
        (missed <= self.slack.as_nanos_f64()).then(|| {
            let slack = self.slack;
            format!("{path} is {found}, {missed} ns off, and times are good to about {slack} here")
        })
    }
}

/// Returns the reason why rings cannot judge a check, `None` if they can.
fn unjudged(check: &Check, plan: &LabPlan, slack: Duration) -> Option<String> {
    match &check.kind {
        CheckKind::Conservation
        | CheckKind::LosslessDelivery
        | CheckKind::PausesEnd
        | CheckKind::NoDeadlock
        | CheckKind::EcnBeforePfc
        | CheckKind::Fairness { .. } => None,
        CheckKind::PauseLegality | CheckKind::WorkConserving => {
            Some("the lines of rings are not watched, and take no time".into())
        }
        CheckKind::Value { path, same_as, expect } => {
            // Two times of one run differ by what both are off, so none of them can serve as the other's value.
            let other = same_as.as_deref().filter(|other| is_time(path) || is_time(other));
            let times = other.map(|other| {
                format!(
                    "times are good to about {slack} here, and {path} is to be the same as {other}"
                )
            });
            let of = |path: &str| value(path, expect, plan, slack);
            of(path).or_else(|| same_as.as_deref().and_then(of)).or(times)
        }
    }
}

fn value(path: &str, expect: &Expectation, plan: &LabPlan, slack: Duration) -> Option<String> {
    let names = || path.split('.');
    let has = |list: &[&str]| names().find(|name| list.contains(name)).map(str::to_owned);
    if let Some(name) = has(&ENGINE) {
        return Some(format!("{name} is known in the virtual world alone"));
    }
    if let Some(name) = has(&LINES) {
        return Some(format!("{name} depends on a cable, and rings have none"));
    }
    let last = names().next_back().unwrap_or(path);
    if last == "headroom_peak_bytes" || (last == "buffer_peak_bytes" && is_lossless(path, plan)) {
        let why = "depends on the frames on a cable at XOFF, and rings have no cable";
        return Some(format!("{last} {why}"));
    }
    // An expectation of none is judged: more headroom loses no more.
    if let Some(name) = has(&OVERRUNS).filter(|_| wants_some(expect) && any_lossless(plan)) {
        let why = "depends on the headroom, which is enlarged here by what rings hold";
        return Some(format!("{name} {why}"));
    }
    if let Some(name) = has(&LOSSES).filter(|_| wants_some(expect) && lines_lose(plan)) {
        return Some(format!(
            "{name} depends on losses that lines were to have, and rings lose nothing"
        ));
    }
    // Only an expected value with less tolerance than clocks differ; bounds are judged, and `too_close` looks again.
    let exact = is_time(path) && allowed(expect).is_some_and(|by| by < slack.as_nanos_f64());
    exact.then(|| format!("times are good to about {slack} here, and more is expected of {last}"))
}

/// True if a path leads to a time.
fn is_time(path: &str) -> bool {
    path.ends_with("_ns")
}

/// Returns the allowed deviation from an expected value; `None` for bounds only.
fn allowed(expect: &Expectation) -> Option<f64> {
    let value = expect.value?;
    Some(match expect.tolerance {
        Tolerance::Exact => 0.0,
        Tolerance::Relative(part) => (value * part).abs(),
        Tolerance::Absolute(by) => by,
    })
}

/// Returns the amount by which a number misses its expectation.
fn missed_by(expect: &Expectation, found: f64) -> f64 {
    let about = expect.value.map(|value| (found - value).abs() - allowed(expect).unwrap_or(0.0));
    let least = expect.at_least.map(|least| least - found);
    let most = expect.at_most.map(|most| found - most);
    [about, least, most].into_iter().flatten().fold(0.0, f64::max)
}

/// True if a count of 0 would miss the expectation.
fn wants_some(expect: &Expectation) -> bool {
    missed_by(expect, 0.0) > 0.0
}

/// Returns the priorities of a switch, port by port, each with true if its ingress group is
/// lossless.
pub fn lossless_of(switch: &SwitchPlan) -> impl Iterator<Item = [(Priority, bool); PRIORITIES]> {
    core::iter::zip(&switch.ports, &switch.buffer.groups).map(|(port, groups)| {
        Priority::ALL.map(|p| {
            let group = &groups[port.classify.group[p.index()].index()];
            (p, matches!(group.kind, GroupKind::Lossless { .. }))
        })
    })
}

/// Returns the priorities of all ports of all switches, each with true if its ingress group is
/// lossless.
fn groups(plan: &LabPlan) -> impl Iterator<Item = (Priority, bool)> {
    let switches = plan.network.nodes.iter().filter_map(|node| match &node.kind {
        NodeKind::Switch(switch) => Some(switch),
        NodeKind::Host(_) => None,
    });
    switches.flat_map(lossless_of).flatten()
}

fn any_lossless(plan: &LabPlan) -> bool {
    groups(plan).any(|(_, lossless)| lossless)
}

/// True if the priority in a path is lossless at some port; without a priority, if any is.
fn is_lossless(path: &str, plan: &LabPlan) -> bool {
    let mut names = path.split('.').skip_while(|name| *name != "priorities").skip(1);
    let named = names.next().and_then(|name| name.parse().ok()).and_then(Priority::new);
    groups(plan).any(|(p, lossless)| lossless && named.is_none_or(|named| named == p))
}

/// True if a line or a planned fault of the lab loses or adds frames.
fn lines_lose(plan: &LabPlan) -> bool {
    let network = &plan.network;
    let errors = |d: &DirectionPlan| d.errors != ErrorPlan::default();
    network.links.iter().any(|link| errors(&link.ab) || errors(&link.ba))
        || network.faults.iter().any(|fault| fault.kind.is_of_line())
}
