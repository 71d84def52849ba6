//! A report as metrics in the OpenMetrics text format for Prometheus.
//!
//! Counters end in `_total` (added by the encoder), and times are in seconds. Unknown values have
//! no sample.

use std::fmt::Error;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use crate::described::{Field, Kind, Number, Numeric as _};
use crate::tester::report::{Flow, Latency, Pacing, Port, Priority, Report};

/// Returns the response to a scrape.
#[must_use]
pub fn tester_metrics(report: Report) -> String {
    let mut registry = Registry::with_prefix("sluice_gen");
    registry.register_collector(Box::new(Snapshot(report)));
    let mut out = String::new();
    prometheus_client::encoding::text::encode(&mut out, &registry)
        .expect("writing to a string cannot fail");
    out
}

#[derive(Debug)]
struct Snapshot(Report);

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), Error> {
        const NUMBERS: [&str; 8] = ["0", "1", "2", "3", "4", "5", "6", "7"];
        let Self(report) = self;
        for field in Port::fields() {
            let rows = report.ports.iter().map(|p| ([("port", p.name.as_str())], p));
            family(&mut encoder, "port", field, rows)?;
        }
        for field in Priority::fields() {
            let rows = report.ports.iter().flat_map(|port| {
                port.priorities.iter().map(|p| {
                    let number = NUMBERS[usize::from(p.priority) % NUMBERS.len()];
                    ([("port", port.name.as_str()), ("priority", number)], p)
                })
            });
            family(&mut encoder, "priority", field, rows)?;
        }
        let flows = || report.flows.iter().map(|f| ([("flow", f.name.as_str())], f));
        for field in Flow::fields() {
            family(&mut encoder, "flow", field, flows())?;
        }
        for field in Pacing::fields() {
            let rows = flows().filter_map(|(labels, f)| Some((labels, f.pacing.as_ref()?)));
            family(&mut encoder, "flow", field, rows)?;
        }
        for field in Latency::fields() {
            let rows = flows().filter_map(|(labels, f)| Some((labels, f.latency.as_ref()?)));
            family(&mut encoder, "flow_latency", field, rows)?;
        }
        let elapsed = Field {
            name: "run_seconds",
            kind: Kind::Gauge,
            doc: "Seconds since the last start of the flows.",
            value: |r: &Report| r.elapsed_s.number(),
        };
        let stamps = [("stamps", report.stamps.source)];
        family(&mut encoder, "test", &elapsed, [(stamps, report)].into_iter())
    }
}

/// Encodes one metric with all its rows.
fn family<'a, T: 'a, const N: usize>(
    encoder: &mut DescriptorEncoder,
    of: &str,
    field: &Field<T>,
    rows: impl Iterator<Item = ([(&'a str, &'a str); N], &'a T)>,
) -> Result<(), Error> {
    let nanos = field.name.ends_with("_ns");
    let stem = field.name.strip_suffix("_ns").or_else(|| field.name.strip_suffix("_s"));
    let name = match stem {
        Some(stem) => format!("{of}_{stem}_seconds"),
        None => format!("{of}_{}", field.name),
    };
    let rows: Vec<_> = rows.filter_map(|(l, row)| Some((l, (field.value)(row)?))).collect();
    if rows.is_empty() {
        return Ok(());
    }
    let metric_type = match field.kind {
        Kind::Gauge => MetricType::Gauge,
        Kind::Counter => MetricType::Counter,
    };
    let mut family = encoder.encode_descriptor(&name, field.help(), None, metric_type)?;
    for (labels, number) in rows {
        let encoder = family.encode_family(&labels)?;
        let number = match number {
            Number::Real(ns) if nanos => Number::Real(ns / 1e9),
            other => other,
        };
        match (field.kind, number) {
            (Kind::Gauge, Number::Count(n)) => ConstGauge::new(n).encode(encoder)?,
            (Kind::Gauge, Number::Real(n)) => ConstGauge::new(n).encode(encoder)?,
            (Kind::Counter, Number::Count(n)) => ConstCounter::new(n).encode(encoder)?,
            (Kind::Counter, Number::Real(n)) => ConstCounter::new(n).encode(encoder)?,
        }
    }
    Ok(())
}
