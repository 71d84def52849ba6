//! One station: receive, obey, send.

use super::plan::{FRAME_MIN, FlowId, PauseAsk, PausePlan, PlanError, StationPlan};
use super::probe::Arrival;
use super::sink::{Sink, SinkCounters};
use super::source::{SourceCounters, Sources};
use crate::frame::{BURST, Burst, Frame};
use crate::pfc::{FlowControl, PauseVector, Receiver};
use crate::port::Source;
use crate::schedule::{Line, Shaper};
use crate::time::{Duration, Instant};
use crate::units::{Mac, PRIORITIES, Priority, PrioritySet};
use crate::wire::{EtherType, group, mac_control, pause, pfc, vlan};
use crate::world::Next;

/// How many frames may still leave once a pause for them waits at the port: a poll makes no more
/// than this, those that the port refused before counted in.
pub const COMMITTED_MAX: usize = BURST;

/// Bursts read in one poll before anything is sent. Reading stops at the first burst that is not
/// full, so that this bound is met only by a peer that sends faster than it is read.
const RX_BURSTS: usize = 64;

/// What happened to one priority of a station.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PriorityPauses {
    /// Pauses received that name it, XON among them.
    pub received: u64,
    /// Those of them that were obeyed.
    pub obeyed: u64,
    /// How often it went from running to paused.
    pub transitions: u64,
    /// How long it was paused.
    pub paused: Duration,
    /// Pauses sent that name it.
    pub sent: u64,
}

/// What happened at a station.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StationCounters {
    /// Frames received, of any kind.
    pub rx_frames: u64,
    /// Their octets, FCS included.
    pub rx_bytes: u64,
    /// Frames made for the port, of any kind.
    pub tx_frames: u64,
    /// Their octets, FCS included.
    pub tx_bytes: u64,
    /// PFC and PAUSE frames received, whether obeyed or not.
    pub pauses_received: u64,
    /// PFC and PAUSE frames sent.
    pub pauses_sent: u64,
    /// MAC control frames received that are neither.
    pub malformed: u64,
    /// Frames to other addresses, as a switch floods them.
    pub foreign: u64,
    /// Frames to this station that belong to no flow that it expects.
    pub unexpected: u64,
    /// By priority.
    pub priorities: [PriorityPauses; PRIORITIES],
}

/// A station's counters at one moment.
#[derive(Clone, Debug)]
pub struct StationSnapshot {
    /// Its name in the plan.
    pub name: String,
    /// When.
    pub at: Instant,
    /// What it counted.
    pub counters: StationCounters,
    /// What it sent, by flow in the order of the plan.
    pub sources: Vec<SourceCounters>,
    /// What it received, by flow in the order that it was told to expect them.
    pub sinks: Vec<SinkCounters>,
}

/// Pauses that are sent by plan.
#[derive(Debug)]
struct PauseSource {
    octets: [u8; mac_control::FRAME_LEN],
    names: PrioritySet,
    due: Instant,
    every: Duration,
    left: u64,
}

/// An end station on one port.
#[derive(Debug)]
pub struct Station<P: Source> {
    name: String,
    mac: Mac,
    port: P,
    /// How long the shortest frame takes on the link: the time after which to try again.
    slot: Duration,
    shaper: Shaper,
    receiver: Receiver,
    sources: Sources,
    pauses: Vec<PauseSource>,
    /// Made and not yet taken by the port.
    hand: Burst<P::Frame>,
    /// When to try again what the port or the pool refused, if nothing else happens.
    retry: Instant,
    sinks: Vec<Sink>,
    /// By flow number: one more than its place in `sinks`, or 0.
    lookup: Vec<u32>,
    /// The priorities whose pauses are obeyed.
    obeys: PrioritySet,
    /// The priorities that may not send in this poll.
    paused: PrioritySet,
    counters: StationCounters,
    up: bool,
}

impl<P: Source> Station<P> {
    /// A station on `port`. Allocates all that it ever needs.
    ///
    /// # Errors
    /// As [`StationPlan::check`].
    pub fn new(plan: &StationPlan, port: P) -> Result<Self, PlanError> {
        plan.check()?;
        let highest = plan.expects.iter().map(|id| id.0 as usize + 1).max().unwrap_or(0);
        let mut lookup = vec![0; highest];
        for (i, id) in plan.expects.iter().enumerate() {
            lookup[id.0 as usize] = i as u32 + 1;
        }
        Ok(Self {
            name: plan.name.clone(),
            mac: plan.mac,
            port,
            slot: Line::new(plan.rate, plan.line).time_for(FRAME_MIN),
            shaper: Shaper::new(plan.rate, plan.shaper_burst, plan.line),
            receiver: Receiver::new(plan.flow_control, plan.rate),
            sources: Sources::new(&plan.flows, &Line::new(plan.rate, plan.line), plan.backlog)?,
            pauses: plan.pauses.iter().map(|p| PauseSource::new(p, plan.mac)).collect(),
            hand: Burst::new(),
            retry: Instant::ZERO,
            sinks: plan.expects.iter().map(|id| Sink::new(*id)).collect(),
            lookup,
            obeys: match plan.flow_control {
                FlowControl::Pfc { obey, .. } => obey,
                FlowControl::Pause { obey: true, .. } => PrioritySet::ALL,
                FlowControl::Pause { obey: false, .. } | FlowControl::Off => PrioritySet::EMPTY,
            },
            paused: PrioritySet::EMPTY,
            counters: StationCounters::default(),
            up: true,
        })
    }

