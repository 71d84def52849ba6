//! Configuration of flows with acknowledgements: RoCEv2 queue pairs and TCP-like senders.
//!
//! One value describes both ends of a flow: the sending station lists it in `senders`, the
//! receiving one in `receivers`. Its workload has messages of different sizes at irregular times,
//! messages that wait for another flow, or periods in which it sends.

use core::net::Ipv4Addr;
use std::sync::Arc;

use super::{PlanError, Tag};
use crate::probe::{FlowId, PROBE_LEN};
use congestion::DcqcnPlan;
use contracts::frame::FCS_BYTES;
use contracts::port::{FRAME_MAX, FRAME_MIN};
use ground::named;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes, Dscp, Mac, Priority};
use wire::ip::Ecn;
use wire::roce::{self, U24};
use wire::{aeth, ethernet, icrc, ipv4, reth, segment, udp, vlan};

/// Maximum unacknowledged packets of one flow, whatever its window. A choice: it bounds the memory
/// for packets out of order at either end (2 KiB), and is far below the 2^23 that 24-bit sequence
/// numbers could distinguish (IBA 9.7.2).
pub const IN_FLIGHT_MAX: u64 = 16_384;

/// A flow with acknowledgements.
#[derive(Clone, PartialEq, Debug)]
pub struct TransportPlan {
    /// Flow number, which every data frame carries.
    pub id: FlowId,
    /// Sending station.
    pub src: Mac,
    /// Receiving station.
    pub dst: Mac,
    pub src_ip: Ipv4Addr,
    pub dst_ip: Ipv4Addr,
    /// VLAN tag of its frames, acknowledgements included, if any.
    pub tag: Option<Tag>,
    /// Priority whose pauses stop its data at the sender's station.
    pub priority: Priority,
    /// DSCP of its data.
    pub dscp: Dscp,
    /// ECN code point of its data.
    pub ecn: Ecn,
    /// Length in bytes of a full data frame, tag and FCS included. [`TransportPlan::size_min`] to
    /// [`FRAME_MAX`]. The first frame of an RDMA WRITE has [`reth::RETH_LEN`] more, the last one of
    /// a message with immediate data [`roce::IMMEDIATE_LEN`].
    pub size: u32,
    /// Maximum rate in bits of frames (FCS included, preamble and gap not) per second; `None` for
    /// the link's rate.
    pub rate: Option<BitsPerSec>,
    /// Time at which its first message is due.
    pub start: Instant,
    /// Time from which nothing is sent, acknowledged or not; [`Instant::NEVER`] for no end.
    pub stop: Instant,
    /// Messages to send; `None` for endless data, and for messages in `work`.
    pub message: Option<Message>,
    /// Messages of a workload.
    pub work: Work,
    /// Transport protocol.
    pub kind: Transport,
}

/// The messages of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// Bytes of each, not 0.
    pub bytes: u64,
    /// Number of messages, not 0.
    pub count: u64,
    /// Interval at which messages become due. A due message waits for the ones before it.
    pub every: Duration,
}

impl Message {
    /// One message of `bytes` bytes.
    pub const fn once(bytes: u64) -> Self {
        Self { bytes, count: 1, every: Duration::ZERO }
    }
}

/// Transport protocol of a flow.
#[derive(Clone, PartialEq, Debug)]
pub enum Transport {
    /// A reliable connection of RoCEv2.
    Roce(RocePlan),
    /// Congestion windows as in TCP.
    TcpLike(TcpPlan),
}

named! {
    /// Retransmission of a RoCEv2 sender after a loss.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Recovery {
        /// Everything from the lost packet, as in the InfiniBand Architecture (9.7.5.2.2).
        #[default]
        GoBackN = "go_back_n",
        /// Only the lost packets. The architecture has no such recovery, so its NAK is a choice: its
        /// PSN is the first one missing, and the MSN field of its AETH is the PSN after the gap.
        SelectiveRepeat = "selective_repeat",
    }
}

named! {
    /// Operation of data packets. It only affects their headers.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Operation {
        /// SEND: all full frames have the same length.
        #[default]
        Send = "send",
        /// RDMA WRITE: the first frame of a message carries an RETH.
        Write = "write",
    }
}

/// Marking of the frames of a flow, of its acknowledgements or of CNPs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Marking {
    /// Priority that pauses them at their station, and the PCP of their tag if the flow has one.
    pub priority: Priority,
    pub dscp: Dscp,
}

