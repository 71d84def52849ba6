//! Latency at the throughput (26.2).
//!
//! RFC 2544 measures one tagged frame in each of 20 streams. Here every frame of each stream is
//! measured, so the mean of a stream is that of all its frames.

use serde::Serialize;
use validate::bench::Trouble;

use crate::trial::{Latency, Runner};

/// Latency for a frame size, over all repetitions. FILO is the time from the first bit in to the
/// last bit out, as RFC 8239 wants it.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct LatencyRow {
    /// Frame size in bytes, FCS included.
    pub size: u32,
    /// Load in frames/s.
    pub load: f64,
    pub filo: Latency,
    /// Mean of RFC 1242's latency of store-and-forward devices: last bit in to first bit out (LIFO).
    /// Below 0 for a device that forwards before it has the whole frame. Absent as
    /// `bit_forwarding_ns` is.
    pub store_and_forward_ns: Option<f64>,
    /// Mean of RFC 1242's latency of bit-forwarding devices: first bit in to first bit out (FIFO).
    /// Absent for ports in software, on which a frame takes no time: it would be below 0.
    pub bit_forwarding_ns: Option<f64>,
    pub repeats: u32,
    /// Frames that were lost at this load, over all repetitions.
    pub lost: u64,
}

pub(super) fn run(runner: &mut Runner<'_>, size: u32, load: f64) -> Result<LatencyRow, Trouble> {
    let plan = runner.plan;
    let (mut all, mut lost) = (Vec::new(), 0);
    for _ in 0..plan.latency.repeats {
        let sample = runner.at(size, load, plan.latency.duration)?;
        lost += sample.lost();
        all.extend(sample.latency);
    }
    if all.is_empty() {
        return Err(Trouble::Error(format!("{size} bytes: no frame arrived")));
    }
    let mean = |value: fn(&Latency) -> f64| all.iter().map(value).sum::<f64>() / all.len() as f64;
    let filo = Latency {
        min_ns: all.iter().map(|l| l.min_ns).fold(f64::INFINITY, f64::min),
        mean_ns: mean(|l| l.mean_ns),
        p50_ns: mean(|l| l.p50_ns),
        p99_ns: mean(|l| l.p99_ns),
        max_ns: all.iter().map(|l| l.max_ns).fold(0.0, f64::max),
        resolution_ns: all.iter().map(|l| l.resolution_ns).fold(0.0, f64::max),
    };
    let [sent, received] = ends(runner, size);
    let first_out = Some(filo.mean_ns - received).filter(|ns| *ns > filo.resolution_ns);
    if first_out.is_none() {
        runner.note(
            "latency: ports in software deliver a frame at once, so LIFO and FIFO are unknown",
        );
    }
    Ok(LatencyRow {
        size,
        load,
        filo,
        store_and_forward_ns: first_out.map(|ns| ns - sent),
        bit_forwarding_ns: first_out,
        repeats: plan.latency.repeats,
        lost,
    })
}

/// Returns the times of a frame on the lines of the first flow's sender and receiver, in
/// nanoseconds.
fn ends(runner: &Runner<'_>, size: u32) -> [f64; 2] {
    let (from, to) = runner.plan.flows[0];
    [from, to].map(|port| {
        let rate = runner.plan.setup.port(port).rate;
        f64::from(size) * 8e9 / rate.get() as f64
    })
}
