//! Link protocols of a port, besides data and pauses: they measure the link and the delay of the
//! medium, advertise the port and its capabilities to its neighbour, and derive its headroom.
//!
//! The same code runs at a port of a switch and at an end station. Frames are received as octets
//! with a stamp and sent as octets; of the port only its clock, its stamps and its control memory
//! are used. Results for a switch are [`News`], in numbers; `switch::reconcile` turns them into
//! changes.
//!
//! A stamp is the time at which the last bit of a frame passed above the MAC. By software its error always
//! makes a round trip longer: a sent frame is stamped before the hand-over, a received one after it
//! was found. A device stamps the start of a frame, to which the time of the frame is added.

mod auto;
mod departing;
mod listen;
mod news;
pub mod plan;
#[cfg(test)]
mod tests;

pub use auto::AutoState;
pub use news::{
    AgentsSnapshot, Failure, Found, MeasureSnapshot, News, PeerReaction, ReactionSource, Sources,
};
pub use plan::*;

use core::fmt;

use arrayvec::ArrayVec;

use ::headroom::measure::Measurer;
use ::headroom::peer_delay::PeerDelay;
use auto::Auto;
use contracts::frame::Frame;
use contracts::port::{CONTROL_FRAME_MAX, Port, Stamps};
use departing::{Departures, Event};
use discovery::{
    CongestionIsolation, Device, Lldp, Recognition, Resolved, SourceFlowControl, Topology,
    TopologyPlan,
};
use ground::counters;
use ground::memory::fetch;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes, Mac};
use wire::{EtherType, WireError, headroom, ptp};

/// Longest frame that link protocols make, without FCS.
pub const FRAME_MAX: usize = 640;

const _: () = assert!(FRAME_MAX + 4 <= CONTROL_FRAME_MAX as usize, "ports take them");

/// Longest message that is made without room for the longest frame, which would have to be cleared first: one
/// of a measurement whose PDUs are not padded.
const MESSAGE_MAX: usize = 64;

/// Capacity of the queue of news; a driver reads them after every poll.
const NEWS: usize = 16;

/// Bytes on the line before the last bit besides the frame: preamble and start delimiter.
const PREAMBLE: u64 = 8;

/// Link protocols of one port.
///
/// Data frames drive the state out of the near caches between two messages, so what a message of a
/// measurement needs is in neighbouring cache lines, in this order; the rest follows.
#[repr(C, align(64))]
pub struct PortAgents {
    up: bool,
    /// True until the state of the link is set: it is taken as up when first used.
    fresh: bool,
    /// True if LLDP was called since its events were last read.
    lldp_called: bool,
    /// True if the last frame was an LLDPDU.
    last_is_lldpdu: bool,
    /// True if there are events that were not read.
    has_news: bool,
    /// True if the measurement begins by itself when the link comes up.
    initiates: bool,
    /// LLDP's deadline, which is far from what messages of a measurement need.
    lldp_due: Instant,
    peer_delay: Option<Box<PeerDelay>>,
    /// Longest time to hand a stamped frame to the port since the last measurement began.
    handing_over: Duration,
    dialect: headroom::Dialect,
    mac: Mac,
    stamps: Stamps,
    rate: BitsPerSec,
    auto: Option<Auto>,
    departures: Departures,
    /// In place, as a pointer would have to be read before it can be.
    measurer: Option<Measurer>,
    /// Most bytes that leave the port's transmit ring before a frame that is handed over.
    ring: Bytes,
    lldp: Option<Box<Lldp>>,
    /// Level of an end station in the network, if it is derived.
    place: Option<Box<Recognition>>,
    counters: AgentCounters,
    /// The last result of each method, by [`Method`], as it was when its measurement ended.
    results: [Option<Found>; 2],
    /// True from the start of a measurement that the link or a user asked for until its result:
    /// those after it are repetitions.
    asked: bool,
    news: ArrayVec<News, NEWS>,
}

