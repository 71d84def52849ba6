//! Opens ports and starts the stations of a test, and closes them again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::board::{Board, watch};
use super::devices::{self, Devices, Facts, Want};
use super::in_process::{Device, DevicePlan};
use super::links::Link;
use super::orders::Captures;
use super::poller::{Host, Order, Poller, Shared, Time};
use super::queues::{self, Queues};
use super::{Inner, PollerThreads, Session, SessionError, TappedPort, lock};
use crate::plan::{Place, TestPlan};
use crate::stations::{Punctuality, asked_rates, queue_stations};
use contracts::port::Secured;
use dpdk::Eal;
use ground::units::BitsPerSec;
use host::{SharedPauses, Station, StationPlan};
use runtime::Cores;
use runtime::poll_threads::{self, NotStarted, Orders, PollThread};
use secure::Secy;

/// Runs tests, one at a time: holds the open devices and the test.
#[derive(Debug)]
pub struct Bench {
    devices: Devices,
    session: Option<Arc<Session>>,
    threads: Option<usize>,
    /// True if ports in memory are treated as if they led out of the process.
    outside: bool,
    /// The run number of the last test. The first is random, because a device may hold frames of
    /// a process that has ended.
    runs: u8,
}

/// A test that is ready to begin.
#[derive(Debug)]
pub struct Prepared {
    plan: TestPlan,
    /// Those of the test's ports, and behind them those of the device's.
    wants: Vec<Want>,
    device: Option<DevicePlan>,
}

impl Bench {
    /// A bench without devices. `threads` limits the polling threads; the default is one less
    /// than the CPUs that this process may use, because a thread that loses its CPU has late
    /// timestamps and pauses.
    #[must_use]
    pub fn new(eal: Eal, threads: Option<usize>) -> Self {
        Self {
            devices: Devices::new(eal),
            session: None,
            threads,
            outside: false,
            runs: random_run(),
        }
    }

    /// Treats ports in memory as if they led out of the process: each end of a pair has its own
    /// thread if there are CPUs, and time is real. Used to measure the precision of times.
    #[must_use]
    pub const fn as_if_outside(mut self) -> Self {
        self.outside = true;
        self
    }

    /// Returns the EAL of its devices.
    #[must_use]
    pub const fn eal(&self) -> &Eal {
        self.devices.eal()
    }

    /// Replaces the running test: [`Bench::prepare`], [`Bench::clear`] and [`Bench::begin`].
    ///
    /// # Errors
    /// Devices or plans that cannot be used.
    pub fn set(&mut self, plan: TestPlan) -> Result<Arc<Session>, SessionError> {
        self.set_with(plan, None)
    }

    /// Does the same for a test of a device in this process, whose ports are the other ends of those of the
    /// test. It is built anew.
    ///
    /// # Errors
    /// Devices or plans that cannot be used.
    pub fn set_with(
        &mut self,
        plan: TestPlan,
        device: Option<DevicePlan>,
    ) -> Result<Arc<Session>, SessionError> {
        let mut prepared = self.prepare(plan)?;
        if let Some(device) = &device {
            queues::check_one(&prepared.plan)?;
            let more = devices::wants_of_device(device, &prepared.wants);
            prepared.wants.extend(more);
        }
        prepared.device = device;
        self.clear();
        self.begin(prepared)
    }

    /// Checks a test and opens the devices that it needs and that are not open yet, without an
    /// effect on the running test.
    ///
    /// # Errors
    /// Devices or plans that cannot be used.
    pub fn prepare(&mut self, plan: TestPlan) -> Result<Prepared, SessionError> {
        let wants = wants(&plan)?;
        let plans = queue_stations(&plan, &asked_rates(&plan), Punctuality::THREADS);
        check(&plan, &Queues::of(&plan), &plans)?;
        self.devices.open_new(&wants)?;
        rates(&plan, &self.devices.facts(&wants))?;
        Ok(Prepared { plan, wants, device: None })
    }

    /// Ends the running test, and keeps its devices.
    pub fn clear(&mut self) {
        if let Some(session) = self.session.take() {
            let queues = session.end();
            give_back(&mut self.devices, &session.inner.wants, queues);
        }
    }

