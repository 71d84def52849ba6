//! The part that tests of thresholds have in common: a port that sends nothing, and a number of frames
//! that the device must hold.

use super::congestion;
use crate::bench::Trouble;
use crate::observation::Observation;
use crate::test::Context;
use crate::trial::{Flow, Limit, Obeys, Port, Rate, Trial};
use ground::time::Duration;
use ground::units::{Bytes, Priority, PrioritySet, Quanta};

/// Length of the frames in bytes: the shortest, which use one cell each.
pub(super) const SIZE: u32 = 64;

/// Share of the line: slow enough that frames behind a pause are told from those before it.
pub(super) const SHARE: f64 = 0.1;

/// Line times of a frame from one to the next at this share.
const SPACING: u64 = 10;

/// Number of frames whose time is left free behind the last one.
pub(super) const SPARE: u32 = 16;

/// Maximum number of frames of a search.
const FRAMES_MAX: u32 = 1 << 20;

/// Sends `frames` frames of `size` bytes from `a` to `b`, which is paused until all of them are there.
/// `a` ignores pauses.
pub(super) fn fill(
    cx: &mut Context<'_>,
    (a, b): (Port, Port),
    priority: Priority,
    (frames, size): (u32, u32),
) -> Result<Observation, Trouble> {
    let window = congestion::window(cx);
    let start = window.div(8);
    let mut trial = Trial::new(format!("{frames} frames into a paused port"), Duration::ZERO);
    let full = start + time(cx, frames + SPARE, size);
    let release = hold(cx, &mut trial, (b, priority), full);
    let flow = Flow::new((a, b), priority, Limit::Frames(frames)).rate(Rate::Line(SHARE));
    trial.flow(flow.size(size).start(start));
    trial.obeys.push((a, Obeys::Nothing));
    trial.length = release + window.saturating_mul(2);
    cx.observe(&trial)
}

/// Returns the time in which so many frames are sent.
pub(super) fn time(cx: &Context<'_>, frames: u32, size: u32) -> Duration {
    cx.setup.line_time(size).saturating_mul(SPACING).saturating_mul(u64::from(frames))
}

/// Pauses a port from the start of a trial until `until`, and resumes it soon after. Returns the time
/// at which it is resumed.
pub(super) fn hold(
    cx: &Context<'_>,
    trial: &mut Trial,
    (port, priority): (Port, Priority),
    until: Duration,
) -> Duration {
    let (window, mac) = (congestion::window(cx), cx.port(port).mac);
    let set = PrioritySet::of(priority);
    trial.storm((port, mac, cx.setup.rate), set, (Duration::ZERO, until + window));
    // The last frame of the storm is sent by `until`.
    let release = until + window.div(16);
    trial.pfc(port, mac, &[(priority, Quanta(0))], release);
    release
}

/// Searches the least number of shortest frames that cause a pause of `a`, up to `most`.
pub(super) fn xoff(
    cx: &mut Context<'_>,
    ends: (Port, Port),
    priority: Priority,
    most: u32,
) -> Result<Option<u32>, Trouble> {
    least(most, |frames| {
        let seen = fill(cx, ends, priority, (frames, SIZE))?;
        Ok(seen.pauses(ends.0).any(|pause| pause.stops(priority)))
    })
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
