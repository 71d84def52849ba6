//! Files of rows: a JSON object on each line, written as runs end; and the part of the runs that one of
//! several machines has.
//!
//! A line is whole or missing: it is written in one call, and a last line that was cut off, such as by a kill, is
//! removed before others follow.

use core::fmt;
use core::str::FromStr;
use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::Path;

use super::{Row, Study};
use serde::Serialize;
use serde::de::DeserializeOwned;

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
        // A line that was cut off by a kill is not read; `resume` removes it from the file.
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
            // Two rows of a run would count twice in every mean.
            if !known.insert((study, row.n)) {
                return Err(RowError::Twice(line, row.n, row.lab));
            }
            take(study, row);
            Ok(())
        })?;
        // Reading has moved the position of the file, which may also end in part of a line.
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
        // In one call and without a buffer, so a kill between two rows leaves whole lines.
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
    // Another version may give other results for the same lab, and one table would mix both.
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

/// Every `of`th run, from number `part - 1` on: neighbours differ in the last axis alone and take about as
/// long, so parts take about as long as each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    /// Number of the part, from 1 to `of`.
    part: u64,
    /// Number of parts.
    of: u64,
}

/// Most parts. A choice: more than the indices of an array job.
const PARTS_MAX: u64 = 1_000_000;

impl Shard {
    /// All runs: the only part.
    pub const WHOLE: Self = Self { part: 1, of: 1 };

    /// True if the part has a run.
    #[must_use]
    pub const fn has(self, n: u64) -> bool {
        n % self.of == self.part - 1
    }

    /// Returns the number of the part, from 1, and that of all parts.
    #[must_use]
    pub const fn numbers_of_parts(self) -> (u64, u64) {
        (self.part, self.of)
    }

    /// Returns the numbers of the part's runs among `len`.
    pub fn numbers(self, len: u64) -> impl Iterator<Item = u64> + Send {
        (self.part - 1..len).step_by(self.of as usize)
    }

    /// Returns the number of the part's runs among `len`.
    #[must_use]
    pub const fn len_of(self, len: u64) -> u64 {
        // Rounded up where the part's first run is among the remainder.
        (len + self.of - self.part) / self.of
    }

    /// True for all runs.
    #[must_use]
    pub const fn is_whole(self) -> bool {
        self.of == 1
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse::<u64>().ok();
        let parts = text.split_once('/').and_then(|(part, of)| number(part).zip(number(of)));
        match parts {
            Some((part, of)) if (1..=of).contains(&part) && of <= PARTS_MAX => {
                Ok(Self { part, of })
            }
            _ => Err(format!(
                "write the number of the part, from 1, and the number of parts up to {PARTS_MAX}, \
                 such as 1/4"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_every_run_once_and_as_many_as_they_say() {
        for of in 1..9 {
            for len in [0, 1, 7, 8, 100] {
                let mut all = Vec::new();
                for part in 1..=of {
                    let shard: Shard = format!("{part}/{of}").parse().unwrap();
                    let own: Vec<u64> = shard.numbers(len).collect();
                    assert_eq!(own.len() as u64, shard.len_of(len), "{shard} of {len}");
                    assert!(own.iter().all(|n| shard.has(*n)), "{shard} of {len}");
                    all.extend(own);
                }
                all.sort_unstable();
                assert_eq!(all, (0..len).collect::<Vec<_>>(), "{of} parts of {len}");
            }
        }
    }

    #[test]
    fn a_part_is_one_of_the_parts() {
        for bad in ["0/4", "5/4", "1", "1/", "/4", "1/0", "-1/4", "1/4/2", "1/1000001"] {
            assert!(bad.parse::<Shard>().unwrap_err().contains("such as 1/4"), "{bad}");
        }
        assert!("1/1".parse::<Shard>().unwrap().is_whole());
        assert_eq!("3/8".parse::<Shard>().unwrap().to_string(), "3/8");
    }
}