    /// Begins a test. No other test may run.
    ///
    /// # Errors
    /// An error that could not be detected before: a device that was closed cannot be opened
    /// again for the new test.
    pub fn begin(&mut self, prepared: Prepared) -> Result<Arc<Session>, SessionError> {
        assert!(self.session.is_none(), "one test at a time");
        let Prepared { mut plan, wants, device } = prepared;
        self.runs = self.runs.wrapping_add(1);
        plan.run = self.runs;
        self.devices.fit(&wants)?;
        let opened: Option<Vec<_>> = wants.iter().map(|w| self.devices.take(w)).collect();
        let opened = opened.expect("all that is wanted is open, and nobody else has it");
        let (ports, facts): (Vec<_>, Vec<_>) = opened.into_iter().unzip();
        let ports = ports.into_iter().flatten().collect();
        match self.start(plan, device, wants.clone(), ports, facts) {
            Ok(session) => Ok(self.session.insert(Arc::new(session)).clone()),
            Err((error, ports)) => {
                give_back(&mut self.devices, &wants, ports);
                Err(error)
            }
        }
    }

    /// Returns the number of polling threads that a test may have.
    fn threads_max(&self, has_device: bool) -> usize {
        // A device is polled between its stations, by their thread.
        if has_device { 1 } else { self.threads.unwrap_or_else(Cores::beside_control) }
    }

    fn start(
        &self,
        plan: TestPlan,
        device: Option<DevicePlan>,
        wants: Vec<Want>,
        ports: Vec<TappedPort>,
        mut facts: Vec<Facts>,
    ) -> Result<Session, (SessionError, Vec<(usize, TappedPort)>)> {
        let queues = Queues::of(&plan);
        let checked = rates(&plan, &facts).and_then(|rates| {
            let plans = queue_stations(&plan, &rates, Punctuality::THREADS);
            check(&plan, &queues, &plans).map(|()| (rates, plans))
        });
        let (rates, plans) = match checked {
            Ok(checked) => checked,
            Err(error) => return Err((error, ports.into_iter().enumerate().collect())),
        };
        let in_memory = is_in_memory(&wants) && !self.outside;
        let threads_max = self.threads_max(device.is_some());
        let places = spread(&wants, &queues, threads_max, in_memory);
        let threads = threads_of(&places);
        let shared = Arc::new(Shared {
            time: Time::new(*self.devices.clock(), threads, in_memory, device.is_some()),
            cores: Cores::find(threads),
            awake: AtomicBool::new(false),
        });
        let mut ports = ports.into_iter().enumerate();
        let hosts = hosts(&plans, ports.by_ref(), &wants, &queues);
        let spares = hosts.iter().map(|(_, host)| host.spares().clone()).collect();
        // Behind the ports of the test are those of the device.
        let has_device = device.is_some();
        let device = device.map(|device| Device::new(&device, ports)).transpose();
        // Its ports are lost with it, and are opened again for the next test.
        let device = device.map_err(|error| (error, Vec::new()))?;
        facts.truncate(plans.len());
        // If a thread cannot be started, all ports are lost and are opened again in the same way.
        let started = start_threads(self.devices.eal(), hosts, &places, device, &shared);
        let (pollers, threads) = started.map_err(|error| (error.into(), Vec::new()))?;
        let rx_room = facts.iter().map(|facts| facts.rx_room).collect();
        let links = facts.into_iter().map(Link::new).collect();
        let synced = shared.time.is_synced();
        let mut warnings = warnings(&plan, &wants, &queues, &places, synced);
        // Time that the threads of ports in memory lose does not count.
        if !synced {
            warnings.extend(shared.cores.warnings());
        }
        let inner = Arc::new(Inner {
            board: Mutex::new(Board::new(&plan)),
            captures: Mutex::new(Captures { ended: vec![None; plan.ports.len()] }),
            spares,
            plan,
            wants,
            has_device,
            links: Mutex::new(links),
            rates,
            rx_room,
            queues,
            places,
            pollers,
            zero: zero_of(&shared.time),
            shared,
            ending: AtomicBool::new(false),
            warnings,
        });
        let watched = inner.clone();
        let watcher = thread::spawn(move || watch(&watched));
        Ok(Session {
            inner,
            threads: Mutex::new(Some(threads)),
            watcher: Mutex::new(Some(watcher)),
        })
    }
}

/// Returns the time of day at zero of a test's clock, since 1970.
fn zero_of(time: &Time) -> Duration {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since_1970.saturating_sub(Duration::from_nanos(time.now().as_nanos()))
}

/// A random number, so that two processes rarely share one.
fn random_run() -> u8 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (since_1970.subsec_micros() as u8) ^ (std::process::id() as u8)
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Session {
    /// Ends the test and returns its queues.
    fn end(&self) -> Vec<(usize, TappedPort)> {
        self.inner.ending.store(true, Ordering::Relaxed);
        if let Some(watcher) = lock(&self.watcher).take() {
            watcher.thread().unpark();
            // Joined before the threads end, as it sends orders to them.
            let _ = watcher.join();
        }
        // The handles would keep the devices open.
        lock(&self.inner.links).clear();
        let threads = lock(&self.threads).take();
        // The ports of a thread that panicked are lost; they are opened again.
        threads.into_iter().flat_map(PollerThreads::join).flatten().flatten().collect()
    }
}

