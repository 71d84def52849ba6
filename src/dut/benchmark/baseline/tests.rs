//! Comparisons of results that are made up.

use super::Trend::{Missing, NoChange, Progression, Regression, Unclear, Unknown};
use super::senses::SENSES;
use super::*;
use serde_json::json;

fn of(world: &str, runs: Vec<Value>) -> Runs {
    let [procedure, dut, world] = ["rfc2544", "switch", world].map(str::to_owned);
    let parameters = Some([("trial".to_owned(), "1 ms".to_owned())].into());
    Runs { procedure, dut, world, seed: 1, parameters, runs, ended: None }
}

fn runs(world: &str, rates: &[f64], latency: f64) -> Runs {
    let run = |rate: &f64| {
        json!({
            "throughput": [{"size": 64, "frames_per_second": rate, "trials": 9}],
            "latency": [{"size": 64, "filo": {"mean_ns": latency}}],
        })
    };
    of(world, rates.iter().map(run).collect())
}

/// Returns what happened to the rate and to the latency, and the verdict.
fn compared(before: &Runs, now: &Runs) -> (Vec<Trend>, Verdict) {
    let comparison = Comparison::of(before, now, &[], 0.005);
    let mut numbers = comparison.numbers.clone();
    numbers.sort_by(|a, b| b.now.metric.cmp(&a.now.metric));
    let trends = numbers.iter().map(|number| number.trend).collect();
    (trends, comparison.verdict())
}

#[test]
fn a_change_of_a_virtual_device_beyond_the_resolution_has_a_direction() {
    let base = runs("virtual", &[100.0], 50.0);
    let now = |rate, latency| compared(&base, &runs("virtual", &[rate], latency));
    assert_eq!(now(100.4, 50.2), (vec![NoChange, NoChange], Verdict::Pass));
    assert_eq!(now(102.0, 49.0), (vec![Progression, Progression], Verdict::Pass));
    assert_eq!(now(98.0, 50.0), (vec![Regression, NoChange], Verdict::Fail));
    assert_eq!(now(100.0, 52.0), (vec![NoChange, Regression], Verdict::Fail));
}

#[test]
fn real_ports_need_three_runs_to_tell_a_change_from_chance() {
    let base = runs("real", &[100.0, 101.0, 99.0], 50.0);
    let now = |rates: &[f64]| compared(&base, &runs("real", rates, 50.0)).0[0];
    assert_eq!(now(&[99.0, 102.0, 97.0]), NoChange);
    assert_eq!(now(&[80.0, 81.0, 79.0]), Regression);
    assert_eq!(now(&[120.0, 121.0, 119.0]), Progression);
    assert_eq!(now(&[80.0, 81.0]), Unclear);
    let one = runs("real", &[80.0], 50.0);
    assert_eq!(compared(&base, &one), (vec![Unclear, NoChange], Verdict::Inconclusive));
    // A virtual device with another seed is another sample.
    let other = Runs { seed: 2, ..runs("virtual", &[98.0], 50.0) };
    assert_eq!(compared(&runs("virtual", &[100.0], 50.0), &other).0[0], Unclear);
}

#[test]
fn a_spread_in_which_a_large_change_could_hide_is_unclear() {
    let base = runs("real", &[94.0, 94.0, 40.0], 50.0);
    for now in [[29.0, 29.0, 29.0], [94.0, 94.0, 40.0], [76.0, 76.0, 76.0]] {
        let trend = compared(&base, &runs("real", &now, 50.0));
        assert_eq!(trend, (vec![Unclear, NoChange], Verdict::Inconclusive), "{now:?}");
    }
    // More runs tell it in spite of the outlier.
    let more: Vec<f64> = (0..20).map(|n| if n == 7 { 40.0 } else { 94.0 }).collect();
    let now = runs("real", &[29.0; 20], 50.0);
    assert_eq!(compared(&runs("real", &more, 50.0), &now).0[0], Regression);
}

