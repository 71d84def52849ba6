//! Configuration of a station: its link, its flows, and its planned pauses; and the errors of a plan.

mod reactions;
mod recording;
pub mod stream;
mod transport;

pub use reactions::{InNetwork, PATH_SPACING, ReactionsPlan, SfcPause, SfcReaction};
pub use recording::{RECORDING_MAX, Recording, RecordingError};
pub use stream::TesterPlan;
pub use transport::*;

pub use super::probe::{FLOW_ID_MAX, FlowId};
pub use contracts::port::{FRAME_MAX, FRAME_MIN};

use core::net::{Ipv4Addr, Ipv6Addr};

use super::probe::PROBE_LEN;
use contracts::frame::FCS_BYTES;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes, Dscp, Mac, Pcp, Priority, Vid};
use link::AgentsPlan;
use pfc::{Demand, FlowControl};
use schedule::{Line, LinePlan};
use secure::SecyPlan;
use stream::NEIGHBOURS_MAX;
use wire::ip::Ecn;
use wire::sfcm::PORT_MIN;
use wire::vlan::{self, MAX_TAGS};
use wire::{ethernet, ipv4, ipv6, udp};

const _: () = assert!(ethernet::MIN_FRAME as u32 + FCS_BYTES == FRAME_MIN, "both are Ethernet's");

/// A stream of equal frames from one station.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowPlan {
    /// Flow number, which every frame carries.
    pub id: FlowId,
    pub src: Mac,
    pub dst: Mac,
    /// VLAN tag, if any.
    pub tag: Option<Tag>,
    /// Priority whose pauses stop the flow at its station. The switch classifies the frames by tag
    /// and DSCP.
    pub priority: Priority,
    /// Headers behind the Ethernet header.
    pub headers: Headers,
    /// Frame length in bytes, tag and FCS included. [`FlowPlan::size_min`] to [`FRAME_MAX`].
    pub size: u32,
    /// Offered rate.
    pub rate: Rate,
    /// Time at which the first frame is due.
    pub start: Instant,
    /// Time from which no frame is due; [`Instant::NEVER`] for no end.
    pub stop: Instant,
    /// Maximum number of frames.
    pub frames: Option<u64>,
}

/// The VLAN tag of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tag {
    /// VLAN identifier; `None` for a priority tag (VID 0).
    pub vid: Option<Vid>,
    pub pcp: Pcp,
}

/// Headers between a flow's Ethernet header and its probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Headers {
    /// None: the probe follows directly, under the local experimental EtherType 0x88B5 (802 9.2.3).
    Ethernet,
    /// IPv4 and UDP.
    Udp4(Udp<Ipv4Addr>),
    /// IPv6 and UDP.
    Udp6(Udp<Ipv6Addr>),
}

/// The UDP and IP headers of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Udp<A> {
    pub src: A,
    pub dst: A,
    pub src_port: u16,
    pub dst_port: u16,
    pub dscp: Dscp,
    pub ecn: Ecn,
}

/// Offered rate of a flow. Intervals are exact to the picosecond, rounded up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rate {
    /// Share of the link, in millionths, preamble and gap included. 1 to 1,000,000.
    LineShare(u32),
    /// Bits of frames (FCS included, preamble and gap not) per second.
    FrameBits(BitsPerSec),
    /// Frames per second, not zero.
    Frames(u64),
}

/// Pauses that a station sends regardless of what it receives, to emulate a storm or a slow
/// receiver. Limited by a number of frames, sent ahead of data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PausePlan {
    /// Request of every frame.
    pub ask: Demand,
    /// Time at which the first is due.
    pub start: Instant,
    /// Interval between frames. Not zero.
    pub every: Duration,
    /// Number of frames.
    pub frames: u64,
}

/// An end station on one link.
#[derive(Clone, PartialEq, Debug)]
pub struct StationPlan {
    /// Name in results.
    pub name: String,
    /// MAC address: the source of its pauses, and the unicast address that it accepts.
    pub mac: Mac,
    /// Link rate: nothing is sent faster, and quanta are converted by it.
    pub rate: BitsPerSec,
    /// Pauses that it obeys. Only `pauses` decides if it sends any.
    pub flow_control: FlowControl,
    /// Bytes by which the link may catch up after a late poll. 0 is exact: no frame ever starts
    /// before the previous one has left.
    pub shaper_burst: Bytes,
    /// Per-frame overhead on the line.
    pub line: LinePlan,
    /// Time by which a flow may catch up with its schedule after a pause or a busy link. Frames
    /// further behind are never sent.
    pub backlog: Duration,
    /// Flows that it sends.
    pub flows: Vec<FlowPlan>,
    /// Flows that it counts without acknowledging; all others are foreign.
    pub expects: Vec<FlowId>,
    /// Flows with acknowledgements that it sends.
    pub senders: Vec<TransportPlan>,
    /// Flows that it counts and acknowledges.
    pub receivers: Vec<TransportPlan>,
    /// Flows among `flows` and `senders` that send in ON periods only.
    pub on_off: Vec<OnOffPlan>,
    /// Pauses sent by schedule.
    pub pauses: Vec<PausePlan>,
    /// Traffic generator functions.
    pub tester: TesterPlan,
    /// Link protocols of its port: answers to measurements, discovery.
    pub agents: Option<AgentsPlan>,
    /// MACsec protection of sent frames, and requirements on received ones.
    pub secy: Option<Box<SecyPlan>>,
    /// Congestion messages of switches that it obeys.
    pub reactions: ReactionsPlan,
}

