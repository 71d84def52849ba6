//! Resolves the link protocols of a port: delay measurement, PTP peer delay, automatic headroom. LLDP and DCBX have
//! a file beside this.

use super::congestion::{Section, settings};
use super::discovery::{self, Advertised};
use super::macsec::shims;
use super::{Cx, Place};
use crate::quantity::{Signed, Span, octets};
use crate::raw::{
    AutoHeadroom, Dcbx, DcbxPfcForm, Headroom, Lldp, MacsecShims, Measurement, MethodChoice, Port,
    Ptp, PtpProfile, RemoteShim,
};
use ::discovery::{DcbxPlan, EtsTable, FRAME_MAX, LldpPlan, Role, frame_len};
use ground::time::Duration;
use ground::units::{BitsPerSec, Cells, Mac, PortId};
use headroom::measure::{InitiatePlan, MeasurePlan};
use headroom::peer_delay::PeerDelayPlan;
use headroom::{DelayInputs, Shims, SoftwareTerms, required};
use link::{AgentsPlan, AutoPlan, Method, Preference, Statistic};
use pfc::FlowControl;
use secure::SecyPlan;
use switch::managed::At;
use switch::{CongestionPlan, PortMeasurement};
use wire::WireError;
use wire::headroom::{Adjustment, Dialect, PduLength, Readings};

/// Time that a port waits for the DCBX of its peer: three LLDPDUs of the fast start.
const WAIT_DEFAULT: Duration = Duration::from_secs(3);
const WAIT_MAX: Duration = Duration::from_secs(3_600);
/// Upper bound for delays: no buffer holds more.
pub(super) const DELAY_MAX: Duration = Duration::from_secs(1);
/// Range of the limit, as a multiple of the headroom for the link's configured length.
const LIMIT: (u32, u32) = (1, 1_000);
const LIMIT_DEFAULT: u32 = 4;
const PTP_INTERVAL: (Duration, Duration) = (Duration::from_micros(1), Duration::from_secs(100));
/// Upper four bits (majorSdoId) of the first octet of PTP messages in 802.1AS.
const SDO_802_1AS: u8 = 1;

/// Sections of the file about the link protocols of one port.
#[derive(Clone, Copy, Default)]
pub struct ProtocolSections<'a> {
    pub headroom: Option<&'a Headroom>,
    pub measurement: Option<&'a Measurement>,
    pub ptp: Option<&'a Ptp>,
    pub lldp: Option<&'a Lldp>,
    pub dcbx: Option<&'a Dcbx>,
}

/// Properties of the port that its link protocols need.
pub struct Context<'a> {
    /// Port name and system name.
    pub names: (&'a str, &'a str),
    /// Port address and system address.
    pub macs: (Mac, Mac),
    pub rate: BitsPerSec,
    /// PFC or PAUSE configuration.
    pub pfc: FlowControl,
    /// Scheduler configuration in ETS terms.
    pub ets: EtsTable,
    /// Role of the system. A station adopts its peer's DCBX settings unless the file sets them.
    pub role: Role,
    /// Time that the port takes to obey a pause, and the delay between its timestamps and the cable.
    pub internal: Duration,
    /// The first of the two alone.
    pub reaction: Duration,
    /// Link parameters, software delays and cell size, if headroom is automatic.
    pub link: Option<(DelayInputs, SoftwareTerms, u32)>,
    /// Link parameters with the configured length, if headroom starts from another length.
    pub stated: Option<DelayInputs>,
    pub secy: Option<&'a SecyPlan>,
}

/// Placeholder for a name that is assigned later; as long as the longest advertised name.
pub const UNNAMED: &str = "----------------------------------------------------------------";