#[test]
fn a_number_that_is_not_known_is_inconclusive_and_one_without_a_sense_is_named() {
    let row = |n: u64| json!({"throughput": [{"size": 64, "novelty": n, "trials": n}]});
    let (base, now) = (of("virtual", vec![row(1)]), of("virtual", vec![row(2)]));
    assert_eq!(compared(&base, &now), (vec![Unknown], Verdict::Inconclusive));
    let comparison = Comparison::of(&base, &now, &[], 0.005);
    assert_eq!(comparison.not_compared, ["trials".to_owned()].into());
}

#[test]
fn what_a_burst_an_address_table_and_a_flag_say_has_a_direction() {
    let run = |burst: u64, addresses: u64, is_filtered: bool, forwarded: u64| {
        of(
            "virtual",
            vec![json!({
                "back_to_back": [{"size": 64, "mean": burst, "implied_us": burst}],
                "addresses": [{"addresses": addresses, "learning_per_second": addresses}],
                "errors": [{"kind": "crc", "filtered": is_filtered, "forwarded": forwarded}],
            })],
        )
    };
    let base = run(900, 500, true, 0);
    let worse = compared(&base, &run(100, 100, false, 5));
    assert_eq!(worse, (vec![Regression; 6], Verdict::Fail));
    assert_eq!(compared(&run(100, 100, false, 5), &base).0, [Progression; 6]);
}

#[test]
fn parameters_that_differ_are_named_and_unknown_ones_are_inconclusive() {
    let base = runs("virtual", &[100.0], 50.0);
    let same = base.parameters.clone().unwrap();
    assert_eq!(base.difference("virtual", &same), None);
    assert_eq!(base.difference("real", &same).unwrap(), "world: virtual, now real");
    let longer = [("trial".to_owned(), "2 ms".to_owned())].into();
    assert_eq!(base.difference("virtual", &longer).unwrap(), "trial: 1 ms, now 2 ms");
    let named = [("trial".to_owned(), "1 ms".to_owned()), ("rate".to_owned(), "1G".to_owned())];
    assert_eq!(base.difference("virtual", &named.into()).unwrap(), "rate: nothing, now 1G");
    let old = Runs { parameters: None, ..base.clone() };
    assert_eq!(compared(&old, &base), (vec![NoChange, NoChange], Verdict::Inconclusive));
}

#[test]
fn every_number_has_one_sense() {
    let all: Vec<&&str> = SENSES.iter().flat_map(|(_, names)| *names).collect();
    let once: BTreeSet<&&str> = all.iter().copied().collect();
    assert_eq!(all.len(), once.len());
}

#[test]
fn a_number_that_is_not_measured_any_more_is_missing() {
    let base = runs("virtual", &[100.0], 50.0);
    let mut now = base.clone();
    now.runs[0]["throughput"] = json!([]);
    assert_eq!(compared(&base, &now), (vec![Missing, NoChange], Verdict::Inconclusive));
    assert_eq!(compared(&now, &base), (vec![Missing, NoChange], Verdict::Inconclusive));
}

#[test]
fn a_comparison_of_nothing_judges_nothing() {
    let base = runs("virtual", &[100.0], 50.0);
    let now = of("virtual", vec![json!({"loss": [{"size": 64, "lost": 1}]})]);
    assert_eq!(compared(&base, &now), (vec![], Verdict::NotJudged));
    // All results have these numbers, so they are none of a test.
    let arrivals = |duplicates: u64| {
        of("virtual", vec![json!({"arrivals": [{"duplicates": duplicates}], "notes": []})])
    };
    assert_eq!(compared(&arrivals(0), &arrivals(0)), (vec![NoChange], Verdict::NotJudged));
    assert_eq!(compared(&arrivals(0), &arrivals(1)), (vec![Regression], Verdict::Fail));
}

/// Returns results with these tables.
fn with_tables(names: &[&str]) -> Runs {
    let mut run = json!({"arrivals": [{"duplicates": 0}], "trials": 3, "notes": ["a note"]});
    for name in names {
        run[name] = json!([{"size": 64, "lost": 0}]);
    }
    of("virtual", vec![run])
}

