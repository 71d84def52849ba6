//! Results of received messages of Congestion Isolation.

use super::IsolationCounters;

/// Result of a received CIM: the first of these that holds for any of its classes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Heard {
    /// The flow is isolated from now on.
    Isolated,
    /// The flow was already isolated.
    Renewed,
    /// The peer no longer requests isolation.
    Released,
    /// The table is full.
    NoRoom,
    /// The peer ended a request that was not in force.
    NothingToRelease,
    /// No queue of these classes is monitored.
    NotMonitored,
    /// Isolation is disabled.
    Disabled,
    /// The port has no entry in the peer table.
    UnknownPeer,
    /// The sender is not the port's peer.
    ForeignSource,
    /// The peer exceeds its limit of messages.
    TooMany,
}

impl Heard {
    /// Returns the counter of messages with this result.
    pub(super) const fn counter(self, of: &mut IsolationCounters) -> &mut u64 {
        match self {
            Self::Isolated => &mut of.heard_isolated,
            Self::Renewed => &mut of.heard_renewed,
            Self::Released => &mut of.heard_released,
            Self::NoRoom => &mut of.heard_no_room,
            Self::NothingToRelease => &mut of.heard_nothing_to_release,
            Self::NotMonitored => &mut of.heard_not_monitored,
            Self::Disabled => &mut of.heard_disabled,
            Self::UnknownPeer => &mut of.heard_unknown_peer,
            Self::ForeignSource => &mut of.heard_foreign_source,
            Self::TooMany => &mut of.heard_too_many,
        }
    }

    /// Returns true if the message was valid and applied, even if nothing had to change.
    #[must_use]
    pub const fn is_obeyed(self) -> bool {
        matches!(self, Self::Isolated | Self::Renewed | Self::Released | Self::NothingToRelease)
    }
}
