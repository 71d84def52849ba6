//! Plots: their axes and lines.

use super::data::decimated;
use super::scale::{self, Unit};

/// Number of line colours.
pub(super) const COLOURS: usize = 8;

/// Lines over a common axis.
pub(super) struct Plot {
    /// The text alternative.
    pub(super) about: String,
    /// Quantity of the vertical axis, without the unit.
    pub(super) what: &'static str,
    pub(super) unit: Unit,
    /// End of the vertical axis, unless it follows the values.
    pub(super) max: Option<f64>,
    pub(super) axis: Axis,
    pub(super) lines: Vec<Line>,
    /// Positions on the horizontal axis to mark, with a label.
    pub(super) marks: Vec<(f64, &'static str)>,
}

/// The horizontal axis, from 0.
#[derive(Clone)]
pub(super) struct Axis {
    pub(super) what: &'static str,
    pub(super) unit: Unit,
    /// End in base units.
    pub(super) end: f64,
    /// Beginning of a logarithmic axis; `None` for a linear one, which begins at 0.
    pub(super) log: Option<f64>,
    /// True for single values, which have a dot each.
    pub(super) dots: bool,
    /// Name of the plots that zoom together and share a cursor; empty for none.
    pub(super) group: String,
    /// Name of the plots whose lines of one name are shown and hidden together; empty for none.
    pub(super) toggles: String,
}

impl Axis {
    /// A time axis up to this time in nanoseconds, common to the plots of a group.
    pub(super) fn time(end_ns: f64, group: impl Into<String>) -> Self {
        let unit = scale::time(end_ns);
        let group = group.into();
        let toggles = String::new();
        Self { what: "time", unit, end: end_ns, log: None, dots: false, group, toggles }
    }
}

#[derive(Clone, Default)]
pub(super) struct Line {
    pub(super) name: String,
    /// Position on the horizontal axis, and the value, in base units.
    pub(super) points: Vec<(f64, f64)>,
    /// Position, lowest and highest value: a band behind the line.
    pub(super) band: Vec<(f64, f64, f64)>,
    /// True for the sum of the other lines, drawn in the text colour.
    pub(super) sum: bool,
    /// True for a state or the mean of an interval, which holds until the next point.
    pub(super) steps: bool,
    /// Number of its colour, if that is not its place among the lines.
    pub(super) colour: Option<usize>,
}

/// Positions and values.
type Points = Vec<(f64, f64)>;
/// Positions, lowest and highest values.
type Band = Vec<(f64, f64, f64)>;

/// Number of intervals in which a fluctuating value is drawn as mean and band.
const PARTS: usize = 130;

impl Line {
    /// A line through samples.
    pub(super) fn through(name: String, numbers: &[(f64, f64)]) -> Self {
        Self { name, points: decimated(numbers), ..Self::default() }
    }

    /// A line of states or means, each from its position to the next. The last point is the end.
    pub(super) fn steps(name: String, points: Vec<(f64, f64)>) -> Self {
        Self { name, points, steps: true, ..Self::default() }
    }

    /// Returns the points and the band of a drawing: as they are or, if there are too many samples to
    /// distinguish, the mean of each interval with a band from the minimum to the maximum.
    pub(super) fn drawn(&self) -> (Points, Band) {
        if self.steps {
            let corners = self.points.windows(2).flat_map(|two| [two[0], (two[1].0, two[0].1)]);
            return (corners.chain(self.points.last().copied()).collect(), Vec::new());
        }
        if self.points.len() <= 2 * PARTS {
            return (self.points.clone(), self.band.clone());
        }
        let (mut points, mut band) = (Vec::new(), Vec::new());
        for part in self.points.chunks(self.points.len().div_ceil(PARTS)) {
            let all = || part.iter().map(|(_, y)| *y);
            let at = f64::midpoint(part[0].0, part[part.len() - 1].0);
            points.push((at, all().sum::<f64>() / part.len() as f64));
            band.push((at, all().fold(f64::MAX, f64::min), all().fold(f64::MIN, f64::max)));
        }
        (points, band)
    }

    pub(super) fn colour_index(&self, place: usize) -> usize {
        self.colour.unwrap_or(place) % COLOURS
    }
}

/// Returns the style sheet variable of a colour.
pub(super) fn variable(n: usize) -> String {
    format!("var(--c{})", n % COLOURS)
}
