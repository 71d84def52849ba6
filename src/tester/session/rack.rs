//! The devices behind locations: opened when a test first wants them, kept for the next one where
//! they still fit, closed when a test comes that does not want them.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use super::{Jack, SessionError};
use crate::dpdk::{
    DpdkPort, Eal, Pool, PoolOptions, PortControl, PortOptions, RingOptions, SourcePort, Stopped,
    TscClock, receive_room, ring_pair,
};
use crate::frame::Burst;
use crate::port::{Port, PortCaps};
use crate::tester::capture::Tap;
use crate::tester::plan::{FlowKind, InterfaceName, Location, Place, TestPlan};
use crate::units::BitsPerSec;

/// Frames that each direction of a pair of ports in memory holds. A choice: 76 us of the shortest
/// frames at 10 Gb/s.
const RING_ENTRIES: u32 = 1_024;

/// Frames of a pool: what the queues of a device, or both directions of a pair, can hold, and what
/// lies in the caches of the threads.
const POOL_FRAMES: u32 = 8_191;

/// Free frames that each thread keeps at hand.
const POOL_CACHE: u32 = 256;

/// The least room for a frame, FCS included: what most NICs count their buffers in.
const ROOM_MIN: u32 = 2_048;

/// What a frame has besides its packet: two addresses, EtherType, two tags, FCS.
const FRAME_OVERHEAD: u32 = 14 + 2 * 4 + 4;

/// How long a link may take to come up before a test goes on without it.
const LINK_WAIT: StdDuration = StdDuration::from_secs(3);

/// The number of the first device that is made for an interface of the kernel: far above those that
/// people give to devices that they name themselves.
const INTERFACE_NUMBER: u32 = 1_000;

/// What a test wants of a location.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Want {
    /// Where: by it a device is found again.
    pub(super) place: Place,
    /// The longest frame, FCS included, in octets.
    pub(super) longest: u32,
    /// Whether frames to any address are wanted.
    pub(super) promiscuous: bool,
}

/// An open device.
#[derive(Debug)]
pub(super) struct Held {
    /// Its frames; nothing while a test has it.
    jack: Option<Jack>,
    /// What it was opened for.
    want: Want,
    pub(super) facts: Facts,
}

/// What is known of an open device.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// Its link and counters, for other threads.
    pub(super) control: PortControl,
    /// Whether it is in memory or the kernel's, and so has no rate of its own.
    pub(super) is_virtual: bool,
    /// The rate of its link, where it has one.
    pub(super) rate: Option<BitsPerSec>,
    /// Frames that its receive ring holds.
    pub(super) rx_room: u64,
}

/// All devices that are open.
#[derive(Debug)]
pub(super) struct Rack {
    eal: Eal,
    /// The clock of all tests, which devices that stamp are asked to stamp by.
    clock: TscClock,
    /// By location.
    held: BTreeMap<String, Held>,
    /// How many pools and interface devices were made: no name is used twice.
    made: u32,
}

/// By what a device is found again.
fn key(place: &Place) -> String {
    match place {
        Place::Ring { pair, end } => format!("ring:{pair}.{}", if *end == 0 { 'a' } else { 'b' }),
        Place::Interface(name) => format!("iface:{name}"),
        Place::Device(name) => name.clone(),
    }
}

/// What a test wants, by port.
pub(super) fn wants(test: &TestPlan) -> Vec<Want> {
    let mut longest: Vec<u32> = test.ports.iter().map(|p| p.mtu + FRAME_OVERHEAD).collect();
    for flow in &test.flows {
        let size = match &flow.kind {
            FlowKind::Stream(stream) => stream.sizes.longest(),
            FlowKind::Roce(plan) => plan.longest(),
        };
        for port in flow.rx.iter().chain([&flow.tx]) {
            longest[*port] = longest[*port].max(size);
        }
    }
    // The two ends of a pair share their memory.
    let pairs = |place: &Place| match place {
        Place::Ring { pair, .. } => Some(pair.clone()),
        _ => None,
    };
    let of_pair = |n: usize| {
        let pair = pairs(&test.ports[n].location.place);
        let same = |m: &usize| pair.is_some() && pairs(&test.ports[*m].location.place) == pair;
        (0..test.ports.len()).filter(same).map(|m| longest[m]).max()
    };
    let want = |(n, port): (usize, &crate::tester::plan::PortPlan)| Want {
        place: port.location.place.clone(),
        longest: of_pair(n).unwrap_or(longest[n]),
        promiscuous: port.promiscuous,
    };
    test.ports.iter().enumerate().map(want).collect()
}

/// What a location asks for and cannot have here.
pub(super) fn check(location: &Location) -> Result<(), SessionError> {
    if location.queues == 1 {
        return Ok(());
    }
    Err(SessionError::Queues { location: location.text.clone(), queues: location.queues })
}

impl Rack {
    pub(super) fn new(eal: Eal) -> Self {
        Self { eal, clock: TscClock::new(), held: BTreeMap::new(), made: 0 }
    }

    pub(super) const fn clock(&self) -> &TscClock {
        &self.clock
    }

    pub(super) const fn eal(&self) -> &Eal {
        &self.eal
    }

    /// Opens what is wanted and not open yet, and leaves alone what is open but does not fit: that
    /// may be in use. To be called before the test that runs is stopped, so that what cannot be
    /// opened costs nothing.
    pub(super) fn open_new(&mut self, wants: &[Want]) -> Result<(), SessionError> {
        let missing: Vec<_> =
            wants.iter().filter(|w| !self.held.contains_key(&key(&w.place))).cloned().collect();
        for want in missing {
            // The other end of a pair comes with the first.
            if !self.held.contains_key(&key(&want.place)) {
                self.open(&want)?;
            }
        }
        Ok(())
    }

