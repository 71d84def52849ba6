//! Headers: converts a flow's packet description to the bytes of its frames.
//!
//! Each header has one table of fields with OTG's names. Fields that are not set are filled in to
//! make the frame correct: types and protocols from the next header, lengths, checksums.
//! Configured values take precedence even if they make the frame invalid, because negative tests
//! need invalid frames.

mod draft;
mod ethernet;
mod ip;
mod signals;
mod writer;

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use draft::Draft;
use writer::Writer;

use super::findings::Findings;
use ground::units::Mac;
use host::plan::FRAME_MAX;
use host::plan::stream::{Payload, TemplatePlan, Values};
use otg::model::header::{FlowCustom, FlowEthernet, FlowHeader};
use wire::EtherType;
use wire::ethernet::HEADER_LEN;
use wire::ip::Protocol;

/// The pairs of devices of a flow, which successive frames use in rotation. Empty for flows
/// between ports.
#[derive(Default)]
pub(super) struct Ends(pub(super) Vec<End>);

/// A pair of a sending and a receiving device.
pub(super) struct End {
    /// The sender's MAC address.
    pub(super) src: Mac,
    /// The destination MAC address on the first link.
    pub(super) dst: Known,
    pub(super) src4: Option<Ipv4Addr>,
    pub(super) dst4: Option<Ipv4Addr>,
    pub(super) src6: Option<Ipv6Addr>,
    pub(super) dst6: Option<Ipv6Addr>,
}

/// A MAC address, or the neighbour that it is resolved from.
pub(super) enum Known {
    /// A known address.
    Mac(Mac),
    /// The address of a neighbour, resolved at run time.
    Asked {
        /// The interface that sends the request.
        interface: String,
        /// The IP address to resolve.
        neighbour: IpAddr,
    },
}

impl Ends {
    /// Returns one value per pair.
    fn list(&self, value: impl Fn(&End) -> u128) -> Option<Values> {
        (!self.0.is_empty()).then(|| Values::List(self.0.iter().map(value).collect()))
    }

    /// Returns one value per pair, if each has one.
    fn each(&self, value: impl Fn(&End) -> Option<u128>) -> Option<Values> {
        let values: Option<Vec<u128>> = self.0.iter().map(value).collect();
        values.filter(|v| !v.is_empty()).map(Values::List)
    }
}

/// An IP header and its offset.
#[derive(Clone, Copy)]
enum Ip {
    V4(u16),
    V6(u16),
}

/// Facts about the headers that their bytes do not hold.
#[derive(Default)]
struct Notes {
    /// The configured queue.
    queue: Option<u8>,
    /// Offset of the field after the type of the outermost VLAN tag.
    tag: Option<u16>,
    first_ip: Option<Ip>,
    /// The innermost IP header so far.
    ip: Option<Ip>,
    /// Addresses to resolve: offset, index of the value, interface, neighbour.
    asked: Vec<(u16, usize, String, IpAddr)>,
}

pub(super) struct Built {
    draft: Draft,
    /// The configured queue (`pfc_queue`).
    pub(super) queue: Option<u8>,
    /// The priority in the frames, from the outermost tag, else from the upper bits of the DSCP,
    /// and true if it changes from frame to frame.
    pub(super) marked: Option<(u8, bool)>,
    /// True for MAC control frames, even invalid ones.
    pub(super) control: bool,
    /// Addresses to resolve: offset, index of the value, interface, neighbour.
    pub(super) asked: Vec<(u16, usize, String, IpAddr)>,
}

impl Built {
    /// Returns the length in bytes.
    pub(super) fn len(&self) -> u32 {
        self.draft.octets.len() as u32
    }

    /// Returns true if the outer tag is a service tag.
    pub(super) fn is_service_tagged(&self) -> bool {
        self.draft.octets.get(12..14) == Some(&[0x88, 0xa8])
    }

    /// Returns true if the headers change from frame to frame.
    pub(super) fn changes(&self) -> bool {
        !self.draft.edits.is_empty()
    }

    /// Returns the template of a stream whose shortest frame has `len` bytes without FCS, at
    /// least the length of the headers, with or without a probe behind them.
    pub(super) fn template(self, payload: Payload, len: usize, probe: bool) -> TemplatePlan {
        self.draft.finish(payload, len, probe)
    }
}

