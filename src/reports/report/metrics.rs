//! The summary as metrics. The names of its numbers are in [`COUNTER_NAMES`](super::COUNTER_NAMES).

use std::fmt::Error;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use super::families::{NUMBERS, Row, families, scraped};
use super::names::counter_name;
use ground::described::{self, Described, Field, Number};
use results::{AgentsSummary, HeadroomSummary, Summary, TimesSummary};
use secure::TransmitSaSnapshot;

/// Returns the response to a scrape.
#[must_use]
pub fn metrics(summary: Summary) -> String {
    scraped("sluice", Snapshot(summary))
}

#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Gauge,
    /// A gauge of nanoseconds, shown in seconds.
    Span,
}
use Kind::{Counter, Gauge, Span};

/// Name, kind, help, and the function that reads the value from a `T`: `None` if it is not known.
type Metric<T> = (&'static str, Kind, &'static str, fn(&T) -> Option<u64>);

/// Metrics of ports with a measured link.
#[rustfmt::skip]
const MEASURED: &[Metric<TimesSummary>] = &[
    ("round_trip_seconds", Span, "The measured round trip that counts for the headroom",
        |t| Some(t.chosen_ns.round() as u64)),
    ("round_trip_min_seconds", Span, "The shortest measured round trip", |t| Some(t.min_ns.round() as u64)),
    ("round_trip_uncertainty_seconds", Span, "Uncertainty of the round trip, in either direction",
        |t| Some(t.uncertainty_ns?.ceil() as u64)),
];

/// Metrics of ports that determine their headroom.
#[rustfmt::skip]
const FOUND: &[Metric<HeadroomSummary>] = &[
    ("headroom_needed_bytes", Gauge, "Headroom that a lossless group needs by measurement",
        |h| Some(h.needs.as_ref()?.bytes)),
    ("headroom_set", Gauge, "1 if the groups have the measured headroom, else 0",
        |h| Some(h.set.into())),
];

/// Metrics of ports with link protocols.
#[rustfmt::skip]
const AGENTS: &[Metric<AgentsSummary>] = &[
    ("lldp_neighbours", Gauge, "Neighbours known by LLDP", |a| Some(a.neighbours.len() as u64)),
    ("measurements_done", Counter, "Completed measurements of the round trip",
        |a| Some(a.counted("measurement", "done"))),
    ("measurements_failed", Counter, "Measurements that the peer did not answer",
        |a| Some(a.counted("measurement", "failed"))),
    ("measurement_responses_sent", Counter, "Requests of the peer that were answered",
        |a| Some(a.counted("measurement", "responses_sent"))),
];

/// Metrics of transmit secure associations.
#[rustfmt::skip]
const SENDING: &[Metric<TransmitSaSnapshot>] = &[
    ("macsec_sa_in_use", Gauge, "1 if the port sends with the association, else 0",
        |sa| Some(sa.in_use.into())),
    ("macsec_sa_frames_left", Gauge, "Frames that the association can still send",
        |sa| Some(sa.left)),
    ("macsec_sa_nearly_used_up", Gauge, "1 if another association is due, else 0",
        |sa| Some(sa.nearly_used_up.into())),
];

