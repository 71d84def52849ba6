//! All frames that the tester's ports sent and received in a trial, and questions about them.

use core::ops::Range;
use std::collections::{HashMap, HashSet};

use crate::counters::Counters;
use crate::trial::{FlowId, Port};
use ground::time::Duration;
use ground::units::{Mac, Priority, Quanta};
use host::probe_of;
use secure::{An, Sci};
use tester::report::Unattended;
use wire::ip::{self, Ecn};
use wire::{EtherType, pause, pfc, vlan};

/// A recorded trial.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Observation {
    /// Frames in the order of their last bits.
    pub records: Vec<Record>,
    /// Frames that arrived with a wrong FCS, in the same order. Behind real ports they are not seen.
    pub damaged: Vec<Record>,
    /// Largest error of any time, in either direction; zero in the virtual world.
    pub uncertainty: Duration,
    /// Disturbance of the measurement by the machine, in words.
    pub disturbed: Option<String>,
    /// Time for which threads of the tester or of a device on the same machine had no CPU.
    pub unattended: Unattended,
    /// Longest time for which a device on the same machine had no CPU.
    pub starved: Duration,
    /// Longest time by which the tester took a link down or up, or changed a setting, after its time in the trial.
    pub acted_late: Duration,
    /// Counters of the device over the trial, if it reads them.
    pub counters: Option<Counters>,
}

/// A frame at a port of the tester.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    pub port: Port,
    pub way: Way,
    /// Time of its first bit (of the destination address), from the start of the trial.
    pub begin: Duration,
    /// Time of its last bit.
    pub end: Duration,
    /// Length in bytes, FCS included.
    pub len: u32,
    pub what: What,
    /// First bytes of a data frame if the trial keeps them, from the destination address on, without
    /// FCS; else empty.
    pub head: Box<[u8]>,
    /// Protection by MACsec, which was removed; `None` for a frame that was plain on the line, or is
    /// valid by no key.
    pub secured: Option<Box<Secured>>,
}

/// Protection of a frame by MACsec.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Secured {
    /// Channel and association.
    pub sci: Sci,
    pub an: An,
    /// Packet number.
    pub pn: u64,
    /// True if it was encrypted.
    pub encrypted: bool,
    /// Length on the line in bytes, FCS included.
    pub len: u32,
    /// Bytes on the line of a frame other than data.
    pub line: Box<[u8]>,
}

/// Direction of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// From the tester to the DUT.
    Sent,
    /// From the DUT to the tester.
    Received,
}

/// Contents of a frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// A frame of a flow of the trial. Those that the DUT sends by itself have the number 0.
    Data { flow: FlowId, sequence: u64, ecn: Ecn },
    /// MAC control, tagged or not, from the destination address on, without FCS.
    Control(Box<[u8]>),
    /// Any other frame, with its first bytes.
    Other(Box<[u8]>),
}

impl What {
    /// Classifies a frame by its bytes from the destination address on. Probes of numbers from
    /// `flows` on are those of learning frames and count as other ones.
    pub fn of(octets: &[u8], flows: usize, ecn: Ecn) -> Self {
        let is_control = |walk: vlan::Walk| walk.ethertype == EtherType::MAC_CONTROL;
        if vlan::walk(octets).is_ok_and(is_control) {
            return Self::Control(octets.into());
        }
        match probe_of(octets).filter(|probe| (probe.flow.0 as usize) < flows) {
            Some(probe) => {
                let flow = FlowId(probe.flow.0 as usize);
                Self::Data { flow, sequence: probe.sequence, ecn }
            }
            None => Self::Other(octets.into()),
        }
    }
}

impl What {
    /// Returns the destination address of a frame other than data.
    pub fn destination(&self) -> Option<Mac> {
        match self {
            Self::Control(octets) | Self::Other(octets) => {
                octets.first_chunk().map(|address| Mac(*address))
            }
            Self::Data { .. } => None,
        }
    }

    /// Returns the sequence number of a frame of a flow.
    pub const fn sequence(&self) -> Option<u64> {
        match self {
            Self::Data { sequence, .. } => Some(*sequence),
            Self::Control(_) | Self::Other(_) => None,
        }
    }
}

/// Returns the ECN code point of a frame; not ECT without IP.
pub fn ecn_of(octets: &[u8]) -> Ecn {
    let Ok(walk) = vlan::walk(octets) else { return Ecn::NotEct };
    let packet = octets.get(walk.l3..).unwrap_or_default();
    ip::View::new(walk.ethertype, packet).map_or(Ecn::NotEct, |ip| ip.ecn())
}

/// Bytes of a MAC control frame, opcode and parameters, by which it is known again.
const KNOWN_BY: usize = 20;

/// Returns the source address and the contents of a MAC control frame. A short one that was padded
/// on its way is the same.
fn identity(what: &What) -> Option<([u8; 6], [u8; KNOWN_BY])> {
    let What::Control(octets) = what else { return None };
    let walk = vlan::walk(octets).ok()?;
    let mut contents = [0; KNOWN_BY];
    let body = &octets[walk.l3..];
    let len = body.len().min(KNOWN_BY);
    contents[..len].copy_from_slice(&body[..len]);
    Some((walk.src.0, contents))
}

