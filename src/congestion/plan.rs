//! What congestion control is told.

use crate::time::Duration;
use crate::units::{BitsPerSec, Bytes};

/// RED-like ECN marking of one traffic class (RFC 3168; DCQCN's switch part).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EcnPlan {
    /// Queue length below which nothing is marked.
    pub kmin: Bytes,
    /// Queue length above which every ECT frame is marked. Not below `kmin`.
    pub kmax: Bytes,
    /// The probability just below `kmax`, in parts of 65536 (0 to 65536).
    pub pmax: u32,
    /// Where the queue is looked at.
    pub at: MarkAt,
    /// What the mark means for a frame that is not ECN-capable.
    pub not_ect: NotEct,
}

/// When a frame is marked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MarkAt {
    /// By the queue it joins.
    Enqueue,
    /// By the queue it leaves behind.
    Dequeue,
}

/// What becomes of a Not-ECT frame that the curve picks. CE is never set on it (RFC 3168 6.1.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotEct {
    /// It passes: the limits of its queue and group are all that bound it. The default, and the
    /// only choice for a lossless class.
    Pass,
    /// It is dropped, as RED does.
    Drop,
}

/// The reaction point of one flow: DCQCN as in Zhu et al., "Congestion Control for Large-Scale RDMA
/// Deployments", SIGCOMM 2015, section 3, with what later implementations added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DcqcnPlan {
    /// The gain g by which alpha follows the notifications, in parts of [`DcqcnPlan::GAIN_ONE`].
    /// 1 to [`DcqcnPlan::GAIN_ONE`].
    pub gain: u32,
    /// What alpha is before the first notification, in parts of [`DcqcnPlan::GAIN_ONE`].
    pub initial_alpha: u32,
    /// How long without a notification until alpha decays, again and again (K). Not zero.
    pub alpha_period: Duration,
    /// From one timed increase to the next (T). Not zero.
    pub increase_period: Duration,
    /// From one counted increase to the next (B), in octets of frames. Not zero.
    pub increase_bytes: Bytes,
    /// How many increases by either cause only go half way back to the target rate (F).
    pub recoveries: u32,
    /// What an additive increase adds to the target rate (R_AI).
    pub additive: BitsPerSec,
    /// What a hyper increase adds to the target rate (R_HAI), if there is such a phase.
    pub hyper: Option<BitsPerSec>,
    /// The rate that nothing falls below.
    pub min_rate: BitsPerSec,
    /// The least time from one decrease to the next; notifications in between count for alpha
    /// alone.
    pub decrease_period: Duration,
    /// The most that one decrease takes of the rate, in percent. 1 to 100.
    pub decrease_max: u8,
    /// Whether each decrease makes the rate before it the target. Otherwise the target stays where
    /// it is while no increase has come between two decreases.
    pub clamp_target: bool,
    /// The rate that a notification sets a flow to that uses the whole link with nothing to recover,
    /// if it is not alpha that decides that, too.
    pub first_rate: Option<BitsPerSec>,
}

impl DcqcnPlan {
    /// The number that stands for a gain, or an alpha, of one.
    pub const GAIN_ONE: u32 = 1 << 20;

    /// As in the paper. g, K and the 50 us between notifications are from the paper; T, B and F,
    /// which it gives in a table, are known from texts that quote it, and so is R_AI. It has no
    /// value for a hyper increase; the 100 Mb/s of its simulator stand for the least rate.
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

    /// As the authors' simulator on ns-3 is configured: T 60 us, B 300 MB, R_AI 40 and R_HAI
    /// 200 Mb/s, g 1/256. (Its code has other defaults, which its configuration replaces: T 1.5 ms,
    /// B 150 KB, 5 and 50 Mb/s, g 1/16.) Read in its source; sure.
    #[must_use]
    pub const fn ns3() -> Self {
        Self {
            increase_period: Duration::from_micros(60),
            increase_bytes: Bytes(300_000_000),
            hyper: Some(mbps(200)),
            ..Self::sigcomm15()
        }
    }

    /// As ConnectX firmware has it by default. From many listings of its settings, so the numbers
    /// are sure; their meaning is from NVIDIA's description: `dce_tcp_g` 1019 of 1024 is kept,
    /// `dce_tcp_rtt` 1 us, `rpg_time_reset` 300 us, `rpg_byte_reset` 32767 (in units of 64 octets by
    /// a note of the vendor, which is the least sure), `rpg_threshold` 1, `rpg_ai_rate` 5,
    /// `rpg_hai_rate` 50, `rpg_min_rate` 1, `rate_reduce_monitor_period` 4 us, `rpg_min_dec_fac` 50,
    /// `initial_alpha_value` 1023 of 1024, `clamp_tgt_rate` 0. Its CNPs are 4 us apart at least.
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

    /// Whether every number is in its range.
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

/// A rate of `n` Mbit/s.
const fn mbps(n: u64) -> BitsPerSec {
    match BitsPerSec::new(n * 1_000_000) {
        Some(rate) => rate,
        None => unreachable!(),
    }
}
