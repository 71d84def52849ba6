//! Link protocols and MACsec of ports, as tables and JSON show them. Keys are left out.

use super::congestion;
use super::render::{Json, few, grouped_table, object, or_dash, some};
use crate::discovery::{AdminStatus, DcbxPfcPlan, DcbxPlan, EtsTable, LldpPlan, PfcForm, Selector};
use crate::headroom::Formula;
use crate::headroom::measure::MeasurePlan;
use crate::headroom::peer_delay::PeerDelayPlan;
use crate::link::{AgentsPlan, AutoPlan};
use crate::secure::{An, PfcAccept, SaPlan, SciForm, SecyPlan, Validate};
use crate::switch::managed::At;
use crate::switch::{CongestionPlan, PortMeasurement};
use crate::wire::headroom::{
    Adjustment, Compensation, KindCodes, LengthField, Piggyback, TimeUnit,
};
use ::text::Align::{Left, Right};
use ::text::Table;

/// Returns the link protocols of one port. Times are in nanoseconds, with fractions.
pub fn json(plan: &AgentsPlan) -> Json {
    let port = Some(vec![PortMeasurement::of(plan)]);
    let port = CongestionPlan { measurement: port, ..CongestionPlan::default() };
    let own = |prefix| congestion::settings(&port, At::default(), prefix, Json::from);
    let auto = |plan| auto(plan).and(own("headroom.auto."));
    object! {
        headroom: some(plan.auto.as_ref().map(auto)),
        measurement: some(plan.measure.as_ref().map(|plan| measurement(plan, own("measurement.")))),
        ptp: some(plan.peer_delay.as_ref().map(ptp)),
        lldp: some(plan.lldp.as_ref().map(lldp)),
        dcbx: some(plan.dcbx.as_ref().map(dcbx)),
    }
}

fn auto(plan: &AutoPlan) -> Json {
    object! {
        method: plan.methods.to_string(),
        statistic: plan.statistic.to_string(),
        formula: match plan.formula {
            Formula::Full => "full",
            Formula::Short => "short",
        },
        adjustment_ns: plan.adjustment.nanos(),
        invocation_ns: plan.invocation,
        wait_ns: plan.wait,
        macsec: some(plan.shims.map(|s| object! { local_ns: s.local, remote_ns: s.remote })),
    }
}

/// Returns a measurement; `requests` has the parameters of requests, which are absent where the port only
/// answers.
fn measurement(plan: &MeasurePlan, requests: Json) -> Json {
    let initiate = plan.initiate;
    let parts = object! { respond: plan.respond, initiate: initiate.is_some() };
    parts.and(requests).and(object! {
        piggyback: initiate.is_some_and(|i| i.piggyback),
        times: match plan.dialect.unit {
            TimeUnit::Nanoseconds => "ns",
            TimeUnit::Picoseconds => "ps",
        },
        kinds: match plan.dialect.kind {
            KindCodes::Flags => "flags",
            KindCodes::Numbers => "numbers",
        },
        length: match plan.dialect.length {
            LengthField::Whole => "whole",
            LengthField::Rest => "rest",
            LengthField::Fields => "fields",
        },
        rides: match plan.dialect.piggyback {
            Piggyback::Request => "request",
            Piggyback::Response => "response",
        },
        pdu: some(plan.dialect.pdu.octets()),
        compensation: match plan.dialect.compensation {
            Compensation::Absent => "absent",
            Compensation::InResponse => "response",
        },
        reaction_ns: some(plan.compensation.map(Adjustment::nanos)),
    })
}

fn ptp(plan: &PeerDelayPlan) -> Json {
    object! {
        respond: plan.respond,
        interval_ns: some(plan.interval),
        rounds: plan.rounds,
        domain: plan.domain,
        // The only two that files can choose; the messages carry the number.
        profile: if plan.major_sdo_id == 0 { "ieee1588" } else { "ieee802_1as" },
    }
}

const fn admin(admin: AdminStatus) -> &'static str {
    match admin {
        AdminStatus::TxRx => "tx_rx",
        AdminStatus::TxOnly => "tx",
        AdminStatus::RxOnly => "rx",
    }
}

