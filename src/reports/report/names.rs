//! The names of a switch's counters in SAI, SONiC and IEEE8021-PFC-MIB.
//!
//! Counters of one meaning have one row here, from which the help texts of the metrics and the
//! table in `docs/src/counters.md` are generated. A counter without such a name has a row with the
//! reason; a test checks that every number of the summary has a row.

/// A counter of the summary and its standard name.
#[derive(Clone, Copy, Debug)]
pub struct CounterName {
    /// The path in the JSON summary.
    pub field: &'static str,
    /// The metric, without the prefix `sluice_` and the suffix `_total`.
    pub metric: &'static str,
    /// The name in SAI, SONiC's COUNTERS_DB or IEEE8021-PFC-MIB; N is the priority. Empty if none
    /// of them has such a counter.
    pub standard: &'static str,
    /// The difference between the two, or the reason why there is no name.
    pub note: &'static str,
}

const fn row(
    field: &'static str,
    metric: &'static str,
    standard: &'static str,
    note: &'static str,
) -> CounterName {
    CounterName { field, metric, standard, note }
}

const NOT_SPLIT: &str = "SAI counts unicast, multicast and broadcast frames apart, without a sum";
const POLLS: &str = "SAI describes chips, which do not poll";
const OWN: &str = "part of the balance of frames, which is of this switch alone";
const BY_PRIORITY: &str = "by priority; SAI sums over the priorities of the group or queue";
const DROPS: &str =
    "drops go by reason and port (`drops`); SAI's counters do not name the same reasons";

