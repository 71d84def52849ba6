//! When a port sends pauses: before a frame is lost, for each priority that is congested, for no other, and
//! not without need.

use super::{congestion, storm};
use crate::bench::TrialError;
use crate::judge::Limits;
use crate::observation::{Observation, Way};
use crate::setup::line_time;
use crate::test::{Context, Level, Scope, Test, Topology};
use crate::trial::{Flow, FlowId, Limit, Obeys, Port, Rate, Trial};
use core::ops::Range;
use ground::time::Duration;
use ground::units::{PrioritySet, Quanta};

pub(super) const BEFORE_LOSS: Test = describe! {
    id: "V-X01",
    title: "pauses are sent before a frame is lost",
    purpose: "A port that runs out of buffer for a lossless priority pauses its peers in time.",
    clause: "802.1Q 36.1.3.1",
    procedure: "Flows on one lossless priority from A and from B to C at line rate. The tester obeys.",
    pass: "No frame is lost, and A and B receive at least one pause for the priority each.",
    source: "sonic-mgmt L08",
    run: before_loss,
    aliases: &["L08"],
    topology: Topology::T3,
    uncertainty: "None: counts.",
    level: Level::Quick,
};

fn before_loss(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b, c] = cx.ports()?;
    cx.lossless()?;
    let times = cx.setup.times;
    for priority in cx.each_lossless() {
        let mut trial = Trial::new("two to one", times.hold + times.drain);
        let flows =
            [a, b].map(|from| trial.flow(Flow::new((from, c), priority, Limit::Time(times.hold))));
        let observed = cx.observe(&trial)?;
        for (flow, from) in flows.into_iter().zip([a, b]) {
            let tally = observed.tally(flow);
            let name = &cx.port(from).name.clone();
            // If no frame of a flow arrives, the cables are wrong: that is no loss.
            if tally.received == 0 {
                let what = format!("no frame from port {name} arrives; check the cables");
                return Err(TrialError::Error(what));
            }
            cx.count(format!("lost frames from {name}"), tally.lost(), Limits::exactly(0.0));
            let pauses = observed.pauses(from).filter(|pause| pause.stops(priority)).count();
            let what = format!("pauses of priority {priority} at {name}");
            cx.count(what, pauses as u64, Limits::at_least(1.0));
        }
    }
    Ok(())
}

pub(super) const XON_SENT: Test = describe! {
    id: "V-X03",
    title: "XON is sent when congestion ends",
    purpose: "A port that has buffer again resumes its peers, instead of letting the pause expire.",
    clause: "802.1Q 36.1.3.1, 36.1.3.2",
    procedure: "Flows on one lossless priority from A and from B overload C, and end.",
    pass: "After its last pause each of A and B receives a time of zero before that pause is over. For a \
           device that is configured to let pauses expire (`expected.expiry_only`) the missing frames are \
           recorded, not judged.",
    source: "SAI PFCXonTest; sonic-mgmt issues 7057, 7058",
    run: xon_sent,
    aliases: &["PFCXonTest"],
    topology: Topology::T3,
    uncertainty: "None: counts.",
};

fn xon_sent(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b, c] = cx.ports()?;
    cx.lossless()?;
    for priority in cx.each_lossless() {
        let trial = congestion::to_one(cx, &[a, b], c, &[priority], 1.0);
        let observed = cx.observe(&trial)?;
        congestion::arrives(cx, &observed, &trial)?;
        for port in [a, b] {
            let name = cx.port(port).name.clone();
            let pauses = congestion::pauses(&observed, port, priority);
            let mut stops = pauses.iter().filter(|pause| pause.stops(priority));
            let Some(last) = stops.next_back() else {
                let what = format!("pauses of priority {priority} at {name}");
                cx.count(what, 0, Limits::at_least(1.0));
                continue;
            };
            let time = last.frame.time(priority).unwrap_or_default().at(cx.setup.rate);
            let expiry = last.at + time;
            let resumes = pauses.iter().filter(|pause| pause.resumes(priority));
            // After its expiry a pause needs no XON.
            let after = resumes.filter(|pause| pause.at > last.at && pause.at < expiry).count();
            let what = format!("XON of priority {priority} at {name} after the last pause");
            if cx.setup.expected.expiry_only {
                let clause = "802.1Q leaves it to the device to send XON or to let a pause expire";
                cx.policy(what, after as f64, "", clause);
            } else {
                cx.count(what, after as u64, Limits::at_least(1.0));
            }
        }
        congestion::lossless(cx, &observed, &trial, priority);
    }
    Ok(())
}

