//! A test on real ports, started and polled as by a client of the API.

use std::thread;
use std::time::Duration as StdDuration;

use serde_json::{Value, json};

use super::drive::Runner;
use super::engine::{TesterEngine, TesterOptions};
use super::location::Access;
use super::otg_file::TestFile;
use super::report::Report;
use dpdk::EalOptions;
use ground::time::Duration;
use otg::engine::{Engine, Refusal, RefusalKind};

/// Period of the polls. A choice: people perceive it as immediate.
const STEP: Duration = Duration::from_millis(100);

/// A test on real ports.
pub struct RealTest {
    engine: TesterEngine,
    /// True if any port captures.
    captures: bool,
}

impl RealTest {
    /// Opens the ports of a test.
    ///
    /// # Errors
    /// A port that cannot be opened.
    pub fn new(test: &TestFile, eal: EalOptions) -> Result<Self, Refusal> {
        let (replays, access) = (test.replays.clone(), Access::Operator);
        let options = TesterOptions { eal, access, replays, ..TesterOptions::default() };
        let engine = TesterEngine::new(options);
        let config = serde_json::to_value(&test.config);
        let config = config.map_err(|error| Refusal::internal(error.to_string()))?;
        // Warnings about the file were printed before; those about ports are in the report.
        engine.set_config(&config)?;
        let captures = test.plan.ports.iter().any(|port| port.capture.is_some());
        Ok(Self { engine, captures })
    }

    /// Returns the file of a port's capture.
    ///
    /// # Errors
    /// The port has none.
    pub fn capture(&self, port: &str) -> Result<Vec<u8>, Refusal> {
        self.engine.capture(&json!({ "port_name": port }))
    }

    fn tell(&self, state: &Value) -> Result<(), Refusal> {
        self.engine.control_state(state).map(|_| ())
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
    type Error = Refusal;

    fn start(&mut self) -> Result<(), Refusal> {
        // Captures first, so that they have the first frame.
        if self.captures {
            self.tell(&capturing("start"))?;
        }
        self.tell(&transmit("start"))
    }

    fn stop(&mut self) -> Result<(), Refusal> {
        self.tell(&transmit("stop"))
    }

    fn advance(&mut self, span: Duration) -> Result<(), Refusal> {
        thread::sleep(StdDuration::from_nanos(span.as_nanos()));
        Ok(())
    }

    fn report(&mut self, whole: bool) -> Result<Report, Refusal> {
        if whole {
            return self.engine.whole_report();
        }
        self.engine.report().map(|report| (*report).clone())
    }

    fn step(&self) -> Duration {
        STEP
    }

    fn disturbance(refusal: &Refusal) -> Option<String> {
        (refusal.kind == RefusalKind::Starved).then(|| refusal.to_string())
    }
}
