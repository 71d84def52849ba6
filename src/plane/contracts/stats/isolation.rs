//! Counters of Congestion Isolation (802.1Qcz).

pub use congestion::isolation::IsolationCounters;

use ground::counters;

counters! {
    /// CIMs of one port.
    CimCounters {
        /// CIMs sent to its peer.
        sent = "ci_cim_sent",
        /// CIMs received, of any sender.
        received = "ci_cim_received",
    }
}

/// Present state of a congesting queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CongestingQueue {
    /// Port number.
    pub port: u16,
    /// Traffic class.
    pub class: u8,
    /// Bytes in the queue.
    pub bytes: u64,
    /// Maximum of bytes ever in the queue.
    pub peak_bytes: u64,
}

/// Snapshot of Congestion Isolation of a switch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IsolationSnapshot {
    /// Counters of all queues.
    pub counters: IsolationCounters,
    /// Flows in the stream table now, including expired ones that are not yet removed.
    pub streams: u64,
    /// CIMs by port.
    pub ports: Vec<CimCounters>,
    /// Queues of the congesting classes.
    pub queues: Vec<CongestingQueue>,
}

impl IsolationSnapshot {
    /// Adds the counts of another worker of the same switch.
    pub fn add(&mut self, other: &Self) {
        self.counters.add(&other.counters);
        self.streams += other.streams;
        self.ports.iter_mut().zip(&other.ports).for_each(|(a, b)| a.add(b));
        self.queues.extend(&other.queues);
    }
}