pub(super) const ALL_PRIORITIES: Test = describe! {
    id: "V-X05",
    title: "all congested priorities are paused",
    purpose: "A port that runs out of buffer for several priorities pauses each of them.",
    clause: "802.1Q 36.1.3.1",
    procedure: "Flows on two lossless priorities from A and from B to C, each at 40 % of the line. C pauses \
                both, so that both are over whatever the scheduling is.",
    pass: "No frame is lost, and none of either priority begins at C from the limit after the first pause to the \
           end of the last one. A and B receive pauses for both priorities, and until that end for neither \
           more than twice as many as for the other.",
    source: "sonic-mgmt issue 20075",
    run: all_priorities,
    topology: Topology::T3,
    uncertainty: "None: counts.",
};

/// Share of the line of each of four flows.
const SHARE_OF_FOUR: f64 = 0.4;

fn all_priorities(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b, c] = cx.ports()?;
    let two: Vec<_> = cx.setup.lossless.iter().take(2).collect();
    if two.len() < 2 {
        return Err(TrialError::Missing("lossless: two priorities are needed".into()));
    }
    let mut trial = congestion::to_one(cx, &[a, b], c, &two, SHARE_OF_FOUR);
    let mut set = PrioritySet::EMPTY;
    two.iter().for_each(|priority| set.insert(*priority));
    let hold = (Duration::ZERO, cx.setup.times.hold.min(cx.setup.storm_max()));
    trial.storm(c, cx.port(c).mac, cx.setup.rate, set, hold);
    let observed = cx.observe(&trial)?;
    congestion::arrives(cx, &observed, &trial)?;
    let held = storm::held(cx, &observed, c)?;
    for (n, flow) in trial.flows.iter().enumerate() {
        storm::none_began(cx, &observed, FlowId(n), flow.priority, &held);
    }
    let mut counts = Vec::new();
    for priority in two {
        congestion::lossless(cx, &observed, &trial, priority);
        for port in [a, b] {
            let stops: Vec<_> =
                observed.pauses(port).filter(|pause| pause.stops(priority)).collect();
            let what = format!("pauses of priority {priority} at {}", cx.port(port).name);
            cx.count(what, stops.len() as u64, Limits::at_least(1.0));
            // Later the scheduler decides which of them is relieved first.
            let alike = stops.iter().filter(|pause| pause.at < held.end).count() as u64;
            // That there is none at all has been judged above; here it must not divide by zero.
            counts.push(alike.max(1));
        }
    }
    let (most, least) = (counts.iter().max(), counts.iter().min());
    if let (Some(most), Some(least)) = (most, least) {
        let ratio = *most as f64 / *least as f64;
        cx.judge("pauses of one for one of the other", ratio, Limits::at_most(2.0), 0.0, "");
    }
    Ok(())
}

pub(super) const NOTHING_ELSE: Test = describe! {
    id: "V-X06",
    title: "nothing else is paused",
    purpose: "Congestion of lossy priorities pauses nobody, and ports that do not send to the congested \
              port are not paused.",
    clause: "802.1Q 36.1.3.1",
    procedure: "Flows from A and from B to C: each on a lossless priority at 60 % of the line, so that it \
                is congested alone, and on a lossy one at 40 %.",
    pass: "A or B is paused, and no lossless frame is lost. No pause names a priority without PFC, and C \
           receives none. Lossy frames are dropped.",
    source: "sonic-mgmt Y04",
    run: nothing_else,
    aliases: &["Y04"],
    topology: Topology::T3,
    uncertainty: "None: counts.",
    level: Level::Quick,
};

/// Share of the line of each lossless flow: two are too much for the port, whatever the scheduler
/// gives to others.
const LOSSLESS_SHARE: f64 = 0.6;

