//! Makes descriptors of the messages in `src/otg/proto`, by which the OTG server reads and writes gRPC.
//!
//! The compiler is written in Rust, so no machine needs `protoc` to build this.

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;

use prost::Message;

const PROTO: &str = "proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={PROTO}");
    let descriptors = protox::compile(["otg.proto"], [PROTO])?;
    let out = env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    fs::write(Path::new(&out).join("otg.bin"), descriptors.encode_to_vec())?;
    Ok(())
}