    /// Receives what has arrived, then sends what is due and not paused.
    pub fn poll(&mut self, now: Instant) -> Next {
        let received = self.receive(now);
        self.paused = self.receiver.paused(now);
        self.sources.expire(now);
        let sent = self.up && self.send(now);
        Next { progressed: received || sent, deadline: self.deadline() }
    }

    /// The link goes down, and what the port has not taken is dropped, or it comes up: no pause
    /// outlives that.
    pub fn set_link(&mut self, now: Instant, up: bool) {
        self.up = up;
        self.receiver.clear(now);
        self.hand.clear();
    }

    /// Ends all flows and planned pauses. What the port has refused so far is still sent.
    pub fn stop(&mut self) {
        self.sources.stop();
        self.pauses.clear();
    }

    /// Whether everything planned was sent or has run out of time, and the port has taken it.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.hand.is_empty() && self.sources.is_done() && self.pauses.is_empty()
    }

    /// The plain counters, without times and transitions of pauses: what costs nothing to look at.
    pub const fn counters(&self) -> &StationCounters {
        &self.counters
    }

    /// All counters, with the time paused so far counted in.
    #[must_use]
    pub fn snapshot(&self, now: Instant) -> StationSnapshot {
        let mut counters = self.counters.clone();
        for (p, c) in Priority::ALL.into_iter().zip(&mut counters.priorities) {
            c.paused = self.receiver.paused_time(now, p);
            c.transitions = self.receiver.transitions(p);
        }
        StationSnapshot {
            name: self.name.clone(),
            at: now,
            counters,
            sources: self.sources.counters().copied().collect(),
            sinks: self.sinks.iter().map(|s| s.counters().clone()).collect(),
        }
    }

    /// The port, for what its world has to do to it.
    pub fn port_mut(&mut self) -> &mut P {
        &mut self.port
    }

    /// Reads the port until a burst is not full.
    fn receive(&mut self, now: Instant) -> bool {
        let mut inbox = Burst::new();
        let mut progressed = false;
        for _ in 0..RX_BURSTS {
            self.port.rx_burst(&mut inbox);
            let full = inbox.is_full();
            progressed |= !inbox.is_empty();
            for frame in inbox.drain(..) {
                self.counters.rx_frames += 1;
                self.counters.rx_bytes += u64::from(frame.wire_len());
                self.take(now, &frame);
            }
            if !full {
                break;
            }
        }
        progressed
    }

    /// One received frame: a pause, a flow's, or nobody's.
    #[inline]
    fn take(&mut self, now: Instant, frame: &P::Frame) {
        let head = frame.head();
        let Ok(walk) = vlan::walk(head) else {
            self.counters.unexpected += 1;
            return;
        };
        if walk.ethertype == EtherType::MAC_CONTROL {
            self.take_control(now, head);
            return;
        }
        if walk.dst != self.mac && !walk.dst.is_multicast() {
            self.counters.foreign += 1;
            return;
        }
        let arrival = Arrival::find(head, &walk);
        let sink = arrival.and_then(|a| {
            let i = *self.lookup.get(a.probe.flow.0 as usize)?;
            Some((a, self.sinks.get_mut((i as usize).checked_sub(1)?)?))
        });
        match sink {
            Some((arrival, sink)) => sink.take(now, &arrival, frame.wire_len()),
            None => self.counters.unexpected += 1,
        }
    }

    /// One received MAC control frame.
    fn take_control(&mut self, now: Instant, head: &[u8]) {
        let (names, obeyed) = match mac_control::Repr::parse(head, self.mac) {
            Ok(mac_control::Repr::Pfc(pfc)) => {
                let vector = PauseVector { enabled: pfc.enabled, time: pfc.times };
                (pfc.enabled, self.receiver.on_pfc(now, &vector))
            }
            Ok(mac_control::Repr::Pause(pause)) => {
                (PrioritySet::ALL, self.receiver.on_pause(now, pause.time))
            }
            Err(_) => {
                self.counters.malformed += 1;
                return;
            }
        };
        self.counters.pauses_received += 1;
        for p in names.iter() {
            let c = &mut self.counters.priorities[p.index()];
            c.received += 1;
            c.obeyed += u64::from(obeyed && self.obeys.contains(p));
        }
    }

    /// Sends what was refused before, then planned pauses, then data, at most [`COMMITTED_MAX`]
    /// frames in all.
    fn send(&mut self, now: Instant) -> bool {
        let before = self.hand.len();
        if before > 0 {
            self.port.tx_burst(&mut self.hand);
        }
        if !self.hand.is_empty() {
            self.retry = now + self.slot;
            return self.hand.len() < before;
        }
        let room = COMMITTED_MAX - before;
        self.make_pauses(now, room);
        self.make_data(now, room);
        let made = self.hand.len();
        if made > 0 {
            self.port.tx_burst(&mut self.hand);
        }
        if !self.hand.is_empty() {
            self.retry = now + self.slot;
        }
        before > 0 || made > 0
    }

    /// Makes the pauses that are due.
    fn make_pauses(&mut self, now: Instant, room: usize) {
        for pause in &mut self.pauses {
            while pause.left > 0 && pause.due <= now {
                if self.hand.len() == room || !self.shaper.ready(now) {
                    return;
                }
                let Some(frame) = self.port.control_frame(&pause.octets) else {
                    self.retry = now + self.slot;
                    return;
                };
                charge(&mut self.shaper, &mut self.counters, now, frame.wire_len());
                self.hand.push(frame);
                self.counters.pauses_sent += 1;
                for p in pause.names.iter() {
                    self.counters.priorities[p.index()].sent += 1;
                }
                pause.due = pause.due.saturating_add(pause.every);
                pause.left -= 1;
            }
        }
        self.pauses.retain(|p| p.left > 0);
    }

    /// Makes the data frames that are due, in the order in which they are.
    #[inline]
    fn make_data(&mut self, now: Instant, room: usize) {
        while self.hand.len() < room && self.shaper.ready(now) {
            let Some((_, p)) = self.sources.first(self.paused).filter(|(due, _)| *due <= now)
            else {
                return;
            };
            let (port, hand) = (&mut self.port, &mut self.hand);
            let mut len = 0;
            let made = self.sources.send(now, p, |head, wire_len| {
                len = wire_len;
                port.data_frame(head, wire_len).map(|frame| hand.push(frame)).is_some()
            });
            if !made {
                self.retry = now + self.slot;
                return;
            }
            charge(&mut self.shaper, &mut self.counters, now, len);
        }
    }

    /// When to poll again if nothing arrives.
    fn deadline(&self) -> Instant {
        if !self.up {
            return Instant::NEVER;
        }
        let timers = self.receiver.next_deadline();
        if !self.hand.is_empty() {
            return self.retry.min(timers);
        }
        let data = self.sources.first(self.paused).map_or(Instant::NEVER, |(due, _)| due);
        let pauses = self.pauses.iter().map(|p| p.due).min().unwrap_or(Instant::NEVER);
        let due = data.min(pauses).max(self.shaper.free_at()).max(self.retry);
        if data.min(pauses) == Instant::NEVER { timers } else { due.min(timers) }
    }
}

