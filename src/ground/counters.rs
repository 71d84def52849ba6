//! Counters declared once: documentation, field, and name in tables, JSON and metrics.

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
                Self { $($field: self.$field.saturating_sub(base.$field),)+ }
            }
        }
    };
}

#[cfg(test)]
mod tests {
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
