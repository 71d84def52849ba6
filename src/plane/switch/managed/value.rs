//! Values of managed objects: types, ranges and text.

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};
use core::str::FromStr;

use ground::units::{Mac, PRIORITIES, percent_of_parts};

/// The range of a number in a queue map (802.1Qcz 49.4.1.2.5).
pub const QUEUE_MAP: (i8, i8) = (-8, 8);

/// The value of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ObjectValue {
    /// No address.
    Unset,
    Bool(bool),
    /// Number in the unit of its kind.
    Number(i64),
    Mac(Mac),
    Ipv4(Ipv4Addr),
    Ipv6(Ipv6Addr),
    /// Traffic classes: bit n for class n.
    Classes(u8),
    /// A queue map: a number for each class.
    QueueMap([i8; PRIORITIES]),
    /// One of a few words.
    Choice(&'static str),
}

/// Type and range of an object's values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Bool,
    /// A number from `least` to `most`.
    Number {
        least: i64,
        most: i64,
        unit: Unit,
    },
    /// MAC address of a station, or none.
    Mac,
    /// IPv4 address of a host, or none.
    Ipv4,
    /// IPv6 address of a host, or none.
    Ipv6,
    /// A bit mask of traffic classes.
    Classes,
    /// A queue map.
    QueueMap,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A counter.
    Counter(Counter),
}

/// A counter among the objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counter {
    /// Source Flow Control messages sent.
    TransmittedSfcms,
    /// Congestion notification messages sent.
    TransmittedCnms,
    /// PFC frames sent.
    PfcRequests,
    /// PFC frames received.
    PfcIndications,
    /// Bits that the headroom of a port's lossless groups allows for: a level, not a count.
    LinkDelayAllowance,
}

/// Unit of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// No unit.
    One,
    /// Bytes.
    Octets,
    Centiseconds,
    Picoseconds,
    /// Parts of 65536.
    Share,
    Percent,
    BitsPerSecond,
}

impl Kind {
    /// Returns true if a value is of the kind and in its range.
    pub fn takes(&self, value: &ObjectValue) -> bool {
        match (self, value) {
            (Self::Bool, ObjectValue::Bool(_)) | (Self::Classes, ObjectValue::Classes(_)) => true,
            (Self::Mac | Self::Ipv4 | Self::Ipv6, ObjectValue::Unset) => true,
            (Self::Number { least, most, .. }, ObjectValue::Number(n)) => {
                (least..=most).contains(&n)
            }
            // No address is `Unset`, not an address of zeros.
            (Self::Mac, ObjectValue::Mac(mac)) => !mac.is_multicast() && *mac != Mac::default(),
            (Self::Ipv4, ObjectValue::Ipv4(a)) => {
                !(a.is_unspecified() || a.is_multicast() || a.is_broadcast() || a.is_loopback())
            }
            (Self::Ipv6, ObjectValue::Ipv6(a)) => {
                !(a.is_unspecified() || a.is_multicast() || a.is_loopback())
            }
            (Self::QueueMap, ObjectValue::QueueMap(map)) => {
                map.iter().all(|n| (QUEUE_MAP.0..=QUEUE_MAP.1).contains(n))
            }
            (Self::Choice(words), ObjectValue::Choice(word)) => words.contains(word),
            _ => false,
        }
    }

    /// Parses a value written without a unit; numbers are in the kind's unit.
    pub fn read(&self, text: &str) -> Option<ObjectValue> {
        let text = text.trim();
        // Words that clients and tables use for no address.
        let unset = matches!(text, "unset" | "none" | "-");
        match self {
            Self::Bool => match text {
                "true" | "on" | "yes" => Some(ObjectValue::Bool(true)),
                "false" | "off" | "no" => Some(ObjectValue::Bool(false)),
                _ => None,
            },
            Self::Number { .. } => text.parse().ok().map(ObjectValue::Number),
            Self::Mac | Self::Ipv4 | Self::Ipv6 if unset => Some(ObjectValue::Unset),
            Self::Mac => Mac::from_str(text).ok().map(ObjectValue::Mac),
            Self::Ipv4 => text.parse().ok().map(ObjectValue::Ipv4),
            Self::Ipv6 => text.parse().ok().map(ObjectValue::Ipv6),
            Self::Classes => classes(text).map(ObjectValue::Classes),
            Self::QueueMap => {
                let numbers: Vec<i8> =
                    items(text).map(|n| n.parse().ok()).collect::<Option<_>>()?;
                numbers.try_into().ok().map(ObjectValue::QueueMap)
            }
            Self::Choice(words) => {
                words.iter().find(|word| **word == text).map(|word| ObjectValue::Choice(word))
            }
            Self::Counter(_) => None,
        }
    }

