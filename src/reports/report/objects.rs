//! Managed objects by name: as tables for people, as an RFC 7951 tree for programs.
//!
//! Leaves have the names of their documents. No published text names the containers of Source
//! Flow Control and of Sluice's own objects, so containers have the keys of a switch file.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use ::text::Align::Left;
use ::text::{Column, Table, columns};
use buffer::{BufferPlan, GroupKind, GroupPlan};
use contracts::stats::{CongestionSnapshot, SwitchSnapshot};
use ground::printable;
use ground::units::{PortId, TrafficClass, share_of_parts};
use switch::managed::{
    self, At, Counter, Kind, Listing, Object, ObjectValue, Scope, Section, Source, Unit,
};
use switch::{CongestionPlan, SwitchPlan};

/// The value of an object at one place.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectRow {
    pub name: String,
    /// For an object with one value per port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// For an object with one value per traffic class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<u8>,
    /// The value in RFC 7951 encoding; times are in nanoseconds, shares a fraction of one. Null
    /// for an absent address.
    pub value: Value,
    /// The value as text.
    pub text: String,
}

/// A table among the managed objects.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectTable {
    pub name: String,
    pub columns: Vec<String>,
    /// Null for an absent value.
    pub rows: Vec<Vec<Value>>,
    /// Number of further rows that are not listed.
    pub more: u64,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Objects {
    /// The objects with one value, or one per port or queue.
    pub objects: Vec<ObjectRow>,
    pub tables: Vec<ObjectTable>,
}

/// Value of an object at one place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reading {
    Value(ObjectValue),
    Count(u64),
}

/// Returns the values of an object from the plan and the counters. `counted` returns a counter's
/// value of all ports, of one, or of one queue.
pub(super) fn readings(
    plan: &CongestionPlan,
    ports: usize,
    object: Object,
    counted: impl Fn(Counter, At) -> Option<u64>,
) -> Vec<(At, Reading)> {
    let ids = || (0..ports as u16).filter_map(PortId::new);
    let port = |port| At { port: Some(port), class: None };
    let queues = |port| {
        TrafficClass::ALL.into_iter().map(move |class| At { port: Some(port), class: Some(class) })
    };
    let places: Vec<At> = match object.scope() {
        Scope::Bridge => vec![At::default()],
        Scope::Port => ids().map(port).collect(),
        Scope::Queue => ids().flat_map(queues).collect(),
        Scope::Sums => {
            let each = ids().flat_map(|p| std::iter::once(port(p)).chain(queues(p)));
            std::iter::once(At::default()).chain(each).collect()
        }
    };
    let reading = |at: At| {
        Some((
            at,
            match object.kind() {
                Kind::Counter(counter) => Reading::Count(counted(counter, at)?),
                _ => Reading::Value(managed::get(plan, ports, object, at)?),
            },
        ))
    };
    places.into_iter().filter_map(reading).collect()
}

/// Returns the values of an object as rows. `ports` are the ports' names.
pub fn object_rows(
    plan: &CongestionPlan,
    ports: &[&str],
    object: Object,
    counted: impl Fn(Counter, At) -> Option<u64>,
) -> Vec<ObjectRow> {
    let row = |(at, reading): (At, Reading)| {
        let (value, text) = match reading {
            // Counters have 64 bits, which RFC 7951 writes as strings.
            Reading::Count(n) => (Value::String(n.to_string()), n.to_string()),
            Reading::Value(value) => (encoded(object, value), object.kind().show(value)),
        };
        ObjectRow {
            name: object.name().into(),
            port: at.port.map(|port| ports[port.index()].into()),
            class: at.class.map(TrafficClass::get),
            value,
            text,
        }
    };
    readings(plan, ports.len(), object, counted).into_iter().map(row).collect()
}

