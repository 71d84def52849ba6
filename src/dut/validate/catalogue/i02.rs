//! V-I02: other priorities do not notice congestion.

use super::{congestion, isolation};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::{Observation, Way};
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
    procedure: "A sends one lossless priority to C at 5 % of the line and to D at 53 %, and another \
                priority to C at 40 %: the first lossy one, at level full each other lossless one, \
                too. Then the same, while B sends the first priority to D at line rate, so that \
                the device pauses it.",
    pass: "With congestion no frame is lost, no pause stops the other priority, it arrives at the rate at \
           which it is sent within {rate}, and the 99th percentile of its latency is at most twice that \
           without congestion.",
    uncertainty: "Time stamps of the tester.",
    source: "sonic-mgmt plans for oversubscription; RFC 8239 5",
    level: Level::Full,
    run,
    line: line!(),
};

/// Shares of the line from A: of the congested priority to C and to D, and of the other one to C.
const SHARES: [f64; 2] = [0.05, 0.53];
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
    let pauses = congestion::pauses(&seen, a, other).len() as u64;
    cx.count(format!("pauses of priority {other}"), pauses, Limits::exactly(0.0));
    // After a pause the sender has more of the first priority than before, so the rate is that of what it
    // sends.
    let count = |way| seen.of(flow, way).filter(|r| span.contains(&r.end)).count() as f64;
    let (sent, arrived) = (count(Way::Sent), count(Way::Received));
    let seconds = span.end.saturating_sub(span.start).as_secs_f64();
    let u = (2.0 / sent + seen.uncertainty.as_secs_f64() * 2.0 / seconds) * 100.0;
    let limits = Limits::around(100.0, cx.setup.limits.rate * 100.0);
    cx.judge(
        format!("rate of priority {other}"),
        arrived / sent * 100.0,
        limits,
        u,
        "% of the sent",
    );
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
