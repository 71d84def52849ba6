//! The summary as metrics, in the OpenMetrics text format for Prometheus. The names of its numbers are in
//! [`COUNTER_NAMES`](super::COUNTER_NAMES).
//!
//! Numbers of a type are families of metrics. Counters end in `_total` (added by the encoder), bytes in `_bytes`;
//! times are in seconds.

use std::fmt::Error;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::names::counter_name;
use ground::described::{Described, Field, Kind, Number};
use results::{AgentsSummary, CongestionSummary, HeadroomSummary, Summary, TimesSummary};
use secure::TransmitSaSnapshot;

/// Returns the response to a scrape.
#[must_use]
pub fn metrics(summary: Summary) -> String {
    scraped("sluice", Snapshot(summary))
}

#[derive(Clone, Copy)]
enum MetricKind {
    Counter,
    Gauge,
    /// A gauge of nanoseconds, shown in seconds.
    Span,
}

use MetricKind::{Counter, Gauge, Span};

/// A metric of `T`s that is not one of their described numbers.
struct Metric<T> {
    name: &'static str,
    kind: MetricKind,
    help: &'static str,
    /// Reads the value; `None` if it is not known.
    value: fn(&T) -> Option<u64>,
}

const fn metric<T>(
    name: &'static str,
    kind: MetricKind,
    help: &'static str,
    value: fn(&T) -> Option<u64>,
) -> Metric<T> {
    Metric { name, kind, help, value }
}

/// Metrics of ports with a measured link.
#[rustfmt::skip]
const MEASURED: &[Metric<TimesSummary>] = &[
    metric("round_trip_seconds", Span, "The measured round trip that counts for the headroom",
        |t| Some(t.chosen_ns.round() as u64)),
    metric("round_trip_min_seconds", Span, "The shortest measured round trip", |t| Some(t.min_ns.round() as u64)),
    metric("round_trip_uncertainty_seconds", Span, "Uncertainty of the round trip, in either direction",
        |t| Some(t.uncertainty_ns?.ceil() as u64)),
];

/// Metrics of ports that determine their headroom.
#[rustfmt::skip]
const FOUND: &[Metric<HeadroomSummary>] = &[
    metric("headroom_needed_bytes", Gauge, "Headroom that a lossless group needs by measurement",
        |h| Some(h.needs.as_ref()?.bytes)),
    metric("headroom_set", Gauge, "1 if the groups have the measured headroom, else 0",
        |h| Some(h.set.into())),
];

/// Metrics of ports with link protocols.
#[rustfmt::skip]
const AGENTS: &[Metric<AgentsSummary>] = &[
    metric("lldp_neighbours", Gauge, "Neighbours known by LLDP", |a| Some(a.neighbours.len() as u64)),
    metric("measurements_done", Counter, "Completed measurements of the round trip",
        |a| Some(a.counted("measurement", "done"))),
    metric("measurements_failed", Counter, "Measurements that the peer did not answer",
        |a| Some(a.counted("measurement", "failed"))),
    metric("measurement_responses_sent", Counter, "Requests of the peer that were answered",
        |a| Some(a.counted("measurement", "responses_sent"))),
];

/// Metrics of transmit secure associations.
#[rustfmt::skip]
const SENDING: &[Metric<TransmitSaSnapshot>] = &[
    metric("macsec_sa_in_use", Gauge, "1 if the port sends with the association, else 0",
        |sa| Some(sa.in_use.into())),
    metric("macsec_sa_frames_left", Gauge, "Frames that the association can still send",
        |sa| Some(sa.left)),
    metric("macsec_sa_nearly_used_up", Gauge, "1 if another association is due, else 0",
        |sa| Some(sa.nearly_used_up.into())),
];

