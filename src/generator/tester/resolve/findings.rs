//! Collects the errors and warnings of a configuration, with the path of the field.

use std::fmt::Display;

use config::{Finding, unknown_name};
use otg::engine::{Refusal, RefusalKind, Warnings};

/// Maximum number of errors, and of warnings, in the report; further ones are only counted. A
/// choice: more are not useful to a reader, and a hostile configuration could have millions.
const SAID_MAX: usize = 100;

/// Maximum number of known names listed beside an unknown one.
const NAMES_MAX: usize = 30;

/// The errors and warnings found so far.
#[derive(Default)]
pub(super) struct Findings {
    errors: List,
    warnings: List,
}

#[derive(Default)]
struct List {
    said: Vec<Finding>,
    /// Number of findings beyond those in the report.
    more: usize,
}

impl List {
    fn push(&mut self, path: impl Display, what: impl Into<String>) {
        if self.said.len() < SAID_MAX {
            self.said.push(finding(path, what));
        } else {
            self.more += 1;
        }
    }

    fn finish(mut self) -> Vec<Finding> {
        if self.more > 0 {
            let what = format!("{} more like these, which are not listed", self.more);
            self.said.push(finding("", what));
        }
        self.said
    }
}

impl Findings {
    /// Adds an error about the field at `path`.
    pub(super) fn error(&mut self, path: impl Display, what: impl Into<String>) {
        self.errors.push(path, what);
    }

    /// Adds a warning.
    pub(super) fn warn(&mut self, path: impl Display, what: impl Into<String>) {
        self.warnings.push(path, what);
    }

    /// Adds the error that no `kind` of this name is among `known`.
    pub(super) fn unknown<'n>(
        &mut self,
        path: impl Display,
        kind: &str,
        name: &str,
        known: impl Iterator<Item = &'n str>,
    ) {
        // Beyond the limit the text is not printed, so the search for similar names is skipped.
        if self.errors.said.len() >= SAID_MAX {
            self.errors.more += 1;
            return;
        }
        let known: Vec<&str> = known.collect();
        let what = match known.len() {
            0 => format!("there is no {kind} `{name}`, nor any other; add it"),
            n if n <= NAMES_MAX => unknown_name(kind, name, &known),
            n => {
                let some = unknown_name(kind, name, &known[..NAMES_MAX]);
                format!("{some} and {} more", n - NAMES_MAX)
            }
        };
        self.error(path, what);
    }

    /// Returns the number of errors so far.
    pub(super) fn errors(&self) -> usize {
        self.errors.said.len() + self.errors.more
    }

    /// Returns the result if there are no errors, else all errors; warnings in either case.
    pub(super) fn settle<T>(self, result: T) -> (Result<T, Vec<Finding>>, Vec<Finding>) {
        let result = if self.errors() == 0 { Ok(result) } else { Err(self.errors.finish()) };
        (result, self.warnings.finish())
    }
}

fn finding(path: impl Display, what: impl Into<String>) -> Finding {
    Finding::new(None, &path.to_string(), &what.into())
}

/// Converts findings to the sentences of a warning: `path: what`.
pub(super) fn sentences(findings: &[Finding]) -> Warnings {
    findings.iter().map(sentence).collect()
}

fn sentence(finding: &Finding) -> String {
    if finding.path.is_empty() {
        finding.what.clone()
    } else {
        format!("{}: {}", finding.path, finding.what)
    }
}

/// Converts errors to a refusal.
pub(super) fn refusal(errors: &[Finding]) -> Refusal {
    Refusal { kind: RefusalKind::Validation, errors: sentences(errors) }
}
