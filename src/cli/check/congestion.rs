//! Congestion control of a switch, as tables and JSON show it: managed objects, detection per
//! queue, and attachments of ports.

use std::fmt;

use serde::Serialize;
use serde_json::{Value, json};

use super::text::gather;
use crate::config::quantity::octets;
use crate::congestion::Detect;
use crate::congestion::isolation::{CimType, Peer};
use crate::congestion::proxy::Senders;
use crate::congestion::sfc::CENTISECOND;
use crate::printable;
use crate::report::{Align, Table};
use crate::switch::managed::{Access, At, Kind, Object, ObjectValue, Scope, Unit, get};
use crate::switch::{Attached, AttachedKind, CongestionPlan};
use crate::time::Duration;
use crate::units::{PRIORITIES, PortId, TrafficClass};
use crate::wire::sfcm::Locator;

/// Congestion control of one switch.
#[derive(PartialEq, Serialize)]
pub struct CongestionView {
    pub objects: Vec<ObjectView>,
    pub queues: Vec<WatchView>,
    pub ports: Vec<AttachedView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_accepts: Option<AcceptView>,
}

/// Senders whose messages the proxy accepts.
#[derive(PartialEq, Serialize)]
pub struct AcceptView {
    pub switches: String,
    pub hosts: String,
}

/// A managed object of the whole switch.
#[derive(PartialEq, Serialize)]
pub struct ObjectView {
    pub section: &'static str,
    pub name: &'static str,
    pub value: Value,
    /// Default; null if it depends on other settings.
    pub default: Value,
    pub range: String,
    /// Unit of a number, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<&'static str>,
    /// True if it can be changed at run time.
    pub writable: bool,
    #[serde(skip)]
    text: [String; 2],
}

/// Detection at one queue.
#[derive(PartialEq, Serialize)]
pub struct WatchView {
    pub port: String,
    pub class: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<IsolationView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sfc: Option<MonitorView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fast_cnp: Option<DetectView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qcn: Option<PointView>,
}

/// Selection of congesting frames: above a threshold, or by a curve.
#[derive(PartialEq, Serialize)]
pub struct DetectView {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kmin_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kmax_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pmax: Option<f64>,
}

/// Monitored queue of a source flow control point.
#[derive(PartialEq, Serialize)]
pub struct MonitorView {
    #[serde(flatten)]
    pub detect: DetectView,
    pub target_bytes: u64,
}

/// Monitored queue of congestion isolation.
#[derive(PartialEq, Serialize)]
pub struct IsolationView {
    #[serde(flatten)]
    pub detect: DetectView,
    pub congesting_class: usize,
    pub low_bytes: u64,
    pub cim_above_bytes: u64,
}

/// QCN congestion point.
#[derive(PartialEq, Serialize)]
pub struct PointView {
    pub set_point_bytes: u64,
    pub weight: i8,
    pub sample_base_bytes: u64,
    pub jitter_percent: u8,
}

/// Device attached to a port.
#[derive(PartialEq, Serialize)]
pub struct AttachedView {
    pub port: String,
    pub attached: &'static str,
    pub locator: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<PeerView>,
}

/// Entry of the CI peer table.
#[derive(PartialEq, Serialize)]
pub struct PeerView {
    pub cim_type: &'static str,
    pub mac: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<String>,
    pub udp_port: u16,
    pub encap_len: u16,
}

impl CongestionView {
    /// Returns None if the switch has no congestion control. `names` are those of its ports.
    pub fn new(plan: &CongestionPlan, names: &[String]) -> Option<Self> {
        let objects: Vec<_> = Object::all()
            .filter(|object| object.section().is_in(plan) && object.scope() == Scope::Bridge)
            .filter_map(|object| object_view(plan, names.len(), object))
            .collect();
        if objects.is_empty() {
            return None;
        }
        let queues = names.iter().enumerate().flat_map(|(port, name)| {
            (0..PRIORITIES).filter_map(move |class| watch_view(plan, name, port, class))
        });
        let attached = |(port, name): (usize, &String)| attached_view(plan, port, name);
        Some(Self {
            objects,
            queues: queues.collect(),
            ports: names.iter().enumerate().map(attached).collect(),
            proxy_accepts: plan.proxy.as_ref().map(|proxy| AcceptView {
                switches: senders_text(&proxy.fabric),
                hosts: senders_text(&proxy.hosts),
            }),
        })
    }
}

