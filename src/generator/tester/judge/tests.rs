mod matrix;

use super::*;
use crate::plan::{FlowKind, Metrics, TestPlan};
use crate::report::{Pacing, Port, Priority as PauseCounters};
use ground::time::Duration;
use ground::units::Priority;
use ground::verdict::Verdict::{Fail, Inconclusive, NotJudged, Pass};
use host::FlowId;
use host::Rate;
use host::plan::stream::{Edit, Limit, Pace, Path, Sizes, StreamPlan, TemplatePlan, Values};

/// A flow of one frame per 10 ms at priority 3, from port 0 to port 1.
pub(crate) fn flow(name: &str, frames: Option<u64>, loss: bool) -> FlowPlan {
    let stream = StreamPlan {
        id: FlowId(0),
        path: Path::Data(Priority::ALL[3]),
        template: TemplatePlan::default(),
        recording: None,
        sizes: Sizes::Fixed(64),
        pace: Pace { rate: Rate::Frames(100), gap: 12, burst: None },
        limit: Limit { frames, time: None },
        delay: Duration::ZERO,
        seed: 0,
    };
    FlowPlan {
        name: name.into(),
        id: FlowId(0),
        tx: 0,
        rx: vec![1],
        kind: FlowKind::Stream(Box::new(stream)),
        metrics: Metrics { enable: true, loss, ..Metrics::default() },
        resolve: vec![],
    }
}

/// A run of a flow: the configuration and the counters.
#[derive(Clone)]
struct Case {
    asked: FlowPlan,
    elapsed_s: f64,
    flow: Flow,
    up: bool,
    paused_s: f64,
    to_the_end: bool,
    machine: Option<Machine>,
    /// Frames that the receiver's device missed, and that the sender's device dropped.
    devices: (Option<u64>, u64),
    why: Why,
}

impl Case {
    /// A continuous flow for 10 s, with 1,000 expected frames.
    fn new(sent: u64, received: u64) -> Self {
        let flow = Flow {
            name: "f".into(),
            port_tx: "a".into(),
            frames_tx: sent,
            bytes_tx: sent * 64,
            frames_rx: received,
            ..Flow::default()
        };
        let asked = self::flow("f", None, true);
        Self {
            asked,
            elapsed_s: 10.0,
            flow,
            up: true,
            paused_s: 0.0,
            to_the_end: false,
            machine: None,
            devices: (Some(0), 0),
            why: Why::Over,
        }
    }

    fn busy(mut self, preempted_s: f64, gap_s: f64) -> Self {
        let (preempted_ns, longest_gap_ns) = (preempted_s * 1e9, gap_s * 1e9);
        self.machine = Some(Machine { preempted_ns, longest_gap_ns, excluded: false });
        self
    }

    fn stream(mut self, change: impl FnOnce(&mut StreamPlan)) -> Self {
        if let FlowKind::Stream(stream) = &mut self.asked.kind {
            change(stream);
        }
        self
    }

    fn count(self, frames: u64) -> Self {
        self.stream(|stream| stream.limit.frames = Some(frames))
    }

    fn paused(self, paused_s: f64) -> Self {
        Self { paused_s, ..self }
    }

    fn findings(&self) -> Vec<Finding> {
        let port = |name: &str| {
            let mut priorities = vec![PauseCounters::default(); 8];
            priorities[3].paused_ns = self.paused_s * 1e9;
            priorities[3].paused = self.to_the_end;
            let speed_bps = 10_000_000_000;
            let link_up = self.up;
            let rx_room = Some(1_000);
            let (rx_missed, tx_dropped) = self.devices;
            Port {
                name: name.into(),
                link_up,
                speed_bps,
                rx_room,
                rx_missed,
                tx_dropped,
                priorities,
                ..Port::default()
            }
        };
        let report = Report {
            elapsed_s: Some(self.elapsed_s),
            ports: vec![port("a"), port("b")],
            flows: vec![self.flow.clone()],
            machine: self.machine,
            ..Report::default()
        };
        let plan = TestPlan { ports: vec![], flows: vec![self.asked.clone()], run: 0 };
        judge(&Course { plan: &plan, before: &report, report: &report, why: &self.why })
    }

    /// Returns the verdicts on sent and received frames.
    fn verdicts(&self) -> Vec<Verdict> {
        self.findings().iter().map(|finding| finding.verdict).collect()
    }
}

