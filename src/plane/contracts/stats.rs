//! Counters of a switch: frames, bytes, pauses and drops; and those of a port's device.
//!
//! The data plane stores its counters as plain integers; a reader takes a [`SwitchSnapshot`]
//! between two polls. `report::names` has their names in SAI, SONiC and IEEE8021-PFC-MIB.

mod congestion;
mod drops;

pub use congestion::{
    CimCounters, CongestingQueue, CongestionSnapshot, FastCnpCounters, IsolationCounters,
    IsolationSnapshot, ProxyCounters, ProxyPortCounters, ProxySnapshot, QcnCounters, QcnSnapshot,
    SfcCounters, SfcQueueCounters, SfcSnapshot,
};
pub use drops::{DropKind, DropReason, Drops};

use serde::{Deserialize, Serialize};

use ground::time::{Instant, Total};
use ground::units::{PRIORITIES, PortId, Priority, PrioritySet};
use ground::{counters, described};
use secure::SecySnapshot;

described! {
    /// Counters of one priority of one port, in the order of their JSON.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
    PriorityCounters {
        /// Data frames received and classified to the priority.
        rx_frames: u64 = Counter,
        /// Data frames sent from the priority.
        tx_frames: u64 = Counter,
        /// Bytes received and classified to the priority, FCS included.
        rx_bytes: u64 = Counter,
        /// Bytes sent from the priority, FCS included.
        tx_bytes: u64 = Counter,
        /// PFC frames received and obeyed with the priority's bit set.
        #[serde(default)]
        pfc_rx_frames: u64 = Counter,
        /// PFC frames sent with the priority's bit set.
        #[serde(default)]
        pfc_tx_frames: u64 = Counter,
        /// Total time that the priority was paused by the peer.
        #[serde(default, rename = "pfc_rx_paused_ns", with = "ground::time::nanos")]
        pfc_rx_paused: Total = Counter "pfc_rx_paused_ns",
        /// Total time that the priority paused the peer: from XOFF to XON.
        #[serde(default, rename = "pfc_tx_paused_ns", with = "ground::time::nanos")]
        pfc_tx_paused: Total = Counter "pfc_tx_paused_ns",
        /// Number of transitions from running to paused by the peer.
        #[serde(default)]
        pfc_rx_transitions: u64 = Counter,
        /// Number of transitions from XON to XOFF.
        #[serde(default)]
        pfc_tx_transitions: u64 = Counter,
        /// Buffer bytes used by the priority's ingress group now.
        buffer_bytes: u64 = Gauge,
        /// Maximum of buffer bytes ever used by the priority's ingress group, headroom included.
        buffer_peak_bytes: u64 = Gauge,
        /// Maximum of headroom bytes ever used by the priority's ingress group.
        headroom_peak_bytes: u64 = Gauge,
        /// Bytes in the priority's egress queue now.
        queue_bytes: u64 = Gauge,
        /// Maximum of bytes ever in the priority's egress queue.
        queue_peak_bytes: u64 = Gauge,
        /// Frames sent from the priority with CE set by this switch.
        ecn_marked: u64 = Counter,
        /// Data frames of the priority dropped, for any reason.
        #[serde(rename = "dropped_frames")]
        dropped: u64 = Counter "dropped_frames",
        /// Pause storms that the watchdog detected on the priority's queue.
        storms_detected: u64 = Counter,
        /// Pause storms that ended.
        storms_restored: u64 = Counter,
    }
}

described! {
    /// Counters of one port, in the order of their JSON. A switch counts in `tx_frames` what its port
    /// accepted; results leave out the frames that the device then did not send.
    #[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
    PortCounters {
        /// Frames received, of any kind.
        rx_frames: u64 = Counter,
        /// Frames sent, of any kind, without those of `nic.tx_errors` and `nic.tx_dropped`.
        tx_frames: u64 = Counter,
        /// Bytes received, FCS included.
        rx_bytes: u64 = Counter,
        /// Bytes handed to the device to be sent, FCS included.
        tx_bytes: u64 = Counter,
        // Valid MAC control, and frames to the router that it answers.
        /// Frames that the switch consumed.
        #[serde(rename = "consumed_frames")]
        consumed: u64 = Counter "consumed_frames",
        // PFC, PAUSE, ARP and ICMP answers.
        /// Frames that the switch originated.
        #[serde(rename = "originated_frames")]
        originated: u64 = Counter "originated_frames",
        // Those beyond the first.
        /// Copies of flooded frames.
        #[serde(rename = "copied_frames")]
        copied: u64 = Counter "copied_frames",
        /// Addresses in the bridge's table that were learnt from the port.
        #[serde(default)]
        addresses: u64 = Gauge,
        /// Frames whose source address was not learnt because the port reached its limit.
        #[serde(default)]
        addresses_refused: u64 = Counter,
        /// PAUSE frames received and obeyed.
        pause_rx_frames: u64 = Counter,
        /// PAUSE frames sent.
        pause_tx_frames: u64 = Counter,
        /// PFC frames received and obeyed, each counted once for all its priorities.
        #[serde(default)]
        pfc_rx_frames: u64 = Counter,
        /// PFC frames sent, each counted once for all its priorities.
        #[serde(default)]
        pfc_tx_frames: u64 = Counter,
        /// Priorities that its peer has paused at this moment.
        #[serde(default, rename = "paused_priorities")]
        paused: PrioritySet,
        /// Counters by priority.
        #[serde(with = "ground::numbered")]
        priorities: [PriorityCounters; PRIORITIES],
        /// Frames dropped: before a queue takes them at their ingress port, from a queue at its egress port.
        drops: Drops,
    }
}

