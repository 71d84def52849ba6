//! One station: receive, obey, answer, send.

mod agents;
mod counters;
mod receive;
mod restart;
mod send;
mod streams;

pub use counters::{PriorityPauses, StationCounters, StationSnapshot};

use core::net::IpAddr;

use super::histogram::Spares;
use super::meter::{ControlCounters, Meter};
use super::neighbours::{NeighbourCounters, Neighbours, Ping, PingError};
use super::pauses::PauseSource;
use super::plan::{EndKey, FRAME_MIN, FlowId, PlanError, StationPlan};
use super::reactions::{ReactionCounters, Reactions};
use super::sink::{Latency, Sink, SinkCounters};
use super::source::{SourceCounters, Sources};
use super::transport::answers::Answers;
use super::transport::{ReceiverCounters, SenderCounters};
use crate::agents::PortAgents;
use crate::frame::{BURST, Burst};
use crate::pfc::{FlowControl, Receiver};
use crate::port::Source;
use crate::schedule::{Line, Shaper};
use crate::secure::Secy;
use crate::secure::{ChangeRefused, SecyChange};
use crate::time::{Duration, Instant};
use crate::units::{BitsPerSec, Mac, Priority, PrioritySet};
use crate::world::Next;

/// How many frames may still leave once a pause for them waits at the port: a poll makes no more
/// than this, those that the port refused before counted in.
pub const COMMITTED_MAX: usize = BURST;

/// The most pages that are kept for histograms to grow by: 4 MiB. A choice: as many as flows that
/// start together take in some ten milliseconds, after which they are replaced.
const SPARES_MAX: usize = 4_096;

/// As many are kept for a few flows, whose times may be of all magnitudes. Of many, most have times
/// that lie in a page or two.
const SPARES_FEW: usize = 64;

/// An end station on one port.
#[derive(Debug)]
pub struct Station<P: Source> {
    name: String,
    mac: Mac,
    port: P,
    /// Whether the link is up: nothing is sent while it is not.
    up: bool,
    /// How long the shortest frame takes on the link: the time after which to try again.
    slot: Duration,
    shaper: Shaper,
    receiver: Receiver,
    sources: Sources,
    pauses: Vec<PauseSource>,
    /// Made and not yet taken by the port.
    hand: Burst<P::Frame>,
    /// How many of those, at the front, go ahead of data that was made before them.
    leading: usize,
    /// When to try again what the port or the pool refused, if nothing else happens.
    retry: Instant,
    /// Of the flows that are only counted, then of the receivers.
    sinks: Vec<Sink>,
    /// How many flows are only counted.
    expects: usize,
    answers: Answers,
    neighbours: Neighbours<P::Frame>,
    /// By flow number: one more than its place in `sinks`, or 0.
    lookup: Vec<u32>,
    /// The senders by what their answers say, in that order.
    ends: Vec<(EndKey, u32)>,
    /// What its port does by itself.
    agents: Option<Box<PortAgents>>,
    /// When the last burst was found, and when a frame of an agent was dated that waits in the hand.
    found_at: Instant,
    dated: Option<Instant>,
    /// What it does about messages of switches.
    reactions: Option<Box<Reactions>>,
    /// The run whose frames count for its flows.
    run: u8,
    /// What a traffic generator measures.
    meter: Option<Box<Meter>>,
    /// The priorities whose pauses are obeyed.
    obeys: PrioritySet,
    /// The priorities that may not send in this poll.
    paused: PrioritySet,
    counters: StationCounters,
    /// Spare pages of flows' histograms.
    spares: Spares,
}

