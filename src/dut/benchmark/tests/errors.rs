//! Errored frames and forward pressure (RFC 2889, 5.6 and 5.9).

use config::quantity::Size;
use lab::raw::Lab;
use validate::bench::{Bench, TrialError};
use validate::observation::{Observation, Way, What};
use validate::virtual_bench::VirtualBench;

use super::Wrong;
use crate::plan::Plan;
use crate::rfc2889::{ErrorRow, Tables, Test};
use crate::run::{self, Run};
use crate::{file, table};

const BRIDGE: &str = "benchmark/rfc2889.yaml";

fn measured(plan: &Plan, bench: &mut dyn Bench, test: Test) -> Run<Tables> {
    let (results, trouble) = run::run::<Tables>(plan, &[test], bench, &mut |_| true);
    assert_eq!(trouble, None);
    let text = table::rfc2889(&results);
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    results
}

/// The example's device, with changes of its links.
fn device(change: fn(&mut Lab)) -> (Plan, VirtualBench) {
    let (mut plan, dut, _) = file::load(&super::configs(BRIDGE)).unwrap();
    let mut lab = dut.lab.unwrap();
    change(&mut lab);
    plan.sizes = vec![64];
    (plan, VirtualBench::new(dut.setup, lab))
}

fn of<'a>(results: &'a Run<Tables>, kind: &str) -> Vec<&'a ErrorRow> {
    results.tables.errors.iter().filter(|row| row.kind == kind).collect()
}

#[test]
fn a_good_switch_filters_errored_frames() {
    let (plan, mut bench) = device(|_| {});
    let results = measured(&plan, &mut bench, Test::Errors);
    for kind in ["undersize", "oversize", "crc"] {
        let rows = of(&results, kind);
        assert!(!rows.is_empty(), "{results:?}");
        assert!(rows.iter().all(|r| r.filtered == Some(true) && r.sent == 100), "{rows:?}");
    }
    // Parts of bytes are named as not tested, and have no result.
    for kind in ["alignment", "dribble"] {
        let [row] = of(&results, kind)[..] else { panic!("{results:?}") };
        assert!(row.filtered.is_none() && row.not_tested.is_some(), "{row:?}");
    }
    assert!(table::rfc2889(&results).contains("not tested: ports"));
}

/// A cut-through switch has forwarded a frame when its FCS arrives.
#[test]
fn a_cut_through_switch_forwards_frames_with_a_wrong_fcs() {
    let (plan, mut bench) = device(|lab| lab.defaults.switches.cut_through = Some(true));
    let results = measured(&plan, &mut bench, Test::Errors);
    let [row] = of(&results, "crc")[..] else { panic!("{results:?}") };
    assert!(row.filtered == Some(false) && row.forwarded > 0, "{row:?}");
    assert!(table::rfc2889(&results).contains("FORWARDED"));
}

/// A device that pads short frames and forwards them.
#[test]
fn a_switch_that_repairs_short_frames_forwards_them() {
    let (plan, bench) = device(|_| {});
    let mut bench = Wrong::seeing(bench, |seen| {
        let mut arrived = seen.records.clone();
        arrived.retain(|r| matches!(r.what, What::Other(_)) && r.len < 64);
        for record in &mut arrived {
            (record.way, record.len) = (Way::Received, 64);
        }
        seen.records.extend(arrived);
    });
    let results = measured(&plan, &mut bench, Test::Errors);
    assert!(of(&results, "undersize").iter().all(|row| row.forwarded == 100), "{results:?}");
    assert!(of(&results, "oversize")[0].filtered == Some(true));
}

#[test]
fn a_tester_that_cannot_make_errors_tests_none_of_them() {
    let (plan, bench) = device(|_| {});
    let mut bench = Wrong { able: false, ..Wrong::seeing(bench, |_| {}) };
    let results = measured(&plan, &mut bench, Test::Errors);
    for kind in ["undersize", "crc", "alignment", "dribble"] {
        assert!(of(&results, kind)[0].filtered.is_none(), "{results:?}");
    }
    let pressure = measured(&plan, &mut bench, Test::Pressure);
    assert!(pressure.tables.pressure.is_empty() && pressure.notes[0].contains("cannot shorten"));
}

/// Without this a device that forwards nothing at all would filter all errors.
#[test]
fn a_device_that_loses_valid_frames_is_not_judged() {
    let (plan, bench) = device(|_| {});
    let drop = |seen: &mut Observation| {
        seen.records.retain(|r| r.way == Way::Sent || !matches!(r.what, What::Data { .. }));
    };
    let mut bench = Wrong::seeing(bench, drop);
    let (_, trouble) = run::run::<Tables>(&plan, &[Test::Errors], &mut bench, &mut |_| true);
    assert!(matches!(trouble, Some(TrialError::Error(why)) if why.contains("valid frames")));
}

#[test]
fn a_good_switch_sends_no_faster_than_its_line() {
    let (plan, mut bench) = device(|_| {});
    let results = measured(&plan, &mut bench, Test::Pressure);
    let [row] = results.tables.pressure[..] else { panic!("{results:?}") };
    // One byte of 84 less.
    assert!((row.offered / row.line_frames_per_second - 84.0 / 83.0).abs() < 1e-3, "{row:?}");
    assert!(!row.faster && row.forwarded > 0.99 * row.line_frames_per_second, "{row:?}");
}

/// A switch whose own gaps have 88 bits, too.
#[test]
fn a_switch_that_shortens_the_gap_sends_faster() {
    let (plan, mut bench) = device(|lab| lab.defaults.links.line_overhead = Some(Size(19)));
    let results = measured(&plan, &mut bench, Test::Pressure);
    assert!(results.tables.pressure[0].faster, "{results:?}");
    assert!(table::rfc2889(&results).contains("FASTER"));
}
