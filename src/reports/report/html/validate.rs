//! The report of `sluice validate`: one self-contained HTML page.

use maud::{Markup, html};

use super::parts::{self, LINES_MAX, ROWS_MAX, card};
use super::pauses::{PauseRow, Pauses, Span};
use super::plot::{Axis, Line, Plot};
use super::{page, scale};
use crate::sheet::{Medium, Sheet};
use ::text::{Column, columns};
use ::validate::catalogue;
use ::validate::evidence::{self, Conformance, conformance, repeat};
use ::validate::judge::{Measurement, Outcome};
use ::validate::observation::Way;
use ::validate::setup::Setup;
use ::validate::suite::Results;
use ::validate::suite::TestResult;
use ::validate::trace::{PauseSpan, Seen};
use ground::verdict::Verdict;

/// The contents of a report.
#[derive(Clone, Copy, Debug)]
pub struct ValidationPage<'a> {
    pub results: &'a Results,
    pub setup: &'a Setup,
    /// Name of the DUT file.
    pub file: &'a str,
    /// True if inconclusive tests count as failures.
    pub strict: bool,
    /// The run's other files, and the DUT file.
    pub files: &'a [evidence::File],
}

/// Renders the page.
#[must_use]
pub fn validation_html(p: &ValidationPage<'_>) -> String {
    let verdict = p.results.verdict(p.strict);
    let title = format!("{}: {verdict}", p.results.dut);
    let body = html! {
        (head(p, verdict))
        section.card { h2 { "Tests" } (matrix(p.results)) }
        @for test in &p.results.tests { (one(p, test)) }
        section.card {
            h2 { "Statement of conformance" }
            (parts::table(&statement(p.results)))
            p.small.soft {
                "yes: all tests of the requirement passed; no: one failed. Requirements after 802.1Q and \
                 802.3 in own words."
            }
        }
        section.card {
            h2 { "Set-up" }
            (parts::preformatted(&p.setup.to_string()))
            @if !p.files.is_empty() {
                h2 { "Files" }
                (parts::table(&files(p.files)))
            }
            p.small.soft { "sluice " (ground::program::version()) ", seed " (p.results.seed) }
        }
    };
    page(&title, ground::program::version(), &body)
}

fn head(p: &ValidationPage<'_>, verdict: Verdict) -> Markup {
    let count = |outcome| p.results.tests.iter().filter(|test| test.outcome == outcome).count();
    // In the order of outcomes, and only those that occurred.
    let counts = Outcome::ALL.map(|outcome| (outcome, count(outcome)));
    let counts = counts.iter().filter(|(_, n)| *n > 0);
    let counts: Vec<_> = counts.map(|(outcome, n)| format!("{n} {}", outcome.name())).collect();
    html! {
        header {
            h1 { (p.results.dut) }
            p.soft {
                "Validation of a device in the " (p.results.world) " world, level " (p.results.level)
                @if p.results.interrupted { "; interrupted, so not all tests were run" }
            }
        }
        div class={ "verdict " (verdict.name()) } role="status" {
            strong { (verdict.label()) } ": " (counts.join(", "))
        }
    }
}

/// Returns the style of an outcome.
const fn style(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::Fail | Outcome::Error => "fail",
        Outcome::Inconclusive => "inconclusive",
        Outcome::Skip | Outcome::Policy => "not_judged",
    }
}

fn word(outcome: Outcome) -> Markup {
    html! { span class={ "word " (style(outcome)) } { (outcome.name()) } }
}

/// Renders the tests as a matrix: a row for each group, a cell for each test.
fn matrix(results: &Results) -> Markup {
    let group = |test: &TestResult| test.id.get(2..3).unwrap_or_default().to_owned();
    let mut groups: Vec<String> = results.tests.iter().map(group).collect();
    // Tests are in the order of the catalogue, so a group stands together.
    groups.dedup();
    html! {
        @for name in groups {
            div.matrix {
                @for test in results.tests.iter().filter(|test| group(test) == name) {
                    a href={ "#" (test.id) } class={ "cell " (style(test.outcome)) }
                        title=(format!("{}: {}", test.title, test.detail)) {
                        strong { (test.id.trim_start_matches("V-")) } " " (test.outcome.name())
                    }
                }
            }
        }
    }
}

