//! Congestion control of a switch, as tables and JSON show it: managed objects, detection per
//! queue, and attachments of ports.

use std::fmt;

use serde_json::{Value, json};

use super::render::{Json, few, gather, grouped_table, object, or_dash, some};
use crate::config::quantity::octets;
use crate::congestion::Detect;
use crate::congestion::isolation::{Peer, Watch};
use crate::congestion::proxy::Senders;
use crate::congestion::qcn::PointPlan;
use crate::congestion::sfc::{CENTISECOND, Monitor};
use crate::printable;
use crate::switch::managed::{Access, At, Kind, Object, ObjectValue, Scope, Unit, get};
use crate::switch::{Attached, CongestionPlan};
use crate::time::Duration;
use crate::units::{PRIORITIES, PortId, TrafficClass, percent_of_parts, share_of_parts};
use crate::wire::sfcm::Locator;
use ::text::Align::Left;
use ::text::Table;

/// Congestion control of one switch, whose ports have these names.
pub struct Switch<'a> {
    plan: &'a CongestionPlan,
    names: Vec<String>,
    objects: Vec<Shown>,
}

/// A managed object of the whole switch, with its value as JSON and as text.
struct Shown {
    object: Object,
    value: Value,
    text: String,
}

/// Returns the objects of a port or a queue whose names begin with `prefix`: the last part of the name with
/// its unit, and the value. Times are shown as `time` does.
pub fn settings(
    plan: &CongestionPlan,
    place: At,
    prefix: &str,
    time: fn(Duration) -> Json,
) -> Json {
    let ports = place.port.map_or(0, PortId::index) + 1;
    let mut fields = Vec::new();
    for object in Object::all().filter(|object| object.name().starts_with(prefix)) {
        let Some(value) = get(plan, ports, object, place) else { continue };
        let name = object.name().rsplit('.').next().unwrap_or_default();
        let (unit, shown) = match (object.kind(), value) {
            (Kind::Number { unit, .. }, ObjectValue::Number(n)) => match unit {
                // A time that is 0 by default, and is 0, is none.
                Unit::Picoseconds if n == 0 && object.default() == Some(value) => continue,
                Unit::Picoseconds => ("_ns", time(Duration::from_picos(n.unsigned_abs()))),
                Unit::Share => ("", share_of_parts(n as u32).into()),
                Unit::Octets => ("_bytes", as_json(value).into()),
                Unit::Percent => ("_percent", as_json(value).into()),
                Unit::Centiseconds => ("_cs", as_json(value).into()),
                Unit::BitsPerSecond => ("_bps", as_json(value).into()),
                Unit::One => ("", as_json(value).into()),
            },
            _ => ("", as_json(value).into()),
        };
        fields.push((format!("{name}{unit}").into(), shown));
    }
    Json::Object(fields)
}

/// Detection at one queue.
struct Queue<'a> {
    plan: &'a CongestionPlan,
    place: At,
    port: &'a str,
    class: usize,
    /// Detection, and the class of congesting frames.
    isolation: Option<(Watch, usize)>,
    sfc: Option<Monitor>,
    fast_cnp: Option<Detect>,
    qcn: Option<PointPlan>,
}

impl<'a> Switch<'a> {
    /// Returns None if the switch has no congestion control.
    pub fn new(plan: &'a CongestionPlan, names: Vec<String>) -> Option<Self> {
        // Objects of the whole bridge alone: those of ports and queues have tables of their own.
        let objects: Vec<_> = Object::all()
            .filter(|object| object.section().is_in(plan) && object.scope() == Scope::Bridge)
            .filter_map(|object| Shown::new(plan, names.len(), object))
            .collect();
        (!objects.is_empty()).then_some(Self { plan, names, objects })
    }

    pub fn json(&self) -> Json {
        let ports = (0..self.names.len()).map(|port| {
            let (attached, locator) = attached(self.plan, port);
            let peer = peer(self.plan, port).map(peer_json);
            let port = self.names[port].clone();
            object! { port: port, attached: attached, locator: locator, peer: some(peer) }
        });
        let senders = self.plan.proxy.as_ref().map(|proxy| {
            object! { switches: senders(&proxy.fabric), hosts: senders(&proxy.hosts) }
        });
        object! {
            objects: self.objects.iter().map(Shown::json).collect::<Vec<_>>(),
            queues: self.queues().map(|queue| queue.json()).collect::<Vec<_>>(),
            ports: ports.collect::<Vec<_>>(),
            proxy_accepts: some(senders),
        }
    }

    fn queues(&self) -> impl Iterator<Item = Queue<'_>> {
        let names = self.names.iter().enumerate();
        names.flat_map(move |(port, name)| {
            (0..PRIORITIES).filter_map(move |class| Queue::new(self.plan, name, port, class))
        })
    }

    /// Returns the table of objects and the accepted senders.
    fn text(&self) -> String {
        let mut table =
            Table::new(["object", "value", "default", "range"].map(|name| (name, Left)));
        for Shown { object, text, .. } in &self.objects {
            let kind = object.kind();
            let default = or_dash(object.default().map(|default| kind.show(default)));
            table.row([object.name().into(), text.clone(), default, kind.range()]);
        }
        let accepts = self.plan.proxy.as_ref().map_or(String::new(), |proxy| {
            let (switches, hosts) = (senders(&proxy.fabric), senders(&proxy.hosts));
            format!("proxy accepts from switches: {switches}; from hosts: {hosts}\n\n")
        });
        format!("{table}\n{accepts}")
    }
}

