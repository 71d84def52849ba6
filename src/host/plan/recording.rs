//! A recording: frames that a stream sends as they once were, instead of making its own.

use std::sync::Arc;

use super::FRAME_MAX;
use super::stream::Sizes;
use crate::frame::FCS_BYTES;
use crate::time::{Duration, Instant};
use crate::wire::ethernet;

/// The most octets of frames that a recording has. A choice: what a station keeps in memory without
/// anybody having to think of it.
pub const RECORDING_MAX: usize = 256 << 20;

/// Frames with the times at which they were recorded. A copy is the same recording.
#[derive(Clone, PartialEq, Debug)]
pub struct Recording {
    frames: Arc<Frames>,
    /// Whether frames are due when they were recorded, counted from the first; else as the
    /// stream's pace says.
    pub timed: bool,
}

#[derive(PartialEq, Debug, Default)]
struct Frames {
    octets: Vec<u8>,
    all: Vec<Recorded>,
}

/// One frame.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Recorded {
    start: usize,
    end: usize,
    /// How long it is, FCS included; what is not kept is zero.
    len: u32,
    /// From this frame to the next.
    gap: Duration,
}

/// Why frames make no recording.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RecordingError {
    /// There are none.
    #[error("there are no frames in it")]
    Empty,
    /// More than a station keeps.
    #[error("its frames have more than {} MiB, which a station keeps at most", RECORDING_MAX >> 20)]
    TooLarge,
    /// A frame without a whole Ethernet header.
    #[error("frame {0} has {1} octets, an Ethernet header takes 14")]
    Short(usize, usize),
    /// A frame that no port takes.
    #[error("frame {0} has {1} octets with FCS, the longest frame has {FRAME_MAX}")]
    Long(usize, u32),
}

impl Recording {
    /// A recording of frames in the order in which they are given: when each was recorded, counted
    /// from any moment, its octets as far as they are kept, and how many it had, FCS left out. A
    /// time before that of the frame in front counts as the same.
    ///
    /// Where it is sent again and again, from the last frame to the first is as long as it is from
    /// one frame to the next on average.
    ///
    /// # Errors
    /// [`RecordingError`], frames counted from 1.
    pub fn new<O: AsRef<[u8]>>(
        frames: impl IntoIterator<Item = (Instant, O, u32)>,
        timed: bool,
    ) -> Result<Self, RecordingError> {
        let mut all = Frames::default();
        let (mut last, mut whole) = (None, Duration::ZERO);
        for (n, (at, octets, len)) in (1..).zip(frames) {
            let octets = octets.as_ref();
            if octets.len() < ethernet::HEADER_LEN {
                return Err(RecordingError::Short(n, octets.len()));
            }
            let len = len.max(octets.len() as u32).saturating_add(FCS_BYTES);
            if len > FRAME_MAX {
                return Err(RecordingError::Long(n, len));
            }
            let start = all.octets.len();
            let end = start + octets.len();
            if end > RECORDING_MAX {
                return Err(RecordingError::TooLarge);
            }
            all.octets.extend_from_slice(octets);
            if let Some((before, place)) = last {
                let gap = at.since(before);
                whole += gap;
                let before: &mut Recorded = &mut all.all[place];
                before.gap = gap;
            }
            last = Some((last.map_or(at, |(before, _)| at.max(before)), all.all.len()));
            all.all.push(Recorded { start, end, len, gap: Duration::ZERO });
        }
        let gaps = all.all.len().saturating_sub(1).max(1) as u64;
        let last = all.all.last_mut().ok_or(RecordingError::Empty)?;
        last.gap = Duration::from_picos(whole.as_picos() / gaps);
        Ok(Self { frames: Arc::new(all), timed })
    }

    /// How many frames it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.frames.all.len()
    }

    /// Whether it has none, which cannot be.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames.all.is_empty()
    }

    /// The lengths of its frames with FCS, weighted by how many have each: what a stream of it has
    /// as its sizes.
    #[must_use]
    pub fn sizes(&self) -> Sizes {
        let mut lengths: Vec<u32> = self.frames.all.iter().map(|f| f.len).collect();
        lengths.sort_unstable();
        let weighted = lengths.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as f64));
        Sizes::Weighted(weighted.collect())
    }

    /// Frame `n`: its octets as far as they are kept, its length with FCS, and how long it was
    /// from it to the next.
    #[inline]
    pub(in crate::host) fn frame(&self, n: usize) -> (&[u8], u32, Duration) {
        let frame = &self.frames.all[n];
        (&self.frames.octets[frame.start..frame.end], frame.len, frame.gap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Duration {
        Duration::from_micros(n)
    }

    fn at(n: u64) -> Instant {
        Instant::ZERO + us(n)
    }

    #[test]
    fn frames_keep_their_octets_lengths_and_times() {
        let frames =
            [(at(5), vec![1; 60], 60), (at(7), vec![2; 20], 1_514), (at(6), vec![3; 61], 0)];
        let recording = Recording::new(frames, true).unwrap();
        assert_eq!(recording.len(), 3);
        assert_eq!(recording.frame(0), (&[1; 60][..], 64, us(2)));
        assert_eq!(recording.frame(1), (&[2; 20][..], 1_518, us(0)));
        assert_eq!(recording.frame(2), (&[3; 61][..], 65, us(1)), "the mean of two gaps");
        let sizes = vec![(64, 1.0), (65, 1.0), (1_518, 1.0)];
        assert_eq!(recording.sizes(), Sizes::Weighted(sizes));
    }

    #[test]
    fn what_no_port_takes_is_refused_by_its_number() {
        let of = |octets: usize, len: u32| {
            Recording::new([(at(0), vec![0; 60], 60), (at(1), vec![0; octets], len)], true)
        };
        assert_eq!(of(13, 60).unwrap_err(), RecordingError::Short(2, 13));
        assert_eq!(of(14, 16_381).unwrap_err(), RecordingError::Long(2, 16_385));
        assert!(of(14, 16_380).is_ok());
        let none: [(Instant, Vec<u8>, u32); 0] = [];
        assert_eq!(Recording::new(none, true).unwrap_err(), RecordingError::Empty);
    }
}
