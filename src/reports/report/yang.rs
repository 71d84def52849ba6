//! Managed objects of a running switch as data of YANG modules, in RFC 7951 encoding.
//!
//! Objects of congestion isolation have the places of the published 802.1Qcz modules, below a
//! component of a bridge and below the bridge ports of interfaces; all others have places beside
//! them in modules of this project, whose text is [`MODULES`].

mod modules;
mod types;

pub use modules::{CACHE_COLUMNS, MODULES, Module, STREAM_COLUMNS};

use std::time::SystemTime;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};

use super::events::{Delays, MeasurementRow, delays_tree};
use super::objects::{ObjectTable, Reading, counted, readings};
use contracts::stats::SwitchSnapshot;
use ground::units::Mac;
use link::Method;
use switch::SwitchPlan;
use switch::managed::{At, Kind, Listing, Object, ObjectValue, Scope, Section, Source};

/// A port whose link is measured.
#[derive(Clone, PartialEq, Debug)]
pub struct MeasuredPort {
    /// Index of the port.
    pub port: usize,
    /// Its methods, the one that headroom uses first. Not empty.
    pub methods: Vec<MeasuredBy>,
}

/// Measurement of a link by one method.
#[derive(Clone, PartialEq, Debug)]
pub struct MeasuredBy {
    pub method: &'static str,
    /// State of automatic headroom if it uses this method, else of the method's own measurement.
    pub state: &'static str,
    /// Exchanges and delays of the last result.
    pub last: Option<(u16, Delays)>,
    /// Octets of headroom that follow for a lossless group, if this method found them.
    pub headroom: Option<u64>,
    /// By name, as in results.
    pub counters: Vec<(&'static str, u64)>,
}

/// State of a running switch.
#[derive(Clone, Copy, Debug)]
pub struct YangSource<'a> {
    pub plan: &'a SwitchPlan,
    pub snapshot: &'a SwitchSnapshot,
    /// Time from which the counters are.
    pub since: SystemTime,
    /// True for each port whose device itself sends and obeys PFC.
    pub hardware_pfc: &'a [bool],
    pub tables: &'a [ObjectTable],
    pub measured: &'a [MeasuredPort],
    pub history: &'a [MeasurementRow],
}

/// Nodes that are filled.
struct Tree {
    component: Map<String, Value>,
    /// The `bridge-port` of each port.
    ports: Vec<Map<String, Value>>,
}

/// Returns the data of all modules.
#[must_use]
pub fn yang_tree(source: &YangSource<'_>) -> Value {
    let YangSource { plan, snapshot, .. } = source;
    let ports = plan.ports.len();
    let mut tree = Tree { component: Map::new(), ports: vec![Map::new(); ports] };
    // Read once for all objects, from one snapshot, so that the counters fit together.
    let counted = counted(plan, Some(snapshot), source.hardware_pfc);
    for object in Object::all() {
        for (at, reading) in readings(&plan.congestion, ports, object, &counted) {
            match object.source() {
                Source::Isolation(_) => published_object(&mut tree, plan, object, at, &reading),
                _ => own(&mut tree, object, at, &reading),
            }
        }
    }
    // Tables of a section that is off are not listed, as its container does not exist.
    let of_section = |listing: Listing| {
        let (name, section) = listing.place();
        let table = source.tables.iter().find(|table| table.name == name);
        table.filter(|_| section.is_in(&plan.congestion))
    };
    for (listing, table) in Listing::ALL.into_iter().filter_map(|l| Some((l, of_section(l)?))) {
        match listing {
            Listing::Peers => peer_table(&mut tree, table, plan),
            Listing::Measurements | Listing::MeasurementCounters => {}
            Listing::ProxyCache => list(&mut tree, listing, table, table.name.as_str()),
            Listing::Streams(switch::managed::Streams::Isolation) => {
                stream_table(&mut tree, table);
                list(&mut tree, listing, table, "stream");
            }
            Listing::Streams(_) => list(&mut tree, listing, table, table.name.as_str()),
        }
    }
    for measured in source.measured {
        let name = plan.ports.get(measured.port).map_or("", |port| port.name.as_str());
        let history = source.history.iter().filter(|row| row.port == name);
        if let Some(port) = tree.ports.get_mut(measured.port) {
            measurement(section(port, Section::Measurement), measured, history);
        }
    }
    whole(source, tree)
}

