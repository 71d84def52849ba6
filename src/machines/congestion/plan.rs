//! Configuration of congestion control.

use ground::time::Duration;
use ground::units::{BitsPerSec, Bytes};

/// RED-like ECN marking of one traffic class (RFC 3168; DCQCN's switch part).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EcnPlan {
    /// Queue length below which nothing is marked.
    pub kmin: Bytes,
    /// Queue length above which every ECT frame is marked. Not below `kmin`.
    pub kmax: Bytes,
    /// Marking probability just below `kmax`, in parts of 65536 (0 to 65536).
    pub pmax: u32,
    /// Sampling point of the queue length.
    pub at: MarkAt,
    /// Handling of selected frames that are not ECN-capable.
    pub not_ect: NotEct,
}

impl EcnPlan {
    /// Returns true if the curve is applied to frames there.
    #[inline]
    #[must_use]
    pub fn samples_at(&self, place: MarkAt) -> bool {
        self.at == place || (self.at == MarkAt::Queue && place == MarkAt::Enqueue)
    }

    /// Returns true if a frame that finds a queue of `queue_bytes` has all of it marked.
    #[inline]
    #[must_use]
    pub fn marks_all(&self, queue_bytes: u64) -> bool {
        self.at == MarkAt::Queue && queue_bytes > self.kmax.0
    }

    /// Returns true if a frame is dropped that is not ECN-capable, and is selected with a queue of
    /// `queue_bytes`.
    #[must_use]
    pub const fn drops_not_ect(&self, queue_bytes: u64) -> bool {
        match self.not_ect {
            NotEct::Pass => false,
            NotEct::Drop => true,
            NotEct::Chance | NotEct::Letter => queue_bytes <= self.kmax.0,
        }
    }
}

/// Sampling point of the queue length that decides on a mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MarkAt {
    /// At enqueue: the queue that the frame joins.
    Enqueue,
    /// At dequeue: the queue that the frame leaves behind.
    Dequeue,
    /// At enqueue, and a queue above `kmax` has all its frames marked.
    Queue,
}

/// Handling of a Not-ECT frame that the curve selects. CE is never set on it (RFC 3168
/// 6.1.1), except by [`NotEct::Letter`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotEct {
    /// It is forwarded, bounded only by the limits of its queue and group. The default, and the
    /// only choice for a lossless class.
    Pass,
    /// The frame is dropped, as by RED.
    Drop,
    /// It is dropped up to `kmax`, and forwarded above.
    Chance,
    /// It is dropped up to `kmax`, and CE is set above: "all frames in the queue are marked 11", which
    /// RFC 3168 forbids.
    Letter,
}

/// The reaction point of one flow: DCQCN as in Zhu et al., "Congestion Control for Large-Scale RDMA
/// Deployments", SIGCOMM 2015, section 3, with extensions of later implementations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DcqcnPlan {
    /// Gain g of alpha per notification, in parts of [`DcqcnPlan::GAIN_ONE`]. 1 to
    /// [`DcqcnPlan::GAIN_ONE`].
    pub gain: u32,
    /// Alpha before the first notification, in parts of [`DcqcnPlan::GAIN_ONE`].
    pub initial_alpha: u32,
    /// Interval without notifications after which alpha decays, repeatedly (K). Not zero.
    pub alpha_period: Duration,
    /// Interval between increases by time (T). Not zero.
    pub increase_period: Duration,
    /// Bytes of frames between increases by bytes (B). Not zero.
    pub increase_bytes: Bytes,
    /// Number of increases by either cause that only go halfway back to the target rate (F).
    pub recoveries: u32,
    /// Increment of the target rate by an additive increase (R_AI).
    pub additive: BitsPerSec,
    /// Increment of the target rate by a hyper increase (R_HAI), if there is such a phase.
    pub hyper: Option<BitsPerSec>,
    /// Minimum rate.
    pub min_rate: BitsPerSec,
    /// Minimum time between decreases; notifications in between update only alpha.
    pub decrease_period: Duration,
    /// Maximum decrease of the rate by one cut, in percent. 1 to 100.
    pub decrease_max: u8,
    /// If true, each decrease makes the rate before it the target. Otherwise consecutive decreases
    /// without an increase in between leave the target unchanged.
    pub clamp_target: bool,
    /// Rate after the first notification to a flow at line rate without recovery under way; `None`
    /// lets alpha decide.
    pub first_rate: Option<BitsPerSec>,
}

