//! Text form of quantities: `100G`, `16MiB`, `300s`, `5%`, `100m`.
//!
//! A bare number is in the base unit of its kind: bytes, seconds, metres, or a fraction of one.
//! Rates need a unit, because `400` for 400 Gb/s would be 400 b/s. Ambiguous units (`64K`,
//! `10GB/s`, `5m` for minutes) are refused, and the message gives the correct form. Arithmetic is
//! on integers, so `0.1us` is exact.

pub use crate::quantity_text::Threshold;

use crate::forms;
use ground::printable::excerpt;
use ground::time::Duration;
use ground::units::{BitsPerSec, parts_of};

/// A size in bytes, `9216`, `64KB`, `16MiB`; at most [`Size::MAX`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Size(pub u64);

/// A rate, `10G`, `100Gbps`, `1 Gb/s`; above zero and at most 10 Tb/s.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rate(pub BitsPerSec);

/// A rate of a link, written as any [`Rate`]; at least [`LinkRate::MIN`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkRate(pub BitsPerSec);

/// A duration, `300s`, `100us`, `1.5ms`; at most 100 days.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Span(pub Duration);

/// A fraction in millionths, `5%`, `0.05`; 0 to 1,000,000.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ratio(pub u32);

impl Ratio {
    /// Returns the nearest number of parts of 65536.
    pub const fn parts(self) -> u32 {
        parts_of(self.0)
    }
}

/// A length in millimetres, `100m`, `0.5m`, `2km`; at most 1000 km.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Length(pub u64);

/// A kind of quantity: its units and the construction of its value.
trait Quantity: Sized {
    /// Name in the schema.
    const NAME: &'static str;
    /// Description of valid texts, for messages.
    const EXPECTED: &'static str;
    /// Pattern of the text form in the schema.
    const PATTERN: &'static str;
    /// Unit of a bare number; None if a number needs a unit.
    const BASE: Option<&'static str>;

    /// Number of smallest parts in a unit, or the reason why the unit is invalid.
    fn unit(unit: &str) -> Result<u128, String>;

    /// Value of a number of smallest parts.
    fn value(parts: u128) -> Result<Self, String>;
}

/// Splits `text` into digits before and after the decimal point, and the unit.
fn parse<Q: Quantity>(text: &str) -> Result<Q, String> {
    let text = text.trim();
    let end =
        text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim());
    let text = excerpt(text);
    let bad = || format!("`{text}` is not {}", Q::EXPECTED);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits: String = whole.chars().chain(fraction.chars()).filter(|c| *c != '_').collect();
    // The bound keeps the power of ten below in 128 bits.
    if digits.is_empty() || digits.len() > 24 || fraction.contains('.') {
        return Err(bad());
    }
    let unit = match (unit, Q::BASE) {
        ("", Some(base)) => base,
        // Zero is the same in all units.
        ("", None) if digits.bytes().any(|digit| digit != b'0') => {
            return Err(format!("`{text}` has no unit; write {text}G, {text}M or {text}bps"));
        }
        ("", None) => "",
        _ => unit,
    };
    let scale = Q::unit(&excerpt(unit)).map_err(|why| format!("`{text}`: {why}"))?;
    let mantissa: u128 = digits.parse().map_err(|_| bad())?;
    let places =
        u32::try_from(fraction.chars().filter(|c| *c != '_').count()).map_err(|_| bad())?;
    // Multiplied before the division: 0.1us is a whole number of picoseconds, 0.1 is none.
    let parts = mantissa.checked_mul(scale).ok_or_else(bad)?;
    let divisor = 10u128.pow(places);
    if parts % divisor != 0 {
        return Err(format!("`{text}` is not a whole number of the smallest unit there is"));
    }
    Q::value(parts / divisor).map_err(|why| format!("`{text}`: {why}"))
}

impl Size {
    /// Maximum: 1 PiB. A choice: more than any memory has and than a line of 10 Tb/s carries in ten minutes, and
    /// thousands of such sizes add up in 64 bits.
    pub const MAX: Self = Self(1 << 50);
}

impl Quantity for Size {
    const NAME: &'static str = "Size";
    const EXPECTED: &'static str =
        "a size; write octets (9216), KB/MB/GB (thousands) or KiB/MiB/GiB (1024s)";
    const PATTERN: &'static str = r"^[0-9][0-9_]*(\.[0-9]+)? *(B|[kK]B|MB|GB|KiB|MiB|GiB)?$";
    const BASE: Option<&'static str> = Some("B");