/// Builds the headers that `packet` lists and reports errors. `path` is that of the list.
pub(super) fn build(packet: &[FlowHeader], ends: &Ends, path: &str, cx: &mut Findings) -> Built {
    // OTG: an empty packet is an Ethernet header.
    let plain = [FlowHeader::Ethernet(FlowEthernet::default())];
    let packet = if packet.is_empty() { &plain } else { packet };
    if !can_be_first(&packet[0]) {
        let what = "a frame starts with ethernet, pfcpause, ethernetpause or custom; put \
                    `{ethernet: {}}` in front";
        cx.error(format!("{path}[0]"), what);
    }
    let before = cx.errors();
    let (mut draft, mut notes) = (Draft::default(), Notes::default());
    for (i, header) in packet.iter().enumerate() {
        let (name, next) = (name(header), packet.get(i + 1));
        let header_path = format!("{path}[{i}].{name}");
        let mut w = Writer { draft: &mut draft, cx, path: header_path };
        write(&mut w, header, next, ends, &mut notes);
        if draft.octets.len() > FRAME_MAX as usize {
            let what = format!("headers up to here are longer than a frame ({FRAME_MAX} octets)");
            cx.error(format!("{path}[{i}]"), what);
            break;
        }
    }
    if draft.octets.len() < HEADER_LEN && cx.errors() == before {
        let what = format!(
            "{} octets hold no two addresses and a type; say at least {HEADER_LEN}",
            draft.octets.len()
        );
        cx.error(path, what);
    }
    // Also with another EtherType: the flow is one of MAC control by its configuration.
    let first = matches!(packet[0], FlowHeader::Pfcpause(_) | FlowHeader::Ethernetpause(_));
    Built {
        control: first || is_control(&draft.octets),
        queue: notes.queue,
        marked: marked(&draft, &notes),
        asked: notes.asked,
        draft,
    }
}

fn write(
    w: &mut Writer<'_>,
    header: &FlowHeader,
    next: Option<&FlowHeader>,
    ends: &Ends,
    notes: &mut Notes,
) {
    // Only the outermost addresses are those of the devices.
    let none = Ends::default();
    let link_ends = if w.draft.octets.is_empty() { ends } else { &none };
    let ip_ends = if notes.ip.is_none() { ends } else { &none };
    let (kind, protocol) = (next.and_then(ether_type), next.and_then(protocol));
    match header {
        FlowHeader::Custom(h) => custom(w, h),
        FlowHeader::Ethernet(h) => ethernet::ethernet(w, h, kind, link_ends, notes),
        FlowHeader::Vlan(h) => ethernet::vlan(w, h, kind, notes),
        FlowHeader::Ipv4(h) => ip::ipv4(w, h, protocol, ip_ends, notes),
        FlowHeader::Ipv6(h) => ip::ipv6(w, h, protocol, ip_ends, notes),
        FlowHeader::Pfcpause(h) => ethernet::pfc(w, h),
        FlowHeader::Ethernetpause(h) => ethernet::pause(w, h),
        FlowHeader::Tcp(h) => ip::tcp(w, h, notes),
        FlowHeader::Udp(h) => ip::udp(w, h, notes, next),
        FlowHeader::Arp(h) => ethernet::arp(w, h),
        FlowHeader::Sfcm(h) => signals::sfcm(w, h, kind),
        FlowHeader::Cim(h) => signals::cim(w, h, kind, notes.ip.is_some()),
        FlowHeader::Cnm(h) => signals::cnm(w, h, kind, next.is_some()),
        FlowHeader::Headroom(h) => signals::headroom(w, h),
        // Reported by name with the other unsupported parts.
        FlowHeader::Other { .. } => {}
    }
}

/// Writes bytes unchanged.
fn custom(w: &mut Writer<'_>, h: &FlowCustom) {
    if !h.metric_tags.is_empty() {
        let what = "metrics are not split by tags here; take them out";
        w.cx.error(format!("{}.metric_tags", w.path), what);
    }
    match octets(&h.bytes) {
        Some(octets) => w.draft.octets.extend(octets),
        None => {
            let what = "write pairs of hexadecimal digits, such as `8808 0101` or `0x88080101`";
            w.cx.error(format!("{}.bytes", w.path), what);
        }
    }
}

