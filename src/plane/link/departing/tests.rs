//! Two ports whose devices timestamp what they send and receive, on a line of known delay. Each frame waits in
//! a transmit ring before it leaves.

use std::cell::Cell;
use std::collections::VecDeque;

use super::*;
use crate::{AgentsPlan, Found, Made, News};
use ::headroom::measure::{InitiatePlan, MeasurePlan};
use ::headroom::peer_delay::PeerDelayPlan;
use contracts::frame::Burst;
use contracts::memory::MemFrame;
use contracts::port::{PortCaps, Stamps};
use ground::units::{BitsPerSec, Mac};
use wire::headroom::{Dialect, TimeUnit};

const RATE: BitsPerSec = BitsPerSec::gbps(10);
const LINE: Duration = Duration::from_nanos(1_500);
const RING: Duration = Duration::from_micros(5);
const STEP: Duration = Duration::from_nanos(100);

/// Most bytes in a ring: 80 us.
const COMMITTED: Bytes = Bytes(100_000);

/// A device that timestamps.
struct Nic {
    now: Instant,
    caps: PortCaps,
    /// Time from a frame's departure to its timestamp; `None` if it has none.
    latency: Option<Duration>,
    /// True if it takes requests for timestamps.
    takes: bool,
    /// Number of the next frame, and of the one that is to be timestamped.
    made: u64,
    marked: Option<u64>,
    /// A timestamp, and the time at which it can be read. It is kept until then.
    latch: Option<(Instant, Instant)>,
    /// Start of the frame that is received.
    start: Instant,
    /// Looks for a timestamp.
    looks: u64,
    /// Number of received messages of PTP that it timestamps, and of other frames none; `None` if it timestamps
    /// all frames.
    ptp_alone: Option<Cell<u32>>,
}

impl Port for Nic {
    type Frame = MemFrame;
    fn rx_burst(&mut self, _: &mut Burst<MemFrame>) {}
    fn tx_burst(&mut self, _: &mut Burst<MemFrame>) {}
    fn control_frame(&mut self, octets: &[u8]) -> Option<MemFrame> {
        self.made += 1;
        Some(MemFrame::new(octets))
    }
    fn caps(&self) -> &PortCaps {
        &self.caps
    }
    fn rx_stamp(&self, frame: &MemFrame) -> Option<Instant> {
        let Some(left) = &self.ptp_alone else { return Some(self.start) };
        let is_ptp = frame.head()[12..14] == EtherType::PTP.0.to_be_bytes();
        let stamps = is_ptp && left.get() > 0;
        left.set(left.get() - u32::from(stamps));
        stamps.then_some(self.start)
    }
    fn stamp_when_sent(&mut self, _: &mut MemFrame) -> bool {
        if self.takes {
            self.marked = Some(self.made);
            // A timestamp that could be read by now is lost.
            self.latch = self.latch.filter(|(_, ready)| *ready > self.now);
        }
        self.takes
    }
    fn sent_stamp(&mut self) -> Option<Instant> {
        self.looks += 1;
        self.latch.take_if(|(_, ready)| *ready <= self.now).map(|(at, _)| at)
    }
    fn stamps(&self) -> Stamps {
        Stamps {
            source: if self.ptp_alone.is_some() { StampSource::Software } else { StampSource::Nic },
            resolution: Duration::from_picos(1),
            uncertainty: Duration::ZERO,
            serializes: true,
        }
    }
}

impl Nic {
    fn new(takes: bool, latency: Option<Duration>) -> Self {
        let caps = PortCaps {
            link_rate: Some(RATE),
            rx_backlog_max: Bytes(0),
            tx_committed_max: COMMITTED,
        };
        let (now, start) = (Instant::ZERO, Instant::ZERO);
        Self {
            now,
            caps,
            latency,
            takes,
            made: 0,
            marked: None,
            latch: None,
            start,
            looks: 0,
            ptp_alone: None,
        }
    }

    /// Sends the frame that was made last; returns the time at which it begins to leave.
    fn send(&mut self) -> Instant {
        let leaves = self.now + RING;
        let is_marked = self.marked.take_if(|marked| *marked == self.made).is_some();
        if let (true, None, Some(latency)) = (is_marked, self.latch, self.latency) {
            self.latch = Some((leaves, leaves + latency));
        }
        leaves
    }
}

/// Plan of an end. PTP's requests are `interval` apart.
fn plan(n: u8, asks: bool, interval: Option<Duration>) -> AgentsPlan {
    let initiate = InitiatePlan { rounds: 10, ..InitiatePlan::DEFAULT };
    let ptp =
        |interval| PeerDelayPlan { interval: Some(interval), rounds: 10, ..PeerDelayPlan::DEFAULT };
    AgentsPlan {
        mac: Mac([2, 0, 0, 0, 0, n]),
        rate: RATE,
        lldp: None,
        dcbx: None,
        measure: Some(MeasurePlan {
            respond: true,
            initiate: asks.then_some(initiate),
            dialect: Dialect { unit: TimeUnit::Picoseconds, ..Dialect::default() },
            compensation: None,
        }),
        peer_delay: interval.map(ptp),
        auto: None,
    }
}

