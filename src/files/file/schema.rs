//! Forms of files as JSON: the schema of a file, generated from the types that read it; values without nulls, as a
//! field that a file does not have is not written; fields that hold a word or another form, such as `auto` or a size.

use schemars::Schema;
use schemars::transform::{Transform, transform_subschemas};
use serde::Serialize;
use serde_json::Value;

/// Joins the lines of descriptions, which are line breaks of the source file, and leaves absent fields
/// out of defaults.
struct OneLine;

impl Transform for OneLine {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(Value::String(text)) = schema.get_mut("description") {
            // The line breaks are those of the source file, and mean nothing to readers of the schema.
            *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        }
        // Defaults are whole structures, whose absent fields serde writes as null.
        if let Some(default) = schema.get_mut("default") {
            without_nulls(default);
        }
        transform_subschemas(self, schema);
    }
}

/// Schema of a type, with each description on one line.
pub fn schema_of<T: schemars::JsonSchema>(title: &str) -> Value {
    let mut schema = schemars::schema_for!(T);
    schema.insert("title".into(), title.into());
    OneLine.transform(&mut schema);
    schema.to_value()
}

/// Returns a value as JSON in which absent fields are left out.
///
/// # Panics
/// If a mapping has keys that are no text.
pub fn sparse(value: &impl Serialize) -> Value {
    let mut value = serde_json::to_value(value).expect("names are text");
    without_nulls(&mut value);
    value
}

/// Removes nulls from objects, because readers of files refuse them, and clients print them as text or
/// fail on them.
pub fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(without_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Implements reading, writing and the schema of enums whose variants are words, and one other form:
/// a `list`, a `map`, a `text` that may be a number, a `number`, or a `whole` number or text. Behind the name
/// is that in the schema, then the words, which the schema calls a `const` or an `enum`; the sentence is for
/// errors.
#[macro_export]
macro_rules! word_or {
    ($($name:ident $schema:literal $words:tt $($word:literal $unit:ident)|+
        or $form:ident $other:ty as $wrap:ident: $expected:literal;)*) => {$(
        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$unit => s.serialize_str($word),)+
                    Self::$wrap(other) => ::serde::Serialize::serialize(other, s),
                }
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                struct Reader;

                impl<'de> ::serde::de::Visitor<'de> for Reader {
                    type Value = $name;

                    fn expecting(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                        f.write_str($expected)
                    }

                    fn visit_str<E: ::serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        match text {
                            $($word => Ok($name::$unit),)+
                            _ => $crate::word_or!(@other $form $name $wrap text $($word),+),
                        }
                    }

                    $crate::word_or!(@visit $form 'de $name $wrap $other);
                }

                d.deserialize_any(Reader)
            }
        }

        impl ::schemars::JsonSchema for $name {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                $schema.into()
            }

            fn json_schema(generator: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                let other = generator.subschema_for::<$other>();
                ::schemars::json_schema!({
                    "anyOf": [$crate::word_or!(@words $words $($word),+), other]
                })
            }
        }
    )*};
    (@words const $word:literal) => { ::schemars::json_schema!({ "const": $word }) };
    (@words enum $($word:literal),+) => { ::schemars::json_schema!({ "enum": [$($word),+] }) };
    (@other text $name:ident $wrap:ident $text:ident $($word:literal),+) => {
        $text.parse().map($name::$wrap).map_err(E::custom)
    };
    (@other number $name:ident $wrap:ident $text:ident $($word:literal),+) => {
        // The error of a parsed number would not name the words.
        $text.parse().map($name::$wrap).map_err(|_| E::unknown_variant($text, &[$($word,)+ "a number"]))
    };
    (@other whole $($rest:tt)*) => { $crate::word_or!(@other text $($rest)*) };
    (@other $form:ident $name:ident $wrap:ident $text:ident $($word:literal),+) => {
        Err(E::unknown_variant($text, &[$($word),+]))
    };
    (@visit list $de:lifetime $name:ident $wrap:ident $other:ty) => {
        fn visit_seq<A: ::serde::de::SeqAccess<$de>>(self, seq: A) -> Result<$name, A::Error> {
            let list = ::serde::de::value::SeqAccessDeserializer::new(seq);
            <$other as ::serde::Deserialize>::deserialize(list).map($name::$wrap)
        }
    };
    (@visit map $de:lifetime $name:ident $wrap:ident $other:ty) => {
        fn visit_map<A: ::serde::de::MapAccess<$de>>(self, map: A) -> Result<$name, A::Error> {
            let map = ::serde::de::value::MapAccessDeserializer::new(map);
            <$other as ::serde::Deserialize>::deserialize(map).map($name::$wrap)
        }
    };
    (@visit whole $($rest:tt)*) => {
        fn visit_u64<E: ::serde::de::Error>(self, n: u64) -> Result<Self::Value, E> {
            self.visit_str(&n.to_string())
        }
    };
    (@visit number $($rest:tt)*) => { $crate::word_or!(@visit whole $($rest)*); };
    (@visit text $($rest:tt)*) => {
        $crate::word_or!(@visit whole $($rest)*);

        fn visit_f64<E: ::serde::de::Error>(self, n: f64) -> Result<Self::Value, E> {
            self.visit_str(&n.to_string())
        }
    };
}
