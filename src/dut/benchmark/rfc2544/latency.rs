//! Latency at the throughput (26.2), and at parts of it.
//!
//! RFC 2544 measures one tagged frame in each of 20 streams. Here every frame of each stream is
//! measured, so the mean of a stream is that of all its frames.

use serde::Serialize;
use validate::bench::Trouble;

use crate::plan::Repeated;
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

/// Loads at which latency is measured, in percent of the throughput: those of FD.io CSIT.
const SHARES: [u32; 4] = [100, 90, 50, 10];

/// Latency for a frame size at a part of the throughput.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct LoadRow {
    /// Frame size in bytes, FCS included.
    pub size: u32,
    /// Load in percent of the throughput.
    pub share_percent: u32,
    /// Load in frames/s.
    pub load: f64,
    pub filo: Latency,
    /// Frames that were lost at this load.
    pub lost: u64,
}

/// Measures at the throughput, which is `load` frames/s.
pub(super) fn run(runner: &mut Runner<'_>, size: u32, load: f64) -> Result<LatencyRow, Trouble> {
    let (filo, lost) = measure(runner, (size, load), runner.plan.latency)?;
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
        repeats: runner.plan.latency.repeats,
        lost,
    })
}

/// Measures at parts of the throughput, which is `rate` frames/s: a trial each.
pub(super) fn by_load(
    runner: &mut Runner<'_>,
    size: u32,
    rate: f64,
) -> Result<Vec<LoadRow>, Trouble> {
    let once = Repeated { duration: runner.plan.trial, repeats: 1 };
    let mut rows = Vec::new();
    for share_percent in SHARES {
        let load = rate * f64::from(share_percent) / 100.0;
        let (filo, lost) = measure(runner, (size, load), once)?;
        runner.row("latency_by_load");
        rows.push(LoadRow { size, share_percent, load, filo, lost });
    }
    Ok(rows)
}

/// Returns the latency at a load, and the number of lost frames.
fn measure(
    runner: &mut Runner<'_>,
    (size, load): (u32, f64),
    Repeated { duration, repeats }: Repeated,
) -> Result<(Latency, u64), Trouble> {
    let (mut all, mut lost) = (Vec::new(), 0);
    for _ in 0..repeats {
        let sample = runner.at(size, load, duration)?;
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
    Ok((filo, lost))
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
