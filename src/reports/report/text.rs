//! The summary of a switch as tables, as one line, and as the live view: a table redrawn in place on a terminal, one
//! plain line per interval elsewhere.

use std::io::Write;

use console::Term;

use super::protocols::{agents_text, macsec_text};
use super::sheet::Medium;
use ::text::{Column, Table, columns, count, scaled};
use contracts::stats::{PortCounters, PriorityCounters};
use ground::printable;
use ground::time::Duration;
use ground::verdict::Verdict;
use results::{CheckSummary, CongestionSummary, PortSummary, Summary};

/// Prints the summary as tables. Rates are since `before`, or over the whole run without it.
#[must_use]
pub fn text(now: &Summary, before: Option<&Summary>) -> String {
    let elapsed = Duration::from_nanos(now.elapsed_ns);
    let name = printable::line(&now.name);
    let cleared = if now.cleared { ", since its counters were cleared" } else { "" };
    let mut out = format!("{name} after {elapsed}{cleared}\n\n{}", ports(now, before));
    let congestion = now.congestion.iter().map(congestion_table);
    let tables = [priorities(now), Medium::Terminal.drops(&now.drops).table()];
    for table in tables.into_iter().chain(congestion) {
        if !table.is_empty() {
            out += &format!("\n{table}");
        }
    }
    let ports = now.ports.iter().map(|p| (p.port.name.as_str(), p));
    out += &agents_text(ports.clone().filter_map(|(name, p)| Some((name, p.agents.as_ref()?))));
    out += &macsec_text(ports.filter_map(|(name, p)| Some((name, p.macsec.as_ref()?))));
    out + "\n" + &closing(now)
}

/// Prints the summary as one line, for an interval of a run whose output is not a terminal.
#[must_use]
pub fn line(now: &Summary, before: Option<&Summary>) -> String {
    // A line has no room for ports, so their rates are added up.
    let mut rates = [0.0; 4];
    for (n, port) in now.ports.iter().enumerate() {
        for (sum, rate) in rates.iter_mut().zip(port_rates(now, before, n, port)) {
            *sum += rate;
        }
    }
    let [rx, tx, ..] = rates;
    let ports = || now.ports.iter().map(|p| &p.port.counters);
    format!(
        "{:>8} rx {} tx {} received {} sent {} dropped {} held {}",
        format!("{:.1}s", now.elapsed_ns as f64 / 1e9),
        scaled(rx, "b/s"),
        scaled(tx, "b/s"),
        count(ports().map(|p| p.rx_frames).sum()),
        count(ports().map(|p| p.tx_frames).sum()),
        count(ports().map(|p| p.drops.total()).sum()),
        count(now.balance.held),
    )
}

/// Returns the received and sent bit/s and the received and sent frames/s of a port.
fn port_rates(now: &Summary, before: Option<&Summary>, n: usize, port: &PortSummary) -> [f64; 4] {
    // Counters that were cleared in between have no earlier values.
    let before = before.filter(|b| b.elapsed_ns <= now.elapsed_ns);
    let old = before.and_then(|b| b.ports.get(n));
    let since = before.map_or(0, |b| b.elapsed_ns);
    let seconds = now.elapsed_ns.saturating_sub(since) as f64 / 1e9;
    let rate = |f: fn(&PortCounters) -> u64, scale: f64| {
        let counted = |of: &PortSummary| f(&of.port.counters);
        // A port that was reset may have less than before.
        let grown = counted(port).saturating_sub(old.map_or(0, counted));
        if seconds > 0.0 { grown as f64 * scale / seconds } else { 0.0 }
    };
    [
        rate(|p| p.rx_bytes, 8.0),
        rate(|p| p.tx_bytes, 8.0),
        rate(|p| p.rx_frames, 1.0),
        rate(|p| p.tx_frames, 1.0),
    ]
}

