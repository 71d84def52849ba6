//! V-W08: neither XON nor a link failure is a storm.

use super::{r16, stop, watchdog};
use crate::bench::{Faculty, Trouble};
use crate::judge::Limits;
use crate::setup::ExpectedWatchdog;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{
    Control, DETECTION, Flow, FlowId, Limit, LinkChange, Rate, Setting, Trial, pfc_frame,
};
use ground::units::{PrioritySet, Quanta};

pub const TEST: Test = Test {
    id: "V-W08",
    aliases: &["pfcwd_xon", "pfcwd_port_flap"],
    title: "neither XON nor a link failure is a storm",
    purpose: "A watchdog does not count frames that resume, and forgets the pause of a link that failed.",
    clause: "SONiC PFC watchdog; 802.1Q 36.1.2",
    topology: Topology::T2,
    procedure: "A flow on one lossless priority at 20 % of the line from A to B. B sends 100 PFC frames with a \
                time of zero, at level full 1000, for three detection times (`expected.watchdog`). Then B \
                pauses the priority, and its link goes down after half of a detection time, and comes back \
                a detection time later without a storm. At last the detection time of the device's port is \
                doubled while it runs, and B pauses the priority for 1.5 and for 4 of the old ones.",
    pass: "The XON frames cost no frame, and the flow keeps its rate within {rate}. From the settling time after \
           the link is back no frame is lost for two detection times. With the doubled time the shorter \
           storm costs no frame, and the longer one does. Where the tester cannot take its link down, or has \
           no access to the device's settings, that part is skipped.",
    uncertainty: "Time stamps of the tester.",
    source: "sonic-mgmt issue 21223; sonic-swss issues 1586, 4581, 842",
    level: Level::Full,
    run,
    line: line!(),
};

/// Share of the line.
const SHARE: f64 = 0.2;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let dog = watchdog::expected(cx)?;
    cx.ports::<2>()?;
    xon(cx, dog)?;
    skipped(cx, "link failure in a storm", |cx| flap(cx, dog))?;
    skipped(cx, "another detection time", |cx| doubled(cx, dog))
}

/// Runs a part of the test, which is skipped if something is missing.
fn skipped(
    cx: &mut Context<'_>,
    name: &str,
    part: impl Fn(&mut Context<'_>) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    match part(cx) {
        Err(Trouble::Missing(why)) => {
            cx.skip(name, &why);
            Ok(())
        }
        other => other,
    }
}

/// Judges storms with twice the detection time.
fn doubled(cx: &mut Context<'_>, dog: ExpectedWatchdog) -> Result<(), Trouble> {
    if !cx.has(Faculty::Settings) {
        let what = "adapter is missing, or changes no settings; add it to the file";
        return Err(Trouble::Missing(what.to_owned()));
    }
    let [a, b] = cx.ports()?;
    let priority = cx.lossless()?;
    let times = cx.setup.times;
    let start = times.baseline;
    let half = dog.detection.div(2);
    let (short, long) = (half.saturating_mul(3), half.saturating_mul(8) + dog.poll);
    for (which, length) in [("shorter", short), ("longer", long)] {
        let traffic = start + length;
        let name = format!("{which} storm with twice the detection time");
        let drain = times.drain + dog.restoration.saturating_mul(2);
        let mut trial = Trial::new(&name, traffic + drain);
        trial.storms = true;
        let flow = Flow::new((a, b), priority, Limit::Time(traffic)).rate(Rate::Line(SHARE));
        let flow = trial.flow(flow);
        stop::add(cx, &mut trial, (b, PrioritySet::of(priority)), (start, length));
        trial.settings.push(Setting {
            port: b,
            name: DETECTION,
            value: dog.detection.saturating_mul(2).to_string(),
            restored: dog.detection.to_string(),
        });
        let seen = cx.observe(&trial)?;
        cx.at_rest(&seen, &trial, &(start.div(4)..start))?;
        let lost = seen.tally(flow).lost();
        let limits = if length == short { Limits::exactly(0.0) } else { Limits::at_least(1.0) };
        cx.count(format!("lost frames of priority {priority} ({name})"), lost, limits);
    }
    Ok(())
}

/// Judges XON frames alone.
fn xon(cx: &mut Context<'_>, dog: ExpectedWatchdog) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    let priority = cx.lossless()?;
    let times = cx.setup.times;
    let frames = cx.by_level(100, 1000);
    let length = watchdog::judged(cx, dog, SHARE);
    let start = times.baseline;
    let traffic = start + length + times.settle;
    let mut trial = Trial::new("XON alone", traffic + times.drain);
    trial.storms = true;
    let flow = Flow::new((a, b), priority, Limit::Time(traffic)).rate(Rate::Line(SHARE));
    let flow = trial.flow(flow);
    let octets = pfc_frame(cx.port(b).mac, &[(priority, Quanta(0))]);
    let every = length.div(u64::from(frames));
    trial.control.push(Control { port: b, octets, start, every, frames });
    let seen = cx.observe(&trial)?;
    cx.at_rest(&seen, &trial, &(start.div(4)..start))?;
    cx.rate(&seen, &trial, flow, &(start..start + length));
    let lost = seen.tally(flow).lost();
    let what = format!("lost frames of priority {priority} with {frames} XON");
    cx.count(what, lost, Limits::exactly(0.0));
    Ok(())
}

/// Judges a link failure in a storm.
fn flap(cx: &mut Context<'_>, dog: ExpectedWatchdog) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    let priority = cx.lossless()?;
    let times = cx.setup.times;
    let start = times.baseline;
    let half = dog.detection.div(2);
    let (down, up) = (start + half, start + half + dog.detection);
    let judged = up + times.settle;
    let traffic = judged + dog.detection.saturating_mul(2);
    let mut trial = Trial::new("link failure in a storm", traffic + times.drain);
    trial.storms = true;
    let flow = Flow::new((a, b), priority, Limit::Time(traffic)).rate(Rate::Line(SHARE));
    let flow: FlowId = trial.flow(flow);
    stop::add(cx, &mut trial, (b, PrioritySet::of(priority)), (start, half));
    trial.links.push(LinkChange { port: b, at: down, up: false });
    trial.links.push(LinkChange { port: b, at: up, up: true });
    trial.frame(b, r16::hello(cx.port(b).mac), up + times.settle.div(2));
    // A device may flood while it does not know the address of B.
    let seen = cx.observe(&trial)?.only(&[a, b]);
    cx.at_rest(&seen, &trial, &(start.div(4)..start))?;
    let lost = seen.lost_in(flow, &(judged + seen.uncertainty..traffic));
    let what = format!("lost frames of priority {priority} after a link failure");
    cx.count(what, lost, Limits::exactly(0.0));
    Ok(())
}