/// Returns queues after a test: those of its ports, and then those of its device.
fn give_back(devices: &mut Devices, wants: &[Want], all: Vec<(usize, TappedPort)>) {
    let numbers: Vec<u16> = wants.iter().map(|want| want.queues).collect();
    let queues = Queues::of_ports(&numbers);
    for (index, queue) in all {
        let (port, number) = queues.at(index);
        devices.give(&wants[port].place, number, queue);
    }
}

/// Returns the number of threads that have a place.
fn threads_of(places: &[(usize, usize)]) -> usize {
    places.iter().map(|(thread, _)| thread + 1).max().unwrap_or(0)
}

/// Creates the stations of all queues, each with its number in the test.
fn hosts(
    plans: &[StationPlan],
    ports: impl Iterator<Item = (usize, TappedPort)>,
    wants: &[Want],
    queues: &Queues,
) -> Vec<(usize, Host)> {
    let pauses: Vec<_> = wants.iter().map(|_| Arc::<SharedPauses>::default()).collect();
    let host = |(plan, (n, port)): (&StationPlan, (usize, TappedPort))| {
        let port = Secured::new(port, plan.secy.as_deref()).expect("the plan was checked");
        let mut host = Station::new(plan, port).expect("the plan was checked");
        let (port, number) = queues.at(n);
        // A pause arrives in one queue and holds all of the port.
        if wants[port].queues > 1 {
            host.share_pauses(pauses[port].clone(), number as u8);
        }
        host.spares().fill();
        (n, host)
    };
    plans.iter().zip(ports).map(host).collect()
}

/// Starts the threads, each with its stations. The first one has the device, if there is one.
fn start_threads(
    eal: &Eal,
    hosts: Vec<(usize, Host)>,
    places: &[(usize, usize)],
    mut device: Option<Device>,
    shared: &Arc<Shared>,
) -> Result<(Orders<Order>, PollerThreads), NotStarted> {
    let mut by_thread: Vec<Vec<(usize, Host)>> = Vec::new();
    by_thread.resize_with(threads_of(places), Vec::new);
    hosts.into_iter().for_each(|(n, host)| by_thread[places[n].0].push((n, host)));
    let body = |hosts: Vec<(usize, Host)>| {
        let (eal, shared, device) = (eal.clone(), shared.clone(), device.take());
        move |thread: PollThread<'_, Order>| {
            let (number, group) = (thread.number, thread.group);
            let prepare = || {
                shared.cores.pin(number);
                // Without registration the thread has no mempool cache, so frames are allocated at a
                // higher cost.
                Ok(eal.register_worker().ok())
            };
            thread.run(prepare, || Poller::new(hosts, device, &shared, group, number))
        }
    };
    poll_threads::start("tester", by_thread.into_iter().map(body))
}

/// Returns the requirements of a test, unless two ports collide or one cannot be satisfied.
fn wants(plan: &TestPlan) -> Result<Vec<Want>, SessionError> {
    queues::check(plan)?;
    let wants = devices::wants(plan);
    for (n, want) in wants.iter().enumerate() {
        if let Some(m) = wants[..n].iter().position(|w| w.place == want.place) {
            let name = |n: usize| plan.ports[n].name.clone();
            return Err(SessionError::SamePlace(name(m), name(n)));
        }
    }
    Ok(wants)
}

fn check(plan: &TestPlan, queues: &Queues, stations: &[StationPlan]) -> Result<(), SessionError> {
    for (n, station) in stations.iter().enumerate() {
        let name = || plan.ports[queues.at(n).0].name.clone();
        station.check().map_err(|source| SessionError::Plan { port: name(), source })?;
        if let Some(secy) = &station.secy {
            Secy::new(secy).map_err(|source| SessionError::Secy { port: name(), source })?;
        }
    }
    Ok(())
}

/// Returns the rate of each port: its link's if it has one, which must equal that of layer 1,
/// else the rate of layer 1.
fn rates(plan: &TestPlan, facts: &[Facts]) -> Result<Vec<BitsPerSec>, SessionError> {
    let mut rates = asked_rates(plan);
    for ((port, facts), rate) in plan.ports.iter().zip(facts).zip(&mut rates) {
        // Rings and kernel interfaces have no rate of their own.
        let Some(link) = facts.rate.filter(|_| !facts.is_virtual) else { continue };
        if let Some(asked) = port.rate.filter(|asked| *asked != link) {
            let (asked, link) = (asked.get(), link.get());
            return Err(SessionError::Speed { port: port.name.clone(), asked, link });
        }
        *rate = link;
    }
    Ok(rates)
}

