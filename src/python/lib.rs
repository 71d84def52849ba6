//! The extension module of the Python package `sluicegate`.
//!
//! It passes text and JSON across the border and nothing else: the package's Python has the types that
//! users see. Every function that may take longer than a moment releases the interpreter lock, and
//! ends soon after Ctrl-C. Errors of files and arguments are `ValueError`, with line and remedy.

mod study;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use ground::verdict::Verdict;
use lab::swarm::{Swarm, run};
use pyo3::exceptions::{PyLookupError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde_json::Value;

/// The extension module, `sluicegate._native`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::study::{Run, Study};
    #[pymodule_export]
    use super::{find, headroom, swarm, verdict_of_all};

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        ground::program::set_version(sluice::VERSION);
        module.add("VERSION", sluice::VERSION)
    }
}

/// Calculates a headroom as `sluice headroom calc` does with these arguments; returns its JSON.
#[pyfunction]
fn headroom(arguments: Vec<String>) -> PyResult<String> {
    sluice::cli::headroom::calculate(&arguments).map_err(PyValueError::new_err)
}

/// Runs a swarm as `sluice swarm` does; returns its summary as JSON, with the requested `count`.
#[pyfunction]
fn swarm(py: Python<'_>, seed: u64, count: u64, jobs: usize) -> PyResult<String> {
    let plan = Swarm { count, seed, jobs };
    let summary = watched(py, |watch| run(plan, |_, _| watch.goes_on()))?;
    let mut json =
        serde_json::to_value(&summary).map_err(|e| PyValueError::new_err(e.to_string()))?;
    json["count"] = count.into();
    json["verdict"] = serde_json::to_value(summary.verdict()).unwrap_or_default();
    Ok(json.to_string())
}

/// Returns the verdict of several runs together, by the rule of every other report.
#[pyfunction]
fn verdict_of_all(verdicts: Vec<String>) -> PyResult<&'static str> {
    let named = |name: String| {
        let found = Verdict::ALL.into_iter().find(|verdict| verdict.name() == name);
        found.ok_or_else(|| PyValueError::new_err(format!("{name:?} is no verdict")))
    };
    let verdicts: Vec<Verdict> = verdicts.into_iter().map(named).collect::<Result<_, _>>()?;
    Ok(Verdict::of_all(verdicts).name())
}

/// Finds the value at a path in results as JSON, as `value` checks of lab files do; returns its JSON.
#[pyfunction]
fn find(results: &str, path: &str) -> PyResult<String> {
    let all: Value =
        serde_json::from_str(results).map_err(|e| PyValueError::new_err(e.to_string()))?;
    Ok(lab::find(&all, path).map_err(PyLookupError::new_err)?.to_string())
}

/// Period of checks for signals: short for a person, long compared with the cost of a check.
const PERIOD: Duration = Duration::from_millis(50);

/// Checks for signals while work runs without the interpreter lock.
struct Watch {
    checked: Instant,
    raised: Option<PyErr>,
}

impl Watch {
    /// Handles signals that arrived, at most once in a period. Returns false when the work has to end.
    pub fn goes_on(&mut self) -> bool {
        if self.checked.elapsed() >= PERIOD {
            // Python runs its handlers in the main thread alone; elsewhere this does nothing.
            if let Err(error) = Python::attach(|py| py.check_signals()) {
                self.raised.get_or_insert(error);
            }
            self.checked = Instant::now();
        }
        self.raised.is_none()
    }
}

/// Runs `work` without the interpreter lock.
///
/// # Errors
/// The exception of a signal's handler, such as `KeyboardInterrupt`, and `RuntimeError` for a panic.
fn watched<T: Send>(py: Python<'_>, work: impl FnOnce(&mut Watch) -> T + Send) -> PyResult<T> {
    py.detach(|| {
        let mut watch = Watch { checked: Instant::now(), raised: None };
        // State that was unwound over is not read again.
        let done = catch_unwind(AssertUnwindSafe(|| work(&mut watch)));
        match (watch.raised, done) {
            (Some(error), _) => Err(error),
            (None, Ok(done)) => Ok(done),
            (None, Err(panic)) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                let text = text.unwrap_or("without a message");
                Err(PyRuntimeError::new_err(format!("a fault of sluice, please report it: {text}")))
            }
        }
    })
}
