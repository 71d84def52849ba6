//! Log of the reconciler's actions, with their numbers.

use core::fmt;

use congestion::isolation::{CimType, Peer};
use discovery::{EtsTable, Methods, Party, PeerState, Topology};
use ground::time::{Duration, Instant};
use ground::units::{Cells, Mac, PortId, PriorityGroup, PrioritySet};
use link::{Failure, Found, Method};
use wire::sfcm::Locator;

#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    pub at: Instant,
    pub port: PortId,
    pub kind: StepKind,
}

/// Kind of an action.
#[derive(Clone, PartialEq, Debug)]
pub enum StepKind {
    /// A measurement began.
    Measuring(Method),
    /// It completed.
    Found(Found),
    /// It failed.
    Failed(Failure),
    /// The port measures again by itself after this time.
    Again(Duration),
    /// A method is not used, for this reason, and another is tried.
    Switched { from: Method, to: Method, why: Failure },
    /// A group got its headroom.
    Set {
        group: PriorityGroup,
        /// Old headroom.
        from: Cells,
        /// New headroom.
        to: Cells,
        /// Bytes per cell.
        cell: u32,
        /// Terms of the sum.
        sum: String,
    },
    /// The measurement gives more than the port's limit.
    Limited {
        /// Measured need.
        need: Cells,
        /// Limit, which the groups get.
        limit: Cells,
        /// Bytes per cell.
        cell: u32,
    },
    /// The buffer cannot provide the headroom that a group needs.
    TooLittle {
        group: PriorityGroup,
        need: Cells,
        /// Headroom that it keeps.
        has: Cells,
        /// Bytes per cell.
        cell: u32,
        why: String,
    },
    /// DCBX has another peer, or the peer's TLVs changed.
    Peer {
        state: PeerState,
        peer: Option<Mac>,
        /// Measurement methods common to both ends, if the peer advertises any.
        methods: Option<Methods>,
    },
    /// PFC runs for these priorities.
    Pfc {
        enable: PrioritySet,
        /// Party whose setting applies.
        from: Party,
    },
    /// A PFC setting was refused.
    PfcRefused {
        /// Refused priorities.
        enable: PrioritySet,
        /// Reason.
        why: String,
    },
    /// An ETS table was applied.
    Ets {
        table: EtsTable,
        /// Party whose table applies.
        from: Party,
    },
    /// An ETS table was refused.
    EtsRefused {
        /// Reason.
        why: String,
    },
    /// The port has another place in the network.
    Place {
        /// Position that the port advertises.
        own: Topology,
        /// Position of the neighbour, if known.
        peer: Option<Topology>,
        /// Congestion locator of the port.
        locator: Locator,
    },
    /// New peer of congestion isolation, or none.
    Peered(Option<Peer>),
    /// A new peer was refused.
    PeerRefused {
        /// Reason.
        why: String,
    },
    /// SFC capability of the host changed.
    SfcHost {
        /// True if the host obeys source flow control messages.
        obeys: bool,
    },
    /// The host obeys them, but on another UDP port.
    SfcElsewhere {
        /// UDP port of the host.
        port: u16,
        /// UDP port of the switch.
        expected: u16,
    },
}

impl StepKind {
    /// Returns true if the step needs attention.
    pub const fn is_trouble(&self) -> bool {
        matches!(
            self,
            Self::Failed(_)
                | Self::Limited { .. }
                | Self::TooLittle { .. }
                | Self::PfcRefused { .. }
                | Self::EtsRefused { .. }
                | Self::PeerRefused { .. }
                | Self::SfcElsewhere { .. }
        )
    }
}

