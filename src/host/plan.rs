//! What a station is told: its link, its flows, and the pauses it sends by itself.

mod error;
mod reactions;
mod recording;
pub mod stream;
mod told;
mod transport;

pub use error::PlanError;
pub use reactions::{ReactionsPlan, SfcPause, SfcReaction};
pub use recording::{RECORDING_MAX, Recording, RecordingError};
pub use stream::TesterPlan;
pub use transport::*;

use core::net::{Ipv4Addr, Ipv6Addr};

use super::meter::Meter;
use super::neighbours;
use super::probe::PROBE_LEN;
use crate::agents::AgentsPlan;
use crate::frame::FCS_BYTES;
use crate::pfc::FlowControl;
pub use crate::port::FRAME_MIN;
use crate::schedule::{Line, LinePlan};
use crate::secure::SecyPlan;
use crate::time::{Duration, Instant};
use crate::units::{
    BitsPerSec, Bytes, Dscp, Mac, PRIORITIES, Pcp, Priority, PrioritySet, Quanta, Vid,
};
use crate::wire::ip::Ecn;
use crate::wire::{ethernet, ipv4, ipv6, udp, vlan};

/// The highest flow number. Every sink keeps a table up to the highest number that it expects; the
/// bound, which is a choice, keeps that table small.
pub const FLOW_ID_MAX: u32 = 65_535;

/// The longest frame of a flow, FCS included, as for a switch.
pub const FRAME_MAX: u32 = 16_384;

const _: () = assert!(ethernet::MIN_FRAME as u32 + FCS_BYTES == FRAME_MIN, "both are Ethernet's");

/// The number of a flow, unique in a lab. Range 0 to [`FLOW_ID_MAX`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowId(pub u32);

/// One stream of equal frames from one station.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowPlan {
    /// Its number, which every frame carries.
    pub id: FlowId,
    /// Source address of its frames.
    pub src: Mac,
    /// Destination address of its frames.
    pub dst: Mac,
    /// The VLAN tag, if its frames have one.
    pub tag: Option<Tag>,
    /// The priority that pauses it at its station. What the switch takes the frames for is
    /// decided by tag and DSCP.
    pub priority: Priority,
    /// What follows the Ethernet header.
    pub headers: Headers,
    /// Octets of a frame, tag and FCS included. [`FlowPlan::size_min`] to [`FRAME_MAX`].
    pub size: u32,
    /// How fast it is offered.
    pub rate: Rate,
    /// When the first frame is due.
    pub start: Instant,
    /// No frame is due from here on; [`Instant::NEVER`] for no end.
    pub stop: Instant,
    /// How many frames there are at most.
    pub frames: Option<u64>,
}

/// The VLAN tag of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tag {
    /// The VLAN, or nothing for a priority tag (VID 0).
    pub vid: Option<Vid>,
    /// The priority code point.
    pub pcp: Pcp,
}

/// What follows the Ethernet header of a flow's frames, in front of the probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Headers {
    /// Nothing: the probe follows at once, under the local experimental EtherType 0x88B5
    /// (802 9.2.3).
    Ethernet,
    /// IPv4 and UDP.
    Udp4(Udp<Ipv4Addr>),
    /// IPv6 and UDP.
    Udp6(Udp<Ipv6Addr>),
}

/// The UDP and IP headers of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Udp<A> {
    /// Source address.
    pub src: A,
    /// Destination address.
    pub dst: A,
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Differentiated services code point.
    pub dscp: Dscp,
    /// What the frames say about ECN.
    pub ecn: Ecn,
}

/// How fast a flow is offered. The pace is kept to the picosecond, rounded to the slower side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rate {
    /// A share of the link, in millionths, preamble and gap counted. 1 to 1,000,000.
    LineShare(u32),
    /// Bits of frames (FCS included, preamble and gap not) per second.
    FrameBits(BitsPerSec),
    /// Frames per second, not zero.
    Frames(u64),
}

/// Pauses that a station sends whatever it receives: what a storm or a slow receiver looks like
/// to the switch. Counted in frames, sent ahead of data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PausePlan {
    /// What every frame asks for.
    pub ask: PauseAsk,
    /// When the first is due.
    pub start: Instant,
    /// From one to the next. Not zero.
    pub every: Duration,
    /// How many.
    pub frames: u64,
}

