//! Parameters of the headroom calculation, and plans of the ports' link protocols.

use crate::open::Opened;
use discovery::{DcbxPfcPlan, DcbxPlan, LldpPlan, PfcForm, Role};
use ground::time::Duration;
use ground::units::{BitsPerSec, Bytes, Cells, PrioritySet};
use headroom::measure::{InitiatePlan, MeasurePlan};
use headroom::peer_delay::PeerDelayPlan;
use headroom::{DelayInputs, Formula, Frames, Interface, Phy, Shims, SoftwareTerms};
use link::{AgentsPlan, AutoPlan, Method, Preference, Statistic};
use wire::headroom::{Adjustment, Dialect};

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
    /// The peer's reaction, if it says none itself, or `reaction_given`.
    pub reaction: Duration,
    /// True if that was given and counts whatever the peer says.
    pub reaction_given: bool,
    /// This port's reaction, which it tells its peer, with its adjustment.
    pub own_reaction: Adjustment,
    pub invocation: Duration,
    /// Reading of the delay value of round trips.
    pub formula: Formula,
    /// Adjustment of this port.
    pub adjustment: Adjustment,
    pub shims: Option<Shims>,
    pub cell: Option<u32>,
    pub methods: Preference,
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
    /// A measurement by one method of a link with this rate, with the usual settings and no delay of
    /// either end added.
    pub(crate) fn usual(rate: BitsPerSec, rate_from: RateFrom, method: Method) -> Self {
        Self {
            rate,
            rate_from,
            frames: Frames::up_to(DelayInputs::MAX_FRAME),
            reaction: Duration::ZERO,
            reaction_given: true,
            own_reaction: Adjustment::default(),
            invocation: Duration::ZERO,
            formula: Formula::Full,
            adjustment: Adjustment::default(),
            shims: None,
            cell: None,
            methods: Preference::only(method),
            statistic: Statistic::Max,
            own_internal: Duration::ZERO,
            peer_internal: None,
            measure: InitiatePlan::DEFAULT,
            ptp: PeerDelayPlan::DEFAULT,
            dialect: Dialect::default(),
        }
    }

    /// Frames with MACsec protection.
    pub(crate) fn protected(&self) -> Frames {
        Frames { max: Bytes(self.frames.max.0 + MACSEC_OCTETS), ..self.frames }
    }

    /// Plan of a port's link protocols, which answer, and measure if `measures`.
    pub(crate) fn plan(&self, opened: &Opened, measures: bool) -> AgentsPlan {
        let by = |method| measures && self.methods.has(method);
        let ptp = PeerDelayPlan {
            interval: self.ptp.interval.filter(|_| by(Method::PeerDelay)),
            ..self.ptp
        };
        let measure = MeasurePlan {
            respond: true,
            initiate: by(Method::RoundTrip).then_some(self.measure),
            dialect: self.dialect,
            compensation: Some(self.own_reaction),
        };
        // Both ends say their reaction and internal delay in DCBX, unless they are given here.
        let given = (self.reaction_given || !self.methods.has(Method::RoundTrip))
            && (self.peer_internal.is_some() || !self.methods.has(Method::PeerDelay));
        let speaks = !measures || !given;
        AgentsPlan {
            mac: opened.mac,
            rate: self.rate,
            lldp: speaks.then(|| lldp(opened)),
            dcbx: speaks.then(|| self.dcbx(opened)),
            measure: Some(measure),
            peer_delay: Some(ptp),
            auto: measures.then(|| self.auto()),
        }
    }

    /// Advertisement of this port: its delays, and both methods, which it answers.
    fn dcbx(&self, opened: &Opened) -> DcbxPlan {
        let own = Duration::from_nanos(self.own_reaction.nanos().max(0).unsigned_abs().into());
        let form = PfcForm::Proposed { round_trip: true, ptp: true, macsec: false };
        DcbxPlan {
            internal_delay: Some(self.own_internal + own),
            compensation: Some(self.own_reaction),
            pfc: Some(DcbxPfcPlan {
                willing: false,
                macsec_bound: false,
                capability: 8,
                enable: PrioritySet::default(),
                form,
            }),
            ..DcbxPlan::new(opened.mac)
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
            methods: self.methods,
            statistic: self.statistic,
            formula: self.formula,
            adjustment: self.adjustment,
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
