//! How long a port stops: for the time in the last pause, in quanta of its link, and how soon after a pause
//! it has stopped.

use super::storm;
use crate::bench::TrialError;
use crate::judge::Limits;
use crate::observation::{Observation, Record, Way};
use crate::setup::Times;
use crate::test::{Context, Level, Test};
use crate::trial::{Flow, FlowId, Limit, LinkChange, Trial};
use ground::rand::Rng;
use ground::statistics::percentile;
use ground::time::Duration;
use ground::units::{Priority, PrioritySet, Quanta};
use std::collections::HashMap;

/// Length of the frames in bytes.
const SIZE: u32 = 1024;

pub(super) const SINGLE_PAUSE: Test = describe! {
    id: "V-R05",
    title: "one pause lasts for its time, and ends by itself",
    purpose: "A port stops for the time in the frame, counted in quanta of 512 bit times of its link, and \
              resumes without another frame.",
    clause: "802.3 31B.3.2, 802.1Q 36.1.3.2",
    procedure: "A flow on one lossless priority at line rate from A to B. B sends single pauses of 1 to \
                65535 quanta, each after the one before is over.",
    pass: "The line is silent for the time of the pause, within {pause}, or within 3 quanta and a frame if \
           that is more.",
    source: "sonic-mgmt L04",
    run: single_pause,
    aliases: &["L04"],
    uncertainty: "Time stamps of the tester, and the frame that was being sent.",
    level: Level::Quick,
};

/// Pause times.
const QUICK_QUANTA: &[u16] = &[1000, 16_384, 65_535];
const FULL_QUANTA: &[u16] = &[1, 10, 30, 100, 1000, 16_384, 32_768, 65_535];

pub(super) fn single_pause(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let (values, times) = (cx.by_level(QUICK_QUANTA, FULL_QUANTA), cx.by_level(3, 100));
    pauses(cx, values, times, Before::Nothing)
}

/// Event before the pauses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    /// The link of B goes down and comes up.
    LinkFailure,
}

/// Judges single pauses of these values, a number of times each.
fn pauses(
    cx: &mut Context<'_>,
    values: &[u16],
    times: u64,
    before: Before,
) -> Result<(), TrialError> {
    cx.stopped()?;
    for priority in cx.each_stopped() {
        for quanta in values {
            let mut silences = Silences::of(priority, Quanta(*quanta));
            let added = silences.add_all(cx, times, before);
            // Also those before a trial that could not be run.
            if added.is_ok() || !silences.all.is_empty() {
                silences.judge(cx);
            }
            // Shorter pauses, and those of other priorities, can still be tried.
            match added {
                Err(TrialError::Missing(why)) => {
                    cx.skip(format!("pauses of {quanta} quanta of priority {priority}"), &why);
                }
                other => other?,
            }
        }
    }
    Ok(())
}

/// Returns the time from a pause to the next: it is over long before.
fn period(cx: &Context<'_>, quanta: Quanta) -> Duration {
    // Also for the shortest pauses time is left for the reaction, and for frames between them.
    let least = cx.setup.line_time(SIZE).saturating_mul(16) + cx.setup.stop_limit();
    quanta.at(cx.setup.rate).saturating_mul(2) + least
}

