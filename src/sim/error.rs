//! What can be wrong with a plan of a network.

use super::plan::{Direction, Fault, FaultKind, LinkId, NetworkPlan, NodeId, NodeKind};
use crate::host::PlanError;
use crate::secure::SecyError;
use crate::switch::SwitchError;
use crate::units::PortId;

/// Why a network cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// A switch's plan contradicts itself.
    #[error(transparent)]
    Switch(#[from] SwitchError),
    /// A host's plan contradicts itself.
    #[error(transparent)]
    Host(#[from] PlanError),
    /// The plan of a port's `SecY` contradicts itself.
    #[error("the SecY of {node}: {source}")]
    Secy {
        /// The node's name.
        node: String,
        /// What is wrong.
        source: SecyError,
    },
    /// A link ends where nothing is.
    #[error("link {link} ends at port {port} of node {node}, which is not there")]
    NoPort {
        /// The link's name.
        link: String,
        /// The node's number.
        node: u32,
        /// The port.
        port: PortId,
    },
    /// Two links end at the same port.
    #[error("port {port} of {node} has two links, {link} is the second; a port has one")]
    Twice {
        /// The node's name.
        node: String,
        /// The port.
        port: PortId,
        /// The second link's name.
        link: String,
    },
    /// A port without a link.
    #[error("port {port} of {node} has no link; every port needs one")]
    Open {
        /// The node's name.
        node: String,
        /// The port.
        port: PortId,
    },
    /// A port that would not keep to its link.
    #[error("port {port} of {node} is not shaped to link {link}: rate, line and no burst")]
    Line {
        /// The node's name.
        node: String,
        /// The port.
        port: PortId,
        /// The link's name.
        link: String,
    },
    /// A clock that would stand still or run away.
    #[error("the clock of {0} drifts by half of its rate or more")]
    Clock(String),
    /// A fault of something that is not there, or that does not apply to it.
    #[error("fault {0}: there is no such link, direction or node, or it is no switch")]
    Fault(usize),
}

impl NetworkPlan {
    /// Whether the plan fits together, so that a network can be built of it in any world.
    ///
    /// # Errors
    /// The first thing that does not.
    pub fn check(&self) -> Result<(), NetworkError> {
        check(self)
    }
}

/// Whether a network can be built of the plan.
fn check(plan: &NetworkPlan) -> Result<(), NetworkError> {
    let mut linked: Vec<Vec<bool>> = plan.nodes.iter().map(|n| vec![false; n.ports()]).collect();
    for (n, link) in plan.links.iter().enumerate() {
        for direction in [LinkId(n as u32).ab(), LinkId(n as u32).ba()] {
            let end = link.from(direction);
            let node = plan.nodes.get(end.node.index());
            let found = node.and_then(|node| Some((node, node.line(end.port)?)));
            let Some((node, (rate, line, exact))) = found else {
                let (link, node, port) = (link.name.clone(), end.node.0, end.port);
                return Err(NetworkError::NoPort { link, node, port });
            };
            let (link_name, name) = (link.name.clone(), node.name().to_owned());
            if !exact || rate != link.rate || line != link.line {
                return Err(NetworkError::Line { node: name, port: end.port, link: link_name });
            }
            let linked = &mut linked[end.node.index()][end.port.index()];
            if core::mem::replace(linked, true) {
                return Err(NetworkError::Twice { node: name, port: end.port, link: link_name });
            }
        }
    }
    for (node, linked) in plan.nodes.iter().zip(&linked) {
        if let Some(port) = linked.iter().position(|l| !l) {
            let port = PortId::new(port as u16).expect("a switch has no more ports than ids");
            return Err(NetworkError::Open { node: node.name().to_owned(), port });
        }
        if node.clock.drift_ppb.unsigned_abs() >= 500_000_000 {
            return Err(NetworkError::Clock(node.name().to_owned()));
        }
    }
    match plan.faults.iter().position(|fault| !applies(plan, fault)) {
        Some(n) => Err(NetworkError::Fault(n)),
        None => Ok(()),
    }
}

/// Octets that the shortest frame has without its FCS (802.3 3.2.8).
const FORGED_MIN: usize = 60;

fn applies(plan: &NetworkPlan, fault: &Fault) -> bool {
    let link = |LinkId(n)| (n as usize) < plan.links.len();
    let direction = |d: Direction| link(d.link());
    let node = |NodeId(n)| plan.nodes.get(n as usize);
    match fault.kind {
        FaultKind::Link { link: id, .. } => link(id),
        FaultKind::Lose { direction: d, .. }
        | FaultKind::Errors { direction: d, .. }
        | FaultKind::Replay { direction: d, .. } => direction(d),
        FaultKind::Forge { direction: d, ref octets } => direction(d) && octets.len() >= FORGED_MIN,
        FaultKind::Stall { node: id, .. } => node(id).is_some(),
        FaultKind::Change { node: id, .. } => {
            node(id).is_some_and(|node| matches!(node.kind, NodeKind::Switch(_)))
        }
    }
}
