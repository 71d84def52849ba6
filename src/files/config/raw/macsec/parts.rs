//! Values of MACsec's fields: SCIs, EtherTypes, and secrets, which are never shown.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use zeroize::{Zeroize, ZeroizeOnDrop};

use secure::Sak;

/// SCI: the identifier of a secure channel (802.1AE 9.9).
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MacsecSci {
    /// MAC address of the sender. Default: that of the port that sends on the channel.
    pub mac: Option<String>,
    /// Port number of the sender. Default: `1`.
    pub port: Option<u16>,
}

/// Hexadecimal digits of a key or a salt. They occur in no error or debug output, and are wiped
/// when dropped.
#[derive(Clone, PartialEq, Eq, Default, Zeroize, ZeroizeOnDrop)]
pub struct HexText(String);

impl HexText {
    /// The digits as in the file.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Deserializes digits from formats with typed values, such as JSON: a value of another type is
    /// refused with a message that does not quote it.
    pub fn said<'de, D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(HexReader)
    }

    /// Digits of a key.
    pub fn of(key: &Sak) -> Self {
        // Full capacity at once, so that no shorter copy is left behind.
        let mut text = String::with_capacity(2 * key.len());
        for octet in key.octets() {
            for digit in [octet >> 4, octet & 15] {
                text.extend(char::from_digit(digit.into(), 16));
            }
        }
        Self(text)
    }
}

impl From<&str> for HexText {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for HexText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HexText({} digits)", self.0.len())
    }
}

struct HexReader;

/// Message about digits without quotes, which YAML may read as a number.
const QUOTES: &str = "put quotes around these hexadecimal digits";

impl Visitor<'_> for HexReader {
    type Value = HexText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("hexadecimal digits in quotes")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<HexText, E> {
        Ok(HexText(text.to_owned()))
    }

    // Moved, so that no copy is left behind.
    fn visit_string<E: de::Error>(self, text: String) -> Result<HexText, E> {
        Ok(HexText(text))
    }

    fn visit_u64<E: de::Error>(self, _: u64) -> Result<HexText, E> {
        Err(E::custom(QUOTES))
    }

    fn visit_i64<E: de::Error>(self, _: i64) -> Result<HexText, E> {
        Err(E::custom(QUOTES))
    }

    fn visit_f64<E: de::Error>(self, _: f64) -> Result<HexText, E> {
        Err(E::custom(QUOTES))
    }
}

impl<'de> Deserialize<'de> for HexText {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_str(HexReader)
    }
}

/// Labs are serialized to files that can be run, which includes their keys.
impl Serialize for HexText {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&self.0)
    }
}

impl JsonSchema for HexText {
    fn schema_name() -> Cow<'static, str> {
        "HexText".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^([0-9a-fA-F]{2})+$" })
    }
}

/// An EtherType, by its name or number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EtherTypeName(pub u16);

/// EtherTypes that have names.
const NAMES: [(&str, u16); 4] =
    [("lldp", 0x88cc), ("eapol", 0x888e), ("ptp", 0x88f7), ("slow", 0x8809)];

struct EtherTypeReader;

impl Visitor<'_> for EtherTypeReader {
    type Value = EtherTypeName;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`lldp`, `eapol`, `ptp`, `slow` or an EtherType such as 0x88cc")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<EtherTypeName, E> {
        let found = NAMES.iter().find(|(name, _)| *name == text);
        found
            .map(|(_, n)| EtherTypeName(*n))
            .ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }

    fn visit_u64<E: de::Error>(self, n: u64) -> Result<EtherTypeName, E> {
        let wrong = || E::invalid_value(de::Unexpected::Unsigned(n), &self);
        u16::try_from(n).map(EtherTypeName).map_err(|_| wrong())
    }
}

impl<'de> Deserialize<'de> for EtherTypeName {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(EtherTypeReader)
    }
}

impl Serialize for EtherTypeName {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match NAMES.iter().find(|(_, n)| *n == self.0) {
            Some((name, _)) => s.serialize_str(name),
            None => s.serialize_u16(self.0),
        }
    }
}

impl JsonSchema for EtherTypeName {
    fn schema_name() -> Cow<'static, str> {
        "EtherTypeName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "enum": ["lldp", "eapol", "ptp", "slow"] },
                { "type": "integer", "minimum": 1536, "maximum": 65535 }
            ]
        })
    }
}
