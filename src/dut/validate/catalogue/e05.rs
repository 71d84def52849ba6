//! V-E05: marks come before pauses.

use super::{congestion, marks};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::Way;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, FlowId, Limit, Rate, Trial};
use ground::time::Duration;
use ground::units::Bytes;
use wire::ip::Ecn;

pub const TEST: Test = Test {
    id: "V-E05",
    aliases: &["L09"],
    title: "marks come before pauses",
    purpose: "A growing queue tells the senders by ECN to slow down before it stops them by PFC.",
    clause: "RFC 3168 5, 802.1Q 36.1.3.1",
    topology: Topology::T3,
    procedure: "ECT(0) flows on one lossless priority from A and from B load C with 90 to 110 % of the line, \
                in steps of 1 % that last for the time in which 1 % of the line is a quarter of Kmin \
                (`expected.ecn`).",
    pass: "Frames arrive with CE at a load that is lower by at least one step than that of the first pause, \
           and none is lost.",
    uncertainty: "Time stamps of the tester, twice, as a part of a step.",
    source: "sonic-mgmt L09",
    level: Level::Full,
    run,
    line: line!(),
};

/// Loads of C in percent of the line.
const LOADS: core::ops::RangeInclusive<u64> = 90..=110;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let ecn = marks::expected(cx)?;
    let [a, b, c] = cx.ports()?;
    let priority = cx.lossless()?;
    let quarter = Bytes((ecn.kmin.0 / 4).max(1));
    let step = cx.setup.rate.time_for(quarter).saturating_mul(100);
    let steps = LOADS.count() as u64;
    let end = step.saturating_mul(steps);
    let mut trial = Trial::new("growing load", end + cx.setup.times.drain);
    for (n, load) in LOADS.enumerate() {
        for from in [a, b] {
            let flow = Flow::new((from, c), priority, Limit::Time(step)).ecn(Ecn::Ect0);
            let share = Rate::Line(load as f64 / 200.0);
            trial.flow(flow.rate(share).start(step.saturating_mul(n as u64)));
        }
    }
    let seen = cx.observe(&trial)?;
    let arrived = (0..trial.flows.len()).flat_map(|n| seen.of(FlowId(n), Way::Received)).count();
    if arrived == 0 {
        return Err(Trouble::Error("no frame arrives; check the cables".into()));
    }
    congestion::lossless(cx, &seen, &trial, priority);
    let flows = (0..trial.flows.len()).map(FlowId);
    let mark = flows.filter_map(|flow| marks::marked(&seen, flow).next()).map(|r| r.end).min();
    let Some(mark) = mark else {
        cx.count("frames that arrive with CE", 0, Limits::at_least(1.0));
        return Ok(());
    };
    let pauses = [a, b].into_iter().flat_map(|port| seen.pauses(port));
    let pause = pauses.filter(|pause| pause.stops(priority)).map(|pause| pause.at).min();
    let load = |at: Duration| {
        let step = at.as_picos() / step.as_picos().max(1);
        (*LOADS.start() + step).min(*LOADS.end()) as f64
    };
    let u = (seen.uncertainty.as_secs_f64() * 2.0 / step.as_secs_f64()).floor();
    let what = format!("load of the first mark ({} %) below that of the first pause", load(mark));
    // Without any pause the load of the first one is above the last.
    let pause = pause.map_or((*LOADS.end() + 1) as f64, load);
    cx.judge(what, pause - load(mark), Limits::at_least(1.0), u, "%");
    Ok(())
}