/// Advertised part of a name that is not configured for LLDP itself.
pub fn advertised_name(name: &str) -> &str {
    let mut end = name.len().min(UNNAMED.len());
    // A name is cut between two characters, as readers expect UTF-8.
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

impl<'a> ProtocolSections<'a> {
    /// Collects the sections of a port in a switch file.
    pub fn of(port: &'a Port) -> Self {
        Self {
            headroom: port.headroom.as_ref(),
            measurement: port.measurement.as_ref(),
            ptp: port.ptp.as_ref(),
            lldp: port.lldp.as_ref(),
            dcbx: port.dcbx.as_ref(),
        }
    }

    /// The link parameters to use until the link is measured.
    pub fn assumed(&self, link: DelayInputs) -> DelayInputs {
        let Some(length) = self.auto().and_then(|auto| auto.assume) else { return link };
        DelayInputs {
            // Rounded up: too much headroom is safe, too little loses frames.
            cable_m: u32::try_from(length.0.div_ceil(1_000)).unwrap_or(u32::MAX),
            cable_ps_per_m: DelayInputs::PS_PER_METRE,
            ..link
        }
    }

    /// True if all readings are by the letter of the proposal.
    fn is_letter(&self) -> bool {
        let dialect = self.measurement.and_then(|raw| raw.dialect);
        dialect.unwrap_or_default() == Readings::Letter
    }

    /// Settings of automatic headroom, if it is configured.
    fn auto(&self) -> Option<&'a AutoHeadroom> {
        match self.headroom {
            Some(Headroom::Auto(auto)) => Some(auto),
            Some(Headroom::Computed) | None => None,
        }
    }
}

/// Resolves the link protocols of a port; None if it has none.
pub fn agents(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: ProtocolSections<'_>,
    port: &Context<'_>,
) -> Option<AgentsPlan> {
    let auto_at = place.key("headroom").key("auto");
    let methods = raw.auto().map(|auto| methods(cx, &auto_at.key("method"), auto));
    // Headroom turns on the measurements that its methods use, with or without a section.
    let by = |this| methods.is_some_and(|methods| methods.has(this));
    let measurement_at = place.key("measurement");
    let reaction = compensation(cx, &measurement_at, raw.measurement, port);
    let measure =
        measurement(cx, &measurement_at, raw.measurement, by(Method::RoundTrip), port.secy)
            .map(|plan| MeasurePlan { compensation: Some(reaction), ..plan });
    let peer_delay = ptp(cx, &place.key("ptp"), raw.ptp, by(Method::PeerDelay));
    let advertised = Advertised {
        form: Defaults::of(raw.is_letter()).form,
        round_trip: measure.as_ref().is_some_and(|m| m.respond),
        ptp: peer_delay.as_ref().is_some_and(|p| p.respond),
        reaction,
    };
    let lldp = discovery::lldp(cx, place, &raw, port);
    let dcbx =
        raw.dcbx.map(|dcbx| discovery::dcbx(cx, &place.key("dcbx"), dcbx, port, &advertised));
    // Values out of range were reported at their fields.
    let len = lldp.as_ref().map(|lldp| longest(lldp, dcbx.as_ref(), port.macs.0));
    if len == Some(Err(WireError::NoRoom)) {
        let what = format!(
            "the LLDP frame of the port would be longer than {FRAME_MAX} bytes: shorten its \
             texts, or configure fewer applications"
        );
        cx.error(&place.key("lldp"), what);
    }
    let auto = methods.and_then(|methods| self::auto(cx, &auto_at, &raw, port, methods));
    let any = lldp.is_some() || measure.is_some() || peer_delay.is_some() || auto.is_some();
    any.then_some(AgentsPlan {
        mac: port.macs.0,
        rate: port.rate,
        lldp,
        dcbx,
        measure,
        peer_delay,
        auto,
    })
}

/// Length in bytes of the longest LLDPDU that the port may send, including what the switch or the
/// host adds about congestion.
fn longest(lldp: &LldpPlan, dcbx: Option<&DcbxPlan>, mac: Mac) -> Result<usize, WireError> {
    let dcbx = dcbx.cloned().unwrap_or_else(|| DcbxPlan::new(mac));
    frame_len(lldp, Some(&dcbx.with_all()))
}

fn span(raw: Option<Span>) -> Duration {
    raw.map_or(Duration::ZERO, |s| s.0)
}

