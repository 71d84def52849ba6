//! Workers of one running switch, and the handle with which other threads control them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use super::cores::{allowed_ids, pin_to};
use super::poll_threads::{self, NoAnswer, NotStarted, Orders, PollThread, PollThreads};
use super::watch::LossWatch;
use super::watch::{PollMeter, RunSnapshot, WorkerSnapshot, merge};
use super::worker::{Idle, Order, Seal, Worker};
use congestion::isolation::Peer;
use congestion::proxy::Cached;
use congestion::streams::STREAMS_MAX;
use contracts::stats::NicCounters;
use contracts::world::World;
use ground::time::{Duration, Instant, Total};
use ground::units::PortId;
use kernel::Waiter;
use link::{AgentsSnapshot, News};
use secure::SecyChange;
use switch::managed::{StreamRow, Streams};
use switch::{Change, ChangeError, SecyRefused, Switch, SwitchPlan};

/// CPU and idle behaviour of a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// CPU that it is pinned to; none: not pinned.
    pub cpu: Option<usize>,
    /// Action when there is nothing to do.
    pub idle: Idle,
}

/// Reason why the workers cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A CPU that does not exist, or that this process may not use.
    #[error("worker {worker}: CPU {cpu} does not exist or may not be used; this process has {has}")]
    NoCpu {
        /// Worker index from 0.
        worker: usize,
        cpu: usize,
        /// Available CPUs.
        has: String,
    },
    /// The thread cannot be created or prepared.
    #[error("worker {}: {}", .0.thread, .0.why)]
    Thread(#[from] NotStarted),
}

/// Reason why a worker did not execute an order.
#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    /// It has ended: stopped, or panicked.
    #[error("worker {0} has ended")]
    Ended(usize),
    /// It did not answer.
    #[error("worker {0} does not answer: it gets no CPU time")]
    Silent(usize),
    /// It refused.
    #[error(transparent)]
    Refused(#[from] ChangeError),
    /// The port's SecY refused.
    #[error(transparent)]
    Secy(#[from] SecyRefused),
}

impl From<NoAnswer> for OrderError {
    fn from(error: NoAnswer) -> Self {
        match error {
            NoAnswer::Ended { thread } => Self::Ended(thread),
            NoAnswer::Silent { thread, .. } | NoAnswer::Starved { thread, .. } => {
                Self::Silent(thread)
            }
        }
    }
}

/// Reads the device counters of all ports.
pub type NicReader = Arc<dyn Fn() -> Vec<NicCounters> + Send + Sync>;

/// One worker's part of a switch, and its clock.
pub struct Part<W: World, C> {
    pub switch: Switch<W>,
    /// Reads the clock; the clocks of all workers show the same time.
    pub clock: C,
    pub place: Place,
    /// Waits for frames of all of its ports, with [`Idle::Wait`].
    pub waiter: Option<Waiter>,
    /// Longest gap between polls that its ports' headroom allows for; none if no port has headroom.
    pub poll_gap: Option<Duration>,
}

/// Received counters of devices when their worker stopped receiving, by port: the devices continue
/// to count.
type Sealed = Arc<Mutex<Vec<Option<NicCounters>>>>;

/// Handle on the workers; clones control the same ones.
#[derive(Clone)]
pub struct Controller(Arc<Shared>);

struct Shared {
    workers: Orders<Order>,
    owners: Vec<usize>,
    nics: NicReader,
    sealed: Sealed,
    /// Counters at the last clear, and its time.
    base: Mutex<(Vec<NicCounters>, StdInstant)>,
}

/// Threads of a running switch. Dropping it stops them without a summary.
pub struct Workers {
    controller: Controller,
    threads: PollThreads<WorkerSnapshot>,
}

/// Result of a run.
#[derive(Debug)]
pub struct Ended {
    /// Counters, unless a worker panicked and its counters are lost.
    pub snapshot: Option<RunSnapshot>,
    /// Time since the start, or since the counters were last cleared.
    pub elapsed: Total,
    /// True if all held frames were sent.
    pub drained: bool,
    /// Panic messages by worker.
    pub panics: Vec<(usize, String)>,
}

impl fmt::Debug for Controller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller")
            .field("workers", &self.0.workers.threads())
            .finish_non_exhaustive()
    }
}

