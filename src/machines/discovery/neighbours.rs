//! Neighbours' information and its lifetime (the remote systems' table of 802.1AB), and the reasons for
//! which information of a neighbour is not used, for the people who wonder why a port ignores its
//! peer.

use core::fmt;

use arrayvec::ArrayVec;

use super::agent::Counters;
use super::plan::Subtypes;
use ground::time::Instant;
use ground::units::Mac;
use wire::WireError;
use wire::dcbx::application::{self, Application};
use wire::dcbx::isolation::CongestionIsolation;
use wire::dcbx::source_flow::{self, SourceFlowControl};
use wire::dcbx::topology::Topology;
use wire::dcbx::{self, ets, pfc, subtype};
use wire::lldp::{self, Capabilities, Id, Tlv, TlvType};

/// Maximum number of neighbours stored per port.
pub const NEIGHBOURS_MAX: usize = 4;
/// Maximum number of application priorities stored per neighbour: the maximum of a TLV.
pub const APPLICATIONS_MAX: usize = application::ENTRIES_MAX;

/// Text sent by a neighbour, in any encoding.
pub type Text = ArrayVec<u8, { lldp::TEXT_MAX }>;

/// Identifier of a neighbour.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Identity {
    /// Subtype: 802.1AB Table 8-2 for a chassis, Table 8-3 for a port.
    pub subtype: u8,
    /// Identifier, without subtype.
    pub octets: Text,
}

impl Identity {
    fn new(id: Id<'_>) -> Self {
        Self { subtype: id.subtype, octets: text(id.octets).unwrap_or_default() }
    }

    /// Returns the identifier in wire format, which implements Display.
    #[must_use]
    pub fn as_id(&self) -> Id<'_> {
        Id { subtype: self.subtype, octets: &self.octets }
    }
}

/// DCBX information of a neighbour.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PeerDcbx {
    /// ETS configuration.
    pub ets: Option<ets::Configuration>,
    /// ETS recommendation.
    pub recommended: Option<ets::Recommendation>,
    /// PFC configuration.
    pub pfc: Option<pfc::Configuration>,
    /// Application priorities, if advertised.
    pub applications: Option<ArrayVec<Application, APPLICATIONS_MAX>>,
    /// Internal delay and compensation.
    pub information: Option<pfc::Information>,
    /// Congestion Isolation settings.
    pub isolation: Option<CongestionIsolation>,
    /// Topology.
    pub topology: Option<Topology>,
    /// Source Flow Control settings.
    pub sfc: Option<SourceFlowControl>,
    /// Information that could not be read, or is of an earlier version of DCBX.
    pub refused: Refusals,
}

impl PeerDcbx {
    /// Returns true if it takes part in DCBX (802.1Q 38): it advertises ETS, PFC or applications.
    #[must_use]
    pub const fn is_peer(&self) -> bool {
        self.ets.is_some()
            || self.recommended.is_some()
            || self.pfc.is_some()
            || self.applications.is_some()
    }

    /// Stores a refusal, if there is room: a frame with more is damaged as a whole.
    fn refuse(&mut self, refusal: Option<Refusal>) {
        self.refused.extend(refusal.filter(|_| !self.refused.is_full()));
    }
}

/// Information received from a neighbour.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Received {
    /// Source address of its frames.
    pub mac: Mac,
    /// Chassis ID.
    pub chassis: Identity,
    /// Port ID.
    pub port: Identity,
    /// Port description; empty if not sent.
    pub port_description: Text,
    /// System name; empty if not sent.
    pub system_name: Text,
    /// System description; empty if not sent.
    pub system_description: Text,
    /// System capabilities.
    pub capabilities: Option<Capabilities>,
    /// DCBX information.
    pub dcbx: PeerDcbx,
}

/// A neighbour.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Neighbour {
    /// Last information received.
    pub received: Received,
    /// End of its lifetime.
    pub expires: Instant,
}

impl Neighbour {
    /// Returns true if `view` is from this neighbour: same chassis and same port (the MSAP
    /// identifier).
    pub(super) fn is_sender_of(&self, view: &lldp::View<'_>) -> bool {
        // The source address does not count: a system may send from several.
        self.received.chassis.as_id() == view.chassis() && self.received.port.as_id() == view.port()
    }
}