fn nothing_else(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b, c] = cx.ports()?;
    let (lossless, lossy) = (cx.lossless()?, cx.lossy()?);
    let mut trial = congestion::to_one(cx, &[a, b], c, &[lossless, lossy], LOSSLESS_SHARE);
    for flow in trial.flows.iter_mut().filter(|flow| flow.priority == lossy) {
        flow.rate = Rate::Line(1.0 - LOSSLESS_SHARE);
    }
    let observed = cx.observe(&trial)?;
    congestion::lossless(cx, &observed, &trial, lossless);
    let pauses = [a, b].map(|port| congestion::stops(&observed, port, lossless));
    let what = format!("pauses of priority {lossless} (see V-X01)");
    cx.count(what, pauses.iter().sum(), Limits::at_least(1.0));
    let others = !cx.setup.lossless.0;
    for port in [a, b] {
        let name = cx.port(port).name.clone();
        let wrong =
            observed.pauses(port).filter(|p| p.frame.enabled.0 & others != 0).count() as u64;
        let what = format!("pauses of priorities without PFC at {name}");
        cx.count(what, wrong, Limits::exactly(0.0));
    }
    let name = cx.port(c).name.clone();
    let at_c = observed.pauses(c).count() as u64;
    cx.count(format!("pauses at {name}, which sends nothing"), at_c, Limits::exactly(0.0));
    let flows = trial.flows.iter().enumerate().filter(|(_, flow)| flow.priority == lossy);
    let lost: u64 = flows.map(|(n, _)| observed.tally(FlowId(n)).lost()).sum();
    // Without a drop the lossy priority was not congested, and its silence shows nothing.
    cx.count(format!("dropped frames of lossy priority {lossy}"), lost, Limits::at_least(1.0));
    Ok(())
}

pub(super) const NO_CONGESTION: Test = describe! {
    id: "V-X07",
    title: "no pause without congestion",
    purpose: "A port that can send all that it receives pauses nobody and loses nothing.",
    clause: "802.1Q 36.1.3.1",
    procedure: "A flow on a lossless priority at 90 % and one on a lossy priority at 9 % of the line from \
                A to B; then a flow on the lossless priority at 45 % from A and from B to C.",
    pass: "No pause is received, no frame is lost, and all flows keep their rates within {rate}.",
    source: "sonic-mgmt SNAPPI 01, no_congestion",
    run: no_congestion,
    topology: Topology::T3,
    uncertainty: "None: counts.",
    level: Level::Quick,
};

fn no_congestion(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b, c] = cx.ports()?;
    let (lossless, lossy) = (cx.lossless()?, cx.lossy()?);
    let times = cx.setup.times;
    let flows = [
        vec![((a, b), lossless, 0.9), ((a, b), lossy, 0.09)],
        vec![((a, c), lossless, 0.45), ((b, c), lossless, 0.45)],
    ];
    for flows in flows {
        let mut trial = Trial::new("no congestion", times.hold + times.drain);
        for (ends, priority, share) in flows {
            let flow = Flow::new(ends, priority, Limit::Time(times.hold));
            trial.flow(flow.rate(Rate::Line(share)));
        }
        let observed = cx.observe(&trial)?;
        let pauses: usize = [a, b, c].map(|port| observed.control(port).count()).iter().sum();
        // A device that pauses a flow before its first frame fails; the cables are not to blame.
        if pauses == 0 {
            congestion::arrives(cx, &observed, &trial)?;
        }
        cx.count("MAC control frames of the device", pauses as u64, Limits::exactly(0.0));
        let span = times.hold.div(8)..times.hold;
        for (n, flow) in trial.flows.iter().enumerate() {
            cx.rate(&observed, &trial, FlowId(n), &span);
            let what = format!("lost frames of priority {}", flow.priority);
            cx.count(what, observed.tally(FlowId(n)).lost(), Limits::exactly(0.0));
        }
        // The second part would show the same again.
        if pauses > 0 {
            break;
        }
    }
    Ok(())
}

pub(super) const LATE_PEER: Test = describe! {
    id: "V-X10",
    title: "no loss against a peer that stops late",
    purpose: "The headroom of a port is enough for a peer that uses the time which it may take to stop.",
    clause: "802.1Q 36.1.3.3, Annex N; 802.3 31B.3.7",
    procedure: "Flows on one lossless priority from A and from B overload C, which pauses it for the first half: \
                the device drains nothing then. The tester stops 0, 25, 50, 75 and 100 % of the limit after a \
                pause; at level full also 2, 4, 8 and 16 times that.",
    pass: "No frame is lost up to the limit. The first loss beyond it is recorded.",
    source: "Keysight ai-ml-testing PFC-pause-response-time; sonic-mgmt pfc_delay",
    run: late_peer,
    aliases: &["PFC-pause-response-time"],
    topology: Topology::T3,
    uncertainty: "None: counts.",
    scope: Scope::Device,
};

/// Delays in percent of the limit.
const WITHIN: [u32; 5] = [0, 25, 50, 75, 100];
const BEYOND: [u32; 4] = [200, 400, 800, 1600];

