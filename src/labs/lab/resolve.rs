//! Resolves the raw model of a lab file to the plan that a world runs.
//!
//! Each part adds defaults, validates, and reports errors with their place, then continues with a
//! harmless value so that one pass finds all errors. A plan is returned only if no error was
//! reported.

mod agents;
mod build;
mod changes;
mod checks;
mod defects;
mod faults;
mod flows;
mod graph;
mod hosts;
mod links;
mod otg;
mod routes;
mod switches;
mod ties;
mod topology;

use std::path::Path;

use crate::{LabPlan, raw};
use buffer::GroupKind;
use config::{Cx, Finding, HeadroomCheck, Place, Warning};
use faults::Context as Faults;
use graph::{Graph, Kind};
use ground::time::Duration;
use ground::units::{Mac, PortId, Priority, Vid};
use host::StationPlan;
use labrun::keep_messages;
use links::LinkSpec;
use routes::Routes;
use sim::{DirectionPlan, End, Fault, LinkPlan, NetworkPlan, NodeId, NodeKind, NodePlan};
use switch::{Change, SpreadEntry, StaticEntry};
use switches::{Profiles, Switches};

pub(crate) use defects::{
    parameters as parameters_of_defect, parameters_with_pause as parameters_of_defect_with_pause,
};
pub use otg::set_tester;

/// Name of a lab without a name or a file.
pub(super) const NAMELESS: &str = "lab";

/// Default duration of a run.
const DURATION_DEFAULT: Duration = Duration::from_millis(10);

/// Length of a pause frame in bytes, FCS included: the shortest Ethernet frame.
const CONTROL_FRAME: u64 = 64;
/// Longest pause frame.
const CONTROL_FRAME_MOST: u64 = 1_518;

/// Resolves a lab to its plan. `file` is its default name; relative paths start at the file's
/// folder.
///
/// # Errors
/// All errors of the file, in the order of its lines.
pub(super) fn resolve(
    lab: &raw::Lab,
    place: &Place<'_>,
    file: &str,
) -> Result<(Resolved, Vec<Warning>), Vec<Finding>> {
    let mut cx = Cx::of_file(file);
    let times = times(&mut cx, place, lab);
    check_defaults(&mut cx, place, &lab.defaults);
    warn_of_untaken(&mut cx, place, lab);
    // Ports are numbered by the order of links, so the graph is complete before anything asks for a port.
    let graph = build::build(&mut cx, place, lab);
    let specs: Vec<LinkSpec> = graph.kinds.iter().map(|k| links::spec(&mut cx, k)).collect();
    let profiles = Profiles::new(place, lab);
    let mut switches = switches::switches(&mut cx, &graph, &specs, &profiles, lab);
    // Both ends of every link need their own plan first; only then can one end answer the measurements of the other.
    agents::answer(&graph, &specs, &profiles, &mut switches);
    agents::warn_of_hosts(&mut cx, &graph, &profiles, &switches);
    switches::peers(&graph, &mut switches);
    let routes = routes::routes(&mut cx, place, &graph, lab);
    let around = hosts::Surroundings { graph: &graph, specs: &specs, switches: &switches };
    let mut nodes = nodes(&mut cx, &around, lab, times.end);
    links::name(&mut cx, &graph, &mut switches, &mut nodes);
    let tester = otg::otg(&mut cx, place, lab, &graph, &specs, &mut nodes);
    let addresses = tester.as_ref().map(|t| otg::addresses(&mut cx, place, t, switches.learn()));
    let context = flows::Context {
        graph: &graph,
        routes: &routes,
        switches: &switches,
        seed: lab.seed,
        end: times.end,
        tester: tester.as_ref(),
    };
    // Flows come after the generator, whose flows have the first numbers, and whose hosts they may not use.
    let flows = flows::flows(&mut cx, place, lab, &context, &mut nodes);
    keep_messages(&mut nodes, lab.record.messages);
    let context = Faults {
        graph: &graph,
        specs: &specs,
        switches: &switches,
        profiles: &profiles,
        nodes: &nodes,
    };
    ties::warn_of_ties(&mut cx, place, &context, &flows.list);
    let faults = faults::faults(&mut cx, place, lab, &context);
    let checks = checks::checks(&mut cx, place, lab, &flows, any_lossless(&switches, &faults));
    let record = checks::record(&mut cx, place, &lab.record, &graph);
    if let Some(tester) = &tester {
        otg::warn_of_captures(&mut cx, place, tester, &graph, &record);
    }
    // Up to here every part has gone on after an error with a harmless value, so all errors are found in one pass.
    let warnings = cx.finish()?;

    let headroom = headroom(&switches);
    place_switches(&graph, &routes, &mut switches, &mut nodes);
    // The generator's addresses take the ports of its hosts' addresses, so they come after those.
    if let Some(addresses) = addresses {
        otg::place_addresses(&graph, &addresses, &mut nodes);
    }
    let plan = LabPlan {
        name: name(lab, file),
        variant: None,
        network: network_plan(lab, nodes, links(&graph, &specs), faults),
        flows: flows.list,
        workloads: flows.workloads,
        tester,
        duration: times.end,
        until_done: lab.until_done,
        measure_from: times.from,
        measure_to: times.to,
        checks,
        record,
    };
    Ok((Resolved { plan, headroom }, warnings))
}

