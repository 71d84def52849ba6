//! Ports with 802.3x flow control (`flow_control: pause`), and what both kinds of pauses leave alone.

use super::{congestion, pause_time, resuming, storm};
use crate::bench::TrialError;
use crate::judge::Limits;
use crate::observation::Way;
use crate::test::{Context, Kind, Level, Test, Topology};
use crate::trial::{Flow, Limit, Port, Rate, Trial};
use ground::time::Duration;
use ground::units::{Mac, PrioritySet, Quanta};

pub(super) const ALL_STOP: Test = describe! {
    id: "V-P01",
    title: "PAUSE stops all, for its time, and zero resumes",
    purpose: "A port with 802.3x flow control stops all traffic within the limit for the time in a PAUSE \
              frame, and resumes by itself or by a time of zero.",
    clause: "802.3 31B.3.2, 31B.3.3, 31B.3.7",
    procedure: "Only with `flow_control: pause`. PAUSE without a gap at B against flows on all priorities; then \
                V-R04, V-R05 and V-R06 with PAUSE instead of PFC on one priority; then a PAUSE of the \
                longest time and one of zero right behind it.",
    pass: "No frame begins against the PAUSE, and none is lost. As V-R04, V-R05 and V-R06. The PAUSE that is taken \
           back stops the line for no more than the resume time (1 ms), nor half of its own.",
    source: "HLK TxFlowControl; UNH 802.3 clause 31 Annex 31B",
    run: all_stop,
    uncertainty: "Time stamps of the tester, and the frame that was being sent.",
    level: Level::Quick,
    kind: Kind::Pause,
};

fn all_stop(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    cx.stopped()?;
    let all = cx.priorities();
    let storm = storm::for_set(cx, (a, b), all, storm::SIZE);
    let observed = cx.observe(&storm.trial)?;
    storm::judge(cx, &storm, &observed, b, all)?;
    resuming::zero_time(cx)?;
    pause_time::single_pause(cx)?;
    pause_time::reaction_time(cx)?;
    judge_cancelled(cx)
}

/// Judges a pause of the longest time that is taken back at once. It may stop the line until the frame
/// of zero has its effect, which may be later than that of the pause.
fn judge_cancelled(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    let priority = cx.stopped()?;
    let times = cx.setup.times;
    let window = congestion::window(cx);
    let start = times.baseline;
    let traffic = start + window;
    let mut trial = Trial::new("PAUSE taken back at once", traffic + times.drain);
    let flow = trial.flow(Flow::new((a, b), priority, Limit::Time(traffic)));
    let set = PrioritySet::of(priority);
    trial.frame(b, cx.pause(b, set, Quanta::MAX), start);
    // Right behind the pause, before a port has to have reacted to that.
    trial.frame(b, cx.pause(b, set, Quanta(0)), start + cx.setup.line_time(64).saturating_mul(2));
    let observed = cx.observe(&trial)?;
    cx.at_rest(&observed, &trial, &(start.div(4)..start))?;
    let frames: Vec<_> = observed.of(flow, Way::Received).filter(|r| r.end > start).collect();
    let gaps = frames.windows(2).map(|pair| pair[1].begin.saturating_sub(pair[0].end));
    let most = cx.setup.limits.resume.min(window.div(2));
    let limits = Limits::at_most(most.as_nanos_f64());
    let longest = gaps.max().unwrap_or(Duration::MAX);
    let u = observed.uncertainty.saturating_mul(2);
    cx.time("longest silence after a PAUSE that is taken back", longest, limits, u);
    let lost = observed.tally(flow).lost();
    cx.count("lost frames after a PAUSE that is taken back", lost, Limits::exactly(0.0));
    Ok(())
}

pub(super) const BEFORE_LOSS: Test = describe! {
    id: "V-P02",
    title: "PAUSE is sent before a frame is lost",
    purpose: "A port with 802.3x flow control that runs out of buffer pauses its peer in time, with well-formed \
              frames, and not without need.",
    clause: "802.3 31.4.1, 31B.3.1",
    procedure: "Only with `flow_control: pause`. Flows on one priority from A and from B to C: at first each at \
                45 % of the line, then at line rate. The tester obeys.",
    pass: "No frame is lost. A and B receive no MAC control frame at first, then at least one PAUSE each: to \
           01-80-C2-00-00-01, opcode 0001, from one unicast address, of at least 64 bytes, the reserved ones \
           zero.",
    source: "UNH 802.3 PAUSE transmission; sonic-buildimage issue 2279",
    run: before_loss,
    topology: Topology::T3,
    uncertainty: "None: counts and bytes.",
    level: Level::Quick,
    kind: Kind::Pause,
};

/// Share of the line of each flow that is no congestion.
const CALM_SHARE: f64 = 0.45;

/// Offsets in a PAUSE frame: destination, EtherType and opcode, time, reserved.
const DST: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 1];
const OPCODE: usize = 14;
const TIME: usize = 16;
const RESERVED: usize = 18;

