//! The pauses that a port sends: their form, their renewal, their delay and their number.

use super::{congestion, fill};
use crate::bench::TrialError;
use crate::judge::Limits;
use crate::observation::{Observation, Record, Way, What};
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Control, Flow, FlowId, Limit, Port, Rate, Trial, VECTOR};
use ground::statistics::percentile;
use ground::time::Duration;
use ground::units::{Mac, PRIORITIES, Priority, PrioritySet, Quanta};

pub(super) const WELL_FORMED: Test = describe! {
    id: "V-X02",
    title: "sent pauses are well formed",
    purpose: "PFC frames have the address, the opcode and the length of the standard, a source address \
              of the sending port, and name only priorities with PFC.",
    clause: "802.1Q 36.1.3.1, 802.3 31.4, 31.4.1.3, 31D.3",
    procedure: "Flows on all lossless priorities from A and from B overload C; at level full then on one after the \
                other, until 15,000 frames are captured, or for a minute.",
    pass: "Each MAC control frame that A and B receive is PFC to 01-80-C2-00-00-01 of at least 64 bytes \
           from one unicast address of the device: that of its port (`dut_mac` of the tester's port), or if it is \
           not known, none of the tester. Its vector has an empty high octet and only lossless priorities; \
           times of priorities that are not enabled are zero. At least one at each pauses: a device that only \
           resumes is none. One unknown address for two ports is reported: the \
           standard asks for that of the sending station, and many devices have one for all.",
    source: "sonic-mgmt validate_pfc_frame, valid_src_mac",
    run: well_formed,
    aliases: &["valid_src_mac"],
    topology: Topology::T3,
    uncertainty: "None: bytes.",
    level: Level::Quick,
};

/// Offsets in a PFC frame: destination, source, opcode, vector, times.
const DST: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 1];
const OPCODE: usize = 14;
const TIMES: usize = 18;

/// Frames to capture at level full, and the rounds and the time after which that ends.
const CAPTURED: u64 = 15_000;
const ROUNDS: u32 = 100;
const LONGEST: Duration = Duration::from_secs(60);

fn well_formed(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b, c] = cx.ports()?;
    cx.lossless()?;
    let priorities: Vec<_> = cx.setup.lossless.iter().collect();
    let mut captures = [a, b].map(|port| Capture { port, ..Capture::default() });
    for round in 0..cx.by_level(1, ROUNDS) {
        // Alone a priority is paused and resumed all the time; beside others it may stay paused.
        let one = round.checked_sub(1).map(|n| [priorities[n as usize % priorities.len()]]);
        let named = one.as_ref().map_or(&priorities[..], |one| one);
        let mut trial = congestion::to_one(cx, &[a, b], c, named, 1.0 / named.len() as f64);
        trial.round = round;
        let observed = cx.observe(&trial)?;
        congestion::arrives(cx, &observed, &trial)?;
        captures.iter_mut().for_each(|capture| capture.take(cx, &observed));
        let taken = cx.setup.times.hold.saturating_mul(u64::from(round) + 1);
        if captured(&captures) >= CAPTURED || taken >= LONGEST {
            break;
        }
    }
    captures.iter().for_each(|capture| capture.judge(cx));
    if let [Some(one), Some(other)] = captures.each_ref().map(|capture| capture.source) {
        // With `dut_mac` the source of each port has been judged.
        if one == other && [a, b].iter().all(|port| cx.port(*port).dut_mac.is_none()) {
            let what = format!("ports whose pauses come from {one}");
            let clause = "802.3 31.4.1.3: the address of the sending station; ports may share one";
            cx.policy(what, 2.0, "", clause);
        }
    }
    Ok(())
}

fn captured(captures: &[Capture]) -> u64 {
    captures.iter().map(|capture| capture.frames).sum()
}

/// Errors of a PFC frame.
const WRONG: [&str; 7] = [
    "another destination",
    "no unicast source, or several",
    "the source of another port or station",
    "another opcode",
    "a vector with a high octet",
    "priorities without PFC",
    "a time of a priority that is not enabled",
];

