//! Traffic in storms and after them: pauses that are refreshed, that take a part of the time, that come at
//! random, and a link that fails meanwhile.

use super::storm;
use crate::bench::TrialError;
use crate::judge::Limits;
use crate::observation::{Record, Way};
use crate::setup::Marking;
use crate::test::{Context, Test};
use crate::trial::{Control, Flow, FlowId, Limit, LinkChange, Port, Rate, Trial, pfc_frame};
use core::ops::Range;
use ground::rand::Rng;
use ground::time::Duration;
use ground::units::{Priority, PrioritySet, Quanta};
use std::collections::HashSet;
use wire::vlan::TAG_LEN;

pub(super) const REFRESHED: Test = describe! {
    id: "V-R08",
    title: "refreshed pauses keep a priority stopped",
    purpose: "A pause that is renewed before it is over leaves no gap in which a frame is sent.",
    clause: "802.3 31B.3.2, 802.1Q 36.1.3.2",
    procedure: "As V-R01, for six times as long, with the pauses renewed after a half and after \
                nine tenths of their time.",
    pass: "As V-R01.",
    source: "sonic-mgmt L01, long",
    run: refreshed,
    aliases: &["L01"],
};

/// Times after which a pause is renewed, in tenths of its length.
const TENTHS: [u64; 2] = [5, 9];

/// Part of a pause, as one of so many, that a tester whose pauses are late may be off by.
const SPARE: u64 = 50;

fn refreshed(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    cx.lossless()?;
    let hold = refreshed_hold(cx)?;
    let window = Quanta::MAX.at(cx.setup.rate);
    for priority in cx.each_lossless() {
        for tenths in TENTHS {
            let set = PrioritySet::of(priority);
            let name = format!("priority {priority} renewed after 0.{tenths} of its time");
            let mut storm = storm::traffic(cx, (a, b), name, storm::SIZE, hold);
            let octets = pfc_frame(cx.port(b).mac, &[(priority, Quanta::MAX)]);
            let every = window.saturating_mul(tenths).div(10);
            let from = storm.rest.end;
            storm.trial.repeat(b, window, octets, every, (from, from + hold));
            let observed = cx.observe(&storm.trial)?;
            let sent: Vec<Duration> =
                observed.control_sent(b).map(|(record, _)| record.end).collect();
            // For a gap of the tester the device is not to blame.
            check_gaps(&storm.trial, &sent, window)?;
            storm::judge(cx, &storm, &observed, b, set)?;
        }
    }
    Ok(())
}

/// Returns the length of the storm. A watchdog of the DUT would end it.
fn refreshed_hold(cx: &Context<'_>) -> Result<Duration, TrialError> {
    let hold = cx.setup.times.hold.saturating_mul(cx.by_level(2, 6));
    let Some(watchdog) = cx.setup.expected.watchdog else { return Ok(hold) };
    // Well below the detection time, after which the watchdog would drop the frames.
    let hold = hold.min(watchdog.detection.saturating_mul(3).div(4));
    if hold < Quanta::MAX.at(cx.setup.rate).saturating_mul(2) {
        let what = "expected.watchdog: it ends a storm before its first pause would be over; switch \
                    it off";
        return Err(TrialError::Missing(what.to_owned()));
    }
    Ok(hold)
}

/// Checks that the tester renewed each pause in time.
fn check_gaps(trial: &Trial, sent: &[Duration], window: Duration) -> Result<(), TrialError> {
    // From one pause to the next: the last one ends the storm by its own time.
    let gaps = sent.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    let largest = gaps.max().unwrap_or_default();
    if largest > window.saturating_sub(window.div(SPARE)) {
        let what = format!(
            "{}: the tester sent nothing for {} ns, and a pause lasts {} ns",
            trial.name,
            largest.as_nanos(),
            window.as_nanos()
        );
        return Err(TrialError::Disturbed(what));
    }
    Ok(())
}

pub(super) const PARTIAL: Test = describe! {
    id: "V-R13",
    title: "partial pausing leaves the rest of the rate",
    purpose: "A priority that is paused for a part of the time has the rest of the line, and \
              loses nothing.",
    clause: "802.1Q 36.1.2",
    procedure: "A flow on one lossless priority at line rate from A to B. B pauses it \
                periodically for 10, 25, 50, 75 and 90 % of the time. The tester obeys.",
    pass: "Over whole periods the priority has the rest of the line within {rate} of the line. No \
           frame is lost.",
    source: "sonic-mgmt throttling storms",
    run: partial,
};

