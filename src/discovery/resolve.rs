//! What two ports agree on, from what each said (802.1Q 38.4).

use super::neighbours::{Neighbour, Said};
use super::plan::{DcbxPfcPlan, DcbxPlan, EtsPlan, EtsTable, PfcForm, Precedence};
use crate::time::Duration;
use crate::units::{Mac, PRIORITIES, PrioritySet};
use crate::wire::dcbx::ets::algorithm;
use crate::wire::dcbx::{ets, pfc};

/// Whose setting is in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Party {
    /// This port's own.
    Local,
    /// The peer's.
    Peer,
}

/// How many neighbours take part in DCBX.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeerState {
    /// None.
    Absent,
    /// One: the peer.
    Present,
    /// More than one. Nothing is negotiated then (802.1Q 38.3: DCBX is for two ports).
    Several,
}

/// PFC as it is to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PfcResolved {
    /// The priorities that have it.
    pub enable: PrioritySet,
    /// Who said so.
    pub from: Party,
    /// Whether the peer's should have been taken and asks for more classes than this port can give
    /// PFC.
    pub beyond: bool,
}

/// ETS as it is to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EtsResolved {
    /// The table.
    pub table: EtsTable,
    /// Who said so.
    pub from: Party,
    /// Whether the peer's recommendation should have been taken and is more than this port can, or
    /// contradicts itself.
    pub beyond: bool,
}

/// What both ends can measure by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Methods {
    /// Requests and responses.
    pub round_trip: bool,
    /// PTP's peer delay.
    pub ptp: bool,
}

/// What the peer said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer {
    /// The address that it said it from.
    pub mac: Mac,
    /// Its PFC, with what it can measure by if it speaks the proposed form.
    pub pfc: Option<pfc::Configuration>,
    /// Its ETS.
    pub ets: Option<ets::Configuration>,
    /// Its internal delay.
    pub internal_delay: Option<Duration>,
}

/// What this port has to do, and what it knows of its peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resolved {
    /// Whether there is a peer.
    pub state: PeerState,
    /// PFC, if this port speaks of it.
    pub pfc: Option<PfcResolved>,
    /// ETS, if this port speaks of it.
    pub ets: Option<EtsResolved>,
    /// What both ends can measure by; `None` unless both speak the proposed form of PFC's TLV.
    pub methods: Option<Methods>,
    /// What the peer said.
    pub peer: Option<Peer>,
}

/// The only neighbour that takes part in DCBX, and how many there are.
pub(super) fn peer_of(neighbours: &[Neighbour]) -> (PeerState, Option<&Said>) {
    let mut peers = neighbours.iter().map(|n| &n.said).filter(|said| said.dcbx.is_peer());
    match (peers.next(), peers.next()) {
        (None, _) => (PeerState::Absent, None),
        (Some(said), None) => (PeerState::Present, Some(said)),
        (Some(_), Some(_)) => (PeerState::Several, None),
    }
}

/// Resolves what this port says, which is `plan` with the priorities `enable`, with what its
/// neighbours said.
pub(super) fn resolve(plan: &DcbxPlan, enable: PrioritySet, neighbours: &[Neighbour]) -> Resolved {
    let (state, said) = peer_of(neighbours);
    let peer = said.map(|said| Peer {
        mac: said.mac,
        pfc: said.dcbx.pfc,
        ets: said.dcbx.ets,
        internal_delay: said.dcbx.internal_delay,
    });
    let ets = plan.ets.map(|local| resolve_ets(&local, said));
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

/// The symmetric machine (802.1Q 38.4.2): both ends are to have the same.
fn resolve_pfc(
    plan: &DcbxPlan,
    local: &DcbxPfcPlan,
    enable: PrioritySet,
    peer: Option<&Peer>,
    classes: Option<[u8; PRIORITIES]>,
) -> PfcResolved {
    let own = PfcResolved { enable, from: Party::Local, beyond: false };
    let Some((mac, remote)) = peer.and_then(|peer| Some((peer.mac, peer.pfc?))) else {
        return own;
    };
    if !local.willing || remote.willing && keeps_own(plan.precedence, plan.mac, mac) {
        return own;
    }
    if count_classes(remote.enable, classes) > pfc_classes(local.capability) {
        return PfcResolved { beyond: true, ..own };
    }
    PfcResolved { enable: remote.enable, from: Party::Peer, beyond: false }
}

/// Whether, of two willing ports, this one keeps its own setting.
fn keeps_own(precedence: Precedence, local: Mac, remote: Mac) -> bool {
    match precedence {
        Precedence::HigherAddress => local > remote,
        Precedence::LowerAddress => local < remote,
    }
}

const fn pfc_classes(capability: u8) -> usize {
    if capability == 0 { PRIORITIES } else { capability as usize }
}

/// How many traffic classes the priorities of `set` are in.
fn count_classes(set: PrioritySet, classes: Option<[u8; PRIORITIES]>) -> usize {
    let mut used = [false; PRIORITIES];
    for p in set.iter() {
        used[classes.map_or(p.index(), |classes| usize::from(classes[p.index()]))] = true;
    }
    used.into_iter().filter(|&used| used).count()
}

/// The asymmetric machine (38.4.1): a willing port takes what its peer recommends.
fn resolve_ets(local: &EtsPlan, peer: Option<&Said>) -> EtsResolved {
    let own = EtsResolved { table: local.local, from: Party::Local, beyond: false };
    match peer.and_then(|said| said.dcbx.recommended) {
        Some(recommended) if local.willing => {
            let table = recommended.table;
            if is_possible(local, &table) {
                EtsResolved { table, from: Party::Peer, beyond: false }
            } else {
                EtsResolved { beyond: true, ..own }
            }
        }
        _ => own,
    }
}

/// Whether a port can do what `table` says.
fn is_possible(local: &EtsPlan, table: &EtsTable) -> bool {
    let has_class = |&class: &u8| class < local.classes;
    let has_algorithm = |&class: &u8| match table.algorithm[usize::from(class)] {
        algorithm::STRICT | algorithm::ETS => true,
        algorithm::CREDIT_BASED => local.cbs,
        _ => false,
    };
    table.is_consistent()
        && table.class.iter().all(|class| has_class(class) && has_algorithm(class))
}