#[test]
fn a_flow_that_sent_its_rate_and_lost_nothing_passes_and_says_so() {
    let found = Case::new(1_000, 1_000).findings();
    let whats: Vec<_> = found.iter().map(|f| (f.verdict, f.what.as_str())).collect();
    let sent = "sent 1000 frames, 100.0 % of the frames of its rate";
    assert_eq!(whats, [(Pass, sent), (Pass, "received 1000 of 1000 frames")]);
    // The first frame is sent at once, so 16 are due in 150 ms, and the seventeenth is one too many.
    let share = |sent| {
        let case = Case { elapsed_s: 0.15, ..Case::new(sent, sent) };
        case.findings()[0].what.clone()
    };
    assert_eq!(share(16), "sent 16 frames, 100.0 % of the frames of its rate");
    assert_eq!(share(17), "sent 17 frames, 113.3 % of the frames of its rate");
    // Within the tolerance, and the first frame beyond it.
    assert_eq!(Case::new(978, 978).verdicts(), [Pass, Pass]);
    assert_eq!(Case::new(977, 977).verdicts(), [Fail, Pass]);
}

#[test]
fn a_flow_that_sent_nothing_fails_and_its_loss_is_not_judged() {
    assert_eq!(Case::new(0, 0).verdicts(), [Fail, NotJudged]);
    let slow = |case: Case| case.stream(|s| s.pace.rate = Rate::Frames(1));
    // One frame in 1.5 s is expected, so that sending none is beyond every tolerance.
    let none = Case { elapsed_s: 1.5, ..slow(Case::new(0, 0)) };
    assert_eq!(none.verdicts(), [Fail, NotJudged]);
    let early = Case { elapsed_s: 0.5, ..slow(Case::new(0, 0)) };
    assert_eq!(early.verdicts(), [NotJudged, NotJudged]);
    let down = Case { up: false, ..Case::new(500, 500) };
    assert_eq!(down.findings()[0].what, "the link of port a is down: sent 500 frames");
    assert_eq!(verdict(&down.findings()), Fail);
    let counted = Case { up: false, ..Case::new(0, 0).count(5) };
    assert_eq!(counted.verdicts()[0], Fail);
}

#[test]
fn a_starved_shortage_is_inconclusive_by_as_much_as_was_preempted() {
    // 300 frames are 3 s of the rate; 2 % are allowed.
    let short = || Case::new(700, 700);
    assert_eq!(short().verdicts()[0], Fail);
    assert_eq!(short().busy(1.0, 0.1).verdicts()[0], Fail, "1 s does not explain 3 s");
    assert_eq!(short().busy(3.0, 0.1).verdicts()[0], Inconclusive);
    let excluded = Machine { preempted_ns: 3e9, longest_gap_ns: 3e9, excluded: true };
    let stopped_clock = Case { machine: Some(excluded), ..short() };
    assert_eq!(stopped_clock.verdicts()[0], Fail, "time did not run meanwhile");
    assert_eq!(Case::new(0, 0).busy(10.0, 10.0).verdicts(), [Inconclusive, NotJudged]);
    // All was sent and received, so a busy machine does not matter.
    assert_eq!(Case::new(1_000, 1_000).busy(9.0, 1.0).verdicts(), [Pass, Pass]);
}

#[test]
fn loss_is_inconclusive_only_if_the_ring_could_not_bridge_the_gap() {
    // The ring holds 1,000 frames, which are 10 s at 100 per second.
    let lost = || Case::new(1_000, 999);
    assert_eq!(lost().verdicts(), [Pass, Fail]);
    assert_eq!(lost().busy(9.0, 9.9).verdicts(), [Pass, Fail]);
    let busy = lost().busy(10.1, 10.1);
    assert_eq!(busy.verdicts(), [Pass, Inconclusive]);
    let what = &busy.findings()[1].what;
    assert!(what.contains("1 lost; the machine was busy for 10100 ms"), "{what}");
    let mut twice = lost().busy(10.1, 10.1);
    twice.flow.duplicates = 1;
    assert_eq!(twice.verdicts(), [Pass, Fail], "no gap makes a duplicate");
}

#[test]
fn damaged_and_reordered_frames_fail_whatever_the_machine_did() {
    let mut damaged = Case::new(1_000, 990).busy(10.1, 10.1);
    damaged.devices = (None, 0);
    (damaged.flow.damaged, damaged.flow.damage) = (10, Some("byte 15 is 0xb8, not 0x00".into()));
    assert_eq!(damaged.verdicts(), [Pass, Fail]);
    let what = &damaged.findings()[1].what;
    let part = "10 lost, 10 arrived damaged (the first: byte 15 is 0xb8, not 0x00)";
    assert!(what.contains(part), "{what}");
    // Without `metrics.loss`, too.
    damaged.asked.metrics.loss = false;
    assert_eq!(damaged.verdicts(), [Pass, Fail]);

    let mut late = Case::new(1_000, 1_000).busy(10.1, 10.1);
    late.flow.reordered = 2;
    assert_eq!(late.verdicts(), [Pass, Fail]);
    let what = &late.findings()[1].what;
    assert!(what.ends_with("frames, 2 behind frames that were sent later"), "{what}");
    // A device may send the frames of several addresses over several paths.
    let edit = Edit { at: 26, skip: 0, bits: 32, values: Values::List(vec![1, 2]) };
    assert_eq!(late.stream(|stream| stream.template.edits.push(edit)).verdicts(), [Pass, Pass]);
}