/// Pauses that a port received.
#[derive(Clone, Debug)]
struct Capture {
    port: Port,
    frames: u64,
    /// Those that pause: a PFC frame of which no priority has a time only resumes.
    pausing: u64,
    /// Source address of the first one.
    source: Option<Mac>,
    short: u64,
    /// MAC control frames with a wrong FCS, where the tester sees them.
    damaged: u64,
    /// Number of frames with each of [`WRONG`].
    wrong: [u64; WRONG.len()],
}

impl Default for Capture {
    fn default() -> Self {
        let (frames, short, damaged, wrong) = (0, 0, 0, [0; WRONG.len()]);
        Self { port: Port(0), frames, pausing: 0, source: None, short, damaged, wrong }
    }
}

impl Capture {
    /// Takes the pauses of a trial.
    fn take(&mut self, cx: &mut Context<'_>, observed: &Observation) {
        // Frames with a wrong FCS are recorded apart from the others.
        let is_damaged = |record: &&Record| {
            let is_control = matches!(record.what, What::Control(_));
            record.port == self.port && record.way == Way::Received && is_control
        };
        self.damaged += observed.damaged.iter().filter(is_damaged).count() as u64;
        for (record, octets) in observed.control(self.port) {
            self.frames += 1;
            if record.len < 64 {
                self.short += 1;
                cx.mark(record, "is below 64 bytes");
            }
            if octets.len() >= TIMES + 2 * PRIORITIES {
                self.frame(cx, record, octets);
            }
        }
    }

    /// Takes a frame with all its fields.
    fn frame(&mut self, cx: &mut Context<'_>, record: &Record, octets: &[u8]) {
        let source = Mac(octets[6..12].try_into().unwrap_or_default());
        // The first source is the one that all others are compared with.
        let first = *self.source.get_or_insert(source);
        let lossless = cx.setup.lossless;
        let enabled = PrioritySet(octets[VECTOR + 1]);
        // A time belongs to a priority whose bit is set, or is reserved and zero.
        let has_time = |n: usize, named: bool| {
            let at = TIMES + 2 * n;
            (enabled.0 >> n & 1 == 1) == named && octets[at..at + 2] != [0, 0]
        };
        let is_pfc = octets[OPCODE..VECTOR] == [0x01, 0x01];
        self.pausing += u64::from(!is_pfc || (0..PRIORITIES).any(|n| has_time(n, true)));
        let is_wrong = [
            octets[..6] != DST,
            source == Mac::default() || source.is_multicast() || source != first,
            is_foreign(cx, self.port, source),
            !is_pfc,
            octets[VECTOR] != 0,
            enabled.0 & !lossless.0 != 0,
            (0..PRIORITIES).any(|n| has_time(n, false)),
        ];
        for ((count, what), _) in
            self.wrong.iter_mut().zip(WRONG).zip(is_wrong).filter(|(_, is_wrong)| *is_wrong)
        {
            *count += 1;
            cx.mark(record, what);
        }
    }

    fn judge(&self, cx: &mut Context<'_>) {
        let name = cx.port(self.port).name.clone();
        // None arrives where each is damaged.
        if self.damaged > 0 {
            cx.cause(format!("pauses at {name} with a wrong FCS"), self.damaged);
        }
        cx.count(format!("pauses at {name}"), self.pausing, Limits::at_least(1.0));
        let what = format!("pauses at {name} below 64 bytes");
        cx.count(what, self.short, Limits::exactly(0.0));
        for (count, what) in self.wrong.iter().zip(WRONG) {
            let what = format!("pauses at {name} with {what}");
            cx.count(what, *count, Limits::exactly(0.0));
        }
    }
}

/// Returns true if a source address is not that of the device's port, or, if that is not known, is one of
/// the tester.
fn is_foreign(cx: &Context<'_>, port: Port, source: Mac) -> bool {
    match cx.port(port).dut_mac {
        Some(own) => source != own,
        None => cx.setup.ports.iter().any(|other| other.mac == source),
    }
}

pub(super) const RENEWED: Test = describe! {
    id: "V-X04",
    title: "a pause is renewed before it ends",
    purpose: "A port that stays out of buffer renews its pauses before they expire at the peer.",
    clause: "802.1Q 36.1.3.1",
    procedure: "A flow on one lossless priority at line rate from A to B. B pauses it for longer than a \
                pause lasts, so that the device fills up and pauses A. A obeys. If there are two lossless \
                priorities, the same with both, while B pauses the other one by turns.",
    pass: "From the first pause on, A receives the next one within the time of a pause less the limit, \
           sends nothing of the priority meanwhile, and no frame is lost.",
    source: "own; gaps in storms of public testers",
    run: renewed,
};

