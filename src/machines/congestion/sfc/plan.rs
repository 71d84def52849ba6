//! Configuration of a Source Flow Control Point, under the names of the source's managed objects,
//! and choices where the source is silent.

use thiserror::Error;

use super::MeterPlan;
use crate::LimitPlan;
use crate::detect::Detect;
use crate::streams::STREAMS_MAX;
use ground::named;
use ground::time::Duration;
use ground::units::Bytes;
use wire::sfcm;

/// Unit of `sfcMaxFlowLife`.
pub const CENTISECOND: Duration = Duration::from_millis(10);

/// Unit of an SFCM's pause time.
pub(super) const NANOSECOND: Duration = Duration::from_nanos(1);

/// Congestion detection of one queue, and its target length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Monitor {
    /// Selection of congesting frames.
    pub detect: Detect,
    /// Length to which pauses drain the queue. Not above the length from which frames are selected:
    /// the pause time would be zero.
    pub target: Bytes,
}

impl Monitor {
    /// Checks that the resulting pause time is not zero.
    ///
    /// # Errors
    /// If the target is above the detection threshold.
    pub fn check(&self) -> Result<(), SfcError> {
        let from = self.detect.floor();
        if self.target > from {
            return Err(SfcError::Target { target: self.target, from });
        }
        Ok(())
    }
}

named! {
    /// Scope of `sfcMaxSFCM`, the maximum number of messages "for a congesting flow". The source does
    /// not define the end of a congesting flow.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Count {
        /// Restarts when the last requested pause has ended: the messages of one pause are copies that
        /// compensate for lost ones. Our choice, because otherwise lasting congestion would not be
        /// signalled again.
        #[default]
        PerPause = "per_pause",
        /// As long as the flow is in the table.
        PerStream = "per_stream",
    }
}

named! {
    /// Start of `sfcMaxFlowLife`. The source defines how long an entry "can remain", once it is
    /// created.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Life {
        /// The last selected frame of the flow, as for the ageing of addresses.
        #[default]
        SinceLastPicked = "last_seen",
        /// Its creation, to the letter.
        SinceCreated = "created",
    }
}

/// Interpretations of the source where several are possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dialect {
    /// Counting of messages.
    pub count: Count,
    /// Ageing of flows.
    pub life: Life,
}

/// Configuration of a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SfcPlan {
    /// `sfcMasterEnable`. No default in the source; off here.
    pub enabled: bool,
    /// `sfcmUDPPort`, both ports of SFCMs: frames to it are messages and generate none. From
    /// [`sfcm::PORT_MIN`]. The default is the source's example.
    pub udp_port: u16,
    /// `sfcMaxSFCM`: maximum number of messages for a congesting flow. 1 or more, default 3.
    pub max_sfcm: u32,
    /// `sfcMonitoredQueues`: bit n for traffic class n. No default in the source; none here.
    pub monitored_queues: u8,
    /// `sfcMaxFlowLife`. Not zero. No default in the source; the 100 centiseconds of Congestion
    /// Isolation's ci-max-flow-life here.
    pub max_flow_life: Duration,
    /// Minimum time between two messages about one flow. The source requires a "suppression
    /// (timeout) mechanism" without a number: 10 us here, a round trip in a data centre.
    pub spacing: Duration,
    /// Time that a flow has to congest before its first message: zero signals at once. Above zero
    /// if Congestion Isolation acts first, as the source describes it.
    pub patience: Duration,
    /// Bytes that a flow has to add to a congested queue before its first message, so that small
    /// flows are not paused. Default 0.
    pub octets_min: Bytes,
    /// Meter of each flow: its source is signalled only while its rate is at least the meter's.
    /// Default: no meter, so that every congesting flow is signalled, and a window of 100 us, some
    /// round trips of a data centre.
    pub meter: MeterPlan,
    /// Minimum pause to request. Default 0: all pauses of at least a nanosecond are requested.
    pub pause_min: Duration,
    /// Maximum pause to request. Default [`SfcPlan::PAUSE_LONGEST`].
    pub pause_max: Duration,
    /// Limit of the messages of all flows together. Default 64 at once and one per microsecond: at
    /// 100 bytes each, less than 1 Gb/s.
    pub budget: LimitPlan,
    /// Maximum number of congesting flows. 1 to [`STREAMS_MAX`], default 4096.
    pub streams: usize,
    /// Seed of the table's hash and of the AQM's random selection.
    pub seed: u64,
    /// Interpretation of the source.
    pub dialect: Dialect,
}

impl SfcPlan {
    /// Maximum pause in an SFCM: 32 bits of nanoseconds.
    pub const PAUSE_LONGEST: Duration = sfcm::PAUSE_MAX;

    /// Returns the defaults, the source's where it has any.
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
            meter: MeterPlan { rate: None, window: Duration::from_micros(100) },
            pause_min: Duration::ZERO,
            pause_max: Self::PAUSE_LONGEST,
            budget: LimitPlan { interval: Duration::from_micros(1), burst: 64 },
            streams: 4_096,
            seed: 0,
            dialect: Dialect { count: Count::PerPause, life: Life::SinceLastPicked },
        }
    }

    /// Checks the range of every number.
    ///
    /// # Errors
    /// Returns the first number out of range.
    pub fn check(&self) -> Result<(), SfcError> {
        // A lower port may be that of another protocol, whose datagrams would be read as messages.
        if self.udp_port < sfcm::PORT_MIN {
            return Err(SfcError::Port(self.udp_port));
        }
        if self.max_sfcm == 0 {
            return Err(SfcError::NoMessages);
        }
        if self.max_flow_life == Duration::ZERO {
            return Err(SfcError::NoLife);
        }
        if self.meter.window == Duration::ZERO {
            return Err(SfcError::NoWindow);
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

/// Error in a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum SfcError {
    /// The port may be assigned to another protocol.
    #[error("sfcmUDPPort {0} is not a dynamic port ({least} to 65535)", least = sfcm::PORT_MIN)]
    Port(u16),
    /// No message would ever be sent.
    #[error("sfcMaxSFCM is 0")]
    NoMessages,
    /// Flows would end at once.
    #[error("sfcMaxFlowLife is 0")]
    NoLife,
    /// The range of pauses is empty or exceeds an SFCM's.
    #[error("pauses from {min} to {max}: the longest is at most {}", SfcPlan::PAUSE_LONGEST)]
    Pauses {
        /// Minimum pause.
        min: Duration,
        /// Maximum pause.
        max: Duration,
    },
    /// No rate could be measured.
    #[error("the meter's window is 0")]
    NoWindow,
    /// The budget would let no message pass.
    #[error("the budget of messages has a burst of 0")]
    NoBudget,
    /// The table's size is zero or above the maximum.
    #[error("{0} congesting flows: 1 to {STREAMS_MAX}")]
    Streams(usize),
    /// The pause time would be zero.
    #[error("the target of {target} is above {from}, from which frames are picked")]
    Target {
        /// Target length.
        target: Bytes,
        /// Length from which frames are selected.
        from: Bytes,
    },
}
