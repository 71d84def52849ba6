//! Build script of the program: options that make the linker's output smaller, where the linker knows them.
//!
//! Functions with equal code are kept once (`--icf=all`: generic code is instantiated in each crate that
//! uses it), and relocations are packed. Each option is tried with a program of one line first, which has to
//! run, as linkers and loaders of supported machines differ.

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const OPTIONS: [&str; 2] = ["-Wl,--icf=all", "-Wl,-z,pack-relative-relocs"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=src/link_flags.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    let is_native = env::var("HOST")? == env::var("TARGET")?;
    if !is("PROFILE", "release") || !is_native {
        return Ok(());
    }
    let folder = env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    for option in OPTIONS {
        if links(Path::new(&folder), option)? {
            println!("cargo::rustc-link-arg-bins={option}");
        }
    }
    Ok(())
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
