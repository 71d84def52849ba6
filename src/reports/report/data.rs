//! Results of labs as tables for programs: one folder with a file for each table, as CSV or as Parquet.
//!
//! Tables are in long form: a line for each run, flow, message, or value of a series. The column `n` is the number of
//! the run in its lab, by which tables are joined. What is not known is empty in CSV and null in Parquet, never 0.

mod fill;
#[cfg(feature = "parquet")]
mod parquet_file;
mod tables;

pub(crate) use tables::flow_columns;

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::fs::{self, File as OsFile};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

#[cfg(feature = "parquet")]
use parquet_file::ParquetFile;

use lab::study::Row;
use lab::{LabPlan, Run};
use tables::{KEYS, TABLES, Table};
use text::{Cell, Field};

/// Most samples of queues, rates and marks of a run with data. A choice: a lab of 500 series takes 40 MB while it runs.
pub const MOMENTS_MAX: usize = 20_000;

/// Bytes of a line of series in CSV, about.
const LINE: u64 = 70;

/// Returns the most bytes that the series of a run take as CSV, about: each sample of each queue, group and flow
/// has another value than the one before.
#[must_use]
pub fn series_bytes_max(plan: &LabPlan) -> u64 {
    let hops =
        plan.flows.iter().flat_map(|flow| flow.way.iter().map(|line| (*line, flow.priority)));
    let hops: BTreeSet<_> = hops.map(|(line, priority)| (line.0, priority.get())).collect();
    // A queue and a group for each, and the marks of the queue.
    // Each hop has a series of its queue, of its group and of its marks; each flow one of its rate.
    let series = hops.len() as u64 * 3 + plan.flows.len() as u64;
    series.saturating_mul(MOMENTS_MAX as u64).saturating_mul(LINE)
}

/// Format of the files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Comma-separated values with a head (RFC 4180).
    Csv,
    /// Apache Parquet, compressed with Snappy.
    #[cfg(feature = "parquet")]
    Parquet,
}

/// Reason why a data set could not be written.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// The file is there already.
    #[error("{0}: the file is there already; name another folder, or remove it")]
    Exists(PathBuf),
    /// The file and the error.
    #[error("{0}: {1}")]
    Io(PathBuf, io::Error),
}

/// Files of all tables in a folder. A file begins with its first line; tables without lines have none but `runs`.
pub struct DataSet {
    folder: PathBuf,
    format: Format,
    /// Paths of the sweep's axes, and true for those whose values are numbers.
    axes: Vec<(String, bool)>,
    /// False without the table of series.
    has_series: bool,
    /// By the name of their table.
    files: BTreeMap<&'static str, Box<dyn File>>,
}

impl core::fmt::Debug for DataSet {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("DataSet").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl DataSet {
    /// Creates the folder if it is missing, in one that is there. `axes` are the axes of the sweep by
    /// path, true for those of numbers: a column each in the table of runs.
    ///
    /// # Errors
    /// A file of a table is there already, or the folder cannot be created.
    pub fn create(
        folder: &Path,
        format: Format,
        axes: Vec<(String, bool)>,
    ) -> Result<Self, DataError> {
        if !folder.exists() {
            // Only the last folder is made: a path with a slip in the middle is refused.
            fs::create_dir(folder).map_err(|error| DataError::Io(folder.to_owned(), error))?;
        }
        let (folder, files) = (folder.to_owned(), BTreeMap::new());
        let set = Self { folder, format, axes, has_series: true, files };
        match TABLES.iter().map(|table| set.path(table)).find(|path| path.exists()) {
            Some(path) => Err(DataError::Exists(path)),
            None => Ok(set),
        }
    }

    /// Leaves out the table of series, which is larger than all others together.
    #[must_use]
    pub fn without_series(self) -> Self {
        Self { has_series: false, ..self }
    }

    /// Returns the path of a table's file.
    fn path(&self, table: &str) -> PathBuf {
        let extension = match self.format {
            Format::Csv => "csv",
            #[cfg(feature = "parquet")]
            Format::Parquet => "parquet",
        };
        self.folder.join(format!("{table}.{extension}"))
    }

