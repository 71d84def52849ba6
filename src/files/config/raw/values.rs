//! Values of fields with a text form that they do not share with others: ranges of numbers (`3`, `0-2`), the SCIs
//! and EtherTypes of MACsec, and secrets, which are never shown.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use zeroize::{Zeroize, ZeroizeOnDrop};

use ::file::forms;
use ground::printable::excerpt;
use secure::Sak;

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
        // A single number is the range from itself to itself.
        let (a, b) = text.split_once('-').unwrap_or((text, text));
        let number = |t: &str| t.trim().parse::<u16>().map_err(|_| bad());
        let (first, last) = (number(a)?, number(b)?);
        if first > last {
            return Err(format!("`{text}` runs backwards; write {last}-{first}"));
        }
        Ok(Self { first, last })
    }
}

impl Serialize for Range {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

forms! {
    // An item of a list is a number; keys of mappings arrive as text.
    Range as "Range", "a number or a range such as 0-2" =>
        text, whole;
        |_| {
            "anyOf": [
                { "type": "integer", "minimum": 0, "maximum": 4094 },
                { "type": "string", "pattern": "^[0-9]+(-[0-9]+)?$" }
            ]
        }
}

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
    pub fn typed<'de, D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
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

// By hand, as a key must not be copied, and its digits must be in no error.
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

impl Serialize for EtherTypeName {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match NAMES.iter().find(|(_, n)| *n == self.0) {
            Some((name, _)) => s.serialize_str(name),
            None => s.serialize_u16(self.0),
        }
    }
}

forms! {
    EtherTypeName as "EtherTypeName", "`lldp`, `eapol`, `ptp`, `slow` or an EtherType such as 0x88cc" =>
        word => |text| Some(Ok(EtherTypeName(NAMES.iter().find(|(name, _)| *name == text)?.1))),
        whole => |n| u16::try_from(n).map(EtherTypeName).ok();
        |_| {
            "anyOf": [
                { "enum": ["lldp", "eapol", "ptp", "slow"] },
                { "type": "integer", "minimum": 1536, "maximum": 65535 }
            ]
        }
}