fn text(value: &[u8]) -> Option<Text> {
    Text::try_from(value).ok()
}

/// Result of reading a TLV.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Read {
    Taken,
    Faulty(Why),
    Unrecognized,
}

/// Stores a value. The first TLV of a kind counts, a duplicate is discarded.
fn place<T>(place: &mut Option<T>, read: Result<T, WireError>) -> Read {
    match read {
        Ok(value) if place.is_none() => {
            *place = Some(value);
            Read::Taken
        }
        Ok(_) => Read::Faulty(Why::Duplicate),
        Err(error) => Read::Faulty(Why::Malformed(error)),
    }
}

/// Stores a text as [`place`] does; an empty one counts as absent.
fn place_text(place: &mut Text, value: &[u8]) -> Read {
    match text(value) {
        Some(value) if place.is_empty() => {
            *place = value;
            Read::Taken
        }
        Some(_) => Read::Faulty(Why::Duplicate),
        None => Read::Faulty(Why::Malformed(WireError::BadLength)),
    }
}

/// Reads all known TLVs, and counts those that are unknown or malformed.
pub(super) fn read(
    view: &lldp::View<'_>,
    subtypes: &Subtypes,
    counters: &mut Counters,
) -> Received {
    let mut received = Received {
        mac: view.src(),
        chassis: Identity::new(view.chassis()),
        port: Identity::new(view.port()),
        ..Received::default()
    };
    let mut faulty = false;
    for tlv in view.optional() {
        // A TLV that cannot be read does not spoil the others of its frame.
        match read_tlv(&mut received, &tlv, subtypes) {
            Read::Taken => {}
            Read::Unrecognized => {
                counters.tlvs_unrecognized += 1;
                received.dcbx.refuse(of_unrecognized(&tlv));
            }
            Read::Faulty(why) => {
                counters.tlvs_discarded += 1;
                faulty = true;
                received.dcbx.refuse(of_faulty(&tlv, subtypes, why));
            }
        }
    }
    counters.frames_in_errors += u64::from(faulty);
    received
}

fn read_tlv(received: &mut Received, tlv: &Tlv<'_>, subtypes: &Subtypes) -> Read {
    match tlv.kind {
        TlvType::PORT_DESCRIPTION => place_text(&mut received.port_description, tlv.value),
        TlvType::SYSTEM_NAME => place_text(&mut received.system_name, tlv.value),
        TlvType::SYSTEM_DESCRIPTION => place_text(&mut received.system_description, tlv.value),
        TlvType::CAPABILITIES => place(&mut received.capabilities, Capabilities::parse(tlv.value)),
        // Not managed by its neighbours' information: recognized, and not stored.
        TlvType::MANAGEMENT => Read::Taken,
        TlvType::ORGANIZATIONAL => match tlv.organizational() {
            None => Read::Faulty(Why::Malformed(WireError::Truncated)),
            Some(org) if org.oui == dcbx::OUI => {
                read_dcbx(&mut received.dcbx, org.subtype, org.value, subtypes)
            }
            Some(org) if (org.oui, org.subtype) == (source_flow::OUI, source_flow::SUBTYPE) => {
                place(&mut received.dcbx.sfc, SourceFlowControl::parse(org.value))
            }
            Some(_) => Read::Unrecognized,
        },
        _ => Read::Unrecognized,
    }
}

fn read_dcbx(peer: &mut PeerDcbx, kind: u8, value: &[u8], subtypes: &Subtypes) -> Read {
    match kind {
        subtype::ETS_CONFIGURATION => place(&mut peer.ets, ets::Configuration::parse(value)),
        subtype::ETS_RECOMMENDATION => {
            place(&mut peer.recommended, ets::Recommendation::parse(value))
        }
        subtype::PFC => place(&mut peer.pfc, pfc::Configuration::parse(value)),
        subtype::APPLICATION => {
            // A TLV has at most as many entries as can be stored.
            let entries = application::parse(value).map(Iterator::collect);
            place(&mut peer.applications, entries)
        }
        // These subtypes have no published numbers and are configured, so no constant can match them.
        kind if kind == subtypes.pfc_information => {
            place(&mut peer.information, pfc::Information::parse(value))
        }
        kind if kind == subtypes.congestion_isolation => {
            place(&mut peer.isolation, CongestionIsolation::parse(value))
        }
        kind if kind == subtypes.topology => place(&mut peer.topology, Topology::parse(value)),
        _ => Read::Unrecognized,
    }
}

