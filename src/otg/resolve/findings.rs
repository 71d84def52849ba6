//! Everything found in a configuration, with the path of the field that it is about.

use std::fmt::Display;

use crate::config::{Finding, unknown_name};
use crate::otg::engine::{Refusal, RefusalKind, Warnings};

/// How many errors, and how many warnings, are said; the others are counted. A choice: nobody reads
/// more at once, and a hostile configuration could have millions.
const SAID_MAX: usize = 100;

/// How many names are listed where one is not known.
const NAMES_MAX: usize = 30;

/// What is wrong, and what is worth a word.
#[derive(Default)]
pub(super) struct Findings {
    errors: List,
    warnings: List,
}

/// Findings of one kind.
#[derive(Default)]
struct List {
    said: Vec<Finding>,
    /// Those beyond what is said.
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
    /// Notes an error about the field at `path`.
    pub(super) fn error(&mut self, path: impl Display, what: impl Into<String>) {
        self.errors.push(path, what);
    }

    /// Notes what works but is worth a word.
    pub(super) fn warn(&mut self, path: impl Display, what: impl Into<String>) {
        self.warnings.push(path, what);
    }

    /// Notes that there is no `kind` of this name among `known`.
    pub(super) fn unknown<'n>(
        &mut self,
        path: impl Display,
        kind: &str,
        name: &str,
        known: impl Iterator<Item = &'n str>,
    ) {
        // What is said nowhere is not worth looking for what was meant.
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

    /// How many errors there are so far.
    pub(super) fn errors(&self) -> usize {
        self.errors.said.len() + self.errors.more
    }

    /// The result if nothing is wrong, else all errors; warnings in either case.
    pub(super) fn settle<T>(self, result: T) -> (Result<T, Vec<Finding>>, Vec<Finding>) {
        let result = if self.errors() == 0 { Ok(result) } else { Err(self.errors.finish()) };
        (result, self.warnings.finish())
    }
}

fn finding(path: impl Display, what: impl Into<String>) -> Finding {
    Finding::new(None, &path.to_string(), &what.into())
}

/// Findings as the sentences of a warning: `path: what`.
pub(super) fn sentences(findings: &[Finding]) -> Warnings {
    findings.iter().map(sentence).collect()
}

/// A finding in one sentence.
fn sentence(finding: &Finding) -> String {
    if finding.path.is_empty() {
        finding.what.clone()
    } else {
        format!("{}: {}", finding.path, finding.what)
    }
}

/// Errors as a refusal.
pub(super) fn refusal(errors: &[Finding]) -> Refusal {
    Refusal { kind: RefusalKind::Validation, errors: sentences(errors) }
}