/// Formats accepted senders: `anybody`, `nobody` or networks.
pub(super) fn senders_text(senders: &Senders) -> String {
    match senders {
        Senders::Nobody => "nobody".into(),
        Senders::Anybody => "anybody".into(),
        Senders::Only(list) => list.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}

fn object_view(plan: &CongestionPlan, ports: usize, object: Object) -> Option<ObjectView> {
    let kind = object.kind();
    // An absent address is shown as none; any other absent object has no value now.
    let value = get(plan, ports, object, At::default())?;
    let default = object.default();
    let life =
        life(plan, object.name()).filter(|life| life.as_picos() % CENTISECOND.as_picos() > 0);
    let (value, text) = match life {
        // Below the object's resolution, as in runs of the virtual world.
        Some(life) => {
            (json!(life.as_picos() as f64 / CENTISECOND.as_picos() as f64), life.to_string())
        }
        None => (as_json(value), kind.show(value)),
    };
    Some(ObjectView {
        section: object.section().key(),
        name: object.name(),
        value,
        default: default.map_or(Value::Null, as_json),
        range: kind.range(),
        unit: match kind {
            Kind::Number { unit, .. } => unit_name(unit),
            _ => None,
        },
        writable: object.access() == Access::ReadWrite,
        text: [text, default.map_or("-".into(), |default| kind.show(default))],
    })
}

/// Lifetime of entries by the name of its object.
fn life(plan: &CongestionPlan, name: &str) -> Option<Duration> {
    match name {
        "sfcMaxFlowLife" => plan.sfc.as_ref().map(|sfc| sfc.point.max_flow_life),
        "ci-max-flow-life" => plan.isolation.as_ref().map(|plan| plan.machine.max_flow_life),
        "sfc_proxy.cache.sfcMaxFlowLife" => plan.proxy.as_ref()?.cache.map(|cache| cache.life),
        _ => None,
    }
}

const fn unit_name(unit: Unit) -> Option<&'static str> {
    match unit {
        Unit::One => None,
        Unit::Octets => Some("octets"),
        Unit::Centiseconds => Some("centiseconds"),
        Unit::Picoseconds => Some("picoseconds"),
        Unit::Share => Some("parts of 65536"),
    }
}

fn as_json(value: ObjectValue) -> Value {
    match value {
        ObjectValue::Unset => Value::Null,
        ObjectValue::Bool(value) => json!(value),
        ObjectValue::Number(value) => json!(value),
        ObjectValue::QueueMap(map) => json!(map),
        ObjectValue::Classes(mask) => {
            json!((0..8).filter(|n| mask >> n & 1 == 1).collect::<Vec<u8>>())
        }
        ObjectValue::Mac(_)
        | ObjectValue::Ipv4(_)
        | ObjectValue::Ipv6(_)
        | ObjectValue::Choice(_) => json!(value.to_string()),
    }
}

