//! Joins the results of a run's threads.

use std::collections::BTreeMap;
use std::time::Duration as StdDuration;

use super::fit::Fit;
use super::judged::Judged;
use super::log::{Event, Happening};
use super::node::{Arrivals, Over, Snapshot};
use super::poller::PollerEnd;
use super::shortfall::{self, Shortfall};
use crate::plan::LabPlan;
use crate::population::NodeAgents;
use crate::record::{Captures, Detail, Recorder};
use ground::time::{Duration, Instant, Total};
use host::{FRAME_MIN, FlowId};
use runtime::Disturbance;
use sim::{VirtualFrame, Witness};

/// Parameters and duration of a run.
#[derive(Debug)]
pub(super) struct Ran {
    /// Factor by which time was slowed down.
    pub(super) slow_down: u64,
    /// Number of polling threads.
    pub(super) threads: usize,
    /// Duration in real time.
    pub(super) wall: StdDuration,
    /// Frames put into rings.
    pub(super) frames: u64,
    /// Polls of all threads.
    pub(super) polls: u64,
    /// Disturbance by the machine that ended the run early.
    pub(super) starved: Option<Disturbance>,
}

/// Times at which a switch first marked a frame and first crossed an XOFF threshold.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Firsts {
    pub(super) mark: Option<Instant>,
    pub(super) xoff: Option<Instant>,
}

/// Joined records of all nodes.
#[derive(Debug)]
pub struct Noted {
    /// Records of all switches, and of pauses on all links.
    pub recorder: Recorder,
    /// Pause events, by the clocks of their nodes.
    pub events: Vec<Event>,
    /// Number of events that were not kept.
    pub events_left_off: u64,
    /// By node.
    pub(super) firsts: Vec<Firsts>,
}

/// Results of a run on rings.
#[derive(Debug)]
pub struct RealRun {
    /// The lab as it was run: without the parts that rings do not support, with those that they
    /// need.
    pub plan: LabPlan,
    pub shortfalls: Vec<Shortfall>,
    /// Checks that can be judged.
    pub(super) judged: Judged,
    pub(super) ran: Ran,
    pub noted: Noted,
    /// Counters of every node, in the order of the plan.
    pub nodes: Vec<Snapshot>,
    /// Link protocol results of every node, in the same order.
    pub(super) agents: Vec<NodeAgents>,
    /// Lab time at the end.
    pub ended: Instant,
    /// Time of the last received frame.
    pub last: Instant,
    /// True if all traffic was sent, and had arrived or was dropped.
    pub quiet: bool,
    /// Lab time that was not counted because a thread was preempted or waited for another one; that
    /// of the thread with most of it.
    pub stalled: Total,
    /// Largest difference between the clocks of two hosts, with the time between two polls of both.
    pub uncertainty: Duration,
    /// Frames of flows that had not arrived, wherever they were.
    pub(super) pending: BTreeMap<FlowId, u64>,
    /// Data received at the start and the end of the measurement interval, and in total.
    pub(super) arrivals: [Vec<Arrivals>; 3],
}

/// Makes the run's results from the ends of all threads.
pub(super) fn collect(fit: Fit, mut ends: Vec<PollerEnd>, ran: Ran) -> RealRun {
    let quiet = ends.iter().all(|end| end.idle)
        && ends.iter().map(|e| e.sent).sum::<u64>() == ends.iter().map(|e| e.received).sum::<u64>();
    let latest = |of: fn(&PollerEnd) -> Instant| ends.iter().map(of).max().unwrap_or(Instant::ZERO);
    let (ended, last) = (latest(|end| end.at), latest(|end| end.last));
    let stalled = ends.iter().map(|end| end.stalled).max().unwrap_or(Total::ZERO);
    let arrivals = arrivals(&fit.plan, &mut ends);
    let mut pending = BTreeMap::new();
    let mut over: Vec<Over> = Vec::new();
    for end in ends {
        over.extend(end.nodes.into_iter().map(|node| node.end(end.at, &mut pending)));
    }
    over.sort_by_key(|node| node.id);
    let noted = noted(&fit.plan, ended, &mut over);
    let (nodes, agents): (Vec<_>, _) =
        over.into_iter().map(|node| (node.snapshot, node.agents)).unzip();
    let mut shortfalls = fit.shortfalls;
    shortfalls.extend(shortfall::of_run(&fit.plan, &nodes, quiet, noted.events_left_off));
    RealRun {
        plan: fit.plan,
        shortfalls,
        judged: fit.judged,
        ran,
        noted,
        nodes,
        agents,
        ended,
        last,
        quiet,
        stalled,
        uncertainty: fit.rings.uncertainty(),
        pending,
        arrivals,
    }
}

/// By node: data received at the start and the end of the measurement interval, and in total.
fn arrivals(plan: &LabPlan, ends: &mut [PollerEnd]) -> [Vec<Arrivals>; 3] {
    let count = plan.network.nodes.len();
    let mut arrivals = [(); 3].map(|()| vec![Arrivals::default(); count]);
    for end in ends {
        let all = core::mem::take(&mut end.all);
        let [from, to] = [&mut end.from, &mut end.to];
        let from = from.take().unwrap_or_else(|| all.clone());
        let to = to.take().unwrap_or_else(|| all.clone());
        for (kept, found) in arrivals.iter_mut().zip([from, to, all]) {
            found.into_iter().for_each(|(id, arrived)| kept[id.index()] = arrived);
        }
    }
    arrivals
}

/// Joins the records of all nodes, and passes received pauses to a recorder as if they had arrived
/// on lines.
fn noted(plan: &LabPlan, ended: Instant, over: &mut [Over]) -> Noted {
    let mut recorder = Recorder::new(plan, Detail { plots: true }, Captures::default());
    let (mut events, mut events_left_off) = (Vec::new(), 0);
    let mut firsts = vec![Firsts::default(); plan.network.nodes.len()];
    for node in over {
        events.append(&mut node.events);
        events_left_off += node.left_off;
        if let Some(noted) = node.recorder.take() {
            let counts = noted.counts();
            firsts[node.id.index()] = Firsts { mark: counts.first_mark, xoff: counts.first_xoff };
            recorder.join(node.id, noted);
        }
    }
    events.sort_by_key(|event| event.at);
    for event in &events {
        if let Happening::Arrived { direction, octets } = event.what {
            recorder.arrived(event.at, direction, &VirtualFrame::new(&octets, FRAME_MIN));
        }
    }
    recorder.end(ended).expect("a lab on rings has no captures that could fail");
    Noted { recorder, events, events_left_off, firsts }
}
