//! Numbers of a run's results that an exploration makes small or large.

use serde::Serialize;

use crate::Outcome;
use crate::study;
use labrun::find;

/// Direction in which results are better.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sense {
    Minimize,
    Maximize,
}

/// A number of the results.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Objective {
    pub name: String,
    pub sense: Sense,
    /// Unit, `ns`, `b/s`, `B`, or none.
    pub unit: &'static str,
    #[serde(skip)]
    source: Source,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Source {
    /// The 99th percentile of completion times of messages, else the largest of the flows' latencies.
    P99,
    /// Received bytes of all flows over the time of the run.
    Throughput,
    /// XOFF crossings of groups.
    Pauses,
    /// Largest use of a switch's buffer.
    Buffer,
    /// A number by its path.
    Path(String),
}

impl Objective {
    /// Short completion times, much throughput, few pauses, little buffer.
    #[must_use]
    pub fn standard() -> Vec<Self> {
        let one = |name: &str, sense, unit, source| Self { name: name.into(), sense, unit, source };
        vec![
            one("p99", Sense::Minimize, "ns", Source::P99),
            one("rate", Sense::Maximize, "b/s", Source::Throughput),
            one("pauses", Sense::Minimize, "", Source::Pauses),
            one("buffer", Sense::Minimize, "B", Source::Buffer),
        ]
    }

    /// Returns the number at a path in the results, as `value` checks have it.
    #[must_use]
    pub fn at(path: &str, sense: Sense) -> Self {
        let name = path.rsplit('.').next().unwrap_or(path).to_owned();
        let unit = match () {
            () if path.ends_with("_ns") => "ns",
            () if path.ends_with("_bps") => "b/s",
            () if path.ends_with("_bytes") => "B",
            () => "",
        };
        Self { name, sense, unit, source: Source::Path(path.to_owned()) }
    }

    /// Returns the number in the results of a run; `None` if the run has none.
    ///
    /// # Errors
    /// The results do not have the path, or no number there.
    pub fn of(&self, outcome: &Outcome) -> Result<Option<f64>, String> {
        Ok(match &self.source {
            Source::P99 => {
                let fct = outcome.figures.fct.map(|fct| fct.p99_ns.as_nanos_f64());
                fct.or_else(|| study::latency(outcome))
            }
            Source::Throughput => study::rate(outcome),
            Source::Pauses => Some(outcome.pauses.xoffs as f64),
            Source::Buffer => Some(outcome.figures.buffer_peak_bytes as f64),
            Source::Path(path) => {
                let tree = serde_json::to_value(outcome).expect("results are JSON");
                let value = find(&tree, path)?;
                if !value.is_null() && !value.is_number() {
                    return Err(format!("`{path}` is no number in the results"));
                }
                value.as_f64()
            }
        })
    }
}
