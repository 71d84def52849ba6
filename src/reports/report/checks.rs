//! Prints the results of checks, one line each.

use ground::printable;
use ground::verdict::Verdict;

/// Prints a line per check with verdict, name and details, and a summary below.
pub(super) fn check_lines<'a>(
    checks: impl Iterator<Item = (Verdict, &'a str, &'a str)> + Clone,
) -> String {
    let named = checks.clone().map(|(verdict, name, detail)| {
        // Escaped before the width is measured, so that the columns line up.
        (verdict, printable::line(name), detail)
    });
    let label = checks.clone().map(|(verdict, ..)| verdict.label().len()).max().unwrap_or(0);
    let width = named.clone().map(|(_, name, _)| name.chars().count()).max().unwrap_or(0);
    let lines = named.map(|(verdict, name, detail)| {
        format!("{:<label$}  {name:<width$}  {detail}", verdict.label())
    });
    printable::lines(lines) + &Verdict::summary(checks.map(|(verdict, ..)| verdict)) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_and_no_detail_makes_a_line() {
        let all = [(Verdict::Pass, "a\nPASS  b", "c\u{1b}[2J"), (Verdict::Fail, "d", "e\nPASS")];
        assert_eq!(
            check_lines(all.into_iter()),
            "PASS  a\\nPASS  b  c\\u{1b}[2J\nFAIL  d           e\\nPASS\n\
             FAIL: 1 of 2 checks\n"
        );
    }
}
