//! The summary as metrics in the OpenMetrics text format for Prometheus.
//!
//! Counters end in `_total` (added by the encoder), bytes in `_bytes`; times are in seconds.

use std::fmt::Error;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::agents::{AgentsSummary, HeadroomSummary, TimesSummary};
use super::judged::PollsSummary;
use super::macsec::TransmitSaSummary;
use super::names::standard_name;
use super::summary::{PortSummary, PrioritySummary, Summary};

/// Returns the response to a scrape.
#[must_use]
pub fn metrics(summary: Summary) -> String {
    let mut registry = Registry::with_prefix("sluice");
    registry.register_collector(Box::new(Snapshot(summary)));
    let mut out = String::new();
    prometheus_client::encoding::text::encode(&mut out, &registry)
        .expect("writing to a string cannot fail");
    out
}

#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
    /// A counter of nanoseconds, shown in seconds.
    Nanos,
    /// A gauge of nanoseconds, shown in seconds.
    Span,
}
use Kind::{Counter, Gauge, Nanos, Span};

/// Name, kind, help, and the function that reads the value from a `T`.
type Metric<T> = (&'static str, Kind, &'static str, fn(&T) -> u64);

#[rustfmt::skip]
const SWITCH: &[Metric<Summary>] = &[
    ("held_frames", Gauge, "Frames in queues and between workers", |s| s.balance.held),
    ("lossless_lost_frames", Counter, "Frames of lossless groups lost to congestion",
        |s| s.lossless_lost_frames),
    ("shared_pool_used_bytes", Gauge, "Octets in the shared pool", |s| s.shared_pool.used_bytes),
    ("shared_pool_peak_bytes", Gauge, "The most octets the shared pool held",
        |s| s.shared_pool.peak_bytes),
    ("fdb_entries", Gauge, "Addresses in the bridge's table", |s| s.fdb.entries),
    ("fdb_full", Counter, "Frames whose source address was not learnt because the table was full", |s| s.fdb.full),
    ("run_seconds", Nanos, "How long the switch has run", |s| s.elapsed_ns),
];

/// Metrics of workers.
#[rustfmt::skip]
const POLLS: &[Metric<PollsSummary>] = &[
    ("worker_poll_gap_longest_seconds", Span, "The longest gap between two polls",
        |p| p.longest_gap_ns),
    ("worker_late_polls", Counter, "Gaps between polls that were longer than planned",
        |p| p.late_polls),
];

#[rustfmt::skip]
const PORT: &[Metric<PortSummary>] = &[
    ("port_up", Gauge, "Whether the link is up", |p| u64::from(p.up)),
    ("port_speed_bytes", Gauge, "The rate of the link, in bytes per second", |p| p.rate_bps / 8),
    ("port_rx_frames", Counter, "Frames received, of any kind", |p| p.rx_frames),
    ("port_tx_frames", Counter, "Frames sent, of any kind", |p| p.tx_frames),
    ("port_rx_bytes", Counter, "Octets received, FCS included", |p| p.rx_bytes),
    ("port_tx_bytes", Counter, "Octets sent, FCS included", |p| p.tx_bytes),
    ("port_consumed_frames", Counter, "Frames that the switch took in", |p| p.consumed_frames),
    ("port_originated_frames", Counter, "Frames that the switch made", |p| p.originated_frames),
    ("port_copied_frames", Counter, "Copies of flooded frames", |p| p.copied_frames),
    ("port_addresses", Gauge, "Addresses learnt from the port", |p| p.addresses),
    ("port_addresses_refused", Counter,
        "Frames whose source address was not learnt because the port has as many as it may have",
        |p| p.addresses_refused),
    ("port_pause_rx_frames", Counter, "PAUSE frames obeyed", |p| p.pause_rx_frames),
    ("port_pause_tx_frames", Counter, "PAUSE frames sent", |p| p.pause_tx_frames),
    ("port_pfc_rx_frames", Counter, "PFC frames obeyed", |p| p.pfc_rx_frames),
    ("port_pfc_tx_frames", Counter, "PFC frames sent", |p| p.pfc_tx_frames),
    ("nic_rx_errors", Counter, "Frames received with errors", |p| p.nic.rx_errors),
    ("nic_rx_no_memory_frames", Counter, "Frames lost by an empty pool", |p| p.nic.rx_no_memory),
    ("nic_tx_errors", Counter, "Frames handed to the device and not sent", |p| p.nic.tx_errors),
    ("nic_tx_dropped_frames", Counter, "Frames handed to the kernel's interface and not sent, at most",
        |p| p.nic.tx_dropped),
    ("port_link_losses", Counter, "Times that the device lost its link", |p| p.link_losses),
];