described! {
    /// Snapshot of a port.
    #[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
    PortSnapshot {
        /// Name in the configuration.
        name: String,
        /// True if the link is up.
        up: bool = Gauge,
        /// Rate of the link.
        rate_bps: u64 = Gauge,
        /// Counters of the port.
        #[serde(flatten)]
        counters: PortCounters,
        /// By priority, the ingress port of the first frame of a queue that the peer has paused for
        /// that frame's priority.
        #[serde(skip)]
        waiting: [Option<PortId>; PRIORITIES],
        /// MACsec counters, if it has a `SecY`.
        #[serde(skip)]
        secy: Option<Box<SecySnapshot>>,
    }
}

counters! {
    /// PFC storms.
    #[derive(Serialize, Deserialize)]
    Storms {
        /// Storms that watchdogs detected.
        detected,
        /// Storms that ended.
        restored,
    }
}

described! {
    /// Shared buffer pool.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
    SharedPool {
        /// Bytes of the shared pool in use.
        used_bytes: u64 = Gauge,
        /// Maximum of bytes of the shared pool in use; with several workers the sum of their peaks, an upper bound.
        peak_bytes: u64 = Gauge,
    }
}

described! {
    /// Forwarding table of the bridge.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
    Fdb {
        /// Addresses in the bridge's table.
        entries: u64 = Gauge,
        /// Frames whose source address was not learnt because the table was full.
        full: u64 = Counter,
    }
}

/// Frames of a port that ended at another worker than the port's, before a queue took them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TakenOver {
    /// Frames taken in by the switch.
    pub consumed: u64,
    /// Frames dropped.
    pub drops: Drops,
    /// Data frames dropped, by priority.
    pub dropped: [u64; PRIORITIES],
}

impl TakenOver {
    /// Counts a drop.
    pub fn drop(&mut self, priority: Option<Priority>, reason: DropReason) {
        self.drops.count(reason);
        if let Some(priority) = priority {
            self.dropped[priority.index()] += 1;
        }
    }

    /// Adds these counts to those of the port.
    pub fn add_to(&self, port: &mut PortCounters) {
        port.consumed += self.consumed;
        // Results show a drop at the port that received the frame, whichever worker dropped it.
        port.drops.add(&self.drops);
        for (of, more) in port.priorities.iter_mut().zip(self.dropped) {
            of.dropped += more;
        }
    }
}

/// Snapshot of a switch, or of one worker's part of it.
#[derive(Clone, Debug)]
pub struct SwitchSnapshot {
    /// Switch name.
    pub name: String,
    /// Time of the snapshot.
    pub at: Instant,
    /// Ports, in the order of the configuration.
    pub ports: Vec<PortSnapshot>,
    /// By port of the whole switch: frames that this worker took over from the port's owner, and that no
    /// queue took. They count at that port. Empty for a whole switch.
    pub taken_over: Vec<TakenOver>,
    /// Frames queued or being processed now.
    pub held: u64,
    /// Frames handed over to other workers.
    pub given: u64,
    /// Frames taken over from other workers.
    pub taken: u64,
    /// Shared buffer pool.
    pub shared_pool: SharedPool,
    /// Forwarding table of the bridge.
    pub fdb: Fdb,
    /// Congestion control, if any is configured.
    pub congestion: Option<Box<CongestionSnapshot>>,
}

/// Sums that must be equal: every received frame is sent, held, or in a named drop counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Balance {
    /// Frames received, originated, copied and taken over.
    pub came: u64,
    /// Frames sent, consumed, dropped, handed over and held.
    pub went: u64,
}

impl PortCounters {
    /// Returns the priorities with a counter that is not zero, with their numbers.
    pub fn active(&self) -> impl Iterator<Item = (usize, &PriorityCounters)> {
        let all = self.priorities.iter().enumerate();
        // Most ports use one or two of the eight priorities.
        all.filter(|(_, counters)| **counters != PriorityCounters::default())
    }
}

