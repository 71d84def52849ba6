//! Captures: received and sent frames of a port, kept in memory and written as a file afterwards.
//!
//! A [`Tap`] is between a station and its port. Without a [`Capture`] it costs one check per
//! burst; with one, a copy of each frame that matches the filters, up to the snap length, into
//! preallocated memory. No memory is allocated during a capture, and frames without room are
//! counted.

mod ring;
mod write;

pub use ring::Kept;
pub use write::{About, write, write_some};

use self::ring::Ring;
use super::plan::{CapturePlan, Filter, Part};
use contracts::frame::{BURST, Burst, FCS_BYTES, Frame};
use contracts::port::{self, Port, Tapped};
use ground::time::Instant;
use text::packets::Way;
use wire::EtherType;

/// Memory of a capture in bytes. A choice: room for 40,000 of the longest Ethernet frames, or
/// 800,000 of the shortest.
pub const CAPTURE_BYTES: usize = 64 << 20;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CaptureCounters {
    /// Frames in memory.
    pub captured: u64,
    /// Frames that matched the filters and are not in memory: there was no room, or newer ones
    /// replaced them.
    pub missed: u64,
}

/// A running or finished capture.
#[derive(Clone, Debug)]
pub struct Capture {
    filters: Vec<Vec<Filter>>,
    overwrite: bool,
    snap: usize,
    /// True if sent frames are captured, too.
    both: bool,
    ring: Ring,
    missed: u64,
    /// Frames that are offered to the port, until it is known how many it accepts.
    offered: Offered,
}

/// The matching frames of a burst that is offered to a port.
#[derive(Clone, Debug, Default)]
struct Offered {
    octets: Vec<u8>,
    /// Of each frame: the end of its bytes, and its length if it matches.
    frames: Vec<(usize, Option<u32>)>,
}

impl Capture {
    /// A capture of the frames that a port receives and, if `both`, sends, in `bytes` of memory
    /// (by default [`CAPTURE_BYTES`]).
    pub fn new(plan: &CapturePlan, both: bool, bytes: usize) -> Self {
        let snap = plan.snap.map_or(usize::MAX, |snap| snap as usize);
        // A burst is copied before it is known how many of its frames the port accepts.
        let room = if both { BURST * snap.min(host::FRAME_MAX as usize) } else { 0 };
        Self {
            filters: plan.filters.clone(),
            overwrite: plan.overwrite,
            snap,
            both,
            ring: Ring::new(bytes),
            missed: 0,
            offered: Offered {
                octets: Vec::with_capacity(room),
                frames: Vec::with_capacity(if both { BURST } else { 0 }),
            },
        }
    }

    pub fn counters(&self) -> CaptureCounters {
        CaptureCounters { captured: self.ring.frames(), missed: self.missed }
    }

    /// Returns the frames in the order of capture.
    pub fn frames(&self) -> impl Iterator<Item = Kept> {
        self.ring.iter()
    }

    /// True if a frame matches all filters of any list.
    fn wants(&self, head: &[u8]) -> bool {
        let passes = |list: &Vec<Filter>| list.iter().all(|filter| filter.passes(head));
        self.filters.is_empty() || self.filters.iter().any(passes)
    }

    /// Snap length in bytes, FCS included.
    pub(super) const fn snap(&self) -> usize {
        self.snap
    }

    /// Records a received frame.
    fn received(&mut self, at: Instant, frame: &impl Frame) {
        let head = frame.head();
        if self.wants(head) {
            let octets = &head[..head.len().min(self.snap)];
            let len = frame.wire_len() - FCS_BYTES;
            self.missed += self.ring.push(at, Way::In, len, octets, self.overwrite);
        }
    }

    /// Records frames that are offered to the port.
    fn offered<F: Frame>(&mut self, burst: &Burst<F>) {
        self.offered.octets.clear();
        self.offered.frames.clear();
        for frame in burst {
            let head = frame.head();
            let wanted = self.wants(head).then(|| frame.wire_len() - FCS_BYTES);
            if wanted.is_some() {
                self.offered.octets.extend_from_slice(&head[..head.len().min(self.snap)]);
            }
            self.offered.frames.push((self.offered.octets.len(), wanted));
        }
    }

    /// Records that the port accepted the first `n` of them.
    fn sent(&mut self, at: Instant, n: usize) {
        let mut start = 0;
        for &(end, wanted) in &self.offered.frames[..n] {
            if let Some(len) = wanted {
                let octets = &self.offered.octets[start..end];
                self.missed += self.ring.push(at, Way::Out, len, octets, self.overwrite);
            }
            start = end;
        }
    }
}