fn partial(cx: &mut Context<'_>) -> Result<(), TrialError> {
    cx.lossless()?;
    for priority in cx.each_lossless() {
        for duty in storm::DUTIES {
            judge_duty(cx, priority, duty)?;
        }
    }
    Ok(())
}

fn judge_duty(cx: &mut Context<'_>, priority: Priority, duty: u64) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    let times = cx.setup.times;
    let every = Quanta(1).at(cx.setup.rate).saturating_mul(storm::period(cx));
    let what = format!("rate of priority {priority}, paused for {duty} %, of the line");
    // A pause begins within a frame, so in each period up to that much more is sent.
    let more = cx.setup.line_time(storm::SIZE);
    let more = more.as_secs_f64() / every.as_secs_f64() * 100.0;
    if more > cx.setup.limits.rate * 100.0 {
        let why = "`expected.watchdog` takes pauses for storms that are long against a frame; give it longer times, \
                   or switch it off";
        cx.skip(what, why);
        return Ok(());
    }
    let fits = times.hold.as_picos() / every.as_picos().max(1);
    let periods = fits.clamp(2, cx.by_level(4, 1000));
    let start = times.baseline;
    let traffic = start + every.saturating_mul(periods) + cx.setup.stop_limit();
    let mut trial = Trial::new(format!("paused for {duty} %"), traffic + times.drain);
    let flow = trial.flow(Flow::new((a, b), priority, Limit::Time(traffic)));
    let octets =
        pfc_frame(cx.port(b).mac, &[(priority, Quanta((storm::period(cx) * duty / 100) as u16))]);
    trial.control.push(Control { port: b, octets, start, every, frames: periods as u32 });
    let observed = cx.observe(&trial)?;
    cx.at_rest(&observed, &trial, &(start.div(4)..start))?;
    let sent: Vec<_> = observed.control_sent(b).map(|(record, _)| record.end).collect();
    let (Some(first), Some(last)) = (sent.first(), sent.last()) else {
        return Err(TrialError::Error("the tester sent no pause".into()));
    };
    // Whole periods, so that each has its part of paused time.
    let span = *first..*last + every;
    let value = cx.rate_of(&observed, &trial, flow, &span);
    let wanted = (100 - duty) as f64;
    let limits = Limits::around(wanted, cx.setup.limits.rate * 100.0);
    // A frame at each end of the span.
    let off = cx.setup.line_time(storm::SIZE) + observed.uncertainty.saturating_mul(2);
    let u = off.as_secs_f64() / span.end.saturating_sub(span.start).as_secs_f64() * 100.0;
    cx.judge(what, value, limits, u + more, "%");
    let lost = observed.tally(flow).lost();
    cx.count(format!("lost frames of priority {priority}"), lost, Limits::exactly(0.0));
    Ok(())
}

pub(super) const FRAME_SIZES: Test = describe! {
    id: "V-R14",
    title: "pauses are obeyed with frames of all sizes",
    purpose: "A port obeys PFC with frames of any size, from the shortest to the longest that it \
              forwards.",
    clause: "802.1Q 36.1.2",
    procedure: "V-R01 with frames of 64, 65, 512 and 1518 bytes, of the longest of the DUT file, \
                and of three sizes together; at level quick with the last two.",
    pass: "As V-R01, for each size.",
    source: "sonic-mgmt L06, L07",
    run: frame_sizes,
    aliases: &["L06", "L07"],
};

/// Sizes of one flow each.
const SIZES: [u32; 4] = [64, 65, 512, 1518];

/// Sizes of the flows of a mix, in turn.
const MIX: [u32; 3] = [64, 570, 1518];

fn frame_sizes(cx: &mut Context<'_>) -> Result<(), TrialError> {
    cx.lossless()?;
    let longest = cx.setup.max_frame;
    // The first two are those of level quick.
    let mut sizes: Vec<Vec<u32>> = vec![MIX.to_vec(), vec![longest]];
    sizes.extend(SIZES.iter().filter(|size| **size < longest).map(|size| vec![*size]));
    for priority in cx.each_lossless() {
        for mix in sizes.iter().take(cx.by_level(2, usize::MAX)) {
            judge_mix(cx, priority, mix)?;
        }
    }
    Ok(())
}

