//! Every wrong behaviour of a flow, by everything that happens in the same run: what explains nothing leaves the FAIL,
//! and nothing makes it a PASS.

use super::*;
use crate::report::Connection;
use ground::time::Instant;
use ground::units::{Dscp, Mac};
use host::{Message, Recording, RocePlan, Transport, TransportPlan};
use wire::ip::Ecn;
use wire::roce::U24;

/// A run of three ports. Flow `f` is the one that is judged, from `a` to `b`.
#[derive(Clone)]
struct Run {
    plan: TestPlan,
    report: Report,
    why: Why,
}

impl Run {
    /// Returns a run of 10 s in which a flow does all that it was to do.
    fn new(asked: FlowPlan, why: Why) -> Self {
        let Case { flow, .. } = Case::new(1_000, 1_000);
        let port = |name: &str| Port {
            name: name.into(),
            link_up: true,
            speed_bps: 10_000_000_000,
            rx_room: Some(1_000),
            rx_missed: Some(0),
            priorities: vec![PauseCounters::default(); 8],
            ..Port::default()
        };
        let ports = ["a", "b", "c"].map(port).into();
        let report =
            Report { elapsed_s: Some(10.0), ports, flows: vec![flow], ..Report::default() };
        Self { plan: TestPlan { ports: vec![], flows: vec![asked], run: 0 }, report, why }
    }

    fn flow(&mut self) -> &mut Flow {
        &mut self.report.flows[0]
    }

    /// Returns the verdicts on the flow and on the run, without those on other flows.
    fn verdicts(&self) -> Vec<Verdict> {
        let Self { plan, report, why } = self;
        let mut findings = judge(&Course { plan, before: report, report, why });
        findings.retain(|finding| finding.flow != "other");
        findings.into_iter().map(|finding| finding.verdict).collect()
    }
}

/// A flow with a rate and without an end.
fn endless() -> Run {
    Run::new(flow("f", None, true), Why::Over)
}

/// A flow of 1,000 frames.
fn counted() -> Run {
    let mut run = Run::new(flow("f", Some(1_000), true), Why::Done);
    run.flow().pacing = Some(Pacing { sent_fps: 100.0, ..Pacing::default() });
    run
}

/// A connection of ten messages.
fn connection() -> Run {
    let plan = TransportPlan {
        id: FlowId(0),
        src: Mac([2, 0, 0, 0, 0, 1]),
        dst: Mac([2, 0, 0, 0, 0, 2]),
        src_ip: [10, 0, 0, 1].into(),
        dst_ip: [10, 0, 0, 2].into(),
        tag: None,
        priority: Priority::ALL[3],
        dscp: Dscp::new(26).unwrap(),
        ecn: Ecn::Ect0,
        size: 1_000,
        rate: None,
        start: Instant::ZERO,
        stop: Instant::NEVER,
        message: Some(Message { bytes: 1_000, count: 10, every: Duration::ZERO }),
        work: host::Work::default(),
        kind: Transport::Roce(RocePlan::new(U24::default(), U24::default())),
    };
    let asked = FlowPlan { kind: FlowKind::Roce(Box::new(plan)), ..flow("f", None, true) };
    let mut run = Run::new(asked, Why::Done);
    run.flow().connection = Some(Connection {
        src_qp: 0,
        dst_qp: 0,
        src_ip: [10, 0, 0, 1].into(),
        dst_ip: [10, 0, 0, 2].into(),
        retransmitted: 0,
        timeouts: 0,
        out_of_order: 0,
        messages_tx: 10,
        messages_rx: 10,
        completion_ns: None,
        acks_tx: 10,
        acks_rx: 10,
        naks_tx: 0,
        naks_rx: 0,
        cnps_tx: 0,
        cnps_rx: 0,
        rate_bps: 0,
    });
    run
}

/// A recording of 1,000 frames with times of its own.
fn recording() -> Run {
    let mut run = counted();
    let FlowKind::Stream(stream) = &mut run.plan.flows[0].kind else { unreachable!() };
    let frame = (Instant::ZERO, vec![0; 60], 60);
    stream.recording = Some(Recording::new([frame], true).unwrap());
    run
}

/// What may explain a wrong behaviour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Frames that were not sent.
    Short,
    /// Frames that did not arrive.
    Lost,
    /// Nothing: frames arrive otherwise than they were sent, or more of them are sent.
    Wrong,
}

type Change = fn(&mut Run);