/// Returns a function that reads the counters among the objects, for a switch with this plan and
/// its monitored queues. Pauses of ports whose devices do PFC themselves (`hardware`, by port) are unknown.
pub fn counted<'a>(
    plan: &'a SwitchPlan,
    snapshot: Option<&'a SwitchSnapshot>,
    hardware: &'a [bool],
) -> impl Fn(Counter, At) -> Option<u64> + 'a {
    move |counter, at| {
        let snapshot = snapshot?;
        let counters = || {
            let port = at.port?.index();
            // A device that does PFC itself sends pauses that the switch does not see.
            let is_known = !hardware.get(port).copied().unwrap_or(false);
            is_known.then_some(&snapshot.ports.get(port)?.counters)
        };
        match counter {
            Counter::PfcRequests => Some(counters()?.pfc_tx_frames),
            Counter::PfcIndications => Some(counters()?.pfc_rx_frames),
            Counter::LinkDelayAllowance => allowance(&plan.buffer, at.port?),
            Counter::TransmittedSfcms | Counter::TransmittedCnms => {
                let signals = counted_signals(&plan.congestion, snapshot.congestion.as_deref());
                signals(counter, at)
            }
        }
    }
}

/// Least headroom of the lossless groups of a port in bits; `None` without such a group.
fn allowance(buffer: &BufferPlan, port: PortId) -> Option<u64> {
    // Lossy groups have none, and must not make the least 0.
    let headroom = |group: &GroupPlan| match group.kind {
        GroupKind::Lossless { headroom, .. } => Some(u64::from(headroom.0)),
        GroupKind::Lossy => None,
    };
    let cells = buffer.groups.get(port.index())?.iter().filter_map(headroom).min()?;
    Some(cells * u64::from(buffer.cell_bytes) * 8)
}

/// Returns a function that reads the counters of congestion signals.
fn counted_signals<'a>(
    plan: &'a CongestionPlan,
    snapshot: Option<&'a CongestionSnapshot>,
) -> impl Fn(Counter, At) -> Option<u64> + 'a {
    move |counter, at| {
        let snapshot = snapshot?;
        let port = at.port.map(PortId::index);
        let class = at.class.map(TrafficClass::index);
        let is_monitored =
            |is: fn(&CongestionPlan, usize, usize) -> Option<bool>| match (port, class) {
                (Some(port), Some(class)) => is(plan, port, class) == Some(true),
                _ => true,
            };
        // Without `_`: a new counter compiles only once it is read here.
        match counter {
            Counter::TransmittedSfcms => {
                let sfc = snapshot.sfc.as_ref()?;
                let is = |plan: &CongestionPlan, port: usize, class: usize| {
                    Some(plan.sfc.as_ref()?.monitors.get(port)?[class].is_some())
                };
                // A queue that is not monitored has no counter; 0 would say that it was watched.
                is_monitored(is).then_some(())?;
                Some(match (port, class) {
                    (None, _) => sfc.counters.transmitted_sfcms,
                    (Some(port), None) => sfc.of_port(port).transmitted_sfcms,
                    (Some(port), Some(class)) => sfc.queues.get(port)?[class].transmitted_sfcms,
                })
            }
            Counter::TransmittedCnms => {
                let qcn = snapshot.qcn.as_ref()?;
                let is = |plan: &CongestionPlan, port: usize, class: usize| {
                    Some(plan.qcn.as_ref()?.points.get(port)?[class].is_some())
                };
                // As above: absent where there is no congestion point.
                is_monitored(is).then_some(())?;
                Some(match (port, class) {
                    (None, _) => qcn.total().transmitted_cnms,
                    (Some(port), None) => {
                        qcn.queues.get(port)?.iter().map(|queue| queue.transmitted_cnms).sum()
                    }
                    (Some(port), Some(class)) => qcn.queues.get(port)?[class].transmitted_cnms,
                })
            }
            Counter::PfcRequests | Counter::PfcIndications | Counter::LinkDelayAllowance => None,
        }
    }
}

/// Encodes a value in JSON.
fn encoded(object: Object, value: ObjectValue) -> Value {
    let unit = match object.kind() {
        Kind::Number { unit, .. } => unit,
        _ => Unit::One,
    };
    match value {
        ObjectValue::Unset => Value::Null,
        ObjectValue::Bool(b) => b.into(),
        ObjectValue::Number(n) => match unit {
            // Whole nanoseconds stay integers, as most times are.
            Unit::Picoseconds if n % 1_000 == 0 => (n / 1_000).into(),
            Unit::Picoseconds => (n as f64 / 1_000.0).into(),
            Unit::Share => share_of_parts(n as u32).into(),
            Unit::One | Unit::Octets | Unit::Centiseconds | Unit::Percent | Unit::BitsPerSecond => {
                n.into()
            }
        },
        // ieee802-types writes addresses with dashes and capitals.
        ObjectValue::Mac(mac) => mac.to_string().replace(':', "-").to_uppercase().into(),
        ObjectValue::Classes(mask) => mask.into(),
        ObjectValue::QueueMap(map) => map.to_vec().into(),
        ObjectValue::Ipv4(_) | ObjectValue::Ipv6(_) | ObjectValue::Choice(_) => {
            value.to_string().into()
        }
    }
}