/// Takes note of a frame that starts on the line now.
#[inline]
fn charge(shaper: &mut Shaper, counters: &mut StationCounters, now: Instant, wire_len: u32) {
    shaper.charge(now, wire_len);
    counters.tx_frames += 1;
    counters.tx_bytes += u64::from(wire_len);
}

impl PauseSource {
    /// Prepares the pauses of a checked plan.
    fn new(plan: &PausePlan, mac: Mac) -> Self {
        let mut octets = [0; mac_control::FRAME_LEN];
        let (repr, names) = match plan.ask {
            PauseAsk::Pfc(times) => {
                let mut repr = pfc::Repr::new(mac);
                for (p, time) in Priority::ALL.into_iter().zip(times) {
                    if let Some(time) = time {
                        repr.set(p, time);
                    }
                }
                (mac_control::Repr::Pfc(repr), repr.enabled)
            }
            PauseAsk::Pause(time) => {
                let repr = pause::Repr { dst: group::MAC_CONTROL, src: mac, time };
                (mac_control::Repr::Pause(repr), PrioritySet::ALL)
            }
        };
        repr.emit(&mut octets).expect("the buffer has the length of the frame");
        Self { octets, names, due: plan.start, every: plan.every, left: plan.frames }
    }
}

impl StationSnapshot {
    /// What arrived of a flow, if this station expects it.
    #[must_use]
    pub fn sink(&self, id: FlowId) -> Option<&SinkCounters> {
        self.sinks.iter().find(|s| s.id == id)
    }
}
