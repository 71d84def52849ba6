//! Outcomes of an item, as text and as exit status of its process.

use std::fmt;

/// Result of an item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It holds; the text says what the driver answered.
    Ok(String),
    /// It does not hold.
    Failed(String),
    /// It cannot be tried here.
    Skipped(String),
    /// It depends on time that the machine did not give.
    Inconclusive(String),
}

/// Reason to end an item without a judgement, as an error.
#[derive(Debug)]
pub struct Skip(pub String);

/// Disturbance by the machine that leaves an item without a judgement.
#[derive(Debug)]
pub struct Undecided(pub String);

impl fmt::Display for Undecided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Undecided {}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Skip {}

impl Outcome {
    /// Converts the result of an item.
    pub fn of(result: anyhow::Result<String>) -> Self {
        match result {
            Ok(note) => Self::Ok(note),
            Err(error) if error.is::<Undecided>() => Self::Inconclusive(error.to_string()),
            Err(error) if error.is::<Skip>() => Self::Skipped(error.to_string()),
            Err(error) => Self::Failed(format!("{error:#}")),
        }
    }

    /// Converts the end of an item's process: its status, and the last line that it printed.
    pub fn ended(status: Option<i32>, last: &str) -> Self {
        let note = |word: &str| {
            let rest = last.strip_prefix(word).unwrap_or(last);
            rest.trim_start_matches(':').trim_start().to_owned()
        };
        match status {
            Some(0) if last.starts_with("ok") => Self::Ok(note("ok")),
            Some(4) => Self::Inconclusive(note("inconclusive")),
            Some(77) => Self::Skipped(note("skipped")),
            Some(1) => Self::Failed(note("FAILED")),
            other => Self::Failed(format!("its process ended with {other:?}: {last}")),
        }
    }

    /// Exit status: 0, 1 for a failure, 77 for a skip, 4 for one that is inconclusive.
    pub const fn status(&self) -> u8 {
        match self {
            Self::Ok(_) => 0,
            Self::Failed(_) => 1,
            Self::Skipped(_) => 77,
            Self::Inconclusive(_) => 4,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, note) = match self {
            Self::Ok(note) => ("ok", note),
            Self::Failed(why) => ("FAILED", why),
            Self::Skipped(why) => ("skipped", why),
            Self::Inconclusive(why) => ("inconclusive", why),
        };
        // One line, however long the text of an error is.
        let note = note.split_whitespace().collect::<Vec<_>>().join(" ");
        if note.is_empty() { f.write_str(word) } else { write!(f, "{word}: {note}") }
    }
}
