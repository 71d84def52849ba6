//! Incast of stateful and stateless traffic (RFC 8239, section 6): connections at their full rate, and a
//! microburst, to one egress port.

use serde::Serialize;
use validate::bench::{Acknowledged, Faculty, Trouble};
use validate::setup::Marking;
use validate::trial::{Flow, Limit, Port, Stateful, Trial};

use super::has;
use crate::trial::{Latency, Runner, latency_of};

/// Part of the time of a trial that a microburst takes at line rate. A choice: it is long enough to fill a
/// buffer, and leaves the connections time to recover.
const BURST: u64 = 20;

/// Headers of a frame of a connection in bytes, FCS included: Ethernet, IPv4, TCP.
const HEADERS: u32 = 14 + 20 + 20 + 4;

/// Bytes of payload that tell the tester a frame's connection and number.
const PROBE: u32 = 18;

/// Transport of the connections, in results.
const TRANSPORT: &str = "TCP NewReno window";

/// Incast of a number of stateful and stateless ports, for a frame size.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct IncastRow {
    /// Ingress ports with a connection each, and with a microburst each.
    pub stateful: usize,
    pub stateless: usize,
    /// Frame size in bytes, FCS included.
    pub size: u32,
    pub transport: &'static str,
    /// Ingress ports that are stateful, in percent.
    pub stateful_percent: f64,
    /// Microbursts that begin at the same time, in percent.
    pub synchronous_percent: f64,
    /// Acknowledged payload of all connections in bit/s, without the microbursts and with them.
    pub alone_bps: f64,
    pub goodput_bps: f64,
    /// The latter in percent of G = (S / F) x V of the egress port (RFC 8238, 7.1): payload of a frame by its
    /// size, times the rate.
    pub goodput_percent: f64,
    /// Frames that the connections sent again, and their timeouts.
    pub retransmitted: u64,
    pub timeouts: u64,
    /// Frames of each microburst, and those of all that were lost.
    pub burst: u32,
    pub burst_lost: u64,
    /// Latency of the microbursts (FILO); absent if none of their frames arrived.
    pub latency: Option<Latency>,
}

/// Measures 1, 2 .. N-2 stateful ports with a stateless one, and the other way round.
pub(super) fn run(runner: &mut Runner<'_>, size: u32) -> Result<Vec<IncastRow>, Trouble> {
    if !has(runner, "incast", 3) {
        return Ok(Vec::new());
    }
    if !runner.has(Faculty::Stateful) {
        runner.note("incast: not run; ports with several queues or MACsec have no connections");
        return Ok(Vec::new());
    }
    if size < HEADERS + PROBE + tag_len(runner) {
        runner.note("incast: not run for sizes without room for the headers of TCP");
        return Ok(Vec::new());
    }
    runner.note("incast: connections have TCP NewReno's window, no handshake or options");
    let most = runner.plan.equal_ports() - 2;
    let stateful = (1..=most).map(|n| (n, 1));
    let all = stateful.chain((2..=most).map(|n| (1, n)));
    all.map(|ports| measure(runner, size, ports)).collect()
}

/// Measures the goodput alone, and then with microbursts.
fn measure(
    runner: &mut Runner<'_>,
    size: u32,
    (stateful, stateless): (usize, usize),
) -> Result<IncastRow, Trouble> {
    let plan = runner.plan;
    let time = plan.trial;
    let egress = Port(plan.equal_ports() - 1);
    let rate = plan.setup.port(egress).rate;
    let line = plan.line_rate(0, size);
    let burst = (line * time.div(BURST).as_secs_f64()).clamp(1.0, f64::from(u32::MAX)) as u32;
    let name = format!("{size} bytes, incast of {stateful} connections and {stateless} bursts");
    let mut trial = Trial::new(format!("{name}: connections alone"), time + plan.drain);
    for port in (0..stateful).map(Port) {
        let ends = (port, egress);
        trial.stateful.push(Stateful { ends, priority: plan.priority, size, length: time });
    }
    let (_, alone) = runner.acknowledged(&trial)?;
    trial.name = name;
    for port in (stateful..stateful + stateless).map(Port) {
        let flow = Flow::new((port, egress), plan.priority, Limit::Frames(burst)).size(size);
        trial.flow(flow.start(time.div(2)));
    }
    let (report, with) = runner.acknowledged(&trial)?;
    runner.row("incast");
    let flows = || report.flows.iter().take(stateless);
    let sent: u64 = flows().map(|flow| flow.frames_tx).sum();
    if sent == 0 {
        return Err(Trouble::Error("the tester sent no microburst".to_owned()));
    }
    let goodput = |of: &[Acknowledged]| bits(of) / time.as_secs_f64();
    let payload = size - HEADERS - tag_len(runner);
    let most = f64::from(payload) / f64::from(size) * rate.get() as f64;
    let latency =
        |flow: &tester::report::Flow| Some((flow.frames_rx as f64, latency_of(flow, &report)?));
    let latencies: Vec<_> = flows().filter_map(latency).collect();
    Ok(IncastRow {
        stateful,
        stateless,
        size,
        transport: TRANSPORT,
        stateful_percent: stateful as f64 / (stateful + stateless) as f64 * 100.0,
        synchronous_percent: 100.0,
        alone_bps: goodput(&alone),
        goodput_bps: goodput(&with),
        goodput_percent: goodput(&with) / most * 100.0,
        retransmitted: with.iter().map(|of| of.retransmitted).sum(),
        timeouts: with.iter().map(|of| of.timeouts).sum(),
        burst,
        burst_lost: sent - flows().map(|flow| flow.frames_rx).sum::<u64>(),
        latency: Latency::of_all(&latencies),
    })
}

fn bits(of: &[Acknowledged]) -> f64 {
    of.iter().map(|of| of.bytes).sum::<u64>() as f64 * 8.0
}

/// Returns the length of the tag of each frame in bytes.
fn tag_len(runner: &Runner<'_>) -> u32 {
    match runner.plan.setup.marking {
        Marking::Dscp(_) => 0,
        Marking::Pcp(..) => 4,
    }
}
