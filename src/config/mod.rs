//! Configuration: turns a YAML (or JSON) file into a validated plan.
//!
//! There are two types and one conversion. [`raw`] is the file's contents: every field that has a
//! sensible default is optional, and unknown fields are refused. [`SwitchFile`] is the validated
//! result: every value is in range, every reference is resolved, and the headroom of lossless
//! groups is checked. Only this module makes one from a file; tests and the virtual world make
//! plans directly.
//!
//! All errors of a file are reported at once, each with file, line, column, field and remedy. The
//! YAML reader is a tree built on `granit-parser`, the parser inside serde-saphyr, which itself
//! needs a newer compiler than Debian 13 has.

pub(crate) mod de;
mod error;
mod key_file;
pub(crate) mod memory;
mod name;
mod object;
mod plan;
pub mod quantity;
pub mod raw;
mod resolve;
mod schema;
pub(crate) mod tree;

#[cfg(test)]
pub(crate) mod testquoted;
#[cfg(test)]
pub(crate) mod testrefusals;
#[cfg(test)]
mod tests;

pub use error::{ConfigError, Finding, Mark, Warning};
#[cfg(feature = "dpdk")]
pub(crate) use key_file::{key_of, octets_of as hex_octets};
pub use key_file::{read_from as read_key_from, read_key};
pub use object::object_value;
pub use plan::{DevicePlan, EalPlan, HeadroomCheck, Hugepages, Machine, SwitchFile, WorkerPlan};
pub(crate) use resolve::{
    Around, Congestion, Cx, HeadroomRule, OWN, Place, Said, SecuredPort, UNNAMED, VirtualPort,
    VirtualSaid, VirtualSwitch, agents, check_whole, ecn_plan, group_plan, late_host, longest,
    name_channels, named_interface, names, secy_plan, seed_congestion, senders, told, udp_port,
    unknown_name, virtual_switch,
};
pub(crate) use schema::schema_of;
pub use schema::switch_schema;

use std::io::Read;
use std::path::Path;

use crate::printable;
use tree::{Kind, Node};
use zeroize::Zeroizing;

/// Largest file that is read, in bytes; a switch file that writes out every field of every port has
/// less than a hundredth of it.
const FILE_MAX: u64 = 16 << 20;

/// Bytes to reserve beyond the end of a file, so that detecting the end does not reallocate.
const PROBE: u64 = 64;

/// Error text for an empty switch file.
const EMPTY: &str = "the file is empty; the shortest switch is a list of ports: \
                     `ports: [{device: \"net_af_packet0,iface=v0\"}, {device: \"net_af_packet1,iface=v1\"}]`";

/// Reads and validates a switch file.
///
/// # Errors
/// All problems of the file, or that it could not be read.
pub fn load(path: &Path, machine: &Machine) -> Result<(SwitchFile, Vec<Warning>), ConfigError> {
    let (name, text) = read_text(path, "switch file")?;
    parse(&name, &text, machine)
}

/// Reads a file and returns its name and text; `kind` names it in errors (`switch file`).
///
/// # Errors
/// The file could not be read.
pub(crate) fn read_text(
    path: &Path,
    kind: &str,
) -> Result<(String, Zeroizing<String>), ConfigError> {
    let name = path.display().to_string();
    let unreadable =
        |what: String| ConfigError::one(&printable::excerpt(&name), Finding::new(None, "", &what));
    let file = std::fs::File::open(path)
        .map_err(|e| unreadable(format!("cannot be opened: {e}; check the name and its rights")))?;
    // The text may contain keys: reserving the whole size avoids copies that would not be wiped.
    let regular = file.metadata().ok().filter(std::fs::Metadata::is_file);
    let len = regular.map_or(FILE_MAX, |of| of.len().min(FILE_MAX)) + PROBE;
    let mut text = Zeroizing::new(String::with_capacity(len as usize));
    file.take(FILE_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|e| unreadable(format!("cannot be read: {e}; a {kind} is UTF-8 text")))?;
    if text.len() as u64 > FILE_MAX {
        return Err(unreadable(format!("is longer than {FILE_MAX} bytes, so no {kind}")));
    }
    Ok((name, text))
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
    let one = |finding| ConfigError::one(name, finding);
    let mut root = tree::read(text, EMPTY).map_err(one)?;
    // Read once as written, so that errors in `defaults` are reported there, and once with defaults
    // applied.
    let all = |findings| ConfigError { file: name.to_owned(), findings };
    let written: raw::File = de::from_tree_all(&root).map_err(all)?;
    inherit_defaults(&mut root).map_err(one)?;
    let meant: raw::File = de::from_tree_all(&root).map_err(all)?;
    resolve::resolve(name, (&written, &meant), &root, machine).map_err(all)
}

/// Merges `defaults` into every port.
fn inherit_defaults(root: &mut Node) -> Result<(), Finding> {
    let Some(defaults) = root.get("defaults").cloned() else { return Ok(()) };
    let Kind::Map(entries) = &mut root.kind else { return Ok(()) };
    let ports = entries.iter_mut().filter(|(k, _)| k.name == "ports");
    for (_, ports) in ports {
        if let Kind::Seq(ports) = &mut ports.kind {
            defaults.size().times(ports.len()).check(defaults.mark)?;
            ports.iter_mut().for_each(|p| p.inherit(&defaults));
        }
    }
    Ok(())
}