/// Starts a thread for every part. `owners[n]` is the worker of port n. `prepare` runs in each
/// thread before its first poll (and after pinning); its result is dropped in the same thread after
/// the worker.
///
/// # Errors
/// [`StartError`]; threads that were started have ended then.
pub fn start<W, C, G>(
    parts: Vec<Part<W, C>>,
    owners: Vec<usize>,
    nics: NicReader,
    prepare: impl Fn() -> Result<G, String> + Clone + Send + 'static,
) -> Result<Workers, StartError>
where
    W: World<Events = LossWatch> + 'static,
    Switch<W>: Send,
    C: FnMut() -> Instant + Send + 'static,
    G: 'static,
{
    // Checked for all before the first thread starts, so that the error names the worker of the file.
    check_cpus(parts.iter().map(|part| part.place))?;
    let sealed = Sealed::new(Mutex::new(vec![None; owners.len()]));
    let body = |(worker, part): (usize, Part<W, C>)| {
        let mine = (0..owners.len()).filter(|port| owners[*port] == worker).collect();
        let (seal, prepare) = (seal(&nics, &sealed, mine), prepare.clone());
        move |thread: PollThread<'_, Order>| {
            let Part { switch, mut clock, place, waiter, poll_gap } = part;
            let make = || {
                // The first gap begins here and not at the creation of the thread, whose start is no late poll.
                let worked_at = clock();
                let polls = PollMeter::new(poll_gap, worked_at);
                Worker { switch, clock, idle: place.idle, waiter, worked_at, polls, seal }
            };
            thread.run(|| pin(place).and_then(|()| prepare()), make)
        }
    };
    let (workers, threads) =
        poll_threads::start("worker", parts.into_iter().enumerate().map(body))?;
    // Devices count from their start on, and a run from here.
    let base = Mutex::new((nics(), StdInstant::now()));
    let controller = Controller(Arc::new(Shared { workers, owners, nics, sealed, base }));
    Ok(Workers { controller, threads })
}

/// Returns a function that keeps the counters of the ports `mine` at its first call.
fn seal(nics: &NicReader, sealed: &Sealed, mine: Vec<usize>) -> Seal {
    let (nics, sealed) = (Arc::clone(nics), Arc::clone(sealed));
    Box::new(move || {
        let now = nics();
        let mut sealed = sealed.lock().unwrap_or_else(PoisonError::into_inner);
        for port in &mine {
            // Only the first reading counts: a second drain must not replace it.
            let _ = sealed[*port].get_or_insert(now[*port]);
        }
    })
}

fn check_cpus(places: impl Iterator<Item = Place>) -> Result<(), StartError> {
    let cpus = allowed_ids();
    for (worker, place) in places.enumerate() {
        if let Some(cpu) = place.cpu.filter(|cpu| !cpus.contains(cpu)) {
            let has: Vec<_> = cpus.iter().map(usize::to_string).collect();
            return Err(StartError::NoCpu { worker, cpu, has: has.join(", ") });
        }
    }
    Ok(())
}

fn pin(place: Place) -> Result<(), String> {
    match place.cpu {
        Some(cpu) if !pin_to(cpu) => {
            Err(format!("the system does not let it run on CPU {cpu} alone"))
        }
        _ => Ok(()),
    }
}

impl Controller {
    /// Returns the counters up to now.
    ///
    /// # Errors
    /// [`OrderError`] if a worker does not answer.
    pub fn snapshot(&self) -> Result<RunSnapshot, OrderError> {
        let parts = self.0.workers.all(Order::Show)?;
        Ok(self.merge(parts))
    }

    /// Time since the start, or since the counters were last cleared.
    #[must_use]
    pub fn elapsed(&self) -> Total {
        let (_, since) = *self.0.base.lock().unwrap_or_else(PoisonError::into_inner);
        since.elapsed().into()
    }

