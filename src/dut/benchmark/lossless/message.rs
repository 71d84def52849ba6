//! Messages of all senders at once: the time until they are complete, which pauses are part of.

use serde::Serialize;
use validate::bench::Trouble;
use validate::trial::Limit;

use crate::mesh::Mesh;
use crate::trial::Runner;

/// Bytes of a message. A choice: more than most buffers hold of a port.
const BYTES: u32 = 1_000_000;

/// Completion of messages of 1 MB that all senders begin at the same time, at their largest load.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Message {
    /// Frames of each message.
    pub frames: u32,
    /// Time from the first bit sent to the last bit of all messages received, in microseconds; absent if frames
    /// were lost.
    pub completion_us: Option<f64>,
    /// The least possible: the time of all frames on the receiver's line.
    pub least_us: f64,
}

pub(super) fn measure(runner: &mut Runner<'_>, size: u32) -> Result<Message, Trouble> {
    let plan = runner.plan;
    let senders = plan.equal_ports() - 1;
    let frames = BYTES.div_ceil(size);
    let load = plan.max_share(size);
    let streams = Mesh::Partial(senders).streams(plan, size, load, Limit::Frames(frames));
    let name = format!("{size} bytes, messages of {frames} frames");
    let counted = runner.measure(name, &streams)?;
    let sum = counted.sum();
    let whole = sum.lost() == 0 && sum.forwarded == u64::from(frames) * senders as u64;
    let first = counted.arrivals.iter().flatten().map(|(first, _)| *first).reduce(f64::min);
    let last = counted.arrivals.iter().flatten().map(|(_, last)| *last).reduce(f64::max);
    // The first frame to arrive has waited for none, so that its latency is the least.
    let begin = first.zip(sum.latency).map(|(first, latency)| first - latency.min_ns / 1e9);
    let completion = begin.zip(last).filter(|_| whole).map(|(begin, last)| (last - begin) * 1e6);
    if completion.is_none() {
        runner.note("message: not measured, frames were lost, or `drain` is too short");
    }
    let least_us = f64::from(frames) * senders as f64 / plan.line_rate(0, size) * 1e6;
    Ok(Message { frames, completion_us: completion, least_us })
}
