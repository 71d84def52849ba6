//! Prints the summary as tables, and as one line.

use super::agents::agents_text;
use super::macsec::macsec_text;
use super::sheet::Medium;
use ::text::{Align::Left, Align::Right, Table, count, scaled};
use ground::printable;
use ground::time::Duration;
use results::{CheckSummary, PortSummary, PrioritySummary, Summary};

/// Prints the summary as tables. Rates are since `before`, or over the whole run without it.
#[must_use]
pub fn text(now: &Summary, before: Option<&Summary>) -> String {
    let elapsed = Duration::from_nanos(now.elapsed_ns);
    let name = printable::line(&now.name);
    let mut out = format!("{name} after {elapsed}\n\n{}", ports(now, before));
    let congestion = now.congestion.iter().map(super::congestion::table);
    let tables = [priorities(now), Medium::Terminal.drops(&now.drops).table()];
    for table in tables.into_iter().chain(congestion) {
        if !table.is_empty() {
            out += &format!("\n{table}");
        }
    }
    let agents = now.ports.iter().filter_map(|p| Some((p.name.as_str(), p.agents.as_ref()?)));
    out += &agents_text(agents);
    out +=
        &macsec_text(now.ports.iter().filter_map(|p| Some((p.name.as_str(), p.macsec.as_ref()?))));
    out + "\n" + &closing(now)
}

/// Prints the summary as one line, for an interval of a run whose output is not a terminal.
#[must_use]
pub fn line(now: &Summary, before: Option<&Summary>) -> String {
    let mut rates = [0.0; 4];
    for (n, port) in now.ports.iter().enumerate() {
        for (sum, rate) in rates.iter_mut().zip(port_rates(now, before, n, port)) {
            *sum += rate;
        }
    }
    let [rx, tx, ..] = rates;
    let sum = |f: fn(&PortSummary) -> u64| now.ports.iter().map(f).sum::<u64>();
    format!(
        "{:>8} rx {} tx {} received {} sent {} dropped {} held {}",
        format!("{:.1}s", now.elapsed_ns as f64 / 1e9),
        scaled(rx, "b/s"),
        scaled(tx, "b/s"),
        count(sum(|p| p.rx_frames)),
        count(sum(|p| p.tx_frames)),
        count(sum(PortSummary::dropped)),
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
    let rate = |f: fn(&PortSummary) -> u64, scale: f64| {
        let grown = f(port).saturating_sub(old.map_or(0, f));
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
    let mut t = Table::new([
        ("port", Left),
        ("link", Left),
        ("rx frames", Right),
        ("tx frames", Right),
        ("rx bytes", Right),
        ("tx bytes", Right),
        ("rx rate", Right),
        ("tx rate", Right),
        ("dropped", Right),
        ("missed", Right),
        ("paused", Left),
    ]);
    for (n, p) in now.ports.iter().enumerate() {
        let [rx, tx, ..] = port_rates(now, before, n, p);
        let link = if p.up { scaled(p.rate_bps as f64, "b/s") } else { "down".into() };
        let paused: Vec<_> = p.paused_priorities.iter().map(u8::to_string).collect();
        t.row([
            p.name.clone(),
            link,
            count(p.rx_frames),
            count(p.tx_frames),
            count(p.rx_bytes),
            count(p.tx_bytes),
            scaled(rx, "b/s"),
            scaled(tx, "b/s"),
            count(p.dropped()),
            p.nic.missed().map_or_else(|| "unknown".into(), count),
            if paused.is_empty() { "-".into() } else { paused.join(",") },
        ]);
    }
    t
}

fn priorities(now: &Summary) -> Table {
    let mut t = Table::new([
        ("port", Left),
        ("prio", Right),
        ("rx frames", Right),
        ("tx frames", Right),
        ("dropped", Right),
        ("pfc rx", Right),
        ("pfc tx", Right),
        ("rx paused", Right),
        ("tx paused", Right),
        ("buffer peak", Right),
        ("headroom peak", Right),
        ("queue peak", Right),
        ("ecn marked", Right),
    ]);
    for port in &now.ports {
        for PrioritySummary { priority, counters: p } in
            port.priorities.iter().filter(|p| p.is_active())
        {
            t.row([
                port.name.clone(),
                priority.to_string(),
                count(p.rx_frames),
                count(p.tx_frames),
                count(p.dropped),
                count(p.pfc_rx_frames),
                count(p.pfc_tx_frames),
                span(p.pfc_rx_paused.as_nanos()),
                span(p.pfc_tx_paused.as_nanos()),
                count(p.buffer_peak_bytes),
                count(p.headroom_peak_bytes),
                count(p.queue_peak_bytes),
                count(p.ecn_marked),
            ]);
        }
    }
    t
}

fn span(ns: u64) -> String {
    if ns == 0 { "-".into() } else { Duration::from_nanos(ns).to_string() }
}

fn closing(now: &Summary) -> String {
    let b = now.balance;
    let mut out = format!(
        "frames: in {}, out {}, queued {}\n",
        count(b.came),
        count(b.went.saturating_sub(b.held)),
        count(b.held),
    );
    let nics = || now.ports.iter().map(|p| p.nic);
    let unsent: u64 = nics().map(|nic| nic.unsent()).sum();
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
    let limited: u64 = now.ports.iter().map(|p| p.addresses_refused).sum();
    if limited + now.fdb.full > 0 {
        out += &format!(
            "{} frames came from addresses that were not learnt because their port had as many as it \
             may have (bridge.addresses_per_port), {} because the table was full (bridge.table_size)\n",
            count(limited),
            count(now.fdb.full),
        );
    }
    out += "\n";
    let line = |c: &CheckSummary| format!("{:<12}  {:<8}  {}", c.verdict, c.name, c.detail);
    out += &printable::lines(now.checks.iter().map(line));
    out + &now.verdict.summary_of(now.checks.iter().map(|check| check.verdict)) + "\n"
}
