//! Tables among the managed objects, read only: congesting flows and peers.

use super::entry::Section;
use crate::Switch;
use crate::port_state::PortState;
use congestion::isolation::{IsolatedFlow, Labels, Peer};
use congestion::sfc::CongestingFlow;
use congestion::streams::CreateMask;
use congestion::{FlowKey, Queue};
use contracts::world::World;
use ground::time::Instant;
use ground::units::{PortId, TrafficClass};

/// A table among the objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listing {
    Streams(Streams),
    /// The CI peer table (802.1Qcz 49.3.6).
    Peers,
}

impl Listing {
    pub const ALL: [Self; 3] =
        [Self::Streams(Streams::Sfc), Self::Peers, Self::Streams(Streams::Isolation)];

    /// Finds a table by name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.place().0 == name)
    }

    /// Name and section.
    #[must_use]
    pub const fn place(self) -> (&'static str, Section) {
        match self {
            Self::Streams(Streams::Sfc) => ("sfc-stream-table", Section::Sfc),
            Self::Peers => ("ci-peer-table", Section::CongestionIsolation),
            Self::Streams(Streams::Isolation) => ("ci-stream-table", Section::CongestionIsolation),
        }
    }
}

/// A table of flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Streams {
    /// The flow table of Source Flow Control.
    Sfc,
    /// The CI stream table (802.1Qcz 49.3.7).
    Isolation,
}

/// An entry of a table of flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamRow {
    /// Index in the table of its worker, of which a handle is made.
    pub place: u32,
    pub key: FlowKey,
    /// Addresses and VLAN of the frame that created the entry, where they are recorded.
    pub labels: Option<Labels>,
    /// The congested queue: the tuple that the queue-key of the YANG module stands for.
    pub queue: Queue,
    /// Class of its frames if the flow is isolated.
    pub congesting: Option<TrafficClass>,
    /// Time of creation.
    pub created: Instant,
    /// Reason for the entry (create-mask).
    pub mask: CreateMask,
    /// Messages sent about it.
    pub messages: u32,
}

/// Entries of a table and the start of the next page. Each page is of one moment; a flow that is
/// created or removed between two pages may be missing, and no flow is listed twice.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StreamPage {
    pub rows: Vec<StreamRow>,
    /// Index at which to continue; `None` at the end.
    pub next: Option<usize>,
}

impl<W: World> Switch<W> {
    /// Returns the flows in at most `most` slots of a table, starting at index `from`; the limit
    /// bounds the time for which frames wait.
    #[must_use]
    pub fn streams(&self, of: Streams, from: usize, most: usize) -> StreamPage {
        let (places, rows) = match of {
            Streams::Sfc => {
                let Some(point) = self.sfc_point() else { return StreamPage::default() };
                let row = |(place, flow): (u32, CongestingFlow)| StreamRow {
                    place,
                    key: flow.key,
                    labels: None,
                    queue: flow.queue,
                    congesting: None,
                    created: flow.created,
                    mask: flow.mask,
                    messages: flow.messages,
                };
                (point.places(), point.flows_in(from, most).map(row).collect::<Vec<_>>())
            }
            Streams::Isolation => {
                let Some(isolation) = self.isolation() else { return StreamPage::default() };
                let row = |(place, flow): (u32, IsolatedFlow)| StreamRow {
                    place,
                    key: flow.key,
                    labels: Some(flow.labels),
                    queue: flow.queue,
                    congesting: Some(flow.congesting),
                    created: flow.created,
                    mask: flow.mask,
                    messages: flow.cims,
                };
                let rows = isolation.flows_in(from, most).map(row).collect();
                (isolation.places(), rows)
            }
        };
        let next = from.saturating_add(most);
        StreamPage { rows, next: (next < places).then_some(next) }
    }

    /// The CI peer table (802.1Qcz 49.3.6), by port.
    #[must_use]
    pub fn peers(&self) -> Vec<(PortId, Peer)> {
        let Some(isolation) = self.isolation() else { return Vec::new() };
        let peer = |port: &PortState<W>| Some((port.id, *isolation.peer(port.id)?));
        self.ports.iter().filter_map(peer).collect()
    }
}
