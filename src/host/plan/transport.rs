//! What a station is told of flows that wait for answers: RoCEv2 queue pairs and TCP-like senders.
//!
//! One value describes a flow from both ends. The station that it leaves has it among its
//! `senders`, the one that it goes to among its `receivers`.

use core::net::Ipv4Addr;

use super::{FRAME_MAX, FlowId, PlanError, Tag};
use crate::congestion::DcqcnPlan;
use crate::frame::FCS_BYTES;
use crate::host::probe::PROBE_LEN;
use crate::time::{Duration, Instant};
use crate::units::{BitsPerSec, Bytes, Dscp, Mac, Priority};
use crate::wire::ip::Ecn;
use crate::wire::roce::U24;
use crate::wire::{ethernet, icrc, ipv4, reth, roce, segment, udp, vlan};

/// The most packets of one flow that are sent and not yet acknowledged, whatever its window says.
/// A choice: it bounds what either end remembers of packets out of order (2 KiB), and is far below
/// the 2^23 that sequence numbers of 24 bits could tell apart (IBA 9.7.2).
pub const IN_FLIGHT_MAX: u64 = 16_384;

/// One flow whose receiver answers.
#[derive(Clone, PartialEq, Debug)]
pub struct TransportPlan {
    /// Its number, which every data frame carries.
    pub id: FlowId,
    /// The station that sends data.
    pub src: Mac,
    /// The station that receives data and answers.
    pub dst: Mac,
    /// The sender's address.
    pub src_ip: Ipv4Addr,
    /// The receiver's address.
    pub dst_ip: Ipv4Addr,
    /// The VLAN tag of its frames, answers included, if they have one.
    pub tag: Option<Tag>,
    /// The priority that pauses its data at the sender's station.
    pub priority: Priority,
    /// Differentiated services code point of its data.
    pub dscp: Dscp,
    /// What its data frames say about ECN.
    pub ecn: Ecn,
    /// Octets of a full data frame, tag and FCS included. [`TransportPlan::size_min`] to
    /// [`FRAME_MAX`]. The first frame of an RDMA WRITE has [`reth::RETH_LEN`] more, the last one of a
    /// message with immediate data [`roce::IMMEDIATE_LEN`].
    pub size: u32,
    /// The rate that it is kept below, in bits of frames (FCS included, preamble and gap not) per
    /// second; nothing for no bound but the link's.
    pub rate: Option<BitsPerSec>,
    /// When its first message is due.
    pub start: Instant,
    /// From here on nothing is sent of it, whether acknowledged or not; [`Instant::NEVER`] for no
    /// end.
    pub stop: Instant,
    /// What it has to send; nothing for data without end.
    pub message: Option<Message>,
    /// How its ends talk.
    pub kind: Transport,
}

/// The messages of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Octets of each, not 0.
    pub bytes: u64,
    /// How many there are, not 0.
    pub count: u64,
    /// From one becoming due to the next. One that is due waits for the ones before it.
    pub every: Duration,
}

impl Message {
    /// One message of `bytes` octets.
    #[must_use]
    pub const fn once(bytes: u64) -> Self {
        Self { bytes, count: 1, every: Duration::ZERO }
    }
}

/// How the two ends of a flow talk.
#[derive(Clone, PartialEq, Debug)]
pub enum Transport {
    /// A reliable connection of RoCEv2.
    Roce(RocePlan),
    /// Windows that grow and halve as TCP's do.
    TcpLike(TcpPlan),
}

/// What a RoCEv2 sender repeats when something was lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recovery {
    /// Everything from the lost packet on, as the InfiniBand Architecture has it (9.7.5.2.2).
    GoBackN,
    /// The lost packets alone. The architecture has no such recovery, so its NAK is a choice: its
    /// PSN is the first one missing, and the MSN field of its AETH is the PSN behind the gap.
    SelectiveRepeat,
}

/// How data is named on the wire. Nothing else depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// SEND: all full frames have the same length.
    Send,
    /// RDMA WRITE: the first frame of a message carries an RETH.
    Write,
}

/// How an answer is marked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Marking {
    /// The priority that pauses it at its station, and the PCP of its tag if the flow has one.
    pub priority: Priority,
    /// Its differentiated services code point.
    pub dscp: Dscp,
}