impl fmt::Display for StepKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Each text is a line of the log, so it names the remedy where there is one.
            Self::Measuring(method) => write!(f, "measuring the {method}"),
            Self::Found(found) => {
                // All three figures: the spread shows how far software may have disturbed the measurement.
                let d = &found.delay;
                write!(
                    f,
                    "{} over {} rounds: {} least, {} mean, {} most; t1 by {}, t4 by {}, +-{}",
                    found.method,
                    found.rounds,
                    d.min,
                    d.mean,
                    d.max,
                    found.sources.t1,
                    found.sources.t4,
                    found.uncertainty,
                )
            }
            Self::Failed(failure) => write!(f, "not measured: {failure}"),
            Self::Again(wait) => write!(f, "measures again in {wait}"),
            Self::Switched { from, to, why } => write!(f, "the {to} instead of the {from}: {why}"),
            Self::Set { .. } | Self::Limited { .. } | Self::TooLittle { .. } => self.room(f),
            Self::Peer { state, peer, methods } => dcbx_peer(f, *state, *peer, *methods),
            Self::Pfc { enable, from } => {
                write!(f, "PFC for priorities {}, {}", listed(*enable), whose(*from))
            }
            Self::PfcRefused { enable, why } => {
                write!(f, "PFC for priorities {} was refused: {why}", listed(*enable))
            }
            Self::Ets { table, from } => {
                let (class, percent) = (table.class, table.bandwidth);
                write!(f, "ETS: classes {class:?}, percent {percent:?}, {}", whose(*from))
            }
            Self::EtsRefused { why } => write!(f, "ETS was refused: {why}"),
            Self::Place { own, peer, locator } => {
                write!(f, "topology: {own}; ")?;
                match peer {
                    Some(peer) => write!(f, "the neighbour is {peer}")?,
                    None => f.write_str("no neighbour")?,
                }
                write!(f, "; congestion here: {locator}")
            }
            Self::Peered(peer) => peered(f, peer.as_ref()),
            Self::PeerRefused { why } => write!(f, "congestion isolation: no peer: {why}"),
            Self::SfcHost { obeys: true } => {
                f.write_str("SFC: the host obeys messages by itself; they go on to it")
            }
            Self::SfcHost { obeys: false } => {
                f.write_str("SFC: the host obeys no messages; the proxy pauses it")
            }
            Self::SfcElsewhere { port, expected } => write!(
                f,
                "SFC: the host expects messages at UDP port {port}, not {expected}, so the proxy \
                 pauses it; sfcmUDPPort has to be the same everywhere"
            ),
        }
    }
}

impl StepKind {
    /// Writes a step about the size of headroom.
    fn room(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = |cells: &Cells, cell: &u32| u64::from(cells.0) * u64::from(*cell);
        match self {
            Self::Set { group, from, to, cell, sum } => write!(
                f,
                "group {group}: headroom {} B ({} cells), was {} B: {sum}",
                bytes(to, cell),
                to.0,
                bytes(from, cell),
            ),
            Self::Limited { need, limit, cell } => write!(
                f,
                "by the measurement {} B ({} cells) of headroom are needed, which is above the limit of \
                 {} B: the peer answers late, or `link.length` is too short; `headroom.auto.limit` \
                 raises the limit",
                bytes(need, cell),
                need.0,
                bytes(limit, cell),
            ),
            Self::TooLittle { group, need, has, cell, why } => write!(
                f,
                "group {group}: needs {} B ({} cells) of headroom and keeps {} B: {why}; give the \
                 buffer more room, or other groups less",
                bytes(need, cell),
                need.0,
                bytes(has, cell),
            ),
            _ => unreachable!("called for these steps alone"),
        }
    }
}

/// Writes a step about the peer of DCBX.
fn dcbx_peer(
    f: &mut fmt::Formatter<'_>,
    state: PeerState,
    peer: Option<Mac>,
    methods: Option<Methods>,
) -> fmt::Result {
    if state == PeerState::Several {
        return f.write_str("DCBX: more than one peer speaks on this link, so nothing is agreed");
    }
    let Some(mac) = peer else { return f.write_str("DCBX: no peer any more") };
    let can = match methods {
        None => "does not advertise how it can measure",
        // In the order of what is more: both, then one, then methods that are unknown here.
        Some(Methods { round_trip: true, ptp: true }) => "measures by both methods",
        Some(Methods { round_trip: true, .. }) => "measures the round trip",
        Some(Methods { ptp: true, .. }) => "measures by PTP",
        Some(_) => "measures by nothing that this port can",
    };
    write!(f, "DCBX: the peer is {mac}, which {can}")
}

fn peered(f: &mut fmt::Formatter<'_>, peer: Option<&Peer>) -> fmt::Result {
    let Some(peer) = peer else { return f.write_str("congestion isolation: no peer any more") };
    write!(f, "congestion isolation: the peer is {}, messages ", peer.mac)?;
    match (peer.cim_type, peer.ipv4, peer.ipv6) {
        (CimType::Ipv4, Some(address), _) => write!(f, "to {address} port {}", peer.udp_port),
        (CimType::Ipv6, _, Some(address)) => write!(f, "to {address} port {}", peer.udp_port),
        _ => f.write_str("over Ethernet"),
    }
}

const fn whose(party: Party) -> &'static str {
    match party {
        Party::Local => "this port's own",
        Party::Peer => "the peer's",
    }
}

/// Formats priorities as a list.
pub(super) fn listed(set: PrioritySet) -> String {
    let names: Vec<_> = set.iter().map(|p| p.get().to_string()).collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}
