//! Labs that failed although nothing in them was wrong, and the same with something wrong.

use crate::raw::Lab;
use crate::swarm::{Failure, Trial, draw, run_lab};
use ground::verdict::Verdict;

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

/// Flows of data in both directions are isolated in a class that goes before that of their acknowledgements.
/// What is not acknowledged is repeated without end, and that starves the acknowledgements.
const STARVED: &str = include_str!("starved_acknowledgements.yaml");

#[test]
fn a_lab_whose_isolated_flows_starve_the_others_is_not_judged() {
    let trial = run(STARVED);
    assert_eq!((trial.failures.as_slice(), trial.verdict()), (&[][..], Verdict::NotJudged));
    // Isolated in a class that goes after it, they starve nothing.
    let fair = STARVED.replace("isolate: {\"3\": 4}", "isolate: {\"3\": 2}");
    let trial = run(&fair);
    assert_eq!((trial.failures.as_slice(), trial.verdict()), (&[][..], Verdict::Pass));
    assert!(trial.ended.is_some(), "{trial:?}");
}

/// Hosts that pause their ports without end hold the flows to them up, isolated or not: nothing is sent that
/// starves others.
#[test]
fn a_lab_that_stands_still_is_not_excused_by_queues_that_may_starve() {
    let storm = "storms: [{priorities: [3], quanta: 65535, start: 5ms, every: 1ms, frames: 1000}]";
    let mut held = STARVED.to_owned();
    for host in ["h2", "h4"] {
        held = held.replace(&format!("{{name: {host}}}"), &format!("{{name: {host}, {storm}}}"));
    }
    let trial = run(&held);
    let is_unfinished = |failure: &Failure| failure.check == "finished";
    assert!(trial.failures.iter().any(is_unfinished), "{trial:?}");
    assert!(!trial.stood_still);
}
