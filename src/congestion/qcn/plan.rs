//! What the two ends of QCN are told. Names in brackets are the MIB's.

use crate::time::Duration;
use crate::units::{BitsPerSec, Bytes};

/// The widest jitter that is accepted, in percent: more would reach past zero.
const JITTER_MAX: u8 = 99;

/// How far samples and timers are drawn around their base, in percent. From the algorithm's published
/// pseudo-code, which draws from 0.85 to 1.15; recalled, not confirmed in the standard.
const JITTER: u8 = 15;

/// The congestion point of one queue (802.1Q 32.8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PointPlan {
    /// The queue length that is aimed at (`CpQueueSizeSetPoint`). 1 to 2^40 octets.
    pub set_point: Bytes,
    /// The weight of the queue's growth against its length, as a power of two (`CpFeedbackWeight`):
    /// 1 is a weight of two. -10 to 10.
    pub weight: i8,
    /// Octets between two looks at the queue while it is not congested (`CpMinSampleBase`). 1 to
    /// 2^40. The strongest feedback looks eight times as often.
    pub sample_base: Bytes,
    /// How far the distance of samples is drawn around its base, in percent. 0 to 99.
    pub jitter: u8,
}

impl PointPlan {
    /// The largest set point and sample base: sums of a few of them, weighted, stay within 64 bits.
    const OCTETS_MAX: u64 = 1 << 40;

    /// The standard's defaults: 26,000 octets, a weight of two, 150,000 octets.
    #[must_use]
    pub const fn standard() -> Self {
        Self { set_point: Bytes(26_000), weight: 1, sample_base: Bytes(150_000), jitter: JITTER }
    }

    /// Whether all numbers are within their ranges.
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
    /// From one timed increase to the next (`RpgTimeReset`); half of it past the threshold. At least
    /// 1 us.
    pub time_reset: Duration,
    /// Octets from one counted increase to the next (`RpgByteReset`); half of it past the threshold.
    /// 2 to 2^40.
    pub byte_reset: Bytes,
    /// How many increases by either cause only recover (`RpgThreshold`).
    pub threshold: u32,
    /// The most that the flow may ever send at (`RpgMaxRate`); the link's rate where there is none.
    pub max_rate: Option<BitsPerSec>,
    /// What an active increase adds to the target rate (`RpgAiRate`).
    pub active: BitsPerSec,
    /// What a hyper-active increase adds, once more for each one that both causes have in common
    /// (`RpgHaiRate`).
    pub hyper: BitsPerSec,
    /// What a step of feedback cuts off the rate, as a negative power of two (`RpgGd`): 7 is a 128th.
    /// 6 to 31; below 6 the strongest feedback would cut all.
    pub gain: u8,
    /// The least that one cut leaves of the rate, in percent (`RpgMinDecFac`). 1 to 100.
    pub keep_min: u8,
    /// The rate that nothing falls below (`RpgMinRate`).
    pub min_rate: BitsPerSec,
    /// How far timers and counters are drawn around their base, in percent. 0 to 99.
    pub jitter: u8,
}

impl ReactionPlan {
    /// The standard's defaults, as IEEE8021-CN-MIB has them: 15 ms, 150,000 octets, threshold 5, 5 and
    /// 50 Mb/s, 1/128, 50 %, at least 5 Mb/s. They were chosen for 10 Gb/s.
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

    /// Whether all numbers are within their ranges.
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

/// A rate of `n` Mb/s. Panics for 0.
const fn mbps(n: u64) -> BitsPerSec {
    BitsPerSec::new(n * 1_000_000).expect("a rate of zero")
}
