//! Resolves LLDP and DCBX of a port.

use super::cx::by_number;
use super::protocols::{Context, DELAY_MAX, ProtocolSections, advertised_name};
use super::{Cx, Place};
use crate::quantity::Span;
use crate::raw::{
    Dcbx, DcbxApplication, DcbxEts, DcbxIsolation, DcbxObeys, DcbxPfc, DcbxPfcForm, DcbxPlace,
    DcbxSfc, DcbxSubtypes, DcbxTopology, Lldp, LldpAdmin, Recommend, RecommendedTable,
};
use discovery::{
    AdminStatus, Application, CongestionIsolation, DcbxPfcPlan, DcbxPlan, EtsPlan, EtsTable,
    LldpPlan, PfcForm, Role, Selector, SourceFlowControl, Subtypes, Topology, TopologyPlan,
};
use ground::time::Duration;
use ground::units::PRIORITIES;
use pfc::FlowControl;
use schedule::ClassPlan;
use secure::PfcAccept;
use switch::PortPlan;
use wire::dcbx::application::ENTRIES_MAX;
use wire::dcbx::ets::algorithm;
use wire::headroom::Adjustment;
use wire::lldp::TEXT_MAX;
use wire::sfcm;

/// Unit of the intervals of LLDP.
const SECOND: Duration = Duration::from_secs(1);
/// Default encapsulation length of congestion isolation messages (802.1Qcz 49.4.1.2.6).
const ENCAPSULATION_DEFAULT: u16 = 48;
const ENCAPSULATION_MAX: u16 = 512;
/// Smallest EtherType; smaller values are lengths (802.3 3.2.6).
const ETHERTYPE_MIN: u16 = 0x600;
/// The subtypes of ETS, its recommendation, PFC and application priority (802.1Q Table D-1).
const SUBTYPES_TAKEN: [u8; 4] = [0x09, 0x0a, 0x0b, 0x0c];

/// Resolves LLDP: if it is configured, or if DCBX needs it.
pub(super) fn lldp(
    cx: &mut Cx,
    port_at: &Place<'_>,
    sections: &ProtocolSections<'_>,
    port: &Context<'_>,
) -> Option<LldpPlan> {
    let (place, needed) = (port_at.key("lldp"), sections.dcbx.is_some());
    let defaults = Lldp::default();
    let raw = match sections.lldp {
        None if !needed => return None,
        raw => raw.unwrap_or(&defaults),
    };
    let admin = raw.admin.unwrap_or_default();
    // Settings travel in LLDPDUs, and negotiation needs those of both ends.
    if needed && admin != LldpAdmin::TxRx {
        let what = "DCBX needs LLDP both ways: write `tx_rx`, or take `dcbx` out";
        cx.error(&place.key("admin"), what);
    }
    let admin = match admin {
        LldpAdmin::TxRx => AdminStatus::TxRx,
        LldpAdmin::Tx => AdminStatus::TxOnly,
        LldpAdmin::Rx => AdminStatus::RxOnly,
        LldpAdmin::Off => return None,
    };
    let mut text = |field, raw: &Option<String>, default: String, least| {
        // A default is cut to what LLDP can carry; a text of the author that is too long is an error.
        let Some(raw) = raw else { return advertised_name(&default).to_owned() };
        if raw.len() < least || raw.len() > TEXT_MAX {
            let what = format!("has {} octets; LLDP takes {least} to {TEXT_MAX}", raw.len());
            cx.error(&place.key(field), what);
        }
        raw.clone()
    };
    let system = concat!("Sluice ", env!("CARGO_PKG_VERSION")).to_owned();
    let port_id = text("port_id", &raw.port_id, port.names.0.to_owned(), 1);
    let system_name = text("system_name", &raw.system_name, port.names.1.to_owned(), 0);
    let system_description = text("system_description", &raw.system_description, system, 0);
    for (field, raw) in [("interval", raw.interval), ("fast_interval", raw.fast_interval)] {
        // Shorter spans are out of the range, and reported once.
        let parted = |span: &Span| span.0.as_picos() % SECOND.as_picos() != 0 && span.0 > SECOND;
        if let Some(Span(span)) = raw.filter(parted) {
            let what = format!("{span} is no whole number of seconds, as LLDP counts them");
            cx.error(&place.key(field), what);
        }
    }
    // All ports of a system have its address as chassis, by which neighbours know that it is one.
    let standard = LldpPlan::new(port.macs.0, port.macs.1, port_id);
    let mut plan = LldpPlan { admin, system_name, system_description, role: port.role, ..standard };
    raw.change(cx, &place, &mut plan);
    Some(plan)
}