/// Runs a trial with a number of pauses, and returns it with its flow.
fn observe_pauses(
    cx: &mut Context<'_>,
    priority: Priority,
    quanta: Quanta,
    times: u64,
    before: Before,
) -> Result<(Observation, FlowId), TrialError> {
    let [a, b] = cx.ports()?;
    let every = period(cx, quanta);
    let Times { baseline, settle, drain, .. } = cx.setup.times;
    let start = match before {
        Before::Nothing => Duration::ZERO,
        Before::LinkFailure => settle.saturating_mul(4),
    };
    let traffic = baseline + every.saturating_mul(times + 1);
    let mut trial = Trial::new(format!("pauses of {} quanta", quanta.0), start + traffic + drain);
    if before == Before::LinkFailure {
        trial.links.push(LinkChange { port: b, at: settle, up: false });
        trial.links.push(LinkChange { port: b, at: settle.saturating_mul(2), up: true });
        // A device may forget the address of B with its link, and flood or drop until it hears from B.
        trial.frame(b, storm::hello(cx.port(b).mac), settle.saturating_mul(3));
    }
    let flow = Flow::new((a, b), priority, Limit::Time(traffic)).size(SIZE).start(start);
    let flow = trial.flow(flow);
    let baseline = start + baseline;
    for n in 0..times {
        let at = baseline + every.saturating_mul(n);
        trial.frame(b, cx.pause(b, PrioritySet::of(priority), quanta), at);
    }
    let observed = cx.observe(&trial)?;
    let rest = start + cx.setup.times.baseline.div(4)..baseline;
    cx.at_rest(&observed, &trial, &rest)?;
    Ok((observed, flow))
}

/// Times without a frame after pauses of one length, of all trials.
struct Silences {
    priority: Priority,
    quanta: Quanta,
    all: Vec<Duration>,
    /// Those at whose end no frame had waited, which may be longer than the pause.
    unfed: Vec<Duration>,
    uncertainty: Duration,
    /// Limits for a NIC, whose traffic need not fill the line.
    limits: Option<Limits>,
    /// True if a NIC sends too seldom for pauses of this length.
    is_idle: bool,
}

impl Silences {
    /// Returns no times yet, of pauses of one priority.
    fn of(priority: Priority, quanta: Quanta) -> Self {
        let (all, unfed) = (Vec::new(), Vec::new());
        let (uncertainty, limits, is_idle) = (Duration::ZERO, None, false);
        Self { priority, quanta, all, unfed, uncertainty, limits, is_idle }
    }

    /// Runs trials with a number of pauses in all, each with as many as captures have room for, until one does
    /// not end.
    fn add_all(
        &mut self,
        cx: &mut Context<'_>,
        times: u64,
        before: Before,
    ) -> Result<(), TrialError> {
        let fit = cx.setup.periods(period(cx, self.quanta));
        let mut left = times;
        // A pause without an end leaves none of those behind it to be measured.
        while left > 0 && !self.all.contains(&Duration::MAX) {
            let now = left.min(fit);
            let (observed, flow) = observe_pauses(cx, self.priority, self.quanta, now, before)?;
            if cx.is_at_nic() {
                self.of_nic(cx, &observed, flow);
            } else {
                self.of_switch(cx, &observed, flow)?;
            }
            left -= now;
        }
        Ok(())
    }

    /// Adds pauses of traffic that need not fill the line: from the last bit of each to the next frame.
    fn of_nic(&mut self, cx: &Context<'_>, observed: &Observation, flow: FlowId) {
        let quanta = self.quanta;
        // A frame that was not due in the pause says nothing about its end.
        if quanta.at(cx.setup.rate)
            < cx.interval(observed, flow).saturating_mul(2) + cx.setup.stop_limit()
        {
            self.is_idle = true;
            return;
        }
        let [_, b] = cx.ports().expect("the test has checked it");
        let begins = observed.begins(flow);
        let after = |(record, _): (&Record, _)| {
            let next = storm::resumed(cx, &begins, record.end);
            next.map_or(Duration::MAX, |next| next.saturating_sub(record.end))
        };
        self.all.extend(observed.control_sent(b).map(after));
        self.limits = Some(storm::end_limits(cx, quanta, SIZE));
        self.uncertainty = self.uncertainty.max(observed.uncertainty);
    }

