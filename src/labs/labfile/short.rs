//! Fields with a short and a long form: a word or a mapping, one or a list, a number or a list.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{F64Deserializer, I64Deserializer, U64Deserializer};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, Deserialize, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};

/// Describes the accepted forms for error messages: `a name or a mapping`.
pub trait Wanted {
    const WANTED: &'static str;
}

/// A scalar, or a mapping with more fields.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum Short<S, L> {
    Short(S),
    Long(L),
}

/// One item, or a list.
#[derive(Clone, PartialEq, Debug)]
pub struct Many<T>(pub Vec<T>);

/// A number of items, or a list.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum Members<T> {
    Count(u32),
    List(Vec<T>),
}

impl<T> Default for Members<T> {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl<T> Members<T> {
    /// True for a count of 0 and an empty list.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Count(n) => *n == 0,
            Self::List(list) => list.is_empty(),
        }
    }
}

impl<T> From<T> for Many<T> {
    fn from(one: T) -> Self {
        Self(vec![one])
    }
}

/// Forwards a scalar to the `Deserialize` of another type.
macro_rules! scalars {
    ($to:ty, $wrap:expr) => {
        fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
            // By the reader of the type itself, which has its errors and limits.
            <$to>::deserialize(text.into_deserializer()).map($wrap)
        }

        fn visit_u64<E: de::Error>(self, n: u64) -> Result<Self::Value, E> {
            <$to>::deserialize(U64Deserializer::new(n)).map($wrap)
        }

        fn visit_i64<E: de::Error>(self, n: i64) -> Result<Self::Value, E> {
            <$to>::deserialize(I64Deserializer::new(n)).map($wrap)
        }

        fn visit_f64<E: de::Error>(self, n: f64) -> Result<Self::Value, E> {
            <$to>::deserialize(F64Deserializer::new(n)).map($wrap)
        }
    };
}

struct ShortReader<S, L>(PhantomData<(S, L)>);

impl<'de, S: Deserialize<'de>, L: Deserialize<'de> + Wanted> Visitor<'de> for ShortReader<S, L> {
    type Value = Short<S, L>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(L::WANTED)
    }

    scalars!(S, Short::Short);

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        // A mapping is the long form, and a scalar the short one: no field is tried twice, so errors keep their
        // place.
        L::deserialize(MapAccessDeserializer::new(map)).map(Short::Long)
    }
}

struct ManyReader<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ManyReader<T> {
    type Value = Many<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one, or a list such as `[h1, h2]`")
    }

    scalars!(T, Many::from);

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Many::from)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(Many)
    }
}

struct MembersReader<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for MembersReader<T> {
    type Value = Members<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a list, such as `4` or `[h1, h2]`")
    }

    fn visit_u64<E: de::Error>(self, n: u64) -> Result<Self::Value, E> {
        u32::try_from(n).map(Members::Count).map_err(|_| E::custom(format!("{n} are too many")))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(seq)).map(Members::List)
    }
}

impl<'de, S: Deserialize<'de>, L: Deserialize<'de> + Wanted> Deserialize<'de> for Short<S, L> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(ShortReader(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Many<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(ManyReader(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Members<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(MembersReader(PhantomData))
    }
}

impl<T: Serialize> Serialize for Many<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            // A single one is written as it may be read: without a list.
            [one] => one.serialize(s),
            list => list.serialize(s),
        }
    }
}

/// Implements the schema of a type with two alternatives, inline.
macro_rules! either {
    ($([$($param:ident),*] $name:ty: $a:ty, $b:ty;)*) => {$(
        impl<$($param: JsonSchema),*> JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                // The name of both, as schemas of the same wrapper over other types must differ.
                format!("{}Or{}", <$a>::schema_name(), <$b>::schema_name()).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let (a, b) = (generator.subschema_for::<$a>(), generator.subschema_for::<$b>());
                json_schema!({ "anyOf": [a, b] })
            }
        }
    )*};
}

either! {
    [S, L] Short<S, L>: S, L;
    [T] Many<T>: T, Vec<T>;
    [T] Members<T>: u32, Vec<T>;
}
