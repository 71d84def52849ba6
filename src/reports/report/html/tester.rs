//! The report of a test: one HTML page in the form of a lab's.

use maud::{Markup, html};

use super::parts::{self, FlowLatency, LINES_MAX, ROWS_MAX, card};
use super::pauses::{PauseRow, Pauses, Span};
use super::plot::{Axis, Line, Plot};
use super::rows::Rows;
use super::{page, scale};
use crate::tester::{scene, tables as report_tables, time};
use ::text::{count, scaled};
use ground::time::Duration;
use ground::verdict::Verdict;
use tester::history::{History, Moment};
use tester::judge::{Finding, verdict};
use tester::report::{Flow, Port, Priority, Report};

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
            (latency(p))
        }
        div.cards.times { (over_time(p)) }
        @if !p.report.warnings.is_empty() {
            section.card {
                h2 { "Deviations from the configuration" }
                ul { @for line in &p.report.warnings { li { (line) } } }
            }
        }
        @for (title, sheet) in report_tables(p.report) {
            section.card { h2 { (title) } (parts::table(&sheet)) }
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
    // The label stands in bold.
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
    // The furthest off in either direction.
    let off = paces.map(|p| p.error_ppm).max_by(|a, b| a.abs().total_cmp(&b.abs()));
    let priorities = || report.ports.iter().flat_map(|port| &port.priorities);
    let paused = priorities().map(|p| p.paused_ns).fold(0.0, f64::max);
    let bytes = sum(|f| f.bytes_rx) as f64;
    let rate = report.elapsed_s.filter(|s| *s > 0.0).map(|s| 8.0 * bytes / s);
    // Not measured is not 0.
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "not measured".into());
    let tiles = [
        ("frames sent", count(sent)),
        ("frames received", count(received)),
        ("frames lost", count(sum(Flow::lost))),
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
                    (parts::verdict(finding.verdict)) " " strong { (finding.flow) }
                    div.soft { (finding.what) }
                }
            }
        }
    }
}

/// Pauses of a smaller share of a step are not drawn: they may result from clocks that are read
/// one after the other.
const SHARE_MIN: f64 = 1e-4;

/// Plots over the time of the test, which zoom together.
const GROUP: &str = "run";

/// Draws all charts over time for which there is data.
fn over_time(p: &TestPage<'_>) -> Markup {
    html! {
        (card("Throughput", rates(p), "Frames that arrived, by flow, with their headers and FCS."))
        (card("Pauses", pauses(p).draw(),
            "Times during which each port was paused, by priority (p3: priority 3). The paler a bar, \
             the smaller the paused part of that time."))
    }
}

fn latency(p: &TestPage<'_>) -> Markup {
    html! {
        (card("Latency", parts::draw_latencies(&latencies(p)),
            "From the sender's port to the receiver's; lines are from the shortest to the longest."))
    }
}

fn ns(moment: &Moment) -> f64 {
    moment.at_s * 1e9
}

fn end_ns(p: &TestPage<'_>) -> f64 {
    p.history.moments().last().map_or(0.0, ns)
}

/// Plots the receive rates of flows: those that received most, and the sum of all.
fn rates(p: &TestPage<'_>) -> Option<Markup> {
    let (flows, moments) = (&p.report.flows, p.history.moments());
    // One moment has no rate. The other check guards the indices below.
    if moments.len() < 2 || moments[0].bytes_rx.len() != flows.len() {
        return None;
    }
    let mut shown: Vec<usize> = (0..flows.len()).filter(|n| flows[*n].frames_rx > 0).collect();
    shown.sort_by_key(|n| core::cmp::Reverse(flows[*n].bytes_rx));
    shown.truncate(LINES_MAX);
    shown.sort_unstable();
    let line = |n: &usize| {
        Line::steps(flows[*n].name.clone(), rate(moments, |moment| moment.bytes_rx[*n]))
    };
    let mut lines: Vec<Line> = shown.iter().map(line).collect();
    if shown.len() > 1 {
        let all = rate(moments, |moment| moment.bytes_rx.iter().sum());
        lines.push(Line { sum: true, ..Line::steps("all flows".into(), all) });
    }
    let highest = lines.iter().flat_map(|line| &line.points).map(|(_, rate)| *rate);
    let unit = scale::rate(highest.fold(0.0, f64::max));
    let about = format!("Lines over time: throughput of {} flows", shown.len());
    let axis = Axis::time(end_ns(p), GROUP);
    Plot { about, what: "throughput", unit, max: None, axis, lines, marks: vec![] }.draw()
}

