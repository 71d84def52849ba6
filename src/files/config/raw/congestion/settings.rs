//! Fields of files that set managed objects by the objects' ranges and defaults.

use switch::managed::{Kind, ObjectValue, Unit};

use crate::quantity::{Rate, Ratio, Size, Span};
use ground::time::Duration;

/// A section with such fields.
pub trait Settings {
    /// Calls `visit` with each field: its key, the name of its object (in its section or in full),
    /// and its value if the file has it.
    fn visit(&self, visit: impl FnMut(&str, &str, Option<&dyn Setting>));
}

/// A value of such a field.
pub trait Setting {
    /// Converts to a value of an object; the error is what the kind requires.
    fn value(&self, kind: Kind) -> Result<ObjectValue, String>;
}

/// Declares a section. `field: type => "key"` sets the object that is named by the section and the
/// key, or by the key alone; `=> "key" "name"` sets the object of that name. Fields without an
/// arrow are resolved otherwise.
macro_rules! settings {
    ($(#[$of:meta])* pub struct $section:ident { $(
        $(#[$meta:meta])*
        pub $field:ident: $type:ty $(=> $key:literal $($object:literal)?)?,
    )* }) => {
        $(#[$of])*
        #[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $section { $(
            $(#[$meta])*
            $(#[serde(rename = $key)])?
            pub $field: $type,
        )* }

        impl crate::raw::Settings for $section {
            fn visit(
                &self,
                mut visit: impl FnMut(&str, &str, Option<&dyn crate::raw::Setting>),
            ) {
                $($(
                    let name = [$key $(, $object)?];
                    let said = self.$field.as_ref().map(|said| said as _);
                    visit($key, name[name.len() - 1], said);
                )?)*
            }
        }
    };
}

pub(super) use settings;

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Setting for $type {
            fn value(&self, _: Kind) -> Result<ObjectValue, String> {
                Ok(ObjectValue::Number((*self).into()))
            }
        }
    )*};
}

numbers!(u8, i8, u16, u32);

impl Setting for bool {
    fn value(&self, _: Kind) -> Result<ObjectValue, String> {
        Ok(ObjectValue::Bool(*self))
    }
}

impl Setting for Size {
    fn value(&self, _: Kind) -> Result<ObjectValue, String> {
        Ok(ObjectValue::Number(self.0.try_into().unwrap_or(i64::MAX)))
    }
}

impl Setting for Rate {
    fn value(&self, _: Kind) -> Result<ObjectValue, String> {
        Ok(ObjectValue::Number(self.0.get().try_into().unwrap_or(i64::MAX)))
    }
}

impl Setting for Span {
    fn value(&self, _: Kind) -> Result<ObjectValue, String> {
        Ok(ObjectValue::Number(self.0.as_picos().try_into().unwrap_or(i64::MAX)))
    }
}

impl Setting for Ratio {
    fn value(&self, kind: Kind) -> Result<ObjectValue, String> {
        let ppm = i64::from(self.0);
        match kind {
            Kind::Number { unit: Unit::Percent, least, most }
                if ppm % 10_000 != 0 || !(least..=most).contains(&(ppm / 10_000)) =>
            {
                Err(format!("needs whole percent, {least}% to {most}%"))
            }
            Kind::Number { unit: Unit::Percent, .. } => Ok(ObjectValue::Number(ppm / 10_000)),
            _ => Ok(ObjectValue::Number(self.parts().into())),
        }
    }
}

/// Names of values, as words of their objects.
macro_rules! words {
    ($($type:ident)*) => {$(
        impl crate::raw::Setting for $type {
            fn value(
                &self,
                _: switch::managed::Kind,
            ) -> Result<switch::managed::ObjectValue, String> {
                Ok(switch::managed::ObjectValue::Choice(self.name()))
            }
        }
    )*};
}

pub(super) use words;

/// Refusal of a value that is out of the range of its kind.
pub fn out_of_range(kind: Kind, value: ObjectValue) -> String {
    let (Kind::Number { least, most, unit }, ObjectValue::Number(n)) = (kind, value) else {
        return format!("{value} is refused; choose {}", kind.range());
    };
    let show = |n: i64| match unit {
        Unit::Picoseconds => Duration::from_picos(n.unsigned_abs()).to_string(),
        _ => n.to_string(),
    };
    format!("{} is out of range; choose {} to {}", show(n), show(least), show(most))
}
