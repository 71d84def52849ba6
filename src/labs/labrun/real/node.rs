//! A switch or a host on rings, as its thread polls it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::RealError;
use super::log::{Event, Moment, ObservedPort, Watch};
use crate::population::{NodeAgents, of_host, of_switch};
use crate::record::Recorder;
use contracts::frame::{Burst, Frame};
use contracts::port::{Port, Secured};
use contracts::stats::SwitchSnapshot;
use contracts::world::{Alone, World};
use dpdk::{DpdkPort, Mbuf, SourcePort, Started};
use ground::time::{Duration, Instant};
use ground::units::PortId;
use host::{FlowId, Station, StationSnapshot, probe_of};
use sim::NodeId;
use switch::{Change, Reconciler, Refused, Switch};

/// Types of a switch on rings.
pub(super) enum Rings {}

impl World for Rings {
    type Frame = Mbuf;
    type Port = ObservedPort<Secured<DpdkPort<Started>>>;
    type Events = Watch;
    type Handoff = Alone;
}

/// A host on a ring.
pub(super) type Host = Station<ObservedPort<Secured<SourcePort>>>;

pub(super) enum Kind {
    Switch(Box<Switch<Rings>>),
    Host(Box<Host>),
}

/// Applies the link protocol results of a switch.
fn reconcile(switch: &mut Switch<Rings>, reconciler: Option<&mut Reconciler>, now: Instant) {
    if let Some(reconciler) = reconciler {
        if switch.has_news() || reconciler.next_deadline() <= now {
            switch.reconcile(now, reconciler);
        }
    }
}

pub(super) struct Node {
    pub(super) id: NodeId,
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Reconciler of a switch with link protocols, which applies their results.
    pub(super) reconciler: Option<Box<Reconciler>>,
    /// Number of ports.
    pub(super) ports: u16,
    /// Time of the poll, which its ports read.
    pub(super) moment: Arc<Moment>,
    /// Not polled until this time: a planned stall.
    pub(super) stalled_until: Instant,
}

/// A planned action on a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Action {
    pub(super) at: Instant,
    pub(super) node: NodeId,
    pub(super) what: Operation,
}

/// Kinds of actions.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operation {
    /// One of its links goes down or comes up.
    Link { port: PortId, up: bool },
    /// The node is not polled for this time.
    Stall(Duration),
    /// A change of a switch's configuration.
    Change(Change),
}

/// A node at the end of its run.
#[derive(Debug)]
pub(super) struct NodeEnd {
    pub(super) id: NodeId,
    pub(super) snapshot: Snapshot,
    pub(super) agents: NodeAgents,
    /// Records of a switch.
    pub(super) recorder: Option<Recorder>,
    pub(super) events: Vec<Event>,
    /// Number of events that were not kept.
    pub(super) left_off: u64,
}

/// Counters of a node.
#[derive(Clone, Debug)]
pub enum Snapshot {
    Switch(SwitchSnapshot),
    Host(Box<StationSnapshot>),
}

/// Data that a host has received, by sinks and by receivers.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrivals {
    /// Frames and bytes.
    pub(super) sinks: Vec<(u64, u64)>,
    /// Message bytes in order.
    pub(super) delivered: Vec<u64>,
}

/// Removes all frames from a port's ring.
fn empty(port: &mut impl Port<Frame = Mbuf>, mut show: impl FnMut(&Mbuf)) {
    let mut burst = Burst::new();
    loop {
        port.rx_burst(&mut burst);
        if burst.is_empty() {
            return;
        }
        burst.drain(..).for_each(|frame| show(&frame));
    }
}

/// Returns the frames that a port has put into its ring and taken from it. Frames that end at its
/// `SecY` are in the ring but not above it, or the other way round.
fn traffic_of<P: Port>(port: &ObservedPort<Secured<P>>) -> (u64, u64) {
    let lost = port.port.lost();
    (port.tap.sent - lost.sent, port.tap.received + lost.received)
}

/// Most polls at one time: enough to empty the longest ring, a burst at a time.
const POLLS_MAX: u32 = 32;

/// Polls until nothing happens; returns the number of polls.
#[inline]
pub fn until_quiet(mut poll: impl FnMut() -> bool) -> u32 {
    (1..=POLLS_MAX).find(|_| !poll()).unwrap_or(POLLS_MAX)
}

impl Node {
    /// Receives and sends until there is nothing more to do at this time. True if anything was
    /// done.
    #[inline]
    pub(super) fn poll(&mut self, now: Instant) -> bool {
        if now < self.stalled_until {
            return false;
        }
        self.moment.set(now);
        let reconciler = &mut self.reconciler;
        // At one time of the clock: what arrives meanwhile is forwarded now, so a poll leaves nothing behind.
        let polls = until_quiet(|| match &mut self.kind {
            Kind::Switch(switch) => {
                let progressed = switch.poll(now).progressed;
                reconcile(switch, reconciler.as_deref_mut(), now);
                progressed
            }
            Kind::Host(host) => host.poll(now).progressed,
        });
        polls > 1
    }

