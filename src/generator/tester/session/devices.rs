//! The devices of locations: opened for the first test that needs them, reused by the next one if
//! they fit, closed for a test that does not need them.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use super::in_process::DevicePlan;
use super::{SessionError, TappedPort};
use crate::capture::tapped;
use crate::memory::{POOL_FRAMES, ROOM_MIN, interface_rings, longest};
use crate::plan::{InterfaceName, Place, PortPlan, TestPlan};
use contracts::frame::Burst;
use contracts::port::{Port, PortCaps};
use dpdk::{
    DpdkPort, Eal, Pool, PoolOptions, PortControl, PortOptions, RingOptions, SourcePort, Stopped,
    TscClock, receive_room, ring_pair,
};
use ground::units::BitsPerSec;

/// Frames that each direction of a pair of ports in memory holds. A choice: 76 us of the shortest
/// frames at 10 Gb/s.
const RING_ENTRIES: u32 = 1_024;

/// Free frames in each thread's cache.
const POOL_CACHE: u32 = 256;

/// Maximum time for a link to come up before a test goes on without it.
const LINK_WAIT: StdDuration = StdDuration::from_secs(3);

/// The number of the first vdev for a kernel interface: far above those of vdevs that users name.
const INTERFACE_NUMBER: u32 = 1_000;

/// The requirements of a test for a location.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Want {
    /// The key by which an open device is found.
    pub(super) place: Place,
    /// Maximum frame length in bytes, FCS included.
    pub(super) longest: u32,
    /// True if frames to any MAC address are received.
    pub(super) promiscuous: bool,
    /// Queues in each direction.
    pub(super) queues: u16,
}

#[derive(Debug)]
pub(super) struct Held {
    /// Its queues; `None` while a test uses one.
    queues: Vec<Option<TappedPort>>,
    /// The requirements for which it was opened.
    want: Want,
    pub(super) facts: Facts,
}

/// Facts about an open device.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// Access to link and counters for other threads.
    pub(super) control: PortControl,
    /// True for devices in memory and kernel interfaces, which have no rate.
    pub(super) is_virtual: bool,
    /// The rate of its link, if it has one.
    pub(super) rate: Option<BitsPerSec>,
    /// Capacity of its receive ring in frames.
    pub(super) rx_room: u64,
}

/// All open devices.
#[derive(Debug)]
pub(super) struct Devices {
    eal: Eal,
    /// The clock of all tests, to which the timestamps of devices are converted.
    clock: TscClock,
    /// By location.
    held: BTreeMap<String, Held>,
    /// Number of mempools and vdevs so far: no name is used twice.
    made: u32,
}

/// Returns the key of a place.
fn key(place: &Place) -> String {
    match place {
        Place::Ring { pair, end } => format!("ring:{pair}.{}", if *end == 0 { 'a' } else { 'b' }),
        Place::Interface(name) => format!("iface:{name}"),
        Place::Device(name) => name.clone(),
    }
}

/// Returns the requirements of a test, by port.
pub(super) fn wants(test: &TestPlan) -> Vec<Want> {
    let want = |(port, longest): (&PortPlan, u32)| Want {
        place: port.location.place.clone(),
        longest,
        promiscuous: port.promiscuous,
        queues: port.location.queues,
    };
    test.ports.iter().zip(longest(test)).map(want).collect()
}

/// Returns the requirements of a device's ports. The two ends of a pair share their memory.
pub(super) fn wants_of_device(device: &DevicePlan, of_test: &[Want]) -> Vec<Want> {
    let all = of_test.iter().map(|want| want.longest).max().unwrap_or(ROOM_MIN);
    let want = |place: &Place| {
        let is_far = |want: &&Want| pair_of(&want.place) == pair_of(place);
        let longest = of_test.iter().find(is_far).map_or(all, |want| want.longest);
        Want { place: place.clone(), longest, promiscuous: true, queues: 1 }
    };
    device.places().map(want).collect()
}

