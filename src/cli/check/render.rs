//! The two forms of resolved plans: JSON, whose objects keep the order of their fields, and tables in
//! which equal items share a row.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr};

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::time::Duration;
use crate::units::{BitsPerSec, Bytes, Mac, PrioritySet};
use ::text::{Align, Table};

/// A JSON value.
pub enum Json {
    /// Its object leaves the field out.
    Absent,
    Value(Value),
    List(Vec<Json>),
    Object(Vec<(Cow<'static, str>, Json)>),
}

/// Makes an object: `object! { name: value, .. }`.
macro_rules! object {
    ($($name:ident: $value:expr),+ $(,)?) => {
        $crate::cli::check::render::Json::Object(vec![
            $((stringify!($name).into(), $crate::cli::check::render::Json::from($value))),+
        ])
    };
}
pub(super) use object;

/// Returns the value of a field that is left out if it has none.
pub fn some(value: Option<impl Into<Json>>) -> Json {
    value.map_or(Json::Absent, Into::into)
}

/// Returns a list, which is left out if it is empty.
pub fn list(items: impl Iterator<Item = Json>) -> Json {
    let items: Vec<Json> = items.collect();
    if items.is_empty() { Json::Absent } else { Json::List(items) }
}

impl Json {
    /// Appends the fields of `more` that an object does not have to it.
    pub fn and(self, more: Self) -> Self {
        match (self, more) {
            (Self::Object(mut fields), Self::Object(more)) => {
                for (name, value) in more {
                    if fields.iter().all(|(other, _)| *other != name) {
                        fields.push((name, value));
                    }
                }
                Self::Object(fields)
            }
            (value, _) => value,
        }
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Absent => out.serialize_none(),
            Self::Value(value) => value.serialize(out),
            Self::List(items) => out.collect_seq(items),
            Self::Object(fields) => {
                let present = |(_, value): &&(_, Self)| !matches!(value, Self::Absent);
                out.collect_map(fields.iter().filter(present).map(|(name, value)| (name, value)))
            }
        }
    }
}

macro_rules! values {
    ($($type:ty: $value:ident => $json:expr,)+) => {
        $(impl From<$type> for Json {
            fn from($value: $type) -> Self {
                Self::from($json)
            }
        })+
    };
}

macro_rules! plain {
    ($($type:ty)+) => { values! { $($type: value => Value::from(value),)+ } };
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

plain! { bool u8 i8 u16 i32 u32 u64 usize f64 &str String }

values! {
    // In nanoseconds, with fractions.
    Duration: span => span.as_nanos_f64(),
    Bytes: bytes => bytes.0,
    BitsPerSec: rate => rate.get(),
    PrioritySet: set => set.iter().map(|p| p.get()).collect::<Vec<_>>(),
    Mac: mac => mac.to_string(),
    Ipv4Addr: address => address.to_string(),
    Ipv6Addr: address => address.to_string(),
}

impl<T: Into<Self>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Value(Value::Null), Into::into)
    }
}

impl<T: Into<Self>> From<Vec<T>> for Json {
    fn from(items: Vec<T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Self>, const N: usize> From<[T; N]> for Json {
    fn from(items: [T; N]) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

/// Makes a table of named items. Items with equal cells share a row, whose first cell `names` makes
/// of their names. None without items.
pub fn grouped_table<'a>(
    head: impl IntoIterator<Item = (&'a str, Align)>,
    items: impl Iterator<Item = (String, Vec<String>)>,
    names: fn(&[&str]) -> String,
) -> Option<Table> {
    let items: Vec<_> = items.collect();
    let mut table = Table::new(head);
    for (cells, alike) in gather(items.iter(), |(_, cells)| cells.clone()) {
        let all: Vec<&str> = alike.iter().map(|(name, _)| name.as_str()).collect();
        table.row([vec![names(&all)], cells].concat());
    }
    (!table.is_empty()).then_some(table)
}

/// Groups items with equal keys, in the order of the first of each.
pub fn gather<'a, T, K: PartialEq>(
    items: impl Iterator<Item = &'a T>,
    key: impl Fn(&T) -> K,
) -> Vec<(K, Vec<&'a T>)> {
    let mut out: Vec<(K, Vec<&T>)> = Vec::new();
    for item in items {
        let k = key(item);
        match out.iter_mut().find(|(other, _)| *other == k) {
            Some((_, alike)) => alike.push(item),
            None => out.push((k, vec![item])),
        }
    }
    out
}

/// Joins names; of more than four, the first and the last.
pub fn few(names: &[&str]) -> String {
    if names.len() > 4 { ends(names) } else { names.join(", ") }
}

/// Joins names; of more than two, the first and the last: `h1-s1 to h9-s1 (9)`.
pub fn ends(names: &[&str]) -> String {
    match names {
        [first, _, .., last] => format!("{first} to {last} ({})", names.len()),
        few => few.join(", "),
    }
}

/// Formats an absent cell as a dash.
pub fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".into())
}

/// Formats numbers, with three or more consecutive ones as a range: `0-2,5`.
pub fn ranges(numbers: impl IntoIterator<Item = impl Into<u16>>) -> String {
    let mut numbers: Vec<u16> = numbers.into_iter().map(Into::into).collect();
    numbers.sort_unstable();
    let runs = numbers.chunk_by(|a, b| a + 1 == *b).flat_map(|run| match run {
        [first, _, .., last] => vec![format!("{first}-{last}")],
        few => few.iter().map(ToString::to_string).collect(),
    });
    runs.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_keep_their_order_and_leave_out_what_is_absent() {
        let none = None::<u8>;
        let value =
            object! { z: 1_u8, left_out: some(none), null: none, empty: list([].into_iter()) };
        let value = value
            .and(object! { a: [Duration::from_picos(1_500)], z: 2_u8, set: PrioritySet::EMPTY });
        let text = serde_json::to_string(&value).unwrap();
        assert_eq!(text, r#"{"z":1,"null":null,"a":[1.5],"set":[]}"#);
    }

    #[test]
    fn numbers_in_a_row_become_ranges() {
        assert_eq!(ranges([7_u16, 0, 1, 2, 4, 5]), "0-2,4,5,7");
        assert_eq!(ranges([0_u8; 0]), "");
    }

    #[test]
    fn equal_items_share_a_row() {
        let item = |name: &str, cell: &str| (name.to_owned(), vec![cell.to_owned()]);
        let items = [item("a", "1"), item("b", "2"), item("c", "1"), item("d", "1")];
        let head = [("name", Align::Left), ("n", Align::Right)];
        let text = grouped_table(head, items.into_iter(), ends).unwrap().to_string();
        assert_eq!(text, "name        n\na to d (3)  1\nb           2\n");
        assert!(grouped_table(head, std::iter::empty(), few).is_none());
    }
}
