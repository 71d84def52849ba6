//! The file of `--rows`.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use serde::Serialize;

use super::RunArgs;
use crate::cli::outputs::Outputs;
use crate::cli::{bad_input, quoted};
use crate::lab::study::{Row, RowError, RowFile, Study};

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
        let Some(path) = path else { return Ok(Self { open: None, failed: None }) };
        outputs.claim("--rows", path)?;
        let file = RowFile::begin(path).map_err(|error| refused(path, error))?;
        Ok(Self { open: Some((file, path.to_owned())), failed: None })
    }

    /// Does the same for the file of the arguments.
    pub(super) fn begin(args: &RunArgs, outputs: &mut Outputs) -> Result<Self> {
        Self::new(args.rows.as_deref(), outputs)
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
