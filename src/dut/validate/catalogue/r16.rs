//! V-R16: a link that fails in a storm.

use core::ops::Range;

use super::stop;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::{Record, Way};
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, FlowId, Limit, LinkChange, Port, Rate, Trial};
use ground::time::Duration;
use ground::units::{Mac, Priority, PrioritySet, Quanta};
use std::collections::HashSet;

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
                pauses again, and stops. Then the link fails for an eighth of the longest pause, soon after a \
                single one. At last B pauses the priority until the device pauses A, whose link fails four \
                times for a sixteenth of the longest pause.",
    pass: "The second storm is obeyed. Half of the hold time after the last pause all flows have their \
           rates within {rate}, and lose nothing from then on. The number of frames lost before is \
           reported. The single pause ends with the link, and A, which has forgotten the device's pause, is \
           paused again before a frame is lost. A link that comes back later than that is not judged in the \
           last two parts.",
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
                cx.policy(what, before, "", OPEN);
            }
        }
        let held = stop::held_since(cx, &seen, b, steps.again)?;
        let flow = priorities.iter().position(|p| *p == priority);
        let flow = FlowId(flow.expect("a lossless priority is one of all"));
        stop::none_began(cx, &seen, (flow, priority), &held);
        forgotten(cx, (a, b), priority)?;
        paused_again(cx, (a, b), priority)?;
    }
    Ok(())
}

/// Reason why a link says nothing.
const LATE: &str = "no frame of another priority passes the link in time after it came back";

/// Returns the first of these times behind the last gap of at least `least`: a link has failed in the gap. The
/// tester may take it down and up later than the trial says.
fn back(times: &[Duration], least: Duration) -> Option<Duration> {
    let pairs = times.windows(2).rev();
    let mut gaps = pairs.filter(|pair| pair[1].saturating_sub(pair[0]) >= least);
    gaps.next().map(|pair| pair[1])
}

/// Judges that a pause ends with the link.
fn forgotten(
    cx: &mut Context<'_>,
    (a, b): (Port, Port),
    priority: Priority,
) -> Result<(), Trouble> {
    let what =
        format!("frames of priority {priority} after the link, before the end of an old pause");
    let Some(other) = cx.priorities().iter().find(|other| *other != priority) else {
        cx.skip(what, "lossy: it is empty, so another priority is missing");
        return Ok(());
    };
    let (window, start) = (Quanta::MAX.at(cx.setup.rate), cx.setup.times.baseline);
    let (down, up) = (start + window.div(8), start + window.div(4));
    let traffic = start + window.saturating_mul(2);
    let name = format!("link failure in a pause of {priority}");
    let mut trial = Trial::new(name, traffic + cx.setup.times.drain);
    for priority in [priority, other] {
        let flow = Flow::new((a, b), priority, Limit::Time(traffic));
        trial.flow(flow.rate(Rate::Line(SHARE / 2.0)));
    }
    let mac = cx.port(b).mac;
    trial.pfc(b, mac, &[(priority, Quanta::MAX)], start);
    trial.links.push(LinkChange { port: b, at: down, up: false });
    trial.links.push(LinkChange { port: b, at: up, up: true });
    trial.frame(b, hello(mac), up + window.div(32));
    let seen = cx.observe(&trial)?.only(&[a, b]);
    cx.at_rest(&seen, &trial, &(start.div(4)..start))?;
    let end = stop::held(cx, &seen, b)?.end;
    let times: Vec<_> = seen.of(FlowId(1), Way::Received).map(|r| r.begin).collect();
    let back = back(&times, window.div(16)).filter(|back| *back > up);
    let span = back.map(|back| back + window.div(16) + seen.uncertainty);
    let until = end.saturating_sub(window.div(16) + seen.uncertainty);
    match span.filter(|from| *from < until) {
        Some(from) => {
            let count = seen.began_in(FlowId(0), &(from..until));
            cx.count(what, count, Limits::at_least(1.0));
        }
        None => cx.skip(what, LATE),
    }
    Ok(())
}

/// Judges that a sender is paused again after its link failed, which has ended its pause.
fn paused_again(
    cx: &mut Context<'_>,
    (a, b): (Port, Port),
    priority: Priority,
) -> Result<(), Trouble> {
    let what = format!("frames of priority {priority} lost after the link of a paused sender");
    let (window, start) = (Quanta::MAX.at(cx.setup.rate), cx.setup.times.baseline);
    let hold = window.saturating_mul(2).min(cx.setup.storm_max());
    let step = hold.div(5);
    let lasts = window.div(16).min(step.div(4));
    let traffic = start + hold;
    let name = format!("link failure of a sender that is paused for {priority}");
    let mut trial = Trial::new(name, traffic + cx.setup.times.drain);
    let other = cx.lossy()?;
    for (priority, share) in [(priority, 0.9), (other, 0.05)] {
        let flow = Flow::new((a, b), priority, Limit::Time(traffic));
        trial.flow(flow.rate(Rate::Line(share)));
    }
    stop::add(cx, &mut trial, (b, PrioritySet::of(priority)), (start, hold));
    let down = |n: u64| start + step.saturating_mul(n) + step.div(3 + n);
    for at in (1..=4).map(down) {
        trial.links.push(LinkChange { port: a, at, up: false });
        trial.links.push(LinkChange { port: a, at: at + lasts, up: true });
    }
    let seen = cx.observe(&trial)?.only(&[a, b]);
    cx.at_rest(&seen, &trial, &(start.div(4)..start))?;
    if cx.first_stop(&seen, a, priority).is_none_or(|at| at > down(1)) {
        cx.skip(what, "the device does not fill up and pause A before its link fails");
        return Ok(());
    }
    let (mut lost, mut judged) = (0, 0);
    let arrived = seen.of(FlowId(1), Way::Received).filter_map(|r| r.what.sequence());
    let arrived: HashSet<u64> = arrived.collect();
    let is_through = |r: &&Record| r.what.sequence().is_some_and(|n| arrived.contains(&n));
    for n in 1..=4 {
        let (from, next) = (down(n), if n < 4 { down(n + 1) } else { traffic });
        // From before the link fails to the last frame before it fails again.
        let before = from.saturating_sub(step.div(4));
        let sent = seen.of(FlowId(1), Way::Sent).filter(|r| r.begin > before && r.end < next);
        let times: Vec<_> = sent.filter(is_through).map(|r| r.end).collect();
        let last = times.last().copied().unwrap_or_default();
        let Some(back) = back(&times, lasts.div(2)).filter(|back| *back > from) else { continue };
        judged += 1;
        lost += seen.lost_in(FlowId(0), &(back..last));
    }
    match judged {
        0 => cx.skip(what, LATE),
        _ => cx.count(what, lost, Limits::exactly(0.0)),
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
