//! What neighbours said, and for how long it is true (the remote systems' table of 802.1AB).

use arrayvec::ArrayVec;

use super::counters::Counters;
use super::plan::Subtypes;
use crate::time::{Duration, Instant};
use crate::units::Mac;
use crate::wire::dcbx::application::{self, Application};
use crate::wire::dcbx::isolation::CongestionIsolation;
use crate::wire::dcbx::source_flow::{self, SourceFlowControl};
use crate::wire::dcbx::topology::Topology;
use crate::wire::dcbx::{self, ets, pfc, subtype};
use crate::wire::lldp::{self, Capabilities, Id, Tlv, TlvType};

/// How many neighbours of a port are remembered.
pub const NEIGHBOURS_MAX: usize = 4;
/// How many of a neighbour's application priorities are remembered: all that fit in a TLV.
pub const APPLICATIONS_MAX: usize = application::ENTRIES_MAX;

/// A text of a neighbour, in whatever characters it uses.
pub type Text = ArrayVec<u8, { lldp::TEXT_MAX }>;

/// An identifier of a neighbour.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Identity {
    /// What kind of identifier: 802.1AB Table 8-2 for a chassis, Table 8-3 for a port.
    pub subtype: u8,
    /// The identifier.
    pub octets: Text,
}

impl Identity {
    fn new(id: Id<'_>) -> Self {
        Self { subtype: id.subtype, octets: text(id.octets).unwrap_or_default() }
    }

    /// As the wire has it; it prints as one reads it.
    #[must_use]
    pub fn as_id(&self) -> Id<'_> {
        Id { subtype: self.subtype, octets: &self.octets }
    }
}

/// What a neighbour said of DCBX.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PeerDcbx {
    /// Its ETS.
    pub ets: Option<ets::Configuration>,
    /// The ETS that it recommends.
    pub recommended: Option<ets::Recommendation>,
    /// Its PFC.
    pub pfc: Option<pfc::Configuration>,
    /// Its application priorities, if it speaks of them.
    pub applications: Option<ArrayVec<Application, APPLICATIONS_MAX>>,
    /// Its internal delay.
    pub internal_delay: Option<Duration>,
    /// Its congestion isolation.
    pub isolation: Option<CongestionIsolation>,
    /// Its place in the network.
    pub topology: Option<Topology>,
    /// What it does about source flow control.
    pub sfc: Option<SourceFlowControl>,
}

impl PeerDcbx {
    /// Whether it takes part in DCBX (802.1Q 38): speaks of ETS, PFC or applications.
    #[must_use]
    pub const fn is_peer(&self) -> bool {
        self.ets.is_some()
            || self.recommended.is_some()
            || self.pfc.is_some()
            || self.applications.is_some()
    }
}

/// What a neighbour said.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Said {
    /// The address that it said it from.
    pub mac: Mac,
    /// Its chassis.
    pub chassis: Identity,
    /// Its port.
    pub port: Identity,
    /// Its port's description; empty if it says none.
    pub port_description: Text,
    /// Its name; empty if it says none.
    pub system_name: Text,
    /// Its description; empty if it says none.
    pub system_description: Text,
    /// What it can do.
    pub capabilities: Option<Capabilities>,
    /// What it said of DCBX.
    pub dcbx: PeerDcbx,
}

/// A neighbour.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Neighbour {
    /// What it said last.
    pub said: Said,
    /// Until when that is true.
    pub expires: Instant,
}

impl Neighbour {
    /// Whether `view` is of this neighbour: same chassis and same port (the MSAP identifier).
    pub(super) fn is_sender_of(&self, view: &lldp::View<'_>) -> bool {
        self.said.chassis.as_id() == view.chassis() && self.said.port.as_id() == view.port()
    }
}

fn text(value: &[u8]) -> Option<Text> {
    Text::try_from(value).ok()
}

/// What became of a TLV.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Read {
    Taken,
    Faulty,
    Unrecognized,
}

/// Puts what was read in its place. The first TLV of a kind counts, a second one is discarded.
fn place<T, E>(place: &mut Option<T>, read: Result<T, E>) -> Read {
    match read {
        Ok(value) if place.is_none() => {
            *place = Some(value);
            Read::Taken
        }
        _ => Read::Faulty,
    }
}

/// As [`place`], for texts, of which an empty one is none.
fn place_text(place: &mut Text, value: &[u8]) -> Read {
    match text(value) {
        Some(value) if place.is_empty() => {
            *place = value;
            Read::Taken
        }
        _ => Read::Faulty,
    }
}

/// Reads all that is known here, and counts what is not, or is wrong.
pub(super) fn read(view: &lldp::View<'_>, subtypes: &Subtypes, counters: &mut Counters) -> Said {
    let mut said = Said {
        mac: view.src(),
        chassis: Identity::new(view.chassis()),
        port: Identity::new(view.port()),
        ..Said::default()
    };
    let mut faulty = false;
    for tlv in view.optional() {
        match read_tlv(&mut said, &tlv, subtypes) {
            Read::Taken => {}
            Read::Unrecognized => counters.tlvs_unrecognized += 1,
            Read::Faulty => {
                counters.tlvs_discarded += 1;
                faulty = true;
            }
        }
    }
    counters.frames_in_errors += u64::from(faulty);
    said
}

fn read_tlv(said: &mut Said, tlv: &Tlv<'_>, subtypes: &Subtypes) -> Read {
    match tlv.kind {
        TlvType::PORT_DESCRIPTION => place_text(&mut said.port_description, tlv.value),
        TlvType::SYSTEM_NAME => place_text(&mut said.system_name, tlv.value),
        TlvType::SYSTEM_DESCRIPTION => place_text(&mut said.system_description, tlv.value),
        TlvType::CAPABILITIES => place(&mut said.capabilities, Capabilities::parse(tlv.value)),
        // A bridge of this kind is not managed by what its neighbours say; known, and not kept.
        TlvType::MANAGEMENT => Read::Taken,
        TlvType::ORGANIZATIONAL => match tlv.organizational() {
            None => Read::Faulty,
            Some(org) if org.oui == dcbx::OUI => {
                read_dcbx(&mut said.dcbx, org.subtype, org.value, subtypes)
            }
            Some(org) if (org.oui, org.subtype) == (source_flow::OUI, source_flow::SUBTYPE) => {
                place(&mut said.dcbx.sfc, SourceFlowControl::parse(org.value))
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
            // A TLV has no more entries than there is room for.
            let entries = application::parse(value).map(Iterator::collect);
            place(&mut peer.applications, entries)
        }
        kind if kind == subtypes.pfc_information => {
            let delay = pfc::Information::parse(value).map(|said| said.internal_delay);
            place(&mut peer.internal_delay, delay)
        }
        kind if kind == subtypes.congestion_isolation => {
            place(&mut peer.isolation, CongestionIsolation::parse(value))
        }
        kind if kind == subtypes.topology => place(&mut peer.topology, Topology::parse(value)),
        _ => Read::Unrecognized,
    }
}
