//! A validated test: ports, flows and captures that both worlds may trust.

pub use crate::location::InterfaceName;
use ground::units::{BitsPerSec, Mac, PrioritySet, Quanta};
use host::plan::stream::{Edit, InterfacePlan, Path, StreamPlan, Values};
use host::{FlowId, SfcPause, TransportPlan};
use secure::SecyPlan;
use wire::EtherType;

#[derive(Clone, PartialEq, Debug, Default)]
pub struct TestPlan {
    pub ports: Vec<PortPlan>,
    /// Flow `n` has [`FlowId`] `n`.
    pub flows: Vec<FlowPlan>,
    /// The run number in probes, by which frames of an earlier test are recognised.
    pub run: u8,
}

/// A port of a test.
#[derive(Clone, PartialEq, Debug)]
pub struct PortPlan {
    /// The name in the configuration.
    pub name: String,
    /// The location as it was written, and its meaning.
    pub location: Location,
    /// The configured rate of layer 1; `None` for the link's own.
    pub rate: Option<BitsPerSec>,
    /// Maximum packet length in bytes, without Ethernet header and FCS.
    pub mtu: u32,
    pub obeys: Obeys,
    /// The response time to a pause frame.
    pub pause_delay: Quanta,
    /// True if frames to any MAC address are received.
    pub promiscuous: bool,
    /// The source address of its pause frames, unless the port has its own.
    pub mac: Mac,
    /// The interfaces of the devices on the port.
    pub interfaces: Vec<InterfacePlan>,
    /// The capture on the port, which a command starts.
    pub capture: Option<CapturePlan>,
    /// MACsec of the port. Captures have the frames on the line.
    pub secy: Option<Box<SecyPlan>>,
}

/// The location of a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Location {
    /// The location as it was written.
    pub text: String,
    /// The place that it names.
    pub place: Place,
    /// The only priorities whose pauses are obeyed (`?pfc=3,4`), as a restriction of layer 1:
    /// clients that cannot omit a class name all eight.
    pub pfc: Option<PrioritySet>,
    /// Number of transmit queues (`?queues=2`), each with its own thread. Default: 1.
    pub queues: u16,
    /// Scope of the pauses by source flow control messages that the port obeys (`?sfc=flow`). Default:
    /// none are obeyed.
    pub sfc: Option<SfcPause>,
    /// True if sent frames are captured, too (`?capture=both`). Default: false.
    pub capture_tx: bool,
}

/// The place that a location names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// An end of a pair of ports back to back in memory: `ring:NAME.a` and `ring:NAME.b`.
    Ring {
        pair: String,
        /// The end: 0 for `a`, 1 for `b`.
        end: u8,
    },
    /// A kernel interface: `iface:eth1`.
    Interface(InterfaceName),
    /// Any other text: a device by its EAL name (`0000:3b:00.0`, `net_null0,size=64`).
    Device(String),
}

impl Place {
    /// Returns true if service tags of received frames become customer tags there.
    pub fn loses_service_tags(&self) -> bool {
        match self {
            Self::Ring { .. } => false,
            // Kernel interfaces are opened by `net_af_packet`, too.
            Self::Interface(_) => true,
            Self::Device(device) => device.starts_with("net_af_packet"),
        }
    }
}

/// The pause frames that a port obeys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Obeys {
    Nothing,
    /// PFC of these priorities (802.1Qbb).
    Pfc(PrioritySet),
    /// PAUSE (802.3x).
    Pause,
}

/// A flow of a test.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowPlan {
    /// The name in the configuration.
    pub name: String,
    pub id: FlowId,
    /// The sending port: an index of [`TestPlan::ports`].
    pub tx: usize,
    /// The receiving ports.
    pub rx: Vec<usize>,
    pub kind: FlowKind,
    /// The configured measurements.
    pub metrics: Metrics,
    /// Header fields that are filled in at the start, after neighbours were resolved.
    pub resolve: Vec<Resolve>,
}

