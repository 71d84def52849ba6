//! Checks of the sources that the compiler does not make. It checks the borders between crates: a
//! `Cargo.toml` names the crates that one may use. Here are the rules of what a manifest may name,
//! and of what no code below the drivers names: a clock, a thread, ambient randomness. DPDK's
//! bindings are in one crate, unsafe code in two.
//!
//! Test modules and dev-dependencies are exempt: a state machine's test may use its neighbour.

use std::fs;
use std::path::Path;

use crate::sources::{Source, rust_files};
use crate::tokens::{Token, tokens};

/// Crates by layer. A crate may name those of the layers before its own.
const LAYERS: &[&[&str]] = &[
    &["ground"],
    &["wire"],
    &["buffer", "pfc", "schedule", "congestion", "headroom", "discovery", "secure"],
    &["file"],
    &["otg"],
    &["contracts"],
    &["kernel"],
    &["link", "dpdk"],
    &["switch", "host"],
    &["sim", "runtime", "text"],
    &["config", "results"],
    &["tester", "labfile"],
    &["labrun"],
    &["lab"],
    &["validate"],
    &["benchmark"],
    &["report"],
    &["daemon", "measure"],
    &["sluice"],
    &["python"],
];

/// Folders of `src` below the drivers, where time is an argument.
const TIMELESS: &[&str] = &["src/ground/", "src/wire/", "src/machines/", "src/plane/", "src/sim/"];

/// Modules and functions that bring ambient time, threads or randomness, by crate.
const AMBIENT: &[(&str, &[&str])] =
    &[("std", &["time", "thread"]), ("rand", &["rng", "thread_rng", "random", "rngs"])];

/// The folders with unsafe code; the first has DPDK's bindings, too.
const UNSAFE: [&str; 2] = ["src/real/dpdk/", "src/real/kernel/"];

/// Every violation of these rules in these files, as `file:line: what`.
fn violations(files: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    let mut test_files = Vec::new();
    let mut timeless = Vec::new();
    for file in files {
        let all = tokens(&file.text);
        let may_be = |token: &Token| {
            let folders = if token.text == "dpdk_sys" { &UNSAFE[..1] } else { &UNSAFE[..] };
            folders.iter().any(|folder| file.path.starts_with(folder))
        };
        for token in all.iter().filter(|token| !may_be(token)) {
            if ["unsafe", "unsafe_code", "dpdk_sys"].contains(&token.text.as_str()) {
                found.push(format!("{}:{}: `{}`", file.path, token.line, token.text));
            }
        }
        if is_timeless(&file.path) {
            let (code, test_modules) = without_tests(&all);
            let folder = file.path.trim_end_matches("/mod.rs").trim_end_matches("/lib.rs");
            let folder = folder.trim_end_matches(".rs");
            test_files.extend(test_modules.iter().map(|name| format!("{folder}/{name}")));
            timeless.push((file, code));
        }
    }
    for (file, code) in timeless {
        let is_test = |test: &String| {
            file.path.strip_prefix(test.as_str()).is_some_and(|rest| rest.starts_with(['.', '/']))
        };
        if !test_files.iter().any(is_test) {
            let breaches = ambient(&code).into_iter();
            found.extend(breaches.map(|(path, line)| format!("{}:{line}: `{path}`", file.path)));
        }
    }
    found
}

fn is_timeless(path: &str) -> bool {
    TIMELESS.iter().any(|folder| path.starts_with(folder))
}

/// Every ambient name in this code, after its crate or in the crate's `{}`, with its line.
fn ambient(code: &[Token]) -> Vec<(String, usize)> {
    let is = |at: usize, text: &str| code.get(at).is_some_and(|t| t.text == text);
    let mut found = Vec::new();
    for (at, token) in code.iter().enumerate().filter(|&(at, _)| is(at + 1, "::")) {
        let Some((head, names)) = AMBIENT.iter().find(|(head, _)| *head == token.text) else {
            continue;
        };
        let end = if is(at + 2, "{") { closing(code, at + 2) } else { at + 3 };
        let named = code[at + 2..end.min(code.len())].iter();
        let banned = named.filter(|token| names.contains(&token.text.as_str()));
        found.extend(banned.map(|banned| (format!("{head}::{}", banned.text), banned.line)));
    }
    found
}