fn lldp(plan: &LldpPlan) -> Json {
    object! {
        admin: admin(plan.admin),
        chassis: plan.chassis,
        port_id: plan.port_id.clone(),
        system_name: plan.system_name.clone(),
        system_description: plan.system_description.clone(),
        interval_ns: plan.interval,
        hold: plan.hold,
        fast_interval_ns: plan.fast_interval,
        fast_count: plan.fast_count,
        credit: plan.credit,
    }
}

/// Returns the advertised and accepted DCBX settings.
fn dcbx(plan: &DcbxPlan) -> Json {
    let table = |t: EtsTable| {
        object! { classes: t.class, bandwidth: t.bandwidth, algorithms: t.algorithm }
    };
    let ets = plan.ets.map(|ets| {
        object! {
            willing: ets.willing,
            local: table(ets.local),
            recommended: some(ets.recommended.map(table)),
        }
    });
    let applications = plan.applications.iter().map(|a| {
        let selector = match a.selector {
            Selector::EtherType => "ethertype",
            Selector::Tcp => "tcp",
            Selector::Udp => "udp",
            Selector::AnyPort => "any_port",
            Selector::Dscp => "dscp",
        };
        object! { priority: a.priority, selector: selector, protocol: a.protocol }
    });
    object! {
        pfc: some(plan.pfc.as_ref().map(pfc)),
        ets: some(ets),
        applications: applications.collect::<Vec<_>>(),
        internal_delay_ns: some(plan.internal_delay),
        compensation_ns: some(plan.compensation.map(Adjustment::nanos)),
    }
}

fn pfc(plan: &DcbxPfcPlan) -> Json {
    object! {
        willing: plan.willing,
        enable: plan.enable,
        capability: plan.capability,
        form: match plan.form {
            PfcForm::Published => "published",
            PfcForm::Proposed { .. } => "proposed",
        },
        // The TLV's bit means the opposite: 1 says that PFC cannot bypass MACsec.
        macsec_bypass: !plan.macsec_bound,
    }
}

/// Builds a table of the link protocols of named ports; equal ports share a row. None without ports.
pub fn table<'a>(ports: impl Iterator<Item = (String, &'a AgentsPlan)>) -> Option<Table> {
    let columns = ["port", "headroom", "measurement", "PTP", "LLDP", "DCBX"];
    let row = |plan: &AgentsPlan| {
        [
            plan.auto.as_ref().map(auto_text),
            plan.measure.as_ref().map(measurement_text),
            plan.peer_delay.as_ref().map(ptp_text),
            plan.lldp.as_ref().map(|l| format!("{} every {}", admin(l.admin), l.interval)),
            plan.dcbx.as_ref().map(dcbx_text),
        ]
    };
    let rows = ports.map(|(name, plan)| (name, row(plan).map(or_dash).into()));
    grouped_table(columns.map(|name| (name, Left)), rows, few)
}

fn auto_text(plan: &AutoPlan) -> String {
    let macsec = if plan.shims.is_some() { ", MACsec" } else { "" };
    // The methods are in the order in which they are tried.
    let or = plan.methods.to_string().replace(", ", ", else ");
    format!("auto: {} of {or}{macsec}", plan.statistic)
}

fn measurement_text(plan: &MeasurePlan) -> String {
    let asks = plan.initiate.map(|i| {
        let (least, most) = (i.spacing_min, i.spacing_max);
        format!("{} rounds in {} requests, {least} to {most} apart", i.rounds, i.requests_max)
    });
    answers_and(plan.respond, asks)
}

fn ptp_text(plan: &PeerDelayPlan) -> String {
    answers_and(plan.respond, plan.interval.map(|t| format!("{} rounds every {t}", plan.rounds)))
}

fn answers_and(answers: bool, asks: Option<String>) -> String {
    let answers = answers.then(|| "answers".to_owned());
    answers.into_iter().chain(asks).collect::<Vec<_>>().join("; ")
}

