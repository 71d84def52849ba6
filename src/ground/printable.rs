//! Escaping of foreign text (a neighbour's name, a name in a file, a request) for output.
//!
//! A terminal executes control characters, and displays text after a bidirectional one in another
//! order; a line end in a name resembles the next line of a table or of a log. All output and logs
//! pass through [`text`] or, as JSON, through [`json`]. Foreign text within a line of output passes
//! through [`line()`] or [`lines`] first. An error message passes through [`message()`], which
//! limits its quotations.

mod excerpt;

use std::borrow::Cow;

pub use excerpt::{MESSAGE_MAX, SHOWN_MAX, excerpt, message};

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
    if !text.contains(&is_active) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_active(c) { escape(c, &mut out) } else { out.push(c) }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn json_means_the_same_afterwards() {
        let names = ["\u{9b}31m", "\u{202e}gnp", "\u{e0041}", "tab\tend\n", "\u{7f}"];
        let document = serde_json::to_string_pretty(&names).unwrap();
        let shown = json(&document);
        assert!(shown.chars().all(|c| c == '\n' || !is_active(c)), "{shown}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&shown).unwrap(), names);
    }
}
