//! Resolves the checks and the recording of a run.

use super::flows::Flows;
use super::graph::{self, Graph};
use crate::raw::{self, Allowance, CheckLong, CheckWord, Many, Short};
use crate::{Check, CheckKind, Expectation, Record, Tolerance};
use config::{Cx, Place, unknown_name};
use ground::time::Duration;
use sim::LinkId;

/// Checks of a file without `checks`.
const DEFAULT: [CheckWord; 5] = [
    CheckWord::Conservation,
    CheckWord::Lossless,
    CheckWord::PauseLegality,
    CheckWord::NoDeadlock,
    CheckWord::WorkConserving,
];

/// Default tolerance of `fairness`, relative to the mean.
const FAIR: f64 = 0.01;

pub(super) fn checks(
    cx: &mut Cx,
    place: &Place<'_>,
    lab: &raw::Lab,
    flows: &Flows,
    any_lossless: bool,
) -> Vec<Check> {
    let place = place.key("checks");
    let Some(raw) = &lab.checks else { return default(any_lossless) };
    let mut out: Vec<Check> = Vec::new();
    for (i, raw) in raw.iter().enumerate() {
        let place = place.index(i);
        let check = match raw {
            Short::Short(raw) => Some(word(*raw)),
            Short::Long(raw) => long(cx, &place, raw, flows),
        };
        let Some(mut check) = check else { continue };
        let taken = |name: &str| out.iter().any(|c| c.name == name);
        if taken(&check.name) {
            let base = check.name.clone();
            // Only names that the file chose clash; generated ones, of two values at one path, are numbered.
            let named = matches!(raw, Short::Short(_))
                || matches!(raw, Short::Long(CheckLong { name: Some(_), .. }));
            if named {
                cx.error(&place, format!("`{base}` is there twice"));
            }
            let free = (2..).map(|n| format!("{base} {n}")).find(|n| !taken(n));
            check.name = free.unwrap_or(base);
        }
        out.push(check);
    }
    out
}

/// Returns the checks of a file without `checks`: `lossless` only if some priority is.
fn default(any_lossless: bool) -> Vec<Check> {
    // Without a lossless priority the check would pass whatever is lost, and a PASS would say too much.
    let applies = |word: &CheckWord| any_lossless || !matches!(word, CheckWord::Lossless);
    let check = |raw| Check { by_default: true, ..word(raw) };
    DEFAULT.into_iter().filter(applies).map(check).collect()
}

fn word(raw: CheckWord) -> Check {
    let (name, kind) = match raw {
        CheckWord::Conservation => ("conservation", CheckKind::Conservation),
        CheckWord::Lossless => ("lossless", CheckKind::LosslessDelivery),
        CheckWord::PauseLegality => ("pause_legality", CheckKind::PauseLegality),
        CheckWord::PausesEnd => ("pauses_end", CheckKind::PausesEnd),
        CheckWord::NoDeadlock => ("no_deadlock", CheckKind::NoDeadlock),
        CheckWord::WorkConserving => ("work_conserving", CheckKind::WorkConserving),
        CheckWord::EcnBeforePfc => ("ecn_before_pfc", CheckKind::EcnBeforePfc),
    };
    Check { name: name.into(), kind, by_default: false, source: None }
}

/// Refuses the name of a check that judges something else: rows and searches know checks by their names.
fn refuse_name(cx: &mut Cx, place: &Place<'_>, raw: &CheckLong) {
    let words = CheckWord::ALL.map(word);
    let is_taken = |name: &str| {
        words.iter().any(|check| check.name == name) || name == FAIRNESS && raw.fairness.is_none()
    };
    if let Some(name) = raw.name.as_deref().filter(|name| is_taken(name)) {
        cx.error(&place.key("name"), format!("`{name}` is another check; choose another name"));
    }
}

/// Name of the check of that kind.
const FAIRNESS: &str = "fairness";

fn long(cx: &mut Cx, place: &Place<'_>, raw: &CheckLong, flows: &Flows) -> Option<Check> {
    refuse_name(cx, place, raw);
    let name = |default: &str| raw.name.clone().unwrap_or_else(|| default.into());
    match (&raw.fairness, &raw.value) {
        (Some(fair), None) => {
            let kind = fairness(cx, &place.key("fairness"), fair, flows);
            Some(Check { name: name(FAIRNESS), kind, by_default: false, source: None })
        }
        (None, Some(raw)) => {
            let kind = value(cx, &place.key("value"), raw);
            let (name, source) = (name(&raw.path), raw.source.clone());
            Some(Check { name, kind, by_default: false, source })
        }
        _ => {
            cx.error(place, "needs exactly one of `fairness` and `value`");
            None
        }
    }
}

