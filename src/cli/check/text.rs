//! A resolved switch as tables. Equal groups and queues of a port share a row.

use std::fmt;

use super::render::{gather, or_dash, ranges};
use super::switch::{
    Division, Group, congestion, flow_control, limit, names, queue_priorities, set, vlans,
};
use super::{congestion, protocols};
use crate::buffer::GroupKind;
use crate::config::quantity::octets;
use crate::config::{Core, SwitchFile};
use crate::congestion::NotEct;
use crate::printable;
use crate::runtime::Placement;
use crate::schedule::ClassPlan;
use crate::switch::{PortPlan, SwitchPlan};
use crate::time::Duration;
use crate::units::{PRIORITIES, percent_of_parts};
use ::text::Align::{Left, Right};
use ::text::Table;

/// A switch, and the CPUs that its workers would have on this machine.
pub struct Text<'a>(pub &'a SwitchFile, pub Option<&'a Placement>);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, plan) = (self.0, &self.0.plan);
        writeln!(
            f,
            "switch {}: {} ports, frames up to {} B, {} frames in the pool",
            printable::line(&plan.name),
            plan.ports.len(),
            plan.max_frame,
            file.pool_frames
        )?;
        buffer(f, plan)?;
        for (n, w) in file.workers.iter().enumerate() {
            // None at all for another machine, and none for a worker that is not pinned here.
            let cpu = self.1.map(|placement| placement.cpus[n]);
            let ports = names(plan, w.ports.iter().map(|p| p.index())).join(", ");
            writeln!(f, "worker ({}): {}", place(w.core, cpu), printable::line(&ports))?;
        }
        if let Some(why) = self.1.and_then(|placement| placement.unpinned.as_ref()) {
            writeln!(f, "workers with core auto are not pinned here: {why}")?;
        }
        for claimed in self.1.iter().flat_map(|placement| &placement.claimed) {
            writeln!(f, "{}", printable::line(&claimed.to_string()))?;
        }
        if !plan.routing.routes.is_empty() {
            writeln!(f, "router: {} routes", plan.routing.routes.len())?;
        }
        if let Some(at) = &file.listen {
            writeln!(f, "prometheus: http://{at}/metrics")?;
        }
        writeln!(f, "\n{}\n{}\n{}", ports(file), groups(file), queues(plan))?;
        let all = plan.ports.iter();
        let speaking = all.clone().filter_map(|p| Some((p.name.clone(), p.agents.as_ref()?)));
        let secured = all.filter_map(|p| Some((p.name.clone(), p.secy.as_deref()?)));
        for table in [protocols::table(speaking), protocols::macsec_table(secured)].iter().flatten()
        {
            writeln!(f, "{table}")?;
        }
        // Last, because it is the longest.
        match congestion(plan) {
            Some(switch) => congestion::Tables(&[("", switch)]).fmt(f),
            None => Ok(()),
        }
    }
}

/// Describes the core of a worker. `cpu` is the one on this machine, if the switch is for this machine.
fn place(core: Core, cpu: Option<Option<usize>>) -> String {
    match (core, cpu) {
        (Core::Auto, None) => "core auto".into(),
        (Core::Auto, Some(Some(cpu))) => format!("core {cpu}, chosen"),
        (Core::Auto, Some(None)) | (Core::None, _) => "not pinned".into(),
        (Core::Number(cpu), _) => format!("core {cpu}"),
    }
}

fn buffer(f: &mut fmt::Formatter<'_>, plan: &SwitchPlan) -> fmt::Result {
    let b = Division::new(plan);
    writeln!(
        f,
        "buffer: {} in cells of {} B = headroom {} + reserved {} + slack {} + shared {}",
        octets(b.total),
        plan.buffer.cell_bytes,
        octets(b.headroom),
        octets(b.reserved),
        octets(b.slack),
        octets(b.shared)
    )
}

fn ports(file: &SwitchFile) -> Table {
    let mut table = Table::new([
        ("port", Left),
        ("device", Left),
        ("rate", Right),
        ("shaped", Left),
        ("VLANs", Left),
        ("trust", Left),
        ("flow control", Left),
        ("pause", Right),
        ("refresh", Right),
    ]);
    for (p, device) in file.plan.ports.iter().zip(&file.devices) {
        let (kind, send, obey) = flow_control(p);
        // Times of pauses mean nothing without flow control.
        let paused = kind != "none";
        let flow = match kind {
            "none" => "-".into(),
            // The usual case is shown once.
            kind if send == obey => format!("{kind} {}", set(send)),
            kind => format!("{kind} send {} obey {}", set(send), set(obey)),
        };
        let time = |span| or_dash(paused.then(|| whole(span).to_string()));
        table.row([
            p.name.clone(),
            device.device.clone(),
            p.rate.to_string(),
            if p.shaped { "yes" } else { "no" }.into(),
            vlans_text(p),
            p.classify.trust.name().into(),
            flow,
            time(p.pfc.quanta.at(p.rate)),
            time(p.pfc.refresh),
        ]);
    }
    table
}

