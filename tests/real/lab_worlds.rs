//! The same labs in both worlds: results that depend on frames and their order alone must agree,
//! however the machine schedules the threads of the real one.
//!
//! In a separate process, as DPDK starts once in each, and so in one test.

use sluice::dpdk::Eal;
use sluice::lab::real::{self, RealError, RealOptions};
use sluice::lab::{self, Options, Outcome, World, parse};
use sluice::units::{Priority, PrioritySet};
use sluice::verdict::Verdict;

use crate::apart::own_process;
use crate::worlds::both;

/// A rack of slow links, so that any machine keeps up. `roce` pauses early, and resumes 20 frames
/// of 1,000 bytes later.
const RACK: &str = "
duration: 200ms
until_done: true
profiles:
  tor:
    buffer:
      cell: 1000
      total: 2MB
      profiles:
        roce: {shared: {static_th: 30000}, lossless: {xon_offset: 20000}}
        rest: {shared: {static_th: 20000}}
    defaults: {pfc: {enable: [3]}, priority_groups: {3: roce, 0: rest}}
defaults:
  links: {rate: 1G, delay: 500ns, phy: none}
  flows: {size: 1000}
";

#[test]
fn what_must_agree_agrees() {
    own_process!();
    let eal = Eal::start(&real::eal_options()).unwrap();
    three_senders_to_one(&eal);
    pauses_in_the_same_order(&eal);
    messages_across_two_switches(&eal);
    a_loss_where_a_lossless_flow_is_lossy(&eal);
    a_link_that_flaps(&eal);
    a_generators_file(&eal);
    what_rings_cannot_do_is_said(&eal);
}

/// A generator's file through a switch: the same storm stops the same flow and no other.
fn a_generators_file(eal: &Eal) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/labs/otg-storm.yaml");
    let (plan, _) = lab::load(path.as_ref()).unwrap();
    let exact = lab::run(&plan, World::Virtual, Options::default(), |_| ()).unwrap().outcome;
    let real = real::run(eal, &plan, RealOptions::default(), |_| ()).unwrap().outcome();
    // The file asks for pause_legality, which rings cannot judge.
    let received = |outcome: &Outcome, verdict: Verdict| {
        assert_eq!(outcome.verdict, verdict, "{}: {:#?}", outcome.world, outcome.checks);
        let tester = outcome.tester.as_ref().unwrap();
        let paused = tester.ports[0].priorities.iter().filter(|p| p.transitions > 0);
        assert_eq!(paused.map(|p| p.priority).collect::<Vec<_>>(), [3], "{}", outcome.world);
        tester.flows.iter().map(|flow| flow.frames_rx).collect::<Vec<_>>()
    };
    let exact = received(&exact, Verdict::Pass);
    let real = received(&real, Verdict::NotJudged);
    assert_eq!((exact[1], real[1]), (20_000, 20_000));
    assert!(exact[0].abs_diff(real[0]) <= 50, "{exact:?} and {real:?}");
}

/// Three hosts offer one of them three times the rate of its link, half of it lossless.
fn three_senders_to_one(eal: &Eal) {
    let lab = both(
        eal,
        &format!(
            "{RACK}
topology: {{star: {{hosts: 4}}}}
flows:
  - {{name: a, from: [h1, h2, h3], to: h4, priority: 3, rate: 50%, duration: {{frames: 800}}}}
  - {{name: b, from: [h1, h2, h3], to: h4, priority: 0, rate: 50%, duration: {{frames: 800}}}}
checks: [conservation, lossless, pauses_end, no_deadlock]
"
        ),
    );
    lab.agree();
    for (outcome, pauses) in [&lab.exact, &lab.real] {
        let world = outcome.world;
        assert_eq!(outcome.flows.iter().filter(|f| f.lossless).count(), 3);
        // The number of pauses depends on the machine; that all three senders are paused does not.
        assert!(pauses.crossings.len() == 3 && pauses.told.len() == 3, "{world}: {pauses:?}");
        assert!(outcome.pauses.xoffs == outcome.pauses.xons && outcome.pauses.xoffs >= 3);
        // Losses of the lossy half are separate: dropped under a reason, and no others.
        let lost: u64 = outcome.flows.iter().map(|f| f.loss_frames).sum();
        assert!(lost > 0 && outcome.drops.total() == lost, "{world}");
    }
    assert!(lab.real.0.trace_hash.is_none() && lab.exact.0.trace_hash.is_some());
}