    /// Closes what is not wanted, and opens anew what does not fit. Nothing may be in use.
    pub(super) fn fit(&mut self, wants: &[Want]) -> Result<(), SessionError> {
        let pair_wanted = |place: &Place| {
            let Place::Ring { pair, .. } = place else { return false };
            wants.iter().any(|w| matches!(&w.place, Place::Ring { pair: p, .. } if p == pair))
        };
        self.held.retain(|_, held| {
            let same: Vec<_> = wants.iter().filter(|w| w.place == held.want.place).collect();
            // A device that is not back was lost with its thread.
            let fits = held.jack.is_some() && same.iter().all(|w| held.fits(w));
            fits && (!same.is_empty() || pair_wanted(&held.want.place))
        });
        // A pair is opened whole or not at all.
        let broken: Vec<_> = self.held.values().filter(|h| !self.is_whole(h)).collect();
        let broken: Vec<_> = broken.iter().map(|held| key(&held.want.place)).collect();
        broken.iter().for_each(|key| drop(self.held.remove(key)));
        self.open_new(wants)
    }

    /// Whether both ends of a pair are open, if it is one.
    fn is_whole(&self, held: &Held) -> bool {
        match &held.want.place {
            Place::Ring { pair, end } => {
                let other = Place::Ring { pair: pair.clone(), end: 1 - *end };
                self.held.contains_key(&key(&other))
            }
            _ => true,
        }
    }

    /// What is known of what is wanted and open, in that order.
    pub(super) fn facts(&self, wants: &[Want]) -> Vec<Facts> {
        let held = wants.iter().filter_map(|want| self.held.get(&key(&want.place)));
        held.map(|held| held.facts.clone()).collect()
    }

    /// Takes a device for a test, empty of frames. It has to be open and not in use.
    pub(super) fn take(&mut self, want: &Want) -> Option<(Jack, Facts)> {
        let held = self.held.get_mut(&key(&want.place))?;
        let mut jack = held.jack.take()?;
        let mut burst = Burst::new();
        // What an earlier test left behind is none of this one's: its flows have the same numbers.
        for _ in 0..RING_ENTRIES {
            jack.rx_burst(&mut burst);
            if burst.is_empty() {
                break;
            }
            burst.clear();
        }
        Some((jack, held.facts.clone()))
    }

    /// Gives a device back after a test.
    pub(super) fn give(&mut self, place: &Place, jack: Jack) {
        if let Some(held) = self.held.get_mut(&key(place)) {
            held.jack = Some(jack);
        }
    }

    fn open(&mut self, want: &Want) -> Result<(), SessionError> {
        self.made += 1;
        match &want.place {
            Place::Ring { pair, .. } => {
                let options = RingOptions { name: pair.clone(), entries: RING_ENTRIES };
                let (a, b) = ring_pair(&self.eal, &options)?;
                let pool = self.pool(want.longest)?;
                for (end, port) in [(0, a), (1, b)] {
                    let place = Place::Ring { pair: pair.clone(), end };
                    self.start(port, &Want { place, ..want.clone() }, &pool)?;
                }
                Ok(())
            }
            Place::Interface(name) => {
                let text = interface_device(INTERFACE_NUMBER + self.made, name, want.longest);
                self.open_device(&text, want)
            }
            Place::Device(text) => self.open_device(text, want),
        }
    }

    fn open_device(&mut self, text: &str, want: &Want) -> Result<(), SessionError> {
        let port = DpdkPort::open(&self.eal, text)?;
        let pool = self.pool(want.longest.max(receive_room(text)))?;
        self.start(port, want, &pool)
    }

    fn pool(&self, longest: u32) -> Result<Pool, SessionError> {
        let (name, frames) = (format!("tester{}", self.made), POOL_FRAMES);
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
        let rx_stamps = (!is_virtual).then_some(self.clock);
        let promiscuous = want.promiscuous;
        let options = PortOptions { promiscuous, max_frame, rx_stamps, ..PortOptions::default() };
        let mut port = port.start(&options, pool)?;
        if !is_virtual {
            wait_for_link(&port.control());
            port.refresh_link_rate();
        }
        let PortCaps { link_rate, rx_backlog_max, .. } = *port.caps();
        let rx_room = rx_backlog_max.0 / u64::from(port.info().max_frame.max(1));
        let facts = Facts { control: port.control(), is_virtual, rate: link_rate, rx_room };
        let jack = Tap::new(SourcePort::new(port, pool.clone()));
        let held = Held { jack: Some(jack), want: want.clone(), facts };
        self.held.insert(key(&want.place), held);
        Ok(())
    }
}

impl Held {
    /// Whether the device as it was opened does for another want.
    fn fits(&self, want: &Want) -> bool {
        self.want.longest >= want.longest && self.want.promiscuous == want.promiscuous
    }
}

/// The device for an interface of the kernel. Slots are as long as the longest frame needs.
pub(crate) fn interface_device(number: u32, interface: &InterfaceName, longest: u32) -> String {
    /// What a slot has besides the frame: the kernel's own header, and no FCS.
    const SLOT_OVERHEAD: u32 = 80 - 4;
    let slot = if longest + SLOT_OVERHEAD <= 2_048 { 2_048 } else { 16_384 };
    let (block, slots) = if slot == 2_048 { (4_096, 2_048) } else { (slot, 512) };
    format!(
        "net_af_packet{number},iface={interface},framesz={slot},blocksz={block},framecnt={slots},\
         qdisc_bypass=1"
    )
}

fn wait_for_link(control: &PortControl) {
    let started = StdInstant::now();
    while !control.link().up && started.elapsed() < LINK_WAIT {
        thread::sleep(StdDuration::from_millis(50));
    }
}
