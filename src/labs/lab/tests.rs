//! Labs in the virtual world, compared with results calculated by hand.

mod alone;
mod idle;
mod lossy_way;
mod matrix;
mod order;
mod pauses;
mod refused;
#[cfg(feature = "dpdk")]
mod rings;
mod star;
mod threads;
mod verdicts;
mod workloads;

use serde_json::{Value, json};

use super::*;
use contracts::stats::DropReason;
use ground::time::{Duration, Instant};
use ground::units::{PortId, Priority, PrioritySet, Quanta};
use ground::verdict::Verdict;
use host::{Demand, PausePlan};
use labrun::{run_changed, run_divided};
use sim::defect::{Defect, Obeying};
use sim::teststar::RATE;
use sim::{
    ClockPlan, DirectionPlan, End, ErrorPlan, Fault, FaultKind, LineFault, LinkId, Network, NodeId,
    Which,
};
use star::incast;
use switch::rig;

fn run_it(plan: &LabPlan) -> Outcome {
    run(plan, World::Virtual, Options::default(), |_| {}).unwrap().outcome
}

fn value(path: &str, expect: Expectation) -> Check {
    let path = path.to_owned();
    Check {
        name: path.clone(),
        kind: CheckKind::Value { path, same_as: None, expect },
        by_default: false,
        source: None,
    }
}

fn all_checks() -> Vec<Check> {
    [
        ("conservation", CheckKind::Conservation),
        ("lossless", CheckKind::LosslessDelivery),
        ("pause_legality", CheckKind::PauseLegality),
        ("pauses_end", CheckKind::PausesEnd),
        ("no_deadlock", CheckKind::NoDeadlock),
        ("work_conserving", CheckKind::WorkConserving),
        ("ecn_before_pfc", CheckKind::EcnBeforePfc),
    ]
    .map(|(name, kind)| Check { name: name.into(), kind, by_default: false, source: None })
    .into()
}

/// Returns the names of the checks that do not pass, and asserts that each of them is not judged.
#[track_caller]
fn unjudged(outcome: &Outcome) -> Vec<&str> {
    let others = outcome.checks.iter().filter(|check| !check.verdict.is_pass());
    let is_open = |check: &CheckOutcome| check.verdict == Verdict::NotJudged;
    assert!(others.clone().all(is_open), "{:#?}", outcome.checks);
    others.map(|check| check.name.as_str()).collect()
}

fn exactly(value: f64) -> Expectation {
    Expectation { value: Some(value), ..Expectation::default() }
}

#[test]
fn one_frame_gives_the_latency_of_its_way() {
    let mut plan = incast(1, 1);
    // Preamble and 1,048 bytes at 80 ps and 500 ns of cable, then the same without the tag.
    let latency = Duration::from_picos((1056 + 1052) * 80 + 2 * 500_000);
    plan.checks = vec![
        value("flows.f0.latency_ns.p50", exactly(1168.64)),
        value("flows.f0.latency_ns.max", exactly(1168.64)),
        value("flows.f0.fct_ns", exactly(1168.64)),
        value("elapsed_ns", exactly(1168.64)),
        value("nodes.s.ports.to_r.tx_frames", exactly(1.0)),
    ];
    let outcome = run_it(&plan);
    assert_eq!(outcome.flows[0].fct_ns, Some(latency));
    assert!(outcome.is_pass(), "{:#?}", outcome.checks);
    assert!(outcome.done && outcome.pauses == PauseOutcome::default());
}

#[test]
fn a_number_is_compared_with_another() {
    let mut plan = incast(4, 3_000);
    let same = |path: &str, other: &str, tolerance| {
        let expect = Expectation { tolerance, ..Expectation::default() };
        let kind = CheckKind::Value { path: path.into(), same_as: Some(other.into()), expect };
        Check { name: format!("{path} as {other}"), kind, by_default: false, source: None }
    };
    plan.checks = vec![
        same("pauses.received_xoffs", "pauses.xoffs", Tolerance::Exact),
        same("pauses.xoffs", "pauses.frames_sent", Tolerance::Exact),
        same("pauses.xoffs", "pauses.frames_sent", Tolerance::Relative(0.9)),
        same("pauses.xoffs", "pauses.none", Tolerance::Exact),
    ];
    let outcome = run_it(&plan);
    let verdicts: Vec<_> = outcome.checks.iter().map(|check| check.verdict).collect();
    let [pass, fail] = [Verdict::Pass, Verdict::Fail];
    assert_eq!(verdicts, [pass, fail, pass, fail], "{:#?}", outcome.checks);
}