    /// Returns the frames that its ports have sent and received.
    pub(super) fn traffic(&mut self) -> (u64, u64) {
        match &mut self.kind {
            Kind::Host(host) => traffic_of(host.port_mut()),
            Kind::Switch(switch) => {
                let ids = (0..self.ports).filter_map(PortId::new);
                ids.fold((0, 0), |(sent, received), id| match switch.port_mut(id) {
                    Some(port) => {
                        let (s, r) = traffic_of(port);
                        (sent + s, received + r)
                    }
                    None => (sent, received),
                })
            }
        }
    }

    /// True if it will do nothing more unless a frame arrives.
    pub(super) fn is_idle(&self) -> bool {
        match &self.kind {
            Kind::Switch(switch) => switch.held() == 0,
            Kind::Host(host) => host.is_done(),
        }
    }

    /// Executes a planned action; false if a change is refused because of the current buffer
    /// occupancy.
    pub(super) fn act(&mut self, now: Instant, operation: Operation) -> Result<bool, RealError> {
        let change = match (operation, &mut self.kind) {
            (Operation::Stall(span), _) => {
                // A second stall adds to the first one, as a CPU that is busy twice.
                self.stalled_until = self.stalled_until.max(now).saturating_add(span);
                return Ok(true);
            }
            // A host has one link, so its port needs no name.
            (Operation::Link { up, .. }, Kind::Host(host)) => {
                host.set_link(now, up, None);
                return Ok(true);
            }
            (Operation::Link { port, up }, Kind::Switch(_)) => {
                Change::Link { port, up, rate: None }
            }
            (Operation::Change(change), _) => change,
        };
        let Kind::Switch(switch) = &mut self.kind else { return Ok(true) };
        // The reconciler owns measured values: it keeps them in a change that does not mean them.
        let change = match &mut self.reconciler {
            Some(reconciler) => reconciler.amend(change),
            None => change,
        };
        match switch.apply(now, change) {
            Ok(()) => Ok(true),
            // Cells in use go away with time, so the caller tries again; other refusals are errors of the plan.
            Err(error) if matches!(error.as_refused(), Refused::Now(_)) => Ok(false),
            Err(source) => Err(RealError::Change { node: self.name.clone(), source }),
        }
    }

    /// Returns the data that a host has received.
    pub(super) fn arrivals(&self) -> Arrivals {
        match &self.kind {
            Kind::Switch(_) => Arrivals::default(),
            Kind::Host(host) => Arrivals {
                sinks: host.sinks().map(|s| (s.frames, s.bytes)).collect(),
                delivered: host.receivers().map(|r| r.delivered).collect(),
            },
        }
    }

    /// Empties its rings, and passes every data frame in them and in the node to `show`. Called
    /// after the last poll.
    fn for_each_frame(&mut self, mut show: impl FnMut(&Mbuf)) {
        match &mut self.kind {
            Kind::Switch(switch) => {
                for port in (0..self.ports).filter_map(PortId::new) {
                    if let Some(port) = switch.port_mut(port) {
                        empty(port, &mut show);
                    }
                }
                switch.held_frames().for_each(&mut show);
            }
            Kind::Host(host) => {
                empty(host.port_mut(), &mut show);
                host.held_frames().for_each(&mut show);
            }
        }
    }

    /// Moves the records of its ports and of the node to `events`; returns the number of events not
    /// kept.
    fn hand_over(&mut self, events: &mut Vec<Event>) -> u64 {
        let id = self.id;
        match &mut self.kind {
            Kind::Host(host) => host.port_mut().tap.log.hand_over(id, events),
            Kind::Switch(switch) => {
                let mut left_off = switch.events_mut().log.hand_over(id, events);
                for port in (0..self.ports).filter_map(PortId::new) {
                    if let Some(port) = switch.port_mut(port) {
                        left_off += port.tap.log.hand_over(id, events);
                    }
                }
                left_off
            }
        }
    }

    /// Returns its counters and records at the end. Adds the frames of each flow that have not
    /// arrived to `pending`.
    pub(super) fn end(mut self, now: Instant, pending: &mut BTreeMap<FlowId, u64>) -> NodeEnd {
        let mut events = Vec::new();
        let left_off = self.hand_over(&mut events);
        // The events of each observer are in order; a stable sort merges them.
        events.sort_by_key(|event| event.at);
        let ports = match &self.kind {
            Kind::Host(host) => of_host(host, now),
            Kind::Switch(switch) => of_switch(switch, now),
        };
        let agents = NodeAgents { ports, reconciler: self.reconciler.take().map(|s| *s) };
        let (snapshot, recorder) = match &mut self.kind {
            Kind::Host(host) => (Snapshot::Host(Box::new(host.snapshot(now))), None),
            Kind::Switch(switch) => {
                (Snapshot::Switch(switch.snapshot(now)), switch.events_mut().recorder.take())
            }
        };
        // Last, because ports count and record the frames that they return.
        self.for_each_frame(|frame| {
            if let Some(probe) = probe_of(frame.head()) {
                *pending.entry(probe.flow).or_default() += 1;
            }
        });
        NodeEnd { id: self.id, snapshot, agents, recorder, events, left_off }
    }
}
