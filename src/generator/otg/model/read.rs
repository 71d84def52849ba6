//! Lenient deserialisation of clients' values, the alternative of a choice, and the search for unknown fields.

use core::fmt::{self, Display};
use core::marker::PhantomData;
use core::net::{Ipv4Addr, Ipv6Addr};
use core::str::FromStr;
use std::collections::BTreeMap;

use ground::units::Mac;
use serde::de::{self, DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde_json::Value;

/// The unknown fields of a message, by name.
pub type Extra = BTreeMap<String, Value>;

/// A value with a lenient parser: see the module [`super`].
pub trait Lenient: Sized {
    /// Reads the value.
    ///
    /// # Errors
    /// The invalid value and the expected one.
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error>;
}

/// A message, or a part of one, that can list its unknown parts.
pub trait Known {
    fn unknown(&self, path: &str, out: &mut Vec<String>);
}

/// Adds the names in `extra` whose values are not empty.
pub(super) fn unknown_extra(extra: &Extra, path: &str, out: &mut Vec<String>) {
    // Clients write nulls and empty lists for fields that they do not use.
    let carries = |v: &Value| !v.is_null() && v.as_array().is_none_or(|list| !list.is_empty());
    out.extend(extra.iter().filter(|(_, v)| carries(v)).map(|(name, _)| join(path, name)));
}

/// Joins the path of a field.
pub(crate) fn join(path: &str, field: &str) -> String {
    if path.is_empty() { field.to_owned() } else { format!("{path}.{field}") }
}

/// Reads any [`Lenient`] as the value of a field.
pub(super) struct Read<T>(PhantomData<T>);

impl<T> Read<T> {
    pub(super) const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<'de, T: Lenient> DeserializeSeed<'de> for Read<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<T, D::Error> {
        T::read(from)
    }
}

/// Parses an integer between two bounds, written as a number or as text.
struct Whole {
    min: i128,
    max: i128,
}

impl Visitor<'_> for Whole {
    type Value = i128;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from {} to {}", self.min, self.max)
    }

    fn visit_u64<E: de::Error>(self, n: u64) -> Result<i128, E> {
        self.bounded(n.into()).ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(n), &self))
    }

    fn visit_i64<E: de::Error>(self, n: i64) -> Result<i128, E> {
        self.bounded(n.into()).ok_or_else(|| E::invalid_value(de::Unexpected::Signed(n), &self))
    }

    fn visit_f64<E: de::Error>(self, n: f64) -> Result<i128, E> {
        // Beyond 2^53 a float does not identify one integer.
        let exact = n.fract() == 0.0 && n.abs() <= 9_007_199_254_740_992.0;
        let whole = exact.then_some(n as i128).and_then(|n| self.bounded(n));
        whole.ok_or_else(|| E::invalid_value(de::Unexpected::Float(n), &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<i128, E> {
        // Protobuf's JSON writes 64-bit numbers as text.
        let whole = text.trim().parse().ok().and_then(|n| self.bounded(n));
        whole.ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

impl Whole {
    fn bounded(&self, n: i128) -> Option<i128> {
        (self.min..=self.max).contains(&n).then_some(n)
    }
}

macro_rules! whole_numbers {
    ($($int:ty),*) => {$(
        impl Lenient for $int {
            fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let bounds = Whole { min: <$int>::MIN.into(), max: <$int>::MAX.into() };
                let n = from.deserialize_any(bounds)?;
                Ok(n.try_into().expect("the visitor keeps the bounds"))
            }
        }
        impl Known for $int {
            fn unknown(&self, _: &str, _: &mut Vec<String>) {}
        }
    )*};
}

whole_numbers!(u32, u64, i32);

/// Parses a number, written as a number or as text.
struct Real;

impl Visitor<'_> for Real {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_u64<E: de::Error>(self, n: u64) -> Result<f64, E> {
        Ok(n as f64)
    }

    fn visit_i64<E: de::Error>(self, n: i64) -> Result<f64, E> {
        Ok(n as f64)
    }

    fn visit_f64<E: de::Error>(self, n: f64) -> Result<f64, E> {
        Ok(n)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<f64, E> {
        // `inf` and `nan` parse as numbers, and no field can mean them.
        let number = text.trim().parse().ok().filter(|n: &f64| n.is_finite());
        number.ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

impl Lenient for f64 {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Real)
    }
}

/// Parses a text into a value, such as an address.
struct Text<T> {
    wanted: &'static str,
    meaning: PhantomData<T>,
}

impl<T: FromStr> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.wanted)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

macro_rules! texts {
    ($($text:ty: $wanted:literal),*) => {$(
        impl Lenient for $text {
            fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                from.deserialize_str(Text { wanted: $wanted, meaning: PhantomData })
            }
        }
        impl Known for $text {
            fn unknown(&self, _: &str, _: &mut Vec<String>) {}
        }
    )*};
}

texts! {
    String: "text",
    Ipv4Addr: "an IPv4 address, such as 192.0.2.1",
    Ipv6Addr: "an IPv6 address, such as 2001:db8::1"
}

