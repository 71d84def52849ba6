//! A station: receives, obeys, replies, sends.
//!
//! Nearly all polls of a station send or receive data and do nothing else. A poll that has examined
//! everything calculates until when that remains so ([`Calm`]), and the polls before then handle data
//! alone. A frame that is no plain data, or a call from outside, ends the calm.

mod control;
mod counters;
mod receive;
mod send;
#[cfg(test)]
mod tests;

pub use counters::{PriorityPauses, StationCounters, StationSnapshot};

use core::net::IpAddr;
use std::sync::Arc;

use self::receive::Usual;
use super::histogram::Spares;
use super::meter::Meter;
use super::neighbours::{Neighbours, PingError};
use super::pauses::{PauseSource, Share, SharedPauses};
use super::plan::{EndKey, FRAME_MIN, FlowId, PlanError, StationPlan};
use super::reactions::Reactions;
use super::sink::Sink;
use super::source::Sources;
use super::stream::Reference;
use super::transport::receiver::Answers;
use contracts::frame::{BURST, Burst};
use contracts::port::Source;
use contracts::world::Next;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Mac, PrioritySet};
use link::PortAgents;
use pfc::Receiver;
use schedule::{Line, Shaper};
use secure::{ChangeRefused, Secy, SecyChange};

/// Maximum number of frames that may still leave once a pause for them waits at the port: a poll
/// makes no more than this, including those that the port refused before.
pub const COMMITTED_MAX: usize = BURST;

/// Maximum number of spare histogram pages: 4.5 MiB. A choice: as many as flows that start together
/// use in some ten milliseconds, after which they are replaced.
const SPARES_MAX: usize = 4_096;

/// Minimum number of spare pages, for a few flows with times of all magnitudes. With many flows,
/// most have times within a page or two.
const SPARES_FEW: usize = 64;

/// Number of spare pages per flow of several messages: completion times of messages that queue grow
/// from microseconds to milliseconds in the first milliseconds, by eight pages per octave.
const SPARES_MESSAGES: usize = 128;

/// Returns the most memory in bytes that spare pages take for this number of flows of several messages that a
/// station sends, if its owner fills [`Station::spares`].
pub fn message_spares(flows: u64) -> u64 {
    (SPARES_MESSAGES as u64).saturating_mul(flows).min(SPARES_MAX as u64) * Spares::PAGE_BYTES
}

/// An end station on one port.
#[derive(Debug)]
pub struct Station<P: Source> {
    name: String,
    mac: Mac,
    port: P,
    /// True if the link is up; nothing is sent while it is down.
    up: bool,
    /// Time of the shortest frame on the link: the retry interval.
    slot: Duration,
    shaper: Shaper,
    receiver: Receiver,
    sources: Sources,
    pauses: Vec<PauseSource>,
    /// Frames made and not accepted by the port yet.
    hand: Burst<P::Frame>,
    /// Number of those, at the front, that precede data made before them.
    leading: usize,
    /// Time to retry what the port or the pool refused, if nothing else happens.
    retry: Instant,
    /// Of the flows that are only counted, then of the receivers.
    sinks: Vec<Sink>,
    /// Number of flows that are only counted.
    expects: usize,
    answers: Answers,
    neighbours: Neighbours<P::Frame>,
    /// By flow number: index in `sinks` plus one, or 0.
    lookup: Vec<u32>,
    /// Senders by the key of their acknowledgements, sorted.
    ends: Vec<(EndKey, u32)>,
    /// By receiver: the sender whose messages wait for it, if any sender waits.
    waiting: Vec<Option<u32>>,
    /// Link protocols of the port.
    agents: Option<Box<PortAgents>>,
    /// Time at which the first frame for the link protocols was found in the last burst, and
    /// timestamp of an unsent link-protocol frame.
    found_at: Option<Instant>,
    dated: Option<Instant>,
    /// Reactions to congestion messages of switches.
    reactions: Option<Box<Reactions>>,
    /// By index in `sinks`: what the frames of a compared stream look like. Empty if none is compared.
    references: Vec<Option<Box<Reference>>>,
    /// Run number whose frames count for the flows.
    run: u8,
    /// Meter of a traffic generator.
    meter: Option<Box<Meter>>,
    /// Priorities whose pauses are obeyed.
    obeys: PrioritySet,
    /// Priorities that may not send in this poll.
    paused: PrioritySet,
    /// Pauses of the other queues of its port.
    share: Option<Box<Share>>,
    counters: StationCounters,
    /// Time until which nothing but data is due.
    calm: Calm,
    /// Spare pages for the flows' histograms.
    spares: Spares,
    /// Room for what was read of a burst.
    read: Vec<Usual>,
}

