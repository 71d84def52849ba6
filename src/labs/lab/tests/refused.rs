//! A planned change for which measured headroom has left no memory, found by the swarm.

use crate::{Options, World, parse, run};

/// Group 0 of `h1` is lossy for a while, in which the others' measured headroom takes its memory.
const LAB: &str = "\
duration: 5900742200ps
faults:
  - {at: 138650ns, group: {group: 0, port: h1, profile: changed, switch: s1}}
  - {at: 1422ns, group: {group: 0, port: h1, profile: lossy, switch: s1}}
links:
  - {from: h1, length: 461m, ns_per_m: copper, rate: 400G, to: s1}
  - {from: h2, length: 239m, ns_per_m: copper, rate: 400G, to: s1}
  - {from: h3, length: 30m, rate: 400G, to: s1}
nodes: {hosts: [{name: h1}, {name: h2}, {name: h3}], switches: [{name: s1}]}
profiles:
  drawn:
    buffer:
      cell: 128
      profiles:
        changed: {lossless: {}, reserved: 8KB, shared: {static_th: 10KB}}
        lossless: {lossless: {xon_offset: 32KB}, reserved: 8KB, shared: {static_th: 6KB}}
        lossy: {reserved: 4128, shared: {dynamic_th: 0}}
      total: 1778956
    defaults:
      headroom: {auto: {method: ptp, statistic: p47, wait: 2080ns}}
      measurement: {piggyback: false, rounds: 5, spacing_max: 5035ns, spacing_min: 5012ns, times: ns}
      pause: {}
      ptp: {interval: 430750ns, rounds: 1}
    max_frame: 2KB
until_done: true
";

#[test]
fn a_change_without_memory_is_reported_and_ends_no_run() {
    let (plan, _) = parse("refused.yaml", LAB).unwrap();
    let outcome = run(&plan, World::Virtual, Options::default(), |_| {}).unwrap().outcome;
    assert_eq!(outcome.shortfalls.len(), 1, "{:?}", outcome.shortfalls);
    let told = &outcome.shortfalls[0];
    assert!(told.starts_with("the change of s1 at 138.65us was refused: the buffer is"), "{told}");
}
