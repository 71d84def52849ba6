//! Tests of the whole conversion from text to plan: examples, errors, defaults, random texts.

mod congestion;
mod defaults;
mod examples;
mod macsec;
mod memory;
mod random;
mod refusals;

use super::*;
use ground::units::{PortId, PriorityGroup};

/// All examples with their names.
fn examples() -> Vec<(String, String)> {
    file::testexamples::all("configs/switch")
}

/// Parses a text that must be valid; returns the file and its warnings.
fn good(text: &str) -> (SwitchFile, Vec<String>) {
    match parse("f.yaml", text, &Machine::any()) {
        Ok((file, warnings)) => (file, warnings.iter().map(|w| w.line("f.yaml")).collect()),
        Err(e) => panic!("refused:\n{text}\n{e}"),
    }
}

/// Parses a text that must be invalid, on a machine with cores 0 and 1; returns the messages.
fn bad(text: &str) -> Vec<String> {
    let cores = Some(vec![0, 1]);
    let machine = Machine { cores, memory: Some(8 << 30), files: true, ..Machine::any() };
    match parse("f.yaml", text, &machine) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(e) => e.to_string().lines().map(str::to_owned).collect(),
    }
}

fn port(n: u16) -> PortId {
    PortId::new(n).unwrap()
}

fn group(n: u8) -> PriorityGroup {
    PriorityGroup::new(n).unwrap()
}