/// Renders a test; it is open if it did not pass.
fn one(p: &ValidationPage<'_>, test: &TestResult) -> Markup {
    let described = catalogue::TESTS.iter().chain([&catalogue::SELF_CHECK]);
    // The self-check is no test of the catalogue, but has a section like one.
    let described = described.into_iter().find(|known| known.id == test.id);
    // What needs attention is open; a long page of passes is not.
    let open = matches!(test.outcome, Outcome::Fail | Outcome::Error | Outcome::Inconclusive);
    // A pass needs one example.
    let shown = if open { &test.seen[..] } else { &test.seen[..test.seen.len().min(1)] };
    html! {
        section.card id=(test.id) {
            details open[open] {
                summary { (word(test.outcome)) " " (test.id) ": " (test.title) }
                p { (test.detail) }
                @if test.attempts > 1 {
                    p.small.soft { "Run " (test.attempts) " times, as it was inconclusive." }
                }
                @if let Some(known) = described {
                    p.small.soft { (known.purpose) " " (known.clause) "." }
                    p.small { strong { "Procedure. " } (known.procedure) }
                    p.small { strong { "Pass. " } (known.criterion(Some(&p.setup.limits))) }
                }
                @if !test.measurements.is_empty() {
                    (parts::table(&values(&test.measurements)))
                }
                @if !test.proven && test.id != catalogue::SELF_CHECK.id {
                    p.small.soft { "No planted fault proves this test." }
                }
                @for (n, seen) in shown.iter().enumerate() {
                    div.cards.times { (trial(seen, &format!("{} {n}", test.id))) }
                }
                pre { code { (repeat(p.results, p.file, test.id)) } }
            }
        }
    }
}

/// Returns the table of judged values.
fn values(measurements: &[Measurement]) -> Sheet {
    let columns: [Column<Measurement>; 7] = columns! { m =>
        Text ["verdict"] = m.outcome.name();
        Printed ["value"] = number(Some(m.value));
        Printed ["at least"] = number(m.limits.at_least);
        Printed ["at most"] = number(m.limits.at_most);
        Printed ["+-"] = number(Some(m.uncertainty).filter(|u| *u > 0.0));
        Text ["unit"] = m.unit;
        Sentence ["what"] = m.what.clone();
    };
    // Failures come first: a long table is cut.
    let mut sorted: Vec<&Measurement> = measurements.iter().collect();
    sorted.sort_by_key(|m| core::cmp::Reverse(m.outcome));
    Medium::Page.sheet(&columns, sorted)
}

fn number(value: Option<f64>) -> String {
    match value.filter(|value| value.is_finite()) {
        Some(value) if value.fract() == 0.0 => format!("{value:.0}"),
        Some(value) => format!("{value:.3}"),
        None => String::new(),
    }
}

fn files(files: &[evidence::File]) -> Sheet {
    let columns: [Column<evidence::File>; 3] = columns! { file =>
        Text ["file"] = &*file.name;
        Printed ["bytes"] = file.bytes.to_string();
        Text ["SHA-256"] = &*file.sha256;
    };
    Medium::Page.sheet(&columns, files)
}

fn statement(results: &Results) -> Sheet {
    let columns: [Column<Conformance>; 4] = columns! { line =>
        Text ["support"] = line.support;
        Sentence ["requirement"] = line.requirement.to_owned();
        Sentence ["clause"] = line.clause.to_owned();
        Sentence ["tests"] = {
            let test = |(id, outcome): &(&str, Option<Outcome>)| {
                format!("{id} {}", outcome.map_or("not run", Outcome::name))
            };
            line.tests.iter().map(test).collect::<Vec<_>>().join(", ")
        };
    };
    Medium::Page.sheet(&columns, conformance(results))
}

/// Renders the plots of a trial, which zoom together.
fn trial(seen: &Seen, group: &str) -> Markup {
    let end_ns = seen.length.as_nanos_f64();
    let highest = |points: &[(f64, f64)]| points.iter().map(|p| p.1).fold(0.0, f64::max);
    let shown = seen.rates.iter().take(LINES_MAX);
    let line =
        |flow: &::validate::trace::FlowRates| Line::steps(flow.name.clone(), flow.points.clone());
    let top = seen.rates.iter().map(|flow| highest(&flow.points)).fold(0.0, f64::max);
    let rates = Plot {
        about: format!("Received rates in the trial: {}", seen.trial),
        what: "received",
        unit: scale::rate(top),
        max: None,
        axis: Axis::time(end_ns, group),
        lines: shown.map(line).collect(),
        marks: Vec::new(),
    };
    let more = seen.rates.len().saturating_sub(LINES_MAX);
    let left = if more > 0 { format!(" {more} more flows are not drawn.") } else { String::new() };
    html! {
        (card(&seen.trial, rates.draw(), &format!("Rates at which the tester received.{left}")))
        (card(&format!("Pauses: {}", seen.trial), pauses(seen, group).draw(),
            "Times in which a pause was in force, by port of the tester and priority: a port pauses the \
             device, or is paused by it."))
    }
}