#[rustfmt::skip]
const PRIORITY: &[Metric<PrioritySummary>] = &[
    ("priority_rx_frames", Counter, "Data frames received", |p| p.rx_frames),
    ("priority_tx_frames", Counter, "Data frames sent", |p| p.tx_frames),
    ("priority_rx_bytes", Counter, "Octets received, FCS included", |p| p.rx_bytes),
    ("priority_tx_bytes", Counter, "Octets sent, FCS included", |p| p.tx_bytes),
    ("priority_dropped_frames", Counter, "Data frames dropped", |p| p.dropped_frames),
    ("pfc_rx_frames", Counter, "PFC frames obeyed that name the priority", |p| p.pfc_rx_frames),
    ("pfc_tx_frames", Counter, "PFC frames sent that name the priority", |p| p.pfc_tx_frames),
    ("pfc_rx_paused_seconds", Nanos, "Time paused by the peer", |p| p.pfc_rx_paused_ns),
    ("pfc_tx_paused_seconds", Nanos, "Time for which the peer was paused", |p| p.pfc_tx_paused_ns),
    ("pfc_rx_transitions", Counter, "Transitions from running to paused by the peer",
        |p| p.pfc_rx_transitions),
    ("pfc_tx_transitions", Counter, "Transitions from XON to XOFF", |p| p.pfc_tx_transitions),
    ("buffer_bytes", Gauge, "Octets its ingress group holds", |p| p.buffer_bytes),
    ("buffer_peak_bytes", Gauge, "The most its ingress group held", |p| p.buffer_peak_bytes),
    ("headroom_peak_bytes", Gauge, "The most headroom it held", |p| p.headroom_peak_bytes),
    ("queue_bytes", Gauge, "Octets in its egress queue", |p| p.queue_bytes),
    ("queue_peak_bytes", Gauge, "The most its egress queue held", |p| p.queue_peak_bytes),
    ("ecn_marked_frames", Counter, "Frames sent with CE set here", |p| p.ecn_marked),
    ("storms_detected", Counter, "Pause storms found", |p| p.storms_detected),
    ("storms_restored", Counter, "Pause storms that ended", |p| p.storms_restored),
];

/// Metrics of ports with a measured link.
#[rustfmt::skip]
const MEASURED: &[Metric<TimesSummary>] = &[
    ("round_trip_seconds", Span, "The measured round trip that counts for the headroom",
        |t| t.chosen_ns.round() as u64),
    ("round_trip_min_seconds", Span, "The shortest measured round trip", |t| t.min_ns.round() as u64),
    ("round_trip_uncertainty_seconds", Span, "How far it may be off, either way",
        |t| t.uncertainty_ns.unwrap_or_default().ceil() as u64),
];

/// Metrics of ports that determine their headroom.
#[rustfmt::skip]
const FOUND: &[Metric<HeadroomSummary>] = &[
    ("headroom_needed_bytes", Gauge, "Headroom that a lossless group needs by measurement",
        |h| h.needs.as_ref().map_or(0, |n| n.bytes)),
    ("headroom_set", Gauge, "Whether the groups have the headroom that was measured",
        |h| u64::from(h.set)),
];