/// A queue pair at each end of a RoCEv2 flow.
#[derive(Clone, PartialEq, Debug)]
pub struct RocePlan {
    /// The sender's queue pair, which answers and CNPs name. Unique at its station.
    pub src_qp: U24,
    /// The receiver's queue pair, which data names. Unique at its station.
    pub dst_qp: U24,
    /// The UDP source port of all its packets, which spreads flows over paths.
    pub src_port: u16,
    /// The sequence number of the first packet.
    pub first_psn: U24,
    /// How data is named.
    pub operation: Operation,
    /// Immediate data in the last packet of each message.
    pub immediate: Option<u32>,
    /// What is repeated after a loss.
    pub recovery: Recovery,
    /// The most octets of payload in flight; nothing for no bound but [`IN_FLIGHT_MAX`].
    pub window: Option<Bytes>,
    /// The receiver acknowledges every so manieth packet, not 0, and each message's last.
    pub ack_every: u32,
    /// How long nothing may be acknowledged before the first unacknowledged packet is repeated.
    /// Not zero.
    pub timeout: Duration,
    /// The reaction point, if the sender has one. Without, CNPs are counted and change nothing.
    pub dcqcn: Option<DcqcnPlan>,
    /// The least time from one CNP of the flow to the next, if its receiver sends any.
    pub cnp_interval: Option<Duration>,
    /// How acknowledgements are marked; nothing for as the data.
    pub ack: Option<Marking>,
    /// How CNPs are marked.
    pub cnp: Marking,
}

impl RocePlan {
    /// The usual time between two CNPs of one flow (SIGCOMM'15, DCQCN).
    pub const CNP_INTERVAL: Duration = Duration::from_micros(50);

    /// The usual marking of CNPs: DSCP 48, priority 6 (NVIDIA's firmware default).
    pub const CNP_MARKING: Marking = match (Priority::new(6), Dscp::new(48)) {
        (Some(priority), Some(dscp)) => Marking { priority, dscp },
        _ => unreachable!(),
    };

    /// A flow between two queue pairs: SENDs, go-back-N, an acknowledgement for each packet, no
    /// window, 1 ms until a repetition, no reaction point, CNPs for CE.
    #[must_use]
    pub fn new(src_qp: U24, dst_qp: U24) -> Self {
        Self {
            src_qp,
            dst_qp,
            // The dynamic ports (RFC 6335), as RoCEv2 senders use them for entropy.
            src_port: 0xc000 | (src_qp.get() & 0x3fff) as u16,
            first_psn: U24::default(),
            operation: Operation::Send,
            immediate: None,
            recovery: Recovery::GoBackN,
            window: None,
            ack_every: 1,
            timeout: Duration::from_millis(1),
            dcqcn: None,
            cnp_interval: Some(Self::CNP_INTERVAL),
            ack: None,
            cnp: Self::CNP_MARKING,
        }
    }
}

/// A sender whose window goes as that of TCP NewReno does: slow start, additive increase, fast
/// retransmit and recovery, retransmission timeout. No handshake and no end of the connection, no
/// window advertised, no SACK, no ECN: what congestion control makes of a network, and no more.
#[derive(Clone, PartialEq, Debug)]
pub struct TcpPlan {
    /// The sender's port. With the receiver's and its address unique at the sender's station.
    pub src_port: u16,
    /// The receiver's port.
    pub dst_port: u16,
    /// The window that it starts with, in segments. Not 0.
    pub initial_window: u32,
    /// The most octets in flight, as a receiver's buffer would bound it; nothing for no bound but
    /// [`IN_FLIGHT_MAX`] segments.
    pub window: Option<Bytes>,
    /// The shortest retransmission timeout. Not zero.
    pub timeout_min: Duration,
    /// How acknowledgements are marked; nothing for as the data.
    pub ack: Option<Marking>,
}

impl TcpPlan {
    /// A flow between two ports: ten segments to start with (RFC 6928), no bound on the window,
    /// timeouts of at least a millisecond, which suits a data centre better than RFC 6298's second.
    #[must_use]
    pub const fn new(src_port: u16, dst_port: u16) -> Self {
        Self {
            src_port,
            dst_port,
            initial_window: 10,
            window: None,
            timeout_min: Duration::from_millis(1),
            ack: None,
        }
    }
}

