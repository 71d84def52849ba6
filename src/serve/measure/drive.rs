//! Threads that poll the ports of a measurement.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as StdDuration, Instant as StdInstant};

use anyhow::{Result, anyhow};
use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, unbounded};

use crate::inputs::{Opened, is_up};
use contracts::port::{Port, Stamps};
use dpdk::{DpdkPort, Eal, PortControl, Started, TscClock};
use ground::time::{Duration, Instant};
use headroom::{Samples, measure};
use link::{AgentsPlan, AgentsSnapshot, Failure, Found, Method, News, PortAgents};
use runtime::poll_threads::{self, AfterPoll, PollLoop, PollThread};
use runtime::{AgentPort, Cores, Disturbance, PollGaps};

/// Period of progress reports. A choice: people perceive it as immediate.
const REPORT_EVERY: Duration = Duration::from_millis(50);

/// Period at which link states are read.
const LINK_EVERY: StdDuration = StdDuration::from_millis(100);

/// Task of a run.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// Number of measurements at the first port; none if it only answers.
    pub count: u32,
    /// Time from the end of one measurement to the next.
    pub period: Duration,
    /// Time for which to answer; None for until a signal.
    pub duration: Option<Duration>,
}

/// A finished measurement.
#[derive(Clone, Debug)]
pub struct Measured {
    pub(crate) found: Found,
    /// Round trips, or mean path delays of PTP.
    pub(crate) delay: Samples,
    /// Turnaround times of the peer; None for PTP.
    pub(crate) turnaround: Option<Samples>,
    pub(crate) stamps: Stamps,
    pub(crate) took: Duration,
}

/// Events at the first port.
#[derive(Clone, Debug)]
pub enum Event {
    /// Number of finished rounds of the measurement, or of answered requests.
    Progress { rounds: u64 },
    /// A measurement has finished.
    Measured(Box<Measured>),
    /// A method cannot be used or had no result, and another is tried.
    Switched { from: Method, to: Method, why: Failure },
}

/// Reason of the end.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Why {
    /// All measurements have finished, or the duration is over.
    Done,
    Failed(Failure),
    /// A signal arrived, or a thread has ended.
    Stopped,
}

/// State of a port at the end.
#[derive(Clone, Debug)]
pub(crate) struct PortEnd {
    pub(crate) name: String,
    pub(crate) snapshot: AgentsSnapshot,
    /// Received frames that belong to no link protocol.
    pub(crate) others: u64,
}

/// A port in its thread.
struct Seat {
    name: String,
    port: AgentPort<DpdkPort<Started>>,
    up: bool,
}

/// State shared by the threads.
struct Shared {
    clock: TscClock,
    cores: Cores,
    /// Link state per port.
    links: Vec<AtomicBool>,
}

