//! Plans a station for each host, without flows, and its reactions to the congestion messages of switches.

use super::agents;
use super::graph::{Graph, Kind, Source, mac};
use super::links::{self, LinkSpec};
use super::switches::Switches;
use crate::raw::{self, HostQcn, HostSfc, Obey, QcnWord, SfcWord, Short};
use config::quantity::Span;
use config::{Cx, Place, life, longest, senders, udp_port};
use congestion::SourceMap;
use congestion::proxy::{PausePolicy, Senders};
use congestion::qcn::ReactionPlan;
use congestion::sfc::SfcPlan;
use ground::time::{Duration, Instant};
use ground::units::{Priority, PrioritySet, Quanta};
use host::{
    Demand, InNetwork, PATH_SPACING, PausePlan, ReactionsPlan, SfcPause, SfcReaction, StationPlan,
};
use pfc::FlowControl;
use sim::{ClockPlan, CpuPlan, NodeKind, NodePlan};

/// Plans the clock of a node.
pub(super) fn clock(raw: Option<raw::Clock>) -> ClockPlan {
    let raw = raw.unwrap_or_default();
    ClockPlan {
        offset: raw.offset.map_or(Duration::ZERO, |s| s.0),
        drift_ppb: raw.drift.map_or(0, |d| d.0),
    }
}

/// Plans the processor of a node.
pub(super) fn cpu(raw: Option<raw::Cpu>) -> CpuPlan {
    let raw = raw.unwrap_or_default();
    let span = |s: Option<Span>| s.map_or(Duration::ZERO, |s| s.0);
    CpuPlan { poll: span(raw.poll), frame: span(raw.frame), byte: span(raw.byte) }
}

/// Links and switches around the hosts of a lab.
pub(super) struct Surroundings<'r, 'g> {
    pub graph: &'r Graph<'g>,
    pub specs: &'r [LinkSpec],
    pub switches: &'r Switches,
}

/// Plans one host; `None` if it has no link.
pub(super) fn host(
    cx: &mut Cx,
    around: &Surroundings<'_, '_>,
    node: usize,
    lab: &raw::Lab,
    end: Duration,
) -> Option<NodePlan> {
    let Surroundings { graph, specs, switches } = *around;
    let (n, place) = (&graph.nodes[node], &graph.nodes[node].source);
    let Kind::Host(raw, number) = &n.kind else { return None };
    let raw = raw.over(&lab.defaults.hosts);
    let spec = &specs[graph.links[*n.ports.first()?].kind];
    let clock = clock(raw.clock);
    let flow_control = flow_control(cx, &place.key("obey"), around, node, raw.obey.as_ref());
    let mut pauses = Vec::new();
    for (i, storm) in raw.storms.iter().flatten().enumerate() {
        let place = place.key("storms").index(i);
        let mut plan = storm_plan(cx, &place, storm, Quanta::MAX.at(spec.rate), end);
        // The file's times are simulation time, and a station acts by its own clock, which has an offset and a drift.
        plan.start = clock.local(plan.start);
        pauses.push(plan);
    }
    let secy = links::host_macsec(cx, graph, node, &raw);
    let port = agents::HostPort { graph, node, spec, switches };
    let agents = agents::of_host(cx, &port, secy.as_deref(), &raw, flow_control);
    let station = StationPlan {
        flow_control,
        line: spec.line,
        backlog: raw.backlog.map_or(Duration::MAX, |s| s.0),
        pauses,
        agents,
        secy,
        reactions: reactions(cx, place, &raw, source_map(graph, node, switches)),
        ..StationPlan::new(n.name.clone(), mac(*number as usize), spec.rate)
    };
    let kind = NodeKind::Host(station);
    Some(NodePlan { clock, cpu: cpu(raw.cpu), ..NodePlan::new(kind) })
}

/// Returns the maps of the switch port at a host's link; `None` next to another host.
fn source_map(graph: &Graph<'_>, node: usize, switches: &Switches) -> Option<SourceMap> {
    // A host has one link; `check_ports` refuses others.
    let (peer, port) = graph.peer(node, 0);
    Some(switches.plans[peer].as_ref()?.ports[port].classify.source_map())
}

