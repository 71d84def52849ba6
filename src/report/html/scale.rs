//! Axes: in which unit a number is shown, where ticks are, and how they are written.

/// A unit and how much of the base unit it is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Unit {
    /// As it is written.
    pub(super) name: &'static str,
    /// How many of the base unit it is.
    pub(super) size: f64,
}

/// Units of time, by nanoseconds.
const TIMES: [Unit; 4] = [
    Unit { name: "s", size: 1e9 },
    Unit { name: "ms", size: 1e6 },
    Unit { name: "µs", size: 1e3 },
    Unit { name: "ns", size: 1.0 },
];

/// Units of octets.
const OCTETS: [Unit; 4] = [
    Unit { name: "GB", size: 1e9 },
    Unit { name: "MB", size: 1e6 },
    Unit { name: "kB", size: 1e3 },
    Unit { name: "B", size: 1.0 },
];

/// Units of rates, by bit/s.
const RATES: [Unit; 4] = [
    Unit { name: "Gb/s", size: 1e9 },
    Unit { name: "Mb/s", size: 1e6 },
    Unit { name: "kb/s", size: 1e3 },
    Unit { name: "b/s", size: 1.0 },
];

fn of(units: [Unit; 4], max: f64) -> Unit {
    let fits = |unit: &Unit| max >= 2.0 * unit.size;
    units.into_iter().find(fits).unwrap_or(units[3])
}

/// The unit for times up to `max_ns`.
pub(super) fn time(max_ns: f64) -> Unit {
    of(TIMES, max_ns)
}

/// The unit for sizes up to `max` octets.
pub(super) fn octets(max: f64) -> Unit {
    of(OCTETS, max)
}

/// The unit for rates up to `max` bit/s.
pub(super) fn rate(max: f64) -> Unit {
    of(RATES, max)
}

/// About `n` round numbers from 0 to `max`.
pub(super) fn ticks(max: f64, n: usize) -> Vec<f64> {
    if max <= 0.0 {
        return vec![0.0];
    }
    let rough = max / n as f64;
    let power = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0];
    let step = steps.into_iter().map(|s| s * power).find(|s| *s >= rough).unwrap_or(10.0 * power);
    (0..).map(|n| f64::from(n) * step).take_while(|t| *t <= max * 1.000_001).collect()
}

/// A number on an axis: no more digits than it needs.
pub(super) fn label(n: f64) -> String {
    let text = if n.abs() >= 100.0 { format!("{n:.0}") } else { format!("{n:.3}") };
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

/// The powers of ten around a range of positive numbers, ends included.
pub(super) fn decades(min: f64, max: f64) -> (i32, i32) {
    let low = min.max(1e-3).log10().floor() as i32;
    let high = max.max(1e-3).log10().ceil() as i32;
    (low, high.max(low + 1))
}

/// A number of nanoseconds in its natural unit, for ticks at powers of ten.
pub(super) fn nanoseconds(ns: f64) -> String {
    let unit = TIMES.into_iter().find(|unit| ns >= unit.size).unwrap_or(TIMES[3]);
    format!("{} {}", label(ns / unit.size), unit.name)
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
        assert_eq!(rate(1e11).name, "Gb/s");
        assert_eq!([0.25, 2.0, 12.5, 1200.0].map(label), ["0.25", "2", "12.5", "1200"]);
        assert_eq!(decades(1_168.0, 20_000.0), (3, 5));
        assert_eq!([1e2, 1e3, 1e5].map(nanoseconds), ["100 ns", "1 µs", "100 µs"]);
    }
}
