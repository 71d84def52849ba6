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

use crate::suite::Results;

/// Returns the command that repeats one test of a run.
#[must_use]
pub fn repeat(results: &Results, file: &str, id: &str) -> String {
    format!("sluice validate {file} --only {id} --level {} --seed {}", results.level, results.seed)
}

#[cfg(test)]
mod tests;
