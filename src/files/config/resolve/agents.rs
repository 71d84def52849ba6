//! Resolves the link protocols of a port: delay measurement, discovery, automatic headroom.

mod discovery;
mod measurement;

use super::macsec::shims;
use super::{Cx, Place};
use crate::quantity::{Signed, Span, octets};
use crate::raw::{
    AutoHeadroom, Dcbx, Headroom, Lldp, MacsecShims, Measurement, MethodChoice, MethodName,
    PfcFormName, Port, Ptp, PtpProfile, RemoteShimName,
};
use ::discovery::{DcbxPlan, EtsTable, FRAME_MAX, LldpPlan, Role, frame_len};
use ground::time::Duration;
use ground::units::{BitsPerSec, Cells, Mac, PRIORITIES};
use headroom::peer_delay::PeerDelayPlan;
use headroom::{DelayInputs, Shims, SoftwareTerms, required};
use link::{AgentsPlan, AutoPlan, Method, Preference, Statistic};
use pfc::FlowControl;
use schedule::ClassPlan;
use secure::SecyPlan;
use switch::PortPlan;
use wire::WireError;
use wire::dcbx::ets::algorithm;
use wire::headroom::{Adjustment, Readings};

/// Time that a port waits for the DCBX of its peer: three LLDPDUs of the fast start.
const WAIT_DEFAULT: Duration = Duration::from_secs(3);
const WAIT_MAX: Duration = Duration::from_secs(3_600);
/// Upper bound for delays: no buffer holds more.
const DELAY_MAX: Duration = Duration::from_secs(1);
/// Range of the limit, as a multiple of the headroom for the link's configured length.
const LIMIT: (u32, u32) = (1, 1_000);
const LIMIT_DEFAULT: u32 = 4;
const PTP_INTERVAL: (Duration, Duration) = (Duration::from_micros(1), Duration::from_secs(100));
/// Upper four bits (majorSdoId) of the first octet of PTP messages in 802.1AS.
const SDO_802_1AS: u8 = 1;

/// Sections of the file about the link protocols of one port.
#[derive(Clone, Copy, Default)]
pub struct Said<'a> {
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
pub fn told(name: &str) -> &str {
    let mut end = name.len().min(UNNAMED.len());
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}

