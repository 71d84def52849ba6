//! Benchmark files: from YAML to a plan. All errors of a file are reported at once, each with its
//! place and a remedy.

mod defaults;
mod raw;
mod resolve;

pub use raw::BenchmarkFile;

use std::path::Path;

use config::{ConfigError, Place, Warning, de, read_text, schema_of, tree};
use validate::file::{self as dut, Dut};

use crate::plan::Plan;

/// Error text for an empty file.
const EMPTY: &str = "the file is empty; the least is `dut`, the name of a DUT file";

/// Reads a benchmark file, or a DUT file, with which all parameters have their defaults.
///
/// # Errors
/// All errors of the file, or that it, or the DUT file that it names, could not be read.
pub fn load(path: &Path) -> Result<(Plan, Dut, Vec<Warning>), ConfigError> {
    let (name, text) = read_text(path, "benchmark file")?;
    if dut::is_dut(&text) {
        let (dut, warnings) = dut::parse(&name, &text)?;
        let plan = resolve::of_dut(&dut).map_err(|finding| ConfigError::one(&name, finding))?;
        return Ok((plan, dut, warnings));
    }
    let root = tree::read(&text, EMPTY).map_err(|finding| ConfigError::one(&name, finding))?;
    let all = |findings| ConfigError { file: name.clone(), findings };
    let raw: BenchmarkFile = de::from_tree_all(&root).map_err(all)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let (dut, mut warnings) = dut::load(&folder.join(&raw.dut))?;
    let (plan, more) = resolve::resolve(&raw, &Place::root(&root), (&name, &dut)).map_err(all)?;
    warnings.extend(more);
    Ok((plan, dut, warnings))
}

/// True if a text is a benchmark file.
#[must_use]
pub fn is_benchmark(text: &str) -> bool {
    tree::read(text, EMPTY).is_ok_and(|root| root.get("dut").is_some())
}

/// Returns the JSON Schema of benchmark files.
#[must_use]
pub fn schema() -> serde_json::Value {
    schema_of::<BenchmarkFile>("Sluice benchmark file")
}
