//! Plans a station for each host, without flows.

use super::addresses::mac;
use super::graph::{Graph, Kind};
use super::links::LinkSpec;
use super::profiles::Switches;
use super::{agents, macsec, reactions};
use crate::raw::{self, Obey};
use config::quantity::Span;
use config::{Cx, Place};
use congestion::SourceMap;
use ground::time::{Duration, Instant};
use ground::units::{PRIORITIES, Priority, PrioritySet, Quanta};
use host::{PauseAsk, PausePlan, StationPlan};
use pfc::FlowControl;
use sim::{ClockPlan, CpuPlan, NodeKind, NodePlan};

/// Plans the clock of a node.
pub(super) fn clock(said: Option<raw::Clock>) -> ClockPlan {
    let said = said.unwrap_or_default();
    ClockPlan {
        offset: said.offset.map_or(Duration::ZERO, |s| s.0),
        drift_ppb: said.drift.map_or(0, |d| d.0),
    }
}

/// Plans the processor of a node.
pub(super) fn cpu(said: Option<raw::Cpu>) -> CpuPlan {
    let said = said.unwrap_or_default();
    let span = |s: Option<config::quantity::Span>| s.map_or(Duration::ZERO, |s| s.0);
    CpuPlan { poll: span(said.poll), frame: span(said.frame), byte: span(said.byte) }
}

/// Plans one host; `None` if it has no link.
pub(super) fn host(
    cx: &mut Cx,
    graph: &Graph<'_>,
    node: usize,
    specs: &[LinkSpec],
    switches: &Switches,
    lab: &raw::Lab,
    end: Duration,
) -> Option<NodePlan> {
    let (n, at) = (&graph.nodes[node], &graph.nodes[node].at);
    let Kind::Host(said, number) = &n.kind else { return None };
    let said = said.over(&lab.defaults.hosts);
    let spec = &specs[graph.links[*n.ports.first()?].kind];
    let clock = clock(said.clock);
    let flow_control = flow_control(cx, &at.key("obey"), graph, node, switches, said.obey.as_ref());
    let mut pauses = Vec::new();
    for (i, storm) in said.storms.iter().flatten().enumerate() {
        let at = at.key("storms").index(i);
        let mut plan = storm_plan(cx, &at, storm, Quanta::MAX.at(spec.rate), end);
        plan.start = clock.local(plan.start);
        pauses.push(plan);
    }
    let secy = macsec::of_host(cx, (graph, node), &said);
    let context = (spec, secy.as_deref());
    let agents = agents::of_host(cx, (graph, node), context, switches, &said, flow_control);
    let station = StationPlan {
        flow_control,
        line: spec.line,
        backlog: said.backlog.map_or(Duration::MAX, |s| s.0),
        pauses,
        agents,
        secy,
        reactions: reactions::reactions(cx, at, &said, source_map(graph, node, switches)),
        ..StationPlan::new(n.name.clone(), mac(*number as usize), spec.rate)
    };
    let kind = NodeKind::Host(station);
    Some(NodePlan { clock, cpu: cpu(said.cpu), ..NodePlan::new(kind) })
}

/// Returns the maps of the switch port at a host's link; `None` next to another host.
fn source_map(graph: &Graph<'_>, node: usize, switches: &Switches) -> Option<SourceMap> {
    let (peer, port) = graph.peer(node, 0);
    Some(switches.plans[peer].as_ref()?.ports[port].classify.source_map())
}

/// Returns the pauses that a host obeys: those configured, or those that its switch may send.
fn flow_control(
    cx: &mut Cx,
    at: &Place<'_>,
    graph: &Graph<'_>,
    node: usize,
    switches: &Switches,
    said: Option<&Obey>,
) -> FlowControl {
    const NONE: PrioritySet = PrioritySet::EMPTY;
    match said.unwrap_or(&Obey::Auto) {
        Obey::None => FlowControl::Off,
        Obey::List(list) => {
            let mut obey = PrioritySet::EMPTY;
            for (i, n) in list.iter().enumerate() {
                match Priority::new(*n) {
                    Some(p) => obey.insert(p),
                    None => cx.error(&at.index(i), format!("there is no priority {n}; 0 to 7")),
                }
            }
            FlowControl::Pfc { send: NONE, obey }
        }
        Obey::Auto => {
            let (peer, port) = graph.peer(node, 0);
            let sends = switches.plans[peer].as_ref().map(|s| s.ports[port].pfc.mode);
            match sends {
                Some(FlowControl::Pfc { send, .. }) => FlowControl::Pfc { send: NONE, obey: send },
                Some(FlowControl::Pause { send, .. }) => {
                    FlowControl::Pause { send: false, obey: send }
                }
                Some(FlowControl::Off) => FlowControl::Off,
                // On a link between two hosts every storm of the other is obeyed.
                None => FlowControl::Pfc { send: NONE, obey: PrioritySet::ALL },
            }
        }
    }
}

/// Resolves a storm.
fn storm_plan(
    cx: &mut Cx,
    at: &Place<'_>,
    said: &raw::Storm,
    longest: Duration,
    end: Duration,
) -> PausePlan {
    let quanta = Quanta(said.quanta.unwrap_or(u16::MAX));
    let mut asked = [None; PRIORITIES];
    for (i, n) in said.priorities.iter().enumerate() {
        match asked.get_mut(usize::from(*n)) {
            Some(slot) => *slot = Some(quanta),
            None => {
                let what = format!("there is no priority {n}; choose 0 to 7");
                cx.error(&at.key("priorities").index(i), what);
            }
        }
    }
    let all_of_it = said.priorities.is_empty();
    let lasts = Duration::from_picos(
        (u128::from(longest.as_picos()) * u128::from(quanta.0) / u128::from(u16::MAX)) as u64,
    );
    let every = said.every.map_or(lasts.div(2), |Span(d)| d);
    if every == Duration::ZERO {
        let what = "pauses need time between them; say `every`, such as 100us";
        cx.error(&at.key("every"), what);
    }
    let start = said.start.map_or(Duration::ZERO, |s| s.0);
    let rest = end.as_picos().saturating_sub(start.as_picos());
    let fit = rest.div_ceil(every.as_picos().max(1));
    PausePlan {
        ask: if all_of_it { PauseAsk::Pause(quanta) } else { PauseAsk::Pfc(asked) },
        start: Instant::ZERO.saturating_add(start),
        every,
        frames: said.frames.unwrap_or(fit),
    }
}
