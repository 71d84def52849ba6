//! Judges the checks against the results.

use core::cmp::Ordering;

use serde_json::Value;

use super::outcome::{CheckOutcome, Outcome};
use super::path::find;
use super::plan::{Check, CheckKind, Expectation, LabPlan, Tolerance};
use ground::verdict::Verdict;
use sim::check::{self, Finding};

/// Adjusts the outcomes of a run that was ended early. A FAIL for an event remains, as does that of
/// a count that already exceeds its limit; a check of the state or the numbers at the end is not
/// judged.
pub(super) fn interrupted(plan: &LabPlan, outcome: &mut Outcome) {
    outcome.interrupted = true;
    let results = serde_json::to_value(&*outcome).expect("results have names for keys");
    for (check, found) in plan.checks.iter().zip(&mut outcome.checks) {
        let of_the_end = match &check.kind {
            // A pause in force had no time to end.
            CheckKind::PausesEnd | CheckKind::Fairness { .. } => true,
            CheckKind::Value { path, expect, .. } => !is_exceeded(&results, path, expect),
            _ => false,
        };
        if of_the_end {
            found.verdict = Verdict::NotJudged;
            found.detail = format!("the run was interrupted; {}", found.detail);
        }
    }
    let checks = outcome.checks.iter().map(|check| check.verdict);
    outcome.verdict = Verdict::of_all(checks.chain([Verdict::Inconclusive]));
}

/// True for a count that never decreases in a run and is above its expected value or bound.
fn is_exceeded(results: &Value, path: &str, expect: &Expectation) -> bool {
    const COUNTS: [&str; 7] = [
        "rx_frames",
        "tx_frames",
        "rx_bytes",
        "tx_bytes",
        "lossless_lost_frames",
        "lossless_drops",
        "headroom_peak_bytes",
    ];
    let mut parts = path.rsplit('.');
    let last = parts.next().unwrap_or_default();
    let only_grows =
        COUNTS.iter().any(|count| last.ends_with(count)) || parts.next() == Some("drops");
    let Some(found) = find(results, path).ok().and_then(Value::as_u64) else { return false };
    let highest = expect.value.map(|value| match expect.tolerance {
        Tolerance::Exact => value,
        Tolerance::Relative(part) => value + (value * part).abs(),
        Tolerance::Absolute(by) => value + by,
    });
    let limits = [highest, expect.at_most];
    only_grows && limits.into_iter().flatten().any(|limit| found as f64 > limit)
}

/// Returns the outcome of a check, from the checkers' findings or from the numbers of the results.
pub(super) fn outcome(
    check: &Check,
    plan: &LabPlan,
    findings: &[Finding],
    results: &Value,
) -> CheckOutcome {
    let of = |asked: &[check::Check]| of_findings(findings, asked);
    let (verdict, detail) = match &check.kind {
        CheckKind::Conservation => of(&[check::Check::Frames, check::Check::Cells]),
        CheckKind::LosslessDelivery => {
            let of_groups = of(&[check::Check::Lossless]);
            worse(of_groups, lossy_way(results))
        }
        CheckKind::PauseLegality => of(&[check::Check::PauseLegality, check::Check::PausesSent]),
        CheckKind::PausesEnd => of(&[check::Check::PausesEnd]),
        CheckKind::NoDeadlock => of(&[check::Check::Deadlock]),
        CheckKind::WorkConserving => of(&[check::Check::IdleLines]),
        CheckKind::EcnBeforePfc => of(&[check::Check::EcnBeforePfc]),
        CheckKind::Value { path, same_as, expect } => {
            value(results, path, same_as.as_deref(), *expect)
        }
        CheckKind::Fairness { flows, tolerance } => {
            let names: Vec<&str> = flows.iter().map(|n| plan.flows[*n].name.as_str()).collect();
            fairness(results, &names, *tolerance)
        }
    };
    let mut outcome = CheckOutcome::new(check, verdict, detail);
    if matches!(check.kind, CheckKind::LosslessDelivery) {
        let excuses = findings.iter().flat_map(|finding| &finding.excuses);
        outcome.excuses = excuses.cloned().collect();
    }
    outcome
}

/// Returns the worse of two verdicts; with both details if they are equal.
pub(super) fn worse(one: (Verdict, String), other: (Verdict, String)) -> (Verdict, String) {
    match one.0.cmp(&other.0) {
        _ if other.1.is_empty() => one,
        Ordering::Greater => one,
        Ordering::Less => other,
        Ordering::Equal => (one.0, format!("{}; {}", one.1, other.1)),
    }
}