/// Returns the container of a section.
fn section(parent: &mut Map<String, Value>, section: Section) -> &mut Map<String, Value> {
    let name = format!("{}:{}", modules::module_of(section), section.key());
    let value = parent.entry(name).or_insert_with(|| Value::Object(Map::new()));
    value.as_object_mut().expect("a container is an object")
}

/// Adds an entry to a list, which is created if it is missing.
fn push(parent: &mut Map<String, Value>, list: &str, entry: Value) {
    let list = parent.entry(list).or_insert_with(|| Value::Array(vec![]));
    list.as_array_mut().expect("a list is an array").push(entry);
}

/// Encodes a reading of an object.
fn encoded(object: Object, reading: &Reading) -> Option<Value> {
    match (reading, object.kind()) {
        (Reading::Count(n), Kind::Counter(counter)) => Some(types::counted(counter, *n)),
        // Only counters are counted, so this is never read.
        (Reading::Count(_), _) => None,
        (Reading::Value(value), kind) => types::encoded(kind, *value),
    }
}

/// Places an object of a module of this project.
fn own(tree: &mut Tree, object: Object, at: At, reading: &Reading) {
    let Some(value) = encoded(object, reading) else { return };
    let parent = match at.port {
        None => &mut tree.component,
        Some(port) => &mut tree.ports[port.index()],
    };
    let container = section(parent, object.section());
    let node = match at.class {
        None => container,
        Some(class) => {
            let list = container.entry("queue").or_insert_with(|| Value::Array(vec![]));
            let list = list.as_array_mut().expect("a list is an array");
            let class = Value::from(class.get());
            let found = list.iter().position(|queue| queue["traffic-class"] == class);
            // The entry of a queue is made by its first object.
            let found = found.unwrap_or_else(|| {
                list.push(json!({"traffic-class": class}));
                list.len() - 1
            });
            list[found].as_object_mut().expect("an entry is an object")
        }
    };
    node.insert(object.name().into(), value);
}

/// Places a table as a list of a module of this project.
fn list(tree: &mut Tree, listing: Listing, table: &ObjectTable, name: &str) {
    let container = section(&mut tree.component, listing.place().1);
    let columns =
        if listing == Listing::ProxyCache { &CACHE_COLUMNS[..] } else { &STREAM_COLUMNS[..] };
    for row in &table.rows {
        let cells = columns.iter().zip(row).filter(|(_, value)| !value.is_null());
        let cell = |(name, value): (&&str, &Value)| {
            let (_, wide) = types::column(name);
            let value = if wide { Value::String(value.to_string()) } else { value.clone() };
            ((*name).to_owned(), value)
        };
        push(container, name, cells.map(cell).collect());
    }
}

/// Adds state, counters and history to the container of a port's measurement.
fn measurement<'a>(
    container: &mut Map<String, Value>,
    measured: &MeasuredPort,
    history: impl Iterator<Item = &'a MeasurementRow>,
) {
    for (n, by) in measured.methods.iter().enumerate() {
        let mut state = json!({"state": by.state});
        if let Some((rounds, delays)) = &by.last {
            state["method"] = by.method.into();
            state["rounds"] = (*rounds).into();
            state["result"] = delays_tree(delays);
        }
        if let Some(octets) = by.headroom {
            state["headroom"] = octets.to_string().into();
        }
        // The first method is the one that headroom uses, so its state is that of the port.
        if n == 0 {
            container.insert("state".into(), state.clone());
        }
        let counters = by.counters.iter();
        // YANG names have dashes; 64-bit numbers are strings in RFC 7951.
        let counters: Map<String, Value> =
            counters.map(|(name, n)| (name.replace('_', "-"), n.to_string().into())).collect();
        if by.method == Method::PeerDelay.name() {
            state["counters"] = counters.into();
            container.insert("peer-delay".into(), state);
        } else {
            container.insert("counters".into(), counters.into());
        }
    }
    for row in history {
        let mut entry = json!({
            "number": row.number.to_string(), "rounds": row.rounds, "uptime": row.at_ns.to_string()
        });
        for (name, text) in [("method", &row.method), ("reason", &row.failure)] {
            if let Some(text) = text {
                entry[name] = text.as_str().into();
            }
        }
        if let Some(delays) = &row.delays {
            entry["delays"] = delays_tree(delays);
        }
        push(container, "history", entry);
    }
}

