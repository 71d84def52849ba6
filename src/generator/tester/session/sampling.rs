//! Reads the counters of stations from the threads that poll them.

use super::board::{Counts, FlowSample, Sample};
use super::poller::{Host, Order, Pace, tapped_port};
use super::reports::merged;
use super::{Inner, Session, SessionError};
use crate::figures::{FlowFigures, Received as ReceivedFigures, Sent as SentFigures};
use crate::plan::FlowPlan;
use crate::report::{Machine, Stamps};
use crossbeam::channel::Sender;
use dpdk::StampQuality;
use ground::time::{Duration, Instant, Total};
use host::{FlowId, StationSnapshot, StreamCounters, StreamState};
use runtime::poll_threads::Answer;

/// Flows whose distributions are read or copied between two rounds of polls: one of a few pages
/// takes about a microsecond, one with all pages 20.
const FLOWS_AT_ONCE: usize = 16;

/// Counters of the flows that a station receives, without distributions.
#[derive(Clone, Debug)]
struct Received {
    at: Instant,
    /// Frames and bytes.
    port: (u64, u64),
    flows: Vec<(FlowId, u64, u64)>,
}

/// Counters of the flows that a station sends.
#[derive(Clone, Debug)]
struct Sent {
    at: Instant,
    port: (u64, u64),
    /// Frames, bytes, and true if the sender has finished.
    flows: Vec<(FlowId, u64, u64, bool)>,
}

impl Received {
    fn of(host: &Host, at: Instant) -> Self {
        let [.., frames, bytes] = host.counters().of_flows();
        let sinks = host.sinks().map(|s| (s.id, s.frames, s.bytes));
        let control = host.control_counters().map(|c| (c.id, c.frames, c.bytes));
        Self { at, port: (frames, bytes), flows: sinks.chain(control).collect() }
    }
}

impl Sent {
    fn of(host: &Host, at: Instant) -> Self {
        let [frames, bytes, ..] = host.counters().of_flows();
        let over = |s: &StreamCounters| matches!(s.state, StreamState::Stopped | StreamState::Done);
        let streams = host.streams().map(|s| (s.id, s.frames, s.bytes, over(s)));
        let senders = host.senders().map(|s| (s.id, s.frames, s.bytes, s.done));
        Self { at, port: (frames, bytes), flows: streams.chain(senders).collect() }
    }
}

