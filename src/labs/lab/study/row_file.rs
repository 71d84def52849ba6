//! Files of rows: a JSON object on each line, written as runs end.
//!
//! A line is whole or missing: it is written in one call, and a last line that was cut off, such as by a
//! kill, is removed before others follow.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Row, Study};

/// The reason why a file of rows cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RowError {
    #[error(transparent)]
    File(#[from] io::Error),
    #[error("line {0} is no row: {1}; give a file that --rows wrote")]
    Line(u64, String),
    #[error("line {0} is of {1}; give another file")]
    Foreign(u64, String),
    #[error("line {0} has run {1} of {2} again; leave out one of the lines")]
    Twice(u64, u64, String),
    #[error("it has rows; go on with them by --resume, or give another file")]
    There,
}

/// A file to which rows are added.
#[derive(Debug)]
pub struct RowFile {
    file: File,
}

/// Reads the rows of a file one by one, each with the number of its line, from 1. Returns the length of
/// all whole lines in bytes: a last line without a line end is not read.
///
/// # Errors
/// The file cannot be read, a line is no row, or `take` refuses one.
pub fn each_row<R: DeserializeOwned>(
    file: &File,
    mut take: impl FnMut(u64, R) -> Result<(), RowError>,
) -> Result<u64, RowError> {
    let mut reader = BufReader::new(file);
    let (mut line, mut whole) = (Vec::new(), 0);
    for n in 1.. {
        line.clear();
        let len = reader.read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            break;
        }
        whole += len as u64;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let row = serde_json::from_slice(&line);
        take(n, row.map_err(|error| RowError::Line(n, error.to_string()))?)?;
    }
    Ok(whole)
}

impl RowFile {
    /// Begins a file, which has no rows yet.
    ///
    /// # Errors
    /// The file cannot be written, or has rows.
    pub fn begin(path: &Path) -> Result<Self, RowError> {
        let file = open(path)?;
        let meta = file.metadata()?;
        // A pipe or a device has no length.
        if meta.is_file() && meta.len() > 0 {
            return Err(RowError::There);
        }
        Ok(Self { file })
    }

    /// Opens a file of rows of these studies, to go on with it. Hands over each row with the number of its
    /// study; a file that is not there has none.
    ///
    /// # Errors
    /// The file cannot be read or written, or has a row of another lab or another version, or two rows of
    /// a run.
    pub fn resume(
        path: &Path,
        studies: &[Study],
        mut take: impl FnMut(usize, Row),
    ) -> Result<Self, RowError> {
        let mut file = open(path)?;
        let mut known = HashSet::new();
        let whole = each_row(&file, |line, mut row: Row| {
            let study = study_of(&row, studies).map_err(|what| RowError::Foreign(line, what))?;
            // A line has the seed once, also where it is an axis.
            row.axes =
                studies[study].run(row.n).point.map_or_else(Vec::new, |point| point.fields());
            if !known.insert((study, row.n)) {
                return Err(RowError::Twice(line, row.n, row.lab));
            }
            take(study, row);
            Ok(())
        })?;
        if file.metadata()?.is_file() {
            file.set_len(whole)?;
            file.seek(SeekFrom::End(0))?;
        }
        Ok(Self { file })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, row: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(row)?;
        line.push(b'\n');
        self.file.write_all(&line)
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create(true).truncate(false).open(path);
    match file {
        // A pipe that is only for writing.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            OpenOptions::new().write(true).open(path)
        }
        other => other,
    }
}

/// Returns the number of the study of a row, or a description of the row's study.
fn study_of(row: &Row, studies: &[Study]) -> Result<usize, String> {
    let version = ground::program::version();
    if row.version != version {
        return Err(format!("version {} of Sluice, and this is {version}", row.version));
    }
    let is_own = |study: &Study| study.digest() == row.study && study.len() == row.runs;
    let study = studies.iter().position(is_own).ok_or_else(|| {
        format!(
            "lab {} with another text, other input files or other options (digest {})",
            row.lab, row.study
        )
    })?;
    let own = studies[study].run(row.n.min(row.runs - 1));
    if row.n >= row.runs || own.point_name() != row.point {
        return Err(format!("run {} ({}), which the lab does not have", row.n, row.point));
    }
    Ok(study)
}
