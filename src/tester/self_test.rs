//! What this machine can measure at all: the generator sends to itself through memory, where a
//! frame takes no time, and what it measures then is its own.
//!
//! A latency below the [`SelfTest::floor_ns`] cannot be told from none, and is not reported as a
//! number.

use std::thread;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use serde::Serialize;

use super::plan::{
    FlowKind, FlowPlan, LatencyMode, Location, Metrics, Obeys, Place, PortPlan, TestPlan,
};
use super::report::{Latency, Machine, Pacing};
use super::session::{Bench, SessionError};
use crate::dpdk::{Eal, TscClock};
use crate::host::plan::stream::{Limit, Pace, Path, Sizes, StreamPlan, TemplatePlan};
use crate::host::probe::PROBE_ETHERTYPE;
use crate::host::{FlowId, Rate};
use crate::runtime::Cores;
use crate::time::Duration;
use crate::units::{BitsPerSec, Mac, Priority, Quanta};
use crate::verdict::Verdict;

/// The pace of the test's frames, per second. A choice: a poll finds no more than one of them, so
/// that none waits for another.
const FRAMES_PER_SECOND: u64 = 100_000;

/// How long the clock is watched.
const CLOCK_WATCHED: StdDuration = StdDuration::from_millis(200);

/// The preempted time that explains that not one frame was sent, in nanoseconds: the time that the
/// first had to leave.
const SPAN_MIN_NS: f64 = 1e9;

/// What came of it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SelfTest {
    /// Latencies below this cannot be told from none, in nanoseconds: 99 of 100 frames that took no
    /// time seemed to take no longer, and stamps are not further off.
    pub floor_ns: f64,
    /// What frames that took no time seemed to take.
    pub latency: Latency,
    /// How well the pace of 100,000 frames per second was kept.
    pub pacing: Option<Pacing>,
    /// Frames sent and received.
    pub frames: (u64, u64),
    /// The rate of the clock, in Hz.
    pub clock_hz: u64,
    /// The smallest step between two readings of it, in nanoseconds.
    pub clock_step_ns: f64,
    /// The longest gap between two readings: what the machine takes away from a thread that polls.
    pub clock_gap_max_ns: f64,
    /// By how much its rate was off that of the system's clock, in parts per million.
    pub clock_drift_ppm: f64,
    /// How far a stamp may be off, at both ends together, by the time of a poll.
    pub uncertainty_ns: f64,
    /// For how long no thread need poll before frames in memory are lost, in nanoseconds.
    pub ring_ns: f64,
    /// The disturbance by the machine.
    pub machine: Machine,
    /// What should be known.
    pub warnings: Vec<String>,
}

impl SelfTest {
    /// A time as it may be reported, in nanoseconds: nothing if it is below the floor.
    #[must_use]
    pub fn resolved(&self, ns: f64) -> Option<f64> {
        (ns >= self.floor_ns).then_some(ns)
    }

    /// The verdict on the instrument: nothing was lost on the way through memory. What was lost while
    /// the machine did not let the receiver poll says nothing about it.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let held = self.frames.0 > 0 && self.frames.0 == self.frames.1;
        let nothing_sent = self.frames.0 == 0 && self.machine.preempted_ns >= SPAN_MIN_NS;
        Verdict::unless(held, self.machine.longest_gap_ns > self.ring_ns || nothing_sent)
    }
}

/// Runs the test for about this long.
///
/// # Errors
/// What the machine lacks.
pub fn self_test(
    eal: &Eal,
    threads: Option<usize>,
    span: StdDuration,
) -> Result<SelfTest, SessionError> {
    let clock = TscClock::new().quality(CLOCK_WATCHED);
    let frames = (FRAMES_PER_SECOND as f64 * span.as_secs_f64()).max(1.0) as u64;
    // A thread for each end, or no frame would ever be seen to take any time.
    let threads = threads.unwrap_or_else(Cores::available);
    let mut bench = Bench::new(eal.clone(), Some(threads)).as_if_outside();
    let session = bench.set(plan(frames))?;
    session.start(&[FlowId(0)])?;
    let since = StdInstant::now();
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
    let ns = |d: Duration| d.as_picos() as f64 / 1e3;
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
            location: Location { text, place, pfc: None, queues: 1, capture_tx: false },
            rate: Some(BitsPerSec::gbps(10)),
            mtu: 1_500,
            obeys: Obeys::Nothing,
            pause_delay: Quanta(0),
            promiscuous: true,
            mac: Mac([2, 0, 0, 0, 0, end + 1]),
            interfaces: Vec::new(),
            capture: None,
        }
    };
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
