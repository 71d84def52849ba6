//! V-C01: counters of PFC frames.

use super::{congestion, counted, stop};
use crate::bench::Trouble;
use crate::counters::{Counter, Counters};
use crate::judge::Limits;
use crate::setup::XonCount;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, Limit, Obeys, Port, Rate, Trial, pause_frame, pfc_frame};
use ground::time::Duration;
use ground::units::{Priority, PrioritySet, Quanta};

pub const TEST: Test = Test {
    id: "V-C01",
    aliases: &["pfc_counters", "L15"],
    title: "PFC frames are counted",
    purpose: "A port counts each PFC frame that it receives or sends, for the priorities that it names, and no \
              other frame as one.",
    clause: "802.1Q 12.23 (counts of PFC requests and indications); by priority as SAI does",
    topology: Topology::T2,
    procedure: "B sends frames that pause one priority each, 10 to 17 of them; as many that resume it; 10 that \
                pause all; 10 PAUSE frames; and 10,000 pauses of a lossless priority, at level full 1,000,000. Data from B to A show \
                that the port is the right one. At last B pauses a lossless priority until the device \
                pauses A, and the pauses that A receives are counted.",
    pass: "The device's counters of received PFC frames are the numbers sent, with those that resume as \
           `expected.xon` says; PAUSE is not in them. Of a priority without PFC at most the number sent is \
           counted. The counter of sent frames is the number that A received. Totals of a port, if the device has \
           them, are the numbers of frames: each is counted once, and one that resumes as well.",
    uncertainty: "None: counts.",
    source: "sonic-mgmt pfc_counters, L15; sonic-buildimage issue 5540",
    level: Level::Quick,
    run,
    line: line!(),
};

/// Frames for priority 0; each other one gets one frame more than that before it.
const FRAMES: u32 = 10;

/// Time of these pauses: the device is not stopped for long.
const SHORT: Quanta = Quanta(16);

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    cx.lossless()?;
    // Without a counter of received frames the other trials with them would show nothing.
    if each_priority(cx, "XOFF for each priority", SHORT)? {
        each_priority(cx, "XON for each priority", Quanta(0))?;
        together(cx)?;
        pause(cx)?;
        storm(cx)?;
    }
    sent(cx)
}

/// Returns the number of frames for a priority.
fn frames(priority: Priority) -> u32 {
    FRAMES + u32::from(priority.get())
}

/// Judges frames for one priority each. Returns false if no counter of them is known.
fn each_priority(cx: &mut Context<'_>, name: &str, time: Quanta) -> Result<bool, Trouble> {
    let [a, b] = cx.ports()?;
    let mac = cx.port(b).mac;
    let each = Priority::ALL.map(|p| (pfc_frame(mac, &[(p, time)]), frames(p)));
    let trial = counted::control(cx, (b, a), (name, cx.lossy()?), each, counted::EVERY);
    let (_, counters) = cx.count_over(trial)?;
    for priority in Priority::ALL {
        let what = format!("counted {name}, priority {priority}");
        let sent = frames(priority);
        if time > Quanta(0) {
            judge(cx, &what, &counters, (b, priority, Counter::PfcRx), sent);
        } else {
            xon(cx, &what, &counters, (b, priority));
        }
    }
    let mut lossless = cx.setup.lossless.iter();
    let of_priority = lossless.any(|p| counters.get(b, Some(p), Counter::PfcRx).is_some());
    Ok(of_priority || counters.get(b, None, Counter::PfcRxAll).is_some())
}

/// Judges frames for all priorities at once.
fn together(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    let frame = pfc_frame(cx.port(b).mac, &Priority::ALL.map(|p| (p, SHORT)));
    let name = ("XOFF for all priorities", cx.lossy()?);
    let trial = counted::control(cx, (b, a), name, [(frame, FRAMES)], counted::EVERY);
    let (_, counters) = cx.count_over(trial)?;
    for priority in Priority::ALL {
        let what = format!("counted XOFF for all priorities, priority {priority}");
        judge(cx, &what, &counters, (b, priority, Counter::PfcRx), FRAMES);
    }
    total(cx, &counters, (b, Counter::PfcRxAll), ("XOFF for all priorities", FRAMES));
    Ok(())
}

/// Judges a total of a port; not every device has one.
fn total(
    cx: &mut Context<'_>,
    counters: &Counters,
    (port, counter): (Port, Counter),
    (name, frames): (&str, u32),
) {
    if counters.get(port, None, counter).is_some() {
        let what = format!("counted frames in total, {name}");
        let limits = Limits::exactly(f64::from(frames));
        cx.judge_counter(what, counters, ((port, None), counter), limits);
    }
}

