//! A table as CSV.

use std::fs::File as OsFile;
use std::io::{self, BufWriter};
use std::path::Path;

use super::file::{Cell, File};
use super::tables::Column;

/// A file that is being written.
pub(super) struct CsvFile(csv::Writer<BufWriter<OsFile>>);

impl CsvFile {
    /// Creates the file with its head.
    pub(super) fn create(path: &Path, columns: &[Column]) -> io::Result<Self> {
        let file = BufWriter::new(OsFile::create_new(path)?);
        let mut writer = csv::Writer::from_writer(file);
        writer.write_record(columns.iter().map(|column| column.name.as_bytes()))?;
        Ok(Self(writer))
    }
}

impl File for CsvFile {
    fn line(&mut self, cells: &[Cell<'_>]) -> io::Result<()> {
        for cell in cells {
            match cell {
                Cell::Text(text) => self.0.write_field(text),
                Cell::Whole(n) => self.0.write_field(n.to_string()),
                Cell::Number(n) => self.0.write_field(n.to_string()),
                Cell::Truth(true) => self.0.write_field("true"),
                Cell::Truth(false) => self.0.write_field("false"),
                Cell::Unknown => self.0.write_field(""),
            }?;
        }
        Ok(self.0.write_record(None::<&[u8]>)?)
    }

    fn close(mut self: Box<Self>) -> io::Result<()> {
        self.0.flush()
    }
}
