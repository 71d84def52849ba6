//! Results described once: a struct, and the names, kinds and help texts of its numbers for CSV
//! files and metrics, which are the fields' names and documentation; and structs of counters alone.

use crate::time::Total;

/// Kind of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It only increases, until it is reset.
    Counter,
    /// It may decrease.
    Gauge,
}

/// A value of a number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// An integer.
    Count(u64),
    /// Any other.
    Real(f64),
}

/// A type whose values are numbers.
pub trait Numeric {
    /// Returns the number, `None` if it is not known.
    fn number(&self) -> Option<Number>;
}

impl Numeric for u64 {
    fn number(&self) -> Option<Number> {
        Some(Number::Count(*self))
    }
}

impl Numeric for bool {
    fn number(&self) -> Option<Number> {
        Some(Number::Count((*self).into()))
    }
}

impl Numeric for f64 {
    fn number(&self) -> Option<Number> {
        Some(Number::Real(*self))
    }
}

/// In nanoseconds.
impl Numeric for Total {
    fn number(&self) -> Option<Number> {
        Some(Number::Count(self.as_nanos()))
    }
}

impl<T: Numeric> Numeric for Option<T> {
    fn number(&self) -> Option<Number> {
        self.as_ref()?.number()
    }
}

/// A number of a `T`.
#[derive(Clone, Copy, Debug)]
pub struct Field<T: 'static> {
    /// Name in JSON and CSV. The suffixes `_ns` and `_s` mean nanoseconds and seconds.
    pub name: &'static str,
    /// Kind of the number.
    pub kind: Kind,
    /// Documentation.
    pub doc: &'static str,
    /// Returns `None` if the number is not known.
    pub value: fn(&T) -> Option<Number>,
}

/// A struct whose numbers are described, by [`described!`](crate::described!).
pub trait Described: Sized + 'static {
    /// The numbers, in groups.
    const FIELDS: &'static [&'static [Field<Self>]];

    /// Returns the numbers in their order.
    fn fields() -> impl Iterator<Item = &'static Field<Self>> {
        Self::FIELDS.iter().copied().flatten()
    }
}

impl<T> Field<T> {
    /// Returns the help text: the documentation without its full stop.
    #[must_use]
    pub fn help(&self) -> &'static str {
        let doc = self.doc.trim();
        doc.strip_suffix('.').unwrap_or(doc)
    }
}

/// Declares a struct whose fields marked `= Counter` or `= Gauge` are its numbers, in their order. A
/// literal is the number's name where it is not the field's; a field marked `as LIST` has the numbers
/// of that list.
#[macro_export]
macro_rules! described {
    ($(#[$meta:meta])* $set:ident {
        $(
            $(#[$($attr:tt)+])* $field:ident: $ty:ty
            $(= $kind:ident $($name:literal)?)? $(as $list:ident)?,
        )+
    }) => {
        $(#[$meta])*
        pub struct $set {
            $($(#[$($attr)+])* pub $field: $ty,)+
        }

        impl $crate::described::Described for $set {
            const FIELDS: &'static [&'static [$crate::described::Field<Self>]] = &[
                $($crate::described!(
                    @field $field ($($kind $($name)?)?) ($($list)?) $([$($attr)+])*
                ),)+
            ];
        }
    };
    // Not a number: a name, or a list beside the numbers.
    (@field $field:ident () () $($attr:tt)*) => { &[] };
    (@field $field:ident () ($list:ident) $($attr:tt)*) => { $list };
    (@field $field:ident ($kind:ident) () $($attr:tt)*) => {
        $crate::described!(@number $field $kind (stringify!($field)) $($attr)*)
    };
    (@field $field:ident ($kind:ident $name:literal) () $($attr:tt)*) => {
        $crate::described!(@number $field $kind ($name) $($attr)*)
    };
    (
        @number $field:ident $kind:ident ($name:expr)
        // Documentation comes first; serde's attributes concern JSON alone.
        $([doc = $doc:literal])+ $([serde $($attr:tt)*])*
    ) => {
        &[$crate::described::Field {
            name: $name,
            kind: $crate::described::Kind::$kind,
            doc: concat!($($doc),+),
            value: |row| $crate::described::Numeric::number(&row.$field),
        }]
    };
}

/// Declares a struct of counters. The name of a counter in results is that of its field, or the
/// literal behind it: that of a managed object, where there is one.
#[macro_export]
macro_rules! counters {
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident = $name:literal) => { $name };
    ($(#[$meta:meta])* $set:ident { $($(#[$doc:meta])+ $field:ident $(= $name:literal)?,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct $set {
            $($(#[$doc])+ pub $field: u64,)+
        }

        impl $set {
            /// Returns each counter's name and value.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
                [$(($crate::counters!(@name $field $(= $name)?), self.$field),)+].into_iter()
            }

            /// Adds another's counts to these.
            pub fn add(&mut self, other: &Self) {
                $(self.$field += other.$field;)+
            }

            /// Returns the counts since `base`.
            #[must_use]
            pub const fn since(&self, base: &Self) -> Self {
                // A base from before a reset may be higher.
                Self { $($field: self.$field.saturating_sub(base.$field),)+ }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    described! {
        #[derive(Debug)]
        Row {
            /// A name, which is no number.
            name: &'static str,
            /// Frames sent,
            /// of any kind.
            sent: u64 = Counter "frames",
            /// A pair.
            pair: (u64, u64) as PAIR,
            /// Mean gap
            gap_ns: Option<f64> = Gauge,
        }
    }

    const PAIR: &[Field<Row>] = &[Field {
        name: "second",
        kind: Kind::Counter,
        doc: "Second of the pair.",
        value: |row| row.pair.1.number(),
    }];

    #[test]
    fn numbers_have_the_names_and_the_documentation_of_their_fields_in_their_order() {
        let mut row = Row { name: "a", sent: 3, pair: (1, 2), gap_ns: Some(1.5) };
        let seen = |row: &Row| -> Vec<_> {
            Row::fields().map(|f| (f.name, f.kind, f.help(), (f.value)(row))).collect()
        };
        let gap = |value| ("gap_ns", Kind::Gauge, "Mean gap", value);
        let expected = [
            ("frames", Kind::Counter, "Frames sent, of any kind", Some(Number::Count(3))),
            ("second", Kind::Counter, "Second of the pair", Some(Number::Count(2))),
            gap(Some(Number::Real(1.5))),
        ];
        assert_eq!((row.name, seen(&row)), ("a", expected.to_vec()));
        row.gap_ns = None;
        assert_eq!(seen(&row).last(), Some(&gap(None)));
    }

    counters! {
        /// Two counters.
        Pair {
            /// A counter without a managed object.
            plain,
            /// A counter of a standard.
            standard = "ifInOctets",
        }
    }

    #[test]
    fn a_counter_has_the_name_of_its_field_or_of_its_managed_object() {
        let mut pair = Pair { plain: 5, standard: 7 };
        assert_eq!(pair.iter().collect::<Vec<_>>(), [("plain", 5), ("ifInOctets", 7)]);
        pair.add(&Pair { plain: 1, standard: 2 });
        assert_eq!(pair, Pair { plain: 6, standard: 9 });
        assert_eq!(pair.since(&Pair { plain: 2, standard: 10 }), Pair { plain: 4, standard: 0 });
    }
}