/// Metrics of ports with link protocols.
#[rustfmt::skip]
const AGENTS: &[Metric<AgentsSummary>] = &[
    ("lldp_neighbours", Gauge, "Neighbours known by LLDP", |a| a.neighbours.len() as u64),
    ("measurements_done", Counter, "Measurements of the round trip that came to their end",
        |a| a.counted("measurement", "done")),
    ("measurements_failed", Counter, "Measurements that the peer did not answer",
        |a| a.counted("measurement", "failed")),
    ("measurement_responses_sent", Counter, "Requests of the peer that were answered",
        |a| a.counted("measurement", "responses_sent")),
];

/// Metrics of transmit secure associations.
#[rustfmt::skip]
const SENDING: &[Metric<TransmitSaSummary>] = &[
    ("macsec_sa_in_use", Gauge, "Whether the port sends with it", |sa| u64::from(sa.in_use)),
    ("macsec_sa_frames_left", Gauge, "How many frames it can still send", |sa| sa.left),
    ("macsec_sa_nearly_used_up", Gauge, "Whether another association is due",
        |sa| u64::from(sa.nearly_used_up)),
];

#[derive(Debug)]
struct Snapshot(Summary);

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), Error> {
        let Self(summary) = self;
        for metric in SWITCH {
            let labels = [("switch", summary.name.as_str())];
            family(&mut encoder, metric, [(labels, summary)].into_iter())?;
        }
        for metric in PORT {
            let rows = summary.ports.iter().map(|p| ([("port", p.name.as_str())], p));
            family(&mut encoder, metric, rows)?;
        }
        // Absent for a device that does not report the counter.
        let missed = summary.ports.iter();
        let missed = missed.filter_map(|p| Some(([("port", p.name.as_str())], p.nic.rx_missed?)));
        let missed: Vec<_> = missed.collect();
        let what = "Frames lost by a full receive ring, the kernel's included";
        let rows = missed.iter().map(|(labels, n)| (*labels, n));
        family(&mut encoder, &("nic_rx_missed_frames", Counter, what, |n| *n), rows)?;
        workers(&mut encoder, summary)?;
        let agents =
            summary.ports.iter().filter_map(|p| Some((p.name.as_str(), p.agents.as_ref()?)));
        for metric in AGENTS {
            family(&mut encoder, metric, agents.clone().map(|(name, a)| ([("port", name)], a)))?;
        }
        let found = agents.clone().filter_map(|(n, a)| Some(([("port", n)], a.headroom.as_ref()?)));
        for metric in FOUND {
            family(&mut encoder, metric, found.clone())?;
        }
        let measured = agents.filter_map(|(n, a)| Some(([("port", n)], a.round_trip.as_ref()?)));
        for metric in MEASURED {
            family(&mut encoder, metric, measured.clone())?;
        }
        const NUMBERS: [&str; 8] = ["0", "1", "2", "3", "4", "5", "6", "7"];
        for metric in PRIORITY {
            let rows = summary.ports.iter().flat_map(|port| {
                port.priorities.iter().map(|p| {
                    let number = NUMBERS[usize::from(p.priority)];
                    ([("port", port.name.as_str()), ("priority", number)], p)
                })
            });
            family(&mut encoder, metric, rows)?;
        }
        let drops = summary.ports.iter().flat_map(|port| {
            port.drops
                .iter()
                .map(|(reason, n)| ([("port", port.name.as_str()), ("reason", reason.as_str())], n))
        });
        family(&mut encoder, &("drops", Counter, "Frames dropped, by reason", |n| *n), drops)?;
        macsec(&mut encoder, summary)?;
        let Some(congestion) = &summary.congestion else { return Ok(()) };
        let counted = congestion.switch.iter().map(|(name, n)| ([("counter", name.as_str())], n));
        let what = "What the switch did about congesting flows, by counter";
        family(&mut encoder, &("congestion", Counter, what, |n| *n), counted)?;
        let flows = congestion.tables.iter().map(|(name, n)| ([("table", name.as_str())], n));
        let what = "Flows in the tables of congesting flows";
        family(&mut encoder, &("congestion_flows", Gauge, what, |n| *n), flows)?;
        let by_port = congestion.ports.iter().flat_map(|(port, of)| {
            of.iter().map(|(name, n)| ([("port", port.as_str()), ("counter", name.as_str())], n))
        });
        let what = "What a port did about congesting flows, by counter";
        family(&mut encoder, &("port_congestion", Counter, what, |n| *n), by_port)
    }
}

