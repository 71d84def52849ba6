//! The tables among the managed objects: congesting flows and peers, to look at.

use crate::congestion::isolation::{IsolatedFlow, Labels, Peer};
use crate::congestion::sfc::CongestingFlow;
use crate::congestion::streams::CreateMask;
use crate::congestion::{FlowKey, Queue};
use crate::switch::Switch;
use crate::switch::port_state::PortState;
use crate::time::Instant;
use crate::units::{PortId, TrafficClass};
use crate::world::World;

/// A table of flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Streams {
    /// Those that Source Flow Control keeps in mind.
    Sfc,
    /// The CI stream table (802.1Qcz 49.3.7).
    Isolation,
}

/// An entry of a table of flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamRow {
    /// Its place in the table of its worker: what a handle is made of.
    pub place: u32,
    /// The flow.
    pub key: FlowKey,
    /// The addresses and the VLAN of the frame that it was found by, where that is noted.
    pub labels: Option<Labels>,
    /// The queue that it congests: the tuple that the queue-key of the YANG module stands for.
    pub queue: Queue,
    /// The class that its frames go to, where it is isolated.
    pub congesting: Option<TrafficClass>,
    /// When it was found.
    pub created: Instant,
    /// Why it is there (create-mask).
    pub mask: CreateMask,
    /// Messages sent about it.
    pub messages: u32,
}

/// Entries of a table, and where to go on. Each page is of one moment; a flow that comes or goes while
/// they are read may be missing, and none is there twice.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StreamPage {
    /// The entries.
    pub rows: Vec<StreamRow>,
    /// The place from which on there may be more.
    pub next: Option<usize>,
}

impl<W: World> Switch<W> {
    /// The flows in at most `most` places of a table, from the place `from` on: few enough that frames do
    /// not wait.
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
