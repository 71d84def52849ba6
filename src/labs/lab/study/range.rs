//! Ranges of numbers and quantities: `1..100`, `5m..500m count 12`.
//!
//! Arithmetic is on integers, so every value is exact, and the same on every machine.

use std::fmt;

use super::RUNS_MAX;

/// Values from one end to the other, both included where the steps meet it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Range {
    /// Ends, in the last decimal place of the range.
    from: i128,
    to: i128,
    steps: Steps,
    /// Decimal places of all values.
    places: u32,
    /// Unit behind each value, such as `m`.
    unit: String,
    len: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Steps {
    /// A constant difference.
    By(i128),
    /// A constant factor.
    Times(i128),
    /// As many values at equal distances, rounded to the decimal places of the ends.
    Count(u64),
}

/// A decimal number: an integer with its last `places` digits behind the point, and a unit.
struct Number {
    parts: i128,
    places: u32,
    unit: String,
}

/// Most digits of a number.
const DIGITS_MAX: usize = 24;

/// Most decimal places of a number.
const PLACES_MAX: usize = 12;

impl Number {
    fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let bad = || format!("`{text}` is no number, or number with a unit, such as 100 or 100m");
        // Not `f64`: 0.1 has no exact value there, and steps of it would add up to another last digit.
        let (sign, rest) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
        let is_digit = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
        let end = rest.find(|c| !is_digit(c)).unwrap_or(rest.len());
        let (digits, unit) = (rest[..end].replace('_', ""), rest[end..].trim());
        let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
        let all = format!("{whole}{fraction}");
        let is_unit = unit.chars().all(|c| c.is_alphabetic() || "%/".contains(c));
        let fits = all.len() <= DIGITS_MAX && fraction.len() <= PLACES_MAX;
        if all.is_empty() || fraction.contains('.') || !is_unit || !fits {
            return Err(bad());
        }
        let parts: i128 = all.parse().map_err(|_| bad())?;
        Ok(Self { parts: sign * parts, places: fraction.len() as u32, unit: unit.to_owned() })
    }

    fn at(&self, places: u32) -> i128 {
        self.parts * 10_i128.pow(places - self.places)
    }
}

/// Returns a number without a unit, in its last decimal place that a number may have.
pub(super) fn number(text: &str) -> Option<i128> {
    let number = Number::parse(text).ok().filter(|number| number.unit.is_empty())?;
    number.parts.checked_mul(10_i128.pow(PLACES_MAX as u32 - number.places))
}

/// True if a text is meant as a range.
pub(super) fn is_range(text: &str) -> bool {
    text.contains("..")
}

impl Range {
    /// Parses `FROM..TO`, followed by `step N`, `factor N` or `count N`; `step 1` may be left out.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let form = || {
            format!(
                "`{text}` is no range; write 1..100, or a range with `step`, `factor` or `count`, \
                 such as 5m..500m step 5m"
            )
        };
        let (from, rest) = text.split_once("..").ok_or_else(form)?;
        let mut words = rest.split_whitespace();
        let to = words.next().ok_or_else(form)?;
        let more: Vec<&str> = words.collect();
        match *more {
            [] => Self::new(from, to, None),
            [word, n] => Self::new(from, to, Some((word, n))),
            _ => Err(form()),
        }
    }

    /// Creates a range between two numbers of the same unit, by `step`, `factor` or `count`.
    pub(super) fn new(from: &str, to: &str, by: Option<(&str, &str)>) -> Result<Self, String> {
        let (low, high) = (Number::parse(from)?, Number::parse(to)?);
        if low.unit != high.unit {
            return Err(format!("`{from}` and `{to}`: write both in the same unit"));
        }
        let (word, n) = by.unwrap_or(("step", "1"));
        let n = match (word, by) {
            // Without a unit a step of 1 is what is meant; with one it could be any part of the range.
            ("step", None) if !low.unit.is_empty() => {
                return Err(format!("a range of `{}` needs `step`, `factor` or `count`", low.unit));
            }
            ("step" | "factor" | "count", _) => Number::parse(n)?,
            _ => return Err(format!("`{word}`: write `step`, `factor` or `count`")),
        };
        let is_step = word == "step" && by.is_some();
        if (is_step && n.unit != low.unit) || (word != "step" && !n.unit.is_empty()) {
            let unit = if is_step { &*low.unit } else { "none" };
            return Err(format!("the unit of `{word}` is {unit}", unit = quoted_or(unit)));
        }
        // The finest of all decimals: integers in this place hold both ends and every step exactly.
        let places = low.places.max(high.places).max(if is_step { n.places } else { 0 });
        let (from, to) = (low.at(places), high.at(places));
        if from > to {
            return Err("the first end is the larger one; write the smaller one first".into());
        }
        let whole = |least: i128| match (n.places, n.parts) {
            (0, parts) if parts >= least => Ok(parts),
            _ => Err(format!("`{word}` must be a whole number of {least} or more")),
        };
        let steps = match word {
            "step" => Steps::By(n.at(places)),
            "factor" => Steps::Times(whole(2)?),
            _ => Steps::Count(u64::try_from(whole(2)?).unwrap_or(u64::MAX)),
        };
        let len = match steps {
            Steps::By(step) if step <= 0 => return Err("`step` must be above zero".into()),
            // Rounded down: the last value is at or below the upper end. Too many for 64 bits is too many below.
            Steps::By(step) => u64::try_from((to - from) / step).unwrap_or(u64::MAX - 1) + 1,
            Steps::Times(_) if from <= 0 => {
                return Err("a range with `factor` begins above zero".into());
            }
            Steps::Times(factor) => {
                // Counted and not calculated by a logarithm, which is inexact at the ends.
                let mut powers = std::iter::successors(Some(from), |n| n.checked_mul(factor));
                powers.position(|n| n > to).map_or(u64::MAX, |n| n as u64)
            }
            Steps::Count(count) => count,
        };
        if len > RUNS_MAX {
            return Err(format!("more than {RUNS_MAX} values"));
        }
        // More values than there are steps of the last decimal would round to equal ones.
        if matches!(steps, Steps::Count(count) if i128::from(count) > to - from + 1) {
            let what = "the values are not all different; use fewer, or write more decimals";
            return Err(format!("`count`: {what}"));
        }
        Ok(Self { from, to, steps, places, unit: low.unit, len })
    }

    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    /// Returns a value by its number, as text with the unit.
    pub(super) fn value(&self, n: u64) -> String {
        let i = i128::from(n);
        let parts = match self.steps {
            Steps::By(step) => self.from + step * i,
            Steps::Times(factor) => self.from * factor.pow(n as u32),
            Steps::Count(count) => {
                let steps = i128::from(count) - 1;
                // Half a step more, so that the division rounds.
                self.from + ((self.to - self.from) * i * 2 + steps) / (2 * steps)
            }
        };
        self.text(parts)
    }

    fn text(&self, parts: i128) -> String {
        let scale = 10_u128.pow(self.places);
        let (size, sign) = (parts.unsigned_abs(), if parts < 0 { "-" } else { "" });
        let (whole, rest) = (size / scale, size % scale);
        if rest == 0 {
            return format!("{sign}{whole}{}", self.unit);
        }
        let rest = format!("{rest:0width$}", width = self.places as usize);
        // Without trailing zeros, so that 5.50 and 5.5 are one value with one name.
        format!("{sign}{whole}.{}{}", rest.trim_end_matches('0'), self.unit)
    }
}

