//! Line plots, over time or over a parameter: lines through samples, steps for states and for means of
//! intervals.
//!
//! A plot is drawn in placeholder colours, which are replaced by variables of the page's style
//! sheet, so that plots follow the page's light or dark theme.

use core::fmt::Write;
use core::ops::Range;

use maud::{Markup, PreEscaped, html};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use serde::Serialize;

use super::data::{AxisData, Number, Positions, Quantity, figure};
use super::parts::LINES_MAX;
use super::plot::{self, Axis, COLOURS, Line, Plot, variable};
use super::scale;

/// Size of a drawn plot. Coordinates are integers, so it is drawn large and shown at about half
/// of this size.
const SIZE: (u32, u32) = (1040, 620);

/// Height of letters, shown at about half of it.
const TEXT: i32 = 32;

const INK: RGBColor = RGBColor(1, 2, 100);
const SOFT: RGBColor = RGBColor(1, 2, 101);
const RULE: RGBColor = RGBColor(1, 2, 102);

/// A plot that is being drawn.
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Undrawn = DrawingAreaErrorKind<std::io::Error>;

/// Style of letters in a colour of the page.
fn text(colour: &RGBColor) -> TextStyle<'static> {
    ("sans-serif", TEXT).into_font().color(colour)
}

#[derive(Serialize)]
struct Data<'a> {
    kind: &'static str,
    group: &'a str,
    toggles: &'a str,
    x: AxisData,
    y: Quantity,
    /// Different lists of positions.
    xs: Vec<Positions>,
    lines: Vec<LineData<'a>>,
    marks: &'a [(f64, &'static str)],
}

#[derive(Serialize)]
struct LineData<'a> {
    name: &'a str,
    /// -1 for the colour of text.
    colour: i64,
    steps: bool,
    /// Index in `xs`.
    x: usize,
    ys: Vec<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    low: Option<Vec<Number>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high: Option<Vec<Number>>,
}

/// Renders names beside their colours.
pub(super) fn legend<'a>(names: impl Iterator<Item = (String, &'a str)>) -> Markup {
    html! {
        ul.legend {
            @for (colour, name) in names {
                li { i style={ "background:" (colour) } {} (name) }
            }
        }
    }
}

fn colour(n: usize, line: &Line) -> String {
    if line.sum { "var(--ink)".into() } else { variable(line.colour_index(n)) }
}

impl Plot {
    /// Draws the plot and its legend; `None` if there is no data.
    pub(super) fn draw(&self) -> Option<Markup> {
        if self.lines.is_empty() || self.axis.end <= 0.0 {
            return None;
        }
        let svg = match self.axis.log {
            Some(_) => plot::drawing(self, colour),
            None => PreEscaped(themed(&self.svg().ok()?, &self.about)),
        };
        let drawing = html! {
            (svg)
            @if self.lines.len() > 1 || !self.lines[0].name.is_empty() {
                (legend(self.lines.iter().enumerate().map(|(n, line)| (colour(n, line), &*line.name))))
            }
        };
        Some(figure(&drawing, &self.data()))
    }

