//! Configuration of congestion control in a switch: Source Flow Control, its proxy, Congestion
//! Isolation, congestion notifications. Fields of managed objects have the names of their
//! standards, and the objects' ranges and defaults. Here are the fields that several sections share.

mod isolation;
mod notifications;
mod sfc;

pub use isolation::{
    CimDialect, CongestionIsolation, IsolationPeer, IsolationQueue, PortIsolation, QueueMap,
};
pub use notifications::{
    FastCnp, FastCnpQueue, PortFastCnp, PortQcn, Qcn, QcnQueue, QpEntry, SourceQp,
};
pub use sfc::{
    PausePolicy, PortSfc, Sfc, SfcMeter, SfcProxy, SfcProxyAccept, SfcProxyCache, SfcQueue,
};

use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::quantity::{Rate, Ratio, Size, Span};
use ::file::{forms, word_or};
use congestion::sfc::CENTISECOND;
use ground::time::Duration;
use switch::managed::{Kind, ObjectValue, Unit};

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
                    // The last one is the object's own name if it has another than the key.
                    let name = [$key $(, $object)?];
                    let setting = self.$field.as_ref().map(|setting| setting as _);
                    visit($key, name[name.len() - 1], setting);
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
            // Objects of whole percent cannot hold a part of one; those of shares count 65536ths.
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

use words;

/// Refusal of a value that is out of the range of its kind.
pub fn out_of_range(kind: Kind, value: ObjectValue) -> String {
    let (Kind::Number { least, most, unit }, ObjectValue::Number(n)) = (kind, value) else {
        return format!("{value} is refused; choose {}", kind.range());
    };
    // Times have picoseconds as their unit in the table, and units for people in messages.
    let show = |n: i64| match unit {
        Unit::Picoseconds => Duration::from_picos(n.unsigned_abs()).to_string(),
        _ => n.to_string(),
    };
    format!("{} is out of range; choose {} to {}", show(n), show(least), show(most))
}

/// Location of the congestion of a port's queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CongestionLocator {
    /// At the edge, in the queue to the destination.
    Incast,
    /// Inside the network.
    InNetwork,
    /// Derived from the link partner and Topology Recognition.
    #[default]
    Auto,
}

/// Curve by which an AQM selects frames, as for ECN.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Aqm {
    /// Queue length in bytes below which no frame is selected. Default: that of `threshold`.
    pub kmin: Option<Size>,
    /// Queue length in bytes above which every frame is selected. Default: four times `kmin`.
    pub kmax: Option<Size>,
    /// Probability just below `kmax`. Default: `20%`.
    pub pmax: Option<Ratio>,
}

settings! {
/// Rate limit of messages.
pub struct MessageLimit {
    /// Average time between two messages, up to 1 s; `0` is no limit. Default: `1us`: at 100 bytes
    /// each that is less than 1 Gb/s.
    pub interval: Option<Span> => "interval",
    /// Largest burst of messages, at least 1. Default: `64`.
    pub burst: Option<u32> => "burst",
}
}

/// Senders whose messages are accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Senders {
    /// None.
    Nobody,
    /// All.
    Anybody,
    /// These networks and addresses.
    Only(Vec<String>),
}

/// A time that a managed object counts in centiseconds: a bare number is in centiseconds, a number
/// with a unit is a duration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Centiseconds(pub Duration);

/// Traffic classes: a bit mask, or a list.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(untagged)]
pub enum TrafficClasses {
    /// Bit n for class n.
    Mask(u64),
    /// The classes.
    List(Vec<u8>),
}

word_or! {
    Senders "Senders" enum "anybody" Anybody | "nobody" Nobody or list Vec<String> as Only:
        "`anybody`, `nobody` or a list of networks such as `[10.0.0.0/8]`";
}

impl FromStr for Centiseconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let span = match text.parse::<u64>() {
            // The objects have 32 bits, more than the 100 days that a duration may have.
            Ok(n) => format!("{n}0ms")
                .parse::<Span>()
                .map_err(|_| format!("{n} centiseconds are over 100 days")),
            // Elsewhere a bare number is seconds, here a whole one is centiseconds: 0.5 could be either.
            Err(_) if text.parse::<f64>().is_ok() => {
                let whole = "a number of centiseconds is whole; write another time with its unit, such as 500ms";
                return Err(format!("`{text}`: {whole}"));
            }
            Err(_) => text.parse(),
        };
        span.map(|Span(span)| Self(span))
    }
}

forms! {
    Centiseconds as "Centiseconds",
        "centiseconds, such as 100, or a span of time with its unit, such as 500us" =>
        text, whole;
        |generator| {
            "anyOf": [{ "type": "integer", "minimum": 0 }, generator.subschema_for::<Span>()]
        }

    TrafficClasses as "TrafficClasses",
        "a bit mask such as 0x18, or a list of traffic classes such as `[3, 4]`" =>
        whole => |n| Some(TrafficClasses::Mask(n)), list Vec<u8> => TrafficClasses::List;
        |generator| {
            "anyOf": [
                { "type": "integer", "minimum": 0, "maximum": 255 },
                generator.subschema_for::<Vec<u8>>()
            ]
        }
}

impl Serialize for Centiseconds {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let (all, one) = (self.0.as_picos(), CENTISECOND.as_picos());
        // A bare number is in the object's unit; other times need one.
        if all % one == 0 { s.serialize_u64(all / one) } else { Span(self.0).serialize(s) }
    }
}
