//! A resolved switch as tables.

use std::fmt;

use super::view::{BufferView, GroupView, PortView, QueueView, SwitchView};
use super::{agents, congestion, macsec};
use crate::config::quantity::octets;
use crate::printable;
use crate::report::{Align, Table};
use crate::time::Duration;
use crate::units::BitsPerSec;

/// Prints a switch as tables. Equal groups and queues of a port share a row.
pub struct Text<'a>(pub &'a SwitchView);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = self.0;
        writeln!(
            f,
            "switch {}: {} ports, frames up to {} B, {} frames in the pool",
            printable::line(&s.name),
            s.ports.len(),
            s.max_frame,
            s.pool_frames
        )?;
        buffer(f, &s.buffer)?;
        for w in &s.workers {
            let place = w.core.map_or("not pinned".into(), |c| format!("core {c}"));
            writeln!(f, "worker ({place}): {}", printable::line(&w.ports.join(", ")))?;
        }
        if s.routes > 0 {
            writeln!(f, "router: {} routes", s.routes)?;
        }
        if let Some(at) = &s.prometheus {
            writeln!(f, "prometheus: http://{at}/metrics")?;
        }
        writeln!(f, "\n{}", ports(s))?;
        writeln!(f, "{}", groups(s))?;
        writeln!(f, "{}", queues(s))?;
        if let Some(table) =
            agents::table(s.ports.iter().map(|p| (p.name.as_str(), p.agents.as_ref())))
        {
            writeln!(f, "{table}")?;
        }
        let secured = s.ports.iter().filter_map(|p| Some((p.name.as_str(), p.macsec.as_ref()?)));
        if let Some(table) = macsec::table(secured) {
            writeln!(f, "{table}")?;
        }
        match &s.congestion {
            Some(view) => congestion::Tables(&[(String::new(), view)]).fmt(f),
            None => Ok(()),
        }
    }
}

fn buffer(f: &mut fmt::Formatter<'_>, b: &BufferView) -> fmt::Result {
    writeln!(
        f,
        "buffer: {} in cells of {} B = headroom {} + reserved {} + slack {} + shared {}",
        octets(b.total_bytes),
        b.cell_bytes,
        octets(b.headroom_bytes),
        octets(b.reserved_bytes),
        octets(b.slack_bytes),
        octets(b.shared_bytes)
    )
}

fn ports(s: &SwitchView) -> Table {
    let mut table = Table::new([
        ("port", Align::Left),
        ("device", Align::Left),
        ("rate", Align::Right),
        ("shaped", Align::Left),
        ("VLANs", Align::Left),
        ("trust", Align::Left),
        ("flow control", Align::Left),
        ("pause", Align::Right),
        ("refresh", Align::Right),
    ]);
    for p in &s.ports {
        let paused = p.flow_control != "none";
        let time = |ns| if paused { Duration::from_nanos(ns).to_string() } else { "-".into() };
        table.row([
            p.name.clone(),
            p.device.clone(),
            BitsPerSec::new(p.rate_bps).map_or(String::new(), |r| r.to_string()),
            if p.shaped { "yes" } else { "no" }.into(),
            vlans(p),
            p.trust.into(),
            flow(p),
            time(p.pause_ns),
            time(p.refresh_ns),
        ]);
    }
    table
}

/// Formats `10 untagged, 20-29 tagged`.
fn vlans(p: &PortView) -> String {
    let part = |vids: &[u16], how: &str| {
        (!vids.is_empty()).then(|| format!("{} {how}", ranges(vids.iter().copied())))
    };
    let parts: Vec<String> =
        [part(&p.untagged, "untagged"), part(&p.tagged, "tagged")].into_iter().flatten().collect();
    parts.join(", ")
}

fn flow(p: &PortView) -> String {
    match p.flow_control {
        "none" => "-".into(),
        kind if p.send == p.obey => format!("{kind} {}", set(&p.send)),
        kind => format!("{kind} send {} obey {}", set(&p.send), set(&p.obey)),
    }
}

