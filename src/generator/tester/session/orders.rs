//! Operations on a running test: start, stop and pause of flows, updates, restart of connections; captures, which
//! are started and stopped per port, kept until the next start, and written to files.

use std::sync::Arc;
use std::thread;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use super::board::Phase;
use super::poller::{Host, Order, tapped_port};
use super::{Inner, Session, SessionError, lock};
use crate::capture::{About, CAPTURE_BYTES, Capture, CaptureCounters, write_some};
use crate::plan::{FlowKind, FlowPlan};
use ground::time::{Duration, Instant};
use host::{FlowId, TransportPlan};

/// Time from a start order to the first frame, in which every thread receives the order. A
/// choice: some polls, and one scheduler's slice.
const LEAD: Duration = Duration::from_millis(5);

/// Maximum time for frames in flight to arrive before their flow is started again.
const DRAIN_MAX: StdDuration = StdDuration::from_secs(5);

/// Interval at which a condition is checked.
pub(super) const SAMPLE_INTERVAL: StdDuration = StdDuration::from_millis(5);

impl Session {
    /// Starts flows at one epoch, with counters at 0; running flows continue.
    ///
    /// # Errors
    /// [`SessionError::Unresolved`], [`SessionError::Gone`].
    pub fn start(&self, which: &[FlowId]) -> Result<(), SessionError> {
        let inner = &*self.inner;
        // Frames of the last run that arrive later would count for this one.
        let which = inner.settled(which)?;
        inner.ready_links()?;
        inner.resolve(&which)?;
        // Threads that sleep between polls would be late for the epoch.
        inner.shared.awake.store(true, std::sync::atomic::Ordering::Relaxed);
        let ids = which.clone();
        inner.at_all(inner.all_queues(), move |_, host, _| host.clear_streams(&ids))?;
        for thread in 0..inner.pollers.threads() {
            inner.pollers.send(thread, Order::Clear)?;
        }
        inner.pollers.preemption().clear();
        let time = &inner.shared.time;
        // A thread may be ahead by the spread, and must not have passed the epoch.
        let epoch = time.now() + time.spread() + LEAD;
        inner.restart_connections(&which, epoch)?;
        let ids = which.clone();
        inner.at_all(inner.all_queues(), move |_, host, _| host.start_streams(epoch, &ids))?;
        let late = time.now().since(epoch.min(time.now()));
        let mut board = inner.board();
        if late > Duration::ZERO {
            board.warn(format!("flows started up to {late} late: the machine is busy"));
        }
        board.started(epoch, &which);
        // A sample in between may have found no flow that sends.
        inner.shared.awake.store(true, std::sync::atomic::Ordering::Relaxed);
        drop(board);
        self.wake();
        Ok(())
    }

    /// Stops flows. They are stopped when their last frames have arrived or are lost.
    ///
    /// # Errors
    /// [`SessionError::Gone`].
    pub fn stop(&self, which: &[FlowId]) -> Result<(), SessionError> {
        let ids = which.to_vec();
        self.inner.at_all(self.inner.all_queues(), move |_, host, _| {
            host.stop_streams(&ids);
            host.end_senders(&ids);
        })?;
        let now = self.inner.shared.time.now();
        self.each(which, |phase| match phase {
            Phase::Started | Phase::Paused => Phase::Draining(now),
            Phase::Stopped | Phase::Draining(_) => phase,
        });
        Ok(())
    }

    /// Pauses running flows, so that they can be resumed at the same point.
    ///
    /// # Errors
    /// [`SessionError::Gone`].
    pub fn pause(&self, which: &[FlowId]) -> Result<(), SessionError> {
        let ids = which.to_vec();
        self.inner
            .at_all(self.inner.all_queues(), move |_, host, now| host.pause_streams(now, &ids))?;
        self.each(which, |phase| if phase == Phase::Started { Phase::Paused } else { phase });
        Ok(())
    }