    /// Changes the running switch: at the worker that owns the port, or at all workers if the
    /// change concerns all.
    ///
    /// # Errors
    /// [`OrderError::Refused`] if nothing was changed; another error if a worker did not answer.
    pub fn apply(&self, change: Change) -> Result<(), OrderError> {
        let owner = match change {
            Change::Link { port, .. }
            | Change::Ecn { port, .. }
            | Change::Meter { port, .. }
            | Change::Pfc { port, .. }
            | Change::Topology { port, .. }
            | Change::Advertise { port, .. }
            | Change::Measure(port) => Some(port),
            // A group's reserved space and headroom reduce the pool of every worker. Every worker
            // classifies frames.
            Change::Group { .. }
            | Change::Leak { .. }
            | Change::Ets { .. }
            | Change::Locator { .. }
            | Change::Level(_)
            | Change::Peer { .. }
            | Change::SfcHost { .. }
            // The worker of the congested queue makes the messages, which may be any worker.
            | Change::Object { .. }
            | Change::FlushFdb
            | Change::ClearCounters => None,
        };
        let asked = match owner.map(|port| self.0.owners.get(port.index())) {
            Some(None) => return Err(ChangeError::NotMine(owner.expect("of a port")).into()),
            Some(Some(worker)) => vec![*worker],
            None => (0..self.0.workers.threads()).collect(),
        };
        for worker in asked {
            // In turn: all workers have the same plan, so a change that is refused is refused by the first one.
            self.0.workers.one(worker, |answer| Order::Apply(change, answer))??;
        }
        // Devices cannot be cleared: their counts at this moment are subtracted from later ones.
        if change == Change::ClearCounters {
            let base = ((self.0.nics)(), StdInstant::now());
            *self.0.base.lock().unwrap_or_else(PoisonError::into_inner) = base;
        }
        Ok(())
    }

    /// Changes the keys of a port's SecY, for sending or receiving, at the worker that owns the
    /// port.
    ///
    /// # Errors
    /// [`OrderError::Secy`] if nothing was changed; another error if the worker did not answer.
    pub fn change_secy(&self, port: PortId, change: &SecyChange) -> Result<(), OrderError> {
        // Keys go to the one worker that has the port: no other thread ever holds them.
        let owner = self.0.owners.get(port.index()).ok_or(SecyRefused::Port(port))?;
        Ok(self.0.workers.one(*owner, |answer| Order::Secy(port, change.clone(), answer))??)
    }

    /// Creates and deletes points and proxies of Source Flow Control at all workers: `plan` is the
    /// switch's, with other sections.
    ///
    /// # Errors
    /// [`OrderError`] if a worker does not answer.
    pub fn set_sections(&self, plan: &Arc<SwitchPlan>) -> Result<(), OrderError> {
        for worker in 0..self.0.workers.threads() {
            self.0.workers.one(worker, |answer| Order::Sections(Arc::clone(plan), answer))?;
        }
        Ok(())
    }

    /// Events of the ports' link protocols since the last call, in the order of the workers.
    ///
    /// # Errors
    /// [`OrderError`] if a worker does not answer.
    pub fn news(&self) -> Result<Vec<(PortId, News)>, OrderError> {
        Ok(self.0.workers.all(Order::News)?.concat())
    }

    /// State of the link protocols of the ports that have any, by port.
    ///
    /// # Errors
    /// [`OrderError`] if a worker does not answer.
    pub fn agents(&self) -> Result<BTreeMap<PortId, AgentsSnapshot>, OrderError> {
        Ok(self.0.workers.all(Order::Agents)?.into_iter().flatten().collect())
    }

    /// Flows in a table, each with a unique handle, at most `most` of them, and the number of the
    /// others. The table is read in small parts, so that no frame waits.
    ///
    /// # Errors
    /// [`OrderError`] if a worker does not answer.
    pub fn streams(
        &self,
        of: Streams,
        most: usize,
    ) -> Result<(Vec<(u64, StreamRow)>, u64), OrderError> {
        let (mut rows, mut more) = (Vec::new(), 0);
        for worker in 0..self.0.workers.threads() {
            let mut from = Some(0);
            while let Some(place) = from {
                let page =
                    self.0.workers.one(worker, |answer| Order::Streams(of, place, answer))?;
                // Unique across workers: each has a range of its own.
                let handle = |row: &StreamRow| (worker * STREAMS_MAX) as u64 + u64::from(row.place);
                let room = most.saturating_sub(rows.len()).min(page.rows.len());
                more += (page.rows.len() - room) as u64;
                rows.extend(page.rows.iter().take(room).map(|row| (handle(row), *row)));
                from = page.next;
            }
        }
        Ok((rows, more))
    }

