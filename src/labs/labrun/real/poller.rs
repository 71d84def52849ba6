//! A polling thread: polls its nodes by its own clock, and executes the planned actions on them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crossbeam::utils::CachePadded;

use super::RealError;
use super::node::{Action, Arrivals, Node};
use dpdk::TscClock;
use ground::time::{Instant, Total};
use runtime::{ClockSync, Cores, Preemption, ThreadClock};
use sim::{NodeId, RETRY_AFTER};

/// State shared by the polling threads and the main thread.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) clock_sync: ClockSync,
    /// Time for which each thread was preempted.
    pub(super) preemption: Preemption,
    /// True after the end of the run.
    pub(super) stop: AtomicBool,
    /// By thread.
    boards: Vec<CachePadded<Board>>,
}

/// State of one thread. Only that thread writes it, in the order of the fields.
#[derive(Debug, Default)]
pub(super) struct Board {
    /// True if its nodes do nothing more unless frames arrive, and no action is planned for them.
    idle: AtomicBool,
    /// Frames that its nodes sent.
    sent: AtomicU64,
    /// Frames that its nodes received.
    received: AtomicU64,
    polls: AtomicU64,
}

/// State of all threads in one sample.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Sample(Vec<(bool, u64, u64)>);

impl Shared {
    pub(super) fn new(clock_sync: ClockSync, threads: usize) -> Self {
        let boards = (0..threads).map(|_| CachePadded::default()).collect();
        let preemption = Preemption::new(threads);
        Self { clock_sync, preemption, stop: AtomicBool::new(false), boards }
    }

    pub(super) fn sample(&self) -> Sample {
        let read = |board: &CachePadded<Board>| {
            // Reads in the reverse order of writing: a frame that is seen as received is also seen
            // as sent.
            let received = board.received.load(Ordering::Acquire);
            let sent = board.sent.load(Ordering::Acquire);
            (board.idle.load(Ordering::Acquire), sent, received)
        };
        Sample(self.boards.iter().map(read).collect())
    }

    /// Returns the frames sent so far, and the polls of all threads.
    pub(super) fn work(&self) -> (u64, u64) {
        let sum = |of: fn(&Board) -> &AtomicU64| {
            self.boards.iter().map(|board| of(board).load(Ordering::Relaxed)).sum()
        };
        (sum(|b| &b.sent), sum(|b| &b.polls))
    }
}

impl Sample {
    /// True if nothing can happen any more, provided that a second sample some time later is equal:
    /// at a time between the two, all threads were idle and no frame was in flight.
    pub(super) fn is_quiet(&self) -> bool {
        let (mut sent, mut received) = (0, 0);
        for (idle, s, r) in &self.0 {
            if !idle {
                return false;
            }
            sent += s;
            received += r;
        }
        sent == received
    }
}

/// Times at which arrivals are counted, and the end of the run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stops {
    pub(super) from: Instant,
    pub(super) to: Instant,
    pub(super) end: Instant,
}

/// Nodes of one thread, and the actions planned for them.
pub(super) struct Poller {
    pub(super) nodes: Vec<Node>,
    /// In reverse order: the next one last.
    pub(super) actions: Vec<Action>,
    pub(super) stops: Stops,
}

/// Results of a thread.
pub(super) struct PollerEnd {
    pub(super) nodes: Vec<Node>,
    /// Thread time at the end.
    pub(super) at: Instant,
    /// Time at which the last frame was received.
    pub(super) last: Instant,
    /// Time that was not counted.
    pub(super) stalled: Total,
    /// Data received by its hosts at the start and the end of the measurement interval; `None` if
    /// the run ended before.
    pub(super) from: Option<Vec<(NodeId, Arrivals)>>,
    pub(super) to: Option<Vec<(NodeId, Arrivals)>>,
    /// Data received in total.
    pub(super) all: Vec<(NodeId, Arrivals)>,
    /// True if its nodes have nothing left to do, with the frames sent and received.
    pub(super) idle: bool,
    pub(super) sent: u64,
    pub(super) received: u64,
}

