//! Build script of the program: it keeps the program small.
//!
//! Schemas are included without their white space. The linker keeps functions of equal code once (`--icf=all`:
//! each crate that uses generic code has a copy) and packs relocations. Linkers and loaders of supported
//! machines differ, so each option is tried first: a program of one line that is linked with it has to run.

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Kinds of files that users write.
const SCHEMAS: [&str; 4] = ["switch", "lab", "dut", "benchmark"];

const OPTIONS: [&str; 2] = ["-Wl,--icf=all", "-Wl,-z,pack-relative-relocs"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=src/build.rs");
    let folder = env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    let folder = Path::new(&folder);
    for name in SCHEMAS {
        let path = format!("configs/schema/{name}.schema.json");
        println!("cargo::rerun-if-changed={path}");
        fs::write(folder.join(name).with_extension("json"), compact(&fs::read_to_string(path)?))?;
    }
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let is_native = env::var("HOST")? == env::var("TARGET")?;
    if !is("PROFILE", "release") || !is_native {
        return Ok(());
    }
    for option in OPTIONS {
        if links(folder, option)? {
            println!("cargo::rustc-link-arg-bins={option}");
        }
    }
    Ok(())
}

/// JSON without white space between its tokens.
fn compact(json: &str) -> String {
    let (mut is_text, mut is_escaped) = (false, false);
    let keeps = |c: &char| {
        let is_kept = is_text || !c.is_ascii_whitespace();
        is_text ^= *c == '"' && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        is_kept
    };
    json.chars().filter(keeps).collect()
}

/// True if a program that is linked with the option runs.
fn links(folder: &Path, option: &str) -> Result<bool, Box<dyn Error>> {
    let (source, program) = (folder.join("probe.rs"), folder.join("probe"));
    fs::write(&source, "fn main() {}")?;
    let mut compiler = Command::new(env::var_os("RUSTC").ok_or("cargo sets RUSTC")?);
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        compiler.arg("-C").arg(format!("linker={}", linker.to_string_lossy()));
    }
    if let Ok(flags) = env::var("CARGO_ENCODED_RUSTFLAGS") {
        compiler.args(flags.split('\u{1f}').filter(|flag| !flag.is_empty()));
    }
    let link = format!("link-arg={option}");
    compiler.args(["--crate-type", "bin", "-C", &link]).arg("-o").arg(&program).arg(&source);
    let quiet = |mut command: Command| {
        command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|s| s.success())
    };
    Ok(quiet(compiler) && quiet(Command::new(program)))
}
