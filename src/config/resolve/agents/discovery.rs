//! LLDP and DCBX of a port.

use super::super::{Cx, Place, by_number};
use super::{ALGORITHM_ETS, ALGORITHM_STRICT, Around, DELAY_MAX};
use crate::config::quantity::Span;
use crate::config::raw::{
    AdminName, Dcbx, DcbxApplication, DcbxEts, DcbxPfc, DcbxSubtypes, Lldp, PfcFormName, Recommend,
    RecommendedTable,
};
use crate::discovery::{
    AdminStatus, Application, DcbxPfcPlan, DcbxPlan, EtsPlan, EtsTable, LldpPlan, PfcForm,
    Selector, Subtypes,
};
use crate::pfc::FlowControl;
use crate::time::Duration;

/// The defaults and ranges of 802.1AB-2016 9.2.5.
const INTERVALS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(3_600));
const INTERVAL_DEFAULT: Duration = Duration::from_secs(30);
const HOLD_DEFAULT: u8 = 4;
const FAST_INTERVAL_DEFAULT: Duration = Duration::from_secs(1);
const FAST_COUNT_DEFAULT: u8 = 4;
const CREDIT_DEFAULT: u8 = 5;
/// What a TLV of LLDP holds.
const TEXT_MAX: usize = 255;
/// A choice: three octets each in a TLV, which holds 511 (802.1Q D.2.11), and enough for a network.
const APPLICATIONS_MAX: usize = 40;
/// EtherTypes start here; less is a length (802.3 3.2.6).
const ETHERTYPE_MIN: u16 = 0x600;
/// The subtypes of ETS, its recommendation, PFC and application priority (802.1Q Table D-1).
const SUBTYPES_TAKEN: [u8; 4] = [0x09, 0x0a, 0x0b, 0x0c];

/// The LLDP agent: where it is spoken of, or DCBX needs it.
pub(super) fn lldp(
    cx: &mut Cx,
    port_at: &Place<'_>,
    (said, needed): (Option<&Lldp>, bool),
    port: &Around<'_>,
) -> Option<LldpPlan> {
    let at = port_at.key("lldp");
    let silent = Lldp::default();
    let said = match said {
        None if !needed => return None,
        said => said.unwrap_or(&silent),
    };
    let said_admin = said.admin.unwrap_or_default();
    if needed && said_admin != AdminName::TxRx {
        let what = "DCBX needs LLDP both ways: write `tx_rx`, or take `dcbx` out";
        cx.error(&at.key("admin"), what);
    }
    let admin = match said_admin {
        AdminName::TxRx => AdminStatus::TxRx,
        AdminName::Tx => AdminStatus::TxOnly,
        AdminName::Rx => AdminStatus::RxOnly,
        AdminName::Off => return None,
    };
    let mut text = |field, said: &Option<String>, default: String, least| {
        let Some(said) = said else { return clipped(default) };
        if said.len() < least || said.len() > TEXT_MAX {
            let what = format!("has {} octets; LLDP takes {least} to {TEXT_MAX}", said.len());
            cx.error(&at.key(field), what);
        }
        said.clone()
    };
    let system = concat!("Sluice ", env!("CARGO_PKG_VERSION")).to_owned();
    let port_id = text("port_id", &said.port_id, port.names.0.to_owned(), 1);
    let system_name = text("system_name", &said.system_name, port.names.1.to_owned(), 0);
    let system_description = text("system_description", &said.system_description, system, 0);
    let mut interval = |field, said: Option<Span>, default| {
        cx.ranged(&at.key(field), said.map_or(default, |s| s.0), INTERVALS, default)
    };
    let every = interval("interval", said.interval, INTERVAL_DEFAULT);
    let fast_interval = interval("fast_interval", said.fast_interval, FAST_INTERVAL_DEFAULT);
    let mut count = |field, said: Option<u8>, most, default| {
        cx.ranged(&at.key(field), said.unwrap_or(default), (1, most), default)
    };
    Some(LldpPlan {
        admin,
        chassis: port.macs.1,
        port_id,
        system_name,
        system_description,
        interval: every,
        hold: count("hold", said.hold, 100, HOLD_DEFAULT),
        fast_interval,
        fast_count: count("fast_count", said.fast_count, 8, FAST_COUNT_DEFAULT),
        credit: count("credit", said.credit, 10, CREDIT_DEFAULT),
    })
}

/// As much of a name as a TLV holds.
fn clipped(mut text: String) -> String {
    while text.len() > TEXT_MAX {
        text.pop();
    }
    text
}

/// DCBX; `can` says whether the port answers measurements and peer delay requests.
pub(super) fn dcbx(
    cx: &mut Cx,
    at: &Place<'_>,
    said: &Dcbx,
    port: &Around<'_>,
    can: (bool, bool),
) -> DcbxPlan {
    let internal = said.internal_delay.map_or(port.internal, |s| s.0);
    let range = (Duration::ZERO, DELAY_MAX);
    let internal = cx.ranged(&at.key("internal_delay"), internal, range, Duration::ZERO);
    DcbxPlan {
        mac: port.macs.0,
        ets: Some(ets(cx, &at.key("ets"), &said.ets, port)),
        pfc: pfc(cx, &at.key("pfc"), &said.pfc, port, can),
        applications: applications(cx, &at.key("applications"), &said.applications),
        internal_delay: Some(internal),
        subtypes: subtypes(cx, &at.key("subtypes"), &said.subtypes),
    }
}