    /// Adds pauses of the tester's traffic at line rate.
    fn of_switch(
        &mut self,
        cx: &Context<'_>,
        observed: &Observation,
        flow: FlowId,
    ) -> Result<(), TrialError> {
        let [_, b] = cx.ports()?;
        let wanted = self.quanta.at(cx.setup.rate);
        let sent: HashMap<u64, Duration> = observed
            .of(flow, Way::Sent)
            .filter_map(|r| Some((r.what.sequence()?, r.end)))
            .collect();
        let frames: Vec<&Record> = observed.of(flow, Way::Received).collect();
        let pauses: Vec<Duration> =
            observed.control_sent(b).map(|(record, _)| record.end).collect();
        // A DUT whose own pause of A left it without a frame is silent for longer: the frame after the
        // silence has not waited.
        let delay = |record: &Record| {
            let sent = record.what.sequence().and_then(|sequence| sent.get(&sequence));
            sent.map(|sent| record.begin.saturating_sub(*sent))
        };
        // The shortest delay is that of a frame that has not waited.
        let least = frames.iter().filter_map(|record| delay(record)).min().unwrap_or_default();
        let starved = |gap: Duration, next: Option<&Record>| {
            let waited = next.and_then(delay).map(|delay| delay.saturating_sub(least));
            // A frame that waited for less than half of the pause came too late to show where it ended.
            gap > wanted && waited.is_some_and(|waited| waited < wanted.div(2))
        };
        let gaps = pauses.iter().map(|at| silence(cx, &frames, *at, wanted));
        for (gap, next) in gaps {
            let to = if starved(gap, next) { &mut self.unfed } else { &mut self.all };
            to.push(gap);
        }
        self.uncertainty = self.uncertainty.max(observed.uncertainty);
        Ok(())
    }

    /// Judges the shortest and the longest.
    fn judge(&self, cx: &mut Context<'_>) {
        let Self { priority, quanta, .. } = *self;
        let wanted = quanta.at(cx.setup.rate).as_nanos_f64();
        let least = Quanta(3).at(cx.setup.rate) + cx.setup.line_time(SIZE);
        let tolerance = (wanted * cx.setup.limits.pause).max(least.as_nanos_f64());
        let limits = self.limits.unwrap_or_else(|| Limits::around(wanted, tolerance));
        // Both ends of a silence have a time stamp.
        let u = self.uncertainty.saturating_mul(2);
        let judged =
            if self.all.is_empty() { self.short_enough(limits, u) } else { self.all.clone() };
        let ends = [("shortest", judged.iter().min()), ("longest", judged.iter().max())];
        for (name, value) in ends {
            let Some(value) = value else { continue };
            let what = format!("{name} silence of priority {priority} for {} quanta", quanta.0);
            cx.time(what, *value, limits, u);
        }
        if judged.is_empty() && !self.is_idle {
            // A pause may be too short to be seen beside the gaps of a tester in software.
            let what = format!("pauses of {} quanta for whose end a frame waited", quanta.0);
            cx.judge(what, 0.0, Limits::at_least(1.0), 1.0, "");
        }
    }

    /// Returns the silences without a waiting frame that are not too long, if none can be too short: the pause was
    /// no longer than they are. One that is too long says nothing.
    fn short_enough(&self, limits: Limits, u: Duration) -> Vec<Duration> {
        if limits.at_least.is_some_and(|least| least > 0.0) {
            return Vec::new();
        }
        let most = limits.at_most.unwrap_or(f64::INFINITY);
        let fits = |gap: &&Duration| (**gap + u).as_nanos_f64() <= most;
        self.unfed.iter().filter(fits).copied().collect()
    }
}

/// Returns the longest time without a frame that begins within the limit after a pause, and the frame
/// that ends it.
fn silence<'a>(
    cx: &Context<'_>,
    frames: &[&'a Record],
    at: Duration,
    wanted: Duration,
) -> (Duration, Option<&'a Record>) {
    let frame = cx.setup.line_time(SIZE);
    // A frame that has begun when the pause arrives is sent to its end.
    let from = at.saturating_sub(frame);
    let until = at + cx.setup.stop_limit() + frame + wanted.div(8);
    let start = frames.partition_point(|record| record.end < from);
    let pairs = frames[start.saturating_sub(1)..].windows(2);
    let near = pairs.take_while(|pair| pair[0].end <= until);
    let gaps = near.map(|pair| (pair[1].begin.saturating_sub(pair[0].end), Some(pair[1])));
    gaps.max_by_key(|(gap, _)| *gap).unwrap_or((Duration::MAX, None))
}

