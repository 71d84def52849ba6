//! Segmentation of a flow's messages into packets. Packets are numbered from 0, without end.

use std::sync::Arc;

use crate::histogram::Spares;
use crate::latency::Latency;
use crate::plan::{Message, MessageList, TransportPlan};
use crate::probe::PROBE_LEN;
use ground::time::{Duration, Instant, Total};

/// The packets of all messages of one flow.
///
/// A message's last packet carries at least a probe, so a message may be a little longer on the
/// wire than configured; delivered and acknowledged bytes are counted by the configured length.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    /// Bytes of a full packet.
    full: u32,
    /// Bytes of a message's last packet on the wire.
    tail: u32,
    /// Packets of a message; `u64::MAX` for endless data.
    packets: u64,
    message: Option<Message>,
    /// Messages one by one, instead of equal ones.
    list: Option<Listed>,
    /// Times at which messages became due, if they wait for another flow.
    released: Option<Vec<Instant>>,
    start: Instant,
}

/// Most due times for which memory is taken at the start.
const RELEASED_MAX: u64 = 1 << 16;

impl Cut {
    /// Segments the messages of a validated plan.
    pub(super) fn new(plan: &TransportPlan) -> Self {
        let full = plan.payload();
        let (packets, tail) = match plan.message {
            None => (u64::MAX, full),
            Some(m) => {
                let packets = m.bytes.div_ceil(full.into());
                // At least one byte, as `packets` is rounded up.
                (packets, (m.bytes - (packets - 1) * u64::from(full)) as u32)
            }
        };
        let (message, start) = (plan.message, plan.start);
        let list = plan.work.list.as_ref().map(|list| Listed::new(list, full));
        let tail = tail.max(PROBE_LEN as u32);
        let mut cut = Self { full, tail, packets, message, list, released: None, start };
        if plan.work.after.is_some() {
            let most = cut.count().map_or(0, |n| n.min(RELEASED_MAX) as usize);
            let mut times = Vec::with_capacity(most);
            // The first message waits for its start alone.
            times.push(start);
            cut.released = Some(times);
        }
        cut
    }

    /// Returns the number of messages; `None` for endless data.
    pub(super) fn count(&self) -> Option<u64> {
        match &self.list {
            Some(list) => Some(list.count()),
            None => self.message.map(|m| m.count),
        }
    }

    /// Makes the first `upto` messages due, those that are not yet, now. Only for messages that
    /// wait for another flow.
    pub(super) fn release(&mut self, now: Instant, upto: u64) {
        let count = self.count().unwrap_or(u64::MAX);
        let Some(times) = &mut self.released else { return };
        while (times.len() as u64) < upto.min(count) {
            times.push(now);
        }
    }

    /// Returns the bytes of a full packet.
    pub(super) const fn full(&self) -> u32 {
        self.full
    }

    /// Returns the number of the packet after message `n`; `u64::MAX` if there is none.
    #[inline]
    pub(super) fn end_of(&self, n: u64) -> u64 {
        match &self.list {
            Some(list) => list.end_of(n),
            // Saturates for endless data, which has no end.
            None => (n + 1).saturating_mul(self.packets),
        }
    }

    /// Returns the length of message `n` in bytes; 0 for endless data.
    pub(super) fn bytes_of(&self, n: u64) -> u64 {
        match &self.list {
            Some(list) => list.bytes_of(n),
            None => self.message.map_or(0, |m| m.bytes),
        }
    }

    /// Returns the total number of packets.
    pub(super) fn total(&self) -> u64 {
        match &self.list {
            Some(list) => list.total(),
            None => self.packets.saturating_mul(self.message.map_or(1, |m| m.count)),
        }
    }

    /// Returns the time at which message number `n` is due; NEVER while that is not known.
    pub(super) fn due(&self, n: u64) -> Instant {
        if let Some(times) = &self.released {
            return times.get(n as usize).copied().unwrap_or(Instant::NEVER);
        }
        if let Some(list) = &self.list {
            return list.due(n).map_or(Instant::NEVER, |due| self.start.saturating_add(due));
        }
        let every = self.message.map_or(Duration::ZERO, |m| m.every);
        self.start.saturating_add(every.saturating_mul(n))
    }

    /// Returns the place of packet `index`.
    pub(super) fn place(&self, index: u64) -> Place {
        if let Some(list) = &self.list {
            return list.place(index);
        }
        Place { index, message: index / self.packets, within: index % self.packets }
    }

    /// Returns the place after `place`.
    #[inline]
    pub(super) fn after(&self, place: Place) -> Place {
        let Place { index, message, within } = place;
        if self.is_last(place) {
            Place { index: index + 1, message: message + 1, within: 0 }
        } else {
            Place { index: index + 1, message, within: within + 1 }
        }
    }

