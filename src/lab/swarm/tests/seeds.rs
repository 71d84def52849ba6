//! Labs that failed although nothing in them was wrong, and the same with something wrong.

use crate::raw::Lab;
use crate::swarm::{Trial, draw, run_lab};

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

/// Groups without hysteresis cross their limits with each frame at a busy processor, so that each poll of a
/// port sends a pause or a resumption, all of which are due, and no data.
#[test]
fn pauses_that_are_due_may_keep_data_from_a_line() {
    let lab = draw(11_518_252_627_373_848_199).unwrap();
    assert_eq!(run_lab(&lab).failures, []);
}
