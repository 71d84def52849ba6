//! Generating, running, serialising and shrinking labs.

use std::collections::BTreeMap;
use std::time::Duration as WallSpan;

use crate::swarm::Summary;
use crate::swarm::trial::run_with;
use buffer::GroupKind;
use ground::units::{Cells, PortId};
use sim::check::Cause;
use sim::defect::{Defect, Forwarding, Sending};
use sim::{End, Node, NodeId, NodeKind};

use crate::swarm::shrink::shrink_with;
use crate::swarm::{Failure, LabRow, Swarm, Trial, as_yaml, draw, lab_seed, run, run_lab};
use crate::{parse, raw::Lab};
use ground::verdict::Verdict;

/// Reads a lab from YAML.
fn read(text: &str) -> Lab {
    let root = config::tree::read(text, "").unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    config::de::from_tree(&root).unwrap_or_else(|e| panic!("{e:?}\n{text}"))
}

/// Runs a lab whose lossless groups have a headroom of one cell.
fn run_with_one_cell(lab: &Lab) -> Trial {
    run_with(
        lab,
        |plan| {
            for node in &mut plan.nodes {
                let NodeKind::Switch(switch) = &mut node.kind else { continue };
                for group in switch.buffer.groups.iter_mut().flatten() {
                    let GroupKind::Lossless { headroom, .. } = &mut group.kind else { continue };
                    *headroom = Cells(1);
                }
            }
        },
        |_| (),
    )
}

#[test]
fn every_lab_that_is_drawn_can_be_run_and_reads_back_from_its_file() {
    for n in 0..300 {
        let seed = lab_seed(11, n);
        let lab = draw(seed).unwrap_or_else(|e| panic!("{seed}: {e}"));
        assert_eq!(read(&as_yaml(&lab)), lab, "{seed}");
        parse("drawn.yaml", &as_yaml(&lab)).unwrap_or_else(|e| panic!("{seed}: {e}"));
        assert_eq!(draw(seed).unwrap(), lab, "the same seed draws the same lab");
    }
}

#[test]
fn the_number_of_jobs_makes_no_difference() {
    let of = |jobs| {
        let summary = run(Swarm { count: 12, seed: 5, jobs }, |_, _| true);
        (summary.trace_hash.clone(), summary.frames, summary.totals.pauses, summary.failed)
    };
    let alone = of(1);
    assert_eq!(alone, of(3));
    assert_eq!(alone.3, []);
}

#[test]
fn a_swarm_of_one_is_the_lab_of_its_seed() {
    let seed = lab_seed(5, 7);
    let summary = run(Swarm { count: 1, seed, jobs: 1 }, |_, _| true);
    assert_eq!(summary.frames, run_lab(&draw(seed).unwrap()).counts.frames);
}

#[test]
fn drops_with_an_excuse_stand_in_the_summary_by_their_cause_and_others_apart() {
    let excused = |seed: &u64| run_lab(&draw(*seed).unwrap()).excused.total() > 0;
    let seed = (0..60).map(|n| lab_seed(2, n)).find(excused).expect("some lab loses a pause");
    let lab = draw(seed).unwrap();
    let summary = run(Swarm { count: 1, seed, jobs: 1 }, |_, _| true);
    let by_cause: BTreeMap<_, _> = run_lab(&lab).excused.by_cause().collect();
    assert_eq!(summary.excused_drops, by_cause);
    assert_eq!((summary.lossless_drops, summary.failed), (0, vec![]));
    // The same lab with almost no headroom: its losses have no excuse.
    let trial = run_with_one_cell(&lab);
    let swarm = Swarm { count: 1, seed, jobs: 1 };
    let mut summary = Summary::new(swarm);
    LabRow::new(swarm, 0, &trial, WallSpan::ZERO).add_to(&mut summary);
    assert!(summary.lossless_drops > 0 && summary.failed.len() == 1, "{summary:?}");
    let json = serde_json::to_value(&summary).unwrap();
    for cause in Cause::ALL {
        let key = serde_json::to_value(cause).unwrap();
        assert!(json["excused_drops"][key.as_str().unwrap()].is_u64(), "{json}");
    }
}