/// Prints the objects as a table. A value that all ports have in common is in one row.
#[must_use]
pub fn objects_text(objects: &Objects) -> String {
    let mut out = String::new();
    if !objects.objects.is_empty() {
        let columns: [Column<(&ObjectRow, String, Object)>; 6] = columns! { (row, at, object) =>
            Text ["object"] = &*row.name;
            Text ["at"] = &**at;
            Text ["value"] = &*row.text;
            Made ["default"] = default(*object);
            Made ["range"] = object.kind().range();
            Text ["access"] = object.access().word();
        };
        let rows = merged(&objects.objects).into_iter();
        let rows = rows.filter_map(|(row, at)| Some((row, at, Object::named(&row.name).ok()?)));
        out += &Table::of(&rows.collect::<Vec<_>>(), &columns).to_string();
    }
    for table in &objects.tables {
        if !out.is_empty() {
            out.push('\n');
        }
        out += &table_text(table);
    }
    out
}

/// Merges rows that differ only in their port; returns each with its place.
fn merged(rows: &[ObjectRow]) -> Vec<(&ObjectRow, String)> {
    let same = |a: &ObjectRow, b: &ObjectRow| {
        a.name == b.name && a.class == b.class && a.port.is_some() && b.port.is_some()
    };
    let mut out: Vec<(&ObjectRow, String)> = Vec::new();
    for row in rows {
        // A value is merged only if all ports have it: a port that differs is the interesting one.
        let like: Vec<_> = rows.iter().filter(|other| same(row, other)).collect();
        let common = like.len() > 1 && like.iter().all(|other| other.value == row.value);
        if common && !std::ptr::eq(like[0], row) {
            continue;
        }
        let port = match &row.port {
            Some(_) if common => format!("all {} ports", like.len()),
            Some(port) => format!("port {port}"),
            None => "switch".into(),
        };
        let class = row.class.map_or(String::new(), |class| format!(", class {class}"));
        out.push((row, port + &class));
    }
    out
}

fn table_text(table: &ObjectTable) -> String {
    let ObjectTable { name, columns, rows, more } = table;
    if rows.is_empty() {
        return printable::lines([format!("{name}: no entries")]);
    }
    let mut text = Table::new(columns.iter().map(|column| (column.as_str(), Left)));
    for row in rows {
        let cell = |value: &Value| match value {
            Value::Null => "-".into(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        text.row(row.iter().map(cell).collect::<Vec<_>>());
    }
    let rest = if *more > 0 { format!("and {more} more\n") } else { String::new() };
    format!("{}{text}{rest}", printable::lines([name]))
}

/// Describes the objects, without a switch.
#[must_use]
pub fn objects_described(wanted: impl Fn(&str) -> bool) -> Table {
    let columns: [Column<Object>; 7] = columns! { object =>
        Text ["object"] = object.name();
        Made ["of"] = document(object.source());
        Text ["one per"] = per(object.scope());
        Made ["default"] = default(*object);
        Made ["range"] = object.kind().range();
        Text ["access"] = object.access().word();
        Text ["meaning"] = object.doc();
    };
    let all = Object::all().filter(|object| wanted(object.name()));
    Table::of(&all.collect::<Vec<_>>(), &columns)
}

fn default(object: Object) -> Option<String> {
    object.default().map(|value| object.kind().show(value))
}

/// The same as JSON.
#[must_use]
pub fn objects_schema(wanted: impl Fn(&str) -> bool) -> Value {
    let one = |object: Object| {
        json!({
            "name": object.name(),
            "module": module(object.source()),
            "document": document(object.source()),
            "section": object.section().key(),
            "per": per(object.scope()),
            "default": object.default().map(|value| encoded(object, value)),
            "range": object.kind().range(),
            "access": object.access().word(),
            "description": object.doc(),
        })
    };
    Object::all().filter(|object| wanted(object.name())).map(one).collect()
}

const fn per(scope: Scope) -> &'static str {
    match scope {
        Scope::Bridge => "switch",
        Scope::Port => "port",
        Scope::Queue => "queue",
        Scope::Sums => "switch, port, queue",
    }
}

fn document(source: Source) -> String {
    match source {
        Source::Sfc(clause) => format!("SFC slides {clause}"),
        Source::Isolation(clause) => format!("802.1Qcz {clause}"),
        Source::Cn(clause) | Source::Pfc(clause) => format!("802.1Q {clause}"),
        Source::Ours => "ours".into(),
    }
}

/// Returns the YANG module of a leaf.
const fn module(source: Source) -> &'static str {
    match source {
        Source::Sfc(_) => "sluice-source-flow-control",
        Source::Isolation(_) => "ieee802-dot1q-congestion-isolation-bridge",
        Source::Cn(_) => "IEEE8021-CN-MIB",
        Source::Pfc(_) => "IEEE8021-PFC-MIB",
        Source::Ours => "sluice",
    }
}

