//! Plan of one port's link protocols.

use core::fmt;
use core::str::FromStr;

use discovery::{DcbxPlan, LldpPlan};
use ground::named;
use ground::time::Duration;
use ground::units::{BitsPerSec, Cells, Mac};
use headroom::measure::MeasurePlan;
use headroom::peer_delay::PeerDelayPlan;
use headroom::{DelayInputs, Formula, Samples, Shims, SoftwareTerms};
use wire::headroom::Adjustment;

/// Link protocols of one port; none: disabled.
#[derive(Clone, PartialEq, Debug)]
pub struct AgentsPlan {
    /// Source address of their frames.
    pub mac: Mac,
    pub rate: BitsPerSec,
    pub lldp: Option<LldpPlan>,
    /// DCBX, which is carried by LLDP.
    pub dcbx: Option<DcbxPlan>,
    /// Measurement of the round trip.
    pub measure: Option<MeasurePlan>,
    /// PTP's peer delay.
    pub peer_delay: Option<PeerDelayPlan>,
    /// Automatic headroom (`headroom: auto`). Ports of switches only.
    pub auto: Option<AutoPlan>,
}

impl AgentsPlan {
    /// True if the protocols use stamps of frames.
    pub const fn measures(&self) -> bool {
        self.measure.is_some() || self.peer_delay.is_some()
    }
}

named! {
    /// Measurement for automatic headroom.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Method {
        /// Requests and responses between the two ports.
        #[default]
        RoundTrip = "round_trip",
        /// PTP peer delay.
        // It includes the internal delays of both ends.
        PeerDelay = "ptp",
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RoundTrip => "round trip",
            Self::PeerDelay => "PTP peer delay",
        })
    }
}

/// Methods in order of preference: the first that both ends offer is used, and the next if it fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Preference {
    first: Method,
    second: Option<Method>,
}

impl Preference {
    /// Both methods, the request/response measurement first: it needs nothing but two timestamps of
    /// one clock.
    pub const AUTO: Self = Self { first: Method::RoundTrip, second: Some(Method::PeerDelay) };

    /// Both methods, PTP's peer delay first.
    pub const PTP_FIRST: Self = Self { first: Method::PeerDelay, second: Some(Method::RoundTrip) };

    /// Returns a preference of one method, without another to fall back to.
    pub const fn only(method: Method) -> Self {
        Self { first: method, second: None }
    }

    /// Returns the preference of a list; `None` if the list is empty or has a method twice.
    pub fn of(methods: &[Method]) -> Option<Self> {
        match *methods {
            [first] => Some(Self::only(first)),
            [first, second] if first != second => Some(Self { first, second: Some(second) }),
            _ => None,
        }
    }

    /// Returns the preferred method.
    pub const fn first(self) -> Method {
        self.first
    }

    /// Returns the methods, preferred first.
    pub fn iter(self) -> impl Iterator<Item = Method> {
        [Some(self.first), self.second].into_iter().flatten()
    }

    /// Returns true if the method may be used.
    pub fn has(self, method: Method) -> bool {
        self.iter().any(|m| m == method)
    }

    /// Returns the method to try after `method`, if any.
    pub fn after(self, method: Method) -> Option<Method> {
        self.second.filter(|_| self.first == method)
    }
}

impl fmt::Display for Preference {
    /// Writes the names in files, `round_trip, ptp`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.first.name())?;
        self.second.map_or(Ok(()), |second| write!(f, ", {}", second.name()))
    }
}

/// Statistic of the measured delays from which the headroom is calculated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Statistic {
    /// The longest: headroom is for the worst case.
    #[default]
    Max,
    /// The mean, as in the P802.1Qdt proposal.
    Mean,
    /// A percentile, 1 to 99.
    Percentile(u8),
}

impl Statistic {
    /// Returns this statistic of measured delays.
    #[must_use]
    pub fn of(self, delays: &Samples) -> Duration {
        match self {
            Self::Max => delays.max(),
            Self::Mean => delays.mean(),
            Self::Percentile(n) => delays.percentile(n),
        }
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Max => f.write_str("max"),
            Self::Mean => f.write_str("mean"),
            Self::Percentile(n) => write!(f, "p{n}"),
        }
    }
}

impl FromStr for Statistic {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // p100 is `max`, and p0 would be no bound.
        let percentile = || text.strip_prefix('p')?.parse().ok().filter(|n| (1..=99).contains(n));
        match text {
            "max" => Ok(Self::Max),
            // `letter`: the proposal takes "the average value".
            "mean" | "letter" => Ok(Self::Mean),
            _ => percentile()
                .map(Self::Percentile)
                .ok_or("write max, mean (or letter), or a percentile from p1 to p99"),
        }
    }
}

/// Automatic headroom of a switch port.
#[derive(Clone, PartialEq, Debug)]
pub struct AutoPlan {
    /// Assumptions about the link until it is measured: frames, the peer's reaction
    /// (`higher_layer`), and for peer delays the interfaces.
    pub link: DelayInputs,
    /// Delay of software at this end.
    pub software: SoftwareTerms,
    /// Bytes per cell of the buffer.
    pub cell_bytes: u32,
    pub methods: Preference,
    pub statistic: Statistic,
    /// Reading of the request/response measurement's delay value.
    pub formula: Formula,
    /// Adjustment of this port for the difference between the paths of MAC data and MAC control
    /// frames.
    pub adjustment: Adjustment,
    /// Time from a group's crossing of its threshold to the hand-over of the PFC frame to the MAC
    /// (invocation delay of the proposal).
    pub invocation: Duration,
    /// Delay of MACsec on the path, if any, that a PFC frame meets and the measured messages do
    /// not.
    pub shims: Option<Shims>,
    /// Headroom for the configured length of the link. A group with more returns to it when a
    /// measurement fails.
    pub stated: Cells,
    /// Largest headroom from a measurement, so that a peer that answers late cannot take the
    /// buffer.
    pub limit: Cells,
    /// Time to wait for the peer's DCBX after the link came up before measuring without it.
    pub wait: Duration,
}
