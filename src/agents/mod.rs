//! What a port does by itself beside data and pauses: it measures the link, asks for the delay of the
//! medium, tells its neighbour who it is and what it offers, and finds its headroom from all that.
//!
//! The same for a port of a switch and for an end station. Frames come in as octets with a stamp and
//! leave as octets; of a port only its clock, its stamps and its control memory are asked for. What follows for a switch comes out as [`News`], in
//! numbers; `switch::settle` makes changes of it.
//!
//! A stamp is when the last bit of a frame passed above the MAC. What is taken for one errs on the
//! side that makes a round trip longer: what leaves is dated before it is handed over, what arrives
//! after it was found.

mod auto;
mod listen;
mod news;
pub mod plan;
mod snapshot;
#[cfg(test)]
mod tests;

pub use auto::AutoState;
pub use news::{Failure, Found, News, Spread};
pub use plan::*;
pub use snapshot::{AgentsSnapshot, MeasureSnapshot, PathDelaySnapshot};

use core::fmt;

use arrayvec::ArrayVec;

use crate::discovery::{
    CongestionIsolation, Device, Lldp, Recognition, Resolved, SourceFlowControl, Surroundings,
    Topology, TopologyPlan,
};
use crate::frame::Frame;
use crate::headroom::measure::Measurer;
use crate::headroom::peer_delay::PeerDelay;
use crate::port::{CONTROL_FRAME_MAX, Port, Stamps};
use crate::time::{Duration, Instant};
use crate::units::{BitsPerSec, Bytes, Mac};
use crate::wire::{EtherType, WireError, ethernet, headroom, ptp};
use auto::Auto;

/// The longest frame that agents make, without FCS.
pub const FRAME_MAX: usize = 640;

const _: () = assert!(FRAME_MAX + 4 <= CONTROL_FRAME_MAX as usize, "ports take them");

/// News that may wait; a driver takes them after every poll.
const NEWS: usize = 16;

/// Octets on the line besides a frame's own before its last bit: preamble and start delimiter.
const PREAMBLE: u64 = 8;

/// The agents of one port.
pub struct PortAgents {
    mac: Mac,
    rate: BitsPerSec,
    up: bool,
    /// Whether nobody has told them of the link yet: it is up when they are first asked.
    fresh: bool,
    stamps: Stamps,
    lldp: Option<Box<Lldp>>,
    measurer: Option<Box<Measurer>>,
    dialect: headroom::Dialect,
    /// Whether the measurement begins by itself when the link comes up.
    initiates: bool,
    peer_delay: Option<Box<PeerDelay>>,
    auto: Option<Auto>,
    /// An end station's place in the network, where it is found.
    place: Option<Box<Recognition>>,
    /// Measurements of the round trip that have begun so far.
    started: u64,
    /// Whether the last frame was an LLDPDU.
    said: bool,
    /// The longest that handing a dated frame to the port took since the last measurement began.
    handing_over: Duration,
    news: ArrayVec<News, NEWS>,
    counters: AgentCounters,
}

/// What the agents of a port counted, besides what each machine counts itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AgentCounters {
    /// Frames for agents that are none of the formats spoken here.
    pub malformed: u64,
    /// Frames for an agent that this port does not have.
    pub unwanted: u64,
    /// Frames that were made and found no memory.
    pub unsent: u64,
    /// News that nobody took in time.
    pub news_lost: u64,
}

/// What came of making a frame.
#[derive(Debug)]
pub enum Made<F> {
    /// The frame, and when it was dated: [`PortAgents::handed_over`] wants to know how long ago that was
    /// when the port has it.
    Frame(F, Instant),
    /// None: only a timer ran out.
    Nothing,
    /// None, for want of memory. Whoever made it makes it again, or bears its loss.
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
    /// The agents of a port whose link is up when they are first asked, unless they are told otherwise
    /// before. Allocates all that they ever need.
    #[must_use]
    pub fn new(plan: &AgentsPlan, stamps: Stamps) -> Self {
        let measure = plan.measure.as_ref();
        Self {
            mac: plan.mac,
            rate: plan.rate,
            up: false,
            fresh: true,
            stamps,
            lldp: plan.lldp.as_ref().map(|l| Box::new(Lldp::new(l, plan.dcbx.as_ref()))),
            measurer: measure.map(|m| Box::new(Measurer::new(m))),
            dialect: measure.map(|m| m.dialect).unwrap_or_default(),
            initiates: measure.is_some_and(|m| m.initiate.is_some()),
            peer_delay: plan.peer_delay.as_ref().map(|p| Box::new(PeerDelay::new(p, plan.mac))),
            auto: plan.auto.as_ref().map(|auto| Auto::new(auto, plan.dcbx.is_some())),
            place: station(plan).then(|| Box::new(Recognition::new(Device::EndStation, 1))),
            started: 0,
            said: false,
            handing_over: Duration::ZERO,
            news: ArrayVec::new(),
            counters: AgentCounters::default(),
        }
    }

    /// Whether frames of `ethertype` to a reserved group address are for agents (802.1Q Table 8-1).
    #[must_use]
    pub const fn speak(ethertype: EtherType) -> bool {
        matches!(ethertype, EtherType::LLDP | EtherType::PTP | EtherType::CIM)
    }

