//! Buffer size by a small oversubscription (RFC 8239, section 3).
//!
//! Frames are lost as soon as the frames beyond the line's capacity have filled the buffer, so its
//! size is that of the extra frames of the longest trial without loss. The latency of the last
//! frame, which has waited behind all of them, tells the same in another way.

mod iteration;

use ground::time::Duration;
use ground::units::Bytes;
use serde::Serialize;
use validate::bench::Trouble;
use validate::trial::{Limit, Obeys, Port};

use super::has;
use crate::plan::{Plan, frames_per_second};
use crate::trial::{Counted, Runner, Stream};
pub(crate) use iteration::Iteration;
use iteration::pairs;

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
}

/// Runs all iterations: the first port with all sizes, then all ports, pairs and many to one with the size of
/// the largest buffer.
pub(super) fn run(runner: &mut Runner<'_>, rows: &mut Vec<BufferRow>) -> Result<(), Trouble> {
    if !has(runner, "buffer", 3) {
        return Ok(());
    }
    let ports = runner.plan.equal_ports();
    let sizes = runner.plan.sizes.clone();
    for size in &sizes {
        measure(runner, *size, &Iteration::port(0, ports), rows)?;
    }
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
    has(runner, "buffer of port pairs", iteration::PAIRS_LEAST);
    Ok(())
}

/// Measures an iteration with a tester that obeys pauses, and in a lossless class with one that ignores them.
fn measure(
    runner: &mut Runner<'_>,
    size: u32,
    iteration: &Iteration,
    rows: &mut Vec<BufferRow>,
) -> Result<(), Trouble> {
    rows.push(size_of(runner, (size, iteration), false)?);
    runner.row("buffer");
    if runner.plan.setup.lossless.contains(runner.plan.priority) {
        rows.push(size_of(runner, (size, iteration), true)?);
        runner.row("buffer");
    }
    Ok(())
}

/// Returns the buffer that an iteration finds.
pub(crate) fn size_of(
    runner: &mut Runner<'_>,
    (size, iteration): (u32, &Iteration),
    ignoring: bool,
) -> Result<BufferRow, Trouble> {
    let plan = runner.plan;
    let line = frames_per_second(plan.setup.rate, size);
    // A smaller step than that of a frame on the line, or than one more frame, cannot be seen.
    let frame = plan.setup.rate.time_for(Bytes(u64::from(size) + PREAMBLE));
    let least = frame.max(Duration::from_nanos_f64(1e9 / (line * iteration::excess()) / 2.0));
    let (mut good, mut bad) = (Duration::ZERO, plan.trial);
    let mut latency_ns = None;
    let mut at_limit = true;
    loop {
        let time = if at_limit {
            bad
        } else {
            Duration::from_picos(good.as_picos().midpoint(bad.as_picos()))
        };
        let counted = trial(runner, (size, iteration), time, ignoring)?;
        let sum = counted.sum();
        let full = sum.lost() > 0 || (!ignoring && sum.paused);
        if full {
            (bad, at_limit) = (time, false);
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
    let frames = (good.as_secs_f64() * line * iteration::excess()).max(0.0);
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
    })
}

fn trial(
    runner: &mut Runner<'_>,
    (size, iteration): (u32, &Iteration),
    time: Duration,
    ignoring: bool,
) -> Result<Counted, Trouble> {
    let stream = |(ends, share): &((Port, Port), f64)| Stream {
        ends: *ends,
        size,
        share: *share,
        start: Duration::ZERO,
        limit: Limit::Time(time),
    };
    let streams: Vec<_> = iteration.loads.iter().map(stream).collect();
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