fn ports(now: &Summary, before: Option<&Summary>) -> Table {
    let columns: [Column<(&PortSummary, [f64; 4])>; 11] = columns! { (p, [rx, tx, ..]) =>
        Text ["port"] = &*p.port.name;
        Made ["link"] = if p.port.up { scaled(p.port.rate_bps as f64, "b/s") } else { "down".into() };
        Whole ["rx frames"] = p.port.counters.rx_frames;
        Whole ["tx frames"] = p.port.counters.tx_frames;
        Printed ["rx bytes"] = count(p.port.counters.rx_bytes);
        Printed ["tx bytes"] = count(p.port.counters.tx_bytes);
        Printed ["rx rate"] = scaled(*rx, "b/s");
        Printed ["tx rate"] = scaled(*tx, "b/s");
        Whole ["dropped"] = p.port.counters.drops.total();
        Printed ["missed"] = p.nic.missed().map_or_else(|| "unknown".into(), count);
        Made ["paused"] = {
            let paused = p.port.counters.paused.iter().map(|p| p.get().to_string());
            // Asked first: an empty set means nothing if it is not known.
            match p.knows("paused_priorities") {
                false => "unknown".to_owned(),
                true if p.port.counters.paused.is_empty() => "-".to_owned(),
                true => paused.collect::<Vec<_>>().join(","),
            }
        };
    };
    let ports = now.ports.iter().enumerate();
    let rows: Vec<_> = ports.map(|(n, p)| (p, port_rates(now, before, n, p))).collect();
    Table::of(&rows, &columns)
}

