//! Configuration: turns a YAML (or JSON) file into a validated plan.
//!
//! There are two types and one conversion. [`raw`] is the file's contents: every field that has a
//! sensible default is optional, and unknown fields are refused. [`SwitchFile`] is the validated
//! result: every value is in range, every reference is resolved, and the headroom of lossless
//! groups is checked. Only this module makes one from a file; tests and the virtual world make
//! plans directly.
//!
//! All errors of a file are reported at once, each with file, line, column, field and remedy.

pub mod changes;
mod plan;
pub mod raw;
mod resolve;
mod written;

#[cfg(test)]
#[path = "../../../tests/shared/testfolder.rs"]
mod testfolder;
#[cfg(test)]
mod tests;

pub use ::file::{
    ConfigError, Finding, Mark, Warning, de, forms, hex_octets, key_of, memory, names, quantity,
    read_key, read_key_from, read_text, schema_of, sparse, tree, unknown_name, without_nulls,
    word_or,
};
pub use plan::{DevicePlan, EalPlan, HeadroomCheck, Machine, SwitchFile, WorkerPlan};
pub use raw::Core;
pub use resolve::{
    Congestion, Context, Cx, HeadroomRule, NamedPhy, OWN, Place, ProfileChange, ProtocolSections,
    SecuredPort, UNNAMED, VirtualPort, VirtualSections, VirtualSwitch, advertised_name, agents,
    check_captures, check_whole, ecn_plan, group_plan, has_phy, late_host, learning, life, longest,
    name_channels, named_interface, port_buffer, secy_plan, seed_congestion, senders, udp_port,
    virtual_switch,
};
pub use written::{Written, object_value};

use std::path::Path;

use tree::{Kind, Node};

/// Error text for an empty switch file.
const EMPTY: &str = "the file is empty; the shortest switch is a list of ports: \
                     `ports: [{device: \"iface:v0\"}, {device: \"iface:v1\"}]`";

/// Reads and validates a switch file.
///
/// # Errors
/// All problems of the file, or that it could not be read.
pub fn load(path: &Path, machine: &Machine) -> Result<(SwitchFile, Vec<Warning>), ConfigError> {
    let (name, text) = read_text(path, "switch file")?;
    parse(&name, &text, machine)
}

/// Validates the text of a switch file; `name` is the file's name in errors.
///
/// # Errors
/// All problems of the file.
pub fn parse(
    name: &str,
    text: &str,
    machine: &Machine,
) -> Result<(SwitchFile, Vec<Warning>), ConfigError> {
    parse_tree(
        name,
        tree::read(text, EMPTY).map_err(|finding| ConfigError::one(name, finding))?,
        machine,
    )
}

/// As [`parse`], of the file's tree.
fn parse_tree(
    name: &str,
    mut root: Node,
    machine: &Machine,
) -> Result<(SwitchFile, Vec<Warning>), ConfigError> {
    let one = |finding| ConfigError::one(name, finding);
    // Read once as it is, so that errors in `defaults` are reported there, and once with defaults
    // applied.
    let all = |findings| ConfigError { file: name.to_owned(), findings };
    let raw: raw::File = de::from_tree_all(&root).map_err(all)?;
    inherit_defaults(&mut root).map_err(one)?;
    let merged: raw::File = de::from_tree_all(&root).map_err(all)?;
    resolve::resolve(name, &raw, &merged, &root, machine).map_err(all)
}

/// The JSON Schema (2020-12) of a switch file, generated from the raw model. Editors that know it complete and
/// check fields.
pub fn switch_schema() -> serde_json::Value {
    schema_of::<raw::File>("Sluice switch file")
}

/// Merges `defaults` into every port.
fn inherit_defaults(root: &mut Node) -> Result<(), Finding> {
    let Some(defaults) = root.get("defaults").cloned() else { return Ok(()) };
    let Kind::Map(entries) = &mut root.kind else { return Ok(()) };
    let ports = entries.iter_mut().filter(|(k, _)| k.name == "ports");
    for (_, ports) in ports {
        if let Kind::Seq(ports) = &mut ports.kind {
            // Checked before the copies are made: large defaults of many ports would fill the memory.
            defaults.size().times(ports.len()).check(defaults.mark)?;
            ports.iter_mut().for_each(|p| p.inherit(&defaults));
        }
    }
    Ok(())
}
