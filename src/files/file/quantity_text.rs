//! Quantities as text: the shortest one that parses to the same value. A queue length is one of two quantities, bytes
//! or a share of the port's buffer, so it is here.

use std::fmt;

use serde::{Serialize, Serializer};

use super::quantity::{Length, LinkRate, Rate, Ratio, Signed, Size, Span};
use crate::forms;

/// Formats `n` in the largest of `units` (each with its scale, largest first) that divides it.
fn whole(n: u64, units: &[(u64, &str)]) -> String {
    // Only exact units: a rounded text would not parse to the same value.
    let unit = units.iter().find(|(scale, _)| n >= *scale && n % scale == 0);
    unit.map_or_else(|| n.to_string(), |(scale, name)| format!("{}{name}", n / scale))
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 5] = [
            (1 << 30, "GiB"),
            (1_000_000, "MB"),
            (1 << 20, "MiB"),
            (1_000, "KB"),
            (1 << 10, "KiB"),
        ];
        f.write_str(&whole(self.0, &UNITS))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 4] =
            [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"), (1, "bps")];
        f.write_str(&whole(self.0.get(), &UNITS))
    }
}

impl fmt::Display for LinkRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Rate(self.0).fmt(f)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 5] = [
            (1_000_000_000_000, "s"),
            (1_000_000_000, "ms"),
            (1_000_000, "us"),
            (1_000, "ns"),
            (1, "ps"),
        ];
        f.write_str(&whole(self.0.as_picos(), &UNITS))
    }
}

impl fmt::Display for Signed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        const UNITS: [(u64, &str); 4] =
            [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"), (1, "ns")];
        match self.0 {
            // Signed spans have no text without a unit.
            0 => f.write_str("0ns"),
            nanos => write!(f, "{sign}{}", whole(nanos.unsigned_abs().into(), &UNITS)),
        }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", decimal(self.0.into(), 4))
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}m", decimal(self.0, 3))
    }
}

/// Formats `n` with a decimal point before its last `places` digits, without trailing zeros.
fn decimal(n: u64, places: u32) -> String {
    let scale = 10_u64.pow(places);
    let (whole, rest) = (n / scale, n % scale);
    if rest == 0 {
        return whole.to_string();
    }
    // Leading zeros of the fraction count; those at its end do not.
    let rest = format!("{rest:0width$}", width = places as usize);
    format!("{whole}.{}", rest.trim_end_matches('0'))
}

/// Serializes quantities as text with a unit.
macro_rules! written {
    ($($name:ty),*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
    )*};
}

written!(Size, Rate, LinkRate, Span, Ratio, Length, Signed);

/// A queue length, `100KB`, or a share of the port's buffer, `25%`. Shares need the percent sign,
/// because a bare number is bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Threshold {
    /// Bytes.
    Bytes(Size),
    /// A share.
    Share(Ratio),
}

impl From<Size> for Threshold {
    fn from(size: Size) -> Self {
        Self::Bytes(size)
    }
}

impl std::str::FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // No unit of a size ends with it, so the sign alone distinguishes the two.
        if text.trim_end().ends_with('%') {
            return text.parse().map(Self::Share);
        }
        text.parse().map(Self::Bytes)
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(size) => size.fmt(f),
            Self::Share(share) => share.fmt(f),
        }
    }
}

impl Serialize for Threshold {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bytes(size) => size.serialize(out),
            Self::Share(share) => share.serialize(out),
        }
    }
}

forms! {
    Threshold as "Threshold", "a size, or a share of the port's buffer; write 100KB or 25%" =>
        text, whole;
        |generator| {
            "anyOf": [
                generator.subschema_for::<Size>(),
                { "type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? *%$" }
            ]
        }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use ground::time::Duration;
    use ground::units::BitsPerSec;

    #[test]
    fn what_is_written_is_what_people_would_write() {
        assert_eq!(Size(16 << 20).to_string(), "16MiB");
        assert_eq!(Size(20_000_000).to_string(), "20MB");
        assert_eq!(Size(1048).to_string(), "1048");
        assert_eq!(Rate(BitsPerSec::gbps(100)).to_string(), "100G");
        assert_eq!(Rate(BitsPerSec::new(148_809_701).unwrap()).to_string(), "148809701bps");
        assert_eq!(Span(Duration::from_nanos(500)).to_string(), "500ns");
        assert_eq!(Span(Duration::from_picos(614_400)).to_string(), "614400ps");
        assert_eq!(Span(Duration::ZERO).to_string(), "0");
        assert_eq!(Ratio(12_500).to_string(), "1.25%");
        assert_eq!(Length(100_000).to_string(), "100m");
        assert_eq!(Length(50).to_string(), "0.05m");
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back_as_the_same(
            size in 0..=Size::MAX.0,
            rate in 1_u64..10_000_000_000_000,
            ps in 0_u64..8_640_000_000_000_000_000,
            ppm in 0_u32..=1_000_000,
            mm in 0_u64..=1_000_000_000,
        ) {
            prop_assert_eq!(Size(size).to_string().parse(), Ok(Size(size)));
            let rate = Rate(BitsPerSec::new(rate).unwrap());
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
            let span = Span(Duration::from_picos(ps));
            prop_assert_eq!(span.to_string().parse(), Ok(span));
            prop_assert_eq!(Ratio(ppm).to_string().parse(), Ok(Ratio(ppm)));
            prop_assert_eq!(Length(mm).to_string().parse(), Ok(Length(mm)));
        }
    }

    #[test]
    fn a_percent_sign_makes_a_share() {
        assert_eq!("25%".parse(), Ok(Threshold::Share(Ratio(250_000))));
        assert_eq!("100KB".parse(), Ok(Threshold::Bytes(Size(100_000))));
        assert_eq!("0".parse(), Ok(Threshold::Bytes(Size(0))));
        for text in ["25%", "100KB"] {
            assert_eq!(text.parse::<Threshold>().unwrap().to_string(), text);
        }
        for wrong in ["101%", "%", "25 percent", "-1%"] {
            assert!(wrong.parse::<Threshold>().is_err(), "{wrong}");
        }
    }
}
