//! Test plans made by hand, as a resolved OTG configuration would have them.
#![allow(dead_code, reason = "each test uses some of it")]

use std::thread;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use sluice::host::plan::stream::{
    Checksum, Covered, LengthField, Limit, Pace, Path, Payload, Sizes, StreamPlan, TemplatePlan,
};
use sluice::host::{FlowId, Rate};
use sluice::tester::plan::{
    FlowKind, FlowPlan, LatencyMode, Location, Metrics, Obeys, Place, PortPlan, TestPlan,
};
use sluice::tester::report::{Flow, Priority as PriorityReport, Report};
use sluice::tester::session::Session;
use sluice::time::Duration;
use sluice::units::{BitsPerSec, Mac, Priority, PrioritySet, Quanta};

/// A port at a place.
pub fn port(name: &str, place: Place, rate: BitsPerSec) -> PortPlan {
    let text = format!("{place:?}");
    let location = Location { text, place, pfc: None, queues: 1, sfc: None, capture_tx: false };
    PortPlan {
        name: name.into(),
        location,
        rate: Some(rate),
        mtu: 1_500,
        obeys: Obeys::Pfc(PrioritySet::ALL),
        pause_delay: Quanta(0),
        promiscuous: true,
        mac: Mac([2, 0, 0, 0, 0xff, name.as_bytes()[0]]),
        interfaces: Vec::new(),
        capture: None,
        secy: None,
    }
}

/// An end of a pair in memory.
pub fn ring(pair: &str, end: u8) -> Place {
    Place::Ring { pair: pair.into(), end }
}

/// Ports `a` and `b` back to back, and flows between them.
pub fn loopback(rate: BitsPerSec, flows: Vec<FlowPlan>) -> TestPlan {
    let ports = vec![port("a", ring("loop", 0), rate), port("b", ring("loop", 1), rate)];
    TestPlan { ports, flows, run: 0 }
}

/// Frames of Ethernet, IPv4 and UDP with a probe, of one priority.
pub fn udp(id: u32, (tx, rx): (usize, usize), priority: u8, size: u32, rate: Rate) -> FlowPlan {
    let mut headers = vec![2, 0, 0, 0, 0, rx as u8 + 1, 2, 0, 0, 0, 0, tx as u8 + 1, 0x08, 0x00];
    headers.extend([0x45, priority << 5, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0]);
    headers.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    headers.extend([0x40, id as u8, 0x50, 0x00, 0, 26, 0, 0]);
    let template = TemplatePlan {
        headers,
        payload: Payload::Zero,
        edits: Vec::new(),
        lengths: vec![LengthField { at: 16, from: 14 }, LengthField { at: 38, from: 34 }],
        checksums: vec![
            Checksum { at: 24, over: Covered::Header(14, 34), bad: false },
            Checksum {
                at: 40,
                over: Covered::Payload4 { ip: 14, from: 34, udp: true },
                bad: false,
            },
        ],
        probe_at: Some(42),
        run: 0,
    };
    let path = Path::Data(Priority::new(priority).expect("0 to 7"));
    flow(id, (tx, rx), template, path, size, rate)
}

/// PFC frames that pause one priority for `quanta`; 0 resumes.
pub fn pfc(id: u32, (tx, rx): (usize, usize), priority: u8, quanta: u16, rate: Rate) -> FlowPlan {
    let mut headers = vec![0x01, 0x80, 0xc2, 0, 0, 0x01, 2, 0, 0, 0, 0, 9, 0x88, 0x08, 0x01, 0x01];
    headers.extend([0, 1 << priority]);
    for class in 0..8 {
        headers.extend(if class == priority { quanta } else { 0 }.to_be_bytes());
    }
    let template = TemplatePlan { headers, ..TemplatePlan::default() };
    let mut flow = flow(id, (tx, rx), template, Path::Control, 64, rate);
    flow.metrics = Metrics::default();
    flow
}

fn flow(
    id: u32,
    (tx, rx): (usize, usize),
    template: TemplatePlan,
    path: Path,
    size: u32,
    rate: Rate,
) -> FlowPlan {
    let id = FlowId(id);
    let stream = StreamPlan {
        id,
        path,
        template,
        recording: None,
        sizes: Sizes::Fixed(size),
        pace: Pace { rate, gap: 12, burst: None },
        limit: Limit::default(),
        delay: Duration::ZERO,
        seed: 1,
    };
    let metrics = Metrics {
        enable: true,
        loss: true,
        timestamps: true,
        latency: Some(LatencyMode::CutThrough),
    };
    FlowPlan {
        name: format!("f{}", id.0),
        id,
        tx,
        rx: vec![rx],
        kind: FlowKind::Stream(Box::new(stream)),
        metrics,
        resolve: Vec::new(),
    }
}

/// Limits a flow to this number of frames.
pub fn of_frames(mut flow: FlowPlan, frames: u64) -> FlowPlan {
    let FlowKind::Stream(stream) = &mut flow.kind else { panic!("a stream") };
    stream.limit.frames = Some(frames);
    flow
}

/// All flows of a test.
pub fn all(plan: &TestPlan) -> Vec<FlowId> {
    plan.flows.iter().map(|flow| flow.id).collect()
}

/// Waits until a report satisfies `is`.
pub fn wait(session: &Session, what: &str, is: impl Fn(&Report) -> bool) -> Report {
    let since = StdInstant::now();
    loop {
        let report = session.report().expect("the test runs");
        if is(&report) {
            return report;
        }
        assert!(since.elapsed() < StdDuration::from_secs(60), "not {what}: {report:#?}");
        thread::sleep(StdDuration::from_millis(10));
    }
}

/// Waits until all flows have stopped.
pub fn wait_stopped(session: &Session) -> Report {
    wait(session, "stopped", |report| report.flows.iter().all(|f| f.transmit == "stopped"))
}

/// Frames received of each flow after some time of sending.
pub fn received(report: &Report) -> Vec<u64> {
    report.flows.iter().map(|flow: &Flow| flow.frames_rx).collect()
}

/// Counters of a priority at a port.
pub fn priority<'a>(report: &'a Report, port: &str, priority: usize) -> &'a PriorityReport {
    let port = report.ports.iter().find(|p| p.name == port).expect("a port of the test");
    &port.priorities[priority]
}
