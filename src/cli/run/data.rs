//! The data sets of `--csv` and `--parquet`.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, anyhow};
use report::data::{DataError, DataSet, Format, MOMENTS_MAX, series_bytes_max};

use super::args::RunArgs;
use crate::cli::bad_input;
use crate::cli::outputs::Outputs;
use crate::cli::terminal::say;
use crate::lab::study::{Row, Study, Sweep};
use crate::lab::{LabPlan, Options, Run};
use ::text::scaled;

/// Least size of series that is told before the run.
const SIZE_TOLD: u64 = 100 << 20;

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
        let largest = plans.map(series_bytes_max).max().unwrap_or(0);
        let most = largest.saturating_mul(runs);
        if most >= SIZE_TOLD {
            let of = if runs == 1 { String::new() } else { format!(" of {runs} runs") };
            say!(
                "series.csv{of} may take up to {}; only changes are written",
                scaled(most as f64, "B")
            );
        }
    }

    /// Returns the options of a run: with plots, and samples in more detail, if data is written.
    pub(super) fn options<'a>(&self, args: &RunArgs, stop: &'a AtomicBool) -> Options<'a> {
        let (has_data, has_series) = {
            let state = self.lock();
            (!state.open.is_empty(), state.has_series)
        };
        Options {
            plots: args.report.is_some() || has_data,
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