#[test]
fn an_incast_pauses_its_senders_and_fills_the_link() {
    let mut plan = incast(4, 3_000);
    plan.measure_from = Duration::from_micros(20);
    plan.measure_to = Some(Duration::from_micros(200));
    let flows = (0..4).collect();
    let kind = CheckKind::Fairness { flows, tolerance: 0.05 };
    plan.checks = all_checks();
    plan.checks.extend([
        Check { name: "shares".into(), kind, by_default: false, source: None },
        value("lossless_drops", exactly(0.0)),
        value("deadlocks", exactly(0.0)),
        value("pauses.xoffs", Expectation { at_least: Some(4.0), ..Expectation::default() }),
    ]);
    let outcome = run_it(&plan);
    // No switch marks. All flows have data for as long as rates are measured.
    assert_eq!(unjudged(&outcome), ["ecn_before_pfc"]);
    assert_eq!(outcome.verdict, Verdict::NotJudged);
    let p = &outcome.pauses;
    assert!(p.first_ns < p.first_received_ns && p.received_xoffs == p.xoffs, "{p:?}");
    assert!(p.xoffs == p.xons && p.longest_ns > Duration::ZERO && p.frames_sent >= 2 * p.xoffs);
    // 1,044 of every 1,064 bytes on the line are the frame's.
    let sum: f64 = outcome.flows.iter().map(|f| f.rx_bps).sum();
    let full = RATE.get() as f64 * 1044.0 / 1064.0;
    assert!((sum - full).abs() < full * 1e-3, "{sum} of {full}");
    assert!(outcome.flows.iter().all(|f| f.rx_frames == 3_000 && f.loss_frames == 0));
}

#[test]
fn what_is_recorded_on_the_way_changes_no_result() {
    let plan = incast(4, 2_000);
    let once = run_it(&plan);
    assert_eq!(once, run_it(&plan));
    let with =
        run(&plan, World::Virtual, Options { plots: true, ..Options::default() }, |_| {}).unwrap();
    assert_eq!(once, with.outcome);
    let Recording { events, looks, completions } = with.recording.unwrap();
    assert!(looks.moments.len() > record::MOMENTS_MAX / 4);
    let peaks = looks.queues.values().map(|series| series.peak).max();
    assert!(peaks > Some(100_000), "{peaks:?}");
    let lengths = |s: &record::Series| s.octets.len() == looks.moments.len();
    assert!(looks.queues.values().chain(looks.groups.values()).all(lengths));
    let last: Vec<_> = looks.arrived.iter().map(|a| a.last().copied()).collect();
    assert!(last.iter().all(|n| *n > Some(1_500 * 1044)), "{last:?}");
    assert!(
        events.pauses(LinkId(0).ab()).next().is_some_and(|(_, line)| !line.pieces().is_empty())
    );
    let frames = events.pause_frames(LinkId(0).ab()).unwrap();
    assert!(frames.sent.len() >= frames.obeyed.len() && frames.obeyed.len() >= 2, "{frames:?}");
    assert!(
        frames.sent[0].at < frames.obeyed[0].at && frames.sent[0].xoff == frames.obeyed[0].xoff
    );
    assert_eq!(completions, crate::Completions::default(), "no flow has messages");
}

#[test]
fn too_little_headroom_is_told_to_the_frame() {
    let mut plan = incast(1, 1_000);
    // The receiver pauses permanently, so no frame leaves the buffer.
    let pfc = Demand::pfc(PrioritySet::of(Priority::ALL[3]), Quanta::MAX);
    let every = Duration::from_micros(100);
    let storm = PausePlan { ask: pfc, start: Instant::ZERO, every, frames: 10 };
    let star::Parts { switch, receiver } = star::parts(&mut plan);
    receiver.pauses.push(storm);
    // A frame takes 17 cells, so 4 cells are missing for 8 frames.
    for groups in &mut switch.buffer.groups {
        *groups = rig::groups(8 * 17 - 4);
    }
    plan.checks = all_checks();
    plan.checks.extend([
        value("nodes.s.ports.to_h0.groups.3.frames_from_first_pause_to_first_drop", exactly(7.0)),
        value("first_drop.reason", exactly(0.0)),
    ]);
    let outcome = run_it(&plan);
    assert!(outcome.lossless_drops > 0 && !outcome.is_pass());
    let bad = outcome.checks.iter().filter(|check| check.verdict.is_fail());
    let bad: Vec<_> = bad.map(|check| check.name.as_str()).collect();
    assert_eq!(bad, ["lossless", "first_drop.reason"], "{:#?}", outcome.checks);
    assert_eq!(outcome.checks.last().unwrap().detail, "first_drop.reason is no number");
    let drop = outcome.first_drop.unwrap();
    assert_eq!((drop.node.as_str(), drop.reason, drop.priority), ("s", "headroom_full", Some(3)));
    let lost: u64 = outcome.flows.iter().map(|f| f.loss_frames).sum();
    assert_eq!(lost, outcome.lossless_drops);
    assert_eq!(outcome.drops.get(DropReason::HeadroomFull), lost);
}

