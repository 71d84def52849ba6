//! Macros for the three kinds of OTG types: messages, choices between alternatives, and words.
//! Each macro generates the type and the traits that [`super`] describes, so that a message is
//! only a list of its fields. The build script writes these lists.

/// The types of a file in `src/generator/otg/proto`, which the build script writes.
macro_rules! types_of {
    ($file:literal) => {
        include!(concat!(env!("OUT_DIR"), "/", $file, ".rs"));
    };
}

/// A message. `field: Type` has the default of the type (none, an empty list), `field: Type =
/// value` has this default, `field: Type; required` has none.
macro_rules! message {
    ($(
        $(#[$doc:meta])*
        $name:ident { $( $(#[$fdoc:meta])* $field:ident: $type:ty
            $(= $default:expr)? $(; $required:ident)? ),* $(,)? }
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Debug)]
        pub struct $name {
            $( $(#[$fdoc])* pub $field: $type, )*
            /// Unknown fields.
            pub extra: $crate::model::read::Extra,
        }

        impl $crate::model::Fields for $name {
            const FIELDS: &'static [&'static str] = &[$( stringify!($field) ),*];

            fn keep(&mut self, keeps: impl Fn(&str) -> bool) {
                $( if !keeps(stringify!($field)) {
                    self.$field = message!(@default $type $(= $default)?);
                } )*
                self.extra.retain(|name, _| keeps(name));
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $( $field: message!(@default $type $(= $default)?), )*
                    extra: Default::default(),
                }
            }
        }

        impl $crate::model::read::Lenient for $name {
            fn read<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Fields;
                impl<'de> serde::de::Visitor<'de> for Fields {
                    type Value = $name;

                    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                        f.write_str(concat!("an object (", stringify!($name), ")"))
                    }

                    #[allow(unused_mut, reason = "some messages have no fields")]
                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> Result<$name, A::Error> {
                        // `None` until the field is read: a required one must not be missing.
                        $( let mut $field: Option<$type> = None; )*
                        let mut extra = $crate::model::read::Extra::new();
                        while let Some(key) = map.next_key::<String>()? {
                            match key.as_str() {
                                $( stringify!($field) => {
                                    let value = $crate::model::read::Read::new();
                                    // Null is `None`, as if the field were left out.
                                    $field = map.next_value_seed(value)?;
                                } )*
                                _ => {
                                    extra.insert(key, map.next_value()?);
                                }
                            }
                        }
                        Ok($name {
                            $( $field: match $field {
                                Some(value) => value,
                                None => message!(
                                    @missing A, $field: $type $(= $default)? $(; $required)?
                                ),
                            }, )*
                            extra,
                        })
                    }
                }
                from.deserialize_map(Fields)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;
                #[allow(unused_imports, reason = "some messages have no fields")]
                use $crate::model::read::Left as _;
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

        impl $crate::model::read::Known for $name {
            fn unknown(&self, path: &str, out: &mut Vec<String>) {
                $( self.$field.unknown(
                    &$crate::model::read::join(path, stringify!($field)), out); )*
                $crate::model::read::unknown_extra(&self.extra, path, out);
            }
        }

        readable!($name);
    )*};
    (@default $type:ty) => { <$type>::default() };
    (@default $type:ty = $default:expr) => { $default };
    (@missing $a:ident, $field:ident: $type:ty $(= $default:expr)?; required) => {
        return Err(<$a::Error as serde::de::Error>::missing_field(stringify!($field)))
    };
    (@missing $a:ident, $field:ident: $type:ty $(= $default:expr)?) => {
        message!(@default $type $(= $default)?)
    };
}

