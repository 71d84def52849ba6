//! Checks the sent frames of a flow against the configuration.
//!
//! The rate is expected for the time in which the flow could send: from its start to its own end
//! or that of the run, less the time for which its peer paused its priority. A flow that pauses kept
//! from its count or stop to the end is not judged, nor is one whose line rate explains the shortage,
//! and one whose threads were preempted for that long is inconclusive. A flow that sent less without
//! such a reason, or over a port that is down, fails.

use super::{Course, Why};
use crate::plan::{FlowKind, FlowPlan};
use crate::report::Flow;
use crate::tally::asked_fps;
use contracts::frame::LINE_OVERHEAD_BYTES;
use ground::units::Priority;
use ground::verdict::Verdict;
use host::TransportPlan;
use host::plan::stream::{Path, StreamPlan};

/// The accepted shortage as a share of the frames. A choice: a thread with an exclusive CPU keeps
/// its pace within parts per million, so a shortage above 2 % has a cause.
pub const TOLERANCE: f64 = 0.02;

/// The accepted shortage in frames for any rate: one at each end of the time.
const TOLERANCE_FRAMES: f64 = 2.0;

/// Accepted time of a flow with a count beyond that of its rate, in seconds: the delay that a
/// source may have and still catch up.
const TOLERANCE_S: f64 = 0.010;

/// The preamble's share of [`LINE_OVERHEAD_BYTES`], the rest being the gap.
const PREAMBLE: f64 = 8.0;

/// The frames that a flow could send.
struct Offer {
    /// Frames per second; `None` for a recording with its own times.
    fps: Option<f64>,
    /// Seconds in which it was to send.
    active: f64,
    /// Seconds of these in which its priority was paused.
    paused: f64,
    /// True if it may be paused still.
    is_paused: bool,
    /// Its priority, if pause frames stop it.
    priority: Option<Priority>,
}

/// Judges the sent frames of flow number `n`.
pub(super) fn judge(course: &Course<'_>, n: usize, flow: &Flow) -> (Verdict, String) {
    let asked = &course.plan.flows[n];
    let count = match &asked.kind {
        FlowKind::Stream(stream) => stream.limit.frames,
        FlowKind::Roce(_) => None,
    };
    if let Some(port) = port_down(course, asked).filter(|_| count != Some(flow.frames_tx)) {
        let what = format!("the link of port {port} is down: sent {} frames", flow.frames_tx);
        return (Verdict::Fail, what);
    }
    match &asked.kind {
        FlowKind::Roce(plan) => connection(course, asked, plan, flow),
        FlowKind::Stream(stream) => {
            let offer = Offer::new(course, n, stream, flow);
            match count {
                Some(count) if flow.frames_tx == count => complete(course, &offer, flow, count),
                Some(count) if flow.frames_tx > count => {
                    (Verdict::Fail, format!("sent {} frames of {count}", flow.frames_tx))
                }
                _ => short(course, n, &offer, flow, count),
            }
        }
    }
}

/// Returns the configured frames per second of flow number `n`, with its bursts and gaps.
pub(super) fn frames_per_second(course: &Course<'_>, n: usize) -> Option<f64> {
    let asked = &course.plan.flows[n];
    let FlowKind::Stream(stream) = &asked.kind else { return None };
    let speed = course.report.ports.get(asked.tx)?.speed_bps as f64;
    let flow = course.report.flows.iter().find(|flow| flow.name == asked.name)?;
    offered_fps(stream, speed, flow)
}

fn offered_fps(stream: &StreamPlan, speed: f64, flow: &Flow) -> Option<f64> {
    if stream.recording.as_ref().is_some_and(|recording| recording.timed) || speed <= 0.0 {
        return None;
    }
    let mean = match flow.frames_tx {
        0 => stream.sizes.mean(),
        n => flow.bytes_tx as f64 / n as f64,
    };
    let on_line = |octets: f64| octets * 8.0 / speed;
    // A configured gap may be wider than the line's least, and then it sets the pace.
    let slot = on_line(mean + PREAMBLE + f64::from(stream.pace.gap.max(12)));
    let interval = (1.0 / asked_fps(stream, speed, mean)).max(slot);
    let Some(burst) = stream.pace.burst else { return Some(1.0 / interval) };
    let frames = f64::from(burst.frames);
    let last = on_line(mean + LINE_OVERHEAD_BYTES as f64);
    // A burst has one interval less than frames, and the gap runs from the end of its last frame.
    Some(frames / ((frames - 1.0) * interval + last + burst.gap.as_secs_f64()))
}