/// Returns the name of the pair of an end of a ring.
fn pair_of(place: &Place) -> Option<&str> {
    match place {
        Place::Ring { pair, .. } => Some(pair),
        Place::Interface(_) | Place::Device(_) => None,
    }
}

impl Devices {
    pub(super) fn new(eal: Eal) -> Self {
        Self { eal, clock: TscClock::new(), held: BTreeMap::new(), made: 0 }
    }

    pub(super) const fn clock(&self) -> &TscClock {
        &self.clock
    }

    pub(super) const fn eal(&self) -> &Eal {
        &self.eal
    }

    /// Opens the required devices that are not open yet, and keeps open devices that do not fit,
    /// which may be in use. It is called before the running test is stopped, so that an error has
    /// no effect on that test.
    pub(super) fn open_new(&mut self, wants: &[Want]) -> Result<(), SessionError> {
        let missing: Vec<_> =
            wants.iter().filter(|w| !self.held.contains_key(&key(&w.place))).cloned().collect();
        for want in missing {
            // The other end of a pair is opened with the first.
            if !self.held.contains_key(&key(&want.place)) {
                self.open(&want)?;
            }
        }
        Ok(())
    }

    /// Closes devices that are not required, and reopens those that do not fit. No device may be
    /// in use.
    pub(super) fn fit(&mut self, wants: &[Want]) -> Result<(), SessionError> {
        let pair_wanted = |place: &Place| {
            let Place::Ring { pair, .. } = place else { return false };
            wants.iter().any(|w| matches!(&w.place, Place::Ring { pair: p, .. } if p == pair))
        };
        self.held.retain(|_, held| {
            let same: Vec<_> = wants.iter().filter(|w| w.place == held.want.place).collect();
            // A device that was not returned was lost with its thread.
            let fits = held.queues.iter().all(Option::is_some) && same.iter().all(|w| held.fits(w));
            // An end that the test does not name stays open for the other one.
            fits && (!same.is_empty() || pair_wanted(&held.want.place))
        });
        // A pair is opened as a whole.
        let broken: Vec<_> = self.held.values().filter(|h| !self.is_whole(h)).collect();
        let broken: Vec<_> = broken.iter().map(|held| key(&held.want.place)).collect();
        broken.iter().for_each(|key| drop(self.held.remove(key)));
        self.open_new(wants)
    }

    /// True if both ends of a pair are open, or if it is no pair.
    fn is_whole(&self, held: &Held) -> bool {
        match &held.want.place {
            Place::Ring { pair, end } => {
                let other = Place::Ring { pair: pair.clone(), end: 1 - *end };
                self.held.contains_key(&key(&other))
            }
            _ => true,
        }
    }

    /// Returns the facts about the required devices, in that order.
    pub(super) fn facts(&self, wants: &[Want]) -> Vec<Facts> {
        let held = wants.iter().filter_map(|want| self.held.get(&key(&want.place)));
        held.map(|held| held.facts.clone()).collect()
    }

    /// Takes the queues of a device for a test, emptied. It must be open and not in use.
    pub(super) fn take(&mut self, want: &Want) -> Option<(Vec<TappedPort>, Facts)> {
        let held = self.held.get_mut(&key(&want.place))?;
        let mut queues = held.queues.iter_mut().map(Option::take).collect::<Option<Vec<_>>>()?;
        let mut burst = Burst::new();
        for queue in &mut queues {
            // Frames of an earlier test must be discarded: its flows have the same ids.
            for _ in 0..RING_ENTRIES {
                queue.rx_burst(&mut burst);
                if burst.is_empty() {
                    break;
                }
                burst.clear();
            }
        }
        Some((queues, held.facts.clone()))
    }

    /// Returns a queue of a device after a test.
    pub(super) fn give(&mut self, place: &Place, number: usize, queue: TappedPort) {
        if let Some(held) = self.held.get_mut(&key(place)) {
            held.queues[number] = Some(queue);
        }
    }

