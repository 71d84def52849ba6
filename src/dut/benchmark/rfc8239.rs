//! Benchmarks of data-centre switches: RFC 8239, with the terms of RFC 8238. Line rate, head-of-line blocking and
//! incast are here; the tests that fill buffers are in `buffers`.

pub use crate::buffers::{BufferRow, MicroburstRow};

use ground::named;
use ground::time::Duration;
use serde::Serialize;
use validate::bench::{Acknowledged, Capability, TrialError};
use validate::setup::Marking;
use validate::trial::{Flow, Limit, Port, Stateful, Trial};

use crate::buffers;
use crate::mesh::Mesh;
use crate::run::{Procedure, Run, tables};
use crate::table;
use crate::trial::{Latency, Runner, Sample, Stream, latency_of};

/// Ports of the smallest device for the whole set of tests.
const PORTS: usize = 9;

named! {
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Test {
        // Section 2.
        LineRate = "line-rate",
        // Section 3.
        Buffer = "buffer",
        // Section 4.
        Microburst = "microburst",
        // Section 5.
        Holb = "holb",
        // Section 6.
        Incast = "incast",
    }
}

tables! {
    line_rate: LineRateRow,
    buffer: BufferRow,
    microburst: MicroburstRow,
    holb: HolbRow,
    incast: IncastRow,
}

impl Procedure for Tables {
    const NAME: &'static str = "rfc8239";
    type Test = Test;
    const TESTS: &'static [(&'static str, Test)] = Test::NAMES;

    /// Runs the tests on all ports of the DUT file that have its common rate.
    fn fill(&mut self, runner: &mut Runner<'_>, tests: &[Test]) -> Result<(), TrialError> {
        let ports = runner.plan.equal_ports();
        if ports < PORTS {
            runner.note(format!(
                "RFC 8239 asks for {PORTS} ports of one rate or more, there are {ports}"
            ));
        }
        for test in tests {
            // The buffer test chooses its frame sizes itself.
            if *test == Test::Buffer {
                buffers::buffer(runner, &mut self.buffer)?;
                continue;
            }
            for size in runner.plan.sizes.clone() {
                match test {
                    Test::LineRate => self.line_rate.extend(line_rate(runner, size)?),
                    Test::Buffer => {}
                    Test::Microburst => self.microburst.extend(buffers::microburst(runner, size)?),
                    Test::Holb => self.holb.extend(holb(runner, size)?),
                    Test::Incast => self.incast.extend(incast(runner, size)?),
                }
            }
        }
        Ok(())
    }

    fn text(run: &Run<Self>) -> String {
        table::rfc8239(run)
    }
}

/// Returns true if there are enough ports for a test, else adds a note.
pub(crate) fn has(runner: &mut Runner<'_>, test: &str, least: usize) -> bool {
    let ports = runner.plan.equal_ports();
    if ports < least {
        runner.not_applicable(test, &format!("it needs {least} equal ports, there are {ports}"));
    }
    ports >= least
}

/// Largest load of the RFC as a share of the line: clocks of ports differ.
pub(crate) const LINE: f64 = 0.9998;

/// All ports at line rate, for a pattern and a frame size.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LineRateRow {
    /// `pairs`, `full mesh` or `snake`.
    pub pattern: String,
    /// Frame size in bytes, FCS included.
    pub size: u32,
    /// Load of each port in percent of the line.
    pub load_percent: f64,
    /// Forwarded frames in percent of what full lines carry in the trial.
    pub forwarded_percent: f64,
    pub lost: u64,
    /// Frames that the tester held back because of pauses.
    pub held_back: u64,
    /// First bit in to last bit out, of the same trial; absent if nothing arrived, and in a snake, where it
    /// would be the sum of all passes.
    pub latency: Option<Latency>,
    /// Largest less smallest latency, in nanoseconds: RFC 8238's jitter.
    pub jitter_ns: Option<f64>,
}

