//! The published schema.

use crate::lab_schema;

#[test]
fn the_published_schema_is_the_one_of_the_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/schema/lab.schema.json");
    let published: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert!(
        published == lab_schema(),
        "{path} is out of date: sluice check --schema lab > configs/schema/lab.schema.json"
    );
}