impl DcqcnPlan {
    /// Fixed-point value of a gain, or an alpha, of one.
    pub const GAIN_ONE: u32 = 1 << 20;

    /// Values of the paper. g, K and the 50 us between notifications are from the paper; T, B, F
    /// and R_AI, which it gives in a table, are from texts that quote it. It has no value for a
    /// hyper increase; the minimum rate is the 100 Mb/s of its simulator.
    #[must_use]
    pub const fn sigcomm15() -> Self {
        Self {
            gain: Self::GAIN_ONE / 256,
            initial_alpha: Self::GAIN_ONE,
            alpha_period: Duration::from_micros(55),
            increase_period: Duration::from_micros(55),
            increase_bytes: Bytes(10_000_000),
            recoveries: 5,
            additive: mbps(40),
            hyper: None,
            min_rate: mbps(100),
            decrease_period: Duration::ZERO,
            decrease_max: 100,
            clamp_target: true,
            first_rate: None,
        }
    }

    /// Values in the configuration of the authors' simulator on ns-3: T 60 us, B 300 MB, R_AI 40
    /// and R_HAI 200 Mb/s, g 1/256. (The defaults in its code, which the configuration overrides: T
    /// 1.5 ms, B 150 KB, 5 and 50 Mb/s, g 1/16.) Verified in its source.
    #[must_use]
    pub const fn ns3() -> Self {
        Self {
            increase_period: Duration::from_micros(60),
            increase_bytes: Bytes(300_000_000),
            hyper: Some(mbps(200)),
            ..Self::sigcomm15()
        }
    }

    /// Defaults of ConnectX firmware. The numbers are confirmed by many listings of its settings;
    /// their meaning is from NVIDIA's description: `dce_tcp_g` 1019 of 1024 is retained,
    /// `dce_tcp_rtt` 1 us, `rpg_time_reset` 300 us, `rpg_byte_reset` 32767 (in units of 64 bytes by
    /// a note of the vendor, the least certain), `rpg_threshold` 1, `rpg_ai_rate` 5, `rpg_hai_rate`
    /// 50, `rpg_min_rate` 1, `rate_reduce_monitor_period` 4 us, `rpg_min_dec_fac` 50,
    /// `initial_alpha_value` 1023 of 1024, `clamp_tgt_rate` 0. Its CNPs are at least 4 us apart.
    #[must_use]
    pub const fn mellanox() -> Self {
        Self {
            gain: Self::GAIN_ONE / 1024 * 5,
            initial_alpha: Self::GAIN_ONE / 1024 * 1023,
            alpha_period: Duration::from_micros(1),
            increase_period: Duration::from_micros(300),
            increase_bytes: Bytes(32_767 * 64),
            recoveries: 1,
            additive: mbps(5),
            hyper: Some(mbps(50)),
            min_rate: mbps(1),
            decrease_period: Duration::from_micros(4),
            decrease_max: 50,
            clamp_target: false,
            first_rate: None,
        }
    }

    /// Returns true if every number is in its range.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        (1..=Self::GAIN_ONE).contains(&self.gain)
            && self.initial_alpha <= Self::GAIN_ONE
            && self.alpha_period > Duration::ZERO
            && self.increase_period > Duration::ZERO
            && self.increase_bytes > Bytes(0)
            && (1..=100).contains(&self.decrease_max)
    }
}

/// Returns a rate of `n` Mbit/s.
const fn mbps(n: u64) -> BitsPerSec {
    match BitsPerSec::new(n * 1_000_000) {
        Some(rate) => rate,
        None => unreachable!(),
    }
}
