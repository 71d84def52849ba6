//! Reasons for which information of a neighbour is not used, for the people who wonder why a port
//! ignores its peer.

use core::fmt;

use arrayvec::ArrayVec;

use super::plan::Subtypes;
use wire::WireError;
use wire::dcbx::{self, source_flow, subtype};
use wire::lldp::Tlv;

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
        }
    }
}

/// Returns the refusal of a TLV that could not be read, if it is of an organization.
pub(super) fn of_faulty(tlv: &Tlv<'_>, subtypes: &Subtypes, why: Why) -> Option<Refusal> {
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
pub(super) fn of_unrecognized(tlv: &Tlv<'_>) -> Option<Refusal> {
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
