//! The part that tests of the PFC watchdog have in common: a storm until the watchdog has detected it.

use super::{fill, stop};
use crate::bench::Trouble;
use crate::observation::{Observation, Way};
use crate::setup::{Action, ExpectedWatchdog};
use crate::test::Context;
use crate::trial::{Flow, FlowId, Limit, Port, Rate, Trial};
use ground::time::Duration;
use ground::units::{Priority, PrioritySet};

/// Frames' times for which A is held back before it resumes.
const HELD: u64 = 64;

/// A storm that was recorded, and its times.
pub(super) struct Storm {
    pub(super) seen: Observation,
    /// First pause.
    pub(super) begin: Duration,
    /// Last pause.
    pub(super) last: Duration,
    /// End of the last pause.
    pub(super) end: Duration,
    /// Time at which the tester, which obeys, sends the stormed priority again during the storm: the
    /// device has detected it and takes frames to drop them. `None` if it never does.
    pub(super) detected: Option<Duration>,
    /// Arrival of the first frame of the priority after the storm.
    pub(super) restored: Option<Duration>,
}

/// Returns the watchdog of a device that drops.
pub(super) fn expected(cx: &Context<'_>) -> Result<ExpectedWatchdog, Trouble> {
    let dog = cx.setup.expected.watchdog.ok_or_else(|| fill::missing("watchdog"))?;
    if dog.action != Action::Drop {
        let what = "expected.watchdog.action: forward; the times are seen where frames are dropped";
        return Err(Trouble::Missing(what.to_owned()));
    }
    Ok(dog)
}

/// Sends the priority from `a` at 90 % of the line, and another one at 5 %, into a storm at `b` for
/// three detection times. Flow 0 is the priority's.
pub(super) fn storm(
    cx: &mut Context<'_>,
    (a, b): (Port, Port),
    (priority, other): (Priority, Priority),
    dog: ExpectedWatchdog,
) -> Result<Storm, Trouble> {
    let pause = cx.setup.storm_pause();
    let start = cx.setup.times.baseline;
    let length = dog.detection.saturating_mul(3) + pause;
    let traffic = start + length + pause + dog.restoration.saturating_mul(3) + dog.poll;
    let mut trial = Trial::new("storm for the watchdog", traffic + cx.setup.times.drain);
    trial.storms = true;
    for (priority, share) in [(priority, 0.9), (other, 0.05)] {
        let flow = Flow::new((a, b), priority, Limit::Time(traffic));
        trial.flow(flow.rate(Rate::Line(share)));
    }
    let set = PrioritySet::of(priority);
    stop::add(cx, &mut trial, (b, set), (start, length));
    let seen = cx.observe(&trial)?;
    cx.at_rest(&seen, &trial, &(start.div(4)..start))?;
    let sent: Vec<_> = seen.control_sent(b).map(|(record, _)| record.end).collect();
    let (Some(begin), Some(last)) = (sent.first().copied(), sent.last().copied()) else {
        return Err(Trouble::Error("the tester sent no pause".into()));
    };
    let end = last + pause;
    let detected = resumed(&seen, begin..end, cx.setup.line_time(1024));
    if detected.is_none() {
        fills(cx, &seen, (a, priority), begin + dog.detection)?;
    }
    let restored = seen.of(FlowId(0), Way::Received).map(|r| r.end).find(|at| *at > end);
    Ok(Storm { seen, begin, last, end, detected, restored })
}

/// Returns the priority next to that of a storm: lossless as well if there are two.
pub(super) fn other(cx: &Context<'_>) -> Result<Priority, Trouble> {
    cx.setup.lossless.iter().nth(1).map_or_else(|| cx.lossy(), Ok)
}

/// Returns three detection times, or the time of 400 frames at a share of the line if that is longer,
/// so that its rate can be judged.
pub(super) fn judged(cx: &Context<'_>, dog: ExpectedWatchdog, share: f64) -> Duration {
    let frames = cx.setup.line_time(1024).as_nanos_f64() * 400.0 / share;
    dog.detection.saturating_mul(3).max(Duration::from_nanos_f64(frames))
}

/// Returns the time by which a detection or a restoration may be late: a poll, XON of the device,
/// the tester's reaction, and the frames between.
pub(super) fn slack(cx: &Context<'_>, dog: ExpectedWatchdog) -> Duration {
    let reaction = cx.setup.stop_limit().saturating_mul(2);
    dog.poll + reaction + cx.setup.line_time(1024).saturating_mul(4)
}

/// Checks that the device has paused `a` long enough before a time for the end of that to be seen.
///
/// # Errors
/// It has not.
fn fills(
    cx: &Context<'_>,
    seen: &Observation,
    (a, priority): (Port, Priority),
    until: Duration,
) -> Result<(), Trouble> {
    let held = cx.setup.line_time(1024).saturating_mul(2 * HELD);
    let first = cx.first_stop(seen, a, priority);
    if first.is_some_and(|at| at + held < until) {
        return Ok(());
    }
    let what = "expected.watchdog.detection: the device does not fill up and pause A in that time, so \
                its end is not seen";
    Err(Trouble::Missing(what.to_owned()))
}

/// Returns the time at which flow 0 is sent again in a span after it was held back.
fn resumed(
    seen: &Observation,
    span: core::ops::Range<Duration>,
    frame: Duration,
) -> Option<Duration> {
    let sent: Vec<_> = seen.of(FlowId(0), Way::Sent).filter(|r| span.contains(&r.begin)).collect();
    let held = frame.saturating_mul(HELD);
    let pairs = sent.windows(2).filter(|pair| pair[1].begin.saturating_sub(pair[0].end) > held);
    pairs.map(|pair| pair[1].begin).next()
}
