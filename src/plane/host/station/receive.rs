//! Reception: pauses, messages, data, acknowledgements, and unexpected frames.

use super::{Calm, Station};
use crate::arrived::{self, Arrived};
use crate::histogram::Bucket;
use crate::meter::Meter;
use crate::pauses::Heard;
use crate::plan::EndKey;
use crate::probe::{Arrival, Clock};
use crate::sink::{Counted, Sink};
use crate::transport::receiver::Data;
use contracts::frame::{Burst, Frame};
use contracts::port::{Port, Source};
use ground::time::Instant;
use ground::units::{Mac, PRIORITIES, PauseVector, PrioritySet};
use link::PortAgents;
use wire::{EtherType, group, mac_control, vlan};

/// Maximum bursts read in one poll before anything is sent. Reading stops at the first burst that
/// is not full, so only a peer that sends faster than it is read reaches this bound.
const RX_BURSTS: usize = 64;

/// A common frame of an expected flow, read and not counted yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usual {
    counted: Counted,
    /// Index of its sink.
    sink: u32,
    /// Bucket of its latency, until that is counted.
    bucket: Option<Bucket>,
}

/// True if the destination of a frame is `mac` or a group.
#[inline(always)]
fn is_for(head: &[u8], mac: Mac) -> bool {
    head.first_chunk().is_some_and(|dst| Mac(*dst) == mac || Mac(*dst).is_multicast())
}

/// Reports a data frame of `sink` to the meter. Returns true if further frames of the same time and
/// priority may tell it something.
#[inline(never)]
fn tell_meter(meter: &mut Option<Box<Meter>>, now: Instant, sink: &Sink, wire_len: u32) -> bool {
    let (Some(p), Some(meter)) = (sink.priority(), meter) else { return false };
    !meter.on_data(now, p, wire_len)
}

/// Returns the arrival time of a frame: the port's timestamp, if it has one, else `now`.
#[inline(always)]
fn arrived_at<P: Port>(port: &P, now: Instant, frame: &P::Frame) -> Instant {
    port.rx_stamp(frame).map_or(now, |at| at.min(now))
}

impl<P: Source> Station<P> {
    /// Reads the port until a burst is not full.
    pub(super) fn receive(&mut self, now: Instant) -> bool {
        let mut inbox = Burst::new();
        let mut progressed = false;
        for _ in 0..RX_BURSTS {
            // All that is there, so that no pause waits behind frames that are made now.
            self.port.rx_burst(&mut inbox);
            let full = inbox.is_full();
            progressed |= !inbox.is_empty();
            // The clock is read again for the first link-protocol frame of the burst.
            self.found_at = None;
            let mut done = 0;
            while done < inbox.len() {
                done += self.take_usual(now, &inbox[done..]);
                if done < inbox.len() {
                    let last = done + 1 == inbox.len();
                    // The last one needs no other frame to be moved.
                    let frame = if last { inbox.pop() } else { inbox.pop_at(done) };
                    self.take_any(now, frame.expect("one is left"));
                }
            }
            // Counted frames are still in it: a device frees a burst faster than its frames.
            P::Frame::free_all(&mut inbox);
            if !full {
                break;
            }
        }
        progressed
    }

    /// Processes frames from the front as long as they are common frames of expected flows, as
    /// nearly all are. Returns their number; the next frame is counted as received, too.
    ///
    /// Each stage is a short loop over all of them, so that a processor waits for the memory of many
    /// flows at once.
    #[inline(always)]
    fn take_usual(&mut self, now: Instant, frames: &[P::Frame]) -> usize {
        let n = self.read_usual(frames);
        let Self { port, sinks, meter, read, .. } = self;
        let (sinks, read) = (&mut sinks[..], &mut read[..n]);
        // Priorities of which further frames of this time may tell the meter something.
        let mut tells = PrioritySet::ALL;
        for (usual, frame) in read.iter_mut().zip(frames) {
            let clock = Clock::new(arrived_at(port, now, frame));
            let sink = &mut sinks[usual.sink as usize];
            // The bucket is counted in a loop of its own, whose memory is elsewhere.
            usual.bucket = sink.take_next(&clock, &usual.counted);
            if sink.stopped_by().0 & tells.0 != 0 {
                let more = tell_meter(meter, now, sink, usual.counted.wire_len);
                // The meter learns no more from further frames of this time and priority.
                tells.0 &= if more { u8::MAX } else { !sink.stopped_by().0 };
            }
        }
        for usual in read {
            if let Some(bucket) = usual.bucket {
                sinks[usual.sink as usize].put(bucket);
            }
        }
        n
    }