fn dcbx_text(plan: &DcbxPlan) -> String {
    let willing = |is| if is { " willing" } else { "" };
    let pfc = plan.pfc.map(|p| {
        let enable: Vec<u8> = p.enable.iter().map(|p| p.get()).collect();
        format!("PFC {enable:?}{}", willing(p.willing))
    });
    let ets = plan.ets.map(|e| format!("ETS{}", willing(e.willing)));
    let applications = match plan.applications.len() {
        0 => None,
        1 => Some("1 application".into()),
        n => Some(format!("{n} applications")),
    };
    [pfc, ets, applications].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns the MACsec of one port. Associations are without their keys.
pub fn macsec_json(plan: &SecyPlan) -> Json {
    let associations = |list: &[Option<SaPlan>; 4]| {
        let all = An::ALL.into_iter().zip(list);
        let present = all.filter_map(|(an, sa)| {
            let sa = sa.as_ref()?;
            // Suites without extended packet numbers have none.
            let ssci = plan.suite.is_xpn().then_some(sa.ssci);
            Some(object! { an: an.get(), next_pn: sa.pn, ssci: some(ssci) })
        });
        present.collect::<Vec<_>>()
    };
    let receive = plan.receive.iter().map(
        |sc| object! { sci: sc.sci.to_string(), associations: associations(&sc.associations) },
    );
    object! {
        cipher_suite: plan.suite.name(),
        sci: plan.sci.to_string(),
        sci_in_frames: match plan.sci_form {
            SciForm::Implied => "implied",
            SciForm::Explicit => "include_sci",
            SciForm::EndStation => "use_es",
            SciForm::SingleCopyBroadcast => "use_scb",
        },
        overhead_bytes: plan.overhead(),
        confidentiality: plan.confidentiality.is_some(),
        confidentiality_offset: plan.confidentiality.map_or(0, |offset| offset.octets()),
        protect_data: plan.protect_data,
        protect_pfc: plan.protect_pfc,
        accept_pfc: accept_pfc(plan),
        validate: validate(plan),
        replay_protect: plan.replay_window.is_some(),
        // 0 also without replay protection: `replay_protect` tells the two apart.
        replay_window: plan.replay_window.unwrap_or(0),
        // EtherTypes that pass unprotected, as a reader of captures knows them.
        uncontrolled: plan.uncontrolled.iter().map(|n| format!("{n:#06x}")).collect::<Vec<_>>(),
        rollover_at: plan.rollover_at,
        tx_delay_ns: plan.tx_delay,
        rx_delay_ns: plan.rx_delay,
        encoding_sa: plan.encoding.get(),
        transmit: associations(&plan.transmit),
        receive: receive.collect::<Vec<_>>(),
    }
}

const fn accept_pfc(plan: &SecyPlan) -> &'static str {
    match plan.accept_pfc {
        PfcAccept::Protected => "protected",
        PfcAccept::Both => "both",
        PfcAccept::Plain => "plain",
    }
}

const fn validate(plan: &SecyPlan) -> &'static str {
    match plan.validate {
        Validate::Strict => "strict",
        Validate::Check => "check",
        Validate::Disabled => "disabled",
    }
}

/// Builds a table of ports with MACsec; equal ports share a row. None if there are no such ports.
pub fn macsec_table<'a>(ports: impl Iterator<Item = (String, &'a SecyPlan)>) -> Option<Table> {
    let head = [
        ("MACsec", Left),
        ("suite", Left),
        ("protects", Left),
        ("obeys PFC", Left),
        ("validates", Left),
        ("replay window", Right),
        ("adds", Right),
        ("keys", Left),
    ];
    grouped_table(head, ports.map(|(name, plan)| (name, macsec_row(plan))), few)
}

fn macsec_row(plan: &SecyPlan) -> Vec<String> {
    let how = if plan.confidentiality.is_some() { "encrypted" } else { "integrity" };
    let protects = match (plan.protect_data, plan.protect_pfc) {
        (true, true) => format!("data, PFC ({how})"),
        (true, false) => format!("data ({how})"),
        (false, true) => format!("PFC ({how})"),
        (false, false) => "nothing".into(),
    };
    let associations =
        plan.receive.iter().flat_map(|channel| channel.associations.iter().flatten());
    vec![
        plan.suite.name().into(),
        protects,
        accept_pfc(plan).into(),
        validate(plan).into(),
        plan.replay_window.map_or("not checked".into(), |window| window.to_string()),
        format!("{} B", plan.overhead()),
        format!("{} tx, {} rx", plan.transmit.iter().flatten().count(), associations.count()),
    ]
}