    fn unit(unit: &str) -> Result<u128, String> {
        Ok(match unit {
            "B" => 1,
            "kB" | "KB" => 1_000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            "k" | "K" | "M" | "G" => {
                let u = unit.to_uppercase();
                return Err(format!("`{unit}` can mean two things; write {u}B or {u}iB (1024s)"));
            }
            _ => return Err(format!("`{unit}` is no unit of size; write B, KB, MB, KiB or MiB")),
        })
    }

    fn value(parts: u128) -> Result<Self, String> {
        if parts > Self::MAX.0.into() {
            return Err("is more than 1 PiB, 2^50 octets".into());
        }
        Ok(Self(parts as u64))
    }
}

impl Quantity for Rate {
    const NAME: &'static str = "Rate";
    const EXPECTED: &'static str = "a rate; write bits per second as 10G, 100Gbps or 25 Gb/s";
    const PATTERN: &'static str =
        r"^[0-9][0-9_]*(\.[0-9]+)? *([kKMGT](b|bps|b/s|bit/s|bits/s)?|b|bps|b/s|bit/s|bits/s)$";
    const BASE: Option<&'static str> = None;

    fn unit(unit: &str) -> Result<u128, String> {
        // A capital B is for bytes everywhere; taken for bits it would be wrong by eight.
        if unit.contains('B') {
            return Err(format!("`{unit}` is octets; rates are in bits, such as 10G or 10Gb/s"));
        }
        let prefix = ["bits/s", "bit/s", "b/s", "bps", "b"]
            .iter()
            .find_map(|s| unit.strip_suffix(s))
            .unwrap_or(unit)
            .trim();
        Ok(match prefix {
            "" => 1,
            "k" | "K" => 1_000,
            "M" => 1_000_000,
            "G" | "g" => 1_000_000_000,
            "T" => 1_000_000_000_000,
            _ => return Err(format!("`{unit}` is no unit of rate; write G, Gbps or Gb/s")),
        })
    }

    fn value(parts: u128) -> Result<Self, String> {
        const MAX: u128 = 10_000_000_000_000;
        if parts > MAX {
            return Err("is above 10 Tb/s, the fastest link there is a quantum for".into());
        }
        BitsPerSec::new(parts as u64).map(Self).ok_or_else(|| "must be above zero".into())
    }
}

impl LinkRate {
    /// Lowest rate of a link. A choice: 1 Mb/s is the rate of 1BASE5, the slowest MAC of IEEE
    /// 802.3. A lower one is an error in the unit, and would give an absurd headroom.
    pub const MIN: BitsPerSec = BitsPerSec::new(1_000_000).expect("above zero");
}

impl Quantity for LinkRate {
    const NAME: &'static str = "LinkRate";
    const EXPECTED: &'static str = Rate::EXPECTED;
    const PATTERN: &'static str = Rate::PATTERN;
    const BASE: Option<&'static str> = Rate::BASE;

    fn unit(unit: &str) -> Result<u128, String> {
        Rate::unit(unit)
    }

    fn value(parts: u128) -> Result<Self, String> {
        let Rate(rate) = Rate::value(parts)?;
        if rate < Self::MIN {
            return Err("is below 1 Mb/s, the slowest link of IEEE 802.3; write M or G for the \
                        unit, as in 100M or 100G"
                .into());
        }
        Ok(Self(rate))
    }
}

impl Quantity for Span {
    const NAME: &'static str = "Span";
    const EXPECTED: &'static str = "a span of time; write 300s, 200ms, 50us or 800ns";
    const PATTERN: &'static str = r"^[0-9][0-9_]*(\.[0-9]+)? *(ps|ns|us|µs|ms|s|min|h|d)?$";
    const BASE: Option<&'static str> = Some("s");

    fn unit(unit: &str) -> Result<u128, String> {
        const S: u128 = 1_000_000_000_000;
        Ok(match unit {
            "ps" => 1,
            "ns" => 1_000,
            "us" | "µs" | "μs" => 1_000_000,
            "ms" => 1_000_000_000,
            "s" => S,
            "min" => 60 * S,
            "h" => 3_600 * S,
            "d" => 86_400 * S,
            "m" => return Err("`m` can mean two things; write ms or min".into()),
            _ => return Err(format!("`{unit}` is no unit of time; write s, ms, us or ns")),
        })
    }

