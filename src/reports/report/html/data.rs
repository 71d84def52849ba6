//! The data of a plot for the script of its page: exact numbers in few characters.
//!
//! A figure of a page is a drawing, which prints and needs no script, and the data from which the
//! script makes the plot that replaces it. Both are made from one description.

use maud::{Markup, PreEscaped, html};
use serde::Serialize;

use super::scale::{self, Unit};

/// Most points of a line. Beyond it, each interval keeps its first, lowest, highest and last point.
const POINTS_MAX: usize = 2_000;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct AxisData {
    what: String,
    /// Names and sizes of its units, the largest first.
    units: Vec<(&'static str, f64)>,
    from: f64,
    end: f64,
    /// True for a logarithmic axis.
    log: bool,
    /// True for single values, which have a dot each.
    dots: bool,
}

impl AxisData {
    /// An axis from `from` to `end` in base units.
    pub(super) fn new(what: &str, unit: Unit, from: f64, end: f64) -> Self {
        let units = scale::family(unit).iter().map(|unit| (unit.name, unit.size)).collect();
        Self { what: what.into(), units, from, end, log: false, dots: false }
    }

    pub(super) fn logarithmic(self) -> Self {
        Self { log: true, ..self }
    }

    pub(super) fn with_dots(self, dots: bool) -> Self {
        Self { dots, ..self }
    }
}

/// Vertical axis of a plot.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Quantity {
    what: String,
    units: Vec<(&'static str, f64)>,
    /// End of the axis, unless it follows the visible values.
    max: Option<f64>,
}

impl Quantity {
    pub(super) fn new(what: &str, unit: Unit, max: Option<f64>) -> Self {
        let units = scale::family(unit).iter().map(|unit| (unit.name, unit.size)).collect();
        Self { what: what.into(), units, max }
    }
}

/// Positions on an axis in thousandths of the base unit: the first one, then each difference and the
/// number of times that it is repeated.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
#[serde(transparent)]
pub(super) struct Positions(Vec<i64>);

impl Positions {
    pub(super) fn new(positions: impl IntoIterator<Item = f64>) -> Self {
        let mut all = positions.into_iter().map(|at| (at * 1e3).round() as i64);
        let Some(first) = all.next() else { return Self::default() };
        let (mut out, mut before) = (vec![first], first);
        for at in all {
            let step = at - before;
            before = at;
            match out[..] {
                // Samples are taken at even intervals, so a whole axis mostly is three numbers.
                [_, .., last, _] if last == step => {
                    let times = out.len() - 1;
                    out[times] += 1;
                }
                _ => out.extend([step, 1]),
            }
        }
        Self(out)
    }
}

/// A value: to seven digits, whole numbers exactly.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Number {
    Whole(i64),
    Part(f64),
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        let whole = value.round();
        // From a million on, seven digits have no fraction.
        if value.abs() >= 1e6 || whole == value {
            return Self::Whole(whole as i64);
        }
        Self::Part(format!("{value:.6e}").parse().unwrap_or(value))
    }
}

/// Values, each with the number of times that it is repeated.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[serde(transparent)]
pub(super) struct Repeated(Vec<Number>);

impl Repeated {
    pub(super) fn new(values: impl IntoIterator<Item = f64>) -> Self {
        let mut out: Vec<Number> = Vec::new();
        for value in values.into_iter().map(Number::from) {
            match &mut out[..] {
                // Series often stay at one value, so the code is short.
                [.., last, Number::Whole(times)] if *last == value => *times += 1,
                _ => out.extend([value, Number::Whole(1)]),
            }
        }
        Self(out)
    }
}

