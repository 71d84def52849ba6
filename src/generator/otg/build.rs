//! Makes what the OTG server needs of the messages in `proto`: descriptors, by which it reads and
//! writes gRPC, and the types of its model.
//!
//! The compiler is written in Rust, so no machine needs `protoc` to build this.

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;

#[path = "build/mod.rs"]
mod build;

const PROTO: &str = "proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={PROTO}");
    let mut compiler = protox::Compiler::new([PROTO])?;
    compiler.include_imports(true).open_file("otg.proto")?;
    let out = env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    let out = Path::new(&out);
    fs::write(out.join("otg.bin"), build::descriptors(&compiler))?;
    for (name, types) in build::model(&compiler.descriptor_pool())? {
        fs::write(out.join(name).with_extension("rs"), types)?;
    }
    Ok(())
}