/// Detection at one queue, if there is any.
fn watch_view(plan: &CongestionPlan, name: &str, port: usize, class: usize) -> Option<WatchView> {
    let monitored = |mask: u8| mask >> class & 1 == 1;
    let isolation = plan.isolation.as_ref().and_then(|plan| {
        let congesting_class = plan.machine.map.congesting(TrafficClass::ALL[class])?.index();
        let watch = plan.watches[port][class].unwrap_or(plan.machine.watch);
        let detect = DetectView::new(&watch.detect);
        let (low_bytes, cim_above_bytes) = (watch.low.0, watch.cim_above.0);
        Some(IsolationView { detect, congesting_class, low_bytes, cim_above_bytes })
    });
    let sfc = plan.sfc.as_ref().filter(|sfc| monitored(sfc.point.monitored_queues));
    let sfc = sfc.and_then(|plan| plan.monitors[port][class]).map(|monitor| MonitorView {
        detect: DetectView::new(&monitor.detect),
        target_bytes: monitor.target.0,
    });
    let fast_cnp = plan.fast_cnp.as_ref().and_then(|plan| plan.detect[port][class]);
    let fast_cnp = fast_cnp.map(|detect| DetectView::new(&detect));
    let qcn = plan.qcn.as_ref().and_then(|plan| plan.points[port][class]).map(|point| PointView {
        set_point_bytes: point.set_point.0,
        weight: point.weight,
        sample_base_bytes: point.sample_base.0,
        jitter_percent: point.jitter,
    });
    let any = isolation.is_some() || sfc.is_some() || fast_cnp.is_some() || qcn.is_some();
    any.then(|| WatchView { port: name.to_owned(), class, isolation, sfc, fast_cnp, qcn })
}

impl DetectView {
    fn new(detect: &Detect) -> Self {
        let (threshold_bytes, curve) = match detect {
            Detect::Length(threshold) => (Some(threshold.0), None),
            Detect::Aqm(curve) => (None, Some(curve)),
        };
        Self {
            threshold_bytes,
            kmin_bytes: curve.map(|curve| curve.kmin.0),
            kmax_bytes: curve.map(|curve| curve.kmax.0),
            pmax: curve.map(|curve| f64::from(curve.pmax) / 65_536.0),
        }
    }
}

fn attached_view(plan: &CongestionPlan, port: usize, name: &str) -> AttachedView {
    let Attached { kind, locator } = plan.ports.get(port).copied().unwrap_or_default();
    let peers = plan.isolation.iter().flat_map(|plan| &plan.peers);
    let peer = peers.filter(|(at, _)| PortId::index(*at) == port).map(|(_, peer)| peer_view(peer));
    AttachedView {
        port: name.to_owned(),
        attached: match kind {
            AttachedKind::Switch => "switch",
            AttachedKind::Host => "host",
            AttachedKind::SfcHost => "sfc_host",
            AttachedKind::Discovered => "auto",
        },
        locator: match locator {
            Some(Locator::Incast) => "incast",
            Some(Locator::InNetwork) => "in_network",
            Some(Locator::Unknown) => "unknown",
            None => "auto",
        },
        peer: { peer }.next(),
    }
}

fn peer_view(peer: &Peer) -> PeerView {
    PeerView {
        cim_type: match peer.cim_type {
            CimType::L2 => "l2",
            CimType::Ipv4 => "ipv4",
            CimType::Ipv6 => "ipv6",
        },
        mac: peer.mac.to_string(),
        ipv4: peer.ipv4.map(|address| address.to_string()),
        ipv6: peer.ipv6.map(|address| address.to_string()),
        udp_port: peer.udp_port,
        encap_len: peer.encap_len,
    }
}

/// Tables of one switch or of all switches of a lab; equal switches share a table under all their
/// names, and port names are prefixed by those of their switches.
pub struct Tables<'a>(pub &'a [(String, &'a CongestionView)]);

impl fmt::Display for Tables<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (names, view) in alike(self.0) {
            if !names.is_empty() {
                writeln!(f, "congestion, {}:", printable::line(&names))?;
            }
            writeln!(f, "{}", object_table(&view.objects))?;
            if let Some(AcceptView { switches, hosts }) = &view.proxy_accepts {
                writeln!(f, "proxy accepts from switches: {switches}; from hosts: {hosts}\n")?;
            }
        }
        writeln!(f, "{}", queue_table(self.0.iter().flat_map(|(_, view)| &view.queues)))?;
        writeln!(f, "{}", port_table(self.0.iter().flat_map(|(_, view)| &view.ports)))
    }
}

