//! Patterns: what a header field is, frame after frame.

use core::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Value;

use super::choose::{Picked, pick};
use super::read::{Extra, Known, Left, Lenient, Read, join, unknown_extra};

/// The values of a field, one per frame, and the tags that metrics are split by.
#[derive(Clone, PartialEq, Debug)]
pub struct Pattern<T> {
    /// The values.
    pub values: Values<T>,
    /// Parts of the field that metrics are split by.
    pub metric_tags: Vec<MetricTag>,
    /// What it has beside those.
    pub extra: Extra,
}

/// The values of a field; what is left out of them is the field's own default.
#[derive(Clone, PartialEq, Debug)]
pub enum Values<T> {
    /// The same in every frame; nothing for the field's default.
    One(Option<T>),
    /// One after the other, then from the first again.
    List(Vec<T>),
    /// Counting up.
    Increment(Counter<T>),
    /// Counting down.
    Decrement(Counter<T>),
    /// Drawn by chance.
    Random(Random<T>),
    /// Whatever is right for the frame (lengths, types), or learnt from a neighbour (addresses).
    Auto,
    /// An alternative that there is no type for.
    Other {
        /// Its name.
        name: String,
        /// What is in it.
        body: Value,
    },
}

/// A field that counts.
#[derive(Clone, PartialEq, Debug)]
pub struct Counter<T> {
    /// The first value. Default: the field's default.
    pub start: Option<T>,
    /// What each adds to the one before, or takes off it. Default: 1.
    pub step: Option<T>,
    /// How many values there are. Default: 1.
    pub count: u32,
    /// What it has beside those.
    pub extra: Extra,
}

/// A field drawn by chance.
#[derive(Clone, PartialEq, Debug)]
pub struct Random<T> {
    /// The least value. Default: 0.
    pub min: Option<T>,
    /// The greatest value. Default: the greatest that the field can hold.
    pub max: Option<T>,
    /// Seeds the draw. Default: 1.
    pub seed: u32,
    /// How many values are drawn before they repeat. Default: 1.
    pub count: u32,
    /// What it has beside those.
    pub extra: Extra,
}

impl<T> Default for Pattern<T> {
    fn default() -> Self {
        Self { values: Values::One(None), metric_tags: Vec::new(), extra: Extra::new() }
    }
}

impl<T> Default for Counter<T> {
    fn default() -> Self {
        Self { start: None, step: None, count: 1, extra: Extra::new() }
    }
}

impl<T> Default for Random<T> {
    fn default() -> Self {
        Self { min: None, max: None, seed: 1, count: 1, extra: Extra::new() }
    }
}

impl<T> Pattern<T> {
    /// The same value in every frame.
    pub fn value(value: T) -> Self {
        Self { values: Values::One(Some(value)), ..Self::default() }
    }
}

/// Reads an object field by field.
macro_rules! read_fields {
    ($map:ident, $into:ident, $($field:ident),*) => {
        while let Some(key) = $map.next_key::<String>()? {
            match key.as_str() {
                $( stringify!($field) => {
                    let value: Option<_> = $map.next_value_seed(Read::new())?;
                    if let Some(value) = value {
                        $into.$field = value;
                    }
                } )*
                _ => {
                    $into.extra.insert(key, $map.next_value()?);
                }
            }
        }
    };
}

/// The parts of a pattern that are objects of numbers or addresses.
macro_rules! parts {
    ($($name:ident { $($field:ident),* })*) => {$(
        impl<T: Lenient> Lenient for $name<T> {
            fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Fields<T>(core::marker::PhantomData<T>);
                impl<'de, T: Lenient> Visitor<'de> for Fields<T> {
                    type Value = $name<T>;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(concat!("an object (", stringify!($name), ")"))
                    }

                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<$name<T>, A::Error> {
                        let mut part = $name::default();
                        read_fields!(map, part, $($field),*);
                        Ok(part)
                    }
                }
                from.deserialize_map(Fields(core::marker::PhantomData))
            }
        }

        impl<T: Serialize> Serialize for $name<T>
        where
            Option<T>: Left,
        {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                let mut map = to.serialize_map(None)?;
                $( if !self.$field.left_out() {
                    map.serialize_entry(stringify!($field), &self.$field)?;
                } )*
                for (name, value) in &self.extra {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }

        impl<T> Known for $name<T> {
            fn unknown(&self, path: &str, out: &mut Vec<String>) {
                unknown_extra(&self.extra, path, out);
            }
        }
    )*};
}

parts! {
    Counter { start, step, count }
    Random { min, max, seed, count }
}

/// The alternatives of a pattern, as they are read.
const ALTERNATIVES: &[&str] =
    &["value", "values", "increment", "decrement", "random", "auto", "metric_tags"];