/// What a pause frame asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PauseAsk {
    /// PFC, with the time of each priority that it names; 0 resumes.
    Pfc([Option<Quanta>; PRIORITIES]),
    /// Link-wide PAUSE; 0 resumes.
    Pause(Quanta),
}

impl PauseAsk {
    /// PFC that asks every priority of `set` for the same time.
    #[must_use]
    pub fn pfc(set: PrioritySet, quanta: Quanta) -> Self {
        Self::Pfc(Priority::ALL.map(|p| set.contains(p).then_some(quanta)))
    }
}

/// An end station on one link.
#[derive(Clone, PartialEq, Debug)]
pub struct StationPlan {
    /// Its name in results.
    pub name: String,
    /// Its address: the source of its pauses, and the unicast address that it takes in.
    pub mac: Mac,
    /// The rate of its link: nothing it sends goes faster, and quanta are counted in it.
    pub rate: BitsPerSec,
    /// Which pauses it obeys. Whether it sends any is decided by `pauses` alone.
    pub flow_control: FlowControl,
    /// How far the link may catch up, in octets, after a poll that came late. 0 is exact: no frame
    /// ever starts before the one before it has left.
    pub shaper_burst: Bytes,
    /// What a frame takes on the line.
    pub line: LinePlan,
    /// How far a flow that was paused, or found the link busy with others, may catch up with its
    /// schedule. What it is further behind is never sent.
    pub backlog: Duration,
    /// What it sends.
    pub flows: Vec<FlowPlan>,
    /// The flows whose frames it counts and does not answer; all others are foreign to it.
    pub expects: Vec<FlowId>,
    /// The flows that it sends and whose receivers answer.
    pub senders: Vec<TransportPlan>,
    /// The flows that it counts and answers.
    pub receivers: Vec<TransportPlan>,
    /// The pauses it sends by itself.
    pub pauses: Vec<PausePlan>,
    /// What makes it a traffic generator.
    pub tester: TesterPlan,
    /// What its port does by itself: answering measurements, discovery.
    pub agents: Option<AgentsPlan>,
    /// What its port protects by MACsec, and what it demands of what comes in.
    pub secy: Option<Box<SecyPlan>>,
    /// Which messages of switches it obeys.
    pub reactions: ReactionsPlan,
}

impl Headers {
    /// Octets between the Ethernet header (tag included) and the probe.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::Ethernet => 0,
            Self::Udp4(_) => ipv4::HEADER_LEN + udp::HEADER_LEN,
            Self::Udp6(_) => ipv6::HEADER_LEN + udp::HEADER_LEN,
        }
    }

    /// Whether the probe follows the Ethernet header at once.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl FlowPlan {
    /// Where the probe starts in a frame.
    #[must_use]
    pub const fn probe_at(&self) -> usize {
        let tag = if self.tag.is_some() { vlan::TAG_LEN } else { 0 };
        ethernet::HEADER_LEN + tag + self.headers.len()
    }

    /// The shortest frame that holds the headers and the probe, FCS included.
    #[must_use]
    pub const fn size_min(&self) -> u32 {
        let len = (self.probe_at() + PROBE_LEN) as u32 + FCS_BYTES;
        if len < FRAME_MIN { FRAME_MIN } else { len }
    }

    /// Octets of payload in a frame, the probe among them: what follows the headers.
    #[must_use]
    pub const fn payload(&self) -> u32 {
        self.size - FCS_BYTES - self.probe_at() as u32
    }

    /// How many frames a message of `bytes` octets takes. The last is as long as the others.
    #[must_use]
    pub const fn frames_for(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.payload() as u64)
    }

    /// The time from one frame to the next on a link.
    ///
    /// # Errors
    /// [`PlanError::Rate`] for a rate of zero or above the link's.
    pub fn interval(&self, link: &Line) -> Result<Duration, PlanError> {
        let error = PlanError::Rate(self.id.0);
        let line = link.time_for(self.size);
        let interval = match self.rate {
            Rate::LineShare(0 | 1_000_001..) | Rate::Frames(0) => return Err(error),
            Rate::LineShare(ppm) => (u128::from(line.as_picos()) * 1_000_000).div_ceil(ppm.into()),
            Rate::FrameBits(rate) => rate.time_for(Bytes(self.size.into())).as_picos().into(),
            Rate::Frames(n) => 1_000_000_000_000_u128.div_ceil(n.into()),
        };
        match u64::try_from(interval) {
            Ok(ps) if ps >= line.as_picos() => Ok(Duration::from_picos(ps)),
            _ => Err(error),
        }
    }
}

