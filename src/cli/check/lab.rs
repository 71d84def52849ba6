//! A resolved lab with its workloads, as tables and JSON show it. Equal items share a row of a table.

use std::fmt;

use super::render::{Json, ends, gather, grouped_table, list, object, or_dash, some};
use super::{congestion, protocols, switch};
use crate::config::quantity::octets;
use crate::headroom::SoftwareTerms;
use crate::host::{ReactionsPlan, SfcPause, SfcReaction};
use crate::lab::{Collective, FlowSignals, LabFlow, LinkView, OfferedLoad, Resolved, Workload};
use crate::link::AgentsPlan;
use crate::printable;
use crate::secure::SecyPlan;
use crate::sim::{NodeId, NodeKind, NodePlan};
use crate::switch::SwitchPlan;
use crate::units::Cells;
use crate::wire::ip::Ecn;
use ::text::Align::{Left, Right};
use ::text::{Table, count, scaled};

/// A port, or a host, with its link protocols and its MACsec.
type Port<'a> = (String, Option<&'a AgentsPlan>, Option<&'a SecyPlan>);

/// Returns one lab. Sizes are in bytes, times in nanoseconds with fractions.
pub fn json(lab: &Resolved) -> Json {
    let plan = &lab.plan;
    let named = |(port, fields): (String, Json)| object! { port: port }.and(fields);
    let ports = || nodes(lab).iter().flat_map(ports);
    let agents = ports().filter_map(|(name, agents, _)| Some((name, protocols::json(agents?))));
    let macsec = ports().filter_map(|(name, _, secy)| Some((name, protocols::macsec_json(secy?))));
    let flows = plan.flows.iter().map(|f| {
        object! {
            name: f.name.clone(),
            from: name(lab, f.from),
            to: name(lab, f.to),
            priority: f.priority.get(),
            lossless: f.lossless,
            frame_bytes: f.frame_len,
            transport: transport(&f.signals),
            ecn: ecn(&f.signals),
        }
    });
    let congestion =
        congestion(lab).map(|(switch, view)| object! { switch: switch }.and(view.json()));
    object! {
        name: plan.name.clone(),
        seed: plan.network.seed,
        duration_ns: plan.duration,
        until_done: plan.until_done,
        switches: switches(lab).map(|(node, plan)| switch_json(node, plan)).collect::<Vec<_>>(),
        hosts: hosts(lab).map(NodePlan::name).collect::<Vec<_>>(),
        links: lab.links().map(|link| link_json(lab, &link)).collect::<Vec<_>>(),
        flows: flows.collect::<Vec<_>>(),
        // `list` leaves out empty ones, so the JSON of a lab without a feature does not change with it.
        workloads: list(plan.workloads.iter().map(workload_json)),
        agents: list(agents.map(named)),
        macsec: list(macsec.map(named)),
        congestion: list(congestion),
        reactions: list(reactions(lab).map(|(host, plan)| reactions_json(host, plan))),
        // Faults and checks are as the file says them; only their number and names are of use here.
        faults: plan.network.faults.len(),
        checks: plan.checks.iter().map(|c| c.name.clone()).collect::<Vec<_>>(),
    }
}

fn nodes(lab: &Resolved) -> &[NodePlan] {
    &lab.plan.network.nodes
}

fn name(lab: &Resolved, node: NodeId) -> &str {
    nodes(lab)[node.index()].name()
}

fn switch_of(node: &NodePlan) -> Option<&SwitchPlan> {
    match &node.kind {
        NodeKind::Switch(plan) => Some(plan),
        NodeKind::Host(_) => None,
    }
}

fn switches(lab: &Resolved) -> impl Iterator<Item = (&NodePlan, &SwitchPlan)> {
    nodes(lab).iter().filter_map(|node| Some((node, switch_of(node)?)))
}

fn hosts(lab: &Resolved) -> impl Iterator<Item = &NodePlan> {
    nodes(lab).iter().filter(|n| matches!(n.kind, NodeKind::Host(_)))
}

/// Returns the ports of a switch, named `s1.to_h1`, or a host.
fn ports(node: &NodePlan) -> Vec<Port<'_>> {
    match &node.kind {
        NodeKind::Switch(switch) => {
            let ports = switch.ports.iter().zip(port_names(switch));
            ports.map(|(p, name)| (name, p.agents.as_ref(), p.secy.as_deref())).collect()
        }
        NodeKind::Host(host) => {
            vec![(host.name.clone(), host.agents.as_ref(), host.secy.as_deref())]
        }
    }
}

fn port_names(switch: &SwitchPlan) -> Vec<String> {
    switch.ports.iter().map(|port| format!("{}.{}", switch.name, port.name)).collect()
}