/// Frames that the second switch drops because it treats a lossless flow as lossy are lost in both
/// worlds, and a wrong count fails on rings, too.
fn a_loss_where_a_lossless_flow_is_lossy(eal: &Eal) {
    let lab = both(
        eal,
        "
duration: 200ms
until_done: true
profiles:
  a: {defaults: {pfc: {enable: [3]}}}
  b:
    defaults: {pfc: {enable: [3]}, maps: {dscp_to_priority: {24: 1}}}
    buffer: {total: 3MiB, profiles: {lossy: {shared: {static_th: 20KB}}}}
defaults: {links: {rate: 1G}}
nodes:
  switches: [{name: s1, profile: a}, {name: s2, profile: b}]
  hosts: [h1, h2, h3]
links: [{from: h1, to: s2}, {from: h2, to: s1}, {from: h3, to: s2}, {from: s1, to: s2}]
flows: [{name: f, from: [h2, h3], to: h1, priority: 3, size: 1500, duration: {frames: 400}}]
checks:
  - lossless
  - {name: sent, value: {path: flows.f_h2.tx_frames, expect: 400}}
  - {name: too many, value: {path: flows.f_h2.tx_frames, expect: 401}}
",
    );
    for (outcome, _) in [&lab.exact, &lab.real] {
        let verdicts: Vec<_> = outcome.checks.iter().map(|check| check.verdict).collect();
        let [fail, pass] = [Verdict::Fail, Verdict::Pass];
        assert_eq!(verdicts, [fail, pass, fail], "{}: {:#?}", outcome.world, outcome.checks);
        assert!(outcome.lossless_drops > 0 && outcome.verdict.is_fail());
    }
}

/// A case in which order alone decides. The receiver is paused for 2 ms while 38 frames are sent to
/// it, so nothing leaves the switch: the 30th or 31st crosses the limit, at any time. The number of
/// further frames before the pause is obeyed is timing, and different in the two worlds. But once
/// the receiver resumes, frames only leave until 10 are left, and no more than 8 can still arrive,
/// so the limit is not reached again. In three repetitions each port of each world must pass
/// through the same states.
fn pauses_in_the_same_order(eal: &Eal) {
    let (mut storms, mut flows) = (String::new(), String::new());
    for round in 0..3 {
        let (pause, send, resume) = (10 * round, 10 * round + 2, 10 * round + 6);
        storms += &format!(
            "        - {{priorities: [3], start: {pause}ms, every: 1ms, frames: 1}}
        - {{priorities: [3], quanta: 0, start: {resume}ms, every: 1ms, frames: 1}}
"
        );
        flows += &format!(
            "  - {{name: f{round}, from: h1, to: h2, priority: 3, start: {send}ms, \
             duration: {{frames: 38}}}}\n"
        );
    }
    let lab = both(
        eal,
        &format!(
            "{RACK}
nodes:
  switches: 1
  hosts:
    - h1
    - name: h2
      storms:
{storms}
links: [{{from: h1, to: s1}}, {{from: h2, to: s1}}]
flows:
{flows}
checks: [conservation, lossless, pauses_end, no_deadlock]
"
        ),
    );
    lab.agree();
    assert_eq!(lab.exact.1, lab.real.1);
    let only = |states: Vec<&Vec<PrioritySet>>| states.into_iter().cloned().collect::<Vec<_>>();
    let (on, off) = (PrioritySet::of(Priority::ALL[3]), PrioritySet::EMPTY);
    let three_times = vec![on, off, on, off, on, off];
    let pauses = &lab.real.1;
    assert_eq!(
        pauses.crossings.values().next(),
        Some(&vec![true, false, true, false, true, false])
    );
    assert_eq!(pauses.crossings.len(), 1);
    assert_eq!(only(pauses.obeyed.values().collect()), vec![three_times.clone()]);
    assert_eq!(only(pauses.told.values().collect()), vec![three_times.clone(), three_times]);
}

