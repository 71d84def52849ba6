//! Results of tests as metrics of Prometheus: the report of a generator, and the results of `sluice validate`. Unknown
//! values have no sample.
//!
//! Values of `sluice validate` that sonic-mgmt has names for have these names, with dots as underscores; each judged
//! value is there under a common name, too.

use std::fmt::Error;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::Exposition;
use super::metrics::{NUMBERS, Row, families, family, scraped};
use ground::described::{Described, Field, Kind, Number};
use tester::report::Report;
use validate::judge::{Measurement, Outcome};
use validate::suite::{Results, TestResult};

type Labels = Vec<(&'static str, String)>;

/// A gauge with its rows in the order in which they were set.
#[derive(Debug)]
struct Gauges {
    name: &'static str,
    help: &'static str,
    rows: Vec<(Labels, f64)>,
}

impl Gauges {
    const fn new(name: &'static str, help: &'static str) -> Self {
        Self { name, help, rows: Vec::new() }
    }

    /// Sets the value of a row.
    fn set(&mut self, labels: Labels, value: f64) {
        // Two rows with the same labels would be no valid text.
        match self.rows.iter_mut().find(|(known, _)| *known == labels) {
            Some((_, known)) => *known = value,
            None => self.rows.push((labels, value)),
        }
    }
}

/// All gauges of a validation.
#[derive(Debug)]
struct Validation(Vec<Gauges>);

impl Collector for Validation {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), Error> {
        for Gauges { name, help, rows } in &self.0 {
            let help = format!("{help}.");
            let mut family = encoder.encode_descriptor(name, &help, None, MetricType::Gauge)?;
            for (labels, value) in rows {
                ConstGauge::new(*value).encode(family.encode_family(labels)?)?;
            }
        }
        Ok(())
    }
}

/// A metric of sonic-mgmt.
struct Sonic {
    name: &'static str,
    help: &'static str,
    /// Tests with its values.
    tests: &'static [&'static str],
    /// Beginning of the names of the values.
    begin: &'static str,
}

const SONIC: [Sonic; 5] = [
    Sonic {
        name: "pfc_lossless",
        help: "Pauses of a lossless priority",
        tests: &["V-X06"],
        begin: "pauses of priority ",
    },
    Sonic {
        name: "pfc_lossy",
        help: "Pauses of priorities without PFC",
        tests: &["V-X06"],
        begin: "pauses of priorities without",
    },
    Sonic {
        name: "ecn_accuracy_marking",
        help: "Marks between Kmin and Kmax",
        tests: &["V-E01"],
        begin: "marks between",
    },
    Sonic {
        name: "ecn_egress_marking",
        help: "Marks of frames that leave",
        tests: &["V-E02"],
        begin: "marks of",
    },
    Sonic {
        name: "qos_dwrr",
        help: "Shares of the bytes in percent",
        tests: &["V-S01", "V-S04"],
        begin: "share of",
    },
];

/// A number of a judged value.
type Value = fn(&Measurement) -> Option<f64>;

const VALUES: [(&str, &str, Value); 4] = [
    ("sluice_validate_value", "Judged value, in its unit", |m| Some(m.value)),
    ("sluice_validate_limit_low", "Lower limit of the value", |m| m.limits.at_least),
    ("sluice_validate_limit_high", "Upper limit of the value", |m| m.limits.at_most),
    ("sluice_validate_uncertainty", "Uncertainty of the value", |m| Some(m.uncertainty)),
];

