//! A resolved lab as tables. Equal items share a row.

use std::fmt;

use super::lab_view::{FlowRow, LabView, LinkRow, ReactionsRow, SwitchRow};
use super::text::gather;
use super::{agents, congestion, macsec};
use crate::config::quantity::octets;
use crate::printable;
use crate::report::{Align, Table};
use crate::time::Duration;
use crate::units::BitsPerSec;

pub struct Text<'a>(pub &'a LabView);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lab = self.0;
        let end = if lab.until_done { " or until all is done" } else { "" };
        writeln!(
            f,
            "lab {}: {}, {}, {}, {}, {}; runs for {}{end}",
            printable::line(&lab.name),
            count(lab.switches.len(), "switch", "switches"),
            count(lab.hosts.len(), "host", "hosts"),
            count(lab.links.len(), "link", "links"),
            count(lab.flows.len(), "flow", "flows"),
            count(lab.faults, "fault", "faults"),
            span(lab.duration_ns),
        )?;
        writeln!(f, "checks: {}\n", printable::line(&lab.checks.join(", ")))?;
        if !lab.switches.is_empty() {
            writeln!(f, "{}", switches(&lab.switches))?;
        }
        writeln!(f, "{}", links(&lab.links))?;
        if !lab.flows.is_empty() {
            writeln!(f, "{}", flows(&lab.flows))?;
        }
        let ports = lab.agents.iter().map(|row| (row.port.as_str(), Some(&row.agents)));
        if let Some(table) = agents::table(ports) {
            writeln!(f, "{table}")?;
        }
        let secured = lab.macsec.iter().map(|row| (row.port.as_str(), &row.macsec));
        if let Some(table) = macsec::table(secured) {
            writeln!(f, "{table}")?;
        }
        if !lab.congestion.is_empty() {
            let all: Vec<_> =
                lab.congestion.iter().map(|row| (row.switch.clone(), &row.view)).collect();
            congestion::Tables(&all).fmt(f)?;
        }
        if !lab.reactions.is_empty() {
            writeln!(f, "{}", reactions(&lab.reactions))?;
        }
        Ok(())
    }
}

fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

fn span(ns: f64) -> String {
    Duration::from_nanos_f64(ns).to_string()
}

/// Formats `h1-s1 to h9-s1 (9)`.
fn names(all: &[&str]) -> String {
    match all {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [a, b] => format!("{a}, {b}"),
        [first, .., last] => format!("{first} to {last} ({})", all.len()),
    }
}

fn switches(all: &[SwitchRow]) -> Table {
    let mut table = Table::new([
        ("switch", Align::Left),
        ("ports", Align::Right),
        ("buffer", Align::Right),
        ("cell", Align::Right),
        ("frames up to", Align::Right),
        ("forwards", Align::Left),
    ]);
    let key = |s: &SwitchRow| {
        [
            s.ports.to_string(),
            octets(s.buffer_bytes),
            octets(s.cell_bytes.into()),
            octets(s.max_frame.into()),
            if s.cut_through { "cut through" } else { "whole frames" }.into(),
        ]
    };
    for ([ports, buffer, cell, frames, forwards], alike) in gather(all.iter(), key) {
        let who: Vec<&str> = alike.iter().map(|s| s.name.as_str()).collect();
        table.row([names(&who), ports, buffer, cell, frames, forwards]);
    }
    table
}

fn links(all: &[LinkRow]) -> Table {
    let mut table = Table::new([
        ("link", Align::Left),
        ("rate", Align::Right),
        ("one way", Align::Right),
        ("response", Align::Right),
        ("group", Align::Left),
        ("headroom needed", Align::Right),
        ("given", Align::Right),
    ]);
    let key = |l: &LinkRow| {
        let delay = if l.delay_ns == l.delay_back_ns {
            span(l.delay_ns)
        } else {
            format!("{}, back {}", span(l.delay_ns), span(l.delay_back_ns))
        };
        let rate = BitsPerSec::new(l.rate_bps).map_or(String::new(), |r| r.to_string());
        let [groups, needed, given] = headroom(l);
        [rate, delay, span(l.response_ns), groups, needed, given]
    };
    for ([rate, delay, response, groups, needed, given], alike) in gather(all.iter(), key) {
        let who: Vec<&str> = alike.iter().map(|l| l.name.as_str()).collect();
        table.row([names(&who), rate, delay, response, groups, needed, given]);
    }
    table
}

/// Groups, required and configured headroom of a link, without repeated values.
fn headroom(link: &LinkRow) -> [String; 3] {
    let list = |mut all: Vec<String>| {
        all.dedup();
        if all.is_empty() { "-".into() } else { all.join(", ") }
    };
    let mut groups: Vec<usize> = link.headroom.iter().map(|h| h.group).collect();
    groups.sort_unstable();
    let bytes = |of: fn(&super::lab_view::HeadroomRow) -> u64| {
        let mut all: Vec<u64> = link.headroom.iter().map(of).collect();
        all.sort_unstable();
        list(all.into_iter().map(octets).collect())
    };
    [
        list(groups.into_iter().map(|g| g.to_string()).collect()),
        bytes(|h| h.headroom_required_bytes),
        bytes(|h| h.headroom_bytes),
    ]
}

fn flows(all: &[FlowRow]) -> Table {
    let mut table = Table::new([
        ("flow", Align::Left),
        ("from", Align::Left),
        ("to", Align::Left),
        ("priority", Align::Right),
        ("kind", Align::Left),
        ("frames of", Align::Right),
    ]);
    let key = |f: &FlowRow| {
        let base = f.name.split('_').next().unwrap_or(&f.name).to_owned();
        let kind = if f.lossless { "lossless" } else { "lossy" };
        [base, f.priority.to_string(), kind.into(), format!("{} B", f.frame_bytes)]
    };
    let ends = |mut all: Vec<&str>| {
        all.dedup();
        names(&all)
    };
    for ([_, priority, kind, size], alike) in gather(all.iter(), key) {
        let who: Vec<&str> = alike.iter().map(|f| f.name.as_str()).collect();
        let from = ends(alike.iter().map(|f| f.from.as_str()).collect());
        let to = ends(alike.iter().map(|f| f.to.as_str()).collect());
        table.row([names(&who), from, to, priority, kind, size]);
    }
    table
}

fn reactions(all: &[ReactionsRow]) -> Table {
    let mut table = Table::new([
        ("host", Align::Left),
        ("SFC pauses", Align::Left),
        ("at most", Align::Right),
        ("from", Align::Left),
        ("QCN", Align::Left),
    ]);
    let key = |row: &ReactionsRow| {
        let [pauses, longest, from] = match &row.sfc {
            Some(sfc) => [sfc.pauses.into(), span(sfc.longest_ns), sfc.accepts.clone()],
            None => ["-"; 3].map(String::from),
        };
        let qcn = row.qcn.as_ref().map_or("-".into(), |qcn| {
            format!(
                "every {} or {}, then + {} or {}, at most to {} % at a time",
                span(qcn.time_reset_ns),
                octets(qcn.byte_reset_bytes),
                rate(qcn.active_bps),
                rate(qcn.hyper_bps),
                qcn.keep_min_percent
            )
        });
        [pauses, longest, from, qcn]
    };
    for ([pauses, longest, from, qcn], alike) in gather(all.iter(), key) {
        let who: Vec<&str> = alike.iter().map(|row| row.host.as_str()).collect();
        table.row([names(&who), pauses, longest, from, qcn]);
    }
    table
}

fn rate(bps: u64) -> String {
    BitsPerSec::new(bps).map_or(String::new(), |rate| rate.to_string())
}
