//! Flows that are lossless at their first switch and lossy at the next one.

use super::*;
use ground::verdict::Verdict;

/// Returns a lab with two hosts at s1, where DSCP 24 is lossless priority 3, and one at s2, which
/// classifies it to priority `taken_for`. All send `frames` frames to another host at s2.
fn lab(taken_for: u8, frames: u64) -> (LabPlan, Vec<String>) {
    lab_with(taken_for, frames, "")
}

/// Does the same with further flows.
fn lab_with(taken_for: u8, frames: u64, flows: &str) -> (LabPlan, Vec<String>) {
    let text = format!(
        "
duration: 2ms
until_done: true
profiles:
  a: {{defaults: {{pfc: {{enable: [3]}}}}}}
  b:
    defaults: {{pfc: {{enable: [3]}}, maps: {{dscp_to_priority: {{24: {taken_for}}}}}}}
    buffer: {{total: 3MiB, profiles: {{lossy: {{shared: {{static_th: 20KB}}}}}}}}
nodes:
  switches: [{{name: s1, profile: a}}, {{name: s2, profile: b}}]
  hosts: [h1, h2, h3, h4]
links: [{{from: h1, to: s2}}, {{from: h2, to: s1}}, {{from: h3, to: s1}}, {{from: s1, to: s2}}, {{from: h4, to: s2}}]
flows:
  - {{name: f, from: [h2, h3], to: h1, priority: 3, size: 1500, duration: {{frames: {frames}}}}}
  - {{name: g, from: h4, to: h1, priority: 3, size: 1500, duration: {{frames: {frames}}}}}
{flows}checks: [conservation, lossless]
"
    );
    let (plan, warnings) = parse("lab", &text).unwrap_or_else(|e| panic!("{e}"));
    (plan, warnings.iter().map(|w| w.line("lab")).collect())
}

fn lossless(outcome: &Outcome) -> (Verdict, &str) {
    let check = outcome.checks.iter().find(|check| check.name == "lossless").unwrap();
    (check.verdict, &check.detail)
}

#[test]
fn what_is_dropped_where_they_are_lossy_is_a_lossless_loss_and_warned_of() {
    let (plan, warnings) = lab(1, 400);
    // One warning for all flows of the entry; `g` has a DSCP that its switch maps to priority 3.
    let told = "lossless at `s1` (priority 3) and lossy at `s2`, which takes them for priority 1";
    let [warning] = &warnings[..] else { panic!("{warnings:#?}") };
    assert!(warning.contains("flows[0]") && warning.contains(told), "{warning}");
    let outcome = run_it(&plan);
    let lost: u64 = outcome.flows.iter().filter(|f| f.name != "g").map(|f| f.loss_frames).sum();
    assert!(lost > 0 && outcome.flows.iter().all(|f| f.lossless == (f.name == "g")));
    assert_eq!(outcome.lossless_drops, lost);
    let way = outcome.lossy_way.as_ref().unwrap();
    assert_eq!(
        (way.flows.len(), &way.switches[..], way.unknown_frames),
        (2, &["s2".into()][..], 0)
    );
    let (verdict, detail) = lossless(&outcome);
    assert!(verdict.is_fail() && detail.contains("dropped at s2"), "{verdict} {detail}");
    assert!(outcome.verdict.is_fail());
}

#[test]
fn what_arrives_is_no_loss_wherever_it_is_lossy() {
    let (plan, warnings) = lab(1, 5);
    assert_eq!(warnings.len(), 1, "the next run may lose something");
    let outcome = run_it(&plan);
    assert_eq!((outcome.lossless_drops, lossless(&outcome).0), (0, Verdict::Pass));
    let (plan, warnings) = lab(3, 400);
    assert!(warnings.is_empty() && plan.flows.iter().all(|flow| flow.lossy_at.is_empty()));
    let outcome = run_it(&plan);
    assert_eq!((outcome.lossless_drops, lossless(&outcome).0), (0, Verdict::Pass));
    assert!(outcome.lossy_way.is_none() && outcome.flows.iter().all(|f| f.lossless));
}

#[test]
fn where_links_may_have_lost_them_nothing_is_judged() {
    // In addition to the flow's frames, s2 drops frames of one that is lossy everywhere; a link
    // loses three of h2's.
    let (mut plan, _) =
        lab_with(1, 5, "  - {name: x, from: [h3, h4], to: h1, priority: 1, size: 1500}\n");
    let lose = FaultKind::Line(LinkId(1).ab(), LineFault::Lose { which: Which::Data, frames: 3 });
    plan.network.faults.push(Fault { at: Instant::ZERO, kind: lose });
    let outcome = run_it(&plan);
    let way = outcome.lossy_way.as_ref().unwrap();
    assert!(way.lost_frames == 0 && way.unknown_frames > 0, "{way:?}");
    let (verdict, detail) = lossless(&outcome);
    assert!(verdict == Verdict::NotJudged && detail.contains("do not tell"), "{verdict} {detail}");
}

#[test]
fn what_is_lossy_at_the_first_switch_and_lossless_behind_it_is_warned_of() {
    let text = "
duration: 100us
profiles:
  a: {defaults: {pfc: {enable: [4]}}}
  b: {defaults: {pfc: {enable: [3]}}}
nodes: {switches: [{name: s1, profile: a}, {name: s2, profile: b}], hosts: [h1, h2]}
links: [{from: h1, to: s1}, {from: s1, to: s2}, {from: h2, to: s2}]
flows: [{name: f, from: h1, to: h2, priority: 3}]
";
    let (_, warnings) = parse("lab", text).unwrap_or_else(|e| panic!("{e}"));
    let told = "lossy at `s1` (priority 3) and lossless at `s2` (priority 3)";
    assert!(warnings.iter().any(|w| w.line("lab").contains(told)), "{warnings:#?}");
    // The other way on, it is lossless at its first switch.
    let (_, warnings) = parse("lab", &text.replace("[3]", "[5]").replace("[4]", "[3]")).unwrap();
    let told = "lossless at `s1` (priority 3) and lossy at `s2`";
    assert!(warnings.iter().any(|w| w.line("lab").contains(told)), "{warnings:#?}");
}
