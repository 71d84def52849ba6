//! A test on real ports, started and polled as by a client of the API.

use std::path::Path;
use std::thread;
use std::time::Duration as StdDuration;

use anyhow::Result;
use serde_json::{Value, json};

use super::files::{capture_file, put};
use crate::cli::machine::MachineArgs;
use crate::cli::{bad_input, inconclusive};
use crate::dpdk::{EalOptions, own_prefix};
use crate::time::Duration;
use otg::engine::{Engine, Refusal, RefusalKind};
use tester::access::Access;
use tester::drive::Runner;
use tester::engine::{TesterEngine, TesterOptions};
use tester::otg_file::TestFile;
use tester::plan::TestPlan;
use tester::report::Report;

/// Period of the polls. A choice: people perceive it as immediate.
const STEP: Duration = Duration::from_millis(100);

/// A test on real ports.
pub(super) struct RealTest {
    engine: TesterEngine,
    /// True if any port captures.
    captures: bool,
}

impl RealTest {
    /// Opens the ports of a test.
    ///
    /// # Errors
    /// A port that cannot be opened.
    pub(super) fn new(test: &TestFile, machine: MachineArgs) -> Result<Self> {
        let replays = test.replays.clone();
        let access = Access::Operator;
        let eal = eal_options(machine);
        let options = TesterOptions { eal, access, replays, ..TesterOptions::default() };
        let engine = TesterEngine::new(options);
        // Warnings about the file were printed before; those about ports are in the report.
        engine.set_config(&serde_json::to_value(&test.config)?).map_err(whose)?;
        let captures = test.plan.ports.iter().any(|port| port.capture.is_some());
        Ok(Self { engine, captures })
    }

    /// Writes the capture of each port.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(super) fn captures(&self, plan: &TestPlan, folder: &Path) -> Result<()> {
        for port in &plan.ports {
            let Some(capture) = &port.capture else { continue };
            let bytes = self.engine.capture(&json!({ "port_name": port.name })).map_err(whose)?.0;
            put("--captures", &capture_file(folder, &port.name, capture.format), &bytes)?;
        }
        Ok(())
    }

    fn tell(&self, state: &Value) -> Result<(), Refused> {
        self.engine.control_state(state).map(|_| ()).map_err(Refused)
    }
}

/// Settings of EAL, with a runtime directory for this process, because several generators may run
/// on a machine.
pub(super) fn eal_options(machine: MachineArgs) -> EalOptions {
    let file_prefix = own_prefix("sluice-gen");
    EalOptions { file_prefix, memory: machine.memory(), ..EalOptions::default() }
}

/// An error of the engine.
pub(super) struct Refused(Refusal);

impl From<Refused> for anyhow::Error {
    fn from(refused: Refused) -> Self {
        whose(refused.0)
    }
}

/// Classifies an engine's error as bad input or as a fault of the machine.
pub(super) fn whose(refusal: Refusal) -> anyhow::Error {
    match refusal.kind {
        RefusalKind::Validation => bad_input(refusal),
        RefusalKind::Starved => inconclusive(refusal),
        RefusalKind::Internal => refusal.into(),
    }
}

fn capturing(state: &str) -> Value {
    json!({"choice": "port", "port": {"choice": "capture", "capture": {"state": state}}})
}

fn transmit(state: &str) -> Value {
    json!({
        "choice": "traffic",
        "traffic": {"choice": "flow_transmit", "flow_transmit": {"state": state}},
    })
}

impl Runner for RealTest {
    type Error = Refused;

    fn start(&mut self) -> Result<(), Refused> {
        if self.captures {
            self.tell(&capturing("start"))?;
        }
        self.tell(&transmit("start"))
    }

    fn stop(&mut self) -> Result<(), Refused> {
        self.tell(&transmit("stop"))
    }

    fn advance(&mut self, span: Duration) -> Result<(), Refused> {
        thread::sleep(StdDuration::from_nanos(span.as_nanos()));
        Ok(())
    }

    fn report(&mut self, whole: bool) -> Result<Report, Refused> {
        if whole {
            return self.engine.whole_report().map_err(Refused);
        }
        self.engine.report().map(|report| (*report).clone()).map_err(Refused)
    }

    fn step(&self) -> Duration {
        STEP
    }

    fn disturbance(refused: &Refused) -> Option<String> {
        (refused.0.kind == RefusalKind::Starved).then(|| refused.0.to_string())
    }
}
