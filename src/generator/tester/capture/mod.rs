//! Captures: received and sent frames of a port, kept in memory and written as a file afterwards.
//!
//! A [`Tap`] is between a station and its port. Without a [`Capture`] it costs one check per
//! burst; with one, a copy of each frame that matches the filters, up to the snap length, into
//! preallocated memory. No memory is allocated during a capture, and frames without room are
//! counted.

mod comment;
mod ring;
mod tap;
mod write;

pub use comment::About;
pub use ring::Kept;
pub use tap::{Tap, tapped};
pub use write::{write, write_some};

use self::ring::Ring;
use super::plan::{CapturePlan, Filter};
use contracts::frame::{BURST, Burst, FCS_BYTES, Frame};
use ground::time::Instant;
use text::packets::Way;

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
    #[must_use]
    pub fn new(plan: &CapturePlan, both: bool, bytes: usize) -> Self {
        let snap = plan.snap.map_or(usize::MAX, |snap| snap as usize);
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

    #[must_use]
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
            let what = (at, Way::In, frame.wire_len() - FCS_BYTES);
            self.missed += self.ring.push(what, octets, self.overwrite);
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
                self.missed += self.ring.push((at, Way::Out, len), octets, self.overwrite);
            }
            start = end;
        }
    }
}

#[cfg(test)]
mod tests;