#[derive(Debug)]
struct Snapshot(Summary);

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), Error> {
        let (encoder, Self(summary)) = (&mut encoder, self);
        let switch = [("switch", summary.name.as_str())];
        numbers(encoder, summary, "", [(switch, summary)].into_iter())?;
        numbers(encoder, summary, "balance.", [(switch, &summary.balance)].into_iter())?;
        numbers(encoder, summary, "shared_pool.", [(switch, &summary.shared_pool)].into_iter())?;
        numbers(encoder, summary, "fdb.", [(switch, &summary.fdb)].into_iter())?;
        // OpenMetrics wants all samples of a family together, so each family has the rows of all ports.
        let ports = summary.ports.iter().map(|p| ([("port", p.port.name.as_str())], p));
        let of = ports.clone().map(|(port, p)| (port, &p.port));
        numbers(encoder, summary, "ports[].", of.clone())?;
        let counters = of.clone().map(|(port, p)| (port, &p.counters));
        numbers(encoder, summary, "ports[].", counters)?;
        numbers(encoder, summary, "ports[].", ports.clone())?;
        numbers(encoder, summary, "ports[].nic.", ports.clone().map(|(port, p)| (port, &p.nic)))?;
        let workers: Vec<_> = (0..summary.polls.len()).map(|n| n.to_string()).collect();
        let polls = workers.iter().zip(&summary.polls);
        let polls = polls.map(|(n, polls)| ([("worker", n.as_str())], polls));
        numbers(encoder, summary, "polls[].", polls)?;
        let agents = ports.clone().filter_map(|(port, p)| Some((port, p.agents.as_ref()?)));
        link_protocols(encoder, agents)?;
        let priorities = of.clone().flat_map(|([port], p)| {
            let rows = NUMBERS.iter().zip(&p.counters.priorities);
            rows.map(move |(n, counters)| ([port, ("priority", *n)], counters))
        });
        numbers(encoder, summary, "ports[].priorities[].", priorities)?;
        let drops: Vec<_> = of.map(|(port, p)| (port, p.counters.drops.by_name())).collect();
        let drops = drops.iter().flat_map(|([port], drops)| {
            drops.iter().map(|(reason, n)| ([*port, ("reason", *reason)], n))
        });
        // Only reasons that occurred have rows: most never do, at any port.
        let dropped = metric("drops", Counter, "Frames dropped, by reason", |n: &u64| {
            Some(*n).filter(|n| *n > 0)
        });
        write_metric(encoder, &dropped, drops)?;
        macsec(encoder, summary)?;
        summary.congestion.as_ref().map_or(Ok(()), |congestion| signals(encoder, congestion))
    }
}

/// Encodes the metrics of link protocols.
fn link_protocols<'a>(
    encoder: &mut DescriptorEncoder,
    agents: impl Iterator<Item = Row<'a, &'a AgentsSummary, 1>> + Clone,
) -> Result<(), Error> {
    for metric in AGENTS {
        write_metric(encoder, metric, agents.clone())?;
    }
    let found = agents.clone().filter_map(|(port, a)| Some((port, a.headroom.as_ref()?)));
    for metric in FOUND {
        write_metric(encoder, metric, found.clone())?;
    }
    let measured = agents.filter_map(|(port, a)| Some((port, a.round_trip.as_ref()?)));
    for metric in MEASURED {
        write_metric(encoder, metric, measured.clone())?;
    }
    Ok(())
}

/// Encodes the counters of congestion management.
fn signals(encoder: &mut DescriptorEncoder, congestion: &CongestionSummary) -> Result<(), Error> {
    let counted = congestion.switch.iter().map(|(name, n)| ([("counter", name.as_str())], n));
    let what = "Actions of the switch on congesting flows, by counter";
    write_metric(encoder, &metric("congestion", Counter, what, |n| Some(*n)), counted)?;
    let flows = congestion.tables.iter().map(|(name, n)| ([("table", name.as_str())], n));
    let what = "Flows in the tables of congesting flows";
    write_metric(encoder, &metric("congestion_flows", Gauge, what, |n| Some(*n)), flows)?;
    let by_port = congestion.ports.iter().flat_map(|(port, of)| {
        of.iter().map(|(name, n)| ([("port", port.as_str()), ("counter", name.as_str())], n))
    });
    let what = "Actions of a port on congesting flows, by counter";
    write_metric(encoder, &metric("port_congestion", Counter, what, |n| Some(*n)), by_port)
}