impl Headers {
    /// Bytes between the Ethernet header (tag included) and the probe.
    pub const fn len(&self) -> usize {
        match self {
            Self::Ethernet => 0,
            Self::Udp4(_) => ipv4::HEADER_LEN + udp::HEADER_LEN,
            Self::Udp6(_) => ipv6::HEADER_LEN + udp::HEADER_LEN,
        }
    }

    /// Returns true if the probe directly follows the Ethernet header.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl FlowPlan {
    /// Offset of the probe in a frame.
    pub const fn probe_at(&self) -> usize {
        let tag = if self.tag.is_some() { vlan::TAG_LEN } else { 0 };
        ethernet::HEADER_LEN + tag + self.headers.len()
    }

    /// Minimum frame length with headers and probe, FCS included.
    pub const fn size_min(&self) -> u32 {
        let len = (self.probe_at() + PROBE_LEN) as u32 + FCS_BYTES;
        if len < FRAME_MIN { FRAME_MIN } else { len }
    }

    /// Bytes of payload in a frame behind the headers, the probe included.
    pub const fn payload(&self) -> u32 {
        self.size - FCS_BYTES - self.probe_at() as u32
    }

    /// Returns the interval between frames on a link.
    ///
    /// # Errors
    /// [`PlanError::Rate`] for a rate of zero or above the link's.
    pub fn interval(&self, link: &Line) -> Result<Duration, PlanError> {
        // Rounded up in all cases, so that no rate is exceeded by rounding.
        let error = PlanError::Rate(self.id.0);
        let line = link.time_for(self.size);
        let interval = match self.rate {
            Rate::LineShare(0 | 1_000_001..) | Rate::Frames(0) => return Err(error),
            Rate::LineShare(ppm) => (u128::from(line.as_picos()) * 1_000_000).div_ceil(ppm.into()),
            Rate::FrameBits(rate) => rate.time_for(Bytes(self.size.into())).as_picos().into(),
            Rate::Frames(n) => 1_000_000_000_000_u128.div_ceil(n.into()),
        };
        match u64::try_from(interval) {
            // Faster than back to back is more than the link carries.
            Ok(ps) if ps >= line.as_picos() => Ok(Duration::from_picos(ps)),
            _ => Err(error),
        }
    }
}

impl StationPlan {
    /// Returns the per-frame overhead on the line, MACsec included.
    pub fn protected_line(&self) -> LinePlan {
        self.line.and(self.secy.as_ref().map_or(0, |secy| secy.line_overhead()))
    }

    /// Creates a station that only keeps its link up.
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
            on_off: Vec::new(),
            pauses: Vec::new(),
            tester: TesterPlan::default(),
            agents: None,
            secy: None,
            reactions: ReactionsPlan::default(),
        }
    }

    /// Validates the plan.
    ///
    /// # Errors
    /// The first problem found.
    pub fn check(&self) -> Result<(), PlanError> {
        // With MACsec's bytes, which take their share of the line.
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
        // Replies go to the address in the plan, which would be another station's.
        let lost = self.senders.iter().find(|t| t.src != self.mac);
        if let Some(t) = lost.or_else(|| self.receivers.iter().find(|t| t.dst != self.mac)) {
            return Err(PlanError::NotHere(t.id.0));
        }
        self.check_ends()?;
        self.check_work()?;
        if let Some(meter) = &self.tester.meter {
            meter.check(&self.expects)?;
        }
        stream::check_interfaces(&self.tester.interfaces)?;
        self.reactions.check()?;
        let ids = |plans: &[TransportPlan]| plans.iter().map(|t| t.id).collect::<Vec<_>>();
        let streams = self.tester.streams.iter().map(|s| s.id);
        // Sent and received flows are counted apart, so one number may occur in both.
        distinct(self.flows.iter().map(|f| f.id).chain(ids(&self.senders)).chain(streams))?;
        distinct(self.expects.iter().copied().chain(ids(&self.receivers)))
    }

    /// Validates that flows which wait for others, or send in periods, are of this station.
    fn check_work(&self) -> Result<(), PlanError> {
        for t in &self.senders {
            // A flow whose messages do not arrive here would be waited for without end.
            let received = |id| self.receivers.iter().any(|r| r.id == id);
            if t.work.after.is_some_and(|id| !received(id)) {
                return Err(PlanError::After(t.id.0));
            }
        }
        for plan in &self.on_off {
            let is = |id: FlowId| id == plan.flow;
            let own = self.flows.iter().any(|f| is(f.id)) || self.senders.iter().any(|t| is(t.id));
            if !own || plan.on == Duration::ZERO || plan.off == Duration::ZERO {
                return Err(PlanError::OnOff(plan.flow.0));
            }
        }
        Ok(())
    }

    /// Validates that every acknowledgement and every data frame belongs to one flow: no queue pair
    /// and no pair of ports is used by two senders or by two receivers. One may do both.
    fn check_ends(&self) -> Result<(), PlanError> {
        let answers = self.senders.iter().map(|t| (t.answer_key(), t.id.0));
        let data = self.receivers.iter().map(|t| (t.data_key(), t.id.0));
        for mut ends in [answers.collect::<Vec<_>>(), data.collect()] {
            // Equal keys are then neighbours.
            ends.sort_unstable();
            if let Some(w) = ends.windows(2).find(|w| w[0].0 == w[1].0) {
                return Err(PlanError::SameEnd(w[0].1, w[1].1));
            }
        }
        Ok(())
    }
}

