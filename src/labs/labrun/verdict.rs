//! Judges the checks against the results.

use core::cmp::Ordering;

use serde_json::Value;

use super::outcome::{CheckOutcome, Outcome};
use super::plan::{Check, CheckKind, Expectation, LabPlan, Tolerance};
use crate::data_times::without_data;
use crate::outcome::find;
use contracts::stats::DropReason;
use ground::verdict::Verdict;
use sim::check::{self, Finding};
use sim::{FaultClass, NodeKind};

/// The checkers of `pause_legality`.
pub(super) const PAUSES: [check::Check; 2] =
    [check::Check::PauseLegality, check::Check::PausesSent];

/// Adjusts the outcomes of a run that was ended early. A FAIL for an event remains, as does that of
/// a count that already exceeds its limit; a check of the state or the numbers at the end is not
/// judged.
pub(super) fn interrupted(plan: &LabPlan, outcome: &mut Outcome) {
    outcome.interrupted = true;
    let results = serde_json::to_value(&*outcome).expect("results have names for keys");
    for found in &mut outcome.checks {
        let Some(check) = plan.checks.iter().find(|check| check.name == found.name) else {
            continue;
        };
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
    outcome.verdict = whole(&outcome.checks, true);
}

/// Returns the verdict of a run from its checks; one that was interrupted is inconclusive at best.
pub(super) fn whole(checks: &[CheckOutcome], interrupted: bool) -> Verdict {
    Verdict::of_all(checks.iter().map(|check| check.verdict)).with_missing(interrupted)
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
    // Only a count can be judged before the end: it cannot come back below its limit.
    let only_grows =
        COUNTS.iter().any(|count| last.ends_with(count)) || parts.next() == Some("drops");
    let Some(found) = find(results, path).ok().and_then(Value::as_u64) else { return false };
    // A count above what was expected will still be above it at the end.
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
        CheckKind::Conservation => {
            use check::Check::{Cells, Frames, Marks};
            in_order(of(&[Frames, Cells, Marks]), plan, results)
        }
        CheckKind::LosslessDelivery => {
            let (of_priorities, planned) = of_lossless(findings);
            lossless(of_priorities, planned, results)
        }
        CheckKind::PauseLegality => {
            // Where no pause was sent, none was owed: a group over its limit owes one.
            let [obeyed, sent] = PAUSES.map(|checker| of(&[checker]));
            let nothing_owed = obeyed.0.is_pass() && sent.0 == Verdict::NotJudged;
            if nothing_owed { obeyed } else { worse(obeyed, sent) }
        }
        CheckKind::PausesEnd => of(&[check::Check::PausesEnd]),
        CheckKind::NoDeadlock => of(&[check::Check::Deadlock]),
        CheckKind::WorkConserving => of(&[check::Check::IdleLines]),
        CheckKind::EcnBeforePfc => of(&[check::Check::EcnBeforePfc]),
        CheckKind::Value { path, same_as, expect } => {
            value(results, path, same_as.as_deref(), *expect)
        }
        CheckKind::Fairness { flows, tolerance } => {
            let names: Vec<&str> = flows.iter().map(|n| plan.flows[*n].name.as_str()).collect();
            match without_data(plan, results, flows, *tolerance) {
                Some(why) => (Verdict::NotJudged, why),
                None => fairness(results, &names, *tolerance),
            }
        }
    };
    let mut outcome = CheckOutcome::new(check, verdict, detail);
    if matches!(check.kind, CheckKind::LosslessDelivery) {
        let excuses = findings.iter().flat_map(|finding| &finding.excuses);
        outcome.excuses = excuses.cloned().collect();
    }
    outcome
}

/// Adds the order of frames to a verdict on their number, in either world: those of a flow without
/// acknowledgements arrive as they were sent. Connections repeat frames by themselves.
pub(super) fn in_order(
    of_frames: (Verdict, String),
    plan: &LabPlan,
    results: &Value,
) -> (Verdict, String) {
    let flows = results["flows"].as_array().into_iter().flatten();
    let late = |flow: &&Value| flow["transport"].is_null() && flow["reordered_frames"] != 0;
    let flows: Vec<&Value> = flows.filter(late).collect();
    let n: u64 = flows.iter().filter_map(|flow| flow["reordered_frames"].as_u64()).sum();
    if n == 0 {
        return of_frames;
    }
    let of: Vec<&str> = flows.iter().take(4).filter_map(|flow| flow["name"].as_str()).collect();
    let what = format!("{} frames of {} arrived behind later ones", text::count(n), of.join(", "));
    // A link that goes down moves flows to other paths of equal cost.
    let spread = plan.network.nodes.iter().any(|node| match &node.kind {
        NodeKind::Switch(switch) => !switch.bridge.spread.is_empty(),
        NodeKind::Host(_) => false,
    });
    let moved =
        spread && plan.network.faults.iter().any(|f| f.kind.class() == FaultClass::LinkDown);
    let of_order = match moved {
        true => (Verdict::NotJudged, format!("{what}, and links went down by a planned fault")),
        false => (Verdict::Fail, what),
    };
    worse(of_frames, of_order)
}

