//! Link protocols of ports, as tables and JSON show them.

use serde::Serialize;

use super::text::gather;
use crate::discovery::{AdminStatus, DcbxPlan, EtsTable, LldpPlan, PfcForm, Selector};
use crate::headroom::measure::MeasurePlan;
use crate::headroom::peer_delay::PeerDelayPlan;
use crate::link::{AgentsPlan, AutoPlan, Method, Statistic};
use crate::report::{Align, Table};
use crate::time::Duration;
use crate::wire::headroom::{KindCodes, LengthField, TimeUnit};

/// Link protocols of one port. Times are in nanoseconds, with fractions.
#[derive(Serialize)]
pub struct AgentsView {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headroom: Option<AutoView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measurement: Option<MeasurementView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ptp: Option<PtpView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lldp: Option<LldpView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dcbx: Option<DcbxView>,
}

/// Automatic headroom.
#[derive(Serialize)]
pub struct AutoView {
    pub method: &'static str,
    pub statistic: String,
    pub invocation_ns: f64,
    pub wait_ns: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub macsec: Option<ShimsView>,
}

/// MACsec delays of a PFC frame.
#[derive(Serialize)]
pub struct ShimsView {
    pub local_ns: f64,
    pub remote_ns: f64,
}

/// Request/response measurement.
#[derive(Serialize)]
pub struct MeasurementView {
    pub respond: bool,
    pub initiate: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spacing_min_ns: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spacing_max_ns: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period_ns: Option<f64>,
    pub piggyback: bool,
    pub times: &'static str,
    pub kinds: &'static str,
    pub length: &'static str,
}

/// PTP peer delay.
#[derive(Serialize)]
pub struct PtpView {
    pub respond: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<f64>,
    pub rounds: u16,
    pub domain: u8,
    pub profile: &'static str,
}

#[derive(Serialize)]
pub struct LldpView {
    pub admin: &'static str,
    pub chassis: String,
    pub port_id: String,
    pub system_name: String,
    pub system_description: String,
    pub interval_ns: f64,
    pub hold: u8,
    pub fast_interval_ns: f64,
    pub fast_count: u8,
    pub credit: u8,
}

/// Advertised and accepted DCBX settings.
#[derive(Serialize)]
pub struct DcbxView {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pfc: Option<DcbxPfcView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ets: Option<DcbxEtsView>,
    pub applications: Vec<ApplicationView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub internal_delay_ns: Option<f64>,
}

#[derive(Serialize)]
pub struct DcbxPfcView {
    pub willing: bool,
    pub enable: Vec<u8>,
    pub capability: u8,
    pub form: &'static str,
    pub macsec_bypass: bool,
}

#[derive(Serialize)]
pub struct DcbxEtsView {
    pub willing: bool,
    pub local: EtsTableView,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recommended: Option<EtsTableView>,
}

#[derive(PartialEq, Serialize)]
pub struct EtsTableView {
    pub classes: [u8; 8],
    pub bandwidth: [u8; 8],
    pub algorithms: [u8; 8],
}

#[derive(Serialize)]
pub struct ApplicationView {
    pub priority: u8,
    pub selector: &'static str,
    pub protocol: u16,
}

impl AgentsView {
    pub fn new(plan: &AgentsPlan) -> Self {
        Self {
            headroom: plan.auto.as_ref().map(auto),
            measurement: plan.measure.as_ref().map(measurement),
            ptp: plan.peer_delay.as_ref().map(ptp),
            lldp: plan.lldp.as_ref().map(lldp),
            dcbx: plan.dcbx.as_ref().map(dcbx),
        }
    }
}

fn auto(plan: &AutoPlan) -> AutoView {
    let shims = |s: crate::headroom::Shims| ShimsView {
        local_ns: s.local.as_nanos_f64(),
        remote_ns: s.remote.as_nanos_f64(),
    };
    AutoView {
        method: match plan.method {
            Method::RoundTrip => "round_trip",
            Method::PeerDelay => "ptp",
        },
        statistic: match plan.statistic {
            Statistic::Max => "max".into(),
            Statistic::Mean => "mean".into(),
            Statistic::Percentile(n) => format!("p{n}"),
        },
        invocation_ns: plan.invocation.as_nanos_f64(),
        wait_ns: plan.wait.as_nanos_f64(),
        macsec: plan.shims.map(shims),
    }
}

fn measurement(plan: &MeasurePlan) -> MeasurementView {
    let how = plan.initiate;
    MeasurementView {
        respond: plan.respond,
        initiate: how.is_some(),
        rounds: how.map(|i| i.rounds),
        requests: how.map(|i| i.requests_max),
        spacing_min_ns: how.map(|i| i.spacing_min.as_nanos_f64()),
        spacing_max_ns: how.map(|i| i.spacing_max.as_nanos_f64()),
        period_ns: how.and_then(|i| i.period).map(Duration::as_nanos_f64),
        piggyback: how.is_some_and(|i| i.piggyback),
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
        },
    }
}

fn ptp(plan: &PeerDelayPlan) -> PtpView {
    PtpView {
        respond: plan.respond,
        interval_ns: plan.interval.map(Duration::as_nanos_f64),
        rounds: plan.rounds,
        domain: plan.domain,
        profile: if plan.major_sdo_id == 0 { "ieee1588" } else { "ieee802_1as" },
    }
}

