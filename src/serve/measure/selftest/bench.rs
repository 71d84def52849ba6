//! The two ports of a self-test: opens, starts and stops them, and passes frames from one to the
//! other.
//!
//! Ports stay open between the steps of the test. A step starts them with its options and gives
//! them back; after a failure they are opened again for the next step.

use std::thread;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use contracts::frame::{Burst, FCS_BYTES, Frame};
use contracts::port::Port;
use dpdk::{
    DpdkPort, Eal, Mbuf, Pool, PoolOptions, PortControl, PortOptions, RingOptions, Started,
    Stopped, TscClock, receive_room, ring_pair,
};
use ground::units::Mac;
use tester::plan::Place;
use tester::session::interface_device;

use crate::inputs::is_up;

/// Longest frame of the test in bytes, FCS included: the usual limit of jumbo frames, 9,000 bytes
/// of payload with header and FCS, and a tag.
pub(super) const FRAME_LONGEST: u32 = 9_022;

/// Drivers of NICs with buffers of 2, 4, 8 or 16 KiB, which would split a longer frame. Others fail
/// with buffers of 16 KiB, as the length in a descriptor of vmxnet3 has 14 bits.
const POWERS_OF_TWO: &[&str] = &["net_e1000_em"];

/// Bytes of their buffers.
const BUFFER: u32 = 16_384;

/// Frames of the pool: the largest receive rings of both ends, and a reserve.
const POOL_FRAMES: u32 = 8_191;

/// Frames that a direction of a pair in memory holds.
const RING_ENTRIES: u32 = 512;

/// Time for a link to come up. A choice: copper at 1 Gb/s negotiates for up to three seconds.
const LINK_WAIT: StdDuration = StdDuration::from_secs(6);

/// Time without a frame after which no more are expected. A choice: longer than a busy machine
/// keeps a thread off its processor.
const QUIET: StdDuration = StdDuration::from_millis(300);

/// Number of the first device that is created for an interface: far above those that users choose.
const INTERFACE_NUMBER: u32 = 1_000;

/// Time for which ports are polled until what was sent before is gone.
const SETTLE: StdDuration = StdDuration::from_millis(20);

/// An end of the cable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// The port that is tested.
    Port,
    /// The port at the other end of the cable.
    Peer,
}

/// The ports, open and stopped between steps.
pub(super) struct Bench<'a> {
    eal: &'a Eal,
    places: Vec<Place>,
    pub(super) clock: TscClock,
    pool: Pool,
    stopped: Vec<DpdkPort<Stopped>>,
    /// Number of times that the ports were opened.
    opened: u32,
}

/// A failure to open or to start a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Refused {
    pub(super) end: End,
    pub(super) why: String,
}

/// The ports while they run.
pub(super) struct Pair {
    pub(super) port: DpdkPort<Started>,
    pub(super) peer: Option<DpdkPort<Started>>,
    pub(super) pool: Pool,
    /// Time until the links were up; `None` if they are not.
    pub(super) up_after: Option<StdDuration>,
}

/// Fate of a number of frames.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Passed {
    /// Frames to be sent.
    pub(super) offered: u64,
    /// Frames that the sending port took.
    pub(super) taken: u64,
    /// Frames that arrived as they were sent.
    pub(super) intact: u64,
    /// First other frame that arrived meanwhile: its start behind the addresses, which are not for
    /// a report.
    pub(super) other: Option<Vec<u8>>,
    /// All frames that were received at that end.
    pub(super) received: u64,
}

impl Passed {
    /// True if all frames arrived as they were sent.
    pub(super) fn all(&self) -> bool {
        self.offered > 0 && self.taken == self.offered && self.intact == self.offered
    }
}

impl<'a> Bench<'a> {
    /// Opens the ports.
    ///
    /// # Errors
    /// A port that cannot be opened.
    pub(super) fn open(eal: &'a Eal, places: &[Place]) -> Result<Self, Refused> {
        let stopped = open_all(eal, places, 0)?;
        let room = places.iter().map(|place| receive_room(&device(0, place))).max().unwrap_or(0);
        // One pool serves both ends, so the end with the larger need decides.
        let in_powers = stopped.iter().any(|port| POWERS_OF_TWO.contains(&port.driver()));
        let frame = if in_powers { BUFFER } else { FRAME_LONGEST };
        let options = PoolOptions {
            name: "selftest".into(),
            frames: POOL_FRAMES,
            max_frame: frame.max(room),
            cache: 64,
        };
        let pool = Pool::new(eal, &options)
            .map_err(|error| Refused { end: End::Port, why: error.to_string() })?;
        let clock = TscClock::new();
        Ok(Self { eal, places: places.to_vec(), clock, pool, stopped, opened: 0 })
    }