fn late_peer(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let priority = cx.lossless()?;
    for percent in WITHIN {
        let lost = lost_at(cx, percent)?;
        let what = format!("lost frames of priority {priority} at a delay of {percent} %");
        cx.count(what, lost, Limits::exactly(0.0));
    }
    if cx.level == Level::Full {
        // More than the limit is allowed to cost frames: the first loss is recorded, and ends the search.
        for percent in BEYOND {
            if lost_at(cx, percent)? > 0 {
                let clause = "the limit of 802.3 31B.3.7 is all that a peer may take";
                cx.policy("first delay with a loss", f64::from(percent), "%", clause);
                break;
            }
        }
    }
    Ok(())
}

/// Returns the frames that are lost if the tester stops this late, in percent of the limit.
fn lost_at(cx: &mut Context<'_>, percent: u32) -> Result<u64, TrialError> {
    let [a, b, c] = cx.ports()?;
    let priority = cx.lossless()?;
    let quanta = u32::from(cx.setup.limits.reaction.0) * percent / 100;
    let late = Obeys::Pfc(Quanta(quanta.min(u16::MAX.into()) as u16));
    let mut trial = congestion::to_one(cx, &[a, b], c, &[priority], 1.0);
    trial.obeys.extend([(a, late), (b, late)]);
    // Frames that leave meanwhile would hide a part of a headroom that is too small.
    let stopped = cx.setup.times.hold.div(2).min(cx.setup.storm_max());
    storm::add(cx, &mut trial, c, PrioritySet::of(priority), &(Duration::ZERO..stopped));
    let observed = cx.observe(&trial)?;
    congestion::arrives(cx, &observed, &trial)?;
    Ok((0..trial.flows.len()).map(|n| observed.tally(FlowId(n)).lost()).sum())
}

pub(super) const IGNORING_PEER: Test = describe! {
    id: "V-X11",
    title: "a peer that ignores pauses harms itself only",
    purpose: "Frames of a peer that does not obey are dropped when its headroom is full, and those of \
              others are not.",
    clause: "802.1Q 36.1.3.3",
    procedure: "Flows on one lossless priority at line rate from A and from B to C; A ignores pauses, B \
                obeys. Flows on a lossy priority from A and from B to D at 10 %.",
    pass: "No frame of B is lost, and none of the lossy priority; these keep their rates within {rate}. Frames \
           of A are dropped.",
    source: "own; storms of sonic-mgmt",
    run: ignoring_peer,
    topology: Topology::Th,
    uncertainty: "None: counts.",
};

fn ignoring_peer(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b, c, d] = cx.ports()?;
    let (lossless, lossy) = (cx.lossless()?, cx.lossy()?);
    let times = cx.setup.times;
    let mut trial = Trial::new("one peer ignores pauses", times.hold + times.drain);
    let limit = Limit::Time(times.hold);
    let flow = |ends, priority, share| Flow::new(ends, priority, limit).rate(Rate::Line(share));
    let ignoring = trial.flow(flow((a, c), lossless, 0.9));
    let obeying = trial.flow(flow((b, c), lossless, 0.9));
    let others = [a, b].map(|from| trial.flow(flow((from, d), lossy, 0.1)));
    trial.obeys.push((a, Obeys::Nothing));
    let observed = cx.observe(&trial)?;
    congestion::arrives(cx, &observed, &trial)?;
    let lost = |flow: FlowId| observed.tally(flow).lost();
    let names = [a, b].map(|port| cx.port(port).name.clone());
    let span = times.hold.div(4)..times.hold;
    cx.count(
        format!("lost frames of {}, which obeys", names[1]),
        lost(obeying),
        Limits::exactly(0.0),
    );
    for (flow, name) in others.into_iter().zip(&names) {
        let what = format!("lost frames of lossy priority {lossy} from {name}");
        cx.count(what, lost(flow), Limits::exactly(0.0));
        cx.rate(&observed, &trial, flow, &span);
    }
    // Without a drop its headroom was never full, so that no other peer was in danger.
    let what = format!("dropped frames of {}, which ignores pauses", names[0]);
    cx.count(what, lost(ignoring), Limits::at_least(1.0));
    Ok(())
}

