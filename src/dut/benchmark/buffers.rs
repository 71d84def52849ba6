//! Buffers of a device (RFC 8239): their size by a small oversubscription (section 3), and the longest burst of
//! several ports at line rate without loss (section 4).
//!
//! Frames are lost as soon as the frames beyond the line's capacity have filled the buffer, so its
//! size is that of the extra frames of the longest trial without loss. The latency of the last
//! frame, which has waited behind all of them, tells the same in another way.

use ground::time::Duration;
use ground::units::Bytes;
use serde::Serialize;
use validate::bench::TrialError;
use validate::trial::{Limit, Obeys, Port};

use crate::plan::Plan;
use crate::rfc8239::{LINE, has};
use crate::search;
use crate::trial::{Counted, Runner, Sample, Stream};

/// Bytes of a frame's preamble and start delimiter.
const PREAMBLE: u64 = 8;

/// Buffer of a port, for a frame size.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BufferRow {
    /// `port`: a full line, and 1 % more from another port. `port pair`: two ports at once, while all other
    /// pairs carry full lines. `many to one`: equal parts from all other ports.
    pub pattern: &'static str,
    /// Names of the congested ports: `B`, or `B+D`.
    pub egress: String,
    /// Senders to a congested port.
    pub senders: usize,
    /// Frame size in bytes, FCS included.
    pub size: u32,
    /// `obeying` if the tester obeyed pauses, so the size is that at which the device pauses;
    /// `ignoring` if not, so it is that at which it drops.
    pub tester: &'static str,
    /// Frames that were buffered for each congested port.
    pub frames: f64,
    /// Their size in bytes.
    pub bytes: f64,
    /// Largest latency without loss or pause, in nanoseconds.
    pub latency_ns: Option<f64>,
    /// True if the longest trial showed no loss and no pause: the buffer is at least this large.
    pub at_limit: bool,
    /// True if a loss ends the buffer, false if a pause does. Absent at the limit.
    pub loses_above: Option<bool>,
}

/// Runs all iterations: the first port with all sizes, then all ports, pairs and many to one with the size of
/// the largest buffer.
pub(crate) fn buffer(runner: &mut Runner<'_>, rows: &mut Vec<BufferRow>) -> Result<(), TrialError> {
    if !has(runner, "buffer", 3) {
        return Ok(());
    }
    let ports = runner.plan.equal_ports();
    let sizes = runner.plan.sizes.clone();
    for size in &sizes {
        measure(runner, *size, &Iteration::port(0, ports), rows)?;
    }
    // The size that fills the buffer of the first port best serves for all other iterations.
    let best = rows.iter().max_by(|a, b| a.bytes.total_cmp(&b.bytes));
    let best = best.map_or(sizes[0], |row| row.size);
    if sizes.len() > 1 {
        runner
            .note(format!("buffer: {best} bytes fill it best, and are the size of all other rows"));
    }
    let more = (1..ports).map(|n| Iteration::port(n, ports));
    let two = (1..pairs(ports)).map(|n| Iteration::pairs(n - 1, ports));
    let many = (0..ports).map(|n| Iteration::many(n, ports));
    for iteration in more.chain(two).chain(many) {
        measure(runner, best, &iteration, rows)?;
    }
    has(runner, "buffer of port pairs", PAIRS_LEAST);
    Ok(())
}

/// Measures an iteration with a tester that obeys pauses, and in a lossless class with one that ignores them.
fn measure(
    runner: &mut Runner<'_>,
    size: u32,
    iteration: &Iteration,
    rows: &mut Vec<BufferRow>,
) -> Result<(), TrialError> {
    rows.push(size_of(runner, size, iteration, false)?);
    runner.row("buffer");
    if runner.plan.setup.lossless.contains(runner.plan.priority) {
        rows.push(size_of(runner, size, iteration, true)?);
        runner.row("buffer");
    }
    Ok(())
}

