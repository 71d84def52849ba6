//! Results of a switch, by name: the JSON of `--format json`, from which all tables, pages and
//! metrics are made.

mod checks;
mod counters;
mod protocols;
mod summary;

pub use checks::{CheckSummary, PollsSummary};
pub use counters::{ChannelSummary, CongestionSummary, Counters, MacsecSummary};
pub use protocols::{
    AgentsSummary, DcbxSummary, EtsSummary, HeadroomSummary, NeedSummary, NeighbourSummary,
    SaidSummary, SfcSummary, SourcesSummary, StampsSummary, TimesSummary,
};
pub use summary::{BalanceSummary, PortSummary, Summary};
