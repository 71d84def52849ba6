//! Configuration of the proxy.

use core::net::IpAddr;

use ipnet::IpNet;

use ground::named;
use ground::time::Duration;
use ground::units::{BitsPerSec, PrioritySet};

/// The proxy of one worker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProxyPlan {
    /// Ports of the switch, by number.
    pub ports: Vec<PortPlan>,
    /// Permitted senders of messages from other switches. By default any: in the source document a
    /// message's sender is the data's destination, which can be any host of the network.
    pub fabric: Senders,
    /// Permitted senders of messages from hosts. By default none: the proxy pauses hosts, and only
    /// their switch can verify that a message comes from them.
    pub hosts: Senders,
    /// Limits of the pauses by accepted messages.
    pub policy: PausePolicy,
    /// Cache of pauses by destination, for flows that begin later. Off by default, as in the source
    /// document, where it is an option.
    pub cache: Option<CachePlan>,
}

/// One port of the switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortPlan {
    /// Kind of neighbour.
    pub kind: Kind,
    /// Link rate, which determines the duration of a quantum.
    pub rate: BitsPerSec,
    /// Priorities with PFC.
    pub protected: PrioritySet,
}

/// Kind of neighbour at a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A switch; messages are forwarded to it.
    Fabric,
    /// A host.
    Host {
        /// True if the host obeys SFCMs itself, so that they are forwarded to it.
        reacts: bool,
    },
}

/// Permitted senders of messages, by IP address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Senders {
    /// No sender.
    Nobody,
    /// Any sender.
    Anybody,
    /// Senders within these networks.
    Only(Vec<IpNet>),
}

impl Senders {
    /// Returns true if messages from `address` are accepted.
    #[must_use]
    pub fn accept(&self, address: IpAddr) -> bool {
        match self {
            Self::Nobody => false,
            Self::Anybody => true,
            Self::Only(networks) => networks.iter().any(|network| network.contains(&address)),
        }
    }
}

/// Limits of pauses by messages. The source document has no limit but the time that the congested
/// queue needs to drain, which a forged message does not respect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PausePolicy {
    /// Maximum pause time per message. Not zero.
    pub longest: Duration,
    /// Maximum uninterrupted pause of a host's priority after idle time. Not below `longest`.
    pub credit: Duration,
    /// Fraction of time that a priority may be paused in the long run, from 0 to
    /// [`PausePolicy::SHARE_ONE`].
    pub share: u32,
    /// Mean interval between accepted messages per port in the long run. Not zero.
    pub spacing: Duration,
    /// Number of messages accepted at once after idle time. Not zero.
    pub burst: u32,
}

impl PausePolicy {
    /// Fixed-point value of a share of one.
    pub const SHARE_ONE: u32 = 1 << 16;

    /// Our choice. 12.5 MB take 1 ms to drain at 100 Gb/s, ten queues of that size 10 ms; a share
    /// of 3/4 leaves a host under attack a quarter of its link; a message per 10 us is ten times
    /// the rate of a queue that is sampled every 100 us.
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

    /// Returns true if all numbers are within their ranges.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.longest.as_picos() > 0
            && self.credit.as_picos() >= self.longest.as_picos()
            && self.share <= Self::SHARE_ONE
            && self.spacing.as_picos() > 0
            && self.burst > 0
    }
}

/// Cache of pauses by destination.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CachePlan {
    /// Capacity in pairs of destination and priority. A power of two from 8 to 2^20.
    pub entries: usize,
    /// Lifetime of an entry after the last message about it (sfcMaxFlowLife, which has no default
    /// in the source document). Not zero.
    pub life: Duration,
    /// Pause applied to a later flow.
    pub remember: Remember,
}

named! {
    /// Meaning of "caching pause time" for a flow that begins later, which the source document leaves
    /// open.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Remember {
        /// The remaining pause time. The default: at its end the queue has drained.
        #[default]
        Rest = "rest",
        /// The complete pause time again, during the entry's lifetime.
        Whole = "whole",
    }
}

impl CachePlan {
    /// 4,096 entries, with the lifetime of a congesting flow in Congestion Isolation (1 s), for the
    /// remaining pause time.
    #[must_use]
    pub const fn standard() -> Self {
        Self { entries: 4_096, life: Duration::from_secs(1), remember: Remember::Rest }
    }

    /// Returns true if all numbers are within their ranges.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.entries.is_power_of_two()
            && self.entries >= 8
            && self.entries <= 1 << 20
            && self.life.as_picos() > 0
    }
}

impl ProxyPlan {
    /// Returns the defaults for these ports.
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

    /// Returns true if all numbers are within their ranges.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.policy.is_sound() && self.cache.is_none_or(|cache| cache.is_sound())
    }
}