/// Returns the buffer that an iteration finds.
pub(crate) fn size_of(
    runner: &mut Runner<'_>,
    size: u32,
    iteration: &Iteration,
    ignoring: bool,
) -> Result<BufferRow, TrialError> {
    let plan = runner.plan;
    let line = plan.frames_per_second(plan.setup.rate, size);
    // A smaller step than that of a frame on the line, or than one more frame, cannot be seen.
    let frame = plan.setup.rate.time_for(Bytes(u64::from(size + plan.setup.overhead()) + PREAMBLE));
    let least = frame.max(Duration::from_nanos_f64(1e9 / (line * excess()) / 2.0));
    let (mut good, mut bad) = (Duration::ZERO, plan.trial);
    let mut latency_ns = None;
    let (mut at_limit, mut loses_above) = (true, None);
    loop {
        // The longest trial first: a buffer that it does not fill needs no search.
        let time = if at_limit {
            bad
        } else {
            Duration::from_picos(good.as_picos().midpoint(bad.as_picos()))
        };
        let counted = trial(runner, size, iteration, time, ignoring)?;
        let sum = counted.sum();
        // A device that pauses the tester loses nothing, and its buffer is full as far as it lets it.
        let full = sum.lost() > 0 || (!ignoring && sum.paused);
        if full {
            (bad, at_limit) = (time, false);
            loses_above = Some(sum.lost() > 0);
        } else {
            good = time;
            latency_ns = sum.latency.map(|latency| latency.max_ns);
            if at_limit {
                break;
            }
        }
        if bad.saturating_sub(good) <= least {
            break;
        }
    }
    // What arrived beyond the line in the longest trial without loss is what was buffered.
    let frames = (good.as_secs_f64() * line * excess()).max(0.0);
    let names = iteration.egress.iter().map(|port| plan.setup.port(*port).name.as_str());
    Ok(BufferRow {
        pattern: iteration.pattern,
        egress: names.collect::<Vec<_>>().join("+"),
        senders: iteration.senders(),
        size,
        tester: if ignoring { "ignoring" } else { "obeying" },
        frames,
        bytes: frames * f64::from(size),
        latency_ns,
        at_limit,
        loses_above,
    })
}

fn trial(
    runner: &mut Runner<'_>,
    size: u32,
    iteration: &Iteration,
    time: Duration,
    ignoring: bool,
) -> Result<Counted, TrialError> {
    let stream = |(ends, share): &((Port, Port), f64)| Stream {
        ends: *ends,
        size,
        share: *share,
        start: Duration::ZERO,
        limit: Limit::Time(time),
    };
    let streams: Vec<_> = iteration.loads.iter().map(stream).collect();
    // Senders only: the receiver sends nothing that a pause could stop.
    let nothing: Vec<_> = match ignoring {
        true => iteration.loads.iter().map(|((from, _), _)| (*from, Obeys::Nothing)).collect(),
        false => Vec::new(),
    };
    let name = name(runner.plan, size, iteration, time);
    runner.measure_with(name, &streams, &nothing)
}

fn name(plan: &Plan, size: u32, iteration: &Iteration, time: Duration) -> String {
    let to: Vec<_> = iteration.egress.iter().map(|p| plan.setup.port(*p).name.as_str()).collect();
    format!("{size} bytes, buffer, {} to {}, {time}", iteration.pattern, to.join("+"))
}

/// Load beyond a full line, as a share of it.
const EXTRA: f64 = 0.01;

/// Ports of the smallest test of two pairs: two pairs with full lines, and two ports that send more.
const PAIRS_LEAST: usize = 6;

/// Loads of an iteration.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Iteration {
    pattern: &'static str,
    /// Congested ports.
    egress: Vec<Port>,
    /// Flows, and their shares of the sender's line.
    loads: Vec<((Port, Port), f64)>,
}

/// Returns the load beyond the line, as a share of it.
fn excess() -> f64 {
    LINE + EXTRA - 1.0
}

/// Returns the number of pairs with full lines: the last two ports are left to send more.
fn pairs(ports: usize) -> usize {
    ports.saturating_sub(2) / 2
}

impl Iteration {
    /// Port `n` sends a full line to the next one, and the port behind that 1 % more (procedures 1 and 2).
    pub(crate) fn port(n: usize, ports: usize) -> Self {
        let [line, egress, more] = [0, 1, 2].map(|next| Port((n + next) % ports));
        let loads = vec![((line, egress), LINE), ((more, egress), EXTRA)];
        Self { pattern: "port", egress: vec![egress], loads }
    }

    /// All pairs of ports carry full lines, and the last two ports send 1 % more, to pair `n` and to the next
    /// one (procedure 3). The RFC names neighbours of an egress port, which are ingress ports of full lines;
    /// egress ports of neighbouring pairs are meant.
    fn pairs(n: usize, ports: usize) -> Self {
        let egress = vec![Port(2 * n + 1), Port(2 * n + 3)];
        let lines = (0..pairs(ports)).map(|pair| ((Port(2 * pair), Port(2 * pair + 1)), LINE));
        let more = egress.iter().enumerate();
        let more = more.map(|(k, to)| ((Port(ports - 2 + k), *to), EXTRA));
        Self { pattern: "port pair", loads: lines.chain(more).collect(), egress }
    }

    /// All other ports have equal parts of a line and 1 %, to port `n` (procedure 4).
    fn many(n: usize, ports: usize) -> Self {
        let part = (LINE + EXTRA) / (ports - 1) as f64;
        let others = (0..ports).filter(|from| *from != n);
        let loads = others.map(|from| ((Port(from), Port(n)), part)).collect();
        Self { pattern: "many to one", egress: vec![Port(n)], loads }
    }

    /// Returns the number of senders to a congested port.
    fn senders(&self) -> usize {
        self.loads.iter().filter(|((_, to), _)| *to == self.egress[0]).count()
    }
}

