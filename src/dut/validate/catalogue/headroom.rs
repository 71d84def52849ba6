//! Headroom of a buffer: that of all groups at once, and that no cell of it leaks.

use super::{congestion, fill, storm};
use crate::bench::TrialError;
use crate::judge::Limits;
use crate::observation::{Observation, Way};
use crate::test::{Context, Scope, Test, Topology};
use crate::trial::{Flow, FlowId, Limit, LinkChange, Obeys, Port, Rate, Trial};
use core::ops::Range;
use ground::time::Duration;
use ground::units::{Bytes, Priority, PrioritySet};

pub(super) const ALL_GROUPS: Test = describe! {
    id: "V-H04",
    title: "all groups use their headroom at once",
    purpose: "Each lossless priority group has its headroom also while all others use theirs.",
    clause: "802.1Q 36.1.3.3; the headroom is the device's configuration",
    procedure: "The last port pauses all lossless priorities. All others send shortest frames of each of them, \
                first as many as cause XOFF, then as many as the headroom takes, less 2 cells. They ignore \
                pauses.",
    pass: "Each priority is paused at each of these ports, and no frame is lost. Thresholds and headroom are \
           the configured ones (`expected.xoff` or `expected.dynamic_th`, `expected.headroom`).",
    source: "SAI HdrmPoolSizeTest; sonic-mgmt issue 7113",
    run: all_groups,
    aliases: &["HdrmPoolSize"],
    topology: Topology::Tn,
    uncertainty: "None: counts.",
    scope: Scope::Device,
};

/// Margin in cells.
const GROUP_MARGIN: u64 = 2;

fn all_groups(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let headroom = cx.setup.expected.headroom.ok_or_else(|| fill::missing("headroom"))?;
    cx.lossless()?;
    let (to, from) = cx.to_last()?;
    let set = cx.setup.lossless;
    let groups: Vec<(Port, Priority)> =
        from.iter().flat_map(|port| set.iter().map(|priority| (*port, priority))).collect();
    let threshold = fill::threshold(cx, groups.len())?;
    let cell = u64::from(fill::cell(cx)?);
    // As many as cause XOFF, then what the headroom takes without a loss.
    let frames = [threshold.0 / cell, (headroom.0 / cell).saturating_sub(GROUP_MARGIN)];
    let frames = frames.map(|frames| u32::try_from(frames).unwrap_or(u32::MAX).max(1));
    let observed = fill_groups(cx, &groups, to, set, frames)?;
    for (n, (port, priority)) in groups.iter().enumerate() {
        let name = cx.port(*port).name.clone();
        let stops = observed.pauses(*port).filter(|pause| pause.stops(*priority)).count() as u64;
        cx.count(format!("pauses of priority {priority} at {name}"), stops, Limits::at_least(1.0));
        let lost = [2 * n, 2 * n + 1].map(|flow| observed.tally(FlowId(flow)).lost());
        let what = format!("lost frames of priority {priority} from {name}");
        cx.count(what, lost[0] + lost[1], Limits::exactly(0.0));
    }
    Ok(())
}

/// Sends two numbers of frames of each group, all of them the first before any the second, to a port
/// that is paused.
fn fill_groups(
    cx: &mut Context<'_>,
    groups: &[(Port, Priority)],
    to: Port,
    set: PrioritySet,
    frames: [u32; 2],
) -> Result<crate::observation::Observation, TrialError> {
    let window = congestion::window(cx);
    let mut trial = Trial::new("headroom of all groups", Duration::ZERO);
    let first = window.div(8);
    let second = first + fill::time(cx, frames[0] + fill::SPARE, cx.setup.shortest());
    let full = second + fill::time(cx, frames[1] + fill::SPARE, cx.setup.shortest());
    let release = fill::hold(cx, &mut trial, to, set, Duration::ZERO..full)?;
    for (from, priority) in groups {
        for (start, frames) in [first, second].into_iter().zip(frames) {
            let flow = Flow::new((*from, to), *priority, Limit::Frames(frames));
            trial.flow(flow.rate(Rate::Line(fill::SHARE)).size(cx.setup.shortest()).start(start));
        }
        // The senders go on after XOFF, or no headroom would be used.
        trial.obeys.push((*from, Obeys::Nothing));
    }
    trial.length = release + window.saturating_mul(2) + cx.setup.times.drain;
    cx.observe(&trial)
}

