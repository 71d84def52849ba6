//! Tables among the managed objects, read only: congesting flows, peers and measured links.

use super::object::Section;
use crate::Switch;
use crate::port_state::PortState;
use crate::signals::Paused;
use congestion::isolation::{IsolatedFlow, Labels, Peer};
use congestion::proxy::Cached;
use congestion::sfc::CongestingFlow;
use congestion::streams::{CreateMask, Stream};
use congestion::{FlowKey, Queue};
use contracts::world::World;
use ground::time::Instant;
use ground::units::{PortId, Priority, TrafficClass};

/// A table among the objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listing {
    Streams(Streams),
    /// The CI peer table (802.1Qcz 49.3.6).
    Peers,
    /// The proxy's cache of congested destinations.
    ProxyCache,
    /// State and last result of the measurement of each link.
    Measurements,
    /// Counters of the measurement of each link.
    MeasurementCounters,
}

impl Listing {
    pub const ALL: [Self; 7] = [
        Self::Streams(Streams::Sfc),
        Self::Streams(Streams::SfcProxy),
        Self::ProxyCache,
        Self::Peers,
        Self::Streams(Streams::Isolation),
        Self::Measurements,
        Self::MeasurementCounters,
    ];

    /// Finds a table by name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.place().0 == name)
    }

    /// Name and section.
    pub const fn place(self) -> (&'static str, Section) {
        match self {
            Self::Streams(Streams::Sfc) => ("sfc-stream-table", Section::Sfc),
            Self::Streams(Streams::SfcProxy) => ("sfc-proxy-stream-table", Section::SfcProxy),
            Self::ProxyCache => ("sfc-proxy-cache", Section::SfcProxy),
            Self::Peers => ("ci-peer-table", Section::CongestionIsolation),
            Self::Measurements => ("measurement-table", Section::Measurement),
            Self::MeasurementCounters => ("measurement-counters", Section::Measurement),
            Self::Streams(Streams::Isolation) => ("ci-stream-table", Section::CongestionIsolation),
        }
    }
}

/// A table of flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Streams {
    /// The flow table of Source Flow Control.
    Sfc,
    /// Flows that messages to the proxy named: the SFC stream table of the source document.
    SfcProxy,
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
    /// Messages about it, sent or received.
    pub messages: u32,
    /// Bytes of its frames that congested the queue, where they are counted.
    pub octets: Option<u64>,
    /// Rate of those frames in bit/s, where it is metered.
    pub rate: Option<u64>,
    /// Priority that its messages pause, and the end of the pause, at the proxy.
    pub paused: Option<(Priority, Instant)>,
}

/// Entries of a table and the start of the next page. Each page is of one moment; a flow that is
/// created or removed between two pages may be missing, and no flow is listed twice.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StreamPage {
    pub rows: Vec<StreamRow>,
    /// Index at which to continue; `None` at the end.
    pub next: Option<usize>,
}

/// Destinations in the proxy's cache and the start of the next page.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CachePage {
    pub rows: Vec<Cached>,
    /// Index at which to continue; `None` at the end.
    pub next: Option<usize>,
}

impl<W: World> Switch<W> {
    /// Returns the flows in at most `most` slots of a table, starting at index `from`; the limit
    /// bounds the time for which frames wait.
    pub fn streams(&self, table: Streams, from: usize, most: usize) -> StreamPage {
        let (places, rows) = match table {
            // Each table has what its machine keeps; the rest of a row is unknown, not 0.
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
                    octets: Some(flow.octets),
                    rate: flow.rate,
                    paused: None,
                };
                (point.places(), point.flows_in(from, most).map(row).collect::<Vec<_>>())
            }
            Streams::SfcProxy => {
                let Some(heard) = self.heard() else { return StreamPage::default() };
                let row = |(place, flow): (u32, &Stream<Paused>)| StreamRow {
                    place,
                    key: flow.key,
                    labels: None,
                    queue: flow.queue,
                    congesting: None,
                    created: flow.created,
                    mask: flow.mask,
                    messages: flow.messages,
                    octets: None,
                    rate: None,
                    paused: Some((flow.state.priority, flow.state.until)),
                };
                (heard.places(), heard.page(from, most).map(row).collect())
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
                    octets: None,
                    rate: None,
                    paused: None,
                };
                let rows = isolation.flows_in(from, most).map(row).collect();
                (isolation.places(), rows)
            }
        };
        let next = from.saturating_add(most);
        StreamPage { rows, next: (next < places).then_some(next) }
    }

    /// Returns the destinations in at most `most` slots of the proxy's cache, from slot `from` on.
    pub fn cached(&self, now: Instant, from: usize, most: usize) -> CachePage {
        let Some(proxy) = self.proxy() else { return CachePage::default() };
        let next = from.saturating_add(most);
        let rows = proxy.cached(now, from, most).collect();
        CachePage { rows, next: (next < proxy.cache_places()).then_some(next) }
    }

    /// The CI peer table (802.1Qcz 49.3.6), by port.
    pub fn peers(&self) -> Vec<(PortId, Peer)> {
        // Of the worker's own ports: each peer is listed one time.
        let Some(isolation) = self.isolation() else { return Vec::new() };
        let peer = |port: &PortState<W>| Some((port.id, *isolation.peer(port.id)?));
        self.ports.iter().filter_map(peer).collect()
    }
}