pub(super) const REACTION_TIME: Test = describe! {
    id: "V-R06",
    title: "time to react to a pause",
    purpose: "A port has stopped a priority within the limit of its rate after the last bit of a pause.",
    clause: "802.3 31B.3.7",
    procedure: "A flow on one lossless priority at line rate from A to B. B sends single pauses at random \
                phases of the frames.",
    pass: "The last frame before the silence begins within the limit and the cable's delay.",
    source: "802.3 31B.3.7",
    run: reaction_time,
    level: Level::Quick,
};

pub(super) fn reaction_time(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    cx.stopped()?;
    let times = cx.by_level(20, 1000);
    for priority in cx.each_stopped() {
        let frame = cx.setup.line_time(SIZE);
        // A pause must be longer than the limit, so that the silence after it is seen.
        let quanta = Quanta(cx.setup.limits.reaction.0.saturating_mul(2).max(100));
        let pause = quanta.at(cx.setup.rate) + frame.saturating_mul(2);
        let every = pause.saturating_mul(3);
        let baseline = cx.setup.times.baseline;
        let traffic = baseline + every.saturating_mul(times + 1);
        let mut trial = Trial::new("pauses at random phases", traffic + cx.setup.times.drain);
        let flow = trial.flow(Flow::new((a, b), priority, Limit::Time(traffic)).size(SIZE));
        let mut rng = Rng::new(cx.setup.seed);
        for n in 0..times {
            // A port reacts between two frames, so the time depends on where in a frame the pause arrives.
            let phase = Duration::from_picos(rng.next_u64() % frame.as_picos().max(1));
            let at = baseline + every.saturating_mul(n) + phase;
            trial.frame(b, cx.pause(b, PrioritySet::of(priority), quanta), at);
        }
        let observed = cx.observe(&trial)?;
        cx.at_rest(&observed, &trial, &(baseline.div(4)..baseline))?;
        let frames: Vec<&Record> = observed.of(flow, Way::Received).collect();
        let pauses: Vec<Duration> =
            observed.control_sent(b).map(|(record, _)| record.end).collect();
        let quiet = quanta.at(cx.setup.rate).div(2);
        // After a pause that does not end, later ones stop nothing.
        let last = frames.last().map_or(Duration::ZERO, |record| record.begin);
        let ended = pauses.partition_point(|at| *at + quiet < last);
        let obeyed = &pauses[..pauses.len().min(ended + 1)];
        if ended < pauses.len() {
            cx.cause(format!("pauses of priority {priority} without an end"), 1);
        }
        let mut reactions: Vec<Duration> =
            obeyed.iter().filter_map(|at| reaction(&frames, *at, quiet, traffic)).collect();
        reactions.sort_unstable();
        let none = (obeyed.len() - reactions.len()) as u64;
        let what = format!("pauses of priority {priority} without a reaction");
        cx.count(what, none, Limits::exactly(0.0));
        let limits = Limits::at_most(cx.setup.stop_limit().as_nanos_f64());
        let at = |part| percentile(&reactions, part);
        let values = [("median", at(50)), ("99 %", at(99)), ("longest", reactions.last().copied())];
        for (name, value) in values {
            let Some(value) = value else { continue };
            let what = format!("{name} reaction of priority {priority}");
            cx.time(what, value, limits, observed.uncertainty);
        }
    }
    Ok(())
}

