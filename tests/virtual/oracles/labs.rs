//! The lab files, each with its expected values and their source.

use std::fs;
use std::path::{Path, PathBuf};

use sluice::lab::{self, Check, CheckKind, CheckOutcome, Options, World};

/// All of them, so that a missing one is noticed.
const LABS: [&str; 11] = [
    "crossing-16",
    "crossing-4",
    "headroom-cell-less",
    "headroom-worst",
    "hpcc-16",
    "hpcc-4",
    "overshoot-1000ns",
    "overshoot-500ns",
    "parking-lot",
    "tomahawk-1",
    "tomahawk-4",
];

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("configs/labs/oracles")
}

/// A check, true if it is of a number, and its result.
struct Found {
    name: String,
    number: bool,
    good: bool,
    detail: String,
}

/// Runs a lab, with `from` in its text replaced by `to`.
fn run(name: &str, from: &str, to: &str) -> Vec<Found> {
    let text = fs::read_to_string(directory().join(name).with_extension("yaml")).unwrap();
    assert!(text.contains(from), "{name} has no `{from}`");
    let text = text.replace(from, to);
    let (plan, warnings) = lab::parse(name, &text).unwrap_or_else(|error| panic!("{error}"));
    assert!(warnings.is_empty(), "{name}: {warnings:?}");
    let number = |kind: &CheckKind| matches!(kind, CheckKind::Value { .. });
    let unsourced = plan.checks.iter().find(|c| number(&c.kind) && c.source.is_none());
    assert!(unsourced.is_none(), "{name} does not say where {unsourced:?} comes from");
    let run = lab::run(&plan, World::Virtual, Options::default(), |_| {});
    let checks = run.unwrap_or_else(|error| panic!("{error}")).outcome.checks;
    assert_eq!(checks.len(), plan.checks.len(), "{name}");
    let found = |(planned, check): (&Check, CheckOutcome)| Found {
        name: format!("{name}: {}", check.name),
        number: number(&planned.kind),
        good: check.verdict.is_pass(),
        detail: check.detail,
    };
    plan.checks.iter().zip(checks).map(found).collect()
}

#[test]
fn every_lab_meets_its_numbers() {
    let files = fs::read_dir(directory()).unwrap().map(|file| file.unwrap().path());
    let mut found: Vec<_> =
        files.filter_map(|p| Some(p.file_stem()?.to_str()?.to_owned())).collect();
    found.sort();
    assert_eq!(found, LABS);
    for name in LABS {
        let checks = run(name, "name", "name");
        assert!(checks.iter().any(|check| check.number), "{name} expects no number");
        for check in checks {
            assert!(check.good, "{}: {}", check.name, check.detail);
        }
    }
}

/// The ranges of expected values are not so wide that other inputs would meet them.
#[test]
fn no_lab_meets_its_numbers_with_other_inputs() {
    for (name, from, to) in [
        ("crossing-4", "dynamic_th: -3", "dynamic_th: -2"),
        ("crossing-16", "reserved: 4096", "reserved: 8192"),
        ("headroom-cell-less", "xoff: 43472", "xoff: 43680"),
        ("headroom-worst", "start: 30.399ns", "start: 30.4ns"),
        ("hpcc-4", "time_step: 1ns", "time_step: 1ps"),
        ("hpcc-4", "control_frame: 43", "control_frame: 64"),
        ("hpcc-4", "delay: 500ns", "delay: 501ns"),
        ("overshoot-1000ns", "delay: 1us", "delay: 900ns"),
        ("overshoot-500ns", "static_th: 1999000", "static_th: 1997000"),
        ("parking-lot", "[3, 1]", "[3, 2]"),
        ("tomahawk-1", "xoff: 268736", "xoff: 268528"),
        ("tomahawk-4", "dynamic_th: 0", "dynamic_th: -1"),
    ] {
        let checks = run(name, from, to);
        assert!(checks.iter().any(|check| check.number && !check.good), "{name} with {to}");
    }
}
