//! Errors of network plans.

use super::ids::LinkId;
use super::plan::NetworkPlan;
use ground::units::PortId;
use host::PlanError;
use secure::SecyError;
use switch::SwitchError;

/// Reason for refusing a network plan.
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
    Secy { node: String, source: SecyError },
    /// A link ends at a port that does not exist.
    #[error("link {link} ends at port {port} of node {node}, which is not there")]
    NoPort { link: String, node: u32, port: PortId },
    /// Two links end at the same port.
    #[error("port {port} of {node} has two links, {link} is the second; a port has one")]
    Twice {
        node: String,
        port: PortId,
        /// Name of the second link.
        link: String,
    },
    /// A port without a link.
    #[error("port {port} of {node} has no link; every port needs one")]
    Open { node: String, port: PortId },
    /// A port that is not shaped to its link.
    #[error("port {port} of {node} is not shaped to link {link}: rate, line and no burst")]
    Line { node: String, port: PortId, link: String },
    /// A clock with an extreme drift.
    #[error("the clock of {0} drifts by half of its rate or more")]
    Clock(String),
    /// A fault of something that does not exist, or to which it does not apply.
    #[error("fault {0}: there is no such link, direction, node or port, or it is no switch")]
    Fault(usize),
}

impl NetworkPlan {
    /// Validates the plan, for a network in any world.
    ///
    /// # Errors
    /// The first problem found.
    pub fn check(&self) -> Result<(), NetworkError> {
        check(self)
    }
}

/// Validates the plan.
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
    match plan.faults.iter().position(|fault| !fault.kind.applies(plan)) {
        Some(n) => Err(NetworkError::Fault(n)),
        None => Ok(()),
    }
}
