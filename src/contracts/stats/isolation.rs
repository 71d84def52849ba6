//! Counters of Congestion Isolation (802.1Qcz).

use ground::counters;

counters! {
    /// Flows, frames and messages, by result.
    IsolationCounters {
        /// Frames placed in a congesting queue.
        isolated_frames = "ci_isolated_frames",
        /// Frames placed in a congesting queue that had to wait for frames in the monitored queue.
        held_frames = "ci_held_frames",
        /// Flows that returned to their original class.
        returned = "ci_returned",
        /// Times that a selected or named flow found the stream table full.
        no_room = "ci_no_room",
        /// CIMs requested to isolate a flow.
        sent_add = "ci_cim_sent_add",
        /// CIMs requested to end the isolation of a flow.
        sent_del = "ci_cim_sent_del",
        /// CIMs not sent because the flow had max-cim-tx of them.
        had_all = "ci_cim_had_all",
        /// CIMs not sent because the last one about the flow was too recent.
        too_soon = "ci_cim_too_soon",
        /// CIMs not sent because the flow's ingress port has no peer.
        no_peer = "ci_cim_no_peer",
        /// CIMs not sent because the limit of all flows together was reached.
        over_budget = "ci_cim_over_budget",
        /// CIMs not sent because the port has no source address.
        no_address = "ci_cim_no_address",
        /// CIMs not sent because the frame cannot be encoded in one.
        unwritable = "ci_cim_unwritable",
        /// CIMs not sent for lack of memory.
        no_memory = "ci_cim_no_memory",
        /// CIMs received that named a new flow.
        heard_isolated = "ci_heard_isolated",
        /// CIMs received that named a flow again.
        heard_renewed = "ci_heard_renewed",
        /// CIMs received that released a flow.
        heard_released = "ci_heard_released",
        /// CIMs received for which the stream table had no room.
        heard_no_room = "ci_heard_no_room",
        /// CIMs received that released a flow without an earlier CIM.
        heard_nothing_to_release = "ci_heard_nothing_to_release",
        /// CIMs received about flows of classes that are not monitored.
        heard_not_monitored = "ci_heard_not_monitored",
        /// CIMs received while isolation is off.
        heard_disabled = "ci_heard_disabled",
        /// CIMs received by ports that have no peer.
        heard_unknown_peer = "ci_heard_unknown_peer",
        /// CIMs received from a sender other than the port's peer.
        heard_foreign_source = "ci_heard_foreign_source",
        /// CIMs received over the limit of a peer.
        heard_too_many = "ci_heard_too_many",
        /// CIMs received that are malformed.
        heard_malformed = "ci_heard_malformed",
        /// Flows inserted into the stream table.
        streams_created = "ci_streams_created",
        /// Flows removed from it.
        streams_removed = "ci_streams_removed",
        /// Flows refused because it was full.
        streams_full = "ci_streams_full",
        /// Flows refused because their buckets were full.
        streams_crowded = "ci_streams_crowded",
    }
}

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
