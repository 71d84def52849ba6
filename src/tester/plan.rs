//! A test, validated: ports, flows and captures that either world may trust.

use crate::host::plan::stream::{Edit, InterfacePlan, Path, StreamPlan, Values};
use crate::host::{FlowId, TransportPlan};
pub use crate::tester::location::InterfaceName;
use crate::units::{BitsPerSec, Mac, PrioritySet, Quanta};
use crate::wire::EtherType;

/// A test.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TestPlan {
    /// Its ports.
    pub ports: Vec<PortPlan>,
    /// Its flows; flow `n` has [`FlowId`] `n`.
    pub flows: Vec<FlowPlan>,
    /// The number that its probes carry, so that frames of an earlier test are not counted for it.
    pub run: u8,
}

/// A port of a test.
#[derive(Clone, PartialEq, Debug)]
pub struct PortPlan {
    /// Its name in the configuration.
    pub name: String,
    /// Where it is, as it was written, and what that means.
    pub location: Location,
    /// The rate that layer 1 asks for; nothing to take the link's own.
    pub rate: Option<BitsPerSec>,
    /// The longest packet, Ethernet header and FCS excluded, in octets.
    pub mtu: u32,
    /// Which pauses it obeys.
    pub obeys: Obeys,
    /// From a pause to obeying it.
    pub pause_delay: Quanta,
    /// Whether it takes in frames to any address.
    pub promiscuous: bool,
    /// The address that its pauses come from, if nothing else says one.
    pub mac: Mac,
    /// The interfaces of the devices on it.
    pub interfaces: Vec<InterfacePlan>,
    /// What is captured on it, once that is started.
    pub capture: Option<CapturePlan>,
}

/// Where a port is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Location {
    /// The text of it.
    pub text: String,
    /// What it names.
    pub place: Place,
    /// The priorities whose pauses are obeyed at all, whatever layer 1 says (`?pfc=3,4`): clients
    /// that cannot leave a class out name all eight.
    pub pfc: Option<PrioritySet>,
    /// How many queues it sends by (`?queues=2`), each with a thread of its own. Default: 1.
    pub queues: u16,
    /// Whether captures have what it sends, too (`?capture=both`). Default: what it receives.
    pub capture_tx: bool,
}

/// What a location names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// An end of a pair of ports back to back in memory: `ring:NAME.a` and `ring:NAME.b`.
    Ring {
        /// The pair.
        pair: String,
        /// Its end: 0 for `a`, 1 for `b`.
        end: u8,
    },
    /// An interface of the kernel: `iface:eth1`.
    Interface(InterfaceName),
    /// Anything else: a device by its EAL name (`0000:3b:00.0`, `net_null0,size=64`).
    Device(String),
}

/// Which pauses a port obeys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Obeys {
    /// None.
    Nothing,
    /// PFC of these priorities (802.1Qbb).
    Pfc(PrioritySet),
    /// PAUSE (802.3x).
    Pause,
}

/// A flow of a test.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowPlan {
    /// Its name in the configuration.
    pub name: String,
    /// Its number.
    pub id: FlowId,
    /// The port that sends it: a place in [`TestPlan::ports`].
    pub tx: usize,
    /// The ports that are to receive it.
    pub rx: Vec<usize>,
    /// What it is.
    pub kind: FlowKind,
    /// What is measured of it.
    pub metrics: Metrics,
    /// Header fields that are filled in when it starts, because neighbours must first be found.
    pub resolve: Vec<Resolve>,
}

impl FlowPlan {
    /// Fills in the address of a neighbour that was found, number `which` of [`FlowPlan::resolve`].
    pub fn found(&mut self, which: usize, mac: Mac) {
        let Resolve { at, nth, .. } = self.resolve[which];
        let FlowKind::Stream(stream) = &mut self.kind else { return };
        let template = &mut stream.template;
        if nth == 0 {
            template.headers[usize::from(at)..][..6].copy_from_slice(&mac.0);
        }
        let edit = template.edits.iter_mut().find(|e| (e.at, e.skip, e.bits) == (at, 0, 48));
        if let Some(Edit { values: Values::List(list), .. }) = edit {
            list[nth] = mac.to_u64().into();
        }
    }
}

/// What a flow is.
#[derive(Clone, PartialEq, Debug)]
pub enum FlowKind {
    /// A stream.
    Stream(Box<StreamPlan>),
    /// A connection of RoCEv2, whose receiver answers (OTG `stateful_flows.rocev2`).
    Roce(Box<TransportPlan>),
}

/// A destination address that is a neighbour's: that of the gateway of an interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resolve {
    /// Where the address is in the template's headers.
    pub at: u16,
    /// Which of the field's values it is, counted from 0, if the flow runs between several devices.
    pub nth: usize,
    /// The interface that asks, by name.
    pub interface: String,
    /// Whom it asks for.
    pub neighbour: core::net::IpAddr,
}

/// What is measured of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Metrics {
    /// Anything: its frames carry a probe.
    pub enable: bool,
    /// Loss, in per cent of what was sent.
    pub loss: bool,
    /// When the first and the last frame arrived.
    pub timestamps: bool,
    /// How long frames took, if wanted.
    pub latency: Option<LatencyMode>,
}

/// From which bit to which a latency is wanted (OTG). Both are measured alike, from handing a frame to
/// its port to finding it received; who asks for the first is warned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LatencyMode {
    /// From the last bit sent to the first bit received (RFC 1242 3.8).
    StoreForward,
    /// From the first bit sent to the first bit received.
    CutThrough,
}

/// What is captured on a port.
#[derive(Clone, PartialEq, Debug)]
pub struct CapturePlan {
    /// Its name in the configuration.
    pub name: String,
    /// Only frames that pass all conditions of any of these lists; no list for all frames.
    pub filters: Vec<Vec<Filter>>,
    /// Whether new frames replace the oldest when the memory is full; else capturing stops.
    pub overwrite: bool,
    /// How many octets of each frame are kept; nothing for all.
    pub snap: Option<u32>,
    /// How it is written.
    pub format: CaptureFormat,
}

/// How a capture is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CaptureFormat {
    /// pcap with nanosecond stamps.
    #[default]
    Pcap,
    /// pcapng with nanosecond stamps and comments.
    Pcapng,
}

/// A condition on some bits of a frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filter {
    /// Part of a frame that the bytes are counted in. Frames without it do not have the value.
    pub part: Part,
    /// The first octet.
    pub at: u16,
    /// What the octets are to be, under the mask; both have the same length.
    pub value: Vec<u8>,
    /// Which bits count.
    pub mask: Vec<u8>,
    /// Whether frames pass that do *not* have the value.
    pub negate: bool,
}

/// A part of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// All of it, from the destination address on.
    Frame,
    /// Its outermost VLAN tag, from the octets behind the tag's type on.
    Tag,
    /// Its packet of this EtherType, behind all tags.
    Packet(EtherType),
}

impl FlowPlan {
    /// Whether its receivers tell its frames from others: they carry a probe, or are known octet by
    /// octet, or answered.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        match &self.kind {
            FlowKind::Stream(stream) => {
                stream.template.probe_at.is_some() || stream.path == Path::Control
            }
            FlowKind::Roce(_) => true,
        }
    }
}