fn line_rate(runner: &mut Runner<'_>, size: u32) -> Result<Vec<LineRateRow>, TrialError> {
    let plan = runner.plan;
    let load = plan.max_share(size).min(LINE);
    let mut rows = Vec::new();
    for mesh in [Mesh::Pairs, Mesh::Full] {
        // Two ports are a pair, and a mesh of two is the same.
        if mesh == Mesh::Full && plan.equal_ports() < 3 {
            continue;
        }
        let streams = mesh.streams(plan, size, load, Limit::Time(plan.trial));
        let snake = plan.snake > 1;
        let pattern = if snake { "snake".to_owned() } else { mesh.name() };
        let sum = runner.measure(format!("{size} bytes, line rate, {pattern}"), &streams)?.sum();
        runner.row("line_rate");
        if snake {
            let passes = plan.snake;
            runner.note(format!("line rate: a snake of {passes} passes, so there is no latency"));
        }
        // A snake's frames pass the device several times, so their latency is no figure of one pass.
        let latency = sum.latency.filter(|_| !snake);
        rows.push(LineRateRow {
            pattern,
            size,
            load_percent: load * 100.0,
            forwarded_percent: load * 100.0 * (1.0 - sum.loss_ratio()),
            lost: sum.lost(),
            held_back: sum.intended - sum.offered,
            latency,
            jitter_ns: latency.map(|latency| latency.max_ns - latency.min_ns),
        });
    }
    Ok(rows)
}

/// Ports of a group: two senders, an uncongested and a congested receiver.
pub(crate) const GROUP: usize = 4;

/// Distribution of a sender to several ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// Halves to the two receivers of its group.
    Halves,
    /// Quarters to the receivers of its group and of the next one.
    Quarters,
}

impl Split {
    /// Returns the number of groups that a sender reaches.
    const fn groups(self) -> usize {
        match self {
            Self::Halves => 1,
            Self::Quarters => 2,
        }
    }

    /// Returns the name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Halves => "halves",
            Self::Quarters => "quarters",
        }
    }
}

/// Flows to uncongested ports beside flows to congested ones, for a frame size.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct HolbRow {
    pub pattern: Split,
    /// Frame size in bytes, FCS included.
    pub size: u32,
    /// Number of the first port of the first group, from 0.
    pub shift: usize,
    /// Loss of the flows to uncongested ports in percent: anything above 0 is head-of-line blocking. Absent if
    /// pauses held back all of their frames.
    pub uncongested_loss_percent: Option<f64>,
    /// Rate of these flows in percent of the intended one. Below 100 without loss, pauses held them
    /// back.
    pub uncongested_rate_percent: Option<f64>,
    /// Loss of the flows to congested ports in percent; a third if nothing is held back. Absent as above.
    pub congested_loss_percent: Option<f64>,
    /// True if the device paused the senders to congested ports (back-pressure, RFC 2889).
    pub back_pressure: bool,
}

fn holb(runner: &mut Runner<'_>, size: u32) -> Result<Vec<HolbRow>, TrialError> {
    if !has(runner, "HOLB", GROUP) {
        return Ok(Vec::new());
    }
    let ports = runner.plan.equal_ports() / GROUP * GROUP;
    // Every port takes every role, which with one group would repeat the same four ports.
    let shifts = if ports > GROUP { ports } else { 1 };
    let mut rows = Vec::new();
    for split in [Split::Halves, Split::Quarters] {
        if split == Split::Quarters && !has(runner, "HOLB with quarters", 2 * GROUP) {
            continue;
        }
        for shift in 0..shifts {
            rows.push(blocking(runner, size, ports, shift, split)?);
            runner.row("holb");
        }
    }
    Ok(rows)
}