fn judge_mix(cx: &mut Context<'_>, priority: Priority, mix: &[u32]) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    let set = PrioritySet::of(priority);
    let mut storm = storm::for_set(cx, (a, b), set, storm::SIZE);
    let least = cx.setup.shortest();
    // The flows have the sizes of the mix in turn. A tag makes the shortest frame longer.
    for (flow, size) in storm.trial.flows.iter_mut().zip(mix.iter().cycle()) {
        flow.size = (*size).clamp(least, cx.setup.max_frame);
    }
    storm.trial.name = format!("{} with frames of {mix:?} bytes", storm.trial.name);
    if let Some(why) = storm::too_short(cx, &storm, set) {
        cx.skip(storm.trial.name, &why);
        return Ok(());
    }
    let observed = cx.observe(&storm.trial)?;
    storm::judge(cx, &storm, &observed, b, set)
}

pub(super) const ORDER: Test = describe! {
    id: "V-R15",
    title: "frames keep their order over pauses",
    purpose: "Frames that a pause holds are sent once, whole and in their order.",
    clause: "802.1Q 6.5.3, 8.6.6",
    procedure: "A flow on each priority from A to B: the lossless ones together 40 % of the \
                line, the lossy ones 20 %. B sends 1000 pauses of random length to lossless \
                priorities at random times, 100 at level quick.",
    pass: "No frame of any flow is lost, is there twice, is behind one that was sent later, or \
           has another length.",
    source: "own",
    run: order,
    uncertainty: "None: counts.",
};

/// Longest pause in quanta.
const LONGEST_RANDOM: u64 = 2000;

fn order(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    cx.lossless()?;
    let baseline = cx.setup.times.baseline;
    let quantum = Quanta(1).at(cx.setup.rate);
    let lossless: Vec<Priority> = cx.setup.lossless.iter().collect();
    let mut rng = Rng::new(cx.setup.seed);
    let mut pauses = Vec::new();
    let mut at = baseline;
    for _ in 0..cx.by_level(100, 1000) {
        let quanta = 1 + rng.next_u64() % LONGEST_RANDOM;
        let priority = lossless[(rng.next_u64() % lossless.len() as u64) as usize];
        pauses.push((at, priority, Quanta(quanta as u16)));
        // Half to one and a half of its length after it is over.
        let rest = quanta / 2 + rng.next_u64() % (quanta + 1);
        at += quantum.saturating_mul(quanta + rest);
    }
    let traffic = at + cx.setup.stop_limit();
    let mut trial = Trial::new("random pauses", traffic + cx.setup.times.drain);
    let priorities: Vec<Priority> = cx.priorities().iter().collect();
    for priority in &priorities {
        // 60 % of the line together, so that held frames leave between the pauses.
        let (share, flows) = match cx.setup.lossless.contains(*priority) {
            true => (0.4, lossless.len()),
            false => (0.2, priorities.len() - lossless.len()),
        };
        let flow = Flow::new((a, b), *priority, Limit::Time(traffic));
        trial.flow(flow.rate(Rate::Line(share / flows as f64)));
    }
    for (at, priority, quanta) in pauses {
        trial.pfc(b, cx.port(b).mac, &[(priority, quanta)], at);
    }
    let observed = cx.observe(&trial)?;
    cx.at_rest(&observed, &trial, &(baseline.div(4)..baseline))?;
    // A DUT may remove the tags.
    let lengths = match &cx.setup.marking {
        Marking::Dscp(_) => [storm::SIZE; 2],
        Marking::Pcp(..) => [storm::SIZE, storm::SIZE - TAG_LEN as u32],
    };
    for (n, priority) in priorities.iter().enumerate() {
        let tally = observed.tally(FlowId(n));
        let is_other = |record: &&Record| !lengths.contains(&record.len);
        let other = observed.of(FlowId(n), Way::Received).filter(is_other).count();
        let counts = [
            ("lost", tally.lost()),
            ("duplicate", tally.duplicates),
            ("reordered", tally.reordered),
            ("cut or grown", other as u64),
        ];
        for (what, count) in counts {
            cx.count(format!("{what} frames of priority {priority}"), count, Limits::exactly(0.0));
        }
    }
    Ok(())
}