fn network_plan(
    lab: &raw::Lab,
    nodes: Vec<NodePlan>,
    links: Vec<LinkPlan>,
    faults: Vec<Fault>,
) -> NetworkPlan {
    let raw::Lab { seed, shuffle, .. } = *lab;
    NetworkPlan { nodes, links, faults, seed, shuffle, sample_every: None }
}

/// Returns the name of a lab: its own, or that of its file.
fn name(lab: &raw::Lab, file: &str) -> String {
    let stem = Path::new(file).file_stem().and_then(|s| s.to_str()).unwrap_or(NAMELESS);
    lab.name.clone().unwrap_or_else(|| stem.to_owned())
}

/// End of the run, and the measurement interval.
struct Times {
    end: Duration,
    from: Duration,
    to: Option<Duration>,
}

fn times(cx: &mut Cx, place: &Place<'_>, lab: &raw::Lab) -> Times {
    let end = lab.duration.map_or(DURATION_DEFAULT, |s| s.0);
    if end == Duration::ZERO {
        cx.error(&place.key("duration"), "must be above zero");
    }
    let from = lab.measure.from.map_or(Duration::ZERO, |s| s.0);
    let to = lab.measure.to.map(|s| s.0);
    let measure = place.key("measure");
    // A duration of zero was reported above; that nothing is before it would be the same error twice.
    if from >= end && end > Duration::ZERO {
        let what = format!("{from} is not before the end of the run at {end} (`duration`)");
        cx.error(&measure.key("from"), what);
    }
    if to.is_some_and(|to| to <= from || to > end) {
        let what = format!("must be after {from} and up to the end of the run at {end}");
        cx.error(&measure.key("to"), what);
    }
    if let Some(name) = &lab.name {
        if name.trim().is_empty() {
            cx.error(&place.key("name"), "a name has letters; or leave it out");
        }
    }
    Times { end, from, to }
}

/// Reports default fields that only a single object can have.
fn check_defaults(cx: &mut Cx, place: &Place<'_>, defaults: &raw::Defaults) {
    let place = place.key("defaults");
    let raw::Defaults { switches, hosts, links, flows } = defaults;
    let single = [
        ("switches", "name", switches.name.is_some()),
        ("hosts", "name", hosts.name.is_some()),
        ("links", "name", links.name.is_some()),
        ("links", "from", links.from.is_some()),
        ("links", "to", links.to.is_some()),
        ("flows", "name", flows.name.is_some()),
        ("flows", "from", flows.from.is_some()),
        ("flows", "to", flows.to.is_some()),
    ];
    for (kind, field, given) in single {
        if given {
            let what = format!("each has its `{field}`; give it there");
            cx.error(&place.key(kind).key(field), what);
        }
    }
}

/// Warns of defaults of flows that no flow takes: a comparison may rely on them.
fn warn_of_untaken(cx: &mut Cx, place: &Place<'_>, lab: &raw::Lab) {
    let flows_at = place.key("defaults").key("flows");
    for path in raw::untaken(&lab.defaults.flows, &lab.flows) {
        let place = path.split('.').fold(flows_at.clone(), |place, key| place.key(key));
        let what = match lab.flows.is_empty() {
            true => "no flow takes it: `flows` has none",
            false => "no flow takes it: each has its own value, which replaces it",
        };
        cx.warn(&place, what);
    }
}

/// Plans all nodes. Switches are put in place later, because all parts read their plans until then.
fn nodes(
    cx: &mut Cx,
    around: &hosts::Surroundings<'_, '_>,
    lab: &raw::Lab,
    end: Duration,
) -> Vec<NodePlan> {
    let graph = around.graph;
    let mut out = Vec::with_capacity(graph.nodes.len());
    for (n, node) in graph.nodes.iter().enumerate() {
        let planned = hosts::host(cx, around, n, lab, end);
        let mut plan = planned.unwrap_or_else(|| NodePlan::new(NodeKind::Host(placeholder())));
        if let Kind::Switch(raw) = &node.kind {
            let raw = raw.over(&lab.defaults.switches);
            plan.clock = hosts::clock(raw.clock);
            plan.cpu = hosts::cpu(raw.cpu);
            plan.cut_through = raw.cut_through.unwrap_or(false);
            let own = raw.control_frame.map_or(CONTROL_FRAME, |s| s.0);
            let place = node.source.key("control_frame");
            let len = cx.ranged(&place, own, (18, CONTROL_FRAME_MOST), CONTROL_FRAME);
            // 18 bytes are two addresses, the type and the FCS. `None` keeps the length that the real world has, too.
            plan.control_len = (len != CONTROL_FRAME).then_some(len as u32);
        }
        out.push(plan);
    }
    out
}