fn pfc(
    cx: &mut Cx,
    at: &Place<'_>,
    said: &DcbxPfc,
    port: &Around<'_>,
    (round_trip, ptp): (bool, bool),
) -> Option<DcbxPfcPlan> {
    if matches!(port.pfc, FlowControl::Pause { .. }) {
        if *said != DcbxPfc::default() {
            let what = "a port with `pause` cannot speak of PFC (802.1Q 36.1.1, 802.3 31D.1); take \
                        one of them out";
            cx.error(at, what);
        }
        return None;
    }
    let capability = cx.ranged(&at.key("capability"), said.capability.unwrap_or(8), (1, 8), 8);
    let enable = port.paused();
    if enable.0.count_ones() > u32::from(capability) {
        let what = format!(
            "{capability} is less than the {} priorities that have PFC on this port",
            enable.0.count_ones()
        );
        cx.error(&at.key("capability"), what);
    }
    let macsec = said.macsec.unwrap_or(false);
    let form = match said.form.unwrap_or_default() {
        PfcFormName::Proposed => PfcForm::Proposed { round_trip, ptp, macsec },
        PfcFormName::Published => {
            if macsec {
                let what = "the published form has no place for it; write `form: proposed` too";
                cx.error(&at.key("macsec"), what);
            }
            PfcForm::Published
        }
    };
    Some(DcbxPfcPlan {
        willing: said.willing.unwrap_or(port.willing),
        macsec_bound: !said.macsec_bypass.unwrap_or(true),
        capability,
        enable,
        form,
    })
}

fn ets(cx: &mut Cx, at: &Place<'_>, said: &DcbxEts, port: &Around<'_>) -> EtsPlan {
    let own = Recommend::default();
    let recommended = match said.recommend.as_ref().unwrap_or(&own) {
        Recommend::Own => Some(port.ets),
        Recommend::None => None,
        Recommend::Table(table) => Some(ets_table(cx, &at.key("recommend"), table)),
    };
    EtsPlan {
        willing: said.willing.unwrap_or(port.willing),
        cbs: false,
        classes: 8,
        local: port.ets,
        recommended,
    }
}

fn ets_table(cx: &mut Cx, at: &Place<'_>, said: &RecommendedTable) -> EtsTable {
    let mut table = EtsTable {
        class: core::array::from_fn(|n| n as u8),
        bandwidth: [0; 8],
        algorithm: [ALGORITHM_STRICT; 8],
    };
    let classes_at = at.key("classes");
    for (priority, (range, to)) in by_number(cx, &classes_at, &said.classes, 7) {
        let here = classes_at.key(&range.to_string());
        table.class[usize::from(priority)] = cx.ranged(&here, *to, (0, 7), 0);
    }
    let shares_at = at.key("bandwidth");
    for (class, (_, share)) in by_number(cx, &shares_at, &said.bandwidth, 7) {
        table.bandwidth[usize::from(class)] = *share;
        table.algorithm[usize::from(class)] = ALGORITHM_ETS;
    }
    let all: u32 = table.bandwidth.iter().map(|share| u32::from(*share)).sum();
    if all != 100 && !said.bandwidth.is_empty() {
        let what = format!(
            "the shares make {all} %; they must make 100 (802.1Q 38.4.1), and a range stands for \
             one share of each of its classes"
        );
        cx.error(&shares_at, what);
    }
    table
}

fn applications(cx: &mut Cx, at: &Place<'_>, said: &[DcbxApplication]) -> Vec<Application> {
    if said.len() > APPLICATIONS_MAX {
        cx.error(at, format!("{} entries; there is room for {APPLICATIONS_MAX}", said.len()));
    }
    let mut out: Vec<Application> = Vec::new();
    for (i, entry) in said.iter().enumerate() {
        let at = at.index(i);
        let priority = cx.ranged(&at.key("priority"), entry.priority, (0, 7), 0);
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
            cx.error(&at, what);
            continue;
        };
        let here = at.key(name);
        match selector {
            Selector::EtherType if protocol != 0 && protocol < ETHERTYPE_MIN => {
                let what = format!("{protocol:#x} is no EtherType; choose 0x600 to 0xffff, or 0");
                cx.error(&here, what);
            }
            Selector::Dscp => {
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

fn subtypes(cx: &mut Cx, at: &Place<'_>, said: &DcbxSubtypes) -> Subtypes {
    let default = Subtypes::DEFAULT;
    let plan = Subtypes {
        pfc_information: said.pfc_information.unwrap_or(default.pfc_information),
        congestion_isolation: said.congestion_isolation.unwrap_or(default.congestion_isolation),
        topology: said.topology.unwrap_or(default.topology),
    };
    let all = [
        ("pfc_information", plan.pfc_information),
        ("congestion_isolation", plan.congestion_isolation),
        ("topology", plan.topology),
    ];
    for (i, (name, number)) in all.iter().enumerate() {
        if SUBTYPES_TAKEN.contains(number) || all[..i].iter().any(|(_, other)| other == number) {
            let what = format!("{number} is the number of another TLV already; choose a free one");
            cx.error(&at.key(name), what);
        }
    }
    plan
}
