//! One worker: a [polling thread](super::poll_threads) with its part of a switch, and its orders.

use std::sync::Arc;

use congestion::isolation::Peer;
use contracts::frame::BURST;
use contracts::world::{Next, World};
use crossbeam::channel::Sender;
use ground::time::{Duration, Instant};
use ground::units::{Cells, PortId, Vid};
use kernel::Waiter;
use link::{AgentsSnapshot, News};
use secure::SecyChange;
use switch::managed::{CachePage, StreamPage, Streams};
use switch::{Change, ChangeError, SecyRefused, Switch, SwitchPlan};

use super::exchange::slack_cells;
use super::poll_threads::{AfterPoll, PollLoop};
use super::watch::{LossWatch, PollMeter, WorkerSnapshot};

/// Entries of a table that are read between two polls: some microseconds.
const PAGE: usize = 256;

/// Takes the last reading of the received counters of a worker's devices.
pub(super) type Seal = Box<dyn Fn() + Send>;

/// Action of a worker between two polls that found nothing to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Idle {
    /// Polls again at once: the lowest latency, for a worker with its own CPU.
    #[default]
    Spin,
    /// Yields to other threads, unless the next deadline is near: for threads that share a CPU.
    Yield,
    /// Yields for 20 ms after the last frame, then waits in the kernel for the next one or a deadline: an idle switch
    /// takes hardly any CPU time, and a conversation pays for no wake-up. For one worker whose ports are all interfaces
    /// of the kernel. None of them has a lossless priority or measures its link, as the time at which a frame arrived
    /// during a wait is not known.
    Wait,
}

/// Time without work after which a worker waits. A choice: a round trip between hosts whose switch is woken for each of
/// its frames was measured to take twice as long, and a frame each second costs 2 % of a CPU.
const WAIT_AFTER: Duration = Duration::from_millis(20);
/// Shortest wait that is worth a system call.
const WAIT_MIN: Duration = Duration::from_micros(50);
/// Longest wait: orders are looked at after it.
const WAIT_MAX: Duration = Duration::from_millis(10);

/// Longest time to a deadline for which a worker polls on instead of yielding. After a yield, other
/// programs may keep the CPU for some milliseconds, in which a port with a rate would send one frame.
const NEAR: Duration = Duration::from_millis(1);

impl Idle {
    /// True if a worker yields after a poll at `now`. It also yields if the deadline has passed: it
    /// then waits for another program, such as the reader of a full ring.
    const fn yields(self, now: Instant, next: Next) -> bool {
        matches!(self, Self::Yield | Self::Wait) && !next.progressed && {
            let wait = next.deadline.since(now).as_picos();
            wait == 0 || wait > NEAR.as_picos()
        }
    }
}

/// An order to a worker. The answer goes to its channel, and is dropped if the sender is gone.
#[derive(Debug)]
pub(super) enum Order {
    /// Returns the counters.
    Show(Sender<WorkerSnapshot>),
    /// Returns the events of the ports' link protocols since the last time.
    News(Sender<Vec<(PortId, News)>>),
    /// Returns the state of the ports' link protocols.
    Agents(Sender<Vec<(PortId, AgentsSnapshot)>>),
    /// Returns the flows in a part of a table.
    Streams(Streams, usize, Sender<StreamPage>),
    /// Returns the destinations in a part of the proxy's cache.
    Cached(usize, Sender<CachePage>),
    /// Returns the peers of Congestion Isolation.
    Peers(Sender<Vec<(PortId, Peer)>>),
    /// Applies a change.
    Apply(Change, Sender<Result<(), ChangeError>>),
    /// Creates and deletes points and proxies of Source Flow Control.
    Sections(Arc<SwitchPlan>, Sender<()>),
    /// Changes the keys of a port's SecY, for sending or receiving. The keys in the order are wiped
    /// after it.
    Secy(PortId, SecyChange, Sender<Result<(), SecyRefused>>),
    /// Stops receiving, and continues to send held frames.
    Drain(Sender<WorkerSnapshot>),
    /// Takes over frames handed over by others, and drops held frames under a reason. Every worker
    /// must have answered `Drain` before: no more frames may be handed over.
    Flush(Sender<WorkerSnapshot>),
}

