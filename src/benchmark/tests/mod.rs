//! Procedures on virtual devices of known capacity, on benches that misbehave, and files.

mod addresses;
mod errors;
mod files;
mod incast;
mod metrics;
mod others;
mod reset;
mod resumed;
mod rfc2544;
mod rfc7640;

use std::path::{Path, PathBuf};

use validate::virtual_bench::VirtualBench;

use crate::file;
use crate::plan::Plan;

fn configs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs").join(name)
}

/// Returns the plan of a benchmark file of the repository, and a bench on its virtual device.
pub(crate) fn example(name: &str) -> (Plan, VirtualBench) {
    let (plan, dut, warnings) = file::load(&configs(name)).unwrap();
    assert_eq!(warnings, []);
    let lab = dut.lab.expect("it is virtual");
    (plan, VirtualBench::new(dut.setup, lab).resetting(dut.resets))
}