/// Placeholder station of a switch's node.
fn placeholder() -> StationPlan {
    StationPlan {
        flow_control: pfc::FlowControl::Off,
        shaper_burst: ground::units::Bytes(0),
        line: schedule::LinePlan::ETHERNET,
        ..StationPlan::new(String::new(), Mac::default(), ground::units::BitsPerSec::gbps(1))
    }
}

/// True if a port of a switch pauses its peer for a priority of a lossless group, as the checker of losses
/// has it, or a change of a group or of PFC may make it do so.
fn any_lossless(switches: &Switches, faults: &[Fault]) -> bool {
    let plans = switches.plans.iter().flatten();
    let mut ports = plans.flat_map(|plan| plan.ports.iter().zip(&plan.buffer.groups));
    let is_changed = |fault: &Fault| {
        let change = fault.kind.change().map(|(_, change)| change);
        matches!(change, Some(Change::Group { .. } | Change::Pfc { .. }))
    };
    ports.any(|(port, groups)| {
        let group = |p: Priority| &groups[port.classify.group[p.index()].index()];
        let is_lossless = |p| matches!(group(p).kind, GroupKind::Lossless { .. });
        // A lossless group whose priorities send no pauses is lossy in effect: nothing stops its senders.
        port.pfc.mode.sends().iter().any(is_lossless)
    }) || faults.iter().any(is_changed)
}

/// Gives the switches the static addresses of hosts, and puts them in place.
fn place_switches(
    graph: &Graph<'_>,
    routes: &Routes,
    switches: &mut Switches,
    nodes: &mut [NodePlan],
) {
    for (n, plan) in switches.plans.iter_mut().enumerate() {
        let Some(mut plan) = plan.take() else { continue };
        let entry = |mac, host| {
            let port = PortId::new(routes.port(n, host)? as u16)?;
            Some(StaticEntry { vid: Vid::MIN, mac, port })
        };
        let several = |mac, host| {
            let ports = routes.equal(n, host)?.iter().filter_map(|port| PortId::new(*port));
            Some(SpreadEntry { vid: Vid::MIN, mac, ports: ports.collect() })
        };
        let own = (0..graph.hosts.len()).map(|host| (graph::mac(host), host));
        // A switch that learns floods until it has learnt; static addresses would hide exactly that.
        if !switches.learns[n] {
            plan.bridge.statics = own.clone().filter_map(|(mac, host)| entry(mac, host)).collect();
            plan.bridge.spread = own.filter_map(|(mac, host)| several(mac, host)).collect();
        }
        nodes[n].kind = NodeKind::Switch(plan);
    }
}

fn links(graph: &Graph<'_>, specs: &[LinkSpec]) -> Vec<LinkPlan> {
    let end = |(node, port): (usize, usize)| End {
        node: NodeId(node as u32),
        port: PortId::new(port as u16).unwrap_or(PortId::MIN),
    };
    let link = |link: &graph::Link| {
        let spec = &specs[link.kind];
        let LinkSpec { rate, line, ab, ba, .. } = *spec;
        let (ab, ba): (DirectionPlan, DirectionPlan) = (ab, ba);
        LinkPlan { name: link.name.clone(), a: end(link.a), b: end(link.b), rate, line, ab, ba }
    };
    graph.links.iter().map(link).collect()
}

/// A resolved lab and its headroom.
#[derive(Clone, Debug)]
pub struct Resolved {
    pub plan: LabPlan,
    /// Required and configured headroom of each lossless group of each switch.
    pub headroom: Vec<(NodeId, HeadroomCheck)>,
}

/// A link with the headroom at its ends.
#[derive(Clone, Debug)]
pub struct LinkView<'a> {
    pub link: &'a LinkPlan,
    /// Headroom of the lossless groups at either end, that of end `a` first.
    pub headroom: Vec<&'a (NodeId, HeadroomCheck)>,
}

impl Resolved {
    /// Returns the links, with the headroom at their ends.
    pub fn links(&self) -> impl Iterator<Item = LinkView<'_>> {
        self.plan.network.links.iter().map(|link| {
            let headroom_at = |end: sim::End| {
                // The list is in the order of nodes.
                let first = self.headroom.partition_point(|(node, _)| *node < end.node);
                let of_node =
                    self.headroom[first..].iter().take_while(move |(node, _)| *node == end.node);
                of_node.filter(move |(_, h)| h.port == end.port)
            };
            LinkView { link, headroom: headroom_at(link.a).chain(headroom_at(link.b)).collect() }
        })
    }
}

/// Returns the headroom of all switches, in the order of nodes.
fn headroom(switches: &Switches) -> Vec<(NodeId, HeadroomCheck)> {
    let shapes = switches.shape_of.iter().enumerate();
    shapes
        .filter_map(|(node, shape)| Some((NodeId(node as u32), &switches.headroom[(*shape)?])))
        .flat_map(|(node, checks)| checks.iter().map(move |check| (node, check.clone())))
        .collect()
}
