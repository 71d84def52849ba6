//! A [polling thread](runtime::poll_threads) of a test, which polls its stations in turn, and its clock.
//!
//! While no frame is sent or in flight it sleeps between polls, so that a server that waits for its
//! next test does not load the machine.
//!
//! The clock is real time or, if all ports are in memory, a time that waits for the polling threads. A test whose
//! ports are all ends of pairs in memory has no external peer. Preemption of its threads then need not count: a
//! pause storm does not end because its thread was preempted, and a flow has no gap that no wire would cause. So
//! its clocks are [kept together](runtime::ClockSync), and the excluded time is reported. As soon as one port leads out of
//! the process, time is real and includes all preemption.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration as StdDuration;

use super::TappedPort;
use super::in_process::Device;
use contracts::port::Secured;
use crossbeam::channel::Sender;
use dpdk::TscClock;
use ground::time::{Duration, Instant, Total};
use host::{Latency, Station};
use runtime::poll_threads::{AfterPoll, PollGroup, PollLoop};
use runtime::{ClockSync, Cores, PollGaps, ThreadClock};

/// A port's end station.
pub(super) type Host = Station<Secured<TappedPort>>;

/// Returns the tap of a station's port, below its MACsec.
pub(super) fn tapped_port(host: &mut Host) -> &mut TappedPort {
    host.port_mut().port_mut()
}

/// Sleep between polls while no frame is sent. A choice: 1,024 receive descriptors of the
/// shortest frames at 10 Gb/s last 69 us.
const NAP: StdDuration = StdDuration::from_micros(50);

/// An operation on a station, executed by the thread that polls it.
pub(super) type Operation = Box<dyn FnOnce(&mut Host, Instant) + Send>;

/// The same on the device of the test.
pub(super) type DeviceOperation = Box<dyn FnOnce(&mut Device, Instant) + Send>;

pub(super) enum Order {
    /// Executes an operation on the station with this index.
    Do(usize, Operation),
    /// Executes an operation on the device.
    Device(DeviceOperation),
    /// Returns the poll gaps since the last start of flows.
    Show(Sender<Pace>),
    /// Clears the poll gaps.
    Clear,
}

/// The poll gaps of a thread.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    /// Gaps between polls while flows run.
    pub(super) gaps: Latency,
    /// Excluded time while flows ran.
    pub(super) stalled: Total,
}

/// The state that all threads of a test share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) time: Time,
    pub(super) cores: Cores,
    /// True while flows run or frames are in flight.
    pub(super) awake: AtomicBool,
}

/// The stations of one thread.
pub(super) struct Poller<'a> {
    shared: &'a Shared,
    /// Each with the index of its port in the test.
    hosts: Vec<(usize, Host)>,
    /// The device under test, if it is in this process.
    device: Option<Device>,
    clock: Clock<'a>,
    gaps: PollGaps<'a>,
    pace: Pace,
    /// Time of the last poll.
    last: Instant,
    /// Excluded time up to this round.
    stalled: Total,
    /// True if flows run in this round.
    awake: bool,
}

impl<'a> Poller<'a> {
    /// Starts the clock of the calling thread.
    pub(super) fn new(
        hosts: Vec<(usize, Host)>,
        device: Option<Device>,
        shared: &'a Shared,
        group: &'a PollGroup,
        thread: usize,
    ) -> Self {
        let mut clock = shared.time.clock(thread);
        let last = clock.tick();
        let gaps = group.preemption.enter(thread, clock.real(last));
        let stalled = clock.stalled();
        let pace = Pace::default();
        Self { shared, hosts, device, clock, gaps, pace, last, stalled, awake: false }
    }
}

impl PollLoop for Poller<'_> {
    type Order = Order;
    /// Its queues, each with its number in the test.
    type End = Vec<(usize, TappedPort)>;

    /// Orders come in batches; one is executed per poll, so that no poll is late.
    const POLLS_AFTER_ORDER: u32 = 1;

    #[inline]
    fn begin_round(&mut self) {
        // Relaxed: a round later is early enough.
        self.awake = self.shared.awake.load(Ordering::Relaxed);
        let before = core::mem::replace(&mut self.stalled, self.clock.stalled());
        if self.awake {
            // Only time in which flows run is of interest.
            self.pace.stalled += self.stalled - before;
        }
    }

    #[inline]
    fn poll(&mut self) -> AfterPoll {
        let now = self.clock.tick();
        let mut progressed = false;
        for (_, host) in &mut self.hosts {
            tapped_port(host).tap.at(now);
            progressed |= host.poll(now).progressed;
        }
        if let Some(device) = &mut self.device {
            progressed |= device.poll(now);
        }
        self.clock.publish();
        // The clock of a device in this process runs only while it is polled.
        if !self.awake && self.device.is_none() {
            return AfterPoll::Sleep(NAP);
        }
        self.pace.gaps.record(now.since(self.last));
        self.last = now;
        // On a busy machine the polls of a round may take a second.
        if self.gaps.polled(self.clock.real(now)) {
            return AfterPoll::Orders;
        }
        self.shared.cores.after_poll(progressed, self.clock.waited())
    }

    fn slept(&mut self) {
        self.last = self.clock.tick();
        self.gaps.slept(self.clock.real(self.last));
    }

    #[cold]
    fn obey(&mut self, order: Order) {
        match order {
            Order::Do(place, operation) => {
                if let Some((_, host)) = self.hosts.get_mut(place) {
                    operation(host, self.clock.between(self.last));
                }
            }
            Order::Device(operation) => {
                if let Some(device) = &mut self.device {
                    operation(device, self.clock.between(self.last));
                }
            }
            Order::Show(answer) => {
                let _ = answer.try_send(self.pace.clone());
            }
            Order::Clear => self.pace = Pace::default(),
        }
    }

    fn end(self) -> Self::End {
        let hosts = self.hosts.into_iter();
        let ports = hosts.map(|(port, host)| (port, host.into_port().into_port()));
        ports.chain(self.device.into_iter().flat_map(Device::into_ports)).collect()
    }
}

