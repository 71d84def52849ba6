//! The way to QEMU outside of the guest: results go there, and cables are unplugged there.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};

use anyhow::{Context, Result, ensure};

/// The serial line between the guest and the program that started it.
const LINE: &str = "/dev/ttyS1";

fn open() -> Result<File> {
    OpenOptions::new().read(true).write(true).open(LINE).context(LINE)
}

/// Reports a line.
pub fn report(text: &str) -> Result<()> {
    Ok(open()?.write_all(format!("{text}\n").as_bytes())?)
}

/// Sets the carrier of an end of a pair (`a` or `b`), as if its cable were unplugged.
pub fn set_carrier(model: &str, end: char, up: bool) -> Result<()> {
    let mut line = open()?;
    let state = if up { "on" } else { "off" };
    line.write_all(format!("carrier {model}-{end} {state}\n").as_bytes())?;
    let mut answer = String::new();
    BufReader::new(line).read_line(&mut answer)?;
    ensure!(answer.trim() == "done", "the carrier of {model}-{end} was not set: {answer:?}");
    Ok(())
}
