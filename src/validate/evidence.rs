//! Results of a run for people and programs.

mod captures;
mod conformance;
mod json_lines;
mod junit;
mod table;

pub use captures::{Capture, captures};
pub use conformance::{Conformance, conformance};
pub use json_lines::json_lines;
pub use junit::{Testbed, junit, only_suite};
pub use table::table;

use crate::bench::RINGS;
use crate::suite::Results;

/// Returns the command that repeats one test of a run.
#[must_use]
pub fn repeat(results: &Results, file: &str, id: &str) -> String {
    let Results { level, seed, .. } = results;
    let world = if results.world == RINGS { " --world real" } else { "" };
    format!("sluice validate {file}{world} --only {id} --level {level} --seed {seed}")
}

#[cfg(test)]
mod tests;