/// A choice: an object whose `choice` names one of its other fields, or that has only one. The
/// first alternative is OTG's default. `name: Variant(Type)` has a body, which may be omitted if
/// `= value` gives its default; `name: Variant` has none.
macro_rules! choice {
    ($(
        $(#[$doc:meta])*
        $name:ident = $first:ident {
            $( $(#[$adoc:meta])* $alt:ident: $variant:ident $(($type:ty $(= $default:expr)?))? ),*
            $(,)?
        }
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Debug)]
        pub enum $name {
            $( $(#[$adoc])* $variant $(($type))?, )*
            /// An unsupported alternative.
            Other {
                name: String,
                body: serde_json::Value,
            },
        }

        impl Default for $name {
            fn default() -> Self {
                choice!(@first $first, $( $alt $variant $(($type $(= $default)?))? ),*)
            }
        }

        impl $crate::model::read::Lenient for $name {
            fn read<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Alternatives;
                impl<'de> serde::de::Visitor<'de> for Alternatives {
                    type Value = $name;

                    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                        f.write_str(concat!("an object (", stringify!($name), ")"))
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut map: A,
                    ) -> Result<$name, A::Error> {
                        let mut chosen: Option<String> = None;
                        let mut given: Vec<(String, $name)> = Vec::new();
                        while let Some(key) = map.next_key::<String>()? {
                            let alternative = match key.as_str() {
                                "choice" => {
                                    let word = $crate::model::read::Read::new();
                                    chosen = map.next_value_seed(word)?;
                                    continue;
                                }
                                $( stringify!($alt) => {
                                    choice!(@read map, $name::$variant $(($type))?)
                                } )*
                                _ => $name::Other { name: key.clone(), body: map.next_value()? },
                            };
                            // `choice` may come behind the alternatives, so all are kept until the end.
                            given.push((key, alternative));
                        }
                        const KNOWN: &[&str] = &[$( stringify!($alt) ),*];
                        match $crate::model::read::pick(chosen, given, KNOWN)? {
                            $crate::model::read::Picked::Given(alternative) => {
                                Ok(alternative)
                            }
                            $crate::model::read::Picked::Default => Ok($name::default()),
                            $crate::model::read::Picked::Bare(word) => match word.as_str() {
                                $( stringify!($alt) => {
                                    Ok(choice!(@bare $name::$variant $(($type $(= $default)?))?))
                                } )*
                                // Kept, so that it is refused by name later.
                                _ => Ok($name::Other { name: word, body: serde_json::Value::Null }),
                            },
                        }
                    }
                }
                from.deserialize_map(Alternatives)
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;
                let mut map = to.serialize_map(None)?;
                match self {
                    $( choice!(@bind body, Self::$variant $(($type))?) => {
                        map.serialize_entry("choice", stringify!($alt))?;
                        choice!(@write map, stringify!($alt), body $(($type))?);
                    } )*
                    Self::Other { name, body } => {
                        map.serialize_entry("choice", name)?;
                        if !body.is_null() {
                            map.serialize_entry(name, body)?;
                        }
                    }
                }
                map.end()
            }
        }

        impl $crate::model::read::Known for $name {
            fn unknown(&self, path: &str, out: &mut Vec<String>) {
                match self {
                    $( choice!(@bind body, Self::$variant $(($type))?) => {
                        choice!(@walk path, out, stringify!($alt), body $(($type))?);
                    } )*
                    Self::Other { name, .. } => {
                        out.push($crate::model::read::join(path, name));
                    }
                }
            }
        }

        readable!($name);
    )*};
    (@first $first:ident, $($alt:ident $variant:ident $(($type:ty $(= $default:expr)?))?),*) => {{
        const FIRST: &str = stringify!($first);
        // A macro cannot compare identifiers; the compiler evaluates this match.
        match FIRST {
            $( stringify!($alt) => choice!(@bare Self::$variant $(($type $(= $default)?))?), )*
            _ => unreachable!("the default is one of the alternatives"),
        }
    }};
    (@read $map:ident, $name:ident::$variant:ident) => {{
        $map.next_value::<serde::de::IgnoredAny>()?;
        $name::$variant
    }};
    (@read $map:ident, $name:ident::$variant:ident($type:ty)) => {{
        let body: Option<$type> = $map.next_value_seed($crate::model::read::Read::new())?;
        match body {
            Some(body) => $name::$variant(body),
            // Null: the alternative is not given.
            None => continue,
        }
    }};
    (@bare $name:ident::$variant:ident) => { $name::$variant };
    (@bare $name:ident::$variant:ident($type:ty)) => { $name::$variant(<$type>::default()) };
    (@bare $name:ident::$variant:ident($type:ty = $default:expr)) => { $name::$variant($default) };
    (@bind $body:ident, $name:ident::$variant:ident) => { $name::$variant };
    (@bind $body:ident, $name:ident::$variant:ident($type:ty)) => { $name::$variant($body) };
    (@write $map:ident, $key:expr, $body:ident) => {};
    (@write $map:ident, $key:expr, $body:ident($type:ty)) => {
        $map.serialize_entry($key, $body)?;
    };
    (@walk $path:ident, $out:ident, $key:expr, $body:ident) => {};
    (@walk $path:ident, $out:ident, $key:expr, $body:ident($type:ty)) => {
        $body.unknown(&$crate::model::read::join($path, $key), $out);
    };
}

/// A word of a fixed set.
macro_rules! words {
    ($(
        $(#[$doc:meta])*
        $name:ident { $( $(#[$wdoc:meta])* $word:ident: $variant:ident ),* $(,)? }
    )*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {
            $( $(#[$wdoc])* $variant, )*
        }

        impl $name {
            /// Returns the word on the wire.
            pub const fn word(self) -> &'static str {
                match self {
                    $( Self::$variant => stringify!($word), )*
                }
            }
        }

        impl core::str::FromStr for $name {
            type Err = &'static str;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $( stringify!($word) => Ok(Self::$variant), )*
                    _ => Err(concat!("one of" $(, " ", stringify!($word))*)),
                }
            }
        }

        impl $crate::model::read::Lenient for $name {
            fn read<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = <String as $crate::model::read::Lenient>::read(from)?;
                text.parse().map_err(|known| $crate::model::read::not_a_word(&text, known))
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.word())
            }
        }

        impl $crate::model::read::Known for $name {
            fn unknown(&self, _: &str, _: &mut Vec<String>) {}
        }

        readable!($name);
    )*};
}

/// Implements serde's traits for a [`Lenient`](super::read::Lenient) type that is always written.
macro_rules! readable {
    ($name:ident) => {
        impl $crate::model::read::Left for $name {}

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                <Self as $crate::model::read::Lenient>::read(from)
            }
        }
    };
}