/// A MAC address; written in JSON as OTG does, with colons.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MacText(pub Mac);

impl FromStr for MacText {
    type Err = <Mac as FromStr>::Err;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

impl serde::Serialize for MacText {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&self.0)
    }
}

texts!(MacText: "a MAC address, such as 02:00:00:00:00:01");

impl Lenient for bool {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        de::Deserialize::deserialize(from)
    }
}

/// Any value, kept unchanged.
impl Lenient for Value {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        de::Deserialize::deserialize(from)
    }
}

impl Known for bool {
    fn unknown(&self, _: &str, _: &mut Vec<String>) {}
}

impl Known for f64 {
    fn unknown(&self, _: &str, _: &mut Vec<String>) {}
}

impl<T: Lenient> Lenient for Box<T> {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::read(from).map(Self::new)
    }
}

impl<T: Known> Known for Box<T> {
    fn unknown(&self, path: &str, out: &mut Vec<String>) {
        (**self).unknown(path, out);
    }
}

/// Parses a value; null is `None`.
struct Maybe<T>(PhantomData<T>);

impl<'de, T: Lenient> Visitor<'de> for Maybe<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_none<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        T::read(from).map(Some)
    }
}

impl<T: Lenient> Lenient for Option<T> {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_option(Maybe(PhantomData))
    }
}

impl<T: Known> Known for Option<T> {
    fn unknown(&self, path: &str, out: &mut Vec<String>) {
        if let Some(value) = self {
            value.unknown(path, out);
        }
    }
}

/// Parses a list; null is an empty one.
struct List<T>(PhantomData<T>);

impl<'de, T: Lenient> Visitor<'de> for List<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Vec<T>, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Read::new())? {
            list.push(item);
        }
        Ok(list)
    }
}

impl<T: Lenient> Lenient for Vec<T> {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // Any, as a sequence alone would refuse null.
        from.deserialize_any(List(PhantomData))
    }
}

impl<T: Known> Known for Vec<T> {
    fn unknown(&self, path: &str, out: &mut Vec<String>) {
        for (i, item) in self.iter().enumerate() {
            item.unknown(&format!("{path}[{i}]"), out);
        }
    }
}

/// Decides if a field is omitted when a message is written.
pub(super) trait Left {
    /// Returns true for a field that is not set.
    fn left_out(&self) -> bool {
        false
    }
}

impl<T> Left for Option<T> {
    fn left_out(&self) -> bool {
        self.is_none()
    }
}

impl<T> Left for Vec<T> {
    fn left_out(&self) -> bool {
        self.is_empty()
    }
}

macro_rules! always_written {
    ($($t:ty),*) => {$( impl Left for $t {} )*};
}

always_written!(u32, u64, i32, f64, bool, String, Ipv4Addr, Ipv6Addr, MacText);

/// The error for an unknown word.
pub(super) fn not_a_word<E: de::Error>(word: &str, known: impl Display) -> E {
    E::custom(format!("`{word}` is not known here; write {known}"))
}

/// The selected alternative.
pub(super) enum Picked<T> {
    /// An alternative with its body.
    Given(T),
    /// An alternative by name, without a body.
    Bare(String),
    /// Neither a choice nor an alternative.
    Default,
}

/// Selects one of the `given` alternatives. With a `choice`, other alternatives beside it are
/// ignored, as OTG specifies, but fields that are not in `known` are refused.
///
/// # Errors
/// Several alternatives and no choice; others than the chosen one alone; unknown fields beside the alternative.
pub(super) fn pick<T, E: de::Error>(
    choice: Option<String>,
    given: Vec<(String, T)>,
    known: &'static [&'static str],
) -> Result<Picked<T>, E> {
    let Some(choice) = choice else {
        let mut given = given;
        return match given.len() {
            0 => Ok(Picked::Default),
            1 => Ok(given.pop().map_or(Picked::Default, |(_, body)| Picked::Given(body))),
            _ => {
                // Which of them is meant cannot be known.
                let names: Vec<&str> = given.iter().map(|(name, _)| name.as_str()).collect();
                let names = names.join(", ");
                Err(E::custom(format!("has {names}; keep one, or name it in `choice`")))
            }
        };
    };
    // Defaults in the place of what is written would be another test.
    let is_known = |name: &str| known.contains(&name);
    let is_missing = is_known(&choice) && given.iter().all(|(name, _)| *name != choice);
    if let Some((name, _)) = given.iter().find(|(name, _)| is_missing && is_known(name)) {
        return Err(E::custom(format!("`choice` is {choice}, and it has {name} alone; keep one")));
    }
    let mut picked = Picked::Bare(choice);
    for (name, body) in given {
        match &picked {
            Picked::Bare(choice) if *choice == name => picked = Picked::Given(body),
            // OTG: alternatives beside the chosen one are ignored.
            _ if known.contains(&name.as_str()) => {}
            _ => return Err(E::unknown_field(&name, known)),
        }
    }
    Ok(picked)
}