impl SwitchSnapshot {
    /// Creates the snapshot of a switch without ports, all zero.
    #[must_use]
    pub const fn new(name: String, at: Instant) -> Self {
        Self {
            name,
            at,
            ports: Vec::new(),
            taken_over: Vec::new(),
            held: 0,
            given: 0,
            taken: 0,
            shared_pool: SharedPool { used_bytes: 0, peak_bytes: 0 },
            fdb: Fdb { entries: 0, full: 0 },
            congestion: None,
        }
    }

    /// Returns the conservation sums over all ports.
    #[must_use]
    pub fn balance(&self) -> Balance {
        let mut b = Balance { came: self.taken, went: self.held + self.given };
        for p in &self.ports {
            let c = &p.counters;
            // Each copy and each message is a frame more that has to end somewhere.
            b.came += c.rx_frames + c.originated + c.copied;
            b.went += c.tx_frames + c.consumed + c.drops.total();
        }
        // Drops that this worker counted for ports of others: their frames came in there, and are in `taken` here.
        b.went += self.taken_over.iter().map(|of| of.consumed + of.drops.total()).sum::<u64>();
        b
    }

    /// Returns the PFC storms of all ports.
    #[must_use]
    pub fn storms(&self) -> Storms {
        let mut sum = Storms::default();
        for p in self.ports.iter().flat_map(|p| &p.counters.priorities) {
            sum.detected += p.storms_detected;
            sum.restored += p.storms_restored;
        }
        sum
    }

    /// Returns the drops of all ports.
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
    /// Returns true if no frame was lost without a named drop.
    #[must_use]
    pub const fn holds(self) -> bool {
        self.came == self.went
    }
}

described! {
    /// Counters of a device and of the kernel below it: frames that the switch never received, so they
    /// are in no balance. All but the first are 0 if the driver does not count.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
    NicCounters {
        /// Frames lost because the receive ring (`imissed`), or a queue of the kernel before it, was
        /// full; null if the device does not report it.
        rx_missed: Option<u64> = Counter,
        /// Frames received with errors, a bad FCS included (`ierrors`).
        rx_errors: u64 = Counter,
        /// Times that the frame pool was empty (`rx_nombuf`).
        rx_no_memory: u64 = Counter,
        /// Frames not sent because of an error of the device (`oerrors`).
        tx_errors: u64 = Counter,
        /// Frames dropped on transmit by the interface of the kernel that the device works on, from any
        /// sender.
        #[serde(default)]
        tx_dropped: u64 = Counter,
    }
}

/// Counters of a device since it was first opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortStats {
    /// Frames received.
    pub rx_frames: u64,
    /// Frames sent.
    pub tx_frames: u64,
    /// Frames lost.
    pub nic: NicCounters,
}

impl NicCounters {
    /// Counters of a port without a device, which loses nothing.
    pub const NO_DEVICE: Self =
        Self { rx_missed: Some(0), rx_errors: 0, rx_no_memory: 0, tx_errors: 0, tx_dropped: 0 };

    /// Returns the number of frames that were not sent, at most.
    #[must_use]
    pub const fn unsent(self) -> u64 {
        self.tx_errors + self.tx_dropped
    }

    /// Returns the number of frames lost before the switch received them, `None` if the device does
    /// not report it.
    #[must_use]
    pub fn missed(self) -> Option<u64> {
        Some(self.rx_missed? + self.rx_no_memory)
    }

    /// Difference to `base`.
    #[must_use]
    pub fn since(self, base: Self) -> Self {
        Self {
            // Drivers may begin again at 0, for which a difference of 0 stands; an unknown number stays unknown.
            rx_missed: self.rx_missed.map(|n| n.saturating_sub(base.rx_missed.unwrap_or(0))),
            rx_errors: self.rx_errors.saturating_sub(base.rx_errors),
            rx_no_memory: self.rx_no_memory.saturating_sub(base.rx_no_memory),
            tx_errors: self.tx_errors.saturating_sub(base.tx_errors),
            tx_dropped: self.tx_dropped.saturating_sub(base.tx_dropped),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_number_of_missed_frames_stays_unknown() {
        let base = NicCounters {
            rx_missed: None,
            rx_no_memory: 2,
            tx_errors: 1,
            ..NicCounters::default()
        };
        let now = NicCounters { rx_no_memory: 5, tx_errors: 4, tx_dropped: 2, ..base };
        assert_eq!((now.since(base).missed(), now.since(base).unsent()), (None, 5));
        let known = NicCounters { rx_missed: Some(7), ..now };
        assert_eq!(known.since(base).missed(), Some(10));
        assert_eq!(base.since(now), NicCounters::default(), "a driver that began again");
        assert_eq!(
            (NicCounters::NO_DEVICE.missed(), NicCounters::NO_DEVICE.unsent()),
            (Some(0), 0)
        );
    }
}
