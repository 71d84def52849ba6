//! V-N04: of two flows of a NIC one is paused, and resumed.

use super::{nic, r04, stop};
use crate::bench::Trouble;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Control, Flow, FlowId, Limit, Port, Trial};
use ground::time::Duration;
use ground::units::{Priority, PrioritySet, Quanta};

pub const TEST: Test = Test {
    id: "V-N04",
    aliases: &[],
    title: "a pause of one priority stops one flow of one NIC",
    purpose: "Of two NICs that send two lossless priorities each, a pause stops the named flow alone, and it \
              resumes by XON.",
    clause: "802.1Q 36.1.2, 36.1.3.2",
    topology: Topology::Pair,
    procedure: "Both NICs send all their priorities. A pauses one lossless priority without a gap, then sends \
                one frame with a time of zero.",
    pass: "From the limit after the first pause to XON no frame of the priority begins at A. Its other \
           priorities, and all at B, keep the rates that they had at rest within {rate}. The first frame after \
           XON begins within the resume time (1 ms), and before half of the last pause is over.",
    uncertainty: "Time stamps of the tester.",
    source: "Keysight ai-ml-testing PFC.md",
    level: Level::Full,
    run,
    line: line!(),
};

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    let sends = nic::told(cx)?.sends;
    let lossless = PrioritySet(cx.setup.lossless.0 & sends.0);
    if lossless.iter().count() < 2 {
        let what = "nic.sends: two lossless priorities are needed";
        return Err(Trouble::Missing(what.to_owned()));
    }
    for port in [a, b] {
        nic::wait(cx, port)?;
    }
    for priority in lossless.iter().take(cx.by_level(1, usize::MAX)) {
        judge(cx, (a, b), priority, sends)?;
    }
    Ok(())
}

fn judge(
    cx: &mut Context<'_>,
    (a, b): (Port, Port),
    paused: Priority,
    sends: PrioritySet,
) -> Result<(), Trouble> {
    let times = cx.setup.times;
    let window = stop::longest(cx).at(cx.setup.rate);
    let every = window.div(2);
    let hold = times.hold.min(cx.setup.storm_max().saturating_sub(stop::until_xon(cx)));
    let frames = (hold.as_picos() / every.as_picos().max(1)).max(1) as u32;
    let last = times.baseline + every.saturating_mul(u64::from(frames) - 1);
    let xon = last + stop::until_xon(cx);
    let length = xon + times.settle;
    let mut trial = Trial::new(format!("storm for priority {paused}, then XON"), length);
    for port in [a, b] {
        for priority in sends.iter() {
            trial.flow(Flow::new((port, port), priority, Limit::Time(length)));
        }
    }
    let set = PrioritySet::of(paused);
    let octets = cx.pause(a, set, stop::longest(cx));
    trial.control.push(Control { port: a, octets, start: times.baseline, every, frames });
    trial.frame(a, cx.pause(a, set, Quanta(0)), xon);
    let seen = cx.observe(&trial)?;
    cx.at_rest(&seen, &trial, &(times.baseline.div(4)..times.baseline))?;
    let sent: Vec<Duration> = seen.control_sent(a).map(|(record, _)| record.end).collect();
    let [first, .., last, xon] = sent[..] else {
        return Err(Trouble::Error("the tester sent too few pauses before XON".into()));
    };
    let held = first + cx.setup.stop_limit()..xon;
    for n in 0..trial.flows.len() {
        let Flow { to, priority, .. } = trial.flows[n];
        if (to, priority) == (a, paused) {
            stop::none_began(cx, &seen, (FlowId(n), priority), &held);
            let expiry = last + window;
            r04::resumes(cx, &seen, (FlowId(n), priority), (xon, expiry));
        } else {
            cx.rate(&seen, &trial, FlowId(n), &held);
        }
    }
    Ok(())
}