    /// Adds a finished run, which was made with plots.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn add(&mut self, row: &Row, plan: &LabPlan, run: &Run) -> Result<(), DataError> {
        // Cloned, as writing a line borrows the whole set.
        let axes = self.axes.clone();
        let cells = tables::runs(&axes).iter().map(|field| row.cell(field.name)).collect();
        self.line("runs", || tables::runs(&axes), cells)?;
        self.lines(&tables::flows(), row, &run.outcome.flows)?;
        self.lines(&tables::messages(), row, fill::messages(run))?;
        self.lines(&tables::hops(), row, &run.outcome.figures.hops)?;
        if let Some(recording) = &run.recording {
            // Pauses are few, and stay without the series.
            if self.has_series {
                self.lines(&tables::series(), row, fill::series(plan, recording))?;
            }
            self.lines(&tables::pauses(), row, fill::pauses(plan, recording))?;
        }
        Ok(())
    }

    /// Adds a line of a table for each of these.
    fn lines<T>(
        &mut self,
        table: &Table<T>,
        row: &Row,
        things: impl IntoIterator<Item: Borrow<T>>,
    ) -> Result<(), DataError> {
        for thing in things {
            let thing: &T = thing.borrow();
            let own = table.columns().map(|column| column.cell(thing));
            let cells = KEYS.iter().map(|key| key.cell(row)).chain(own).collect();
            self.line(table.name, || table.fields(), cells)?;
        }
        Ok(())
    }

    fn line<'a>(
        &mut self,
        table: &'static str,
        fields: impl FnOnce() -> Vec<Field<'a>>,
        cells: Vec<Cell<'_>>,
    ) -> Result<(), DataError> {
        let path = self.path(table);
        // Created with the first line: a lab without messages leaves no empty file of them.
        let written = match self.files.entry(table) {
            Entry::Occupied(file) => file.into_mut().line(&cells),
            Entry::Vacant(place) => {
                let file: io::Result<Box<dyn File>> = match self.format {
                    Format::Csv => {
                        CsvFile::create(&path, &fields()).map(|file| Box::new(file) as _)
                    }
                    #[cfg(feature = "parquet")]
                    Format::Parquet => {
                        ParquetFile::create(&path, &fields()).map(|file| Box::new(file) as _)
                    }
                };
                file.and_then(|file| place.insert(file).line(&cells))
            }
        };
        written.map_err(|error| DataError::Io(path, error))
    }

    /// Ends all files.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn close(mut self) -> Result<(), DataError> {
        for (table, file) in core::mem::take(&mut self.files) {
            file.close().map_err(|error| DataError::Io(self.path(table), error))?;
        }
        Ok(())
    }
}

/// A file of one table.
trait File: Send {
    /// Adds a line, with a value for each column.
    fn line(&mut self, cells: &[Cell<'_>]) -> io::Result<()>;

    /// Ends the file.
    fn close(self: Box<Self>) -> io::Result<()>;
}

/// A file that is being written.
struct CsvFile(csv::Writer<BufWriter<OsFile>>);

impl CsvFile {
    /// Creates the file with its head.
    fn create(path: &Path, fields: &[Field<'_>]) -> io::Result<Self> {
        // Never over a file that is there, even if it came after the check.
        let file = BufWriter::new(OsFile::create_new(path)?);
        let mut writer = csv::Writer::from_writer(file);
        writer.write_record(fields.iter().map(|field| field.name.as_bytes()))?;
        Ok(Self(writer))
    }
}

impl File for CsvFile {
    fn line(&mut self, cells: &[Cell<'_>]) -> io::Result<()> {
        for cell in cells {
            match cell {
                Cell::Text(text) => self.0.write_field(text.as_bytes()),
                Cell::Whole(n) => self.0.write_field(n.to_string()),
                Cell::Number(n) => self.0.write_field(n.to_string()),
                Cell::Time(time) => self.0.write_field(time.as_nanos_f64().to_string()),
                Cell::Truth(true) => self.0.write_field("true"),
                Cell::Truth(false) => self.0.write_field("false"),
                // Empty, never 0.
                Cell::Unknown => self.0.write_field(""),
            }?;
        }
        Ok(self.0.write_record(None::<&[u8]>)?)
    }

    fn close(mut self: Box<Self>) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests;