fn quoted_or(unit: &str) -> String {
    if unit == "none" { unit.into() } else { format!("`{unit}`") }
}

/// `1..100 step 3`: the same range in its short form.
impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.text(self.from), self.text(self.to))?;
        match self.steps {
            Steps::By(_) if self.unit.is_empty() && self.text(self.step()) == "1" => Ok(()),
            Steps::By(step) => write!(f, " step {}", self.text(step)),
            Steps::Times(factor) => write!(f, " factor {factor}"),
            Steps::Count(count) => write!(f, " count {count}"),
        }
    }
}

impl Range {
    const fn step(&self) -> i128 {
        match self.steps {
            Steps::By(step) => step,
            Steps::Times(_) | Steps::Count(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> String {
        let range = Range::parse(text).unwrap_or_else(|why| panic!("{text}: {why}"));
        assert_eq!(range.to_string(), text);
        (0..range.len()).map(|n| range.value(n)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ranges_are_exact_and_have_both_ends() {
        assert_eq!(all("1..5"), "1 2 3 4 5");
        assert_eq!(all("-3..1"), "-3 -2 -1 0 1");
        assert_eq!(all("0..10 step 4"), "0 4 8");
        assert_eq!(all("0.1us..0.5us step 0.2us"), "0.1us 0.3us 0.5us");
        assert_eq!(all("1KiB..10KiB factor 2"), "1KiB 2KiB 4KiB 8KiB");
        assert_eq!(all("5m..500m count 4"), "5m 170m 335m 500m");
        assert_eq!(all("5m..500m count 3"), "5m 253m 500m");
        assert_eq!(all("-2..2 count 3"), "-2 0 2");
        assert_eq!(Range::parse("5.0m..500.0m count 3").unwrap().value(1), "252.5m");
        assert_eq!(Range::parse("1_000..1_001").unwrap().value(0), "1000");
        assert_eq!(Range::parse("0..1 step 0.25").unwrap().len(), 5);
        let seeds = Range::parse("18446744073709551610..18446744073709551615").unwrap();
        assert_eq!((seeds.len(), &*seeds.value(5)), (6, "18446744073709551615"));
    }

    #[test]
    fn a_refusal_names_the_remedy() {
        for (text, words) in [
            ("1..", "is no range; write 1..100"),
            ("1..5 step", "is no range"),
            ("1..5 by 2", "write `step`, `factor` or `count`"),
            ("a..5", "`a` is no number"),
            ("1..5x9", "is no number"),
            ("5..1", "the smaller one first"),
            ("5m..1km step 5m", "in the same unit"),
            ("5m..50m", "a range of `m` needs `step`"),
            ("5m..50m step 5", "the unit of `step` is `m`"),
            ("5m..50m count 5m", "the unit of `count` is none"),
            ("1..5 step 0", "`step` must be above zero"),
            ("0..8 factor 2", "begins above zero"),
            ("1..8 factor 1", "whole number of 2 or more"),
            ("1..8 count 1", "whole number of 2 or more"),
            ("1..8 count 9", "not all different"),
            ("1..10000001", "more than 10000000 values"),
            ("0.0000000000001..1", "is no number"),
        ] {
            let why = Range::parse(text).unwrap_err();
            assert!(why.contains(words), "{text}: {why}");
        }
    }
}
