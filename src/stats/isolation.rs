//! What congestion isolation did (802.1Qcz), as counters.

counters! {
    /// What became of flows, frames and messages.
    IsolationCounters {
        /// Frames that were placed in a congesting queue.
        isolated_frames = "ci_isolated_frames",
        /// Those of them that had to wait for what was ahead in the monitored queue.
        held_frames = "ci_held_frames",
        /// Flows that went back to their class.
        returned = "ci_returned",
        /// Flows, each time one was picked or named, that found no room in the stream table.
        no_room = "ci_no_room",
        /// CIMs ordered to isolate a flow.
        sent_add = "ci_cim_sent_add",
        /// CIMs ordered to isolate a flow no longer.
        sent_del = "ci_cim_sent_del",
        /// CIMs not sent because the flow had max-cim-tx of them.
        had_all = "ci_cim_had_all",
        /// CIMs not sent so soon after the last one about the flow.
        too_soon = "ci_cim_too_soon",
        /// CIMs not sent because the port that the flow comes in by has no peer.
        no_peer = "ci_cim_no_peer",
        /// CIMs not sent because those about all flows together are used up.
        over_budget = "ci_cim_over_budget",
        /// CIMs ordered that the port has no address to send from.
        no_address = "ci_cim_no_address",
        /// CIMs ordered about frames that none can be about.
        unwritable = "ci_cim_unwritable",
        /// CIMs ordered for which there was no memory.
        no_memory = "ci_cim_no_memory",
        /// CIMs received that named a new flow.
        heard_isolated = "ci_heard_isolated",
        /// CIMs received that named a flow again.
        heard_renewed = "ci_heard_renewed",
        /// CIMs received that released a flow.
        heard_released = "ci_heard_released",
        /// CIMs received for which there was no room in the stream table.
        heard_no_room = "ci_heard_no_room",
        /// CIMs received that released what no CIM had named.
        heard_nothing_to_release = "ci_heard_nothing_to_release",
        /// CIMs received about flows of classes that are not monitored.
        heard_not_monitored = "ci_heard_not_monitored",
        /// CIMs received while isolation is off.
        heard_disabled = "ci_heard_disabled",
        /// CIMs received by ports that have no peer.
        heard_unknown_peer = "ci_heard_unknown_peer",
        /// CIMs received from somebody else than the port's peer.
        heard_foreign_source = "ci_heard_foreign_source",
        /// CIMs received beyond what a peer may send.
        heard_too_many = "ci_heard_too_many",
        /// CIMs received that could not be read.
        heard_malformed = "ci_heard_malformed",
        /// Flows taken into the stream table.
        streams_created = "ci_streams_created",
        /// Flows taken out of it.
        streams_removed = "ci_streams_removed",
        /// Flows refused because it was full.
        streams_full = "ci_streams_full",
        /// Flows refused because their part of it was full of others.
        streams_crowded = "ci_streams_crowded",
    }
}

counters! {
    /// CIMs of one port.
    CimCounters {
        /// Sent to its peer.
        sent = "ci_cim_sent",
        /// Received from its peer, or from whoever says so.
        received = "ci_cim_received",
    }
}

/// A congesting queue at the moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CongestingQueue {
    /// The number of its port.
    pub port: u16,
    /// Its class.
    pub class: u8,
    /// Octets in it.
    pub bytes: u64,
    /// The most octets that it ever held.
    pub peak_bytes: u64,
}

/// Congestion isolation of a switch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IsolationSnapshot {
    /// Of all queues.
    pub counters: IsolationCounters,
    /// Flows in the stream table now, those among them that are over and not yet taken out.
    pub streams: u64,
    /// By port.
    pub ports: Vec<CimCounters>,
    /// The queues of classes that congesting flows go to.
    pub queues: Vec<CongestingQueue>,
}

impl IsolationSnapshot {
    /// Adds what another worker of the same switch counted.
    pub fn add(&mut self, other: &Self) {
        self.counters.add(&other.counters);
        self.streams += other.streams;
        self.ports.iter_mut().zip(&other.ports).for_each(|(a, b)| a.add(b));
        self.queues.extend(&other.queues);
    }
}