    fn data(&self) -> Data<'_> {
        let mut xs: Vec<Positions> = Vec::new();
        let lines = self.lines.iter().enumerate().map(|(n, line)| {
            let positions = Positions::new(line.points.iter().map(|(x, _)| *x));
            // Most lines of a plot have the same positions, which are sent once.
            let x = xs.iter().position(|known| *known == positions).unwrap_or(xs.len());
            if x == xs.len() {
                xs.push(positions);
            }
            let numbers = |of: fn(&(f64, f64, f64)) -> f64| {
                // The script has one list of positions for a line and its band.
                let is_whole = line.band.len() == line.points.len() && !line.band.is_empty();
                is_whole.then(|| line.band.iter().map(|point| of(point).into()).collect())
            };
            LineData {
                name: &line.name,
                colour: if line.sum { -1 } else { line.colour_index(n) as i64 },
                steps: line.steps,
                x,
                ys: line.points.iter().map(|(_, y)| Number::from(*y)).collect(),
                low: numbers(|(_, low, _)| *low),
                high: numbers(|(.., high)| *high),
            }
        });
        let lines = lines.collect();
        let Axis { what, unit, end, dots, log, .. } = self.axis;
        let x = AxisData::new(what, unit, log.unwrap_or(0.0), end).with_dots(dots);
        Data {
            kind: "lines",
            group: &self.axis.group,
            toggles: &self.axis.toggles,
            x: if log.is_some() { x.logarithmic() } else { x },
            y: Quantity::new(self.what, self.unit, self.max),
            xs,
            lines,
            marks: &self.marks,
        }
    }

    fn svg(&self) -> Result<String, Undrawn> {
        let Axis { what, unit: x_unit, end, dots, .. } = self.axis;
        let x_max = end / x_unit.size;
        let drawn: Vec<_> = self.lines.iter().map(Line::drawn).collect();
        let all = drawn.iter().flat_map(|(points, _)| points);
        let bands = drawn.iter().flat_map(|(_, band)| band).map(|(.., high)| high);
        let highest = all.map(|(_, y)| y).chain(bands).fold(0.0, |a: f64, b| a.max(*b));
        let highest = highest / self.unit.size;
        // Labels of marks stand above the lines.
        let room = if self.marks.is_empty() { 1.06 } else { 1.25 };
        let y_max = if highest > 0.0 { highest * room } else { 1.0 };
        let mut svg = String::new();
        {
            let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
            let mut chart = ChartBuilder::on(&root)
                .margin(10)
                .margin_right(34)
                .x_label_area_size(86)
                .y_label_area_size(132)
                .build_cartesian_2d(0.0..x_max, 0.0..y_max)?;
            chart
                .configure_mesh()
                .disable_x_mesh()
                .light_line_style(TRANSPARENT)
                .bold_line_style(RULE)
                .axis_style(SOFT)
                .x_labels(8)
                .y_labels(6)
                .label_style(text(&SOFT))
                .x_label_formatter(&|x| scale::label(*x))
                .y_label_formatter(&|y| scale::label(*y))
                .axis_desc_style(text(&INK))
                .x_desc(format!("{what} ({})", x_unit.name))
                .y_desc(format!("{} ({})", self.what, self.unit.name))
                .draw()?;
            self.draw_marks(&mut chart, x_max, y_max)?;
            for (n, (line, (points, band))) in self.lines.iter().zip(&drawn).enumerate() {
                let colour =
                    if line.sum { INK } else { RGBColor(1, 3, line.colour_index(n) as u8) };
                if !band.is_empty() {
                    let (unit, band) = (self.unit.size, band.iter());
                    // Around the area: along the upper edge, and back along the lower one.
                    let low = band.clone().rev().map(|(x, low, _)| (x / x_unit.size, low / unit));
                    let high = band.map(|(x, _, high)| (x / x_unit.size, high / unit));
                    let around = Polygon::new(
                        high.chain(low).collect::<Vec<_>>(),
                        // Bands of several lines lie over each other.
                        colour.mix(0.24 / self.lines.len() as f64),
                    );
                    chart.draw_series([around])?;
                }
                let points = points.iter().map(|(x, y)| (x / x_unit.size, y / self.unit.size));
                let points = thinned(points, 0.0..x_max);
                if dots {
                    // A dot under another one is visible around it.
                    let radius = 5 + 3 * (self.lines.len() - n).min(LINES_MAX) as i32;
                    let dot = |at: &(f64, f64)| Circle::new(*at, radius, colour.filled());
                    chart.draw_series(points.iter().map(dot))?;
                }
                let series = LineSeries::new(points, colour.stroke_width(3));
                chart.draw_series(series)?;
            }
            root.present()?;
        }
        Ok(svg)
    }

    /// Draws a dashed line for each mark, with its label at the top.
    fn draw_marks(&self, chart: &mut Chart<'_, '_>, x_max: f64, y_max: f64) -> Result<(), Undrawn> {
        for (n, (at, word)) in self.marks.iter().enumerate() {
            let x = at / self.axis.unit.size;
            let line = DashedLineSeries::new([(x, 0.0), (x, y_max)], 10, 8, SOFT.stroke_width(2));
            chart.draw_series(line)?;
            // Labels of marks that are close to each other are placed below each other.
            let side = if x > x_max * 0.6 { HPos::Right } else { HPos::Left };
            let place = text(&INK).pos(Pos::new(side, VPos::Top));
            let beside = x + x_max * if x > x_max * 0.6 { -0.012 } else { 0.012 };
            let height = y_max * (1.0 - 0.075 * n as f64);
            chart.plotting_area().draw(&Text::new(*word, (beside, height), place))?;
        }
        Ok(())
    }
}

/// Removes points between equal ones, which are not visible.
fn thinned(points: impl Iterator<Item = (f64, f64)>, x: Range<f64>) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for point in points.filter(|(at, _)| x.contains(at) || *at == x.end) {
        if let [.., (_, before), last] = &mut kept[..] {
            if *before == last.1 && last.1 == point.1 {
                *last = point;
                continue;
            }
        }
        kept.push(point);
    }
    kept
}

/// Sets the page's colours, the size and the text alternative of a drawing.
fn themed(svg: &str, about: &str) -> String {
    // The library's own opening tag has a fixed size and no text alternative.
    let body = svg.find('>').map_or("", |end| &svg[end + 1..]);
    let mut out = String::new();
    let (width, height) = SIZE;
    let about = html! { (about) }.into_string();
    let _ = write!(out, r#"<svg viewBox="0 0 {width} {height}" role="img" aria-label="{about}">"#);
    out += body;
    // The placeholders in hexadecimal: 100, 101 and 102.
    let named = [("64", "--ink"), ("65", "--soft"), ("66", "--rule")];
    for (n, variable) in named {
        out = out.replace(&format!("#0102{n}"), &format!("var({variable})"));
    }
    for n in 0..COLOURS {
        out = out.replace(&format!("#01030{n}"), &variable(n));
    }
    out.replace(" font-family=\"sans-serif\"", "")
}