/// Returns the verdict on losses of flows that are lossless at their first switch and lossy at a
/// later one. The detail is empty without such flows.
pub(super) fn lossy_way(results: &Value) -> (Verdict, String) {
    let way = &results["lossy_way"];
    let number = |name: &str| way[name].as_u64().unwrap_or(0);
    let (lost, unknown) = (number("lost_frames"), number("unknown_frames"));
    let names = |key: &str| {
        let all = way[key].as_array().into_iter().flatten().filter_map(Value::as_str);
        all.take(4).collect::<Vec<_>>().join(", ")
    };
    let switches = names("switches");
    match (way.is_null(), lost, unknown) {
        (true, ..) => (Verdict::Pass, String::new()),
        (_, 0, 0) => {
            (Verdict::Pass, format!("nothing was lost of flows that are lossy at {switches}"))
        }
        (_, 0, n) => {
            let n = text::count(n);
            let what = format!(
                "{n} frames that are lossless at their first switch were dropped at {switches}, where \
                 they are lossy, or lost on links: the counters do not tell"
            );
            (Verdict::NotJudged, what)
        }
        (_, n, _) => {
            let (n, flows) = (text::count(n), names("flows"));
            let what = format!(
                "{n} frames of {flows} were dropped at {switches}, where they are lossy; their first \
                 switch takes them for lossless"
            );
            (Verdict::Fail, what)
        }
    }
}

/// Returns the verdict of several checkers together, with the details of those that decided it.
fn of_findings(findings: &[Finding], asked: &[check::Check]) -> (Verdict, String) {
    let found: Vec<&Finding> = findings.iter().filter(|f| asked.contains(&f.check)).collect();
    // A check of which one part is not judged is not judged.
    let verdict = found.iter().map(|f| f.verdict).max().unwrap_or(Verdict::NotJudged);
    let said = found.into_iter().filter(|f| f.verdict == verdict).map(|f| f.detail.clone());
    (verdict, said.collect::<Vec<_>>().join("; "))
}

/// Returns the number at a path of the results.
fn number_at(results: &Value, path: &str) -> Result<f64, String> {
    Ok(match find(results, path)? {
        Value::Bool(b) => f64::from(u8::from(*b)),
        Value::Null => return Err(format!("{path} has no value: it never happened")),
        // The value of a list or an object is its number of entries.
        Value::Array(list) => list.len() as f64,
        Value::Object(fields) => fields.len() as f64,
        v => v.as_f64().ok_or_else(|| format!("{path} is no number"))?,
    })
}

fn value(
    results: &Value,
    path: &str,
    same_as: Option<&str>,
    mut expect: Expectation,
) -> (Verdict, String) {
    let other = same_as.map(|other| number_at(results, other)).transpose();
    let (found, other) = match (number_at(results, path), other) {
        (Ok(found), Ok(other)) => (found, other),
        (Err(error), _) | (_, Err(error)) => return (Verdict::Fail, error),
    };
    expect.value = other.or(expect.value);
    let of = same_as.map_or(String::new(), |other| format!("{other}, "));
    let (mut good, mut wanted) = (true, Vec::new());
    if let Some(value) = expect.value {
        let (bound, text) = match expect.tolerance {
            Tolerance::Exact => (0.0, "exactly".to_owned()),
            Tolerance::Relative(part) => {
                ((value * part).abs(), format!("within {} % of", number(100.0 * part)))
            }
            Tolerance::Absolute(by) => (by, format!("within {} of", number(by))),
        };
        good &= (found - value).abs() <= bound;
        let off = match (found == value, value == 0.0) {
            (true, _) => String::new(),
            (_, true) => format!(" (off by {})", number(found)),
            _ => format!(" (off by {:+.3} %)", 100.0 * (found - value) / value),
        };
        wanted.push(format!("{text} {of}{}{off}", number(value)));
    }
    if let Some(least) = expect.at_least {
        good &= found >= least;
        wanted.push(format!("at least {}", number(least)));
    }
    if let Some(most) = expect.at_most {
        good &= found <= most;
        wanted.push(format!("at most {}", number(most)));
    }
    (Verdict::of(good), format!("{path} is {}, expected {}", number(found), wanted.join(" and ")))
}

fn fairness(results: &Value, names: &[&str], tolerance: f64) -> (Verdict, String) {
    let mut shares = Vec::new();
    for name in names {
        match find(results, &format!("flows.{name}.payload_bps")).map(Value::as_f64) {
            Ok(Some(share)) => shares.push((share, *name)),
            Ok(None) => return (Verdict::Fail, format!("flow {name} has no rate")),
            Err(error) => return (Verdict::Fail, error),
        }
    }
    if shares.len() < 2 {
        return (Verdict::NotJudged, "fewer than two flows are compared".into());
    }
    let mean = shares.iter().map(|(share, _)| share).sum::<f64>() / shares.len() as f64;
    if mean <= 0.0 {
        return (Verdict::Fail, "nothing arrived of these flows while shares were measured".into());
    }
    let off = |share: &f64| (share - mean) / mean;
    let worst = shares.iter().max_by(|a, b| off(&a.0).abs().total_cmp(&off(&b.0).abs()));
    let (share, name) = worst.expect("there are two flows at least");
    let detail = format!(
        "{} flows share {} on average; {name} has {} ({:+.2} %), {} % is allowed",
        shares.len(),
        text::scaled(mean, "b/s"),
        text::scaled(*share, "b/s"),
        100.0 * off(share),
        number(100.0 * tolerance),
    );
    (Verdict::of(off(share).abs() <= tolerance), detail)
}

/// Formats a figure of a check.
fn number(n: f64) -> String {
    text::decimal(n, 6)
}
