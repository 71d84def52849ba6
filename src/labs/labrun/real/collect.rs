//! Joins the results of a run's threads, and makes the results of a run on rings of them, in the same form as those
//! of the virtual world.

use std::collections::BTreeMap;
use std::time::Duration as StdDuration;

use super::fit::Fit;
use super::judged::Judged;
use super::log::{Event, Happening};
use super::node::{Arrivals, NodeEnd, Snapshot};
use super::poller::PollerEnd;
use super::shortfall::{self, Shortfall};
use crate::World;
use crate::outcome::{
    Completions, Counted, Ended, MessageRecords, Outcome, RealOutcome, Window, completions, gather,
    records,
};
use crate::plan::{Ends, LabPlan, Source, ends};
use crate::population::{HostCounts, NodeAgents, Population};
use crate::record::{Captures, Detail, Recorder};
use contracts::stats::SwitchSnapshot;
use ground::time::{Duration, Instant, Total};
use host::{
    Completion, FRAME_MIN, FlowId, Latency, ReactionCounters, ReceiverCounters, SenderCounters,
    SinkCounters, SourceCounters, StationCounters, StationSnapshot,
};
use runtime::Disturbance;
use secure::SecySnapshot;
use sim::{NodeId, Tally, VirtualFrame, Witness};

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
    // A frame in a ring is sent and not received, while both of its threads are idle.
    let quiet = ends.iter().all(|end| end.idle)
        && ends.iter().map(|e| e.sent).sum::<u64>() == ends.iter().map(|e| e.received).sum::<u64>();
    let latest = |of: fn(&PollerEnd) -> Instant| ends.iter().map(of).max().unwrap_or(Instant::ZERO);
    let (ended, last) = (latest(|end| end.at), latest(|end| end.last));
    let stalled = ends.iter().map(|end| end.stalled).max().unwrap_or(Total::ZERO);
    let arrivals = arrivals(&fit.plan, &mut ends);
    let mut pending = BTreeMap::new();
    let mut over: Vec<NodeEnd> = Vec::new();
    for end in ends {
        over.extend(end.nodes.into_iter().map(|node| node.end(end.at, &mut pending)));
    }
    // Threads have their nodes in any order; results have that of the plan.
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
        // A run that ended before the interval has what arrived in total as both of its ends.
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
fn noted(plan: &LabPlan, ended: Instant, over: &mut [NodeEnd]) -> Noted {
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
    // Each node has its events in order; clocks of threads differ by no more than the clock sync allows.
    events.sort_by_key(|event| event.at);
    for event in &events {
        // Pauses take the recorder's path of the virtual world, so both worlds have one definition of a pause.
        if let Happening::Arrived { direction, octets } = event.what {
            recorder.arrived(event.at, direction, &VirtualFrame::new(&octets, FRAME_MIN));
        }
    }
    recorder.end(ended).expect("a lab on rings has no captures that could fail");
    Noted { recorder, events, events_left_off, firsts }
}