    fn value(parts: u128) -> Result<Self, String> {
        const MAX: u128 = 100 * 86_400 * 1_000_000_000_000;
        if parts > MAX {
            return Err("is longer than 100 days".into());
        }
        Ok(Self(Duration::from_picos(parts as u64)))
    }
}

impl Quantity for Ratio {
    const NAME: &'static str = "Ratio";
    const EXPECTED: &'static str = "a part of the whole; write 5% or 0.05";
    const PATTERN: &'static str = r"^[0-9]+(\.[0-9]+)? *%?$";
    const BASE: Option<&'static str> = Some("1");

    fn unit(unit: &str) -> Result<u128, String> {
        match unit {
            "1" => Ok(1_000_000),
            "%" => Ok(10_000),
            _ => Err(format!("`{unit}` is no unit of a ratio; write 5% or 0.05")),
        }
    }

    fn value(parts: u128) -> Result<Self, String> {
        if parts > 1_000_000 {
            return Err("must be 0 to 1, or 0% to 100%".into());
        }
        Ok(Self(parts as u32))
    }
}

impl Quantity for Length {
    const NAME: &'static str = "Length";
    const EXPECTED: &'static str = "a length; write 100m or 2km";
    const PATTERN: &'static str = r"^[0-9][0-9_]*(\.[0-9]+)? *(cm|m|km)?$";
    const BASE: Option<&'static str> = Some("m");

    fn unit(unit: &str) -> Result<u128, String> {
        Ok(match unit {
            "cm" => 10,
            "m" => 1_000,
            "km" => 1_000_000,
            _ => return Err(format!("`{unit}` is no unit of length; write m or km")),
        })
    }

    fn value(parts: u128) -> Result<Self, String> {
        if parts > 1_000_000_000 {
            return Err("is more than 1000 km; PFC needs the round trip in buffer".into());
        }
        Ok(Self(parts as u64))
    }
}

/// A signed span of time in whole nanoseconds, `-20ns`, `1.5us`; at most 1 s either way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Signed(pub i32);

impl std::str::FromStr for Signed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        // The rest has no sign: `--5ns` is refused as a span.
        let (sign, size) = match text.split_at_checked(1) {
            Some(("-", size)) => (-1, size),
            Some(("+", size)) => (1, size),
            _ => (1, text),
        };
        let Span(size) = size.parse()?;
        let picos = size.as_picos();
        if size > Duration::from_secs(1) || picos % 1_000 != 0 {
            let text = excerpt(text);
            return Err(format!("`{text}` is not whole nanoseconds up to 1 s either way"));
        }
        Ok(Self(sign * (picos / 1_000) as i32))
    }
}

/// Implements reading and the schema of quantities; those with a base unit may be bare numbers.
macro_rules! readable {
    ($($name:ident: $json:tt;)*) => {$(
        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                parse(text)
            }
        }

        forms! {
            $name as <$name as Quantity>::NAME, <$name as Quantity>::EXPECTED =>
                text, whole, float;
                |_| $json
        }
    )*};
    (number or text: $($name:ident),*) => {
        readable! { $($name: {
            "anyOf": [
                { "type": "number", "minimum": 0 },
                { "type": "string", "pattern": $name::PATTERN }
            ]
        };)* }
    };
    (text: $($name:ident),*) => {
        readable! { $($name: { "type": "string", "pattern": $name::PATTERN };)* }
    };
}

readable!(number or text: Size, Span, Ratio, Length);
readable!(text: Rate, LinkRate);

forms! {
    Signed as "Signed", "a signed span of time; write 20ns, -20ns or -1.5us" =>
        text;
        |_| { "type": "string", "pattern": r"^[+-]?[0-9][0-9_]*(\.[0-9]+)? *(ns|us|µs|ms|s)$" }
}