/// What DCBX advertises about the measurements of the port.
pub(super) struct Advertised {
    /// Default form of the PFC TLV.
    pub form: DcbxPfcForm,
    /// True if the port answers requests of the round trip.
    pub round_trip: bool,
    /// True if it answers requests of PTP peer delay.
    pub ptp: bool,
    /// The reaction to a pause that is advertised to peers that measure.
    pub reaction: Adjustment,
}

pub(super) fn dcbx(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &Dcbx,
    port: &Context<'_>,
    advertised: &Advertised,
) -> DcbxPlan {
    // What the peer has to add to a measured path delay, unless the author knows better.
    let internal = raw.internal_delay.map_or(port.internal, |s| s.0);
    let range = (Duration::ZERO, DELAY_MAX);
    let internal = cx.ranged(&place.key("internal_delay"), internal, range, Duration::ZERO);
    let pfc = pfc(cx, &place.key("pfc"), &raw.pfc, port, advertised);
    // Peers that know the published form alone may not expect the longer TLV.
    let is_proposed = pfc.is_some_and(|pfc| matches!(pfc.form, PfcForm::Proposed { .. }));
    DcbxPlan {
        mac: port.macs.0,
        ets: Some(ets(cx, &place.key("ets"), &raw.ets, port)),
        follows_pfc: false,
        pfc,
        applications: applications(cx, &place.key("applications"), &raw.applications),
        internal_delay: Some(internal),
        compensation: is_proposed.then_some(advertised.reaction),
        isolation: raw.isolation.as_ref().map(|i| isolation(cx, &place.key("isolation"), i, port)),
        topology: raw.topology.as_ref().map(|t| position(cx, &place.key("topology"), t, port.role)),
        sfc: raw.sfc.as_ref().map(|sfc| source_flow(cx, &place.key("sfc"), sfc)),
        precedence: raw.precedence.unwrap_or_default(),
        subtypes: subtypes(cx, &place.key("subtypes"), &raw.subtypes),
    }
}

fn pfc(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &DcbxPfc,
    port: &Context<'_>,
    advertised: &Advertised,
) -> Option<DcbxPfcPlan> {
    if matches!(port.pfc, FlowControl::Pause { .. }) {
        if *raw != DcbxPfc::default() {
            let what = "a port with `pause` cannot speak of PFC (802.1Q 36.1.1, 802.3 31D.1); take \
                        one of them out";
            cx.error(place, what);
        }
        return None;
    }
    let capability = cx.ranged(&place.key("capability"), raw.capability.unwrap_or(8), (1, 8), 8);
    // DCBX has one list for both directions.
    let enable = port.pfc.pfc();
    if enable.0.count_ones() > u32::from(capability) {
        let what = format!(
            "{capability} is less than the {} priorities that have PFC on this port",
            enable.0.count_ones()
        );
        cx.error(&place.key("capability"), what);
    }
    // Follows the port's MACsec policy unless the file sets it.
    let accepts = port.secy.map(|secy| secy.accept_pfc);
    let protects = accepts.is_some_and(|accepts| accepts != PfcAccept::Plain);
    let bypasses = accepts != Some(PfcAccept::Protected);
    let macsec = raw.macsec.unwrap_or(protects);
    let form = match raw.form.unwrap_or(advertised.form) {
        DcbxPfcForm::Proposed => {
            let Advertised { round_trip, ptp, .. } = *advertised;
            PfcForm::Proposed { round_trip, ptp, macsec }
        }
        DcbxPfcForm::Published => {
            if raw.macsec == Some(true) {
                let what = "the published form has no place for it; write `form: proposed` too";
                cx.error(&place.key("macsec"), what);
            }
            PfcForm::Published
        }
    };
    Some(DcbxPfcPlan {
        // Bridges tell and stations listen, unless the file sets it.
        willing: raw.willing.unwrap_or(port.role == Role::Station),
        macsec_bound: !raw.macsec_bypass.unwrap_or(bypasses),
        capability,
        enable,
        form,
    })
}

