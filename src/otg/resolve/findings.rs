//! Everything found in a configuration, with the path of the field that it is about.

use std::fmt::Display;

use crate::config::Finding;
use crate::otg::engine::{Refusal, RefusalKind, Warnings};

/// What is wrong, and what is worth a word.
#[derive(Default)]
pub(super) struct Findings {
    errors: Vec<Finding>,
    warnings: Vec<Finding>,
}

impl Findings {
    /// Notes an error about the field at `path`.
    pub(super) fn error(&mut self, path: impl Display, what: impl Into<String>) {
        self.errors.push(finding(path, what));
    }

    /// Notes what works but is worth a word.
    pub(super) fn warn(&mut self, path: impl Display, what: impl Into<String>) {
        self.warnings.push(finding(path, what));
    }

    /// How many errors there are so far.
    pub(super) fn errors(&self) -> usize {
        self.errors.len()
    }

    /// The result if nothing is wrong, else all errors; warnings in either case.
    pub(super) fn settle<T>(self, result: T) -> (Result<T, Vec<Finding>>, Vec<Finding>) {
        let result = if self.errors.is_empty() { Ok(result) } else { Err(self.errors) };
        (result, self.warnings)
    }
}

fn finding(path: impl Display, what: impl Into<String>) -> Finding {
    Finding { mark: None, path: path.to_string(), what: what.into() }
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