/// State of a worker's thread.
pub(super) struct Worker<W: World, C> {
    pub(super) switch: Switch<W>,
    /// Reads the clock.
    pub(super) clock: C,
    pub(super) idle: Idle,
    /// Waits for frames, if the worker waits at all.
    pub(super) waiter: Option<Waiter>,
    /// Time of the last poll with work.
    pub(super) worked_at: Instant,
    pub(super) polls: PollMeter,
    /// Takes the last reading of the received counters of its devices.
    pub(super) seal: Seal,
}

impl<W: World<Events = LossWatch>, C: FnMut() -> Instant> PollLoop for Worker<W, C> {
    type Order = Order;
    type End = WorkerSnapshot;

    #[inline]
    fn poll(&mut self) -> AfterPoll {
        let now = (self.clock)();
        self.polls.poll(now);
        let next = self.switch.poll(now);
        if self.waiter.is_some() && self.waited(now, next) {
            return AfterPoll::Orders;
        }
        AfterPoll::rest(next.progressed, self.idle.yields(now, next))
    }

    #[cold]
    fn obey(&mut self, order: Order) {
        match order {
            Order::Show(answer) => {
                let _ = answer.try_send(self.snapshot());
            }
            Order::News(answer) => {
                let news = core::iter::from_fn(|| self.switch.next_news()).collect();
                let _ = answer.try_send(news);
            }
            Order::Agents(answer) => {
                let now = (self.clock)();
                let agents = self.switch.agents_of_ports();
                let _ = answer.try_send(agents.map(|(id, a)| (id, a.snapshot(now))).collect());
            }
            Order::Streams(of, from, answer) => {
                let _ = answer.try_send(self.switch.streams(of, from, PAGE));
            }
            Order::Cached(from, answer) => {
                let now = (self.clock)();
                let _ = answer.try_send(self.switch.cached(now, from, PAGE));
            }
            Order::Peers(answer) => {
                let _ = answer.try_send(self.switch.peers());
            }
            Order::Apply(change, answer) => {
                let _ = answer.try_send(self.apply(change));
            }
            Order::Sections(plan, answer) => {
                let now = (self.clock)();
                self.switch.set_sections(now, &plan);
                let _ = answer.try_send(());
            }
            Order::Secy(port, change, answer) => {
                let _ = answer.try_send(self.switch.change_secy(port, &change));
            }
            Order::Drain(answer) => {
                self.stop_receiving();
                // Frames that arrive from now on fill rings that are not read any more.
                (self.seal)();
                self.polls.finish();
                let _ = answer.try_send(self.snapshot());
            }
            Order::Flush(answer) => {
                self.flush();
                let _ = answer.try_send(self.snapshot());
            }
        }
    }

    /// Pauses that the flush caused and that a port refused are sent too.
    #[cold]
    fn end(mut self) -> WorkerSnapshot {
        self.stop_receiving();
        self.flush();
        self.snapshot()
    }
}

impl<W: World<Events = LossWatch>, C: FnMut() -> Instant> Worker<W, C> {
    /// Applies a change, and tells those who count beside the switch of it.
    fn apply(&mut self, change: Change) -> Result<(), ChangeError> {
        let now = (self.clock)();
        self.switch.apply(now, change)?;
        match change {
            Change::Group { port, group, plan } => {
                self.switch.events_mut().set_kind(port, group, plan.kind);
            }
            Change::ClearCounters => {
                self.switch.events_mut().clear();
                self.polls.clear();
            }
            Change::Link { .. }
            | Change::Leak { .. }
            | Change::Ecn { .. }
            | Change::Meter { .. }
            | Change::Pfc { .. }
            | Change::Ets { .. }
            | Change::Topology { .. }
            | Change::Advertise { .. }
            | Change::Locator { .. }
            | Change::Level(_)
            | Change::Peer { .. }
            | Change::SfcHost { .. }
            | Change::Object { .. }
            | Change::Measure(_)
            | Change::FlushFdb => {}
        }
        Ok(())
    }

    /// Waits for a frame if nothing has happened for long; returns true if it did.
    fn waited(&mut self, now: Instant, next: Next) -> bool {
        if next.progressed {
            self.worked_at = now;
        }
        let span = next.deadline.since(now).min(WAIT_MAX);
        if now.since(self.worked_at) < WAIT_AFTER || span < WAIT_MIN {
            return false;
        }
        if let Some(waiter) = &mut self.waiter {
            waiter.wait(std::time::Duration::from_nanos(span.as_nanos()));
            self.polls.resume((self.clock)());
        }
        true
    }

