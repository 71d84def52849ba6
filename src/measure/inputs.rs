//! Parameters of the headroom calculation, and plans of the ports' link protocols.

use anyhow::{Result, ensure};

use super::args::{MeasureArgs, MethodName};
use super::open::Opened;
use crate::config::quantity::{Size, Span};
use crate::discovery::{DcbxPlan, LldpPlan, Role};
use crate::headroom::measure::{InitiatePlan, MeasurePlan};
use crate::headroom::peer_delay::PeerDelayPlan;
use crate::headroom::{DelayInputs, Frames, Interface, Phy, Shims, SoftwareTerms};
use crate::link::{AgentsPlan, AutoPlan, Method, Statistic};
use crate::time::Duration;
use crate::units::{BitsPerSec, Bytes, Cells};
use tester::RATE_DEFAULT;

/// MACsec overhead of a frame, SecTAG with SCI and ICV (802.1AE 9.3, 9.7).
const MACSEC_OCTETS: u64 = 32;

/// Longest time that the formulas accept.
const SPAN_MAX: Duration = Duration::from_secs(1);

/// Time between peer delay requests. A choice: eight of them take less than a second, and the
/// peer's PTP daemon tolerates them.
const PTP_INTERVAL: Duration = Duration::from_millis(100);

/// Source of the rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RateFrom {
    /// The port's own line.
    Line,
    /// `--rate`.
    Argument,
    /// Default.
    Assumed,
}

/// Parameters of the headroom calculation, besides the measured delay.
#[derive(Clone, Debug)]
pub(super) struct Inputs {
    pub(super) rate: BitsPerSec,
    pub(super) rate_from: RateFrom,
    pub(super) frames: Frames,
    pub(super) reaction: Duration,
    pub(super) invocation: Duration,
    pub(super) shims: Option<Shims>,
    pub(super) cell: Option<u32>,
    pub(super) method: Method,
    pub(super) statistic: Statistic,
    /// For peer delays: delay of this port's interface outside of the measured path; zero if
    /// timestamps are taken above the MAC.
    pub(super) own_internal: Duration,
    /// For peer delays: delay of the peer's interface and its response time, if given.
    pub(super) peer_internal: Option<Duration>,
    pub(super) measure: InitiatePlan,
    pub(super) ptp: PeerDelayPlan,
}

impl Inputs {
    /// Reads the arguments.
    ///
    /// # Errors
    /// A number out of its range.
    pub(super) fn new(args: &MeasureArgs, line: Option<BitsPerSec>) -> Result<Self> {
        let given = args.rate.map(|rate| (rate.0, RateFrom::Argument));
        let (rate, rate_from) = given
            .or(line.map(|rate| (rate, RateFrom::Line)))
            .unwrap_or((RATE_DEFAULT, RateFrom::Assumed));
        let max_frame = args.max_frame.map_or(DelayInputs::MAX_FRAME, |Size(n)| Bytes(n));
        ensure!((64..=65_535).contains(&max_frame.0), "--max-frame: must be 64 to 65535 octets");
        let cell = args.cell.map(|Size(octets)| octets);
        ensure!(
            cell.is_none_or(|n| (1..=65_536).contains(&n)),
            "--cell: must be 1 to 65536 octets"
        );
        let span = |name, span: Option<Span>, default| {
            let time = span.map_or(default, |Span(time)| time);
            ensure!(time <= SPAN_MAX, "--{name}: is longer than a second");
            Ok(time)
        };
        let internal = args.internal;
        let longest = [internal, args.macsec].into_iter().flatten().map(|(a, b)| a.max(b)).max();
        ensure!(longest.unwrap_or_default() <= SPAN_MAX, "--internal, --macsec: at most a second");
        Ok(Self {
            rate,
            rate_from,
            frames: Frames::up_to(max_frame),
            reaction: span("reaction", args.reaction, DelayInputs::HIGHER_LAYER)?,
            invocation: span("invocation", args.invocation, Duration::ZERO)?,
            shims: args.macsec.map(|(local, remote)| Shims { local, remote }),
            cell: cell.map(|octets| octets as u32),
            method: args.method.into(),
            statistic: args.statistic,
            own_internal: internal.map_or(Duration::ZERO, |(own, _)| own),
            peer_internal: internal.map(|(_, peer)| peer),
            measure: measure(args)?,
            ptp: ptp(args)?,
        })
    }

    /// Frames with MACsec protection.
    pub(super) fn protected(&self) -> Frames {
        Frames { max: Bytes(self.frames.max.0 + MACSEC_OCTETS), ..self.frames }
    }

    /// Plan of a port's link protocols. The first port measures, unless it only answers.
    pub(super) fn plan(&self, args: &MeasureArgs, opened: &Opened, first: bool) -> AgentsPlan {
        let measures = first && !args.respond;
        let by = |method| measures && self.method == method;
        let ptp = PeerDelayPlan {
            interval: self.ptp.interval.filter(|_| by(Method::PeerDelay)),
            ..self.ptp
        };
        let measure = MeasurePlan {
            respond: true,
            initiate: by(Method::RoundTrip).then_some(self.measure),
            dialect: args.protocol.dialect(),
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
    pub(super) fn usual_peer(&self) -> Duration {
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

fn measure(args: &MeasureArgs) -> Result<InitiatePlan> {
    let rounds = args.protocol.rounds.unwrap_or(InitiatePlan::DEFAULT.rounds);
    ensure!((1..=256).contains(&rounds), "--rounds: must be 1 to 256");
    let requests = args.protocol.requests.unwrap_or(rounds.saturating_mul(2).min(256));
    ensure!(
        (rounds..=256).contains(&requests),
        "--requests: must be {rounds} (the rounds) to 256, because messages have numbers of 8 bits"
    );
    let (spacing_min, spacing_max) = args.protocol.spacing;
    let piggyback = !args.protocol.no_piggyback;
    Ok(InitiatePlan {
        rounds,
        spacing_min,
        spacing_max,
        requests_max: requests,
        period: None,
        piggyback,
    })
}

fn ptp(args: &MeasureArgs) -> Result<PeerDelayPlan> {
    let rounds = match args.method {
        MethodName::Ptp => args.protocol.rounds.unwrap_or(PeerDelayPlan::DEFAULT.rounds),
        MethodName::RoundTrip => PeerDelayPlan::DEFAULT.rounds,
    };
    ensure!((1..=256).contains(&rounds), "--rounds: must be 1 to 256");
    let interval = args.protocol.interval.map_or(PTP_INTERVAL, |Span(time)| time);
    ensure!(interval > Duration::ZERO, "--interval: must be above zero");
    Ok(PeerDelayPlan {
        interval: Some(interval),
        domain: args.protocol.domain,
        major_sdo_id: u8::from(args.protocol.gptp),
        rounds,
        ..PeerDelayPlan::DEFAULT
    })
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