#[test]
fn a_test_that_was_asked_for_and_is_in_one_of_both_is_not_judged() {
    for (before, now, only, missing) in [
        // The baseline is of other tests.
        (&["latency"][..], &["loss"][..], &["loss"][..], &["loss"][..]),
        (&["throughput"], &["throughput", "loss"], &["throughput", "loss"], &["loss"]),
        (&["throughput"], &["throughput", "loss"], &[], &["loss"]),
        // The baseline has what these runs should have, and do not.
        (&["throughput", "loss"], &["throughput"], &[], &["loss"]),
        (&["throughput", "loss"], &["throughput"], &["throughput", "loss"], &["loss"]),
        // A test that these runs leave out.
        (&["throughput", "loss"], &["throughput"], &["throughput"], &[]),
        (&["throughput", "loss"], &["throughput", "loss"], &[], &[]),
        // The name of a test on the command line is written otherwise than that of its table.
        (&["loss", "back_to_back"], &["loss"], &["loss", "back-to-back"], &["back_to_back"]),
    ] {
        let comparison = Comparison::of(&with_tables(before), &with_tables(now), only, 0.005);
        let missing: BTreeSet<String> = missing.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(comparison.tests_missing, missing, "{before:?} {now:?} {only:?}");
        let wanted = if missing.is_empty() { Verdict::Pass } else { Verdict::NotJudged };
        assert_eq!(comparison.verdict(), wanted, "{before:?} {now:?} {only:?}");
    }
    let left_out = Comparison::of(
        &with_tables(&["throughput", "loss"]),
        &with_tables(&["throughput"]),
        &["throughput"],
        0.005,
    );
    assert_eq!(left_out.only_one_has, ["loss".to_owned()].into());
    // A regression of what both have is one whatever is missing.
    let mut worse = with_tables(&["throughput", "loss"]);
    worse.runs[0]["throughput"][0]["lost"] = json!(5);
    let comparison = Comparison::of(&with_tables(&["throughput"]), &worse, &[], 0.005);
    assert_eq!(comparison.verdict(), Verdict::Fail);
    // Results of versions without these counts, and results with and without notes, are compared as they are.
    let mut old = with_tables(&["loss"]);
    let run = old.runs[0].as_object_mut().unwrap();
    run.remove("arrivals");
    run.insert("notes".to_owned(), json!([]));
    let comparison = Comparison::of(&old, &with_tables(&["loss"]), &[], 0.005);
    assert_eq!(comparison.verdict(), Verdict::Pass);
    assert_eq!(comparison.only_one_has, ["arrivals".to_owned()].into());
}

#[test]
fn numbers_that_no_run_measures_are_told() {
    let of = |table: &str, row: Value| of("virtual", vec![json!({table: [row]})]).impossible();
    for (table, row) in [
        ("throughput", json!({"size": 64, "frames_per_second": -5})),
        ("throughput", json!({"size": 64, "frames_per_second": 0})),
        ("throughput", json!({"size": 64, "loss_at": 0})),
        ("rows", json!({"size": 64, "lower": {"load": 0, "conditional_throughput": 0}})),
        ("latency", json!({"size": 64, "filo": {"mean_ns": -1.5}})),
        ("loss", json!({"size": 64, "points": [{"load": 90, "loss_percent": -0.1}]})),
        ("arrivals", json!({"duplicates": -1})),
    ] {
        let why = of(table, row.clone()).unwrap_or_else(|| panic!("{table}: {row}"));
        assert!(why.starts_with(table) && why.ends_with("which no run measures"), "{why}");
    }
    for (table, row) in [
        ("throughput", json!({"size": 64, "frames_per_second": null, "loss_at": 5})),
        ("latency", json!({"size": 64, "filo": {"min_ns": 0}, "store_and_forward_ns": -300})),
        ("loss", json!({"size": 64, "points": [{"load": 90, "loss_percent": 0}]})),
        ("rows", json!({"size": 64, "lower": {"load": 5, "conditional_throughput": 0}})),
        ("soak", json!({"memory_slope_bytes_per_hour": -4.0})),
    ] {
        assert_eq!(of(table, row), None);
    }
}

#[test]
fn a_loss_where_there_was_none_is_a_regression() {
    let lost = |n: u64| json!({"line_rate": [{"size": 64, "pattern": "pairs", "lost": n}]});
    let trends = |n| compared(&of("virtual", vec![lost(0)]), &of("virtual", vec![lost(n)])).0;
    assert_eq!(trends(5), [Regression]);
    assert_eq!(trends(0), [NoChange]);
}
