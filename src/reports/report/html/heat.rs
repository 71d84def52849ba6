//! Heat maps: a row for each of many queues, links or flows, a shade for each interval of time.

use std::collections::BTreeMap;

use maud::{Markup, html};
use serde::Serialize;

use super::data::{AxisData, Repeated, figure};
use super::rows::{short, time_axis};
use super::scale::{self, Unit};

/// More lines than this cannot be read in a plot.
pub(super) const HEAT_MIN: usize = 12;
/// Most rows of a map.
pub(super) const ROWS_MAX: usize = 128;
/// Number of intervals.
pub(super) const COLUMNS: usize = 200;
/// Number of intervals, and of shades, of a drawing without a script.
const DRAWN_COLUMNS: usize = 100;
const SHADES: usize = 8;

const WIDTH: f64 = 520.0;
/// Width left of the map, with and without room for names.
const LEFT: [f64; 2] = [10.0, 128.0];
/// Least height of a row with a name, in which letters are this high.
const NAMED: f64 = 9.0;
const SMALL: f64 = 10.0;
const RIGHT: f64 = 26.0;
const BELOW: f64 = 44.0;
const TEXT: f64 = 14.0;

/// A row of a map.
pub(super) struct HeatRow {
    pub(super) name: String,
    /// The largest value of each of [`COLUMNS`] intervals.
    pub(super) cells: Vec<f64>,
}

impl HeatRow {
    /// A row of values at times from 0 to `end`; an interval without one continues the last.
    pub(super) fn sampled(
        name: String,
        values: impl Iterator<Item = (f64, f64)>,
        end: f64,
    ) -> Self {
        let mut cells: Vec<Option<f64>> = vec![None; COLUMNS];
        for (at, value) in values {
            let cell = &mut cells[column(at, end)];
            *cell = Some(cell.map_or(value, |before| before.max(value)));
        }
        let mut before = 0.0;
        let filled = cells.into_iter().map(|cell| {
            // A queue stays as it is until the next sample.
            before = cell.unwrap_or(before);
            before
        });
        Self { name, cells: filled.collect() }
    }

    fn peak(&self) -> f64 {
        self.cells.iter().copied().fold(0.0, f64::max)
    }
}

/// Returns the interval of a time.
pub(super) fn column(at: f64, end: f64) -> usize {
    ((at / end * COLUMNS as f64) as usize).min(COLUMNS - 1)
}

pub(super) struct Heat {
    /// The text alternative.
    pub(super) about: String,
    pub(super) unit: Unit,
    /// Colour variable of the largest value.
    pub(super) shade: &'static str,
    /// End of the time axis in nanoseconds.
    pub(super) end: f64,
    /// Plots with this time axis.
    pub(super) group: String,
    /// In the order of their drawing.
    pub(super) rows: Vec<HeatRow>,
    /// Times to mark in nanoseconds, with a label.
    pub(super) marks: Vec<(f64, &'static str)>,
}

#[derive(Serialize)]
struct Data<'a> {
    kind: &'static str,
    group: &'a str,
    x: AxisData,
    units: Vec<(&'static str, f64)>,
    shade: &'a str,
    columns: usize,
    max: f64,
    rows: Vec<RowData<'a>>,
    marks: &'a [(f64, &'static str)],
}

#[derive(Serialize)]
struct RowData<'a> {
    name: &'a str,
    cells: Repeated,
}

impl Heat {
    /// Draws the map; `None` without rows, or if all values are zero.
    pub(super) fn draw(&self) -> Option<Markup> {
        let max = self.rows.iter().map(HeatRow::peak).fold(0.0, f64::max);
        if max <= 0.0 || self.end <= 0.0 {
            return None;
        }
        let row = |row: &'_ HeatRow| Repeated::new(row.cells.iter().copied());
        let data = Data {
            kind: "heat",
            group: &self.group,
            x: AxisData::new("time", scale::time(self.end), 0.0, self.end),
            units: scale::family(self.unit).iter().map(|unit| (unit.name, unit.size)).collect(),
            shade: self.shade,
            columns: COLUMNS,
            max,
            rows: self.rows.iter().map(|r| RowData { name: &r.name, cells: row(r) }).collect(),
            marks: &self.marks,
        };
        Some(figure(&self.drawing(max), &data))
    }

