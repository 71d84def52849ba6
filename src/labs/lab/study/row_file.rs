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

use super::{Part, Row, Study};
use ground::printable;
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
    #[error("it has rows; give another file")]
    There,
}

/// A file to which rows are added.
#[derive(Debug)]
pub struct RowFile {
    file: File,
}

/// Hands over the lines of a file one by one, each with its number, from 1. Returns the part of a line at the
/// end, which a kill cut off; it is empty for a whole file.
///
/// # Errors
/// The file cannot be read, or `take` refuses a line.
pub fn each_line<E: From<io::Error>>(
    file: &File,
    mut take: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<Vec<u8>, E> {
    let (mut reader, mut line) = (BufReader::new(file), Vec::new());
    for n in 1.. {
        line.clear();
        reader.read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            break;
        }
        take(n, &line)?;
    }
    Ok(line)
}

/// Hands over the rows of a file as [`each_line`] does its lines; empty lines are none.
///
/// # Errors
/// The file cannot be read, a line is no row, or `take` refuses one.
pub fn each_row<R: DeserializeOwned>(
    file: &File,
    mut take: impl FnMut(u64, R) -> Result<(), RowError>,
) -> Result<Vec<u8>, RowError> {
    each_line(file, |n, line| {
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let row = serde_json::from_slice(line);
        take(n, row.map_err(|error| RowError::Line(n, printable::json_error(&error)))?)
    })
}

impl RowFile {
    /// Begins a file, which has no rows yet.
    ///
    /// # Errors
    /// The file cannot be written, or has rows.
    pub fn begin(path: &Path) -> Result<Self, RowError> {
        let file = open(path).or_else(|error| match error.kind() {
            // A pipe that is only for writing.
            io::ErrorKind::PermissionDenied => OpenOptions::new().write(true).open(path),
            _ => Err(error),
        })?;
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
        let mut known = HashSet::new();
        let take = |line, mut row: Row| {
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
        };
        Self::go_on(path, |file| each_row(file, take))
    }

    /// Opens a file of lines to go on with it; a file that is not there has none. `read` gets what it has by
    /// [`each_line`] and returns the part of a line at the end, which is removed.
    ///
    /// # Errors
    /// The file cannot be read or written, or `read` refuses it.
    pub fn go_on<E: From<io::Error>>(
        path: &Path,
        read: impl FnOnce(&File) -> Result<Vec<u8>, E>,
    ) -> Result<Self, E> {
        let mut file = open(path)?;
        let cut = read(&file)?;
        // A pipe or a device has no length.
        if file.metadata()?.is_file() {
            let whole = file.stream_position()? - cut.len() as u64;
            file.set_len(whole)?;
            file.seek(SeekFrom::Start(whole))?;
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

    /// Has all lines on the disk when it returns.
    ///
    /// # Errors
    /// The disk fails.
    pub fn sync(&self) -> io::Result<()> {
        match self.file.sync_data() {
            // A pipe or a special file has no disk.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            other => other,
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
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

    /// Returns the part as results have it, of a study of `runs`; `None` for all runs.
    #[must_use]
    pub fn part(self, runs: u64) -> Option<Part> {
        (!self.is_whole()).then_some(Part { part: self.part, parts: self.of, runs })
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