/// The crate of a manifest and every crate of the workspace that it names and may not.
fn misplaced(path: &str, manifest: &str) -> Vec<String> {
    let folder = path.trim_end_matches("/Cargo.toml").rsplit('/').next().unwrap();
    let name = if folder == "Cargo.toml" { "sluice" } else { folder };
    let layer = |name: &str| LAYERS.iter().position(|layer| layer.contains(&name));
    let Some(own) = layer(name) else {
        return vec![format!("{path}:1: `{name}` has no place in the layers")];
    };
    let mut found = Vec::new();
    let mut is_open = false;
    for (line, text) in manifest.lines().enumerate() {
        let mut key = text.split(['.', '=', ' ']).next().unwrap();
        if let Some(section) = text.strip_prefix('[') {
            let (kind, one) = section.trim_end_matches(']').rsplit_once("dependencies").unzip();
            is_open = kind.is_some_and(|kind| !kind.ends_with("dev-") && kind != "workspace.");
            key = one.map_or("", |one| one.trim_start_matches('.'));
        }
        let is_wrong = match key {
            "dpdk-sys" => name != "dpdk",
            "dpdk" if is_timeless(path) => true,
            key => layer(key).is_some_and(|layer| layer >= own),
        };
        if is_open && is_wrong {
            found.push(format!("{path}:{}: `{name}` must not use `{key}`", line + 1));
        }
    }
    found
}

/// Code outside of `#[cfg(test)]` items, and the names of test modules in separate files.
fn without_tests(code: &[Token]) -> (Vec<Token>, Vec<String>) {
    let is = |at: usize, text: &str| code.get(at).is_some_and(|t| t.text == text);
    let (mut kept, mut modules, mut at) = (Vec::new(), Vec::new(), 0);
    while at < code.len() {
        let end = if is(at, "#") && is(at + 1, "[") { closing(code, at + 1) } else { at };
        let words = &code[at..end];
        let has = |text: &str| words.iter().any(|t| t.text == text);
        if !(is(at + 2, "cfg") && has("test") && !has("not")) {
            kept.push(code[at].clone());
            at += 1;
            continue;
        }
        at = end;
        while is(at, "#") {
            at = closing(code, at + 1);
        }
        if is(at, "mod") && is(at + 2, ";") {
            modules.push(code[at + 1].text.clone());
        }
        let ends_at_semicolon = is(at, "use");
        while at < code.len() && !is(at, ";") && (ends_at_semicolon || !is(at, "{")) {
            at += 1;
        }
        at = if is(at, "{") { closing(code, at) } else { at + 1 };
    }
    (kept, modules)
}

/// Index after the bracket that closes the one at `open`.
fn closing(code: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in code.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "{" | "[" | "(" => depth += 1,
            "}" | "]" | ")" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    code.len()
}