impl<P: Source> Station<P> {
    /// Creates a station on `port`. Allocates all its memory, except that for distributions, which
    /// is taken from [`Station::spares`]: to be filled by owners that poll in real time.
    ///
    /// # Errors
    /// As [`StationPlan::check`].
    pub fn new(plan: &StationPlan, port: P) -> Result<Self, PlanError> {
        plan.check()?;
        // Sinks first of the flows that are only counted, then of the receivers: `expects` divides them.
        let ids: Vec<_> =
            plan.expects.iter().copied().chain(plan.receivers.iter().map(|r| r.id)).collect();
        let mut lookup = vec![0; ids.iter().map(|id| id.0 as usize + 1).max().unwrap_or(0)];
        for (i, id) in ids.iter().enumerate() {
            // 0 is the entry of a number that is not expected.
            lookup[id.0 as usize] = i as u32 + 1;
        }
        let mut ends: Vec<_> =
            (0..).zip(&plan.senders).map(|(n, plan)| (plan.answer_key(), n)).collect();
        // For binary search by the key in an acknowledgement.
        ends.sort_unstable();
        let line = Line::new(plan.rate, plan.protected_line());
        let meter = Meter::of(plan);
        let priority = |id| meter.as_ref().and_then(|m| m.priority_of(id));
        let spares = spares(plan, ids.len() + plan.tester.streams.len());
        let mut station = Self {
            name: plan.name.clone(),
            mac: plan.mac,
            // A port that sends runts does not pad them, which its streams have to know.
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
            waiting: waiting(plan),
            agents: None,
            found_at: None,
            dated: None,
            references: references(plan, &ids),
            run: plan.tester.run,
            meter,
            reactions: Reactions::of(plan).map(Box::new),
            neighbours: Neighbours::new(&plan.tester.interfaces),
            lookup,
            ends,
            obeys: plan.flow_control.obeys(),
            paused: PrioritySet::EMPTY,
            share: None,
            counters: StationCounters::default(),
            // The first poll handles everything.
            calm: Calm::OVER,
            read: vec![Usual::default(); BURST],
        };
        if let Some(agents) = &plan.agents_advertised() {
            // The accuracy of the port's timestamps is part of every measurement.
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
        // Before anything is sent: a pause that has arrived holds the frames of this poll.
        let received = self.receive(now);
        if self.calm.holds(now) {
            let sent = self.send_data(now);
            return Next { progressed: received || sent, deadline: self.deadline_of_data() };
        }
        self.poll_all(now, received)
    }

    /// As [`Self::poll`], where anything may be due.
    #[inline(never)]
    fn poll_all(&mut self, now: Instant, received: bool) -> Next {
        if let Some(heard) = self.share.as_mut().and_then(|share| share.take()) {
            self.overhear(now, &heard);
        }
        // One set for the whole poll, as time does not advance in it.
        self.paused = self.receiver.paused(now);
        if let Some(reactions) = &mut self.reactions {
            self.paused.0 |= reactions.paused(now).0;
        }
        // Timeouts run while the link is down, too.
        self.sources.expire(now);
        let sent = self.up && self.send(now);
        let deadline = self.deadline();
        self.calm = self.find_calm();
        Next { progressed: received || sent, deadline }
    }

    /// Sets the link state, with a new rate if given. A link that goes down ends every pause and
    /// drops the frames that the port had not accepted yet. While it is down nothing is sent;
    /// timeouts continue, and so do pauses by messages, which are about a queue elsewhere.
    pub fn set_link(&mut self, now: Instant, up: bool, rate: Option<BitsPerSec>) {
        self.calm = Calm::OVER;
        self.up = up;
        if !up {
            // Pauses of the other queues that it has not taken over are over, too.
            let _ = self.share.as_mut().and_then(|share| share.take());
            self.receiver.clear(now);
            // Counted as made before, so the difference to what left has a name.
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
            // Retries follow the new rate.
            self.slot = line.time_for(FRAME_MIN);
            self.sources.set_line(&line);
        }
        if let Some(agents) = &mut self.agents {
            agents.set_link(now, up, rate);
        }
    }

    /// Ends all flows and planned pauses. Frames that the port refused so far are still sent, and
    /// received frames still answered.
    pub fn stop(&mut self) {
        self.calm = Calm::OVER;
        self.sources.stop();
        self.pauses.clear();
    }

    /// Restarts these flows: their counters and pause measurements are reset. Their sequence
    /// numbers continue, so frames still in flight count as neither new nor duplicate (see
    /// `SinkCounters::old`).
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

    /// Returns true if everything planned was sent or has expired, every received frame was
    /// answered, and the port has accepted all frames. An acknowledged flow is done when all is
    /// acknowledged.
    pub fn is_done(&self) -> bool {
        self.hand.is_empty()
            && self.sources.is_done()
            && self.pauses.is_empty()
            && self.answers.is_empty()
            && self.neighbours.is_empty()
    }

    /// Starts a ping from an interface, at the next poll, which is due now. Returns the ping's
    /// number.
    ///
    /// # Errors
    /// [`PingError`].
    pub fn ping(&mut self, interface: &str, dst: IpAddr) -> Result<u16, PingError> {
        self.calm = Calm::OVER;
        self.neighbours.ping(interface, dst)
    }

    /// Returns the spare pages for distributions, to be refilled outside the data path.
    pub const fn spares(&self) -> &Spares {
        &self.spares
    }

    /// Returns the `SecY` of its port, if it has one.
    pub fn secy(&self) -> Option<&Secy> {
        self.port.secy()
    }

    /// Iterates over the frames made and not accepted by the port yet.
    pub fn held_frames(&self) -> impl Iterator<Item = &P::Frame> {
        self.hand.iter()
    }

    /// Shares the received pauses of its port with the stations of the port's other queues. Each of
    /// them has a number of its own.
    pub fn share_pauses(&mut self, all: Arc<SharedPauses>, queue: u8) {
        self.calm = Calm::OVER;
        self.share = Some(Box::new(Share::new(all, queue)));
    }

    /// Returns the port, for its world.
    pub fn port_mut(&mut self) -> &mut P {
        &mut self.port
    }

    /// Changes the MACsec state of its port.
    ///
    /// # Errors
    /// [`Change::Refused`](secure::ChangeRefused); `None` if the port has no `SecY`.
    pub fn change_secy(&mut self, change: &SecyChange) -> Result<(), Option<ChangeRefused>> {
        self.port.secy_mut().ok_or(None)?.change(change).map_err(Some)
    }

    /// Returns the port, for another station. Frames that it had not accepted yet are lost.
    pub fn into_port(self) -> P {
        self.port
    }
}

/// Returns the references of compared streams, in the order of the sinks.
fn references(plan: &StationPlan, ids: &[FlowId]) -> Vec<Option<Box<Reference>>> {
    let compared = plan.tester.meter.as_ref().map_or(&[][..], |meter| &meter.compared);
    let mut references = Vec::new();
    for stream in compared {
        // Empty unless a stream is compared: then no frame looks for one.
        references.resize(ids.len(), None);
        let sink = ids.iter().position(|id| *id == stream.id);
        references[sink.expect("a checked plan expects it")] = Some(Reference::new(stream));
    }
    references
}

/// Returns the sender that waits for each receiver; empty if none does.
fn waiting(plan: &StationPlan) -> Vec<Option<u32>> {
    // Empty in the usual case, which each data frame finds out by one length.
    if plan.senders.iter().all(|t| t.work.after.is_none()) {
        return Vec::new();
    }
    let sender = |id| plan.senders.iter().position(|t| t.work.after == Some(id));
    plan.receivers.iter().map(|r| sender(r.id).map(|n| n as u32)).collect()
}

/// The deadlines besides data, as of the last poll that looked at everything.
#[derive(Clone, Copy, Debug)]
struct Calm {
    /// No frame but data, no timer, and no flow's end is due before.
    until: Instant,
    /// Due time of the next frame that is not data.
    due: Instant,
    /// Time of the next timer.
    timers: Instant,
}

impl Calm {
    /// Everything has to be looked at in the next poll.
    const OVER: Self = Self { until: Instant::ZERO, due: Instant::ZERO, timers: Instant::ZERO };