fn ets(cx: &mut Cx, place: &Place<'_>, raw: &DcbxEts, port: &Context<'_>) -> EtsPlan {
    let own = Recommend::default();
    let recommended = match raw.recommend.as_ref().unwrap_or(&own) {
        Recommend::Own => Some(port.ets),
        Recommend::None => None,
        Recommend::Table(table) => Some(ets_table(cx, &place.key("recommend"), table)),
    };
    EtsPlan {
        willing: raw.willing.unwrap_or(port.role == Role::Station),
        cbs: false,
        classes: 8,
        local: port.ets,
        // Without a recommendation the peer keeps its own table.
        recommended,
    }
}

fn ets_table(cx: &mut Cx, place: &Place<'_>, raw: &RecommendedTable) -> EtsTable {
    let mut table = EtsTable {
        // Priorities and classes have the same numbers unless mapped.
        class: core::array::from_fn(|n| n as u8),
        bandwidth: [0; 8],
        algorithm: [algorithm::STRICT; 8],
    };
    let classes_at = place.key("classes");
    for (priority, (range, to)) in by_number(cx, &classes_at, &raw.classes, 7) {
        let here = classes_at.key(&range.to_string());
        table.class[usize::from(priority)] = cx.ranged(&here, *to, (0, 7), 0);
    }
    let shares_at = place.key("bandwidth");
    for (class, (_, share)) in by_number(cx, &shares_at, &raw.bandwidth, 7) {
        table.bandwidth[usize::from(class)] = *share;
        // A share makes a class one of ETS; the others stay strict.
        table.algorithm[usize::from(class)] = algorithm::ETS;
    }
    let all: u32 = table.bandwidth.iter().map(|share| u32::from(*share)).sum();
    if all != 100 && !raw.bandwidth.is_empty() {
        let what = format!(
            "the shares make {all} %; they must make 100 (802.1Q 38.4.1), and a range stands for \
             one share of each of its classes"
        );
        cx.error(&shares_at, what);
    }
    table
}

/// Resolves the congestion isolation TLV.
fn isolation(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &DcbxIsolation,
    port: &Context<'_>,
) -> CongestionIsolation {
    let mut queue_map = [0; 8];
    let map_at = place.key("queue_map");
    for (class, (range, part)) in by_number(cx, &map_at, &raw.queue_map, 7) {
        let here = map_at.key(&range.to_string());
        queue_map[usize::from(class)] = cx.ranged(&here, *part, (-8, 8), 0);
    }
    let encapsulation = raw.encapsulation.unwrap_or(ENCAPSULATION_DEFAULT);
    let range = (0, ENCAPSULATION_MAX);
    let address = raw.address.as_ref().and_then(|text| match text.parse() {
        Ok(address) => Some(address),
        Err(_) => {
            cx.error(&place.key("address"), format!("`{text}` is no IP address"));
            None
        }
    });
    CongestionIsolation {
        queue_map,
        encapsulation: cx.ranged(&place.key("encapsulation"), encapsulation, range, 0),
        mac: port.macs.0,
        udp_port: raw.udp_port.unwrap_or(0),
        address,
        family: raw.family.unwrap_or_default(),
    }
}

/// Resolves the port's place in the network topology.
fn position(cx: &mut Cx, place: &Place<'_>, raw: &DcbxPlace, role: Role) -> TopologyPlan {
    match raw {
        DcbxPlace::Auto => TopologyPlan::Recognized(role.device()),
        DcbxPlace::Fixed(raw) => TopologyPlan::Fixed(topology(cx, place, raw)),
    }
}