/// Reduces points to [`POINTS_MAX`] and keeps every extreme.
pub(super) fn decimated(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= POINTS_MAX {
        return points.to_vec();
    }
    // Each part keeps up to four points.
    let size = points.len().div_ceil(POINTS_MAX / 4);
    let kept = points.chunks(size).flat_map(|part| {
        let by = |a: &usize, b: &usize| part[*a].1.total_cmp(&part[*b].1);
        let low = (0..part.len()).min_by(by).unwrap_or(0);
        let high = (0..part.len()).max_by(by).unwrap_or(0);
        let mut places = [0, low, high, part.len() - 1];
        places.sort_unstable();
        let mut last = None;
        let new = places.into_iter().filter(move |place| last.replace(*place) != Some(*place));
        new.map(|place| part[place])
    });
    kept.collect()
}

/// Renders a drawing together with the data that replaces it.
pub(super) fn figure(drawing: &Markup, data: &impl Serialize) -> Markup {
    let json = serde_json::to_string(data).expect("plots have names for keys");
    html! {
        div.plot {
            div.still { (drawing) }
            // No name in a lab can end the element.
            script.data type="application/json" { (PreEscaped(json.replace('<', "\\u003c"))) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ground::rand::Rng;

    /// Positions as the script reads them.
    fn read(Positions(coded): &Positions) -> Vec<i64> {
        let mut all: Vec<i64> = coded.first().copied().into_iter().collect();
        for pair in coded[coded.len().min(1)..].chunks(2) {
            for _ in 0..pair[1] {
                all.push(all[all.len() - 1] + pair[0]);
            }
        }
        all
    }

    #[test]
    fn positions_are_exact_to_the_thousandth() {
        let mut rng = Rng::new(7);
        for count in [0, 1, 2, 3, 500] {
            let mut at = 0;
            let picos: Vec<i64> = (0..count)
                .map(|_| {
                    at += if rng.next_u64() % 3 == 0 {
                        250_000
                    } else {
                        (rng.next_u64() % 1_000_000) as i64
                    };
                    at
                })
                .collect();
            let coded = Positions::new(picos.iter().map(|ps| *ps as f64 / 1e3));
            assert_eq!(read(&coded), picos, "seed 7, {count} positions");
        }
        let even = Positions::new((0..1_000).map(|n| f64::from(n) * 0.25));
        assert_eq!(even.0, [0, 250, 999]);
    }

    #[test]
    fn values_keep_their_digits_and_runs_are_short() {
        let json = |value: &Repeated| serde_json::to_string(value).unwrap();
        assert_eq!(json(&Repeated::new([0.0, 0.0, 0.0, 5.5, 242_208.0])), "[0,3,5.5,1,242208,1]");
        assert_eq!(json(&Repeated::new([1.0, 1.0, 2.0, 1.0])), "[1,2,2,1,1,1]");
        assert_eq!(json(&Repeated::new([1.0, 1.0, 1.0, 3.0, 3.0])), "[1,3,3,2]");
        assert_eq!(Number::from(98_765_432_109.87), Number::Whole(98_765_432_110));
        assert_eq!(Number::from(1.0 / 3.0), Number::Part(0.333_333_3));
    }

    #[test]
    fn a_line_of_many_points_keeps_its_extremes() {
        let mut rng = Rng::new(11);
        let mut points: Vec<(f64, f64)> =
            (0..100_000).map(|n| (f64::from(n), (rng.next_u64() % 1_000) as f64)).collect();
        points[77_777].1 = 5_000.0;
        points[33_333].1 = -5.0;
        let kept = decimated(&points);
        assert!((POINTS_MAX / 4..=POINTS_MAX).contains(&kept.len()), "seed 11: {}", kept.len());
        assert!(kept.contains(&(77_777.0, 5_000.0)) && kept.contains(&(33_333.0, -5.0)));
        assert_eq!((kept[0], kept[kept.len() - 1]), (points[0], points[99_999]));
        assert!(kept.windows(2).all(|two| two[0].0 < two[1].0));
    }

    #[test]
    fn no_name_ends_the_element_of_the_data() {
        let page = figure(&html! { p {} }, &["</script><script>alert(1)</script>"]).into_string();
        assert_eq!((page.matches("</script").count(), page.matches("<script").count()), (1, 1));
    }
}