#[test]
fn frames_that_the_testers_own_devices_lost_are_named_and_excuse_no_more_than_they_are() {
    let lost = |devices| Case { devices, ..Case::new(1_000, 990) };
    assert_eq!(lost((Some(0), 0)).verdicts(), [Pass, Fail]);
    for (devices, reason) in [
        ((Some(10), 0), "10 lost; the device of port b missed 10 frames"),
        ((Some(0), 10), "10 lost; 10 frames sent by port a were dropped by its device"),
        ((Some(4), 6), "6 frames sent by port a were dropped by its device; the device of port b"),
        ((None, 0), "10 lost; the device of port b does not count what it misses"),
    ] {
        let case = lost(devices);
        assert_eq!(case.verdicts(), [Pass, Inconclusive], "{devices:?}");
        let what = &case.findings()[1].what;
        assert!(what.contains(reason), "{what}");
    }
    // One more frame is missing than the devices lost: the network lost it.
    for devices in [(Some(9), 0), (Some(0), 9), (Some(4), 5)] {
        assert_eq!(lost(devices).verdicts(), [Pass, Fail], "{devices:?}");
    }
    let mut twice = lost((Some(10), 0));
    twice.flow.duplicates = 1;
    assert_eq!(twice.verdicts(), [Pass, Fail], "no device makes a duplicate");
    let other = Case { devices: (Some(5), 0), ..Case::new(1_000, 1_000) };
    assert_eq!(other.verdicts(), [Pass, Pass]);
    assert!(other.findings()[1].what.contains("missed 5 frames"), "of another flow, but told");
    let unknown = Case { devices: (None, 0), ..Case::new(1_000, 1_000) };
    assert_eq!(unknown.findings()[1].what, "received 1000 of 1000 frames");
}

#[test]
fn pauses_excuse_what_they_take_and_no_more() {
    // A storm for the whole run: no judgement is possible.
    let storm = Case::new(0, 0).paused(10.0);
    assert_eq!(storm.verdicts(), [NotJudged, NotJudged]);
    assert_eq!(
        storm.findings()[0].what.split("; ").nth(1),
        Some("priority 3 was paused for 10.000 of 10.000 s")
    );
    assert_eq!(verdict(&storm.findings()), NotJudged);
    assert_eq!(Case::new(500, 500).paused(5.0).verdicts(), [Pass, Pass], "in the other half");
    assert_eq!(Case::new(0, 0).paused(9.999).verdicts(), [NotJudged, NotJudged]);
    let stopped = Case { to_the_end: true, ..Case::new(500, 500).paused(5.0) };
    assert_eq!(stopped.verdicts(), [NotJudged, Pass]);
    assert_eq!(Case::new(400, 400).paused(5.0).verdicts(), [Fail, Pass]);
    assert_eq!(Case::new(5, 5).count(1_000).paused(9.96).verdicts(), [NotJudged, Pass]);
    assert_eq!(Case::new(5, 5).count(1_000).paused(5.0).verdicts(), [Fail, Pass]);
    let control = Case::new(400, 400).paused(5.0).stream(|s| s.path = Path::Control);
    assert_eq!(control.verdicts()[0], Fail, "no pause stops a pause");
}

#[test]
fn a_count_is_kept_to_the_frame_and_its_rate_too() {
    let done = |sent: u64| Case { why: Why::Done, ..Case::new(sent, sent).count(1_000) };
    assert_eq!(done(1_000).findings()[0].what, "sent 1000 of 1000 frames");
    assert_eq!(done(1_001).verdicts()[0], Fail);
    assert_eq!(done(900).verdicts()[0], Fail);
    // The run was ended at 10 s: the rate gives 1,000 of 5,000 frames.
    assert_eq!(Case::new(1_000, 1_000).count(5_000).verdicts(), [NotJudged, Pass]);
    assert_eq!(Case::new(500, 500).count(5_000).verdicts(), [Fail, Pass]);
    let paced = |sent_fps: f64, paused_s: f64| {
        let mut case = done(1_000).paused(paused_s);
        case.flow.pacing = Some(Pacing { sent_fps, ..Pacing::default() });
        case
    };
    assert_eq!(paced(99.5, 0.0).verdicts()[0], Pass);
    // 2 % of the time, and 10 ms.
    assert_eq!([98.0, 97.5].map(|fps| paced(fps, 0.0).verdicts()[0]), [Pass, Fail]);
    assert_eq!(paced(50.0, 0.0).verdicts()[0], Fail);
    assert_eq!(paced(50.0, 10.0).verdicts()[0], Pass, "all of its delay was pauses");
    assert_eq!(paced(50.0, 0.0).busy(10.0, 0.5).verdicts()[0], Inconclusive);
}