#[test]
fn a_lab_whose_flows_are_told_to_slow_down_has_the_time_for_it() {
    // QCN delayed one of its flows to ten times its time at line rate.
    assert_eq!(run_lab(&draw(9_995_457_315_685_291_360).unwrap()).failures, []);
}

#[test]
fn refreshes_leave_time_for_data_on_the_slowest_link() {
    // Each was drawn with a refresh in less than the time of a PFC frame at 1 Gb/s.
    for seed in [5_570_831_075_222_269_138, 7_385_778_144_574_528_646] {
        assert_eq!(run_lab(&draw(seed).unwrap()).failures, []);
    }
}

#[test]
fn a_circle_behind_forged_frames_is_found_and_all_else_is_judged() {
    let lab = draw(17_758_602_024_335_833_856).unwrap();
    let trial = run_lab(&lab);
    // Its paths form a circle, so a deadlock is no failure. The forged frames in it are followed by their tags.
    assert_eq!(
        (trial.failures, trial.counts.stood_still, trial.counts.deadlocks),
        (vec![], false, 1)
    );
    let swallow = |network: &mut sim::Network<crate::swarm::trial::Watch>| {
        for port in (0..3).filter_map(PortId::new) {
            let Node::Switch(switch) = network.nodes_mut().get_mut(NodeId(0)) else { panic!() };
            if switch.port_mut(port).is_some() {
                let what = Defect::Forwarding(Forwarding::LosesData { every: 10 });
                network.add_defect(End { node: NodeId(0), port }, what);
            }
        }
    };
    let trial = run_with(&lab, |_| (), swallow);
    assert!(!trial.failures.is_empty(), "{trial:?}");
    // Without a circle no lab may stand still: the receiver's switch never resumes anyone.
    let never = |network: &mut sim::Network<crate::swarm::trial::Watch>| {
        for node in (0..network.nodes_mut().len() as u32).map(NodeId) {
            for port in (0..16).filter_map(PortId::new) {
                let Node::Switch(switch) = network.nodes_mut().get_mut(node) else { break };
                if switch.port_mut(port).is_some() {
                    let never = Defect::Sending(Sending::NeverResumes);
                    network.add_defect(End { node, port }, never);
                }
            }
        }
    };
    let failed = (0..20).any(|n| {
        let trial = run_with(&draw(lab_seed(2, n)).unwrap(), |_| (), never);
        assert!(!trial.counts.stood_still, "{n}");
        !trial.failures.is_empty()
    });
    assert!(failed);
}

#[test]
fn a_forged_frame_with_another_priority_at_the_next_switch_excuses_that_and_no_small_headroom() {
    // Its tag says 3 at the first switch; the next gets it without a tag, as a frame of priority 0.
    let lab = draw(11_162_364_711_254_485_183).unwrap();
    let trial = run_lab(&lab);
    assert_eq!(trial.failures, []);
    let excused: BTreeMap<_, _> = trial.excused.by_cause().collect();
    assert!(excused[&Cause::ForgedFrame] > 0, "{excused:?}");
    let trial = run_with_one_cell(&lab);
    assert_eq!(trial.failure().map(|failure| failure.check), Some("lossless"));
}

#[test]
fn a_forged_frame_may_close_a_circle() {
    let lab = draw(2_927_118_363_208_450_250).unwrap();
    let trial = run_lab(&lab);
    assert_eq!((trial.failures, trial.counts.deadlocks), (vec![], 1));
    // The same without it.
    let faults = lab
        .faults
        .iter()
        .filter(|fault| !matches!(fault.kind, Some(crate::raw::FaultKind::Forge(_))))
        .cloned()
        .collect();
    let trial = run_lab(&Lab { faults, ..lab });
    assert_eq!((trial.failures, trial.counts.deadlocks), (vec![], 0));
}

#[test]
fn a_circle_of_frames_that_cannot_be_followed_is_a_deadlock() {
    // A switch loses frames while it stands still, so what fills it at the end is known from the switch alone.
    for seed in [18_333_929_525_056_294_096, 992_386_280_186_141_077] {
        let trial = run_lab(&draw(seed).unwrap());
        assert_eq!(
            (trial.failures, trial.counts.deadlocks, trial.ended),
            (vec![], 1, None),
            "{seed}"
        );
    }
}

