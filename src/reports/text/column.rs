//! Columns of results. A column is described once: its name, its meaning, its heading, and the value that it takes from
//! the object of a row. JSON, CSV, Parquet and the tables for people are made from the description.
//!
//! The type of a value is that of its function, so a column cannot have a type that its values do not have. The unit is
//! that of the name's last part: `_ns`, `_ms`, `_bps` or `bytes`.

use std::borrow::Cow;

use ground::time::Duration;
use serde::{Serialize, Serializer};

use crate::table::{Align, count, measured};

/// Type of a column. Every value may be unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// UTF-8 text.
    Text,
    /// Text that may wrap.
    Sentence,
    /// A whole number from 0 to 2^64 - 1.
    Whole,
    /// A floating-point number (IEEE 754 double).
    Number,
    Truth,
}

/// A value of a row. A value that is not known is never 0.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell<'a> {
    Text(Cow<'a, str>),
    Whole(u64),
    Number(f64),
    Time(Duration),
    Truth(bool),
    Unknown,
}

/// The function that gives the value of a column; `None` is unknown.
#[derive(Debug)]
pub enum Value<T> {
    Text(for<'a> fn(&'a T) -> Option<&'a str>),
    /// Text that is made from the object.
    Made(fn(&T) -> Option<String>),
    Sentence(fn(&T) -> Option<String>),
    Whole(fn(&T) -> Option<u64>),
    Number(fn(&T) -> Option<f64>),
    /// A number in nanoseconds.
    Time(fn(&T) -> Option<Duration>),
    Truth(fn(&T) -> Option<bool>),
    /// A number in the form that people read; only for tables.
    Printed(fn(&T) -> Option<String>),
}

/// Tables for people that show a column with a heading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shown {
    Everywhere,
    Terminal,
    Page,
    /// Tables that have not room for all columns: the lowest rank comes first.
    Rank(u8),
}

/// The description of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field<'a> {
    /// Name in files; empty for a column that only tables for people have.
    pub name: &'a str,
    pub kind: Kind,
    /// Unit; empty for text, counts and truth values.
    pub unit: &'static str,
    pub meaning: &'static str,
    /// Heading in tables for people; `None` where they leave the column out.
    pub heading: Option<&'static str>,
    pub shown: Shown,
}

/// A column of rows about `T`s.
#[derive(Debug)]
pub struct Column<T> {
    pub field: Field<'static>,
    value: Value<T>,
}

/// Makes an array of columns. A line is the kind of the value, the name, the heading with the tables that show it, the
/// value, and the meaning: `Whole "rx_frames" ["received"] = flow.rx_frames, "frames received";`.
#[macro_export]
macro_rules! columns {
    (@heading) => { None };
    (@heading $heading:literal) => { Some($heading) };
    (@shown $($heading:literal)?) => { $crate::Shown::Everywhere };
    (@shown $heading:literal, $shown:expr) => { $shown };
    ($row:pat => $(
        $kind:ident $($name:literal)? $([$heading:literal $(, $shown:expr)?])?
            = $value:expr $(, $meaning:literal)?;
    )*) => {
        [$(
            $crate::Column::new(
                concat!($($name)?),
                concat!($($meaning)?),
                $crate::columns!(@heading $($heading)?),
                $crate::columns!(@shown $($heading $(, $shown)?)?),
                $crate::Value::$kind(|row| {
                    // A column needs a part of the pattern.
                    #[allow(unused_variables)]
                    let $row = row;
                    ::core::convert::Into::into($value)
                }),
            )
        ),*]
    };
}

/// Returns the unit of a name.
const fn unit(name: &str) -> &'static str {
    match name.as_bytes() {
        [.., b'_', b'n', b's'] => "ns",
        [.., b'_', b'm', b's'] => "ms",
        [.., b'_', b'b', b'p', b's'] => "bit/s",
        [.., b'b', b'y', b't', b'e', b's'] => "B",
        _ => "",
    }
}

impl<T> Column<T> {
    #[must_use]
    pub const fn new(
        name: &'static str,
        meaning: &'static str,
        heading: Option<&'static str>,
        shown: Shown,
        value: Value<T>,
    ) -> Self {
        let kind = match value {
            Value::Text(_) | Value::Made(_) => Kind::Text,
            Value::Sentence(_) => Kind::Sentence,
            Value::Whole(_) => Kind::Whole,
            Value::Number(_) | Value::Time(_) | Value::Printed(_) => Kind::Number,
            Value::Truth(_) => Kind::Truth,
        };
        Self { field: Field { name, kind, unit: unit(name), meaning, heading, shown }, value }
    }

