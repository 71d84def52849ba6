//! Procedures on virtual devices of known capacity, on benches that misbehave, and files.

mod addresses;
mod bursts;
mod errors;
mod files;
mod incast;
mod metrics;
mod others;
mod reset;
mod resumed;
mod rfc2544;
mod rfc7640;
mod rfc8239;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use validate::virtual_bench::VirtualBench;

use crate::file;
use crate::plan::Plan;
use crate::testfolder;

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

/// Returns the plan of a benchmark file with these fields, for a DUT file of this text, and a bench on its
/// virtual device.
pub(crate) fn written(dut: &str, fields: &str) -> (Plan, VirtualBench) {
    // Tests run at the same time, each with its own files.
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = testfolder::Folder::new(&format!("benchmark-written-{n}"));
    let path = folder.at("b.yaml");
    std::fs::write(folder.at("dut.yaml"), dut).unwrap();
    std::fs::write(&path, format!("dut: dut.yaml\n{fields}")).unwrap();
    let (plan, dut, warnings) = file::load(&path).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(warnings, []);
    (plan, VirtualBench::new(dut.setup, dut.lab.expect("it is virtual")))
}