#[test]
fn bursts_and_delays_are_part_of_what_is_expected() {
    use host::plan::stream::Burst;
    let gap = Duration::from_millis(1_000);
    let burst = |s: &mut StreamPlan| s.pace.burst = Some(Burst { frames: 51, gap });
    // 50 intervals of 10 ms and a gap of 1 s: 51 frames in 1.5 s.
    assert_eq!(Case::new(340, 340).stream(burst).verdicts()[0], Pass);
    assert_eq!(Case::new(200, 200).stream(burst).verdicts()[0], Fail);
    let delayed = Case::new(500, 500).stream(|s| s.delay = Duration::from_secs(5));
    assert_eq!(delayed.verdicts()[0], Pass);
    // Pauses before it count for nothing.
    let what = delayed.paused(10.0).findings()[0].what.clone();
    assert!(what.ends_with("100.0 % of the frames of its rate"), "{what}");
    let none = Case::new(0, 0).stream(|s| s.delay = Duration::from_secs(5)).paused(10.0);
    let what = none.findings()[0].what.clone();
    assert!(what.ends_with("priority 3 was paused for 5.000 of 5.000 s"), "{what}");
    let timed = Case::new(200, 200).stream(|s| s.limit.time = Some(Duration::from_secs(2)));
    assert_eq!(timed.verdicts()[0], Pass);
}

#[test]
fn a_full_line_explains_what_it_cannot_carry() {
    let most = |s: &mut StreamPlan| s.pace.rate = Rate::LineShare(600_000);
    let mut case = Case::new(60_000_000, 60_000_000).stream(most);
    case.elapsed_s = 10.0;
    assert_eq!(case.verdicts()[0], Fail, "one flow of 60 % has the line to itself");
    let plan = TestPlan {
        run: 0,
        ports: vec![],
        flows: vec![case.asked.clone(), {
            let mut other = case.asked.clone();
            other.name = "g".into();
            other
        }],
    };
    let flows = ["f", "g"].map(|name| {
        // Half of 14,880,952 frames per second for 10 s.
        let frames_tx = 74_404_761;
        let (name, port_tx) = (name.into(), "a".into());
        Flow {
            name,
            port_tx,
            frames_tx,
            bytes_tx: frames_tx * 64,
            frames_rx: frames_tx,
            ..Flow::default()
        }
    });
    let judged = |frames_tx: u64| {
        let (speed_bps, bytes_tx) = (10_000_000_000, frames_tx * 64);
        let port = |name: &str| Port {
            name: name.into(),
            link_up: true,
            speed_bps,
            frames_tx,
            bytes_tx,
            ..Port::default()
        };
        let report = Report {
            elapsed_s: Some(10.0),
            ports: vec![port("a"), port("b")],
            flows: flows.to_vec(),
            ..Report::default()
        };
        let found =
            judge(&Course { plan: &plan, before: &report, report: &report, why: &Why::Over });
        found[0].verdict
    };
    assert_eq!(judged(148_809_523), NotJudged);
    assert_eq!(judged(100_000_000), Fail, "the line was not full");
}

#[test]
fn an_interrupted_or_starved_run_is_inconclusive_and_none_at_all_is_no_pass() {
    let why = Why::Disturbed("the machine was busy for 9000 ms".into());
    let starved = Case { why, ..Case::new(1_000, 1_000) };
    assert_eq!(starved.verdicts(), [Pass, Pass, Inconclusive]);
    assert_eq!(verdict(&starved.findings()), Inconclusive);
    let cut = Case { why: Why::Interrupted, ..Case::new(1_000, 1_000).count(2_000) };
    assert_eq!(verdict(&cut.findings()), Inconclusive);
    assert_eq!(verdict(&[]), NotJudged);
    let mut gone = Case::new(1, 1);
    gone.flow.name = "other".into();
    assert_eq!(gone.verdicts(), [Fail]);
}