#[test]
fn a_line_that_is_idle_while_frames_wait_makes_the_verdict_bad() {
    let mut plan = incast(2, 2_000);
    plan.duration = Duration::from_millis(1);
    // 100 quanta at 100 Gb/s are half a microsecond.
    let pfc = Demand::pfc(PrioritySet::of(Priority::ALL[3]), Quanta(100));
    let (start, every) = (Instant::ZERO + Duration::from_micros(20), Duration::MAX);
    let star::Parts { receiver, .. } = star::parts(&mut plan);
    receiver.pauses.push(PausePlan { ask: pfc, start, every, frames: 1 });
    plan.checks = all_checks();
    assert_eq!(unjudged(&run_it(&plan)), ["ecn_before_pfc"]);
    // The switch keeps the pause for the longest possible time, 336 us, and is sampled every 10 us.
    let mut deaf = |network: &mut Network<_>| {
        let end = End { node: NodeId(0), port: PortId::new(2).unwrap() };
        let longest = Obeying::ScaledTimes { numerator: u16::MAX, denominator: 1 };
        network.add_defect(end, Defect::Obeying(longest));
    };
    let run = run_changed(&plan, Options::default(), &mut deaf, &mut |_| {}).unwrap();
    let bad = run.outcome.checks.iter().filter(|check| check.verdict.is_fail());
    let bad: Vec<_> = bad.map(|check| (check.name.as_str(), check.detail.as_str())).collect();
    let [("work_conserving", detail)] = bad[..] else { panic!("{bad:#?}") };
    assert!(detail.contains("s:to_r is idle and not paused"), "{detail}");
    assert!(!run.outcome.is_pass());
}

#[test]
fn losses_and_faults_are_told_apart_from_drops() {
    let mut plan = incast(1, 100);
    let at = |us| Instant::ZERO + Duration::from_micros(us);
    let lose = FaultKind::Line(LinkId(0).ba(), LineFault::Lose { which: Which::Data, frames: 3 });
    plan.network.faults = vec![
        Fault { at: at(1), kind: lose },
        Fault { at: at(2), kind: FaultKind::Link { link: LinkId(0), up: false } },
        Fault { at: at(3), kind: FaultKind::Link { link: LinkId(0), up: true } },
    ];
    let outcome = run_it(&plan);
    let losses = outcome.line_losses;
    assert_eq!((losses.lost, outcome.lossless_drops, outcome.drops.total()), (3, 0, 0));
    assert!(losses.link_down > 0);
    assert_eq!(outcome.flows[0].loss_frames, losses.lost + losses.link_down);
    assert_eq!(outcome.flows[0].fct_ns, None);
    let what: Vec<_> = outcome.faults.iter().map(|f| f.what.as_str()).collect();
    let expected =
        ["the next 3 data frames from h0 to s are lost", "link l0 goes down", "link l0 comes up"];
    assert_eq!(what, expected);
}

#[test]
fn latency_does_not_depend_on_what_clocks_show() {
    let exact = run_it(&incast(1, 10));
    let mut plan = incast(1, 10);
    plan.network.nodes[1].clock =
        ClockPlan { offset: Duration::from_millis(5), ..ClockPlan::default() };
    // The flow begins when the sender's clock says so, which is at once.
    let outcome = run_it(&plan);
    assert_eq!(outcome.flows[0].latency_ns, exact.flows[0].latency_ns);
    assert_eq!(outcome.flows[0].rx_frames, 10);
}

#[test]
fn a_run_that_is_cut_short_says_what_is_still_on_its_way() {
    let mut plan = incast(1, 1_000);
    plan.duration = Duration::from_micros(10);
    let outcome = run_it(&plan);
    let flow = &outcome.flows[0];
    assert!(!outcome.done && flow.pending_frames > 0 && flow.loss_frames == 0, "{flow:?}");
    assert_eq!(flow.tx_frames, flow.rx_frames + flow.pending_frames);
    assert_eq!(outcome.elapsed_ns, plan.duration);
}

#[test]
fn errors_on_lines_are_counted_by_kind() {
    let mut plan = incast(1, 2_000);
    let errors = ErrorPlan { bit: u64::MAX / 100_000, frame: u64::MAX / 100 };
    plan.network.links[0].ba = DirectionPlan { errors, ..plan.network.links[0].ba };
    let outcome = run_it(&plan);
    let LineLosses { damaged, lost, .. } = outcome.line_losses;
    assert!((50..350).contains(&damaged) && (5..50).contains(&lost), "{damaged} {lost}");
    assert_eq!(outcome.flows[0].loss_frames, damaged + lost);
}