/// Defaults of the readings that are no part of messages.
#[derive(Clone, Copy)]
struct Defaults {
    statistic: Statistic,
    remote: RemoteShim,
    form: DcbxPfcForm,
}

impl Defaults {
    /// The safe readings, or those of the proposal's letter.
    fn of(letter: bool) -> Self {
        if letter {
            let (statistic, remote) = (Statistic::Mean, RemoteShim::Transmit);
            return Self { statistic, remote, form: DcbxPfcForm::Proposed };
        }
        let (statistic, remote) = (Statistic::Max, RemoteShim::Receive);
        Self { statistic, remote, form: DcbxPfcForm::Published }
    }
}

/// Resolves the methods of automatic headroom.
fn methods(cx: &mut Cx, place: &Place<'_>, raw: &AutoHeadroom) -> Preference {
    match raw.method.as_ref().unwrap_or(&MethodChoice::RoundTrip) {
        MethodChoice::Auto => Preference::AUTO,
        MethodChoice::RoundTrip => Preference::only(Method::RoundTrip),
        MethodChoice::Ptp => Preference::only(Method::PeerDelay),
        MethodChoice::List(methods) => Preference::of(methods).unwrap_or_else(|| {
            let what = "name each method at most once, and at least one: `[round_trip, ptp]`";
            cx.error(place, what);
            Preference::AUTO
        }),
    }
}

/// Resolves automatic headroom by these methods.
fn auto(
    cx: &mut Cx,
    place: &Place<'_>,
    sections: &ProtocolSections<'_>,
    port: &Context<'_>,
    methods: Preference,
) -> Option<AutoPlan> {
    let (link, software, cell_bytes) = port.link?;
    let (raw, defaults) = (sections.auto()?, Defaults::of(sections.is_letter()));
    let mut delay = |place: &Place<'_>, raw| {
        cx.ranged(place, span(raw), (Duration::ZERO, DELAY_MAX), Duration::ZERO)
    };
    let invocation = delay(&place.key("invocation"), raw.invocation);
    let remote = raw.macsec.as_ref().and_then(|macsec| macsec.remote).unwrap_or(defaults.remote);
    let own = port.secy.map(|secy| shims(secy, remote));
    let says = |macsec: &&MacsecShims| {
        // `remote` alone selects a delay of the port's own `macsec`.
        macsec.local_shim.is_some() || macsec.remote_shim.is_some() || port.secy.is_none()
    };
    let explicit = raw.macsec.as_ref().filter(says).map(|macsec| {
        let place = place.key("macsec");
        Shims {
            local: delay(&place.key("local_shim"), macsec.local_shim),
            remote: delay(&place.key("remote_shim"), macsec.remote_shim),
        }
    });
    // Delays in the file are those of a separate device, and replace those of the port's own MACsec.
    let shims = explicit.or(own);
    let wait = raw.wait.map_or(WAIT_DEFAULT, |s| s.0);
    let wait = cx.ranged(&place.key("wait"), wait, (Duration::ZERO, WAIT_MAX), WAIT_DEFAULT);
    let factor = raw.limit.unwrap_or(LIMIT_DEFAULT);
    let factor = cx.ranged(&place.key("limit"), factor, LIMIT, LIMIT_DEFAULT);
    // The limit is a multiple of what the stated length needs, whatever length is assumed at first.
    let stated = required(&port.stated.unwrap_or(link), &software, cell_bytes).cells;
    Some(AutoPlan {
        stated,
        // So much at most, however late an answer comes.
        limit: Cells(stated.0.saturating_mul(factor)),
        link,
        software,
        cell_bytes,
        methods,
        statistic: raw.statistic.map_or(defaults.statistic, |name| name.0),
        formula: raw.formula.unwrap_or_default(),
        adjustment: adjustment(raw.adjustment),
        invocation,
        shims,
        // Without DCBX there is nothing to wait for.
        wait: if sections.dcbx.is_some() { wait } else { Duration::ZERO },
    })
}

