//! Results of a run for people and programs.

mod annotations;
mod captures;
mod conformance;
mod ctrf;
mod json_lines;
mod junit;
mod table;

pub use annotations::annotations;
pub use captures::{Capture, captures};
pub use conformance::{Conformance, conformance};
pub use ctrf::ctrf;
pub use json_lines::json_lines;
pub use junit::{Testbed, junit, only_suite};
pub use table::table;

use crate::bench::RINGS;
use crate::suite::Results;
use serde::Serialize;

/// A file with evidence of a run, and its sum, by which a page shows that it belongs to it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct File {
    /// Path as it was given.
    pub name: String,
    pub bytes: usize,
    /// SHA-256 in hexadecimal.
    pub sha256: String,
}

/// Returns the command that repeats one test of a run.
#[must_use]
pub fn repeat(results: &Results, file: &str, id: &str) -> String {
    let Results { level, seed, .. } = results;
    let world = if results.world == RINGS { " --world real" } else { "" };
    format!("sluice validate {file}{world} --only {id} --level {level} --seed {seed}")
}

#[cfg(test)]
mod tests;