impl<P: Source> Station<P> {
    /// A station on `port`. Allocates all that it needs, but for the memory of distributions, which
    /// [`Station::spares`] has.
    ///
    /// # Errors
    /// As [`StationPlan::check`].
    pub fn new(plan: &StationPlan, port: P) -> Result<Self, PlanError> {
        plan.check()?;
        let ids: Vec<_> =
            plan.expects.iter().copied().chain(plan.receivers.iter().map(|r| r.id)).collect();
        let mut lookup = vec![0; ids.iter().map(|id| id.0 as usize + 1).max().unwrap_or(0)];
        for (i, id) in ids.iter().enumerate() {
            lookup[id.0 as usize] = i as u32 + 1;
        }
        let mut ends: Vec<_> =
            (0..).zip(&plan.senders).map(|(n, plan)| (plan.answer_key(), n)).collect();
        ends.sort_unstable();
        let line = Line::new(plan.rate, plan.protected_line());
        let meter = Meter::of(plan);
        let priority = |id| meter.as_ref().and_then(|m| m.priority_of(id));
        let histograms = ids.len() + plan.tester.streams.len();
        let spares = (16 * histograms).min(SPARES_FEW).max(2 * histograms).min(SPARES_MAX);
        let spares = Spares::new(spares);
        let mut station = Self {
            name: plan.name.clone(),
            mac: plan.mac,
            sources: Sources::new(plan, &line, port.frame_min(), &spares)?,
            port,
            up: true,
            slot: line.time_for(FRAME_MIN),
            shaper: Shaper::new(plan.rate, plan.shaper_burst, plan.protected_line()),
            receiver: Receiver::new(plan.flow_control, plan.rate)
                .with_delay(plan.tester.pause_delay),
            leading: 0,
            pauses: plan.pauses.iter().map(|p| PauseSource::new(p, plan.mac)).collect(),
            hand: Burst::new(),
            retry: Instant::ZERO,
            sinks: ids.iter().map(|id| Sink::new(*id, priority(*id), &spares)).collect(),
            spares,
            expects: plan.expects.len(),
            answers: Answers::new(&plan.receivers),
            agents: None,
            found_at: Instant::ZERO,
            dated: None,
            run: plan.tester.run,
            meter,
            reactions: Reactions::of(plan).map(Box::new),
            neighbours: Neighbours::new(&plan.tester.interfaces),
            lookup,
            ends,
            obeys: match plan.flow_control {
                FlowControl::Pfc { obey, .. } => obey,
                FlowControl::Pause { obey: true, .. } => PrioritySet::ALL,
                FlowControl::Pause { obey: false, .. } | FlowControl::Off => PrioritySet::EMPTY,
            },
            paused: PrioritySet::EMPTY,
            counters: StationCounters::default(),
        };
        if let Some(agents) = &plan.agents_told() {
            let stamps = station.port.stamps();
            station.agents = Some(Box::new(PortAgents::new(agents, stamps)));
        }
        if let Some(start) = plan.tester.start {
            let all: Vec<_> = plan.tester.streams.iter().map(|stream| stream.id).collect();
            station.start_streams(start, &all);
        }
        Ok(station)
    }

    /// Receives what has arrived, then sends what is due and not paused.
    pub fn poll(&mut self, now: Instant) -> Next {
        let received = self.receive(now);
        self.paused = self.receiver.paused(now);
        if let Some(reactions) = &mut self.reactions {
            self.paused.0 |= reactions.paused(now).0;
        }
        self.sources.expire(now);
        let sent = self.up && self.send(now);
        Next { progressed: received || sent, deadline: self.deadline() }
    }

    /// The link went down, or came up, with another rate if one is given. A link that goes down ends
    /// every pause of it and takes the frames along that the port had not taken yet. While it is down
    /// nothing is sent; timeouts go on, and so do the pauses of messages, which are about a queue
    /// elsewhere.
    pub fn set_link(&mut self, now: Instant, up: bool, rate: Option<BitsPerSec>) {
        self.up = up;
        if !up {
            self.receiver.clear(now);
            self.counters.flushed += (self.hand.len() + self.neighbours.forget()) as u64;
            self.hand.clear();
            self.leading = 0;
            if let Some(meter) = &mut self.meter {
                meter.link_down(now);
            }
        }
        if let Some(rate) = rate {
            self.receiver.set_rate(now, rate);
            if let Some(meter) = &mut self.meter {
                meter.set_rate(now, rate);
            }
            self.shaper.set_rate(rate);
            let line = *self.shaper.line();
            self.slot = line.time_for(FRAME_MIN);
            self.sources.set_line(&line);
        }
        if let Some(agents) = &mut self.agents {
            agents.set_link(now, up, rate);
        }
    }

    /// Ends all flows and planned pauses. What the port has refused so far is still sent, and what
    /// comes in is still answered.
    pub fn stop(&mut self) {
        self.sources.stop();
        self.pauses.clear();
    }

    /// These flows start anew: what arrived of them so far is forgotten, and what was measured by
    /// them of pauses. Their sequence numbers go on, so that what is still on its way from before
    /// counts as neither new nor a duplicate (see [`SinkCounters::old`]).
    pub fn clear_streams(&mut self, which: &[FlowId]) {
        for id in which {
            let place = self.lookup.get(id.0 as usize).and_then(|i| i.checked_sub(1));
            if let Some(i) = place {
                self.sinks[i as usize].clear();
            }
        }
        if let Some(meter) = &mut self.meter {
            meter.clear(which);
        }
    }