/// Two ends, the first of which asks.
struct Pair {
    ends: [(PortAgents, Nic); 2],
    found: Option<Found>,
}

impl Pair {
    fn new(nics: [Nic; 2], asks: bool, interval: Option<Duration>) -> Self {
        let [a, b] = nics;
        let other = PeerDelayPlan { interval: None, ..PeerDelayPlan::DEFAULT };
        let mut answers = plan(2, false, None);
        answers.peer_delay = Some(other);
        let agents = |plan: &AgentsPlan, nic: &Nic| PortAgents::new(plan, nic.stamps());
        let first = agents(&plan(1, asks, interval), &a);
        let second = agents(&answers, &b);
        Self { ends: [(first, a), (second, b)], found: None }
    }

    fn run(&mut self, until: Duration) {
        let mut line: VecDeque<(Instant, usize, MemFrame)> = VecDeque::new();
        let mut now = Instant::ZERO;
        while now < Instant::ZERO + until {
            for at in 0..2 {
                let (agents, nic) = &mut self.ends[at];
                nic.now = now;
                let frame_time = |frame: &MemFrame| RATE.time_for(Bytes(frame.wire_len().into()));
                let here = |(start, to, frame): &(Instant, usize, MemFrame)| {
                    *to == at && *start + frame_time(frame) <= now
                };
                while let Some(place) = line.iter().position(here) {
                    let (start, _, frame) = line.remove(place).expect("it is there");
                    nic.start = start;
                    agents.receive(now, nic, now, &frame);
                }
                for _ in 0..4 {
                    if !agents.is_due(now) {
                        break;
                    }
                    if let Made::Frame(frame, _) = agents.send(now, nic) {
                        line.push_back((nic.send() + LINE, 1 - at, frame));
                    }
                }
            }
            while let Some(news) = self.ends[0].0.next_news() {
                if let News::Found(found) = news {
                    self.found = Some(found);
                }
            }
            now += STEP;
        }
    }

    /// Returns the longest mean path delay, and if all t1 were the device's.
    fn path(&self) -> (Duration, StampSource) {
        let snapshot = self.ends[0].0.snapshot(Instant::ZERO).path_delay.expect("it is planned");
        let found = snapshot.found.expect("exchanges are complete");
        (found.delay.max, found.sources.t1)
    }
}

const READY: Option<Duration> = Some(Duration::from_micros(3));
const OFTEN: Option<Duration> = Some(Duration::from_micros(50));

fn near(a: Duration, b: Duration) {
    // PTP's times are whole nanoseconds.
    assert!(a.as_picos().abs_diff(b.as_picos()) <= 2_000, "{a} and {b}");
}

#[test]
fn by_the_devices_a_path_is_that_of_the_line_however_long_frames_wait() {
    let mut pair = Pair::new([Nic::new(true, READY), Nic::new(true, READY)], false, OFTEN);
    pair.run(Duration::from_millis(1));
    let (path, t1) = pair.path();
    near(path, LINE);
    assert_eq!(t1, StampSource::Nic);
    let counters = pair.ends[0].0.counters;
    assert!(counters.stamps_sent >= 10 && counters.stamps_missed == 0, "{counters:?}");
}

#[test]
fn by_software_the_rings_of_both_ends_are_in_the_path_and_it_is_said() {
    let mut pair = Pair::new([Nic::new(false, None), Nic::new(false, None)], false, OFTEN);
    pair.run(Duration::from_millis(1));
    let (path, t1) = pair.path();
    // Software counts the preamble to the time on the line.
    near(path, LINE + RING - RATE.time_for(Bytes(8)));
    assert_eq!(t1, StampSource::Software);
    // A device at the first end alone takes its ring off.
    let mut pair = Pair::new([Nic::new(true, READY), Nic::new(false, None)], false, OFTEN);
    pair.run(Duration::from_millis(1));
    let half = (RING - RATE.time_for(Bytes(8))).div(2);
    near(pair.path().0, LINE + half);
}

