//! The modules of the repository are those of this build, and the published leaves hold what the
//! table of objects allows. `tests/outside/yang.rs` has yanglint judge the data of a switch.

use super::*;
use switch::managed::Kind;

/// Module of the tests with the types of the published one.
const PUBLISHED: &str =
    include_str!("../../../../tests/yang/ieee802-dot1q-congestion-isolation-bridge.yang");

#[test]
fn the_modules_of_the_repository_are_those_of_the_table() {
    let files = [
        include_str!("../../../../configs/yang/sluice-source-flow-control.yang"),
        include_str!("../../../../configs/yang/sluice-headroom-measurement.yang"),
        include_str!("../../../../configs/yang/sluice-priority-flow-control.yang"),
        include_str!("../../../../configs/yang/sluice-switch.yang"),
    ];
    assert_eq!(files.len(), MODULES.len());
    for (module, file) in MODULES.iter().zip(files) {
        assert!(file.starts_with(&format!("module {} {{", module.name)));
        assert!(module.text() == file, "sluice ctl yang --modules configs/yang writes it anew");
    }
}

#[test]
fn every_object_is_in_one_module() {
    for object in Object::all() {
        let leaf = format!("leaf {} {{", object.name());
        let own = MODULES.iter().filter(|module| module.text().contains(&leaf));
        let names: Vec<_> = own.map(|module| module.name).collect();
        match object.source() {
            Source::Isolation(_) => {
                let list = format!("list {} {{", object.name());
                assert!(names.is_empty(), "{object:?}: {names:?}");
                assert!(PUBLISHED.contains(&leaf) || PUBLISHED.contains(&list), "{object:?}");
            }
            _ => assert_eq!(names, [modules::module_of(object.section())], "{object:?}"),
        }
    }
}

/// Returns the type of a leaf of the published module.
fn published_type(name: &str) -> &'static str {
    let (_, leaf) = PUBLISHED.split_once(&format!("leaf {name} {{ type ")).expect("a leaf");
    leaf.split([';', ' ']).next().expect("a type")
}

#[test]
fn ranges_of_the_table_are_within_the_published_types() {
    let mut seen = 0;
    for object in Object::all().filter(|object| matches!(object.source(), Source::Isolation(_))) {
        let of_type = || published_type(object.name());
        match object.kind() {
            Kind::Number { least, most, .. } => {
                let max = match of_type() {
                    "dot1q-types:priority-type" => 7,
                    "uint16" | "inet:port-number" => i64::from(u16::MAX),
                    "uint32" => i64::from(u32::MAX),
                    other => panic!("{object:?}: {other}"),
                };
                assert!(least >= 0 && most <= max, "{object:?}: {most} is above {max}");
            }
            Kind::Bool => assert_eq!(of_type(), "boolean", "{object:?}"),
            Kind::Mac => assert_eq!(of_type(), "ieee:mac-address", "{object:?}"),
            Kind::Ipv4 => assert_eq!(of_type(), "inet:ipv4-address", "{object:?}"),
            Kind::Ipv6 => assert_eq!(of_type(), "inet:ipv6-address", "{object:?}"),
            Kind::QueueMap => assert_eq!(switch::managed::QUEUE_MAP, (-8, 8)),
            kind => panic!("{object:?}: {kind:?}"),
        }
        seen += 1;
    }
    assert!(seen > 10, "{seen}");
}

#[test]
fn one_stream_has_its_queue_and_addresses_and_several_have_none() {
    let columns = ["stream-handle", "port", "queue-key", "destination-address", "vlan-identifier"];
    let columns = columns.into_iter().chain(["cim-count", "create-time", "create-mask"]);
    let columns: Vec<String> = columns.map(Into::into).collect();
    let row = |handle: u64| -> Vec<Value> {
        let time = (1_u64 << 32) * 10_000_000 + 50_000_000;
        let mac = "02-00-00-00-00-0A";
        [json!(handle), json!("a"), json!(8), json!(mac), json!(0), json!(70_000), json!(time)]
            .into_iter()
            .chain([json!(3)])
            .collect()
    };
    let name = "ci-stream-table".to_owned();
    let table = |rows| ObjectTable { name: name.clone(), columns: columns.clone(), rows, more: 0 };
    let streams = |rows| {
        let mut tree = Tree { component: Map::new(), ports: vec![] };
        stream_table(&mut tree, &table(rows));
        let module = "ieee802-dot1q-congestion-isolation-bridge";
        tree.component[&format!("{module}:ci-streams")].clone()
    };
    let one = streams(vec![row(65_537)]);
    let entry = json!({
        "stream-handle-id": 65_537, "cim-count": 65_535, "create-time": 5,
        "create-mask": "local-create cim-create"
    });
    assert_eq!(one["ci-stream-table"], json!([entry]));
    assert_eq!(
        (&one["queue-key"], &one["dest-mac-address"]),
        (&json!(8), &json!("02-00-00-00-00-0A"))
    );
    assert!(one.get("vid").is_none(), "a frame without a VLAN has none: {one}");
    let two = streams(vec![row(1), row(2)]);
    assert_eq!(two["ci-stream-table"].as_array().unwrap().len(), 2);
    assert!(two.get("queue-key").is_none(), "{two}");
}

#[test]
fn dates_are_as_rfc_6991_writes_them() {
    let at = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_709_210_096);
    assert_eq!(date(at), "2024-02-29T12:34:56Z");
}