/// Arrivals of a flow, without duplicates.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    pub sent: u64,
    pub received: u64,
    pub duplicates: u64,
    /// Frames that arrived after one that was sent later.
    pub reordered: u64,
}

impl Tally {
    /// Returns the number of sent frames that did not arrive.
    pub const fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.received)
    }
}

/// A pause that the DUT sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pause {
    pub port: Port,
    pub at: Duration,
    pub frame: pfc::Repr,
}

impl Pause {
    /// Returns true if it pauses this priority: PFC is counted as an event only with a time.
    pub fn stops(&self, priority: Priority) -> bool {
        self.frame.time(priority).is_some_and(|time| time > Quanta(0))
    }

    /// Returns true if it resumes this priority.
    pub fn resumes(&self, priority: Priority) -> bool {
        self.frame.time(priority) == Some(Quanta(0))
    }
}

impl Observation {
    /// Returns the frames of a flow in one direction, by time.
    pub fn of(&self, flow: FlowId, way: Way) -> impl Iterator<Item = &Record> + Clone {
        let mine = move |what: &What| matches!(what, What::Data { flow: f, .. } if *f == flow);
        self.records.iter().filter(move |record| record.way == way && mine(&record.what))
    }

    /// Counts the frames of a flow.
    pub fn tally(&self, flow: FlowId) -> Tally {
        let mut tally = Tally { sent: self.of(flow, Way::Sent).count() as u64, ..Tally::default() };
        let arrived = self.of(flow, Way::Received).filter_map(|record| record.what.sequence());
        // In order and without duplicates, as nearly always: no set is needed.
        if arrived.clone().is_sorted_by(|earlier, later| earlier < later) {
            return Tally { received: arrived.count() as u64, ..tally };
        }
        let mut seen = HashSet::new();
        let mut highest = None;
        for sequence in arrived {
            if !seen.insert(sequence) {
                tally.duplicates += 1;
                continue;
            }
            tally.received += 1;
            tally.reordered += u64::from(highest.is_some_and(|highest| sequence < highest));
            highest = highest.max(Some(sequence));
        }
        tally
    }

    /// Returns the number of received frames of a flow that began in a span.
    pub fn began_in(&self, flow: FlowId, span: &Range<Duration>) -> u64 {
        self.of(flow, Way::Received).filter(|record| span.contains(&record.begin)).count() as u64
    }

    /// Returns the times at which the received frames of a flow began, in their order.
    pub fn begins(&self, flow: FlowId) -> Vec<Duration> {
        self.of(flow, Way::Received).map(|record| record.begin).collect()
    }

    /// Returns the number of frames of a flow that were sent in a span and did not arrive.
    pub fn lost_in(&self, flow: FlowId, span: &Range<Duration>) -> u64 {
        self.lost(flow, span).len() as u64
    }

    /// Returns these frames, as they were sent.
    pub fn lost(&self, flow: FlowId, span: &Range<Duration>) -> Vec<&Record> {
        let arrived = self.of(flow, Way::Received).filter_map(|record| record.what.sequence());
        let mut arrived: Vec<_> = arrived.collect();
        // A sorted list is enough for the question, and smaller than a set of all frames.
        arrived.sort_unstable();
        let is_lost = |n| arrived.binary_search(&n).is_err();
        let sent = self.of(flow, Way::Sent).filter(|record| span.contains(&record.end));
        sent.filter(|record| record.what.sequence().is_some_and(is_lost)).collect()
    }

    /// Returns the times from the last bit of a frame at the sender to its last bit at the receiver, of the
    /// frames of a flow that arrived in a span.
    pub fn latencies(&self, flow: FlowId, span: &Range<Duration>) -> Vec<Duration> {
        // Frames of NICs have the number 0 alone, so latencies are those of the tester's own flows.
        let ends = |way| self.of(flow, way).filter_map(|r| Some((r.what.sequence()?, r.end)));
        let sent: HashMap<u64, Duration> = ends(Way::Sent).collect();
        let arrived = ends(Way::Received).filter(|(_, end)| span.contains(end));
        arrived.filter_map(|(n, end)| Some(end.saturating_sub(*sent.get(&n)?))).collect()
    }

    /// Returns the records of some ports.
    pub fn only(&self, ports: &[Port]) -> Self {
        let records = self.records.iter().filter(|record| ports.contains(&record.port));
        Self {
            records: records.cloned().collect(),
            damaged: self.damaged.iter().filter(|r| ports.contains(&r.port)).cloned().collect(),
            uncertainty: self.uncertainty,
            disturbed: self.disturbed.clone(),
            unattended: self.unattended.clone(),
            starved: self.starved,
            acted_late: self.acted_late,
            counters: self.counters.clone(),
        }
    }

    /// Returns the MAC control frames that the tester received and had sent itself: with the source
    /// address and the contents of a sent one, whatever their destination and tags are now.
    pub fn relayed(&self) -> Vec<&Record> {
        let all = |way| self.records.iter().filter(move |record| record.way == way);
        let sent: HashSet<_> = all(Way::Sent).filter_map(|r| identity(&r.what)).collect();
        all(Way::Received)
            .filter(|r| identity(&r.what).is_some_and(|own| sent.contains(&own)))
            .collect()
    }

