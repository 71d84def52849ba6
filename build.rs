//! Names the build: the version, and the commit of its sources. Results of two programs that may differ
//! must have two names, so sources that were changed, or are in no repository, add their digest.

use std::collections::hash_map::DefaultHasher;
use std::env;
use std::fs;
use std::hash::Hasher;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files and folders from which the program is made.
const SOURCES: [&str; 4] = ["src", "dpdk-sys", "Cargo.toml", "Cargo.lock"];

fn main() -> io::Result<()> {
    let sources = SOURCES.into_iter().filter(|name| Path::new(name).exists());
    let sources: Vec<&str> = sources.collect();
    sources.iter().for_each(|name| println!("cargo::rerun-if-changed={name}"));
    // A commit changes the name without changing a source.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        if Path::new(&log).exists() {
            println!("cargo::rerun-if-changed={log}");
        }
    }
    let about = |arguments: &[&str]| git(&[arguments, &["--"], &sources[..]].concat());
    let commit = about(&["log", "-1", "--format=g%h", "--abbrev=12"]);
    let is_clean = about(&["status", "--porcelain"]).is_some_and(|changed| changed.is_empty());
    let digest = match is_clean {
        true => None,
        false => Some(digest(&sources)?),
    };
    let names: Vec<String> = commit.into_iter().chain(digest).filter(|n| !n.is_empty()).collect();
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    println!("cargo::rustc-env=SLUICE_VERSION={version}+{}", names.join("."));
    Ok(())
}

/// Returns what git says; `None` without git or a repository.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Returns a digest of the names and contents of all sources.
fn digest(sources: &[&str]) -> io::Result<String> {
    let mut files = Vec::new();
    sources.iter().try_for_each(|name| list(Path::new(name), &mut files))?;
    files.sort();
    let mut hasher = DefaultHasher::new();
    for file in files {
        hasher.write(file.as_os_str().as_encoded_bytes());
        hasher.write(&fs::read(&file)?);
    }
    Ok(format!("d{:016x}", hasher.finish()))
}

fn list(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    fs::read_dir(path)?.try_for_each(|entry| list(&entry?.path(), files))
}
