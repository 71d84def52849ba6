//! The house rules that a reader notices first and a compiler never does.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::pages::{self, Page, broken_links, pages};
use crate::sources::{self, Source, rust_files};

/// A file with more lines than this does more than one thing.
const LINES_MAX: usize = 600;

/// Pages that a newcomer reads whole, and the lines that each may have.
const PAGES_MAX: [(&str, usize); 3] =
    [("README.md", 200), ("ARCHITECTURE.md", 250), ("CHANGELOG.md", 250)];

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

/// Every file that no module declares: a module is declared in the file of its folder. A crate's
/// first file and its build script need no declaration.
fn files_without_a_module(files: &[Source]) -> Vec<&str> {
    let is_declared = |path: &str| {
        let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
        let (folder, name) = path.rsplit_once('/').unwrap();
        let parents =
            [format!("{folder}/mod.rs"), format!("{folder}/lib.rs"), format!("{folder}.rs")];
        let declaration = format!("mod {name};");
        let declares = |line: &str| !line.contains("//") && line.ends_with(&declaration);
        let is_first = ["lib", "main", "build"].contains(&name);
        let mut parents = files.iter().filter(|file| parents.contains(&file.path));
        is_first || parents.any(|parent| parent.text.lines().any(declares))
    };
    files.iter().map(|file| file.path.as_str()).filter(|path| !is_declared(path)).collect()
}

/// Cargo neither compiles nor reports a file that no module declares: its tests would be lost.
#[test]
fn every_file_belongs_to_a_module() {
    assert_eq!(files_without_a_module(&rust_files(&["src", "dpdk-sys/src"])), [""; 0]);
}

#[test]
fn a_file_without_a_module_is_found() {
    let files = [
        ("src/generator/otg/lib.rs", "pub mod model;\n// mod proto;\n"),
        ("src/generator/otg/model/mod.rs", "#[cfg(test)]\nmod tests;\n"),
        ("src/generator/otg/model/tests.rs", "mod plans;\n"),
        ("src/generator/otg/model/tests/plans.rs", ""),
        ("src/generator/otg/model/tests/random.rs", ""),
        ("src/generator/otg/proto.rs", ""),
    ]
    .map(|(path, text)| Source { path: path.into(), text: text.into() });
    let found = files_without_a_module(&files);
    assert_eq!(found, ["src/generator/otg/model/tests/random.rs", "src/generator/otg/proto.rs"]);
}

#[test]
fn nothing_is_left_for_later() {
    // Spelled in halves, or this file would be its own finding.
    let marks =
        [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("todo", "!("), "unimplemented!"];
    for file in rust_files(&["src", "tests", "dpdk-sys/src"]) {
        if file.path == "tests/house/rules.rs" {
            continue;
        }
        for (number, line) in file.text.lines().enumerate() {
            let mark = marks.iter().find(|mark| line.contains(**mark));
            assert!(mark.is_none(), "{}:{}: {}", file.path, number + 1, line.trim());
        }
    }
}

/// Figures of one kind would differ if each place picked its own rank of the sorted values.
#[test]
fn percentiles_of_a_device_have_one_rule() {
    let picks = |line: &str| {
        let of_length = line.contains(".get(") && line.contains(".len() ");
        of_length || [".len() / 2]", "* 99 / 100"].iter().any(|part| line.contains(part))
    };
    for line in [
        "let at = all.len().saturating_sub(1) * 99 / 100;",
        "times[times.len() / 2]",
        "reactions.get(reactions.len() * part / 100)",
    ] {
        assert!(picks(line), "the rule finds {line}");
    }
    for file in rust_files(&["src/dut"]).iter().filter(|file| !file.path.contains("/tests")) {
        for (number, line) in file.text.lines().enumerate() {
            let place = number + 1;
            assert!(!picks(line), "{}:{place}: use `ground::statistics`: {line}", file.path);
        }
    }
}

/// A child whose test is killed goes on and takes the next test's CPU or device, unless it was started
/// by the helpers of `tests/shared/run.rs`, which end it with the test. They alone know where the program is.
#[test]
fn tests_start_the_program_by_the_helper_that_ends_it_with_them() {
    // Spelled in halves, or this file would be its own finding.
    let path = concat!("CARGO_BIN_", "EXE");
    let mut found = Vec::new();
    for file in rust_files(&["src", "tests"]) {
        for (number, line) in file.text.lines().enumerate().filter(|(_, l)| l.contains(path)) {
            found.push(file.path.clone());
            let own = file.path == "tests/shared/run.rs" && line.starts_with("const SLUICE");
            let (place, remedy) = (number + 1, "start it by `run::sluice()` or `run::PROGRAM`");
            assert!(own, "{}:{place}: {remedy}: {}", file.path, line.trim());
        }
    }
    assert_eq!(found, ["tests/shared/run.rs"], "the rule finds what it is about");
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
    let known = [
        ("src/serve/daemon/socket.rs", 1),
        ("tests/shared/testfolder.rs", 1),
        ("tests/shared/run.rs", 1),
    ];
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
    // Options of a verb are indented further.
    let is_verb = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    for line in usage.take_while(|line| *line != "TEXT").filter(is_verb) {
        let verb = line.split_whitespace().next().unwrap();
        assert!(verbs.contains(verb), "./dev help names {verb}, which dev does not know");
    }
    let others = ["ARCHITECTURE.md", "CHANGELOG.md", "perf/README.md", ".ci/run"];
    let others =
        others.map(|name| Page { path: name.into(), text: page(name).unwrap_or_default() });
    for Page { path: name, text } in pages().into_iter().chain(others) {
        for mention in text.split("./dev ").skip(1) {
            let verb = mention.split(|c: char| !c.is_ascii_lowercase()).next().unwrap();
            let known = verb.is_empty() || verbs.contains(verb);
            assert!(known, "{name} names ./dev {verb}, which dev does not know");
        }
    }
}