/// Formats accepted senders: `anybody`, `nobody` or networks.
pub fn senders(senders: &Senders) -> String {
    match senders {
        Senders::Nobody => "nobody".into(),
        Senders::Anybody => "anybody".into(),
        Senders::Only(list) => list.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}

impl Shown {
    /// Returns None for an absent object, other than an address, which is shown as none.
    fn new(plan: &CongestionPlan, ports: usize, object: Object) -> Option<Self> {
        let value = get(plan, ports, object, At::default())?;
        let life =
            life(plan, object.name()).filter(|life| life.as_picos() % CENTISECOND.as_picos() > 0);
        let (value, text) = match life {
            // Below the object's resolution, as in runs of the virtual world.
            Some(life) => {
                (json!(life.as_picos() as f64 / CENTISECOND.as_picos() as f64), life.to_string())
            }
            None => (as_json(value), object.kind().show(value)),
        };
        Some(Self { object, value, text })
    }

    fn json(&self) -> Json {
        let object = self.object;
        let unit = match object.kind() {
            Kind::Number { unit, .. } => unit_name(unit),
            _ => None,
        };
        object! {
            section: object.section().key(),
            name: object.name(),
            value: self.value.clone(),
            // Null if it depends on other settings.
            default: object.default().map(as_json),
            range: object.kind().range(),
            unit: some(unit),
            writable: object.access() == Access::ReadWrite,
        }
    }
}

/// Lifetime of entries by the name of its object.
fn life(plan: &CongestionPlan, name: &str) -> Option<Duration> {
    match name {
        "sfcMaxFlowLife" => plan.sfc.as_ref().map(|sfc| sfc.point.max_flow_life),
        "ci-max-flow-life" => plan.isolation.as_ref().map(|plan| plan.machine.max_flow_life),
        "sfc_proxy.sfcMaxFlowLife" => plan.proxy.as_ref().map(|proxy| proxy.max_flow_life),
        "sfc_proxy.cache.sfcMaxFlowLife" => plan.proxy.as_ref()?.cache.map(|cache| cache.life),
        _ => None,
    }
}

const fn unit_name(unit: Unit) -> Option<&'static str> {
    match unit {
        Unit::One | Unit::Percent => None,
        Unit::Octets => Some("octets"),
        Unit::Centiseconds => Some("centiseconds"),
        Unit::Picoseconds => Some("picoseconds"),
        Unit::Share => Some("parts of 65536"),
        Unit::BitsPerSecond => Some("bit/s"),
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

impl<'a> Queue<'a> {
    /// Returns None without detection.
    fn new(plan: &'a CongestionPlan, port: &'a str, n: usize, class: usize) -> Option<Self> {
        // `sfcMonitoredQueues` is a bit mask of classes.
        let monitored = |mask: u8| mask >> class & 1 == 1;
        let isolation = plan.isolation.as_ref().and_then(|plan| {
            let congesting = plan.machine.map.congesting(TrafficClass::ALL[class])?.index();
            Some((plan.watches[n][class].unwrap_or(plan.machine.watch), congesting))
        });
        let sfc = plan.sfc.as_ref().filter(|sfc| monitored(sfc.point.monitored_queues));
        let sfc = sfc.and_then(|plan| plan.monitors[n][class]);
        let fast_cnp = plan.fast_cnp.as_ref().and_then(|plan| plan.detect[n][class]);
        let qcn = plan.qcn.as_ref().and_then(|plan| plan.points[n][class]);
        // A queue that detects nothing has no row.
        let any = isolation.is_some() || sfc.is_some() || fast_cnp.is_some() || qcn.is_some();
        let id = u16::try_from(n).ok().and_then(PortId::new);
        let place = At { port: id, class: Some(TrafficClass::ALL[class]) };
        any.then_some(Self { plan, place, port, class, isolation, sfc, fast_cnp, qcn })
    }

    fn json(&self) -> Json {
        let own = |prefix| settings(self.plan, self.place, prefix, Json::from);
        let isolation = self.isolation.map(|(watch, congesting)| {
            let class = object! { congesting_class: congesting };
            detect(&watch.detect).and(class).and(own("congestion_isolation.queues."))
        });
        let sfc = self.sfc.map(|_| own("sfc.queues."));
        let fast_cnp = self.fast_cnp.map(|_| own("fast_cnp.queues."));
        let qcn = self.qcn.map(|point| {
            // The MIB has other names for these.
            let standard = object! {
                set_point_bytes: point.set_point,
                weight: point.weight,
                sample_base_bytes: point.sample_base,
            };
            standard.and(own("qcn.queues."))
        });
        object! {
            port: self.port,
            class: self.class,
            isolation: some(isolation),
            sfc: some(sfc),
            fast_cnp: some(fast_cnp),
            qcn: some(qcn),
        }
    }

    fn row(&self) -> Vec<String> {
        let isolation = self.isolation.map(|(watch, to)| {
            let (low, above) = (octets(watch.low.0), octets(watch.cim_above.0));
            format!("{} to {to}, back at {low}, CIM above {above}", detect_text(&watch.detect))
        });
        let sfc =
            self.sfc.map(|m| format!("{}, down to {}", detect_text(&m.detect), octets(m.target.0)));
        let qcn = self.qcn.map(|point| {
            let (at, base) = (octets(point.set_point.0), octets(point.sample_base.0));
            format!("{at}, weight 2^{}, every {base} +- {} %", point.weight, point.jitter)
        });
        let fast_cnp = self.fast_cnp.as_ref().map(detect_text);
        [Some(self.class.to_string()), isolation, sfc, fast_cnp, qcn].map(or_dash).into()
    }
}

/// Selection of congesting frames: above a threshold, or by a curve.
fn detect(detect: &Detect) -> Json {
    match detect {
        Detect::Length(threshold) => object! { threshold_bytes: *threshold },
        Detect::Aqm(curve) => object! {
            kmin_bytes: curve.kmin,
            kmax_bytes: curve.kmax,
            pmax: share_of_parts(curve.pmax),
        },
    }
}

fn detect_text(detect: &Detect) -> String {
    match detect {
        Detect::Length(threshold) => format!("above {}", octets(threshold.0)),
        Detect::Aqm(curve) => {
            let percent = percent_of_parts(curve.pmax);
            format!("{} to {}, {percent}", octets(curve.kmin.0), octets(curve.kmax.0))
        }
    }
}

/// Names the device attached to a port, and its locator.
fn attached(plan: &CongestionPlan, port: usize) -> (&'static str, &'static str) {
    let Attached { kind, locator } = plan.ports.get(port).copied().unwrap_or_default();
    let kind = kind.name();
    let locator = match locator {
        Some(Locator::Incast) => "incast",
        Some(Locator::InNetwork) => "in_network",
        Some(Locator::Unknown) => "unknown",
        None => "auto",
    };
    (kind, locator)
}

/// Returns a port's entry of the CI peer table.
fn peer(plan: &CongestionPlan, port: usize) -> Option<&Peer> {
    let mut peers = plan.isolation.iter().flat_map(|plan| &plan.peers);
    peers.find(|(at, _)| PortId::index(*at) == port).map(|(_, peer)| peer)
}

fn peer_json(peer: &Peer) -> Json {
    object! {
        cim_type: peer.cim_type.name(),
        mac: peer.mac,
        ipv4: some(peer.ipv4),
        ipv6: some(peer.ipv6),
        udp_port: peer.udp_port,
        encap_len: peer.encap_len,
    }
}

fn peer_text(peer: &Peer) -> String {
    // A layer-2 peer has neither, and is addressed by its MAC address.
    let ip = peer.ipv4.map(|ip| ip.to_string()).or(peer.ipv6.map(|ip| ip.to_string()));
    let address = ip.unwrap_or_else(|| peer.mac.to_string());
    format!("{} to {address}, {} octets", peer.cim_type.name(), peer.encap_len)
}

/// Tables of one switch or of all switches of a lab; equal switches share a table under all their
/// names, and port names are prefixed by those of their switches.
pub struct Tables<'a>(pub &'a [(&'a str, Switch<'a>)]);

impl fmt::Display for Tables<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Compared by their text: switches that look alike share it.
        for (text, alike) in gather(self.0.iter(), |(_, switch)| switch.text()) {
            let names: Vec<&str> = alike.iter().map(|(name, _)| *name).collect();
            let names = few(&names);
            // A single switch file needs no name above its table.
            if !names.is_empty() {
                writeln!(f, "congestion, {}:", printable::line(&names))?;
            }
            f.write_str(&text)?;
        }
        let head =
            ["port", "queue", "isolation", "SFC", "fast CNP", "QCN"].map(|name| (name, Left));
        let queues = self.0.iter().flat_map(|(_, switch)| switch.queues());
        let queues = queues.map(|queue| (queue.port.to_owned(), queue.row()));
        let queues = grouped_table(head, queues, few).unwrap_or_else(|| Table::new(head));
        let head = ["port", "attached", "locator", "CI peer"].map(|name| (name, Left));
        let ports = self.0.iter().flat_map(|(_, Switch { plan, names, .. })| {
            names.iter().enumerate().map(|(port, name)| {
                let (attached, locator) = attached(plan, port);
                let peer = or_dash(peer(plan, port).map(peer_text));
                (name.clone(), vec![attached.into(), locator.into(), peer])
            })
        });
        writeln!(f, "{queues}")?;
        grouped_table(head, ports, few).map_or(Ok(()), |ports| writeln!(f, "{ports}"))
    }
}
