//! Counters: what a switch saw, did and lost.
//!
//! The data plane owns its counters as plain integers; whoever wants to see them asks for a
//! [`SwitchSnapshot`] between two polls. `report::names` has their names in SAI, SONiC and
//! IEEE8021-PFC-MIB.

#[macro_use]
mod congestion;
mod drops;
mod isolation;

pub use congestion::{
    CongestionSnapshot, FastCnpCounters, ProxyCounters, ProxyPortCounters, ProxySnapshot,
    QcnCounters, QcnSnapshot, SfcCounters, SfcQueueCounters, SfcSnapshot,
};
pub use drops::{DropKind, DropReason, Drops};
pub use isolation::{CimCounters, CongestingQueue, IsolationCounters, IsolationSnapshot};

use crate::secure::SecySnapshot;
use crate::time::{Instant, Total};
use crate::units::PRIORITIES;

/// What happened to one priority of one port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PriorityCounters {
    /// Data frames received and classified to it.
    pub rx_frames: u64,
    /// Their octets, FCS included.
    pub rx_bytes: u64,
    /// Data frames sent from it.
    pub tx_frames: u64,
    /// Their octets, FCS included.
    pub tx_bytes: u64,
    /// PFC frames received and obeyed with its bit set.
    pub pfc_rx_frames: u64,
    /// PFC frames sent with its bit set.
    pub pfc_tx_frames: u64,
    /// How long it was paused by the peer.
    pub pfc_rx_paused: Total,
    /// How long it held the peer paused: from XOFF to XON.
    pub pfc_tx_paused: Total,
    /// How often it went from running to paused by the peer.
    pub pfc_rx_transitions: u64,
    /// How often it went from XON to XOFF.
    pub pfc_tx_transitions: u64,
    /// The most octets of buffer its ingress group ever held, headroom included.
    pub buffer_peak_bytes: u64,
    /// The most octets of headroom its ingress group ever held.
    pub headroom_peak_bytes: u64,
    /// The octets of buffer its ingress group holds now.
    pub buffer_bytes: u64,
    /// The octets in its egress queue now.
    pub queue_bytes: u64,
    /// The most octets its egress queue ever held.
    pub queue_peak_bytes: u64,
    /// Frames it sent with CE set here.
    pub ecn_marked: u64,
    /// Data frames of it dropped, whatever for.
    pub dropped: u64,
    /// Pause storms that the watchdog detected on its queue.
    pub storms_detected: u64,
    /// Storms that ended.
    pub storms_restored: u64,
}

/// What happened at one port.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PortCounters {
    /// Frames received, of any kind.
    pub rx_frames: u64,
    /// Their octets, FCS included.
    pub rx_bytes: u64,
    /// Frames sent, of any kind.
    pub tx_frames: u64,
    /// Their octets, FCS included.
    pub tx_bytes: u64,
    /// Frames that the switch itself took in: valid MAC control, frames to the router it answers.
    pub consumed: u64,
    /// Frames that the switch itself made: PFC, PAUSE, ARP and ICMP answers.
    pub originated: u64,
    /// Copies made of flooded frames, beyond the first.
    pub copied: u64,
    /// Addresses in the bridge's table that were learnt from it.
    pub addresses: u64,
    /// Frames whose source address was not learnt because the port has as many as it may have.
    pub addresses_refused: u64,
    /// PAUSE frames received and obeyed.
    pub pause_rx_frames: u64,
    /// PAUSE frames sent.
    pub pause_tx_frames: u64,
    /// PFC frames received and obeyed, each once, however many priorities it names.
    pub pfc_rx_frames: u64,
    /// PFC frames sent, likewise.
    pub pfc_tx_frames: u64,
    /// By priority.
    pub priorities: [PriorityCounters; PRIORITIES],
    /// Frames dropped, counted at the port they came in by; those that another worker handed over,
    /// and those dropped out of an egress queue, at the port they were to leave by.
    pub drops: Drops,
}

/// A port's counters with what identifies it.
#[derive(Clone, Debug)]
pub struct PortSnapshot {
    /// Its name in the configuration.
    pub name: String,
    /// Whether its link is up.
    pub up: bool,
    /// Link rate in bit/s.
    pub rate_bps: u64,
    /// Priorities that the peer has paused at this moment, bit n for priority n.
    pub paused: u8,
    /// Its counters.
    pub counters: PortCounters,
    /// What its `SecY` did, if it has one.
    pub secy: Option<Box<SecySnapshot>>,
}

/// A switch's (or one worker's part of a switch's) counters at one moment.
#[derive(Clone, Debug)]
pub struct SwitchSnapshot {
    /// The switch's name.
    pub name: String,
    /// When.
    pub at: Instant,
    /// Its ports.
    pub ports: Vec<PortSnapshot>,
    /// Frames in its queues and in its hands now.
    pub held: u64,
    /// Frames handed over to other workers.
    pub given: u64,
    /// Frames taken over from other workers.
    pub taken: u64,
    /// Octets in the shared pool now.
    pub shared_used_bytes: u64,
    /// The most octets the shared pool ever held.
    pub shared_peak_bytes: u64,
    /// Addresses in the bridge's table.
    pub fdb_entries: u64,
    /// Frames whose source address was not learnt because the table was full.
    pub fdb_full: u64,
    /// What was done about congesting flows; nothing where nothing is.
    pub congestion: Option<Box<CongestionSnapshot>>,
}

/// The sums that must be equal: every frame in is a frame out, held, or in a named drop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Balance {
    /// Received, originated, copied and taken over.
    pub came: u64,
    /// Sent, consumed, dropped, handed over and held.
    pub went: u64,
}

impl SwitchSnapshot {
    /// The counters of a switch without ports, all zero.
    #[must_use]
    pub const fn new(name: String, at: Instant) -> Self {
        Self {
            name,
            at,
            ports: Vec::new(),
            held: 0,
            given: 0,
            taken: 0,
            shared_used_bytes: 0,
            shared_peak_bytes: 0,
            fdb_entries: 0,
            fdb_full: 0,
            congestion: None,
        }
    }

    /// The conservation sums over all ports.
    #[must_use]
    pub fn balance(&self) -> Balance {
        let mut b = Balance { came: self.taken, went: self.held + self.given };
        for p in &self.ports {
            let c = &p.counters;
            b.came += c.rx_frames + c.originated + c.copied;
            b.went += c.tx_frames + c.consumed + c.drops.total();
        }
        b
    }

    /// Drops over all ports.
    #[must_use]
    pub fn drops(&self) -> Drops {
        let mut sum = Drops::default();
        for p in &self.ports {
            sum.add(&p.counters.drops);
        }
        sum
    }
}

impl Balance {
    /// Whether nothing was lost without a name.
    #[must_use]
    pub const fn holds(self) -> bool {
        self.came == self.went
    }
}
