//! One worker: a thread that polls its part of a switch and now and then looks at its orders.
//!
//! The loop makes no system call and takes no lock: a look at the orders is a load when there are
//! none. Whoever orders waits for the answer, never the worker.

use std::hint;
use std::thread;

use crossbeam::channel::{Receiver, Sender, TryRecvError};

use super::controller::Seal;
use super::polls::PollMeter;
use super::snapshot::WorkerSnapshot;
use super::watch::LossWatch;
use crate::agents::{AgentsSnapshot, News};
use crate::congestion::isolation::Peer;
use crate::secure::SecyChange;
use crate::switch::managed::{StreamPage, Streams};
use crate::switch::{Change, ChangeError, SecyRefused, Switch};
use crate::time::Instant;
use crate::units::PortId;
use crate::world::World;

/// Polls between two looks at the orders: often enough that an answer takes microseconds, seldom
/// enough that the look costs nothing beside the polls.
const POLLS: u32 = 64;

/// Places of a table that are looked at between two polls: some microseconds.
const PAGE: usize = 256;

/// What a worker does between two polls that found nothing to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, clap::ValueEnum)]
pub enum Idle {
    /// Poll again at once: the lowest latency, for a CPU of its own.
    #[default]
    Spin,
    /// Let others run first: for threads that share a CPU.
    Yield,
}

/// An order to a worker. Answers go to the channel in it; nobody waits for one that is gone.
#[derive(Debug)]
pub(super) enum Order {
    /// Tell what was counted.
    Show(Sender<WorkerSnapshot>),
    /// Tell what the ports' agents found out since the last time.
    News(Sender<Vec<(PortId, News)>>),
    /// Tell how far the ports' agents are.
    Agents(Sender<Vec<(PortId, AgentsSnapshot)>>),
    /// Tell what flows are in a part of a table.
    Streams(Streams, usize, Sender<StreamPage>),
    /// Tell which peers isolation has.
    Peers(Sender<Vec<(PortId, Peer)>>),
    /// Change something.
    Apply(Change, Sender<Result<(), ChangeError>>),
    /// Change what a port protects, or is to accept. The keys in it are wiped when it has been done.
    Secy(PortId, SecyChange, Sender<Result<(), SecyRefused>>),
    /// Receive no more, and go on sending what is held.
    Drain(Sender<WorkerSnapshot>),
    /// Take over what others handed over, and drop what is held under a name. Every worker must
    /// have answered `Drain` before: nothing may be handed over any more.
    Flush(Sender<WorkerSnapshot>),
    /// End.
    Stop,
}

/// What runs in a worker's thread.
pub(super) struct Worker<W: World, C> {
    pub(super) switch: Switch<W>,
    /// Reads the clock.
    pub(super) clock: C,
    pub(super) orders: Receiver<Order>,
    pub(super) idle: Idle,
    pub(super) polls: PollMeter,
    /// Takes the last reading of what its devices received.
    pub(super) seal: Seal,
}

impl<W: World<Events = LossWatch>, C: FnMut() -> Instant> Worker<W, C> {
    /// Runs until it is told to stop, or until nobody is left who could tell it to.
    pub(super) fn run(mut self) -> WorkerSnapshot {
        loop {
            for _ in 0..POLLS {
                let now = (self.clock)();
                self.polls.poll(now);
                if !self.switch.poll(now).progressed {
                    match self.idle {
                        Idle::Spin => hint::spin_loop(),
                        Idle::Yield => thread::yield_now(),
                    }
                }
            }
            match self.orders.try_recv() {
                Err(TryRecvError::Empty) => {}
                Ok(Order::Stop) | Err(TryRecvError::Disconnected) => return self.stop(),
                Ok(order) => self.obey(order),
            }
        }
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
            Order::Peers(answer) => {
                let _ = answer.try_send(self.switch.peers());
            }
            Order::Apply(change, answer) => {
                let now = (self.clock)();
                let result = self.switch.apply(now, change);
                if result.is_ok() {
                    match change {
                        Change::Group { port, group, plan } => {
                            self.switch.events_mut().set_kind(port, group, plan.kind);
                        }
                        Change::ClearCounters => {
                            self.switch.events_mut().clear();
                            self.polls.clear();
                        }
                        Change::Link { .. }
                        | Change::Ecn { .. }
                        | Change::Pfc { .. }
                        | Change::Ets { .. }
                        | Change::Topology { .. }
                        | Change::Said { .. }
                        | Change::Locator { .. }
                        | Change::Peer { .. }
                        | Change::SfcHost { .. }
                        | Change::Object { .. }
                        | Change::Measure(_)
                        | Change::FlushFdb => {}
                    }
                }
                let _ = answer.try_send(result);
            }
            Order::Secy(port, change, answer) => {
                let _ = answer.try_send(self.switch.change_secy(port, &change));
            }
            Order::Drain(answer) => {
                self.end();
                // Frames that arrive from now on fill rings that are not read any more.
                (self.seal)();
                self.polls.finish();
                let _ = answer.try_send(self.snapshot());
            }
            Order::Flush(answer) => {
                self.flush();
                let _ = answer.try_send(self.snapshot());
            }
            Order::Stop => unreachable!("ends the loop"),
        }
    }

    fn snapshot(&mut self) -> WorkerSnapshot {
        let now = (self.clock)();
        let switch = self.switch.snapshot(now);
        let watch = self.switch.events_mut();
        let (lossless_lost, lossless) = (watch.lost(), watch.lossless().to_vec());
        WorkerSnapshot { switch, lossless_lost, lossless, polls: self.polls.gaps() }
    }

    /// Drops everything that is held, and everything that waits in the rings from the others.
    #[cold]
    fn flush(&mut self) {
        let mut taken = self.snapshot().switch.taken;
        loop {
            self.switch.poll((self.clock)());
            let before = taken;
            taken = self.snapshot().switch.taken;
            if taken == before {
                break;
            }
        }
        self.switch.flush((self.clock)());
    }

    /// The last thing: pauses that the flush brought about and that a port refused go too.
    #[cold]
    fn stop(mut self) -> WorkerSnapshot {
        self.end();
        self.flush();
        self.snapshot()
    }

    /// Receives no more, and lets the neighbours know; the polls that follow send it.
    fn end(&mut self) {
        self.switch.set_draining(true);
        self.switch.say_goodbye((self.clock)());
    }
}