pub(super) const LEAKS: Test = describe! {
    id: "V-H06",
    title: "no cell is lost in many pauses",
    purpose: "Threshold and headroom of a group are the same after many times of XOFF and XON, and after link \
              failures: no cell leaks.",
    clause: "802.1Q 36.1.3.3; thresholds and headroom are the device's configuration",
    procedure: "B is paused, and A sends shortest frames of one lossless priority without obeying pauses until \
                some are dropped. B is resumed, and A and C, which obey, overload it with the longest \
                frames until A was paused 300 times (level full: 10,000 times). Then the first step again. The \
                same again with a short overload, in which the links of A and of B fail.",
    pass: "The frames until the first pause of A, and those that are held, are the same before and after \
           within 1 cell (`expected.cell`). No frame is lost in the overload without link failures.",
    source: "own",
    run: leaks,
    topology: Topology::T3,
    uncertainty: "Time stamps of the tester, for the frames until the first pause. None for those that are \
                  held: counts.",
};

/// Margin in cells.
const LEAK_MARGIN: f64 = 1.0;

/// Longest overload, in the longest frames at line rate.
const FRAMES_MAX: u64 = 1 << 21;

/// A step that finds threshold and headroom.
struct Probe {
    flow: FlowId,
    /// Time in which B is paused.
    held: Range<Duration>,
}

/// A trial and its parts.
struct Steps {
    trial: Trial,
    probes: [Probe; 2],
    overload: Range<Duration>,
    senders: [FlowId; 2],
}

fn leaks(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let headroom = cx.setup.expected.headroom.ok_or_else(|| fill::missing("headroom"))?;
    let most = Bytes(fill::threshold(cx, 1)?.0 + headroom.0);
    let frames = fill::bound(cx, most, cx.setup.shortest())?;
    cx.lossless()?;
    let episodes = cx.by_level(300, 10_000);
    for priority in cx.each_lossless() {
        let Some(length) = overload_length(cx, priority, episodes)? else { continue };
        let steps = steps(cx, priority, frames, length)?;
        let observed = cx.observe(&steps.trial)?;
        record_pauses(cx, &observed, &steps, priority, episodes)?;
        for (sender, name) in steps.senders.into_iter().zip(["A", "C"]) {
            let what = format!("lost frames of priority {priority} from {name} in the overload");
            cx.count(what, observed.tally(sender).lost(), Limits::exactly(0.0));
        }
        compare_probes(cx, &observed, &steps, priority, "")?;
        let short = length.min(cx.setup.times.hold.saturating_mul(2));
        let mut steps = self::steps(cx, priority, frames, short)?;
        fail_links(cx, cx.ports()?, &mut steps);
        let after = " and link failures";
        match cx.observe(&steps.trial) {
            Ok(observed) => compare_probes(cx, &observed, &steps, priority, after)?,
            // A tester that cannot take links down has judged the part without failures.
            Err(TrialError::Missing(why)) => {
                cx.skip(format!("thresholds after pauses{after}"), &why)
            }
            Err(trouble) => return Err(trouble),
        }
    }
    Ok(())
}

/// Returns the time of an overload in which A is paused so many times, as far as that is bounded; judges
/// a failure if it is never paused.
fn overload_length(
    cx: &mut Context<'_>,
    priority: Priority,
    episodes: u32,
) -> Result<Option<Duration>, TrialError> {
    let [a, b, c] = cx.ports()?;
    let mut trial = congestion::to_one(cx, &[a, c], b, &[priority], 1.0);
    trial.flows.iter_mut().for_each(|flow| flow.size = cx.setup.max_frame);
    let observed = cx.observe(&trial)?;
    congestion::arrives(cx, &observed, &trial)?;
    let count = congestion::begins(&congestion::pauses(&observed, a, priority), priority);
    if count == 0 {
        let what = format!("pauses of priority {priority} at {}", cx.port(a).name);
        cx.count(what, 0, Limits::at_least(1.0));
        return Ok(None);
    }
    let hold = cx.setup.times.hold;
    // A tenth more, because pauses do not come evenly.
    let wanted = hold.div(count).saturating_mul(u64::from(episodes) * 11 / 10);
    // A device that pauses seldom would need more time than a run has.
    let most = cx.setup.line_time(cx.setup.max_frame).saturating_mul(FRAMES_MAX);
    Ok(Some(wanted.min(most).max(hold)))
}

fn steps(
    cx: &Context<'_>,
    priority: Priority,
    frames: u32,
    length: Duration,
) -> Result<Steps, TrialError> {
    let [a, b, c] = cx.ports()?;
    let drain = cx.setup.times.drain;
    let mut trial = Trial::new("thresholds before and after many pauses", Duration::ZERO);
    let first = probe(cx, &mut trial, priority, frames, Duration::ZERO)?;
    let start = first.held.end + drain;
    let sender = |from| {
        let flow = Flow::new((from, b), priority, Limit::Time(length));
        flow.rate(Rate::Line(1.0)).size(cx.setup.max_frame).start(start)
    };
    let senders = [a, c].map(|from| trial.flow(sender(from)));
    let overload = start..start + length + drain;
    let second = probe(cx, &mut trial, priority, frames, overload.end)?;
    trial.length = second.held.end + drain;
    Ok(Steps { trial, probes: [first, second], overload, senders })
}