/// The queue pairs of a RoCEv2 flow.
#[derive(Clone, PartialEq, Debug)]
pub struct RocePlan {
    /// Sender's queue pair, the destination of acknowledgements and CNPs. Unique at its station.
    pub src_qp: U24,
    /// Receiver's queue pair, the destination of data. Unique at its station.
    pub dst_qp: U24,
    /// UDP source port of all its packets, which spreads flows over paths.
    pub src_port: u16,
    /// PSN of the first packet.
    pub first_psn: U24,
    pub operation: Operation,
    /// Immediate data in the last packet of each message.
    pub immediate: Option<u32>,
    pub recovery: Recovery,
    /// Maximum bytes of payload in flight; `None` for [`IN_FLIGHT_MAX`] packets.
    pub window: Option<Bytes>,
    /// Packets per acknowledgement, not 0; each message's last is always acknowledged.
    pub ack_every: u32,
    /// Time without an acknowledgement before the first unacknowledged packet is retransmitted. Not
    /// zero.
    pub timeout: Duration,
    /// DCQCN reaction point of the sender. Without one, CNPs are counted only.
    pub dcqcn: Option<DcqcnPlan>,
    /// Minimum interval between CNPs of the flow, if its receiver sends any.
    pub cnp_interval: Option<Duration>,
    /// Marking of acknowledgements; `None` for that of the data.
    pub ack: Option<Marking>,
    /// Marking of CNPs.
    pub cnp: Marking,
}

impl Transport {
    /// Bytes of an untagged data frame that are not payload, FCS included, RETH excluded.
    pub const fn overhead(&self) -> u32 {
        let upper = match self {
            Self::Roce(_) => udp::HEADER_LEN + roce::BTH_LEN + icrc::LEN,
            Self::TcpLike(_) => segment::HEADER_LEN,
        };
        (ethernet::HEADER_LEN + ipv4::HEADER_LEN + upper) as u32 + FCS_BYTES
    }

    /// Bytes by which the first frame of a message is longer than the others.
    pub const fn first_longer(&self) -> u32 {
        match self {
            Self::Roce(RocePlan { operation: Operation::Write, .. }) => reth::RETH_LEN as u32,
            Self::Roce(_) | Self::TcpLike(_) => 0,
        }
    }

    /// Bytes of an untagged acknowledgement, FCS included.
    pub const fn ack_len(&self) -> u32 {
        let len = match self {
            Self::Roce(_) => self.overhead() + aeth::AETH_LEN as u32,
            Self::TcpLike(_) => self.overhead(),
        };
        // One of TCP is shorter than the shortest frame.
        if len < FRAME_MIN { FRAME_MIN } else { len }
    }
}

impl RocePlan {
    /// Default interval between CNPs of one flow (SIGCOMM'15, DCQCN).
    pub const CNP_INTERVAL: Duration = Duration::from_micros(50);

    /// Default marking of CNPs: DSCP 48, priority 6 (NVIDIA's firmware default).
    pub const CNP_MARKING: Marking = match (Priority::new(6), Dscp::new(48)) {
        (Some(priority), Some(dscp)) => Marking { priority, dscp },
        _ => unreachable!(),
    };