/// In each group, the first port sends equal parts to the third and the fourth of its own group, and with
/// quarters to those of the next one, too. The second port sends a full line to the fourth.
pub(crate) fn blocking(
    runner: &mut Runner<'_>,
    size: u32,
    ports: usize,
    shift: usize,
    split: Split,
) -> Result<HolbRow, TrialError> {
    let (start, limit) = (Duration::ZERO, Limit::Time(runner.plan.trial));
    let load = runner.plan.max_share(size);
    // The first port splits its line over two receivers of each group that it reaches.
    let part = load / (2 * split.groups()) as f64;
    let (mut streams, mut congested) = (Vec::new(), Vec::new());
    for first in (0..ports).step_by(GROUP) {
        let port = |n: usize| Port((first + shift + n) % ports);
        let mut add = |ends, share, full| {
            streams.push(Stream { ends, size, share, start, limit });
            congested.push(full);
        };
        for group in 0..split.groups() {
            // Past the last port the groups go on at the first: `port` counts modulo all of them.
            add((port(0), port(group * GROUP + 2)), part, false);
            add((port(0), port(group * GROUP + 3)), part, true);
        }
        // With half of the first port's line the fourth port gets one and a half, of which a third cannot leave.
        add((port(1), port(3)), load, true);
    }
    let how = split.name();
    let name = format!("{size} bytes, head-of-line blocking, {how}, shift {shift}");
    let counted = runner.measure(name, &streams)?;
    let sum = |full: bool| {
        let chosen = counted.samples.iter().zip(&congested).filter(|(_, is)| **is == full);
        Sample::sum(&chosen.map(|(sample, _)| *sample).collect::<Vec<_>>())
    };
    let (free, full) = (sum(false), sum(true));
    // Loss is a share of what was sent; the rate is one of what was intended, so it shows what pauses held back.
    Ok(HolbRow {
        pattern: split,
        size,
        shift,
        uncongested_loss_percent: percent(free.lost(), free.offered),
        uncongested_rate_percent: percent(free.forwarded.min(free.intended), free.intended),
        congested_loss_percent: percent(full.lost(), full.offered),
        back_pressure: full.paused,
    })
}

/// Returns the share in percent. Of nothing it is unknown.
fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

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
fn incast(runner: &mut Runner<'_>, size: u32) -> Result<Vec<IncastRow>, TrialError> {
    if !has(runner, "incast", 3) {
        return Ok(Vec::new());
    }
    if !runner.has(Capability::Stateful) {
        runner.not_run("incast", "ports with several queues or MACsec have no connections");
        return Ok(Vec::new());
    }
    if size < HEADERS + PROBE + tag_len(runner) {
        runner.note("incast: not run for sizes without room for the headers of TCP");
        return Ok(Vec::new());
    }
    runner.note("incast: connections have TCP NewReno's window, no handshake or options");
    // The egress port and one port of the other kind are always needed.
    let most = runner.plan.equal_ports() - 2;
    let stateful = (1..=most).map(|n| (n, 1));
    let all = stateful.chain((2..=most).map(|n| (1, n)));
    all.map(|(stateful, stateless)| incast_of(runner, size, stateful, stateless)).collect()
}

/// Measures the goodput alone, and then with microbursts.
fn incast_of(
    runner: &mut Runner<'_>,
    size: u32,
    stateful: usize,
    stateless: usize,
) -> Result<IncastRow, TrialError> {
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
    // The goodput without bursts is what that with them is compared with.
    let (_, alone) = runner.acknowledged(&trial)?;
    trial.name = name;
    for port in (stateful..stateful + stateless).map(Port) {
        let flow = Flow::new((port, egress), plan.priority, Limit::Frames(burst)).size(size);
        // In the middle: the connections have reached their rate, and have time to recover.
        trial.flow(flow.start(time.div(2)));
    }
    let (report, with) = runner.acknowledged(&trial)?;
    runner.row("incast");
    let flows = || report.flows.iter().take(stateless);
    let sent: u64 = flows().map(|flow| flow.frames_tx).sum();
    if sent == 0 {
        return Err(TrialError::Error("the tester sent no microburst".to_owned()));
    }
    let goodput = |all: &[Acknowledged]| bits(all) / time.as_secs_f64();
    let payload = size - HEADERS - tag_len(runner);
    // G of RFC 8238, 7.1: the share of payload in a frame, times the rate of the port.
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
        retransmitted: with.iter().map(|one| one.retransmitted).sum(),
        timeouts: with.iter().map(|one| one.timeouts).sum(),
        burst,
        burst_lost: sent - flows().map(|flow| flow.frames_rx).sum::<u64>(),
        latency: Latency::of_all(&latencies),
    })
}

fn bits(all: &[Acknowledged]) -> f64 {
    all.iter().map(|one| one.bytes).sum::<u64>() as f64 * 8.0
}

/// Returns the length of the tag of each frame in bytes.
fn tag_len(runner: &Runner<'_>) -> u32 {
    match runner.plan.setup.marking {
        Marking::Dscp(_) => 0,
        Marking::Pcp(..) => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pauses may hold back all frames of a trial: it has no loss, and not one that is not a number.
    #[test]
    fn the_share_of_nothing_is_unknown() {
        assert_eq!((percent(0, 0), percent(1, 4)), (None, Some(25.0)));
    }
}
