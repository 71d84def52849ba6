//! Enums whose values have names, by which results write and read them. Schemas of files have the names with the
//! feature `files`, and the command line with `arguments`. A build of the data plane alone has neither.

/// Declares an enum whose values have names. A value's documentation is its description in schemas and on
/// the command line. `pub enum Type as "Name"` has another name in schemas.
#[macro_export]
macro_rules! named {
    (
        $(#[$meta:meta])*
        pub enum $Type:ident $(as $schema:literal)? {
            $($(#[$($attr:tt)+])* $Value:ident = $name:literal,)+
        }
    ) => {
        $crate::named_in_files! {
            $(#[$meta])*
            pub enum $Type $(as $schema)? { $($(#[$($attr)+])* $Value = $name,)+ }
        }

        impl $Type {
            /// All values with their names.
            pub const NAMES: &'static [(&'static str, Self)] = &[$(($name, Self::$Value)),+];

            /// Returns the name in files and on the command line.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$Value => $name,)+
                }
            }
        }

        $crate::named_argument! { $Type $($Value $name [$([$($attr)+])*],)+ }
    };
}

#[cfg(feature = "files")]
#[doc(hidden)]
#[macro_export]
macro_rules! named_in_files {
    (
        $(#[$meta:meta])*
        pub enum $Type:ident $(as $schema:literal)? {
            $($(#[$($attr:tt)+])* $Value:ident = $name:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive($crate::serde::Serialize, $crate::serde::Deserialize, $crate::schemars::JsonSchema)]
        // A crate that uses the macro need not depend on serde and schemars.
        #[serde(crate = "ground::serde")]
        #[schemars(crate = "ground::schemars")]
        $(#[schemars(rename = $schema)])?
        pub enum $Type {
            $($(#[$($attr)+])* #[serde(rename = $name)] $Value,)+
        }
    };
}

#[cfg(not(feature = "files"))]
#[doc(hidden)]
#[macro_export]
macro_rules! named_in_files {
    (
        $(#[$meta:meta])*
        pub enum $Type:ident $(as $schema:literal)? {
            $($(#[$($attr:tt)+])* $Value:ident = $name:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive($crate::serde::Serialize, $crate::serde::Deserialize)]
        #[serde(crate = "ground::serde")]
        pub enum $Type {
            $($(#[$($attr)+])* #[serde(rename = $name)] $Value,)+
        }
    };
}

#[cfg(feature = "arguments")]
#[doc(hidden)]
#[macro_export]
macro_rules! named_argument {
    ($Type:ident $($Value:ident $name:literal [$($attr:tt)*],)+) => {
        impl $crate::clap::ValueEnum for $Type {
            fn value_variants<'a>() -> &'a [Self] {
                &[$(Self::$Value),+]
            }

            fn to_possible_value(&self) -> Option<$crate::clap::builder::PossibleValue> {
                let (name, docs) = match self {
                    $(Self::$Value => ($name, concat!($($crate::named_doc!($attr)),*)),)+
                };
                // Help texts have no full stop at their end, unlike documentation.
                let help = docs.trim();
                let help = help.strip_suffix('.').unwrap_or(help);
                let value = $crate::clap::builder::PossibleValue::new(name);
                let value = if help.is_empty() { value } else { value.help(help) };
                // Files have underscores, and people type dashes.
                Some(value.alias(name.replace('_', "-")))
            }
        }
    };
}

#[cfg(not(feature = "arguments"))]
#[doc(hidden)]
#[macro_export]
macro_rules! named_argument {
    ($($any:tt)*) => {};
}

/// The documentation in an attribute.
#[doc(hidden)]
#[macro_export]
macro_rules! named_doc {
    ([doc = $doc:literal]) => {
        $doc
    };
    ([$($other:tt)*]) => {
        ""
    };
}

#[cfg(test)]
mod tests {
    named! {
        /// A unit.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub enum Unit {
            /// Nanoseconds, the unit
            /// of most messages.
            #[default]
            Nanoseconds = "ns",
            /// Picoseconds.
            Picoseconds = "ps",
        }
    }

    #[test]
    fn values_have_their_names() {
        assert_eq!((Unit::default().name(), Unit::Picoseconds.name()), ("ns", "ps"));
        assert_eq!(Unit::NAMES, [("ns", Unit::Nanoseconds), ("ps", Unit::Picoseconds)]);
    }

    #[cfg(feature = "files")]
    #[test]
    fn files_have_the_names_and_schemas_the_documentation() {
        assert_eq!(serde_json::to_string(&Unit::Picoseconds).unwrap(), r#""ps""#);
        assert_eq!(serde_json::from_str::<Unit>(r#""ns""#).unwrap(), Unit::Nanoseconds);
        let error = serde_json::from_str::<Unit>(r#""us""#).unwrap_err().to_string();
        assert!(error.starts_with("unknown variant `us`, expected `ns` or `ps`"), "{error}");
        let schema = serde_json::to_string(&schemars::schema_for!(Unit)).unwrap();
        assert!(schema.contains("Nanoseconds, the unit\\nof most messages."), "{schema}");
    }

    #[cfg(feature = "arguments")]
    #[test]
    fn arguments_have_the_names_and_the_documentation() {
        use clap::ValueEnum;
        let told = Unit::Nanoseconds.to_possible_value().unwrap();
        let help = told.get_help().unwrap().to_string();
        assert_eq!((told.get_name(), &*help), ("ns", "Nanoseconds, the unit of most messages"));
    }
}