impl<'a> Said<'a> {
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
            cable_m: u32::try_from(length.0.div_ceil(1_000)).unwrap_or(u32::MAX),
            cable_ps_per_m: DelayInputs::PS_PER_METRE,
            ..link
        }
    }

    /// True if all readings are by the letter of the proposal.
    fn is_letter(&self) -> bool {
        let dialect = self.measurement.and_then(|said| said.dialect);
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
    at: &Place<'_>,
    said: Said<'_>,
    port: &Context<'_>,
) -> Option<AgentsPlan> {
    let auto_at = at.key("headroom").key("auto");
    let methods = said.auto().map(|auto| methods(cx, &auto_at.key("method"), auto));
    let by = |this| methods.is_some_and(|methods| methods.has(this));
    let reaction = measurement::compensation(cx, &at.key("measurement"), said.measurement, port);
    let measure = measurement::resolve(
        cx,
        &at.key("measurement"),
        said.measurement,
        by(Method::RoundTrip),
        (reaction, port.secy.is_some_and(|secy| secy.protect_measurements)),
    );
    let peer_delay = ptp(cx, &at.key("ptp"), said.ptp, by(Method::PeerDelay));
    let can = (
        measure.as_ref().is_some_and(|m| m.respond),
        peer_delay.as_ref().is_some_and(|p| p.respond),
    );
    let lldp = discovery::lldp(cx, at, (said.lldp, said.dcbx.is_some()), port);
    let form = Defaults::of(said.is_letter()).form;
    let dcbx = said
        .dcbx
        .map(|dcbx| discovery::dcbx(cx, &at.key("dcbx"), (dcbx, form), port, (can, reaction)));
    // Values out of range were reported at their fields.
    let len = lldp.as_ref().map(|lldp| longest(lldp, dcbx.as_ref(), port.macs.0));
    if len == Some(Err(WireError::NoRoom)) {
        let what = format!(
            "the LLDP frame of the port would be longer than {FRAME_MAX} bytes: shorten its \
             texts, or configure fewer applications"
        );
        cx.error(&at.key("lldp"), what);
    }
    let defaults = Defaults::of(said.is_letter());
    let auto = said.auto().zip(methods).and_then(|(auto, methods)| {
        self::auto(cx, &auto_at, auto, port, (methods, defaults, dcbx.is_some()))
    });
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

fn span(said: Option<Span>) -> Duration {
    said.map_or(Duration::ZERO, |s| s.0)
}

/// Defaults of the readings that are no part of messages.
#[derive(Clone, Copy)]
struct Defaults {
    statistic: Statistic,
    remote: RemoteShimName,
    form: PfcFormName,
}

impl Defaults {
    /// The safe readings, or those of the proposal's letter.
    fn of(letter: bool) -> Self {
        if letter {
            let (statistic, remote) = (Statistic::Mean, RemoteShimName::Transmit);
            return Self { statistic, remote, form: PfcFormName::Proposed };
        }
        let (statistic, remote) = (Statistic::Max, RemoteShimName::Receive);
        Self { statistic, remote, form: PfcFormName::Published }
    }
}

/// Resolves the methods of automatic headroom.
fn methods(cx: &mut Cx, at: &Place<'_>, said: &AutoHeadroom) -> Preference {
    let of = |name: &MethodName| match name {
        MethodName::RoundTrip => Method::RoundTrip,
        MethodName::Ptp => Method::PeerDelay,
    };
    match said.method.as_ref().unwrap_or(&MethodChoice::RoundTrip) {
        MethodChoice::Auto => Preference::AUTO,
        MethodChoice::RoundTrip => Preference::only(Method::RoundTrip),
        MethodChoice::Ptp => Preference::only(Method::PeerDelay),
        MethodChoice::List(names) => {
            let methods: Vec<_> = names.iter().map(of).collect();
            Preference::of(&methods).unwrap_or_else(|| {
                let what = "name each method at most once, and at least one: `[round_trip, ptp]`";
                cx.error(at, what);
                Preference::AUTO
            })
        }
    }
}

/// Resolves automatic headroom, with its methods, its defaults, and true if the port has DCBX.
fn auto(
    cx: &mut Cx,
    at: &Place<'_>,
    said: &AutoHeadroom,
    port: &Context<'_>,
    (methods, defaults, dcbx): (Preference, Defaults, bool),
) -> Option<AutoPlan> {
    let (link, software, cell_bytes) = port.link?;
    let mut delay = |at: &Place<'_>, said| {
        cx.ranged(at, span(said), (Duration::ZERO, DELAY_MAX), Duration::ZERO)
    };
    let invocation = delay(&at.key("invocation"), said.invocation);
    let remote = said.macsec.as_ref().and_then(|macsec| macsec.remote).unwrap_or(defaults.remote);
    let own = port.secy.map(|secy| shims(secy, remote));
    let says = |macsec: &&MacsecShims| {
        // `remote` alone selects a delay of the port's own `macsec`.
        macsec.local_shim.is_some() || macsec.remote_shim.is_some() || port.secy.is_none()
    };
    let said_so = said.macsec.as_ref().filter(says).map(|macsec| {
        let at = at.key("macsec");
        Shims {
            local: delay(&at.key("local_shim"), macsec.local_shim),
            remote: delay(&at.key("remote_shim"), macsec.remote_shim),
        }
    });
    let shims = said_so.or(own);
    let wait = said.wait.map_or(WAIT_DEFAULT, |s| s.0);
    let wait = cx.ranged(&at.key("wait"), wait, (Duration::ZERO, WAIT_MAX), WAIT_DEFAULT);
    let factor = said.limit.unwrap_or(LIMIT_DEFAULT);
    let factor = cx.ranged(&at.key("limit"), factor, LIMIT, LIMIT_DEFAULT);
    let stated = required(&port.stated.unwrap_or(link), &software, cell_bytes).cells;
    Some(AutoPlan {
        stated,
        limit: Cells(stated.0.saturating_mul(factor)),
        link,
        software,
        cell_bytes,
        methods,
        statistic: said.statistic.map_or(defaults.statistic, |name| name.0),
        formula: said.formula.unwrap_or_default(),
        adjustment: adjustment(said.adjustment),
        invocation,
        shims,
        wait: if dcbx { wait } else { Duration::ZERO },
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
fn adjustment(said: Option<Signed>) -> Adjustment {
    said.and_then(|Signed(nanos)| Adjustment::from_nanos(nanos)).unwrap_or_default()
}

/// Resolves PTP peer delay: if it is configured, or if automatic headroom uses it.
fn ptp(cx: &mut Cx, at: &Place<'_>, said: Option<&Ptp>, needed: bool) -> Option<PeerDelayPlan> {
    let silent = Ptp::default();
    let said = match said {
        None if !needed => return None,
        said => said.unwrap_or(&silent),
    };
    let default = PeerDelayPlan::DEFAULT;
    let initiates = said.initiate.unwrap_or(true);
    if needed && !initiates {
        let what = "headroom is found by this delay (`headroom: {auto: {method: ptp}}`), so it \
                    cannot be off: take `initiate` out, or write `headroom: computed`";
        cx.error(&at.key("initiate"), what);
    }
    let every = Duration::from_secs(1);
    let interval = said.interval.map_or(every, |s| s.0);
    let interval = cx.ranged(&at.key("interval"), interval, PTP_INTERVAL, every);
    let respond = said.respond.unwrap_or(default.respond);
    let rounds = said.rounds.unwrap_or(default.rounds);
    let rounds = cx.ranged(&at.key("rounds"), rounds, (1, 256), default.rounds);
    let domain = said.domain.unwrap_or(default.domain);
    let domain = cx.ranged(&at.key("domain"), domain, (0, 239), default.domain);
    (respond || initiates).then(|| PeerDelayPlan {
        interval: initiates.then_some(interval),
        respond,
        domain,
        major_sdo_id: match said.profile.unwrap_or_default() {
            PtpProfile::Ieee1588 => default.major_sdo_id,
            PtpProfile::Ieee8021As => SDO_802_1AS,
        },
        rounds,
    })
}

/// Describes a port's scheduler in ETS terms: weights as percentages of 100.
pub fn ets_of(port: &PortPlan) -> EtsTable {
    let weights = port.schedule.classes.map(|class| match class {
        ClassPlan::Strict => None,
        ClassPlan::Dwrr { weight } => Some(u32::from(weight)),
    });
    EtsTable {
        class: port.classify.class.map(|class| class.index() as u8),
        bandwidth: shares(weights.map(|w| w.unwrap_or(0))),
        algorithm: weights.map(|w| if w.is_some() { algorithm::ETS } else { algorithm::STRICT }),
    }
}

/// Converts weights to percentages that sum to 100, by largest remainder; if all are 0 they stay 0.
fn shares(weights: [u32; PRIORITIES]) -> [u8; PRIORITIES] {
    let all: u32 = weights.iter().sum();
    if all == 0 {
        return [0; PRIORITIES];
    }
    let mut out = weights.map(|w| (w * 100 / all) as u8);
    let mut order: [usize; PRIORITIES] = core::array::from_fn(|n| n);
    order.sort_by_key(|n| core::cmp::Reverse(weights[*n] * 100 % all));
    let missing = 100 - out.iter().map(|share| usize::from(*share)).sum::<usize>();
    for n in order.into_iter().take(missing) {
        out[n] += 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_whole_percents_that_make_a_hundred() {
        assert_eq!(shares([0; 8]), [0; 8]);
        assert_eq!(shares([1, 0, 1, 0, 1, 0, 0, 0]), [34, 0, 33, 0, 33, 0, 0, 0]);
        assert_eq!(shares([30, 0, 0, 50, 0, 0, 20, 0]), [30, 0, 0, 50, 0, 0, 20, 0]);
        assert_eq!(shares([65_535, 1, 0, 0, 0, 0, 0, 0]), [100, 0, 0, 0, 0, 0, 0, 0]);
        for weights in [[1; 8], [7, 11, 13, 17, 19, 23, 29, 31], [65_535; 8]] {
            assert_eq!(shares(weights).iter().map(|n| u32::from(*n)).sum::<u32>(), 100);
        }
    }
}
