//! V-R13: partial pausing.

use super::stop;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Control, Flow, Limit, Trial, pfc_frame};
use ground::units::{Priority, Quanta};

pub const TEST: Test = Test {
    id: "V-R13",
    aliases: &[],
    title: "partial pausing leaves the rest of the rate",
    purpose: "A priority that is paused for a part of the time has the rest of the line, and \
              loses nothing.",
    clause: "802.1Q 36.1.2",
    topology: Topology::T2,
    procedure: "A flow on one lossless priority at line rate from A to B. B pauses it \
                periodically for 10, 25, 50, 75 and 90 % of the time. The tester obeys.",
    pass: "Over whole periods the priority has the rest of the line within {rate} of the line. No \
           frame is lost.",
    uncertainty: "Time stamps of the tester.",
    source: "sonic-mgmt throttling storms",
    level: Level::Full,
    run,
    line: line!(),
};

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    cx.lossless()?;
    for priority in cx.each_lossless() {
        for duty in stop::DUTIES {
            judge(cx, priority, duty)?;
        }
    }
    Ok(())
}

fn judge(cx: &mut Context<'_>, priority: Priority, duty: u64) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    let times = cx.setup.times;
    let every = Quanta(1).at(cx.setup.rate).saturating_mul(stop::period(cx));
    let fits = times.hold.as_picos() / every.as_picos().max(1);
    let periods = fits.clamp(2, cx.by_level(4, 1000));
    let start = times.baseline;
    let traffic = start + every.saturating_mul(periods) + cx.setup.stop_limit();
    let mut trial = Trial::new(format!("paused for {duty} %"), traffic + times.drain);
    let flow = trial.flow(Flow::new((a, b), priority, Limit::Time(traffic)));
    let octets =
        pfc_frame(cx.port(b).mac, &[(priority, Quanta((stop::period(cx) * duty / 100) as u16))]);
    trial.control.push(Control { port: b, octets, start, every, frames: periods as u32 });
    let seen = cx.observe(&trial)?;
    cx.at_rest(&seen, &trial, &(start.div(4)..start))?;
    let sent: Vec<_> = seen.control_sent(b).map(|(record, _)| record.end).collect();
    let (Some(first), Some(last)) = (sent.first(), sent.last()) else {
        return Err(Trouble::Error("the tester sent no pause".into()));
    };
    let span = *first..*last + every;
    let value = cx.rate_of(&seen, &trial, flow, &span);
    let wanted = (100 - duty) as f64;
    let limits = Limits::around(wanted, cx.setup.limits.rate * 100.0);
    // The ends of the span, and a frame at each.
    let off = cx.setup.line_time(stop::SIZE) + seen.uncertainty.saturating_mul(2);
    let u = off.as_secs_f64() / span.end.saturating_sub(span.start).as_secs_f64() * 100.0;
    let what = format!("rate of priority {priority}, paused for {duty} %, of the line");
    cx.judge(what, value, limits, u, "%");
    let lost = seen.tally(flow).lost();
    cx.count(format!("lost frames of priority {priority}"), lost, Limits::exactly(0.0));
    Ok(())
}