/// Warning about a host's port with automatic headroom: only the limit bounds the headroom of a
/// host that answers late.
pub fn late_host(auto: &AutoPlan, port: &str) -> String {
    let most = octets(u64::from(auto.limit.0) * u64::from(auto.cell_bytes));
    format!(
        "{port} leads to a host: one that answers late looks far away, and each of its lossless priorities \
         takes up to {most} of the buffer then (`headroom.auto.limit`); for a host leave out `auto` and give \
         its `link.length`, or lower the limit"
    )
}

/// Converts an adjustment, whose range is that of its type.
fn adjustment(raw: Option<Signed>) -> Adjustment {
    raw.and_then(|Signed(nanos)| Adjustment::from_nanos(nanos)).unwrap_or_default()
}

/// Resolves PTP peer delay: if it is configured, or if automatic headroom uses it.
fn ptp(cx: &mut Cx, place: &Place<'_>, raw: Option<&Ptp>, needed: bool) -> Option<PeerDelayPlan> {
    let defaults = Ptp::default();
    let raw = match raw {
        None if !needed => return None,
        raw => raw.unwrap_or(&defaults),
    };
    let initiates = raw.initiate.unwrap_or(true);
    if needed && !initiates {
        let what = "headroom is found by this delay (`headroom: {auto: {method: ptp}}`), so it \
                    cannot be off: take `initiate` out, or write `headroom: computed`";
        cx.error(&place.key("initiate"), what);
    }
    let every = Duration::from_secs(1);
    let interval = raw.interval.map_or(every, |s| s.0);
    let interval = cx.ranged(&place.key("interval"), interval, PTP_INTERVAL, every);
    let mut plan = PeerDelayPlan::DEFAULT;
    raw.change(cx, place, &mut plan);
    plan.interval = initiates.then_some(interval);
    if raw.profile == Some(PtpProfile::Ieee8021As) {
        plan.major_sdo_id = SDO_802_1AS;
    }
    // As for the other measurement: without a part in it there is no machine.
    (plan.respond || initiates).then_some(plan)
}

/// Least number of rounds by which the delay of MACsec is measured: a protected request between two plain
/// ones.
const SHIM_ROUNDS: u16 = 2;
/// Sequence numbers have eight bits.
const REQUESTS_MAX: u16 = 256;
const PERIOD: (Duration, Duration) = (Duration::from_micros(1), Duration::from_secs(864_000));

/// Resolves delay measurement: if it is configured, or if automatic headroom uses it.
/// The caller adds the time that the port advertises to its peer.
fn measurement(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: Option<&Measurement>,
    needed: bool,
    secy: Option<&SecyPlan>,
) -> Option<MeasurePlan> {
    let shims = secy.is_some_and(|secy| secy.protect_measurements);
    let defaults = Measurement::default();
    let raw = match raw {
        None if !needed => return None,
        raw => raw.unwrap_or(&defaults),
    };
    // A section alone makes a port that answers; headroom makes it ask, too.
    let initiates = raw.initiate.unwrap_or(needed);
    if needed && !initiates {
        let what = "headroom is found by this measurement (`headroom: auto`), so it cannot be off: \
                    take `initiate` out, or write `headroom: computed`";
        cx.error(&place.key("initiate"), what);
    }
    let respond = raw.respond.unwrap_or(true);
    let initiate = initiate(cx, place, raw, shims);
    if initiates && shims && initiate.rounds < SHIM_ROUNDS {
        let what = format!(
            "`macsec.measure` compares protected messages with plain ones: choose at least {SHIM_ROUNDS}"
        );
        cx.error(&place.key("rounds"), what);
    }
    let dialect = dialect(cx, place, raw);
    // A port that neither answers nor asks has no machine for it.
    (respond || initiates).then(|| MeasurePlan {
        respond,
        initiate: initiates.then_some(initiate),
        dialect,
        compensation: None,
    })
}