/// Resolves the source flow control TLV.
fn source_flow(cx: &mut Cx, place: &Place<'_>, raw: &DcbxSfc) -> SourceFlowControl {
    let udp_port = raw.udp_port.unwrap_or(sfcm::PORT_DEFAULT);
    let range = (sfcm::PORT_MIN, u16::MAX);
    let obeys = raw.obeys.unwrap_or_default();
    SourceFlowControl {
        point: raw.point.unwrap_or(false),
        proxy: raw.proxy.unwrap_or(false),
        by_flow: obeys == DcbxObeys::Flow,
        by_priority: obeys == DcbxObeys::Priority,
        udp_port: cx.ranged(&place.key("udp_port"), udp_port, range, sfcm::PORT_DEFAULT),
    }
}

fn topology(cx: &mut Cx, place: &Place<'_>, raw: &DcbxTopology) -> Topology {
    let level_at = place.key("level");
    Topology {
        device: raw.device.unwrap_or_default(),
        level: raw.level.map(|level| cx.ranged(&level_at, level, (0, 254), 0)),
        orientation: raw.orientation.unwrap_or_default(),
    }
}

fn applications(cx: &mut Cx, place: &Place<'_>, raw: &[DcbxApplication]) -> Vec<Application> {
    if raw.len() > ENTRIES_MAX {
        cx.error(place, format!("{} entries; there is room for {ENTRIES_MAX}", raw.len()));
    }
    let mut out: Vec<Application> = Vec::new();
    for (i, entry) in raw.iter().enumerate() {
        let place = place.index(i);
        let priority = cx.ranged(&place.key("priority"), entry.priority, (0, 7), 0);
        let by = [
            ("ethertype", Selector::EtherType, entry.ethertype),
            ("tcp", Selector::Tcp, entry.tcp),
            ("udp", Selector::Udp, entry.udp),
            ("any_port", Selector::AnyPort, entry.any_port),
            ("dscp", Selector::Dscp, entry.dscp),
        ];
        let mut given = by.into_iter().filter_map(|(name, s, n)| Some((name, s, n?)));
        let (Some((name, selector, protocol)), None) = (given.next(), given.next()) else {
            let what = "needs exactly one of `ethertype`, `tcp`, `udp`, `any_port` and `dscp`";
            cx.error(&place, what);
            continue;
        };
        let here = place.key(name);
        match selector {
            // 0 is the entry for all frames without another one.
            Selector::EtherType if protocol != 0 && protocol < ETHERTYPE_MIN => {
                let what = format!("{protocol:#x} is no EtherType; choose 0x600 to 0xffff, or 0");
                cx.error(&here, what);
            }
            Selector::Dscp => {
                // Only the finding is of interest; the entry is refused with the file.
                cx.ranged(&here, protocol, (0, 63), 0);
            }
            Selector::EtherType | Selector::Tcp | Selector::Udp | Selector::AnyPort => {}
        }
        if out.iter().any(|a| a.selector == selector && a.protocol == protocol) {
            cx.error(&here, format!("{protocol} has a priority already; one entry is enough"));
        }
        out.push(Application { priority, selector, protocol });
    }
    out
}

fn subtypes(cx: &mut Cx, place: &Place<'_>, raw: &DcbxSubtypes) -> Subtypes {
    let default = Subtypes::DEFAULT;
    let plan = Subtypes {
        pfc_information: raw.pfc_information.unwrap_or(default.pfc_information),
        congestion_isolation: raw.congestion_isolation.unwrap_or(default.congestion_isolation),
        topology: raw.topology.unwrap_or(default.topology),
    };
    let all = [
        ("pfc_information", plan.pfc_information),
        ("congestion_isolation", plan.congestion_isolation),
        ("topology", plan.topology),
    ];
    for (i, (name, number)) in all.iter().enumerate() {
        if SUBTYPES_TAKEN.contains(number) || all[..i].iter().any(|(_, other)| other == number) {
            let what = format!("{number} is the number of another TLV already; choose a free one");
            cx.error(&place.key(name), what);
        }
    }
    plan
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
    // Rounded down at first; the largest remainders get the percents that are missing.
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
