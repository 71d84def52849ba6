//! Counts as a report.

use super::board::FlowState;
use super::links::Link;
use super::{Inner, Session, SessionError, lock};
use crate::tester::plan::{FlowKind, FlowPlan, TestPlan};
use crate::tester::report::Report;
use crate::tester::tally::{FlowSeen, PortSeen, Rates, Seen, Transmit, report};

impl Session {
    /// Counts until now.
    ///
    /// # Errors
    /// [`SessionError::Gone`].
    pub fn report(&self) -> Result<Report, SessionError> {
        self.report_of(None)
    }

    /// The same of all ports and of some flows alone, by their places in the plan, in this order.
    ///
    /// # Errors
    /// [`SessionError::Gone`].
    pub fn report_of(&self, which: Option<&[usize]>) -> Result<Report, SessionError> {
        let inner = &*self.inner;
        inner.look_around()?;
        // Before anything is counted: what has stopped by now is counted whole.
        let (phases, epoch, rates) = {
            let board = inner.board();
            (board.flows.clone(), board.epoch, board.rates())
        };
        let all: Vec<usize> = (0..phases.len()).collect();
        let which = which.unwrap_or(&all);
        let plan = inner.plan_of(&phases, which);
        let (stations, paces) = (inner.snapshots(&plan.flows)?, inner.paces()?);
        let captures = inner.capture_counters()?;
        let mut sample = inner.sample()?;
        let tallies = which.iter().map(|n| core::mem::take(&mut sample.flows[*n].tally));
        let now = inner.shared.time.now();
        let mut warnings = inner.warnings.clone();
        warnings.extend(inner.board().warnings.iter().cloned());
        let links = lock(&inner.links);
        let rate = |of: &[Rates], n: usize| of.get(n).copied().unwrap_or_default();
        let ports = inner.all_ports().map(|n| PortSeen {
            link_up: links.get(n).is_some_and(Link::is_up),
            speed: inner.rates[n],
            capture: (captures[n].0, captures[n].1.captured, captures[n].1.missed),
            rates: rate(&rates.0, n),
            rx_room: inner.rx_room.get(n).copied(),
        });
        let flows = which.iter().map(|n| FlowSeen {
            transmit: phases[*n].transmit.shown(),
            started: phases[*n].started,
            rates: rate(&rates.1, *n),
        });
        let seen = Seen {
            plan: &plan,
            world: "real",
            stamps: inner.stamps(&paces)?,
            elapsed: epoch.map(|epoch| now.since(epoch.min(now))),
            stations: &stations,
            tallies: Some(tallies.collect()),
            ports: &ports.collect::<Vec<_>>(),
            flows: &flows.collect::<Vec<_>>(),
            warnings,
            machine: Some(inner.machine(&paces)),
        };
        let mut report = report(seen);
        for (flow, n) in report.flows.iter_mut().zip(which) {
            // A pace that was changed under way is none that could have been kept.
            if phases[*n].changed.as_ref().is_some_and(|(_, since_start)| *since_start) {
                flow.pacing = None;
            }
        }
        for (n, port) in report.ports.iter_mut().enumerate() {
            // Counted with the flows, so that what they say and what ports say agrees.
            let [frames_tx, bytes_tx, frames_rx, bytes_rx] = sample.ports[n].counts;
            (port.frames_tx, port.bytes_tx) = (frames_tx, bytes_tx);
            (port.frames_rx, port.bytes_rx) = (frames_rx, bytes_rx);
            let sends = |(flow, state): (&FlowPlan, &FlowState)| {
                flow.tx == n && state.transmit.shown() == Transmit::Started
            };
            port.transmitting = inner.plan.flows.iter().zip(&phases).any(sends);
        }
        Ok(report)
    }
}

impl Inner {
    /// The test with these flows alone, as they were last changed.
    fn plan_of(&self, phases: &[FlowState], which: &[usize]) -> TestPlan {
        let flow = |n: &usize| {
            let mut flow = self.plan.flows[*n].clone();
            if let Some((stream, _)) = &phases[*n].changed {
                flow.kind = FlowKind::Stream(stream.clone());
            }
            flow
        };
        let (ports, flows) = (self.plan.ports.clone(), which.iter().map(flow).collect());
        TestPlan { ports, flows, run: self.plan.run }
    }
}