/// Returns the switches with congestion control.
fn congestion(lab: &Resolved) -> impl Iterator<Item = (&str, congestion::Switch<'_>)> {
    switches(lab).filter_map(|(_, plan)| {
        let switch = congestion::Switch::new(&plan.congestion, port_names(plan))?;
        Some((plan.name.as_str(), switch))
    })
}

/// Returns the hosts that obey congestion messages of switches.
fn reactions(lab: &Resolved) -> impl Iterator<Item = (&str, &ReactionsPlan)> {
    nodes(lab)
        .iter()
        .filter_map(|node| match &node.kind {
            NodeKind::Host(host) => Some((host.name.as_str(), &host.reactions)),
            NodeKind::Switch(_) => None,
        })
        // A host without a reaction ignores both kinds of messages.
        .filter(|(_, plan)| plan.sfc.is_some() || plan.qcn.is_some())
}

fn buffer(plan: &SwitchPlan) -> u64 {
    u64::from(plan.buffer.total.0) * u64::from(plan.buffer.cell_bytes)
}

fn switch_json(node: &NodePlan, plan: &SwitchPlan) -> Json {
    object! {
        name: plan.name.clone(),
        ports: plan.ports.len(),
        cut_through: node.cut_through,
        max_frame: plan.max_frame,
        cell_bytes: plan.buffer.cell_bytes,
        buffer_bytes: buffer(plan),
    }
}

fn link_json(lab: &Resolved, view: &LinkView<'_>) -> Json {
    let link = view.link;
    let headroom = view.headroom.iter().map(|(node, h)| {
        let cell = cell_bytes(lab, *node);
        object! {
            switch: name(lab, *node),
            group: h.group.index(),
            headroom_bytes: u64::from(h.given.0) * u64::from(cell),
            headroom_required_bytes: u64::from(h.required.cells.0) * u64::from(cell),
            headroom_sum: h.required.sum.to_string(),
            // A simulated switch polls without a gap, so it has no terms of software.
            headroom_calc: some(switch::calc_command(&h.link, &SoftwareTerms::default(), cell)),
        }
    });
    object! {
        name: link.name.clone(),
        from: name(lab, link.a.node),
        to: name(lab, link.b.node),
        rate_bps: link.rate,
        // From the start of a bit at one MAC to its arrival at the other.
        delay_ns: link.ab.delay,
        delay_back_ns: link.ba.delay,
        // One value for both directions: that of the slower end.
        response_ns: link.ab.response.max(link.ba.response),
        headroom: headroom.collect::<Vec<_>>(),
    }
}

fn cell_bytes(lab: &Resolved, node: NodeId) -> u32 {
    switch_of(&nodes(lab)[node.index()]).map_or(0, |s| s.buffer.cell_bytes)
}

/// Names what the reaction to a source flow control message pauses: the flow, or its whole priority.
const fn pauses(sfc: &SfcReaction) -> &'static str {
    match sfc.pause {
        SfcPause::Flow => "flow",
        SfcPause::Priority => "priority",
    }
}

fn reactions_json(host: &str, plan: &ReactionsPlan) -> Json {
    let sfc = plan.sfc.as_ref().map(|sfc| {
        object! {
            pauses: pauses(sfc),
            udp_port: sfc.udp_port,
            longest_ns: sfc.longest,
            accepts: congestion::senders(&sfc.senders),
        }
    });
    let qcn = plan.qcn.as_ref().map(|qcn| {
        object! {
            time_reset_ns: qcn.time_reset,
            byte_reset_bytes: qcn.byte_reset,
            threshold: qcn.threshold,
            max_bps: some(qcn.max_rate),
            active_bps: qcn.active,
            hyper_bps: qcn.hyper,
            gain: qcn.gain,
            keep_min_percent: qcn.keep_min,
            min_bps: qcn.min_rate,
            jitter_percent: qcn.jitter,
        }
    });
    object! { host: host, sfc: some(sfc), qcn: some(qcn) }
}

