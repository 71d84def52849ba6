//! DUT files: from YAML to a set-up. All errors of a file are reported at once, each with its place
//! and a remedy. A file says how the device is accessed beside its ports, too.

mod device;
mod expectation;
mod raw;
mod resolve;

pub use raw::{Commands, DutFile};
pub(crate) use resolve::span;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use config::{ConfigError, Cx, Place, Warning, de, read_text, schema_of, tree};
use ground::time::Duration;
use lab::raw::Lab;

use crate::adapter::has_placeholder;
use crate::setup::Setup;
use crate::trial::ResetKind;
use crate::virtual_bench::Reports;

/// Error text for an empty file.
const EMPTY: &str = "the file is empty; the least is `rate`, two `ports`, and `virtual` if the device \
                     is one";

/// A DUT file: the set-up, and the device if it is virtual.
#[derive(Clone, PartialEq, Debug)]
pub struct Dut {
    pub setup: Setup,
    /// The lab of a virtual device.
    pub lab: Option<Lab>,
    /// Errors and gaps in the counters that a virtual device reports.
    pub reports: Reports,
    /// Resets of a virtual device: the times in which it forwards nothing.
    pub resets: BTreeMap<ResetKind, Duration>,
    /// Access to a device behind real ports.
    pub access: Option<Access>,
}

/// Access to the counters and settings of a device behind real ports.
#[derive(Clone, PartialEq, Debug)]
pub enum Access {
    /// Control socket of a switch of this program.
    Ctl(PathBuf),
    Command(Commands),
}

/// Reads a DUT file.
///
/// # Errors
/// All errors of the file, or that it could not be read.
pub fn load(path: &Path) -> Result<(Dut, Vec<Warning>), ConfigError> {
    let (name, text) = read_text(path, "DUT file")?;
    parse(&name, &text)
}

/// Parses the text of a DUT file; `name` is the file name in errors.
///
/// # Errors
/// All errors of the text.
pub fn parse(name: &str, text: &str) -> Result<(Dut, Vec<Warning>), ConfigError> {
    let root = tree::read(text, EMPTY).map_err(|finding| ConfigError::one(name, finding))?;
    let all = |findings| ConfigError { file: name.to_owned(), findings };
    let raw: DutFile = de::from_tree_all(&root).map_err(all)?;
    resolve::resolve(&raw, &Place::root(&root), name).map_err(all)
}

/// True if a text is a DUT file rather than a switch file, whose ports have no common rate.
pub fn is_dut(text: &str) -> bool {
    let root = tree::read(text, EMPTY);
    root.is_ok_and(|root| ["rate", "ports"].iter().all(|field| root.get(field).is_some()))
}

/// Returns the JSON Schema of DUT files.
pub fn schema() -> serde_json::Value {
    schema_of::<DutFile>("Sluice DUT file")
}

/// Characters of a port's name beside letters and digits: none has a meaning to a shell at the far end of
/// `ssh`.
const PLAIN: &str = "_-./:";

/// Returns the access that a file describes.
pub(super) fn access(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &raw::Adapter,
    is_virtual: bool,
    setup: &Setup,
) -> Option<Access> {
    if is_virtual {
        cx.error(place, "a virtual device needs none: its counters are read without; leave it out");
        return None;
    }
    // Both at once could contradict each other.
    match (&raw.ctl, &raw.command) {
        (Some(path), None) => Some(Access::Ctl(path.clone())),
        (None, Some(raw)) => {
            check(cx, &place.key("command"), raw, setup);
            Some(Access::Command(raw.clone()))
        }
        _ => {
            cx.error(place, "an adapter is exactly one of `ctl` and `command`");
            None
        }
    }
}

/// Refuses commands that cannot work.
fn check(cx: &mut Cx, place: &Place<'_>, raw: &Commands, setup: &Setup) {
    // Benchmarks need no counters: a device that is only reset, or asked for its memory, is enough for them.
    let others = !raw.resets.is_empty() || raw.version.is_some() || raw.memory.is_some();
    if raw.counters.is_none() && raw.numbers.is_empty() && !others {
        cx.error(place, "it reads no counters; add `counters` or `numbers`");
    }
    let numbers = raw.numbers.iter().map(|(counter, line)| {
        let mut needed = vec!["port"];
        needed.extend(counter.is_of_priority().then_some("priority"));
        (place.key("numbers").key(counter.name()), line, needed)
    });
    let lines = [
        (place.key("counters"), raw.counters.as_ref(), vec![]),
        (place.key("clear"), raw.clear.as_ref(), vec![]),
        (place.key("version"), raw.version.as_ref(), vec![]),
        (place.key("memory"), raw.memory.as_ref(), vec![]),
        (place.key("set"), raw.set.as_ref(), vec!["port", "name", "value"]),
    ];
    let lines = lines.into_iter().filter_map(|(place, line, needed)| Some((place, line?, needed)));
    let resets = raw.resets.iter();
    let resets = resets.map(|(kind, line)| (place.key("resets").key(kind.name()), line, vec![]));
    // Each line with the placeholders without which it could not mean the right port or value.
    for (place, line, needed) in lines.chain(numbers).chain(resets) {
        if line.first().is_none_or(String::is_empty) {
            cx.error(&place, "the command is empty; give a program and its arguments");
        }
        for name in needed.into_iter().filter(|name| !has_placeholder(line, name)) {
            cx.error(&place, format!("`{{{name}}}` is in no argument; add it"));
        }
        if has_placeholder(line, "port") {
            names(cx, &place, setup);
        }
    }
}

/// Checks the names that replace `{port}`.
fn names(cx: &mut Cx, place: &Place<'_>, setup: &Setup) {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || PLAIN.contains(c);
    for port in &setup.ports {
        // A program would take such a name for an option.
        let is_option = port.dut.starts_with('-');
        if is_option || port.dut.is_empty() || !port.dut.chars().all(is_plain) {
            let what = format!(
                "port `{}` replaces `{{port}}`; give it a `dut` of letters, digits and {PLAIN}, not \
                 beginning with -",
                port.dut
            );
            cx.error(place, what);
        }
    }
}

#[cfg(test)]
mod tests;
