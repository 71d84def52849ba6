//! The end station: paced sources that obey pauses, senders and receivers with acknowledgements,
//! and sinks that count every frame.
//!
//! A [`Station`] owns one port. It is polled like a switch, and guarantees:
//! - The link is never overdriven: without a shaper burst, no frame starts before the previous one
//!   has left a link of the planned rate, counted in picoseconds, overhead included.
//! - All arrived frames are read before any is sent. Once a pause waits at the port, at most
//!   [`COMMITTED_MAX`] more frames of its priorities leave: those that the current poll hands over.
//!   The same applies to a message that pauses a flow.
//! - Each frame carries its flow, sequence number and sending time, so the sink counts every one as
//!   received, duplicate or (by the counters of both ends, after a drain) lost.
//!
//! No clock is read, and nothing is allocated per frame. Time must not run backwards.
//!
//! [`neighbours`] answers ARP, neighbour discovery and pings for the interfaces of a traffic
//! generator. [`plan`] has the configuration, `source` the pacing, [`template`] builds frames,
//! [`probe`] marks and finds them, [`sink`] counts, `latency` and `histogram` keep times; `transport` has
//! the flows with acknowledgements; `reactions` obeys congestion messages of switches.

mod arrived;
mod flow_index;
mod histogram;
mod latency;
pub mod meter;
pub mod neighbours;
mod pauses;
pub mod plan;
pub mod probe;
mod reactions;
pub mod sink;
mod source;
mod station;
mod stream;
pub mod template;
#[cfg(test)]
mod testtimes;
mod transport;

pub use arrived::probe_of;
pub use histogram::Spares;
pub use latency::Latency;
pub use meter::{ControlCounters, MeterCounters, PauseTimes};
pub use pauses::SharedPauses;
pub use pfc::Demand;
pub use plan::{
    FLOW_ID_MAX, FRAME_MAX, FRAME_MIN, FlowId, FlowPlan, Headers, IN_FLIGHT_MAX, InNetwork,
    ListedMessage, Marking, Message, MessageList, OnOffPlan, Operation, PATH_SPACING, PausePlan,
    PlanError, Rate, ReactionsPlan, Recording, Recovery, RocePlan, SfcPause, SfcReaction,
    StationPlan, Tag, TcpPlan, TesterPlan, Transport, TransportPlan, Udp, Work,
};
pub use reactions::{CnmCounters, ReactionCounters, SfcmCounters};
pub use sink::SinkCounters;
pub use source::SourceCounters;
pub use station::{
    COMMITTED_MAX, PriorityPauses, Station, StationCounters, StationSnapshot, message_spares,
};
pub use stream::{Damage, StreamCounters, StreamState};
pub use transport::{Completion, Completions, ReceiverCounters, SenderCounters};