    /// Returns the bits per second of a flow that arrived in a span, FCS included.
    pub fn rate_in(&self, flow: FlowId, span: &Range<Duration>) -> f64 {
        let inside = self.of(flow, Way::Received).filter(|record| span.contains(&record.end));
        let bits: u64 = inside.map(|record| u64::from(record.len) * 8).sum();
        bits as f64 / span.end.saturating_sub(span.start).as_secs_f64()
    }

    /// Returns the MAC control frames that the tester received at a port, by time.
    pub fn control(&self, port: Port) -> impl Iterator<Item = (&Record, &[u8])> {
        self.control_of(port, Way::Received)
    }

    /// Returns the MAC control frames that the tester sent at a port, by time.
    pub fn control_sent(&self, port: Port) -> impl Iterator<Item = (&Record, &[u8])> {
        self.control_of(port, Way::Sent)
    }

    fn control_of(&self, port: Port, way: Way) -> impl Iterator<Item = (&Record, &[u8])> {
        let here = self.records.iter().filter(move |r| r.port == port && r.way == way);
        here.filter_map(|record| match &record.what {
            What::Control(octets) => Some((record, &octets[..])),
            What::Data { .. } | What::Other(_) => None,
        })
    }

    /// Returns the bytes of the frames other than data that the tester sent at a port, each with its bytes
    /// on the line if it was protected.
    pub fn sent_octets(&self, port: Port) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let here = self.records.iter().filter(move |r| r.port == port && r.way == Way::Sent);
        here.filter_map(|record| match &record.what {
            What::Control(octets) | What::Other(octets) => {
                Some((&octets[..], record.secured.as_ref().map(|secured| &*secured.line)))
            }
            What::Data { .. } => None,
        })
    }

    /// Returns the valid PFC frames that the tester received at a port.
    pub fn pauses(&self, port: Port) -> impl Iterator<Item = Pause> {
        let parsed = |(record, octets): (&Record, &[u8])| {
            Some(Pause { port: record.port, at: record.end, frame: pfc::Repr::parse(octets).ok()? })
        };
        self.control(port).filter_map(parsed)
    }

    /// Returns the times of the valid PAUSE frames that the tester received at a port, and the pause
    /// times in them.
    pub fn link_pauses(&self, port: Port) -> impl Iterator<Item = (Duration, Quanta)> {
        // The address of a port is not used by PAUSE of a switch.
        let parsed = |octets: &[u8]| pause::Repr::parse(octets, Mac::default()).ok();
        let time =
            move |(record, octets): (&Record, &[u8])| Some((record.end, parsed(octets)?.time));
        self.control(port).filter_map(time)
    }

    /// Returns the frames that the tester received and no port of it had sent, other than MAC
    /// control.
    pub fn foreign<'a>(&'a self, own: &'a [Mac]) -> impl Iterator<Item = &'a Record> {
        let is_own = move |octets: &[u8]| {
            octets.get(6..12).is_some_and(|src| own.iter().any(|mac| mac.0 == *src))
        };
        self.records.iter().filter(move |record| match &record.what {
            What::Other(octets) => record.way == Way::Received && !is_own(octets),
            What::Data { .. } | What::Control(_) => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(way: Way, sequence: u64, end: u64) -> Record {
        let what = What::Data { flow: FlowId(0), sequence, ecn: Ecn::NotEct };
        let end = Duration::from_nanos(end);
        Record {
            port: Port(0),
            way,
            begin: end.saturating_sub(Duration::from_nanos(5)),
            end,
            len: 64,
            what,
            head: Box::default(),
            secured: None,
        }
    }

    #[test]
    fn lost_doubled_and_overtaken_frames_are_told_apart() {
        let sent = (0..5).map(|n| data(Way::Sent, n, n * 10));
        let arrived = [(0, 100), (2, 110), (1, 120), (2, 130), (4, 140)];
        let received = arrived.map(|(sequence, at)| data(Way::Received, sequence, at));
        let seen =
            Observation { records: sent.chain(received).collect(), ..Observation::default() };
        let tally = seen.tally(FlowId(0));
        assert_eq!(tally, Tally { sent: 5, received: 4, duplicates: 1, reordered: 1 });
        assert_eq!(tally.lost(), 1);
        let span = Duration::from_nanos(105)..Duration::from_nanos(130);
        assert_eq!(seen.began_in(FlowId(0), &span), 3);
        assert!((seen.rate_in(FlowId(0), &span) - 3.0 * 512.0 / 25e-9).abs() > 1.0);
    }

    #[test]
    fn a_pause_without_time_is_none() {
        let p3 = Priority::new(3).unwrap();
        let mut frame = pfc::Repr::new(Mac([2, 0, 0, 0, 0, 1]));
        frame.set(p3, Quanta(0));
        let pause = Pause { port: Port(0), at: Duration::ZERO, frame };
        assert!(pause.resumes(p3) && !pause.stops(p3));
    }
}
