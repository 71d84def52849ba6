//! Patterns: the values of a header field over the frames of a flow.

use core::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Value;

use super::read::{Extra, Known, Left, Lenient, Read, join, unknown_extra};
use super::read::{Picked, pick};

/// The values of a field, one per frame, and the tags by which metrics are split.
#[derive(Clone, PartialEq, Debug)]
pub struct Pattern<T> {
    pub values: Values<T>,
    /// Parts of the field by which metrics are split.
    pub metric_tags: Vec<MetricTag>,
    /// Unknown fields.
    pub extra: Extra,
}

/// The values of a field; omitted values are the field's default.
#[derive(Clone, PartialEq, Debug)]
pub enum Values<T> {
    /// The same value in every frame; `None` for the field's default.
    One(Option<T>),
    /// A list of values, repeated.
    List(Vec<T>),
    Increment(Counter<T>),
    Decrement(Counter<T>),
    Random(Random<T>),
    /// The correct value for the frame (lengths, types), or one learnt from a neighbour
    /// (addresses).
    Auto,
    /// An unsupported alternative.
    Other {
        name: String,
        body: Value,
    },
}

impl<T> Default for Pattern<T> {
    fn default() -> Self {
        Self { values: Values::One(None), metric_tags: Vec::new(), extra: Extra::new() }
    }
}

impl<T> Pattern<T> {
    /// A pattern with the same value in every frame.
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
                    // Null leaves the default.
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

/// A part of a pattern, over values that are numbers or addresses. A field has the default of its type,
/// or the given one.
macro_rules! parts {
    ($(
        $(#[$doc:meta])*
        $name:ident { $( $(#[$fdoc:meta])* $field:ident: $type:ty $(= $default:expr)? ),* $(,)? }
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Debug)]
        pub struct $name<T> {
            $( $(#[$fdoc])* pub $field: $type, )*
            /// Unknown fields.
            pub extra: Extra,
        }

        impl<T> Default for $name<T> {
            fn default() -> Self {
                Self {
                    $( $field: message!(@default $type $(= $default)?), )*
                    extra: Extra::new(),
                }
            }
        }

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

types_of!("pattern");

/// The names of the alternatives.
pub(super) const ALTERNATIVES: &[&str] =
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
                    // The body is the value that the sender expects, or the method by which an
                    // address is learnt.
                    let how: Value = map.next_value()?;
                    if how.is_object() {
                        pattern.extra.insert(key.clone(), how);
                    }
                    Values::Auto
                }
                _ => Values::Other { name: key.clone(), body: map.next_value()? },
            };
            // `choice` may come behind the alternatives, so all are kept until the end.
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
        // The body of an alternative that was not chosen means nothing.
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
                // Without a value the field has its default, which only the reader knows.
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
                // A word without a body had none when it was read.
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