    /// The link came up, went down, or has another rate.
    pub fn set_link(&mut self, now: Instant, up: bool, rate: Option<BitsPerSec>) {
        let other_rate = rate.is_some_and(|rate| rate != self.rate);
        let changed = up != self.up || (up && other_rate);
        self.fresh = false;
        self.rate = rate.unwrap_or(self.rate);
        if !changed {
            return;
        }
        self.up = up;
        if !up {
            return self.stop(now);
        }
        if let Some(lldp) = &mut self.lldp {
            lldp.start(now);
        }
        if let Some(peer_delay) = &mut self.peer_delay {
            peer_delay.start(now);
        }
        if let Some(measurer) = &mut self.measurer {
            measurer.listen();
        }
        match &mut self.auto {
            Some(auto) => {
                let method = auto.link_up(now);
                self.begin(now, method);
            }
            None if self.initiates => self.measure(now),
            None => {}
        }
    }

    fn stop(&mut self, now: Instant) {
        if let Some(lldp) = &mut self.lldp {
            lldp.stop(now);
        }
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

    /// Takes back what LLDP told the neighbours: they need not wait until it has aged.
    pub fn say_goodbye(&mut self, now: Instant) {
        if let Some(lldp) = &mut self.lldp {
            lldp.say_goodbye(now);
        }
        self.listen(now);
    }

    /// Measures again, now: what a person asks for. False if this port cannot or its link is down.
    pub fn measure_now(&mut self, now: Instant) -> bool {
        let can = self.up && (self.initiates || self.auto.is_some());
        if can {
            match &mut self.auto {
                Some(auto) => {
                    let method = auto.again();
                    self.begin(now, Some(method));
                }
                None => self.measure(now),
            }
        }
        can
    }

    /// Starts what the headroom is to be found by.
    fn begin(&mut self, now: Instant, method: Option<Method>) {
        match method {
            None => {}
            Some(Method::RoundTrip) => self.measure(now),
            Some(Method::PeerDelay) => {
                self.tell(News::Measuring(Method::PeerDelay));
                self.handing_over = Duration::ZERO;
                if let Some(peer_delay) = &mut self.peer_delay {
                    peer_delay.start(now);
                }
            }
        }
    }

    fn measure(&mut self, now: Instant) {
        if let Some(measurer) = &mut self.measurer {
            measurer.start(now);
            self.listen(now);
        }
    }

    /// A frame to a reserved group address, from its destination on, with its stamp. False if it is
    /// none of theirs, or malformed.
    pub fn on_frame(&mut self, now: Instant, t_rx: Instant, frame: &[u8]) -> bool {
        if self.fresh {
            self.set_link(now, true, None);
        }
        let Some(&[a, b]) = frame.get(12..14) else { return false };
        let taken = match EtherType(u16::from_be_bytes([a, b])) {
            EtherType::LLDP => self.lldp.as_mut().map(|lldp| {
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

    /// Whether there is something to do, most often to send.
    #[inline]
    #[must_use]
    pub fn is_due(&self, now: Instant) -> bool {
        now >= self.next_deadline()
    }

    /// A frame to a reserved group address that `port` received in the burst that was `found` then. As
    /// [`PortAgents::on_frame`].
    pub fn receive<P: Port>(
        &mut self,
        now: Instant,
        port: &mut P,
        found: Instant,
        frame: &P::Frame,
    ) -> bool {
        // A device's clock has drifted since it was last looked at, and those who only answer date
        // what comes once in days.
        port.refresh_clock();
        let t_rx = port.rx_stamp(frame).unwrap_or(found);
        self.on_frame(now, t_rx, frame.head())
    }

    /// Makes the frame that is due now, with the time at which it is handed to `port`.
    pub fn send<P: Port>(&mut self, now: Instant, port: &mut P) -> Made<P::Frame> {
        if self.handing_over == Duration::ZERO {
            port.refresh_clock();
            self.stamps = port.stamps();
        }
        let mut octets = [0; FRAME_MAX];
        let clock = port.clock(now);
        let Some(len) = self.take(now, clock, &mut octets) else { return Made::Nothing };
        match port.control_frame(&octets[..len]) {
            Some(frame) => Made::Frame(frame, clock),
            None => {
                self.not_sent();
                Made::NoMemory
            }
        }
    }

    /// What to send now, without FCS, if anything is: what has stamps first. `clock` is the time at
    /// which it is handed to the port. Nothing where only a timer ran out.
    pub fn take(
        &mut self,
        now: Instant,
        clock: Instant,
        out: &mut [u8; FRAME_MAX],
    ) -> Option<usize> {
        if self.fresh {
            self.set_link(now, true, None);
        }
        if !self.up {
            if let Some(lldp) = &mut self.lldp {
                lldp.on_timeout(now);
            }
            self.listen(now);
            return None;
        }
        self.on_timeout(now);
        let made = self.make(now, clock, out);
        self.listen(now);
        made
    }

    fn make(&mut self, now: Instant, clock: Instant, out: &mut [u8; FRAME_MAX]) -> Option<usize> {
        self.said = false;
        if let Some(measurer) = &mut self.measurer {
            let t_tx = clock + self.stamps.line_time(self.rate, ethernet::MIN_FRAME);
            if let Some(message) = measurer.take(now, t_tx) {
                let repr = headroom::Repr { src: self.mac, dst: headroom::DESTINATION, message };
                repr.emit(out, &self.dialect).expect("a message has its size");
                return Some(repr.buffer_len());
            }
        }
        if let Some(peer_delay) = &mut self.peer_delay {
            let t_tx = clock + self.stamps.line_time(self.rate, ptp::FRAME);
            if let Some(message) = peer_delay.take(now, t_tx) {
                let repr = ptp::Repr { src: self.mac, dst: ptp::DESTINATION, message };
                repr.emit(out).expect("a message has its size");
                return Some(repr.buffer_len());
            }
        }
        let len = self.lldp.as_mut()?.take(now, out);
        self.said = len.is_some();
        len
    }

    /// How long it took to hand the last frame to the port: what its stamp may be off by.
    pub fn handed_over(&mut self, took: Duration) {
        self.handing_over = self.handing_over.max(took);
    }

    /// The last frame found no memory: it is lost, as if on the way, or said again.
    fn not_sent(&mut self) {
        self.counters.unsent += 1;
        if let Some(lldp) = self.lldp.as_mut().filter(|_| self.said) {
            lldp.put_back();
        }
    }

    /// When there is something to do though no frame arrives.
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        if self.fresh {
            return Instant::ZERO;
        }
        if !self.up {
            // What was heard of neighbours ages all the same.
            return self.lldp.as_ref().map_or(Instant::NEVER, |lldp| lldp.next_deadline());
        }
        let mut at = self.auto.as_ref().map_or(Instant::NEVER, Auto::next_deadline);
        if let Some(measurer) = &self.measurer {
            at = at.min(measurer.next_deadline());
        }
        if let Some(peer_delay) = &self.peer_delay {
            at = at.min(peer_delay.next_deadline());
        }
        if let Some(lldp) = &self.lldp {
            at = at.min(lldp.next_deadline());
        }
        at
    }

    /// Stops waiting for what the peer has to say, when it is time to.
    fn on_timeout(&mut self, now: Instant) {
        let method = self.auto.as_mut().and_then(|auto| auto.on_timeout(now));
        self.begin(now, method);
    }

    /// What happened, the oldest first, each once.
    pub fn next_news(&mut self) -> Option<News> {
        if self.news.is_empty() { None } else { Some(self.news.remove(0)) }
    }

    /// Whether something happened that nobody has taken yet.
    #[inline]
    #[must_use]
    pub fn has_news(&self) -> bool {
        !self.news.is_empty()
    }

    /// What was agreed with the peer, if DCBX is spoken and there is one peer.
    #[must_use]
    pub fn resolved(&self) -> Option<&Resolved> {
        self.lldp.as_ref()?.resolved()
    }

    /// Says from now on that this is the port's place in the network, where it says any.
    pub fn set_topology(&mut self, now: Instant, topology: Topology) {
        if let Some(lldp) = &mut self.lldp {
            lldp.set_topology(now, topology);
        }
        self.listen(now);
    }

    /// Says from now on this of congestion isolation and of source flow control.
    pub fn set_congestion(
        &mut self,
        now: Instant,
        isolation: Option<CongestionIsolation>,
        sfc: Option<SourceFlowControl>,
    ) {
        if let Some(lldp) = &mut self.lldp {
            lldp.set_congestion(now, isolation, sfc);
        }
        self.listen(now);
    }

    /// What is at the other end, as far as congestion goes, if LLDP is spoken.
    #[must_use]
    pub fn surroundings(&self) -> Option<&Surroundings> {
        Some(self.lldp.as_ref()?.surroundings())
    }

    /// The LLDP agent.
    #[must_use]
    pub fn lldp(&self) -> Option<&Lldp> {
        self.lldp.as_deref()
    }

    /// The measurement of the round trip.
    #[must_use]
    pub fn measurer(&self) -> Option<&Measurer> {
        self.measurer.as_deref()
    }

    /// PTP's peer delay.
    #[must_use]
    pub fn peer_delay(&self) -> Option<&PeerDelay> {
        self.peer_delay.as_deref()
    }

    /// What the times of its frames are worth.
    #[must_use]
    pub const fn stamps(&self) -> &Stamps {
        &self.stamps
    }
}

/// Whether the port is an end station's that finds its place in the network.
fn station(plan: &AgentsPlan) -> bool {
    let topology = plan.dcbx.as_ref().and_then(|dcbx| dcbx.topology);
    topology == Some(TopologyPlan::Recognized(Device::EndStation))
}

impl Stamps {
    /// From handing a frame of `octets` (without FCS) over to its last bit leaving.
    fn line_time(&self, rate: BitsPerSec, octets: usize) -> Duration {
        if !self.serializes {
            return Duration::ZERO;
        }
        let frame = (octets as u64).max(60) + 4;
        rate.time_for(Bytes(PREAMBLE + frame))
    }
}
