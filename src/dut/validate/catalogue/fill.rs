//! The part that tests of thresholds have in common: a port that sends nothing, a number of frames that the
//! device must hold, and the search of the number at which it sends XOFF or XON.
//!
//! For XON two ports are paused, so all frames stay in the ingress group of A. Then one of them is resumed:
//! exactly the frames to that port leave the group, without any measured time.

use super::congestion;
use crate::bench::TrialError;
use crate::judge::Limits;
use crate::observation::Observation;
use crate::test::Context;
use crate::trial::{Flow, Limit, Obeys, Port, Rate, Trial};
use core::ops::Range;
use ground::time::Duration;
use ground::units::{Bytes, Priority, PrioritySet, Quanta};

/// Share of the line: slow enough that frames behind a pause are told from those before it.
pub(super) const SHARE: f64 = 0.1;

/// Line times of a frame from one to the next at this share.
const SPACING: u64 = 10;

/// Number of frames whose time is left free behind the last one.
pub(super) const SPARE: u32 = 16;

/// Maximum number of frames of a search.
const FRAMES_MAX: u32 = 1 << 20;

/// Frames of one priority and length from some ports to one that is paused.
#[derive(Clone, Copy)]
pub(super) struct Filling<'a> {
    pub(super) from: &'a [Port],
    pub(super) to: Port,
    pub(super) priority: Priority,
    /// Length of the frames in bytes.
    pub(super) size: u32,
}

/// Sends `frames` frames from each sender to the port, which is paused until all of them are there. The
/// senders ignore pauses.
pub(super) fn fill(
    cx: &mut Context<'_>,
    filling: Filling<'_>,
    frames: u32,
) -> Result<Observation, TrialError> {
    let trial = trial(cx, filling, frames)?;
    cx.observe(&trial)
}

/// Returns the trial of [`fill`].
///
/// # Errors
/// The watchdog would take the pause for a storm.
pub(super) fn trial(
    cx: &Context<'_>,
    filling: Filling<'_>,
    frames: u32,
) -> Result<Trial, TrialError> {
    let Filling { from, to, priority, size } = filling;
    let window = congestion::window(cx);
    // The port is paused well before the first frame comes.
    let start = window.div(8);
    let mut trial = Trial::new(format!("{frames} frames into a paused port"), Duration::ZERO);
    let full = start + time(cx, frames + SPARE, size);
    let release = hold(cx, &mut trial, to, PrioritySet::of(priority), Duration::ZERO..full)?;
    for from in from {
        let flow = Flow::new((*from, to), priority, Limit::Frames(frames));
        trial.flow(flow.rate(Rate::Line(SHARE)).size(size).start(start));
        trial.obeys.push((*from, Obeys::Nothing));
    }
    trial.length = release + window.saturating_mul(2);
    Ok(trial)
}

/// Returns the time in which so many frames are sent.
pub(super) fn time(cx: &Context<'_>, frames: u32, size: u32) -> Duration {
    cx.setup.line_time(size).saturating_mul(SPACING).saturating_mul(u64::from(frames))
}

/// Pauses a port in a span, and resumes it soon after. Returns the time at which it is resumed.
///
/// # Errors
/// The watchdog would take this for a storm.
pub(super) fn hold(
    cx: &Context<'_>,
    trial: &mut Trial,
    port: Port,
    set: PrioritySet,
    span: Range<Duration>,
) -> Result<Duration, TrialError> {
    let (window, mac) = (congestion::window(cx), cx.port(port).mac);
    trial.storm(port, mac, cx.setup.rate, set, (span.start, span.end + window));
    // The last frame of the storm is sent by the end of the span.
    let release = span.end + window.div(16);
    if release.saturating_sub(span.start) > cx.setup.storm_max() {
        let what = format!(
            "expected.watchdog.detection: it acts before the frames of a trial are sent, which takes {} us",
            release.as_nanos().div_ceil(1000)
        );
        return Err(TrialError::Missing(what));
    }
    let times: Vec<_> = set.iter().map(|priority| (priority, Quanta(0))).collect();
    trial.pfc(port, mac, &times, release);
    Ok(release)
}

/// Searches the least number of frames from each sender that cause a pause of any of them, up to `most`.
pub(super) fn xoff(
    cx: &mut Context<'_>,
    filling: Filling<'_>,
    most: u32,
) -> Result<Option<u32>, TrialError> {
    least(most, |frames| {
        let observed = fill(cx, filling, frames)?;
        let stopped =
            |port: &Port| observed.pauses(*port).any(|pause| pause.stops(filling.priority));
        Ok(filling.from.iter().any(stopped))
    })
}