    /// Resumes paused flows.
    ///
    /// # Errors
    /// [`SessionError::Gone`].
    pub fn resume(&self, which: &[FlowId]) -> Result<(), SessionError> {
        let ids = which.to_vec();
        self.inner
            .at_all(self.inner.all_queues(), move |_, host, now| host.resume_streams(now, &ids))?;
        self.each(which, |phase| if phase == Phase::Paused { Phase::Started } else { phase });
        Ok(())
    }

    /// Updates the rate and the frame sizes of a flow, running or not.
    ///
    /// # Errors
    /// [`SessionError::Plan`], [`SessionError::Longer`], [`SessionError::Gone`].
    pub fn update(&self, flow: &FlowPlan) -> Result<(), SessionError> {
        let FlowKind::Stream(stream) = &flow.kind else { return Ok(()) };
        let asked = stream.sizes.longest();
        for port in flow.rx.iter().chain([&flow.tx]) {
            let longest = self.inner.wants[*port].longest;
            if asked > longest {
                return Err(SessionError::Longer { flow: flow.name.clone(), asked, longest });
            }
        }
        self.inner.set_stream(flow.tx, &flow.rx, (**stream).clone())?;
        let state = &mut self.inner.board().flows[flow.id.0 as usize];
        // The results of a flow that was changed while it ran are of two rates.
        state.changed = Some((stream.clone(), state.transmit != Phase::Stopped));
        Ok(())
    }

    fn each(&self, which: &[FlowId], new: impl Fn(Phase) -> Phase) {
        let mut board = self.inner.board();
        for id in which {
            let flow = &mut board.flows[id.0 as usize];
            flow.transmit = new(flow.transmit);
        }
        drop(board);
        self.wake();
    }

    /// Wakes the watcher, so that flows are sampled now.
    fn wake(&self) {
        if let Some(watcher) = &*lock(&self.watcher) {
            watcher.thread().unpark();
        }
    }
}

impl Inner {
    /// Returns those of the flows that are stopped, after their earlier frames have arrived.
    fn settled(&self, which: &[FlowId]) -> Result<Vec<FlowId>, SessionError> {
        let since = StdInstant::now();
        loop {
            self.take_sample()?;
            let board = self.board();
            let phase = |id: &FlowId| board.flows[id.0 as usize].transmit;
            let draining = which.iter().any(|id| matches!(phase(id), Phase::Draining(_)));
            if !draining || since.elapsed() > DRAIN_MAX {
                let idle = |id: &&FlowId| phase(id) != Phase::Started;
                return Ok(which.iter().filter(idle).copied().collect());
            }
            drop(board);
            thread::sleep(SAMPLE_INTERVAL);
        }
    }

    /// Restarts connections at both ends, from `epoch` on.
    fn restart_connections(&self, which: &[FlowId], epoch: Instant) -> Result<(), SessionError> {
        for flow in &self.plan.flows {
            let FlowKind::Roce(plan) = &flow.kind else { continue };
            if !which.contains(&flow.id) {
                continue;
            }
            // The plan's times are since the start.
            let since = |at: Instant| match at {
                Instant::NEVER => Instant::NEVER,
                at => epoch + at.since(Instant::ZERO),
            };
            let (start, stop) = (since(plan.start), since(plan.stop));
            let plan = TransportPlan { start, stop, ..(**plan).clone() };
            for port in &flow.rx {
                let plan = plan.clone();
                let queue = self.queues.first(*port);
                self.at(queue, move |host, _| host.restart_receiver(&plan))?;
            }
            let queue = self.queues.sender(flow.id.0 as usize);
            self.at(queue, move |host, _| host.restart_sender(&plan))?;
        }
        Ok(())
    }
}

/// The finished captures of a test, by port.
#[derive(Debug, Default)]
pub(super) struct Captures {
    pub(super) ended: Vec<Option<Arc<Capture>>>,
}