/// Returns the bridge and the interfaces around what was filled.
fn whole(source: &YangSource<'_>, tree: Tree) -> Value {
    let YangSource { plan, snapshot, since, .. } = source;
    // A bridge has a name of at most 32 characters.
    let name: String = plan.name.chars().take(32).collect();
    let count = plan.ports.len();
    let first = plan.ports.first().map_or(Mac::default(), |port| port.mac);
    let mut component = json!({
        "name": name, "type": "ieee802-dot1q-bridge:c-vlan-component", "ports": count
    });
    component.as_object_mut().expect("an object").extend(tree.component);
    let bridge = json!({
        "name": name,
        "address": mac(first),
        "bridge-type": "ieee802-dot1q-bridge:customer-vlan-bridge",
        "ports": count,
        // A customer bridge has one component.
        "components": 1,
        "component": [component],
    });
    let interface = |(n, port): (usize, Map<String, Value>)| {
        let up = snapshot.ports.get(n).is_some_and(|port| port.up);
        let mut node = json!({
            "bridge-name": name, "component-name": name, "port-number": n + 1
        });
        node.as_object_mut().expect("an object").extend(port);
        json!({
            "name": plan.ports[n].name,
            "type": "iana-if-type:ethernetCsmacd",
            "oper-status": if up { "up" } else { "down" },
            "phys-address": plan.ports[n].mac.to_string(),
            "statistics": {"discontinuity-time": date(*since)},
            "ieee802-dot1q-bridge:bridge-port": node,
        })
    };
    let interfaces: Vec<Value> = tree.ports.into_iter().enumerate().map(interface).collect();
    json!({
        "ieee802-dot1q-bridge:bridges": {"bridge": [bridge]},
        "ietf-interfaces:interfaces": {"interface": interfaces},
    })
}

/// Writes an address as ieee802-types does, with dashes and capitals.
fn mac(mac: Mac) -> String {
    mac.to_string().replace(':', "-").to_uppercase()
}

/// Writes a time as `date-and-time` of RFC 6991, in UTC.
fn date(time: SystemTime) -> String {
    DateTime::<Utc>::from(time).to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Module of the augmenting nodes.
const PUBLISHED: &str = "ieee802-dot1q-congestion-isolation-bridge";

/// Ticks of 10 ms, of which `create-time` has 32 bits.
const TICK_NS: u64 = 10_000_000;

fn qualified(name: &str) -> String {
    format!("{PUBLISHED}:{name}")
}

/// Returns a container of the component.
fn published_container<'a>(tree: &'a mut Tree, name: &str) -> &'a mut Map<String, Value> {
    let value = tree.component.entry(qualified(name)).or_insert_with(|| Value::Object(Map::new()));
    value.as_object_mut().expect("a container is an object")
}