/// Returns the time from a pause to the beginning of the last frame before the line was quiet; `None`
/// if it never was before the end of the traffic.
fn reaction(frames: &[&Record], at: Duration, quiet: Duration, end: Duration) -> Option<Duration> {
    let start = frames.partition_point(|record| record.begin < at);
    let mut last = at;
    for record in &frames[start..] {
        if record.begin.saturating_sub(last) >= quiet {
            return Some(last.saturating_sub(at));
        }
        last = record.begin;
    }
    (end.saturating_sub(last) >= quiet).then(|| last.saturating_sub(at))
}

pub(super) const REPLACED_TIME: Test = describe! {
    id: "V-R07",
    title: "a new pause time replaces the old one",
    purpose: "A PFC frame for a priority that is paused sets its time anew: the times are \
              neither added, nor does the longest win. One for other priorities leaves it as it is.",
    clause: "802.3 31B.3.2, 802.1Q 36.1.3.2",
    procedure: "A flow on one lossless priority at line rate from A to B. B sends a long pause \
                and in the middle of it a short one; a short and then a long one; three \
                short ones in a row; and a short one, in the middle of it a long one for all other priorities.",
    pass: "The first frame begins when the last pause of the priority is over, within {pause}, or 3 quanta and a \
           frame if that is more, and the limit.",
    source: "Intel LL 10G MAC guide 4.6.1.1; UNH-IOL 31B",
    run: replaced_time,
};

/// Pauses in a row: the time of each, its distance from the one before as a share of the first, and the
/// priorities that it names.
type Row = [(Quanta, f64, Named)];

/// The priorities that a pause names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    /// The one of the test.
    Own,
    /// All but that.
    Others,
}

fn replaced_time(cx: &mut Context<'_>) -> Result<(), TrialError> {
    cx.lossless()?;
    // So long that the time within which a port reacts does not hide a wrong end.
    let short = Quanta(storm::limit_quanta(cx).saturating_mul(4).clamp(1000, 16_000) as u16);
    let (long, own) = (Quanta::MAX, Named::Own);
    let rows: [(&str, &Row); 4] = [
        ("a long pause, then a short one", &[(long, 0.0, own), (short, 0.5, own)]),
        ("a short pause, then a long one", &[(short, 0.0, own), (long, 0.5, own)]),
        ("three short pauses", &[(short, 0.0, own), (short, 0.3, own), (short, 0.3, own)]),
        ("a short pause, then one of others", &[(short, 0.0, own), (long, 0.5, Named::Others)]),
    ];
    for priority in cx.each_lossless() {
        for (name, row) in rows {
            judge_row(cx, priority, name, row)?;
        }
    }
    Ok(())
}

fn judge_row(
    cx: &mut Context<'_>,
    priority: Priority,
    name: &str,
    row: &Row,
) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    let (baseline, times) = (cx.setup.times.baseline, cx.by_level(1, 10));
    // Distances are parts of the first pause, which lasts when the second one comes.
    let first = row[0].0.at(cx.setup.rate);
    let step = |share: f64| Duration::from_nanos_f64(first.as_nanos_f64() * share);
    let longest = row.iter().map(|(time, share, _)| time.at(cx.setup.rate) + step(*share));
    // The sum of all: a DUT that adds them is over by then, too.
    let every = longest.fold(cx.setup.stop_limit(), |sum, one| sum + one).saturating_mul(2);
    let traffic = baseline + every.saturating_mul(times);
    let mut trial = Trial::new(name, traffic + cx.setup.times.drain);
    let flow = trial.flow(Flow::new((a, b), priority, Limit::Time(traffic)));
    for n in 0..times {
        let mut at = baseline + every.saturating_mul(n);
        for (time, share, named) in row {
            at += step(*share);
            let is_named = |p: &Priority| (*p == priority) == (*named == Named::Own);
            let times = Priority::ALL.into_iter().filter(is_named).map(|p| (p, *time));
            trial.pfc(b, cx.port(b).mac, &times.collect::<Vec<_>>(), at);
        }
    }
    let observed = cx.observe(&trial)?;
    cx.at_rest(&observed, &trial, &(baseline.div(4)..baseline))?;
    judge_ends(cx, &observed, flow, name, row);
    Ok(())
}