/// Every number of the summary, in its order.
#[rustfmt::skip]
pub const COUNTER_NAMES: &[CounterName] = &[
    row("elapsed_ns", "run_seconds", "", "no counter"),
    row("lossless_lost_frames", "lossless_lost_frames", "", "a verdict, for all lossless groups"),
    row("lossless_watchdog_frames", "lossless_watchdog_frames", "", "a verdict, for all lossless groups"),
    row("lossless_link_frames", "lossless_link_frames", "", "a verdict, for all lossless groups"),
    row("balance.held", "held_frames", "", OWN),
    row("shared_pool.used_bytes", "shared_pool_used_bytes", "SAI_BUFFER_POOL_STAT_CURR_OCCUPANCY_BYTES", ""),
    row("shared_pool.peak_bytes", "shared_pool_peak_bytes", "SAI_BUFFER_POOL_STAT_WATERMARK_BYTES",
        "with several workers an upper bound; no reading clears it"),
    row("fdb.entries", "fdb_entries", "", "SAI has the entries that are free (SAI_SWITCH_ATTR_AVAILABLE_FDB_ENTRY)"),
    row("fdb.full", "fdb_full", "", "SAI has no counter of addresses that were not learnt"),
    row("ports[].up", "port_up", "", "a state; in SAI the attribute SAI_PORT_ATTR_OPER_STATUS"),
    row("ports[].rate_bps", "port_speed_bytes", "", "a state; in SAI the attribute SAI_PORT_ATTR_OPER_SPEED, in Mb/s"),
    row("ports[].rx_frames", "port_rx_frames", "", NOT_SPLIT),
    row("ports[].tx_frames", "port_tx_frames", "", NOT_SPLIT),
    row("ports[].rx_bytes", "port_rx_bytes", "SAI_PORT_STAT_IF_IN_OCTETS", ""),
    row("ports[].tx_bytes", "port_tx_bytes", "SAI_PORT_STAT_IF_OUT_OCTETS", ""),
    row("ports[].consumed_frames", "port_consumed_frames", "", OWN),
    row("ports[].originated_frames", "port_originated_frames", "", OWN),
    row("ports[].copied_frames", "port_copied_frames", "", OWN),
    row("ports[].pause_rx_frames", "port_pause_rx_frames", "SAI_PORT_STAT_PAUSE_RX_PKTS", "\
        obeyed frames only"),
    row("ports[].pause_tx_frames", "port_pause_tx_frames", "SAI_PORT_STAT_PAUSE_TX_PKTS", ""),
    row("ports[].pfc_rx_frames", "port_pfc_rx_frames", "ieee8021PfcIndications", "of the port: a frame counts once"),
    row("ports[].pfc_tx_frames", "port_pfc_tx_frames", "ieee8021PfcRequests", "of the port: a frame counts once"),
    row("ports[].addresses", "port_addresses", "", "a state; SAI has entries of the whole switch alone"),
    row("ports[].addresses_refused", "port_addresses_refused", "", "SAI has no counter of addresses that were not learnt"),
    row("ports[].nic.rx_missed", "nic_rx_missed_frames", "", "SAI describes chips, which have no receive ring in memory"),
    row("ports[].nic.rx_errors", "nic_rx_errors", "SAI_PORT_STAT_IF_IN_ERRORS", "as far as the device counts them"),
    row("ports[].nic.rx_no_memory", "nic_rx_no_memory_frames", "", "SAI describes chips, which have no frame pool in memory"),
    row("ports[].nic.tx_errors", "nic_tx_errors", "SAI_PORT_STAT_IF_OUT_ERRORS", "as far as the device counts them"),
    row("ports[].nic.tx_dropped", "nic_tx_dropped_frames", "", "of the kernel's interface; chips have none"),
    row("ports[].link_losses", "port_link_losses", "", "SAI notifies of changes and does not count them"),
    row("ports[].deadlocks_suspected", "port_deadlocks_suspected", "", "SONiC's deadlocks are pause storms (storms_detected)"),
    row("ports[].priorities[].rx_frames", "priority_rx_frames", "SAI_INGRESS_PRIORITY_GROUP_STAT_PACKETS", BY_PRIORITY),
    row("ports[].priorities[].tx_frames", "priority_tx_frames", "SAI_QUEUE_STAT_PACKETS", BY_PRIORITY),
    row("ports[].priorities[].rx_bytes", "priority_rx_bytes", "SAI_INGRESS_PRIORITY_GROUP_STAT_BYTES", BY_PRIORITY),
    row("ports[].priorities[].tx_bytes", "priority_tx_bytes", "SAI_QUEUE_STAT_BYTES", BY_PRIORITY),
    row("ports[].priorities[].pfc_rx_frames", "pfc_rx_frames", "SAI_PORT_STAT_PFC_N_RX_PKTS", "\
        obeyed frames only"),
    row("ports[].priorities[].pfc_tx_frames", "pfc_tx_frames", "SAI_PORT_STAT_PFC_N_TX_PKTS", ""),
    row("ports[].priorities[].pfc_rx_paused_ns", "pfc_rx_paused_seconds", "SAI_PORT_STAT_PFC_N_RX_PAUSE_DURATION_US",
        "SAI's is in microseconds"),
    row("ports[].priorities[].pfc_tx_paused_ns", "pfc_tx_paused_seconds", "SAI_PORT_STAT_PFC_N_TX_PAUSE_DURATION_US",
        "SAI's is in microseconds"),
    row("ports[].priorities[].pfc_rx_transitions", "pfc_rx_transitions", "SAI_PORT_STAT_PFC_N_ON2OFF_RX_PKTS",
        "read as XON to XOFF, as FBOSS does; SAI's text can be read the other way round"),
    row("ports[].priorities[].pfc_tx_transitions", "pfc_tx_transitions", "", "SAI counts those of received frames alone"),
    row("ports[].priorities[].buffer_bytes", "buffer_bytes", "SAI_INGRESS_PRIORITY_GROUP_STAT_CURR_OCCUPANCY_BYTES",
        "of the priority's group"),
    row("ports[].priorities[].buffer_peak_bytes", "buffer_peak_bytes", "SAI_INGRESS_PRIORITY_GROUP_STAT_WATERMARK_BYTES",
        "of the priority's group; no reading clears it"),
    row("ports[].priorities[].headroom_peak_bytes", "headroom_peak_bytes",
        "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES", "of the priority's group; no reading clears it"),
    row("ports[].priorities[].queue_bytes", "queue_bytes", "SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES", "of the priority's queue"),
    row("ports[].priorities[].queue_peak_bytes", "queue_peak_bytes", "SAI_QUEUE_STAT_WATERMARK_BYTES",
        "of the priority's queue; no reading clears it"),
    row("ports[].priorities[].ecn_marked", "ecn_marked_frames", "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", BY_PRIORITY),
    row("ports[].priorities[].dropped_frames", "priority_dropped_frames", "", DROPS),
    row("ports[].priorities[].storms_detected", "storms_detected", "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED", "SONiC's"),
    row("ports[].priorities[].storms_restored", "storms_restored", "PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED", "SONiC's"),
    row("polls[].longest_gap_ns", "worker_poll_gap_longest_seconds", "", POLLS),
    row("polls[].planned_gap_ns", "worker_poll_gap_planned_seconds", "", POLLS),
    row("polls[].late_polls", "worker_late_polls", "", POLLS),
];

/// Returns the row of a number of the summary; `place` is the path before its name.
pub(super) fn counter_name(place: &str, name: &str) -> &'static CounterName {
    let is_it = |row: &&CounterName| row.field.strip_prefix(place) == Some(name);
    COUNTER_NAMES.iter().find(is_it).expect("every number of the summary has a row")
}

/// Returns the table of all counters with a standard name, in Markdown.
#[must_use]
pub fn names_table() -> String {
    let mut out = String::from(
        "| elsewhere | in the JSON summary | metric, with `sluice_` in front | difference |\n\
         | --- | --- | --- | --- |\n",
    );
    for CounterName { field, metric, standard, note } in COUNTER_NAMES {
        if !standard.is_empty() {
            out += &format!("| `{standard}` | `{field}` | `{metric}` | {note} |\n");
        }
    }
    out
}
