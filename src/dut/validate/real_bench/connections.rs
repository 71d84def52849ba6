//! Trials with connections between real ports.

use super::actions::Actions;
use super::numbers::Far;
use super::{RealBench, disturbed, linked, resolved, trouble};
use crate::bench::{Acknowledged, Trouble};
use crate::connection;
use crate::otg;
use crate::setup::Setup;
use crate::trial::{Port, Trial};
use ground::time::{Duration, Instant};
use host::FlowId;
use tester::plan::{FlowKind, FlowPlan, Location, Metrics, TestPlan};
use tester::report::Report;

/// Shortest retransmission timeout: Linux's, because a thread that loses its CPU delays acknowledgements by
/// milliseconds.
const TIMEOUT: Duration = Duration::from_millis(200);

/// True if the ports can have connections: acknowledgements may arrive in another queue than their
/// sender's, and the packet numbers that a connection uses of MACsec are not known before.
pub(super) fn possible(setup: &Setup) -> bool {
    let queues = |location: &str| Location::parse(location).map_or(1, |location| location.queues);
    setup.ports.iter().all(|port| port.macsec.is_none() && queues(&port.location) == 1)
}

/// Adds the connections of a trial to its plan, and returns their numbers.
fn add(plan: &mut TestPlan, trial: &Trial, setup: &Setup) -> Vec<FlowId> {
    let start = Instant::ZERO + otg::lead(setup);
    let one = |(n, wanted)| {
        let id = FlowId(plan.flows.len() as u32);
        let transport = connection::transport(wanted, setup, (n, id), (start, TIMEOUT));
        plan.flows.push(FlowPlan {
            name: format!("connection{n}"),
            id,
            tx: wanted.ends.0.0,
            rx: vec![wanted.ends.1.0],
            kind: FlowKind::Roce(Box::new(transport)),
            metrics: Metrics { enable: true, ..Metrics::default() },
            resolve: Vec::new(),
        });
        id
    };
    trial.stateful.iter().enumerate().map(one).collect()
}

impl RealBench {
    /// Runs a trial with connections. Their results are of the time in which they send.
    pub(super) fn connect(
        &mut self,
        trial: &Trial,
    ) -> Result<(Report, Vec<Acknowledged>), Trouble> {
        let setup = self.setup.clone();
        let mut plan = resolved(&otg::counting(trial, &setup, |port: Port| {
            setup.port(port).location.clone()
        }))?;
        let connections = add(&mut plan, trial, &setup);
        self.numbers.secure(&mut plan, trial, (&setup, Far::Device));
        let flows: Vec<_> = plan.flows.iter().map(|flow| flow.id).collect();
        let (session, _) = self.open(plan, trial, Far::Device)?;
        self.warned(&session);
        let watch = self.watch(Far::Device);
        session.start(&flows).map_err(trouble)?;
        let lead = otg::lead(&setup);
        let longest = trial.stateful.iter().map(|of| of.length).max().unwrap_or(Duration::ZERO);
        let mut interrupted = !self.wait(&session, lead + longest, &mut Actions::none())?;
        let senders = session.senders().map_err(trouble)?;
        interrupted =
            interrupted || !self.wait(&session, lead + trial.length, &mut Actions::none())?;
        session.stop(&flows).map_err(trouble)?;
        if interrupted {
            return Err(Trouble::Interrupted);
        }
        let mut report = session.report().map_err(trouble)?;
        report.device = watch.end();
        linked(&report)?;
        if let Some(what) = disturbed(&report) {
            return Err(Trouble::Disturbed(what));
        }
        let of = |id: &FlowId| {
            let sender = senders.iter().find(|sender| sender.id == *id).map(connection::result);
            sender.ok_or_else(|| Trouble::Error("a connection has no sender".to_owned()))
        };
        let acknowledged = connections.iter().map(of).collect::<Result<_, _>>()?;
        Ok((report, acknowledged))
    }
}
