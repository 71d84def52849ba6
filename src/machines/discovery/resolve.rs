//! Negotiation of two ports' settings (802.1Q 38.4).

use serde::{Deserialize, Serialize};

use super::neighbours::{Neighbour, Received, Why};
use super::plan::{DcbxPfcPlan, DcbxPlan, EtsPlan, EtsTable, PfcForm, Precedence};
use ground::time::Duration;
use ground::units::{Mac, PRIORITIES, PrioritySet};
use wire::dcbx::ets::algorithm;
use wire::dcbx::{ets, pfc};
use wire::headroom::Adjustment;

/// Origin of the setting in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Party {
    /// Configured at this port.
    Local,
    /// Advertised by the peer.
    Peer,
}

/// Number of neighbours that take part in DCBX.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PeerState {
    /// None.
    #[serde(rename = "none")]
    Absent,
    /// One: the peer.
    #[serde(rename = "one")]
    Present,
    /// More than one. Nothing is negotiated (802.1Q 38.3: DCBX is for two ports).
    Several,
}

/// Result for PFC, as in results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PfcResolved {
    /// Priorities with PFC.
    pub enable: PrioritySet,
    /// Origin of the setting.
    pub from: Party,
    /// Reason for which the peer's setting is not used although it has precedence.
    #[serde(skip)]
    pub refused: Option<Why>,
}

/// Result for ETS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EtsResolved {
    /// ETS table to use.
    pub table: EtsTable,
    /// Origin of the setting.
    pub from: Party,
    /// Reason for which the peer's recommendation is not used although it has precedence.
    pub refused: Option<Why>,
}

/// Measurement methods that both ends support.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Methods {
    /// Request/response measurement.
    pub round_trip: bool,
    /// PTP's peer delay.
    pub ptp: bool,
}

/// Information received from the peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer {
    /// Source address of its frames.
    pub mac: Mac,
    /// PFC configuration, with its measurement methods in the proposed format.
    pub pfc: Option<pfc::Configuration>,
    /// ETS configuration.
    pub ets: Option<ets::Configuration>,
    /// Internal delay.
    pub internal_delay: Option<Duration>,
    /// Reaction to a pause from above the MAC, with its adjustment.
    pub compensation: Option<Adjustment>,
}

/// Settings of this port, and information about its peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resolved {
    /// Number of peers.
    pub state: PeerState,
    /// PFC, if this port advertises it.
    pub pfc: Option<PfcResolved>,
    /// ETS, if this port advertises it.
    pub ets: Option<EtsResolved>,
    /// Measurement methods of both ends; `None` unless both use the proposed format of PFC's TLV.
    pub methods: Option<Methods>,
    /// Information received from the peer.
    pub peer: Option<Peer>,
}

/// Returns the number of neighbours that take part in DCBX, and the only one.
pub(super) fn peer_of(neighbours: &[Neighbour]) -> (PeerState, Option<&Received>) {
    let mut peers =
        neighbours.iter().map(|n| &n.received).filter(|received| received.dcbx.is_peer());
    match (peers.next(), peers.next()) {
        (None, _) => (PeerState::Absent, None),
        (Some(received), None) => (PeerState::Present, Some(received)),
        // Two peers could request different settings of the one port.
        (Some(_), Some(_)) => (PeerState::Several, None),
    }
}

/// Resolves this port's advertisement, which is `plan` with the priorities `enable`, against that
/// of its neighbours.
pub(super) fn resolve(plan: &DcbxPlan, enable: PrioritySet, neighbours: &[Neighbour]) -> Resolved {
    let (state, received) = peer_of(neighbours);
    let peer = received.map(|received| Peer {
        mac: received.mac,
        pfc: received.dcbx.pfc,
        ets: received.dcbx.ets,
        internal_delay: received.dcbx.information.map(|information| information.internal_delay),
        compensation: received.dcbx.information.and_then(|information| information.compensation),
    });
    let ets = plan.ets.map(|local| resolve_ets(&local, received));
    let classes = ets.map(|ets| ets.table.class);
    let pfc = plan.pfc.map(|local| resolve_pfc(plan, &local, enable, peer.as_ref(), classes));
    let methods = plan.pfc.and_then(|local| methods(local.form, peer?.pfc?.proposed?));
    Resolved { state, pfc, ets, methods, peer }
}