    /// Reads common frames of expected flows and of this run. Returns their number.
    #[inline(always)]
    fn read_usual(&mut self, frames: &[P::Frame]) -> usize {
        let (lookup, expects, run) = (&self.lookup[..], self.expects as u32, self.run);
        let references = &mut self.references[..];
        let (mac, takes_all) = (self.mac, self.meter.is_some());
        let (mut n, mut bytes) = (0, 0);
        for (frame, usual) in frames.iter().zip(&mut self.read[..]) {
            let wire_len = frame.wire_len();
            bytes += u64::from(wire_len);
            let head = frame.head();
            let Some(arrival) = arrived::usual(head, run) else { break };
            let Some(place) = lookup.get(arrival.probe.flow.0 as usize) else { break };
            // 0 is the place of no flow; places behind those of expected flows have receivers.
            let sink = place.wrapping_sub(1);
            if sink >= expects || !(takes_all || is_for(head, mac)) {
                break;
            }
            if let Some(Some(reference)) = references.get_mut(sink as usize) {
                if !reference.is_as_sent(head, wire_len) {
                    break;
                }
            }
            usual.counted = Counted::new(&arrival, wire_len);
            usual.sink = sink;
            n += 1;
        }
        // The frame that ended the loop is counted here, and handled by the caller.
        let met = n + usize::from(n < frames.len());
        self.counters.rx_frames += met as u64;
        self.counters.rx_bytes += bytes;
        n
    }

    /// Counts a frame that arrives now, if it is data that is not answered, before anything but data is
    /// due. No poll is needed for it then, and the deadline of the last one holds. Returns false, without
    /// effect, for any other frame, which the port has to deliver.
    #[inline]
    pub fn counts(&mut self, now: Instant, frame: &P::Frame) -> bool {
        if !self.calm.holds(now) || self.meter.is_some() {
            return false;
        }
        let head = frame.head();
        let Some(arrival) = arrived::usual(head, self.run) else { return false };
        let place = self.lookup.get(arrival.probe.flow.0 as usize);
        // A receiver's frame is answered, for which a poll is needed.
        let place = place.and_then(|i| (*i as usize).checked_sub(1)).filter(|i| *i < self.expects);
        let Some(i) = place.filter(|_| is_for(head, self.mac)) else { return false };
        let at = arrived_at(&self.port, now, frame);
        self.counters.rx_frames += 1;
        self.counters.rx_bytes += u64::from(frame.wire_len());
        self.sinks[i].take(at, &Counted::new(&arrival, frame.wire_len()));
        true
    }

    /// Passes a frame to the link protocols if it is theirs. Returns true if it was.
    #[inline]
    pub(super) fn is_for_agents(
        &mut self,
        now: Instant,
        frame: &P::Frame,
        walk: &vlan::Walk,
    ) -> bool {
        let Some(agents) = &mut self.agents else { return false };
        let theirs = walk.outer.is_none()
            && group::is_reserved(walk.dst)
            && PortAgents::speak(walk.ethertype);
        if !theirs {
            return false;
        }
        let found = *self.found_at.get_or_insert_with(|| self.port.clock(now));
        agents.receive(now, &mut self.port, found, frame)
    }

    /// Processes a frame of any kind: a pause, a flow's, or an unexpected one.
    #[inline(never)]
    fn take_any(&mut self, now: Instant, frame: P::Frame) {
        self.calm = Calm::OVER;
        let head = frame.head();
        let Ok(walk) = vlan::walk(head) else {
            self.counters.unexpected += 1;
            return;
        };
        // Before all others: MAC control is never for a flow or an interface.
        if walk.ethertype == EtherType::MAC_CONTROL {
            self.is_controls(now, &frame);
            self.take_control(now, frame.head());
            return;
        }
        if self.is_for_agents(now, &frame, &walk) {
            return;
        }
        if let Some(reactions) = &mut self.reactions {
            // The difference tells the meter if this message began a pause.
            let before = reactions.sfcm_pauses();
            if reactions.take(now, frame.head(), &walk, &mut self.sources) {
                let begun = reactions.sfcm_pauses() > before;
                if let Some(meter) = self.meter.as_mut().filter(|_| begun) {
                    meter.obeyed(now);
                }
                return;
            }
        }
        // A traffic generator's flows may have any destination address.
        let foreign = walk.dst != self.mac && !walk.dst.is_multicast();
        if foreign && self.meter.is_none() {
            return self.take_other(now, frame, &walk, foreign);
        }
        let expected = match Arrived::read(head, &walk) {
            Arrived::Data(arrival, data) => {
                // Acknowledgements are due by the poll's time, latencies end with the device's timestamp.
                let arrived = arrived_at(&self.port, now, &frame);
                self.take_data(now, arrived, &arrival, data, &frame)
            }
            Arrived::Answer(key, answer) => {
                let sender = self.sender_of(key);
                sender.is_some_and(|n| self.sources.on_answer(now, n, &answer))
            }
            Arrived::Other => false,
        };
        if !expected && !self.is_measured(now, &frame, &walk) {
            self.take_other(now, frame, &walk, foreign);
        }
    }

