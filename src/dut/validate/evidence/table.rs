//! Results as a table, and the reasons of what is not a pass.

use text::{Align, Table};

use crate::judge::Outcome;
use crate::suite::Results;

/// Returns the table, with a line for each test that did not pass and the counts at the end.
#[must_use]
pub fn table(results: &Results) -> String {
    let mut table = Table::new([
        ("test", Align::Left),
        ("title", Align::Left),
        ("verdict", Align::Left),
        ("s", Align::Right),
    ]);
    for test in &results.tests {
        let verdict = test.outcome.name().to_owned();
        table.row([test.id.into(), test.title.into(), verdict, format!("{:.1}", test.duration_s)]);
    }
    let mut text = table.to_string();
    let others = results.tests.iter().filter(|test| test.outcome != Outcome::Pass);
    for (n, test) in others.enumerate() {
        if n == 0 {
            text.push('\n');
        }
        text += &format!("{} {}: {}\n", test.id, test.outcome.name(), test.detail);
    }
    let again = results.tests.iter().filter(|test| test.attempts > 1);
    let again: Vec<_> = again.map(|test| format!("{} ({})", test.id, test.attempts)).collect();
    if !again.is_empty() {
        let again = again.join(" ");
        text += &format!("\nrepeated because inconclusive (times run in all): {again}\n");
    }
    let unproven: Vec<_> = results.tests.iter().filter(|t| !t.proven).map(|t| t.id).collect();
    if !unproven.is_empty() {
        text += &format!("\nunproven, by no planted fault: {}\n", unproven.join(" "));
    }
    let count = |outcome| results.tests.iter().filter(|test| test.outcome == outcome).count();
    let counts = Outcome::ALL.map(|outcome| (outcome.name(), count(outcome)));
    let counts = counts.iter().filter(|(_, n)| *n > 0).map(|(name, n)| format!("{n} {name}"));
    if results.interrupted {
        text += "\ninterrupted: the tests that follow were not run\n";
    }
    text += &format!("\n{}\n", counts.collect::<Vec<_>>().join(", "));
    text
}
