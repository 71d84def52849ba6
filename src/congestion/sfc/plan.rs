//! What a Source Flow Control Point is told, under the names of the source's managed objects, and
//! what had to be chosen where the source is silent.

use thiserror::Error;

use crate::congestion::detect::Detect;
use crate::congestion::limit::LimitPlan;
use crate::congestion::streams::STREAMS_MAX;
use crate::time::Duration;
use crate::units::Bytes;
use crate::wire::sfcm;

/// The unit of `sfcMaxFlowLife`.
pub const CENTISECOND: Duration = Duration::from_millis(10);

/// When one queue is congested, and what is to become of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Monitor {
    /// Which frames are picked.
    pub detect: Detect,
    /// The length that pauses bring the queue down to. Not above the length from which frames are
    /// picked: there would be no pause to ask for.
    pub target: Bytes,
}

impl Monitor {
    /// Whether there is a pause to ask for.
    ///
    /// # Errors
    /// If the target is above what is picked from.
    pub fn check(&self) -> Result<(), SfcError> {
        let from = self.detect.floor();
        if self.target > from {
            return Err(SfcError::Target { target: self.target, from });
        }
        Ok(())
    }
}

/// What `sfcMaxSFCM`, the most messages "for a congesting flow", is counted over. The source does not
/// say when a flow stops being the same congesting flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Count {
    /// Anew when the pause that was last asked for has ended: the messages of one pause are the copies
    /// that make up for lost ones. Ours, because otherwise congestion that lasts is never told again.
    PerPause,
    /// As long as the flow is in the table.
    PerStream,
}

/// What `sfcMaxFlowLife` runs from. The source says how long an entry "can remain", once it is created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Life {
    /// From the last time the flow was picked, as the ageing of addresses.
    SinceLastPicked,
    /// From its creation, to the letter.
    SinceCreated,
}

/// Readings of the source where it allows several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dialect {
    /// How messages are counted.
    pub count: Count,
    /// How flows age.
    pub life: Life,
}

/// A point's plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SfcPlan {
    /// `sfcMasterEnable`. No default in the source; off here.
    pub enabled: bool,
    /// `sfcmUDPPort`, both ports of SFCMs: frames to it are messages and make none. From
    /// [`sfcm::PORT_MIN`]. The default is the source's example.
    pub udp_port: u16,
    /// `sfcMaxSFCM`: the most messages for a congesting flow. 1 or more, default 3.
    pub max_sfcm: u32,
    /// `sfcMonitoredQueues`: bit n for traffic class n. No default in the source; none here.
    pub monitored_queues: u8,
    /// `sfcMaxFlowLife`. Not zero. No default in the source; the 100 centiseconds of Congestion
    /// Isolation's ci-max-flow-life here.
    pub max_flow_life: Duration,
    /// The least time between two messages about one flow. The source wants a "suppression (timeout)
    /// mechanism" and gives no number: 10 us here, a round trip in a data centre.
    pub spacing: Duration,
    /// How long a flow has to go on congesting until it is told of: zero tells at once. Longer than
    /// zero where Congestion Isolation tries first, as the source describes it.
    pub patience: Duration,
    /// What a flow has to bring to a congested queue until it is told of, so that small flows are
    /// left in peace. Default 0.
    pub octets_min: Bytes,
    /// Pauses that are shorter are not asked for. Default 0: all but those below a nanosecond are.
    pub pause_min: Duration,
    /// No pause that is asked for is longer. Default [`SfcPlan::PAUSE_LONGEST`].
    pub pause_max: Duration,
    /// The messages of all flows together. Default 64 at once and one per microsecond: at 100 octets
    /// each, less than 1 Gb/s.
    pub budget: LimitPlan,
    /// The most congesting flows at a time. 1 to [`STREAMS_MAX`], default 4096.
    pub streams: usize,
    /// What decides where flows fall in the table, and which frames an AQM's curve picks.
    pub seed: u64,
    /// How the source is read.
    pub dialect: Dialect,
}

impl SfcPlan {
    /// The longest pause that an SFCM can say: 32 bits of nanoseconds.
    pub const PAUSE_LONGEST: Duration = sfcm::PAUSE_MAX;

    /// The defaults, of the source where it has any.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            enabled: false,
            udp_port: sfcm::PORT_DEFAULT,
            max_sfcm: 3,
            monitored_queues: 0,
            max_flow_life: Duration::from_secs(1),
            spacing: Duration::from_micros(10),
            patience: Duration::ZERO,
            octets_min: Bytes(0),
            pause_min: Duration::ZERO,
            pause_max: Self::PAUSE_LONGEST,
            budget: LimitPlan { interval: Duration::from_micros(1), burst: 64 },
            streams: 4_096,
            seed: 0,
            dialect: Dialect { count: Count::PerPause, life: Life::SinceLastPicked },
        }
    }

    /// Whether every number is in its range.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), SfcError> {
        if self.udp_port < sfcm::PORT_MIN {
            return Err(SfcError::Port(self.udp_port));
        }
        if self.max_sfcm == 0 {
            return Err(SfcError::NoMessages);
        }
        if self.max_flow_life == Duration::ZERO {
            return Err(SfcError::NoLife);
        }
        if self.pause_max > Self::PAUSE_LONGEST || self.pause_max < self.pause_min {
            return Err(SfcError::Pauses { min: self.pause_min, max: self.pause_max });
        }
        if self.budget.burst == 0 {
            return Err(SfcError::NoBudget);
        }
        if !(1..=STREAMS_MAX).contains(&self.streams) {
            return Err(SfcError::Streams(self.streams));
        }
        Ok(())
    }
}

impl Default for SfcPlan {
    fn default() -> Self {
        Self::new()
    }
}

/// What is wrong with a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum SfcError {
    /// A port that may be somebody else's.
    #[error("sfcmUDPPort {0} is not a dynamic port ({least} to 65535)", least = sfcm::PORT_MIN)]
    Port(u16),
    /// Nothing would ever be sent.
    #[error("sfcMaxSFCM is 0")]
    NoMessages,
    /// Flows would be over at once.
    #[error("sfcMaxFlowLife is 0")]
    NoLife,
    /// Pauses that no SFCM can say, or none at all.
    #[error("pauses from {min} to {max}: the longest is at most {}", SfcPlan::PAUSE_LONGEST)]
    Pauses {
        /// The least.
        min: Duration,
        /// The longest.
        max: Duration,
    },
    /// No message would ever pass.
    #[error("the budget of messages has a burst of 0")]
    NoBudget,
    /// A table of no size, or of more than its indices can name.
    #[error("{0} congesting flows: 1 to {STREAMS_MAX}")]
    Streams(usize),
    /// There would be no pause to ask for.
    #[error("the target of {target} is above {from}, from which frames are picked")]
    Target {
        /// The target.
        target: Bytes,
        /// From where frames are picked.
        from: Bytes,
    },
}