impl Session {
    /// Starts empty captures at ports, or stops them. Ports without a capture in the plan are
    /// ignored.
    ///
    /// # Errors
    /// [`SessionError::Gone`].
    pub fn capture(&self, ports: &[usize], start: bool) -> Result<(), SessionError> {
        let inner = &*self.inner;
        for port in ports {
            let plan = &inner.plan.ports[*port];
            let Some(wanted) = &plan.capture else { continue };
            let before = if start {
                let both = plan.location.capture_tx;
                let capture = Box::new(Capture::new(wanted, both, CAPTURE_BYTES));
                inner.at(inner.queues.first(*port), move |host, _| {
                    tapped_port(host).tap.start(capture)
                })?;
                None
            } else {
                match inner.at(inner.queues.first(*port), |host, _| tapped_port(host).tap.stop())? {
                    Some(ended) => Some(Arc::from(ended)),
                    // It was stopped before; its capture stays.
                    None => continue,
                }
            };
            lock(&inner.captures).ended[*port] = before;
        }
        Ok(())
    }

    /// Returns the finished capture of a port.
    ///
    /// # Errors
    /// [`SessionError::NoCapture`].
    pub fn recorded(&self, port: usize) -> Result<Arc<Capture>, SessionError> {
        let none = || SessionError::NoCapture(self.inner.plan.ports[port].name.clone());
        lock(&self.inner.captures).ended[port].clone().ok_or_else(none)
    }

    /// Returns the capture of a port as a file: frames from number `first` on, counted from 0,
    /// and at most `count` of them. A running capture is copied, which delays polls of the port,
    /// so it should be stopped first.
    ///
    /// # Errors
    /// [`SessionError::NoCapture`], [`SessionError::Gone`].
    pub fn captured(&self, port: usize, first: u64, count: u64) -> Result<Vec<u8>, SessionError> {
        let inner = &*self.inner;
        let plan = &inner.plan.ports[port];
        let none = || SessionError::NoCapture(plan.name.clone());
        let wanted = plan.capture.as_ref().ok_or_else(none)?;
        let copy = |host: &mut Host, _| tapped_port(host).tap.capture().cloned();
        // A running capture is copied, a finished one is shared.
        let capture = match inner.at(inner.queues.first(port), copy)? {
            Some(capture) => Arc::new(capture),
            None => lock(&inner.captures).ended[port].clone().ok_or_else(none)?,
        };
        let stamps = self.stamps()?;
        let stamps = format!(
            "Time stamps are those of the poll that found a frame or handed it over ({}), good to \
             {:.0} ns.",
            stamps.source, stamps.uncertainty_ns
        );
        let name = |id: FlowId| {
            let flow = inner.plan.flows.get(id.0 as usize);
            flow.map(|flow| flow.name.as_str())
        };
        let about = About {
            port: &plan.name,
            location: &plan.location.text,
            rate: Some(inner.rates[port]),
            stamps: &stamps,
            zero: inner.zero,
            flow: &name,
        };
        let mut file = Vec::new();
        write_some(&capture, wanted.format, &about, first..first.saturating_add(count), &mut file)
            .expect("memory takes all that is written");
        Ok(file)
    }
}

impl Inner {
    /// Returns for each port if a capture is running, and its counters.
    pub(super) fn capture_counters(&self) -> Result<Vec<(bool, CaptureCounters)>, SessionError> {
        let now = self
            .at_all(self.all_ports().map(|port| self.queues.first(port)), |_, host, _| {
                tapped_port(host).tap.captured()
            })?;
        let captures = lock(&self.captures);
        let of = |(going_on, ended): (Option<CaptureCounters>, &Option<Arc<Capture>>)| {
            let had = ended.as_ref().map(|capture| capture.counters());
            (going_on.is_some(), going_on.or(had).unwrap_or_default())
        };
        Ok(now.into_iter().zip(&captures.ended).map(of).collect())
    }
}
