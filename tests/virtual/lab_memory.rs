//! The memory that is calculated for a lab, with what running it takes.

use std::fs;

use sluice::lab::{self, Options, World};

/// The factor by which the calculation may be off, either way.
const FACTOR: f64 = 1.5;

/// A field of this process's memory in bytes, such as the most that it has had (`VmHWM`).
fn memory(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kib: u64 = line.unwrap().trim().trim_end_matches(" kB").parse().unwrap();
    kib << 10
}

/// One test, so that no other one takes memory meanwhile; each lab is larger than the one before.
#[test]
fn labs_take_as_much_memory_as_is_calculated() {
    let flows = |n: u32, transport: &str| -> String {
        (0..n)
            .map(|n| {
                format!(
                    "- {{name: f{n}, pattern: permutation, size: 1110, duration: {{bytes: 1MB}}\
                     {transport}}}\n"
                )
            })
            .collect()
    };
    for (topology, flows) in [
        ("fat_tree: {k: 8}", flows(1, "")),
        ("leaf_spine: {leaves: 16, spines: 4, hosts_per_leaf: 16}", flows(40, "")),
        ("leaf_spine: {leaves: 100, spines: 4, hosts_per_leaf: 16}", flows(1, ", transport: roce")),
        (
            "leaf_spine: {leaves: 32, spines: 4, hosts_per_leaf: 16}",
            flows(1, ", transport: {roce: {messages: {bytes: 1KB}}}"),
        ),
    ] {
        let text = format!("name: x\nduration: 1us\ntopology: {{{topology}}}\nflows:\n{flows}");
        let (plan, _) = lab::parse("x.yaml", &text).unwrap();
        let needed = lab::memory_needed(&plan);
        // Memory that an earlier lab freed would be taken again unseen.
        #[cfg(feature = "dpdk")]
        sluice::dpdk::give_back_memory();
        // Sets the most that this process has had to what it has (proc(5)).
        fs::write("/proc/self/clear_refs", "5").unwrap();
        let before = memory("VmRSS");
        let run = lab::run(&plan, World::Virtual, Options::default(), |_| {}).unwrap();
        let taken = memory("VmHWM") - before;
        drop(run);
        let ratio = needed as f64 / taken as f64;
        println!("{topology}: {needed} bytes calculated, {taken} taken, {ratio:.2}");
        assert!(
            (1.0 / FACTOR..FACTOR).contains(&ratio),
            "{topology}: {needed} bytes calculated, {taken} taken, {ratio}"
        );
    }
}
