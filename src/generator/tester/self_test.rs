//! Self-test: measures the floor of this machine. The generator sends to itself through memory,
//! where a frame takes no time, so the measured values are its own.
//!
//! A latency below [`SelfTest::floor_ns`] cannot be distinguished from none, and is not reported
//! as a number.

use std::thread;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use serde::Serialize;

use super::plan::{
    FlowKind, FlowPlan, LatencyMode, Location, Metrics, Obeys, Place, PortPlan, TestPlan,
};
use super::report::{Latency, Machine, Pacing};
use super::session::{Bench, SessionError};
use dpdk::{Eal, TscClock};
use ground::time::Duration;
use ground::units::{BitsPerSec, Mac, Priority, Quanta};
use ground::verdict::Verdict;
use host::plan::stream::{Limit, Pace, Path, Sizes, StreamPlan, TemplatePlan};
use host::probe::PROBE_ETHERTYPE;
use host::{FlowId, Rate};
use runtime::Cores;

/// The rate of the test's frames. A choice: a poll finds at most one of them, so that none waits
/// for another.
const FRAMES_PER_SECOND: u64 = 100_000;

/// Time in which the clock is measured.
const CLOCK_WATCHED: StdDuration = StdDuration::from_millis(200);

/// The preempted time in nanoseconds that explains a test without any sent frame: the time that
/// the first frame had.
const SPAN_MIN_NS: f64 = 1e9;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SelfTest {
    /// Latencies below this, in nanoseconds, cannot be distinguished from none: the 99th
    /// percentile of the measured latencies, and at least the resolution and the error of
    /// timestamps.
    pub floor_ns: f64,
    /// Measured latencies of frames that took no time.
    pub latency: Latency,
    /// The accuracy of pacing at 100,000 frames per second.
    pub pacing: Option<Pacing>,
    /// Frames sent and received.
    pub frames: (u64, u64),
    /// The rate of the clock in Hz.
    pub clock_hz: u64,
    /// The least difference between two readings of the clock, in nanoseconds.
    pub clock_step_ns: f64,
    /// The longest gap between two readings: the time that the machine takes from a polling
    /// thread.
    pub clock_gap_max_ns: f64,
    /// Deviation of its rate from that of the system clock, in parts per million.
    pub clock_drift_ppm: f64,
    /// Maximum error of a latency by the time of a poll, at both ends together.
    pub uncertainty_ns: f64,
    /// Maximum time without a poll before frames in memory are lost, in nanoseconds.
    pub ring_ns: f64,
    pub machine: Machine,
    /// Notes for the user.
    pub warnings: Vec<String>,
}

impl SelfTest {
    /// Returns a time in nanoseconds as it may be reported; `None` below the floor.
    pub fn resolved(&self, ns: f64) -> Option<f64> {
        (ns >= self.floor_ns).then_some(ns)
    }

    /// Returns the verdict on the instrument: PASS if no frame was lost in memory. Losses while
    /// the machine preempted the receiver say nothing about it.
    pub fn verdict(&self) -> Verdict {
        let held = self.frames.0 > 0 && self.frames.0 == self.frames.1;
        let nothing_sent = self.frames.0 == 0 && self.machine.preempted_ns >= SPAN_MIN_NS;
        Verdict::unless(held, self.machine.longest_gap_ns > self.ring_ns || nothing_sent)
    }
}

/// Runs the test for about `span`.
///
/// # Errors
/// A missing resource of the machine.
pub fn self_test(
    eal: &Eal,
    threads: Option<usize>,
    span: StdDuration,
) -> Result<SelfTest, SessionError> {
    let clock = TscClock::new().quality(CLOCK_WATCHED);
    let frames = (FRAMES_PER_SECOND as f64 * span.as_secs_f64()).max(1.0) as u64;
    // One thread per end; with a single one, every frame would seem to take no time.
    let threads = threads.unwrap_or_else(Cores::available);
    let mut bench = Bench::new(eal.clone(), Some(threads)).as_if_outside();
    let session = bench.set(plan(frames))?;
    session.start(&[FlowId(0)])?;
    let since = StdInstant::now();
    // A busy machine takes longer; a flow that never ends is a result as well.
    let patience = span * 10 + StdDuration::from_secs(10);
    let report = loop {
        thread::sleep(StdDuration::from_millis(20));
        let report = session.report()?;
        if report.flows[0].transmit == "stopped" || since.elapsed() > patience {
            break report;
        }
    };
    let flow = &report.flows[0];
    let latency = flow.latency.clone().unwrap_or_default();
    let ns = Duration::as_nanos_f64;
    let resolution = report.stamps.resolution_ns.max(ns(clock.step));
    Ok(SelfTest {
        floor_ns: latency.p99_ns.ns().max(resolution).max(report.stamps.uncertainty_ns),
        pacing: flow.pacing.clone(),
        frames: (flow.frames_tx, flow.frames_rx),
        clock_hz: clock.hz,
        clock_step_ns: ns(clock.step),
        clock_gap_max_ns: ns(clock.gap_max),
        clock_drift_ppm: clock.drift_ppm,
        uncertainty_ns: report.stamps.uncertainty_ns,
        ring_ns: report.ports[1].rx_room.unwrap_or(0) as f64 * 1e9 / FRAMES_PER_SECOND as f64,
        machine: report.machine.unwrap_or_default(),
        warnings: report.warnings.clone(),
        latency,
    })
}

/// Two ports back to back and one flow of the shortest frames.
fn plan(frames: u64) -> TestPlan {
    let port = |name: &str, end: u8| {
        let (text, pair) = (format!("ring:self.{name}"), "self".into());
        let place = Place::Ring { pair, end };
        PortPlan {
            name: name.into(),
            location: Location { text, place, pfc: None, queues: 1, sfc: None, capture_tx: false },
            rate: Some(BitsPerSec::gbps(10)),
            mtu: 1_500,
            obeys: Obeys::Nothing,
            pause_delay: Quanta(0),
            promiscuous: true,
            mac: Mac([2, 0, 0, 0, 0, end + 1]),
            interfaces: Vec::new(),
            capture: None,
            secy: None,
        }
    };
    // From port `a` to port `b`, by their addresses above.
    let mut headers = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    headers.extend(PROBE_ETHERTYPE.0.to_be_bytes());
    let probe_at = Some(headers.len() as u16);
    let stream = StreamPlan {
        id: FlowId(0),
        path: Path::Data(Priority::MIN),
        template: TemplatePlan { headers, probe_at, ..TemplatePlan::default() },
        recording: None,
        sizes: Sizes::Fixed(64),
        pace: Pace { rate: Rate::Frames(FRAMES_PER_SECOND), gap: 12, burst: None },
        limit: Limit { frames: Some(frames), time: None },
        delay: Duration::ZERO,
        seed: 0,
    };
    let latency = Some(LatencyMode::CutThrough);
    let flow = FlowPlan {
        name: "self".into(),
        id: FlowId(0),
        tx: 0,
        rx: vec![1],
        kind: FlowKind::Stream(Box::new(stream)),
        metrics: Metrics { enable: true, loss: true, timestamps: true, latency },
        resolve: Vec::new(),
    };
    TestPlan { ports: vec![port("a", 0), port("b", 1)], flows: vec![flow], run: 0 }
}
