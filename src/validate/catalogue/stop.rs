//! The part that tests of obeyed pauses have in common: traffic on all priorities, a storm for some.

use core::ops::Range;

use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::{Observation, Way};
use crate::test::Context;
use crate::trial::{Flow, FlowId, Limit, Port, Rate, Trial};
use ground::time::Duration;
use ground::units::{Priority, PrioritySet, Quanta};

/// Share of the line that all flows have together: a little less than all, so that a sender in
/// software keeps its rates.
const OFFERED: f64 = 0.98;

/// A trial with a storm.
pub(super) struct Storm {
    pub(super) trial: Trial,
    /// The priority of each flow.
    pub(super) priorities: Vec<Priority>,
    /// Time of traffic without a stimulus.
    pub(super) rest: Range<Duration>,
}

/// Returns traffic of frames of `size` bytes on all priorities from `a` to `b`, an equal share of the
/// line each, and a storm for `set` at `b` in the middle of it.
pub(super) fn storm(cx: &Context<'_>, (a, b): (Port, Port), set: PrioritySet, size: u32) -> Storm {
    let times = cx.setup.times;
    let priorities: Vec<_> = cx.priorities().iter().collect();
    let hold = times.hold.min(cx.setup.storm_max());
    let traffic = times.baseline + hold + times.settle;
    let named: Vec<_> = set.iter().map(|p| p.to_string()).collect();
    let name = format!("storm for {}", named.join(", "));
    let mut trial = Trial::new(name, traffic + times.drain);
    let share = OFFERED / priorities.len() as f64;
    for priority in &priorities {
        let flow = Flow::new((a, b), *priority, Limit::Time(traffic));
        trial.flow(flow.rate(Rate::Line(share)).size(size));
    }
    let from = times.baseline;
    trial.storm((b, cx.port(b).mac, cx.setup.rate), set, (from, from + hold));
    Storm { trial, priorities, rest: times.baseline.div(4)..times.baseline }
}

/// Returns the time in which frames of a paused priority may not begin: from the limit after the
/// first pause to the end of the last one, less the deviation of two clocks.
pub(super) fn held(
    cx: &Context<'_>,
    seen: &Observation,
    port: Port,
) -> Result<Range<Duration>, Trouble> {
    let ends: Vec<_> = seen.control_sent(port).map(|(record, _)| record.end).collect();
    let (Some(first), Some(last)) = (ends.first(), ends.last()) else {
        return Err(Trouble::Error("the tester sent no pause".into()));
    };
    let window = Quanta::MAX.at(cx.setup.rate);
    // 802.3 allows 100 ppm for each clock.
    let end = *last + window.saturating_sub(window.div(5_000));
    Ok(*first + cx.setup.stop_limit()..end)
}

/// Judges a storm: its priorities stop, the others notice nothing, no frame is lost.
pub(super) fn judge(
    cx: &mut Context<'_>,
    storm: &Storm,
    seen: &Observation,
    (port, set): (Port, PrioritySet),
) -> Result<(), Trouble> {
    cx.at_rest(seen, &storm.trial, &storm.rest)?;
    let held = held(cx, seen, port)?;
    for (n, priority) in storm.priorities.iter().enumerate() {
        let flow = FlowId(n);
        if set.contains(*priority) {
            none_began(cx, seen, (flow, *priority), &held);
        } else {
            cx.rate(seen, &storm.trial, flow, &held);
        }
        let lost = seen.tally(flow).lost();
        cx.count(format!("lost frames of priority {priority}"), lost, Limits::exactly(0.0));
    }
    Ok(())
}

/// Judges that no frame of a flow began in a span. Frames that are closer to its ends than the
/// uncertainty of their times make it inconclusive.
pub(super) fn none_began(
    cx: &mut Context<'_>,
    seen: &Observation,
    (flow, priority): (FlowId, Priority),
    span: &Range<Duration>,
) {
    let u = seen.uncertainty;
    let sure = span.start + u..span.end.saturating_sub(u);
    let count = seen.began_in(flow, &sure);
    let near = seen.began_in(flow, &(span.start.saturating_sub(u)..span.end + u)) - count;
    let last = seen.of(flow, Way::Received).filter(|r| sure.contains(&r.begin)).last();
    let what = match last {
        Some(last) => format!(
            "frames of priority {priority} against the pause (the last {} ns after the limit)",
            last.begin.saturating_sub(span.start).as_nanos()
        ),
        None => format!("frames of priority {priority} against the pause"),
    };
    // A span within the uncertainty of its ends says nothing.
    let uncertainty = match count {
        0 if sure.is_empty() => 1.0,
        0 => near as f64,
        _ => 0.0,
    };
    cx.judge(what, count as f64, Limits::exactly(0.0), uncertainty, "frames");
}