    fn open(&mut self, want: &Want) -> Result<(), SessionError> {
        self.made += 1;
        match &want.place {
            Place::Ring { pair, .. } => {
                let (name, queues) = (pair.clone(), want.queues);
                let options = RingOptions { name, entries: RING_ENTRIES, queues };
                let (a, b) = ring_pair(&self.eal, &options)?;
                let pool = self.pool(want.longest, queues)?;
                for (end, port) in [(0, a), (1, b)] {
                    let place = Place::Ring { pair: pair.clone(), end };
                    self.start(port, &Want { place, ..want.clone() }, &pool)?;
                }
                Ok(())
            }
            Place::Interface(name) => {
                let number = INTERFACE_NUMBER + self.made;
                let text = interface_device(number, name, want.longest, want.queues);
                self.open_device(&text, want)
            }
            Place::Device(text) => self.open_device(text, want),
        }
    }

    fn open_device(&mut self, text: &str, want: &Want) -> Result<(), SessionError> {
        let port = DpdkPort::open(&self.eal, text)?;
        let pool = self.pool(want.longest.max(receive_room(text)), want.queues)?;
        self.start(port, want, &pool)
    }

    fn pool(&self, longest: u32, queues: u16) -> Result<Pool, SessionError> {
        let (name, frames) = (format!("tester{}", self.made), POOL_FRAMES * u32::from(queues));
        let max_frame = longest.max(ROOM_MIN);
        let options = PoolOptions { name, frames, max_frame, cache: POOL_CACHE };
        Ok(Pool::new(&self.eal, &options)?)
    }

    fn start(
        &mut self,
        port: DpdkPort<Stopped>,
        want: &Want,
        pool: &Pool,
    ) -> Result<(), SessionError> {
        let is_virtual = port.is_virtual();
        let max_frame = Some(want.longest);
        // Rings and kernel interfaces have no time stamps of their own.
        let rx_stamps = (!is_virtual).then_some(self.clock);
        let promiscuous = want.promiscuous;
        let options = PortOptions { promiscuous, max_frame, rx_stamps, ..PortOptions::default() };
        let mut queues = port.start_queues(&options, pool, want.queues)?;
        if !is_virtual {
            wait_for_link(&queues[0].control());
            queues.iter_mut().for_each(DpdkPort::refresh_link_rate);
        }
        let port = &queues[0];
        let PortCaps { link_rate, rx_backlog_max, .. } = *port.caps();
        // In frames of the longest kind, which is the least that it holds.
        let rx_room = rx_backlog_max.0 / u64::from(port.info().max_frame.max(1));
        let facts = Facts { control: port.control(), is_virtual, rate: link_rate, rx_room };
        let queues = queues.into_iter().map(|queue| SourcePort::new(queue, pool.clone()));
        let queues = queues.map(|queue| Some(tapped(queue))).collect();
        let held = Held { queues, want: want.clone(), facts };
        self.held.insert(key(&want.place), held);
        Ok(())
    }
}

impl Held {
    /// True if the open device satisfies other requirements.
    fn fits(&self, want: &Want) -> bool {
        self.want.longest >= want.longest
            && (self.want.promiscuous, self.want.queues) == (want.promiscuous, want.queues)
    }
}

/// Returns the EAL arguments of a vdev for a kernel interface, with a number of queues in each direction.
pub fn interface_device(
    number: u32,
    interface: &InterfaceName,
    longest: u32,
    queues: u16,
) -> String {
    let (slot, block, slots) = interface_rings(longest);
    let queues = if queues > 1 { format!(",qpairs={queues}") } else { String::new() };
    format!(
        "net_af_packet{number},iface={interface},framesz={slot},blocksz={block},framecnt={slots},\
         qdisc_bypass=1{queues}"
    )
}

fn wait_for_link(control: &PortControl) {
    let started = StdInstant::now();
    while !control.link().up && started.elapsed() < LINK_WAIT {
        thread::sleep(StdDuration::from_millis(50));
    }
}