#[test]
fn requests_of_the_measurement_are_dated_by_the_device() {
    let measure = |takes: bool| {
        let nics = [Nic::new(takes, READY), Nic::new(false, None)];
        let mut pair = Pair::new(nics, true, None);
        pair.run(Duration::from_millis(5));
        pair.found.expect("it is measured")
    };
    let preamble = RATE.time_for(Bytes(8));
    let (by_device, by_software) = (measure(true), measure(false));
    // The response is dated in itself, before it leaves.
    let twice = LINE.saturating_mul(2) + RING - preamble;
    near(by_device.delay.max, twice);
    near(by_software.delay.max, twice + RING - preamble);
    assert_eq!(by_device.sources, Sources { t1: StampSource::Nic, t4: StampSource::Nic });
    assert_eq!(by_software.sources, Sources { t1: StampSource::Software, t4: StampSource::Nic });
    assert_eq!(by_device.in_ring, Some(Duration::ZERO));
    assert_eq!(by_software.in_ring, Some(Duration::from_micros(80)));
}

#[test]
fn a_device_without_timestamps_is_asked_no_more_and_answers_are_not_held_up_for_ever() {
    let interval = Duration::from_millis(5);
    let mut pair = Pair::new([Nic::new(true, None), Nic::new(true, None)], false, Some(interval));
    pair.run(Duration::from_millis(110));
    let (path, t1) = pair.path();
    near(path, LINE + RING - RATE.time_for(Bytes(8)));
    assert_eq!(t1, StampSource::Software);
    for (agents, _) in &pair.ends {
        assert_eq!((agents.counters.stamps_missed, agents.counters.stamps_sent), (8, 0));
    }
    // Polls every 100 ns look every 5 us for 2 ms, and before a received message.
    assert!(pair.ends.iter().all(|(_, nic)| nic.looks <= 8 * 410), "{}", pair.ends[0].1.looks);
}

#[test]
fn a_late_timestamp_is_not_that_of_another_frame() {
    let late = Some(Duration::from_micros(2_600));
    let interval = Some(Duration::from_micros(2_500));
    let mut pair = Pair::new([Nic::new(true, late), Nic::new(false, None)], false, interval);
    pair.run(Duration::from_millis(60));
    let counters = pair.ends[0].0.counters;
    assert!(counters.stamps_late > 0 && counters.stamps_missed > 0, "{counters:?}");
    assert_eq!(counters.stamps_sent, 0);
    near(pair.path().0, LINE + RING - RATE.time_for(Bytes(8)));
}

#[test]
fn a_second_message_while_one_is_awaited_has_the_time_of_its_hand_over() {
    let slow = Some(Duration::from_micros(60));
    let nics = [Nic::new(true, slow), Nic::new(false, None)];
    let mut pair = Pair::new(nics, true, Some(Duration::from_micros(20)));
    pair.run(Duration::from_millis(12));
    let counters = pair.ends[0].0.counters;
    assert!(counters.stamps_busy > 0 && counters.stamps_sent > 0, "{counters:?}");
    assert_eq!(counters.stamps_late, 0);
    // The answers came before most timestamps.
    let found = pair.found.expect("it is measured");
    assert_eq!(found.sources.t1, StampSource::Software);
    assert!(found.delay.min >= LINE.saturating_mul(2), "{:?}", found.delay);
    assert!(pair.path().0 >= LINE, "{:?}", pair.path());
}

#[test]
fn a_link_that_goes_down_ends_the_wait() {
    let nics = [Nic::new(true, Some(Duration::from_millis(1))), Nic::new(false, None)];
    let mut pair = Pair::new(nics, false, OFTEN);
    pair.run(Duration::from_micros(20));
    let (agents, nic) = &mut pair.ends[0];
    assert_ne!(agents.departures.next_deadline(), Instant::NEVER);
    agents.set_link(nic.now, false, None);
    assert_eq!(agents.next_deadline(), Instant::NEVER);
    assert_eq!(agents.counters.stamps_missed, 0);
}

/// Sources of a path and of a round trip by devices that timestamp received messages of PTP alone.
fn sources_by_ptp_alone(stamps: u32) -> (Sources, Sources) {
    let nic = || Nic { ptp_alone: Some(Cell::new(stamps)), ..Nic::new(true, READY) };
    let mut pair = Pair::new([nic(), nic()], false, OFTEN);
    pair.run(Duration::from_millis(1));
    let path = pair.ends[0].0.snapshot(Instant::ZERO).path_delay.expect("it is planned");
    let path = path.found.expect("exchanges are complete").sources;
    let mut pair = Pair::new([nic(), nic()], true, None);
    pair.run(Duration::from_millis(5));
    (path, pair.found.expect("it is measured").sources)
}

#[test]
fn a_device_that_timestamps_messages_of_ptp_alone_is_the_source_of_their_times_alone() {
    let (nic, software) = (StampSource::Nic, StampSource::Software);
    let (path, trip) = sources_by_ptp_alone(u32::MAX);
    assert_eq!((path.t1, path.t4), (nic, nic));
    assert_eq!((trip.t1, trip.t4), (nic, software));
    // One message without its timestamp, and the path is one of software.
    let (path, _) = sources_by_ptp_alone(7);
    assert_eq!((path.t1, path.t4), (nic, software));
}