/// Encodes the gaps between polls of the workers.
fn workers(encoder: &mut DescriptorEncoder, summary: &Summary) -> Result<(), Error> {
    let numbers: Vec<_> = (0..summary.polls.len()).map(|n| n.to_string()).collect();
    let rows =
        numbers.iter().zip(&summary.polls).map(|(n, polls)| ([("worker", n.as_str())], polls));
    for metric in POLLS {
        family(encoder, metric, rows.clone())?;
    }
    let planned = rows.filter(|(_, polls)| polls.planned_gap_ns.is_some());
    let what = "The longest gap between polls that headroom is planned for";
    let value = |p: &PollsSummary| p.planned_gap_ns.unwrap_or_default();
    family(encoder, &("worker_poll_gap_planned_seconds", Span, what, value), planned)
}

/// Encodes MACsec counters by port, channel and name in 802.1AE, and the state of transmit
/// associations.
fn macsec(encoder: &mut DescriptorEncoder, summary: &Summary) -> Result<(), Error> {
    const NUMBERS: [&str; 4] = ["0", "1", "2", "3"];
    let ports = summary.ports.iter().filter_map(|p| Some((p.name.as_str(), p.macsec.as_ref()?)));
    let counted = ports.clone().flat_map(|(port, macsec)| {
        let row = move |(channel, name, n)| {
            ([("port", port), ("channel", channel), ("counter", name)], n)
        };
        macsec.counted().map(row)
    });
    let help = "What MACsec counted, by the names of IEEE 802.1AE";
    family(encoder, &("macsec", Counter, help, |n| *n), counted)?;
    let sending = ports.flat_map(|(port, macsec)| {
        let row = move |sa| ([("port", port), ("an", NUMBERS[usize::from(sa_number(sa))])], sa);
        macsec.transmit.associations.iter().map(row)
    });
    for metric in SENDING {
        family(encoder, metric, sending.clone())?;
    }
    Ok(())
}

fn sa_number(sa: &TransmitSaSummary) -> u8 {
    sa.an % 4
}

/// Encodes one metric with all its rows.
fn family<'a, T: 'a, const N: usize>(
    encoder: &mut DescriptorEncoder,
    (name, kind, help, value): &Metric<T>,
    rows: impl Iterator<Item = ([(&'a str, &'a str); N], &'a T)>,
) -> Result<(), Error> {
    let metric_type = match kind {
        Gauge | Span => MetricType::Gauge,
        Counter | Nanos => MetricType::Counter,
    };
    let help = match standard_name(name) {
        Some(standard) => format!("{help} ({standard})"),
        None => (*help).to_owned(),
    };
    let mut family = encoder.encode_descriptor(name, &help, None, metric_type)?;
    for (labels, row) in rows {
        let encoder: MetricEncoder = family.encode_family(&labels)?;
        match kind {
            Gauge => ConstGauge::new(value(row)).encode(encoder)?,
            Counter => ConstCounter::new(value(row)).encode(encoder)?,
            Nanos => ConstCounter::new(value(row) as f64 / 1e9).encode(encoder)?,
            Span => ConstGauge::new(value(row) as f64 / 1e9).encode(encoder)?,
        }
    }
    Ok(())
}
