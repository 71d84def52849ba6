//! Address caching capacity, address learning rate and broadcasts (RFC 2889), of a bridge whose table is
//! known.

use tester::report::{Flow, Pacing, Report};
use validate::bench::{Bench, TrialError};
use validate::trial::Trial;

use super::{Wrong, example};
use crate::mlrsearch::Irregular;
use crate::plan::Plan;
use crate::rfc2889::{Tables, Test};
use crate::run::{self, Run};
use crate::table;

const BRIDGE: &str = "benchmark/rfc2889.yaml";

fn measured(plan: &Plan, bench: &mut dyn Bench, test: Test) -> Run<Tables> {
    let (results, trouble) = run::run::<Tables>(plan, &[test], bench, &mut |_| true);
    assert_eq!(trouble, None);
    results
}

#[test]
fn the_capacity_is_that_of_the_table() {
    let (plan, mut bench) = example(BRIDGE);
    let results = measured(&plan, &mut bench, Test::Addresses);
    let [row] = results.tables.addresses[..] else { panic!("{results:?}") };
    assert_eq!((row.addresses, row.addresses_at_limit), (500, false));
    // It learns from every frame, at any rate.
    assert_eq!(row.irregular, Some(Irregular::AtMaximum));
    let text = table::rfc2889(&results);
    assert!(text.contains("500") && text.contains("at the line rate, too"), "{text}");
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
}

#[test]
fn a_table_that_holds_all_that_were_tried_says_so() {
    let (mut plan, mut bench) = example(BRIDGE);
    plan.learning.addresses = 300;
    let results = measured(&plan, &mut bench, Test::Addresses);
    assert_eq!(
        (results.tables.addresses[0].addresses, results.tables.addresses[0].addresses_at_limit),
        (300, true)
    );
    assert!(table::rfc2889(&results).contains("all that were tried"));
}

/// The switches of labs without `bridge` know the hosts' addresses, and learn none.
#[test]
fn a_device_that_does_not_flood_is_not_judged() {
    let (plan, mut bench) = example("benchmark/lossless.yaml");
    let results = measured(&plan, &mut bench, Test::Addresses);
    assert_eq!(results.tables.addresses, []);
    assert!(results.notes[0].contains("not flooded"), "{:?}", results.notes);
}

#[test]
fn broadcast_frames_reach_all_ports_at_line_rate() {
    let (plan, mut bench) = example(BRIDGE);
    let results = measured(&plan, &mut bench, Test::Broadcast);
    assert_eq!(results.tables.broadcast.len(), 2);
    for row in &results.tables.broadcast {
        assert_eq!(row.throughput_percent, Some(100.0), "{row:?}");
        assert!(row.latency.is_some_and(|latency| latency.min_ns > 0.0), "{row:?}");
    }
    assert!(table::rfc2889(&results).contains("(5.10)"));
    let (plan, mut bench) = example("benchmark/rfc2544.yaml");
    let results = measured(&plan, &mut bench, Test::Broadcast);
    assert!(results.tables.broadcast.is_empty() && results.notes[0].contains("all of one rate"));
    assert!(results.not_applicable.contains("broadcast"));
}

/// Returns the reason why a run of the test ends.
fn trouble(change: fn(&Trial, &mut Report)) -> TrialError {
    let (mut plan, bench) = example(BRIDGE);
    plan.learning.addresses = 8;
    let mut bench = Wrong::counting(bench, change);
    let (_, trouble) = run::run::<Tables>(&plan, &[Test::Addresses], &mut bench, &mut |_| true);
    trouble.expect("it is wrong")
}

#[test]
fn what_the_tester_did_not_send_and_what_is_lost_says_nothing_about_addresses() {
    let no_broadcast = trouble(|_, report| report.flows[0].frames_rx = 0);
    assert!(matches!(&no_broadcast, TrialError::Error(why) if why.contains("broadcast")));
    let lost = trouble(|trial, report| {
        if trial.flows.len() == 3 {
            report.flows[2].frames_rx_by_port[0] = 7;
        }
    });
    assert!(matches!(&lost, TrialError::Error(why) if why.contains("7 of 8")), "{lost}");
    // The sum of all ports is that of a device that knows all addresses.
    let cancelled = trouble(|trial, report| {
        if trial.flows.len() == 3 {
            report.flows[2].frames_rx_by_port = vec![7, 1];
        }
    });
    assert!(matches!(&cancelled, TrialError::Error(why) if why.contains("and 1 at other ports")));
    let unsent = trouble(|trial, report| {
        if trial.flows.len() == 3 {
            report.flows[1].frames_tx = 5;
        }
    });
    assert!(
        matches!(&unsent, TrialError::Disturbed(why) if why.contains("5 frames of 8")),
        "{unsent}"
    );
    let slow = trouble(|trial, report| {
        if trial.flows.len() == 3 {
            let pacing = Pacing { sent_fps: 9.0, ..Pacing::default() };
            report.flows[1] = Flow { pacing: Some(pacing), ..report.flows[1].clone() };
        }
    });
    assert!(matches!(&slow, TrialError::Disturbed(why) if why.contains("9 frames/s")), "{slow}");
}

/// A bridge that forgets half of the addresses.
#[test]
fn a_table_that_forgets_is_found() {
    let (mut plan, bench) = example(BRIDGE);
    plan.learning.addresses = 64;
    let mut bench = Wrong::counting(bench, |trial, report| {
        if let [_, sources, _] = &trial.flows[..] {
            let validate::trial::Addresses::Sources(count) = sources.addresses else { return };
            report.flows[2].frames_rx_by_port[1] += u64::from(count > 20);
        }
    });
    let results = measured(&plan, &mut bench, Test::Addresses);
    assert_eq!(results.tables.addresses[0].addresses, 20);
}