#[cfg(test)]
mod tests;

/// A port with a tap.
pub type Tap<P> = Tapped<P, Capturing>;

/// The capture state of a port.
#[derive(Debug)]
pub struct Capturing {
    /// The time of the current poll.
    now: Instant,
    capture: Option<Box<Capture>>,
}

/// Puts a tap without a capture at `port`.
pub const fn tapped<P>(port: P) -> Tap<P> {
    Tapped { port, tap: Capturing { now: Instant::ZERO, capture: None } }
}

impl Capturing {
    /// Sets the time before every poll of the port's owner: captured frames get it as their
    /// timestamp, unless the port has a better one.
    #[inline]
    pub fn at(&mut self, now: Instant) {
        self.now = now;
    }

    /// Starts a capture. Returns the running one that it replaces, if any.
    pub fn start(&mut self, capture: Box<Capture>) -> Option<Box<Capture>> {
        self.capture.replace(capture)
    }

    /// Stops the capture and returns it.
    pub fn stop(&mut self) -> Option<Box<Capture>> {
        self.capture.take()
    }

    /// Returns the running capture.
    pub fn capture(&self) -> Option<&Capture> {
        self.capture.as_deref()
    }

    /// Returns the counters of the running capture; `None` without one.
    pub fn captured(&self) -> Option<CaptureCounters> {
        self.capture().map(Capture::counters)
    }

    #[cold]
    fn note<P: Port>(&mut self, port: &P, frames: &[P::Frame]) {
        if let Some(capture) = &mut self.capture {
            for frame in frames {
                // The device's time stamp if it has one, else the time of the poll.
                let at = port.rx_stamp(frame).unwrap_or(self.now);
                capture.received(at, frame);
            }
        }
    }

    #[cold]
    fn send_noted<P: Port>(&mut self, port: &mut P, out: &mut Burst<P::Frame>) {
        let offered = out.len();
        if let Some(capture) = &mut self.capture {
            // Copied now, as an accepted frame belongs to the device.
            capture.offered(out);
        }
        port.tx_burst(out);
        if let Some(capture) = &mut self.capture {
            capture.sent(self.now, offered - out.len());
        }
    }
}

impl<P: Port> port::Tap<P> for Capturing {
    #[inline]
    fn received(&mut self, port: &P, frames: &[P::Frame]) {
        if self.capture.is_some() {
            self.note(port, frames);
        }
    }

    #[inline]
    fn send(&mut self, port: &mut P, out: &mut Burst<P::Frame>) {
        if self.capture.as_ref().is_some_and(|c| c.both) {
            return self.send_noted(port, out);
        }
        port.tx_burst(out);
    }
}

const TYPE_AT: usize = 12;

impl Filter {
    /// Returns true if a frame matches. A frame without the field, or that ends before it, has no
    /// value there, so only a negated filter matches it.
    #[inline]
    pub fn passes(&self, frame: &[u8]) -> bool {
        self.has(frame) != self.negate
    }

    fn has(&self, frame: &[u8]) -> bool {
        let part = match self.part {
            Part::Frame => Some(frame),
            Part::Tag => frame.get(TYPE_AT + 2..).filter(|_| is_tag(kind(frame, TYPE_AT))),
            Part::Packet(wanted) => packet(frame, wanted),
        };
        let at = usize::from(self.at);
        let Some(octets) = part.and_then(|p| p.get(at..at + self.value.len())) else {
            return false;
        };
        // Bits outside of the mask do not count.
        octets.iter().zip(&self.value).zip(&self.mask).all(|((o, v), m)| (o ^ v) & m == 0)
    }
}

/// Returns the packet behind all tags of a frame, if it has this EtherType.
fn packet(frame: &[u8], wanted: EtherType) -> Option<&[u8]> {
    let mut at = TYPE_AT;
    // Tags may be stacked.
    while is_tag(kind(frame, at)) {
        at += 4;
    }
    frame.get(at + 2..).filter(|_| kind(frame, at) == Some(wanted))
}

/// Returns the EtherType at an offset of a frame.
fn kind(frame: &[u8], at: usize) -> Option<EtherType> {
    let octets = frame.get(at..)?.first_chunk()?;
    Some(EtherType(u16::from_be_bytes(*octets)))
}

/// True for the EtherType of a VLAN tag (802.1Q, 802.1ad, and those used before it).
fn is_tag(kind: Option<EtherType>) -> bool {
    const OLDER: [u16; 3] = [0x9100, 0x9200, 0x9300];
    kind.is_some_and(|k| k == EtherType::C_TAG || k == EtherType::S_TAG || OLDER.contains(&k.0))
}
