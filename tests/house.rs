//! The house rules that a reader notices first and a compiler never does.

mod sources;

use sources::rust_files;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A file with more lines than this does more than one thing.
const LINES_MAX: usize = 600;

fn page(name: &str) -> Option<String> {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).ok()
}

#[test]
fn files_stay_readable() {
    for file in rust_files(&["src", "tests", "dpdk-sys/src"]) {
        let lines = file.text.lines().count();
        assert!(lines <= LINES_MAX, "{} has {lines} lines, {LINES_MAX} at most", file.path);
    }
}

#[test]
fn nothing_is_left_for_later() {
    // Spelled in halves, or this file would be its own finding.
    let marks =
        [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("todo", "!("), "unimplemented!"];
    for file in rust_files(&["src", "tests", "dpdk-sys/src"]) {
        if file.path == "tests/house.rs" {
            continue;
        }
        for (number, line) in file.text.lines().enumerate() {
            let mark = marks.iter().find(|mark| line.contains(**mark));
            assert!(mark.is_none(), "{}:{}: {}", file.path, number + 1, line.trim());
        }
    }
}

/// A child whose test is killed goes on and takes the next test's CPU or device, unless it was started
/// by the helpers of `tests/run`, which end it with the test. They alone know where the program is.
#[test]
fn tests_start_the_program_by_the_helper_that_ends_it_with_them() {
    // Spelled in halves, or this file would be its own finding.
    let path = concat!("CARGO_BIN_", "EXE");
    let mut found = Vec::new();
    for file in rust_files(&["src", "tests"]) {
        for (number, line) in file.text.lines().enumerate().filter(|(_, l)| l.contains(path)) {
            found.push(file.path.clone());
            let own = file.path == "tests/run/mod.rs" && line.starts_with("const SLUICE");
            let (place, remedy) = (number + 1, "start it by `run::sluice()` or `run::PROGRAM`");
            assert!(own, "{}:{place}: {remedy}: {}", file.path, line.trim());
        }
    }
    assert_eq!(found, ["tests/run/mod.rs"], "the rule finds what it is about");
}

/// A folder that a test makes by itself stays when the test fails. `Folder` and `Dir` go with it.
#[test]
fn folders_of_tests_go_away_with_them() {
    // Spelled in halves, or this file would be its own finding.
    let call = concat!("temp_", "dir()");
    let uses = |file: &sources::Source| file.text.matches(call).count();
    let files = rust_files(&["src", "tests"]);
    let found: BTreeSet<_> =
        files.iter().filter(|file| uses(file) > 0).map(|file| (&*file.path, uses(file))).collect();
    // Both guards, and the place of control sockets.
    let known = [("src/runtime/control.rs", 1), ("src/testfolder.rs", 1), ("tests/run/mod.rs", 1)];
    assert_eq!(found, BTreeSet::from(known), "use `Folder` in `src`, `Dir` in `tests`");
}

/// The verbs that `dev` acts on: the labels of its last `case`.
fn verbs(dev: &str) -> BTreeSet<&str> {
    let (_, cases) = dev.rsplit_once("case $verb in").expect("dev chooses by its verb");
    let labels = cases.lines().filter_map(|line| line.split_once(')').map(|(label, _)| label));
    labels.flat_map(|label| label.split('|')).map(str::trim).collect()
}

#[test]
fn every_verb_that_a_page_names_exists() {
    let dev = page("dev").expect("the developer script");
    let verbs = verbs(&dev);
    let usage = dev.lines().skip_while(|line| !line.starts_with("usage: ./dev"));
    for line in usage.take_while(|line| *line != "TEXT").filter(|line| line.starts_with("  ")) {
        let verb = line.split_whitespace().next().unwrap();
        assert!(verbs.contains(verb), "./dev help names {verb}, which dev does not know");
    }
    for name in ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "perf/README.md", ".ci/run"] {
        let text = page(name).unwrap_or_default();
        for mention in text.split("./dev ").skip(1) {
            let verb = mention.split(|c: char| !c.is_ascii_lowercase()).next().unwrap();
            let known = verb.is_empty() || verbs.contains(verb);
            assert!(known, "{name} names ./dev {verb}, which dev does not know");
        }
    }
}