    /// Processes a frame without a flow's probe: of a control stream, of an interface, or
    /// unexpected.
    fn take_other(&mut self, now: Instant, frame: P::Frame, walk: &vlan::Walk, foreign: bool) {
        if self.is_controls(now, &frame) {
            return;
        }
        let wire_len = frame.wire_len();
        // It keeps the frame, which may become the answer.
        if self.neighbours.take(now, frame, walk).is_none() {
            self.counters.rx_own_frames += 1;
            self.counters.rx_own_bytes += u64::from(wire_len);
            return;
        }
        let counter =
            if foreign { &mut self.counters.foreign } else { &mut self.counters.unexpected };
        *counter += 1;
    }

    /// Counts an otherwise unexpected frame if it has the probe of a stream, which may have any
    /// headers. Returns true if it does.
    fn is_measured(&mut self, now: Instant, frame: &P::Frame, walk: &vlan::Walk) -> bool {
        if self.meter.is_none() {
            return false;
        }
        let found = Arrival::search(frame.head(), walk);
        let arrived = arrived_at(&self.port, now, frame);
        found.is_some_and(|arrival| self.take_data(now, arrived, &arrival, None, frame))
    }

    /// Counts a frame without a probe if it belongs to an expected control stream. Returns true if
    /// it does.
    fn is_controls(&mut self, now: Instant, frame: &P::Frame) -> bool {
        let meter = self.meter.as_mut();
        meter.is_some_and(|m| m.on_other(now, frame.head(), frame.wire_len()))
    }

    /// Counts a data frame with a probe, and acknowledges it if its flow has a receiver here.
    /// Returns false if the flow is not one of this station's.
    #[inline]
    fn take_data(
        &mut self,
        now: Instant,
        arrived: Instant,
        arrival: &Arrival,
        data: Option<Data>,
        frame: &P::Frame,
    ) -> bool {
        // Connections detect old frames by their sequence numbers.
        if arrival.probe.run != self.run && data.is_none() {
            self.counters.other_runs += 1;
            return true;
        }
        let place = self.lookup.get(arrival.probe.flow.0 as usize);
        let Some(i) = place.and_then(|i| (*i as usize).checked_sub(1)) else { return false };
        // Behind the flows that are only counted are those with a receiver.
        if let Some(n) = i.checked_sub(self.expects) {
            self.calm = Calm::OVER;
            // A receiver accepts frames of its own sender only.
            let taken = data.is_some_and(|data| self.answers.on_data(now, n, &data));
            if !taken {
                return false;
            }
            // Message n + 1 of the sender waits for message n of this flow; the first is due by time.
            if let Some(Some(sender)) = self.waiting.get(n) {
                let arrived = self.answers.messages(n);
                self.sources.release(now, *sender as usize, arrived + 1);
            }
        }
        let (sink, wire_len) = (&mut self.sinks[i], frame.wire_len());
        let damage = match self.references.get_mut(i) {
            Some(Some(reference)) => reference.damage(frame.head(), wire_len),
            _ => None,
        };
        match damage {
            Some(damage) => sink.take_damaged(arrival.probe.sequence, damage),
            None => sink.take(arrived, &Counted::new(arrival, wire_len)),
        }
        if let (Some(p), Some(meter)) = (sink.priority(), &mut self.meter) {
            meter.on_data(now, p, wire_len);
        }
        true
    }

    /// Returns the sender whose acknowledgements have this key.
    #[inline]
    fn sender_of(&self, key: EndKey) -> Option<usize> {
        let place = self.ends.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        Some(self.ends[place].1 as usize)
    }

    /// Obeys pauses that arrived in other queues of the port. They are counted there.
    #[cold]
    pub(super) fn overhear(&mut self, now: Instant, heard: &Heard) {
        // Not counted: the station that received it did that.
        self.receiver.on_pfc(now, &heard.pfc);
        let mut pause = heard.pfc;
        if let Some(time) = heard.pause {
            self.receiver.on_pause(now, time);
            pause = PauseVector { enabled: heard.priorities(), time: [time; PRIORITIES] };
        }
        if let Some(meter) = &mut self.meter {
            meter.on_pause(now, &pause, false);
        }
    }

    /// Processes a received MAC control frame.
    fn take_control(&mut self, now: Instant, head: &[u8]) {
        let Ok(repr) = mac_control::Repr::parse(head, self.mac) else {
            self.counters.malformed += 1;
            return;
        };
        let pause = repr.vector();
        let obeyed = match repr {
            mac_control::Repr::Pfc(_) => self.receiver.on_pfc(now, &pause),
            mac_control::Repr::Pause(repr) => self.receiver.on_pause(now, repr.time),
        };
        if let Some(meter) = &mut self.meter {
            // Whether it is obeyed or not: a tester measures what arrives.
            meter.on_pause(now, &pause, true);
        }
        if let Some(share) = &self.share {
            match repr {
                mac_control::Repr::Pfc(_) => share.publish_pfc(&pause),
                mac_control::Repr::Pause(repr) => share.publish_pause(repr.time),
            }
        }
        self.counters.pauses_received += 1;
        for p in pause.enabled.iter() {
            let c = &mut self.counters.priorities[p.index()];
            c.received += 1;
            // A frame may enable priorities that this station does not obey.
            c.obeyed += u64::from(obeyed && self.obeys.contains(p));
        }
    }
}
