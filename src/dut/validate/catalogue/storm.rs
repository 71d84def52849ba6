//! The part that tests of obeyed pauses have in common: traffic on all priorities, a storm for some, and the
//! end of a pause as seen by the frames of a flow.

use crate::bench::TrialError;
use crate::judge::{Limits, readable};
use crate::observation::{Observation, Way};
use crate::test::Context;
use crate::trial::{Control, Flow, FlowId, Limit, Port, Rate, Trial};
use core::ops::Range;
use ground::time::Duration;
use ground::units::{Mac, Priority, PrioritySet, Quanta};

/// Length of the frames in bytes.
pub(super) const SIZE: u32 = 1024;

/// Parts of the time in percent for which a priority is paused periodically.
pub(super) const DUTIES: [u64; 5] = [10, 25, 50, 75, 90];

/// Longest period of such pauses in quanta: long against the reaction of a port, and 90 % of it fits into a pause.
const PERIOD: u64 = 70_000;

/// Returns the period of periodic pauses in quanta. It is shorter where the DUT's watchdog would take them for storms.
pub(super) fn period(cx: &Context<'_>) -> u64 {
    PERIOD.min(u64::from(cx.setup.pause_max().0) * 100 / DUTIES[DUTIES.len() - 1])
}

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
pub(super) fn for_set(cx: &Context<'_>, ends: (Port, Port), set: PrioritySet, size: u32) -> Storm {
    let (_, b) = ends;
    let named: Vec<_> = set.iter().map(|p| p.to_string()).collect();
    let word = if named.len() == 1 { "priority" } else { "priorities" };
    let name = format!("storm for {word} {}", named.join(", "));
    let mut storm = traffic(cx, ends, name, size, hold(cx));
    let from = cx.setup.times.baseline;
    let span = (from, from + hold(cx));
    let octets = cx.pause(b, set, longest(cx));
    let pause = longest(cx).at(cx.setup.rate);
    // Each pause is renewed after half of its time: a frame of the storm may be late without a gap.
    storm.trial.repeat(b, pause, octets, pause.div(2), span);
    storm
}

/// Returns the time of each pause of a storm: the longest there is, or one of which several fit into the time
/// that the DUT's watchdog allows.
pub(super) fn longest(cx: &Context<'_>) -> Quanta {
    match cx.setup.pause_max() {
        Quanta::MAX => Quanta::MAX,
        _ => quanta(cx, Duration::MAX),
    }
}

/// Adds a storm of any length, also one that is shorter than the longest pause: its last pause ends with
/// the span.
pub(super) fn add(
    cx: &Context<'_>,
    trial: &mut Trial,
    port: Port,
    set: PrioritySet,
    span: &Range<Duration>,
) {
    let (start, length) = (span.start, span.end.saturating_sub(span.start));
    let pause = cx.setup.storm_pause().min(length);
    let octets = cx.pause(port, set, quanta(cx, length));
    let left = length.saturating_sub(pause);
    let more = left.as_picos().div_ceil(pause.div(2).as_picos().max(1));
    // The renewals are spread evenly, at most half of a pause apart, so that the last one ends with the span.
    let every = if more == 0 { pause } else { left.div(more) };
    trial.control.push(Control { port, octets, start, every, frames: 1 + more as u32 });
}

/// Returns the time of each pause of a storm of this length.
fn quanta(cx: &Context<'_>, length: Duration) -> Quanta {
    let quantum = Quanta(1).at(cx.setup.rate).as_picos().max(1);
    let pause = cx.setup.storm_pause().min(length);
    // A time of zero would resume.
    Quanta((pause.as_picos() / quantum).clamp(1, u64::from(u16::MAX)) as u16)
}

/// Returns the time for which a storm lasts.
fn hold(cx: &Context<'_>) -> Duration {
    cx.setup.times.hold.min(cx.setup.storm_max())
}

/// Returns the same traffic with any frame at `b`, repeated as the pauses of a storm are, for as long as a storm
/// lasts if it may stop a priority.
pub(super) fn repeated(
    cx: &Context<'_>,
    ends: (Port, Port),
    name: &str,
    octets: Vec<u8>,
    stops: bool,
) -> Storm {
    let (_, b) = ends;
    // Frames that stop nothing do not trip a watchdog, so they are sent for the whole time.
    let hold = if stops { hold(cx) } else { cx.setup.times.hold };
    let mut storm = traffic(cx, ends, name.to_owned(), SIZE, hold);
    let from = cx.setup.times.baseline;
    let pause = longest(cx).at(cx.setup.rate);
    storm.trial.repeat(b, pause, octets, pause.div(2), (from, from + hold));
    storm
}

