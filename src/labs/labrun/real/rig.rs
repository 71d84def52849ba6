//! Builds a fitted lab: pool, rings, nodes, and the nodes of each thread.

use std::sync::Arc;

use super::error::RealError;
use super::fit::Fit;
use super::node::{Action, Kind, Node, Operation};
use super::poller::{Poller, Stops};
use super::tap::{Moment, Seen};
use super::watch::Watch;
use crate::record::{Captures, Detail, Recorder};
use contracts::port::Secured;
use contracts::world::Alone;
use dpdk::{
    DpdkPort, Eal, Pool, PoolOptions, PortOptions, RingOptions, SourcePort, Started, ciphers,
    ring_pair,
};
use ground::time::Instant;
use ground::units::PortId;
use host::Station;
use secure::{Ciphers, SecyPlan};
use sim::{Direction, FaultKind, LinkId, NetworkError, NodeId, NodeKind};
use switch::{PortPlan, Reconciler, Switch};

/// Free frames in each thread's cache.
const CACHE: u32 = 64;

/// A port of a node, and the direction that ends there.
type Port = (Direction, DpdkPort<Started>);

/// Returns the threads of a lab, ready to run.
pub(super) fn rig(eal: &Eal, fit: &Fit, threads: usize) -> Result<Vec<Poller>, RealError> {
    // Frames in the cache of one thread are not available to the others.
    let frames = fit.frames + (threads as u32 + 1) * CACHE * 3 / 2;
    let options =
        PoolOptions { name: "lab".into(), frames, max_frame: fit.max_frame, cache: CACHE };
    let pool = Pool::new(eal, &options)?;
    let mut ports = ports(eal, fit, &pool)?;
    let ciphers = is_protected(fit).then(|| ciphers(eal)).flatten();
    let ciphers = ciphers.as_ref();
    let places = fit.load.spread(threads);
    let stops = stops(fit);
    let mut pollers: Vec<Poller> =
        (0..threads).map(|_| Poller { nodes: Vec::new(), actions: Vec::new(), stops }).collect();
    for (n, plan) in fit.plan.network.nodes.iter().enumerate() {
        let id = NodeId(n as u32);
        let moment = Arc::new(Moment::new(fit.rings.span));
        let ports: Vec<Port> = core::mem::take(&mut ports[n]).into_iter().flatten().collect();
        let count = ports.len() as u16;
        let name = plan.name().to_owned();
        let kind = match &plan.kind {
            NodeKind::Switch(plan) => {
                let ids = (0..).map_while(PortId::new);
                let tap = |((id, plan), (direction, port)): ((PortId, &PortPlan), Port)| {
                    let port = secured(port, &plan.secy, ciphers, &name)?;
                    Ok((id, Seen::over(port, direction, &moment)))
                };
                let ports = ids.zip(&plan.ports).zip(ports).map(tap);
                let ports = ports.collect::<Result<_, RealError>>()?;
                let recorder = Recorder::new(&fit.plan, Detail::default(), Captures::default());
                let watch = Watch::new(id, recorder);
                Kind::Switch(Box::new(Switch::new(plan, ports, Alone::default(), watch)?))
            }
            NodeKind::Host(plan) => {
                let Some((direction, port)) = ports.into_iter().next() else { continue };
                let port =
                    secured(SourcePort::new(port, pool.clone()), &plan.secy, ciphers, &name)?;
                let port = Seen::over(port, direction, &moment);
                let host = Station::new(plan, port)?;
                host.spares().fill();
                Kind::Host(Box::new(host))
            }
        };
        let reconciler = match &plan.kind {
            NodeKind::Switch(plan) => Reconciler::new(plan).map(Box::new),
            NodeKind::Host(_) => None,
        };
        let stalled_until = Instant::ZERO;
        pollers[places[n]].nodes.push(Node {
            id,
            name,
            kind,
            reconciler,
            ports: count,
            moment,
            stalled_until,
        });
    }
    for action in actions(fit) {
        pollers[places[action.node.index()]].actions.push(action);
    }
    Ok(pollers)
}

/// True if any port has a `SecY`.
fn is_protected(fit: &Fit) -> bool {
    fit.plan.network.nodes.iter().any(|node| match &node.kind {
        NodeKind::Switch(plan) => plan.ports.iter().any(|port| port.secy.is_some()),
        NodeKind::Host(plan) => plan.secy.is_some(),
    })
}

/// Returns a port of a node with its `SecY`, if it has one.
fn secured<P: contracts::port::Port>(
    port: P,
    secy: &Option<Box<SecyPlan>>,
    ciphers: Option<&Arc<dyn Ciphers>>,
    node: &str,
) -> Result<Secured<P>, RealError> {
    let refused = |source| NetworkError::Secy { node: node.to_owned(), source };
    let secured = Secured::with_ciphers(port, secy.as_deref(), ciphers);
    secured.map_err(|error| refused(error).into())
}

/// Returns the ports of all nodes, by node and port, each with its end of a link.
fn ports(eal: &Eal, fit: &Fit, pool: &Pool) -> Result<Vec<Vec<Option<Port>>>, RealError> {
    let network = &fit.plan.network;
    let mut ports: Vec<Vec<Option<Port>>> = Vec::new();
    for node in &network.nodes {
        ports.push((0..node.ports()).map(|_| None).collect());
    }
    let options = PortOptions::default();
    for (n, link) in network.links.iter().enumerate() {
        let (name, entries) = (format!("lab{n}"), fit.rings.entries);
        let (near, far) = ring_pair(eal, &RingOptions { name, entries, queues: 1 })?;
        let id = LinkId(n as u32);
        for (end, arriving, port) in [(link.a, id.ba(), near), (link.b, id.ab(), far)] {
            let started = port.start(&options, pool)?;
            ports[end.node.index()][end.port.index()] = Some((arriving, started));
        }
    }
    Ok(ports)
}

fn stops(fit: &Fit) -> Stops {
    let plan = &fit.plan;
    let end = Instant::ZERO.saturating_add(plan.duration);
    let to = plan.measure_to.map_or(end, |to| Instant::ZERO.saturating_add(to)).min(end);
    Stops { from: Instant::ZERO.saturating_add(plan.measure_from).min(to), to, end }
}

/// Returns the planned actions in reverse order; simultaneous ones are executed in the order of the
/// plan.
fn actions(fit: &Fit) -> Vec<Action> {
    let network = &fit.plan.network;
    let mut actions = Vec::new();
    for fault in &network.faults {
        let at = fault.at;
        match fault.kind {
            FaultKind::Link { link, up } => {
                let link = &network.links[link.index()];
                for end in [link.a, link.b] {
                    let what = Operation::Link { port: end.port, up };
                    actions.push(Action { at, node: end.node, what });
                }
            }
            FaultKind::Stall { node, span } => {
                actions.push(Action { at, node, what: Operation::Stall(span) });
            }
            FaultKind::Change { node, change } => {
                actions.push(Action { at, node, what: Operation::Change(change) });
            }
            // Removed when the lab was fitted.
            FaultKind::Line(..) | FaultKind::Defect { .. } => {}
        }
    }
    actions.sort_by_key(|action| action.at);
    actions.reverse();
    actions
}