pub(super) const LINK_FAILURE: Test = describe! {
    id: "V-R16",
    title: "a link that fails in a storm sends again after it",
    purpose: "A port whose link fails while a priority is paused sends it again when the link is \
              back and the storm is over: no queue stays stuck.",
    clause: "802.1Q 36.1.2",
    procedure: "A flow on each priority from A to B, together half of the line. B pauses one \
                lossless priority without a gap. The link of B goes down and comes back; B \
                pauses again, and stops. Then the link fails for an eighth of the longest pause, soon after a \
                single one. At last B pauses the priority until the device pauses A, whose link fails four \
                times for a sixteenth of the longest pause.",
    pass: "The second storm is obeyed. Half of the hold time after the last pause all flows have their \
           rates within {rate}, and lose nothing from then on. The number of frames lost before is \
           reported. The single pause ends with the link, and A, which has forgotten the device's pause, is \
           paused again before a frame is lost. A link that comes back later than that is not judged in the \
           last two parts, or inconclusive if the tester was too late.",
    source: "sonic-mgmt L11",
    run: link_failure,
    aliases: &["L11"],
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

fn link_failure(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    cx.lossless()?;
    let steps = link_failure_steps(cx);
    for priority in cx.each_lossless() {
        let (trial, priorities) = link_failure_trial(cx, a, b, priority, &steps);
        let baseline = cx.setup.times.baseline;
        // A DUT may flood while it does not know the address of B.
        let observed = cx.observe(&trial)?.only(&[a, b]);
        cx.at_rest(&observed, &trial, &(baseline.div(4)..baseline))?;
        for (n, other) in priorities.iter().enumerate() {
            let flow = FlowId(n);
            cx.rate(&observed, &trial, flow, &steps.judged);
            let late = observed.lost_in(flow, &(steps.judged.start..Duration::MAX));
            let what = format!("frames of priority {other} lost after the storm");
            cx.count(what, late, Limits::exactly(0.0));
            if *other == priority {
                let before = observed.lost_in(flow, &(Duration::ZERO..steps.judged.start)) as f64;
                let what = format!("frames of priority {other} lost while the link was down");
                cx.policy(what, before, "", OPEN);
            }
        }
        let held = storm::held_since(cx, &observed, b, steps.again)?;
        let flow = priorities.iter().position(|p| *p == priority);
        let flow = FlowId(flow.expect("a lossless priority is one of all"));
        storm::none_began(cx, &observed, flow, priority, &held);
        judge_forgotten(cx, a, b, priority)?;
        judge_paused_again(cx, a, b, priority)?;
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
fn judge_forgotten(
    cx: &mut Context<'_>,
    a: Port,
    b: Port,
    priority: Priority,
) -> Result<(), TrialError> {
    let what =
        format!("frames of priority {priority} after the link, before the end of an old pause");
    let Some(other) = cx.priorities().iter().find(|other| *other != priority) else {
        cx.skip(what, "lossy: it is empty, so another priority is missing");
        return Ok(());
    };
    let (window, start) = (Quanta::MAX.at(cx.setup.rate), cx.setup.times.baseline);
    // The link is back in the first half of the pause, so a port that keeps the pause is silent for long after it.
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
    trial.frame(b, storm::hello(mac), up + window.div(32));
    let observed = cx.observe(&trial)?.only(&[a, b]);
    cx.at_rest(&observed, &trial, &(start.div(4)..start))?;
    let end = storm::held(cx, &observed, b)?.end;
    let times: Vec<_> = observed.of(FlowId(1), Way::Received).map(|r| r.begin).collect();
    let back = back(&times, window.div(16)).filter(|back| *back > up);
    // A margin at either end: the tester sees the link come back late, and the pause end within its uncertainty.
    let margin = window.div(16) + observed.uncertainty;
    let until = end.saturating_sub(margin);
    match back {
        Some(back) if back + margin < until => {
            let count = observed.began_in(FlowId(0), &(back + margin..until));
            cx.count(what, count, Limits::at_least(1.0));
        }
        Some(back) => cx.skip_late(what, LATE, (back + margin).saturating_sub(until)),
        // A link that goes down late comes back at once.
        None => cx.skip_late(what, LATE, window.div(16)),
    }
    Ok(())
}

/// Judges that a sender is paused again after its link failed, which has ended its pause.
fn judge_paused_again(
    cx: &mut Context<'_>,
    a: Port,
    b: Port,
    priority: Priority,
) -> Result<(), TrialError> {
    let what = format!("frames of priority {priority} lost after the link of a paused sender");
    let (window, start) = (Quanta::MAX.at(cx.setup.rate), cx.setup.times.baseline);
    let hold = window.saturating_mul(2).min(cx.setup.storm_max());
    let step = hold.div(5);
    let lasts = window.div(16).min(step.div(4));
    let traffic = start + hold;
    let name = format!("link failure of a sender that is paused for {priority}");
    let mut trial = Trial::new(name, traffic + cx.setup.times.drain);
    let other = cx.lossy()?;
    // The flow that is not paused shows when the link of A is up.
    for (priority, share) in [(priority, 0.9), (other, 0.05)] {
        let flow = Flow::new((a, b), priority, Limit::Time(traffic));
        trial.flow(flow.rate(Rate::Line(share)));
    }
    storm::add(cx, &mut trial, b, PrioritySet::of(priority), &(start..start + hold));
    let down = |n: u64| start + step.saturating_mul(n) + step.div(3 + n);
    for at in (1..=4).map(down) {
        trial.links.push(LinkChange { port: a, at, up: false });
        trial.links.push(LinkChange { port: a, at: at + lasts, up: true });
    }
    let observed = cx.observe(&trial)?.only(&[a, b]);
    cx.at_rest(&observed, &trial, &(start.div(4)..start))?;
    if cx.first_stop(&observed, a, priority).is_none_or(|at| at > down(1)) {
        cx.skip(what, "the device does not fill up and pause A before its link fails");
        return Ok(());
    }
    let (mut lost, mut judged) = (0, 0);
    let arrived = observed.of(FlowId(1), Way::Received).filter_map(|r| r.what.sequence());
    let arrived: HashSet<u64> = arrived.collect();
    let is_through = |r: &&Record| r.what.sequence().is_some_and(|n| arrived.contains(&n));
    for n in 1..=4 {
        let (from, next) = (down(n), if n < 4 { down(n + 1) } else { traffic });
        // From before the link fails to the last frame before it fails again.
        let before = from.saturating_sub(step.div(4));
        let sent = observed.of(FlowId(1), Way::Sent).filter(|r| r.begin > before && r.end < next);
        let times: Vec<_> = sent.filter(is_through).map(|r| r.end).collect();
        let last = times.last().copied().unwrap_or_default();
        // A link that the tester did not take down, or that was not back in time, is not judged.
        let Some(back) = back(&times, lasts.div(2)).filter(|back| *back > from) else { continue };
        judged += 1;
        lost += observed.lost_in(FlowId(0), &(back..last));
    }
    match judged {
        0 => cx.skip_late(what, LATE, lasts.div(2)),
        _ => cx.count(what, lost, Limits::exactly(0.0)),
    }
    Ok(())
}

fn link_failure_steps(cx: &Context<'_>) -> Steps {
    let times = cx.setup.times;
    let window = Quanta::MAX.at(cx.setup.rate);
    let down = times.baseline + window;
    let up = down + times.hold.div(2);
    let again = up + times.settle;
    let over = again + window.saturating_mul(2);
    let from = over + times.hold.div(2);
    Steps { down, up, again, over, judged: from..from + times.hold.div(2) }
}

fn link_failure_trial(
    cx: &Context<'_>,
    a: Port,
    b: Port,
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
    let (src, rate) = (cx.port(b).mac, cx.setup.rate);
    let set = PrioritySet::of(priority);
    // Its last pause outlasts the failure of the link.
    let before = (cx.setup.times.baseline, steps.down + Quanta::MAX.at(cx.setup.rate).div(4));
    trial.storm(b, src, rate, set, before);
    trial.storm(b, src, rate, set, (steps.again, steps.over));
    trial.links.push(LinkChange { port: b, at: steps.down, up: false });
    trial.links.push(LinkChange { port: b, at: steps.up, up: true });
    trial.frame(b, storm::hello(cx.port(b).mac), steps.up + cx.setup.times.settle.div(2));
    (trial, priorities)
}