impl Offer {
    fn new(course: &Course<'_>, n: usize, stream: &StreamPlan, flow: &Flow) -> Self {
        let asked = &course.plan.flows[n];
        let elapsed = course.before.elapsed_s.unwrap_or(0.0);
        let until = stream.limit.time.map_or(f64::INFINITY, |time| time.as_secs_f64());
        // The time of the last report before the stop, as nothing is due afterwards.
        let active = (elapsed - stream.delay.as_secs_f64()).clamp(0.0, until);
        let priority = match stream.path {
            Path::Data(priority) => Some(priority),
            Path::Control => None,
        };
        let (paused, is_paused) = priority.map_or((0.0, false), |p| pauses(course, asked.tx, p));
        let paused = paused.min(active);
        let speed = course.report.ports.get(asked.tx).map_or(0.0, |port| port.speed_bps as f64);
        Self { fps: offered_fps(stream, speed, flow), active, paused, is_paused, priority }
    }

    /// Returns the frames for a time, at most `count`.
    fn frames(&self, seconds: f64, count: Option<u64>) -> Option<f64> {
        let most = count.map_or(f64::INFINITY, |count| count as f64);
        self.fps.map(|fps| (fps * seconds.max(0.0)).min(most))
    }

    /// Describes the pauses as a part of a sentence.
    fn pause(&self) -> String {
        let priority = self.priority.map_or(0, Priority::get);
        format!("priority {priority} was paused for {:.3} of {:.3} s", self.paused, self.active)
    }
}

/// Judges a flow that sent all its frames by the time that it took.
fn complete(course: &Course<'_>, offer: &Offer, flow: &Flow, count: u64) -> (Verdict, String) {
    let what = format!("sent {count} of {count} frames");
    let (Some(fps), Some(pacing)) = (offer.fps, &flow.pacing) else { return (Verdict::Pass, what) };
    // Intervals: from the first frame to the last one.
    let took = (count.max(1) - 1) as f64 / pacing.sent_fps;
    let late = took - (count.max(1) - 1) as f64 / fps;
    let allowed = TOLERANCE * took + TOLERANCE_S;
    if late <= allowed {
        return (Verdict::Pass, what);
    }
    let slow =
        format!("{what}, in {took:.3} s at {:.1} % of its rate", 100.0 * (took - late) / took);
    if late - offer.paused <= allowed {
        return (Verdict::Pass, format!("{slow}; {}", offer.pause()));
    }
    explained(course, slow, late - offer.paused - allowed, full_line(course, flow))
}

/// Judges a flow without a count, or one that has not reached it.
fn short(
    course: &Course<'_>,
    n: usize,
    offer: &Offer,
    flow: &Flow,
    count: Option<u64>,
) -> (Verdict, String) {
    let sent = flow.frames_tx as f64;
    let of = count.map_or(String::new(), |count| format!(" of {count}"));
    let what = format!("sent {}{of} frames", flow.frames_tx);
    let burst = match &course.plan.flows[n].kind {
        FlowKind::Stream(stream) => stream.pace.burst.map_or(0, |burst| burst.frames),
        FlowKind::Roce(_) => 0,
    };
    let enough = |expected: f64| {
        // The end may fall into a burst, which then counts for nothing.
        let least = expected * (1.0 - TOLERANCE) - TOLERANCE_FRAMES - f64::from(burst);
        sent >= least && (sent > 0.0 || expected < 1.0)
    };
    let Some(whole) = offer.frames(offer.active, count) else {
        // A recording with its own times and no count: only the fact that it was sent is known.
        let held = sent > 0.0 && count.is_none();
        return match (held, course.why) {
            (false, Why::Over | Why::Interrupted) if sent > 0.0 => {
                (Verdict::NotJudged, format!("{what}: the run ended before"))
            }
            _ => (Verdict::of(held), what),
        };
    };
    // The first frame is sent at once, and a burst as a whole.
    let is_due = sent <= whole + 1.0 + f64::from(burst);
    let share = sent / whole.max(1.0);
    let share = if is_due { share.min(1.0) } else { share };
    let share = format!("{what}, {:.1} % of the frames of its rate", 100.0 * share);
    if enough(whole) {
        return match (count, sent > 0.0) {
            (None, true) => (Verdict::Pass, share),
            (None, false) => (Verdict::NotJudged, format!("{what}: none was due before the end")),
            (Some(_), _) => (Verdict::NotJudged, format!("{what}: the run ended before")),
        };
    }
    let free = offer.frames(offer.active - offer.paused, count).unwrap_or(0.0);
    if offer.paused > 0.0 && enough(free) {
        let judged = count.is_none() && !offer.is_paused && free >= 1.0;
        let verdict = if judged { Verdict::Pass } else { Verdict::NotJudged };
        return (verdict, format!("{share}; {}", offer.pause()));
    }
    let missing = (free * (1.0 - TOLERANCE) - sent) / offer.fps.unwrap_or(f64::INFINITY);
    explained(course, share, missing, full_line(course, flow))
}