/// Returns bits per second from each moment to the next; the last point is the end.
fn rate(moments: &[Moment], octets: impl Fn(&Moment) -> u64) -> Vec<(f64, f64)> {
    let pairs = moments.windows(2).filter(|two| two[1].at_s > two[0].at_s);
    let point = |two: &[Moment]| {
        let bits = 8.0 * octets(&two[1]).saturating_sub(octets(&two[0])) as f64;
        (ns(&two[0]), bits / (two[1].at_s - two[0].at_s))
    };
    let mut points: Vec<_> = pairs.map(point).collect();
    if let (Some((_, rate)), Some(end)) = (points.last().copied(), moments.last()) {
        points.push((ns(end), rate));
    }
    points
}

/// Draws the pauses of ports over time, longest paused first.
fn pauses(p: &TestPage<'_>) -> Pauses {
    let moments = p.history.moments();
    let all = p.report.ports.iter().flat_map(|port| port.priorities.iter().map(move |q| (port, q)));
    // Priorities that the first sample does not have, have no history.
    let known = moments.first().map_or(0, |moment| moment.paused_ns.len());
    let all = all.enumerate().take(known).filter(|(_, (_, q))| q.paused_ns > 0.0);
    let mut paused: Vec<_> = all.collect();
    paused.sort_by(|a, b| b.1.1.paused_ns.total_cmp(&a.1.1.paused_ns));
    let row = |(place, (port, q)): &(usize, (&Port, &Priority))| PauseRow {
        name: format!("{} p{}", port.name, q.priority),
        spans: spans(moments, *place),
        ..PauseRow::default()
    };
    Pauses {
        about: format!("Pauses over time, a row for each of {} ports and priorities", paused.len()),
        end: Duration::from_nanos_f64(end_ns(p)),
        group: GROUP.into(),
        rows: paused.iter().take(ROWS_MAX).map(row).collect(),
        marks: vec![],
    }
}

/// Returns the steps in which a priority was paused, with adjacent equal shares merged.
fn spans(moments: &[Moment], place: usize) -> Vec<Span> {
    let mut spans: Vec<(Span, f64)> = Vec::new();
    for two in moments.windows(2) {
        let [from, to] = [&two[0], &two[1]].map(|moment| Duration::from_nanos_f64(ns(moment)));
        let length = ns(&two[1]) - ns(&two[0]);
        let paused =
            (two[1].paused_ns[place] - two[0].paused_ns[place]).clamp(0.0, length.max(0.0));
        let share = paused / length.max(1.0);
        // Clocks are read one after the other, so a step may show a trace of a pause that is none.
        if share < SHARE_MIN {
            continue;
        }
        let paused = Duration::from_nanos_f64(paused);
        match spans.last_mut() {
            Some((last, before)) if last.to == from && (*before - share).abs() < 0.05 => {
                last.to = to;
                last.paused += paused;
            }
            _ => spans.push((Span { from, to, paused, pauses: None }, share)),
        }
    }
    spans.into_iter().map(|(span, _)| span).collect()
}

/// Draws the latencies of flows, the slowest first if there are many.
fn latencies(p: &TestPage<'_>) -> Rows {
    let measured = |f: &Flow| {
        let l = f.latency.as_ref().filter(|l| l.frames > 0 && l.max_ns.ns() > 0.0)?;
        let times = [l.min_ns, l.p50_ns, l.p99_ns, l.p999_ns, l.max_ns];
        let times = times.map(|time| (time.ns(), time.to_string()));
        Some(FlowLatency { name: f.name.clone(), times })
    };
    parts::latencies(p.report.flows.iter().filter_map(measured).collect(), "")
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

    /// One flow's duplicates are not another one's frames, and what waits in the network is not lost.
    #[test]
    fn the_frames_lost_are_those_of_each_flow() {
        let flow = |sent, received, queued| Flow {
            frames_tx: sent,
            frames_rx: received,
            queued_frames: queued,
            loss_percent: 1.0,
            ..Flow::default()
        };
        let flows = vec![flow(100, 90, None), flow(100, 110, None), flow(100, 80, Some(20))];
        let page = tiles(&Report { flows, ..Report::default() }).into_string();
        assert!(page.contains("<dt>frames lost</dt><dd>10</dd>"), "{page}");
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
