//! Contents of a [polling thread](runtime::poll_threads): polls its nodes by the thread's clock, and executes
//! the planned actions on them.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crossbeam::utils::CachePadded;

use super::RealError;
use super::node::{Action, Arrivals, Node};
use dpdk::TscClock;
use ground::time::{Instant, Total};
use runtime::poll_threads::{AfterPoll, PollGroup, PollLoop};
use runtime::{ClockSync, Cores, PollGaps, ThreadClock};
use sim::{NodeId, RETRY_AFTER};

/// State shared by the polling threads and the main thread.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) clock_sync: ClockSync,
    pub(super) cores: Cores,
    real: TscClock,
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
        Self { clock_sync, cores: Cores::find(threads), real: TscClock::new(), boards }
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
pub(super) struct Part {
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

/// A thread that polls its part of the lab.
pub(super) struct Poller<'a> {
    part: Part,
    shared: &'a Shared,
    board: &'a Board,
    clock: ThreadClock<'a>,
    gaps: PollGaps<'a>,
    /// The clock stops here in the next poll, so that an action is executed at its very time.
    limit: Instant,
    polls: u64,
    idle: bool,
    /// Frames sent and received.
    traffic: (u64, u64),
    /// Time at which the last frame was received.
    last: Instant,
    from: Option<Vec<(NodeId, Arrivals)>>,
    to: Option<Vec<(NodeId, Arrivals)>>,
    /// Result of the planned actions so far.
    acted: Result<(), RealError>,
}

impl<'a> Poller<'a> {
    /// Starts the clock of the calling thread. The first poll is at time zero.
    pub(super) fn new(part: Part, shared: &'a Shared, group: &'a PollGroup, thread: usize) -> Self {
        let started = shared.real.now();
        Self {
            part,
            shared,
            board: &shared.boards[thread],
            clock: shared.clock_sync.thread_clock(thread, started),
            gaps: group.preemption.enter(thread, started),
            limit: Instant::ZERO,
            polls: 0,
            idle: false,
            traffic: (0, 0),
            last: Instant::ZERO,
            from: None,
            to: None,
            acted: Ok(()),
        }
    }

    /// Publishes what an observer needs to find the end of the run.
    #[inline]
    fn publish(&mut self, now: Instant) {
        let traffic = self.part.traffic();
        if traffic.1 > self.traffic.1 {
            self.last = now;
        }
        self.traffic = traffic;
        self.idle = self.part.actions.is_empty() && self.part.nodes.iter().all(Node::is_idle);
        // In the order of the fields, which `sample` reads backwards.
        self.board.idle.store(self.idle, Ordering::Release);
        self.board.sent.store(traffic.0, Ordering::Release);
        self.board.received.store(traffic.1, Ordering::Release);
    }
}

impl PollLoop for Poller<'_> {
    type Order = Infallible;
    type End = Result<PollerEnd, RealError>;

    /// There are no orders, and the stop flag is one load.
    const POLLS: u32 = 1;

    #[inline]
    fn poll(&mut self) -> AfterPoll {
        let real = self.shared.real.now();
        self.gaps.polled(real);
        let now = self.clock.tick_to(real, self.limit);
        let stops = self.part.stops;
        if now >= stops.from && self.from.is_none() {
            self.from = Some(self.part.arrivals());
        }
        if now >= stops.to && self.to.is_none() {
            self.to = Some(self.part.arrivals());
        }
        // Actions before polls: a node sees a change at its time and not one poll later.
        let acted = match self.part.act(now) {
            Ok(acted) => acted,
            Err(error) => {
                self.acted = Err(error);
                return AfterPoll::EndAll;
            }
        };
        let mut progressed = false;
        for node in &mut self.part.nodes {
            progressed |= node.poll(now);
        }
        self.clock.publish();
        self.polls += 1;
        self.board.polls.store(self.polls, Ordering::Relaxed);
        // This reads all ports, so it is done only where something may have changed.
        if progressed || acted || !self.idle {
            self.publish(now);
        }
        if now >= stops.end {
            return AfterPoll::End;
        }
        self.limit = self.part.next_stop(now);
        self.shared.cores.after_poll(progressed, self.clock.waited())
    }

    fn slept(&mut self) {
        self.gaps.slept(self.shared.real.now());
    }

    fn obey(&mut self, order: Infallible) {
        match order {}
    }

    fn end(self) -> Self::End {
        self.acted?;
        let all = self.part.arrivals();
        Ok(PollerEnd {
            nodes: self.part.nodes,
            at: self.clock.now(),
            last: self.last,
            stalled: self.clock.stalled(),
            from: self.from,
            to: self.to,
            all,
            idle: self.idle,
            sent: self.traffic.0,
            received: self.traffic.1,
        })
    }
}

impl Part {
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