impl Inner {
    /// Executes an operation on a queue's station by its thread, and waits for the result.
    pub(super) fn at<T: Send + 'static>(
        &self,
        queue: usize,
        operation: impl FnOnce(&mut Host, Instant) -> T + Send + 'static,
    ) -> Result<T, SessionError> {
        Ok(self.pollers.wait(&self.send(queue, operation)?)?)
    }

    /// The same on several stations in parallel.
    pub(super) fn at_all<T: Send + 'static>(
        &self,
        queues: impl IntoIterator<Item = usize>,
        operation: impl FnOnce(usize, &mut Host, Instant) -> T + Clone + Send + 'static,
    ) -> Result<Vec<T>, SessionError> {
        let send = |queue| {
            let operation = operation.clone();
            self.send(queue, move |host: &mut Host, now| operation(queue, host, now))
        };
        let answers = queues.into_iter().map(send).collect::<Result<Vec<_>, _>>()?;
        answers.iter().map(|answer| Ok(self.pollers.wait(answer)?)).collect()
    }

    fn send<T: Send + 'static>(
        &self,
        queue: usize,
        operation: impl FnOnce(&mut Host, Instant) -> T + Send + 'static,
    ) -> Result<Answer<T>, SessionError> {
        let (thread, place) = self.places[queue];
        let order = |answer: Sender<T>| {
            let operation = Box::new(move |host: &mut Host, now: Instant| {
                let _ = answer.try_send(operation(host, now));
            });
            Order::Do(place, operation)
        };
        Ok(self.pollers.ask(thread, order)?)
    }

    pub(super) fn all_queues(&self) -> core::ops::Range<usize> {
        0..self.queues.len()
    }

    pub(super) fn all_ports(&self) -> core::ops::Range<usize> {
        0..self.plan.ports.len()
    }

    /// Returns the simple counters of all ports and flows. Receive counters are read first, so
    /// that they never exceed the transmit counters.
    pub(super) fn sample(&self) -> Result<Sample, SessionError> {
        let at = self.shared.time.now();
        let received = self.at_all(self.all_queues(), |_, host, now| Received::of(host, now))?;
        let sent = self.at_all(self.all_queues(), |_, host, now| Sent::of(host, now))?;
        let mut flows: Vec<FlowSample> = self.plan.flows.iter().map(FlowSample::of).collect();
        for port in &sent {
            for (id, frames, bytes, ended) in &port.flows {
                let flow = &mut flows[id.0 as usize];
                (flow.tally.tx, flow.ended, flow.at.0) = ((*frames, *bytes), *ended, port.at);
            }
        }
        for (n, queue) in received.iter().enumerate() {
            let port = self.queues.at(n).0;
            for (id, frames, bytes) in &queue.flows {
                let place = self.plan.flows[id.0 as usize].rx.iter().position(|rx| *rx == port);
                // Frames that are flooded also come to ports that the flow does not name.
                let Some(place) = place else { continue };
                let flow = &mut flows[id.0 as usize];
                let tally = &mut flow.tally.rx[place];
                // Each queue of a port may have received some of them.
                *tally = (tally.0 + frames, tally.1 + bytes);
                flow.at.1 = flow.at.1.max(queue.at);
            }
        }
        for flow in &mut flows {
            // At each receiver: a flooded frame arrives at all of them.
            flow.all_arrived = flow.tally.rx.iter().all(|rx| rx.0 >= flow.tally.tx.0);
        }
        let queue = |(sent, received): (&Sent, &Received)| Counts {
            at: (sent.at, received.at),
            counts: [sent.port.0, sent.port.1, received.port.0, received.port.1],
        };
        let queues = sent.iter().zip(&received).map(queue).collect();
        let ports = self.queues.by_port(queues, Counts::sum);
        Ok(Sample { at, ports, flows })
    }

    /// Returns all counters of all ports, without those of flows whose distributions are
    /// expensive to copy.
    pub(super) fn stations(&self) -> Result<Vec<StationSnapshot>, SessionError> {
        let queues = self.at_all(self.all_queues(), |_, host, now| host.snapshot_light(now))?;
        Ok(self.queues.by_port(queues, merged))
    }

    /// Returns the figures of these flows, by their indices in the plan, with distributions for
    /// flows that measure latency if `distributions`. A few flows are read at a time, so that no
    /// poll is late.
    pub(super) fn figures(
        &self,
        which: &[usize],
        distributions: bool,
    ) -> Result<Vec<FlowFigures>, SessionError> {
        let flows: Vec<&FlowPlan> = which.iter().map(|n| &self.plan.flows[*n]).collect();
        // Percentiles of several receivers need their distributions.
        let receivers = |flow: &FlowPlan| {
            flow.rx.iter().map(|rx| self.queues.of_port(*rx).len()).sum::<usize>()
        };
        let copied = |flow: &FlowPlan| {
            flow.metrics.latency.is_some() && (distributions || receivers(flow) > 1)
        };
        let of = |is: &dyn Fn(&FlowPlan) -> bool| -> Vec<(usize, (FlowId, bool))> {
            let those = flows.iter().enumerate().filter(|(_, flow)| is(flow));
            those.map(|(n, flow)| (n, (flow.id, copied(flow)))).collect()
        };
        // All orders are sent before the first reply is awaited: a thread that waits for each of
        // a thousand replies is woken a thousand times, each time after the polling threads.
        let mut orders = Vec::with_capacity(self.places.len());
        for queue in self.all_queues() {
            let port = self.queues.at(queue).0;
            let sends = |f: &FlowPlan| self.queues.sender(f.id.0 as usize) == queue;
            let (sent, received) = (of(&sends), of(&|f| f.rx.contains(&port)));
            let senders =
                self.parts(queue, &sent, |host, (id, _)| host.stream(id).map(SentFigures::of))?;
            let receivers = self.parts(queue, &received, |host, (id, copied)| {
                let sink = host.sink(id)?;
                Some((ReceivedFigures::of(sink), copied.then(|| sink.latency.clone())))
            })?;
            orders.push(((sent, senders), (received, receivers)));
        }
        let mut figures = vec![FlowFigures::default(); which.len()];
        for ((sent, senders), (received, receivers)) in &orders {
            for ((n, _), part) in sent.iter().zip(self.answers(senders)?) {
                figures[*n].sent = part;
            }
            for ((n, _), part) in received.iter().zip(self.answers(receivers)?) {
                if let Some((received, latency)) = part {
                    figures[*n].add(&received, latency);
                }
            }
        }
        Ok(figures)
    }

    /// Sends orders to read these flows of a station, a few at a time.
    fn parts<T: Send + 'static>(
        &self,
        queue: usize,
        flows: &[(usize, (FlowId, bool))],
        of: fn(&Host, (FlowId, bool)) -> Option<T>,
    ) -> Result<Vec<Answer<Vec<Option<T>>>>, SessionError> {
        let order = |some: &[(usize, (FlowId, bool))]| {
            let some: Vec<_> = some.iter().map(|(_, flow)| *flow).collect();
            let take = move |host: &mut Host, _| -> Vec<Option<T>> {
                some.iter().map(|flow| of(host, *flow)).collect()
            };
            self.send(queue, take)
        };
        flows.chunks(FLOWS_AT_ONCE).map(order).collect()
    }

    /// Waits for the replies; there is one for each flow.
    fn answers<T>(&self, answers: &[Answer<Vec<T>>]) -> Result<Vec<T>, SessionError> {
        let mut all = Vec::with_capacity(answers.len() * FLOWS_AT_ONCE);
        for answer in answers {
            all.extend(self.pollers.wait(answer)?);
        }
        Ok(all)
    }

    /// Returns the poll gaps of each thread.
    pub(super) fn paces(&self) -> Result<Vec<Pace>, SessionError> {
        Ok(self.pollers.all(Order::Show)?)
    }

    /// Returns the disturbance by the machine since the last start of flows. For a synced clock,
    /// the preempted time of the threads is the excluded time.
    pub(super) fn machine(&self, paces: &[Pace]) -> Machine {
        let ns = Total::as_nanos_f64;
        let (found, excluded) =
            (self.pollers.preemption().disturbance(), self.shared.time.is_synced());
        let stalled = paces.iter().map(|pace| pace.stalled).max().filter(|_| excluded);
        Machine {
            preempted_ns: ns(stalled.unwrap_or(Total::ZERO).max(found.preempted)),
            longest_gap_ns: ns(found.longest.into()),
            excluded,
        }
    }

    /// Returns the names of the ports of the thread that was preempted most since the last start of flows.
    pub(super) fn preempted_ports(&self) -> Vec<String> {
        let thread = self.pollers.preemption().disturbance().thread;
        let here = self.all_queues().filter(|queue| self.places[*queue].0 == thread);
        here.map(|queue| self.queues.name(&self.plan, queue)).collect()
    }

    /// Returns the precision of timestamps. A timestamp is the time of a poll at either end, or
    /// the device's if all ports' devices timestamp received frames.
    pub(super) fn stamps(&self, paces: &[Pace]) -> Result<Stamps, SessionError> {
        let ns = Duration::as_nanos_f64;
        let poll = paces.iter().map(|pace| pace.gaps.percentile(99.0)).max();
        let poll = ns(poll.unwrap_or(Duration::ZERO));
        let own = ns(self.shared.time.resolution());
        let quality = |_, host: &mut Host, _| tapped_port(host).port.port_mut().stamp_quality();
        let devices: Option<Vec<_>> =
            self.at_all(self.all_queues(), quality)?.into_iter().collect();
        let Some(devices) = devices.filter(|all| !all.is_empty()) else {
            // Either end may be late by the time of a poll.
            return Ok(Stamps { source: "tsc", resolution_ns: own, uncertainty_ns: 2.0 * poll });
        };
        let worst = |of: fn(&StampQuality) -> Duration| devices.iter().map(of).max();
        let resolution = ns(worst(|q| q.resolution).unwrap_or(Duration::ZERO));
        let uncertainty = ns(worst(|q| q.uncertainty).unwrap_or(Duration::ZERO));
        Ok(Stamps {
            source: "nic",
            resolution_ns: own.max(resolution),
            // The sender's time is that of a poll, the receiver's the device's.
            uncertainty_ns: poll + uncertainty,
        })
    }

    /// Synchronises devices that timestamp with the test's clock again.
    pub(super) fn refresh_stamps(&self) -> Result<(), SessionError> {
        let refresh = |_, host: &mut Host, _| {
            let port = tapped_port(host).port.port_mut();
            port.stamp_quality().is_some().then(|| port.refresh_stamps())
        };
        let done = self.at_all(self.all_queues(), refresh)?;
        for why in done.into_iter().flatten().filter_map(Result::err) {
            self.board().warn(format!("a device's clock could not be read again: {why}"));
        }
        Ok(())
    }
}

impl Session {
    /// Returns the source and the precision of timestamps.
    ///
    /// # Errors
    /// [`SessionError::Gone`].
    pub fn stamps(&self) -> Result<Stamps, SessionError> {
        self.inner.stamps(&self.inner.paces()?)
    }
}
