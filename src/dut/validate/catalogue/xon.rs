//! The part that tests of XON have in common: a group that is filled up to XOFF, and of which a known
//! number of cells is drained.
//!
//! Two ports are paused, so all frames stay in the ingress group of A. Then one of them is resumed: exactly
//! the frames to that port leave the group, without any measured time.

use super::{congestion, fill};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::Context;
use crate::trial::{Flow, Limit, Obeys, Port, Rate, Trial};
use ground::time::Duration;
use ground::units::{Priority, PrioritySet};

/// Number of frames behind XOFF, so that a group without hysteresis is seen to resume at XOFF.
const BEHIND: u32 = 2;

/// The point at which a group sends XON.
#[derive(Clone, Copy)]
pub(super) struct Point {
    /// Number of shortest frames, each a cell, that cause XOFF.
    pub xoff: u32,
    /// Number of frames behind XOFF.
    behind: u32,
    /// Number of frames of `xoff` and `behind` that must leave before XON.
    drained: u32,
}

impl Point {
    /// Returns the cells below XOFF at which XON is sent.
    pub fn offset(self) -> f64 {
        f64::from(self.drained) - f64::from(self.behind)
    }
}

/// Searches the point at which a group sends XON. Judges a failure if it sends no XOFF, or no XON.
pub(super) fn point(
    cx: &mut Context<'_>,
    ports: [Port; 3],
    priority: Priority,
) -> Result<Option<Point>, Trouble> {
    let xoff = fill::threshold(cx, 1)?;
    if cx.setup.expected.expiry_only {
        let what = "expected.expiry_only: the device sends no XON";
        return Err(Trouble::Missing(what.to_owned()));
    }
    let most = fill::bound(cx, xoff, cx.setup.shortest())?;
    let Some(xoff) =
        fill::xoff(cx, (&ports[..1], ports[1]), priority, (most, cx.setup.shortest()))?
    else {
        let what = format!("pauses of priority {priority} for {most} frames");
        cx.count(what, 0, Limits::at_least(1.0));
        return Ok(None);
    };
    behind(cx, ports, priority, (xoff, BEHIND))
}

/// Searches the same point with `behind` frames behind XOFF, in the headroom.
pub(super) fn behind(
    cx: &mut Context<'_>,
    ports: [Port; 3],
    priority: Priority,
    (xoff, behind): (u32, u32),
) -> Result<Option<Point>, Trouble> {
    let all = xoff + behind;
    let drained = fill::least(all, |drained| resumes(cx, ports, priority, (all, drained, 0)))?;
    let Some(drained) = drained else {
        let what = format!("XON of priority {priority} after all frames have left");
        cx.count(what, 0, Limits::at_least(1.0));
        return Ok(None);
    };
    Ok(Some(Point { xoff, behind, drained }))
}

/// Returns the number of further runs, of `runs`, in which XON comes after fewer frames, or does not
/// come after as many.
pub(super) fn deviations(
    cx: &mut Context<'_>,
    ports: [Port; 3],
    priority: Priority,
    (point, runs): (Point, u32),
) -> Result<u64, Trouble> {
    let all = point.xoff + point.behind;
    let mut deviations = 0;
    for round in 1..=runs {
        // By turns: the last number without XON, and the first one with it.
        let drained = if round % 2 == 0 { point.drained - 1 } else { point.drained };
        let resumes = drained > 0 && resumes(cx, ports, priority, (all, drained, round))?;
        deviations += u64::from(resumes != (drained == point.drained));
    }
    Ok(deviations)
}

/// Fills the group of A with `all` frames, of which `drained` leave by C, and returns true if XON comes
/// before the others leave by B.
fn resumes(
    cx: &mut Context<'_>,
    [a, b, c]: [Port; 3],
    priority: Priority,
    (all, drained, round): (u32, u32, u32),
) -> Result<bool, Trouble> {
    let start = congestion::window(cx).div(8);
    let mut trial = Trial::new(format!("XON after {drained} of {all} frames"), Duration::ZERO);
    trial.round = round;
    trial.obeys.push((a, Obeys::Nothing));
    let full = start + fill::time(cx, all + 2 * fill::SPARE, cx.setup.shortest());
    let set = PrioritySet::of(priority);
    let release = fill::hold(cx, &mut trial, (c, set), Duration::ZERO..full)?;
    let until = release + wait(cx, release)?;
    let end = fill::hold(cx, &mut trial, (b, set), Duration::ZERO..until)?;
    trial.length = end + congestion::window(cx).saturating_mul(2);
    let flow = |to, frames| {
        let flow = Flow::new((a, to), priority, Limit::Frames(frames));
        flow.rate(Rate::Line(fill::SHARE)).size(cx.setup.shortest())
    };
    let drain = trial.flow(flow(c, drained).start(start));
    if all > drained {
        let later = start + fill::time(cx, drained + fill::SPARE, cx.setup.shortest());
        trial.flow(flow(b, all - drained).start(later));
    }
    let seen = cx.observe(&trial)?;
    let u = seen.uncertainty;
    if end.saturating_sub(release) < u.saturating_mul(4) {
        let what = format!("times are uncertain by {} ns, too much for this test", u.as_nanos());
        return Err(Trouble::Disturbed(what));
    }
    for n in 0..trial.flows.len() {
        let lost = seen.tally(crate::trial::FlowId(n)).lost();
        if lost > 0 {
            let what = format!("{lost} of {all} frames are lost behind XOFF; see V-H02");
            return Err(Trouble::Error(what));
        }
    }
    let left = seen.began_in(drain, &(Duration::ZERO..end.saturating_sub(u)));
    if left != u64::from(drained) {
        let what = format!("{left} of {drained} frames left by the port that was resumed");
        return Err(Trouble::Error(what));
    }
    let pauses = congestion::pauses(&seen, a, priority);
    let Some(xoff) = pauses.iter().find(|pause| pause.stops(priority)) else {
        let what = format!("{all} frames cause no pause, and fewer did before");
        return Err(Trouble::Error(what));
    };
    let in_time = |at: Duration| at > xoff.at && at + u < end;
    Ok(pauses.iter().any(|pause| pause.resumes(priority) && in_time(pause.at)))
}

/// Returns the time in which XON must come after `release`, before the watchdog takes the pause for a storm.
fn wait(cx: &Context<'_>, release: Duration) -> Result<Duration, Trouble> {
    let window = congestion::window(cx);
    let most = cx.setup.storm_max().saturating_sub(release + window.div(8));
    if most < window.div(8) {
        let what = "expected.watchdog.detection: a group is not filled before the watchdog acts";
        return Err(Trouble::Missing(what.to_owned()));
    }
    Ok(window.max(cx.setup.limits.resume).min(most))
}