/// Returns the least number of frames for which `is_over` holds, if it holds for every larger one;
/// `None` if it does not hold for `most`.
pub(super) fn least(
    most: u32,
    mut is_over: impl FnMut(u32) -> Result<bool, TrialError>,
) -> Result<Option<u32>, TrialError> {
    if !is_over(most)? {
        return Ok(None);
    }
    // `below` frames are too few, and `over` frames are enough, all the time.
    let (mut below, mut over) = (0, most);
    while over - below > 1 {
        let middle = below + (over - below) / 2;
        if is_over(middle)? { over = middle } else { below = middle }
    }
    Ok(Some(over))
}

/// Returns the number of frames of `size` bytes to look for a threshold in: twice as many as it takes.
pub(super) fn bound(cx: &Context<'_>, threshold: Bytes, size: u32) -> Result<u32, TrialError> {
    // A threshold of a few cells is searched with frames to spare.
    let frames = threshold.0 * 2 / u64::from(used(cx, size)?) + 64;
    match u32::try_from(frames) {
        Ok(frames) if frames <= FRAMES_MAX => Ok(frames),
        _ => Err(TrialError::Missing(format!(
            "expected: {frames} frames are more than {FRAMES_MAX}, the most that a search sends"
        ))),
    }
}

/// Returns the bytes of the cells that a frame uses.
pub(super) fn used(cx: &Context<'_>, size: u32) -> Result<u32, TrialError> {
    let cell = cx.setup.expected.cell.ok_or_else(|| missing("cell"))?;
    // A file may say 0, by which nothing can be divided.
    let cell = u32::try_from(cell.0).unwrap_or(u32::MAX).max(1);
    Ok(size.div_ceil(cell).saturating_mul(cell))
}

/// Returns the bytes that a shortest frame uses: a cell, or more if cells are smaller.
pub(super) fn cell(cx: &Context<'_>) -> Result<u32, TrialError> {
    used(cx, cx.setup.shortest())
}

/// Returns the bytes at which each of `groups` equal groups that are filled alike sends XOFF: the static
/// threshold, or for a dynamic one the solution of `x = alpha (shared - groups x)`.
pub(super) fn threshold(cx: &Context<'_>, groups: usize) -> Result<Bytes, TrialError> {
    let expected = &cx.setup.expected;
    if let Some(xoff) = expected.xoff {
        return Ok(xoff);
    }
    let alpha = expected.alpha().ok_or_else(|| missing("xoff"))?;
    let shared = expected.shared.ok_or_else(|| missing("shared"))?;
    Ok(Bytes((shared.0 as f64 * alpha / (1.0 + alpha * groups as f64)) as u64))
}

pub(super) fn missing(field: &str) -> TrialError {
    TrialError::Missing(format!("expected.{field} is missing; add it to the file"))
}

/// Number of frames behind XOFF, so that a group without hysteresis is seen to resume at XOFF.
const BEHIND: u32 = 2;

/// The point at which a group sends XON.
#[derive(Clone, Copy)]
pub(super) struct XonPoint {
    /// Number of shortest frames, each a cell, that cause XOFF.
    pub(super) xoff: u32,
    /// Number of frames behind XOFF.
    behind: u32,
    /// Number of frames of `xoff` and `behind` that must leave before XON.
    drained: u32,
}

impl XonPoint {
    /// Returns the cells below XOFF at which XON is sent.
    pub(super) fn offset(self) -> f64 {
        f64::from(self.drained) - f64::from(self.behind)
    }
}

/// Searches the point at which a group sends XON. Judges a failure if it sends no XOFF, or no XON.
pub(super) fn xon_point(
    cx: &mut Context<'_>,
    ports: [Port; 3],
    priority: Priority,
) -> Result<Option<XonPoint>, TrialError> {
    let bytes = threshold(cx, 1)?;
    // A device that lets its pauses expire has no XON to search for.
    if cx.setup.expected.expiry_only {
        let what = "expected.expiry_only: the device sends no XON";
        return Err(TrialError::Missing(what.to_owned()));
    }
    let size = cx.setup.shortest();
    let filling = Filling { from: &ports[..1], to: ports[1], priority, size };
    let most = bound(cx, bytes, size)?;
    let Some(xoff) = xoff(cx, filling, most)? else {
        let what = format!("pauses of priority {priority} for {most} frames");
        cx.count(what, 0, Limits::at_least(1.0));
        return Ok(None);
    };
    xon_behind(cx, ports, priority, xoff, BEHIND)
}

/// Searches the same point with `behind` frames behind XOFF, in the headroom.
pub(super) fn xon_behind(
    cx: &mut Context<'_>,
    ports: [Port; 3],
    priority: Priority,
    xoff: u32,
    behind: u32,
) -> Result<Option<XonPoint>, TrialError> {
    let all = xoff + behind;
    let drained =
        least(all, |drained| resumes(cx, ports, priority, Drained { all, drained, round: 0 }))?;
    let Some(drained) = drained else {
        let what = format!("XON of priority {priority} after all frames have left");
        cx.count(what, 0, Limits::at_least(1.0));
        return Ok(None);
    };
    Ok(Some(XonPoint { xoff, behind, drained }))
}

