//! A recording: captured frames that a stream replays instead of building its own.

use std::sync::Arc;

use contracts::frame::FCS_BYTES;
use contracts::port::FRAME_MAX;
use ground::time::{Duration, Instant};
use wire::ethernet;

/// Maximum bytes of frames in a recording. A choice: an amount that a station holds in memory
/// without special configuration.
pub const RECORDING_MAX: usize = 256 << 20;

/// Frames with the times at which they were recorded. A clone shares the same recording.
#[derive(Clone, PartialEq, Debug)]
pub struct Recording {
    frames: Arc<Frames>,
    /// True if frames are due at their recorded times, relative to the first; else by the stream's
    /// pace.
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
    /// Length, FCS included; bytes that were not captured are zero.
    len: u32,
    /// Time to the next frame.
    gap: Duration,
}

/// Reason for refusing a recording.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RecordingError {
    /// No frames.
    #[error("there are no frames in it")]
    Empty,
    /// More bytes than a station keeps.
    #[error("its frames have more than {} MiB, which a station keeps at most", RECORDING_MAX >> 20)]
    TooLarge,
    /// A frame without a whole Ethernet header.
    #[error("frame {0} has {1} octets, an Ethernet header takes 14")]
    Short(usize, usize),
    /// A frame too long for any port.
    #[error("frame {0} has {1} octets with FCS, the longest frame has {FRAME_MAX}")]
    Long(usize, u32),
}

impl Recording {
    /// Creates a recording from frames in order: recording time from any origin, captured bytes,
    /// and original length without FCS. A time before that of the previous frame counts as equal to
    /// it.
    ///
    /// In a loop the gap from the last frame to the first is the average gap.
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

    /// Returns the number of frames.
    #[must_use]
    pub fn len(&self) -> usize {
        self.frames.all.len()
    }

    /// Returns true if there are no frames, which cannot happen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames.all.is_empty()
    }

    /// Returns frame `n`: captured bytes, length with FCS, and time to the next frame.
    #[inline]
    pub(crate) fn frame(&self, n: usize) -> (&[u8], u32, Duration) {
        let frame = &self.frames.all[n];
        (&self.frames.octets[frame.start..frame.end], frame.len, frame.gap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::stream::Sizes;
    use crate::testtimes::{at, us};

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
