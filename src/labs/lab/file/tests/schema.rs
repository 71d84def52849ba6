//! The published schema.

use std::collections::BTreeSet;

use crate::lab_schema;
use config::switch_schema;
use file::testgolden;
use serde_json::Value;

#[test]
fn the_published_schema_is_the_one_of_the_code() {
    let schema = serde_json::to_string_pretty(&lab_schema()).unwrap() + "\n";
    testgolden::hold("configs/schema/lab.schema.json", &schema);
}

fn fields(schema: &Value, of: &str) -> BTreeSet<String> {
    let fields = schema["$defs"][of]["properties"].as_object();
    fields.unwrap_or_else(|| panic!("{of} has no fields")).keys().cloned().collect()
}

/// A new field of a port belongs to profiles of labs or to this list.
#[test]
fn profiles_have_the_fields_of_a_port_but_those_of_its_link_and_of_one_port_alone() {
    // The device and its name are those of the link; a lab's switches forward between all ports.
    const OF_THE_LINK: &str = "name device core rx_descriptors tx_descriptors offload hardware_pfc mac rate shaped link vlan";
    // Overrides; a profile is the same for all ports.
    const OF_ONE_PORT: &str = "sfc congestion_isolation fast_cnp qcn";
    let (ports, profiles) =
        (fields(&switch_schema(), "Port"), fields(&lab_schema(), "PortDefaults"));
    let others = [OF_THE_LINK, OF_ONE_PORT]
        .iter()
        .flat_map(|f| f.split_whitespace())
        .map(str::to_owned)
        .collect();
    assert_eq!(ports.difference(&profiles).cloned().collect::<BTreeSet<_>>(), others);
    assert_eq!(profiles.difference(&ports).cloned().collect::<Vec<_>>(), Vec::<String>::new());
}
