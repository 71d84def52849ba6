//! What became of the messages of switches.

use crate::time::Total;

/// What became of all messages that a station is to obey.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReactionCounters {
    /// Source flow control messages; all zero where none are obeyed.
    pub sfcm: SfcmCounters,
    /// Congestion notification messages of QCN; likewise.
    pub cnm: CnmCounters,
}

/// What became of source flow control messages. Each is counted as received and as one of the others
/// up to `no_flow_of_priority`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SfcmCounters {
    /// Messages on the planned port to an address of the station.
    pub received: u64,
    /// Those that began a pause or made one longer.
    pub paused: u64,
    /// Those that ended one.
    pub resumed: u64,
    /// Those that changed nothing: a longer pause was running, or none that could end. Messages have no
    /// number, so that a repeated one is either here or, when it comes late, a pause of its own.
    pub redundant: u64,
    /// Those with octets that a message does not have.
    pub malformed: u64,
    /// Those about messages like them.
    pub about_itself: u64,
    /// Those of senders that the plan does not name.
    pub sender: u64,
    /// Those to an IP address that is not the station's, whatever their MAC address.
    pub other_host: u64,
    /// Those about a flow that the station does not send. Where a whole priority is paused any flow
    /// from its address may be its own.
    pub foreign_flow: u64,
    /// Those that would pause a priority in which the station sends nothing.
    pub no_flow_of_priority: u64,
    /// Of those that paused or were redundant: messages that asked for longer than the plan allows,
    /// and got that.
    pub cut_to_longest: u64,
    /// How long flows, or priorities, were paused by messages, summed over them.
    pub time: Total,
}

/// What became of congestion notification messages. Each is counted as received and as one of the
/// others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CnmCounters {
    /// Messages to an address of the station, behind a CN-TAG or not.
    pub received: u64,
    /// Those that a reaction point took.
    pub obeyed: u64,
    /// Those without feedback, which no congestion point sends.
    pub no_feedback: u64,
    /// Those with octets that a message does not have.
    pub malformed: u64,
    /// Those about messages like them.
    pub about_itself: u64,
    /// Those about a flow without a reaction point here.
    pub foreign_flow: u64,
}
