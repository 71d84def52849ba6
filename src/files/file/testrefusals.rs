//! Golden tests of error messages: a file `refusals.txt` beside the tests has each text and all
//! messages about it.
//!
//! `SLUICE_BLESS=1` writes the current messages into the file, to be reviewed and committed.

/// Folder that paths are relative to.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");

/// Reads the texts of the cases of a golden file.
pub fn texts(path: &str) -> Vec<String> {
    let path = format!("{ROOT}/{path}");
    let golden = std::fs::read_to_string(path).unwrap();
    cases(&golden).into_iter().map(|(_, text, _)| text.to_owned()).collect()
}

/// Parses the cases: name, text and messages.
fn cases(golden: &str) -> Vec<(&str, &str, &str)> {
    golden
        .split("=== ")
        .skip(1)
        .map(|case| {
            let (name, rest) = case.split_once('\n').expect("a name line");
            let (text, said) = rest.split_once("---\n").expect("a line ---");
            (name, text, said.trim_end())
        })
        .collect()
}

/// Compares the result of `said` for each text (named f.yaml) with the golden file at `path`,
/// relative to the root of the workspace, and checks that each message names a line of the text. The file must
/// have more than `least` cases.
pub fn hold(path: &str, least: usize, said: impl Fn(&str) -> String) {
    let path = format!("{ROOT}/{path}");
    let golden = std::fs::read_to_string(&path).unwrap();
    let golden = cases(&golden);
    assert!(golden.len() > least, "{} cases in {path}", golden.len());
    let mut all = String::new();
    let bless = std::env::var_os("SLUICE_BLESS").is_some();
    for (name, text, was) in golden {
        let is = said(text);
        assert!(bless || was == is.trim_end(), "{name}\nwas:\n{was}\nis:\n{is}");
        assert!(!is.is_empty(), "{name} is fine");
        for line in is.lines() {
            let line = line.trim_start_matches("warning: ");
            let place = line.strip_prefix("f.yaml:").and_then(|l| l.split(':').next());
            let placed = place.is_some_and(|l| l.parse::<u32>().is_ok());
            assert!(placed || name == "empty", "{name}: {line}");
        }
        all.push_str(&format!("=== {name}\n{text}---\n{is}\n\n"));
    }
    if bless {
        std::fs::write(path, all).unwrap();
    }
}