    /// Returns true if nothing but data is due at `now`.
    #[inline]
    fn holds(&self, now: Instant) -> bool {
        now < self.until
    }
}

impl<P: Source> Station<P> {
    /// Returns the deadlines after a poll of everything. Frames that wait for the port or for a pause of
    /// replies, and pauses that other queues receive, need such a poll again.
    fn find_calm(&self) -> Calm {
        let waits =
            !self.hand.is_empty() || !self.answers.is_empty() || !self.neighbours.is_empty();
        // Each of these may change at any poll, so none may be skipped.
        if waits || !self.up || self.share.is_some() {
            return Calm::OVER;
        }
        let (due, timers) = (self.due_besides_data(), self.timers());
        Calm { until: due.min(timers).min(self.sources.next_stop()), due, timers }
    }

    /// Sends the data that is due.
    #[inline]
    fn send_data(&mut self, now: Instant) -> bool {
        // A frame of the control path may have to go in front of a full hand.
        let room = COMMITTED_MAX - usize::from(self.sources.has_control());
        self.make_data(now, room);
        if self.hand.is_empty() {
            return false;
        }
        self.hand_over(now);
        if !self.hand.is_empty() {
            self.retry = now + self.slot;
            self.calm = Calm::OVER;
        }
        true
    }

    /// Returns the time of the next poll, after [`Self::send_data`]. A frame that was sent may have
    /// started a timer.
    #[inline]
    fn deadline_of_data(&mut self) -> Instant {
        // The poll ended the calm, so all deadlines have to be found.
        if self.calm.until == Instant::ZERO {
            return self.deadline();
        }
        let timeout = self.sources.next_timeout();
        let Calm { until, due, timers } = &mut self.calm;
        *timers = (*timers).min(timeout);
        *until = (*until).min(timeout);
        let (due, timers) = (*due, *timers);
        self.next_start(due, timers)
    }
}

/// Returns a pool for the spare pages of a station with this number of histograms, besides those of messages.
fn spares(plan: &StationPlan, histograms: usize) -> Spares {
    let several = plan.senders.iter().filter(|s| s.has_several());
    // A few flows may have times of all magnitudes; of many, most stay within two pages each.
    let spares = (16 * histograms).min(SPARES_FEW).max(2 * histograms);
    Spares::new((spares + SPARES_MESSAGES * several.count()).min(SPARES_MAX))
}
