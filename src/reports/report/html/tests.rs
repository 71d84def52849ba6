//! The page of a lab: no figure for unknown values, no loss without a lost frame, no pass over a
//! deadlock.

use super::*;
use ground::time::Duration;
use lab::{self, Options, World, parse, run};

/// The page of a run after `change` to its results.
fn page_of(plan: &LabPlan, change: impl FnOnce(&mut Outcome)) -> (Outcome, String) {
    let options = Options { plots: true, ..Options::default() };
    let mut run = run(plan, World::Virtual, options, |_| {}).unwrap();
    change(&mut run.outcome);
    let recording = run.recording.as_ref().unwrap();
    let page = html(&Report { plan, outcome: &run.outcome, recording, command: "sluice run x" });
    (run.outcome, page)
}

/// Returns the figure in a tile.
fn tile<'a>(page: &'a str, name: &str) -> &'a str {
    let (_, rest) = page.split_once(&format!("<dt>{name}</dt><dd>")).unwrap();
    rest.split_once("</dd>").unwrap().0
}

/// Two hosts, one of which permanently pauses the priority of the only flow.
const BLOCKED: &str = "
duration: 200us
profiles: {tor: {defaults: {pfc: {enable: [3]}}}}
nodes: {switches: [s1], hosts: [h1, {name: h2, storms: [{priorities: [3]}]}]}
links: [{from: h1, to: s1}, {from: h2, to: s1}]
flows: [{name: f, from: h1, to: h2, priority: 3, size: 1000, start: 10us}]
checks: [conservation]
";

#[test]
fn what_waits_is_not_lost_and_what_is_not_known_is_no_number() {
    let (plan, _) = parse("blocked", BLOCKED).unwrap();
    let (outcome, page) = page_of(&plan, |_| ());
    let flow = &outcome.flows[0];
    assert!(flow.rx_frames == 0 && flow.pending_frames == flow.tx_frames && flow.tx_frames > 0);
    assert_eq!(flow.latency_ns, None);
    assert_eq!(tile(&page, "p99 latency, slowest flow"), "-");
    assert_eq!(tile(&page, "throughput, all flows"), "0 b/s");
    assert_eq!(tile(&page, "frames lost, all flows"), "0");
    assert_eq!(tile(&page, "frames queued at the end"), count(flow.pending_frames));
    assert!(page.contains("class=\"verdict pass\"") && !page.contains("-0 "));
}

#[test]
fn a_lab_without_flows_has_no_throughput() {
    let text = BLOCKED.split("flows:").next().unwrap().to_owned() + "checks: []\n";
    let (plan, _) = parse("empty", &text).unwrap();
    let (outcome, page) = page_of(&plan, |_| ());
    assert_eq!(outcome.verdict, Verdict::NotJudged);
    for name in ["throughput, all flows", "p99 latency, slowest flow", "frames lost, all flows"] {
        assert_eq!(tile(&page, name), "-", "{name}");
    }
    assert!(page.contains("class=\"verdict not_judged\"") && !page.contains("-0 "));
}

#[test]
fn a_standstill_is_never_shown_in_the_colours_of_a_pass() {
    let (plan, _) = parse("blocked", BLOCKED).unwrap();
    let at = |us| Instant::ZERO + Duration::from_micros(us);
    let deadlock = |ended| sim::check::Deadlock {
        at: at(90),
        since: at(80),
        ended,
        cycle: Vec::new(),
        name: "s1:a, s2:b".into(),
    };
    let (_, page) = page_of(&plan, |outcome| outcome.deadlocks.push(deadlock(None)));
    assert!(page.contains("class=\"verdict inconclusive\"") && page.contains("s1:a, s2:b"));
    let over = Some(at(95));
    let (_, page) = page_of(&plan, |outcome| outcome.deadlocks.push(deadlock(over)));
    assert!(page.contains("class=\"verdict pass\""));
    let (_, page) = page_of(&plan, |outcome| outcome.verdict = Verdict::Fail);
    assert!(page.contains("class=\"verdict fail\""));
}

#[test]
fn frames_of_a_generator_that_wait_in_the_network_are_not_lost() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../configs/labs/otg-storm.yaml");
    let (mut plan, _) = lab::load(std::path::Path::new(path)).unwrap();
    plan.duration = Duration::from_millis(650);
    let (outcome, page) = page_of(&plan, |_| ());
    let flows = &outcome.tester.as_ref().unwrap().flows;
    let stopped = flows.iter().find(|flow| flow.name == "on3").unwrap();
    let queued = stopped.queued_frames.unwrap();
    assert!(queued > 100 && stopped.frames_tx == stopped.frames_rx + queued, "{stopped:?}");
    assert!(stopped.lost() == 0 && stopped.loss_percent == 0.0);
    let queued: u64 = flows.iter().filter_map(|flow| flow.queued_frames).sum();
    assert_eq!(tile(&page, "frames lost, all flows"), "0");
    assert_eq!(tile(&page, "frames queued at the end"), count(queued));
    assert!(tile(&page, "throughput, all flows").ends_with("Mb/s"));
    assert_ne!(tile(&page, "p99 latency, slowest flow"), "-");
}
