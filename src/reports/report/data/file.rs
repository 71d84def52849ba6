//! The file of a table.

use std::io;

/// A value of a table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Cell<'a> {
    Text(&'a str),
    Whole(u64),
    Number(f64),
    Truth(bool),
    Unknown,
}

/// A file of one table.
pub(crate) trait File: Send {
    /// Adds a line, with a value for each column.
    fn line(&mut self, cells: &[Cell<'_>]) -> io::Result<()>;

    /// Ends the file.
    fn close(self: Box<Self>) -> io::Result<()>;
}
