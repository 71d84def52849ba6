//! Ranges of names: `h1..h16`.

use config::{Cx, Place};

/// Most names of a range.
const RANGE_MAX: u64 = 65_536;

/// True if a text is a range of names. Names have no dots.
pub(super) fn is_range(text: &str) -> bool {
    text.contains("..")
}

/// Returns the names of a range in order, or the name itself; reports an invalid range.
pub(super) fn expand(cx: &mut Cx, at: &Place<'_>, text: &str) -> Vec<String> {
    if !is_range(text) {
        return vec![text.to_owned()];
    }
    match range(text) {
        Ok(names) => names,
        Err(why) => {
            let text = ground::printable::excerpt(text);
            cx.error(at, format!("`{text}` {why}"));
            Vec::new()
        }
    }
}

/// Expands a range. Both names have the same letters before their numbers; a first number with
/// leading zeros has the width of all.
fn range(text: &str) -> Result<Vec<String>, String> {
    let shape = || "is no range of names; write it as h1..h16".to_owned();
    let (first, last) = text.split_once("..").ok_or_else(shape)?;
    let split = |name: &str| {
        let letters = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let number: u64 = name[letters..].parse().ok()?;
        Some((name[..letters].to_owned(), name.len() - letters, number))
    };
    let (prefix, digits, from) = split(first).ok_or_else(shape)?;
    let (other, _, to) = split(last).ok_or_else(shape)?;
    if prefix != other {
        return Err(format!("is no range: `{prefix}` and `{other}` before the numbers differ"));
    }
    if from > to {
        return Err(format!("counts down; write {last}..{first}"));
    }
    if to - from >= RANGE_MAX {
        return Err(format!("has more than {RANGE_MAX} names"));
    }
    let padded = first[prefix.len()..].starts_with('0') && digits > 1;
    let width = if padded { digits } else { 0 };
    Ok((from..=to).map(|n| format!("{prefix}{n:0width$}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_all_names_from_the_first_to_the_last() {
        assert_eq!(range("h9..h11").unwrap(), ["h9", "h10", "h11"]);
        assert_eq!(range("e1_4..e1_4").unwrap(), ["e1_4"]);
        assert_eq!(range("h08..h10").unwrap(), ["h08", "h09", "h10"]);
        assert_eq!(range("h0..h2").unwrap(), ["h0", "h1", "h2"]);
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for (text, why) in [
            ("h1..", "write it as h1..h16"),
            ("..h3", "write it as h1..h16"),
            ("h..h3", "write it as h1..h16"),
            ("h1..h2..h3", "`h` and `h2..h` before the numbers differ"),
            ("h1..s3", "`h` and `s` before the numbers differ"),
            ("h3..h1", "counts down; write h1..h3"),
            ("h1..h99999999", "more than 65536 names"),
            ("h1..h99999999999999999999999", "write it as h1..h16"),
        ] {
            let said = range(text).unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
    }
}