fn before_loss(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b, c] = cx.ports()?;
    let priority = cx.stopped()?;
    for share in [CALM_SHARE, 1.0] {
        let trial = congestion::to_one(cx, &[a, b], c, &[priority], share);
        let observed = cx.observe(&trial)?;
        congestion::arrives(cx, &observed, &trial)?;
        congestion::lossless(cx, &observed, &trial, priority);
        for port in [a, b] {
            let frames: Vec<_> =
                observed.control(port).map(|(r, octets)| (r.len, octets.to_vec())).collect();
            let name = cx.port(port).name.clone();
            // Without congestion there is no reason for any MAC control frame.
            if share < 1.0 {
                let what = format!("MAC control frames at {name} without congestion");
                cx.count(what, frames.len() as u64, Limits::exactly(0.0));
                continue;
            }
            let stops =
                observed.link_pauses(port).filter(|(_, time)| *time > Quanta(0)).count() as u64;
            cx.count(format!("PAUSE frames at {name}"), stops, Limits::at_least(1.0));
            judge_form(cx, port, &frames);
        }
    }
    Ok(())
}

/// Returns true if the bytes of a PAUSE frame are wrong.
type Wrong<'a> = &'a dyn Fn(&[u8]) -> bool;

/// Judges the form of the MAC control frames at a port.
fn judge_form(cx: &mut Context<'_>, port: Port, frames: &[(u32, Vec<u8>)]) {
    let name = cx.port(port).name.clone();
    let source = frames.first().map(|(_, octets)| octets[6..12].to_vec());
    // All frames of a port have the source of its first one.
    let is_from = |octets: &[u8]| {
        let mac = Mac(octets[6..12].try_into().unwrap_or_default());
        mac.0 != [0; 6] && !mac.is_multicast() && source.as_deref() == Some(&octets[6..12])
    };
    let checks: [(&str, Wrong<'_>); 4] = [
        ("another destination", &|o| o[..6] != DST),
        ("no unicast source, or several", &|o| !is_from(o)),
        ("another opcode", &|o| o[OPCODE..TIME] != [0x00, 0x01]),
        ("reserved bytes that are not zero", &|o| o[RESERVED..].iter().any(|octet| *octet != 0)),
    ];
    let short = frames.iter().filter(|(len, _)| *len < 64).count() as u64;
    cx.count(format!("frames at {name} below 64 bytes"), short, Limits::exactly(0.0));
    for (what, is_wrong) in checks {
        // Shorter ones lack the fields, and are counted above.
        let long = frames.iter().filter(|(_, octets)| octets.len() >= RESERVED);
        let wrong = long.filter(|(_, octets)| is_wrong(octets)).count() as u64;
        cx.count(format!("frames at {name} with {what}"), wrong, Limits::exactly(0.0));
    }
}

pub(super) const PAUSED_PORT: Test = describe! {
    id: "V-P03",
    title: "a paused port still sends pauses",
    purpose: "A pause stops data alone: a port that is paused sends PFC and PAUSE as if it were not, else two \
              ports that pause each other lose frames.",
    clause: "802.3 31B.3.3, 802.1Q 36.1.3.1",
    procedure: "Flows on one lossless priority, with `flow_control: pause` on any, from A and from B overload C, \
                at first with nothing else; then while A pauses that priority without a gap, with a flow from C \
                to A at 10 % of the line that waits there.",
    pass: "The first pause at A comes later with the storm than without it by one of the longest frames and \
           1 us at most.",
    source: "inet-framework issue 69",
    run: paused_port,
    topology: Topology::T3,
    uncertainty: "Time stamps of the tester, twice.",
    kind: Kind::Either,
};

/// Share of the line of the flow that waits.
const WAITING_SHARE: f64 = 0.1;

fn paused_port(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b, c] = cx.ports()?;
    let priority = cx.stopped()?;
    let hold = cx.setup.times.hold.min(cx.setup.storm_max());
    let plain = congestion::to_one(cx, &[a, b], c, &[priority], 1.0);
    let mut paused: Trial = plain.clone();
    paused.name = "overload at a paused port".to_owned();
    paused.flow(Flow::new((c, a), priority, Limit::Time(hold)).rate(Rate::Line(WAITING_SHARE)));
    let octets = cx.pause(a, PrioritySet::of(priority), storm::longest(cx));
    let pause = storm::longest(cx).at(cx.setup.rate);
    paused.repeat(a, pause, octets, pause.div(2), (Duration::ZERO, hold));
    let mut first = [Duration::ZERO; 2];
    let mut uncertainty = Duration::ZERO;
    for (trial, first) in [&plain, &paused].into_iter().zip(&mut first) {
        let observed = cx.observe(trial)?;
        // The flow from C may be held for all of the trial, so only those of the plain trial must arrive.
        congestion::arrives(cx, &observed, &plain)?;
        let Some(at) = cx.first_stop(&observed, a, priority) else {
            let what = format!("pauses of priority {priority} at {}", cx.port(a).name);
            cx.count(format!("{what} ({})", trial.name), 0, Limits::at_least(1.0));
            return Ok(());
        };
        *first = at;
        uncertainty += observed.uncertainty;
    }
    let [alone, stormed] = first;
    let most = cx.setup.line_time(cx.setup.max_frame) + Duration::from_micros(1);
    let later = stormed.as_nanos_f64() - alone.as_nanos_f64();
    let limits = Limits::at_most(most.as_nanos_f64());
    cx.judge("delay of the pause by a storm", later, limits, uncertainty.as_nanos_f64(), "ns");
    Ok(())
}
