//! Fields that may be written in more than one form: as text or as a number, as a word or as something else, as a
//! list or as a mapping. An error about another form says which forms there are.

/// Implements reading and the schema of a type that has several forms:
///
/// - `text`, as `FromStr` reads it, and numbers that are read as their text: `whole`, `signed` and `float` ones;
///   with a function, a `whole` number is what that makes of it, and wrong if it returns `None`;
/// - `word`, a text that a function reads: `None` is a wrong word, an error says what is wrong with it;
/// - a `text`, a `scalar` (text or number), a `list` or a `map` of another type, from which a function makes
///   this one.
///
/// Behind the name are that in the schema and the sentence for errors, at the end is the schema, which has no
/// name of its own if it is `inline`.
#[macro_export]
macro_rules! forms {
    ($($name:ident as $schema:expr, $expected:expr =>
        $($form:ident $($other:ty)? $(=> $made:expr)?),+;
        $($inline:ident)? |$generator:pat_param| $json:tt)*) => {$(
        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                struct Reader;

                impl<'de> ::serde::de::Visitor<'de> for Reader {
                    type Value = $name;

                    fn expecting(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                        f.write_str($expected)
                    }

                    $($crate::forms!(@read $form 'de $($other)? $(=> $made)?);)+
                }

                d.deserialize_any(Reader)
            }
        }

        impl ::schemars::JsonSchema for $name {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                $schema.into()
            }

            fn inline_schema() -> bool {
                $crate::forms!(@inline $($inline)?)
            }

            fn json_schema($generator: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                ::schemars::json_schema!($json)
            }
        }
    )*};
    (@inline) => { false };
    (@inline inline) => { true };
    (@read text $de:lifetime) => {
        fn visit_str<E: ::serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
            text.parse().map_err(E::custom)
        }
    };
    // By the reader of the other type, which has its errors.
    (@read text $de:lifetime $other:ty => $made:expr) => {
        fn visit_str<E: ::serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
            let text = ::serde::de::value::StrDeserializer::new(text);
            <$other as ::serde::Deserialize>::deserialize(text).map($made)
        }
    };
    (@read word $de:lifetime => $made:expr) => {
        fn visit_str<E: ::serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
            let made: fn(&str) -> Option<Result<Self::Value, String>> = $made;
            match made(text) {
                Some(value) => value.map_err(E::custom),
                None => Err(E::invalid_value(::serde::de::Unexpected::Str(text), &self)),
            }
        }
    };
    (@read whole $de:lifetime => $made:expr) => {
        fn visit_u64<E: ::serde::de::Error>(self, n: u64) -> Result<Self::Value, E> {
            let made: fn(u64) -> Option<Self::Value> = $made;
            made(n).ok_or_else(|| E::invalid_value(::serde::de::Unexpected::Unsigned(n), &self))
        }
    };
    // By way of the text, so that a range is checked in one place.
    (@read whole $de:lifetime) => {
        fn visit_u64<E: ::serde::de::Error>(self, n: u64) -> Result<Self::Value, E> {
            self.visit_str(&n.to_string())
        }
    };
    (@read signed $de:lifetime) => {
        fn visit_i64<E: ::serde::de::Error>(self, n: i64) -> Result<Self::Value, E> {
            self.visit_str(&n.to_string())
        }
    };
    // The shortest text that parses to the same number is the text in the file.
    (@read float $de:lifetime) => {
        fn visit_f64<E: ::serde::de::Error>(self, n: f64) -> Result<Self::Value, E> {
            self.visit_str(&n.to_string())
        }
    };
    (@read number $de:lifetime) => {
        $crate::forms!(@read whole $de);
        $crate::forms!(@read signed $de);
        $crate::forms!(@read float $de);
    };
    (@read scalar $de:lifetime $other:ty => $made:expr) => {
        $crate::forms!(@read text $de $other => $made);

        fn visit_u64<E: ::serde::de::Error>(self, n: u64) -> Result<Self::Value, E> {
            let n = ::serde::de::value::U64Deserializer::new(n);
            <$other as ::serde::Deserialize>::deserialize(n).map($made)
        }

        fn visit_i64<E: ::serde::de::Error>(self, n: i64) -> Result<Self::Value, E> {
            let n = ::serde::de::value::I64Deserializer::new(n);
            <$other as ::serde::Deserialize>::deserialize(n).map($made)
        }

        fn visit_f64<E: ::serde::de::Error>(self, n: f64) -> Result<Self::Value, E> {
            let n = ::serde::de::value::F64Deserializer::new(n);
            <$other as ::serde::Deserialize>::deserialize(n).map($made)
        }
    };
    (@read list $de:lifetime $other:ty => $made:expr) => {
        fn visit_seq<A: ::serde::de::SeqAccess<$de>>(self, list: A) -> Result<Self::Value, A::Error> {
            let list = ::serde::de::value::SeqAccessDeserializer::new(list);
            <$other as ::serde::Deserialize>::deserialize(list).map($made)
        }
    };
    (@read map $de:lifetime $other:ty => $made:expr) => {
        fn visit_map<A: ::serde::de::MapAccess<$de>>(self, map: A) -> Result<Self::Value, A::Error> {
            let map = ::serde::de::value::MapAccessDeserializer::new(map);
            <$other as ::serde::Deserialize>::deserialize(map).map($made)
        }
    };
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

                    $crate::word_or!(@visit $form 'de $other => $name::$wrap);
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
    (@visit whole $de:lifetime $($rest:tt)*) => { $crate::forms!(@read whole $de); };
    (@visit number $de:lifetime $($rest:tt)*) => { $crate::forms!(@read whole $de); };
    (@visit text $de:lifetime $($rest:tt)*) => {
        $crate::forms!(@read whole $de);
        $crate::forms!(@read float $de);
    };
    (@visit $form:ident $($rest:tt)*) => { $crate::forms!(@read $form $($rest)*); };
}
