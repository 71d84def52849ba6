//! Makes the results of a run on rings, in the same form as those of the virtual world.

use super::collect::RealRun;
use super::node::{Arrivals, Snapshot};
use crate::World;
use crate::ends::{Ends, Source, ends};
use crate::outcome::{
    Completions, Counted, Ended, MessageRecords, Outcome, RealOutcome, Window, completions, gather,
    records,
};
use crate::population::{HostCounts, NodeAgents, Population};
use contracts::stats::SwitchSnapshot;
use ground::time::Instant;
use host::{
    Completion, FlowId, Latency, ReactionCounters, ReceiverCounters, SenderCounters, SinkCounters,
    SourceCounters, StationCounters, StationSnapshot,
};
use secure::SecySnapshot;
use sim::{NodeId, Tally};

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
            trace_hash: None,
            samples: None,
            uncertainty: self.uncertainty,
            tally: Tally { events: 0, frames: self.ran.frames, lost: 0, polls: self.ran.polls },
        };
        let mut nodes = Over(&self.nodes, &self.agents);
        let window = self.window(at);
        let mut outcome = gather(&self.plan, &ended, &window, &self.noted.recorder, &mut nodes);
        outcome.shortfalls = self.shortfalls.iter().map(ToString::to_string).collect();
        outcome.real = Some(RealOutcome {
            threads: self.ran.threads,
            slow_down: self.ran.slow_down,
            wall_ns: u64::try_from(self.ran.wall.as_nanos()).unwrap_or(u64::MAX),
            stalled_ns: self.stalled.saturated(),
        });
        self.judge(&mut outcome);
        outcome
    }

    /// Returns the messages of the lab, if they are recorded.
    pub(super) fn messages(&self) -> Option<MessageRecords> {
        let at = if self.quiet && self.plan.until_done { self.last } else { self.ended };
        let mut nodes = Over(&self.nodes, &self.agents);
        self.plan.record.messages.then(|| records(&self.plan, at, &mut nodes))
    }

    /// Returns the distributions of completion times.
    pub(super) fn completions(&self) -> Completions {
        completions(&self.plan, &mut Over(&self.nodes, &self.agents))
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
struct Over<'a>(&'a [Snapshot], &'a [NodeAgents]);

impl Population for Over<'_> {
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