fn fairness(cx: &mut Cx, place: &Place<'_>, raw: &raw::Fairness, all: &Flows) -> CheckKind {
    let mut flows = Vec::new();
    let list = match &raw.flows {
        Some(Many(list)) => list.as_slice(),
        None => {
            flows.extend(0..all.list.len());
            &[]
        }
    };
    // A name that is unknown was reported, so that too few flows remain is no error of its own.
    let before = cx.count();
    let named = list.iter().enumerate().flat_map(|(i, text)| {
        let here = place.key("flows");
        let here = if list.len() == 1 { here } else { here.index(i) };
        graph::expand(cx, &here, text).into_iter().map(move |name| (here.clone(), name))
    });
    for (here, name) in named.collect::<Vec<_>>() {
        // The name of an entry stands for all its flows, and is looked up before the name of one flow.
        let entry = all.entries.iter().find(|(n, _)| *n == name).map(|(_, range)| range.clone());
        let single = || all.list.iter().position(|f| f.name == name).map(|n| n..n + 1);
        match entry.or_else(single) {
            Some(range) => flows.extend(range),
            None => {
                let names: Vec<&str> = all.entries.iter().map(|(n, _)| n.as_str()).collect();
                cx.error(&here, unknown_name("flow", &name, &names));
            }
        }
    }
    flows.sort_unstable();
    flows.dedup();
    if flows.len() < 2 && cx.count() == before {
        cx.error(&place.key("flows"), "fairness is between two flows or more");
    }
    let tolerance = match raw.tolerance {
        None => FAIR,
        Some(Allowance::Percent(n)) => n / 100.0,
        // 1 could mean 1 % or the whole mean, so a number without `%` is refused and not guessed at.
        Some(Allowance::Number(n)) => {
            let what = format!("shares are compared in parts of the mean; write {}%", n * 100.0);
            cx.error(&place.key("tolerance"), what);
            FAIR
        }
    };
    CheckKind::Fairness { flows, tolerance }
}

fn value(cx: &mut Cx, place: &Place<'_>, raw: &raw::Value) -> CheckKind {
    let paths = [("path", Some(&raw.path)), ("same_as", raw.same_as.as_ref())];
    for (key, path) in paths.into_iter().filter_map(|(key, path)| Some((key, path?))) {
        if path.is_empty() || path.split('.').any(str::is_empty) {
            let what = format!(
                "`{path}` leads nowhere; write names with dots between, such as flows.f1.rx_frames"
            );
            cx.error(&place.key(key), what);
        }
    }
    let is_value = raw.expect.is_some() || raw.same_as.is_some();
    if !is_value && raw.at_least.is_none() && raw.at_most.is_none() {
        cx.error(place, "expects nothing; add `expect`, `same_as`, `at_least` or `at_most`");
    }
    if raw.expect.is_some() && raw.same_as.is_some() {
        cx.error(&place.key("same_as"), "`expect` is there too; leave out one of them");
    }
    if raw.same_as.as_ref() == Some(&raw.path) {
        cx.error(
            &place.key("same_as"),
            "is `path` itself, so nothing is compared; name another number",
        );
    }
    if raw.tolerance.is_some() && !is_value {
        cx.error(&place.key("tolerance"), "there is nothing it is a tolerance of; add `expect`");
    }
    if let (Some(least), Some(most)) = (raw.at_least, raw.at_most) {
        if least > most {
            cx.error(&place.key("at_least"), format!("{least} is above `at_most`, {most}"));
        }
    }
    let tolerance = match raw.tolerance {
        // Counters are integers; the exact comparison has no rounding of the tolerance in it.
        None | Some(Allowance::Number(0.0)) => Tolerance::Exact,
        Some(Allowance::Percent(n)) => Tolerance::Relative(n / 100.0),
        Some(Allowance::Number(n)) => Tolerance::Absolute(n),
    };
    let expect =
        Expectation { value: raw.expect, tolerance, at_least: raw.at_least, at_most: raw.at_most };
    CheckKind::Value { path: raw.path.clone(), same_as: raw.same_as.clone(), expect }
}

/// Resolves the recording.
pub(super) fn record(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &raw::Record,
    graph: &Graph<'_>,
) -> Record {
    let place = place.key("record");
    let every = raw.sample_every.map(|s| s.0);
    if every.is_some_and(|d| d < Duration::from_nanos(1)) {
        cx.error(&place.key("sample_every"), "is less than 1ns");
    }
    let mut pcapng = Vec::new();
    for (i, capture) in raw.pcapng.iter().enumerate() {
        let place = place.key("pcapng").index(i);
        if pcapng.iter().any(|(_, file)| *file == capture.file) {
            let what = format!("two links would be written to {}", capture.file.display());
            cx.error(&place.key("file"), what);
        }
        if let Some(link) = graph.find_link(cx, &place.key("link"), &capture.link) {
            pcapng.push((LinkId(link as u32), capture.file.clone()));
        }
    }
    Record { sample_every: every, messages: raw.messages, pcapng }
}
