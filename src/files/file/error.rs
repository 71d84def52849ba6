//! Errors in a configuration file: the problem, its place and its remedy.

use std::fmt;

use ground::printable;

/// A place in a file; line and column are counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Mark {
    pub line: u32,
    /// Column, in characters.
    pub column: u32,
}

/// A message about one field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Place of the field, or of its innermost ancestor that is in the file.
    pub mark: Option<Mark>,
    /// Path of the field, such as `ports[1].pfc.enable`; empty for the file as a whole.
    pub path: String,
    /// The problem and its remedy.
    pub what: String,
}

/// A configuration that is accepted but rarely intended.
pub type Warning = Finding;

/// Error for a file that is not a valid switch or lab: all its findings, in the order of its lines.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct ConfigError {
    /// The file's name as it was given.
    pub file: String,
    /// At least one finding.
    pub findings: Vec<Finding>,
}

impl Finding {
    /// Creates a finding that quotes at most [`printable::SHOWN_MAX`] characters of one text. This
    /// is the only constructor.
    pub fn new(mark: Option<Mark>, path: &str, what: &str) -> Self {
        let what = printable::message(what).into_owned();
        // What a client wrote is at no line of the file.
        let mark = mark.filter(|mark| mark.line > 0);
        Self { mark, path: printable::excerpt(path).into_owned(), what }
    }

    /// Formats the finding as `file:line:column: field: message`, which editors parse. Line breaks
    /// in quoted names are escaped.
    pub fn line(&self, file: &str) -> String {
        let mut out = file.to_owned();
        if let Some(m) = self.mark {
            out.push_str(&format!(":{}:{}", m.line, m.column));
        }
        if !self.path.is_empty() {
            out.push_str(": ");
            out.push_str(&self.path);
        }
        out.push_str(": ");
        out.push_str(&self.what);
        printable::line(&out).into_owned()
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, finding) in self.findings.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            f.write_str(&finding.line(&self.file))?;
        }
        Ok(())
    }
}

impl ConfigError {
    /// Creates an error about `file` with one finding.
    pub fn one(file: &str, finding: Finding) -> Self {
        Self { file: file.to_owned(), findings: vec![finding] }
    }
}

/// Returns the name in `known` that `given` is most likely a misspelling of, with at most a third
/// of its characters wrong. None for a text that is too long for a name.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = given.chars().count();
    if length > printable::SHOWN_MAX {
        return None;
    }
    // A name in the wrong case is a slip, too.
    let given = given.to_lowercase();
    // The distance costs the product of both lengths, and is at least their difference.
    let is_near = |k: &&str| {
        let known = k.chars().count();
        length.abs_diff(known) * 3 <= known.max(3)
    };
    known
        .into_iter()
        .filter(is_near)
        .map(|k| (distance(&given, &k.to_lowercase()), k))
        .filter(|(d, k)| *d * 3 <= k.chars().count().max(3))
        .min_by_key(|(d, _)| *d)
        .map(|(_, k)| k)
}

/// Optimal string alignment distance: characters to insert, delete or substitute, and adjacent
/// characters to transpose.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            // Rows of a table: the distance of each beginning of `a` from each beginning of `b`.
            let change = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = change.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            // Two letters in the wrong order count once, as the most frequent slip.
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// Error text for a name that is not in `known`.
pub fn unknown_name(what: &str, name: &str, known: &[&str]) -> String {
    let hint = nearest(name, known.iter().copied())
        .map_or(String::new(), |k| format!("did you mean `{k}`? "));
    let (name, known) = (printable::excerpt(name), names(known));
    format!("there is no {what} `{name}`; {hint}there are: {known}")
}

/// Formats a list of names: the first ones in full, and the number of the others.
pub fn names(all: &[&str]) -> String {
    // A lab may have thousands of hosts, whose names would hide the message.
    const SHOWN: usize = 30;
    let shown: Vec<_> = all.iter().take(SHOWN).map(|name| printable::excerpt(name)).collect();
    match all.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_finds_the_name_that_was_meant() {
        assert_eq!(nearest("lossles", ["lossy", "lossless"]), Some("lossless"));
        assert_eq!(nearest("nmae", ["name", "rate"]), Some("name"));
        assert_eq!(nearest("Ports", ["ports", "buffer"]), Some("ports"));
        assert_eq!(nearest("zebra", ["ports", "buffer"]), None);
        assert_eq!(nearest("", ["ports"]), None);
        let long = "x".repeat(1 << 20);
        assert_eq!(nearest(&long, ["ports", long.as_str()]), None);
        assert_eq!(nearest("ports", [long.as_str(), "port"]), Some("port"));
    }
}
