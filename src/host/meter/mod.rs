//! What a traffic generator measures of pauses and of what they stop, beside what every station
//! counts.
//!
//! `Meter` is told of every MAC control frame that comes in or leaves, and of every data frame
//! whose priority is known, in the order in which that happens. Pauses are measured whether they are
//! obeyed or not. A frame leaves when the port takes it, and has arrived when it is found at the
//! port. Nothing is allocated after the start.

mod control;
mod leaving;
mod reaction;
mod times;

pub use control::ControlCounters;
pub use reaction::Reactions;
pub use times::PauseTimes;

pub(super) use leaving::Leaving;

use control::ControlSink;
use leaving::Hand;
use reaction::ReactionMeter;
use times::PauseMeter;

use super::pauses;
use super::plan::stream::{MeterPlan, Path};
use super::plan::{FlowId, PlanError, StationPlan};
use crate::pfc::PauseVector;
use crate::time::Instant;
use crate::units::{BitsPerSec, Bytes, Mac, PRIORITIES, Priority, PrioritySet};
use crate::wire::{EtherType, mac_control, vlan};

/// What a meter has measured.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MeterCounters {
    /// Pauses that came in, by priority, and the data that left in spite of them.
    pub received: [PauseTimes; PRIORITIES],
    /// Pauses that were sent, by priority, and the data that still came in.
    pub sent: [PauseTimes; PRIORITIES],
    /// Reactions of the peer to the pauses that were sent, by priority.
    pub reactions: [Reactions; PRIORITIES],
    /// MAC control frames sent that are neither PFC nor PAUSE as a port takes them.
    pub malformed_sent: u64,
    /// The control streams that are expected, in the order of the plan.
    pub control: Vec<ControlCounters>,
}

impl MeterCounters {
    /// What arrived of a control stream, if it is expected.
    #[must_use]
    pub fn control(&self, id: FlowId) -> Option<&ControlCounters> {
        self.control.iter().find(|c| c.id == id)
    }
}

/// Measures at one station.
#[derive(Debug)]
pub(super) struct Meter {
    rate: BitsPerSec,
    received: [PauseMeter; PRIORITIES],
    sent: [PauseMeter; PRIORITIES],
    reactions: Box<[ReactionMeter; PRIORITIES]>,
    /// The priorities whose pauses received, or sent, wait for data frames to be told.
    waits_to_send: PrioritySet,
    waits_to_receive: PrioritySet,
    hand: Hand,
    control: Vec<ControlSink>,
    malformed_sent: u64,
    /// The priority of each stream that is expected.
    expected: Vec<(FlowId, Priority)>,
    /// The way of each stream that is sent.
    own: Vec<(FlowId, Path)>,
}

impl Meter {
    /// The meter of a checked plan, if it has one.
    pub(super) fn of(plan: &StationPlan) -> Option<Box<Self>> {
        let wanted = plan.tester.meter.as_ref()?;
        Some(Box::new(Self {
            rate: plan.rate,
            received: Default::default(),
            sent: Default::default(),
            reactions: Box::default(),
            waits_to_send: PrioritySet::EMPTY,
            waits_to_receive: PrioritySet::EMPTY,
            hand: Hand::default(),
            control: wanted
                .control
                .iter()
                .map(|(id, octets)| ControlSink::new(*id, octets))
                .collect(),
            malformed_sent: 0,
            expected: wanted.streams.clone(),
            own: plan.tester.streams.iter().map(|s| (s.id, s.path)).collect(),
        }))
    }

    /// Whether what it is to measure is there.
    ///
    /// # Errors
    /// [`PlanError::NotExpected`] and [`PlanError::ControlOctets`].
    pub(super) fn check(plan: &MeterPlan, expects: &[FlowId]) -> Result<(), PlanError> {
        if let Some((id, _)) = plan.streams.iter().find(|(id, _)| !expects.contains(id)) {
            return Err(PlanError::NotExpected(id.0));
        }
        match plan.control.iter().find(|(_, octets)| octets.is_empty()) {
            Some((id, _)) => Err(PlanError::ControlOctets(id.0)),
            None => Ok(()),
        }
    }

    /// The priority of a stream that is expected.
    pub(super) fn priority_of(&self, id: FlowId) -> Option<Priority> {
        self.expected.iter().find(|(stream, _)| *stream == id).map(|(_, p)| *p)
    }

    /// A pause came in.
    pub(super) fn on_pause(&mut self, now: Instant, pause: &PauseVector) {
        note(&mut self.received, now, pause, self.rate);
        self.waits_to_send.0 |= pause.enabled.0;
    }

    /// A data frame of priority `p` came in.
    #[inline]
    pub(super) fn on_data(&mut self, now: Instant, p: Priority, wire_len: u32) {
        let rate = self.rate;
        let on_line = || rate.time_for(Bytes(wire_len.into()));
        self.reactions[p.index()].on_frame(now, on_line);
        if self.waits_to_receive.contains(p) && self.sent[p.index()].on_frame(now) {
            self.waits_to_receive.remove(p);
        }
    }

