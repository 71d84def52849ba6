//! The whole way from text to plan: examples, refusals, defaults, and texts of any kind.

mod congestion;
mod defaults;
mod examples;
mod macsec;
mod memory;
mod random;
mod refusals;

use super::*;
use crate::units::{PortId, PriorityGroup};

/// The plan of a text that must be right, and its warnings.
fn good(text: &str) -> (SwitchFile, Vec<String>) {
    match parse("f.yaml", text, &Machine::any()) {
        Ok((file, warnings)) => (file, warnings.iter().map(|w| w.line("f.yaml")).collect()),
        Err(e) => panic!("refused:\n{text}\n{e}"),
    }
}

/// What is said about a text that must be wrong, on a machine with cores 0 and 1.
fn bad(text: &str) -> Vec<String> {
    let machine = Machine { cores: Some(vec![0, 1]), ports_max: 32, memory: Some(8 << 30) };
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