impl StationPlan {
    /// What a frame takes on its line, protection included.
    #[must_use]
    pub fn protected_line(&self) -> LinePlan {
        self.line.and(self.secy.as_ref().map_or(0, |secy| secy.line_overhead()))
    }

    /// A station that is on its link and does nothing.
    #[must_use]
    pub fn new(name: impl Into<String>, mac: Mac, rate: BitsPerSec) -> Self {
        Self {
            name: name.into(),
            mac,
            rate,
            flow_control: FlowControl::Off,
            shaper_burst: Bytes(0),
            line: LinePlan::ETHERNET,
            backlog: Duration::ZERO,
            flows: Vec::new(),
            expects: Vec::new(),
            senders: Vec::new(),
            receivers: Vec::new(),
            pauses: Vec::new(),
            tester: TesterPlan::default(),
            agents: None,
            secy: None,
            reactions: ReactionsPlan::default(),
        }
    }

    /// Whether the plan can be run as it is.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn check(&self) -> Result<(), PlanError> {
        let line = Line::new(self.rate, self.protected_line());
        for f in &self.flows {
            let (flow, size) = (f.id.0, f.size);
            let min = f.size_min();
            if size < min {
                return Err(PlanError::Short { flow, size, min });
            }
            if size > FRAME_MAX {
                return Err(PlanError::Long { flow, size });
            }
            f.interval(&line)?;
        }
        for stream in &self.tester.streams {
            stream.check(&line)?;
        }
        if self.pauses.iter().any(|p| p.every == Duration::ZERO) {
            return Err(PlanError::PauseInterval);
        }
        for t in self.senders.iter().chain(&self.receivers) {
            t.check()?;
        }
        let lost = self.senders.iter().find(|t| t.src != self.mac);
        if let Some(t) = lost.or_else(|| self.receivers.iter().find(|t| t.dst != self.mac)) {
            return Err(PlanError::NotHere(t.id.0));
        }
        self.check_ends()?;
        if let Some(meter) = &self.tester.meter {
            Meter::check(meter, &self.expects)?;
        }
        neighbours::check(&self.tester.interfaces)?;
        self.reactions.check()?;
        let ids = |plans: &[TransportPlan]| plans.iter().map(|t| t.id).collect::<Vec<_>>();
        let streams = self.tester.streams.iter().map(|s| s.id);
        distinct(self.flows.iter().map(|f| f.id).chain(ids(&self.senders)).chain(streams))?;
        distinct(self.expects.iter().copied().chain(ids(&self.receivers)))
    }

    /// True if every answer and every datum finds one flow: no queue pair and no pair of ports sends
    /// twice, nor receives twice. One may do both.
    fn check_ends(&self) -> Result<(), PlanError> {
        let answers = self.senders.iter().map(|t| (t.answer_key(), t.id.0));
        let data = self.receivers.iter().map(|t| (t.data_key(), t.id.0));
        for mut ends in [answers.collect::<Vec<_>>(), data.collect()] {
            ends.sort_unstable();
            if let Some(w) = ends.windows(2).find(|w| w[0].0 == w[1].0) {
                return Err(PlanError::SameEnd(w[0].1, w[1].1));
            }
        }
        Ok(())
    }
}

/// Whether all numbers are in range and none is there twice.
fn distinct(ids: impl Iterator<Item = FlowId>) -> Result<(), PlanError> {
    let mut ids: Vec<u32> = ids.map(|id| id.0).collect();
    ids.sort_unstable();
    if let Some(id) = ids.last().filter(|id| **id > FLOW_ID_MAX) {
        return Err(PlanError::FlowId(*id));
    }
    match ids.windows(2).find(|w| w[0] == w[1]) {
        Some(w) => Err(PlanError::Twice(w[0])),
        None => Ok(()),
    }
}