/// Resolves the encoding of messages.
fn dialect(cx: &mut Cx, place: &Place<'_>, raw: &Measurement) -> Dialect {
    let (least, most) = PduLength::RANGE;
    let pdu = raw.pdu.map(|octets| cx.ranged(&place.key("pdu"), octets, (least, most), least));
    // A length in the file wins over that of the dialect.
    let pdu = match (pdu.and_then(PduLength::padded), raw.dialect.unwrap_or_default()) {
        (Some(pdu), _) => pdu,
        (None, Readings::Letter) => PduLength::SHORTEST,
        (None, Readings::Sluice) => PduLength::NONE,
    };
    let dialect = Dialect {
        kind: raw.kinds.unwrap_or_default(),
        length: raw.length.unwrap_or_default(),
        unit: raw.times.unwrap_or_default(),
        piggyback: raw.rides.unwrap_or_default(),
        pdu,
        compensation: raw.compensation.unwrap_or_default(),
    };
    if !dialect.is_consistent() {
        let what = "the length field has one byte, which cannot state so long a PDU: write `length: \
                    fields`, or a PDU of at most 255 bytes";
        cx.error(&place.key("pdu"), what);
    }
    dialect
}

/// Resolves the time that the port advertises to its peer: its reaction to a pause, with the adjustment.
fn compensation(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: Option<&Measurement>,
    port: &Context<'_>,
) -> Adjustment {
    let range = (Duration::ZERO, DELAY_MAX);
    let reaction = match raw.and_then(|raw| raw.reaction) {
        Some(Span(time)) => cx.ranged(&place.key("reaction"), time, range, Duration::ZERO),
        // A poll gap that is out of range is reported where it stands.
        None => port.reaction.min(DELAY_MAX),
    };
    let reaction = Adjustment::at_least(reaction).unwrap_or_default();
    reaction.plus(adjustment(raw.and_then(|raw| raw.adjustment)))
}

/// Resolves the number of rounds and their spacing.
fn initiate(cx: &mut Cx, place: &Place<'_>, raw: &Measurement, shims: bool) -> InitiatePlan {
    let default = InitiatePlan { shims, ..InitiatePlan::DEFAULT };
    let port = Some(PortMeasurement { initiate: Some(default), auto: None });
    let mut port = CongestionPlan { measurement: Some(vec![port]), ..CongestionPlan::default() };
    settings(cx, Section { place, name: "measurement" }, raw, &mut port, At::default());
    let port = port.port_measurement(PortId::MIN);
    let mut plan = port.and_then(|port| port.initiate).expect("the only port has one");
    // Where each round trip takes two requests, no more than this many have numbers of their own.
    let most = if shims { REQUESTS_MAX / 2 } else { REQUESTS_MAX };
    let rounds = cx.ranged(&place.key("rounds"), plan.rounds, (1, most), default.rounds);
    plan.rounds = rounds;
    let least = plan.requests_least();
    // The default of requests suffices for the default of rounds; more rounds get all sequence numbers.
    let enough = if least >= default.requests_max { REQUESTS_MAX } else { default.requests_max };
    let requests = raw.requests.unwrap_or(enough);
    if requests < least || requests > REQUESTS_MAX {
        let what = format!(
            "{requests} requests cannot bring {rounds} round trips and keep their sequence numbers \
             apart: choose {least} to {REQUESTS_MAX}"
        );
        cx.error(&place.key("requests"), what);
    }
    let spacing_max = plan.spacing_max;
    let spacing_min = raw.spacing_min.map_or(default.spacing_min.min(spacing_max), |s| s.0);
    if spacing_min > spacing_max {
        let what = format!(
            "{spacing_min} is more than spacing_max ({spacing_max}), after which a request is sent \
             in any case; choose less"
        );
        cx.error(&place.key("spacing_min"), what);
    }
    let period_at = place.key("period");
    let period = raw.period.map(|s| cx.ranged(&period_at, s.0, PERIOD, PERIOD.1));
    let piggyback = raw.piggyback.unwrap_or(default.piggyback);
    InitiatePlan { spacing_min, requests_max: requests, period, piggyback, ..plan }
}