/// Groups switches whose objects have equal values, with one view per group.
fn alike<'a>(all: &'a [(String, &'a CongestionView)]) -> Vec<(String, &'a CongestionView)> {
    let mut out: Vec<(Vec<&str>, &CongestionView)> = Vec::new();
    for (name, view) in all {
        let same = |other: &CongestionView| {
            other.objects == view.objects && other.proxy_accepts == view.proxy_accepts
        };
        match out.iter_mut().find(|(_, other)| same(other)) {
            Some((names, _)) => names.push(name),
            None => out.push((vec![name], view)),
        }
    }
    out.into_iter().map(|(names, view)| (few(&names), view)).collect()
}

fn object_table(objects: &[ObjectView]) -> Table {
    let mut table = Table::new([
        ("object", Align::Left),
        ("value", Align::Left),
        ("default", Align::Left),
        ("range", Align::Left),
    ]);
    for object in objects {
        let [value, default] = object.text.clone();
        table.row([object.name.into(), value, default, object.range.clone()]);
    }
    table
}

fn queue_table<'a>(queues: impl Iterator<Item = &'a WatchView>) -> Table {
    let mut table = Table::new([
        ("port", Align::Left),
        ("queue", Align::Left),
        ("isolation", Align::Left),
        ("SFC", Align::Left),
        ("fast CNP", Align::Left),
        ("QCN", Align::Left),
    ]);
    let key = |queue: &WatchView| {
        let or = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        [
            queue.class.to_string(),
            or(queue.isolation.as_ref().map(isolation_text)),
            or(queue.sfc.as_ref().map(|monitor| {
                format!(
                    "{}, down to {}",
                    detect_text(&monitor.detect),
                    octets(monitor.target_bytes)
                )
            })),
            or(queue.fast_cnp.as_ref().map(detect_text)),
            or(queue.qcn.as_ref().map(point_text)),
        ]
    };
    for ([class, isolation, sfc, cnp, qcn], alike) in gather(queues, key) {
        let names: Vec<&str> = alike.iter().map(|queue| queue.port.as_str()).collect();
        table.row([few(&names), class, isolation, sfc, cnp, qcn]);
    }
    table
}

fn port_table<'a>(ports: impl Iterator<Item = &'a AttachedView>) -> Table {
    let mut table = Table::new([
        ("port", Align::Left),
        ("attached", Align::Left),
        ("locator", Align::Left),
        ("CI peer", Align::Left),
    ]);
    let key = |port: &AttachedView| {
        let peer = port.peer.as_ref().map_or("-".into(), |peer| {
            let address = peer.ipv4.as_ref().or(peer.ipv6.as_ref()).unwrap_or(&peer.mac);
            format!("{} to {address}, {} octets", peer.cim_type, peer.encap_len)
        });
        [port.attached.to_owned(), port.locator.into(), peer]
    };
    for ([attached, locator, peer], alike) in gather(ports, key) {
        let names: Vec<&str> = alike.iter().map(|port| port.port.as_str()).collect();
        table.row([few(&names), attached, locator, peer]);
    }
    table
}

fn detect_text(detect: &DetectView) -> String {
    match (detect.threshold_bytes, detect.kmin_bytes, detect.kmax_bytes, detect.pmax) {
        (None, Some(kmin), Some(kmax), Some(pmax)) => {
            format!("{} to {}, {:.1} %", octets(kmin), octets(kmax), pmax * 100.0)
        }
        (threshold, ..) => format!("above {}", octets(threshold.unwrap_or_default())),
    }
}

fn isolation_text(watch: &IsolationView) -> String {
    format!(
        "{} to {}, back at {}, CIM above {}",
        detect_text(&watch.detect),
        watch.congesting_class,
        octets(watch.low_bytes),
        octets(watch.cim_above_bytes)
    )
}

fn point_text(point: &PointView) -> String {
    format!(
        "{}, weight 2^{}, every {} +- {} %",
        octets(point.set_point_bytes),
        point.weight,
        octets(point.sample_base_bytes),
        point.jitter_percent
    )
}

/// Formats names; of many, the first and the last.
fn few(names: &[&str]) -> String {
    match names {
        [first, _, .., last] if names.len() > 4 => format!("{first} to {last} ({})", names.len()),
        few => few.join(", "),
    }
}
