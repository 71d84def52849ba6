//! The number of threads that run a network changes no result.

use std::num::NonZeroU16;

use super::*;
use crate::swarm::{draw, lab_seed};
use ground::rand::Rng;
use sim::{NetworkPlan, Partition};

/// Labs of the swarm that are run on several threads.
const LABS: u64 = 40;

fn on(threads: u16) -> Options<'static> {
    Options { threads: NonZeroU16::new(threads), ..Options::default() }
}

/// All that a run shows.
fn shown(run: &Run) -> (Value, String) {
    let outcome = serde_json::to_value(&run.outcome).unwrap();
    let recorded = run.recording.as_ref().map(|recording| &recording.events);
    (outcome, format!("{:?} {:?} {recorded:?}", run.findings, run.messages))
}

fn same(plan: &LabPlan, threads: u16, plots: bool, name: &str) -> Threads {
    let of = |threads| Options { plots, ..on(threads) };
    let one = run_changed(plan, of(1), &mut |_| (), &mut |_| ()).unwrap();
    let several = run_changed(plan, of(threads), &mut |_| (), &mut |_| ()).unwrap();
    assert_eq!(one.threads, Threads::default());
    let (one, found) = (shown(&one), shown(&several));
    assert_eq!(found.0, one.0, "{name} on {threads} threads");
    assert_eq!(found.1, one.1, "{name} on {threads} threads");
    several.threads
}

#[test]
fn random_labs_have_the_same_results_on_any_number_of_threads() {
    let seed = 31;
    println!("seed {seed}");
    let mut divided = 0;
    for n in 0..LABS {
        let seed = lab_seed(seed, n);
        let mut plan = resolve_raw(&draw(seed).unwrap()).unwrap().0;
        plan.duration = plan.duration.min(Duration::from_millis(2));
        let threads = [2, 3, 7][n as usize % 3];
        let found = same(&plan, threads, n % 4 == 0, &format!("lab of seed {seed}"));
        assert_eq!(found.used == 1, found.why_one.is_some(), "{found:?}");
        divided += u64::from(found.used > 1);
    }
    assert!(divided > LABS / 6, "{divided} labs ran in parts");
}

#[test]
fn examples_have_the_same_results_on_two_three_and_seven_threads() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../configs/labs");
    let mut names: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    names.sort();
    let mut divided = 0;
    for (path, threads) in names.iter().zip([2, 3, 7].into_iter().cycle()) {
        let Ok((mut plan, _)) = load(path) else { continue };
        plan.duration = plan.duration.min(Duration::from_micros(500));
        divided += u64::from(same(&plan, threads, false, &path.display().to_string()).used > 1);
    }
    assert!(divided >= 4, "{divided} examples ran in parts");
}

#[test]
fn parts_chosen_at_random_have_the_same_results() {
    let seed = 77;
    println!("seed {seed}");
    let mut rng = Rng::new(seed);
    let text = "\
name: parts
duration: 300us
seed: 5
topology: {leaf_spine: {leaves: 3, spines: 2, hosts_per_leaf: 3}}
defaults: {links: {rate: 100G, length: 20m}}
profiles:
  tor:
    buffer:
      total: 16MiB
      profiles: {roce: {shared: {dynamic_th: -3}, lossless: {xoff: auto}}}
    defaults: {pfc: {enable: [3]}, priority_groups: {3: roce}}
flows:
  - {name: in, from: [h1, h4, h5, h7], to: h9, priority: 3, size: 1048}
  - {name: back, from: h9, to: h1, priority: 3, size: 300, rate: 30%}
";
    let plan = match parse("parts.yaml", text) {
        Ok((plan, _)) => plan,
        Err(error) => panic!("{error}"),
    };
    let one = shown(&run_changed(&plan, on(1), &mut |_| (), &mut |_| ()).unwrap());
    for _ in 0..6 {
        let parts = 2 + rng.next_u64() % 4;
        let nodes = plan.network.nodes.len();
        let of: Vec<u32> = (0..nodes).map(|_| (rng.next_u64() % parts) as u32).collect();
        let divided = |_: &NetworkPlan| Partition::of_parts(&of);
        let run = run_divided(&plan, on(2), &divided, &mut |_| (), &mut |_| ()).unwrap();
        assert!(run.threads.used > 1, "{of:?}");
        assert_eq!(shown(&run), one, "{of:?}");
    }
}

#[test]
fn a_run_on_one_thread_says_why() {
    let mut plan = incast(4, 20);
    assert_eq!(same(&plan, 2, false, "incast"), Threads { used: 2, why_one: None });
    // More threads than nodes.
    let nodes = plan.network.nodes.len();
    let most = same(&plan, 200, false, "incast");
    assert!(most.used > 2 && most.used <= nodes, "{most:?}");
    let why = |plan: &LabPlan| {
        run_changed(plan, on(2), &mut |_| (), &mut |_| ()).unwrap().threads.why_one
    };
    plan.network.links[0].ba.errors = ErrorPlan { bit: 0, frame: 1 };
    assert!(why(&plan).unwrap().contains("line errors"));
    let mut plan = incast(4, 20);
    plan.network.nodes[0].cpu.poll = Duration::from_nanos(1);
    assert!(why(&plan).unwrap().contains("processor"));
    let folder = crate::testfolder::Folder::new("threads");
    let mut plan = incast(4, 20);
    plan.record.pcapng.push((LinkId(0), folder.at("l0.pcapng")));
    assert_eq!(why(&plan), Some("captures need the order of time"));
}

#[test]
fn a_run_on_two_threads_reports_progress_and_can_be_stopped() {
    let plan = incast(4, 400);
    let stop = std::sync::atomic::AtomicBool::new(false);
    let mut seen = Vec::new();
    let options = Options { stop: Some(&stop), ..on(2) };
    let run = run(&plan, World::Virtual, options, |progress| {
        seen.push(progress.frames);
        stop.store(progress.frames > 100, std::sync::atomic::Ordering::Relaxed);
    });
    let run = run.unwrap();
    assert!(run.outcome.interrupted && run.threads.used == 2, "{:?}", run.threads);
    assert!(seen.is_sorted() && seen.last().is_some_and(|frames| *frames > 100), "{seen:?}");
}

#[test]
fn a_bug_that_a_check_finds_is_found_on_several_threads() {
    let mut plan = incast(2, 2_000);
    plan.duration = Duration::from_millis(1);
    let pfc = Demand::pfc(PrioritySet::of(Priority::ALL[3]), Quanta(100));
    let (start, every) = (Instant::ZERO + Duration::from_micros(20), Duration::MAX);
    let star::Parts { receiver, .. } = star::parts(&mut plan);
    receiver.pauses.push(PausePlan { ask: pfc, start, every, frames: 1 });
    plan.checks = all_checks();
    // The switch keeps the pause for the longest possible time.
    let mut deaf = |network: &mut Network<_>| {
        let end = End { node: NodeId(0), port: PortId::new(2).unwrap() };
        let longest = Obeying::ScaledTimes { numerator: u16::MAX, denominator: 1 };
        network.add_defect(end, Defect::Obeying(longest));
    };
    let mut of = |threads| run_changed(&plan, on(threads), &mut deaf, &mut |_| ()).unwrap();
    let one = of(1);
    assert_eq!(one.outcome.verdict, Verdict::Fail);
    for threads in [2, 4] {
        let several = of(threads);
        assert!(several.threads.used > 1);
        assert_eq!(shown(&several), shown(&one), "{threads} threads");
    }
}