    /// Returns true if a message ends with this packet.
    #[inline]
    pub(super) fn is_last(&self, place: Place) -> bool {
        let packets = match &self.list {
            Some(list) => list.packets_of(place.message),
            None => self.packets,
        };
        place.within + 1 == packets
    }

    /// Returns the bytes of payload in this packet on the wire.
    #[inline]
    pub(super) fn payload(&self, place: Place) -> u32 {
        match &self.list {
            _ if !self.is_last(place) => self.full,
            Some(list) => list.tail_of(place.message),
            None => self.tail,
        }
    }

    /// Returns the bytes on the wire of all packets before number `index`.
    pub(super) fn octets_before(&self, index: u64) -> u64 {
        if let Some(list) = &self.list {
            return list.octets_before(index);
        }
        let place = self.place(index);
        // On the wire the last packet may be longer than its part of the message.
        let whole = match self.message {
            Some(_) => (self.packets - 1) * self.full as u64 + self.tail as u64,
            None => 0,
        };
        place.message * whole + place.within * self.full as u64
    }

    /// Returns the packet that starts at byte `at` of the data on the wire, if one does.
    pub(super) fn starting_at(&self, at: u64) -> Option<u64> {
        if let Some(list) = &self.list {
            return list.starting_at(at);
        }
        let whole = self.octets_before(self.packets);
        let (message, rest) =
            if self.message.is_some() { (at / whole, at % whole) } else { (0, at) };
        let within = rest / u64::from(self.full);
        // A sequence number of another flow falls between two packets.
        let starts = rest % u64::from(self.full) == 0 && within < self.packets;
        starts.then(|| message * self.packets + within)
    }

    /// Returns the configured bytes of messages in the packets before number `index`.
    pub(super) fn delivered_by(&self, index: u64) -> u64 {
        if let Some(list) = &self.list {
            return list.delivered_by(index);
        }
        let place = self.place(index);
        let rest = place.within * u64::from(self.full);
        self.message.map_or(rest, |m| place.message * m.bytes + rest.min(m.bytes))
    }
}

/// Message completions of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Completions {
    /// Completed messages.
    pub messages: u64,
    /// Completion time of the last one: from its due time to the acknowledgement of its last byte.
    pub fct: Option<Duration>,
    pub fct_min: Option<Duration>,
    pub fct_max: Option<Duration>,
    /// Sum of all.
    pub fct_total: Total,
}

impl Completions {
    /// Returns the mean completion time, `None` before the first completion.
    pub fn fct_mean(&self) -> Option<Duration> {
        (self.messages > 0).then(|| self.fct_total.div(self.messages))
    }

    fn count(&mut self, took: Duration) {
        self.messages += 1;
        self.fct = Some(took);
        self.fct_min = Some(self.fct_min.map_or(took, |d| d.min(took)));
        self.fct_max = Some(self.fct_max.map_or(took, |d| d.max(took)));
        self.fct_total += took;
    }
}

/// A completed message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// Time at which it was due, by the sender's clock.
    pub due: Instant,
    /// Time from then to the acknowledgement of its last byte.
    pub took: Duration,
}

/// Message completions with their distribution, which exists only for more than one message.
#[derive(Clone, Debug)]
pub(crate) struct Completed {
    counts: Completions,
    times: Option<Box<Latency>>,
    /// The first messages one by one, `log_max` at most.
    log: Vec<Completion>,
    log_max: usize,
}

impl Completed {
    /// Creates empty completions, whose distribution takes its memory from `spares`.
    ///
    /// The first `log` messages are kept one by one.
    pub(super) fn new(cut: &Cut, log: usize, spares: &Spares) -> Self {
        let several = cut.count().is_some_and(|n| n > 1);
        let times = several.then(|| Box::new(Latency::sparse(spares)));
        let log_max = cut.count().map_or(0, |n| log.min(usize::try_from(n).unwrap_or(log)));
        let log = Vec::with_capacity(log_max);
        Self { counts: Completions::default(), times, log, log_max }
    }

    /// Records that everything before packet `upto` is acknowledged.
    #[inline]
    pub(super) fn advance(&mut self, cut: &Cut, now: Instant, upto: u64) {
        // The first comparison is false for all packets but a message's last.
        while upto >= cut.end_of(self.counts.messages) {
            let due = cut.due(self.counts.messages);
            let took = now.since(due);
            if self.log.len() < self.log_max {
                self.log.push(Completion { due, took });
            }
            self.counts.count(took);
            if let Some(times) = &mut self.times {
                times.record(took);
            }
        }
    }