    /// Returns the value of an object.
    pub fn cell<'a>(&self, row: &'a T) -> Cell<'a> {
        let cell = match self.value {
            Value::Text(of) => of(row).map(|text| Cell::Text(text.into())),
            Value::Made(of) | Value::Sentence(of) | Value::Printed(of) => {
                of(row).map(|text| Cell::Text(text.into()))
            }
            Value::Whole(of) => of(row).map(Cell::Whole),
            Value::Number(of) => of(row).map(Cell::Number),
            Value::Time(of) => of(row).map(Cell::Time),
            Value::Truth(of) => of(row).map(Cell::Truth),
        };
        cell.unwrap_or(Cell::Unknown)
    }

    /// Returns the value in the form that people read, `-` if it is unknown.
    pub fn printed(&self, row: &T) -> String {
        self.cell(row).printed(self.field.unit).unwrap_or_else(|| "-".into())
    }
}

impl Kind {
    /// Returns the alignment in tables for people.
    #[must_use]
    pub const fn align(self) -> Align {
        match self {
            Self::Text | Self::Sentence => Align::Left,
            Self::Whole | Self::Number | Self::Truth => Align::Right,
        }
    }
}

impl Cell<'_> {
    /// Returns the value in the form that people read; `None` if it is unknown.
    #[must_use]
    pub fn printed(&self, unit: &str) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.clone().into_owned()),
            Self::Whole(n) if unit.is_empty() => Some(count(*n)),
            Self::Whole(n) => Some(measured(*n as f64, unit)),
            Self::Number(n) => Some(measured(*n, unit)),
            Self::Time(time) => Some(time.to_string()),
            Self::Truth(is) => Some(if *is { "yes" } else { "no" }.into()),
            Self::Unknown => None,
        }
    }
}

/// A time is in nanoseconds, an unknown value is null.
impl Serialize for Cell<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => to.serialize_str(text),
            Self::Whole(n) => to.serialize_u64(*n),
            Self::Number(n) => to.serialize_f64(*n),
            Self::Time(time) => time.serialize(to),
            Self::Truth(is) => to.serialize_bool(*is),
            Self::Unknown => to.serialize_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Table;

    struct Flow {
        name: String,
        sent: u64,
        rate: Option<f64>,
        gap: Duration,
    }

    const COLUMNS: &[Column<Flow>] = &columns! { flow =>
        Text "flow" ["flow"] = &*flow.name, "name of the flow";
        Whole "tx_bytes" ["sent", Shown::Rank(2)] = flow.sent, "bytes sent";
        Number "rx_bps" ["rate"] = flow.rate, "received bits";
        Time "gap_ns" ["gap"] = flow.gap, "shortest gap";
        Truth "lossless" = flow.sent > 1, "true if it is lossless";
        Printed ["share"] = flow.rate.map(|rate| format!("{rate:.1} %"));
    };

    fn flow(rate: Option<f64>) -> Flow {
        Flow { name: "f".into(), sent: 12_345, rate, gap: Duration::from_picos(1_500) }
    }

    #[test]
    fn a_column_has_the_type_of_its_function_and_the_unit_of_its_name() {
        let fields: Vec<_> = COLUMNS.iter().map(|c| (c.field.kind, c.field.unit)).collect();
        let wanted = [
            (Kind::Text, ""),
            (Kind::Whole, "B"),
            (Kind::Number, "bit/s"),
            (Kind::Number, "ns"),
            (Kind::Truth, ""),
            (Kind::Number, ""),
        ];
        assert_eq!(fields, wanted);
        assert_eq!(COLUMNS[1].field.shown, Shown::Rank(2));
        assert_eq!(COLUMNS[2].cell(&flow(None)), Cell::Unknown);
        assert_eq!(COLUMNS[4].cell(&flow(None)), Cell::Truth(true));
    }

    #[test]
    fn a_table_shows_the_columns_with_headings() {
        let text = Table::of(&[flow(Some(2.5e9)), flow(None)], COLUMNS).to_string();
        let wanted = "\
flow     sent       rate    gap           share
f     12.3 kB  2.50 Gb/s  1.5ns  2500000000.0 %
f     12.3 kB          -  1.5ns               -
";
        assert_eq!(text, wanted);
    }
}
