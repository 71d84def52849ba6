//! Counters of a switch's congestion management, by name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::counters::{Counters, by_name};
use contracts::stats::{CongestionSnapshot, PortSnapshot};

/// Counters of Source Flow Control, its proxy, congestion isolation and congestion notification;
/// disabled features are absent.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CongestionSummary {
    pub switch: Counters,
    /// Current number of flows in the tables.
    pub tables: Counters,
    pub ports: BTreeMap<String, Counters>,
}

impl CongestionSummary {
    /// Summarises a snapshot; `ports` gives the names of the ports.
    #[must_use]
    pub fn new(of: &CongestionSnapshot, ports: &[PortSnapshot]) -> Self {
        let by_port = ports.iter().enumerate();
        let by_port = by_port.map(|(n, port)| (port.name.clone(), by_name(of.of_port(n))));
        Self {
            switch: by_name(of.of_switch()),
            tables: by_name(of.tables()),
            ports: by_port.filter(|(_, of)| !of.is_empty()).collect(),
        }
    }
}
