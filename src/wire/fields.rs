//! Fields of a header told once, as the rows of the figure in its standard.

/// Declares fields of the view in its module: name, type and the expression that reads it, which
/// becomes an accessor. With a name before `of`, they are also the fields of a struct of that name, which
/// its function `of` reads from a view; with a length before them, that of every such header, the struct
/// also has the functions to parse it.
macro_rules! fields {
    (View $(<$life:lifetime>)? as $v:ident {
        $($(#[$doc:meta])+ $field:ident: $ty:ty = $value:expr,)+
    }) => {
        fields! { @view ($($life)?) $v $($(#[$doc])+ $field: $ty = $value,)+ }
    };
    (
        $(#[$meta:meta])+ $repr:ident of View as $v:ident, $len:ident { $($fields:tt)+ }
    ) => {
        fields! { $(#[$meta])+ $repr of View as $v { $($fields)+ } }

        impl $repr {
            /// Parses the bytes at the front of `octets`.
            ///
            /// # Errors
            /// As [`View::new`].
            #[inline]
            pub fn parse(octets: &[u8]) -> Result<Self, WireError> {
                View::new(octets).map(|view| Self::of(&view))
            }

            /// Returns the number of bytes that `emit` writes.
            #[must_use]
            pub const fn buffer_len(&self) -> usize {
                $len
            }
        }
    };
    (
        $(#[$meta:meta])+ $repr:ident $(<$life:lifetime>)? of View as $v:ident {
            $($(#[$doc:meta])+ $field:ident: $ty:ty = $value:expr,)+
        }
    ) => {
        fields! { @view ($($life)?) $v $($(#[$doc])+ $field: $ty = $value,)+ }

        $(#[$meta])+
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $repr $(<$life>)? {
            $($(#[$doc])+ pub $field: $ty,)+
        }

        impl $(<$life>)? $repr $(<$life>)? {
            #[inline]
            fn of(view: &fields!(@type $($life)?)) -> Self {
                Self { $($field: view.$field(),)+ }
            }
        }
    };
    (@type) => { View<'_> };
    (@type $life:lifetime) => { View<$life> };
    (@view ($($life:lifetime)?) $v:ident $($(#[$doc:meta])+ $field:ident: $ty:ty = $value:expr,)+) => {
        impl $(<$life>)? fields!(@type $($life)?) {
            $(
                $(#[$doc])+
                #[must_use]
                #[inline]
                pub fn $field(&self) -> $ty {
                    let $v = self;
                    $value
                }
            )+
        }
    };
}
