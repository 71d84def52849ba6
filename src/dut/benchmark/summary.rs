//! Numbers of several runs: means, deviations, and the variation between the first run and the last.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::run::{self, KEYS};

/// A measured number in all runs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Metric {
    /// Table that it is in.
    pub test: String,
    /// Columns that say what the row is about, such as the frame size.
    #[serde(flatten)]
    pub about: BTreeMap<String, String>,
    /// Name of its column.
    pub metric: String,
    /// By run; runs without it are left out.
    pub samples: Vec<f64>,
}

impl Metric {
    /// Returns what the row is about, in the order of the results' columns: their names and values.
    pub fn keys(&self) -> impl Iterator<Item = (&'static str, &str)> {
        KEYS.iter().filter_map(|key| Some((*key, self.about.get(*key)?.as_str())))
    }

    /// Returns the row that it is in, in a few words: `full mesh 64`.
    #[must_use]
    pub fn row(&self) -> String {
        self.keys().map(|(_, value)| value).collect::<Vec<_>>().join(" ")
    }

    #[must_use]
    pub fn mean(&self) -> f64 {
        self.samples.iter().sum::<f64>() / self.samples.len() as f64
    }

    /// Returns the standard deviation of the samples; 0 for one.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        let (mean, count) = (self.mean(), self.samples.len());
        if count < 2 {
            return 0.0;
        }
        let squares: f64 = self.samples.iter().map(|x| (x - mean).powi(2)).sum();
        // Of a sample, hence one degree of freedom less.
        (squares / (count - 1) as f64).sqrt()
    }

    /// Returns the relative standard deviation in percent (RFC 8239, section 1.3); `None` around 0.
    #[must_use]
    pub fn relative_deviation(&self) -> Option<f64> {
        let mean = self.mean();
        (mean != 0.0).then(|| self.deviation() / mean.abs() * 100.0)
    }

    /// Returns the percent variation between the first run and the last: (x2 - x1) / x1 (RFC 8238,
    /// section 2.2); `None` from 0.
    #[must_use]
    pub fn variation(&self) -> Option<f64> {
        let (first, last) = (self.samples.first()?, self.samples.last()?);
        (*first != 0.0).then(|| (last - first) / first * 100.0)
    }
}

/// Returns the numbers of runs, in the order of the first run that has them.
#[must_use]
pub fn metrics(runs: &[Value]) -> Vec<Metric> {
    collected(runs, Value::as_f64)
}

/// Returns the numbers of runs, and their flags as 1 and 0.
pub(crate) fn numbers(runs: &[Value]) -> Vec<Metric> {
    collected(runs, |value| value.as_f64().or_else(|| value.as_bool().map(f64::from)))
}

fn collected(runs: &[Value], number: impl Fn(&Value) -> Option<f64>) -> Vec<Metric> {
    let mut all: Vec<Metric> = Vec::new();
    for run in runs {
        for line in run::lines(run) {
            let text = |value: &Value| match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let key = |name: &&str| Some(((*name).to_owned(), text(line.fields.get(*name)?)));
            let about: BTreeMap<String, String> = KEYS.iter().filter_map(key).collect();
            for (name, value) in &line.fields {
                // A key such as the size is a number, too, but no figure.
                let Some(value) = number(value).filter(|_| !about.contains_key(name)) else {
                    continue;
                };
                // A row is the same in all runs if the columns that say what it is about are.
                let is_same =
                    |m: &&mut Metric| m.test == line.table && m.metric == *name && m.about == about;
                match all.iter_mut().find(is_same) {
                    Some(metric) => metric.samples.push(value),
                    None => all.push(Metric {
                        test: line.table.clone(),
                        about: about.clone(),
                        metric: name.clone(),
                        samples: vec![value],
                    }),
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(rate: f64) -> Value {
        json!({"throughput": [{"size": 64, "frames_per_second": rate}, {"size": 128, "trials": 3}]})
    }

    #[test]
    fn samples_of_runs_are_collected() {
        let all = metrics(&[run(100.0), run(110.0), run(105.0)]);
        assert_eq!(all.len(), 2);
        let rate = &all[0];
        assert_eq!(
            (rate.metric.as_str(), rate.about["size"].as_str()),
            ("frames_per_second", "64")
        );
        assert_eq!(rate.samples, [100.0, 110.0, 105.0]);
        assert_eq!((rate.mean(), rate.deviation(), rate.variation()), (105.0, 5.0, Some(5.0)));
        assert!((rate.relative_deviation().unwrap() - 4.761_904).abs() < 1e-5);
    }

    #[test]
    fn one_run_has_no_deviation_and_zero_no_relative_one() {
        let all = metrics(&[run(0.0)]);
        assert_eq!((all[0].deviation(), all[0].relative_deviation()), (0.0, None));
        assert_eq!(all[0].variation(), None);
    }
}