impl FlowPlan {
    /// Fills in the address of a resolved neighbour, number `which` of [`FlowPlan::resolve`].
    pub fn found(&mut self, which: usize, mac: Mac) {
        let Resolve { at, nth, .. } = self.resolve[which];
        let FlowKind::Stream(stream) = &mut self.kind else { return };
        let template = &mut stream.template;
        // The template has the first value of each field.
        if nth == 0 {
            template.headers[usize::from(at)..][..6].copy_from_slice(&mac.0);
        }
        // A single address is in the template alone, and has no edit.
        let edit = template.edits.iter_mut().find(|e| (e.at, e.skip, e.bits) == (at, 0, 48));
        if let Some(Edit { values: Values::List(list), .. }) = edit {
            list[nth] = mac.to_u64().into();
        }
    }
}

/// The kind of a flow.
#[derive(Clone, PartialEq, Debug)]
pub enum FlowKind {
    Stream(Box<StreamPlan>),
    /// A RoCEv2 connection, whose receiver responds (OTG `stateful_flows.rocev2`).
    Roce(Box<TransportPlan>),
}

/// A destination address to resolve: the neighbour or gateway of an interface.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resolve {
    /// Offset of the address in the template's headers.
    pub at: u16,
    /// Index of the value in the field, if the flow runs between several devices.
    pub nth: usize,
    /// Name of the interface that sends the request.
    pub interface: String,
    /// The IP address to resolve.
    pub neighbour: core::net::IpAddr,
}

/// The configured measurements of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Metrics {
    /// True for any measurement: the frames carry a probe.
    pub enable: bool,
    /// Loss in percent of the sent frames.
    pub loss: bool,
    /// Arrival times of the first and the last frame.
    pub timestamps: bool,
    pub latency: Option<LatencyMode>,
}

/// The reference bits of a latency (OTG). Both modes are measured alike, from the transmit call
/// to the poll that receives the frame; store-and-forward causes a warning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LatencyMode {
    /// From the last bit sent to the first bit received (RFC 1242 3.8).
    StoreForward,
    /// From the first bit sent to the first bit received.
    CutThrough,
}

/// The capture of a port.
#[derive(Clone, PartialEq, Debug)]
pub struct CapturePlan {
    /// The name in the configuration.
    pub name: String,
    /// Frames that match all conditions of any of these lists are captured; without lists, all
    /// frames.
    pub filters: Vec<Vec<Filter>>,
    /// True if new frames replace the oldest when the memory is full; else the capture stops.
    pub overwrite: bool,
    /// Captured bytes per frame; `None` for all.
    pub snap: Option<u32>,
    /// The file format.
    pub format: CaptureFormat,
}

/// The file format of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CaptureFormat {
    /// pcap with nanosecond timestamps.
    #[default]
    Pcap,
    /// pcapng with nanosecond timestamps and comments.
    Pcapng,
}

/// A condition on some bits of a frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filter {
    /// The part of a frame from which offsets are counted. Frames without it do not match.
    pub part: Part,
    /// Offset of the first byte.
    pub at: u16,
    /// The value under the mask; both have the same length.
    pub value: Vec<u8>,
    pub mask: Vec<u8>,
    /// True if the match is inverted.
    pub negate: bool,
}

/// A part of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The whole frame, from the destination address on.
    Frame,
    /// The outermost VLAN tag, from the bytes after its EtherType on.
    Tag,
    /// The packet of this EtherType, behind all tags.
    Packet(EtherType),
}

impl FlowPlan {
    /// Returns true if receivers can identify its frames: they carry a probe, have known
    /// contents, or are acknowledged.
    pub fn is_counted(&self) -> bool {
        match &self.kind {
            FlowKind::Stream(stream) => {
                stream.template.probe_at.is_some() || stream.path == Path::Control
            }
            FlowKind::Roce(_) => true,
        }
    }
}
