//! Axes: the unit of the numbers, the positions of ticks and their labels.

use ground::time::Duration;

/// A unit and its size.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Unit {
    pub(super) name: &'static str,
    /// In base units.
    pub(super) size: f64,
}

/// Units of time, in nanoseconds.
const TIMES: [Unit; 4] = units(["s", "ms", "µs", "ns"]);

/// Units of data, in bytes.
const OCTETS: [Unit; 4] = units(["GB", "MB", "kB", "B"]);

/// Units of rates, in bit/s.
const RATES: [Unit; 4] = units(["Gb/s", "Mb/s", "kb/s", "b/s"]);

/// Units of frame rates, in frames/s.
const FRAMES: [Unit; 4] = units(["Gframes/s", "Mframes/s", "kframes/s", "frames/s"]);

/// Returns units of a thousand times the next one; the last is the base unit.
const fn units([giga, mega, kilo, base]: [&'static str; 4]) -> [Unit; 4] {
    [
        Unit { name: giga, size: 1e9 },
        Unit { name: mega, size: 1e6 },
        Unit { name: kilo, size: 1e3 },
        Unit { name: base, size: 1.0 },
    ]
}

fn of(units: [Unit; 4], max: f64) -> Unit {
    // From two on: an axis up to 1.2 ms reads better in 1200 us.
    let fits = |unit: &Unit| max >= 2.0 * unit.size;
    units.into_iter().find(fits).unwrap_or(units[3])
}

/// Returns the unit for times up to `max_ns`.
pub(super) fn time(max_ns: f64) -> Unit {
    of(TIMES, max_ns)
}

/// Returns the unit for sizes up to `max` bytes.
pub(super) fn octets(max: f64) -> Unit {
    of(OCTETS, max)
}

/// Returns the unit for rates up to `max` bit/s.
pub(super) fn rate(max: f64) -> Unit {
    of(RATES, max)
}

/// Returns the unit for frame rates up to `max` frames/s.
pub(super) fn frames(max: f64) -> Unit {
    of(FRAMES, max)
}

/// Returns the units of the same quantity, the largest first; a unit without others alone.
pub(super) fn family(unit: Unit) -> Vec<Unit> {
    let families = [TIMES, OCTETS, RATES, FRAMES];
    let same = |units: &[Unit; 4]| units.contains(&unit);
    families.into_iter().find(same).map_or_else(|| vec![unit], Vec::from)
}

/// Returns about `n` round numbers from 0 to `max`.
pub(super) fn ticks(max: f64, n: usize) -> Vec<f64> {
    if max <= 0.0 {
        return vec![0.0];
    }
    let rough = max / n as f64;
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0];
    // 2.5 is round, too, where 2 would give too many.
    let step = steps.into_iter().map(|s| s * power).find(|s| *s >= rough).unwrap_or(10.0 * power);
    (0..).map(|n| f64::from(n) * step).take_while(|t| *t <= max * 1.000_001).collect()
}

/// Formats a number on an axis with as few digits as possible.
pub(super) fn label(n: f64) -> String {
    let text = if n.abs() >= 100.0 { format!("{n:.0}") } else { format!("{n:.3}") };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

/// Returns the round numbers (1, 2 and 5 times a power of ten) from the last one up to `min` to
/// the first one from `max` on.
pub(super) fn log_ticks(min: f64, max: f64) -> Vec<f64> {
    // A picosecond: logarithms have no 0.
    let (min, max) = (min.max(1e-3), max.max(1e-3));
    let power = min.log10().floor() as i32;
    let all: Vec<f64> =
        (power..=power + 30).flat_map(|n| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(n))).collect();
    let first = all.iter().rposition(|t| *t <= min * 1.000_001).unwrap_or(0);
    let last = all.iter().position(|t| *t >= max * 0.999_999).unwrap_or(all.len() - 1);
    all[first..=last.max(first + 1)].to_vec()
}

/// Formats nanoseconds in a suitable unit, for ticks.
pub(super) fn nanoseconds(ns: f64) -> String {
    let unit = TIMES.into_iter().find(|unit| ns >= unit.size * 0.999_999).unwrap_or(TIMES[3]);
    format!("{} {}", label(ns / unit.size), unit.name)
}

/// Formats a time in the page.
pub(crate) fn written(time: Duration) -> String {
    let text = time.to_string();
    let unit = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    format!("{} {}", &text[..unit], text[unit..].replace("us", "µs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(ticks(10.0, 5), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(ticks(0.0, 5), [0.0]);
        for max in [1e-9, 0.3, 7.0, 148.079, 9.99e12] {
            let ticks = ticks(max, 5);
            assert!((3..=7).contains(&ticks.len()), "{max}: {ticks:?}");
        }
    }

    #[test]
    fn units_keep_numbers_short() {
        assert_eq!(time(148_079.0).name, "µs");
        assert_eq!(time(1_500.0).name, "ns");
        assert_eq!(octets(242_208.0).name, "kB");
        assert_eq!(family(octets(5.0)), OCTETS);
        let percent = Unit { name: "%", size: 1.0 };
        assert_eq!(family(percent), [percent]);
        assert_eq!(rate(1e11).name, "Gb/s");
        assert_eq!([0.25, 2.0, 12.5, 1200.0].map(label), ["0.25", "2", "12.5", "1200"]);
        assert_eq!(log_ticks(1_168.0, 19_000.0), [1e3, 2e3, 5e3, 1e4, 2e4]);
        assert_eq!(log_ticks(7.0, 7.0), [5.0, 10.0]);
        let time = Duration::from_picos(148_079_250);
        assert_eq!(written(time), "148.079 µs");
        assert_eq!([1e2, 1e3, 1e5].map(nanoseconds), ["100 ns", "1 µs", "100 µs"]);
    }
}
