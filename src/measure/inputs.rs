//! Parameters of the headroom calculation, and plans of the ports' link protocols.

use crate::open::Opened;
use discovery::{DcbxPlan, LldpPlan, Role};
use ground::time::Duration;
use ground::units::{BitsPerSec, Bytes, Cells};
use headroom::measure::{InitiatePlan, MeasurePlan};
use headroom::peer_delay::PeerDelayPlan;
use headroom::{DelayInputs, Frames, Interface, Phy, Shims, SoftwareTerms};
use link::{AgentsPlan, AutoPlan, Method, Statistic};
use wire::headroom::Dialect;

/// MACsec overhead of a frame, SecTAG with SCI and ICV (802.1AE 9.3, 9.7).
const MACSEC_OCTETS: u64 = 32;

/// Source of the rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RateFrom {
    /// The port's own line.
    Line,
    /// `--rate`.
    Argument,
    /// Default.
    Assumed,
}

/// Parameters of the headroom calculation, besides the measured delay.
#[derive(Clone, Debug)]
pub struct Inputs {
    pub rate: BitsPerSec,
    pub rate_from: RateFrom,
    pub frames: Frames,
    pub reaction: Duration,
    pub invocation: Duration,
    pub shims: Option<Shims>,
    pub cell: Option<u32>,
    pub method: Method,
    pub statistic: Statistic,
    /// For peer delays: delay of this port's interface outside of the measured path; zero if
    /// timestamps are taken above the MAC.
    pub own_internal: Duration,
    /// For peer delays: delay of the peer's interface and its response time, if given.
    pub peer_internal: Option<Duration>,
    pub measure: InitiatePlan,
    pub ptp: PeerDelayPlan,
    /// Encoding of messages.
    pub dialect: Dialect,
}

impl Inputs {
    /// Frames with MACsec protection.
    pub(crate) fn protected(&self) -> Frames {
        Frames { max: Bytes(self.frames.max.0 + MACSEC_OCTETS), ..self.frames }
    }

    /// Plan of a port's link protocols, which answer, and measure if `measures`.
    pub(crate) fn plan(&self, opened: &Opened, measures: bool) -> AgentsPlan {
        let by = |method| measures && self.method == method;
        let ptp = PeerDelayPlan {
            interval: self.ptp.interval.filter(|_| by(Method::PeerDelay)),
            ..self.ptp
        };
        let measure = MeasurePlan {
            respond: true,
            initiate: by(Method::RoundTrip).then_some(self.measure),
            dialect: self.dialect,
        };
        // The peer advertises its internal delay in DCBX, if it does at all.
        let speaks = by(Method::PeerDelay) && self.peer_internal.is_none();
        AgentsPlan {
            mac: opened.mac,
            rate: self.rate,
            lldp: speaks.then(|| lldp(opened)),
            dcbx: speaks.then(|| DcbxPlan {
                internal_delay: Some(self.own_internal + self.reaction),
                ..DcbxPlan::new(opened.mac)
            }),
            measure: Some(measure),
            peer_delay: Some(ptp),
            auto: measures.then(|| self.auto()),
        }
    }

    /// Assumed delay of a peer that advertises none: one that takes timestamps at the medium.
    pub(crate) fn usual_peer(&self) -> Duration {
        Interface::plain(Phy::of_rate(self.rate)).delay() + self.reaction
    }

    fn auto(&self) -> AutoPlan {
        let link = DelayInputs::standard(Interface::plain(Phy::of_rate(self.rate)));
        AutoPlan {
            link: DelayInputs { higher_layer: self.reaction, max_frame: self.frames.max, ..link },
            software: SoftwareTerms::default(),
            cell_bytes: self.cell.unwrap_or(1),
            method: self.method,
            statistic: self.statistic,
            invocation: self.invocation,
            shims: None,
            stated: Cells(0),
            limit: Cells(u32::MAX),
            wait: Duration::from_secs(1),
        }
    }
}

/// LLDP settings that make the peer transmit at once; its advertisement is what counts.
fn lldp(opened: &Opened) -> LldpPlan {
    LldpPlan {
        system_name: "sluice".into(),
        role: Role::Station,
        // The port is closed soon.
        hold: 1,
        ..LldpPlan::new(opened.mac, opened.mac, opened.name.chars().take(63).collect::<String>())
    }
}