#[test]
fn pages_for_newcomers_stay_short() {
    for (name, most) in PAGES_MAX {
        let lines = page(name).expect(name).lines().count();
        assert!(lines <= most, "{name} has {lines} lines, {most} at most; docs/src has room");
    }
}

#[test]
fn links_of_pages_lead_to_files_and_headings() {
    let mut all = pages();
    all.extend(["ARCHITECTURE.md", "perf/README.md"].map(pages::page));
    let broken = broken_links(&all);
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    let links: usize = all.iter().map(|page| page.links().len()).sum();
    assert!(links > 50, "{links} links were found");
    for page in &all {
        let (anchors, unique) = (page.anchors(), BTreeSet::from_iter(page.anchors()));
        assert_eq!(anchors.len(), unique.len(), "{}: two headings with one anchor", page.path);
    }
}

/// Paths of a page that the package does not have.
fn missing_paths(page: &Page, folders: &[&str]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let named = page.named_paths(folders).into_iter();
    let missing = named.filter(|(_, path)| !root.join(path).exists());
    missing.map(|(line, path)| format!("{}:{line}: {path}", page.path)).collect()
}

#[test]
fn files_that_pages_name_exist() {
    let mut missing = missing_paths(
        &pages::page("ARCHITECTURE.md"),
        &["src/", "tests/", "docs/", "configs/", "perf/", "dpdk-sys/"],
    );
    for page in pages() {
        missing.extend(missing_paths(&page, &["tests/", "configs/", "perf/", "tools/"]));
    }
    assert!(missing.is_empty(), "there is no\n{}", missing.join("\n"));
    let text = "`src/none.rs`, `src/lib.rs`\n`src/*.rs` `lib.rs`\n";
    let page = Page { path: "p.md".into(), text: text.into() };
    assert_eq!(missing_paths(&page, &["src/"]), ["p.md:1: src/none.rs"]);
}

#[test]
fn links_that_lead_nowhere_are_found() {
    let text = "# A b\n[good](#a-b) [c](house/rules.rs) [web](https://x.test/y)\n`[code](none)`\n\
                [bad](#c) [bad](none.md)\n\n```text\n[block](none)\n```\n";
    let page = Page { path: "tests/page.md".into(), text: text.into() };
    let broken = broken_links(&[page]);
    assert_eq!(
        broken,
        [
            "tests/page.md:4: #c: there is no such heading",
            "tests/page.md:4: none.md: there is no such file"
        ]
    );
    let page = Page { path: "docs/src/page.md".into(), text: "[out](../../README.md)".into() };
    assert_eq!(
        broken_links(&[page]),
        ["docs/src/page.md:1: ../../README.md: it is outside of the book"]
    );
}

/// The table of contents of the book names every page once, so none is written that readers never find.
#[test]
fn the_book_has_every_page() {
    let contents = pages::page("docs/src/SUMMARY.md");
    let linked: Vec<String> =
        contents.links().iter().map(|(_, link)| contents.target(link).0).collect();
    let mut sorted = linked.clone();
    sorted.sort();
    let apart = ["README.md", "docs/src/SUMMARY.md"];
    let written = pages().into_iter().map(|page| page.path);
    let written: Vec<String> = written.filter(|path| !apart.contains(&path.as_str())).collect();
    assert_eq!(sorted, written);
}

/// A block that no test reads may go stale unseen. `tests/program/readme_commands.rs` runs what these hold.
#[test]
fn blocks_of_code_say_what_a_test_does_with_them() {
    let mut blocks = 0;
    for page in pages() {
        for block in page.blocks() {
            blocks += 1;
            let unchecked = block.unchecked();
            let place = format!("{}:{}", page.path, block.line);
            assert!(unchecked.is_none(), "{place}: {}", unchecked.unwrap_or_default());
        }
    }
    assert!(blocks > 30, "{blocks} blocks were found");
}

#[test]
fn blocks_that_no_test_would_read_are_found() {
    let unchecked = |language: &str, text: &str| {
        let (language, text) = (language.to_owned(), text.to_owned());
        pages::Block { language, line: 1, text }.unchecked().is_some()
    };
    for (language, text) in [("sh", "ls\n"), ("console", "$ ls\na\n"), ("text", "an output\n")] {
        assert!(!unchecked(language, text), "{language}");
    }
    assert!(!unchecked("yaml", "# a-1.yaml\na: 1\n"));
    for (language, text) in [
        ("", "sluice x\n"),
        ("bash", "ls\n"),
        ("sh", "$ ls\n"),
        ("console", "a\n$ ls\n"),
        ("yaml", "a: 1\n"),
        ("yaml", "# a comment\na: 1\n"),
        ("text", "words\nsluice switch FILE\n"),
    ] {
        assert!(unchecked(language, text), "{language}: {text}");
    }
}