/// Judges the end of each row of pauses.
fn judge_ends(cx: &mut Context<'_>, observed: &Observation, flow: FlowId, name: &str, row: &Row) {
    let last = row.iter().rposition(|(_, _, named)| *named == Named::Own).unwrap_or(0);
    let [_, b] = cx.ports().expect("the test has checked it");
    let begins = observed.begins(flow);
    let sent: Vec<Duration> = observed.control_sent(b).map(|(record, _)| record.end).collect();
    let rows = sent.chunks_exact(row.len());
    let after = |row: &[Duration]| {
        let resumed = storm::resumed(cx, &begins, row[0]);
        let last = row[last].as_nanos_f64();
        resumed.map_or(f64::INFINITY, |resumed| resumed.as_nanos_f64() - last)
    };
    let times: Vec<f64> = rows.map(after).collect();
    let limits = storm::end_limits(cx, row[last].0, storm::SIZE);
    let u = observed.uncertainty.saturating_mul(2).as_nanos_f64();
    let shortest = times.iter().copied().fold(f64::INFINITY, f64::min);
    let longest = times.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for (which, value) in [("shortest", shortest), ("longest", longest)] {
        // Results have no infinity: a long time stands for a pause that did not end.
        let what = format!("{which} silence after the last of {name}");
        cx.judge(what, value.min(never(cx)), limits, u, "ns");
    }
}

/// Time in nanoseconds of a pause that did not end.
fn never(cx: &Context<'_>) -> f64 {
    Quanta::MAX.at(cx.setup.rate).as_nanos_f64() * 1e3
}

pub(super) const QUANTUM: Test = describe! {
    id: "V-R12",
    title: "a quantum is 512 bit times of the link",
    purpose: "A port counts pauses in bit times of the rate that its link has, not of another one.",
    clause: "802.3 31B.2, 802.1Q 36.1.3.2",
    procedure: "As V-R05, with 10000 quanta, at the rate of the DUT file, and again after the link of B \
                has gone down and come up. Run it with a file for each rate of the port, and after \
                each change of the rate, of FEC and of the medium: these changes are not made by \
                the test.",
    pass: "As V-R05.",
    source: "sonic-swss 1586, sonic-mgmt 21360, sonic-buildimage 24180",
    run: quantum,
};

/// Pause time.
const QUANTUM_QUANTA: [u16; 1] = [10_000];

fn quantum(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let times = cx.by_level(3, 20);
    pauses(cx, &QUANTUM_QUANTA, times, Before::Nothing)?;
    // A tester that cannot take its link down has judged the pauses before.
    match pauses(cx, &QUANTUM_QUANTA, times, Before::LinkFailure) {
        Err(TrialError::Missing(why)) => cx.skip("pauses after a link failure", &why),
        other => return other,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pause of one quantum at 1 Gb/s is shorter than the gaps of a tester in software.
    #[test]
    fn a_gap_without_a_waiting_frame_passes_a_short_pause_and_fails_none() {
        let u = Duration::from_micros(1);
        let gaps = |micros: &[u64]| Silences {
            unfed: micros.iter().map(|n| Duration::from_micros(*n)).collect(),
            ..Silences::of(Priority::ALL[0], Quanta(1))
        };
        let short = Limits::around(512.0, 9_900.0);
        let fits = gaps(&[2, 9, 50]).short_enough(short, u);
        assert_eq!(fits, gaps(&[2, 9]).unfed);
        assert!(gaps(&[50]).short_enough(short, u).is_empty(), "nothing is known");
        // A pause that could be too short needs a frame that waited for its end.
        assert!(gaps(&[15]).short_enough(Limits::around(15_360.0, 9_900.0), u).is_empty());
    }
}