fn methods(local: PfcForm, peer: pfc::Proposed) -> Option<Methods> {
    match local {
        PfcForm::Published => None,
        PfcForm::Proposed { round_trip, ptp, .. } => {
            Some(Methods { round_trip: round_trip && peer.round_trip, ptp: ptp && peer.ptp })
        }
    }
}

/// Runs the symmetric state machine (802.1Q 38.4.2): both ends use the same setting.
fn resolve_pfc(
    plan: &DcbxPlan,
    local: &DcbxPfcPlan,
    enable: PrioritySet,
    peer: Option<&Peer>,
    classes: Option<[u8; PRIORITIES]>,
) -> PfcResolved {
    let own = PfcResolved { enable, from: Party::Local, refused: None };
    let Some((mac, remote)) = peer.and_then(|peer| Some((peer.mac, peer.pfc?))) else {
        return own;
    };
    // An unwilling port keeps its setting. Of two willing ones the addresses decide, so that both use the same.
    if !local.willing || remote.willing && keeps_own(plan.precedence, plan.mac, mac) {
        return own;
    }
    // The standard counts on different addresses (38.4.2). With equal ones both would take the other's setting.
    if remote.willing && mac == plan.mac && remote.enable != enable {
        return PfcResolved { refused: Some(Why::SameAddress), ..own };
    }
    let (needed, supported) =
        (count_classes(remote.enable, classes), pfc_classes(local.capability));
    // The capability counts traffic classes and not priorities.
    if needed > supported {
        let refused = Some(Why::PfcClasses(needed as u8, supported as u8));
        return PfcResolved { refused, ..own };
    }
    PfcResolved { enable: remote.enable, from: Party::Peer, refused: None }
}

/// Returns true if this one of two willing ports keeps its local setting.
fn keeps_own(precedence: Precedence, local: Mac, remote: Mac) -> bool {
    match precedence {
        Precedence::HigherAddress => local > remote,
        Precedence::LowerAddress => local < remote,
    }
}

const fn pfc_classes(capability: u8) -> usize {
    if capability == 0 { PRIORITIES } else { capability as usize }
}

/// Returns the number of traffic classes of the priorities in `set`.
fn count_classes(set: PrioritySet, classes: Option<[u8; PRIORITIES]>) -> usize {
    let mut used = [false; PRIORITIES];
    for p in set.iter() {
        used[classes.map_or(p.index(), |classes| usize::from(classes[p.index()]))] = true;
    }
    used.into_iter().filter(|&used| used).count()
}

/// Runs the asymmetric state machine (38.4.1): a willing port adopts its peer's recommendation.
fn resolve_ets(local: &EtsPlan, peer: Option<&Received>) -> EtsResolved {
    let own = EtsResolved { table: local.local, from: Party::Local, refused: None };
    match peer.and_then(|received| received.dcbx.recommended) {
        // ETS is asymmetric: the configuration of the peer itself does not matter.
        Some(recommended) if local.willing => {
            let table = recommended.table;
            match impossible(local, &table) {
                None => EtsResolved { table, from: Party::Peer, refused: None },
                refused => EtsResolved { refused, ..own },
            }
        }
        _ => own,
    }
}

/// Returns the reason for which the port cannot use `table`, if there is one.
fn impossible(local: &EtsPlan, table: &EtsTable) -> Option<Why> {
    let has_algorithm = |algorithm| match algorithm {
        algorithm::STRICT | algorithm::ETS => true,
        algorithm::CREDIT_BASED => local.cbs,
        _ => false,
    };
    // Only the classes that priorities are mapped to: the table has entries for all eight in any case.
    let class = |class: u8| {
        let algorithm = table.algorithm[usize::from(class)];
        if class >= local.classes {
            return Some(Why::ClassBeyond(class, local.classes));
        }
        (!has_algorithm(algorithm)).then_some(Why::Algorithm(algorithm))
    };
    let shares = || (!table.is_consistent()).then(|| Why::Shares(table.shares()));
    table.class.into_iter().find_map(class).or_else(shares)
}