/// Returns the number of further runs, of `runs`, in which XON comes after fewer frames, or does not
/// come after as many.
pub(super) fn xon_deviations(
    cx: &mut Context<'_>,
    ports: [Port; 3],
    priority: Priority,
    point: XonPoint,
    runs: u32,
) -> Result<u64, TrialError> {
    let all = point.xoff + point.behind;
    let mut deviations = 0;
    for round in 1..=runs {
        // By turns: the last number without XON, and the first one with it.
        let drained = if round % 2 == 0 { point.drained - 1 } else { point.drained };
        // Without a frame that leaves there is nothing to try: XON cannot come.
        let resumes = drained > 0 && resumes(cx, ports, priority, Drained { all, drained, round })?;
        deviations += u64::from(resumes != (drained == point.drained));
    }
    Ok(deviations)
}

/// Frames of a trial in which a group is filled and then drained.
struct Drained {
    /// Frames that fill the group.
    all: u32,
    /// Frames of these that leave before the others do.
    drained: u32,
    round: u32,
}

/// Fills the group of A with `all` frames, of which `drained` leave by C, and returns true if XON comes
/// before the others leave by B.
fn resumes(
    cx: &mut Context<'_>,
    [a, b, c]: [Port; 3],
    priority: Priority,
    Drained { all, drained, round }: Drained,
) -> Result<bool, TrialError> {
    let start = congestion::window(cx).div(8);
    let mut trial = Trial::new(format!("XON after {drained} of {all} frames"), Duration::ZERO);
    trial.round = round;
    // A has to go on where the device pauses it, or the group is not filled.
    trial.obeys.push((a, Obeys::Nothing));
    let full = start + time(cx, all + 2 * SPARE, cx.setup.shortest());
    let set = PrioritySet::of(priority);
    // C is resumed first, so that the frames to it drain, and B at the end.
    let release = hold(cx, &mut trial, c, set, Duration::ZERO..full)?;
    let until = release + wait(cx, release)?;
    let end = hold(cx, &mut trial, b, set, Duration::ZERO..until)?;
    trial.length = end + congestion::window(cx).saturating_mul(2);
    let flow = |to, frames| {
        let flow = Flow::new((a, to), priority, Limit::Frames(frames));
        flow.rate(Rate::Line(SHARE)).size(cx.setup.shortest())
    };
    let drain = trial.flow(flow(c, drained).start(start));
    if all > drained {
        // The frames to B follow when those to C are all there.
        let later = start + time(cx, drained + SPARE, cx.setup.shortest());
        trial.flow(flow(b, all - drained).start(later));
    }
    let observed = cx.observe(&trial)?;
    let u = observed.uncertainty;
    // Both resumptions have to be told apart by their time stamps.
    if end.saturating_sub(release) < u.saturating_mul(4) {
        let what = format!("times are uncertain by {} ns, too much for this test", u.as_nanos());
        return Err(TrialError::Disturbed(what));
    }
    for n in 0..trial.flows.len() {
        let lost = observed.tally(crate::trial::FlowId(n)).lost();
        if lost > 0 {
            let what = format!("{lost} of {all} frames are lost behind XOFF; see V-H02");
            return Err(TrialError::Error(what));
        }
    }
    let left = observed.began_in(drain, &(Duration::ZERO..end.saturating_sub(u)));
    // With another number of frames in the group the search would find another point.
    if left != u64::from(drained) {
        let what = format!("{left} of {drained} frames left by the port that was resumed");
        return Err(TrialError::Error(what));
    }
    let pauses = congestion::pauses(&observed, a, priority);
    let Some(xoff) = pauses.iter().find(|pause| pause.stops(priority)) else {
        let what = format!("{all} frames cause no pause, and fewer did before");
        return Err(TrialError::Error(what));
    };
    let in_time = |at: Duration| at > xoff.at && at + u < end;
    Ok(pauses.iter().any(|pause| pause.resumes(priority) && in_time(pause.at)))
}

/// Returns the time in which XON must come after `release`, before the watchdog takes the pause for a storm.
fn wait(cx: &Context<'_>, release: Duration) -> Result<Duration, TrialError> {
    let window = congestion::window(cx);
    // The watchdog of the device counts from the beginning of the pause, and not from `release`.
    let most = cx.setup.storm_max().saturating_sub(release + window.div(8));
    if most < window.div(8) {
        let what = "expected.watchdog.detection: a group is not filled before the watchdog acts";
        return Err(TrialError::Missing(what.to_owned()));
    }
    Ok(window.max(cx.setup.limits.resume).min(most))
}