    /// A frame came in that carries no probe. Whether it is one of a control stream's, which it
    /// then counts for.
    #[inline]
    pub(super) fn on_other(&mut self, now: Instant, head: &[u8], wire_len: u32) -> bool {
        self.control.iter_mut().any(|c| c.take(now, head, wire_len))
    }

    /// `n` frames were made for the port, behind those made before.
    #[inline]
    pub(super) fn made(&mut self, what: Leaving, n: usize) {
        self.hand.push(what, n);
    }

    /// A frame was made for the port that goes behind `place` of those made before.
    pub(super) fn made_at(&mut self, what: Leaving, place: usize) {
        self.hand.insert(what, place);
    }

    /// The port took frames from the front of those that were made; `left` are still there.
    #[inline]
    pub(super) fn gone(&mut self, now: Instant, left: usize) {
        while let Some(what) = self.hand.next_gone(left) {
            match what {
                Leaving::Data(p) => {
                    if self.waits_to_send.contains(p) && self.received[p.index()].on_frame(now) {
                        self.waits_to_send.remove(p);
                    }
                }
                Leaving::Pause(pause) => {
                    note(&mut self.sent, now, &pause, self.rate);
                    self.react(now, &pause);
                    self.waits_to_receive.0 |= pause.enabled.0;
                }
                Leaving::Malformed => self.malformed_sent += 1,
                Leaving::Other => {}
            }
        }
    }

    /// The frames that were made and not taken are lost: the link went down. That ends all pauses.
    pub(super) fn link_down(&mut self, now: Instant) {
        self.hand.clear();
        for meter in self.received.iter_mut().chain(&mut self.sent) {
            meter.on_resume(now, false);
        }
        self.reactions.iter_mut().for_each(|meter| meter.on_resume(now));
    }

    /// The reactions to a pause that was sent begin.
    fn react(&mut self, now: Instant, pause: &PauseVector) {
        for p in pause.enabled.iter() {
            let (meter, time) = (&mut self.reactions[p.index()], pause.time[p.index()]);
            match time.0 {
                0 => meter.on_resume(now),
                _ => meter.on_pause(now, time.at(self.rate)),
            }
        }
    }

    /// The link has another rate. Pauses that are running keep the quanta they have left.
    pub(super) fn set_rate(&mut self, now: Instant, rate: BitsPerSec) {
        for meter in self.received.iter_mut().chain(&mut self.sent) {
            meter.stretch(now, self.rate, rate);
        }
        self.rate = rate;
    }

    /// These streams start anew: what was measured by them is forgotten. Counts of pauses, and the
    /// time they asked for, are the port's and go on.
    pub(super) fn clear(&mut self, which: &[FlowId]) {
        for id in which {
            self.control.iter_mut().filter(|c| c.id() == *id).for_each(ControlSink::clear);
            if let Some(p) = self.priority_of(*id) {
                self.sent[p.index()].clear_frames();
                self.reactions[p.index()].clear();
            }
            match self.own.iter().find(|(own, _)| own == id) {
                Some((_, Path::Data(p))) => self.received[p.index()].clear_frames(),
                Some((_, Path::Control)) => self.sent.iter_mut().for_each(PauseMeter::clear),
                None => {}
            }
        }
        if self.control.iter().any(|c| which.contains(&c.id())) {
            self.received.iter_mut().for_each(PauseMeter::clear);
        }
    }

    /// What arrived of the control streams that are expected.
    pub(super) fn control_counters(&self) -> impl Iterator<Item = ControlCounters> {
        self.control.iter().map(ControlSink::counters)
    }

    /// What was measured up to `now`.
    pub(super) fn counters(&self, now: Instant) -> MeterCounters {
        MeterCounters {
            received: self.received.each_ref().map(|m| m.times(now)),
            sent: self.sent.each_ref().map(|m| m.times(now)),
            reactions: self.reactions.each_ref().map(ReactionMeter::reactions),
            malformed_sent: self.malformed_sent,
            control: self.control.iter().map(ControlSink::counters).collect(),
        }
    }
}

/// What a frame made on the control path is. Frames to the address of one port count as that port
/// takes them.
pub(super) fn control_frame(octets: &[u8], mac: Mac) -> Leaving {
    let Ok(walk) = vlan::walk(octets) else { return Leaving::Other };
    if walk.ethertype != EtherType::MAC_CONTROL {
        return Leaving::Other;
    }
    let port = if walk.dst.is_multicast() { mac } else { walk.dst };
    match mac_control::Repr::parse(octets, port) {
        Ok(repr) => Leaving::Pause(pauses::vector(&repr)),
        Err(_) => Leaving::Malformed,
    }
}

/// A pause went one way, at a moment: tells each priority that it names.
fn note(
    meters: &mut [PauseMeter; PRIORITIES],
    now: Instant,
    pause: &PauseVector,
    rate: BitsPerSec,
) {
    for p in pause.enabled.iter() {
        let (meter, time) = (&mut meters[p.index()], pause.time[p.index()]);
        if time.0 == 0 {
            meter.on_resume(now, true);
        } else {
            meter.on_pause(now, time.at(rate));
        }
    }
}

#[cfg(test)]
mod tests;
