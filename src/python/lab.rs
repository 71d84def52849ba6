//! Labs: a parsed file, its plan with changes, and its runs.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use config::quantity::Span;
use config::{ConfigError, Machine};
use lab::explore::Axis;
use lab::{LabFile, Options, Outcome, Resolved, World};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use report::Report;

use crate::row::row;
use crate::watch::watched;

/// Changes of a lab before its run.
#[derive(FromPyObject)]
struct Changes {
    /// Variant of the file; the file without its variants if there is none.
    #[pyo3(attribute)]
    variant: Option<String>,
    /// Seed instead of the file's.
    #[pyo3(attribute)]
    seed: Option<u64>,
    /// Seed of the order of simultaneous events.
    #[pyo3(attribute)]
    shuffle: Option<u64>,
    /// Longest run, such as `5ms`, instead of the file's.
    #[pyo3(attribute)]
    duration: Option<String>,
    /// Fields by path, with the text of their values; written after the variant.
    #[pyo3(attribute)]
    set: Vec<(String, String)>,
}

/// A parsed lab file.
#[pyclass(frozen, module = "sluicegate._native")]
pub struct Lab {
    file: LabFile,
}

/// A finished run.
#[pyclass(frozen, module = "sluicegate._native")]
pub struct Run {
    outcome: Outcome,
    /// Duration in seconds of real time.
    wall: f64,
}

/// Error of a file or an argument: all findings, a line each.
fn bad(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Memory of this machine for labs, which does not change.
fn memory() -> Option<u64> {
    static HEAP: OnceLock<Option<u64>> = OnceLock::new();
    *HEAP.get_or_init(|| Machine::this().heap)
}

impl Lab {
    /// Resolves the lab with changes; returns warnings too.
    fn resolve(&self, changes: &Changes) -> PyResult<(Resolved, Vec<String>)> {
        self.resolve_or(changes).map_err(bad)
    }

    fn resolve_or(&self, changes: &Changes) -> Result<(Resolved, Vec<String>), String> {
        let text = |error: ConfigError| error.to_string();
        let duration = changes.duration.as_deref().map(str::parse::<Span>).transpose();
        let duration = duration.map_err(|error| format!("duration: {error}"))?;
        let mut file = self.file.only(changes.variant.as_deref()).map_err(text)?;
        for (path, value) in &changes.set {
            let axis = Axis::new(path, std::slice::from_ref(value))?;
            file.write(&axis, value).map_err(text)?;
        }
        let change = |lab: &mut lab::raw::Lab| {
            lab.seed = changes.seed.unwrap_or(lab.seed);
            lab.shuffle = changes.shuffle.or(lab.shuffle);
            lab.duration = duration.or(lab.duration);
        };
        let (mut resolved, warnings) = file.resolve(None, change).map_err(text)?;
        resolved.plan.variant.clone_from(&changes.variant);
        lab::refuse_memory(self.file.name(), &resolved.plan, memory()).map_err(text)?;
        let name = self.file.name();
        Ok((resolved, warnings.iter().map(|warning| warning.line(name)).collect()))
    }

    /// Runs the lab without the interpreter lock.
    fn run_with(&self, py: Python<'_>, changes: &Changes, plots: bool) -> PyResult<Ran> {
        let (resolved, warnings) = self.resolve(changes)?;
        let start = Instant::now();
        let done = watched(py, |watch| {
            let stop = AtomicBool::new(false);
            let options = Options { plots, slow_down: None, stop: Some(&stop) };
            lab::run(&resolved.plan, World::Virtual, options, |_| {
                if !watch.look() {
                    stop.store(true, Ordering::Relaxed);
                }
            })
        })?;
        let wall = start.elapsed().as_secs_f64();
        let run = done.map_err(|error| match error.is_bad_input() {
            true => bad(error),
            false => PyRuntimeError::new_err(error.to_string()),
        })?;
        Ok(Ran { resolved, warnings, run, wall })
    }
}

/// A run with its plan.
struct Ran {
    resolved: Resolved,
    warnings: Vec<String>,
    run: lab::Run,
    wall: f64,
}

#[pymethods]
impl Lab {
    /// Parses the text of a lab file; `name` is the file's in messages.
    #[new]
    fn new(name: &str, text: &str) -> PyResult<Self> {
        Ok(Self { file: LabFile::parse(name, text).map_err(bad)? })
    }

    /// Names of the variants, in the order of the file.
    #[getter]
    fn variants(&self) -> Vec<String> {
        self.file.variants().map(str::to_owned).collect()
    }

    /// Validates the lab with changes; returns warnings.
    fn check(&self, changes: Changes) -> PyResult<Vec<String>> {
        self.resolve(&changes).map(|(_, warnings)| warnings)
    }

    /// Validates the lab with changes; returns the resolved configuration as JSON, and warnings.
    fn resolved(&self, changes: Changes) -> PyResult<(String, Vec<String>)> {
        let (resolved, warnings) = self.resolve(&changes)?;
        let json = sluice::cli::check::lab_json(&resolved).map_err(bad)?;
        Ok((json, warnings))
    }

    /// Runs the lab with changes; returns the run, and warnings.
    fn run(&self, py: Python<'_>, changes: Changes) -> PyResult<(Run, Vec<String>)> {
        let ran = self.run_with(py, &changes, false)?;
        Ok((Run { outcome: ran.run.outcome, wall: ran.wall }, ran.warnings))
    }

    /// Runs the lab with changes and returns its HTML page; `command` is what the page tells to repeat.
    fn page(&self, py: Python<'_>, changes: Changes, command: &str) -> PyResult<String> {
        let ran = self.run_with(py, &changes, true)?;
        let Some(recording) = &ran.run.recording else {
            return Err(PyRuntimeError::new_err("the run was not recorded"));
        };
        let (plan, outcome) = (&ran.resolved.plan, &ran.run.outcome);
        Ok(report::html(&Report { plan, outcome, recording, command }))
    }
}

#[pymethods]
impl Run {
    /// Worst verdict of the checks: `pass`, `not_judged`, `inconclusive` or `fail`.
    #[getter]
    fn verdict(&self) -> PyResult<String> {
        let json = serde_json::to_value(self.outcome.verdict).map_err(bad)?;
        Ok(json.as_str().unwrap_or_default().to_owned())
    }

    /// Hash of all events, 16 hexadecimal digits.
    #[getter]
    fn trace_hash(&self) -> Option<String> {
        self.outcome.trace_hash.clone()
    }

    /// Duration in seconds of real time.
    #[getter]
    const fn wall(&self) -> f64 {
        self.wall
    }

    /// All results as JSON, as of `sluice run --format json`.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.outcome).map_err(bad)
    }

    /// The key figures as JSON.
    fn figures(&self) -> PyResult<String> {
        serde_json::to_string(&self.outcome.figures).map_err(bad)
    }

    /// The flat row of the run as point `number` of a sweep, with the values of its axes, as JSON.
    fn row(&self, number: u64, axes: Vec<(String, String)>) -> String {
        row(&self.outcome, number, &axes, self.wall)
    }
}
