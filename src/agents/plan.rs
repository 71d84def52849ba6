//! What the agents of one port are told.

use core::fmt;

use crate::discovery::{DcbxPlan, LldpPlan};
use crate::headroom::measure::MeasurePlan;
use crate::headroom::peer_delay::PeerDelayPlan;
use crate::headroom::{DelayInputs, Shims, SoftwareTerms};
use crate::time::Duration;
use crate::units::{BitsPerSec, Cells, Mac};

/// The agents of one port.
#[derive(Clone, PartialEq, Debug)]
pub struct AgentsPlan {
    /// The address that their frames come from.
    pub mac: Mac,
    /// The rate of the link.
    pub rate: BitsPerSec,
    /// The LLDP agent.
    pub lldp: Option<LldpPlan>,
    /// DCBX, which rides on LLDP.
    pub dcbx: Option<DcbxPlan>,
    /// The measurement of the round trip.
    pub measure: Option<MeasurePlan>,
    /// PTP's peer delay.
    pub peer_delay: Option<PeerDelayPlan>,
    /// Headroom that the port finds by itself (`headroom: auto`). Ports of switches only.
    pub auto: Option<AutoPlan>,
}

impl AgentsPlan {
    /// Whether times of frames matter to them.
    #[must_use]
    pub const fn measures(&self) -> bool {
        self.measure.is_some() || self.peer_delay.is_some()
    }
}

/// How a link's delay is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Method {
    /// By the request/response measurement.
    #[default]
    RoundTrip,
    /// By PTP's peer delay, and the internal delays of both ends.
    PeerDelay,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RoundTrip => "round trip",
            Self::PeerDelay => "PTP peer delay",
        })
    }
}

/// Which of the measured times the headroom is reckoned with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Statistic {
    /// The longest: headroom is for the worst case.
    #[default]
    Max,
    /// The mean, as the P802.1Qdt proposal has it.
    Mean,
    /// A percentile, 1 to 99.
    Percentile(u8),
}

/// How a port of a switch finds its headroom.
#[derive(Clone, PartialEq, Debug)]
pub struct AutoPlan {
    /// What the link is taken for until it is measured: frames, the peer's reaction
    /// (`higher_layer`), and for peer delays the interfaces.
    pub link: DelayInputs,
    /// What software adds at this end.
    pub software: SoftwareTerms,
    /// Octets per cell of the buffer.
    pub cell_bytes: u32,
    /// How the delay is found.
    pub method: Method,
    /// Which of the measured times counts.
    pub statistic: Statistic,
    /// From a group's crossing of its threshold to the PFC frame being given to the MAC (invocation
    /// delay of the proposal).
    pub invocation: Duration,
    /// MACsec on the way, if there is any: what it adds to the way of a PFC frame besides what the
    /// measured messages meet themselves.
    pub shims: Option<Shims>,
    /// The headroom that the stated length of the link gives, to which a group returns that has more when a
    /// measurement fails.
    pub stated: Cells,
    /// The most headroom that a measurement can give, so that a peer that answers late cannot take the
    /// buffer.
    pub limit: Cells,
    /// How long to wait for the peer's DCBX after the link came up before measuring without it.
    pub wait: Duration,
}
