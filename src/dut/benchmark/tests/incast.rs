//! Incast of connections and microbursts (RFC 8239, section 6), of a switch with four ports at 100 Gb/s.

use ground::units::Priority;
use validate::bench::Bench;

use super::example;
use crate::plan::Plan;
use crate::rfc8239::{IncastRow, Tables, Test};
use crate::run::{self, Run};
use crate::table;

fn measured(plan: &Plan, bench: &mut dyn Bench) -> Run<Tables> {
    let (results, trouble) = run::run::<Tables>(plan, &[Test::Incast], bench, &mut |_| true);
    assert_eq!(trouble, None);
    let text = table::rfc8239(&results);
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    results
}

fn rows(results: &Run<Tables>) -> Vec<(usize, usize)> {
    results.tables.incast.iter().map(|row| (row.stateful, row.stateless)).collect()
}

/// Payload of a frame of 1,024 bytes, preamble and gap included, as a share of G.
const FULL: f64 = 1024.0 / 1044.0 * 100.0;

/// `full` rows have connections that fill the line by themselves.
fn has_all_ports(results: &Run<Tables>, full: impl Fn(&IncastRow) -> bool) {
    assert_eq!(rows(results), [(1, 1), (2, 1), (1, 2)]);
    let line = 100e9 * FULL / 100.0 * 966.0 / 1024.0;
    for row in &results.tables.incast {
        assert!(row.alone_bps <= line * 1.001, "{row:?}");
        assert_eq!(row.alone_bps > 0.95 * line, full(row), "{row:?}");
        assert!(row.goodput_bps < row.alone_bps, "{row:?}");
        assert!((row.goodput_percent - row.goodput_bps / line * FULL).abs() < 0.01, "{row:?}");
    }
}

#[test]
fn a_lossy_class_loses_in_an_incast_and_connections_send_again() {
    let (plan, mut bench) = example("benchmark/lossless.yaml");
    let plan = Plan { priority: Priority::ALL[0], ..plan };
    let results = measured(&plan, &mut bench);
    // Two connections lose frames by each other, and wait for their timeouts.
    has_all_ports(&results, |row| row.stateful == 1);
    assert!(results.tables.incast.iter().all(|row| row.retransmitted > 0), "{results:?}");
    assert!(results.notes.iter().any(|note| note.contains("NewReno")), "{results:?}");
    assert!(table::rfc8239(&results).contains("Incast (6)"));
}

#[test]
fn a_lossless_class_loses_nothing() {
    let (plan, mut bench) = example("benchmark/lossless.yaml");
    let results = measured(&plan, &mut bench);
    has_all_ports(&results, |_| true);
    let loses = |row: &IncastRow| row.retransmitted + row.timeouts + row.burst_lost > 0;
    assert!(!results.tables.incast.iter().any(loses), "{results:?}");
    assert!(results.tables.incast.iter().all(|row| row.latency.is_some_and(|l| l.min_ns > 0.0)));
}

#[test]
fn frames_without_room_and_devices_with_two_ports_have_no_incast() {
    let (mut plan, mut bench) = example("benchmark/lossless.yaml");
    plan.sizes = vec![64];
    let shortest = measured(&plan, &mut bench);
    assert!(
        shortest.tables.incast.is_empty() && shortest.notes[1].contains("without room"),
        "{shortest:?}"
    );
    let (plan, mut bench) = example("benchmark/rfc2544.yaml");
    let two = measured(&plan, &mut bench);
    assert!(
        two.tables.incast.is_empty() && two.notes[1].contains("it needs 3 equal ports"),
        "{two:?}"
    );
}