    /// Destinations in the cache of the proxy, at most `most` of them, and the number of the others,
    /// by worker: each caches for its hosts.
    ///
    /// # Errors
    /// [`OrderError`] if a worker does not answer.
    pub fn cached(&self, most: usize) -> Result<(Vec<(usize, Cached)>, u64), OrderError> {
        let (mut rows, mut more) = (Vec::new(), 0);
        for worker in 0..self.0.workers.threads() {
            let mut from = Some(0);
            while let Some(place) = from {
                let page = self.0.workers.one(worker, |answer| Order::Cached(place, answer))?;
                let room = most.saturating_sub(rows.len()).min(page.rows.len());
                more += (page.rows.len() - room) as u64;
                rows.extend(page.rows.iter().take(room).map(|row| (worker, *row)));
                from = page.next;
            }
        }
        Ok((rows, more))
    }

    /// Peers of Congestion Isolation, by port.
    ///
    /// # Errors
    /// [`OrderError`] if a worker does not answer.
    pub fn peers(&self) -> Result<BTreeMap<PortId, Peer>, OrderError> {
        Ok(self.0.workers.all(Order::Peers)?.into_iter().flatten().collect())
    }

    fn merge(&self, parts: Vec<WorkerSnapshot>) -> RunSnapshot {
        let mut now = (self.0.nics)();
        let sealed = self.0.sealed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (now, sealed) in now.iter_mut().zip(sealed) {
            // Held frames are still being sent, which may fail.
            let NicCounters { tx_errors, tx_dropped, .. } = *now;
            let keep = |sealed| NicCounters { tx_errors, tx_dropped, ..sealed };
            *now = sealed.map_or(*now, keep);
        }
        let (base, _) = &*self.0.base.lock().unwrap_or_else(PoisonError::into_inner);
        let nics = now.into_iter().zip(base).map(|(now, base)| now.since(*base)).collect();
        merge(parts, &self.0.owners, nics)
    }
}

impl Workers {
    #[must_use]
    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    /// True if a worker has ended without an order, which happens only by a panic.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.threads.any_ended()
    }

    /// Stops receiving, continues to send for at most `patience` until no frame is held, drops the
    /// rest under [`Flushed`](contracts::stats::DropReason::Flushed), and ends the threads.
    #[must_use]
    pub fn stop(self, patience: StdDuration) -> Ended {
        // Before the drain: the time for sending the rest is not part of the run.
        let elapsed = self.controller.elapsed();
        let drained = self.drain(patience);
        // A worker that has ended is reported by its panic below.
        let _ = self.flush();
        let (mut parts, mut panics) = (Vec::new(), Vec::new());
        for (worker, end) in self.threads.join().into_iter().enumerate() {
            match end {
                Ok(part) => parts.push(part),
                Err(panic) => panics.push((worker, panic)),
            }
        }
        // A sum without one worker's counters would not balance.
        let snapshot = panics.is_empty().then(|| self.controller.merge(parts));
        Ended { snapshot, elapsed, drained, panics }
    }

    /// Drops all held frames, and leaves time for the resumes that this causes, so that no peer
    /// stays paused: in one turn each worker publishes its releases, in the next the owners of the
    /// ingress ports read them and send.
    fn flush(&self) -> Result<(), OrderError> {
        self.controller.0.workers.all(Order::Flush)?;
        self.controller.0.workers.all(Order::Show)?;
        self.controller.0.workers.all(Order::Show)?;
        Ok(())
    }

    /// True if all held frames were sent in time.
    fn drain(&self, patience: StdDuration) -> bool {
        let start = StdInstant::now();
        let Ok(mut parts) = self.controller.0.workers.all(Order::Drain) else { return false };
        loop {
            // A frame that one worker has handed over and the next has not taken yet is in `given`
            // alone; a frame that was taken is held or gone.
            let sum = |f: fn(&WorkerSnapshot) -> u64| parts.iter().map(f).sum::<u64>();
            let between = sum(|p| p.switch.given) != sum(|p| p.switch.taken);
            if sum(|p| p.switch.held) == 0 && !between {
                return true;
            }
            if start.elapsed() >= patience {
                return false;
            }
            // Not without a pause: each question costs the workers time for sending.
            thread::sleep(StdDuration::from_millis(1));
            match self.controller.0.workers.all(Order::Show) {
                Ok(now) => parts = now,
                Err(_) => return false,
            }
        }
    }
}