    /// The places of the ports, as other code may open them after [`Self::close`].
    pub(super) fn places(&mut self) -> Vec<Place> {
        self.opened += 1;
        let named = |place: &Place| match place {
            // DPDK keeps the name of a ring for as long as a frame is in it.
            Place::Ring { end, .. } => Place::Ring { pair: ring_name(self.opened), end: *end },
            other => other.clone(),
        };
        self.places.iter().map(named).collect()
    }

    /// True if a port is at the other end of the cable.
    pub(super) fn has_peer(&self) -> bool {
        self.places.len() > 1
    }

    pub(super) fn close(&mut self) {
        self.stopped.clear();
    }

    /// Opens the ports again.
    ///
    /// # Errors
    /// A port that cannot be opened.
    pub(super) fn reopen(&mut self) -> Result<(), Refused> {
        self.close();
        self.opened += 1;
        self.stopped = open_all(self.eal, &self.places, self.opened)?;
        Ok(())
    }

    /// Handles of the open ports.
    pub(super) fn controls(&self) -> Vec<PortControl> {
        self.stopped.iter().map(DpdkPort::control).collect()
    }

    pub(super) fn all_stopped(&self) -> &[DpdkPort<Stopped>] {
        &self.stopped
    }

    /// Starts both ports and waits for their links.
    ///
    /// # Errors
    /// The end that could not be opened or started.
    pub(super) fn start(
        &mut self,
        port: &PortOptions,
        peer: &PortOptions,
    ) -> Result<Pair, Refused> {
        // A step that failed to start them kept none.
        if self.stopped.len() < self.places.len() {
            self.reopen()?;
        }
        // Taken out: whatever fails from here on, the next step opens all ports again.
        let mut ports = std::mem::take(&mut self.stopped).into_iter();
        let mut start = |end: End, options: &PortOptions| {
            let Some(port) = ports.next() else { return Ok(None) };
            let refused = |error: dpdk::Error| Refused { end, why: error.to_string() };
            port.start(options, &self.pool).map(Some).map_err(refused)
        };
        let first = start(End::Port, port)?;
        let second = start(End::Peer, peer)?;
        let Some(port) = first else {
            return Err(Refused { end: End::Port, why: "no port is open".into() });
        };
        let mut pair = Pair { port, peer: second, pool: self.pool.clone(), up_after: None };
        pair.wait_for_links();
        Ok(pair)
    }

    /// Stops the ports for the next step.
    pub(super) fn give_back(&mut self, pair: Pair) {
        let Pair { port, peer, .. } = pair;
        self.stopped = [Some(port), peer].into_iter().flatten().map(DpdkPort::stop).collect();
    }
}

impl Pair {
    /// Waits until both links are up.
    pub(super) fn wait_for_links(&mut self) {
        let controls: Vec<_> = [Some(&self.port), self.peer.as_ref()]
            .into_iter()
            .flatten()
            .map(DpdkPort::control)
            .collect();
        let started = StdInstant::now();
        let all = || controls.iter().all(is_up);
        while !all() && started.elapsed() < LINK_WAIT {
            thread::sleep(StdDuration::from_millis(20));
        }
        // Asked once more: the wait may have ended by its time.
        self.up_after = all().then(|| started.elapsed());
        self.port.refresh_link_rate();
        // The first frames of a device that has just started are often its own, or of its peer.
        self.settle();
    }

    /// Receives and drops what is on the way; the numbers of frames at both ends.
    pub(super) fn settle(&mut self) -> (u64, u64) {
        let (mut found, mut seen) = (Burst::new(), (0, 0));
        let mut last = StdInstant::now();
        // It ends when nothing has arrived for a while, not after a fixed time.
        while last.elapsed() < SETTLE {
            self.port.rx_burst(&mut found);
            let here = found.drain(..).count() as u64;
            let mut there = 0;
            if let Some(peer) = &mut self.peer {
                peer.rx_burst(&mut found);
                there = found.drain(..).count() as u64;
            }
            seen = (seen.0 + here, seen.1 + there);
            if here + there > 0 {
                last = StdInstant::now();
            }
        }
        seen
    }