    /// Formats a value as [`Self::read`] parses it, with a unit where that is easier to read.
    pub fn show(&self, value: ObjectValue) -> String {
        match (self, value) {
            (Self::Number { unit, .. }, ObjectValue::Number(n)) => unit.show(n),
            _ => value.to_string(),
        }
    }

    /// True for a choice of too many words to list.
    fn is_long(&self) -> bool {
        matches!(self, Self::Choice(words) if words.len() > 8)
    }

    /// Describes the valid values in words.
    pub fn range(&self) -> String {
        match self {
            Self::Bool => "true or false".into(),
            Self::Number { least, most, unit } => {
                format!("{} to {}{}", unit.show(*least), unit.show(*most), unit.name())
            }
            Self::Mac => "a station's MAC address, or unset".into(),
            Self::Ipv4 => "a host's IPv4 address, or unset".into(),
            Self::Ipv6 => "a host's IPv6 address, or unset".into(),
            Self::Classes => "classes such as [3,4], or a bit mask from 0 to 255".into(),
            Self::QueueMap => {
                let (least, most) = QUEUE_MAP;
                format!("eight numbers from {least} to {most}, such as 0,0,0,-5,4,0,0,0")
            }
            // A statistic has a hundred words.
            Self::Choice([first, second, third, .., last]) if self.is_long() => {
                format!("{first}, {second}, {third} to {last}")
            }
            Self::Choice(words) => words.join(" or "),
            Self::Counter(Counter::LinkDelayAllowance) => "a number of bits".into(),
            Self::Counter(_) => "a counter".into(),
        }
    }
}

impl Unit {
    fn show(self, n: i64) -> String {
        match self {
            Self::One | Self::Centiseconds | Self::Octets | Self::Percent | Self::BitsPerSecond => {
                n.to_string()
            }
            Self::Picoseconds => exact(n.unsigned_abs()),
            Self::Share => percent_of_parts(n as u32),
        }
    }

    /// Returns the suffix for a range of such numbers.
    const fn name(self) -> &'static str {
        match self {
            Self::One | Self::Picoseconds | Self::Share | Self::Percent => "",
            Self::Octets => " octets",
            Self::Centiseconds => " centiseconds",
            Self::BitsPerSecond => " bit/s",
        }
    }
}

/// Formats a time in the largest unit that is not above it, exact to the picosecond, so that the
/// text can be written back.
fn exact(picos: u64) -> String {
    const UNITS: [(u64, &str); 5] = [
        (1_000_000_000_000, "s"),
        (1_000_000_000, "ms"),
        (1_000_000, "us"),
        (1_000, "ns"),
        (1, "ps"),
    ];
    let Some((scale, unit)) = UNITS.into_iter().find(|(scale, _)| picos >= *scale) else {
        return "0".into();
    };
    // As many digits as the unit has, so that nothing is rounded.
    let digits = scale.ilog10() as usize;
    let fraction = format!("{:0digits$}", picos % scale);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{}{point}{fraction}{unit}", picos / scale)
}

/// Splits a list, with or without brackets.
fn items(text: &str) -> impl Iterator<Item = &str> {
    let inner = text.trim_matches(|c| matches!(c, '[' | ']' | '{' | '}'));
    inner.split([',', ' ']).filter(|item| !item.is_empty())
}

/// Parses a set of classes: a number is a bit mask; a list, with brackets or commas, names classes.
fn classes(text: &str) -> Option<u8> {
    if text == "unset" || text == "none" {
        return Some(0);
    }
    // A single number is a mask; a list names classes.
    if let Some(digits) = text.strip_prefix("0x") {
        return u8::from_str_radix(digits, 16).ok();
    }
    if let Ok(mask) = text.parse() {
        return Some(mask);
    }
    items(text).try_fold(0, |mask, item| {
        let class: u32 = item.parse().ok().filter(|n| (*n as usize) < PRIORITIES)?;
        Some(mask | 1 << class)
    })
}

impl fmt::Display for ObjectValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unset => f.write_str("unset"),
            Self::Bool(b) => b.fmt(f),
            Self::Number(n) => n.fmt(f),
            Self::Mac(mac) => mac.fmt(f),
            Self::Ipv4(address) => address.fmt(f),
            Self::Ipv6(address) => address.fmt(f),
            Self::Classes(mask) => {
                let named = (0..8).filter(|n| mask >> n & 1 == 1).map(|n: u8| n.to_string());
                write!(f, "[{}]", named.collect::<Vec<_>>().join(","))
            }
            Self::QueueMap(map) => f.write_str(&map.map(|n| n.to_string()).join(",")),
            Self::Choice(word) => f.write_str(word),
        }
    }
}