/// Formats bytes: in a binary unit if that is exact, to one decimal from 10 KiB on, otherwise as a
/// plain number.
pub fn octets(n: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    for (scale, unit) in UNITS {
        if n >= scale && n % scale == 0 {
            return format!("{} {unit}", n / scale);
        }
        // Below 10 KiB a decimal would hide bytes that authors count.
        if n >= scale.max(10 << 10) {
            return format!("{:.1} {unit}", n as f64 / scale as f64);
        }
    }
    format!("{n} B")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(t: &str) -> Result<u64, String> {
        t.parse::<Size>().map(|s| s.0)
    }

    #[test]
    fn units_mean_what_they_say() {
        assert_eq!(size("9216"), Ok(9216));
        assert_eq!(size("64KB"), Ok(64_000));
        assert_eq!(size("64KiB"), Ok(65_536));
        assert_eq!(size("1.5 MiB"), Ok(1_572_864));
        assert_eq!(size("1_000 B"), Ok(1000));
        for t in
            ["10G", "10Gbps", "10 Gb/s", "10g", "10000M", "10000000000bps", "0.01T", "10Gbit/s"]
        {
            assert_eq!(t.parse::<Rate>().unwrap().0, BitsPerSec::gbps(10), "{t}");
        }
        assert_eq!("100us".parse::<Span>().unwrap().0, Duration::from_micros(100));
        assert_eq!("0.1us".parse::<Span>().unwrap().0, Duration::from_nanos(100));
        assert_eq!("5min".parse::<Span>().unwrap().0, Duration::from_secs(300));
        assert_eq!("300".parse::<Span>().unwrap().0, Duration::from_secs(300));
        assert_eq!("5%".parse::<Ratio>(), Ok(Ratio(50_000)));
        assert_eq!("0.05".parse::<Ratio>(), Ok(Ratio(50_000)));
        assert_eq!("100m".parse::<Length>(), Ok(Length(100_000)));
    }

    /// Whatever field has a size, as text or as a number: sums and times of them do not overflow.
    #[test]
    fn a_size_is_at_most_a_pebibyte() {
        assert_eq!(size("1048576GiB"), Ok(1 << 50));
        for text in ["1125899906842625", "18446744073709551615", "9e18", "99999999999GB"] {
            assert!(size(text).is_err(), "{text}");
        }
        let read = |n: u64| serde_json::from_value::<Size>(n.into()).map(|size| size.0);
        assert_eq!(read(1 << 50).unwrap(), 1 << 50);
        assert!(read(u64::MAX).unwrap_err().to_string().contains("is more than 1 PiB"));
        let read = |n: u64| serde_json::from_value::<Threshold>(n.into());
        assert!(read(1 << 50).is_ok() && read((1 << 50) + 1).is_err());
    }

    #[test]
    fn what_can_be_misread_is_refused_with_the_remedy() {
        assert!(size("64K").unwrap_err().contains("KB or KiB"));
        assert!("10GB/s".parse::<Rate>().unwrap_err().contains("in bits"));
        for bare in ["400", "100_000", "0.5", "10000000000"] {
            let refused = bare.parse::<Rate>().unwrap_err();
            assert_eq!(
                refused,
                format!("`{bare}` has no unit; write {bare}G, {bare}M or {bare}bps")
            );
        }
        assert!(serde_json::from_str::<Rate>("400").unwrap_err().to_string().contains("no unit"));
        assert!(serde_json::from_str::<Rate>("0.5").unwrap_err().to_string().contains("no unit"));
        assert!("0".parse::<Rate>().unwrap_err().contains("above zero"));
        for slow in ["400bps", "999999bps", "100 kb/s", "0.9M"] {
            let refused = slow.parse::<LinkRate>().unwrap_err();
            assert!(refused.starts_with(&format!("`{slow}`: is below 1 Mb/s")), "{refused}");
            assert!(slow.parse::<Rate>().is_ok(), "a flow may be as slow as {slow}");
        }
        assert_eq!("1000k".parse::<LinkRate>().unwrap().0, LinkRate::MIN);
        assert!("400".parse::<LinkRate>().unwrap_err().contains("no unit"));
        assert!("5m".parse::<Span>().unwrap_err().contains("ms or min"));
        assert!("101%".parse::<Ratio>().is_err() && "0".parse::<Rate>().is_err());
        for t in ["", "B", ".", "1.2.3", "-5", "1e9", "0.5B", "99999999999999999999999999", "_"] {
            assert!(size(t).is_err(), "{t:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(t in ".{0,30}", n in "[0-9._]{0,40}[kMGiBbps/%]{0,4}") {
            for t in [&t, &n] {
                let _ = (size(t), t.parse::<Rate>(), t.parse::<Span>());
                let _ = (t.parse::<Ratio>(), t.parse::<Length>());
            }
        }

        #[test]
        fn whole_octets_survive(n in 0..=Size::MAX.0) {
            proptest::prop_assert_eq!(size(&n.to_string()), Ok(n));
        }
    }

    #[test]
    fn octets_print_in_units_people_read() {
        assert_eq!(octets(1 << 20), "1 MiB");
        assert_eq!(octets(9216), "9 KiB");
        assert_eq!(octets(9214), "9214 B");
        assert_eq!(octets(123_456), "120.6 KiB");
    }
}