    /// A flow between two queue pairs with defaults: SENDs, go-back-N, an acknowledgement per
    /// packet, no window, a timeout of 1 ms, no reaction point, CNPs for CE.
    pub fn new(src_qp: U24, dst_qp: U24) -> Self {
        Self {
            src_qp,
            dst_qp,
            // The dynamic ports (RFC 6335), which RoCEv2 senders use for entropy.
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

/// A sender with the congestion window of TCP NewReno: slow start, additive increase, fast
/// retransmit and recovery, retransmission timeout. No handshake or close, no advertised window, no
/// SACK, no ECN: it models the effect of congestion control on a network only.
#[derive(Clone, PartialEq, Debug)]
pub struct TcpPlan {
    /// Source port. With the receiver's port and address unique at the sender's station.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Initial window in segments. Not 0.
    pub initial_window: u32,
    /// Maximum bytes in flight, as a receiver's buffer would bound it; `None` for [`IN_FLIGHT_MAX`]
    /// segments.
    pub window: Option<Bytes>,
    /// Minimum retransmission timeout. Not zero.
    pub timeout_min: Duration,
    /// Marking of acknowledgements; `None` for that of the data.
    pub ack: Option<Marking>,
}

impl TcpPlan {
    /// A flow between two ports with defaults: an initial window of ten segments (RFC 6928), no
    /// maximum, and a minimum timeout of one millisecond, which suits a data centre better than RFC
    /// 6298's second.
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

/// Key by which a frame selects its flow, unique at the receiving station.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct EndKey(u64);

impl EndKey {
    /// Key of a queue pair of the station.
    #[inline]
    pub(crate) const fn queue_pair(qp: U24) -> Self {
        Self(qp.get() as u64)
    }

    /// Key of the peer's address and port and the station's port. Above all queue pairs, because no
    /// peer is at 0.0.0.0.
    #[inline]
    pub(crate) const fn ports(peer: Ipv4Addr, theirs: u16, own: u16) -> Self {
        Self((peer.to_bits() as u64) << 32 | (theirs as u64) << 16 | own as u64)
    }
}

impl TransportPlan {
    /// Offset of the network header.
    pub const fn l3_at(&self) -> usize {
        ethernet::HEADER_LEN + if self.tag.is_some() { vlan::TAG_LEN } else { 0 }
    }

    /// Bytes of a data frame that are not payload, FCS included, RETH excluded.
    pub const fn overhead(&self) -> u32 {
        (self.l3_at() - ethernet::HEADER_LEN) as u32 + self.kind.overhead()
    }

    /// Returns true if it has more than one message.
    pub fn has_several(&self) -> bool {
        match &self.work.list {
            Some(list) => list.messages().len() > 1,
            None => self.message.is_some_and(|m| m.count > 1),
        }
    }

    /// Minimum full frame: one that holds the headers and the probe.
    pub const fn size_min(&self) -> u32 {
        self.overhead() + PROBE_LEN as u32
    }

    /// Bytes of payload in a full frame.
    pub const fn payload(&self) -> u32 {
        self.size - self.overhead()
    }

    /// Key of its acknowledgements at the sender's station.
    pub(crate) const fn answer_key(&self) -> EndKey {
        match &self.kind {
            Transport::Roce(roce) => EndKey::queue_pair(roce.src_qp),
            Transport::TcpLike(tcp) => EndKey::ports(self.dst_ip, tcp.dst_port, tcp.src_port),
        }
    }

    /// Key of its data at the receiver's station.
    pub(crate) const fn data_key(&self) -> EndKey {
        match &self.kind {
            Transport::Roce(roce) => EndKey::queue_pair(roce.dst_qp),
            Transport::TcpLike(tcp) => EndKey::ports(self.src_ip, tcp.src_port, tcp.dst_port),
        }
    }

    /// Length in bytes of its longest frame.
    pub const fn longest(&self) -> u32 {
        match &self.kind {
            Transport::Roce(RocePlan { operation, immediate, .. }) => {
                let reth = match operation {
                    Operation::Write => reth::RETH_LEN,
                    Operation::Send => 0,
                };
                // A message of one packet may have both an RETH and immediate data.
                let immediate = if immediate.is_some() { roce::IMMEDIATE_LEN } else { 0 };
                self.size + (reth + immediate) as u32
            }
            Transport::TcpLike(_) => self.size,
        }
    }

    /// Validates the plan.
    ///
    /// # Errors
    /// The first problem found.
    pub fn check(&self) -> Result<(), PlanError> {
        let (flow, size) = (self.id.0, self.size);
        let min = self.size_min();
        if size < min {
            return Err(PlanError::Short { flow, size, min });
        }
        // Not `size`: some packets of a message are longer than the others.
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
        // A window below one packet never opens.
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

/// Messages of a workload, beside [`TransportPlan::message`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Work {
    /// Messages one by one, instead of equal ones.
    pub list: Option<MessageList>,
    /// Flow that the sending station receives: message n + 1 is due when message n of that flow has
    /// arrived there completely. `None` if messages are due by time.
    pub after: Option<FlowId>,
    /// Number of completed messages whose times are kept, the first ones. They take 32 bytes each.
    pub log: usize,
}

/// Messages of one flow, in the order of their due times. A clone shares the same list.
#[derive(Clone, PartialEq, Debug)]
pub struct MessageList(Arc<[ListedMessage]>);

/// One message of a [`MessageList`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListedMessage {
    /// Length in bytes, not 0.
    pub bytes: u64,
    /// Time from the flow's start at which it becomes due. It waits for the messages before it.
    pub due: Duration,
}

/// A flow that sends in periods. It starts with an ON period at its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OnOffPlan {
    pub flow: FlowId,
    /// Length of the ON periods, or their mean. Not zero.
    pub on: Duration,
    /// Length of the OFF periods, or their mean. Not zero.
    pub off: Duration,
    /// Seed of exponentially distributed lengths; `None` for fixed ones.
    pub random: Option<u64>,
}

impl MessageList {
    /// Makes a list; `None` if it is empty, if a message has no bytes, or if due times decrease.
    pub fn new(messages: Vec<ListedMessage>) -> Option<Self> {
        // Messages are sent in this order, so an earlier due time behind a later one would never be met.
        let sound = !messages.is_empty()
            && messages.iter().all(|m| m.bytes > 0)
            && messages.windows(2).all(|w| w[0].due <= w[1].due);
        sound.then(|| Self(messages.into()))
    }

    /// Returns the messages in order.
    pub fn messages(&self) -> &[ListedMessage] {
        &self.0
    }

    /// Returns the sum of all lengths in bytes.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|m| m.bytes).fold(0, u64::saturating_add)
    }
}