pub struct Text<'a>(pub &'a Resolved);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lab, plan) = (self.0, &self.0.plan);
        writeln!(
            f,
            "lab {}: {}, {}, {}, {}, {}; runs for {}{}",
            printable::line(&plan.name),
            counted(switches(lab).count(), "switch", "switches"),
            counted(hosts(lab).count(), "host", "hosts"),
            counted(plan.network.links.len(), "link", "links"),
            counted(plan.flows.len(), "flow", "flows"),
            counted(plan.network.faults.len(), "fault", "faults"),
            plan.duration,
            if plan.until_done { " or until all is done" } else { "" },
        )?;
        let checks: Vec<&str> = plan.checks.iter().map(|c| c.name.as_str()).collect();
        writeln!(f, "checks: {}\n", printable::line(&checks.join(", ")))?;
        let ports = || nodes(lab).iter().flat_map(ports);
        let agents = ports().filter_map(|(name, agents, _)| Some((name, agents?)));
        let macsec = ports().filter_map(|(name, _, secy)| Some((name, secy?)));
        let tables = [
            switch_table(lab),
            Some(link_table(lab)),
            flow_table(lab),
            workload_table(&plan.workloads),
            protocols::table(agents),
            protocols::macsec_table(macsec),
        ];
        for table in tables.iter().flatten() {
            writeln!(f, "{table}")?;
        }
        // Not in the list above: several tables, which equal switches share.
        let congestion: Vec<_> = congestion(lab).collect();
        if !congestion.is_empty() {
            congestion::Tables(&congestion).fmt(f)?;
        }
        reaction_table(lab).map_or(Ok(()), |table| writeln!(f, "{table}"))
    }
}

fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

fn switch_table(lab: &Resolved) -> Option<Table> {
    let head = [
        ("switch", Left),
        ("ports", Right),
        ("buffer", Right),
        ("cell", Right),
        ("frames up to", Right),
        ("forwards", Left),
    ];
    let rows = switches(lab).map(|(node, s)| {
        let cells = [
            s.ports.len().to_string(),
            octets(buffer(s)),
            octets(s.buffer.cell_bytes.into()),
            octets(s.max_frame.into()),
            if node.cut_through { "cut through" } else { "whole frames" }.into(),
        ];
        (s.name.clone(), cells.into())
    });
    grouped_table(head, rows, ends)
}

fn link_table(lab: &Resolved) -> Table {
    let head = [
        ("link", Left),
        ("rate", Right),
        ("one way", Right),
        ("response", Right),
        ("group", Left),
        ("headroom needed", Right),
        ("given", Right),
    ];
    let rows = lab.links().map(|view| {
        let link = view.link;
        // Two values only where a fault or the file makes the directions differ.
        let delay = if link.ab.delay == link.ba.delay {
            link.ab.delay.to_string()
        } else {
            format!("{}, back {}", link.ab.delay, link.ba.delay)
        };
        let response = link.ab.response.max(link.ba.response);
        let cells = vec![link.rate.to_string(), delay, response.to_string()];
        (link.name.clone(), [cells, headroom(lab, &view).into()].concat())
    });
    grouped_table(head, rows, ends).unwrap_or_else(|| Table::new(head))
}

/// Groups, required and configured headroom of a link, without repeated values.
fn headroom(lab: &Resolved, view: &LinkView<'_>) -> [String; 3] {
    let distinct = |mut all: Vec<u64>, show: fn(u64) -> String| {
        all.sort_unstable();
        let mut all: Vec<String> = all.into_iter().map(show).collect();
        // After sorting and showing: two sizes that look alike are one in a table.
        all.dedup();
        or_dash((!all.is_empty()).then(|| all.join(", ")))
    };
    let ends = || view.headroom.iter();
    let bytes =
        |cells: Cells, node: &NodeId| u64::from(cells.0) * u64::from(cell_bytes(lab, *node));
    [
        distinct(ends().map(|(_, h)| h.group.index() as u64).collect(), |group| group.to_string()),
        distinct(ends().map(|(node, h)| bytes(h.required.cells, node)).collect(), octets),
        distinct(ends().map(|(node, h)| bytes(h.given, node)).collect(), octets),
    ]
}

fn flow_table(lab: &Resolved) -> Option<Table> {
    let mut table = Table::new([
        ("flow", Left),
        ("from", Left),
        ("to", Left),
        ("priority", Right),
        ("kind", Left),
        ("frames of", Right),
        ("transport", Left),
        ("ECN", Left),
    ]);
    let flows = lab.plan.flows.iter();
    // Flows of one entry of the file have its name, an underscore and a number.
    let alike = gather(flows, |f| {
        let base = f.name.split('_').next().unwrap_or(&f.name).to_owned();
        (base, f.priority, f.lossless, f.frame_len, f.signals)
    });
    for ((_, priority, lossless, len, signals), alike) in alike {
        let (mut from, mut to): (Vec<&str>, Vec<&str>) =
            alike.iter().map(|f| (name(lab, f.from), name(lab, f.to))).unzip();
        // Neighbours alone: flows are in the order of the file, so equal hosts stand together.
        from.dedup();
        to.dedup();
        table.row([
            ends(&alike.iter().map(|f| f.name.as_str()).collect::<Vec<_>>()),
            ends(&from),
            ends(&to),
            priority.to_string(),
            if lossless { "lossless" } else { "lossy" }.into(),
            format!("{len} B"),
            transport(&signals),
            ecn(&signals),
        ]);
    }
    (!table.is_empty()).then_some(table)
}

