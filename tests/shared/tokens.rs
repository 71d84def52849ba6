//! The part of Rust's lexical grammar that is needed to read paths: identifiers, `::` and single
//! characters of punctuation, each with its line. Comments, literals and lifetimes are left out, so
//! that text about a module does not count as a use of it.

/// An identifier, a number, `::` or one character of punctuation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub text: String,
    /// Counted from 1.
    pub line: usize,
}

/// The tokens of a whole file.
pub fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < chars.len() {
        let end = match chars[at] {
            '/' if chars.get(at + 1) == Some(&'/') => until(&chars, at, |c| c == '\n'),
            '/' if chars.get(at + 1) == Some(&'*') => block_comment(&chars, at),
            '"' => string(&chars, at),
            '\'' => quote(&chars, at),
            c if c.is_alphanumeric() || c == '_' => word(&chars, at, line, &mut found),
            c => {
                let double = c == ':' && chars.get(at + 1) == Some(&':');
                if double {
                    found.push(Token { text: "::".into(), line });
                } else if !c.is_whitespace() {
                    found.push(Token { text: c.into(), line });
                }
                at + 1 + usize::from(double)
            }
        };
        line += chars[at..end].iter().filter(|&&c| c == '\n').count();
        at = end;
    }
    found
}

fn until(chars: &[char], from: usize, stop: impl Fn(char) -> bool) -> usize {
    chars[from..].iter().position(|&c| stop(c)).map_or(chars.len(), |n| from + n)
}

fn block_comment(chars: &[char], from: usize) -> usize {
    let (mut at, mut depth) = (from, 0);
    while at + 1 < chars.len() {
        match (chars[at], chars[at + 1]) {
            ('/', '*') => (depth, at) = (depth + 1, at + 2),
            ('*', '/') => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    chars.len()
}

/// End of the literal that begins with the quotation mark at `from`, in which `\` escapes.
fn string(chars: &[char], from: usize) -> usize {
    let mut at = from + 1;
    while at < chars.len() && chars[at] != chars[from] {
        at += 1 + usize::from(chars[at] == '\\');
    }
    (at + 1).min(chars.len())
}

fn raw_string(chars: &[char], from: usize) -> usize {
    let open = until(chars, from, |c| c != '#');
    let hashes = open - from;
    let closes = |at: usize| {
        chars[at] == '"' && chars[at + 1..].iter().take_while(|&&c| c == '#').count() >= hashes
    };
    (open + 1..chars.len()).find(|&at| closes(at)).map_or(chars.len(), |at| at + 1 + hashes)
}

/// A character literal or a lifetime.
fn quote(chars: &[char], from: usize) -> usize {
    match (chars.get(from + 1), chars.get(from + 2)) {
        (Some('\\'), _) | (_, Some('\'')) => string(chars, from),
        _ => until(chars, from + 1, |c| !c.is_alphanumeric() && c != '_'),
    }
}

/// An identifier or number, or a raw string with its prefix.
fn word(chars: &[char], from: usize, line: usize, found: &mut Vec<Token>) -> usize {
    let end = until(chars, from, |c| !c.is_alphanumeric() && c != '_');
    let text: String = chars[from..end].iter().collect();
    if matches!(text.as_str(), "r" | "br" | "cr") {
        let open = until(chars, end, |c| c != '#');
        if chars.get(open) == Some(&'"') {
            return raw_string(chars, end);
        } else if open > end {
            return word(chars, open, line, found);
        }
    }
    found.push(Token { text, line });
    end
}