/// Encodes the numbers of a part of the summary, those of ports without what is unknown of them; `place` is its
/// path in the JSON.
fn numbers<'a, T: Described, const N: usize>(
    encoder: &mut DescriptorEncoder,
    summary: &Summary,
    place: &str,
    rows: impl Iterator<Item = Row<'a, &'a T, N>> + Clone,
) -> Result<(), Error> {
    let named = |field: &Field<T>| {
        let row = counter_name(place, field.name);
        // The standard name helps those who know the counter from elsewhere.
        let help = match row.standard {
            "" => field.help().to_owned(),
            standard => format!("{} ({standard})", field.help()),
        };
        Some((row.metric.to_owned(), help))
    };
    let is_known = |field: &str, labels: &[(&str, &str); N]| {
        let of = labels.iter().find(|(label, _)| *label == "port");
        // Rows of the switch have no port, and are always known.
        let port = of.and_then(|(_, name)| summary.ports.iter().find(|p| p.port.name == *name));
        port.is_none_or(|port| port.knows(field))
    };
    families(encoder, named, is_known, rows)
}

/// Encodes MACsec counters by port, channel and name in 802.1AE, and the state of transmit
/// associations.
fn macsec(encoder: &mut DescriptorEncoder, summary: &Summary) -> Result<(), Error> {
    let ports =
        summary.ports.iter().filter_map(|p| Some((p.port.name.as_str(), p.macsec.as_ref()?)));
    let counted = ports.clone().flat_map(|(port, macsec)| {
        let row = move |(channel, name, n)| {
            ([("port", port), ("channel", channel), ("counter", name)], n)
        };
        macsec.counted().map(row)
    });
    let help = "MACsec statistics, by the names of IEEE 802.1AE";
    write_metric(encoder, &metric("macsec", Counter, help, |n| Some(*n)), counted)?;
    let sending = ports.flat_map(|(port, macsec)| {
        let row = move |sa| ([("port", port), ("an", NUMBERS[usize::from(sa_number(sa))])], sa);
        macsec.transmit.associations.iter().map(row)
    });
    for metric in SENDING {
        write_metric(encoder, metric, sending.clone())?;
    }
    Ok(())
}

fn sa_number(sa: &TransmitSaSnapshot) -> u8 {
    sa.an % 4
}

/// Encodes one metric with the rows that are known.
fn write_metric<'a, T: 'a, const N: usize>(
    encoder: &mut DescriptorEncoder,
    metric: &Metric<T>,
    rows: impl Iterator<Item = Row<'a, &'a T, N>>,
) -> Result<(), Error> {
    let number = |of| {
        (metric.value)(of).map(|n| match metric.kind {
            Gauge | Counter => Number::Count(n),
            Span => Number::Real(n as f64 / 1e9),
        })
    };
    let kind = match metric.kind {
        Gauge | Span => Kind::Gauge,
        Counter => Kind::Counter,
    };
    let known = rows.filter_map(|(l, of)| Some((l, number(of)?)));
    family(encoder, metric.name, kind, metric.help, known)
}

/// Priorities as labels.
pub(super) const NUMBERS: [&str; 8] = ["0", "1", "2", "3", "4", "5", "6", "7"];

/// A row of a family: its labels, and its source.
pub(super) type Row<'a, T, const N: usize> = ([(&'a str, &'a str); N], T);

/// Returns the response to a scrape; `prefix` begins all names.
pub(super) fn scraped(prefix: &str, collector: impl Collector) -> String {
    let mut registry = Registry::with_prefix(prefix);
    registry.register_collector(Box::new(collector));
    let mut out = String::new();
    prometheus_client::encoding::text::encode(&mut out, &registry)
        .expect("writing to a string cannot fail");
    out
}