/// What a frame says of the flow that it belongs to, unique at the station that receives it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::host) struct EndKey(u64);

impl EndKey {
    /// A queue pair of the station.
    #[inline]
    pub(in crate::host) const fn queue_pair(qp: U24) -> Self {
        Self(qp.get() as u64)
    }

    /// The peer's address and port and the station's own port, which is above all queue pairs: no
    /// peer is at 0.0.0.0.
    #[inline]
    pub(in crate::host) const fn ports(peer: Ipv4Addr, theirs: u16, own: u16) -> Self {
        Self((peer.to_bits() as u64) << 32 | (theirs as u64) << 16 | own as u64)
    }
}

impl TransportPlan {
    /// Where the network header starts.
    #[must_use]
    pub const fn l3_at(&self) -> usize {
        ethernet::HEADER_LEN + if self.tag.is_some() { vlan::TAG_LEN } else { 0 }
    }

    /// Octets of a data frame that are not payload, FCS included and RETH not.
    #[must_use]
    pub const fn overhead(&self) -> u32 {
        let upper = match self.kind {
            Transport::Roce(_) => udp::HEADER_LEN + roce::BTH_LEN + icrc::LEN,
            Transport::TcpLike(_) => segment::HEADER_LEN,
        };
        (self.l3_at() + ipv4::HEADER_LEN + upper) as u32 + FCS_BYTES
    }

    /// The shortest full frame: one that holds the headers and the probe.
    #[must_use]
    pub const fn size_min(&self) -> u32 {
        self.overhead() + PROBE_LEN as u32
    }

    /// Octets of payload in a full frame.
    #[must_use]
    pub const fn payload(&self) -> u32 {
        self.size - self.overhead()
    }

    /// What tells its answers from those of other flows at the sender's station.
    pub(in crate::host) const fn answer_key(&self) -> EndKey {
        match &self.kind {
            Transport::Roce(roce) => EndKey::queue_pair(roce.src_qp),
            Transport::TcpLike(tcp) => EndKey::ports(self.dst_ip, tcp.dst_port, tcp.src_port),
        }
    }

    /// What tells its data from those of other flows at the receiver's station.
    pub(in crate::host) const fn data_key(&self) -> EndKey {
        match &self.kind {
            Transport::Roce(roce) => EndKey::queue_pair(roce.dst_qp),
            Transport::TcpLike(tcp) => EndKey::ports(self.src_ip, tcp.src_port, tcp.dst_port),
        }
    }

    /// Octets of its longest frame.
    #[must_use]
    pub const fn longest(&self) -> u32 {
        match &self.kind {
            Transport::Roce(RocePlan { operation, immediate, .. }) => {
                let reth = match operation {
                    Operation::Write => reth::RETH_LEN,
                    Operation::Send => 0,
                };
                let immediate = if immediate.is_some() { roce::IMMEDIATE_LEN } else { 0 };
                self.size + (reth + immediate) as u32
            }
            Transport::TcpLike(_) => self.size,
        }
    }

    /// Whether the plan can be run as it is.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn check(&self) -> Result<(), PlanError> {
        let (flow, size) = (self.id.0, self.size);
        let min = self.size_min();
        if size < min {
            return Err(PlanError::Short { flow, size, min });
        }
        if self.longest() > FRAME_MAX {
            return Err(PlanError::Long { flow, size: self.longest() });
        }
        if self.message.is_some_and(|m| m.bytes == 0 || m.count == 0) {
            return Err(PlanError::Message(flow));
        }
        let payload = u64::from(self.payload());
        let (window, timeout, nonzero) = match &self.kind {
            Transport::Roce(roce) => (roce.window, roce.timeout, roce.ack_every),
            Transport::TcpLike(tcp) => (tcp.window, tcp.timeout_min, tcp.initial_window),
        };
        if nonzero == 0 || window.is_some_and(|w| w.0 < payload) {
            return Err(PlanError::Window(flow));
        }
        if timeout == Duration::ZERO {
            return Err(PlanError::Timeout(flow));
        }
        match &self.kind {
            Transport::Roce(RocePlan { dcqcn: Some(dcqcn), .. }) if !dcqcn.is_sound() => {
                Err(PlanError::Dcqcn(flow))
            }
            _ => Ok(()),
        }
    }
}
