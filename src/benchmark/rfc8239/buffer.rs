//! Buffer size by a small oversubscription (RFC 8239, section 3).
//!
//! Frames are lost as soon as the frames beyond the line's capacity have filled the buffer, so its
//! size is that of the extra frames of the longest trial without loss. The latency of the last
//! frame, which has waited behind all of them, tells the same in another way.

use ground::time::Duration;
use serde::Serialize;
use validate::bench::Trouble;
use validate::trial::{Limit, Obeys, Port};

use super::has;
use crate::plan::frames_per_second;
use crate::trial::{Counted, Runner, Stream};

/// Load beyond a full line, as a share of it.
const EXTRA: f64 = 0.01;

/// Load of the line itself.
const LINE: f64 = 0.9998;

/// Buffer of a port, for a frame size.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct BufferRow {
    /// Senders to the one port.
    pub senders: usize,
    /// Frame size in bytes, FCS included.
    pub size: u32,
    /// `obeying` if the tester obeyed pauses, so the size is that at which the device pauses;
    /// `ignoring` if not, so it is that at which it drops.
    pub tester: &'static str,
    /// Frames that were buffered.
    pub frames: f64,
    /// Their size in bytes.
    pub bytes: f64,
    /// Largest latency without loss or pause, in nanoseconds.
    pub latency_ns: Option<f64>,
    /// True if the longest trial showed no loss and no pause: the buffer is at least this large.
    pub at_limit: bool,
}

pub(super) fn run(runner: &mut Runner<'_>, size: u32) -> Result<Vec<BufferRow>, Trouble> {
    if !has(runner, "buffer", 3) {
        return Ok(Vec::new());
    }
    let ports = runner.plan.equal_ports();
    let lossless = runner.plan.setup.lossless.contains(runner.plan.priority);
    let mut rows = Vec::new();
    let mut senders = vec![2, ports - 1];
    senders.dedup();
    for senders in senders {
        rows.push(size_of(runner, (size, senders), false)?);
        runner.row("buffer");
        if lossless {
            rows.push(size_of(runner, (size, senders), true)?);
            runner.row("buffer");
        }
    }
    Ok(rows)
}

/// Returns the buffer that `senders` find. Two are RFC 8239's first iteration: a full line, and 1 %
/// from another port; more are its last one, in which each has the same part of both.
pub(crate) fn size_of(
    runner: &mut Runner<'_>,
    (size, senders): (u32, usize),
    ignoring: bool,
) -> Result<BufferRow, Trouble> {
    let plan = runner.plan;
    let longest = plan.trial;
    // A smaller step than that of a frame cannot be seen.
    let least = plan.frame_time(size);
    let (mut good, mut bad) = (Duration::ZERO, longest);
    let mut latency_ns = None;
    let mut at_limit = true;
    loop {
        let time = if at_limit {
            bad
        } else {
            Duration::from_picos(good.as_picos().midpoint(bad.as_picos()))
        };
        let counted = trial(runner, (size, senders), time, ignoring)?;
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
        if bad.saturating_sub(good) <= least.max(step(plan, size)) {
            break;
        }
    }
    let line = frames_per_second(plan.setup.port(receiver(plan)).rate, size);
    let frames = (good.as_secs_f64() * line * excess()).max(0.0);
    let tester = if ignoring { "ignoring" } else { "obeying" };
    let bytes = frames * f64::from(size);
    Ok(BufferRow { senders, size, tester, frames, bytes, latency_ns, at_limit })
}

/// Returns the load beyond the line, as a share of it.
fn excess() -> f64 {
    LINE + EXTRA - 1.0
}

/// Returns the time in which one more frame is buffered.
fn step(plan: &crate::plan::Plan, size: u32) -> Duration {
    let line = frames_per_second(plan.setup.port(receiver(plan)).rate, size);
    Duration::from_nanos_f64(1e9 / (line * excess()) / 2.0)
}

/// Returns the port at which all frames arrive.
fn receiver(plan: &crate::plan::Plan) -> Port {
    Port(plan.equal_ports() - 1)
}

fn trial(
    runner: &mut Runner<'_>,
    (size, senders): (u32, usize),
    time: Duration,
    ignoring: bool,
) -> Result<Counted, Trouble> {
    let to = receiver(runner.plan);
    let shares: Vec<f64> = match senders {
        2 => vec![LINE, EXTRA],
        n => vec![(LINE + EXTRA) / n as f64; n],
    };
    let stream = |(n, share): (usize, &f64)| Stream {
        ends: (Port(n), to),
        size,
        share: *share,
        start: Duration::ZERO,
        limit: Limit::Time(time),
    };
    let streams: Vec<_> = shares.iter().enumerate().map(stream).collect();
    let name = format!("{size} bytes, buffer, {senders} senders, {time}");
    let nothing: Vec<_> = (0..senders).map(|n| (Port(n), Obeys::Nothing)).collect();
    runner.measure_with(name, &streams, if ignoring { &nothing } else { &[] })
}