pub(super) const SLOW_PORT: Test = describe! {
    id: "V-X12",
    title: "a fast port sends to a slow one",
    purpose: "A port that is faster than the one that its frames leave by is paused before a frame is lost.",
    clause: "802.1Q 36.1.3.1, 36.1.3.3",
    procedure: "The fastest port sends to the slowest one: one lossy priority with 40 % of the slow line, or less \
                if the rates are close, and one lossless priority with all that the fast line has left.",
    pass: "No lossless frame is lost, and the fast port is paused. The lossless priority has at least what the \
           lossy one leaves, 60 % of the slow line, within {rate}. The loss of the lossy one is recorded.",
    source: "SNAPPI 03 of sonic-mgmt: 400G to 100G",
    run: slow_port,
    topology: Topology::Ts,
    uncertainty: "Time stamps of the tester, twice, and one frame, as a part of the span.",
    scope: Scope::Device,
};

/// Largest share of the slow line that the lossy priority is offered with.
const LOSSY_SHARE: f64 = 0.4;

/// Least load of the slow line by the lossless priority, also where it is served first.
const LOAD: f64 = 1.05;

/// Largest ratio of the slow rate to the fast one.
const RATIO_MAX: f64 = 0.9;

/// Length of the frames in bytes.
const SIZE: u32 = 1024;

fn slow_port(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let (fast, slow) = fastest_and_slowest(cx)?;
    cx.lossless()?;
    let lossy = cx.lossy()?;
    let times = cx.setup.times;
    // Shares of the sender's line.
    let ratio = cx.port(slow).rate.get() as f64 / cx.port(fast).rate.get() as f64;
    // Beside the lossy priority the lossless one still has to overload the slow line by `LOAD`.
    let part = (LOSSY_SHARE * ratio).min(1.0 - LOAD * ratio);
    for priority in cx.each_lossless() {
        let mut trial = Trial::new("overload of a slow port", times.hold + times.drain);
        let flow = |priority, share| {
            let flow = Flow::new((fast, slow), priority, Limit::Time(times.hold)).size(SIZE);
            flow.rate(Rate::Line(share))
        };
        let held = trial.flow(flow(priority, 1.0 - part));
        let other = trial.flow(flow(lossy, part));
        let observed = cx.observe(&trial)?;
        congestion::arrives(cx, &observed, &trial)?;
        congestion::lossless(cx, &observed, &trial, priority);
        let name = cx.port(fast).name.clone();
        let stops = congestion::begins(&congestion::pauses(&observed, fast, priority), priority);
        let what = format!("pauses of priority {priority} at {name}");
        cx.count(what, stops, Limits::at_least(1.0));
        let span = times.hold.div(4)..times.hold;
        let (share, u) = share_of_line(cx, &observed, held, slow, &span);
        // The lossy priority takes no more than `part / ratio` of the slow line.
        let least = (1.0 - part / ratio - cx.setup.limits.rate) * 100.0;
        let what = format!("share of priority {priority} of the line of {}", cx.port(slow).name);
        cx.judge(what, share, Limits::at_least(least), u, "%");
        let lost = observed.tally(other).lost() as f64;
        let clause =
            "shares are the device's configuration; frames of a lossy priority may be lost";
        cx.policy(format!("lost frames of lossy priority {lossy}"), lost, "", clause);
    }
    Ok(())
}

/// Returns the fastest and the slowest port.
fn fastest_and_slowest(cx: &Context<'_>) -> Result<(Port, Port), TrialError> {
    let rate = |port: &Port| cx.port(*port).rate.get();
    let ports = || (0..cx.setup.ports.len()).map(Port);
    // Of equal ones the first.
    let fast = ports().rev().max_by_key(rate);
    let slow = ports().min_by_key(rate);
    match (fast, slow) {
        (Some(fast), Some(slow)) if rate(&slow) as f64 <= RATIO_MAX * rate(&fast) as f64 => {
            Ok((fast, slow))
        }
        _ => {
            let what = "ports.rate: all ports have about the same rate; add a port of another one";
            Err(TrialError::Missing(what.to_owned()))
        }
    }
}

/// Returns the share of the line of a port that a flow has in a span, in percent, and its uncertainty.
fn share_of_line(
    cx: &Context<'_>,
    observed: &Observation,
    flow: FlowId,
    port: Port,
    span: &Range<Duration>,
) -> (f64, f64) {
    let line = line_time(cx.port(port).rate, SIZE).as_secs_f64();
    let time = span.end.saturating_sub(span.start).as_secs_f64();
    let frames =
        observed.of(flow, Way::Received).filter(|record| span.contains(&record.end)).count();
    let share = frames as f64 * line / time;
    // A frame at the ends of the span, and the time stamps of both.
    let u = (line + observed.uncertainty.as_secs_f64() * 2.0 * share) / time;
    (share * 100.0, u * 100.0)
}