/// Describes the transport of a flow.
fn transport(signals: &FlowSignals) -> String {
    format!("{}{}", signals.transport, if signals.dcqcn { " with dcqcn" } else { "" })
}

/// Describes the code point of a flow, and where its queue marks.
fn ecn(signals: &FlowSignals) -> String {
    let marking = match &signals.marking {
        // Without a marking curve the code point has no effect.
        Some(ecn) => format!("marked at {} to {}", octets(ecn.kmin.0), octets(ecn.kmax.0)),
        None => "never marked".to_owned(),
    };
    match signals.ecn {
        Ecn::NotEct => "-".to_owned(),
        Ecn::Ect0 => format!("ect0, {marking}"),
        Ecn::Ect1 => format!("ect1, {marking}"),
        Ecn::Ce => format!("ce, {marking}"),
    }
}

/// Returns the transports and the ECN of all flows, each once, with the names of its flows.
pub fn signals(lab: &Resolved) -> Vec<[String; 3]> {
    let alike = gather(lab.plan.flows.iter(), |f| {
        let base = f.name.split('_').next().unwrap_or(&f.name).to_owned();
        (base, transport(&f.signals), ecn(&f.signals))
    });
    let row = |((_, transport, ecn), flows): ((_, String, String), Vec<&LabFlow>)| {
        let names: Vec<&str> = flows.iter().map(|flow| flow.name.as_str()).collect();
        [ends(&names), transport, ecn]
    };
    alike.into_iter().map(row).collect()
}

fn reaction_table(lab: &Resolved) -> Option<Table> {
    let head =
        [("host", Left), ("SFC pauses", Left), ("at most", Right), ("from", Left), ("QCN", Left)];
    let rows = reactions(lab).map(|(host, ReactionsPlan { sfc, qcn })| {
        let [what, longest, from] = match sfc {
            Some(sfc) => {
                [pauses(sfc).into(), sfc.longest.to_string(), congestion::senders(&sfc.senders)]
            }
            None => ["-"; 3].map(String::from),
        };
        let qcn = or_dash(qcn.as_ref().map(|qcn| {
            format!(
                "every {} or {}, then + {} or {}, at most to {} % at a time",
                qcn.time_reset,
                octets(qcn.byte_reset.0),
                qcn.active,
                qcn.hyper,
                qcn.keep_min
            )
        }));
        (host.to_owned(), vec![what, longest, from, qcn])
    });
    grouped_table(head, rows, ends)
}

/// Returns one workload. Loads are fractions of a link.
fn workload_json(of: &Workload) -> Json {
    let load = of.load.map(|load| {
        object! {
            of: load.of.name(),
            configured: load.share,
            offered: load.drawn,
            links: load.links,
            span_ns: load.span,
        }
    });
    let collective = of.collective.map(|of| {
        object! {
            pattern: of.pattern,
            hosts: of.hosts,
            bytes: of.bytes,
            chunk_bytes: of.chunk,
            steps: of.steps,
        }
    });
    object! {
        name: of.name.clone(),
        flows: of.flows.len(),
        sizes: of.sizes.clone(),
        mean_bytes: of.mean_bytes,
        messages: of.messages,
        bytes: of.bytes,
        load: some(load),
        collective: some(collective),
    }
}

/// Returns the table of workloads; `None` without any.
fn workload_table(all: &[Workload]) -> Option<Table> {
    let mut table = Table::new([
        ("workload", Left),
        ("sizes", Left),
        ("mean", Right),
        ("messages", Right),
        ("all", Right),
        ("load", Left),
    ]);
    for of in all {
        table.row([
            of.name.clone(),
            of.sizes.clone(),
            scaled(of.mean_bytes, "B"),
            count(of.messages),
            scaled(of.bytes as f64, "B"),
            load(of),
        ]);
    }
    (!table.is_empty()).then_some(table)
}

fn load(of: &Workload) -> String {
    match (of.load, of.collective) {
        (Some(OfferedLoad { share, of, drawn, .. }), _) => {
            let percent = |part: f64| 100.0 * part;
            let side = of.name();
            format!("{} % of {side} (drawn {:.1} %)", percent(share), percent(drawn))
        }
        (None, Some(Collective { pattern, hosts, steps, .. })) => {
            format!("{pattern} of {hosts}, {steps} steps")
        }
        (None, None) => "-".into(),
    }
}