/// A burst for a number of senders and a frame size.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct MicroburstRow {
    /// Senders, and receivers of equal parts.
    pub senders: usize,
    pub receivers: usize,
    /// Frame size in bytes, FCS included.
    pub size: u32,
    /// Longest burst of each sender without loss, and without a pause, in frames.
    pub frames: u32,
    /// Its size in bytes.
    pub bytes: u64,
    /// True if the longest burst that was tried passed.
    pub at_limit: bool,
    /// True if the next longer burst loses frames, false if a pause ends it. Absent at the limit.
    pub loses_above: Option<bool>,
}

pub(crate) fn microburst(
    runner: &mut Runner<'_>,
    size: u32,
) -> Result<Vec<MicroburstRow>, TrialError> {
    if !has(runner, "microburst", 3) {
        return Ok(Vec::new());
    }
    let ports = runner.plan.equal_ports();
    // From N-1 to 1, N-2 to 2 ..., as long as there are more senders than receivers.
    let receivers = (1..ports).take_while(|receivers| ports - receivers > *receivers);
    receivers.map(|receivers| longest_burst(runner, size, ports - receivers, receivers)).collect()
}

/// Searches for the longest burst, up to a trial's length.
fn longest_burst(
    runner: &mut Runner<'_>,
    size: u32,
    senders: usize,
    receivers: usize,
) -> Result<MicroburstRow, TrialError> {
    let line = runner.plan.line_rate(0, size);
    let frames = line * runner.plan.trial.as_secs_f64() / receivers as f64;
    // In frames to each receiver.
    let longest = frames.clamp(1.0, f64::from(u32::MAX)) as u32;
    // The last burst that does not pass is the next longer one.
    let mut loses_above = None;
    let good = search::largest(longest, |frames| {
        let sum = burst(runner, size, senders, receivers, frames)?;
        let passes = sum.lost() == 0 && !sum.paused;
        if !passes {
            loses_above = Some(sum.lost() > 0);
        }
        Ok(passes)
    })?;
    runner.row("microburst");
    // A sender's burst has the frames for all receivers.
    let frames = good.saturating_mul(receivers as u32);
    let bytes = u64::from(frames) * u64::from(size);
    let at_limit = good == longest;
    Ok(MicroburstRow { senders, receivers, size, frames, bytes, at_limit, loses_above })
}

fn burst(
    runner: &mut Runner<'_>,
    size: u32,
    senders: usize,
    receivers: usize,
    frames: u32,
) -> Result<Sample, TrialError> {
    let share = 1.0 / receivers as f64;
    let mut streams = Vec::new();
    for from in 0..senders {
        for to in senders..senders + receivers {
            let ends = (Port(from), Port(to));
            let (start, limit) = (Duration::ZERO, Limit::Frames(frames));
            streams.push(Stream { ends, size, share, start, limit });
        }
    }
    let name = format!("{size} bytes, a burst of {frames} frames from {senders} to {receivers}");
    runner.measure(name, &streams).map(|counted| counted.sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the load of each port, sent and received.
    fn loads(iteration: &Iteration, ports: usize) -> Vec<(f64, f64)> {
        let sum = |chosen: &dyn Fn(&(Port, Port)) -> bool| {
            iteration.loads.iter().filter(|(ends, _)| chosen(ends)).map(|(_, share)| share).sum()
        };
        (0..ports).map(|n| (sum(&|ends| ends.0.0 == n), sum(&|ends| ends.1.0 == n))).collect()
    }

    /// Every iteration overloads its own ports by 1 % and no other, and no sender has more than its line.
    #[test]
    fn iterations_congest_their_ports_and_no_other() {
        for ports in [3, 4, 6, 9] {
            let port = (0..ports).map(|n| Iteration::port(n, ports));
            let two = (1..pairs(ports)).map(|n| Iteration::pairs(n - 1, ports));
            let many = (0..ports).map(|n| Iteration::many(n, ports));
            let all: Vec<_> = port.chain(two).chain(many).collect();
            assert_eq!(all.len(), 2 * ports + pairs(ports).saturating_sub(1));
            for one in &all {
                for (n, (sent, received)) in loads(one, ports).into_iter().enumerate() {
                    let congested = one.egress.contains(&Port(n));
                    assert!(sent <= 1.0, "{one:?}");
                    let whole = (received - LINE - EXTRA).abs() < 1e-9;
                    assert!(if congested { whole } else { received <= 1.0 }, "{one:?}, port {n}");
                }
            }
        }
        assert_eq!((pairs(PAIRS_LEAST), pairs(PAIRS_LEAST - 1), pairs(9)), (2, 1, 3));
        assert_eq!(Iteration::pairs(1, 9).egress, [Port(3), Port(5)]);
        assert_eq!(Iteration::many(0, 4).senders(), 3);
    }
}
