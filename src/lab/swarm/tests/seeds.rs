//! Labs that failed although nothing in them was wrong, and the same with something wrong.

use crate::raw::Lab;
use crate::swarm::{Trial, run_lab};

/// Runs the lab of a text.
fn run(text: &str) -> Trial {
    let root = config::tree::read(text, "").unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    let lab: Lab = config::de::from_tree(&root).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    run_lab(&lab)
}

/// A flow changes its path while the switch behind it is full, and back. Frames that are dropped on arrival do
/// not bring it forward.
#[test]
fn frames_of_a_flow_that_changed_its_path_are_followed_while_others_are_dropped() {
    let trial = run(include_str!("flap_of_a_full_path.yaml"));
    assert_eq!(trial.failures, []);
    assert!(trial.totals.drops > 0);
}
