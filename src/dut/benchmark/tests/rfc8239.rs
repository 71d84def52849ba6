//! RFC 8239 on devices with two, six and nine ports.

use ground::time::Duration;

use super::{example, written};
use crate::rfc8239::{Split, Tables, Test};
use crate::run::{self, Run};
use crate::table;

fn measured(tests: &[Test], dut: &str, fields: &str) -> Run<Tables> {
    let (plan, mut bench) = written(dut, fields);
    let (results, trouble) = run::run::<Tables>(&plan, tests, &mut bench, &mut |_| true);
    assert_eq!(trouble, None);
    let text = table::rfc8239(&results);
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    results
}

/// A switch with ports of 100 Gb/s and a small buffer that all lossy groups share.
fn small(ports: usize, lossless: &str) -> String {
    let ports = vec!["{}"; ports].join(", ");
    format!(
        "rate: 100G\nports: [{ports}]\nlossless: {lossless}\nvirtual:\n  profile:\n    buffer:\n      \
         cell: 208\n      total: 416000B\n      profiles:\n        lossy: {{shared: {{dynamic_th: 0}}}}\n"
    )
}

/// A group may have as much as is left: half of the buffer alone, a third of it beside another one.
#[test]
fn two_congested_ports_have_less_buffer_each_than_one() {
    let fields = "priority: 0\nsizes: [1024, 1518]\ntrial: 2ms\ndrain: 500us\n";
    let results = measured(&[Test::Buffer], &small(6, "[]"), fields);
    let rows = &results.tables.buffer;
    let of = |pattern: &str| rows.iter().filter(|row| row.pattern == pattern).collect::<Vec<_>>();
    let (port, two, many) = (of("port"), of("port pair"), of("many to one"));
    assert_eq!((port.len(), two.len(), many.len()), (2 + 5, 1, 6));
    let best = if port[0].bytes > port[1].bytes { port[0] } else { port[1] };
    for row in &port[2..] {
        assert!(row.size == best.size && (row.frames - best.frames).abs() <= 2.0, "{row:?}");
    }
    assert_eq!(two[0].egress, "B+D");
    let share = two[0].frames / best.frames;
    assert!(!best.at_limit && (0.62..0.72).contains(&share), "{share}: {two:?}, {best:?}");
    let egress: Vec<_> = many.iter().map(|row| row.egress.as_str()).collect();
    assert_eq!(egress, ["A", "B", "C", "D", "E", "F"]);
    assert!(results.notes.iter().any(|note| note.contains("fill it best")), "{results:?}");
}

#[test]
fn nine_ports_are_enough_for_the_whole_set_and_four_are_not() {
    let nine = written(&small(9, "[]"), "priority: 0\nsizes: [512]\ntrial: 100us\ndrain: 100us\n");
    let tests = [Test::LineRate, Test::Microburst, Test::Holb];
    let (plan, mut bench) = nine;
    let (results, trouble) = run::run::<Tables>(&plan, &tests, &mut bench, &mut |_| true);
    assert_eq!((trouble, &results.notes[..]), (None, &[][..]));
    let tables = &results.tables;
    assert!(tables.line_rate.iter().all(|row| row.lost == 0 && row.latency.is_some()));
    let bursts: Vec<_> = tables.microburst.iter().map(|row| (row.senders, row.receivers)).collect();
    assert_eq!(bursts, [(8, 1), (7, 2), (6, 3), (5, 4)]);
    let count = |split| tables.holb.iter().filter(|row| row.pattern == split).count();
    assert_eq!((count(Split::Halves), count(Split::Quarters)), (8, 8));
    for row in &tables.holb {
        // A class without PFC drops, also free flows where their group is full.
        assert!(!row.back_pressure && row.congested_loss_percent.unwrap() > 15.0, "{row:?}");
    }
    let (mut plan, mut bench) = example("benchmark/rfc8239.yaml");
    plan.trial = Duration::from_micros(100);
    let (results, _) =
        run::run::<Tables>(&plan, &[Test::Holb, Test::Buffer], &mut bench, &mut |_| true);
    for part in
        ["asks for 9 ports", "HOLB with quarters: does not apply", "port pairs: does not apply"]
    {
        assert!(results.notes.iter().any(|note| note.contains(part)), "{part}: {results:?}");
    }
}

/// In a lossless class the sender to all four ports is held back for the congested two.
#[test]
fn quarters_to_congested_ports_hold_back_those_to_free_ones() {
    let dut = "rate: 100G\nports: [{}, {}, {}, {}, {}, {}, {}, {}]\nlossless: [3]\nvirtual:\n  profile:\n    \
               buffer: {cell: 208, total: 4MiB, profiles: {lossless: {shared: {static_th: 105872}, \
               lossless: {xoff: 104000}}}}\n    defaults: {pfc: {enable: [3]}}\n";
    let fields = "priority: 3\nsizes: [1024]\ntrial: 1ms\ndrain: 500us\n";
    let results = measured(&[Test::Holb], dut, fields);
    let quarters = results.tables.holb.iter().filter(|row| row.pattern == Split::Quarters);
    for row in quarters {
        assert!(row.back_pressure && row.congested_loss_percent == Some(0.0), "{row:?}");
        assert!(row.uncongested_loss_percent == Some(0.0), "{row:?}");
        assert!(row.uncongested_rate_percent.unwrap() < 95.0, "{row:?}");
    }
}

/// Three switches in a row, as a switch whose ports are cabled to each other.
fn chain(fault: &str) -> String {
    format!(
        "rate: 100G\nports: [{{location: h1}}, {{location: r}}]\nlossless: [3]\nvirtual:\n  lab:\n    \
         profiles: {{tor: {{buffer: {{total: 2MiB}}, defaults: {{pfc: {{enable: [3]}}}}}}}}\n    \
         topology: {{parking_lot: {{switches: 3, hosts_per_switch: [1, 0, 0]}}}}\n    \
         defaults: {{links: {{rate: 100G}}}}\n{fault}"
    )
}

#[test]
fn a_snake_has_a_rate_and_no_latency() {
    let of = |fault, snake| {
        let fields = format!("priority: 0\nsizes: [512]\ntrial: 200us\n{snake}");
        let mut results = measured(&[Test::LineRate], &chain(fault), &fields);
        assert_eq!(results.tables.line_rate.len(), 1);
        (results.tables.line_rate.swap_remove(0), results.notes)
    };
    let (row, notes) = of("", "snake: 3\n");
    assert_eq!((row.pattern.as_str(), row.lost, row.latency), ("snake", 0, None));
    assert!(row.jitter_ns.is_none() && notes.iter().any(|note| note.contains("3 passes")));
    assert!((row.forwarded_percent - 99.98).abs() < 1e-9, "{row:?}");
    let loses = "  faults: [{defect: {on: s2, kind: loses-data, every: 100}}]\n";
    let (row, _) = of(loses, "snake: 3\n");
    assert!(row.lost > 0 && row.forwarded_percent < 99.5, "{row:?}");
    let (row, _) = of("", "");
    assert!(row.pattern == "pairs" && row.latency.is_some(), "{row:?}");
}