counters! {
    /// Counters of a port's link protocols, besides those of each state machine.
    AgentCounters {
        /// Frames for a link protocol with an unknown or malformed format.
        malformed,
        /// Frames for a protocol that this port does not run.
        unwanted,
        /// Frames that were due and found no memory.
        unsent,
        /// News lost because the queue was full.
        news_lost,
        /// Messages whose transmit time the device timestamped.
        stamps_sent,
        /// Messages whose timestamp was asked for and did not come in time.
        stamps_missed,
        /// Timestamps that came after they had been given up.
        stamps_late,
        /// Messages for which the device had no place for a timestamp.
        stamps_busy,
    }
}

/// Result of making a frame.
#[derive(Debug)]
pub enum Made<F> {
    /// The frame and its stamp: once the port has the frame, its age is passed to
    /// [`PortAgents::handed_over`].
    Frame(F, Instant),
    /// No frame: only a timer expired.
    Nothing,
    /// No frame, for lack of memory. The protocol repeats it, or handles it as lost.
    NoMemory,
}

impl fmt::Debug for PortAgents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PortAgents")
            .field("mac", &self.mac)
            .field("up", &self.up)
            .finish_non_exhaustive()
    }
}

impl PortAgents {
    /// Link protocols of a port whose link is up at first use, unless set otherwise before.
    /// Allocates all memory that they ever need.
    pub fn new(plan: &AgentsPlan, stamps: Stamps) -> Self {
        let measure = plan.measure.as_ref();
        let lldp = plan.lldp.as_ref().map(|l| Box::new(Lldp::new(l, plan.dcbx.as_ref())));
        Self {
            up: false,
            fresh: true,
            // LLDP may have events from the start.
            lldp_called: true,
            last_is_lldpdu: false,
            has_news: false,
            initiates: measure.is_some_and(|m| m.initiate.is_some()),
            lldp_due: lldp.as_ref().map_or(Instant::NEVER, |lldp| lldp.next_deadline()),
            peer_delay: plan.peer_delay.as_ref().map(|p| Box::new(PeerDelay::new(p, plan.mac))),
            handing_over: Duration::ZERO,
            dialect: measure.map(|m| m.dialect).unwrap_or_default(),
            mac: plan.mac,
            stamps,
            rate: plan.rate,
            auto: plan.auto.as_ref().map(|auto| Auto::new(auto, plan.dcbx.is_some())),
            departures: Departures::default(),
            measurer: measure.map(Measurer::new),
            ring: Bytes(0),
            lldp,
            place: station(plan).then(|| Box::new(Recognition::new(Device::EndStation, 1))),
            counters: AgentCounters::default(),
            results: [None; 2],
            asked: false,
            news: ArrayVec::new(),
        }
    }

    /// True if frames of `ethertype` to a reserved group address are for a link protocol (802.1Q
    /// Table 8-1).
    pub const fn speak(ethertype: EtherType) -> bool {
        matches!(ethertype, EtherType::LLDP | EtherType::PTP | EtherType::CIM)
    }

    /// Sets the state and the rate of the link.
    pub fn set_link(&mut self, now: Instant, up: bool, rate: Option<BitsPerSec>) {
        let other_rate = rate.is_some_and(|rate| rate != self.rate);
        // A rate while the link is down is noted, and counts when it comes up.
        let changed = up != self.up || (up && other_rate);
        // From now on the state is known, so first use does not set it.
        self.fresh = false;
        self.rate = rate.unwrap_or(self.rate);
        if !changed {
            return;
        }
        self.up = up;
        if !up {
            return self.stop(now);
        }
        self.with_lldp(|lldp| lldp.start(now));
        if let Some(peer_delay) = &mut self.peer_delay {
            peer_delay.start(now);
        }
        if let Some(measurer) = &mut self.measurer {
            // The peer may ask from now on, also where this port measures nothing itself.
            measurer.listen();
        }
        match &mut self.auto {
            Some(auto) => {
                let chosen = auto.link_up(now);
                self.choose(now, chosen);
            }
            None if self.initiates => self.measure(now),
            None => {}
        }
    }

