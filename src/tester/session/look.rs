//! What stations counted, asked of the threads that poll them.

use std::borrow::Cow;
use std::time::Duration as StdDuration;

use crossbeam::channel::{self, Receiver, RecvTimeoutError, SendTimeoutError, Sender};

use super::board::{FlowSample, Sample};
use super::crew::{Host, Order, Pace};
use super::links::Link;
use super::{Inner, Session, SessionError, lock};
use crate::dpdk::StampQuality;
use crate::host::{FlowId, StationSnapshot, StreamCounters, StreamState};
use crate::runtime::{Patience, SLICE};
use crate::tester::plan::FlowKind;
use crate::tester::report::{Machine, Report, Stamps};
use crate::tester::tally::{FlowSeen, FlowTally, PortSeen, Rates, Seen, report};
use crate::time::{Duration, Instant};

/// How long a thread may take to answer while it has its processor. A choice: a thousand times what
/// the slowest answer takes.
const PATIENCE: StdDuration = StdDuration::from_secs(5);

/// How many flows' distributions are copied between two rounds of polls: each takes some 20 us.
const FLOWS_AT_ONCE: usize = 4;

/// What a station counted of all its flows, without distributions.
#[derive(Clone, Debug, Default)]
struct Light {
    port: [u64; 4],
    /// Frames, octets, and whether nothing more is sent.
    sent: Vec<(FlowId, u64, u64, bool)>,
    /// Frames and octets.
    received: Vec<(FlowId, u64, u64)>,
}

impl Light {
    fn of(host: &Host) -> Self {
        let c = host.counters();
        let over = |s: &StreamCounters| matches!(s.state, StreamState::Stopped | StreamState::Done);
        let streams = host.streams().map(|s| (s.id, s.frames, s.bytes, over(s)));
        let senders = host.senders().map(|s| (s.id, s.frames, s.bytes, s.done));
        let sinks = host.sinks().map(|s| (s.id, s.frames, s.bytes));
        let control = host.control_counters().map(|c| (c.id, c.frames, c.bytes));
        Self {
            port: [c.tx_frames, c.tx_bytes, c.rx_frames, c.rx_bytes],
            sent: streams.chain(senders).collect(),
            received: sinks.chain(control).collect(),
        }
    }
}

