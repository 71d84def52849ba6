//! V-E07: marks grow with the pause, and stop after it.

use super::marks;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Control, Flow, FlowId, Limit, Rate, Trial, pfc_frame};
use ground::time::Duration;
use ground::units::{Bytes, Priority, Quanta};
use wire::ip::Ecn;

pub const TEST: Test = Test {
    id: "V-E07",
    aliases: &["quanta_variance"],
    title: "marks grow with the pause, and stop after it",
    purpose: "A queue that a pause holds marks more frames the longer the pause is, and none when it is \
              empty again.",
    clause: "RFC 3168 5, 802.1Q 36.1.3.2",
    topology: Topology::T2,
    procedure: "An ECT(0) flow of frames of 1350 bytes on one lossless priority at half of the line from A to \
                B. B sends 3 pauses of one time, each after the queue of the one before is empty; for 500, \
                9714 and 65000 quanta. At level full 10 pauses each for 15 times.",
    pass: "Where a pause is too short for Kmin (`expected.ecn`), no frame arrives with CE. Else no longer \
           pause leads to fewer marks, within 3 standard deviations, and the longest to some. No frame \
           arrives with CE after the settling time, and none is lost. Pauses that the watchdog would take for \
           storms are left out.",
    uncertainty: "The square root of the number of marks; time stamps of the tester.",
    source: "sonic-mgmt quanta variance; SNAPPI 13",
    level: Level::Full,
    run,
    line: line!(),
};

/// Length of the frames in bytes.
const SIZE: u32 = 1350;

/// Share of the line.
const SHARE: f64 = 0.5;

/// Pause times at level quick, and the step of those at level full.
const QUICK: &[u16] = &[500, 9714, 65_000];
const STEP: usize = 4607;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let ecn = marks::expected(cx)?;
    cx.ports::<2>()?;
    let priority = cx.lossless()?;
    let full: Vec<u16> = (500..=65_000).step_by(STEP).collect();
    let values = cx.by_level(QUICK, &full[..]).to_vec();
    // The longest pause so far that is long enough for Kmin, and its marks.
    let mut before: Option<(u16, u64)> = None;
    let mut last = None;
    for quanta in values {
        let pause = Quanta(quanta).at(cx.setup.rate);
        if pause >= cx.setup.storm_max() {
            break;
        }
        let marks = marks_of(cx, priority, Quanta(quanta))?;
        // The frame in front and the one behind the pause, and the time to react.
        let more = cx.setup.line_time(SIZE).saturating_mul(4) + cx.setup.stop_limit();
        let bytes = |time: Duration| time.as_secs_f64() * cx.setup.share(SHARE, SIZE) / 8.0;
        if bytes(pause + more) < ecn.kmin.0 as f64 {
            let what = format!("marks by pauses of {quanta} quanta, too short for Kmin");
            cx.count(what, marks, Limits::exactly(0.0));
        } else if let Some((shorter, fewer)) = before {
            let least = fewer as f64 - 3.0 * (2.0 * fewer as f64).sqrt();
            let what = format!("marks by pauses of {quanta} quanta, not fewer than of {shorter}");
            cx.count(what, marks, Limits::at_least(least.max(0.0)));
        }
        before = Some((quanta, marks));
        if bytes(pause) > ecn.kmax.0 as f64 {
            last = before;
        }
    }
    let Some((quanta, marks)) = last else {
        let what = "expected.watchdog.detection and expected.ecn.kmax: no pause is long enough for a queue \
                    of Kmax, and too short for the watchdog";
        return Err(Trouble::Missing(what.to_owned()));
    };
    cx.count(format!("marks by pauses of {quanta} quanta"), marks, Limits::at_least(1.0));
    Ok(())
}

/// Returns the number of marks by pauses of one time.
fn marks_of(cx: &mut Context<'_>, priority: Priority, quanta: Quanta) -> Result<u64, Trouble> {
    let [a, b] = cx.ports()?;
    let times = cx.setup.times;
    let pauses = cx.by_level(3, 10);
    let pause = quanta.at(cx.setup.rate);
    let frame = cx.setup.rate.time_for(Bytes(SIZE.into()));
    // At half of the line a queue is empty again after the time in which it grew.
    let every = pause.saturating_mul(2) + frame.saturating_mul(64);
    let end = times.baseline + every.saturating_mul(pauses);
    let traffic = end + times.settle.saturating_mul(2);
    let mut trial = Trial::new(format!("pauses of {} quanta", quanta.0), traffic + times.drain);
    let flow = Flow::new((a, b), priority, Limit::Time(traffic)).size(SIZE).ecn(Ecn::Ect0);
    let flow: FlowId = trial.flow(flow.rate(Rate::Line(SHARE)));
    let octets = pfc_frame(cx.port(b).mac, &[(priority, quanta)]);
    let (start, frames) = (times.baseline, pauses as u32);
    trial.control.push(Control { port: b, octets, start, every, frames });
    let seen = cx.observe(&trial)?;
    cx.at_rest(&seen, &trial, &(start.div(4)..start))?;
    let lost = seen.tally(flow).lost();
    cx.count(format!("lost frames of priority {priority}"), lost, Limits::exactly(0.0));
    let quiet: Duration = end + times.settle + seen.uncertainty;
    let late = marks::marked(&seen, flow).filter(|record| record.begin > quiet).count() as u64;
    let what = format!("marks after the pauses of {} quanta", quanta.0);
    cx.count(what, late, Limits::exactly(0.0));
    Ok(marks::marked(&seen, flow).count() as u64)
}
