//! Keys and list items that denote several numbers: `3`, `0-2`.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

use ground::printable::excerpt;

/// A number or an inclusive range of numbers, as the key of a mapping.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Range {
    pub first: u16,
    /// Not below `first`.
    pub last: u16,
}

/// A range in a list of VLANs.
pub type VlanRange = Range;

impl Range {
    /// True for a single number.
    #[must_use]
    pub const fn is_single(self) -> bool {
        self.first == self.last
    }

    /// The numbers in ascending order.
    pub fn iter(self) -> impl Iterator<Item = u16> {
        self.first..=self.last
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_single() {
            return self.first.fmt(f);
        }
        write!(f, "{}-{}", self.first, self.last)
    }
}

impl std::str::FromStr for Range {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("`{}` is neither a number nor a range such as 0-2", excerpt(text));
        let (a, b) = text.split_once('-').unwrap_or((text, text));
        let number = |t: &str| t.trim().parse::<u16>().map_err(|_| bad());
        let (first, last) = (number(a)?, number(b)?);
        if first > last {
            return Err(format!("`{text}` runs backwards; write {last}-{first}"));
        }
        Ok(Self { first, last })
    }
}

struct Reader;

impl Visitor<'_> for Reader {
    type Value = Range;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a range such as 0-2")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Range, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, n: u64) -> Result<Range, E> {
        n.to_string().parse().map_err(E::custom)
    }
}

impl<'de> Deserialize<'de> for Range {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(Reader)
    }
}

impl Serialize for Range {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl JsonSchema for Range {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Range")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "integer", "minimum": 0, "maximum": 4094 },
                { "type": "string", "pattern": "^[0-9]+(-[0-9]+)?$" }
            ]
        })
    }
}
