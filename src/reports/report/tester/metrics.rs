//! A report as metrics. Unknown values have no sample.

use std::fmt::Error;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;

use crate::families::{NUMBERS, Row, families, family, scraped};
use ground::described::{Described, Field, Kind, Number};
use tester::report::Report;

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
        let Some(elapsed) = report.elapsed_s else { return Ok(()) };
        let help = "Seconds since the last start of the flows";
        let row = ([("stamps", report.stamps.source)], Number::Real(elapsed));
        family(&mut encoder, ("test_run_seconds", Kind::Gauge, help), [row].into_iter())
    }
}

/// Encodes the numbers of rows that are known, with names that begin with `of`.
fn numbers<'a, T: Described, const N: usize>(
    encoder: &mut DescriptorEncoder,
    of: &str,
    rows: impl Iterator<Item = Row<'a, &'a T, N>> + Clone,
) -> Result<(), Error> {
    let known = |f: &Field<T>| rows.clone().any(|(_, row)| (f.value)(row).is_some());
    let named = |f: &Field<T>| {
        let seconds = f.name.strip_suffix("_ns").or_else(|| f.name.strip_suffix("_s"));
        let name = seconds.map_or_else(|| f.name.to_owned(), |stem| format!("{stem}_seconds"));
        known(f).then(|| (format!("{of}_{name}"), f.help().to_owned()))
    };
    families(encoder, named, |_, _| true, rows.clone())
}