/// Truncates to nanoseconds.
const fn whole(span: Duration) -> Duration {
    // A shorter time than a nanosecond is not none.
    if span.as_nanos() == 0 { span } else { Duration::from_nanos(span.as_nanos()) }
}

/// Formats `10 untagged, 20-29 tagged`.
fn vlans_text(p: &PortPlan) -> String {
    let part = |tagged, how: &str| {
        let vids = vlans(p, tagged);
        (!vids.is_empty()).then(|| format!("{} {how}", ranges(vids)))
    };
    let parts = [part(false, "untagged"), part(true, "tagged")];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn groups(file: &SwitchFile) -> Table {
    let mut table = Table::new([
        ("port", Left),
        ("group", Left),
        ("priority", Left),
        ("kind", Left),
        ("reserved", Right),
        ("limit", Left),
        ("share", Right),
        ("headroom", Right),
        ("needed", Right),
        ("XON", Left),
    ]);
    for (n, port) in file.plan.ports.iter().enumerate() {
        // Groups without a priority get no frame; showing eight of each port would hide the others.
        let used: Vec<_> = Group::all(file, n).filter(|g| !g.priorities().is_empty()).collect();
        for (cells, alike) in gather(used.iter(), group_cells) {
            let all = ranges(alike.iter().flat_map(|g| g.priorities()));
            let group = ranges(alike.iter().map(|g| g.index as u16));
            table.row([vec![port.name.clone(), group, all], cells.into()].concat());
        }
    }
    table
}

fn group_cells(g: &Group<'_>) -> [String; 7] {
    // A lossy group has no headroom, and a 0 would look like one that is missing.
    let size = |n: u64| or_dash(g.lossless().then(|| octets(n)));
    let (at, offset) = g.xon();
    let (kind, xon) = match g.plan.kind {
        GroupKind::Lossy => ("lossy", "-".into()),
        GroupKind::Lossless { .. } => {
            // XON at the larger of both: a threshold of 0 leaves the offset alone.
            let first = if at == 0 { String::new() } else { format!("{} or ", octets(at)) };
            ("lossless", format!("{first}limit - {}", octets(offset)))
        }
    };
    [
        kind.into(),
        octets(g.bytes(g.plan.reserved)),
        g.limit(),
        octets(g.share()),
        size(g.headroom()),
        size(g.required()),
        xon,
    ]
}

fn queues(plan: &SwitchPlan) -> Table {
    let columns = ["port", "queue", "priority", "scheduler", "limit", "ECN", "watchdog"];
    let mut table = Table::new(columns.map(|name| (name, Left)));
    for p in &plan.ports {
        let cells = |n: &usize| {
            let scheduler = match p.schedule.classes[*n] {
                ClassPlan::Strict => "strict".into(),
                ClassPlan::Dwrr { weight } => format!("DWRR {weight}"),
            };
            [scheduler, limit(p.queue_limits[*n]), ecn(p, *n), watchdog(p, *n)]
        };
        let used: Vec<_> =
            (0..PRIORITIES).filter(|n| !queue_priorities(p, *n).is_empty()).collect();
        for (cells, alike) in gather(used.iter(), cells) {
            let all = ranges(alike.iter().flat_map(|n| queue_priorities(p, **n)));
            let queue = ranges(alike.iter().map(|n| **n as u16));
            table.row([vec![p.name.clone(), queue, all], cells.into()].concat());
        }
    }
    table
}

fn ecn(port: &PortPlan, queue: usize) -> String {
    or_dash(port.ecn[queue].map(|e| {
        let drop = match e.not_ect {
            NotEct::Pass => "",
            NotEct::Drop => ", drops Not-ECT",
            NotEct::Chance => ", drops Not-ECT up to Kmax",
            NotEct::Letter => ", drops Not-ECT up to Kmax and marks it above",
        };
        let (kmin, kmax) = (octets(e.kmin.0), octets(e.kmax.0));
        let percent = percent_of_parts(e.pmax);
        format!("{kmin} to {kmax}, {percent}, {}{drop}", e.at.name())
    }))
}

fn watchdog(port: &PortPlan, queue: usize) -> String {
    or_dash(port.watchdog[queue].map(|w| {
        let (on, off) = (whole(w.detection), whole(w.restoration));
        format!("{} after {on}, off after {off}", w.action.name())
    }))
}