/// Returns the metrics in the text format, as a textfile collector reads it.
///
/// # Panics
/// Never: a string takes any text.
#[must_use]
pub fn validation_metrics(results: &Results) -> String {
    let mut outcomes = Gauges::new("sluice_validate_outcome", "1 for the outcome of the test");
    let mut durations = Gauges::new("sluice_validate_duration_seconds", "Duration of the test");
    for test in &results.tests {
        let mut labels = labels(results, test);
        durations.set(labels.clone(), test.duration_s);
        // The outcome is a label, as metrics have no words for values.
        labels.push(("outcome", test.outcome.name().to_owned()));
        outcomes.set(labels, 1.0);
    }
    let mut all = vec![outcomes, durations];
    let measured = |test: &&TestResult| !test.measurements.is_empty();
    for (name, help, number) in VALUES {
        let mut metric = Gauges::new(name, help);
        for test in results.tests.iter().filter(measured) {
            for m in &test.measurements {
                set(&mut metric, labels(results, test), m, number(m));
            }
        }
        all.push(metric);
    }
    for Sonic { name, help, tests, begin } in SONIC {
        let mut metric = Gauges::new(name, help);
        for test in results.tests.iter().filter(|test| tests.contains(&test.id)) {
            for m in test.measurements.iter().filter(|m| m.what.starts_with(begin)) {
                set(&mut metric, labels(results, test), m, Some(m.value));
            }
        }
        all.push(metric);
    }
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Validation(all)));
    let mut text = String::new();
    encode(&mut text, &registry).expect("a string takes any text");
    // A textfile collector reads the older format alone.
    Exposition::Text.write(text)
}

/// Sets the number of a value; unknown ones and those of parts that were not run are left out.
fn set(metric: &mut Gauges, mut labels: Labels, m: &Measurement, number: Option<f64>) {
    // A value that is no number would spoil every sum of a query.
    let number = number.filter(|n| n.is_finite() && m.outcome != Outcome::Skip);
    let Some(number) = number else { return };
    labels.extend([("what", m.what.clone()), ("unit", m.unit.to_owned())]);
    metric.set(labels, number);
}

fn labels(results: &Results, test: &TestResult) -> Labels {
    vec![("test_testcase", test.id.to_owned()), ("device_id", results.dut.clone())]
}

/// Returns the response to a scrape.
#[must_use]
pub fn tester_metrics(report: Report) -> String {
    scraped("sluice_gen", Snapshot(report))
}

#[derive(Debug)]
struct Snapshot(Report);

impl Collector for Snapshot {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), Error> {
        let Self(report) = self;
        let ports = report.ports.iter().map(|p| ([("port", p.name.as_str())], p));
        numbers(&mut encoder, "port", ports.clone())?;
        let priorities = ports.flat_map(|([port], p)| {
            p.priorities.iter().map(move |p| {
                let number = NUMBERS[usize::from(p.priority) % NUMBERS.len()];
                ([port, ("priority", number)], p)
            })
        });
        numbers(&mut encoder, "priority", priorities)?;
        let flows = report.flows.iter().map(|f| ([("flow", f.name.as_str())], f));
        numbers(&mut encoder, "flow", flows.clone())?;
        let pacing = flows.clone().filter_map(|(labels, f)| Some((labels, f.pacing.as_ref()?)));
        numbers(&mut encoder, "flow", pacing)?;
        let latency = flows.filter_map(|(labels, f)| Some((labels, f.latency.as_ref()?)));
        numbers(&mut encoder, "flow_latency", latency)?;
        // Before the first start there is no time, and 0 would be one.
        let Some(elapsed) = report.elapsed_s else { return Ok(()) };
        let help = "Seconds since the last start of the flows";
        let row = ([("stamps", report.stamps.source)], Number::Real(elapsed));
        family(&mut encoder, "test_run_seconds", Kind::Gauge, help, [row].into_iter())
    }
}

/// Encodes the numbers of rows that are known, with names that begin with `of`.
fn numbers<'a, T: Described, const N: usize>(
    encoder: &mut DescriptorEncoder,
    of: &str,
    rows: impl Iterator<Item = Row<'a, &'a T, N>> + Clone,
) -> Result<(), Error> {
    // A family without any sample would only be a name.
    let known = |f: &Field<T>| rows.clone().any(|(_, row)| (f.value)(row).is_some());
    let named = |f: &Field<T>| {
        // Values are converted where they are encoded; here only the name.
        let seconds = f.name.strip_suffix("_ns").or_else(|| f.name.strip_suffix("_s"));
        let name = seconds.map_or_else(|| f.name.to_owned(), |stem| format!("{stem}_seconds"));
        known(f).then(|| (format!("{of}_{name}"), f.help().to_owned()))
    };
    families(encoder, named, |_, _| true, rows.clone())
}