/// RoCEv2 and TCP-like messages over two switches: all of their data arrives in both worlds. Whether
/// a group pauses its peer depends on the machine, so `pauses_end` is not asked for.
fn messages_across_two_switches(eal: &Eal) {
    let lab = both(
        eal,
        &format!(
            "{RACK}
topology: {{parking_lot: {{switches: 2, hosts_per_switch: 2}}}}
flows:
  - {{name: r, from: [h1, h2], to: h4, priority: 3, transport: roce, duration: {{bytes: 300kB}}}}
checks: [conservation, lossless, no_deadlock]
"
        ),
    );
    lab.agree();
    for (outcome, _) in [&lab.exact, &lab.real] {
        let done = |f: &sluice::lab::FlowOutcome| f.transport.is_some_and(|t| t.sender.done);
        assert!(outcome.flows.len() == 2 && outcome.flows.iter().all(done), "{:?}", outcome.flows);
    }
}

/// A link that goes down and comes up: its losses depend on the machine, but all frames are
/// accounted for, and the flow continues.
fn a_link_that_flaps(eal: &Eal) {
    let lab = both(
        eal,
        &format!(
            "{RACK}
topology: {{star: {{hosts: 2}}}}
flows:
  - {{name: f, from: h1, to: h2, priority: 0, rate: 50%, duration: {{frames: 500}}}}
faults:
  - {{at: 2ms, flap: {{link: h2-s1, down_for: 2ms}}}}
  - {{at: 5ms, stall: {{node: h2, for: 1ms}}}}
checks: [conservation, no_deadlock]
"
        ),
    );
    lab.agree();
    for (outcome, _) in [&lab.exact, &lab.real] {
        let flow = &outcome.flows[0];
        assert_eq!(flow.tx_frames, 500, "{}", outcome.world);
        assert!(flow.loss_frames > 50 && flow.rx_frames > 200, "{}: {flow:?}", outcome.world);
    }
}

/// All features that rings do not support are named; invalid values are refused.
fn what_rings_cannot_do_is_said(eal: &Eal) {
    let lab = both(
        eal,
        &format!(
            "{RACK}
nodes:
  switches: [{{name: s1, cut_through: true, control_frame: 84}}]
  hosts: [{{name: h1, clock: {{offset: 5us, drift: 50ppm}}}}, {{name: h2, cpu: {{frame: 10ns}}}}]
links:
  - {{from: h1, to: s1, errors: {{ber: 1e-15}}, response: 1us}}
  - {{from: h2, to: s1, time_step: 1ns}}
flows:
  - {{name: f, from: h1, to: h2, priority: 3, start: 1ms, duration: {{frames: 100}}}}
faults:
  - {{at: 9ms, lose: {{link: h1-s1, from: h1, frames: 3}}}}
checks: [conservation, lossless, pause_legality]
record: {{sample_every: 10us}}
"
        ),
    );
    let said: Vec<_> = lab.run.shortfalls.iter().map(|s| s.field).collect();
    for field in [
        "seed",
        "links.length, delay, phy",
        "links.response",
        "links.errors",
        "links.time_step",
        "nodes.clock",
        "nodes.cpu",
        "nodes.cut_through",
        "nodes.control_frame",
        "faults.lose, errors",
        "record.sample_every",
        "profiles.buffer.profiles.lossless.xoff",
    ] {
        assert!(said.contains(&field), "{field}: {:#?}", lab.run.shortfalls);
    }
    let checks = lab.real.0.checks.iter().map(|check| (check.name.as_str(), check.verdict));
    let [pass, not_judged] = [Verdict::Pass, Verdict::NotJudged];
    assert_eq!(
        checks.collect::<Vec<_>>(),
        [("conservation", pass), ("lossless", pass), ("pause_legality", not_judged)]
    );
    assert_eq!((lab.real.0.verdict, lab.real.0.flows[0].rx_frames), (not_judged, 100));

    let (plan, _) = parse("big", &format!("{RACK}\ntopology: {{star: {{hosts: 40}}}}\n")).unwrap();
    let refused = real::run(eal, &plan, RealOptions::default(), |_| {}).unwrap_err();
    assert!(matches!(refused, RealError::Links { links: 40, .. }) && refused.is_bad_input());
}