/// True if all ports are ends of pairs whose other end is a port of the test, too.
fn is_in_memory(wants: &[Want]) -> bool {
    let mut ends = BTreeMap::<&str, u32>::new();
    for want in wants {
        let Place::Ring { pair, .. } = &want.place else { return false };
        *ends.entry(pair).or_default() += 1;
    }
    ends.values().all(|ends| *ends == 2)
}

/// Returns the thread of each queue, and its index there. Queues are assigned in turn; if all ports are
/// in memory, both ends share a thread, so that a pause takes effect as soon as it was sent.
fn spread(
    wants: &[Want],
    queues: &Queues,
    threads_max: usize,
    in_memory: bool,
) -> Vec<(usize, usize)> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut of_pair = BTreeMap::<(&str, usize), usize>::new();
    for n in 0..queues.len() {
        let next = groups.len();
        let (port, number) = queues.at(n);
        let group = match &wants[port].place {
            Place::Ring { pair, .. } if in_memory => *of_pair.entry((pair, number)).or_insert(next),
            _ => next,
        };
        if group == next {
            groups.push(Vec::new());
        }
        groups[group].push(n);
    }
    let threads = groups.len().clamp(1, threads_max.max(1));
    let mut thread = vec![0; queues.len()];
    for (g, group) in groups.iter().enumerate() {
        group.iter().for_each(|queue| thread[*queue] = g % threads);
    }
    // A thread gets its stations in the order of the queues.
    let mut taken = vec![0; threads];
    let place = |thread: usize| {
        taken[thread] += 1;
        (thread, taken[thread] - 1)
    };
    thread.into_iter().map(place).collect()
}

fn warnings(
    plan: &TestPlan,
    wants: &[Want],
    queues: &Queues,
    places: &[(usize, usize)],
    synced: bool,
) -> Vec<String> {
    let mut warnings = Vec::new();
    for thread in 0..threads_of(places) {
        let here: Vec<_> = (0..places.len()).filter(|n| places[*n].0 == thread).collect();
        let is_ring = |n: &usize| matches!(wants[queues.at(*n).0].place, Place::Ring { .. });
        let rings = here.iter().all(is_ring);
        // A clock that waits for the threads loses nothing when they share one.
        if here.len() > 1 && !(rings && synced) {
            let names: Vec<_> = here.iter().map(|n| queues.name(plan, *n)).collect();
            warnings.push(format!(
                "ports {} share a CPU: each is polled less often, so times are coarser and pauses \
                 obeyed later; run on a machine with a CPU for each port and one to spare",
                names.join(", ")
            ));
        }
    }
    for port in queues::unmeasured(plan) {
        warnings.push(format!(
            "port {} has several queues: the reaction of its peer to its pauses is not measured",
            plan.ports[port].name
        ));
    }
    if synced && !wants.is_empty() {
        warnings.push(
            "all ports are in memory: time for which the polling threads are preempted does not \
             count, so a second of the test may take longer than a second"
                .into(),
        );
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each thread gets its stations in the order of their numbers.
    #[test]
    fn places_are_the_order_in_which_threads_get_stations() {
        let queues = |ends: &[(&str, u8)], queues: u16| {
            let want = |(pair, end): &(&str, u8)| Want {
                place: Place::Ring { pair: (*pair).to_owned(), end: *end },
                longest: 64,
                promiscuous: true,
                queues,
            };
            let wants: Vec<_> = ends.iter().map(want).collect();
            let all = Queues::of_ports(&vec![queues; ends.len()]);
            (wants, all)
        };
        let (wants, two) = queues(&[("p", 0), ("p", 1)], 2);
        assert_eq!(spread(&wants, &two, 1, true), [(0, 0), (0, 1), (0, 2), (0, 3)]);
        // The queues with the same number of both ends share a thread.
        assert_eq!(spread(&wants, &two, 9, true), [(0, 0), (1, 0), (0, 1), (1, 1)]);
        assert_eq!(spread(&wants, &two, 9, false), [(0, 0), (1, 0), (2, 0), (3, 0)]);
        let (wants, pairs) = queues(&[("p", 0), ("q", 0), ("p", 1), ("q", 1)], 1);
        assert_eq!(spread(&wants, &pairs, 1, true), [(0, 0), (0, 1), (0, 2), (0, 3)]);
        assert_eq!(spread(&wants, &pairs, 2, true), [(0, 0), (1, 0), (0, 1), (1, 1)]);
    }
}
