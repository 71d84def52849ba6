//! A queue length, in bytes or as a share of the port's buffer.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

use super::{Ratio, Size};

/// A queue length, `100KB`, or a share of the port's buffer, `25%`. Shares need the percent sign,
/// because a bare number is bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Threshold {
    /// Bytes.
    Bytes(Size),
    /// A share.
    Share(Ratio),
}

impl From<Size> for Threshold {
    fn from(size: Size) -> Self {
        Self::Bytes(size)
    }
}

impl std::str::FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim_end().ends_with('%') {
            return text.parse().map(Self::Share);
        }
        text.parse().map(Self::Bytes)
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(size) => size.fmt(f),
            Self::Share(share) => share.fmt(f),
        }
    }
}

impl Serialize for Threshold {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bytes(size) => size.serialize(out),
            Self::Share(share) => share.serialize(out),
        }
    }
}

impl<'de> Deserialize<'de> for Threshold {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = Threshold;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a size, or a share of the port's buffer; write 100KB or 25%")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Threshold, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<Threshold, E> {
                self.visit_str(&bytes.to_string())
            }
        }

        d.deserialize_any(Text)
    }
}

impl JsonSchema for Threshold {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Threshold")
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let size = generator.subschema_for::<Size>();
        json_schema!({
            "anyOf": [size, { "type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? *%$" }]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percent_sign_makes_a_share() {
        assert_eq!("25%".parse(), Ok(Threshold::Share(Ratio(250_000))));
        assert_eq!("100KB".parse(), Ok(Threshold::Bytes(Size(100_000))));
        assert_eq!("0".parse(), Ok(Threshold::Bytes(Size(0))));
        for text in ["25%", "100KB"] {
            assert_eq!(text.parse::<Threshold>().unwrap().to_string(), text);
        }
        for wrong in ["101%", "%", "25 percent", "-1%"] {
            assert!(wrong.parse::<Threshold>().is_err(), "{wrong}");
        }
    }
}