    /// One path for each shade: a thick line for every run of intervals of that shade.
    fn drawing(&self, max: f64) -> Markup {
        let tall = (360.0 / self.rows.len() as f64).clamp(3.0, 14.0);
        let bottom = 4.0 + tall * self.rows.len() as f64;
        let (axis, ticks) = time_axis(self.end);
        // Rows that are too low for letters have no names, and need no room for them.
        let left = LEFT[usize::from(tall >= NAMED)];
        let x = |part: f64| left + part * (WIDTH - left - RIGHT);
        // One path for each shade, and not a shape for each cell, keeps the page small.
        let mut paths = BTreeMap::<usize, String>::new();
        for (n, row) in self.rows.iter().enumerate() {
            let shades: Vec<usize> = row
                .cells
                .chunks(COLUMNS / DRAWN_COLUMNS)
                .map(|part| part.iter().copied().fold(0.0, f64::max))
                // Rounded up, so that the smallest value is visible.
                .map(|value| (value / max * SHADES as f64).ceil() as usize)
                .collect();
            let mut from = 0;
            for run in shades.chunk_by(|a, b| a == b) {
                // Nothing is drawn where nothing waited.
                if run[0] > 0 {
                    let [left, right] = [from, from + run.len()]
                        .map(|column| x(column as f64 / DRAWN_COLUMNS as f64));
                    let (y, width) = (4.0 + tall * (n as f64 + 0.5), right - left);
                    *paths.entry(run[0]).or_default() += &format!("M{left:.1} {y:.1}h{width:.1}");
                }
                from += run.len();
            }
        }
        html! {
            svg viewBox=(format!("0 0 {WIDTH} {:.1}", bottom + BELOW)) role="img"
                aria-label=(self.about) font-size=(TEXT) {
                @if tall >= NAMED {
                    @for (n, row) in self.rows.iter().enumerate() {
                        text x=(left - 6.0) y=(format!("{:.1}", 4.0 + tall * (n as f64 + 0.5) + 3.5))
                            text-anchor="end" font-size=(SMALL) fill="var(--ink)" {
                            (short(&row.name))
                        }
                    }
                }
                rect x=(left) y="4" width=(WIDTH - left - RIGHT) height=(format!("{:.1}", bottom - 4.0))
                    fill="none" stroke="var(--rule)" {}
                @for (shade, path) in &paths {
                    path d=(path) fill="none" stroke=(format!("var({})", self.shade))
                        stroke-width=(format!("{tall:.1}"))
                        stroke-opacity=(format!("{:.2}", *shade as f64 / SHADES as f64)) {}
                }
                @for (part, text) in &ticks {
                    text x=(format!("{:.1}", x(*part))) y=(format!("{:.1}", bottom + 18.0))
                        text-anchor="middle" fill="var(--soft)" { (text) }
                }
                text x=(x(0.5)) y=(format!("{:.1}", bottom + 37.0)) text-anchor="middle"
                    fill="var(--ink)" { (axis) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_the_largest_values_of_their_intervals() {
        let values = [(0.0, 1.0), (1.0, 7.0), (2.0, 3.0), (99.9, 4.0)];
        let row = HeatRow::sampled("q".into(), values.into_iter(), 100.0);
        assert_eq!(row.cells.len(), COLUMNS);
        assert_eq!((row.cells[0], row.cells[1], row.cells[2], row.cells[3]), (1.0, 1.0, 7.0, 7.0));
        assert_eq!((row.cells[4], row.cells[150], row.cells[199]), (3.0, 3.0, 4.0));
        assert_eq!(row.peak(), 7.0);
    }

    #[test]
    fn a_map_has_its_rows_and_a_path_for_each_shade() {
        let row = |n: usize| {
            let values = (0..1_000).map(move |t| (f64::from(t), (n * 100) as f64));
            HeatRow::sampled(format!("s:p{n} <q3>"), values, 1_000.0)
        };
        let heat = |rows: Vec<HeatRow>| Heat {
            about: "a map".into(),
            unit: scale::octets(1e5),
            shade: "--c0",
            end: 1_000.0,
            group: "run".into(),
            rows,
            marks: vec![],
        };
        let page = heat((0..20).map(row).collect()).draw().unwrap().into_string();
        assert_eq!(page.matches("<path").count(), SHADES);
        assert!(page.contains("s:p19 \\u003cq3>") && page.contains("[1900,200]"), "{page}");
        assert!(heat(vec![row(0)]).draw().is_none(), "nothing waited");
        assert!(heat(vec![]).draw().is_none());
    }
}
