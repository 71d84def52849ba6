//! The report of a test: one HTML page in the form of a lab's.

mod charts;

use maud::{Markup, html};

use super::{page, tables};
use crate::tester::{scene, tables as report_tables, time};
use ::text::{count, scaled};
use ground::verdict::Verdict;
use tester::history::History;
use tester::judge::{Finding, verdict};
use tester::report::{Flow, Report};

/// The contents of a page.
#[derive(Clone, Copy, Debug)]
pub struct TestPage<'a> {
    /// The name of the test.
    pub name: &'a str,
    pub report: &'a Report,
    /// The samples over time.
    pub history: &'a History,
    /// The results of the checks.
    pub findings: &'a [Finding],
    /// The command that reproduces the page.
    pub command: &'a str,
}

/// Renders the page.
#[must_use]
pub fn tester_html(p: &TestPage<'_>) -> String {
    let title = format!("{}: {}", p.name, verdict(p.findings));
    let body = html! {
        (head(p))
        (tiles(p.report))
        div.cards {
            section.card { h2 { "Checks" } (findings(p.findings)) }
            (charts::latency(p))
        }
        div.cards.times { (charts::over_time(p)) }
        @if !p.report.warnings.is_empty() {
            section.card {
                h2 { "Deviations from the configuration" }
                ul { @for line in &p.report.warnings { li { (line) } } }
            }
        }
        @for (title, sheet) in report_tables(p.report) {
            section.card { h2 { (title) } (tables::table(&sheet)) }
        }
        section.card {
            h2 { "Reproduce" }
            pre { code { (p.command) } }
            p.small.soft { "sluice " (ground::program::version()) }
        }
    };
    page(&title, ground::program::version(), &body)
}

fn head(p: &TestPage<'_>) -> Markup {
    let whole = verdict(p.findings);
    let words = Verdict::summary(p.findings.iter().map(|f| f.verdict));
    let (label, counts) = words.split_once(": ").unwrap_or((&words, ""));
    html! {
        header {
            h1 { (p.name) }
            p.soft { (scene(p.report)) }
        }
        div class={ "verdict " (whole.name()) } role="status" {
            strong { (label) } ": " (counts)
        }
    }
}

/// Renders the main figures.
fn tiles(report: &Report) -> Markup {
    let sum = |f: fn(&Flow) -> u64| report.flows.iter().map(f).sum::<u64>();
    let (sent, received) = (sum(|f| f.frames_tx), sum(|f| f.frames_rx));
    let latencies = report.flows.iter().filter_map(|f| f.latency.as_ref());
    let slowest = latencies.map(|l| l.p99_ns).max_by(|a, b| a.ns().total_cmp(&b.ns()));
    let paces = report.flows.iter().filter_map(|f| f.pacing.as_ref());
    let off = paces.map(|p| p.error_ppm).max_by(|a, b| a.abs().total_cmp(&b.abs()));
    let priorities = || report.ports.iter().flat_map(|port| &port.priorities);
    let paused = priorities().map(|p| p.paused_ns).fold(0.0, f64::max);
    let bytes = sum(|f| f.bytes_rx) as f64;
    let rate = report.elapsed_s.filter(|s| *s > 0.0).map(|s| 8.0 * bytes / s);
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "not measured".into());
    let tiles = [
        ("frames sent", count(sent)),
        ("frames received", count(received)),
        ("frames lost", count(sent.saturating_sub(received))),
        ("mean rate received", or_none(rate.map(|rate| scaled(rate, "b/s")))),
        ("p99 latency, slowest flow", or_none(slowest.map(|time| time.to_string()))),
        ("rate, furthest off", or_none(off.map(|ppm| format!("{ppm:+.1} ppm")))),
        ("pauses received", count(priorities().map(|p| p.pauses_rx).sum())),
        ("longest paused priority", if paused > 0.0 { time(paused) } else { "none".into() }),
    ];
    html! {
        dl.tiles {
            @for (name, value) in tiles {
                div.tile { dt { (name) } dd { (value) } }
            }
        }
    }
}

fn findings(findings: &[Finding]) -> Markup {
    html! {
        @if findings.is_empty() {
            p.soft { "There are no flows." }
        }
        ul.checks {
            @for finding in findings {
                li {
                    (tables::verdict(finding.verdict)) " " strong { (finding.flow) }
                    div.soft { (finding.what) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::assets::needs_nothing_else;
    use crate::tester::tests::report;

    #[test]
    fn a_page_has_plots_and_tables_and_needs_nothing_else() {
        let last = report();
        let mut history = History::default();
        for tenths in 0..=15_u32 {
            let mut then = last.clone();
            then.elapsed_s = Some(f64::from(tenths) / 10.0);
            then.flows[0].bytes_rx = u64::from(tenths) * 4_000_000;
            then.ports[0].priorities[0].paused_ns = f64::from(tenths) * 1e8;
            history.push(&then);
        }
        let bad =
            Finding { flow: "b".into(), verdict: Verdict::Fail, what: "received <1> of 2".into() };
        let page = tester_html(&TestPage {
            name: "a & b",
            report: &last,
            history: &history,
            findings: &[bad],
            command: "sluice gen x.yaml",
        });
        let parts = [
            "<title>a &amp; b: FAIL</title>",
            "received &lt;1&gt; of 2",
            "both ports share a CPU",
            "throughput (Mb/s)",
            "p1 p3",
            "latency (logarithmic)",
            "error of latencies at most 1.2us",
            "sluice gen x.yaml",
            "Pauses sent",
        ];
        for part in parts {
            assert!(page.contains(part), "{part}");
        }
        needs_nothing_else(&page);
    }

    #[test]
    fn a_test_in_which_nothing_happened_has_a_page() {
        let (report, history) = (Report::default(), History::default());
        let page = TestPage {
            name: "x",
            report: &report,
            history: &history,
            findings: &[],
            command: "sluice gen x.yaml",
        };
        let page = tester_html(&page);
        assert!(page.contains("no checks were requested") && !page.contains("<svg"));
        assert!(!page.contains("<script"), "no plot needs it");
    }
}