/// Returns the YANG module of a section's container, that of its first leaf.
const fn container(section: Section) -> &'static str {
    match section {
        Section::Sfc => module(Source::Sfc("")),
        Section::CongestionIsolation => module(Source::Isolation("")),
        Section::Qcn => module(Source::Cn("")),
        Section::Pfc => module(Source::Pfc("")),
        Section::SfcProxy | Section::FastCnp | Section::Watchdog | Section::Measurement => {
            module(Source::Ours)
        }
    }
}

/// Returns the objects as a tree: a container per section, with a list of ports, each with a list
/// of queues.
#[must_use]
pub fn objects_tree(objects: &Objects) -> Value {
    let mut tree = Map::new();
    for row in &objects.objects {
        let Ok(object) = Object::named(&row.name) else { continue };
        let (section, module) = (object.section(), module(object.source()));
        // RFC 7951: a name has its module where that differs from the parent's.
        let qualified = match module == container(section) {
            true => row.name.clone(),
            false => format!("{module}:{}", row.name),
        };
        let mut at = enter(&mut tree, &format!("{}:{}", container(section), section.key()));
        if let Some(port) = &row.port {
            at = entry(at, "port", "name", port.as_str().into());
        }
        if let Some(class) = row.class {
            at = entry(at, "queue", "traffic-class", class.into());
        }
        // A leaf without a value is absent in RFC 7951.
        if !row.value.is_null() {
            at.insert(qualified, row.value.clone());
        }
    }
    for table in &objects.tables {
        let Some((_, section)) = Listing::named(&table.name).map(Listing::place) else { continue };
        let at = enter(&mut tree, &format!("{}:{}", container(section), section.key()));
        let row = |cells: &Vec<Value>| -> Value {
            let there = table.columns.iter().zip(cells).filter(|(_, value)| !value.is_null());
            there.map(|(name, value)| (name.clone(), value.clone())).collect()
        };
        at.insert(table.name.clone(), table.rows.iter().map(row).collect());
        if table.more > 0 {
            // Lists are cut, and a client has to know it.
            at.insert(format!("sluice:{}-more", table.name), table.more.into());
        }
    }
    Value::Object(tree)
}

fn enter<'a>(tree: &'a mut Map<String, Value>, name: &str) -> &'a mut Map<String, Value> {
    let value = tree.entry(name).or_insert_with(|| Value::Object(Map::new()));
    value.as_object_mut().expect("a container is an object")
}

/// Returns the entry of a list with this key, and creates it if it is missing.
fn entry<'a>(
    tree: &'a mut Map<String, Value>,
    list: &str,
    key: &str,
    value: Value,
) -> &'a mut Map<String, Value> {
    let list = tree.entry(list).or_insert_with(|| Value::Array(vec![]));
    let list = list.as_array_mut().expect("a list is an array");
    // Objects of one port come one by one, and share its entry.
    let found = list.iter().position(|entry| entry[key] == value);
    let index = found.unwrap_or_else(|| {
        list.push(Value::Object(Map::from_iter([(key.to_string(), value)])));
        list.len() - 1
    });
    list[index].as_object_mut().expect("entries are objects")
}

