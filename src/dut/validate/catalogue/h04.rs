//! V-H04: headroom of all groups at once.

use super::{congestion, fill};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, FlowId, Limit, Obeys, Port, Rate, Trial};
use ground::time::Duration;
use ground::units::{Priority, PrioritySet};

pub const TEST: Test = Test {
    id: "V-H04",
    aliases: &["HdrmPoolSize"],
    title: "all groups use their headroom at once",
    purpose: "Each lossless priority group has its headroom also while all others use theirs.",
    clause: "802.1Q 36.1.3.3; the headroom is the device's configuration",
    topology: Topology::Tn,
    procedure: "The last port pauses all lossless priorities. All others send shortest frames of each of them, \
                first as many as cause XOFF, then as many as the headroom takes, less 2 cells. They ignore \
                pauses.",
    pass: "Each priority is paused at each of these ports, and no frame is lost. Thresholds and headroom are \
           the configured ones (`expected.xoff` or `expected.dynamic_th`, `expected.headroom`).",
    uncertainty: "None: counts.",
    source: "SAI HdrmPoolSizeTest; sonic-mgmt issue 7113",
    level: Level::Full,
    run,
    line: line!(),
};

/// Margin in cells.
const MARGIN: u64 = 2;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let headroom = cx.setup.expected.headroom.ok_or_else(|| fill::missing("headroom"))?;
    cx.lossless()?;
    let (to, from) = cx.to_last()?;
    let set = cx.setup.lossless;
    let groups: Vec<(Port, Priority)> =
        from.iter().flat_map(|port| set.iter().map(|priority| (*port, priority))).collect();
    let threshold = fill::threshold(cx, groups.len())?;
    let cell = u64::from(fill::cell(cx)?);
    let frames = [threshold.0 / cell, (headroom.0 / cell).saturating_sub(MARGIN)];
    let frames = frames.map(|frames| u32::try_from(frames).unwrap_or(u32::MAX).max(1));
    let seen = observe(cx, (&groups, to, set), frames)?;
    for (n, (port, priority)) in groups.iter().enumerate() {
        let name = cx.port(*port).name.clone();
        let stops = seen.pauses(*port).filter(|pause| pause.stops(*priority)).count() as u64;
        cx.count(format!("pauses of priority {priority} at {name}"), stops, Limits::at_least(1.0));
        let lost = [2 * n, 2 * n + 1].map(|flow| seen.tally(FlowId(flow)).lost());
        let what = format!("lost frames of priority {priority} from {name}");
        cx.count(what, lost[0] + lost[1], Limits::exactly(0.0));
    }
    Ok(())
}

/// Sends two numbers of frames of each group, all of them the first before any the second, to a port
/// that is paused.
fn observe(
    cx: &mut Context<'_>,
    (groups, to, set): (&[(Port, Priority)], Port, PrioritySet),
    frames: [u32; 2],
) -> Result<crate::observation::Observation, Trouble> {
    let window = congestion::window(cx);
    let mut trial = Trial::new("headroom of all groups", Duration::ZERO);
    let first = window.div(8);
    let second = first + fill::time(cx, frames[0] + fill::SPARE, cx.setup.shortest());
    let full = second + fill::time(cx, frames[1] + fill::SPARE, cx.setup.shortest());
    let release = fill::hold(cx, &mut trial, (to, set), Duration::ZERO..full)?;
    for (from, priority) in groups {
        for (start, frames) in [first, second].into_iter().zip(frames) {
            let flow = Flow::new((*from, to), *priority, Limit::Frames(frames));
            trial.flow(flow.rate(Rate::Line(fill::SHARE)).size(cx.setup.shortest()).start(start));
        }
        trial.obeys.push((*from, Obeys::Nothing));
    }
    trial.length = release + window.saturating_mul(2) + cx.setup.times.drain;
    cx.observe(&trial)
}
