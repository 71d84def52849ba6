//! V-I02: other priorities do not notice congestion.

use super::{congestion, isolation};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::Observation;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, FlowId, Limit, Rate, Trial};
use ground::time::Duration;
use ground::units::Priority;

pub const TEST: Test = Test {
    id: "V-I02",
    aliases: &[],
    title: "other priorities do not notice congestion",
    purpose: "Congestion of a lossless priority changes neither the rate nor the latency of another \
              priority to another port.",
    clause: "802.1Q 36.1.1; RFC 8239 5",
    topology: Topology::Th,
    procedure: "A sends one lossless priority to C at 10 % of the line and to D at 48 %, and another \
                priority to C at 40 %: the first lossy one, at level full each other lossless one, \
                too. Then the same, while B sends the first priority to D at line rate, so that A is \
                paused for it.",
    pass: "With congestion no frame is lost, the other priority keeps its rate within 2 %, and the 99th \
           percentile of its latency is at most twice that without congestion.",
    uncertainty: "Time stamps of the tester.",
    source: "sonic-mgmt plans for oversubscription; RFC 8239 5",
    level: Level::Full,
    run,
    line: line!(),
};

/// Shares of the line from A: of the congested priority to C and to D, and of the other one to C.
const SHARES: [f64; 2] = [0.1, 0.48];
const OTHER: f64 = 0.4;

/// Largest ratio of the latencies.
const RATIO: u64 = 2;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let priority = cx.lossless()?;
    cx.ports::<4>()?;
    let others = cx.setup.lossless.iter().filter(|other| *other != priority);
    let mut others: Vec<_> = others.take(cx.by_level(0, usize::MAX)).collect();
    others.extend(cx.lossy().ok());
    if others.is_empty() {
        return Err(Trouble::Missing(
            "lossy: it is empty, and there is one lossless priority".into(),
        ));
    }
    for other in others {
        compare(cx, priority, other)?;
    }
    Ok(())
}

fn compare(cx: &mut Context<'_>, priority: Priority, other: Priority) -> Result<(), Trouble> {
    let ports = cx.ports()?;
    let [a, b, c, _] = ports;
    let hold = cx.setup.times.hold;
    let span = hold.div(4)..hold;
    let mut trial = isolation::congested(cx, ports, priority, SHARES);
    let flow = Flow::new((a, c), other, Limit::Time(hold)).rate(Rate::Line(OTHER));
    let flow = trial.flow(flow);
    let mut calm = Trial { name: "no port is congested".to_owned(), ..trial.clone() };
    // All but the flow from B.
    calm.flows.retain(|flow| flow.from == a);
    let before = cx.observe(&calm)?;
    cx.at_rest(&before, &calm, &span)?;
    let baseline = latency(&before, FlowId(calm.flows.len() - 1), &span)?;
    let seen = cx.observe(&trial)?;
    congestion::arrives(cx, &seen, &trial)?;
    isolation::was_congested(cx, &seen, &trial, (&[a, b], priority))?;
    congestion::lossless(cx, &seen, &trial, priority);
    congestion::lossless(cx, &seen, &trial, other);
    cx.rate(&seen, &trial, flow, &span);
    let u = seen.uncertainty.saturating_mul(2) + before.uncertainty.saturating_mul(2 * RATIO);
    let most = baseline.saturating_mul(RATIO).as_nanos_f64();
    let what = format!("99th percentile of the latency of priority {other}");
    cx.time(what, latency(&seen, flow, &span)?, Limits::at_most(most), u);
    Ok(())
}

/// Returns the 99th percentile of the latency of a flow: from the last bit sent to the last bit received.
fn latency(
    seen: &Observation,
    flow: FlowId,
    span: &core::ops::Range<Duration>,
) -> Result<Duration, Trouble> {
    let mut all = seen.latencies(flow, span);
    all.sort_unstable();
    let at = all.len().saturating_sub(1) * 99 / 100;
    let none = || Trouble::Error("no frame of the other priority arrived".into());
    all.get(at).copied().ok_or_else(none)
}