#[cfg(test)]
mod tests {
    use super::*;
    use buffer::SharedLimit;
    use ground::units::Cells;
    use switch::managed::Access;

    fn row(name: &str, port: Option<&str>, class: Option<u8>, value: Value) -> ObjectRow {
        let text = value.to_string();
        ObjectRow { name: name.into(), port: port.map(Into::into), class, value, text }
    }

    #[test]
    fn values_of_ports_and_queues_are_lists_and_names_keep_their_modules() {
        let objects = Objects {
            objects: vec![
                row("sfcMaxSFCM", None, None, 3.into()),
                row("sfcTransmittedSFCMs", None, None, "5".into()),
                row("sfcTransmittedSFCMs", Some("a"), None, "5".into()),
                row("sfcTransmittedSFCMs", Some("a"), Some(3), "5".into()),
                row("sfc.queues.target", Some("a"), Some(3), 7.into()),
                row("cip-ipv4-address", Some("a"), None, Value::Null),
            ],
            tables: vec![ObjectTable {
                name: "ci-peer-table".into(),
                columns: vec!["reception-port".into(), "peer-ipv4-address".into()],
                rows: vec![vec!["a".into(), Value::Null]],
                more: 0,
            }],
        };
        let queue = json!({
            "traffic-class": 3, "sfcTransmittedSFCMs": "5", "sluice:sfc.queues.target": 7
        });
        let port = json!({"name": "a", "sfcTransmittedSFCMs": "5", "queue": [queue]});
        let expected = json!({
            "sluice-source-flow-control:sfc": {
                "sfcMaxSFCM": 3, "sfcTransmittedSFCMs": "5", "port": [port]
            },
            "ieee802-dot1q-congestion-isolation-bridge:congestion_isolation": {
                "port": [{"name": "a"}], "ci-peer-table": [{"reception-port": "a"}]
            }
        });
        assert_eq!(objects_tree(&objects), expected);
    }

    #[test]
    fn the_delay_allowance_is_the_least_headroom_of_lossless_groups() {
        let lossy =
            GroupPlan { reserved: Cells(0), limit: SharedLimit::Unlimited, kind: GroupKind::Lossy };
        let lossless = |cells| GroupPlan {
            kind: GroupKind::Lossless {
                headroom: Cells(cells),
                xon: Cells(0),
                xon_offset: Cells(0),
            },
            ..lossy
        };
        let mut groups = [[lossy; 8]; 2];
        (groups[0][3], groups[0][4]) = (lossless(100), lossless(90));
        let buffer = BufferPlan {
            cell_bytes: 256,
            total: Cells(1_000),
            groups: groups.to_vec(),
            slack: Cells(0),
        };
        let of = |n| allowance(&buffer, PortId::new(n).unwrap());
        assert_eq!(of(0), Some(90 * 256 * 8));
        assert_eq!((of(1), of(2)), (None, None), "unknown is not 0");
    }

    #[test]
    fn what_all_ports_have_in_common_is_said_once() {
        let name = "sfc.queues.target";
        let objects = Objects {
            objects: vec![
                row(name, Some("a"), Some(3), 7.into()),
                row(name, Some("a"), Some(4), 7.into()),
                row(name, Some("b"), Some(3), 7.into()),
                row(name, Some("b"), Some(4), 8.into()),
            ],
            tables: vec![],
        };
        let text = objects_text(&objects);
        let places = ["all 2 ports, class 3", "port a, class 4", "port b, class 4"];
        assert!(places.iter().all(|place| text.contains(place)), "{text}");
        assert_eq!(text.lines().count(), 4, "{text}");
    }

    #[test]
    fn every_object_is_described_with_default_range_and_module() {
        let all = objects_schema(|_| true);
        assert_eq!(all.as_array().unwrap().len(), Object::all().count());
        for one in all.as_array().unwrap() {
            assert!(!one["description"].as_str().unwrap().is_empty(), "{one}");
            assert!(!one["range"].as_str().unwrap().is_empty(), "{one}");
        }
        let counters = Object::all().filter(|object| object.access() == Access::ReadOnly);
        assert!(counters.count() > 0);
        let text = objects_described(|name| name == "ci-max-flow-life").to_string();
        assert!(text.contains("802.1Qcz 49.4.1.1.3") && text.contains("100"), "{text}");
    }
}