#[test]
fn the_json_has_the_promised_fields_in_the_order_of_the_lab() {
    let outcome = run_it(&incast(2, 10));
    let json = serde_json::to_value(&outcome).unwrap();
    assert_eq!(json["world"], "virtual");
    assert_eq!(json["trace_hash"].as_str().map(str::len), Some(16));
    let flow = json["flows"][1].as_object().unwrap();
    for field in ["name", "tx_frames", "rx_frames", "loss_frames", "rx_bps", "payload_bps"] {
        assert!(flow.contains_key(field), "{field}");
    }
    for field in ["min", "p50", "p99", "p999", "max"] {
        assert!(flow["latency_ns"][field].is_number(), "{field}");
    }
    assert_eq!(json["nodes"]["s"]["ports"][0]["priorities"][3]["priority"], 3);
    assert_eq!(json["nodes"]["h0"]["ports"][0]["peer"], "s");
    assert_eq!(json["nodes"]["h0"]["kind"], "host");
    let text = serde_json::to_string(&outcome).unwrap();
    let order = ["\"s\":", "\"h0\":", "\"h1\":", "\"r\":"].map(|name| text.find(name).unwrap());
    assert!(order.is_sorted(), "{order:?}");
    assert_eq!(json["checks"], json!([]));
    assert!(json["pauses"]["first_ns"] == Value::Null);
}

#[test]
fn an_interrupted_run_says_what_happened_and_passes_nothing() {
    let lab =
        load(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../configs/labs/incast.yaml").as_ref());
    let plan = lab.unwrap().0;
    let stop = std::sync::atomic::AtomicBool::new(true);
    let options = Options { stop: Some(&stop), ..Options::default() };
    let run = run(&plan, World::Virtual, options, |_| ()).unwrap();
    let outcome = run.outcome;
    assert!(outcome.interrupted && !outcome.done);
    assert!(outcome.elapsed_ns < plan.duration && outcome.engine.frames > 0);
    assert_eq!(outcome.verdict, Verdict::Inconclusive);
    let pauses_end = outcome.checks.iter().find(|check| check.name == "pauses_end");
    assert_eq!(pauses_end.map(|check| check.verdict), Some(Verdict::NotJudged));
    assert_eq!(serde_json::to_value(&outcome).unwrap()["interrupted"], true);
}

#[test]
fn of_an_interrupted_run_only_a_count_beyond_its_limit_has_failed() {
    let text = "\
name: interrupted
duration: 10ms
topology: {star: {hosts: 2}}
defaults: {links: {rate: 10G, length: 1m}}
flows: [{name: f, from: h1, to: h2, size: 1000}]
checks:
- {name: beyond, value: {path: flows.f.tx_frames, at_most: 0}}
- {name: another, value: {path: flows.f.tx_frames, expect: 0}}
- {name: not yet, value: {path: flows.f.tx_frames, at_least: 1000000}}
- {name: may still, value: {path: flows.f.tx_frames, at_most: 1000000}}
- {name: no count, value: {path: elapsed_ns, at_most: 1}}
";
    let plan = parse("f.yaml", text).unwrap().0;
    let stop = std::sync::atomic::AtomicBool::new(true);
    let options = Options { stop: Some(&stop), ..Options::default() };
    let outcome = run(&plan, World::Virtual, options, |_| ()).unwrap().outcome;
    assert!(outcome.interrupted);
    let verdicts: Vec<_> = outcome.checks.iter().map(|c| (&*c.name, c.verdict)).collect();
    use Verdict::{Fail, NotJudged};
    assert_eq!(
        verdicts,
        [
            ("beyond", Fail),
            ("another", Fail),
            ("not yet", NotJudged),
            ("may still", NotJudged),
            ("no count", NotJudged)
        ]
    );
    assert_eq!(outcome.verdict, Fail);
}

#[test]
fn lines_are_as_far_away_as_switches_pause_them() {
    let text = "\
topology: {parking_lot: {switches: 3, hosts_per_switch: [1, 0, 1]}}
flows: [{from: h1, to: r, priority: 3}, {from: h1, to: h2, priority: 3, victim: true}]
";
    let (plan, _) = parse("f.yaml", text).unwrap();
    let name = |line: sim::Direction| {
        let link = &plan.network.links[line.link().index()];
        plan.network.nodes[link.from(line).node.index()].name()
    };
    let mut found: Vec<_> =
        labrun::distances(&plan).into_iter().map(|(l, d)| (name(l), d)).collect();
    found.sort_unstable();
    assert_eq!(found, [("h1", 3), ("s1", 2), ("s2", 1)]);
}
