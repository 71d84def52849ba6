//! Counters of congestion messages of switches.

use ground::time::Total;

/// Counters of all messages that a station obeys.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReactionCounters {
    /// Source flow control messages; `None` where none are obeyed.
    pub sfcm: Option<SfcmCounters>,
    /// Congestion notification messages of QCN; likewise.
    pub cnm: Option<CnmCounters>,
}

/// Counters of source flow control messages. Each is counted as received and as one of the others
/// up to `no_flow_of_priority`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SfcmCounters {
    /// Messages on the planned port to an address of the station.
    pub received: u64,
    /// Messages that started or extended a pause.
    pub paused: u64,
    /// Messages that ended a pause.
    pub resumed: u64,
    /// Messages without effect: a longer pause was running, or none that could end. Messages have
    /// no sequence number, so a repeated one is counted here or, when late, starts a new pause.
    pub redundant: u64,
    /// Messages with invalid bytes.
    pub malformed: u64,
    /// Messages about other messages.
    pub about_itself: u64,
    /// Messages of senders that the plan does not list.
    pub sender: u64,
    /// Messages to an IP address that is not the station's, whatever their MAC address.
    pub other_host: u64,
    /// Messages about a flow that the station does not send. Where a whole priority is paused, any
    /// flow from its address is accepted.
    pub foreign_flow: u64,
    /// Messages for a priority in which the station sends nothing.
    pub no_flow_of_priority: u64,
    /// Messages accepted so far whose priority is another one by the maps of the host's port.
    pub disagreed: u64,
    /// Messages among `paused`, `resumed` and `redundant` whose locator says incast.
    pub incast: u64,
    /// Likewise, whose locator says in-network.
    pub in_network: u64,
    /// Messages among these that gave a flow another path.
    pub rerouted: u64,
    /// Messages among `paused` and `redundant` whose time exceeded the plan's maximum, and was
    /// reduced to it.
    pub cut_to_longest: u64,
    /// Messages whose pause ended with the entry of their flow or priority (sfcMaxFlowLife).
    pub cut_to_life: u64,
    /// Sum of the pause times requested by the messages among `paused`.
    pub requested: Total,
    /// Total pause time of flows, or of priorities, by messages.
    pub time: Total,
}

impl SfcmCounters {
    /// Returns the number of messages that were not obeyed.
    #[must_use]
    pub const fn refused(&self) -> u64 {
        self.malformed
            + self.about_itself
            + self.sender
            + self.other_host
            + self.foreign_flow
            + self.no_flow_of_priority
    }
}

/// Counters of congestion notification messages. Each is counted as received and as one of the
/// others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CnmCounters {
    /// Messages to an address of the station, with or without a CN-TAG.
    pub received: u64,
    /// Messages that a reaction point accepted.
    pub obeyed: u64,
    /// Messages without feedback, which no congestion point sends.
    pub no_feedback: u64,
    /// Messages with invalid bytes.
    pub malformed: u64,
    /// Messages about other messages.
    pub about_itself: u64,
    /// Messages about a flow without a reaction point here.
    pub foreign_flow: u64,
}
