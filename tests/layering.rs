//! Checks the imports against the layers where the compiler does not. The compiler checks the
//! borders between crates: a `Cargo.toml` names the crates that one may use. This file has the
//! other rules: below the drivers no code names a clock, a thread or ambient randomness, DPDK is
//! named in one place, and the modules that still share the root crate keep to their layers.
//!
//! Test modules are exempt: a state machine's test may use its neighbour.

mod sources;
#[path = "sources/tokens.rs"]
mod tokens;

use sources::{Source, rust_files};
use tokens::{Token, tokens};

/// Folders of `src` that are crates, or contain crates, below the drivers.
const CRATES: &[&str] =
    &["ground", "wire", "machines", "contracts", "link", "host", "mesh", "switch", "sim"];
const NUMBERS: &[&str] = &["units", "time", "verdict", "printable"];
const MACHINES: &[&str] =
    &["buffer", "pfc", "schedule", "congestion", "headroom", "discovery", "secure"];
const CONTRACTS: &[&str] = &["frame", "memory", "port", "world", "stats"];
const LINK: &[&str] = &["link", "mesh"];
const DATA_PLANE: &[&str] = &["switch", "host"];
const OUTERMOST: &[&str] = &["lab", "config", "otg", "tester", "report", "cli", "main"];

/// Crates that the root's modules could name past the root, and not all of them may.
const UPPER: &[&str] = &["link", "mesh", "host", "switch", "sim"];

/// Paths, from the crate's root, that `module` may use besides its own; `None` if the module has no
/// place in the layers.
fn may_use(module: &str) -> Option<Vec<&'static str>> {
    let wire = &["wire"][..];
    let below: &[&[&str]] = match module {
        m if CRATES.contains(&m) => &[],
        "dpdk" => &[NUMBERS, wire, MACHINES, CONTRACTS],
        "runtime" => &[NUMBERS, wire, MACHINES, CONTRACTS, LINK, DATA_PLANE, &["dpdk"]],
        m if OUTERMOST.contains(&m) => &[
            NUMBERS,
            wire,
            MACHINES,
            CONTRACTS,
            LINK,
            DATA_PLANE,
            &["sim", "dpdk", "runtime"],
            OUTERMOST,
        ],
        _ => return None,
    };
    Some(below.concat())
}

/// True if `module` is part of the data plane or of its components, where time is an argument.
fn below_worlds(module: &str) -> bool {
    CRATES.contains(&module)
}

/// Paths that bring ambient time, threads or randomness.
const AMBIENT: &[&str] =
    &["std::time", "std::thread", "rand::rng", "rand::thread_rng", "rand::random", "rand::rngs"];

/// Every violation of the layers in these files, as `file:line: what`.
fn violations(files: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    let mut test_files = Vec::new();
    let mut read = Vec::new();
    for file in files {
        let (code, test_modules) = without_tests(&tokens(&file.text));
        let folder = file.path.trim_end_matches("/mod.rs").trim_end_matches("/lib.rs");
        let folder = folder.trim_end_matches(".rs");
        test_files.extend(test_modules.iter().map(|name| format!("{folder}/{name}")));
        read.push((file, code));
    }
    for (file, code) in read {
        let is_test = |test: &String| {
            file.path.strip_prefix(test.as_str()).is_some_and(|rest| rest.starts_with(['.', '/']))
        };
        let module = module_of(&file.path);
        let Some(top) = module.first().filter(|_| !test_files.iter().any(is_test)) else {
            continue;
        };
        let Some(allowed) = may_use(top) else {
            found.push(format!("{}:1: `{top}` has no place in the layers", file.path));
            continue;
        };
        for (path, line) in paths(&code, &module) {
            if let Some(what) = breach(top, &allowed, &path) {
                found.push(format!("{}:{line}: {what}", file.path));
            }
        }
    }
    found
}

