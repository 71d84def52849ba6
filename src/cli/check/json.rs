//! JSON of plans, whose objects keep the order of their fields.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::time::Duration;
use crate::units::{BitsPerSec, Bytes, Mac, PrioritySet};

/// A JSON value.
pub enum Json {
    /// Its object leaves the field out.
    Absent,
    Value(Value),
    List(Vec<Json>),
    Object(Vec<(&'static str, Json)>),
}

/// Makes an object: `object! { name: value, .. }`.
macro_rules! object {
    ($($name:ident: $value:expr),+ $(,)?) => {
        $crate::cli::check::json::Json::Object(vec![
            $((stringify!($name), $crate::cli::check::json::Json::from($value))),+
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
    /// Appends the fields of `more` to an object.
    pub fn and(self, more: Self) -> Self {
        match (self, more) {
            (Self::Object(mut fields), Self::Object(more)) => {
                fields.extend(more);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_keep_their_order_and_leave_out_what_is_absent() {
        let none = None::<u8>;
        let value =
            object! { z: 1_u8, left_out: some(none), null: none, empty: list([].into_iter()) };
        let value =
            value.and(object! { a: [Duration::from_picos(1_500)], set: PrioritySet::EMPTY });
        let text = serde_json::to_string(&value).unwrap();
        assert_eq!(text, r#"{"z":1,"null":null,"a":[1.5],"set":[]}"#);
    }
}
