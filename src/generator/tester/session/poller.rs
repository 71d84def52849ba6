//! A thread of a test: polls its stations in turn, and checks its orders at intervals.
//!
//! The loop makes no system call and takes no lock while flows run. While no frame is sent or in
//! flight it sleeps between polls, so that a server that waits for its next test does not load
//! the machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration as StdDuration;

use crossbeam::channel::{Receiver, Sender, TryRecvError};

use super::TappedPort;
use super::clock::Time;
use super::in_process::Device;
use contracts::port::Secured;
use ground::time::{Instant, Total};
use host::{Latency, Station};
use runtime::{Cores, Preemption};

/// A port's end station.
pub(super) type Host = Station<Secured<TappedPort>>;

/// Returns the tap of a station's port, below its MACsec.
pub(super) fn tapped_port(host: &mut Host) -> &mut TappedPort {
    host.port_mut().port_mut()
}

/// Polls between two checks for orders: few enough for replies within microseconds, many enough
/// that the check costs little beside the polls.
const POLLS: u32 = 64;

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
    End,
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
    /// Preempted time of each thread.
    pub(super) preemption: Preemption,
    /// True while flows run or frames are in flight.
    pub(super) awake: AtomicBool,
}

pub(super) struct Poller {
    /// Each with the index of its port in the test.
    pub(super) hosts: Vec<(usize, Host)>,
    pub(super) orders: Receiver<Order>,
    /// The device under test, if it is in this process.
    pub(super) device: Option<Device>,
}

impl Poller {
    /// Polls until the order to end, or until all senders of orders are gone. Returns the ports.
    pub(super) fn run(mut self, shared: &Arc<Shared>, thread: usize) -> Vec<(usize, TappedPort)> {
        shared.cores.pin(thread);
        let mut clock = shared.time.clock(thread);
        let mut pace = Pace::default();
        let mut last = clock.tick();
        let mut polls = shared.preemption.enter(thread, clock.real(last));
        let mut stalled = clock.stalled();
        let mut rounds = POLLS;
        loop {
            let awake = shared.awake.load(Ordering::Relaxed);
            let before = core::mem::replace(&mut stalled, clock.stalled());
            if awake {
                pace.stalled += stalled - before;
            }
            for _ in 0..rounds {
                let now = clock.tick();
                let mut progressed = false;
                for (_, host) in &mut self.hosts {
                    tapped_port(host).tap.at(now);
                    progressed |= host.poll(now).progressed;
                }
                if let Some(device) = &mut self.device {
                    progressed |= device.poll(now);
                }
                clock.publish();
                // The clock of a device in this process runs only while it is polled.
                if !awake && self.device.is_none() {
                    thread::sleep(NAP);
                    last = clock.tick();
                    polls.slept(clock.real(last));
                    break;
                }
                pace.gaps.record(now.since(last));
                last = now;
                // On a busy machine 64 polls may take a second.
                if polls.polled(clock.real(now)) {
                    break;
                }
                shared.cores.rest(progressed, clock.waits());
            }
            match self.orders.try_recv() {
                Err(TryRecvError::Empty) => rounds = POLLS,
                Ok(Order::End) | Err(TryRecvError::Disconnected) => break,
                // Orders come in batches; one is executed per poll, so that no poll is late.
                Ok(order) => {
                    self.obey(order, clock.between(last), &mut pace);
                    rounds = 1;
                }
            }
        }
        let hosts = self.hosts.into_iter();
        let ports = hosts.map(|(port, host)| (port, host.into_port().into_port()));
        ports.chain(self.device.into_iter().flat_map(Device::into_ports)).collect()
    }

    #[cold]
    fn obey(&mut self, order: Order, now: Instant, pace: &mut Pace) {
        match order {
            Order::Do(place, operation) => {
                if let Some((_, host)) = self.hosts.get_mut(place) {
                    operation(host, now);
                }
            }
            Order::Device(operation) => {
                if let Some(device) = &mut self.device {
                    operation(device, now);
                }
            }
            Order::Show(answer) => {
                let _ = answer.try_send(pace.clone());
            }
            Order::Clear => *pace = Pace::default(),
            Order::End => unreachable!("ends the loop"),
        }
    }
}