/// Reason why `path`, which starts with its crate, may not be used.
fn breach(top: &str, allowed: &[&str], path: &[String]) -> Option<String> {
    let starts_with = |prefix: &str, path: &[String]| {
        prefix.split("::").zip(path).filter(|(a, b)| a == b).count() == prefix.split("::").count()
    };
    let rest = &path[1..];
    let broken = match path[0].as_str() {
        member if UPPER.contains(&member) => !CRATES.contains(&top) && !allowed.contains(&member),
        "crate" if CRATES.contains(&top) => false,
        "crate" => {
            rest.first().is_some_and(|first| first != top)
                && !allowed.iter().any(|prefix| starts_with(prefix, rest))
        }
        "dpdk_sys" => top != "dpdk",
        _ => below_worlds(top) && AMBIENT.iter().any(|prefix| starts_with(prefix, path)),
    };
    broken.then(|| format!("`{top}` must not use `{}`", path.join("::")))
}

/// `src/wire/pfc.rs` is `["wire", "pfc"]`; the crate's root is empty.
fn module_of(path: &str) -> Vec<String> {
    let inner = path.trim_start_matches("src/").trim_end_matches(".rs").trim_end_matches("/mod");
    inner.split('/').filter(|&part| part != "lib").map(String::from).collect()
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

/// The first words of paths that name their crate.
const HEADS: &[&str] = &["crate", "self", "super", "std", "core", "rand", "dpdk_sys"];

/// True if the `::` at this place goes on with a path, rather than to begin one.
fn is_path_end(code: &[Token], colons: usize) -> bool {
    colons > 0 && (code[colons - 1].is_word() && code[colons - 1].text != "use")
}

/// Every path that names its crate, with `self` and `super` resolved and `{}` spelled out.
fn paths(code: &[Token], file_module: &[String]) -> Vec<(Vec<String>, usize)> {
    let is = |at: usize, text: &str| code.get(at).is_some_and(|t| t.text == text);
    let mut found = Vec::new();
    let mut module = file_module.to_vec();
    let mut opened = Vec::new();
    let mut at = 0;
    while at < code.len() {
        let token = &code[at];
        match token.text.as_str() {
            "mod" if is(at + 2, "{") => {
                module.push(code[at + 1].text.clone());
                opened.push(true);
                at += 3;
                continue;
            }
            "{" => opened.push(false),
            "}" if opened.pop() == Some(true) => drop(module.pop()),
            word if (HEADS.contains(&word) || UPPER.contains(&word))
                && is(at + 1, "::")
                && (at == 0 || !is(at - 1, "::") || !is_path_end(code, at - 1)) =>
            {
                let mut spelled = Vec::new();
                let end = spell(code, at, Vec::new(), &mut spelled);
                found.extend(spelled.into_iter().map(|p| (resolve(&p, &module), token.line)));
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Expands the use tree at `at` into `found`, after `path`; returns the index of its end.
fn spell(code: &[Token], at: usize, path: Vec<String>, found: &mut Vec<Vec<String>>) -> usize {
    let text = |at: usize| code.get(at).map_or("", |t| t.text.as_str());
    let (mut at, mut path) = (at, path);
    loop {
        if text(at) == "{" {
            at += 1;
            while at < code.len() && text(at) != "}" {
                let next = spell(code, at, path.clone(), found);
                at = next.max(at + 1) + usize::from(text(next) == ",");
            }
            return at + 1;
        }
        if text(at) != "*" && !code.get(at).is_some_and(Token::is_word) {
            break;
        }
        path.push(text(at).into());
        at += 1;
        if text(at) != "::" {
            break;
        }
        at += 1;
    }
    found.push(path);
    if text(at) == "as" { at + 2 } else { at }
}

fn resolve(path: &[String], module: &[String]) -> Vec<String> {
    let ups = path.iter().filter(|part| *part == "super").count();
    let named = path.iter().filter(|part| !["crate", "self", "super"].contains(&part.as_str()));
    let base = match path[0].as_str() {
        "self" | "super" => &module[..module.len().saturating_sub(ups)],
        "crate" => &[],
        _ => return path.to_vec(),
    };
    ["crate".to_string()].iter().chain(base).chain(named).cloned().collect()
}

#[test]
fn imports_keep_to_the_layers() {
    let found = violations(&rust_files(&["src"]));
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn unsafe_code_is_in_dpdk_alone() {
    for file in rust_files(&["src"]).iter().filter(|file| !file.path.starts_with("src/dpdk/")) {
        for token in tokens(&file.text) {
            let unsafe_here = ["unsafe", "unsafe_code"].contains(&token.text.as_str());
            assert!(!unsafe_here, "{}:{}: {}", file.path, token.line, token.text);
        }
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
        ("src/contracts/world.rs", "use std::thread;"),
        ("src/switch/poll.rs", "#[cfg(not(test))] use std::thread::Thread;"),
        ("src/dpdk/port.rs", "\nuse crate::{units::Quanta, host::{Station}};"),
        ("src/dpdk/mod.rs", "fn f() { let _ = super::host::Station::new(); }"),
        ("src/dpdk/port.rs", "mod deep { use super::super::super::host::Station; }"),
        ("src/dpdk/port.rs", "use crate::runtime::{self as r};"),
        ("src/dpdk/port.rs", "use switch::Switch;"),
        ("src/dpdk/port.rs", "use ::host::Station;"),
        ("src/switch/poll.rs", "type T<'a> = &'a std::time::Instant;"),
        ("src/host/source.rs", "use std::{fmt, thread};"),
        ("src/host/source.rs", "fn f() { let c = '\"'; rand::rng(); }"),
        ("src/sim/lib.rs", "use std::time::Instant;"),
        ("src/dpdk/mod.rs", "use crate::switch::Switch;"),
        ("src/runtime/mod.rs", "use crate::sim::Clock;"),
        ("src/runtime/mod.rs", "fn f() { dpdk_sys::rte_eal_cleanup(); }"),
        ("src/novel.rs", ""),
    ];
    for (path, text) in cases {
        assert_eq!(planted(path, text).len(), 1, "{path}: {text}: {:?}", planted(path, text));
    }
    let found = planted("src/dpdk/port.rs", "\nuse crate::{units::Quanta, host::{Station}};");
    assert_eq!(planted("src/dpdk/port.rs", "use crate::host::{Group, Station};").len(), 2);
    assert!(found.iter().all(|f| f.starts_with("src/dpdk/port.rs:2: ")), "{found:?}");
}

#[test]
fn what_is_allowed_is_not_a_breach() {
    let cases = [
        ("src/dpdk/port.rs", "use crate::time::Instant; use crate::wire::pfc as format;"),
        ("src/dpdk/port.rs", "//! See crate::sim::Switch.\n/* crate::host /* crate::cli */ */"),
        ("src/dpdk/port.rs", r###"const TEXT: &str = r#"crate::host " std::thread"#;"###),
        ("src/dpdk/port.rs", "#[cfg(test)]\nmod tests { use crate::host::Station; fn f() {} }"),
        ("src/dpdk/port.rs", "#[cfg(test)] use crate::{buffer::Ledger}; pub(crate) fn f() {}"),
        ("src/runtime/mod.rs", "use crate::{dpdk::Port, switch::Switch}; use std::thread;"),
        ("src/runtime/mod.rs", "use switch::Switch; fn f() { let x = a::sim::b(); }"),
        ("src/cli/mod.rs", "use crate::{config::Plan, runtime, sim};"),
        ("src/lib.rs", "pub use crate::switch::Switch;"),
        ("src/wire/pfc.rs", "use crate::pause::Repr; use ground::units::Quanta;"),
        ("src/wire/lib.rs", "#[cfg(test)] mod tests { use std::time::Instant; }"),
    ];
    for (path, text) in cases {
        assert_eq!(planted(path, text), [] as [String; 0], "{path}: {text}");
    }
    let tests_apart = [
        ("src/dpdk/port.rs", "#[cfg(test)]\nmod tests;"),
        ("src/dpdk/port/tests.rs", "use crate::host::Station;"),
        ("src/dpdk/port/tests/more.rs", "use crate::host::Station;"),
    ]
    .map(|(path, text)| Source { path: path.into(), text: text.into() });
    assert_eq!(violations(&tests_apart), [] as [String; 0]);
}