/// Returns the checkers' verdict on losses of lossless frames, with those that have a planned fault of the
/// environment for a cause. What a device loses by configuration or by a defect fails.
fn of_lossless(findings: &[Finding]) -> ((Verdict, String), u64) {
    let found = findings.iter().find(|finding| finding.check == check::Check::Lossless);
    let none = || ((Verdict::NotJudged, String::new()), 0);
    found.map_or_else(none, |Finding { verdict, detail, known, .. }| {
        let failed = known.unplanned > 0;
        ((if failed { Verdict::Fail } else { *verdict }, detail.clone()), known.planned)
    })
}

/// Returns the verdict on losses of lossless frames, in either world: that on priorities, with the frames
/// that planned faults of the environment took, and that on the flows, whose losses must all be among those.
pub(super) fn lossless(
    of_priorities: (Verdict, String),
    planned: u64,
    results: &Value,
) -> (Verdict, String) {
    let of_priorities = worse(of_priorities, lossy_way(results));
    let flows = &results["lossless_flows"];
    let number = |name: &str| flows[name].as_u64().unwrap_or(0);
    let names = || names(&flows["flows"]);
    // What a host has queued when its link goes down never was on a line.
    let hosts = results["nodes"].as_object().into_iter().flat_map(|nodes| nodes.values());
    let flushed = hosts.filter_map(|host| host["ports"][0]["flushed"].as_u64()).sum::<u64>();
    let refused = results["drops"][LINK_DOWN].as_u64().unwrap_or(0);
    let (lost, planned) = (number("lost_frames"), planned + flushed + refused);
    let of_flows = match (lost, flows["unfinished"].as_bool().unwrap_or(false)) {
        (0, false) => (Verdict::Pass, String::new()),
        (0, true) => {
            let of = Some(names()).filter(|of| !of.is_empty());
            let of = of.map_or(String::new(), |of| format!(" of {of}"));
            let what = match number("unfinished_frames") {
                0 => {
                    format!("the run ended before its traffic{of} was done; no frame is on the way")
                }
                n => {
                    let n = text::count(n);
                    format!("the run ended before its traffic: {n} frames{of} are on the way")
                }
            };
            (Verdict::NotJudged, what)
        }
        // The flows' counters cannot tell which frames a fault took, so up to this number no loss is proved.
        (n, _) if n <= planned => {
            let (n, of) = (text::count(n), names());
            (Verdict::NotJudged, format!("planned faults took {n} frames of {of}"))
        }
        (n, _) => {
            let (n, of, planned) = (text::count(n), names(), text::count(planned));
            let what = format!(
                "{n} frames of {of}, lossless on the whole way, were lost, and planned faults took at \
                 most {planned}"
            );
            (Verdict::Fail, what)
        }
    };
    worse(of_priorities, of_flows)
}

/// The drop reason of frames of unknown priority at a port whose link is down.
const LINK_DOWN: &str = DropReason::LinkDown.name();

/// Returns the first names of a list.
fn names(list: &Value) -> String {
    let all = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    all.take(4).collect::<Vec<_>>().join(", ")
}

/// Returns the worse of two verdicts; with both details if they are equal.
fn worse(one: (Verdict, String), other: (Verdict, String)) -> (Verdict, String) {
    match one.0.cmp(&other.0) {
        _ if other.1.is_empty() => one,
        // Checks of several parts may have the same to tell.
        Ordering::Equal if one.1.split("; ").any(|known| known == other.1) => one,
        Ordering::Greater => one,
        Ordering::Less => other,
        Ordering::Equal => (one.0, format!("{}; {}", one.1, other.1)),
    }
}

/// Returns the verdict on losses of flows that are lossless at their first switch and lossy at a
/// later one. The detail is empty without such flows.
fn lossy_way(results: &Value) -> (Verdict, String) {
    let way = &results["lossy_way"];
    let number = |name: &str| way[name].as_u64().unwrap_or(0);
    let (lost, unknown) = (number("lost_frames"), number("unknown_frames"));
    let switches = names(&way["switches"]);
    match (way.is_null(), lost, unknown) {
        (true, ..) => (Verdict::Pass, String::new()),
        (_, 0, 0) => {
            (Verdict::Pass, format!("nothing was lost of flows that are lossy at {switches}"))
        }
        // The losses are within what other causes may have taken: neither proved nor ruled out.
        (_, 0, n) => {
            let n = text::count(n);
            let what = format!(
                "{n} frames that are lossless at their first switch were dropped at {switches}, where \
                 they are lossy, or lost on links: the counters do not tell"
            );
            (Verdict::NotJudged, what)
        }
        (_, n, _) => {
            let (n, flows) = (text::count(n), names(&way["flows"]));
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
    let verdict = Verdict::of_all(found.iter().map(|f| f.verdict));
    let decided = found.into_iter().filter(|f| f.verdict == verdict && !f.detail.is_empty());
    let mut details: Vec<&str> = decided.map(|f| f.detail.as_str()).collect();
    // Checkers that saw nothing say so in the same words.
    details.dedup();
    (verdict, details.join("; "))
}

/// Returns the number at a path of the results.
fn number_at(results: &Value, path: &str) -> Result<f64, String> {
    Ok(match find(results, path)? {
        Value::Bool(b) => f64::from(u8::from(*b)),
        // Null is an event that did not happen, and no number; comparing it with 0 would be wrong for times.
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
    // `same_as` is the expected value; the file has refused `expect` beside it.
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
        // A deviation from 0 has no percentage.
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
    // Equal shares of nothing would be a PASS that proves nothing.
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