/// Share of the line of each of two flows.
const SHARE_OF_TWO: f64 = 0.45;

fn renewed(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let ends = cx.ports()?;
    cx.lossless()?;
    let lossless = cx.setup.lossless;
    for priority in cx.each_lossless() {
        let mut trial = filling_storm(cx, ends, &[priority], 1.0);
        judge_renewal(cx, &trial, ends, priority)?;
        if let Some(other) = lossless.iter().find(|other| *other != priority) {
            trial = filling_storm(cx, ends, &[priority, other], SHARE_OF_TWO);
            trial.name = format!("{} beside one that comes and goes", trial.name);
            by_turns(cx, &mut trial, ends, other);
            judge_renewal(cx, &trial, ends, priority)?;
        }
    }
    Ok(())
}

/// Returns flows on these priorities, and a storm for the first one.
fn filling_storm(
    cx: &Context<'_>,
    [a, b]: [Port; 2],
    priorities: &[Priority],
    share: f64,
) -> Trial {
    let (times, hold) = (cx.setup.times, storm_time(cx));
    let traffic = times.baseline + hold + times.settle;
    let mut trial = Trial::new("storm until the device is full", traffic + times.drain);
    for priority in priorities {
        let flow = Flow::new((a, b), *priority, Limit::Time(traffic));
        trial.flow(flow.rate(Rate::Line(share)));
    }
    let set = PrioritySet::of(priorities[0]);
    let from = times.baseline;
    trial.storm(b, cx.port(b).mac, cx.setup.rate, set, (from, from + hold));
    trial
}

/// Returns the time of a storm.
fn storm_time(cx: &Context<'_>) -> Duration {
    let window = congestion::window(cx);
    // Several of the longest pauses: the device has to renew its own more than once.
    cx.setup.times.hold.max(window.saturating_mul(4)).min(cx.setup.storm_max())
}

/// Pauses a priority for three quarters of the time, so that the device pauses and resumes it all the time.
fn by_turns(cx: &Context<'_>, trial: &mut Trial, [_, b]: [Port; 2], priority: Priority) {
    let every = congestion::window(cx).div(8);
    let frames = (storm_time(cx).as_picos() / every.as_picos().max(1)) as u32;
    // 3/32 of the longest time in each eighth of it are three quarters.
    let octets = cx.pause(b, PrioritySet::of(priority), Quanta(Quanta::MAX.0 / 32 * 3));
    let start = cx.setup.times.baseline;
    trial.control.push(Control { port: b, octets, start, every, frames });
}

/// Judges the pauses of the first flow's priority.
fn judge_renewal(
    cx: &mut Context<'_>,
    trial: &Trial,
    [a, b]: [Port; 2],
    priority: Priority,
) -> Result<(), TrialError> {
    let baseline = cx.setup.times.baseline;
    let observed = cx.observe(trial)?;
    cx.at_rest(&observed, trial, &(baseline.div(4)..baseline))?;
    // Pauses for the other priority are no part of this storm.
    let stormed = |(_, octets): &(&Record, &[u8])| names(octets, priority);
    let sent: Vec<_> = observed.control_sent(b).filter(stormed).map(|(r, _)| r.end).collect();
    let Some(last) = sent.last() else {
        return Err(TrialError::Error("the tester sent no pause".into()));
    };
    let window = congestion::window(cx);
    // 802.3 allows 100 ppm for each clock.
    let end = *last + window.saturating_sub(window.div(5_000));
    let pauses = congestion::pauses(&observed, a, priority);
    let pauses: Vec<_> = pauses.into_iter().filter(|p| p.stops(priority)).collect();
    let name = &cx.port(a).name.clone();
    let count = pauses.iter().filter(|pause| pause.at < end).count() as u64;
    cx.count(format!("pauses of priority {priority} at {name}"), count, Limits::at_least(2.0));
    let Some(first) = pauses.first() else { return Ok(()) };
    let gap = congestion::largest_gap(&pauses, end).unwrap_or_default();
    let most = window.saturating_sub(cx.setup.stop_limit());
    let limits = Limits::at_most(most.as_nanos_f64());
    cx.time(format!("largest gap between pauses at {name}"), gap, limits, observed.uncertainty);
    let after = first.at + cx.setup.stop_limit();
    let during = observed.of(FlowId(0), Way::Sent).filter(|r| r.begin > after && r.end < end);
    let sent = during.count() as u64;
    let what = format!("frames of priority {priority} sent by {name}");
    cx.count(what, sent, Limits::exactly(0.0));
    for flow in &trial.flows {
        congestion::lossless(cx, &observed, trial, flow.priority);
    }
    Ok(())
}