/// Validates that all numbers are in range and distinct.
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

/// Reason for refusing a station plan.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PlanError {
    /// A flow number is too high.
    #[error("flow {0}: flows are numbered 0 to {FLOW_ID_MAX}")]
    FlowId(u32),
    /// Two flows of the station, or two that it expects, have the same number.
    #[error("flow {0} is there twice")]
    Twice(u32),
    /// Frames of this size do not hold the headers and the probe.
    #[error("flow {flow}: {size} octets are too few, its headers and probe take {min}")]
    Short {
        flow: u32,
        /// Configured length.
        size: u32,
        /// Required length.
        min: u32,
    },
    /// Frames of this size exceed the maximum of any port.
    #[error("flow {flow}: {size} octets are more than the longest frame, {FRAME_MAX}")]
    Long {
        flow: u32,
        /// Configured length.
        size: u32,
    },
    /// A rate of zero, or above the link's.
    #[error("flow {0}: its rate is zero or above that of the link")]
    Rate(u32),
    /// A message of no bytes, or no messages.
    #[error("flow {0}: a message has at least one octet, and there is at least one")]
    Message(u32),
    /// A flow that waits for one that its station does not receive.
    #[error("flow {0}: it waits for a flow that its station does not receive")]
    After(u32),
    /// ON and OFF periods of no length, or of a flow that the station does not send.
    #[error("flow {0}: ON and OFF periods have a length, and are of a flow that the station sends")]
    OnOff(u32),
    /// A window below one frame, or an acknowledgement every zero frames.
    #[error("flow {0}: its window is below one frame's payload, or it acknowledges no frame")]
    Window(u32),
    /// A timeout of zero.
    #[error("flow {0}: a retransmission timeout has to last")]
    Timeout(u32),
    /// DCQCN with a parameter out of range.
    #[error("flow {0}: a number of its reaction point is out of range")]
    Dcqcn(u32),
    /// A flow with neither end at this station.
    #[error("flow {0}: the station has neither end of it")]
    NotHere(u32),
    /// Two flows whose frames cannot be distinguished.
    #[error("flows {0} and {1} have the same queue pair or the same ports at this station")]
    SameEnd(u32, u32),
    /// A priority for a stream that is not expected.
    #[error("flow {0}: its priority is given, and it is not among the flows expected")]
    NotExpected(u32),
    /// A control stream that cannot be distinguished from other frames.
    #[error("flow {0}: a control stream is known by its octets, at least one")]
    ControlOctets(u32),
    /// A stream with contradictory settings.
    #[error("flow {flow}: {field}: {why}")]
    Stream {
        flow: u32,
        /// Field of the plan.
        field: &'static str,
        /// Problem.
        why: String,
    },
    /// SFC messages on an invalid UDP port.
    #[error("SFC messages come on a port from {PORT_MIN} to 65535, not on {0}")]
    SfcPort(u16),
    /// SFC messages with a maximum pause of zero.
    #[error("the longest pause of an SFC message has to last")]
    SfcPause,
    /// QCN reaction points with a parameter out of range.
    #[error("a number of QCN's reaction points is out of range")]
    Qcn,
    /// Pauses with an interval of zero.
    #[error("pauses have to be some time apart")]
    PauseInterval,
    /// An interface with too many tags, or an invalid priority.
    #[error("interface {0}: it has at most {MAX_TAGS} VLANs, each with a priority of 0 to 7")]
    InterfaceTags(String),
    /// An interface with a prefix longer than its address.
    #[error("interface {0}: a prefix is longer than the address (32 bits of IPv4, 128 of IPv6)")]
    InterfacePrefix(String),
    /// Too many gateways for one station.
    #[error("{0} gateways on one port: a port asks for at most {NEIGHBOURS_MAX}")]
    Neighbours(usize),
}
