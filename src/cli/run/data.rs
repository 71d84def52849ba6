//! The files that several runs share: the data sets of `--csv` and `--parquet`, and the rows of `--rows`.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, anyhow};
use report::data::{DataError, DataSet, Format, MOMENTS_MAX, series_bytes_max};
use serde::Serialize;

use super::RunArgs;
use crate::cli::outputs::Outputs;
use crate::cli::terminal::say;
use crate::cli::{bad_input, quoted};
use crate::lab::study::{Row, RowError, RowFile, Study, Sweep};
use crate::lab::{LabPlan, Options, Run};
use ::text::scaled;

/// Size of series from which on it is reported before the run.
const SIZE_REPORTED: u64 = 100 << 20;

/// Data sets that runs are added to, from any thread: the lines of a run stand together. After the first
/// error they have no further runs.
pub(super) struct Sets(Mutex<State>);

#[derive(Default)]
struct State {
    open: Vec<DataSet>,
    has_series: bool,
    failed: Option<DataError>,
}

impl Sets {
    /// Creates the folders of the arguments.
    ///
    /// # Errors
    /// Bad input: a file is there already, or the folder cannot be written.
    pub(super) fn create(args: &RunArgs, studies: &[Study], has_series: bool) -> Result<Self> {
        let mut axes: Vec<(String, bool)> = Vec::new();
        for column in studies.iter().filter_map(Study::sweep).flat_map(Sweep::columns) {
            match axes.iter_mut().find(|(path, _)| path == column.key) {
                // A column has one type: text if any study has text there.
                Some((_, is_number)) => *is_number &= column.is_number,
                None => axes.push((column.key.to_owned(), column.is_number)),
            }
        }
        let wanted = [
            ("--csv", &args.csv, Format::Csv),
            #[cfg(feature = "parquet")]
            ("--parquet", &args.parquet, Format::Parquet),
        ];
        let mut open = Vec::new();
        for (option, folder, format) in wanted {
            let Some(folder) = folder else { continue };
            Outputs::folder(option, folder)?;
            let set = DataSet::create(folder, format, axes.clone());
            let set = set.map_err(|error| bad_input(anyhow!("{option} {error}")))?;
            open.push(if has_series { set } else { set.without_series() });
        }
        Ok(Self(Mutex::new(State { open, failed: None, has_series })))
    }

    /// Says how large the series may become, if that is much.
    pub(super) fn say_size<'a>(&self, plans: impl Iterator<Item = &'a LabPlan>, runs: u64) {
        let state = self.lock();
        if state.open.is_empty() || !state.has_series {
            return;
        }
        // An upper limit: the largest run stands for all.
        let largest = plans.map(series_bytes_max).max().unwrap_or(0);
        let most = largest.saturating_mul(runs);
        if most >= SIZE_REPORTED {
            let of_runs = if runs == 1 { String::new() } else { format!(" of {runs} runs") };
            say!(
                "series.csv{of_runs} may take up to {}; only changes are written",
                scaled(most as f64, "B")
            );
        }
    }

    /// Returns the options of a run: with plots, and samples in more detail, if data is written.
    pub(super) fn options<'a>(&self, args: &RunArgs, stop: &'a AtomicBool) -> Options<'a> {
        // The lock ends here, before a run needs it.
        let (has_data, has_series) = {
            let state = self.lock();
            (!state.open.is_empty(), state.has_series)
        };
        Options {
            plots: args.report.is_some() || has_data,
            // More samples only where a table of series has use for them.
            moments: (has_data && has_series).then_some(MOMENTS_MAX),
            slow_down: args.slow_down,
            threads: args.threads,
            stop: Some(stop),
        }
    }

    /// Adds a finished run; [`Self::close`] returns an error.
    pub(super) fn add(&self, row: &Row, plan: &LabPlan, run: &Run) {
        let state = &mut *self.lock();
        for set in &mut state.open {
            if let Err(error) = set.add(row, plan, run) {
                state.failed = Some(error);
            }
        }
        if state.failed.is_some() {
            // A set without one of its runs would look complete.
            state.open.clear();
        }
    }

    /// Ends the files.
    ///
    /// # Errors
    /// A line could not be written.
    pub(super) fn close(self) -> Result<()> {
        let state = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = state.failed {
            return Err(error.into());
        }
        Ok(state.open.into_iter().try_for_each(DataSet::close)?)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file of rows, if there is one. After the first error it has no further rows.
pub(in crate::cli) struct Rows {
    open: Option<(RowFile, PathBuf)>,
    failed: Option<anyhow::Error>,
}

fn refused(path: &Path, error: RowError) -> anyhow::Error {
    bad_input(anyhow!("--rows {}: {error}", quoted(path)))
}

impl Rows {
    /// Opens a file that has no rows yet.
    ///
    /// # Errors
    /// Bad input: the file cannot be written, has rows, or has another use.
    pub(in crate::cli) fn new(path: Option<&Path>, outputs: &mut Outputs) -> Result<Self> {
        Self::open(path, outputs, refused)
    }

    /// Does the same for the file of the arguments, whose rows a later command can go on with.
    pub(super) fn begin(args: &RunArgs, outputs: &mut Outputs) -> Result<Self> {
        Self::open(args.rows.as_deref(), outputs, |path, error| match error {
            RowError::There => {
                let what = "it has rows; go on with them by --resume, or give another file";
                bad_input(anyhow!("--rows {}: {what}", quoted(path)))
            }
            other => refused(path, other),
        })
    }

    fn open(
        path: Option<&Path>,
        outputs: &mut Outputs,
        wrong: impl FnOnce(&Path, RowError) -> anyhow::Error,
    ) -> Result<Self> {
        let Some(path) = path else { return Ok(Self { open: None, failed: None }) };
        outputs.claim("--rows", path)?;
        let file = RowFile::begin(path).map_err(|error| wrong(path, error))?;
        Ok(Self { open: Some((file, path.to_owned())), failed: None })
    }

    /// Opens the file of the arguments to go on with it, and hands over its rows, each with the number of
    /// its study.
    ///
    /// # Errors
    /// Bad input: as of [`Self::new`], or rows of other labs.
    pub(super) fn resume(
        args: &RunArgs,
        outputs: &mut Outputs,
        studies: &[Study],
        take: impl FnMut(usize, Row),
    ) -> Result<Self> {
        // The parser allows --resume only with --rows.
        let Some(path) = args.rows.as_deref() else { return Self::begin(args, outputs) };
        outputs.claim("--rows", path)?;
        let file = RowFile::resume(path, studies, take).map_err(|error| refused(path, error))?;
        Ok(Self { open: Some((file, path.to_owned())), failed: None })
    }

    /// True if there is a file.
    pub(super) const fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Adds a row; [`Self::close`] returns an error. Returns false once the file cannot be written.
    pub(in crate::cli) fn add(&mut self, row: &impl Serialize) -> bool {
        if let Some((file, path)) = &mut self.open {
            if let Err(error) = file.add(row) {
                let context = format!("writing {}", quoted(path));
                self.failed = Some(anyhow::Error::from(error).context(context));
                // A file whose last row is cut must not get another one behind it.
                self.open = None;
            }
        }
        self.failed.is_none()
    }

    /// Ends the file.
    ///
    /// # Errors
    /// A row could not be written.
    pub(in crate::cli) fn close(self) -> Result<()> {
        self.failed.map_or(Ok(()), Err)
    }
}
