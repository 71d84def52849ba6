//! Functions that need no lab file.

use ground::verdict::Verdict;
use lab::swarm::{Swarm, run};
use pyo3::exceptions::{PyLookupError, PyValueError};
use pyo3::prelude::*;
use serde_json::Value;

use crate::watch::watched;

/// Calculates a headroom as `sluice headroom calc` does with these arguments; returns its JSON.
#[pyfunction]
pub fn headroom(arguments: Vec<String>) -> PyResult<String> {
    sluice::cli::headroom::calculate(&arguments).map_err(PyValueError::new_err)
}

/// Runs a swarm as `sluice swarm` does; returns its summary as JSON, with the requested `count`.
#[pyfunction]
pub fn swarm(py: Python<'_>, seed: u64, count: u64, jobs: usize) -> PyResult<String> {
    let plan = Swarm { count, seed, jobs };
    let summary = watched(py, |watch| run(plan, |_, _| watch.look()))?;
    let mut json =
        serde_json::to_value(&summary).map_err(|e| PyValueError::new_err(e.to_string()))?;
    json["count"] = count.into();
    json["verdict"] = serde_json::to_value(summary.verdict()).unwrap_or_default();
    Ok(json.to_string())
}

/// Returns the verdict of several runs together, by the rule of every other report.
#[pyfunction]
pub fn verdict_of_all(verdicts: Vec<String>) -> PyResult<&'static str> {
    let named = |name: String| {
        let found = Verdict::ALL.into_iter().find(|verdict| verdict.name() == name);
        found.ok_or_else(|| PyValueError::new_err(format!("{name:?} is no verdict")))
    };
    let verdicts: Vec<Verdict> = verdicts.into_iter().map(named).collect::<Result<_, _>>()?;
    Ok(Verdict::of_all(verdicts).name())
}

/// Finds the value at a path in results as JSON, as `value` checks of lab files do; returns its JSON.
#[pyfunction]
pub fn find(results: &str, path: &str) -> PyResult<String> {
    let all: Value =
        serde_json::from_str(results).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(lab::find(&all, path).map_err(PyLookupError::new_err)?.to_string())
}
