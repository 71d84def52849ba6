//! Procedures on virtual devices of known capacity, on benches that misbehave, and files.

mod addresses;
mod arrivals;
mod bursts;
mod disturbed;
mod errors;
mod files;
mod incast;
mod lossless;
mod matrix;
mod metrics;
mod others;
mod reset;
mod resumed;
mod rfc2544;
mod rfc7640;
mod rfc8239;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use tester::report::Report;
use validate::bench::{Bench, Capability, TrialError};
use validate::observation::Observation;
use validate::trial::Trial;
use validate::virtual_bench::VirtualBench;

use crate::file;
use crate::plan::Plan;
use crate::testfolder;

fn configs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../configs").join(name)
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

/// A device of which another thing is seen and counted than it does.
struct Wrong {
    device: VirtualBench,
    seen: fn(&mut Observation),
    counted: fn(&Trial, &mut Report),
    /// True if the ports of the tester can send any frame.
    able: bool,
}

impl Wrong {
    fn counting(device: VirtualBench, counted: fn(&Trial, &mut Report)) -> Self {
        Self { device, seen: |_| {}, counted, able: true }
    }

    fn seeing(device: VirtualBench, seen: fn(&mut Observation)) -> Self {
        Self { device, seen, counted: |_, _| {}, able: true }
    }
}

impl Bench for Wrong {
    fn run(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        let mut seen = self.device.run(trial)?;
        (self.seen)(&mut seen);
        Ok(seen)
    }

    fn run_on_cable(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        self.device.run_on_cable(trial)
    }

    fn count(&mut self, trial: &Trial) -> Result<Report, TrialError> {
        let mut report = self.device.count(trial)?;
        (self.counted)(trial, &mut report);
        Ok(report)
    }

    fn has(&self, capability: Capability) -> bool {
        self.able && self.device.has(capability)
    }

    fn world(&self) -> &'static str {
        self.device.world()
    }
}