/// Returns true if a PFC frame names a priority.
fn names(octets: &[u8], priority: Priority) -> bool {
    octets.get(VECTOR + 1).is_some_and(|low| PrioritySet(*low).contains(priority))
}

pub(super) const AHEAD_OF_DATA: Test = describe! {
    id: "V-X08",
    title: "a pause is not held behind data",
    purpose: "A port sends a pause ahead of the frames that wait there, so that it comes within the time \
              that the headroom is made for.",
    clause: "802.1Q 36.1.3.3",
    procedure: "Flows on a lossless priority from A and from B overload C, at first with nothing else, \
                then with the longest frames of a lossy priority from C to A at line rate. Behind real ports \
                five times each.",
    pass: "The first pause at A comes later with the other traffic than without it by one of its frames \
           and 1 us at most; of five times each, in the median.",
    source: "own",
    run: ahead_of_data,
    topology: Topology::T3,
    uncertainty: "Time stamps of the tester, twice; behind real ports also the range of the times without \
                  other traffic, as the frames of two senders mix otherwise in each trial.",
};

/// Trials of each kind behind real ports. A choice: a pause waits for any part of a frame on the line, so one trial
/// may find the longest wait, which is as close to the limit as the time stamps are good.
const REAL_ROUNDS: u32 = 5;

fn ahead_of_data(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b, c] = cx.ports()?;
    let (lossless, lossy) = (cx.lossless()?, cx.lossy()?);
    let plain = congestion::to_one(cx, &[a, b], c, &[lossless], 1.0);
    let mut loaded: Trial = plain.clone();
    let hold = cx.setup.times.hold;
    let back = Flow::new((c, a), lossy, Limit::Time(hold)).size(cx.setup.max_frame);
    loaded.flow(back);
    let mut times = [Vec::new(), Vec::new()];
    let mut uncertainty = Duration::ZERO;
    for round in 0..REAL_ROUNDS {
        for (trial, times) in [&plain, &loaded].into_iter().zip(&mut times) {
            let trial = Trial { round, ..trial.clone() };
            let observed = cx.observe(&trial)?;
            congestion::arrives(cx, &observed, &trial)?;
            let Some(at) = first_pause(&observed, a, lossless) else {
                let name = cx.port(a).name.clone();
                let what = format!("pauses of priority {lossless} at {name}");
                cx.count(what, 0, Limits::at_least(1.0));
                return Ok(());
            };
            times.push(at);
            uncertainty = uncertainty.max(observed.uncertainty);
        }
        // The threshold is crossed by a frame of either sender, whose phases a virtual tester repeats.
        if uncertainty == Duration::ZERO {
            break;
        }
    }
    let most = cx.setup.line_time(cx.setup.max_frame) + Duration::from_micros(1);
    let limits = Limits::at_most(most.as_nanos_f64());
    let (later, uncertainty) = delay(times, uncertainty);
    cx.judge("delay of the pause by data", later, limits, uncertainty, "ns");
    Ok(())
}

/// Returns the difference of the medians of times with other traffic and without it, and its uncertainty by
/// that of each time, in nanoseconds.
fn delay([alone, behind]: [Vec<Duration>; 2], each: Duration) -> (f64, f64) {
    let sorted = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times
    };
    let (alone, behind) = (sorted(alone), sorted(behind));
    let median = |times: &[Duration]| {
        percentile(times, 50).expect("there is a time for each round").as_nanos_f64()
    };
    let range = alone[alone.len() - 1].saturating_sub(alone[0]);
    (median(&behind) - median(&alone), (each.saturating_mul(2) + range).as_nanos_f64())
}

