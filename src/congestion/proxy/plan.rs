//! What the proxy is told.

use core::net::IpAddr;

use ipnet::IpNet;

use crate::time::Duration;
use crate::units::{BitsPerSec, PrioritySet};

/// The proxy of one worker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProxyPlan {
    /// Every port of the switch, by its number.
    pub ports: Vec<PortPlan>,
    /// Whose messages are accepted from other switches. By default anybody's: in the source document a
    /// message's sender is the data's destination, which can be any host of the network.
    pub fabric: Senders,
    /// Whose messages are accepted from hosts. By default nobody's: hosts are what is paused, and
    /// their switch is the only one that knows that a message is theirs.
    pub hosts: Senders,
    /// How much the accepted ones may pause.
    pub policy: PausePolicy,
    /// Whether pauses are remembered by destination, for flows that begin later. Off by default, as
    /// in the source document, where it is an option.
    pub cache: Option<CachePlan>,
}

/// One port of the switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortPlan {
    /// What is at its other end.
    pub kind: Kind,
    /// The link's rate, which says how long a quantum is.
    pub rate: BitsPerSec,
    /// The priorities that PFC runs for.
    pub protected: PrioritySet,
}

/// What is at the other end of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Another switch: messages go on to it.
    Fabric,
    /// A host.
    Host {
        /// Whether it obeys SFCMs by itself, so that they go on to it.
        reacts: bool,
    },
}

/// Whose messages are accepted, by IP address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Senders {
    /// Nobody's.
    Nobody,
    /// Anybody's.
    Anybody,
    /// Those from within these networks.
    Only(Vec<IpNet>),
}

impl Senders {
    /// Whether messages from `address` are accepted.
    #[must_use]
    pub fn accept(&self, address: IpAddr) -> bool {
        match self {
            Self::Nobody => false,
            Self::Anybody => true,
            Self::Only(networks) => networks.iter().any(|network| network.contains(&address)),
        }
    }
}

/// How much messages may pause. The source document names no limit but the time that the congested
/// queue needs to drain, which a forged message does not know or want to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PausePolicy {
    /// The longest pause that one message gets. Not zero.
    pub longest: Duration,
    /// How long a priority of a host may be paused without a break after long rest. Not below
    /// `longest`.
    pub credit: Duration,
    /// The part of time that a priority may be paused in the long run, in parts of
    /// [`PausePolicy::SHARE_ONE`]. At most that.
    pub share: u32,
    /// The mean time between two messages that are accepted for a port, in the long run. Not zero.
    pub spacing: Duration,
    /// How many messages are accepted at once after long rest. Not zero.
    pub burst: u32,
}

impl PausePolicy {
    /// The share that stands for all of time.
    pub const SHARE_ONE: u32 = 1 << 16;

    /// A choice of ours. 1 ms is what 12.5 MB take to drain at 100 Gb/s, 10 ms ten queues of that
    /// size; 3 in 4 leaves a host that is lied to a quarter of its link; a message per 10 us is ten
    /// times what a queue that is watched every 100 us causes.
    #[must_use]
    pub const fn standard() -> Self {
        Self {
            longest: Duration::from_millis(1),
            credit: Duration::from_millis(10),
            share: Self::SHARE_ONE / 4 * 3,
            spacing: Duration::from_micros(10),
            burst: 64,
        }
    }

    /// Whether all numbers are within their ranges.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.longest.as_picos() > 0
            && self.credit.as_picos() >= self.longest.as_picos()
            && self.share <= Self::SHARE_ONE
            && self.spacing.as_picos() > 0
            && self.burst > 0
    }
}

/// Pauses remembered by destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CachePlan {
    /// How many pairs of destination and priority there is room for. A power of two from 8 to 2^20.
    pub entries: usize,
    /// How long an entry can stay after the last message about it (sfcMaxFlowLife, which has no default
    /// in the source document). Not zero.
    pub life: Duration,
    /// What a later flow gets.
    pub remember: Remember,
}

/// What "caching pause time" means to a flow that begins later, which the source document leaves open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Remember {
    /// What is left of the pause. The default: when it is over the queue has drained.
    Rest,
    /// The whole pause anew, as long as the entry lives.
    Whole,
}

impl CachePlan {
    /// Room for 4,096, for as long as a congesting flow lives in Congestion Isolation (1 s), for the
    /// rest of a pause.
    #[must_use]
    pub const fn standard() -> Self {
        Self { entries: 4_096, life: Duration::from_secs(1), remember: Remember::Rest }
    }

    /// Whether all numbers are within their ranges.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.entries.is_power_of_two()
            && self.entries >= 8
            && self.entries <= 1 << 20
            && self.life.as_picos() > 0
    }
}

impl ProxyPlan {
    /// The defaults for these ports.
    #[must_use]
    pub const fn standard(ports: Vec<PortPlan>) -> Self {
        Self {
            ports,
            fabric: Senders::Anybody,
            hosts: Senders::Nobody,
            policy: PausePolicy::standard(),
            cache: None,
        }
    }

    /// Whether all numbers are within their ranges.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.policy.is_sound() && self.cache.is_none_or(|cache| cache.is_sound())
    }
}