    fn stop(&mut self, now: Instant) {
        self.departures.stop();
        self.with_lldp(|lldp| lldp.stop(now));
        if let Some(measurer) = &mut self.measurer {
            measurer.stop();
        }
        if let Some(peer_delay) = &mut self.peer_delay {
            peer_delay.stop();
        }
        if let Some(auto) = &mut self.auto {
            auto.link_down();
        }
    }

    /// Withdraws the information sent by LLDP, so that neighbours need not wait until it has aged.
    pub fn say_goodbye(&mut self, now: Instant) {
        self.with_lldp(|lldp| lldp.say_goodbye(now));
        self.listen(now);
    }

    /// Processes a frame to a reserved group address, from its destination on, with its stamp.
    /// Returns false if it is for no protocol of the port, or malformed.
    pub fn on_frame(&mut self, now: Instant, t_rx: Instant, frame: &[u8]) -> bool {
        if self.fresh {
            self.set_link(now, true, None);
        }
        // Link protocols are untagged, so the EtherType is behind the addresses.
        let Some(&[a, b]) = frame.get(12..14) else { return false };
        let taken = match EtherType(u16::from_be_bytes([a, b])) {
            EtherType::LLDP => self.with_lldp(|lldp| {
                lldp.on_frame(now, frame);
                Ok(())
            }),
            EtherType::CIM => self.measurer.as_mut().map(|measurer| {
                let repr = headroom::Repr::parse(frame, &self.dialect)?;
                measurer.on_message(now, &repr.message, t_rx);
                Ok(())
            }),
            EtherType::PTP => self.peer_delay.as_mut().map(|peer_delay| {
                let repr = ptp::Repr::parse(frame)?;
                peer_delay.on_message(now, &repr.message, t_rx);
                Ok(())
            }),
            _ => None,
        };
        match taken {
            Some(Ok(())) => {
                self.listen(now);
                true
            }
            Some(Err::<(), WireError>(_)) => {
                self.counters.malformed += 1;
                false
            }
            None => {
                self.counters.unwanted += 1;
                false
            }
        }
    }

    /// True if there is work to do, most often a frame to send.
    #[inline]
    pub fn is_due(&self, now: Instant) -> bool {
        now >= self.next_deadline()
    }

    /// Processes a frame to a reserved group address that `port` received in the burst that was
    /// `found` then. See [`PortAgents::on_frame`].
    pub fn receive<P: Port>(
        &mut self,
        now: Instant,
        port: &mut P,
        found: Instant,
        frame: &P::Frame,
    ) -> bool {
        // A device's clock drifts from its last reading, and a port that only responds may stamp a
        // frame once in days.
        port.refresh_clock();
        self.read_departure(now, port);
        let stamp = port.rx_stamp(frame);
        self.note_arrival(frame.head(), stamp.is_some());
        // Without a device's timestamp the frame was found at this time, which is later than its arrival.
        let t_rx = stamp.map_or(found, |at| self.end_of(at, frame.wire_len()));
        self.on_frame(now, t_rx, frame.head())
    }

    /// Makes the frame that is due now, stamped with the time of its hand-over to `port`.
    pub fn send<P: Port>(&mut self, now: Instant, port: &mut P) -> Made<P::Frame> {
        // A measurement begins: what its times depend on may have changed since the last.
        if self.handing_over == Duration::ZERO {
            port.refresh_clock();
            self.stamps = port.stamps();
            self.ring = port.caps().tx_committed_max;
        }
        if now >= self.departures.next_deadline() {
            self.read_departure(now, port);
        }
        // Read as late as possible: what follows is part of the error of the stamp.
        let clock = port.clock(now);
        // Short, because the buffer is cleared for each message of a measurement.
        let mut octets = [0; MESSAGE_MAX];
        let Some(len) = self.take_message(now, clock, &mut octets) else {
            return self.send_other(now, clock, port);
        };
        let frame = port.control_frame(&octets[..len]);
        self.sent(now, clock, port, frame)
    }

