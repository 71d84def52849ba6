//! Aligned text tables for terminals and files.

use std::borrow::Cow;
use std::fmt;

use ground::printable;

/// The alignment of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// For words.
    Left,
    /// For numbers.
    Right,
}

/// A table with a head. Columns are as wide as their widest cell and separated by two spaces.
#[derive(Clone, Debug)]
pub struct Table {
    head: Vec<(String, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    #[must_use]
    pub fn new<'a>(head: impl IntoIterator<Item = (&'a str, Align)>) -> Self {
        let column = |(name, align)| (printable::line(name).into_owned(), align);
        Self { head: head.into_iter().map(column).collect(), rows: vec![] }
    }

    /// Adds a row.
    ///
    /// # Panics
    /// The number of cells differs from that of the columns.
    pub fn row(&mut self, cells: impl Into<Vec<String>>) {
        let mut cells = cells.into();
        assert_eq!(cells.len(), self.head.len(), "a row has a cell for every column");
        // A name may contain a line end, which would break the row.
        for cell in &mut cells {
            if let Cow::Owned(escaped) = printable::line(cell) {
                *cell = escaped;
            }
        }
        self.rows.push(cells);
    }

    /// Returns true if the table has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.head.iter().map(|(name, _)| name.clone()).collect();
        let width = |column: usize| {
            let cells = self.rows.iter().chain([&names]);
            cells.map(|row| row[column].chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..names.len()).map(width).collect();
        for row in [&names].into_iter().chain(&self.rows) {
            let mut line = String::new();
            for ((cell, (_, align)), width) in row.iter().zip(&self.head).zip(&widths) {
                let gap = if line.is_empty() { "" } else { "  " };
                line += &match align {
                    Align::Left => format!("{gap}{cell:<width$}"),
                    Align::Right => format!("{gap}{cell:>width$}"),
                };
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count;

    #[test]
    fn columns_line_up() {
        let mut t = Table::new([("port", Align::Left), ("frames", Align::Right)]);
        t.row(["a".into(), count(1_234_567)]);
        t.row(["längst".into(), "5".into()]);
        assert_eq!(t.to_string(), "port       frames\na       1,234,567\nlängst          5\n");
    }
}
