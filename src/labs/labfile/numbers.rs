//! Number types that only labs have: probabilities as small as bit error ratios, clock drift, and
//! propagation delay.

use std::fmt;

use config::forms;
use serde::{Serialize, Serializer};

/// A probability, `1e-12`, `0.1%`; 0 to 1.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug, Default)]
pub struct Chance(f64);

/// Frequency error of a clock, `50ppm`, `-20ppm`, in parts per billion; at most 200,000 either way,
/// twice the Ethernet limit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Drift(pub i32);

/// Propagation delay per metre, `5`, `fibre`, `copper`, in picoseconds; 3,000 to 10,000.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NsPerMetre(pub u32);

impl Chance {
    /// Returns `None` outside of 0 to 1.
    pub fn new(p: f64) -> Option<Self> {
        (0.0..=1.0).contains(&p).then_some(Self(p))
    }

    /// The probability in units of 2^-64; 1 saturates to the nearest value below. Scaling by a
    /// power of two is exact.
    pub fn in_2_64ths(self) -> u64 {
        // The cast saturates: a probability of 1 becomes the largest number.
        (self.0 * 2_f64.powi(64)) as u64
    }
}

impl fmt::Display for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Twelve zeros cannot be counted by eye.
        if self.0 != 0.0 && self.0 < 1e-3 { write!(f, "{:e}", self.0) } else { self.0.fmt(f) }
    }
}

impl std::str::FromStr for Chance {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, scale) = match text.trim().strip_suffix('%') {
            Some(number) => (number.trim_end(), 0.01),
            None => (text.trim(), 1.0),
        };
        let p = number.parse::<f64>().ok().and_then(|p| Self::new(p * scale));
        p.ok_or_else(|| format!("`{text}` is no chance; write 1e-12, 0.001 or 0.1%, 0 to 1"))
    }
}

impl Drift {
    /// Limit in either direction, in parts per billion.
    pub const MAX: i32 = 200_000;
}

impl fmt::Display for Drift {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 % 1_000 == 0 {
            write!(f, "{}ppm", self.0 / 1_000)
        } else {
            write!(f, "{}ppb", self.0)
        }
    }
}

impl std::str::FromStr for Drift {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("`{text}` is no drift; write 50ppm, -20ppm or 300ppb, up to 200ppm");
        let (number, scale) = match text.trim() {
            t if t.ends_with("ppm") => (t.trim_end_matches("ppm"), 1e3),
            t if t.ends_with("ppb") => (t.trim_end_matches("ppb"), 1.0),
            // Zero needs no unit.
            "0" => ("0", 1.0),
            _ => return Err(bad()),
        };
        let ppb = number.trim().parse::<f64>().map_err(|_| bad())? * scale;
        // A NaN is in no range.
        if !(-f64::from(Self::MAX)..=f64::from(Self::MAX)).contains(&ppb) {
            return Err(bad());
        }
        Ok(Self(ppb.round() as i32))
    }
}

impl NsPerMetre {
    /// 5 ns per metre, as in the proposals for 802.1Qdt.
    pub const FIBRE: Self = Self(5_000);
    /// 5556 bit times for 100 m at 10 Gb/s, as in the driver of Intel's NICs.
    pub const COPPER: Self = Self(5_556);
}

impl fmt::Display for NsPerMetre {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::FIBRE => f.write_str("fibre"),
            Self::COPPER => f.write_str("copper"),
            Self(ps) => (f64::from(ps) / 1e3).fmt(f),
        }
    }
}

impl std::str::FromStr for NsPerMetre {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("`{text}` is no time per metre; write fibre, copper or 3 to 10 (ns)");
        match text.trim() {
            "fibre" => Ok(Self::FIBRE),
            "copper" => Ok(Self::COPPER),
            number => {
                let ns = number.parse::<f64>().map_err(|_| bad())?;
                // The speed of light is 3.34 ns per metre.
                let possible = (3.0..=10.0).contains(&ns);
                if possible { Ok(Self((ns * 1e3).round() as u32)) } else { Err(bad()) }
            }
        }
    }
}

forms! {
    Chance as "Chance", "a chance such as 1e-12 or 0.1%" =>
        text, number;
        |_| {
            "anyOf": [
                { "type": "number", "minimum": 0, "maximum": 1 },
                { "type": "string", "pattern": r"^[0-9.]+(e-?[0-9]+)? *%?$" }
            ]
        }

    Drift as "Drift", "a drift such as 50ppm or -20ppm" =>
        text, number;
        |_| {
            "anyOf": [
                { "const": 0 },
                { "type": "string", "pattern": r"^[+-]?[0-9.]+ *(ppm|ppb)$" }
            ]
        }

    NsPerMetre as "NsPerMetre", "fibre, copper or a number of nanoseconds" =>
        text, number;
        |_| {
            "anyOf": [
                { "type": "number", "minimum": 3, "maximum": 10 },
                { "enum": ["fibre", "copper"] }
            ]
        }
}

/// Writes numbers as people write them.
macro_rules! written {
    ($($name:ident)*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
    )*};
}

written! { Chance Drift NsPerMetre }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_keep_what_is_small() {
        let p: Chance = "1e-12".parse().unwrap();
        assert_eq!(p.in_2_64ths(), 18_446_744);
        assert_eq!("50%".parse::<Chance>().unwrap().in_2_64ths(), 1 << 63);
        assert_eq!("1".parse::<Chance>().unwrap().in_2_64ths(), u64::MAX);
        for bad in ["-1", "2", "NaN", "inf", "101%", "", "x"] {
            assert!(bad.parse::<Chance>().is_err(), "{bad}");
        }
        assert_eq!(p.to_string().parse(), Ok(p));
    }

    #[test]
    fn light_is_not_overtaken() {
        assert_eq!("5".parse(), Ok(NsPerMetre::FIBRE));
        assert_eq!("5.05".parse::<NsPerMetre>().unwrap().to_string(), "5.05");
        assert!("2.9".parse::<NsPerMetre>().is_err() && "glass".parse::<NsPerMetre>().is_err());
    }

    #[test]
    fn drifts_are_signed_and_bounded() {
        assert_eq!("-20ppm".parse(), Ok(Drift(-20_000)));
        assert_eq!("0.5 ppm".parse(), Ok(Drift(500)));
        assert_eq!(Drift(-20_500).to_string().parse(), Ok(Drift(-20_500)));
        for bad in ["20", "201ppm", "NaNppm", "ppm", ""] {
            assert!(bad.parse::<Drift>().is_err(), "{bad}");
        }
    }
}
