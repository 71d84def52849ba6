//! Tests from text to plan: examples, refusals, defaults, topologies, random texts.

mod agents;
mod congestion;
mod defaults;
mod defects;
mod examples;
mod generators;
mod macsec;
mod objects;
mod random;
mod refusals;
mod schema;
mod topologies;
mod variants;

use super::*;
pub(crate) use defects::SPELLINGS as DEFECT_SPELLINGS;
use ground::time::Duration;

/// Returns every example of `configs/labs` with its name.
fn example_labs() -> Vec<(String, String)> {
    ::file::testexamples::all("configs/labs")
}

/// Returns the plan of a valid text, and its warnings.
fn good(text: &str) -> (Resolved, Vec<String>) {
    good_at("f.yaml", text)
}

/// Does the same for a file of this name; other files are relative to it.
fn good_at(name: &str, text: &str) -> (Resolved, Vec<String>) {
    match examine(name, text) {
        Ok((lab, warnings)) => (lab, warnings.iter().map(|w| w.line(name)).collect()),
        Err(e) => panic!("refused:\n{text}\n{e}"),
    }
}