    /// Makes the frame that is due now if it is not a short message of a measurement.
    #[cold]
    fn send_other<P: Port>(
        &mut self,
        now: Instant,
        clock: Instant,
        port: &mut P,
    ) -> Made<P::Frame> {
        let mut octets = [0; FRAME_MAX];
        let Some(len) = self.take(now, clock, &mut octets) else { return Made::Nothing };
        let frame = port.control_frame(&octets[..len]);
        self.sent(now, clock, port, frame)
    }

    #[inline(always)]
    fn sent<P: Port>(
        &mut self,
        now: Instant,
        clock: Instant,
        port: &mut P,
        frame: Option<P::Frame>,
    ) -> Made<P::Frame> {
        match frame {
            Some(mut frame) => {
                self.ask_departure(now, port, &mut frame, clock);
                Made::Frame(frame, clock)
            }
            None => {
                self.not_sent();
                Made::NoMemory
            }
        }
    }

    /// Writes the frame that is due, without FCS, those with stamps first. `clock` is the time of
    /// its hand-over to the port. None if only a timer expired.
    pub fn take(
        &mut self,
        now: Instant,
        clock: Instant,
        out: &mut [u8; FRAME_MAX],
    ) -> Option<usize> {
        if let Some(len) = self.take_message(now, clock, out) {
            return Some(len);
        }
        if !self.up {
            return None;
        }
        let made = self.make_other(now, clock, out);
        self.listen(now);
        made
    }

    /// Does the work that is due, as [`Self::take`], up to writing the message of a measurement that is due. None
    /// if there is none, or `out` is shorter than it.
    #[inline]
    fn take_message(&mut self, now: Instant, clock: Instant, out: &mut [u8]) -> Option<usize> {
        if self.fresh {
            self.set_link(now, true, None);
        }
        if !self.up {
            // Neighbours age while the link is down, too.
            self.with_lldp(|lldp| lldp.on_timeout(now));
            self.listen(now);
            return None;
        }
        self.on_timeout(now);
        self.last_is_lldpdu = false;
        // Of a frame that was made and found no memory.
        self.departures.made = None;
        let (measurer, len) = (self.measurer.as_mut()?, self.dialect.frame_len());
        if len > out.len() {
            return None;
        }
        // The time at which its last bit leaves, if nothing is ahead in the ring.
        let message = measurer.take(now, clock + line_time(&self.stamps, self.rate, len));
        let made = message.map(|message| {
            self.departures.made = message.request().map(|_| Event::Request);
            let repr = headroom::Repr { src: self.mac, dst: headroom::DESTINATION, message };
            repr.emit(out, &self.dialect).expect("a plan's dialect states its lengths");
            len
        });
        self.listen(now);
        made
    }

    /// Makes the frame that is due of another protocol than the measurement.
    fn make_other(
        &mut self,
        now: Instant,
        clock: Instant,
        out: &mut [u8; FRAME_MAX],
    ) -> Option<usize> {
        if let Some(peer_delay) = &mut self.peer_delay {
            let t_tx = clock + line_time(&self.stamps, self.rate, ptp::FRAME);
            if let Some(message) = peer_delay.take(now, t_tx) {
                self.departures.made = match message.body {
                    ptp::Body::PdelayReq => Some(Event::PathRequest),
                    ptp::Body::PdelayResp { .. } => Some(Event::PathResponse),
                    _ => None,
                };
                let repr = ptp::Repr { src: self.mac, dst: ptp::DESTINATION, message };
                repr.emit(out).expect("a message has its size");
                return Some(repr.buffer_len());
            }
        }
        // LLDP's state is far from the near caches, so it is called only when due.
        if now < self.lldp_due {
            return None;
        }
        let len = self.with_lldp(|lldp| lldp.take(now, out)).flatten();
        self.last_is_lldpdu = len.is_some();
        len
    }

