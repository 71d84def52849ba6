//! The part that tests of ECN have in common: a queue that is filled beyond Kmax, and marked frames.

use super::{congestion, fill, stop};
use crate::bench::Trouble;
use crate::observation::{Observation, Record, Way, What};
use crate::setup::ExpectedEcn;
use crate::test::Context;
use crate::trial::{Flow, FlowId, Limit, Obeys, Port, Rate, Trial};
use ground::time::Duration;
use ground::units::PrioritySet;
use wire::ip::Ecn;

/// Frames beyond Kmax.
pub(super) const BEYOND: u64 = 10;

/// Returns the ECN curve of the lossless classes.
pub(super) fn expected(cx: &Context<'_>) -> Result<ExpectedEcn, Trouble> {
    cx.setup.expected.ecn.ok_or_else(|| fill::missing("ecn"))
}

/// Returns the number of frames of a length that fill a queue beyond Kmax.
pub(super) fn frames(ecn: ExpectedEcn, size: u32) -> u64 {
    ecn.kmax.0.div_ceil(size.into()) + BEYOND
}

/// Returns a trial in which `frames` frames of some flows from `a` wait in a queue for `b`, and are
/// let out at the end: the flows, of one priority and length, send in turns. `a` ignores pauses.
///
/// # Errors
/// As [`too_long`].
pub(super) fn held(
    cx: &Context<'_>,
    (a, b): (Port, Port),
    flows: impl IntoIterator<Item = Flow>,
    frames: u64,
) -> Result<Trial, Trouble> {
    let mut trial = Trial::new("a full queue", Duration::ZERO);
    trial.obeys.push((a, Obeys::Nothing));
    trial.flows.extend(flows);
    let share = trial.flows.len().max(1);
    let each = frames.div_ceil(share as u64);
    let size = trial.flows.iter().map(|flow| flow.size).max().unwrap_or(0);
    let line = cx.setup.line_time(size);
    let time = line.saturating_mul(2 * each * share as u64 + 64);
    let window = congestion::window(cx);
    let start = window.div(8);
    let mut set = PrioritySet::EMPTY;
    for (n, flow) in trial.flows.iter_mut().enumerate() {
        flow.rate = Rate::Line(0.5 / share as f64);
        flow.limit = Limit::Frames(each as u32);
        // Two frames' times of half of the line lie between two flows.
        flow.start = start + line.saturating_mul(2 * n as u64);
        set.insert(flow.priority);
    }
    // A storm in software is safe from gaps if it is one pause.
    let length = (start.div(2) + time).max(cx.setup.storm_pause());
    too_long(cx, length)?;
    stop::add(cx, &mut trial, (b, set), (start.div(2), length));
    trial.length = length + window.saturating_mul(2);
    Ok(trial)
}

/// Checks that a queue can be paused for a time.
///
/// # Errors
/// The watchdog of the device takes it for stormed.
pub(super) fn too_long(cx: &Context<'_>, time: Duration) -> Result<(), Trouble> {
    if time <= cx.setup.storm_max() {
        return Ok(());
    }
    let what = "expected.watchdog.detection: it is too short for a queue to fill beyond Kmax; lower \
                `expected.ecn.kmax`, or turn the watchdog off";
    Err(Trouble::Missing(what.to_owned()))
}

/// Runs such a trial.
///
/// # Errors
/// The device does not hold the frames, so their marks say nothing.
pub(super) fn observe(cx: &mut Context<'_>, trial: &Trial) -> Result<Observation, Trouble> {
    let seen = cx.observe(trial)?;
    if (0..trial.flows.len()).any(|n| seen.tally(FlowId(n)).lost() > 0) {
        let what =
            "the device does not hold a queue of Kmax; lower `expected.ecn.kmax` and its own";
        return Err(Trouble::Missing(what.to_owned()));
    }
    Ok(seen)
}

/// Returns true if a frame arrived with CE.
pub(super) const fn is_marked(record: &Record) -> bool {
    matches!(record.what, What::Data { ecn: Ecn::Ce, .. })
}

/// Returns the frames of a flow that arrived with CE, by time.
pub(super) fn marked(seen: &Observation, flow: FlowId) -> impl Iterator<Item = &Record> {
    seen.of(flow, Way::Received).filter(|record| is_marked(record))
}