/// Returns the pauses that a host obeys: those configured, or those that its switch may send.
fn flow_control(
    cx: &mut Cx,
    place: &Place<'_>,
    around: &Surroundings<'_, '_>,
    node: usize,
    raw: Option<&Obey>,
) -> FlowControl {
    const NONE: PrioritySet = PrioritySet::EMPTY;
    match raw.unwrap_or(&Obey::Auto) {
        Obey::None => FlowControl::Off,
        Obey::List(list) => {
            let mut obey = PrioritySet::EMPTY;
            for (i, n) in list.iter().enumerate() {
                match Priority::new(*n) {
                    Some(p) => obey.insert(p),
                    None => cx.error(&place.index(i), format!("there is no priority {n}; 0 to 7")),
                }
            }
            FlowControl::Pfc { send: NONE, obey }
        }
        Obey::Auto => {
            let (peer, port) = around.graph.peer(node, 0);
            let sends = around.switches.plans[peer].as_ref().map(|s| s.ports[port].pfc.mode);
            match sends {
                // A host obeys what its switch may send and sends none itself: it has no buffer that could fill.
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
    place: &Place<'_>,
    raw: &raw::Storm,
    longest: Duration,
    end: Duration,
) -> PausePlan {
    let quanta = Quanta(raw.quanta.unwrap_or(u16::MAX));
    let mut asked = PrioritySet::EMPTY;
    for (i, n) in raw.priorities.iter().enumerate() {
        match Priority::new(*n) {
            Some(priority) => asked.insert(priority),
            None => {
                let what = format!("there is no priority {n}; choose 0 to 7");
                cx.error(&place.key("priorities").index(i), what);
            }
        }
    }
    let all_of_it = raw.priorities.is_empty();
    // `longest` is the time of 65535 quanta; multiplied first and in 128 bits, so nothing is lost to rounding.
    let lasts = Duration::from_picos(
        (u128::from(longest.as_picos()) * u128::from(quanta.0) / u128::from(u16::MAX)) as u64,
    );
    // Refreshed at half of the pause, so that the storm never lets go between two frames.
    let every = raw.every.map_or(lasts.div(2), |Span(d)| d);
    if every == Duration::ZERO {
        let what = "pauses need time between them; say `every`, such as 100us";
        cx.error(&place.key("every"), what);
    }
    let start = raw.start.map_or(Duration::ZERO, |s| s.0);
    let rest = end.as_picos().saturating_sub(start.as_picos());
    // Without a number of frames the storm lasts until the end of the run.
    let fit = rest.div_ceil(every.as_picos().max(1));
    PausePlan {
        ask: if all_of_it { Demand::Pause(quanta) } else { Demand::pfc(asked, quanta) },
        start: Instant::ZERO.saturating_add(start),
        every,
        frames: raw.frames.unwrap_or(fit),
    }
}

/// Range of the time between two paths of a flow.
const SPACING: (Duration, Duration) = (Duration::from_micros(1), Duration::from_secs(10));

/// True if a host obeys source flow control messages.
pub(super) fn obeys_sfc(raw: &raw::Host) -> bool {
    !matches!(raw.sfc, None | Some(Short::Short(SfcWord::None)))
}

/// Resolves the reactions of a host whose port has these maps.
fn reactions(
    cx: &mut Cx,
    source: &Source<'_>,
    raw: &raw::Host,
    map: Option<SourceMap>,
) -> ReactionsPlan {
    let sfc = match &raw.sfc {
        None | Some(Short::Short(SfcWord::None)) => None,
        Some(Short::Short(SfcWord::Flow)) => Some(HostSfc::default()),
        Some(Short::Short(SfcWord::Priority)) => {
            Some(HostSfc { pause: Some(SfcPause::Priority), ..HostSfc::default() })
        }
        Some(Short::Long(long)) => Some(long.clone()),
    };
    let qcn = match &raw.qcn {
        None | Some(Short::Short(QcnWord::None)) => None,
        Some(Short::Short(QcnWord::Standard)) => Some(HostQcn::default()),
        Some(Short::Long(long)) => Some(long.clone()),
    };
    ReactionsPlan {
        sfc: sfc.map(|raw| sfc_reaction(cx, &source.key("sfc"), &raw, map)),
        qcn: qcn.map(|raw| reaction_point(cx, &source.key("qcn"), &raw)),
    }
}

fn sfc_reaction(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &HostSfc,
    map: Option<SourceMap>,
) -> SfcReaction {
    let longest_default = PausePolicy::standard().longest;
    SfcReaction {
        udp_port: udp_port(cx, &place.key("sfcmUDPPort"), raw.udp_port, SfcPlan::new().udp_port),
        pause: raw.pause.unwrap_or_default(),
        in_network: match raw.in_network.unwrap_or_default() {
            raw::InNetwork::Pause => InNetwork::Pause,
            raw::InNetwork::Path => {
                let spacing = raw.path_spacing.map_or(PATH_SPACING, |span| span.0);
                let place = place.key("path_spacing");
                InNetwork::Path { spacing: cx.ranged(&place, spacing, SPACING, PATH_SPACING) }
            }
        },
        longest: longest(cx, &place.key("longest"), raw.longest, longest_default),
        max_flow_life: life(
            cx,
            &place.key("sfcMaxFlowLife"),
            raw.max_flow_life,
            SfcPlan::new().max_flow_life,
        ),
        senders: senders(cx, &place.key("accept"), raw.accept.as_ref(), Senders::Anybody),
        map,
    }
}

fn reaction_point(cx: &mut Cx, place: &Place<'_>, raw: &HostQcn) -> ReactionPlan {
    let max_rate = raw.max_rate.map(|r| r.0);
    let mut plan = ReactionPlan { max_rate, ..ReactionPlan::standard() };
    raw.change(cx, place, &mut plan);
    if let Some(max) = plan.max_rate.filter(|max| *max < plan.min_rate) {
        let what = format!("{max} is below `min_rate` ({}); raise it", plan.min_rate);
        cx.error(&place.key("max_rate"), what);
    }
    plan
}
