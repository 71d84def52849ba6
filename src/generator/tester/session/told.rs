//! Reports of a running test.

use super::board::FlowState;
use super::links::Link;
use super::{Inner, Session, SessionError, lock};
use crate::report::Report;
use crate::seen::{FlowSeen, PortSeen, Rates, Seen, Transmit};
use crate::tally::report;
use host::SenderCounters;
use host::plan::stream::StreamPlan;

impl Session {
    /// Returns deviations from the configuration, and what the polling threads lack.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let inner = &self.inner;
        inner.warnings.iter().cloned().chain(inner.shared.cores.refusal()).collect()
    }

    /// Returns the counters of the senders of all connections.
    ///
    /// # Errors
    /// [`SessionError::Gone`].
    pub fn senders(&self) -> Result<Vec<SenderCounters>, SessionError> {
        Ok(self.inner.stations()?.into_iter().flat_map(|station| station.senders).collect())
    }

    /// Returns a report with the latency distributions.
    ///
    /// # Errors
    /// [`SessionError::Gone`].
    pub fn report(&self) -> Result<Report, SessionError> {
        self.report_of(None, true)
    }

    /// Returns a report of all ports and of some flows, by their indices in the plan and in this
    /// order; with distributions if requested.
    ///
    /// # Errors
    /// [`SessionError::Gone`].
    pub fn report_of(
        &self,
        which: Option<&[usize]>,
        distributions: bool,
    ) -> Result<Report, SessionError> {
        let inner = &*self.inner;
        inner.look_around()?;
        // Read before the counters, so that the counters of a stopped flow are complete.
        let (phases, epoch, rates) = {
            let board = inner.board();
            (board.flows.clone(), board.epoch, board.rates())
        };
        let all: Vec<usize> = (0..phases.len()).collect();
        let which = which.unwrap_or(&all);
        let (stations, paces) = (inner.stations()?, inner.paces()?);
        let figures = inner.figures(which, distributions)?;
        let mut sample = inner.sample()?;
        let tallies = which.iter().map(|n| core::mem::take(&mut sample.flows[*n].tally));
        let counted = tallies.zip(figures).collect();
        let now = inner.shared.time.now();
        let mut warnings = self.warnings();
        warnings.extend(inner.board().warnings.iter().cloned());
        let flows = which.iter().map(|n| FlowSeen {
            plan: &inner.plan.flows[*n],
            changed: phases[*n].changed.as_ref().map(|(stream, _)| -> &StreamPlan { stream }),
            transmit: phases[*n].transmit.shown(),
            started: phases[*n].started,
            rates: rate(&rates.1, *n),
        });
        let seen = Seen {
            plan: &inner.plan.ports,
            world: "real",
            stamps: inner.stamps(&paces)?,
            elapsed: epoch.map(|epoch| now.total_since(epoch.min(now))),
            stations: &stations,
            counted: Some(counted),
            ports: &inner.ports_seen(&rates.0)?,
            flows: &flows.collect::<Vec<_>>(),
            warnings,
            machine: Some(inner.machine(&paces)),
        };
        let mut report = report(seen);
        report.preempted_ports = inner.preempted_ports();
        for (flow, n) in report.flows.iter_mut().zip(which) {
            // A rate that was updated during the run cannot be compared with the achieved one.
            if phases[*n].changed.as_ref().is_some_and(|(_, since_start)| *since_start) {
                flow.pacing = None;
            }
        }
        for (n, port) in report.ports.iter_mut().enumerate() {
            // From the sample of the flows, so that counters of flows and ports agree.
            let [frames_tx, bytes_tx, frames_rx, bytes_rx] = sample.ports[n].counts;
            (port.frames_tx, port.bytes_tx) = (frames_tx, bytes_tx);
            (port.frames_rx, port.bytes_rx) = (frames_rx, bytes_rx);
            port.transmitting = inner.sends(&phases, n);
        }
        Ok(report)
    }
}

fn rate(of: &[Rates], n: usize) -> Rates {
    of.get(n).copied().unwrap_or_default()
}

impl Inner {
    /// Returns the state of the ports beside the counters of their stations.
    fn ports_seen(&self, rates: &[Rates]) -> Result<Vec<PortSeen>, SessionError> {
        let captures = self.capture_counters()?;
        let links = lock(&self.links);
        let seen = self.all_ports().map(|n| PortSeen {
            link_up: links.get(n).is_some_and(Link::is_up),
            speed: self.rates[n],
            capture: (captures[n].0, captures[n].1.captured, captures[n].1.missed),
            rates: rate(rates, n),
            rx_room: self.rx_room.get(n).copied(),
            nic: links.get(n).map(Link::lost).unwrap_or_default(),
        });
        Ok(seen.collect())
    }

    /// True if a port sends one of its flows.
    fn sends(&self, phases: &[FlowState], port: usize) -> bool {
        let started = |phase: &FlowState| phase.transmit.shown() == Transmit::Started;
        self.plan.flows.iter().zip(phases).any(|(flow, phase)| flow.tx == port && started(phase))
    }
}
