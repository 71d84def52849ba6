//! Places of the published 802.1Qcz modules, `ieee802-dot1q-congestion-isolation` and its bridge
//! module, whose groupings augment a component of a bridge and each bridge port.

use serde_json::{Map, Value, json};

use super::super::objects::{ObjectTable, Reading};
use super::{Tree, encoded, mac, push};
use switch::SwitchPlan;
use switch::managed::{At, Object, ObjectValue, Scope};

/// Module of the augmenting nodes.
const MODULE: &str = "ieee802-dot1q-congestion-isolation-bridge";

/// Ticks of 10 ms, of which `create-time` has 32 bits.
const TICK_NS: u64 = 10_000_000;

fn qualified(name: &str) -> String {
    format!("{MODULE}:{name}")
}

/// Returns a container of the component.
fn container<'a>(tree: &'a mut Tree, name: &str) -> &'a mut Map<String, Value> {
    let value = tree.component.entry(qualified(name)).or_insert_with(|| Value::Object(Map::new()));
    value.as_object_mut().expect("a container is an object")
}

/// Places an object. Those that Sluice has once for all ports are at each port.
pub(super) fn object(
    tree: &mut Tree,
    plan: &SwitchPlan,
    object: Object,
    at: At,
    reading: &Reading,
) {
    let name = object.name();
    let value = encoded(object, reading);
    match (name, reading) {
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
            container(tree, "ci-peers").extend(value.map(|value| (name.into(), value)));
        }
        _ if object.scope() == Scope::Port => {
            let Some(port) = at.port.map(|port| port.index()) else { return };
            // Without an address of its own the point has the port's.
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
pub(super) fn peers(tree: &mut Tree, table: &ObjectTable, plan: &SwitchPlan) {
    for row in &table.rows {
        let mut entry: Map<String, Value> = table
            .columns
            .iter()
            .zip(row)
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let port = plan.ports.iter().position(|port| entry["reception-port"] == port.name.as_str());
        let Some(port) = port else { continue };
        entry.insert("reception-port".into(), (port + 1).into());
        push(container(tree, "ci-peers"), "ci-peer-table", entry.into());
    }
}

/// Places the CI stream table. The module has the leaves from `queue-key` on only once, so they are filled
/// in if there is a single stream. The list `stream` of `sluice-switch` has them for every stream.
pub(super) fn streams(tree: &mut Tree, table: &ObjectTable) {
    let node = container(tree, "ci-streams");
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