fn priorities(now: &Summary) -> Table {
    type Row<'a> = (&'a PortSummary, usize, &'a PriorityCounters);
    let columns: [Column<Row<'_>>; 13] = columns! { (port, priority, p) =>
        Text ["port"] = &*port.port.name;
        Printed ["prio"] = priority.to_string();
        Whole ["rx frames"] = p.rx_frames;
        Whole ["tx frames"] = p.tx_frames;
        Whole ["dropped"] = p.dropped;
        Printed ["pfc rx"] = known(port, "pfc_rx_frames", count(p.pfc_rx_frames));
        Printed ["pfc tx"] = known(port, "pfc_tx_frames", count(p.pfc_tx_frames));
        Printed ["rx paused"] = known(port, "pfc_rx_paused_ns", span(p.pfc_rx_paused.as_nanos()));
        Printed ["tx paused"] = known(port, "pfc_tx_paused_ns", span(p.pfc_tx_paused.as_nanos()));
        Whole ["buffer peak"] = p.buffer_peak_bytes;
        Whole ["headroom peak"] = p.headroom_peak_bytes;
        Whole ["queue peak"] = p.queue_peak_bytes;
        Whole ["ecn marked"] = p.ecn_marked;
    };
    let rows = now.ports.iter().flat_map(|port| {
        port.port.counters.active().map(move |(priority, counters)| (port, priority, counters))
    });
    Table::of(&rows.collect::<Vec<Row<'_>>>(), &columns)
}

/// Returns the text of a field. A device that does PFC itself shows the switch none of its pauses, so their number is
/// unknown and not 0.
fn known(port: &PortSummary, field: &str, text: String) -> String {
    if port.knows(field) { text } else { "unknown".into() }
}

fn span(ns: u64) -> String {
    if ns == 0 { "-".into() } else { Duration::from_nanos(ns).to_string() }
}

fn closing(now: &Summary) -> String {
    let b = now.balance;
    let mut out = format!(
        "frames: in {}, out {}, queued {}\n",
        count(b.came),
        // What is queued counts as gone in the balance, and has its own number here.
        count(b.went.saturating_sub(b.held)),
        count(b.held),
    );
    let nics = || now.ports.iter().map(|p| p.nic);
    let unsent: u64 = nics().map(|nic| nic.unsent()).sum();
    // Only devices with losses are worth a line.
    if unsent > 0 {
        out += &format!("handed to devices that did not send them: {}\n", count(unsent));
    }
    out += &format!(
        "lossless frames lost: {}; missed by devices: {}{}; shared pool: {} B used, {} B peak; \
         addresses: {}; storms: {} found, {} over\n",
        count(now.lossless_lost_frames),
        count(now.missed()),
        if nics().any(|nic| nic.missed().is_none()) { " and an unknown number" } else { "" },
        count(now.shared_pool.used_bytes),
        count(now.shared_pool.peak_bytes),
        count(now.fdb.entries),
        count(now.storms.detected),
        count(now.storms.restored),
    );
    let limited: u64 = now.ports.iter().map(|p| p.port.counters.addresses_refused).sum();
    if limited + now.fdb.full > 0 {
        out += &format!(
            "{} frames had source addresses that were not learnt: the port was at its limit \
             (bridge.addresses_per_port); {}: the table was full (bridge.table_size)\n",
            count(limited),
            count(now.fdb.full),
        );
    }
    out += "\n";
    out + &checks_text(&now.checks, now.verdict)
}

/// Prints the checks of a run, and its verdict. A check that does not apply is not counted, because the
/// verdict does not depend on it, unless none applies.
fn checks_text(checks: &[CheckSummary], verdict: Verdict) -> String {
    let applies = |check: &CheckSummary| check.applies || check.verdict != Verdict::NotJudged;
    // If no check applies, all of them count, as a verdict without checks would not explain itself.
    let number = checks.iter().filter(|check| applies(check)).count();
    let counts = |check: &CheckSummary| number == 0 || applies(check);
    // A check that does not apply has a dash, so that no reader counts it.
    let line = |check: &CheckSummary| {
        let word = if counts(check) { check.verdict.label() } else { "-" };
        format!("{word:<12}  {:<8}  {}", check.name, check.detail)
    };
    let mut out = printable::lines(checks.iter().map(line));
    let counted = checks.iter().filter(|check| counts(check));
    out += &verdict.summary_of(counted.map(|check| check.verdict));
    match checks.iter().filter(|check| !counts(check)).count() {
        0 => {}
        1 => out += "; 1 does not apply",
        n => out += &format!("; {n} do not apply"),
    }
    out + "\n"
}

/// Returns the counters as a table.
fn congestion_table(of: &CongestionSummary) -> Table {
    let columns: [Column<(&str, &str, u64)>; 3] = columns! { (name, port, n) =>
        Text ["congestion"] = *name;
        Text ["port"] = *port;
        Whole ["count"] = *n;
    };
    // Counters of the switch have no port.
    let whole = of.switch.iter().chain(&of.tables).map(|of| ("", of));
    let ports = of.ports.iter().flat_map(|(name, of)| of.iter().map(|of| (name.as_str(), of)));
    let rows = whole.chain(ports).map(|(port, (name, n))| (name.as_str(), port, *n));
    Table::of(&rows.filter(|(.., n)| *n > 0).collect::<Vec<_>>(), &columns)
}

/// The progress display on standard error, which leaves standard output to the results.
pub struct Screen {
    term: Term,
    /// Number of lines of the last table, to be overwritten.
    drawn: usize,
}

impl Default for Screen {
    fn default() -> Self {
        Self::new()
    }
}

impl Screen {
    #[must_use]
    pub fn new() -> Self {
        Self { term: Term::buffered_stderr(), drawn: 0 }
    }

    /// Shows the table on a terminal, in place of the last one, and the line elsewhere. Write
    /// errors (a closed pipe) are ignored, as they must not stop a run.
    pub fn show(&mut self, table: impl FnOnce() -> String, line: impl FnOnce() -> String) {
        if self.term.is_term() {
            let (rows, columns) = self.term.size();
            let shown = table();
            let shown = printable::text(&shown);
            // Longer output would scroll, and could not be overwritten.
            let lines: Vec<_> = shown
                .lines()
                .map(|l| console::truncate_str(l, columns.into(), ""))
                .take(usize::from(rows).saturating_sub(1))
                .collect();
            // In place of the last table, so that the screen does not scroll.
            let _ = self.term.clear_last_lines(self.drawn);
            for l in &lines {
                let _ = self.term.write_line(l);
            }
            self.drawn = lines.len();
        } else {
            let _ = writeln!(self.term, "{}", printable::line(&line()));
        }
        let _ = self.term.flush();
    }

    /// Removes the table from the terminal, before other output.
    pub fn clear(&mut self) {
        if self.term.is_term() {
            let _ = self.term.clear_last_lines(self.drawn);
            let _ = self.term.flush();
        }
        self.drawn = 0;
    }
}

/// The live view of a switch.
#[derive(Default)]
pub struct Live {
    screen: Screen,
    before: Option<Summary>,
}

impl Live {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows the state of a run.
    pub fn show(&mut self, now: Summary) {
        let before = self.before.as_ref();
        self.screen.show(|| text(&now, before), || line(&now, before));
        // Rates of the next view are since this one.
        self.before = Some(now);
    }

    /// Removes the table from the terminal.
    pub fn clear(&mut self) {
        self.screen.clear();
    }
}

#[cfg(test)]
mod tests {
    use Verdict::{Fail, NotJudged, Pass};

    use super::*;
    use contracts::stats::{
        CongestionSnapshot, PortCounters, PortSnapshot, ProxyPortCounters, ProxySnapshot,
        SfcCounters, SfcSnapshot,
    };

    #[test]
    fn a_check_that_does_not_apply_is_not_counted() {
        let check = |verdict, applies| CheckSummary {
            name: "sent".into(),
            verdict,
            detail: "detail".into(),
            applies,
        };
        let text = checks_text(&[check(Pass, true), check(NotJudged, false)], Pass);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("PASS ") && lines[1].starts_with("-  "), "{text}");
        assert_eq!(lines[2], "PASS: 1 of 1 check; 1 does not apply");
        let text = checks_text(&[check(Fail, true), check(NotJudged, true)], Fail);
        assert!(text.ends_with("FAIL: 1 of 2 checks; 1 not judged\n"), "{text}");
        // A failure always counts. If no check applies, each is shown as not judged.
        assert!(checks_text(&[check(Fail, false)], Fail).ends_with("FAIL: 1 of 1 check\n"));
        let text = checks_text(&[check(NotJudged, false), check(NotJudged, false)], NotJudged);
        assert!(text.ends_with("not judged: 2 of 2 checks\n"), "{text}");
    }

    #[test]
    fn counters_of_what_is_on_are_there_under_their_names_and_the_table_has_those_that_counted() {
        let port = |name: &str| PortSnapshot {
            name: name.into(),
            up: true,
            rate_bps: 1,
            counters: PortCounters::default(),
            waiting: [None; 8],
            secy: None,
        };
        let ports = [port("a"), port("b")];
        let counters = SfcCounters { transmitted_sfcms: 7, ..SfcCounters::default() };
        let sfc = SfcSnapshot { counters, ..SfcSnapshot::default() };
        let accepted = ProxyPortCounters { accepted: 3, ..ProxyPortCounters::default() };
        let proxied = vec![ProxyPortCounters::default(), accepted];
        let proxy = ProxySnapshot { ports: proxied, ..ProxySnapshot::default() };
        let of = CongestionSnapshot {
            sfc: Some(sfc),
            proxy: Some(proxy),
            ..CongestionSnapshot::default()
        };
        let summary = CongestionSummary::new(&of, &ports);
        assert_eq!(summary.switch["sfcTransmittedSFCMs"], 7);
        assert_eq!(summary.switch["sfc_proxy_sender"], 0);
        assert_eq!(summary.ports["b"]["sfc_proxy_accepted"], 3);
        assert!(!summary.switch.contains_key("cpTransmittedCnms"));
        let text = congestion_table(&summary).to_string();
        assert!(text.contains("sfcTransmittedSFCMs") && text.contains("sfc_proxy_accepted"));
        assert!(!text.contains("sfc_proxy_sender"), "{text}");
        let nothing = CongestionSummary::new(&CongestionSnapshot::default(), &ports);
        assert_eq!(nothing, CongestionSummary::default());
    }
}
