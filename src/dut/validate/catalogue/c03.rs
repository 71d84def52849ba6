//! V-C03: counters of paused time.

use super::stop;
use crate::bench::Trouble;
use crate::counters::Counter;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Control, Flow, Limit, Rate, Trial, pfc_frame};
use ground::units::{Priority, Quanta};

pub const TEST: Test = Test {
    id: "V-C03",
    aliases: &["pfc_duration_counter"],
    title: "paused time is counted in time",
    purpose: "The counter of the time for which a priority was paused is a time, whatever the rate of the link.",
    clause: "802.1Q 36.1.3.2 and 802.3 31D.3 (a pause ends after its time); the counter as SAI's",
    topology: Topology::T2,
    procedure: "As V-R13: B pauses a lossless priority for 10, 25, 50, 75 and 90 % of the time (one pause in \
                70,000 quanta), while A sends on it at 5 % of the line. 100 pauses each, at level full 1,000, as \
                far as `times.hold` is long enough.",
    pass: "The device's counter of paused time is the sum of the pauses within 5 %.",
    uncertainty: "None: the pauses do not overlap, so their lengths are those that they name.",
    source: "sonic-mgmt issue 27667; sonic-swss issue 1586",
    level: Level::Quick,
    run,
    line: line!(),
};

/// Share of the line of the paused flow.
const SHARE: f64 = 0.05;

/// Largest deviation, as a fraction.
const DEVIATION: f64 = 0.05;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    cx.lossless()?;
    for priority in cx.each_lossless() {
        // One that is unknown after a trial is so after the others.
        for duty in stop::DUTIES {
            if !judge(cx, priority, duty)? {
                break;
            }
        }
    }
    Ok(())
}

/// Judges one part of the time. Returns false if the counter is unknown.
fn judge(cx: &mut Context<'_>, priority: Priority, duty: u64) -> Result<bool, Trouble> {
    let [a, b] = cx.ports()?;
    let times = cx.setup.times;
    let every = Quanta(1).at(cx.setup.rate).saturating_mul(stop::period(cx));
    let fits = times.hold.as_picos() / every.as_picos().max(1);
    let periods = fits.clamp(2, cx.by_level(100, 1000));
    let start = times.baseline;
    let traffic = start + every.saturating_mul(periods);
    let mut trial = Trial::new(format!("paused for {duty} %"), traffic + times.drain);
    let flow = Flow::new((a, b), priority, Limit::Time(traffic));
    trial.flow(flow.rate(Rate::Line(SHARE)));
    let quanta = Quanta((stop::period(cx) * duty / 100) as u16);
    let octets = pfc_frame(cx.port(b).mac, &[(priority, quanta)]);
    trial.control.push(Control { port: b, octets, start, every, frames: periods as u32 });
    let (_, counters) = cx.count_over(trial)?;
    let wanted = quanta.at(cx.setup.rate).saturating_mul(periods).as_nanos_f64();
    let limits = Limits::around(wanted, wanted * DEVIATION);
    let what = format!("counted time of priority {priority}, paused for {duty} %");
    cx.judge_counter(what, &counters, ((b, Some(priority)), Counter::Paused), limits);
    Ok(counters.get(b, Some(priority), Counter::Paused).is_some())
}