/// Runs the link protocols of `ports` until the job is done or `stop` is set, and reports events.
///
/// # Errors
/// A thread that cannot be registered with DPDK, or that panicked.
pub(crate) fn drive(
    eal: &Eal,
    job: Job,
    ports: Vec<(Opened, AgentsPlan)>,
    stop: &AtomicBool,
    tell: impl FnMut(Event),
) -> Result<(Why, Vec<PortEnd>, Disturbance)> {
    // Threads are not pinned unless CPUs were chosen: the other end may be another process on this
    // machine, which would be on the same CPU. Ends of a pair in memory share a thread, because
    // preemption of one of two threads would be measured as the link's delay.
    let in_memory = ports.iter().all(|(opened, _)| opened.in_memory);
    let threads = if in_memory { 1 } else { ports.len().min(Cores::available()).max(1) };
    let controls: Vec<PortControl> = ports.iter().map(|(o, _)| o.control.clone()).collect();
    let shared = Arc::new(Shared {
        clock: ports[0].0.clock,
        cores: Cores::find_if_chosen(threads),
        links: ports.iter().map(|_| AtomicBool::new(true)).collect(),
    });
    let mut seats: Vec<Vec<(usize, Seat)>> = (0..threads).map(|_| Vec::new()).collect();
    for (n, (opened, plan)) in ports.into_iter().enumerate() {
        let agents = PortAgents::new(&plan, opened.port.stamps());
        let port = AgentPort::new(opened.port, agents);
        seats[n % threads].push((n, Seat { name: opened.name, port, up: false }));
    }
    let (events, news) = unbounded();
    let body = |seats: Vec<(usize, Seat)>| {
        let (eal, shared, events) = (eal.clone(), Arc::clone(&shared), events.clone());
        move |thread: PollThread<'_, _>| {
            let (number, group) = (thread.number, thread.group);
            let prepare = || {
                shared.cores.pin(number);
                eal.register_worker().map_err(|error| error.to_string())
            };
            let make = || {
                let started = shared.clock.now();
                let (lead, gaps) =
                    (Lead::new(job, started), group.preemption.enter(number, started));
                Poller { seats, lead, events, why: None, shared: &shared, gaps }
            };
            thread.run(prepare, make)
        }
    };
    let (_, threads) = poll_threads::start("measure", seats.into_iter().map(body))?;
    drop(events);
    threads.group().preemption.clear();
    let stop_if_told = || {
        if stop.load(Ordering::Relaxed) {
            threads.stop();
        }
    };
    follow(&news, &shared, &controls, stop_if_told, tell);
    let disturbance = threads.group().preemption.disturbance();
    let mut why = Why::Stopped;
    let mut ends = Vec::new();
    for end in threads.join() {
        let ended = end.map_err(|_| anyhow!("a thread that polls panicked"))?;
        // Only the thread of the first port has a reason.
        why = ended.0.unwrap_or(why);
        ends.extend(ended.1);
    }
    ends.sort_by_key(|(n, _)| *n);
    let ends = ends.into_iter().map(|(_, end)| end).collect();
    Ok((why, ends, disturbance))
}

/// Reports the news of the threads until all have ended, and tells them the state of their links meanwhile. Calls
/// `stop_if_told` between two waits.
fn follow(
    news: &Receiver<Event>,
    shared: &Shared,
    controls: &[PortControl],
    stop_if_told: impl Fn(),
    mut tell: impl FnMut(Event),
) {
    let mut checked = StdInstant::now();
    loop {
        match news.recv_timeout(LINK_EVERY) {
            Ok(what) => tell(what),
            Err(RecvTimeoutError::Timeout) => {}
            // The last thread dropped its end.
            Err(RecvTimeoutError::Disconnected) => return,
        }
        stop_if_told();
        // A driver may take long to answer, so the polling threads never ask it themselves.
        if checked.elapsed() >= LINK_EVERY {
            checked = StdInstant::now();
            for (link, control) in shared.links.iter().zip(controls) {
                link.store(is_up(control), Ordering::Relaxed);
            }
        }
    }
}

/// The ports of one thread, and the task at the first port of the run.
struct Poller<'a> {
    /// Each with its number in the run.
    seats: Vec<(usize, Seat)>,
    lead: Lead,
    events: Sender<Event>,
    /// Reason of the end, in the thread of the first port.
    why: Option<Why>,
    shared: &'a Shared,
    gaps: PollGaps<'a>,
}

impl PollLoop for Poller<'_> {
    type Order = Infallible;
    type End = (Option<Why>, Vec<(usize, PortEnd)>);

    /// There are no orders, and the stop flag is one load.
    const POLLS: u32 = 1;

    #[inline]
    fn poll(&mut self) -> AfterPoll {
        // Read again for each port: the second one would otherwise be late by the first one's poll.
        let mut progressed = false;
        for (n, seat) in &mut self.seats {
            let now = self.shared.clock.now();
            self.gaps.polled(now);
            let up = self.shared.links[*n].load(Ordering::Relaxed);
            if up != seat.up {
                seat.up = up;
                seat.port.agents_mut().set_link(now, up, None);
            }
            progressed |= seat.port.poll(now);
            if *n == 0 {
                self.why = self.lead.advance(now, &mut seat.port, &self.events);
            } else {
                // Taken out all the same: unread news would stay at the port.
                while seat.port.next_news().is_some() {}
            }
        }
        // The other threads end with the lead, whatever their ports still answer.
        if self.why.is_some() {
            return AfterPoll::EndAll;
        }
        self.shared.cores.after_poll(progressed, None)
    }

    fn obey(&mut self, order: Infallible) {
        match order {}
    }

    fn end(self) -> Self::End {
        let now = self.shared.clock.now();
        let ends = self.seats.into_iter().map(|(n, seat)| (n, seat.end(now))).collect();
        (self.why, ends)
    }
}

