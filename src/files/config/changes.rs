//! Sections of a file whose keys replace values of a plan that has the defaults: key, range and place in the plan
//! are told once, in `changes!`.

use std::fmt::Display;
use std::ops::{Bound, RangeBounds};

use crate::quantity::{Rate, Ratio, Size, Span};
use crate::{Cx, Place};
use ground::time::Duration;
use ground::units::{BitsPerSec, Bytes};

/// A value of a file for a value of type `T` in a plan.
pub trait Replaces<T> {
    /// Returns the value for the plan, or the reason why it is out of range.
    ///
    /// # Errors
    /// See there.
    fn within(self, range: impl RangeBounds<T>) -> Result<T, String>;
}

/// Both ends of a range; `None` for any value.
fn ends<T: Copy>(range: &impl RangeBounds<T>) -> Option<(T, T)> {
    match (range.start_bound(), range.end_bound()) {
        (Bound::Included(least), Bound::Included(most)) => Some((*least, *most)),
        _ => None,
    }
}

/// Returns `value`, or the refusal of it as `shown`.
fn within<T: Copy + PartialOrd, S: Display>(
    value: T,
    range: &impl RangeBounds<T>,
    shown: fn(T) -> S,
) -> Result<T, String> {
    match ends(range).filter(|(least, most)| value < *least || value > *most) {
        None => Ok(value),
        Some((least, most)) => {
            let [value, least, most] = [value, least, most].map(shown);
            Err(format!("{value} is out of range; choose {least} to {most}"))
        }
    }
}

macro_rules! replaces {
    ($($from:ty => $to:ty: $make:expr, $shown:expr;)*) => {$(
        impl Replaces<$to> for $from {
            fn within(self, range: impl RangeBounds<$to>) -> Result<$to, String> {
                let make: fn($from) -> $to = $make;
                within(make(self), &range, $shown)
            }
        }
    )*};
}

replaces! {
    bool => bool: |is| is, |is| is;
    u8 => u8: |n| n, |n| n;
    u16 => u16: |n| n, |n| n;
    u32 => u32: |n| n, |n| n;
    Span => Duration: |span| span.0, |span| span;
    Size => Bytes: |size| Bytes(size.0), |bytes| bytes.0;
    Rate => BitsPerSec: |rate| rate.0, |rate| rate;
}

/// Whole percent: fractions of one are refused, as the plan would drop them silently.
impl Replaces<u8> for Ratio {
    fn within(self, range: impl RangeBounds<u8>) -> Result<u8, String> {
        let (least, most) = ends(&range).unwrap_or((0, 100));
        // A ratio is in millionths, at most all of them.
        let percent = (self.0 / 10_000) as u8;
        if self.0 % 10_000 != 0 || percent < least || percent > most {
            return Err(format!("needs whole percent, {least}% to {most}%"));
        }
        Ok(percent)
    }
}

/// Replaces a value of a plan by that of a file. One that is out of range is reported, and the plan's stays.
pub fn replace<T>(
    cx: &mut Cx,
    place: &Place<'_>,
    given: Option<impl Replaces<T>>,
    range: impl RangeBounds<T>,
    value: &mut T,
) {
    match given.map(|given| given.within(range)) {
        Some(Ok(given)) => *value = given,
        Some(Err(what)) => cx.error(place, what),
        None => {}
    }
}

/// Declares a section. `field: type => range` replaces the field of the same name in the plan, whose value is the
/// default; `..` is any value. Fields without an arrow are resolved otherwise.
#[macro_export]
macro_rules! changes {
    ($(#[$of:meta])* pub struct $section:ident of $plan:ty { $(
        $(#[$meta:meta])*
        pub $field:ident: $type:ty $(=> $range:expr)?,
    )* }) => {
        $(#[$of])*
        #[derive(
            Clone, PartialEq, Debug, Default, ::serde::Deserialize, ::serde::Serialize, ::schemars::JsonSchema,
        )]
        #[serde(deny_unknown_fields)]
        pub struct $section { $(
            $(#[$meta])*
            pub $field: $type,
        )* }

        impl $section {
            /// Replaces the values of `plan` by those of the file; refusals are reported in `cx`.
            pub fn change(&self, cx: &mut $crate::Cx, place: &$crate::Place<'_>, plan: &mut $plan) {
                $($(
                    let place_of_field = place.key(stringify!($field));
                    $crate::changes::replace(cx, &place_of_field, self.$field, $range, &mut plan.$field);
                )?)*
            }
        }
    };
}