/// Returns traffic on all priorities from `a` to `b`, an equal share of the line each, for a
/// baseline, a stimulus of `hold`, and a time after it.
pub(super) fn traffic(
    cx: &Context<'_>,
    ends: (Port, Port),
    name: String,
    size: u32,
    hold: Duration,
) -> Storm {
    let times = cx.setup.times;
    let priorities: Vec<_> = cx.priorities().iter().collect();
    let traffic = times.baseline + hold + times.settle;
    let mut trial = Trial::new(name, traffic + times.drain);
    // Together no more than the load of the file, so that the device queues nothing by itself.
    let share = cx.setup.load / priorities.len() as f64;
    for priority in &priorities {
        let flow = Flow::new(ends, *priority, Limit::Time(traffic));
        trial.flow(flow.rate(Rate::Line(share)).size(size));
    }
    Storm { trial, priorities, rest: times.baseline.div(4)..times.baseline }
}

/// Returns the time after the last pause of a storm at which it is ended by XON: late enough for the frames
/// that may still begin to be told from those against the pause, and long before the pause ends by itself.
pub(super) fn until_xon(cx: &Context<'_>) -> Duration {
    let window = longest(cx).at(cx.setup.rate);
    cx.setup.stop_limit().saturating_mul(3).clamp(window.div(16), window.div(4))
}

/// Returns the time in which frames of a paused priority may not begin: from the limit after the
/// first pause to the end of the last one, less the deviation of two clocks.
pub(super) fn held(
    cx: &Context<'_>,
    observed: &Observation,
    port: Port,
) -> Result<Range<Duration>, TrialError> {
    held_since(cx, observed, port, Duration::ZERO)
}

/// Returns the same time for a storm of [`add`] of this length.
pub(super) fn held_for(
    cx: &Context<'_>,
    observed: &Observation,
    port: Port,
    length: Duration,
) -> Result<Range<Duration>, TrialError> {
    held_by(cx, observed, port, Duration::ZERO, quanta(cx, length).at(cx.setup.rate))
}

/// Returns the same time for the pauses from `from` on.
pub(super) fn held_since(
    cx: &Context<'_>,
    observed: &Observation,
    port: Port,
    from: Duration,
) -> Result<Range<Duration>, TrialError> {
    held_by(cx, observed, port, from, longest(cx).at(cx.setup.rate))
}

/// Returns the same time for the pauses from `from` on, each of this length.
fn held_by(
    cx: &Context<'_>,
    observed: &Observation,
    port: Port,
    from: Duration,
    pause: Duration,
) -> Result<Range<Duration>, TrialError> {
    let ends = observed.control_sent(port).map(|(record, _)| record.end);
    let ends: Vec<_> = ends.filter(|end| *end >= from).collect();
    let (Some(first), Some(last)) = (ends.first(), ends.last()) else {
        return Err(TrialError::Error("the tester sent no pause".into()));
    };
    // 802.3 allows 100 ppm for each clock.
    let end = *last + pause.saturating_sub(pause.div(5_000));
    Ok(*first + cx.setup.stop_limit()..end)
}

/// Returns the reason why the rates of the priorities beside a storm cannot be judged, if its pauses hold for too
/// short a time for the frames.
pub(super) fn too_short(cx: &Context<'_>, storm: &Storm, set: PrioritySet) -> Option<String> {
    let control = storm.trial.control.first()?;
    let pauses = control.every.saturating_mul(u64::from(control.frames.saturating_sub(1)));
    // As `held`, by what the tester is to send.
    let held = (pauses + longest(cx).at(cx.setup.rate)).saturating_sub(cx.setup.stop_limit());
    let others = storm.priorities.iter().enumerate().filter(|(_, other)| !set.contains(**other));
    let least = others.map(|(n, _)| cx.least_span(&storm.trial, FlowId(n))).max()?;
    let limit = match cx.setup.expected.watchdog {
        Some(dog) if cx.setup.storm_max() < cx.setup.times.hold => {
            format!("expected.watchdog.detection: a watchdog of {}", dog.detection)
        }
        _ => "times.hold: it".to_owned(),
    };
    (held <= least).then(|| {
        format!(
            "{limit} allows a storm that holds for {}, and the rates of the others need more than {}",
            readable(held),
            readable(least)
        )
    })
}

/// Judges a storm: its priorities stop, the others notice nothing, no frame is lost; of lossy
/// priorities none until the end of the storm.
pub(super) fn judge(
    cx: &mut Context<'_>,
    storm: &Storm,
    observed: &Observation,
    port: Port,
    set: PrioritySet,
) -> Result<(), TrialError> {
    judge_but(cx, storm, observed, port, Stopped { set, open: PrioritySet::EMPTY })
}

/// The required reaction to a storm.
#[derive(Clone, Copy)]
pub(super) struct Stopped {
    /// Priorities that stop.
    pub(super) set: PrioritySet,
    /// Priorities that may stop or go on.
    pub(super) open: PrioritySet,
}