/// Maximum difference between synced clocks, which is also the longest gap between two polls
/// that counts. A choice: less than half of the longest pause at 100 Gb/s (335 us), so that one
/// that is renewed in time never expires, and longer than a poll with full bursts.
const SPAN: Duration = Duration::from_micros(100);

/// The same with a device in the process of the test, which is polled by the thread of its stations: all times
/// are exact to that. A choice: two quanta at 1 Gb/s.
pub const DEVICE_SPAN: Duration = Duration::from_micros(1);

/// The clock of all threads of a test.
#[derive(Debug)]
pub(super) struct Time {
    real: TscClock,
    /// The time at which new clocks start.
    zero: Instant,
    clock_sync: Option<(ClockSync, Duration)>,
}

/// The clock of one thread.
#[derive(Debug)]
pub(super) enum Clock<'a> {
    Real(&'a TscClock),
    Synced(&'a TscClock, ThreadClock<'a>),
}

impl Time {
    /// A clock for a number of threads; synced if all ports are in memory.
    pub(super) fn new(real: TscClock, threads: usize, in_memory: bool, has_device: bool) -> Self {
        let span = if has_device { DEVICE_SPAN } else { SPAN };
        let clock_sync = in_memory.then(|| (ClockSync::new(threads, span), span));
        Self { zero: real.now(), real, clock_sync }
    }

    /// Returns the clock of a thread; each thread has one, and polls until the end.
    pub(super) fn clock(&self, thread: usize) -> Clock<'_> {
        match &self.clock_sync {
            None => Clock::Real(&self.real),
            Some((clock_sync, _)) => {
                Clock::Synced(&self.real, clock_sync.thread_clock(thread, self.zero))
            }
        }
    }

    /// Returns the current time of the slowest thread.
    pub(super) fn now(&self) -> Instant {
        self.clock_sync
            .as_ref()
            .map_or_else(|| self.real.now(), |(clock_sync, _)| clock_sync.polled())
    }

    /// Maximum time by which a thread may be ahead of [`Time::now`].
    pub(super) fn spread(&self) -> Duration {
        self.clock_sync.as_ref().map_or(Duration::ZERO, |(_, span)| *span)
    }

    /// True if the clock waits for the threads.
    pub(super) const fn is_synced(&self) -> bool {
        self.clock_sync.is_some()
    }

    /// The least difference that the clock resolves.
    pub(super) fn resolution(&self) -> Duration {
        Duration::from_picos(1_000_000_000_000_u64.div_ceil(self.real.hz().max(1)))
    }
}

impl Clock<'_> {
    /// Returns the time for a poll.
    #[inline]
    pub(super) fn tick(&mut self) -> Instant {
        match self {
            Self::Real(real) => real.now(),
            Self::Synced(real, thread_clock) => thread_clock.tick(real.now()),
        }
    }

    /// Returns the time for an order between two polls, the last of which was at `last`. A synced clock does not go
    /// on for it: between two polls it goes on by a step at most.
    pub(super) fn between(&self, last: Instant) -> Instant {
        match self {
            Self::Real(real) => real.now(),
            Self::Synced(..) => last,
        }
    }

    /// Returns the real time at the tick that returned `now`.
    #[inline]
    pub(super) const fn real(&self, now: Instant) -> Instant {
        match self {
            Self::Real(_) => now,
            Self::Synced(_, thread_clock) => thread_clock.real(),
        }
    }

    /// Publishes that all work due at the tick is done.
    #[inline]
    pub(super) fn publish(&self) {
        if let Self::Synced(_, thread_clock) = self {
            thread_clock.publish();
        }
    }

    /// Real time for which it has stood still, if it waits for another thread.
    #[inline]
    pub(super) const fn waited(&self) -> Option<Duration> {
        match self {
            Self::Real(_) => None,
            Self::Synced(_, thread_clock) => thread_clock.waited(),
        }
    }

    /// The excluded time.
    pub(super) const fn stalled(&self) -> Total {
        match self {
            Self::Real(_) => Total::ZERO,
            Self::Synced(_, thread_clock) => thread_clock.stalled(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise a device in the process of the test would be polled two steps later, and be found late.
    #[test]
    fn an_order_takes_no_time_of_a_leashed_clock() {
        for (in_memory, stands_still) in [(true, true), (false, false)] {
            let time = Time::new(TscClock::new(), 1, in_memory, in_memory);
            let mut clock = time.clock(0);
            let last = clock.tick();
            let until = std::time::Instant::now() + std::time::Duration::from_millis(1);
            while std::time::Instant::now() < until {}
            assert_eq!(clock.between(last) == last, stands_still);
            let next = clock.tick();
            assert!(!in_memory || next.since(last) <= DEVICE_SPAN, "{next:?}");
        }
    }
}