/// Returns the verdict on a flow that is `missing` seconds short of its rate.
fn explained(
    course: &Course<'_>,
    what: String,
    missing: f64,
    line: Option<String>,
) -> (Verdict, String) {
    // An oversubscribed line explains the shortage by itself.
    if let Some(line) = line {
        return (Verdict::NotJudged, format!("{what}; {line}"));
    }
    match course.report.machine.filter(|m| !m.excluded && m.preempted_ns / 1e9 >= missing) {
        Some(machine) => (Verdict::Inconclusive, format!("{what}; {machine}")),
        None => (Verdict::Fail, what),
    }
}

/// Describes a port whose flows are configured beyond its line rate, if the line was full.
fn full_line(course: &Course<'_>, flow: &Flow) -> Option<String> {
    if flow.frames_tx == 0 {
        return None;
    }
    let (n, port) =
        course.report.ports.iter().enumerate().find(|(_, port)| port.name == flow.port_tx)?;
    let on_line = |frames: f64, bytes: f64| {
        (bytes + frames * LINE_OVERHEAD_BYTES as f64) * 8.0 / port.speed_bps as f64
    };
    let wanted = |(m, asked): (usize, &FlowPlan)| {
        let fps = (asked.tx == n).then(|| frames_per_second(course, m))??;
        let FlowKind::Stream(stream) = &asked.kind else { return None };
        Some(on_line(fps, fps * stream.sizes.mean()))
    };
    let wanted: f64 = course.plan.flows.iter().enumerate().filter_map(wanted).sum();
    let used = on_line(port.frames_tx as f64, port.bytes_tx as f64);
    let full = used >= (1.0 - TOLERANCE) * course.before.elapsed_s?;
    // Both: more was configured than fits, and the line was really full.
    (wanted > 1.0 + TOLERANCE && full).then(|| {
        format!("the flows of port {} ask for {:.0} % of its line", port.name, 100.0 * wanted)
    })
}

/// Judges a connection: its messages, if they have a count.
fn connection(
    course: &Course<'_>,
    asked: &FlowPlan,
    plan: &TransportPlan,
    flow: &Flow,
) -> (Verdict, String) {
    let what = format!("sent {} frames", flow.frames_tx);
    let count = plan.message.map(|m| m.count).filter(|count| *count < u64::MAX);
    let done = flow.connection.as_ref().map_or(0, |c| c.messages_tx);
    if let Some(count) = count {
        let what = format!("{what}, completed {done} of {count} messages");
        if done >= count {
            return (Verdict::Pass, what);
        }
        if flow.frames_tx > 0 && matches!(course.why, Why::Over | Why::Interrupted) {
            return (Verdict::NotJudged, format!("{what}: the run ended before"));
        }
        return held_up(course, asked, plan, what);
    }
    if flow.frames_tx > 0 { (Verdict::Pass, what) } else { held_up(course, asked, plan, what) }
}

/// Judges a connection without progress: its priority was paused all the time, the threads were
/// preempted, or it fails.
fn held_up(
    course: &Course<'_>,
    asked: &FlowPlan,
    plan: &TransportPlan,
    what: String,
) -> (Verdict, String) {
    let active = course.before.elapsed_s.unwrap_or(0.0);
    let (paused, is_paused) = pauses(course, asked.tx, plan.priority);
    let paused = paused.min(active);
    let offer = Offer { fps: None, active, paused, is_paused, priority: Some(plan.priority) };
    if active > 0.0 && paused >= (1.0 - TOLERANCE) * active {
        return (Verdict::NotJudged, format!("{what}; {}", offer.pause()));
    }
    explained(course, what, active - paused, None)
}

/// Returns the first port of a flow whose link was down while it was to send.
fn port_down<'a>(course: &Course<'a>, asked: &FlowPlan) -> Option<&'a str> {
    let ports = [asked.tx].into_iter().chain(asked.rx.iter().copied());
    let seen = ports.filter_map(|port| course.before.ports.get(port));
    seen.into_iter().find(|port| !port.link_up).map(|port| port.name.as_str())
}

/// Seconds for which a priority of a port had been paused when the flows were stopped: by pause frames,
/// and by source flow control messages, whose time is counted for all flows of the port together. True if it
/// may have been paused then; which flows messages pause is not told.
fn pauses(course: &Course<'_>, port: usize, priority: Priority) -> (f64, bool) {
    let Some(port) = course.before.ports.get(port) else { return (0.0, false) };
    let seen = port.priorities.get(priority.index());
    let (by_frames, is_paused) = seen.map_or((0.0, false), |seen| (seen.paused_ns, seen.paused));
    let by_messages = port.sfcm_paused_ns.unwrap_or(0.0);
    ((by_frames + by_messages) / 1e9, is_paused || by_messages > 0.0)
}
