//! Configuration of the two ends of QCN. Names in brackets are the MIB's.

use ground::time::Duration;
use ground::units::{BitsPerSec, Bytes};

/// Maximum jitter in percent; more would result in negative numbers.
const JITTER_MAX: u8 = 99;

/// Jitter of samples and timers around their base, in percent. From the algorithm's published
/// pseudo-code, with factors from 0.85 to 1.15; recalled, not confirmed in the standard.
const JITTER: u8 = 15;

/// The congestion point of one queue (802.1Q 32.8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PointPlan {
    /// Target queue length (`CpQueueSizeSetPoint`). 1 to 2^40 bytes.
    pub set_point: Bytes,
    /// Weight of the queue's growth against its length, as a power of two (`CpFeedbackWeight`): 1
    /// is a weight of two. -10 to 10.
    pub weight: i8,
    /// Bytes between two samples of the queue while it is not congested (`CpMinSampleBase`). 1 to
    /// 2^40. The strongest feedback samples eight times as often.
    pub sample_base: Bytes,
    /// Jitter of the distance between samples, in percent. 0 to 99.
    pub jitter: u8,
}

impl PointPlan {
    /// Maximum set point and sample base: weighted sums of a few of them stay within 64 bits.
    const OCTETS_MAX: u64 = 1 << 40;

    /// The standard's defaults: 26,000 bytes, a weight of two, 150,000 bytes.
    #[must_use]
    pub const fn standard() -> Self {
        Self { set_point: Bytes(26_000), weight: 1, sample_base: Bytes(150_000), jitter: JITTER }
    }

    /// Returns true if all numbers are within their ranges.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.set_point.0 >= 1
            && self.set_point.0 <= Self::OCTETS_MAX
            && self.sample_base.0 >= 1
            && self.sample_base.0 <= Self::OCTETS_MAX
            && self.weight >= -10
            && self.weight <= 10
            && self.jitter <= JITTER_MAX
    }
}

/// The reaction point of one flow (802.1Q 32.10, 32.11).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReactionPlan {
    /// Interval between increases by time (`RpgTimeReset`); half of it past the threshold. At least
    /// 1 us.
    pub time_reset: Duration,
    /// Bytes between increases by bytes (`RpgByteReset`); half of it past the threshold. 2 to 2^40.
    pub byte_reset: Bytes,
    /// Number of increases by either cause that only recover (`RpgThreshold`).
    pub threshold: u32,
    /// Maximum rate of the flow (`RpgMaxRate`); `None` for the link rate.
    pub max_rate: Option<BitsPerSec>,
    /// Increment of the target rate by an active increase (`RpgAiRate`).
    pub active: BitsPerSec,
    /// Increment by a hyper-active increase, multiplied by the number of increases that both causes
    /// have in common (`RpgHaiRate`).
    pub hyper: BitsPerSec,
    /// Decrease of the rate per step of feedback, as a negative power of two (`RpgGd`): 7 is a
    /// 128th. 6 to 31; below 6 the strongest feedback would reduce the rate to zero.
    pub gain: u8,
    /// Minimum rate after one decrease, in percent of the rate before (`RpgMinDecFac`). 1 to 100.
    pub keep_min: u8,
    /// Minimum rate (`RpgMinRate`).
    pub min_rate: BitsPerSec,
    /// Jitter of timers and byte counters, in percent. 0 to 99.
    pub jitter: u8,
}

impl ReactionPlan {
    /// The standard's defaults, from IEEE8021-CN-MIB: 15 ms, 150,000 bytes, threshold 5, 5 and 50
    /// Mb/s, 1/128, 50 %, at least 5 Mb/s. They were chosen for 10 Gb/s.
    #[must_use]
    pub const fn standard() -> Self {
        Self {
            time_reset: Duration::from_millis(15),
            byte_reset: Bytes(150_000),
            threshold: 5,
            max_rate: None,
            active: mbps(5),
            hyper: mbps(50),
            gain: 7,
            keep_min: 50,
            min_rate: mbps(5),
            jitter: JITTER,
        }
    }

    /// Returns true if all numbers are within their ranges.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.time_reset.as_picos() >= Duration::from_micros(1).as_picos()
            && self.byte_reset.0 >= 2
            && self.byte_reset.0 <= PointPlan::OCTETS_MAX
            && self.gain >= 6
            && self.gain <= 31
            && self.keep_min >= 1
            && self.keep_min <= 100
            && self.jitter <= JITTER_MAX
    }
}

/// Returns a rate of `n` Mb/s. Panics for 0.
const fn mbps(n: u64) -> BitsPerSec {
    BitsPerSec::new(n * 1_000_000).expect("a rate of zero")
}
