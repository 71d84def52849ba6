//! The whole way from text to plan: examples, refusals, defaults, topologies, texts of any kind.

mod agents;
mod congestion;
mod defaults;
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
use crate::time::Duration;

/// The plan of a text that must be right, and its warnings.
fn good(text: &str) -> (Resolved, Vec<String>) {
    good_at("f.yaml", text)
}

/// The same of a file of this name, which may name files beside it.
fn good_at(name: &str, text: &str) -> (Resolved, Vec<String>) {
    match examine(name, text) {
        Ok((lab, warnings)) => (lab, warnings.iter().map(|w| w.line(name)).collect()),
        Err(e) => panic!("refused:\n{text}\n{e}"),
    }
}
