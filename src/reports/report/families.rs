//! Numbers as families of metrics in the OpenMetrics text format for Prometheus.
//!
//! Counters end in `_total` (added by the encoder), bytes in `_bytes`; times are in seconds.

use std::fmt::Error;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use ground::described::Number::{self, Count, Real};
use ground::described::{Described, Field, Kind};

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
            Real(ns) if is_nanos => Real(ns / 1e9),
            Count(ns) if is_nanos => Real(ns as f64 / 1e9),
            Count(rate) if field.name.ends_with("_bps") && name.ends_with("_bytes") => {
                Count(rate / 8)
            }
            other => other,
        };
        let known = rows.clone().filter(|(labels, _)| is_known(field.name, labels));
        let known = known.filter_map(|(l, of)| Some((l, scaled((field.value)(of)?))));
        family(encoder, (&name, field.kind, &help), known)?;
    }
    Ok(())
}

/// Encodes a family with all its rows.
pub(super) fn family<'a, const N: usize>(
    encoder: &mut DescriptorEncoder,
    (name, kind, help): (&str, Kind, &str),
    rows: impl Iterator<Item = Row<'a, Number, N>>,
) -> Result<(), Error> {
    let metric_type = match kind {
        Kind::Gauge => MetricType::Gauge,
        Kind::Counter => MetricType::Counter,
    };
    let mut family = encoder.encode_descriptor(name, help, None, metric_type)?;
    for (labels, number) in rows {
        let encoder = family.encode_family(&labels)?;
        match (kind, number) {
            (Kind::Gauge, Count(n)) => ConstGauge::new(n).encode(encoder)?,
            (Kind::Gauge, Real(n)) => ConstGauge::new(n).encode(encoder)?,
            (Kind::Counter, Count(n)) => ConstCounter::new(n).encode(encoder)?,
            (Kind::Counter, Real(n)) => ConstCounter::new(n).encode(encoder)?,
        }
    }
    Ok(())
}