#[test]
fn no_code_breaks_the_rules() {
    let found = violations(&rust_files(&["src"]));
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn manifests_name_crates_of_lower_layers() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = vec!["Cargo.toml".to_string()];
    let names = |folder: &str| {
        let entries = fs::read_dir(root.join(folder)).into_iter().flatten();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.map(|name| format!("{folder}/{name}")).collect::<Vec<_>>()
    };
    for folder in names("src") {
        paths
            .extend(names(&folder).iter().map(|crate_folder| format!("{crate_folder}/Cargo.toml")));
        paths.push(format!("{folder}/Cargo.toml"));
    }
    let read = |path: String| Some((fs::read_to_string(root.join(&path)).ok()?, path));
    let found: Vec<_> = paths.into_iter().filter_map(read).collect();
    assert_eq!(found.len(), LAYERS.concat().len(), "a manifest of every crate");
    let found: Vec<_> = found.iter().flat_map(|(text, path)| misplaced(path, text)).collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn a_planted_crate_is_found() {
    let cases = [
        ("src/novel/Cargo.toml", ""),
        ("src/ground/Cargo.toml", "[dependencies]\nwire.workspace = true"),
        ("src/machines/pfc/Cargo.toml", "[dependencies]\nbuffer = { workspace = true }"),
        ("src/generator/otg/Cargo.toml", "[dependencies]\ncontracts.workspace = true"),
        (
            "src/real/dpdk/Cargo.toml",
            "[dependencies]\nground.workspace = true\n[dependencies.switch]",
        ),
        ("src/sim/Cargo.toml", "[target.'cfg(unix)'.dependencies]\ndpdk.workspace = true"),
        ("src/sim/Cargo.toml", "[dependencies]\nruntime.workspace = true"),
        ("src/real/runtime/Cargo.toml", "[dependencies]\nsim.workspace = true"),
        ("src/real/runtime/Cargo.toml", "[dependencies]\ndpdk-sys.workspace = true"),
        ("Cargo.toml", "[build-dependencies]\ndpdk-sys = { path = \"dpdk-sys\" }"),
    ];
    for (path, text) in cases {
        assert_eq!(misplaced(path, text).len(), 1, "{path}: {text}: {:?}", misplaced(path, text));
    }
    let allowed = [
        ("src/machines/pfc/Cargo.toml", "[dependencies]\nground.workspace = true"),
        ("src/machines/pfc/Cargo.toml", "[dev-dependencies]\nbuffer.workspace = true"),
        ("src/real/dpdk/Cargo.toml", "[dependencies]\ndpdk-sys = {}\n[features]\nswitch = []"),
        ("Cargo.toml", "[workspace.dependencies]\ndpdk-sys = {}\n[dependencies]\ndpdk = {}"),
    ];
    for (path, text) in allowed {
        assert_eq!(misplaced(path, text), [] as [String; 0], "{path}: {text}");
    }
}

/// Violations in one file with this text.
fn planted(path: &str, text: &str) -> Vec<String> {
    violations(&[Source { path: path.into(), text: text.into() }])
}

#[test]
fn a_planted_breach_is_found() {
    let cases = [
        ("src/wire/pfc.rs", "use std::time::Instant;"),
        ("src/ground/time/total.rs", "fn f() { std::thread::yield_now(); }"),
        ("src/machines/pfc/sender.rs", "use core::fmt; use std::time::SystemTime;"),
        ("src/plane/contracts/world.rs", "use std::thread;"),
        ("src/plane/switch/poll.rs", "#[cfg(not(test))] use std::thread::Thread;"),
        ("src/plane/switch/poll.rs", "type T<'a> = &'a std::time::Instant;"),
        ("src/plane/host/source.rs", "use std::{fmt, thread};"),
        ("src/plane/host/source.rs", "fn f() { let c = '\"'; rand::rng(); }"),
        ("src/sim/lib.rs", "use ::std::time::{self as t};"),
        ("src/real/runtime/lib.rs", "fn f() { dpdk_sys::rte_eal_cleanup(); }"),
        ("src/real/runtime/lib.rs", "fn f() { unsafe { g() } }"),
        ("src/labs/lab/mod.rs", "#[cfg(test)] mod tests { #![allow(unsafe_code)] }"),
    ];
    for (path, text) in cases {
        assert_eq!(planted(path, text).len(), 1, "{path}: {text}: {:?}", planted(path, text));
    }
    let found =
        planted("src/plane/host/source.rs", "\nuse std::{time::Instant, fmt::{Debug}, thread};");
    assert_eq!(
        found,
        ["std::time", "std::thread"].map(|p| format!("src/plane/host/source.rs:2: `{p}`"))
    );
}

#[test]
fn what_is_allowed_is_not_a_breach() {
    let cases = [
        (
            "src/real/dpdk/port.rs",
            "use dpdk_sys as sys; fn f() { unsafe { sys::rte_eal_cleanup() } }",
        ),
        ("src/plane/host/port.rs", "//! See std::time.\n/* std::thread /* unsafe */ dpdk_sys */"),
        ("src/plane/host/port.rs", r###"const TEXT: &str = r#"dpdk_sys " std::thread"#;"###),
        ("src/wire/lib.rs", "#[cfg(test)] mod tests { use std::time::Instant; fn f() {} }"),
        ("src/wire/lib.rs", "#[cfg(test)] use std::{fmt, thread}; pub(crate) fn f() {}"),
        ("src/wire/lib.rs", "use ground::time::Instant; use std::{fmt, sync::Arc};"),
        ("src/real/runtime/lib.rs", "use dpdk::Port; use std::thread;"),
        ("src/cli.rs", "use std::time::Instant;"),
    ];
    for (path, text) in cases {
        assert_eq!(planted(path, text), [] as [String; 0], "{path}: {text}");
    }
    let tests_apart = [
        ("src/plane/switch/port.rs", "#[cfg(test)]\nmod tests;"),
        ("src/plane/switch/port/tests.rs", "use std::thread;"),
        ("src/plane/switch/port/tests/more.rs", "use std::thread;"),
    ]
    .map(|(path, text)| Source { path: path.into(), text: text.into() });
    assert_eq!(violations(&tests_apart), [] as [String; 0]);
}