/// Maximum number of refusals stored per neighbour.
const REFUSALS_MAX: usize = 8;

/// Refusals of one neighbour's information.
pub type Refusals = ArrayVec<Refusal, REFUSALS_MAX>;

/// Information of a neighbour that is not used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// Name of the information.
    pub what: &'static str,
    /// Reason.
    pub why: Why,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.why {
            Why::OtherDialect => write!(f, "the peer speaks {}, which is not supported", self.what),
            why => write!(f, "{} of the peer refused: {why}", self.what),
        }
    }
}

/// The reason of a refusal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// It is of a version of DCBX before the standard.
    OtherDialect,
    /// It is malformed.
    Malformed(WireError),
    /// Information of its kind came before in the same frame.
    Duplicate,
    /// It names a traffic class above 7.
    NoClass(u8),
    /// It names a traffic class that the port does not have.
    ClassBeyond(u8, u8),
    /// The shares of the ETS classes do not add up to 100.
    Shares(u32),
    /// It names an algorithm that the port does not have.
    Algorithm(u8),
    /// It needs more classes with PFC than the port has.
    PfcClasses(u8, u8),
    /// Both ends are willing and have one address, so that none has precedence.
    SameAddress,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherDialect => write!(f, "another DCBX"),
            Self::Malformed(error) => write!(f, "{error}"),
            Self::Duplicate => write!(f, "the frame has it twice"),
            Self::NoClass(class) => write!(f, "class {class} does not exist"),
            Self::ClassBeyond(class, classes) => {
                write!(f, "class {class} is none of this port's {classes} classes")
            }
            Self::Shares(sum) => write!(f, "shares add up to {sum}, not 100"),
            Self::Algorithm(n) => {
                write!(f, "this port has no transmission selection algorithm {n}")
            }
            Self::PfcClasses(needed, supported) => {
                write!(f, "{needed} classes with PFC, this port supports {supported}")
            }
            Self::SameAddress => {
                write!(f, "both ends are willing and have one MAC address; change one of the two")
            }
        }
    }
}

/// Returns the refusal of a TLV that could not be read, if it is of an organization.
fn of_faulty(tlv: &Tlv<'_>, subtypes: &Subtypes, why: Why) -> Option<Refusal> {
    let org = tlv.organizational();
    let what = match org {
        Some(org) if org.oui == dcbx::OUI => match org.subtype {
            subtype::ETS_CONFIGURATION => "the ETS configuration",
            subtype::ETS_RECOMMENDATION => "the ETS recommendation",
            subtype::PFC => "the PFC configuration",
            subtype::APPLICATION => "the application priorities",
            kind if kind == subtypes.pfc_information => "the PFC delays",
            kind if kind == subtypes.congestion_isolation => "the Congestion Isolation settings",
            _ => "the topology",
        },
        Some(org) if org.oui == source_flow::OUI => "the Source Flow Control settings",
        _ => return None,
    };
    // The map of priorities to classes follows the flags, a nibble each.
    let classes = org.filter(|_| what.contains("ETS")).and_then(|org| org.value.get(1..5));
    let nibbles = classes.unwrap_or_default().iter().flat_map(|octet| [octet >> 4, octet & 0xf]);
    let no_class = nibbles.into_iter().find(|class| *class > 7).map(Why::NoClass);
    let why =
        if why == Why::Malformed(WireError::OutOfRange) { no_class.unwrap_or(why) } else { why };
    Some(Refusal { what, why })
}

/// Returns the refusal of a TLV that is unknown, if it is of an earlier version of DCBX.
fn of_unrecognized(tlv: &Tlv<'_>) -> Option<Refusal> {
    /// OUI of the versions before the standard.
    const INTEL: [u8; 3] = [0x00, 0x1b, 0x21];
    let org = tlv.organizational().filter(|org| org.oui == INTEL)?;
    let what = match org.subtype {
        1 => "CIN DCBX (1.00)",
        2 => "CEE DCBX (1.01)",
        _ => return None,
    };
    Some(Refusal { what, why: Why::OtherDialect })
}