    /// Whether everything planned was sent or has run out of time, everything that came in was
    /// answered, and the port has taken it all. A flow that is acknowledged is done when it was.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.hand.is_empty()
            && self.sources.is_done()
            && self.pauses.is_empty()
            && self.answers.is_empty()
            && self.neighbours.is_empty()
    }

    /// Starts a ping from an interface, at the next poll, which is due now. Gives the ping's number.
    ///
    /// # Errors
    /// [`PingError`].
    pub fn ping(&mut self, interface: &str, dst: IpAddr) -> Result<u16, PingError> {
        self.neighbours.ping(interface, dst)
    }

    /// The pings that were started, the oldest first, and what came of them.
    pub fn pings(&self) -> impl Iterator<Item = &Ping> {
        self.neighbours.pings()
    }

    /// The neighbours that its interfaces ask for, by interface, and their addresses as far as they
    /// are known.
    pub fn neighbours(&self) -> impl Iterator<Item = (&str, IpAddr, Option<Mac>)> {
        self.neighbours.iter()
    }

    /// What its interfaces asked and answered.
    pub fn neighbour_counters(&self) -> &NeighbourCounters {
        self.neighbours.counters()
    }

    /// The plain counters, without times and transitions of pauses: what costs nothing to look at.
    pub const fn counters(&self) -> &StationCounters {
        &self.counters
    }

    /// What has arrived so far, by flow: those that it was told to expect, then those of its
    /// receivers. Costs nothing to look at.
    pub fn sinks(&self) -> impl ExactSizeIterator<Item = &SinkCounters> {
        self.sinks.iter().map(Sink::counters)
    }

    /// Counts of a flow that it expects or receives.
    pub fn sink(&self, id: FlowId) -> Option<&SinkCounters> {
        let place = self.lookup.get(id.0 as usize)?.checked_sub(1)?;
        Some(self.sinks[place as usize].counters())
    }

    /// The memory that distributions of flows grow by. Whoever has time may fill it.
    pub const fn spares(&self) -> &Spares {
        &self.spares
    }

    /// What has been sent so far of the flows that nobody answers, in the order of the plan.
    pub fn sources(&self) -> impl Iterator<Item = SourceCounters> {
        self.sources.counters()
    }

    /// What its senders did and saw so far, in the order of the plan.
    pub fn senders(&self) -> impl Iterator<Item = SenderCounters> {
        self.sources.senders()
    }

    /// How long the messages of each of its senders took, in the order of the plan; nothing where a
    /// sender has one message at most.
    pub fn completion_times(&self) -> impl Iterator<Item = Option<&Latency>> {
        self.sources.completion_times()
    }

    /// What its receivers saw and said so far, in the order of the plan.
    pub fn receivers(&self) -> impl Iterator<Item = ReceiverCounters> {
        self.answers.counters()
    }

    /// The plain counters, with the time paused so far counted in.
    #[must_use]
    pub fn counters_at(&self, now: Instant) -> StationCounters {
        let mut counters = self.counters.clone();
        for (p, c) in Priority::ALL.into_iter().zip(&mut counters.priorities) {
            c.paused = self.receiver.paused_time(now, p);
            c.transitions = self.receiver.transitions(p);
        }
        counters
    }

    /// What became of the messages that it is to obey, if there are such, as of `now`.
    #[must_use]
    pub fn reactions_at(&self, now: Instant) -> Option<ReactionCounters> {
        self.reactions.as_ref().map(|reactions| reactions.counters(now, &self.sources))
    }

    /// What has arrived so far of the control streams that it was told to expect.
    pub fn control_counters(&self) -> impl Iterator<Item = ControlCounters> {
        self.meter.iter().flat_map(|meter| meter.control_counters())
    }

    /// All counters, with the time paused so far counted in.
    #[must_use]
    pub fn snapshot(&self, now: Instant) -> StationSnapshot {
        let streams = self.sources.streams_at(now).collect();
        let sinks = self.sinks().cloned().collect();
        let completion_times = self.completion_times().map(|times| times.cloned()).collect();
        StationSnapshot { streams, sinks, completion_times, ..self.snapshot_light(now) }
    }

    /// The same without `streams`, `sinks` and `completion_times`, whose distributions take time to copy.
    #[must_use]
    pub fn snapshot_light(&self, now: Instant) -> StationSnapshot {
        StationSnapshot {
            name: self.name.clone(),
            at: now,
            counters: self.counters_at(now),
            sources: self.sources.counters().collect(),
            streams: Vec::new(),
            senders: self.sources.senders().collect(),
            completion_times: Vec::new(),
            receivers: self.answers.counters().collect(),
            sinks: Vec::new(),
            meter: self.meter.as_ref().map(|m| m.counters(now)),
            neighbours: self.neighbours.snapshot(),
            reactions: self.reactions_at(now),
            secy: self.port.secy().map(|secy| Box::new(secy.snapshot())),
        }
    }

    /// The `SecY` of its port, if it has one.
    pub fn secy(&self) -> Option<&Secy> {
        self.port.secy()
    }

    /// The frames that it has made and its port has not taken yet.
    pub fn held_frames(&self) -> impl Iterator<Item = &P::Frame> {
        self.hand.iter()
    }

    /// The port, for what its world has to do to it.
    pub fn port_mut(&mut self) -> &mut P {
        &mut self.port
    }

    /// Changes what its port protects, or is to accept.
    ///
    /// # Errors
    /// [`Change::Refused`](crate::secure::ChangeRefused), or nothing of that where the port has no
    /// `SecY`.
    pub fn change_secy(&mut self, change: &SecyChange) -> Result<(), Option<ChangeRefused>> {
        self.port.secy_mut().ok_or(None)?.change(change).map_err(Some)
    }

    /// The port, for another station. What it had not taken yet is lost.
    pub fn into_port(self) -> P {
        self.port
    }
}
