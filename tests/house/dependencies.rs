//! Dependencies that a manifest declares and no source of its crate names: they are compiled for nothing, and
//! what they come before waits for them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::sources::{Source, rust_files};

/// Folders of the root package's sources that are not those of another crate.
const ROOT: [&str; 5] = ["src/cli.rs", "src/cli/", "src/lib.rs", "src/main.rs", "tests/"];

/// Dependencies of sources of another crate that tests of the root package compile once more.
const BY_PATH: [&str; 1] = ["Cargo.toml: crossbeam"];

/// Returns the names of the dependencies that a manifest declares, of all kinds.
fn declared(manifest: &str) -> Vec<String> {
    let mut is_listing = false;
    let mut names = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_listing = line.ends_with("dependencies]") && !line.contains("workspace");
            continue;
        }
        let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
        if is_listing && !name.is_empty() && !name.starts_with(['#', '}']) {
            names.push(name.replace('-', "_"));
        }
    }
    names
}

/// True if a text has the name as a word of its own.
fn names(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Returns the dependencies of each manifest that no source names, as `manifest: name`.
fn unused(manifests: &BTreeMap<String, String>, sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for (folder, manifest) in manifests {
        let is_own = |path: &str| match folder.as_str() {
            "" => path == "build.rs" || ROOT.iter().any(|root| path.starts_with(root)),
            _ => {
                let inner = manifests.keys().filter(|other| other.len() > folder.len());
                path.starts_with(folder.as_str())
                    && !inner.clone().any(|i| path.starts_with(i.as_str()))
            }
        };
        let own: Vec<&str> =
            sources.iter().filter(|s| is_own(&s.path)).map(|s| s.text.as_str()).collect();
        let without =
            declared(manifest).into_iter().filter(|name| !own.iter().any(|t| names(t, name)));
        found.extend(without.map(|name| format!("{folder}Cargo.toml: {name}")));
    }
    found
}

fn manifests(root: &Path, folder: &Path, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            manifests(root, &path, found);
        } else if path.ends_with("Cargo.toml") {
            let relative = folder.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            let name = if relative.is_empty() { relative } else { relative + "/" };
            found.insert(name, fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn every_dependency_is_named_by_a_source() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = BTreeMap::new();
    all.insert(String::new(), fs::read_to_string(root.join("Cargo.toml")).unwrap());
    for folder in ["src", "dpdk-sys", "perf"] {
        manifests(root, &root.join(folder), &mut all);
    }
    let mut sources = rust_files(&["src", "tests", "dpdk-sys", "perf"]);
    let text = fs::read_to_string(root.join("build.rs")).unwrap();
    sources.push(Source { path: "build.rs".into(), text });
    assert!(all.len() > 30, "{:?}", all.keys());
    let mut found = unused(&all, &sources);
    found.retain(|name| !BY_PATH.contains(&name.as_str()));
    assert_eq!(found, [""; 0], "take these out");
}

#[test]
fn a_dependency_that_no_source_names_is_found() {
    let of = |folder: &str, manifest: &str| (folder.to_owned(), manifest.to_owned());
    let all = BTreeMap::from([
        of("", "[workspace.dependencies]\nserde = \"1\"\n[dependencies]\nclap.workspace = true\n"),
        of(
            "src/a/",
            "[dependencies]\nmy-own = { path = \"x\" }\nlog.workspace = true\n[features]\nx = []\n",
        ),
        of("src/a/b/", "[dev-dependencies]\nlog.workspace = true\n"),
    ]);
    let source = |path: &str, text: &str| Source { path: path.into(), text: text.into() };
    let sources = [
        source("src/cli.rs", "use clap::Args;"),
        source("src/a/lib.rs", "my_own::run(); catalog();"),
        source("src/a/b/lib.rs", "log::info!();"),
    ];
    assert_eq!(unused(&all, &sources), ["src/a/Cargo.toml: log"]);
}