/// Parses hexadecimal digits to at least one byte; blanks, colons and a leading `0x` are allowed.
pub(super) fn octets(text: &str) -> Option<Vec<u8>> {
    let text = text.trim();
    let text = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let digits = text.chars().filter(|c| !matches!(c, ' ' | ':'));
    let digits: Vec<u8> = digits.map(|c| c.to_digit(16).map(|d| d as u8)).collect::<Option<_>>()?;
    let whole = !digits.is_empty() && digits.len() % 2 == 0;
    whole.then(|| digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// Returns true if a frame can start with this header.
fn can_be_first(header: &FlowHeader) -> bool {
    matches!(
        header,
        FlowHeader::Custom(_)
            | FlowHeader::Ethernet(_)
            | FlowHeader::Pfcpause(_)
            | FlowHeader::Ethernetpause(_)
            | FlowHeader::Other { .. }
    )
}

/// Returns a header's name in OTG.
fn name(header: &FlowHeader) -> &str {
    match header {
        FlowHeader::Custom(_) => "custom",
        FlowHeader::Ethernet(_) => "ethernet",
        FlowHeader::Vlan(_) => "vlan",
        FlowHeader::Ipv4(_) => "ipv4",
        FlowHeader::Ipv6(_) => "ipv6",
        FlowHeader::Pfcpause(_) => "pfcpause",
        FlowHeader::Ethernetpause(_) => "ethernetpause",
        FlowHeader::Tcp(_) => "tcp",
        FlowHeader::Udp(_) => "udp",
        FlowHeader::Arp(_) => "arp",
        FlowHeader::Sfcm(_) => "sfcm",
        FlowHeader::Cim(_) => "cim",
        FlowHeader::Cnm(_) => "cnm",
        FlowHeader::Headroom(_) => "headroom",
        FlowHeader::Other { name, .. } => name,
    }
}

/// Returns the EtherType for this header. A tag is a C-tag unless configured otherwise, as in
/// other generators.
fn ether_type(header: &FlowHeader) -> Option<u16> {
    let kind = match header {
        FlowHeader::Vlan(_) => EtherType::C_TAG,
        FlowHeader::Ipv4(_) => EtherType::IPV4,
        FlowHeader::Ipv6(_) => EtherType::IPV6,
        FlowHeader::Arp(_) => EtherType::ARP,
        // Both have subtypes of one EtherType.
        FlowHeader::Cim(_) | FlowHeader::Headroom(_) => EtherType::CIM,
        FlowHeader::Cnm(_) => EtherType::CNM,
        _ => return None,
    };
    Some(kind.0)
}

/// Returns the IP protocol number for this header.
fn protocol(header: &FlowHeader) -> Option<u8> {
    match header {
        FlowHeader::Tcp(_) => Some(Protocol::TCP.0),
        FlowHeader::Udp(_) => Some(Protocol::UDP.0),
        // IP in IP (RFC 2003, RFC 2473).
        FlowHeader::Ipv4(_) => Some(4),
        FlowHeader::Ipv6(_) => Some(41),
        _ => None,
    }
}

/// The EtherTypes of tags, including S-tags before 802.1ad.
const TAGS: [u16; 5] = [EtherType::C_TAG.0, EtherType::S_TAG.0, 0x9100, 0x9200, 0x9300];

/// Returns true if the bytes are a MAC control frame, tagged or not.
fn is_control(octets: &[u8]) -> bool {
    let mut rest = octets.get(12..).unwrap_or_default();
    while let Some(kind) = rest.first_chunk().map(|t| u16::from_be_bytes(*t)) {
        if !TAGS.contains(&kind) {
            return kind == EtherType::MAC_CONTROL.0;
        }
        rest = rest.get(4..).unwrap_or_default();
    }
    false
}

/// Returns the priority in the frames, and true if it changes.
fn marked(draft: &Draft, notes: &Notes) -> Option<(u8, bool)> {
    // The first three bits of a tag, or the upper three bits of the DSCP.
    let bit = match (notes.tag, notes.first_ip) {
        (Some(tag), _) => u32::from(tag) * 8,
        (None, Some(Ip::V4(ip))) => u32::from(ip) * 8 + 8,
        (None, Some(Ip::V6(ip))) => u32::from(ip) * 8 + 4,
        (None, None) => return None,
    };
    let at = (bit / 8) as usize;
    let word = u16::from_be_bytes([draft.octets[at], draft.octets[at + 1]]);
    let changes = draft.edits.iter().any(|e| {
        let first = u32::from(e.at) * 8 + u32::from(e.skip);
        first < bit + 3 && bit < first + u32::from(e.bits)
    });
    Some(((word << (bit % 8) >> 13) as u8, changes))
}