#[test]
fn messages_of_a_switch_take_no_headroom_from_what_links_bring() {
    // Messages of source flow control took more than headroom has.
    for seed in [1_377_966_860_963_572_864, 1_519_811_056_464_296_051] {
        assert_eq!(run_lab(&draw(seed).unwrap()).failures, []);
    }
}

#[test]
fn a_message_of_a_switch_that_it_drops_is_not_taken_for_a_frame() {
    let text = include_str!("own_message.yaml");
    let root = config::tree::read(text, "").unwrap();
    let trial = run_lab(&config::de::from_tree(&root).unwrap());
    assert_eq!(trial.failures, []);
    assert!(trial.counts.totals.drops > 0);
}

#[test]
fn headroom_to_the_byte_of_its_model_is_not_less_than_a_round_trip_brings() {
    let files = [
        include_str!("lost_pause_in_small_cells.yaml"),
        include_str!("busy_switch_with_small_cells.yaml"),
    ];
    for text in files {
        let root = config::tree::read(text, "").unwrap();
        let trial = run_lab(&config::de::from_tree(&root).unwrap());
        assert_eq!(trial.failures, []);
        assert!(trial.excused.total() > 0, "{trial:?}");
    }
}

#[test]
fn what_fails_is_made_small_and_still_fails() {
    // Fails if h2 sends more than three frames.
    let fails = |lab: &Lab| {
        let trial = run_lab(lab);
        if !trial.failures.is_empty() {
            return trial;
        }
        let guilty = lab.flows.iter().any(|flow| {
            let frames = match &flow.duration {
                Some(crate::raw::FlowDuration::Amount(amount)) => amount.frames.unwrap_or(0),
                _ => 0,
            };
            frames > 3
                && flow.from.as_ref().is_some_and(|from| {
                    from.names().is_some_and(|list| list.contains(&"h2".to_owned()))
                })
        });
        let failure = Failure { check: "h2", detail: "h2 sends".into() };
        let failures = if guilty { vec![failure] } else { vec![] };
        Trial { failures, ..Trial::default() }
    };
    let seed = (0..).map(|n| lab_seed(3, n)).find(|seed| {
        let lab = draw(*seed).unwrap();
        lab.flows.len() > 1 && lab.links.len() > 5 && !fails(&lab).failures.is_empty()
    });
    let lab = draw(seed.unwrap()).unwrap();
    let failure = fails(&lab).failures[0].clone();
    let small = shrink_with(&lab, &failure, WallSpan::from_secs(60), fails);
    assert_eq!(small.failure.check, "h2");
    let Lab { flows, links, faults, .. } = &small.lab;
    assert!(flows.len() == 1 && links.len() < lab.links.len() && faults.is_empty(), "{small:?}");
    assert!(parse("small.yaml", &as_yaml(&small.lab)).is_ok());
}

/// A flow changes its path while the switch behind it is full, and back. Frames that are dropped on arrival do
/// not bring it forward.
/// Two flows begin with the same bytes, and one of them moves when a link comes back.
#[test]
fn a_flow_that_moves_is_told_from_another_one_of_its_host() {
    assert_eq!(run_lab(&draw(13_369_670_530_974_473_089).unwrap()).failures, []);
}

#[test]
fn frames_of_a_flow_that_changed_its_path_are_followed_while_others_are_dropped() {
    let trial = run_lab(&read(include_str!("flap_of_a_full_path.yaml")));
    assert_eq!(trial.failures, []);
    assert!(trial.counts.totals.drops > 0);
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
    let trial = run_lab(&read(STARVED));
    assert_eq!((trial.failures.as_slice(), trial.verdict()), (&[][..], Verdict::NotJudged));
    // Isolated in a class that goes after it, they starve nothing.
    let fair = STARVED.replace("isolate: {\"3\": 4}", "isolate: {\"3\": 2}");
    let trial = run_lab(&read(&fair));
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
    let trial = run_lab(&read(&held));
    let is_unfinished = |failure: &Failure| failure.check == "finished";
    assert!(trial.failures.iter().any(is_unfinished), "{trial:?}");
    assert!(!trial.counts.stood_still);
}
