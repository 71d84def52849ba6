//! Numbers as people read them, and aligned text tables of them for terminals and files.

use std::borrow::Cow;
use std::fmt;

use ground::printable;

use crate::column::Column;

/// Formats a count with thousands separators: `1,234,567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        // Groups are counted from the end.
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a number with an SI prefix and three digits: `1.23 G`, `64`. `unit` is appended.
pub fn scaled(n: f64, unit: &str) -> String {
    // An empty floating-point sum is -0, and numbers that round to 0 have no sign either.
    let n = if n.abs() < 0.5 { 0.0 } else { n };
    let scales = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    // 999.5 and more would print as four digits.
    let (scale, prefix) = scales.into_iter().find(|(s, _)| n >= s * 0.9995).unwrap_or((1.0, ""));
    let m = n / scale;
    let decimals = match m {
        _ if scale == 1.0 => 0,
        m if m < 9.995 => 2,
        m if m < 99.95 => 1,
        _ => 0,
    };
    format!("{m:.decimals$} {prefix}{unit}").trim_end().to_string()
}

/// Formats a measured delay in nanoseconds with a suitable unit.
pub fn delay(ns: f64) -> String {
    match ns {
        ns if ns >= 1e6 => format!("{:.3} ms", ns / 1e6),
        ns if ns >= 1e4 => format!("{:.2} us", ns / 1e3),
        // Picoseconds are the resolution, and not the 0 that they would round to.
        ns if ns > 0.0 && ns < 0.05 => format!("{ns:.3} ns"),
        ns => format!("{ns:.1} ns"),
    }
}

/// Formats a number with thousands separators and without trailing zeros, rounded to at most
/// `places` decimals.
pub fn decimal(n: f64, places: usize) -> String {
    // Larger numbers may not fit the integer below, and have no fraction worth printing.
    if n.is_nan() || n.abs() >= 1e15 {
        return n.to_string();
    }
    let text = format!("{:.places$}", n.abs());
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    let whole = count(whole.parse().expect("digits of a number below 1e15"));
    let rest = rest.trim_end_matches('0');
    // A number that rounds to 0 has no sign.
    let sign = if n < 0.0 && (whole != "0" || !rest.is_empty()) { "-" } else { "" };
    let point = if rest.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{rest}")
}

/// Formats a number with its unit: `ns`, `B`, `bit/s` (or `b/s`), or none.
#[must_use]
pub fn measured(n: f64, unit: &str) -> String {
    match unit {
        "ns" => delay(n),
        "B" => scaled(n, "B"),
        "bit/s" | "b/s" => scaled(n, "b/s"),
        _ if n.fract() == 0.0 && n >= 0.0 => count(n as u64),
        _ => format!("{n:.3}"),
    }
}

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
    pub fn new<'a>(head: impl IntoIterator<Item = (&'a str, Align)>) -> Self {
        let column = |(name, align)| (printable::line(name).into_owned(), align);
        Self { head: head.into_iter().map(column).collect(), rows: vec![] }
    }

    /// Returns the table of these objects: the columns that have a heading.
    #[must_use]
    pub fn of<T>(rows: &[T], columns: &[Column<T>]) -> Self {
        let has_heading = |column: &&Column<T>| column.field.heading.is_some();
        let shown: Vec<_> = columns.iter().filter(has_heading).collect();
        let head = shown.iter().map(|column| &column.field);
        let mut table = Self::new(head.filter_map(|f| Some((f.heading?, f.kind.align()))));
        for row in rows {
            table.row(shown.iter().map(|column| column.printed(row)).collect::<Vec<_>>());
        }
        table
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
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.head.iter().map(|(name, _)| name.clone()).collect();
        let width = |column: usize| {
            let cells = self.rows.iter().chain([&names]);
            // In characters, as names may have letters of several bytes.
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
            // Spaces behind the last cell would wrap on narrow terminals.
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
    fn a_delay_of_picoseconds_is_not_none() {
        let all = [0.0, 0.001, 0.049, 0.05, 1.25, 12_345.6].map(delay);
        assert_eq!(all, ["0.0 ns", "0.001 ns", "0.049 ns", "0.1 ns", "1.2 ns", "12.35 us"]);
    }

    #[test]
    fn columns_line_up() {
        let mut t = Table::new([("port", Align::Left), ("frames", Align::Right)]);
        t.row(["a".into(), count(1_234_567)]);
        t.row(["längst".into(), "5".into()]);
        assert_eq!(t.to_string(), "port       frames\na       1,234,567\nlängst          5\n");
    }

    #[test]
    fn numbers_are_short_and_never_round_to_four_digits() {
        let cases = [
            (0.0, "0 b/s"),
            (-0.0, "0 b/s"),
            (-0.4, "0 b/s"),
            (f64::from(-0.0_f32), "0 b/s"),
            (64.0, "64 b/s"),
            (999.4, "999 b/s"),
            (999.6, "1.00 kb/s"),
            (9_994.0, "9.99 kb/s"),
            (9_996.0, "10.0 kb/s"),
            (99_960.0, "100 kb/s"),
            (999_600.0, "1.00 Mb/s"),
            (9.87e9, "9.87 Gb/s"),
        ];
        for (n, text) in cases {
            assert_eq!(scaled(n, "b/s"), text);
        }
        assert_eq!([0, 999, 1000, 1_000_000].map(count), ["0", "999", "1,000", "1,000,000"]);
    }

    #[test]
    fn decimals_end_with_their_last_digit() {
        let cases = [
            (0.0, "0"),
            (-0.0, "0"),
            (-0.000_04, "0"),
            (-1234.5, "-1,234.5"),
            (0.999_96, "1"),
            (99.99, "99.99"),
            (1e15, "1000000000000000"),
            (f64::NAN, "NaN"),
        ];
        for (n, text) in cases {
            assert_eq!(decimal(n, 4), text);
        }
        assert_eq!(decimal(7.0, 0), "7");
    }
}
