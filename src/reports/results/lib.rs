//! Results of a switch, by name: the JSON of `--format json`, from which all tables, pages and
//! metrics are made.

mod agents;
mod checks;
mod counters;
mod summary;

pub use agents::{
    AgentsSummary, DcbxSummary, EtsSummary, HeadroomSummary, NeedSummary, NeighbourSummary,
    SaidSummary, SfcSummary, SourcesSummary, StampsSummary, TimesSummary,
};
pub use checks::{CheckSummary, PollsSummary};
pub use counters::{CongestionSummary, Counters, MacsecSummary, ReceiveSummary, TransmitSummary};
pub use summary::{BalanceSummary, PortSummary, Summary};
