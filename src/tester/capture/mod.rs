//! Captures: what comes and goes at a port, kept in memory, and written as a file afterwards.
//!
//! A [`Tap`] stands between a station and its port. Without a [`Capture`] in it, it costs one look
//! per burst; with one, a copy of each frame that passes the filters, up to the length that is
//! wanted, into memory that was set aside before. Nothing is allocated while it captures, and what
//! finds no room is counted.

mod comment;
mod filter;
mod ring;
mod tap;
mod write;

pub use ring::Kept;
pub use tap::Tap;
pub use write::{About, write, write_some};

use self::ring::Ring;
use super::plan::{CapturePlan, Filter};
use crate::frame::{BURST, Burst, FCS_BYTES, Frame};
use crate::report::packets::Way;
use crate::time::Instant;

/// Memory of a capture, in octets. A choice: 40,000 of the longest frames of Ethernet, or 800,000
/// of the shortest.
pub const CAPTURE_BYTES: usize = 64 << 20;

/// What a capture has, and what it has not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CaptureCounters {
    /// Frames that are kept.
    pub captured: u64,
    /// Frames that passed the filters and are not: there was no room, or newer ones took it.
    pub missed: u64,
}

/// A capture that goes on, or is over.
#[derive(Clone, Debug)]
pub struct Capture {
    filters: Vec<Vec<Filter>>,
    overwrite: bool,
    snap: usize,
    /// Whether sent frames are captured, too.
    both: bool,
    ring: Ring,
    missed: u64,
    /// What is about to be sent: which of it is known only when the port has taken it.
    offered: Offered,
}

/// The frames of a burst that a port is about to take, as far as they are wanted.
#[derive(Clone, Debug, Default)]
struct Offered {
    octets: Vec<u8>,
    /// Of each frame, wanted or not: where its octets end, and its length if it is wanted.
    frames: Vec<(usize, Option<u32>)>,
}

impl Capture {
    /// A capture of what a port receives and, if `both`, what it sends, in `bytes` octets of memory
    /// ([`CAPTURE_BYTES`], where nothing else is asked for).
    #[must_use]
    pub fn new(plan: &CapturePlan, both: bool, bytes: usize) -> Self {
        let snap = plan.snap.map_or(usize::MAX, |snap| snap as usize);
        let room = if both { BURST * snap.min(crate::host::FRAME_MAX as usize) } else { 0 };
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

    /// What it has.
    #[must_use]
    pub fn counters(&self) -> CaptureCounters {
        CaptureCounters { captured: self.ring.frames(), missed: self.missed }
    }

    /// The frames that it has, in the order in which they came and went.
    pub fn frames(&self) -> impl Iterator<Item = Kept> {
        self.ring.iter()
    }

    /// True if a frame passes all filters of any list.
    fn wants(&self, head: &[u8]) -> bool {
        let passes = |list: &Vec<Filter>| list.iter().all(|filter| filter.passes(head));
        self.filters.is_empty() || self.filters.iter().any(passes)
    }

    /// Bytes of each frame that are kept at most, FCS included.
    pub(super) const fn snap(&self) -> usize {
        self.snap
    }

    /// A frame came in.
    fn received(&mut self, at: Instant, frame: &impl Frame) {
        let head = frame.head();
        if self.wants(head) {
            let octets = &head[..head.len().min(self.snap)];
            let what = (at, Way::In, frame.wire_len() - FCS_BYTES);
            self.missed += self.ring.push(what, octets, self.overwrite);
        }
    }

    /// These frames are offered to the port.
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

    /// The port took the first `n` of them.
    fn sent(&mut self, at: Instant, n: usize) {
        let mut start = 0;
        for &(end, wanted) in &self.offered.frames[..n] {
            if let Some(len) = wanted {
                let octets = &self.offered.octets[start..end];
                self.missed += self.ring.push((at, Way::Out, len), octets, self.overwrite);
            }
            start = end;
        }
    }
}

#[cfg(test)]
mod tests;
