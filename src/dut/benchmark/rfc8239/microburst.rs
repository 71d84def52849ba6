//! Microbursts: the longest burst of several ports at line rate without loss (RFC 8239, section 4).

use ground::time::Duration;
use serde::Serialize;
use validate::bench::Trouble;
use validate::trial::{Limit, Port};

use super::has;
use crate::trial::{Runner, Stream};

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
}

pub(super) fn run(runner: &mut Runner<'_>, size: u32) -> Result<Vec<MicroburstRow>, Trouble> {
    if !has(runner, "microburst", 3) {
        return Ok(Vec::new());
    }
    let ports = runner.plan.equal_ports();
    // From N-1 to 1, N-2 to 2 ..., as long as there are more senders than receivers.
    let receivers = (1..ports).take_while(|receivers| ports - receivers > *receivers);
    receivers.map(|receivers| search(runner, size, (ports - receivers, receivers))).collect()
}

/// Searches for the longest burst, up to a trial's length.
fn search(
    runner: &mut Runner<'_>,
    size: u32,
    (senders, receivers): (usize, usize),
) -> Result<MicroburstRow, Trouble> {
    let line = runner.plan.line_rate(0, size);
    let frames = line * runner.plan.trial.as_secs_f64() / receivers as f64;
    // In frames to each receiver.
    let longest = frames.clamp(1.0, f64::from(u32::MAX)) as u32;
    let (mut good, mut bad) = (0, longest);
    let at_limit = passes(runner, size, (senders, receivers), longest)?;
    if at_limit {
        good = longest;
    }
    while !at_limit && bad - good > 1 {
        let middle = good + (bad - good) / 2;
        let passed = passes(runner, size, (senders, receivers), middle)?;
        *(if passed { &mut good } else { &mut bad }) = middle;
    }
    runner.row("microburst");
    let frames = good.saturating_mul(receivers as u32);
    let bytes = u64::from(frames) * u64::from(size);
    Ok(MicroburstRow { senders, receivers, size, frames, bytes, at_limit })
}

fn passes(
    runner: &mut Runner<'_>,
    size: u32,
    (senders, receivers): (usize, usize),
    frames: u32,
) -> Result<bool, Trouble> {
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
    let sum = runner.measure(name, &streams)?.sum();
    Ok(sum.lost() == 0 && !sum.paused)
}