/// Judges a storm as [`judge`] does, but not the rates of the priorities that are left open.
pub(super) fn judge_but(
    cx: &mut Context<'_>,
    storm: &Storm,
    observed: &Observation,
    port: Port,
    Stopped { set, open }: Stopped,
) -> Result<(), TrialError> {
    cx.at_rest(observed, &storm.trial, &storm.rest)?;
    let held = held(cx, observed, port)?;
    for (n, priority) in storm.priorities.iter().enumerate() {
        let flow = FlowId(n);
        if set.contains(*priority) {
            none_began(cx, observed, flow, *priority, &held);
        } else if !open.contains(*priority) {
            cx.rate(observed, &storm.trial, flow, &held);
        }
        // The frames of a NIC have no numbers, so its losses are not seen.
        if cx.is_at_nic() {
            if set.contains(*priority) {
                cx.goes_on(observed, flow, *priority, held.end);
            }
            continue;
        }
        // A lossy priority may lose frames to those that are released.
        let until = match cx.setup.lossless.contains(*priority) {
            true => Duration::MAX,
            false => held.end,
        };
        let lost = observed.lost(flow, &(Duration::ZERO..until));
        lost.iter().for_each(|record| cx.mark(record, "does not arrive"));
        let lost = lost.len() as u64;
        if lost > 0 && set.contains(*priority) && is_endless(observed, storm, flow, held.end) {
            cx.cause(format!("pauses of priority {priority} without an end"), 1);
        }
        cx.count(format!("lost frames of priority {priority}"), lost, Limits::exactly(0.0));
    }
    Ok(())
}

/// Returns true if no frame of a flow begins after the end of a storm, though there is traffic then: the frames
/// are not lost, but held for good.
fn is_endless(observed: &Observation, storm: &Storm, flow: FlowId, end: Duration) -> bool {
    let goes_on = match storm.trial.flows[flow.0].limit {
        Limit::Time(until) => until > end,
        Limit::Frames(_) | Limit::Bursts(_) => false,
    };
    goes_on && observed.began_in(flow, &(end..Duration::MAX)) == 0
}

/// Judges that no frame of a flow began in a span. Frames that are closer to its ends than the
/// uncertainty of their times say nothing: the reaction time has a test of its own.
pub(super) fn none_began(
    cx: &mut Context<'_>,
    observed: &Observation,
    flow: FlowId,
    priority: Priority,
    span: &Range<Duration>,
) {
    let u = observed.uncertainty;
    let sure = span.start + u..span.end.saturating_sub(u);
    let count = observed.began_in(flow, &sure);
    let mut last = None;
    for record in observed.of(flow, Way::Received).filter(|record| sure.contains(&record.begin)) {
        cx.mark(record, "begins while its priority is paused");
        last = Some(record);
    }
    let what = match last {
        Some(last) => format!(
            "frames of priority {priority} against the pause (the last {} after the limit)",
            readable(last.begin.saturating_sub(span.start))
        ),
        None => format!("frames of priority {priority} against the pause"),
    };
    // A span that is shorter than the uncertainty of its ends says nothing.
    let uncertainty = if sure.is_empty() { 1.0 } else { 0.0 };
    cx.judge(what, count as f64, Limits::exactly(0.0), uncertainty, "");
}

/// Returns the start of the first frame after the limit for a pause whose last bit left at `paused`; `None` if no
/// frame started then. `begins` are the start times of a flow's frames, in order.
pub(super) fn resumed(cx: &Context<'_>, begins: &[Duration], paused: Duration) -> Option<Duration> {
    let from = paused + cx.setup.stop_limit();
    // Until the limit the port may still start frames.
    begins.get(begins.partition_point(|begin| *begin < from)).copied()
}

/// Returns the limits in nanoseconds of the time from the last bit of a pause to the first frame
/// after it: its tolerance, and above it the time within which a port reacts.
pub(super) fn end_limits(cx: &Context<'_>, quanta: Quanta, size: u32) -> Limits {
    let wanted = quanta.at(cx.setup.rate).as_nanos_f64();
    let least = (Quanta(3).at(cx.setup.rate) + cx.setup.line_time(size)).as_nanos_f64();
    let tolerance = (wanted * cx.setup.limits.pause).max(least);
    let late = cx.setup.stop_limit().as_nanos_f64();
    Limits { at_least: Some(wanted - tolerance), at_most: Some(wanted + tolerance + late) }
}

/// Returns the time after which a port must have stopped, in quanta, rounded up.
pub(super) fn limit_quanta(cx: &Context<'_>) -> u64 {
    let quantum = Quanta(1).at(cx.setup.rate);
    cx.setup.stop_limit().as_picos().div_ceil(quantum.as_picos().max(1))
}

/// Returns a broadcast frame by which the DUT learns an address again.
pub(super) fn hello(src: Mac) -> Vec<u8> {
    let mut octets = vec![0; 60];
    octets[..6].copy_from_slice(&Mac::BROADCAST.0);
    octets[6..12].copy_from_slice(&src.0);
    // The EtherType for local experiments (802 9.2.4).
    octets[12..14].copy_from_slice(&[0x88, 0xb5]);
    octets
}