fn first_pause(observed: &Observation, port: Port, priority: Priority) -> Option<Duration> {
    observed.pauses(port).find(|pause| pause.stops(priority)).map(|pause| pause.at)
}

pub(super) const HYSTERESIS: Test = describe! {
    id: "V-X09",
    title: "rate of pauses, and hysteresis",
    purpose: "XON is sent at least a frame below XOFF, so that pauses do not come frame by frame.",
    clause: "802.1Q 36.1.3.1; the distance is left to the device",
    procedure: "Flows on one lossless priority from A and from B load C with 60 % each, and the pauses of A \
                and B are counted. Then the bytes from XOFF down to XON are searched as in V-H03.",
    pass: "Both are paused, and no frame is lost. XON is sent at least one frame of 1,024 bytes, in whole cells \
           (`expected.cell`), below XOFF. The pauses per second are recorded.",
    source: "SAI XonHysteresis; sonic-mgmt issue 7058",
    run: hysteresis,
    aliases: &["XonHysteresis"],
    topology: Topology::T3,
    uncertainty: "One frame, which is one cell.",
};

/// Share of the line of each sender.
const SHARE_OF_SENDER: f64 = 0.6;

/// Bytes of the frame that the hysteresis is compared with.
const FRAME: u32 = 1024;

fn hysteresis(cx: &mut Context<'_>) -> Result<(), TrialError> {
    cx.lossless()?;
    let cell = fill::cell(cx)?;
    for priority in cx.each_lossless() {
        pause_rate(cx, priority)?;
        let ports = cx.ports()?;
        let Some(point) = fill::xon_point(cx, ports, priority)? else { continue };
        // A frame uses whole cells.
        let limits = Limits::at_least(f64::from(FRAME.div_ceil(cell) * cell));
        let what = format!("bytes of priority {priority} from XOFF down to XON");
        cx.judge(what, point.offset() * f64::from(cell), limits, 0.0, "bytes");
    }
    Ok(())
}

/// Counts the pauses of two senders that overload a port by a fifth.
fn pause_rate(cx: &mut Context<'_>, priority: Priority) -> Result<(), TrialError> {
    let [a, b, c] = cx.ports()?;
    let trial = congestion::to_one(cx, &[a, b], c, &[priority], SHARE_OF_SENDER);
    let observed = cx.observe(&trial)?;
    congestion::arrives(cx, &observed, &trial)?;
    for port in [a, b] {
        let name = cx.port(port).name.clone();
        let pauses = congestion::pauses(&observed, port, priority);
        let count = congestion::begins(&pauses, priority);
        let what = format!("pauses of priority {priority} at {name}");
        cx.count(what, count, Limits::at_least(1.0));
        let what = format!("rate of the pauses of priority {priority} at {name}");
        let rate = count as f64 / cx.setup.times.hold.as_secs_f64();
        cx.policy(what, rate, "1/s", "802.1Q leaves the thresholds to the device");
    }
    congestion::lossless(cx, &observed, &trial, priority);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::{Measurement, Outcome};

    /// Judges times in microseconds by a limit of 13.3 us.
    fn judged(alone: [u64; 5], behind: [u64; 5]) -> Outcome {
        let times = [alone, behind].map(|times| times.map(Duration::from_micros).to_vec());
        let (later, u) = delay(times, Duration::from_micros(1));
        Measurement::judge("delay", later, Limits::at_most(13_300.0), u, "ns").outcome
    }

    #[test]
    fn waits_for_a_part_of_a_frame_pass_and_those_for_whole_frames_fail() {
        let even = [100, 101, 100, 101, 101];
        assert_eq!(judged(even, [101, 113, 105, 107, 110]), Outcome::Pass);
        assert_eq!(judged(even, [113, 125, 117, 119, 122]), Outcome::Fail);
        assert_eq!(judged(even, [101, 113, 111, 112, 113]), Outcome::Inconclusive);
    }

    #[test]
    fn times_that_differ_by_themselves_judge_nothing() {
        let uneven = [100, 104, 108, 112, 100];
        assert_eq!(judged(uneven, [101, 113, 105, 107, 110]), Outcome::Inconclusive);
        assert_eq!(judged(uneven, [113, 125, 117, 119, 122]), Outcome::Inconclusive);
    }
}
