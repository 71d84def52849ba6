//! Studies: the runs of a lab file with its variants and a sweep.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use config::Machine;
use config::quantity::Span;
use lab::study::{self, Changes, Row};
use lab::{LabFile, Options, Outcome, Resolved, World};
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use report::Report;

use crate::watched;

/// The runs of a lab.
#[pyclass(frozen, module = "sluicegate._native")]
pub struct Study {
    study: study::Study,
}

/// A finished run.
#[pyclass(frozen, module = "sluicegate._native")]
pub struct Run {
    outcome: Outcome,
    row: Row,
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

fn fits(file: &LabFile, resolved: &Resolved) -> Result<(), config::ConfigError> {
    lab::refuse_memory(file.name(), &resolved.plan, memory())
}

/// A run with its plan.
struct Ran {
    resolved: Resolved,
    warnings: Vec<String>,
    run: lab::Run,
    took: Duration,
}

impl Study {
    fn resolve(&self, n: u64) -> PyResult<(Resolved, Vec<String>)> {
        // As for a Python sequence.
        if n >= self.study.len() {
            let text = format!("there is no run {n}; the lab has {}", self.study.len());
            return Err(PyIndexError::new_err(text));
        }
        let (resolved, warnings) = self.study.resolve(n).map_err(bad)?;
        let file = self.study.file();
        fits(file, &resolved).map_err(bad)?;
        Ok((resolved, warnings.iter().map(|warning| warning.line(file.name())).collect()))
    }

    /// Runs a run without the interpreter lock.
    fn ran(&self, py: Python<'_>, n: u64, plots: bool) -> PyResult<Ran> {
        // Resolving is part of the time.
        let begun = Instant::now();
        let (resolved, warnings) = self.resolve(n)?;
        let done = watched(py, |watch| {
            let stop = AtomicBool::new(false);
            let options = Options { plots, stop: Some(&stop), ..Options::default() };
            lab::run(&resolved.plan, World::Virtual, options, |_| {
                // Ctrl-C ends the run in order; `watched` raises the exception afterwards.
                if !watch.goes_on() {
                    stop.store(true, Ordering::Relaxed);
                }
            })
        })?;
        let run = done.map_err(|error| match error.is_bad_input() {
            true => bad(error),
            false => PyRuntimeError::new_err(error.to_string()),
        })?;
        Ok(Ran { resolved, warnings, run, took: begun.elapsed() })
    }
}

#[pymethods]
impl Study {
    /// Parses the text of a lab file, whose `name` messages have. `sweep` is used instead of the file's,
    /// `fields` are written after the variant.
    #[new]
    fn new(
        name: &str,
        text: &str,
        sweep: Option<&str>,
        fields: Vec<(String, String)>,
        seed: Option<u64>,
        shuffle: Option<u64>,
        duration: Option<&str>,
    ) -> PyResult<Self> {
        let duration = duration.map(str::parse::<Span>).transpose();
        let duration = duration.map_err(|error| bad(format!("duration: {error}")))?;
        let mut file =
            LabFile::parse(name, text).and_then(|f| f.with_fields(&fields)).map_err(bad)?;
        if let Some(sweep) = sweep {
            file = file.with_sweep(sweep).map_err(bad)?;
        }
        let changes = Changes { seed, shuffle, duration, ..Changes::default() };
        let study = study::Study::new(file, changes).map_err(bad)?;
        Ok(Self { study })
    }

    /// Names of the variants, in the order of the file.
    #[getter]
    fn variants(&self) -> Vec<String> {
        self.study.file().variants().map(str::to_owned).collect()
    }

    /// Number of points of the sweep, of which each variant has all; `None` without a sweep.
    #[getter]
    fn points(&self) -> Option<u64> {
        self.study.sweep().map(study::Sweep::len)
    }

    /// Validates at most about `most` runs, in which all values occur; returns warnings.
    fn check(&self, py: Python<'_>, most: u64) -> PyResult<Vec<String>> {
        let file = self.study.file();
        let checked = watched(py, |_| self.study.check(most, 1, |resolved| fits(file, resolved)))?;
        let (_, warnings) = checked.map_err(bad)?;
        Ok(warnings.iter().map(|warning| warning.line(file.name())).collect())
    }

    /// Validates a run; returns the resolved configuration as JSON, and warnings.
    fn resolved(&self, n: u64) -> PyResult<(String, Vec<String>)> {
        let (resolved, warnings) = self.resolve(n)?;
        // The same JSON as of `sluice check`, which documents it.
        let json = sluice::cli::check::lab_json(&resolved).map_err(bad)?;
        Ok((json, warnings))
    }

    /// Runs a run; returns it, and warnings.
    fn run(&self, py: Python<'_>, n: u64) -> PyResult<(Run, Vec<String>)> {
        let Ran { resolved, warnings, run, took } = self.ran(py, n, false)?;
        let row = Row::new(&run.outcome, took).with_headroom(&resolved);
        Ok((Run { row: self.study.named(n, row), outcome: run.outcome }, warnings))
    }

    /// Runs a run and returns its HTML page; `command` is what the page tells to repeat.
    fn page(&self, py: Python<'_>, n: u64, command: &str) -> PyResult<String> {
        let Ran { resolved, run, .. } = self.ran(py, n, true)?;
        let Some(recording) = &run.recording else {
            return Err(PyRuntimeError::new_err("the run was not recorded"));
        };
        let (plan, outcome) = (&resolved.plan, &run.outcome);
        Ok(report::html(&Report { plan, outcome, recording, command }))
    }

    /// A complete lab file of a run.
    fn lab_file(&self, n: u64) -> PyResult<String> {
        self.resolve(n)?;
        self.study.lab_file(n).map_err(bad)
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

    /// Duration in ms of real time.
    #[getter]
    const fn wall_ms(&self) -> f64 {
        self.row.wall_ms
    }

    /// All results as JSON, as of `sluice run --format json`.
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.outcome).map_err(bad)
    }

    /// The key figures as JSON.
    fn figures(&self) -> PyResult<String> {
        serde_json::to_string(&self.outcome.figures).map_err(bad)
    }

    /// The row of the run as JSON, as of `sluice run --rows`.
    fn row(&self) -> PyResult<String> {
        serde_json::to_string(&self.row).map_err(bad)
    }
}