/// A flow, a name for what is wrong with it, how that is judged, and the change that makes it so.
type Bug = (fn() -> Run, &'static str, Kind, Change);

fn sends(run: &mut Run, frames: u64) {
    let flow = run.flow();
    (flow.frames_tx, flow.bytes_tx, flow.frames_rx) = (frames, frames * 64, frames);
}

const BUGS: [Bug; 21] = [
    (endless, "nothing is sent", Kind::Short, |run| sends(run, 0)),
    (endless, "half of the rate is sent", Kind::Short, |run| sends(run, 500)),
    (endless, "a frame is lost", Kind::Lost, |run| run.flow().frames_rx = 999),
    (endless, "all frames are lost", Kind::Lost, |run| run.flow().frames_rx = 0),
    (endless, "a receiver of two gets nothing", Kind::Lost, |run| run.plan.flows[0].rx.push(1)),
    (endless, "a frame arrives twice", Kind::Wrong, |run| run.flow().duplicates = 1),
    (endless, "a frame too many arrives", Kind::Wrong, |run| run.flow().frames_rx = 1_001),
    (endless, "a frame is damaged", Kind::Wrong, |run| run.flow().damaged = 1),
    (endless, "a frame is damaged, and loss is not measured", Kind::Wrong, |run| {
        run.flow().damaged = 1;
        run.plan.flows[0].metrics.loss = false;
    }),
    (endless, "a frame is late", Kind::Wrong, |run| run.flow().reordered = 1),
    (endless, "the flow is not in the report", Kind::Wrong, |run| run.flow().name = "g".into()),
    (counted, "a frame of the count is not sent", Kind::Short, |run| sends(run, 900)),
    (counted, "more than the count is sent", Kind::Wrong, |run| sends(run, 1_001)),
    (counted, "the count takes twice its time", Kind::Short, |run| {
        run.flow().pacing = Some(Pacing { sent_fps: 50.0, ..Pacing::default() });
    }),
    (counted, "a frame of the count is lost", Kind::Lost, |run| run.flow().frames_rx = 999),
    (endless, "the link of the receiver is down", Kind::Wrong, |run| {
        run.report.ports[1].link_up = false;
    }),
    (recording, "a frame of a recording is not sent", Kind::Short, |run| sends(run, 999)),
    (recording, "a recording is not sent", Kind::Wrong, |run| sends(run, 0)),
    (connection, "a connection without an end sends nothing", Kind::Short, |run| {
        let FlowKind::Roce(plan) = &mut run.plan.flows[0].kind else { unreachable!() };
        plan.message.as_mut().unwrap().count = u64::MAX;
        sends(run, 0);
    }),
    (connection, "a message is not completed", Kind::Short, |run| {
        run.flow().connection.as_mut().unwrap().messages_tx = 9;
    }),
    (connection, "a connection sends nothing", Kind::Short, |run| {
        run.flow().connection.as_mut().unwrap().messages_tx = 0;
        sends(run, 0);
    }),
];

fn pauses(run: &mut Run, port: usize, priority: usize, seconds: f64) {
    let of = &mut run.report.ports[port].priorities[priority];
    (of.paused_ns, of.paused) = (seconds * 1e9, seconds >= 10.0);
}

fn busy(run: &mut Run, seconds: f64, excluded: bool) {
    let ns = seconds * 1e9;
    run.report.machine = Some(Machine { preempted_ns: ns, longest_gap_ns: ns, excluded });
}

/// Adds another flow.
fn beside(run: &mut Run, change: fn(&mut FlowPlan, &mut Flow)) {
    let mut asked = FlowPlan { tx: 2, rx: vec![2], ..flow("other", None, true) };
    let (name, port_tx) = ("other".into(), "c".into());
    let mut flow = Flow { name, port_tx, frames_tx: 1_000, bytes_tx: 64_000, ..Flow::default() };
    flow.frames_rx = 1_000;
    change(&mut asked, &mut flow);
    run.plan.flows.push(asked);
    run.report.flows.push(flow);
}

/// What else happens in a run, and the kinds of behaviour that it may explain.
const CONDITIONS: [(&str, &[Kind], Change); 27] = [
    ("nothing", &[], |_| ()),
    ("another priority is paused", &[], |run| pauses(run, 0, 4, 10.0)),
    ("the receiver's port is paused", &[], |run| pauses(run, 1, 3, 10.0)),
    ("a third port is paused", &[], |run| pauses(run, 2, 3, 10.0)),
    ("a pause is shorter than the shortage", &[], |run| pauses(run, 0, 3, 0.5)),
    ("messages pause a third port", &[], |run| run.report.ports[2].sfcm_paused_ns = Some(1e10)),
    ("the link of a third port is down", &[], |run| run.report.ports[2].link_up = false),
    ("the device of a third port misses frames", &[], |run| {
        let port = &mut run.report.ports[2];
        (port.rx_missed, port.tx_dropped) = (Some(5_000), 5_000);
    }),
    ("the devices miss frames of the other direction", &[], |run| {
        run.report.ports[0].rx_missed = Some(5_000);
        run.report.ports[1].tx_dropped = 5_000;
    }),
    ("the device of a third port counts nothing", &[], |run| run.report.ports[2].rx_missed = None),
    ("the machine is busy, and time is excluded", &[], |run| busy(run, 60.0, true)),
    ("the machine is busy for less than is missing", &[], |run| busy(run, 0.05, false)),
    ("another flow is well", &[], |run| beside(run, |_, _| ())),
    ("another flow loses frames", &[], |run| beside(run, |_, flow| flow.frames_rx = 0)),
    ("another flow fills the ring of a third port", &[], |run| {
        beside(run, |asked, _| {
            let FlowKind::Stream(stream) = &mut asked.kind else { return };
            stream.pace.rate = Rate::LineShare(1_000_000);
        });
        busy(run, 0.05, false);
    }),
    ("the line of a third port is oversubscribed", &[], |run| {
        for _ in 0..2 {
            beside(run, |asked, _| {
                let FlowKind::Stream(stream) = &mut asked.kind else { return };
                stream.pace.rate = Rate::LineShare(600_000);
            });
        }
        let port = &mut run.report.ports[2];
        (port.frames_tx, port.bytes_tx) = (148_809_523, 148_809_523 * 64);
    }),
    ("the line of the sender is full of frames that no flow has", &[], |run| {
        let port = &mut run.report.ports[0];
        (port.frames_tx, port.bytes_tx) = (148_809_523, 148_809_523 * 64);
    }),
    ("the link of the sender is down", &[Kind::Short], |run| run.report.ports[0].link_up = false),
    ("the priority is paused all the time", &[Kind::Short], |run| pauses(run, 0, 3, 10.0)),
    ("messages pause the sender all the time", &[Kind::Short], |run| {
        run.report.ports[0].sfcm_paused_ns = Some(1e10);
    }),
    ("the machine is busy all the time", &[Kind::Short, Kind::Lost], |run| busy(run, 60.0, false)),
    ("the device of the receiver misses frames", &[Kind::Lost], |run| {
        run.report.ports[1].rx_missed = Some(5_000);
    }),
    ("the device of the receiver counts nothing", &[Kind::Lost], |run| {
        run.report.ports[1].rx_missed = None;
    }),
    ("the device of the sender drops frames", &[Kind::Lost], |run| {
        run.report.ports[0].tx_dropped = 5_000;
    }),
    ("the run is interrupted", &[Kind::Short], |run| run.why = Why::Interrupted),
    ("the duration is over", &[Kind::Short], |run| run.why = Why::Over),
    ("the runner fails", &[], |run| run.why = Why::Disturbed("a reason".into())),
];

/// Cells in which nothing is wrong with the flow.
const WITHOUT: [[&str; 3]; 3] = [
    [
        "the count takes twice its time",
        "the priority is paused all the time",
        "its pauses took the time",
    ],
    [
        "the count takes twice its time",
        "messages pause the sender all the time",
        "its pauses took the time",
    ],
    ["the count takes twice its time", "the link of the sender is down", "all of it left before"],
];

#[test]
fn nothing_makes_a_wrong_flow_pass_and_what_explains_nothing_leaves_the_failure() {
    let (mut cells, mut wrong) = (0, Vec::new());
    for (run, bug, kind, plant) in BUGS {
        for (condition, explains, happens) in CONDITIONS {
            if WITHOUT.iter().any(|[b, c, _]| (*b, *c) == (bug, condition)) {
                continue;
            }
            let mut run = run();
            happens(&mut run);
            plant(&mut run);
            let found = Verdict::of_all(run.verdicts());
            let allowed = found == Fail || explains.contains(&kind) && found != Pass;
            cells += 1;
            wrong.extend((!allowed).then(|| format!("{bug}, {condition}: {found}")));
        }
    }
    assert!(wrong.is_empty(), "{} of {cells} cells are wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(cells >= 400, "{cells}");
}

#[test]
fn a_good_flow_fails_in_no_run() {
    for run in [endless, counted, connection, recording] {
        for (condition, _, happens) in CONDITIONS {
            let mut run = run();
            happens(&mut run);
            let verdicts = run.verdicts();
            // At its end a flow without a count needs its link.
            let is_down = condition == "the link of the sender is down"
                && (run.why == Why::Over || run.flow().connection.is_some());
            assert!(is_down || !verdicts.contains(&Fail), "{condition}: {verdicts:?}");
        }
    }
}

/// Messages do not say which of the flows they pause, nor whether they do so at the end.
#[test]
fn time_for_which_messages_paused_flows_is_not_judged() {
    let mut run = endless();
    sends(&mut run, 500);
    run.report.ports[0].sfcm_paused_ns = Some(5e9);
    assert_eq!(run.verdicts(), [NotJudged, Pass]);
}

/// The ring of one receiver holds the frames of ten seconds, that of the other one those of a thousand.
#[test]
fn the_receiver_whose_ring_is_full_first_may_have_lost_a_frame() {
    let mut run = endless();
    run.plan.flows[0].rx.push(2);
    run.report.ports[2].rx_room = Some(100_000);
    run.flow().frames_rx = 1_999;
    assert_eq!(run.verdicts(), [Pass, Fail]);
    busy(&mut run, 20.0, false);
    assert_eq!(run.verdicts(), [Pass, Inconclusive]);
}
