//! V-R16: a link that fails in a storm.

use core::ops::Range;

use super::stop;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, FlowId, Limit, LinkChange, Port, Rate, Trial};
use ground::time::Duration;
use ground::units::{Mac, Priority, PrioritySet, Quanta};

pub const TEST: Test = Test {
    id: "V-R16",
    aliases: &["L11"],
    title: "a link that fails in a storm sends again after it",
    purpose: "A port whose link fails while a priority is paused sends it again when the link is \
              back and the storm is over: no queue stays stuck.",
    clause: "802.1Q 36.1.2",
    topology: Topology::T2,
    procedure: "A flow on each priority from A to B, together half of the line. B pauses one \
                lossless priority without a gap. The link of B goes down and comes back; B \
                pauses again, and stops.",
    pass: "The second storm is obeyed. Half of the hold time after the last pause all flows have their \
           rates within 2 %, and lose nothing from then on. The number of frames lost before is \
           reported.",
    uncertainty: "Time stamps of the tester.",
    source: "sonic-mgmt L11",
    level: Level::Full,
    run,
    line: line!(),
};

/// Load of all priorities together, as a share of the line: held frames leave soon.
const SHARE: f64 = 0.5;

/// Reason why frames that a port held may be lost.
const OPEN: &str = "802.1Q 6.5.2 allows frames to be lost where a link fails";

/// Times of the trial.
struct Steps {
    down: Duration,
    up: Duration,
    /// Start of the second storm.
    again: Duration,
    /// End of the last pause.
    over: Duration,
    /// Span in which the rates are judged.
    judged: Range<Duration>,
}

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    cx.lossless()?;
    let steps = steps(cx);
    for priority in cx.each_lossless() {
        let (trial, priorities) = trial(cx, (a, b), priority, &steps);
        let baseline = cx.setup.times.baseline;
        // A DUT may flood while it does not know the address of B.
        let seen = cx.observe(&trial)?.only(&[a, b]);
        cx.at_rest(&seen, &trial, &(baseline.div(4)..baseline))?;
        for (n, of) in priorities.iter().enumerate() {
            let flow = FlowId(n);
            cx.rate(&seen, &trial, flow, &steps.judged);
            let late = seen.lost_in(flow, &(steps.judged.start..Duration::MAX));
            let what = format!("frames of priority {of} lost after the storm");
            cx.count(what, late, Limits::exactly(0.0));
            if *of == priority {
                let before = seen.lost_in(flow, &(Duration::ZERO..steps.judged.start)) as f64;
                let what = format!("frames of priority {of} lost while the link was down");
                cx.policy(what, before, "frames", OPEN);
            }
        }
        let held = stop::held_since(cx, &seen, b, steps.again)?;
        let flow = priorities.iter().position(|p| *p == priority);
        let flow = FlowId(flow.expect("a lossless priority is one of all"));
        stop::none_began(cx, &seen, (flow, priority), &held);
    }
    Ok(())
}

fn steps(cx: &Context<'_>) -> Steps {
    let times = cx.setup.times;
    let window = Quanta::MAX.at(cx.setup.rate);
    let down = times.baseline + window;
    let up = down + times.hold.div(2);
    let again = up + times.settle;
    let over = again + window.saturating_mul(2);
    let from = over + times.hold.div(2);
    Steps { down, up, again, over, judged: from..from + times.hold.div(2) }
}

fn trial(
    cx: &Context<'_>,
    (a, b): (Port, Port),
    priority: Priority,
    steps: &Steps,
) -> (Trial, Vec<Priority>) {
    let traffic = steps.judged.end + cx.setup.times.settle;
    let name = format!("link failure in a storm for {priority}");
    let mut trial = Trial::new(name, traffic + cx.setup.times.drain);
    let priorities: Vec<Priority> = cx.priorities().iter().collect();
    let share = Rate::Line(SHARE / priorities.len() as f64);
    for priority in &priorities {
        trial.flow(Flow::new((a, b), *priority, Limit::Time(traffic)).rate(share));
    }
    let from = (b, cx.port(b).mac, cx.setup.rate);
    let set = PrioritySet::of(priority);
    // Its last pause outlasts the failure of the link.
    let before = (cx.setup.times.baseline, steps.down + Quanta::MAX.at(cx.setup.rate).div(4));
    trial.storm(from, set, before);
    trial.storm(from, set, (steps.again, steps.over));
    trial.links.push(LinkChange { port: b, at: steps.down, up: false });
    trial.links.push(LinkChange { port: b, at: steps.up, up: true });
    trial.frame(b, hello(cx.port(b).mac), steps.up + cx.setup.times.settle.div(2));
    (trial, priorities)
}

/// Returns a broadcast frame by which the DUT learns an address again.
pub(super) fn hello(src: Mac) -> Vec<u8> {
    let mut octets = vec![0; 60];
    octets[..6].copy_from_slice(&Mac::BROADCAST.0);
    octets[6..12].copy_from_slice(&src.0);
    // The EtherType for local experiments (802 9.2.4).
    octets[12..14].copy_from_slice(&[0x88, 0xb5]);
    octets
}
