//! A thread of a test: polls its stations in turn, and now and then looks at its orders.
//!
//! The loop makes no system call and takes no lock while flows run; while nothing is sent and
//! nothing is on its way it sleeps between polls, so that a server that waits for its next test
//! leaves the machine alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration as StdDuration;

use crossbeam::channel::{Receiver, Sender, TryRecvError};

use super::Jack;
use super::clock::{Clock, Time};
use crate::host::{Latency, Station};
use crate::runtime::{Cores, Preemption};
use crate::time::{Instant, Total};

/// A port's end station.
pub(super) type Host = Station<Jack>;

/// Polls between two looks at the orders: often enough that an answer takes microseconds, seldom
/// enough that the look costs nothing beside the polls.
const POLLS: u32 = 64;

/// From one poll to the next while nothing is sent. A choice: what 1,024 receive descriptors hold
/// of the shortest frames at 10 Gb/s is 69 us.
const NAP: StdDuration = StdDuration::from_micros(50);

/// Something to be done to a station, by the thread that polls it.
pub(super) type Deed = Box<dyn FnOnce(&mut Host, Instant) + Send>;

/// An order to a thread.
pub(super) enum Order {
    /// Do something to the station in this place.
    Do(usize, Deed),
    /// Tell how regularly it polled since flows were last started.
    Show(Sender<Pace>),
    /// Begin to count that anew.
    Clear,
    /// End.
    End,
}

/// How regularly a thread polls.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    /// From one poll to the next, while flows run.
    pub(super) gaps: Latency,
    /// Time that did not count, while flows ran.
    pub(super) stalled: Total,
}

/// What all threads of a test share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) time: Time,
    pub(super) cores: Cores,
    /// Time for which each thread was off its processor.
    pub(super) preemption: Preemption,
    /// Flows run, or frames are on their way.
    pub(super) awake: AtomicBool,
}

/// A thread's stations.
pub(super) struct Crew {
    /// Each with its place among the ports of the test.
    pub(super) hosts: Vec<(usize, Host)>,
    pub(super) orders: Receiver<Order>,
}

impl Crew {
    /// Polls until it is told to end, or until nobody is left who could tell it to. Gives the ports
    /// back.
    pub(super) fn run(mut self, shared: &Arc<Shared>, thread: usize) -> Vec<(usize, Jack)> {
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
                    host.port_mut().at(now);
                    progressed |= host.poll(now).progressed;
                }
                clock.publish();
                if !awake {
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
                // Orders come in rows; each waits for one poll, so that no poll is late.
                Ok(order) => {
                    self.obey(order, &mut clock, &mut pace);
                    rounds = 1;
                }
            }
        }
        self.hosts.into_iter().map(|(port, host)| (port, host.into_port())).collect()
    }

    #[cold]
    fn obey(&mut self, order: Order, clock: &mut Clock<'_>, pace: &mut Pace) {
        match order {
            Order::Do(place, deed) => {
                if let Some((_, host)) = self.hosts.get_mut(place) {
                    deed(host, clock.tick());
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