    /// The addresses of the two ends, by themselves or made up.
    pub(super) fn macs(&self) -> (Mac, Mac) {
        let made_up = |n| Mac([0x02, 0x51, 0x64, 0x74, 1, n]);
        let peer = self.peer.as_ref().and_then(DpdkPort::mac);
        (self.port.mac().unwrap_or(made_up(0)), peer.unwrap_or(made_up(1)))
    }

    /// Sends frames to an end and compares what arrives there. Frames are without FCS. Nothing is
    /// offered without a peer.
    pub(super) fn pass(&mut self, to: End, frames: &[Vec<u8>]) -> Passed {
        let mut passed = Passed::default();
        let Some(peer) = &mut self.peer else { return passed };
        passed.offered = frames.len() as u64;
        let (from, into) = match to {
            End::Port => (peer, &mut self.port),
            End::Peer => (&mut self.port, peer),
        };
        // Each frame is unique, so an arrival takes one out of those that are due, in any order.
        let mut due: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
        let (mut next, mut last) = (0, StdInstant::now());
        let (mut staged, mut found, mut back) = (Burst::new(), Burst::new(), Burst::new());
        while !(due.is_empty() && next == frames.len() && staged.is_empty())
            && last.elapsed() < QUIET
        {
            // Few at a time: both rings are polled by this thread, and must not overflow by the test itself.
            while next < frames.len() && staged.len() < 8 {
                let Some(frame) = self.pool.frame(&frames[next]) else { break };
                staged.push(frame);
                next += 1;
            }
            let before = staged.len();
            from.tx_burst(&mut staged);
            if staged.len() < before {
                passed.taken += (before - staged.len()) as u64;
                last = StdInstant::now();
            }
            // What the peer sends back is drained, or a full receive ring could stop its sender.
            from.rx_burst(&mut back);
            back.clear();
            into.rx_burst(&mut found);
            for frame in found.drain(..) {
                passed.received += 1;
                match due.iter().position(|octets| is(&frame, octets)) {
                    Some(at) => {
                        due.swap_remove(at);
                        passed.intact += 1;
                        last = StdInstant::now();
                    }
                    None => {
                        // Behind the two addresses, which a report must not contain.
                        passed.other.get_or_insert_with(|| {
                            frame.head().iter().skip(12).take(20).copied().collect()
                        });
                    }
                }
            }
        }
        passed
    }
}

fn ring_name(opened: u32) -> String {
    format!("selftest{opened}")
}

/// Opens the ports of these places, which were opened so often before.
fn open_all(eal: &Eal, places: &[Place], opened: u32) -> Result<Vec<DpdkPort<Stopped>>, Refused> {
    if let [Place::Ring { end, .. }, _] = places {
        let options = RingOptions { name: ring_name(opened), entries: RING_ENTRIES, queues: 1 };
        // A pair has both ends, so there is nothing to open for the second place.
        let (a, b) = ring_pair(eal, &options)
            .map_err(|error| Refused { end: End::Port, why: error.to_string() })?;
        return Ok(if *end == 0 { vec![a, b] } else { vec![b, a] });
    }
    let open = |(n, place): (u32, &Place)| {
        let end = if n == 0 { End::Port } else { End::Peer };
        let refused = |error: dpdk::Error| Refused { end, why: error.to_string() };
        DpdkPort::open(eal, &device(n, place)).map_err(refused)
    };
    (0..).zip(places).map(open).collect()
}

/// EAL name of a place's device.
fn device(n: u32, place: &Place) -> String {
    match place {
        Place::Interface(name) => interface_device(INTERFACE_NUMBER + n, name, FRAME_LONGEST, 1),
        other => other.to_string(),
    }
}

/// True if a frame has these bytes.
fn is(frame: &Mbuf, octets: &[u8]) -> bool {
    // A driver may chain buffers of a long frame; the first one has the headers.
    frame.wire_len() as usize == octets.len() + FCS_BYTES as usize
        && octets.starts_with(frame.head())
}
