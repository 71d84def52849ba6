//! Style and script of all pages. They are part of each page, which loads nothing.

use std::sync::LazyLock;

use sha2::{Digest, Sha256};

pub(super) const STYLE: &str =
    concat!(include_str!("vendor/uPlot.min.css"), "\n", include_str!("style.css"));

/// uPlot with its licence, and the script of the pages.
static SCRIPT: LazyLock<String> = LazyLock::new(|| {
    let own = [
        include_str!("script/base.js"),
        include_str!("script/frame.js"),
        include_str!("script/lines.js"),
        include_str!("script/pauses.js"),
        include_str!("script/heat.js"),
        include_str!("script/sweep.js"),
        include_str!("script/page.js"),
    ];
    let (licence, library) =
        (include_str!("vendor/LICENSE"), include_str!("vendor/uPlot.iife.min.js"));
    let own = own.map(packed).concat();
    format!("/*!\n{licence}*/\n{library}\n\"use strict\";\n(() => {{\n{own}}})();\n")
});

/// Leaves comments and indentation out: every page carries the script.
fn packed(script: &str) -> String {
    let lines = script.lines().map(str::trim_start);
    // Only whole lines are dropped, as a slash in a text is no comment.
    let code = lines.filter(|line| !["//", "/*", "*"].iter().any(|mark| line.starts_with(mark)));
    code.flat_map(|line| [line, "\n"]).collect()
}

pub(super) fn script() -> &'static str {
    &SCRIPT
}

/// Returns the Content-Security-Policy of a page: no request at all, and no script but this one. The
/// widths and colours of bars are attributes of their elements.
pub(super) fn policy() -> &'static str {
    static POLICY: LazyLock<String> = LazyLock::new(|| {
        // The policy allows the script by its hash, so nothing else in the page can run.
        let sum = base64(&Sha256::digest(script().as_bytes()));
        format!("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{sum}'")
    });
    &POLICY
}

fn base64(octets: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for part in octets.chunks(3) {
        let word =
            (0..3).fold(0, |word, n| word << 8 | u32::from(part.get(n).copied().unwrap_or(0)));
        for n in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * n) & 63) as usize];
            // A part of one octet has two digits, of two octets three.
            out.push(if n <= part.len() { digit.into() } else { '=' });
        }
    }
    out
}

/// Asserts that a page with plots loads nothing and has no number that is none.
#[cfg(test)]
pub(super) fn needs_nothing_else(page: &str) {
    let (before, script) = page.split_once("<script>").expect("it has plots");
    assert!(script.starts_with(self::script()) && before.contains(policy()));
    let before = before.replacen("http-equiv", "", 1);
    for outside in ["http", "src=", "<link", "url(", "@import", "NaN", "<script src"] {
        assert!(!before.contains(outside), "{outside}");
    }
    for other in before.split("<script").skip(1) {
        assert!(other.starts_with(" class=\"data\" type=\"application/json\">"), "no other script");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_written_in_base64() {
        let cases =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (text, wanted) in cases {
            assert_eq!(base64(text.as_bytes()), wanted);
        }
        assert!(policy().contains("default-src 'none'"));
    }

    #[test]
    fn comments_and_indentation_are_left_out() {
        let script = "// A note.\n/**\n * About f.\n */\nconst f = x =>\n  x * 2; // twice\n";
        assert_eq!(packed(script), "const f = x =>\nx * 2; // twice\n");
    }

    #[test]
    fn the_script_has_its_licence_and_ends_no_element() {
        assert!(script().contains("The MIT License (MIT)") && script().contains("Leon Sorokin"));
        assert!(!script().contains("</script") && !script().contains("<!--"));
        for request in ["fetch(", "XMLHttpRequest", "import(", "innerHTML", "eval("] {
            assert!(!script().contains(request), "{request}");
        }
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    }
}