fn groups(s: &SwitchView) -> Table {
    let mut table = Table::new([
        ("port", Align::Left),
        ("group", Align::Left),
        ("priority", Align::Left),
        ("kind", Align::Left),
        ("reserved", Align::Right),
        ("limit", Align::Left),
        ("share", Align::Right),
        ("headroom", Align::Right),
        ("needed", Align::Right),
        ("XON", Align::Left),
    ]);
    for p in &s.ports {
        let key = |g: &GroupView| {
            let size = |n: u64| if g.lossless { octets(n) } else { "-".into() };
            let xon = match (g.lossless, g.xon_bytes) {
                (false, _) => "-".into(),
                (true, 0) => format!("limit - {}", octets(g.xon_offset_bytes)),
                (true, at) => format!("{} or limit - {}", octets(at), octets(g.xon_offset_bytes)),
            };
            [
                if g.lossless { "lossless" } else { "lossy" }.into(),
                octets(g.reserved_bytes),
                g.limit.clone(),
                octets(g.share_bytes),
                size(g.headroom_bytes),
                size(g.headroom_required_bytes),
                xon,
            ]
        };
        let used = p.groups.iter().filter(|g| !g.priorities.is_empty());
        for (cells, alike) in gather(used, key) {
            let [kind, reserved, limit, share, headroom, needed, xon] = cells;
            let (name, all) = (p.name.clone(), priorities(alike.iter().map(|g| &g.priorities)));
            let group = ranges(alike.iter().map(|g| g.group as u16));
            table.row([name, group, all, kind, reserved, limit, share, headroom, needed, xon]);
        }
    }
    table
}

fn queues(s: &SwitchView) -> Table {
    let mut table = Table::new([
        ("port", Align::Left),
        ("queue", Align::Left),
        ("priority", Align::Left),
        ("scheduler", Align::Left),
        ("limit", Align::Left),
        ("ECN", Align::Left),
        ("watchdog", Align::Left),
    ]);
    for p in &s.ports {
        let key = |q: &QueueView| {
            let scheduler = if q.strict { "strict".into() } else { format!("DWRR {}", q.weight) };
            [scheduler, q.limit.clone(), ecn(q), watchdog(q)]
        };
        let used = p.queues.iter().filter(|q| !q.priorities.is_empty());
        for ([scheduler, limit, ecn, watchdog], alike) in gather(used, key) {
            let all = priorities(alike.iter().map(|q| &q.priorities));
            let queue = ranges(alike.iter().map(|q| q.queue as u16));
            table.row([p.name.clone(), queue, all, scheduler, limit, ecn, watchdog]);
        }
    }
    table
}

fn ecn(q: &QueueView) -> String {
    q.ecn.as_ref().map_or("-".into(), |e| {
        let drop = if e.not_ect == "drop" { ", drops Not-ECT" } else { "" };
        let (kmin, kmax) = (octets(e.kmin_bytes), octets(e.kmax_bytes));
        format!("{kmin} to {kmax}, {:.1} %, {}{drop}", e.pmax * 100.0, e.at)
    })
}

fn watchdog(q: &QueueView) -> String {
    q.watchdog.as_ref().map_or("-".into(), |w| {
        let span = Duration::from_nanos;
        format!("{} after {}, off after {}", w.action, span(w.detection_ns), span(w.restoration_ns))
    })
}

/// Groups items with equal keys, in the order of the first of each.
pub(super) fn gather<'a, T, K: PartialEq>(
    items: impl Iterator<Item = &'a T>,
    key: impl Fn(&T) -> K,
) -> Vec<(K, Vec<&'a T>)> {
    let mut out: Vec<(K, Vec<&T>)> = Vec::new();
    for item in items {
        let k = key(item);
        match out.iter_mut().find(|(other, _)| *other == k) {
            Some((_, alike)) => alike.push(item),
            None => out.push((k, vec![item])),
        }
    }
    out
}

fn priorities<'a>(lists: impl Iterator<Item = &'a Vec<u8>>) -> String {
    let mut all: Vec<u16> = lists.flatten().map(|n| u16::from(*n)).collect();
    all.sort_unstable();
    ranges(all.into_iter())
}

fn set(list: &[u8]) -> String {
    if list.is_empty() { "none".into() } else { ranges(list.iter().map(|n| u16::from(*n))) }
}

/// Formats ascending numbers, with three or more consecutive ones as a range: `0-2,5`.
fn ranges(numbers: impl Iterator<Item = u16>) -> String {
    let mut runs: Vec<(u16, u16)> = Vec::new();
    for n in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => runs.push((n, n)),
        }
    }
    let text: Vec<String> = runs
        .into_iter()
        .map(|(a, b)| match b - a {
            0 => a.to_string(),
            1 => format!("{a},{b}"),
            _ => format!("{a}-{b}"),
        })
        .collect();
    text.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_a_row_become_ranges() {
        assert_eq!(ranges([0, 1, 2, 4, 5, 7].into_iter()), "0-2,4,5,7");
        assert_eq!(ranges(std::iter::empty()), "");
    }
}
