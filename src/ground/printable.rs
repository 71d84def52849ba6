//! Escaping of foreign text (a neighbour's name, a name in a file, a request) for output, and limits
//! of the foreign text that a message quotes.
//!
//! A terminal executes control characters, and displays text after a bidirectional one in another
//! order; a line end in a name resembles the next line of a table or of a log. All output and logs
//! pass through [`text`] or, as JSON, through [`json`]. Foreign text within a line of output passes
//! through [`line()`] or [`lines`] first.
//!
//! A key, a value or a name of a megabyte must not fill the log. An error message passes through
//! [`message()`]: it quotes at most [`SHOWN_MAX`] characters of one text, from both of its ends, and
//! states its length.

use std::borrow::Cow;
use std::fmt::Display;

/// Escapes every character that changes how a terminal shows the others. Line feeds and tabs stay.
#[must_use]
pub fn text(text: &str) -> Cow<'_, str> {
    escaped(
        text,
        |c| is_active(c) && c != '\n' && c != '\t',
        |c, out| out.extend(c.escape_default()),
    )
}

/// Escapes line ends and tabs, too, so that the result is one line.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, is_active, |c, out| out.extend(c.escape_default()))
}

/// Returns the text of these lines, each escaped as [`line()`] does and ended by a line feed.
#[must_use]
pub fn lines(all: impl IntoIterator<Item: AsRef<str>>) -> String {
    all.into_iter().fold(String::new(), |out, one| out + &line(one.as_ref()) + "\n")
}

/// Escapes the same characters in the strings of a JSON document, without a change of its meaning.
#[must_use]
pub fn json(document: &str) -> Cow<'_, str> {
    escaped(
        document,
        |c| is_active(c) && c != '\n',
        |c, out| {
            // An escape of JSON is a UTF-16 unit; a character beyond the basic plane takes two.
            for unit in c.encode_utf16(&mut [0; 2]) {
                *out += &format!("\\u{unit:04x}");
            }
        },
    )
}

/// Returns true for controls of C0 and C1, and the format characters that are invisible or change
/// the direction (Unicode, category Cf; its tags included).
fn is_active(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

fn escaped(
    text: &str,
    is_active: impl Fn(char) -> bool,
    escape: impl Fn(char, &mut String),
) -> Cow<'_, str> {
    // Most texts have no such character and are not copied.
    if !text.contains(&is_active) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_active(c) { escape(c, &mut out) } else { out.push(c) }
    }
    Cow::Owned(out)
}

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

/// Returns an error of a reader of JSON in words: the names of Rust's types say nothing to who wrote the file.
#[must_use]
pub fn json_error(error: &impl Display) -> String {
    let text = error.to_string();
    let Some((before, wanted)) = text.split_once("expected ") else { return text };
    let (word, after) = wanted.split_at(wanted.find(' ').unwrap_or(wanted.len()));
    let words = match word {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "struct" => "an object",
        "a" if after.starts_with(" map") => "an object",
        _ => return text,
    };
    // Behind `struct` are its name and the number of its fields; the place in the text is always last.
    let after = match words {
        "an object" => &after[after.find(" at line ").unwrap_or(after.len())..],
        _ => after,
    };
    format!("{before}expected {words}{after}")
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
    // Both ends, because the start names the thing and the end often has the difference.
    let (head, tail) = (&text[..place(most - TAIL - NOTE)], &text[place(all - TAIL)..]);
    Cow::Owned(format!("{head}...{tail} ({all} characters)"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_terminal_obeys_is_escaped_and_the_rest_stays() {
        let hostile = "a\u{1b}[2Jb\u{9b}31mc\u{202e}d\u{200b}e\rf\u{7f}";
        let safe = "a\\u{1b}[2Jb\\u{9b}31mc\\u{202e}d\\u{200b}e\\rf\\u{7f}";
        assert_eq!(text(hostile), safe);
        assert_eq!(line(hostile), safe);
        assert_eq!(text("one\n\ttwo \u{fc}\u{4e2d}"), "one\n\ttwo \u{fc}\u{4e2d}");
        assert_eq!(line("port\nport2: up\tx"), "port\\nport2: up\\tx");
        assert_eq!(lines(["a\nb", "c\u{1b}"]), "a\\nb\nc\\u{1b}\n");
    }

    #[test]
    fn errors_of_json_have_no_type_of_rust() {
        #[derive(Debug, serde::Deserialize)]
        struct Whole {
            #[expect(dead_code, reason = "only read")]
            n: u64,
        }
        for (text, why) in [
            ("[]", "invalid length 0, expected an object at line 1 column 2"),
            ("5", "invalid type: integer `5`, expected an object at line 1 column 1"),
            (
                "{\"n\": -1}",
                "invalid value: integer `-1`, expected a whole number from 0 at line 1 column 8",
            ),
            ("{}", "missing field `n` at line 1 column 2"),
            ("{", "EOF while parsing an object at line 1 column 1"),
        ] {
            assert_eq!(json_error(&serde_json::from_str::<Whole>(text).unwrap_err()), why);
        }
        assert_eq!(
            json_error(&"invalid type: null, expected a map"),
            "invalid type: null, expected an object"
        );
    }

    #[test]
    fn json_means_the_same_afterwards() {
        let names = ["\u{9b}31m", "\u{202e}gnp", "\u{e0041}", "tab\tend\n", "\u{7f}"];
        let document = serde_json::to_string_pretty(&names).unwrap();
        let shown = json(&document);
        assert!(shown.chars().all(|c| c == '\n' || !is_active(c)), "{shown}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&shown).unwrap(), names);
    }

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