fn lldp(plan: &LldpPlan) -> LldpView {
    LldpView {
        admin: match plan.admin {
            AdminStatus::TxRx => "tx_rx",
            AdminStatus::TxOnly => "tx",
            AdminStatus::RxOnly => "rx",
        },
        chassis: plan.chassis.to_string(),
        port_id: plan.port_id.clone(),
        system_name: plan.system_name.clone(),
        system_description: plan.system_description.clone(),
        interval_ns: plan.interval.as_nanos_f64(),
        hold: plan.hold,
        fast_interval_ns: plan.fast_interval.as_nanos_f64(),
        fast_count: plan.fast_count,
        credit: plan.credit,
    }
}

fn dcbx(plan: &DcbxPlan) -> DcbxView {
    let table = |t: EtsTable| EtsTableView {
        classes: t.class,
        bandwidth: t.bandwidth,
        algorithms: t.algorithm,
    };
    DcbxView {
        pfc: plan.pfc.map(|pfc| DcbxPfcView {
            willing: pfc.willing,
            enable: pfc.enable.iter().map(|p| p.get()).collect(),
            capability: pfc.capability,
            form: match pfc.form {
                PfcForm::Published => "published",
                PfcForm::Proposed { .. } => "proposed",
            },
            macsec_bypass: !pfc.macsec_bound,
        }),
        ets: plan.ets.map(|ets| DcbxEtsView {
            willing: ets.willing,
            local: table(ets.local),
            recommended: ets.recommended.map(table),
        }),
        applications: plan
            .applications
            .iter()
            .map(|a| ApplicationView {
                priority: a.priority,
                selector: match a.selector {
                    Selector::EtherType => "ethertype",
                    Selector::Tcp => "tcp",
                    Selector::Udp => "udp",
                    Selector::AnyPort => "any_port",
                    Selector::Dscp => "dscp",
                },
                protocol: a.protocol,
            })
            .collect(),
        internal_delay_ns: plan.internal_delay.map(Duration::as_nanos_f64),
    }
}

/// Builds a table of the link protocols of named ports; equal ports share a row. None if no port
/// has any.
pub fn table<'a>(ports: impl Iterator<Item = (&'a str, Option<&'a AgentsView>)>) -> Option<Table> {
    let ports: Vec<(&str, &AgentsView)> = ports.filter_map(|(n, view)| Some((n, view?))).collect();
    if ports.is_empty() {
        return None;
    }
    let mut table = Table::new([
        ("port", Align::Left),
        ("headroom", Align::Left),
        ("measurement", Align::Left),
        ("PTP", Align::Left),
        ("LLDP", Align::Left),
        ("DCBX", Align::Left),
    ]);
    let row = |(_, view): &(&str, &AgentsView)| {
        let or = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        [
            or(view.headroom.as_ref().map(headroom_text)),
            or(view.measurement.as_ref().map(measurement_text)),
            or(view.ptp.as_ref().map(ptp_text)),
            or(view.lldp.as_ref().map(lldp_text)),
            or(view.dcbx.as_ref().map(dcbx_text)),
        ]
    };
    for ([headroom, measurement, ptp, lldp, dcbx], alike) in gather(ports.iter(), row) {
        let names: Vec<&str> = alike.iter().map(|(name, _)| *name).collect();
        let names = match names.as_slice() {
            [first, _, .., last] if names.len() > 4 => {
                format!("{first} to {last} ({})", names.len())
            }
            few => few.join(", "),
        };
        table.row([names, headroom, measurement, ptp, lldp, dcbx]);
    }
    Some(table)
}

fn span(ns: f64) -> String {
    Duration::from_nanos_f64(ns).to_string()
}

fn headroom_text(auto: &AutoView) -> String {
    let macsec = if auto.macsec.is_some() { ", MACsec" } else { "" };
    format!("auto: {} of {}{macsec}", auto.statistic, auto.method)
}

fn measurement_text(m: &MeasurementView) -> String {
    let answers = m.respond.then(|| "answers".to_owned());
    let asks = m.rounds.zip(m.requests).map(|(rounds, requests)| {
        let (least, most) = (m.spacing_min_ns.map(span), m.spacing_max_ns.map(span));
        let apart = least.zip(most).map_or(String::new(), |(a, b)| format!(", {a} to {b} apart"));
        format!("{rounds} rounds in {requests} requests{apart}")
    });
    answers.into_iter().chain(asks).collect::<Vec<_>>().join("; ")
}

fn ptp_text(p: &PtpView) -> String {
    let answers = p.respond.then(|| "answers".to_owned());
    let asks = p.interval_ns.map(|ns| format!("{} rounds every {}", p.rounds, span(ns)));
    answers.into_iter().chain(asks).collect::<Vec<_>>().join("; ")
}

fn lldp_text(l: &LldpView) -> String {
    format!("{} every {}", l.admin, span(l.interval_ns))
}

fn dcbx_text(d: &DcbxView) -> String {
    let willing = |is| if is { " willing" } else { "" };
    let pfc = d.pfc.as_ref().map(|p| format!("PFC {:?}{}", p.enable, willing(p.willing)));
    let ets = d.ets.as_ref().map(|e| format!("ETS{}", willing(e.willing)));
    let applications = match d.applications.len() {
        0 => None,
        1 => Some("1 application".into()),
        n => Some(format!("{n} applications")),
    };
    pfc.into_iter().chain(ets).chain(applications).collect::<Vec<_>>().join(", ")
}