impl RealRun {
    /// Returns the results, with the verdicts of all checks that rings can judge.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let over = self.quiet && self.plan.until_done;
        let at = if over { self.last } else { self.ended };
        let ended = Ended {
            world: World::Real,
            now: self.ended,
            at,
            quiet: self.quiet,
            pending: self.plan.flows.iter().map(|flow| self.pending(flow.id)).collect(),
            pending_of_tester: self.plan.tester_flows().map(|id| self.pending(id)).collect(),
            // The machine orders what happens at about the same time, so no hash could be the same again.
            trace_hash: None,
            samples: None,
            uncertainty: self.uncertainty,
            tally: Tally { events: 0, frames: self.ran.frames, lost: 0, polls: self.ran.polls },
        };
        let mut nodes = EndedNodes(&self.nodes, &self.agents);
        let window = self.window(at);
        let mut outcome = gather(&self.plan, &ended, &window, &self.noted.recorder, &mut nodes);
        outcome.shortfalls = self.shortfalls.iter().map(ToString::to_string).collect();
        outcome.real = Some(RealOutcome {
            threads: self.ran.threads,
            slow_down: self.ran.slow_down,
            wall_ns: u64::try_from(self.ran.wall.as_nanos()).unwrap_or(u64::MAX),
            stalled_ns: self.stalled.saturated(),
        });
        // Last, as checks read the finished results.
        self.judge(&mut outcome);
        outcome
    }

    /// Returns the messages of the lab, if they are recorded.
    pub(super) fn messages(&self) -> Option<MessageRecords> {
        let at = if self.quiet && self.plan.until_done { self.last } else { self.ended };
        let mut nodes = EndedNodes(&self.nodes, &self.agents);
        self.plan.record.messages.then(|| records(&self.plan, at, &mut nodes))
    }

    /// Returns the distributions of completion times.
    pub(super) fn completions(&self) -> Completions {
        completions(&self.plan, &mut EndedNodes(&self.nodes, &self.agents))
    }

    /// Returns the frames of a flow that had not arrived.
    fn pending(&self, id: FlowId) -> u64 {
        self.pending.get(&id).copied().unwrap_or(0)
    }

    /// Returns the data of each flow received at the start and the end of the measurement interval.
    fn window(&self, end: Instant) -> Window {
        let plan = &self.plan;
        let at = |after| Instant::ZERO.saturating_add(after).min(end);
        let from = at(plan.measure_from);
        // A run that ended early may have no interval at all, and rates of 0.
        let to = plan.measure_to.map_or(end, at).max(from);
        let ends = ends(plan);
        let counted = |arrived: &[Arrivals]| ends.iter().map(|e| one(e, arrived)).collect();
        Window { from: (from, counted(&self.arrivals[0])), to: (to, counted(&self.arrivals[1])) }
    }
}

/// Returns the received data of one flow.
fn one(ends: &Ends, arrived: &[Arrivals]) -> Counted {
    let at = &arrived[ends.to.index()];
    let (frames, bytes) = at.sinks.get(ends.sink).copied().unwrap_or_default();
    let delivered = match ends.source {
        Source::OpenLoop(_) => None,
        Source::Answered(_, n) => at.delivered.get(n).copied(),
    };
    Counted { frames, bytes, delivered }
}

/// Nodes of a finished run.
struct EndedNodes<'a>(&'a [Snapshot], &'a [NodeAgents]);

impl Population for EndedNodes<'_> {
    type Host = StationSnapshot;

    fn host(&mut self, id: NodeId) -> Option<&StationSnapshot> {
        match &self.0[id.index()] {
            Snapshot::Host(host) => Some(host),
            Snapshot::Switch(_) => None,
        }
    }

    fn switch(&mut self, id: NodeId, _: Instant) -> Option<SwitchSnapshot> {
        match &self.0[id.index()] {
            Snapshot::Switch(switch) => Some(switch.clone()),
            Snapshot::Host(_) => None,
        }
    }

    // All nodes of a process have one clock: `strip` has removed offsets and drifts.
    fn local(&self, _: NodeId, at: Instant) -> Instant {
        at
    }

    fn agents(&mut self, id: NodeId, _: Instant) -> NodeAgents {
        self.1[id.index()].clone()
    }
}

impl HostCounts for StationSnapshot {
    fn source(&self, n: usize) -> Option<SourceCounters> {
        self.sources.get(n).copied()
    }
    fn sender(&self, n: usize) -> Option<SenderCounters> {
        self.senders.get(n).copied()
    }
    fn completion_times(&self, n: usize) -> Option<&Latency> {
        self.completion_times.get(n)?.as_ref()
    }
    fn message_log(&self, n: usize) -> &[Completion] {
        self.message_logs.get(n).map_or(&[], Vec::as_slice)
    }
    fn receiver(&self, n: usize) -> Option<ReceiverCounters> {
        self.receivers.get(n).copied()
    }
    fn sink(&self, n: usize) -> Option<&SinkCounters> {
        self.sinks.get(n)
    }
    fn secy(&self) -> Option<Box<SecySnapshot>> {
        self.secy.clone()
    }
    fn all(&self, _: Instant) -> StationCounters {
        self.counters.clone()
    }
    fn reactions(&self, _: Instant) -> Option<ReactionCounters> {
        self.reactions
    }
    fn whole(&self, _: Instant) -> StationSnapshot {
        self.clone()
    }
}
