//! The end station: paced sources that obey pauses, senders and receivers that answer each other,
//! and sinks that miss nothing.
//!
//! A [`Station`] owns one port. It is polled like a switch, and promises:
//! - The link is never overdriven: with no shaper burst allowed, no frame starts before the one
//!   before it has left a link of the planned rate, counted in picoseconds, overhead included.
//! - Whatever has arrived is read before anything is sent. Once a pause waits at the port, at most
//!   [`COMMITTED_MAX`] more frames of its priorities leave: those that an ongoing poll hands over.
//!   The same goes for a message that pauses a flow.
//! - Each frame carries its flow, its number and its time of sending, so that the sink counts
//!   every one as arrived, duplicate or (by the numbers of both ends, after a drain) lost.
//!
//! No clock is read, and nothing is allocated per frame. Time must not run backwards.
//!
//! [`neighbours`] answers ARP, neighbour discovery and pings for the interfaces of a traffic generator.
//! [`plan`] says what a station does, `source` paces, [`template`] makes the octets, [`probe`]
//! finds them again, [`sink`] counts, `histogram` keeps how long frames took; `transport` has the flows whose receivers answer; `reactions`
//! obeys the messages of switches.

mod arrived;
mod histogram;
pub mod meter;
pub mod neighbours;
mod order;
mod pauses;
pub mod plan;
pub mod probe;
mod reactions;
pub mod sink;
mod source;
mod station;
mod stream;
pub mod template;
mod transport;

pub use arrived::probe_of;
pub use histogram::Spares;
pub use meter::{ControlCounters, MeterCounters, PauseTimes};
pub use plan::{
    FLOW_ID_MAX, FRAME_MAX, FRAME_MIN, FlowId, FlowPlan, Headers, IN_FLIGHT_MAX, Marking, Message,
    Operation, PauseAsk, PausePlan, PlanError, Rate, ReactionsPlan, Recording, Recovery, RocePlan,
    SfcPause, SfcReaction, StationPlan, Tag, TcpPlan, TesterPlan, Transport, TransportPlan, Udp,
};
pub use reactions::{CnmCounters, ReactionCounters, SfcmCounters};
pub use sink::{Latency, LatencyFigures, SinkCounters};
pub use source::SourceCounters;
pub use station::{COMMITTED_MAX, PriorityPauses, Station, StationCounters, StationSnapshot};
pub use stream::{StreamCounters, StreamState};
pub use transport::{Completions, ReceiverCounters, SenderCounters};