struct Alternatives<T>(core::marker::PhantomData<T>);

impl<'de, T: Lenient> Visitor<'de> for Alternatives<T> {
    type Value = Pattern<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a pattern, such as {\"choice\": \"value\", \"value\": ..}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pattern<T>, A::Error> {
        let mut pattern = Pattern::default();
        let mut choice: Option<String> = None;
        let mut given = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            let values = match key.as_str() {
                "choice" => {
                    choice = map.next_value_seed(Read::new())?;
                    continue;
                }
                "metric_tags" => {
                    pattern.metric_tags = map.next_value_seed(Read::new())?;
                    continue;
                }
                "value" => Values::One(map.next_value_seed(Read::new())?),
                "values" => Values::List(map.next_value_seed(Read::new())?),
                "increment" => Values::Increment(map.next_value_seed(Read::new())?),
                "decrement" => Values::Decrement(map.next_value_seed(Read::new())?),
                "random" => Values::Random(map.next_value_seed(Read::new())?),
                "auto" => {
                    // Its body is what the sender expects it to be, or how an address is learnt.
                    let how: Value = map.next_value()?;
                    if how.is_object() {
                        pattern.extra.insert(key.clone(), how);
                    }
                    Values::Auto
                }
                _ => Values::Other { name: key.clone(), body: map.next_value()? },
            };
            given.push((key, values));
        }
        pattern.values = match pick(choice, given, ALTERNATIVES)? {
            Picked::Given(values) => values,
            Picked::Default => Values::One(None),
            Picked::Bare(word) => match word.as_str() {
                "value" => Values::One(None),
                "auto" => Values::Auto,
                "increment" => Values::Increment(Counter::default()),
                "decrement" => Values::Decrement(Counter::default()),
                "random" => Values::Random(Random::default()),
                "values" => return Err(A::Error::missing_field("values")),
                _ => Values::Other { name: word, body: Value::Null },
            },
        };
        if !matches!(pattern.values, Values::Auto) {
            pattern.extra.remove("auto");
        }
        Ok(pattern)
    }
}

impl<T: Lenient> Lenient for Pattern<T> {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Alternatives(core::marker::PhantomData))
    }
}

impl<'de, T: Lenient> Deserialize<'de> for Pattern<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::read(from)
    }
}

impl<T: Serialize> Serialize for Pattern<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        let mut alternative = |name: &str| map.serialize_entry("choice", name);
        match &self.values {
            Values::One(value) => {
                alternative("value")?;
                if let Some(value) = value {
                    map.serialize_entry("value", value)?;
                }
            }
            Values::List(values) => {
                alternative("values")?;
                map.serialize_entry("values", values)?;
            }
            Values::Increment(counter) => {
                alternative("increment")?;
                map.serialize_entry("increment", counter)?;
            }
            Values::Decrement(counter) => {
                alternative("decrement")?;
                map.serialize_entry("decrement", counter)?;
            }
            Values::Random(random) => {
                alternative("random")?;
                map.serialize_entry("random", random)?;
            }
            Values::Auto => alternative("auto")?,
            Values::Other { name, body } => {
                alternative(name)?;
                if !body.is_null() {
                    map.serialize_entry(name, body)?;
                }
            }
        }
        if !self.metric_tags.is_empty() {
            map.serialize_entry("metric_tags", &self.metric_tags)?;
        }
        for (name, value) in &self.extra {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<T> Known for Pattern<T> {
    fn unknown(&self, path: &str, out: &mut Vec<String>) {
        match &self.values {
            Values::Increment(counter) => counter.unknown(&join(path, "increment"), out),
            Values::Decrement(counter) => counter.unknown(&join(path, "decrement"), out),
            Values::Random(random) => random.unknown(&join(path, "random"), out),
            Values::Other { name, .. } => out.push(join(path, name)),
            Values::One(_) | Values::List(_) | Values::Auto => {}
        }
        self.metric_tags.unknown(&join(path, "metric_tags"), out);
        unknown_extra(&self.extra, path, out);
    }
}

impl<T> Left for Pattern<T> {}

message! {
    /// A part of a field that metrics are split by.
    MetricTag {
        /// Its name.
        name: String; required,
        /// Its first bit, from the field's first. Default: 0.
        offset: u32 = 0,
        /// How many bits. Default: all of the field.
        length: Option<u32>,
    }
}

choice! {
    /// A checksum.
    Checksum = generated {
        /// Computed, to be right or to be wrong.
        generated: Generated(Generated = Generated::Good),
        /// This value.
        custom: Custom(u32),
    }
}

words! {
    /// What a computed checksum is to be.
    Generated {
        /// Right.
        good: Good,
        /// Wrong.
        bad: Bad,
    }
}
