//! What is done to a running test: flows started, stopped, paused; links taken down; neighbours
//! asked.

use std::thread;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use super::board::Phase;
use super::crew::Order;
use super::{Inner, Session, SessionError, lock};
use crate::host::{FlowId, TransportPlan};
use crate::tester::plan::{FlowKind, FlowPlan};
use crate::time::{Duration, Instant};

/// From an order to start to the first frame that may be due: time for every thread to hear of it.
/// A choice: some polls, and one scheduler's slice.
const LEAD: Duration = Duration::from_millis(5);

/// How long frames of a flow that is started again may take to arrive before it is.
const DRAIN_MAX: StdDuration = StdDuration::from_secs(5);

/// From one look at what is waited for to the next.
pub(super) const LOOK: StdDuration = StdDuration::from_millis(5);

impl Session {
    /// Starts flows, all at one epoch, with counters at zero; those that already send go on.
    ///
    /// # Errors
    /// [`SessionError::Unresolved`], [`SessionError::Gone`].
    pub fn start(&self, which: &[FlowId]) -> Result<(), SessionError> {
        let inner = &*self.inner;
        let which = inner.settled(which)?;
        inner.resolve(&which)?;
        inner.shared.awake.store(true, std::sync::atomic::Ordering::Relaxed);
        let ids = which.clone();
        inner.at_all(inner.all_ports(), move |_, host, _| host.clear_streams(&ids))?;
        for crew in &inner.crews {
            inner.order(crew, Order::Clear)?;
        }
        inner.shared.preemption.clear();
        let time = &inner.shared.time;
        let epoch = time.now() + time.spread() + LEAD;
        inner.restart_connections(&which, epoch)?;
        let ids = which.clone();
        inner.at_all(inner.all_ports(), move |_, host, _| host.start_streams(epoch, &ids))?;
        let late = time.now().since(epoch.min(time.now()));
        let mut board = inner.board();
        if late > Duration::ZERO {
            board.warn(format!("flows started up to {late} late: the machine is busy"));
        }
        board.started(epoch, &which);
        inner.shared.awake.store(true, std::sync::atomic::Ordering::Relaxed);
        drop(board);
        self.wake();
        Ok(())
    }

    /// Stops flows. They have stopped when their last frames have arrived or are lost.
    ///
    /// # Errors
    /// [`SessionError::Gone`].
    pub fn stop(&self, which: &[FlowId]) -> Result<(), SessionError> {
        let ids = which.to_vec();
        self.inner.at_all(self.inner.all_ports(), move |_, host, _| {
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

    /// Pauses flows that send: they go on where they were when they are resumed.
    ///
    /// # Errors
    /// [`SessionError::Gone`].
    pub fn pause(&self, which: &[FlowId]) -> Result<(), SessionError> {
        let ids = which.to_vec();
        self.inner
            .at_all(self.inner.all_ports(), move |_, host, now| host.pause_streams(now, &ids))?;
        self.each(which, |phase| if phase == Phase::Started { Phase::Paused } else { phase });
        Ok(())
    }

    /// Resumes flows that were paused.
    ///
    /// # Errors
    /// [`SessionError::Gone`].
    pub fn resume(&self, which: &[FlowId]) -> Result<(), SessionError> {
        let ids = which.to_vec();
        self.inner
            .at_all(self.inner.all_ports(), move |_, host, now| host.resume_streams(now, &ids))?;
        self.each(which, |phase| if phase == Phase::Paused { Phase::Started } else { phase });
        Ok(())
    }

    /// Changes how fast flows are and how long their frames, whether they send or not.
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
        self.inner.set_stream(flow.tx, (**stream).clone())?;
        let state = &mut self.inner.board().flows[flow.id.0 as usize];
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

    /// Has the flows looked at now.
    fn wake(&self) {
        if let Some(watcher) = &*lock(&self.watcher) {
            watcher.thread().unpark();
        }
    }
}

impl Inner {
    /// Those of the flows that do not send, once their frames of before have arrived.
    fn settled(&self, which: &[FlowId]) -> Result<Vec<FlowId>, SessionError> {
        let since = StdInstant::now();
        loop {
            self.look_around()?;
            let board = self.board();
            let phase = |id: &FlowId| board.flows[id.0 as usize].transmit;
            let draining = which.iter().any(|id| matches!(phase(id), Phase::Draining(_)));
            if !draining || since.elapsed() > DRAIN_MAX {
                let idle = |id: &&FlowId| phase(id) != Phase::Started;
                return Ok(which.iter().filter(idle).copied().collect());
            }
            drop(board);
            thread::sleep(LOOK);
        }
    }

    /// Gives connections a new life at both ends, beginning at `epoch`.
    fn restart_connections(&self, which: &[FlowId], epoch: Instant) -> Result<(), SessionError> {
        for flow in &self.plan.flows {
            let FlowKind::Roce(plan) = &flow.kind else { continue };
            if !which.contains(&flow.id) {
                continue;
            }
            let plan = TransportPlan { start: epoch, ..(**plan).clone() };
            for port in &flow.rx {
                let plan = plan.clone();
                self.at(*port, move |host, _| host.restart_receiver(&plan))?;
            }
            self.at(flow.tx, move |host, _| host.restart_sender(&plan))?;
        }
        Ok(())
    }
}