/// Returns the rows of pauses, one for each port, side and priority.
fn pauses(seen: &Seen, group: &str) -> Pauses {
    let name = |span: &PauseSpan| {
        let whom = if span.way == Way::Sent { "pauses" } else { "is paused" };
        let what = span.priority.map_or("PAUSE".to_owned(), |priority| priority.to_string());
        format!("{} {whom}, {what}", span.port)
    };
    let mut rows: Vec<PauseRow> = Vec::new();
    for span in &seen.pauses {
        let name = name(span);
        let (from, to) = (span.from, span.until.max(span.from));
        let span = Span { from, to, paused: to.saturating_sub(from), pauses: Some(1) };
        if let Some(row) = rows.iter_mut().find(|row| row.name == name) {
            row.spans.push(span);
        // Rows so far still get their spans.
        } else if rows.len() < ROWS_MAX {
            rows.push(PauseRow { name, spans: vec![span], ..PauseRow::default() });
        }
    }
    for row in &mut rows {
        row.spans.sort_by_key(|span| span.from);
    }
    // By port, side and priority, as the names begin with these.
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    let about = format!("Pauses over time in the trial: {}", seen.trial);
    Pauses { about, end: seen.length, group: group.into(), rows, marks: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::validate::setup::Keep;
    use ::validate::suite::{self, Selection};
    use ::validate::test::Level;
    use ::validate::virtual_bench::VirtualBench;

    #[test]
    fn a_page_has_the_matrix_plots_and_the_statement() {
        let text = "rate: 100G\nports: [{}, {}]\nvirtual: {profile: {}}\nname: a<b\n";
        let (mut dut, _) = ::validate::file::parse("dut.yaml", text).unwrap();
        dut.setup.keep = Keep::Traces;
        let mut bench = VirtualBench::new(dut.setup.clone(), dut.lab.unwrap());
        let selection = Selection { level: Level::Quick, only: vec!["V-R01".into()], retry: 0 };
        let results = suite::run(&dut.setup, &selection, &mut bench, |_, _, _| true);
        let page = validation_html(&ValidationPage {
            results: &results,
            setup: &dut.setup,
            file: "dut.yaml",
            strict: false,
            files: &[evidence::File {
                name: "values<1>.jsonl".into(),
                bytes: 7,
                sha256: "0123abcd".into(),
            }],
        });
        for part in [
            "<title>a&lt;b: FAIL</title>",
            "href=\"#V-R01\"",
            "received (Gb/s)",
            "B pauses, 3",
            "frames of priority 3 against the pause",
            "<td>no</td>",
            "not run",
            "sluice validate dut.yaml --only V-R01",
            "<td>values&lt;1&gt;.jsonl</td>",
            "<td>0123abcd</td>",
        ] {
            assert!(page.contains(part), "{part}");
        }
        crate::html::assets::needs_nothing_else(&page);
    }

    #[test]
    fn metrics_have_limits_and_no_unknown_number() {
        let text = "rate: 100G\nports: [{}, {}]\nvirtual: {profile: {}}\nname: 'a\"b'\n";
        let (dut, _) = ::validate::file::parse("dut.yaml", text).unwrap();
        let mut bench = VirtualBench::new(dut.setup.clone(), dut.lab.unwrap());
        let selection = Selection { level: Level::Quick, only: vec!["V-R0*".into()], retry: 0 };
        let results = suite::run(&dut.setup, &selection, &mut bench, |_, _, _| true);
        let text = crate::validation_metrics(&results);
        let line = |part: &str| text.lines().any(|line| line.contains(part));
        assert!(line("sluice_validate_outcome{test_testcase=\"V-R01\",device_id=\"a\\\"b\""));
        assert!(line("outcome=\"fail\"} 1"), "{text}");
        assert!(line("sluice_validate_limit_high{test_testcase=\"V-R04\""), "{text}");
        assert!(!text.contains("NaN") && !text.contains("# EOF"), "{text}");
        // In the order of the tests and of their values, which is the same in each run.
        let of = |name: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| line.starts_with(&format!("{name}{{")));
            lines.filter_map(|line| line.split('"').nth(1)).map(str::to_owned).collect()
        };
        let tests: Vec<_> = results.tests.iter().map(|test| test.id).collect();
        assert_eq!(of("sluice_validate_outcome"), tests);
        let values =
            results.tests.iter().flat_map(|test| test.measurements.iter().map(|_| test.id));
        let mut values: Vec<_> = values.collect();
        let mut told = of("sluice_validate_value");
        values.dedup();
        told.dedup();
        assert_eq!(told, values);
        assert_eq!(crate::validation_metrics(&results), text);
    }
}
