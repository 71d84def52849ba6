//! Errors of station plans.

use super::stream::NEIGHBOURS_MAX;
use crate::probe::FLOW_ID_MAX;
use contracts::port::FRAME_MAX;
use wire::sfcm::PORT_MIN;
use wire::vlan::MAX_TAGS;

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
