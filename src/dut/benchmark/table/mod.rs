//! Results as text, in the terms of the RFCs.

mod lossless;
mod repeated;
mod rfc2544;
mod rfc2889;
mod rfc7640;
mod rfc8239;
mod soak;

pub use lossless::lossless;
pub use repeated::{compared, summary};
pub use rfc2544::rfc2544;
pub use rfc2889::rfc2889;
pub use rfc7640::rfc7640;
pub use rfc8239::rfc8239;
pub use soak::soak;

use text::{Align, Table, count};

use crate::mlr;
use crate::mlrsearch::Irregular;
use crate::run::Run;

/// Cell of a value that is not known.
const NONE: &str = "-";

/// Returns the table of MLRsearch's results.
#[must_use]
pub fn mlrsearch(results: &Run<mlr::Tables>) -> String {
    let mut table = head(&["size", "goal"], &["throughput", "lower", "upper", "% of line"], true);
    for row in &results.tables.rows {
        let bound = |bound: Option<crate::mlrsearch::Bound>| match bound {
            Some(bound) => rate(bound.load),
            None => NONE.to_owned(),
        };
        let throughput = row.result.lower.map(|lower| lower.conditional_throughput);
        table.row([
            row.size.to_string(),
            row.goal.clone(),
            throughput.map_or(NONE.to_owned(), rate),
            bound(row.result.lower),
            bound(row.result.upper),
            throughput.map_or(NONE.to_owned(), |n| percent(n / row.line_frames_per_second)),
            irregular(row.result.irregular),
        ]);
    }
    let title = "MLRsearch: conditional throughput and its bounds, frames/s";
    let mut sections = vec![titled(title, table)];
    ending(&mut sections, results);
    sections.join("\n")
}

fn titled(title: &str, table: Table) -> String {
    format!("{title}\n{table}")
}

/// Adds notes, the reason of an early end, and the number of trials.
fn ending<T>(sections: &mut Vec<String>, results: &Run<T>) {
    let Run { notes, ended, trials, .. } = results;
    let mut text = String::new();
    for note in notes {
        text += &format!("note: {note}\n");
    }
    if let Some(why) = ended {
        text += &format!("ended early: {why}\n");
    }
    sections.push(format!("{text}{trials} trials\n"));
}

/// Returns a table with columns of words and of numbers, and a last one of words.
fn head(words: &[&str], numbers: &[&str], remark: bool) -> Table {
    let words = words.iter().map(|name| (*name, Align::Left));
    let numbers = numbers.iter().map(|name| (*name, Align::Right));
    Table::new(words.chain(numbers).chain(remark.then_some(("", Align::Left))))
}

fn rate(rate: f64) -> String {
    count(rate.round() as u64)
}

fn percent(share: f64) -> String {
    format!("{:.3}", share * 100.0)
}

fn micros(ns: f64) -> String {
    format!("{:.3}", ns / 1e3)
}

fn irregular(reason: Option<Irregular>) -> String {
    match reason {
        None => "",
        Some(Irregular::AtMaximum) => "no loss found",
        Some(Irregular::AtMinimum) => "always loss",
        Some(Irregular::OutOfTime) => "out of time",
        Some(Irregular::Interrupted) => "not finished",
    }
    .to_owned()
}