/// Judges a counter of PFC frames: exactly for a lossless priority.
fn judge(
    cx: &mut Context<'_>,
    what: &str,
    counters: &Counters,
    (port, priority, counter): (Port, Priority, Counter),
    sent: u32,
) {
    let sent = f64::from(sent);
    let is_lossless = cx.setup.lossless.contains(priority);
    if !is_lossless && counters.get(port, Some(priority), counter).is_none() {
        return;
    }
    let limits = if is_lossless { Limits::exactly(sent) } else { Limits::at_most(sent) };
    cx.judge_counter(what, counters, ((port, Some(priority)), counter), limits);
}

/// Judges frames that resume a priority, as the device documents them.
fn xon(cx: &mut Context<'_>, what: &str, counters: &Counters, (port, priority): (Port, Priority)) {
    let sent = frames(priority);
    let (in_all, apart) = match cx.setup.expected.xon {
        Some(XonCount::Counted) => (sent, None),
        Some(XonCount::Apart) => (0, Some(sent)),
        Some(XonCount::Ignored) => (0, None),
        None => {
            if let Some(n) = counters.get(port, Some(priority), Counter::PfcRx) {
                let clause = "`expected.xon` does not say if they are counted";
                cx.policy(what, n as f64, "", clause);
            }
            return;
        }
    };
    judge(cx, what, counters, (port, priority, Counter::PfcRx), in_all);
    if let Some(sent) = apart {
        judge(cx, &format!("{what}, apart"), counters, (port, priority, Counter::PfcRxXon), sent);
    }
}

/// Judges that PAUSE is not counted as PFC.
fn pause(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    let frame = pause_frame(cx.port(b).mac, SHORT);
    let name = ("PAUSE frames", cx.lossy()?);
    let trial = counted::control(cx, (b, a), name, [(frame, FRAMES)], counted::EVERY);
    let (_, counters) = cx.count_over(trial)?;
    for priority in cx.setup.lossless.iter() {
        let what = format!("PAUSE frames counted as PFC of priority {priority}");
        judge(cx, &what, &counters, (b, priority, Counter::PfcRx), 0);
    }
    total(cx, &counters, (b, Counter::PfcRxAll), ("PAUSE frames", 0));
    if let Some(n) = counters.get(b, None, Counter::PauseRx) {
        let clause = "802.1Q 36.1.1 is silent about counting PAUSE where PFC is on";
        cx.policy("PAUSE frames counted as PAUSE", n as f64, "", clause);
    }
    Ok(())
}

/// Judges a long storm.
fn storm(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    let priority = cx.lossless()?;
    let frames = cx.by_level(10_000, 1_000_000);
    let octets = pfc_frame(cx.port(b).mac, &[(priority, SHORT)]);
    let name = ("storm", cx.lossy()?);
    let every = Duration::from_micros(10).max(cx.setup.line_time(64).saturating_mul(4));
    let trial = counted::control(cx, (b, a), name, [(octets, frames)], every);
    let (_, counters) = cx.count_over(trial)?;
    let what = format!("counted pauses of priority {priority} in a storm");
    judge(cx, &what, &counters, (b, priority, Counter::PfcRx), frames);
    total(cx, &counters, (b, Counter::PfcRxAll), ("storm", frames));
    Ok(())
}

/// Judges the pauses that the device sends.
fn sent(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    let priority = cx.lossless()?;
    let times = cx.setup.times;
    let hold = times.hold.min(cx.setup.storm_max());
    let traffic = times.baseline + hold;
    let mut trial = Trial::new("pauses of the device", traffic + times.drain);
    let flow = Flow::new((a, b), priority, Limit::Time(traffic));
    trial.flow(flow.rate(Rate::Line(cx.setup.load)));
    trial.obeys.push((a, Obeys::Pfc(Quanta(0))));
    stop::add(cx, &mut trial, (b, PrioritySet::of(priority)), (times.baseline, hold));
    let (seen, counters) = cx.count_over(trial)?;
    let pauses = congestion::pauses(&seen, a, priority).len();
    let what = format!("counted pauses of priority {priority} that the device sends");
    if pauses == 0 {
        cx.skip(what, "the device does not fill up and pause A");
        return Ok(());
    }
    judge(cx, &what, &counters, (a, priority, Counter::PfcTx), pauses as u32);
    let all = seen.pauses(a).count() as u32;
    total(cx, &counters, (a, Counter::PfcTxAll), ("pauses of the device", all));
    Ok(())
}