impl Inner {
    /// Lets a station's thread do something to it, and waits for what comes of it.
    pub(super) fn at<T: Send + 'static>(
        &self,
        port: usize,
        deed: impl FnOnce(&mut Host, Instant) -> T + Send + 'static,
    ) -> Result<T, SessionError> {
        self.wait(&self.send(port, deed)?)
    }

    /// The same at several stations, at once rather than one after the other.
    pub(super) fn at_all<T: Send + 'static>(
        &self,
        ports: impl IntoIterator<Item = usize>,
        deed: impl FnOnce(usize, &mut Host, Instant) -> T + Clone + Send + 'static,
    ) -> Result<Vec<T>, SessionError> {
        let send = |port| {
            let deed = deed.clone();
            self.send(port, move |host: &mut Host, now| deed(port, host, now))
        };
        let answers = ports.into_iter().map(send).collect::<Result<Vec<_>, _>>()?;
        answers.iter().map(|answer| self.wait(answer)).collect()
    }

    fn send<T: Send + 'static>(
        &self,
        port: usize,
        deed: impl FnOnce(&mut Host, Instant) -> T + Send + 'static,
    ) -> Result<Receiver<T>, SessionError> {
        let (answer, answers) = channel::bounded(1);
        let (thread, place) = self.places[port];
        let deed = Box::new(move |host: &mut Host, now: Instant| {
            let _ = answer.try_send(deed(host, now));
        });
        self.order(&self.crews[thread], Order::Do(place, deed)).map(|()| answers)
    }

    /// Gives an order to a thread, which may have to make room for it.
    pub(super) fn order(&self, crew: &Sender<Order>, mut order: Order) -> Result<(), SessionError> {
        let mut patience = Patience::new(&self.shared.preemption, PATIENCE);
        loop {
            order = match crew.send_timeout(order, SLICE) {
                Ok(()) => return Ok(()),
                Err(SendTimeoutError::Disconnected(_)) => return Err(SessionError::Gone),
                Err(SendTimeoutError::Timeout(order)) => order,
            };
            if patience.is_over() {
                return Err(impatient(&patience));
            }
        }
    }

    /// Waits for the answer to an order, longer where the machine takes the threads' time.
    fn wait<T>(&self, answers: &Receiver<T>) -> Result<T, SessionError> {
        let mut patience = Patience::new(&self.shared.preemption, PATIENCE);
        loop {
            match answers.recv_timeout(SLICE) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => return Err(SessionError::Gone),
                Err(RecvTimeoutError::Timeout) if patience.is_over() => {
                    return Err(impatient(&patience));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    pub(super) fn all_ports(&self) -> core::ops::Range<usize> {
        0..self.places.len()
    }

    /// The plain counters of all ports and flows.
    pub(super) fn sample(&self) -> Result<Sample, SessionError> {
        let at = self.shared.time.now();
        let lights = self.at_all(self.all_ports(), |_, host, _| Light::of(host))?;
        let flow = |plan: &crate::tester::plan::FlowPlan| {
            let sent = lights[plan.tx].sent.iter().find(|sent| sent.0 == plan.id);
            let (frames, bytes, ended) = sent.map_or((0, 0, true), |s| (s.1, s.2, s.3));
            let received = |port: &usize| {
                let of = lights[*port].received.iter().find(|received| received.0 == plan.id);
                of.map_or((0, 0), |r| (r.1, r.2))
            };
            let rx: Vec<_> = plan.rx.iter().map(received).collect();
            let all_arrived = rx.iter().all(|(received, _)| *received >= frames);
            FlowSample { tally: FlowTally { tx: (frames, bytes), rx }, all_arrived, ended }
        };
        let flows = self.plan.flows.iter().map(flow).collect();
        Ok(Sample { at, ports: lights.iter().map(|light| light.port).collect(), flows })
    }

    /// All counters of all stations. Distributions are copied a few at a time, so that no poll is
    /// late because of them.
    pub(super) fn snapshots(&self) -> Result<Vec<StationSnapshot>, SessionError> {
        let mut all = self.at_all(self.all_ports(), |_, host, now| host.snapshot_light(now))?;
        for (port, snapshot) in all.iter_mut().enumerate() {
            snapshot.sinks = self.copied(port, |host, from| {
                host.sinks().skip(from).take(FLOWS_AT_ONCE).cloned().collect()
            })?;
            snapshot.streams = self.copied(port, |host, from| {
                host.streams().skip(from).take(FLOWS_AT_ONCE).cloned().collect()
            })?;
        }
        Ok(all)
    }

    /// Everything that `some` gives of a station, from a number on, a few at a time.
    fn copied<T: Send + 'static>(
        &self,
        port: usize,
        some: fn(&Host, usize) -> Vec<T>,
    ) -> Result<Vec<T>, SessionError> {
        let mut all = Vec::new();
        loop {
            let from = all.len();
            let more = self.at(port, move |host, _| some(host, from))?;
            let last = more.len() < FLOWS_AT_ONCE;
            all.extend(more);
            if last {
                return Ok(all);
            }
        }
    }

    /// How regularly each thread polled.
    fn paces(&self) -> Result<Vec<Pace>, SessionError> {
        let ask = |crew: &channel::Sender<Order>| {
            let (answer, answers) = channel::bounded(1);
            self.order(crew, Order::Show(answer))?;
            self.wait(&answers)
        };
        self.crews.iter().map(ask).collect()
    }

    /// How far the machine disturbed the test since flows were last started. Where time waits for its
    /// threads, what they lost is the time that did not run.
    fn machine(&self, paces: &[Pace]) -> Machine {
        let ns = |d: Duration| d.as_picos() as f64 / 1e3;
        let (found, excluded) =
            (self.shared.preemption.disturbance(), self.shared.time.is_leashed());
        let stalled = paces.iter().map(|pace| pace.stalled).max().filter(|_| excluded);
        Machine {
            preempted_ns: ns(stalled.unwrap_or(Duration::ZERO).max(found.preempted)),
            longest_gap_ns: ns(found.longest),
            excluded,
        }
    }

    /// A stamp is the time of a poll, at either end; or the device's, where all ports' devices stamp
    /// what they receive.
    pub(super) fn stamps(&self, paces: &[Pace]) -> Result<Stamps, SessionError> {
        let ns = |d: Duration| d.as_picos() as f64 / 1e3;
        let poll = paces.iter().map(|pace| pace.gaps.percentile(99.0)).max();
        let poll = ns(poll.unwrap_or(Duration::ZERO));
        let own = ns(self.shared.time.resolution());
        let quality = |_, host: &mut Host, _| host.port_mut().port_mut().port_mut().stamp_quality();
        let devices: Option<Vec<_>> = self.at_all(self.all_ports(), quality)?.into_iter().collect();
        let Some(devices) = devices.filter(|all| !all.is_empty()) else {
            return Ok(Stamps { source: "tsc", resolution_ns: own, uncertainty_ns: 2.0 * poll });
        };
        let worst = |of: fn(&StampQuality) -> Duration| devices.iter().map(of).max();
        let resolution = ns(worst(|q| q.resolution).unwrap_or(Duration::ZERO));
        let uncertainty = ns(worst(|q| q.uncertainty).unwrap_or(Duration::ZERO));
        Ok(Stamps {
            source: "nic",
            resolution_ns: own.max(resolution),
            uncertainty_ns: poll + uncertainty,
        })
    }

    /// Has devices that stamp compare their clocks with ours again.
    pub(super) fn refresh_stamps(&self) -> Result<(), SessionError> {
        let refresh = |_, host: &mut Host, _| {
            let port = host.port_mut().port_mut().port_mut();
            port.stamp_quality().is_some().then(|| port.refresh_stamps())
        };
        let done = self.at_all(self.all_ports(), refresh)?;
        for why in done.into_iter().flatten().filter_map(Result::err) {
            self.board().warn(format!("a device's clock could not be read again: {why}"));
        }
        Ok(())
    }
}

/// A wait that is over.
fn impatient(patience: &Patience<'_>) -> SessionError {
    match patience.starved() {
        Some(disturbance) => SessionError::Starved(disturbance),
        None => SessionError::Silent(PATIENCE + patience.stolen()),
    }
}

impl Session {
    /// Where times come from, and how far they can be trusted.
    ///
    /// # Errors
    /// [`SessionError::Gone`].
    pub fn stamps(&self) -> Result<Stamps, SessionError> {
        self.inner.stamps(&self.inner.paces()?)
    }

    /// What was counted until now.
    ///
    /// # Errors
    /// [`SessionError::Gone`].
    pub fn report(&self) -> Result<Report, SessionError> {
        let inner = &*self.inner;
        inner.look_around()?;
        // Before anything is counted: what has stopped by now is counted whole.
        let (phases, epoch, rates) = {
            let board = inner.board();
            (board.flows.clone(), board.epoch, board.rates())
        };
        let (stations, paces) = (inner.snapshots()?, inner.paces()?);
        let captures = inner.capture_counters()?;
        let tallies = inner.sample()?.flows.into_iter().map(|flow| flow.tally).collect();
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
        let flows = phases.iter().enumerate().map(|(n, flow)| FlowSeen {
            transmit: flow.transmit.shown(),
            started: flow.started,
            rates: rate(&rates.1, n),
        });
        let mut plan = Cow::Borrowed(&inner.plan);
        for (n, flow) in phases.iter().enumerate() {
            if let Some((stream, _)) = &flow.changed {
                plan.to_mut().flows[n].kind = FlowKind::Stream(stream.clone());
            }
        }
        let seen = Seen {
            plan: &plan,
            world: "real",
            stamps: inner.stamps(&paces)?,
            elapsed: epoch.map(|epoch| now.since(epoch.min(now))),
            stations: &stations,
            tallies: Some(tallies),
            ports: &ports.collect::<Vec<_>>(),
            flows: &flows.collect::<Vec<_>>(),
            warnings,
            machine: Some(inner.machine(&paces)),
        };
        let mut report = report(seen);
        for (flow, state) in report.flows.iter_mut().zip(&phases) {
            // A pace that was changed under way is none that could have been kept.
            if state.changed.as_ref().is_some_and(|(_, since_start)| *since_start) {
                flow.pacing = None;
            }
        }
        Ok(report)
    }
}
