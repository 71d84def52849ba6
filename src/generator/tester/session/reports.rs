//! Reports of a running test, and the counters of a port from those of its queues.

use super::board::FlowState;
use super::links::Link;
use super::{Inner, Session, SessionError, lock};
use crate::figures::{FlowSeen, PortSeen, Rates, Seen, Transmit};
use crate::report::Report;
use crate::tally::report;
use ground::units::PRIORITIES;
use host::meter::{MessageCounters, Reactions};
use host::plan::stream::StreamPlan;
use host::{
    ControlCounters, MeterCounters, PauseTimes, SenderCounters, StationCounters, StationSnapshot,
};

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
        inner.take_sample()?;
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

/// Returns the counters of a port, without those of single flows. A pause is counted in the queue in
/// which it arrived, and held all of them; its times are those of the queue in which they are longest.
/// Reactions of the peer to pauses of a port with several queues are not measured.
///
/// # Panics
/// There is no queue.
pub(super) fn merged(mut queues: Vec<StationSnapshot>) -> StationSnapshot {
    let mut port = queues.remove(0);
    if queues.is_empty() {
        return port;
    }
    for queue in &queues {
        add(&mut port.counters, &queue.counters);
    }
    port.meter = port.meter.take().map(|first| {
        let others = queues.iter().filter_map(|queue| queue.meter.as_ref());
        meter(first, &others.collect::<Vec<_>>())
    });
    port
}

fn add(port: &mut StationCounters, queue: &StationCounters) {
    port.rx_frames += queue.rx_frames;
    port.tx_frames += queue.tx_frames;
    port.rx_bytes += queue.rx_bytes;
    port.tx_bytes += queue.tx_bytes;
    port.rx_own_frames += queue.rx_own_frames;
    port.rx_own_bytes += queue.rx_own_bytes;
    port.tx_own_frames += queue.tx_own_frames;
    port.tx_own_bytes += queue.tx_own_bytes;
    port.pauses_received += queue.pauses_received;
    port.pauses_sent += queue.pauses_sent;
    port.malformed += queue.malformed;
    port.foreign += queue.foreign;
    port.unexpected += queue.unexpected;
    port.other_runs += queue.other_runs;
    port.flushed += queue.flushed;
    for (all, own) in port.priorities.iter_mut().zip(&queue.priorities) {
        all.received += own.received;
        all.obeyed += own.obeyed;
        all.is_paused |= own.is_paused;
        // A pause holds all queues, so each has counted the same.
        all.transitions = all.transitions.max(own.transitions);
        all.paused = all.paused.max(own.paused);
        all.sent += own.sent;
    }
}

fn meter(mut port: MeterCounters, others: &[&MeterCounters]) -> MeterCounters {
    for queue in others {
        for p in 0..PRIORITIES {
            times(&mut port.received[p], &queue.received[p]);
            times(&mut port.sent[p], &queue.sent[p]);
        }
        port.malformed_sent += queue.malformed_sent;
        messages(&mut port.messages, &queue.messages);
        for (all, own) in port.control.iter_mut().zip(&queue.control) {
            control(all, own);
        }
    }
    for p in 0..PRIORITIES {
        port.reactions[p] = Reactions::default();
        port.messages.reactions = Reactions::default();
        (port.sent[p].last_frame, port.sent[p].first_frame) = (None, None);
    }
    port
}

/// Adds the messages that a queue sent. Ports with several queues obey none.
fn messages(port: &mut MessageCounters, queue: &MessageCounters) {
    port.sent += queue.sent;
    port.requested += queue.requested;
    port.told.extend(&queue.told);
    port.told.sort_by_key(|told| told.at);
    port.begun.extend(&queue.begun);
    port.begun.sort_by_key(|begun| begun.at);
}

/// Adds the pauses of a queue. What is about their sequence is that of the queue with most of them.
fn times(port: &mut PauseTimes, queue: &PauseTimes) {
    let frames = |of: &PauseTimes| of.pauses + of.resumes;
    let most = if frames(queue) > frames(port) { *queue } else { *port };
    *port = PauseTimes {
        pauses: port.pauses + queue.pauses,
        resumes: port.resumes + queue.resumes,
        requested: port.requested.max(queue.requested),
        last: port.last.max(queue.last),
        last_frame: port.last_frame.max(queue.last_frame),
        // The first frame of all queues is no later than that of one.
        first_frame: [port.first_frame, queue.first_frame].into_iter().flatten().min(),
        ..most
    };
}

fn control(port: &mut ControlCounters, queue: &ControlCounters) {
    port.frames += queue.frames;
    port.bytes += queue.bytes;
    let first = [port.first_arrival, queue.first_arrival];
    port.first_arrival = first.into_iter().flatten().min();
    port.last_arrival = port.last_arrival.max(queue.last_arrival);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ground::time::{Duration, Instant, Total};
    use host::FlowId;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    /// A queue's counters: frames, and pauses that arrived in it.
    fn queue(
        frames: u64,
        pauses: u64,
        paused_us: u64,
        last_us: u64,
    ) -> (StationCounters, MeterCounters) {
        let mut counters =
            StationCounters { rx_frames: frames, tx_frames: 2 * frames, ..Default::default() };
        let own = &mut counters.priorities[3];
        (own.received, own.transitions, own.paused) =
            (pauses, 1, Total::from_nanos(1_000 * paused_us));
        let mut meter = MeterCounters::default();
        meter.received[3] = PauseTimes {
            pauses,
            gap_max: Some(Duration::from_micros(10 - pauses)),
            last_frame: Some(Duration::from_micros(last_us)),
            ..PauseTimes::default()
        };
        meter.sent[3].first_frame = Some(Duration::ZERO);
        meter.control = vec![ControlCounters {
            id: FlowId(1),
            frames,
            bytes: 64 * frames,
            first_arrival: Some(at(frames)),
            last_arrival: Some(at(100 + frames)),
        }];
        (counters, meter)
    }

    #[test]
    fn frames_are_added_and_the_longest_pause_is_the_ports() {
        let ((mut sum, first), (second, other)) = (queue(5, 0, 40, 3), queue(7, 2, 39, 4));
        add(&mut sum, &second);
        assert_eq!((sum.rx_frames, sum.tx_frames), (12, 24));
        let three = &sum.priorities[3];
        assert_eq!(
            (three.received, three.transitions, three.paused.as_nanos_f64()),
            (2, 1, 40_000.0)
        );
        let port = meter(first, &[&other]);
        let received = &port.received[3];
        // Both queues obeyed the pauses, one of which got them.
        assert_eq!((received.pauses, received.gap_max), (2, Some(Duration::from_micros(8))));
        assert_eq!(received.last_frame, Some(Duration::from_micros(4)));
        assert_eq!((port.sent[3].first_frame, port.reactions[3]), (None, Reactions::default()));
        let control = port.control[0];
        assert_eq!((control.frames, control.bytes), (12, 768));
        assert_eq!((control.first_arrival, control.last_arrival), (Some(at(5)), Some(at(107))));
    }
}
