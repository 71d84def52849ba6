//! Limits of the foreign text that a message quotes.
//!
//! A key, a value or a name of a megabyte must not fill the log. A message quotes at most
//! [`SHOWN_MAX`] characters of one text, from both of its ends, and states its length.

use std::borrow::Cow;

/// Maximum number of characters quoted of one text.
pub const SHOWN_MAX: usize = 200;

/// Maximum length of a message with all quotations, in characters. Our choice: some twenty lines of
/// a terminal; the longest message about a valid file has a third of it.
pub const MESSAGE_MAX: usize = 2_000;

/// Characters left of the end of a truncated text.
const TAIL: usize = 40;

/// Room for the dots and the length that replace the omitted part.
const NOTE: usize = 40;

/// Returns the text if it is within the limit of quotations, else its two ends and its length.
#[must_use]
pub fn excerpt(text: &str) -> Cow<'_, str> {
    cut(text, SHOWN_MAX)
}

/// Returns a message with bounded quotations (texts between backticks, and any other text without a
/// space) and bounded length. Applying it again changes nothing.
#[must_use]
pub fn message(text: &str) -> Cow<'_, str> {
    if text.len() <= SHOWN_MAX {
        return Cow::Borrowed(text);
    }
    // A cut may remove a backtick, which pairs the others differently. Each round is shorter.
    let mut out = bounded(text);
    loop {
        let again = bounded(&out);
        if again == out {
            return Cow::Owned(out);
        }
        out = again;
    }
}

/// Returns a message with its quotations, as delimited by its backticks, and its length bounded.
fn bounded(text: &str) -> String {
    let pieces = text.split('`').count();
    let mut out = String::new();
    for (n, piece) in text.split('`').enumerate() {
        if n > 0 {
            out.push('`');
        }
        // An unpaired backtick opens no quotation.
        if n % 2 == 1 && n + 1 < pieces {
            out += &excerpt(piece);
        } else {
            words(piece, &mut out);
        }
    }
    cut(&out, MESSAGE_MAX).into_owned()
}

/// Appends a text with bounded words.
fn words(text: &str, out: &mut String) {
    for word in text.split_inclusive(char::is_whitespace) {
        let bare = word.trim_end();
        *out += &excerpt(bare);
        *out += &word[bare.len()..];
    }
}

fn cut(text: &str, most: usize) -> Cow<'_, str> {
    // A character has at least one byte.
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let all = text.chars().count();
    if all <= most {
        return Cow::Borrowed(text);
    }
    let place = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(place, _)| place);
    let (head, tail) = (&text[..place(most - TAIL - NOTE)], &text[place(all - TAIL)..]);
    Cow::Owned(format!("{head}...{tail} ({all} characters)"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_long_text_becomes_its_ends_and_its_length() {
        assert_eq!(excerpt(&"x".repeat(200)), "x".repeat(200));
        let cut = excerpt(&("a".repeat(500) + &"z".repeat(501))).into_owned();
        assert_eq!(cut, format!("{}...{} (1001 characters)", "a".repeat(120), "z".repeat(40)));
        // Characters are counted and not split.
        assert_eq!(excerpt(&"\u{4e2d}".repeat(200)).chars().count(), 200);
        assert!(excerpt(&"\u{4e2d}".repeat(201)).ends_with("\u{4e2d} (201 characters)"));
    }

    #[test]
    fn each_quotation_of_a_message_is_cut_and_what_is_ours_stays() {
        let long = "with spaces ".repeat(1_000);
        let ours = "add the field that is missing ".repeat(12);
        let cut = message(&format!("`{long}` is no word; {ours}`end`")).into_owned();
        assert!(cut.contains("(12000 characters)` is no word; add"), "{cut}");
        assert!(cut.ends_with(&format!("{ours}`end`")), "{cut}");
        // Lists of names, and names without quotation marks.
        let bare = message(&format!("there are: {}, b", "n".repeat(1 << 20))).into_owned();
        assert!(bare.contains("(1048577 characters) b") && bare.len() < 250, "{bare}");
        let many = message(&"name, ".repeat(10_000)).into_owned();
        assert!(many.ends_with("(60000 characters)") && many.len() <= MESSAGE_MAX, "{many}");
        // Text after an unpaired backtick is not a quotation.
        let odd = format!("`a`b` is unknown; {ours}");
        assert_eq!(message(&odd), odd);
    }

    proptest! {
        #[test]
        fn a_message_is_bounded_and_cut_once(text in "([a` \u{4e2d}]{1,9}|[x]{150,300}|[` y]{150,300}){0,20}") {
            let once = message(&text).into_owned();
            prop_assert!(once.chars().count() <= MESSAGE_MAX.max(text.chars().count().min(MESSAGE_MAX)));
            let again = message(&once);
            prop_assert_eq!(&again, &once);
            let longest = once.split([' ', '`']).map(|w| w.chars().count()).max().unwrap_or(0);
            prop_assert!(longest <= SHOWN_MAX);
        }
    }
}