    fn snapshot(&mut self) -> WorkerSnapshot {
        let now = (self.clock)();
        let switch = self.switch.snapshot(now);
        let watch = self.switch.events_mut();
        let (lossless_lost, lossless) = (watch.lost(), watch.lossless().to_vec());
        WorkerSnapshot { switch, lossless_lost, lossless, polls: self.polls.gaps() }
    }

    /// Drops all held frames, and all frames in the rings from the others.
    #[cold]
    fn flush(&mut self) {
        let mut taken = self.snapshot().switch.taken;
        loop {
            // Each poll takes a part of the rings; it ends when one takes nothing more.
            self.switch.poll((self.clock)());
            let before = taken;
            taken = self.snapshot().switch.taken;
            if taken == before {
                break;
            }
        }
        // What the end of a run flushes is no loss of the switch.
        let lost = self.switch.events_mut().lost();
        self.switch.flush((self.clock)());
        self.switch.events_mut().restore(lost);
    }

    /// Stops receiving, and tells the neighbours; the polls that follow send it.
    fn stop_receiving(&mut self) {
        self.switch.set_draining(true);
        self.switch.say_goodbye((self.clock)());
    }
}

/// Smallest `BufferPlan::slack` with which the workers of `plan` can never overdraw the shared
/// pool, where port n belongs to worker `owners[n]`; 0 for one worker.
///
/// Between two exchanges, that is in one poll, a worker takes a burst from each of its ports, and
/// each frame may be flooded: a charge for every other member of the largest VLAN.
#[must_use]
pub fn slack_for(plan: &SwitchPlan, owners: &[usize]) -> Cells {
    // Owners are numbers of workers without a gap.
    let workers = owners.iter().max().map_or(0, |most| most + 1);
    let ports = |worker| owners.iter().filter(|o| **o == worker).count();
    let ports = (0..workers).map(ports).max().unwrap_or(0);
    let frame = plan.buffer.cells_for(plan.max_frame);
    slack_cells(workers, ports * BURST * copies_max(plan), frame)
}

/// Most times that one frame can be charged.
fn copies_max(plan: &SwitchPlan) -> usize {
    let mut members = vec![0_usize; usize::from(Vid::MAX.get()) + 1];
    for port in &plan.ports {
        for member in &port.vlan.members {
            members[member.vid.index()] += 1;
        }
    }
    // Without the port that it came in by; a frame that is not flooded is charged once.
    members.into_iter().max().unwrap_or(0).saturating_sub(1).max(1)
}

#[cfg(test)]
mod tests {
    use switch::rig::plan;

    use super::*;

    #[test]
    fn a_worker_yields_only_while_no_deadline_is_near() {
        let now = Instant::ZERO.saturating_add(Duration::from_secs(1));
        let after = |progressed, wait| Next { progressed, deadline: now.saturating_add(wait) };
        // A frame of 204 bytes on a link of 100 Mb/s, which is sent by the next polls.
        let line_free = after(false, Duration::from_nanos(17_920));
        assert!(!Idle::Yield.yields(now, line_free));
        assert!(!Idle::Yield.yields(now, after(false, NEAR)));
        assert!(!Idle::Yield.yields(now, after(true, Duration::ZERO)));
        assert!(Idle::Yield.yields(now, after(false, NEAR.saturating_mul(2))));
        assert!(Idle::Yield.yields(now, Next { progressed: false, deadline: Instant::NEVER }));
        // A full ring: its reader needs the CPU.
        assert!(Idle::Yield.yields(now, after(false, Duration::ZERO)));
        assert!(!Idle::Spin.yields(now, after(false, Duration::from_secs(1))));
    }

    #[test]
    fn slack_covers_a_flooded_burst_of_every_port_of_all_workers_but_one() {
        let plan = plan(4);
        let frame = plan.buffer.cells_for(plan.max_frame).0;
        assert_eq!(slack_for(&plan, &[0, 0, 0, 0]), Cells(0));
        assert_eq!(slack_for(&plan, &[0, 1, 0, 1]), Cells(2 * 32 * 3 * frame));
        assert_eq!(slack_for(&plan, &[0, 1, 2, 0]), Cells(2 * 2 * 32 * 3 * frame));
    }
}