/// Adds a step in which B is paused from `start` on, and A fills its group.
fn probe(
    cx: &Context<'_>,
    trial: &mut Trial,
    priority: Priority,
    frames: u32,
    start: Duration,
) -> Result<Probe, TrialError> {
    let [a, b] = cx.ports()?;
    let from = start + congestion::window(cx).div(8);
    let full = from + fill::time(cx, frames + fill::SPARE, cx.setup.shortest());
    let end = fill::hold(cx, trial, b, PrioritySet::of(priority), start..full)?;
    let flow = Flow::new((a, b), priority, Limit::Frames(frames)).rate(Rate::Line(fill::SHARE));
    // The pauses of a lossy priority hold these frames at the tester: there are none.
    let flow = trial.flow(flow.size(cx.setup.shortest()).start(from).held_by(cx.lossy()?));
    Ok(Probe { flow, held: start..end })
}

/// Lets the link of A fail, and then that of B, whose address the device then learns again.
fn fail_links(cx: &Context<'_>, [a, b]: [Port; 2], steps: &mut Steps) {
    let Steps { trial, overload, .. } = steps;
    let part = overload.end.saturating_sub(overload.start).div(8);
    // The links fail in the second and in the fourth eighth of the overload.
    for (port, n) in [(a, 1), (b, 3)] {
        let at = overload.start + part.saturating_mul(n);
        trial.links.push(LinkChange { port, at, up: false });
        trial.links.push(LinkChange { port, at: at + part.div(2), up: true });
    }
    let learnt = overload.start + part.saturating_mul(4);
    trial.frame(b, storm::hello(cx.port(b).mac), learnt);
}

/// Records the number of pauses; the test is not whole if they are too few.
fn record_pauses(
    cx: &mut Context<'_>,
    observed: &Observation,
    steps: &Steps,
    priority: Priority,
    episodes: u32,
) -> Result<(), TrialError> {
    let [a] = cx.ports()?;
    let mut pauses = congestion::pauses(observed, a, priority);
    pauses.retain(|pause| steps.overload.contains(&pause.at));
    let count = congestion::begins(&pauses, priority);
    let what = format!("pauses of priority {priority} at {}", cx.port(a).name);
    // With fewer pauses than named the rest of the test still counts, but this part is not whole.
    if count < u64::from(episodes) {
        let why =
            format!("there are {count} of {episodes} in the longest time that the test sends");
        cx.skip(what, &why);
    } else {
        cx.policy(what, count as f64, "", "the number is the test's own");
    }
    Ok(())
}

/// Compares what the two steps find.
fn compare_probes(
    cx: &mut Context<'_>,
    observed: &Observation,
    steps: &Steps,
    priority: Priority,
    after: &str,
) -> Result<(), TrialError> {
    let [a] = cx.ports()?;
    let cell = f64::from(fill::cell(cx)?);
    let limits = Limits::around(0.0, LEAK_MARGIN * cell);
    let after = format!("after many pauses{after}");
    let pauses = congestion::pauses(observed, a, priority);
    // The frames that were sent until the first pause in the time of each probe.
    let xoff = steps.probes.each_ref().map(|probe| {
        let is_its = |at: Duration| probe.held.contains(&at);
        let xoff = pauses.iter().find(|p| p.stops(priority) && is_its(p.at)).map(|p| p.at);
        xoff.map(|xoff| observed.of(probe.flow, Way::Sent).filter(|r| r.end <= xoff).count() as f64)
    });
    match xoff {
        [Some(first), Some(last)] => {
            let spacing = fill::time(cx, 1, cx.setup.shortest()).as_secs_f64();
            // Both pauses have a time stamp, and the frames of a probe this distance.
            let u = (observed.uncertainty.as_secs_f64() * 2.0 / spacing).ceil() * cell;
            let what = format!("change of XOFF of priority {priority} {after}");
            cx.judge(what, (last - first) * cell, limits, u, "bytes");
        }
        _ => {
            let what = format!("groups of priority {priority} that are filled and paused");
            let count = xoff.iter().flatten().count() as u64;
            cx.judge(what, count as f64, Limits::exactly(2.0), 0.0, "groups");
        }
    }
    let tallies = steps.probes.each_ref().map(|probe| observed.tally(probe.flow));
    let what = format!("change of the bytes of priority {priority} that are held {after}");
    // Where nothing is dropped the group was not full.
    if tallies.iter().all(|tally| tally.lost() == 0) {
        let why =
            format!("none of {} frames is dropped, so the headroom is not found", tallies[0].sent);
        cx.skip(what, &why);
        return Ok(());
    }
    // What arrives has been held: all that threshold and headroom took.
    let [first, last] = tallies.map(|tally| tally.received as f64);
    cx.judge(what, (last - first) * cell, limits, 0.0, "bytes");
    Ok(())
}
