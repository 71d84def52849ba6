//! The whole way from text to plan: examples, refusals, defaults, topologies, texts of any kind.

mod defaults;
mod examples;
mod random;
mod refusals;
mod schema;
mod topologies;

use super::*;

/// The plan of a text that must be right, and its warnings.
fn good(text: &str) -> (Resolved, Vec<String>) {
    match examine("f.yaml", text) {
        Ok((lab, warnings)) => (lab, warnings.iter().map(|w| w.line("f.yaml")).collect()),
        Err(e) => panic!("refused:\n{text}\n{e}"),
    }
}