    /// Returns the first messages, in order.
    pub(crate) fn log(&self) -> &[Completion] {
        &self.log
    }

    pub(crate) const fn counts(&self) -> &Completions {
        &self.counts
    }

    /// Returns the distribution; `None` for a flow with at most one message, whose time is in the
    /// counts.
    pub(crate) fn times(&self) -> Option<&Latency> {
        self.times.as_deref()
    }
}

/// One packet of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// Number in the flow.
    pub(crate) index: u64,
    /// Number of its message.
    pub(crate) message: u64,
    /// Number in the message.
    pub(crate) within: u64,
}

impl Place {
    /// Returns true if a message starts with this packet.
    #[inline]
    pub(crate) const fn is_first(self) -> bool {
        self.within == 0
    }
}

/// The packets of a list of messages.
#[derive(Clone, Debug)]
struct Listed {
    /// Bytes of a full packet.
    full: u32,
    /// The messages, and the end of the last one.
    entries: Arc<[Entry]>,
}

/// A message, and the sums of those before it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    bytes: u64,
    due: Duration,
    /// Number of its first packet.
    first: u64,
    /// Bytes on the wire before it.
    octets: u64,
    /// Configured bytes before it.
    own: u64,
}

impl Listed {
    /// Segments a list into packets of `full` bytes.
    fn new(list: &MessageList, full: u32) -> Self {
        let mut next = Entry { bytes: 0, due: Duration::ZERO, first: 0, octets: 0, own: 0 };
        let mut entries = Vec::with_capacity(list.messages().len() + 1);
        for message in list.messages() {
            let (bytes, due) = (message.bytes, message.due);
            let packets = bytes.div_ceil(full.into());
            entries.push(Entry { bytes, due, ..next });
            next.first += packets;
            next.octets += (packets - 1) * u64::from(full) + u64::from(tail(bytes, full));
            next.own += bytes;
        }
        entries.push(next);
        Self { full, entries: entries.into() }
    }

    /// Returns the number of messages.
    fn count(&self) -> u64 {
        self.entries.len() as u64 - 1
    }

    /// Returns the number of packets.
    fn total(&self) -> u64 {
        self.entries[self.entries.len() - 1].first
    }

    /// Returns message `n`; `None` behind the last one.
    fn get(&self, n: u64) -> Option<&Entry> {
        (n < self.count()).then(|| &self.entries[n as usize])
    }

    /// Returns the number of the packet after message `n`; `u64::MAX` behind the last message.
    #[inline]
    fn end_of(&self, n: u64) -> u64 {
        self.entries.get(n as usize + 1).map_or(u64::MAX, |next| next.first)
    }

    fn bytes_of(&self, n: u64) -> u64 {
        self.get(n).map_or(0, |message| message.bytes)
    }

    /// Returns the time from the flow's start at which message `n` is due.
    fn due(&self, n: u64) -> Option<Duration> {
        self.get(n).map(|message| message.due)
    }

    /// Returns the number of packets of message `n`; `u64::MAX` behind the last one.
    #[inline]
    fn packets_of(&self, n: u64) -> u64 {
        match self.end_of(n) {
            u64::MAX => u64::MAX,
            end => end - self.entries[n as usize].first,
        }
    }

    /// Returns the bytes on the wire of the last packet of message `n`.
    fn tail_of(&self, n: u64) -> u32 {
        self.get(n).map_or(self.full, |message| tail(message.bytes, self.full))
    }

    fn place(&self, index: u64) -> Place {
        // The entry behind the last message has the place after it, too.
        let message = self.entries.partition_point(|e| e.first <= index) - 1;
        Place { index, message: message as u64, within: index - self.entries[message].first }
    }

    fn octets_before(&self, index: u64) -> u64 {
        let place = self.place(index);
        self.entries[place.message as usize].octets + place.within * u64::from(self.full)
    }

    fn starting_at(&self, at: u64) -> Option<u64> {
        let message = self.entries.partition_point(|e| e.octets <= at) - 1;
        let entry = &self.entries[message];
        let (rest, full) = (at - entry.octets, u64::from(self.full));
        let within = rest / full;
        let starts = rest % full == 0 && within < self.packets_of(message as u64);
        starts.then(|| entry.first + within)
    }

    fn delivered_by(&self, index: u64) -> u64 {
        let place = self.place(index);
        let entry = &self.entries[place.message as usize];
        entry.own + (place.within * u64::from(self.full)).min(entry.bytes)
    }
}

/// Returns the bytes on the wire of a message's last packet.
fn tail(bytes: u64, full: u32) -> u32 {
    // 1 to `full`, never 0.
    let last = (bytes - 1) % u64::from(full) + 1;
    (last as u32).max(PROBE_LEN as u32)
}