#[derive(Debug)]
struct Snapshot(Summary);

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), Error> {
        let Self(summary) = self;
        let switch = [("switch", summary.name.as_str())];
        numbers(&mut encoder, summary, "", [(switch, summary)].into_iter())?;
        numbers(&mut encoder, summary, "balance.", [(switch, &summary.balance)].into_iter())?;
        numbers(
            &mut encoder,
            summary,
            "shared_pool.",
            [(switch, &summary.shared_pool)].into_iter(),
        )?;
        numbers(&mut encoder, summary, "fdb.", [(switch, &summary.fdb)].into_iter())?;
        let ports = summary.ports.iter().map(|p| ([("port", p.port.name.as_str())], p));
        let of = ports.clone().map(|(port, p)| (port, &p.port));
        numbers(&mut encoder, summary, "ports[].", of.clone())?;
        numbers(
            &mut encoder,
            summary,
            "ports[].",
            of.clone().map(|(port, p)| (port, &p.counters)),
        )?;
        numbers(&mut encoder, summary, "ports[].", ports.clone())?;
        numbers(
            &mut encoder,
            summary,
            "ports[].nic.",
            ports.clone().map(|(port, p)| (port, &p.nic)),
        )?;
        let workers: Vec<_> = (0..summary.polls.len()).map(|n| n.to_string()).collect();
        let polls = workers.iter().zip(&summary.polls);
        let polls = polls.map(|(n, polls)| ([("worker", n.as_str())], polls));
        numbers(&mut encoder, summary, "polls[].", polls)?;
        let agents = ports.clone().filter_map(|(port, p)| Some((port, p.agents.as_ref()?)));
        for metric in AGENTS {
            family(&mut encoder, metric, agents.clone())?;
        }
        let found = agents.clone().filter_map(|(port, a)| Some((port, a.headroom.as_ref()?)));
        for metric in FOUND {
            family(&mut encoder, metric, found.clone())?;
        }
        let measured = agents.filter_map(|(port, a)| Some((port, a.round_trip.as_ref()?)));
        for metric in MEASURED {
            family(&mut encoder, metric, measured.clone())?;
        }
        let priorities = of.clone().flat_map(|([port], p)| {
            let rows = NUMBERS.iter().zip(&p.counters.priorities);
            rows.map(move |(n, counters)| ([port, ("priority", *n)], counters))
        });
        numbers(&mut encoder, summary, "ports[].priorities[].", priorities)?;
        let drops: Vec<_> = of.map(|(port, p)| (port, p.counters.drops.by_name())).collect();
        let drops = drops.iter().flat_map(|([port], drops)| {
            drops.iter().map(|(reason, n)| ([*port, ("reason", *reason)], n))
        });
        family(
            &mut encoder,
            &("drops", Counter, "Frames dropped, by reason", |n| Some(*n).filter(|n| *n > 0)),
            drops,
        )?;
        macsec(&mut encoder, summary)?;
        let Some(congestion) = &summary.congestion else { return Ok(()) };
        let counted = congestion.switch.iter().map(|(name, n)| ([("counter", name.as_str())], n));
        let what = "Actions of the switch on congesting flows, by counter";
        family(&mut encoder, &("congestion", Counter, what, |n| Some(*n)), counted)?;
        let flows = congestion.tables.iter().map(|(name, n)| ([("table", name.as_str())], n));
        let what = "Flows in the tables of congesting flows";
        family(&mut encoder, &("congestion_flows", Gauge, what, |n| Some(*n)), flows)?;
        let by_port = congestion.ports.iter().flat_map(|(port, of)| {
            of.iter().map(|(name, n)| ([("port", port.as_str()), ("counter", name.as_str())], n))
        });
        let what = "Actions of a port on congesting flows, by counter";
        family(&mut encoder, &("port_congestion", Counter, what, |n| Some(*n)), by_port)
    }
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
        let help = match row.standard {
            "" => field.help().to_owned(),
            standard => format!("{} ({standard})", field.help()),
        };
        Some((row.metric.to_owned(), help))
    };
    let is_known = |field: &str, labels: &[(&str, &str); N]| {
        let of = labels.iter().find(|(label, _)| *label == "port");
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
    family(encoder, &("macsec", Counter, help, |n| Some(*n)), counted)?;
    let sending = ports.flat_map(|(port, macsec)| {
        let row = move |sa| ([("port", port), ("an", NUMBERS[usize::from(sa_number(sa))])], sa);
        macsec.transmit.associations.iter().map(row)
    });
    for metric in SENDING {
        family(encoder, metric, sending.clone())?;
    }
    Ok(())
}

fn sa_number(sa: &TransmitSaSnapshot) -> u8 {
    sa.an % 4
}

/// Encodes one metric with the rows that are known.
fn family<'a, T: 'a, const N: usize>(
    encoder: &mut DescriptorEncoder,
    (name, kind, help, value): &Metric<T>,
    rows: impl Iterator<Item = Row<'a, &'a T, N>>,
) -> Result<(), Error> {
    let number = |of| {
        value(of).map(|n| match kind {
            Gauge | Counter => Number::Count(n),
            Span => Number::Real(n as f64 / 1e9),
        })
    };
    let kind = match kind {
        Gauge | Span => described::Kind::Gauge,
        Counter => described::Kind::Counter,
    };
    let known = rows.filter_map(|(l, of)| Some((l, number(of)?)));
    super::families::family(encoder, (name, kind, help), known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Measured([TimesSummary; 2]);

    impl Collector for Measured {
        fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), Error> {
            let rows = ["p0", "p1"].into_iter().zip(&self.0).map(|(n, t)| ([("port", n)], t));
            MEASURED.iter().try_for_each(|metric| family(&mut encoder, metric, rows.clone()))
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
