//! A recording: captured frames that a stream replays instead of building its own.

use std::sync::Arc;

use contracts::frame::FCS_BYTES;
use contracts::port::FRAME_MAX;
use ground::time::{Duration, Instant, Total};
use wire::ethernet;

/// Maximum bytes of frames in a recording. A choice: an amount that a station holds in memory
/// without special configuration.
pub const RECORDING_MAX: usize = 256 << 20;

const DAY: Total = Total::from_nanos(86_400_000_000_000);

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
    /// Times that are too far apart to be kept: a wrong clock, or two captures in one file.
    #[error(
        "its times span more than 213 days, {days} of them from frame {frame} to the next; give the \
         replay a rate (`pps`)"
    )]
    Span { frame: usize, days: u128 },
    /// A frame too long for any port.
    #[error("frame {0} has {1} octets with FCS, the longest frame has {FRAME_MAX}")]
    Long(usize, u32),
}

impl Recording {
    /// Creates a recording from frames in order: recording time from any origin, captured bytes,
    /// and original length without FCS. A time before that of the previous frame counts as equal to
    /// it. Times that are not replayed may be any.
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
        let (mut whole, mut longest) = (Total::ZERO, (Total::ZERO, 0));
        let mut last = None;
        for (n, (at, octets, len)) in (1..).zip(frames) {
            let octets = octets.as_ref();
            if octets.len() < ethernet::HEADER_LEN {
                return Err(RecordingError::Short(n, octets.len()));
            }
            // A capture may hold more than the length that it states; captures have no FCS.
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
            if timed && let (Some(before), Some(frame)) = (last, all.all.last_mut()) {
                // 128 bits, because times of a broken clock may be centuries apart.
                let gap = at.total_since(before);
                whole += gap;
                longest = longest.max((gap, n - 1));
                frame.gap = at.since(before);
            }
            // A clock that went back makes a gap of 0 and no later one longer.
            last = Some(last.map_or(at, |before: Instant| at.max(before)));
            all.all.push(Recorded { start, end, len, gap: Duration::ZERO });
        }
        let Ok(whole) = u64::try_from(whole.as_picos()) else {
            let days = longest.0.as_picos() / DAY.as_picos();
            return Err(RecordingError::Span { frame: longest.1, days });
        };
        let gaps = all.all.len().saturating_sub(1).max(1) as u64;
        let last = all.all.last_mut().ok_or(RecordingError::Empty)?;
        last.gap = Duration::from_picos(whole / gaps);
        Ok(Self { frames: Arc::new(all), timed })
    }

    /// Returns the number of frames.
    pub fn len(&self) -> usize {
        self.frames.all.len()
    }

    /// Returns true if there are no frames, which cannot happen.
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
    fn times_too_far_apart_are_refused_unless_there_is_a_rate() {
        let day = |n: u128| Instant::from_picos(n * DAY.as_picos());
        let of =
            |days: [u128; 4], timed| Recording::new(days.map(|n| (day(n), [0; 60], 60)), timed);
        assert!(of([0, 100, 200, 213], true).is_ok());
        let far = of([0, 1, 18_000, 18_001], true).unwrap_err();
        assert_eq!(far, RecordingError::Span { frame: 2, days: 17_999 });
        assert!(far.to_string().contains("from frame 2 to the next"), "{far}");
        let parts = of([0, 100, 200, 214], true).unwrap_err();
        assert_eq!(parts, RecordingError::Span { frame: 2, days: 100 });
        assert!(of([0, 1, u128::from(u64::MAX), 0], false).is_ok());
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
