//! Segmentation of messages of different sizes.

use std::sync::Arc;

use super::place::Place;
use crate::plan::MessageList;
use crate::probe::PROBE_LEN;
use ground::time::Duration;

/// The packets of a list of messages.
#[derive(Clone, Debug)]
pub(super) struct Listed {
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
    pub(super) fn new(list: &MessageList, full: u32) -> Self {
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
    pub(super) fn count(&self) -> u64 {
        self.entries.len() as u64 - 1
    }

    /// Returns the number of packets.
    pub(super) fn total(&self) -> u64 {
        self.entries[self.entries.len() - 1].first
    }

    /// Returns message `n`; `None` behind the last one.
    fn get(&self, n: u64) -> Option<&Entry> {
        (n < self.count()).then(|| &self.entries[n as usize])
    }

    /// Returns the number of the packet after message `n`; `u64::MAX` behind the last message.
    #[inline]
    pub(super) fn end_of(&self, n: u64) -> u64 {
        self.entries.get(n as usize + 1).map_or(u64::MAX, |next| next.first)
    }

    pub(super) fn bytes_of(&self, n: u64) -> u64 {
        self.get(n).map_or(0, |message| message.bytes)
    }

    /// Returns the time from the flow's start at which message `n` is due.
    pub(super) fn due(&self, n: u64) -> Option<Duration> {
        self.get(n).map(|message| message.due)
    }

    /// Returns the number of packets of message `n`; `u64::MAX` behind the last one.
    #[inline]
    pub(super) fn packets_of(&self, n: u64) -> u64 {
        match self.end_of(n) {
            u64::MAX => u64::MAX,
            end => end - self.entries[n as usize].first,
        }
    }

    /// Returns the bytes on the wire of the last packet of message `n`.
    pub(super) fn tail_of(&self, n: u64) -> u32 {
        self.get(n).map_or(self.full, |message| tail(message.bytes, self.full))
    }

    pub(super) fn place(&self, index: u64) -> Place {
        let message = self.entries.partition_point(|e| e.first <= index) - 1;
        Place { index, message: message as u64, within: index - self.entries[message].first }
    }

    pub(super) fn octets_before(&self, index: u64) -> u64 {
        let place = self.place(index);
        self.entries[place.message as usize].octets + place.within * u64::from(self.full)
    }

    pub(super) fn starting_at(&self, at: u64) -> Option<u64> {
        let message = self.entries.partition_point(|e| e.octets <= at) - 1;
        let entry = &self.entries[message];
        let (rest, full) = (at - entry.octets, u64::from(self.full));
        let within = rest / full;
        let starts = rest % full == 0 && within < self.packets_of(message as u64);
        starts.then(|| entry.first + within)
    }

    pub(super) fn delivered_by(&self, index: u64) -> u64 {
        let place = self.place(index);
        let entry = &self.entries[place.message as usize];
        entry.own + (place.within * u64::from(self.full)).min(entry.bytes)
    }
}

/// Returns the bytes on the wire of a message's last packet.
fn tail(bytes: u64, full: u32) -> u32 {
    let last = (bytes - 1) % u64::from(full) + 1;
    (last as u32).max(PROBE_LEN as u32)
}