/// Places an object. Those that Sluice has once for all ports are at each port.
fn published_object(tree: &mut Tree, plan: &SwitchPlan, object: Object, at: At, reading: &Reading) {
    let name = object.name();
    let value = encoded(object, reading);
    match (name, reading) {
        // Sluice has one map for all ports, the module one for each.
        ("queue-map", Reading::Value(ObjectValue::QueueMap(map))) => {
            for port in &mut tree.ports {
                port.insert(qualified(name), queue_map(map));
            }
        }
        ("min-header-octets" | "max-cim-tx", _) => {
            for port in &mut tree.ports {
                port.extend(value.clone().map(|value| (qualified(name), value)));
            }
        }
        ("max-ci-peer-entries", _) => {
            published_container(tree, "ci-peers").extend(value.map(|value| (name.into(), value)));
        }
        _ if object.scope() == Scope::Port => {
            let Some(port) = at.port.map(|port| port.index()) else { return };
            // Without its own address the point has the port's.
            let of_port = (name == "cip-mac-address").then(|| mac(plan.ports[port].mac).into());
            let value = value.or(of_port).map(|value| (qualified(name), value));
            tree.ports[port].extend(value);
        }
        _ => tree.component.extend(value.map(|value| (qualified(name), value))),
    }
}

/// Returns the map as a list with the names of the module's enumeration.
fn queue_map(map: &[i8]) -> Value {
    let entry = |(class, n): (usize, &i8)| {
        let name = match n {
            0 => "not-participating-congestion-isolation".to_owned(),
            1.. => format!("monitored-queue-tc-{n}"),
            _ => format!("congesting-queue-tc-{}", n.unsigned_abs()),
        };
        json!({"priority": class, "abs-traffic-class-plus-one": name})
    };
    map.iter().enumerate().map(entry).collect()
}

/// Returns the cell of a column.
fn cell<'a>(table: &ObjectTable, row: &'a [Value], name: &str) -> Option<&'a Value> {
    let column = table.columns.iter().position(|column| column == name)?;
    row.get(column).filter(|value| !value.is_null())
}

/// Places the CI peer table, whose key is the number of the port.
fn peer_table(tree: &mut Tree, table: &ObjectTable, plan: &SwitchPlan) {
    for row in &table.rows {
        let mut entry: Map<String, Value> = table
            .columns
            .iter()
            .zip(row)
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let port = plan.ports.iter().position(|port| entry["reception-port"] == port.name.as_str());
        // A peer of a port that is gone has no place.
        let Some(port) = port else { continue };
        // Ports are numbered from 1 in bridges.
        entry.insert("reception-port".into(), (port + 1).into());
        push(published_container(tree, "ci-peers"), "ci-peer-table", entry.into());
    }
}

/// Places the CI stream table. The module has the leaves from `queue-key` on only once, so they are filled
/// in if there is a single stream. The list `stream` of `sluice-switch` has them for every stream.
fn stream_table(tree: &mut Tree, table: &ObjectTable) {
    let node = published_container(tree, "ci-streams");
    for row in &table.rows {
        let number = |name| cell(table, row, name).and_then(Value::as_u64);
        let (Some(handle), Some(cims)) = (number("stream-handle"), number("cim-count")) else {
            continue;
        };
        let mask = number("create-mask").unwrap_or_default();
        let reasons = [(1, "local-create"), (2, "cim-create")].into_iter();
        let reasons = reasons.filter(|(bit, _)| mask & bit != 0).map(|(_, name)| name);
        let mut entry = json!({
            // The handle has 16 bits for the place and the rest for the worker.
            "stream-handle-id": u32::try_from(handle).unwrap_or(u32::MAX),
            "cim-count": u16::try_from(cims).unwrap_or(u16::MAX),
            "create-mask": reasons.collect::<Vec<_>>().join(" "),
        });
        if let Some(created) = number("create-time") {
            entry["create-time"] = ((created / TICK_NS) as u32).into();
        }
        push(node, "ci-stream-table", entry);
    }
    // With several streams a single leaf could only be wrong for all but one.
    let [row] = &table.rows[..] else { return };
    for (column, leaf) in [
        ("queue-key", "queue-key"),
        ("destination-address", "dest-mac-address"),
        ("source-address", "source-mac-address"),
        ("vlan-identifier", "vid"),
    ] {
        // The module has no VID of 0, which is that of a frame without a VLAN.
        let value = cell(table, row, column).filter(|value| value.as_u64() != Some(0));
        node.extend(value.map(|value| (leaf.into(), value.clone())));
    }
}

#[cfg(test)]
mod tests;