    /// Records the time that the hand-over of the last frame took, which is the error of its stamp.
    pub fn handed_over(&mut self, took: Duration) {
        self.handing_over = self.handing_over.max(took);
    }

    /// The last frame found no memory: it counts as lost on the link, or is repeated.
    fn not_sent(&mut self) {
        self.counters.unsent += 1;
        if self.last_is_lldpdu {
            self.with_lldp(Lldp::put_back);
        }
    }

    /// Time of the next work without a received frame.
    pub fn next_deadline(&self) -> Instant {
        if self.fresh {
            return Instant::ZERO;
        }
        if !self.up {
            // Information about neighbours ages in any state.
            return self.lldp_due;
        }
        // The earliest of all; each machine is asked, because a message may have moved any of them.
        let mut at = self.lldp_due.min(self.departures.next_deadline());
        if let Some(auto) = &self.auto {
            at = at.min(auto.next_deadline());
        }
        if let Some(measurer) = &self.measurer {
            at = at.min(measurer.next_deadline());
        }
        if let Some(peer_delay) = &self.peer_delay {
            at = at.min(peer_delay.next_deadline());
        }
        at
    }

    /// Ends the wait for the peer's DCBX when it expires, and that for another attempt to measure.
    fn on_timeout(&mut self, now: Instant) {
        if let Some(auto) = &mut self.auto {
            let chosen = auto.on_timeout(now);
            self.choose(now, chosen);
        }
    }

    /// Configuration resolved with the peer, if DCBX is enabled and there is one peer.
    pub fn resolved(&self) -> Option<&Resolved> {
        self.lldp.as_ref()?.resolved()
    }

    /// Advertises this level in the network from now on, if the port advertises it.
    pub fn set_topology(&mut self, now: Instant, topology: Topology) {
        self.with_lldp(|lldp| lldp.set_topology(now, topology));
        self.listen(now);
    }

    /// Advertises these capabilities of congestion isolation and source flow control from now on.
    pub fn set_congestion(
        &mut self,
        now: Instant,
        isolation: Option<CongestionIsolation>,
        sfc: Option<SourceFlowControl>,
    ) {
        self.with_lldp(|lldp| lldp.set_congestion(now, isolation, sfc));
        self.listen(now);
    }

    pub fn lldp(&self) -> Option<&Lldp> {
        self.lldp.as_deref()
    }

    /// State machine of the round-trip measurement.
    pub const fn measurer(&self) -> Option<&Measurer> {
        self.measurer.as_ref()
    }

    /// Brings the memory that a message of a measurement needs into the caches, all lines at once.
    #[inline]
    pub fn fetch(&self) {
        fetch(&self.up);
        fetch(&self.handing_over);
        fetch(&self.mac);
        fetch(&self.stamps.resolution);
        fetch(&self.departures.missed);
        self.measurer.iter().for_each(Measurer::fetch);
    }

    /// State machine of PTP's peer delay.
    pub fn peer_delay(&self) -> Option<&PeerDelay> {
        self.peer_delay.as_deref()
    }

    /// Accuracy of its frames' stamps.
    pub const fn stamps(&self) -> &Stamps {
        &self.stamps
    }
}

/// True if the port is an end station's that derives its level in the network.
fn station(plan: &AgentsPlan) -> bool {
    let topology = plan.dcbx.as_ref().and_then(|dcbx| dcbx.topology);
    topology == Some(TopologyPlan::Recognized(Device::EndStation))
}

/// Time from handing over a frame of `octets` bytes (without FCS) to the end of its last bit.
fn line_time(stamps: &Stamps, rate: BitsPerSec, octets: usize) -> Duration {
    if !stamps.serializes {
        return Duration::ZERO;
    }
    // Padding and FCS are on the line as well (802.3: 64 bytes).
    let frame = (octets as u64).max(60) + 4;
    rate.time_for(Bytes(PREAMBLE + frame))
}
