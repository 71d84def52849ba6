//! A short fuzzing run: random labs, with every checker. A longer one is one command, `sluice swarm
//! --count 10000`.

use sluice::lab::swarm::{Swarm, run};

/// Number of labs: some seconds in a build without optimisation.
const LABS: u64 = 60;

/// Another seed gives other labs: `SLUICE_SWARM_SEED=7 cargo test --test swarm`.
fn seed() -> u64 {
    let said = std::env::var("SLUICE_SWARM_SEED").ok();
    said.map_or(2026, |text| text.parse().expect("a seed is a number"))
}

#[test]
fn no_lab_of_a_short_swarm_fails_and_much_happens_in_it() {
    let (seed, jobs) = (seed(), std::thread::available_parallelism().map_or(1, usize::from));
    let summary = run(Swarm { count: LABS, seed, jobs }, |_, _| true);
    println!("{summary:#?}");
    for failed in &summary.failed {
        println!("sluice swarm --count 1 --seed {} --keep DIR: {failed:?}", failed.seed);
    }
    assert!(summary.verdict().is_pass(), "seed {seed}: {} labs failed", summary.failed.len());
    assert_eq!((summary.labs, summary.lossless_drops), (LABS, 0));
    // A run without pauses would prove nothing.
    assert!(
        summary.totals.pauses > 1_000 && summary.totals.resumptions > 100,
        "seed {seed}: {summary:?}"
    );
    assert!(summary.totals.marks > 0 && summary.totals.drops > 0, "seed {seed}: {summary:?}");
    assert!(summary.faults.changes > 0 && summary.faults.forgeries > 0, "seed {seed}: {summary:?}");
    let judged = (summary.judged_for_marks, summary.judged_for_shares);
    assert!(judged.0 > 0 && judged.1 > 0, "seed {seed}: {summary:?}");
    assert!(summary.faults.flaps > 0 && summary.faults.lost_pauses > 0, "seed {seed}: {summary:?}");
}
