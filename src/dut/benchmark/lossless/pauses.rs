//! Pauses by port and priority.

use serde::Serialize;

use crate::plan::Plan;
use crate::trial::{Counted, Pauses};

/// Pauses of a priority that a port of the tester received in a trial.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PauseRow {
    /// Frame size in bytes, FCS included.
    pub size: u32,
    pub port: String,
    pub priority: u8,
    /// Received pauses, those that renew another included.
    pub received: u64,
    /// Received frames that end a pause (XON).
    pub resumes: u64,
    /// Transitions from running to paused.
    pub pauses: u64,
    /// Time in which the priority was paused, in percent of the trial.
    pub paused_percent: f64,
}

/// Returns the pauses of all senders in their own priority, and all others that any port received.
pub(super) fn rows(plan: &Plan, size: u32, counted: &Counted) -> Vec<PauseRow> {
    let row = |port: usize, priority: ground::units::Priority, pauses: &Pauses| PauseRow {
        size,
        port: plan.setup.ports[port].name.clone(),
        priority: priority.get(),
        received: pauses.received,
        resumes: pauses.resumes,
        pauses: pauses.pauses,
        paused_percent: pauses.paused_ns / (plan.trial.as_secs_f64() * 1e9) * 100.0,
    };
    let senders = plan.equal_ports() - 1;
    let own = counted.pauses.iter().enumerate();
    let own = own.filter(|(n, of)| *n < senders || **of != Pauses::default());
    let own = own.map(|(n, of)| row(n, plan.priority, of));
    own.chain(counted.others.iter().map(|(n, priority, of)| row(*n, *priority, of))).collect()
}
