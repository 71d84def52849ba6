//! The part that tests of thresholds have in common: a port that sends nothing, and a number of frames
//! that the device must hold.

use super::congestion;
use crate::bench::Trouble;
use crate::observation::Observation;
use crate::test::Context;
use crate::trial::{Flow, Limit, Obeys, Port, Rate, Trial};
use ground::time::Duration;
use ground::units::{Bytes, Priority, PrioritySet};

/// Length of the frames in bytes: the shortest, which use one cell each.
pub(super) const SIZE: u32 = 64;

/// Share of the line: slow enough that frames behind a pause are told from those before it.
const SHARE: f64 = 0.1;

/// Maximum number of frames of a search.
const FRAMES_MAX: u32 = 1 << 20;

/// Sends `frames` frames from `a` to `b`, which is paused all the time and released at the end. `a`
/// ignores pauses.
pub(super) fn fill(
    cx: &mut Context<'_>,
    ends: (Port, Port),
    priority: Priority,
    frames: u32,
) -> Result<Observation, Trouble> {
    let trial = trial(cx, ends, priority, frames)?;
    cx.observe(&trial)
}

/// Returns the trial of [`fill`].
///
/// # Errors
/// It takes longer than the device's watchdog waits, which would drop the frames.
pub(super) fn trial(
    cx: &Context<'_>,
    (a, b): (Port, Port),
    priority: Priority,
    frames: u32,
) -> Result<Trial, Trouble> {
    let share = Rate::Line(SHARE);
    let one = cx.setup.line_time(SIZE).saturating_mul(10);
    let time = one.saturating_mul(u64::from(frames) + 16);
    let window = congestion::window(cx);
    let start = window.div(8);
    let storm = (start + time).max(window);
    if storm > cx.setup.storm_max() {
        let what = format!(
            "expected.watchdog.detection: the port is paused for {} us to hold {frames} frames, which the \
             watchdog takes for a storm; stop it, and leave it out of the file",
            storm.as_nanos() / 1000
        );
        return Err(Trouble::Missing(what));
    }
    let mut trial = Trial::new(format!("{frames} frames into a paused port"), Duration::ZERO);
    trial.storm(
        (b, cx.port(b).mac, cx.setup.rate),
        PrioritySet::of(priority),
        (Duration::ZERO, start + time),
    );
    let flow = Flow::new((a, b), priority, Limit::Frames(frames)).rate(share).size(SIZE);
    trial.flow(flow.start(start));
    trial.obeys.push((a, Obeys::Nothing));
    trial.length = start + time + window.saturating_mul(2);
    Ok(trial)
}

/// Returns the least number of frames for which `is_over` holds, if it holds for every larger one;
/// `None` if it does not hold for `most`.
pub(super) fn least(
    most: u32,
    mut is_over: impl FnMut(u32) -> Result<bool, Trouble>,
) -> Result<Option<u32>, Trouble> {
    if !is_over(most)? {
        return Ok(None);
    }
    let (mut below, mut over) = (0, most);
    while over - below > 1 {
        let middle = below + (over - below) / 2;
        if is_over(middle)? { over = middle } else { below = middle }
    }
    Ok(Some(over))
}

/// Returns the number of the shortest frames to look for a threshold of this size in: twice as many
/// as it takes.
pub(super) fn bound(cx: &Context<'_>, threshold: Bytes) -> Result<u32, Trouble> {
    let frames = threshold.0 * 2 / u64::from(cell(cx)?) + 64;
    match u32::try_from(frames) {
        Ok(frames) if frames <= FRAMES_MAX => Ok(frames),
        _ => Err(Trouble::Missing(format!(
            "expected: {frames} frames are more than {FRAMES_MAX}, the most that a search sends"
        ))),
    }
}

/// Returns the bytes that a shortest frame takes: a cell, or its own if cells are smaller.
pub(super) fn cell(cx: &Context<'_>) -> Result<u32, Trouble> {
    let cell = cx.setup.expected.cell.ok_or_else(|| missing("cell"))?;
    let cell = u32::try_from(cell.0).unwrap_or(u32::MAX).max(1);
    Ok(SIZE.div_ceil(cell) * cell)
}

pub(super) fn missing(field: &str) -> Trouble {
    Trouble::Missing(format!("expected.{field} is missing; add it to the file"))
}
