//! The page of a study's searches: the values found, over the axes of the study.

use super::study::Values;
use super::sweep::{SweepAxis, SweepFigure, SweepPage, SweepRow, sweep_html};
use crate::search::{summary, why};
use lab::study::{Found, Searched};

/// Units of values, with their size in the units of pages.
const UNITS: [(&str, f64, &str); 19] = [
    ("", 1.0, ""),
    ("%", 1.0, "%"),
    ("B", 1.0, "B"),
    ("KB", 1e3, "B"),
    ("MB", 1e6, "B"),
    ("GB", 1e9, "B"),
    ("KiB", 1_024.0, "B"),
    ("MiB", 1_048_576.0, "B"),
    ("ns", 1.0, "ns"),
    ("us", 1e3, "ns"),
    ("ms", 1e6, "ns"),
    ("s", 1e9, "ns"),
    ("M", 1e6, "bit/s"),
    ("G", 1e9, "bit/s"),
    ("T", 1e12, "bit/s"),
    ("Mbps", 1e6, "bit/s"),
    ("Gbps", 1e9, "bit/s"),
    ("m", 1.0, "m"),
    ("km", 1e3, "m"),
];

/// Returns the number of a value, and its unit on pages; `None` for a value that is no number.
fn number(value: &str) -> Option<(f64, &'static str)> {
    if let Some((over, under)) = value.split_once('/') {
        return Some((over.parse::<f64>().ok()? / under.parse::<f64>().ok()?, ""));
    }
    let is_digit = |c: char| c.is_ascii_digit() || "._-".contains(c);
    let end = value.find(|c| !is_digit(c)).unwrap_or(value.len());
    let (digits, unit) = value.split_at(end);
    let (_, size, unit) = UNITS.iter().find(|(name, ..)| *name == unit.trim())?;
    Some((digits.replace('_', "").parse::<f64>().ok()? * size, unit))
}

/// Renders the page of searches that have ended. `command` reproduces it.
#[must_use]
pub fn searched_html(searched: &Searched, command: &str) -> String {
    let all = &searched.found;
    let (field, headings) = &searched.headings;
    let mut axes: Vec<Values> = Vec::new();
    if all.iter().any(|found| found.variant.is_some()) {
        let name = |found: &Found| found.variant.clone().unwrap_or_default();
        axes.push(Values::new("variant", false, all.iter().map(name)));
    }
    for (n, heading) in headings.iter().enumerate() {
        axes.push(Values::new(heading, false, all.iter().map(|found| found.shown[n].clone())));
    }
    if axes.is_empty() {
        axes.push(Values::new("lab", false, all.iter().map(|_| searched.lab.clone())));
    }
    let numbers: Vec<Option<(f64, &str)>> =
        all.iter().map(|found| found.value.as_deref().and_then(number)).collect();
    let unit = numbers.iter().flatten().next().map_or("", |(_, unit)| *unit);
    let row = |(n, found): (usize, &Found)| SweepRow {
        place: axes.iter().map(|axis| axis.places[n]).collect(),
        verdict: found.verdict,
        figures: vec![numbers[n].map(|(number, _)| number)],
    };
    let rows: Vec<SweepRow> = all.iter().enumerate().map(row).collect();
    let mut lines = summary(searched);
    for found in all.iter().take(LINES_MAX) {
        let variant = found.variant.iter().map(String::as_str);
        let name: Vec<&str> = variant.chain(found.shown.iter().map(String::as_str)).collect();
        let value = found.value.as_deref().unwrap_or("none");
        let beside = found.beside.as_ref().map_or(String::new(), |b| format!(", not {}", b.value));
        lines.push(format!(
            "{}: {value}{beside}: {}",
            name.join(", "),
            why(found, searched.wanted)
        ));
    }
    let axes: Vec<SweepAxis> = axes.into_iter().map(|axis| axis.axis).collect();
    sweep_html(&SweepPage {
        title: &searched.lab,
        world: "virtual",
        verdict: searched.verdict(),
        summary: &lines,
        axes: &axes,
        figures: &[SweepFigure { name: field.clone(), unit }],
        rows: &rows,
        command,
    })
}

/// Most searches that are listed with their reasons.
const LINES_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::tests::searched;

    #[test]
    fn values_are_numbers_in_the_units_of_pages() {
        let close = |value: &str, wanted: f64, unit: &str| {
            let (found, in_unit) = number(value).unwrap();
            assert!((found - wanted).abs() < 1e-9 * wanted.abs() && in_unit == unit, "{value}");
        };
        close("58KB", 58_000.0, "B");
        close("1.5us", 1_500.0, "ns");
        close("-3", -3.0, "");
        close("1/8", 0.125, "");
        close("60%", 60.0, "%");
        close("100m", 100.0, "m");
        assert_eq!([number("roce"), number("3 apples")], [None, None]);
    }

    #[test]
    fn the_page_has_each_search_with_its_reason() {
        let page = searched_html(&searched(), "sluice run incast.yaml --report x.html");
        for words in [
            "dcqcn, 100m: 31KB, not 30KB",
            "out of order: 31KB holds, 35KB does not",
            "dcqcn, 100m: none, not 200KB: lossless not judged (seed 17)",
            "sluice run incast.yaml --report x.html",
        ] {
            assert!(page.contains(words), "{words}\n{page}");
        }
    }
}