/// Encodes the numbers of a `T`; `named` returns the name and the help text of a family, `None` for
/// one to be left out. `is_known` returns false for a field that is unknown in the row of some labels.
pub(super) fn families<'a, T: Described, const N: usize>(
    encoder: &mut DescriptorEncoder,
    named: impl Fn(&Field<T>) -> Option<(String, String)>,
    is_known: impl Fn(&str, &[(&str, &str); N]) -> bool,
    rows: impl Iterator<Item = Row<'a, &'a T, N>> + Clone,
) -> Result<(), Error> {
    for field in T::fields() {
        let Some((name, help)) = named(field) else { continue };
        let is_nanos = field.name.ends_with("_ns");
        let scaled = |n: Number| match n {
            Number::Real(ns) if is_nanos => Number::Real(ns / 1e9),
            // Prometheus has base units: seconds and bytes.
            Number::Count(ns) if is_nanos => Number::Real(ns as f64 / 1e9),
            Number::Count(rate) if field.name.ends_with("_bps") && name.ends_with("_bytes") => {
                Number::Count(rate / 8)
            }
            other => other,
        };
        // An unknown value has no row: 0 would mean a counter that does not change.
        let known = rows.clone().filter(|(labels, _)| is_known(field.name, labels));
        let known = known.filter_map(|(l, of)| Some((l, scaled((field.value)(of)?))));
        family(encoder, &name, field.kind, &help, known)?;
    }
    Ok(())
}

/// Encodes a family with all its rows.
pub(super) fn family<'a, const N: usize>(
    encoder: &mut DescriptorEncoder,
    name: &str,
    kind: Kind,
    help: &str,
    rows: impl Iterator<Item = Row<'a, Number, N>>,
) -> Result<(), Error> {
    // The encoder adds `_total` to counters.
    let metric_type = match kind {
        Kind::Gauge => MetricType::Gauge,
        Kind::Counter => MetricType::Counter,
    };
    let mut family = encoder.encode_descriptor(name, help, None, metric_type)?;
    for (labels, number) in rows {
        let encoder = family.encode_family(&labels)?;
        match (kind, number) {
            (Kind::Gauge, Number::Count(n)) => ConstGauge::new(n).encode(encoder)?,
            (Kind::Gauge, Number::Real(n)) => ConstGauge::new(n).encode(encoder)?,
            (Kind::Counter, Number::Count(n)) => ConstCounter::new(n).encode(encoder)?,
            (Kind::Counter, Number::Real(n)) => ConstCounter::new(n).encode(encoder)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Measured([TimesSummary; 2]);

    impl Collector for Measured {
        fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), Error> {
            let rows = ["p0", "p1"].into_iter().zip(&self.0).map(|(n, t)| ([("port", n)], t));
            MEASURED.iter().try_for_each(|metric| write_metric(&mut encoder, metric, rows.clone()))
        }
    }

    #[test]
    fn an_unknown_uncertainty_has_no_row() {
        let times = |uncertainty_ns| TimesSummary {
            rounds: None,
            min_ns: 900.0,
            mean_ns: 950.0,
            p99_ns: 1_000.0,
            max_ns: 1_000.0,
            chosen_ns: 1_000.0,
            uncertainty_ns,
            sources: None,
        };
        let text = scraped("sluice", Measured([times(None), times(Some(0.0))]));
        let rows: Vec<_> = text.lines().filter(|line| line.contains("uncertainty")).collect();
        let row = r#"sluice_round_trip_uncertainty_seconds{port="p1"} 0.0"#;
        assert!(rows.contains(&row), "{text}");
        assert!(!rows.iter().any(|row| row.contains("p0")), "{text}");
        assert!(text.contains(r#"sluice_round_trip_seconds{port="p0"} 0.000001"#), "{text}");
    }
}