impl Seat {
    fn end(self, now: Instant) -> PortEnd {
        let (snapshot, others) = (self.port.agents().snapshot(now), self.port.others());
        PortEnd { name: self.name, snapshot, others }
    }
}

/// Task at the first port.
struct Lead {
    job: Job,
    started: Instant,
    began: Instant,
    made: u32,
    /// Start of the next measurement.
    next: Option<Instant>,
    reported: Instant,
}

impl Lead {
    fn new(job: Job, now: Instant) -> Self {
        Self { job, started: now, began: now, made: 0, next: None, reported: now }
    }

    /// Reports events. Returns the reason if the run has ended.
    fn advance(
        &mut self,
        now: Instant,
        port: &mut AgentPort<DpdkPort<Started>>,
        events: &Sender<Event>,
    ) -> Option<Why> {
        while let Some(news) = port.next_news() {
            match news {
                News::Measuring(_) => self.began = now,
                News::Found(found) => {
                    // A closed channel is no reason to stop.
                    let _ = events.send(Event::Measured(Box::new(self.measured(found, now, port))));
                    self.made += 1;
                    if self.made >= self.job.count {
                        return Some(Why::Done);
                    }
                    // The period begins at the end of a measurement: a long one is followed by a pause all the same.
                    self.next = Some(now.saturating_add(self.job.period));
                }
                News::Failed(failure) => return Some(Why::Failed(failure)),
                News::Switched { from, to, why } => {
                    let _ = events.send(Event::Switched { from, to, why });
                }
                // It ended with the failure before.
                News::Again(_) | News::Negotiated(_) | News::Neighbours | News::Surroundings(_) => {
                }
            }
        }
        if self.next.is_some_and(|next| next <= now) {
            self.next = None;
            port.agents_mut().measure_now(now);
        }
        if now.since(self.reported) >= REPORT_EVERY {
            self.reported = now;
            let _ = events.send(Event::Progress { rounds: progress(self.job, port) });
        }
        // A duration that passes is a complete run, also without a measurement.
        let over = self.job.duration.is_some_and(|long| now.since(self.started) >= long);
        over.then_some(Why::Done)
    }

    fn measured(
        &self,
        found: Found,
        now: Instant,
        port: &AgentPort<DpdkPort<Started>>,
    ) -> Measured {
        let agents = port.agents();
        let trips = agents.measurer().and_then(|m| m.round_trips());
        let (delay, turnaround) = match found.method {
            Method::RoundTrip => {
                (trips.map(|trips| trips.round_trip()), trips.map(|trips| trips.turnaround()))
            }
            Method::PeerDelay => (agents.peer_delay().and_then(|p| p.estimate().cloned()), None),
        };
        Measured {
            found,
            delay: delay.unwrap_or_default(),
            turnaround,
            stamps: *agents.stamps(),
            took: now.since(self.began),
        }
    }
}

/// Rounds of the current measurement, or answered requests.
fn progress(job: Job, port: &AgentPort<DpdkPort<Started>>) -> u64 {
    let agents = port.agents();
    let (measurer, ptp) = (agents.measurer(), agents.peer_delay());
    if job.count == 0 {
        let responses = measurer.map_or(0, |m| m.counters().responses_sent);
        return responses + ptp.map_or(0, |p| p.counters().responses_sent);
    }
    match measurer.map(|m| m.state()) {
        Some(measure::State::Running { rounds, .. }) => rounds.into(),
        _ => ptp.map_or(0, |p| p.counters().exchanges),
    }
}
