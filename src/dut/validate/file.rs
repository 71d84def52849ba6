//! DUT files: from YAML to a set-up. All errors of a file are reported at once, each with its place
//! and a remedy.

mod raw;
mod resolve;

pub use raw::DutFile;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::adapter::Commands;
use crate::setup::Setup;
use crate::trial::ResetKind;
use crate::virtual_bench::Reports;
use config::{ConfigError, Place, Warning, de, read_text, schema_of, tree};
use ground::time::Duration;
use lab::raw::Lab;

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
#[must_use]
pub fn is_dut(text: &str) -> bool {
    let root = tree::read(text, EMPTY);
    root.is_ok_and(|root| ["rate", "ports"].iter().all(|field| root.get(field).is_some()))
}

/// Returns the JSON Schema of DUT files.
#[must_use]
pub fn schema() -> serde_json::Value {
    schema_of::<DutFile>("Sluice DUT file")
}

#[cfg(test)]
mod tests;