impl Poller {
    /// Polls until the run is over.
    pub(super) fn run(
        mut self,
        mut clock: ThreadClock<'_>,
        real: &TscClock,
        shared: &Shared,
        thread: usize,
        cores: &Cores,
    ) -> Result<PollerEnd, RealError> {
        let (mut from, mut to) = (None, None);
        let (mut last, mut seen) = (Instant::ZERO, (0, 0));
        let board = &shared.boards[thread];
        let mut polls = 0;
        let mut idle = false;
        let mut now = clock.now();
        let mut gaps = shared.preemption.enter(thread, real.now());
        loop {
            if now >= self.stops.from && from.is_none() {
                from = Some(self.arrivals());
            }
            if now >= self.stops.to && to.is_none() {
                to = Some(self.arrivals());
            }
            // Actions before polls: a node sees a change at its time and not one poll later.
            let acted = self.act(now)?;
            let mut progressed = false;
            for node in &mut self.nodes {
                progressed |= node.poll(now);
            }
            clock.publish();
            polls += 1;
            board.polls.store(polls, Ordering::Relaxed);
            // This reads all ports, so it is done only where something may have changed.
            if progressed || acted || !idle {
                let (sent, received) = self.traffic();
                if received > seen.1 {
                    last = now;
                }
                seen = (sent, received);
                idle = self.actions.is_empty() && self.nodes.iter().all(Node::is_idle);
                // In the order of the fields, which `sample` reads backwards.
                board.idle.store(idle, Ordering::Release);
                board.sent.store(sent, Ordering::Release);
                board.received.store(received, Ordering::Release);
            }
            if now >= self.stops.end || shared.stop.load(Ordering::Relaxed) {
                break;
            }
            cores.rest(progressed, clock.waits());
            let wall = real.now();
            gaps.polled(wall);
            // The clock stops at the next action, so that it is executed at its very time.
            now = clock.tick_to(wall, self.next_stop(now));
        }
        let all = self.arrivals();
        Ok(PollerEnd {
            nodes: self.nodes,
            at: now,
            last,
            stalled: clock.stalled(),
            from,
            to,
            all,
            idle,
            sent: seen.0,
            received: seen.1,
        })
    }

    /// Returns the time of the next action or count, so that a poll takes place then.
    #[inline]
    fn next_stop(&self, now: Instant) -> Instant {
        let Stops { from, to, end } = self.stops;
        let action = self.actions.last().map_or(Instant::NEVER, |action| action.at);
        let all = [from, to, action].into_iter().filter(|at| *at > now);
        all.fold(end, Instant::min)
    }

    /// Executes actions that are due. True if there were any.
    #[inline]
    fn act(&mut self, now: Instant) -> Result<bool, RealError> {
        let mut acted = false;
        while self.actions.last().is_some_and(|action| action.at <= now) {
            let Some(action) = self.actions.pop() else { break };
            let mut refused = false;
            for node in self.nodes.iter_mut().filter(|node| node.id == action.node) {
                refused |= !node.act(now, action.what)?;
            }
            if refused {
                let at = now.saturating_add(RETRY_AFTER);
                // Refused for want of memory, it is tried again later; the list is in reverse order.
                let place = self.actions.partition_point(|later| later.at > at);
                self.actions.insert(place, Action { at, ..action });
            }
            acted = true;
        }
        Ok(acted)
    }

    fn traffic(&mut self) -> (u64, u64) {
        let all = self.nodes.iter_mut().map(Node::traffic);
        all.fold((0, 0), |(sent, received), (s, r)| (sent + s, received + r))
    }

    fn arrivals(&self) -> Vec<(NodeId, Arrivals)> {
        self.nodes.iter().map(|node| (node.id, node.arrivals())).collect()
    }
}
