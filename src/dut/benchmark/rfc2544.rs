//! Benchmarks of RFC 2544, section 26, with RFC 9004's back-to-back test: throughput, latency, frame loss and
//! bursts. Those of recovery and reset are in `recovery`.
//!
//! RFC 2544 measures the latency of one tagged frame in each of 20 streams. Here every frame of each stream is
//! measured, so the mean of a stream is that of all its frames.

pub use crate::recovery::{RecoveryRow, ResetRow};

use ground::named;
use serde::Serialize;
use validate::bench::TrialError;

use crate::mlrsearch::Irregular;
use crate::plan::Repeated;
use crate::run::{Procedure, Run, tables};
use crate::trial::{Latency, Runner};
use crate::{recovery, search, table};

named! {
    /// A test of section 26.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Test {
        // 26.1.
        Throughput = "throughput",
        // 26.2.
        Latency = "latency",
        // At parts of the throughput, as FD.io CSIT does.
        LatencyByLoad = "latency-by-load",
        // 26.3.
        Loss = "loss",
        // 26.4, as updated by RFC 9004.
        BackToBack = "back-to-back",
        // 26.5.
        Recovery = "recovery",
        // 26.6, as updated by RFC 6201.
        Reset = "reset",
    }
}

tables! {
    throughput: ThroughputRow,
    latency: LatencyRow,
    latency_by_load: LoadRow,
    loss: LossRow,
    back_to_back: BurstRow,
    recovery: RecoveryRow,
    reset: ResetRow,
}

impl Procedure for Tables {
    const NAME: &'static str = "rfc2544";
    type Test = Test;
    const TESTS: &'static [(&'static str, Test)] = Test::NAMES;

    /// All tests but the loss curve begin with the throughput, which is searched for first and is part of the
    /// results then; a reset with that of the smallest size alone.
    fn fill(&mut self, runner: &mut Runner<'_>, tests: &[Test]) -> Result<(), TrialError> {
        all(runner, tests, self)
    }

    fn text(run: &Run<Self>) -> String {
        table::rfc2544(run)
    }
}

fn all(runner: &mut Runner<'_>, tests: &[Test], tables: &mut Tables) -> Result<(), TrialError> {
    let smallest = runner.plan.sizes.iter().copied().min();
    for size in runner.plan.sizes.clone() {
        // A reset takes minutes of a real device, so it is measured with one size.
        let needs_throughput = |test: &Test| match test {
            Test::Loss => false,
            Test::Reset => smallest == Some(size),
            _ => true,
        };
        let own: Vec<Test> = tests.iter().copied().filter(needs_throughput).collect();
        if !own.is_empty() {
            let row = throughput(runner, size)?;
            runner.row("throughput");
            tables.throughput.push(row);
            match row.frames_per_second {
                Some(rate) => at_throughput(runner, &own, &row, rate, tables)?,
                None => {
                    let why = format!("{size} bytes: no load without loss was found");
                    for test in own.iter().filter(|test| **test != Test::Throughput) {
                        runner.not_run(test.name(), &why);
                    }
                }
            }
        }
        if tests.contains(&Test::Loss) {
            tables.loss.push(loss(runner, size)?);
            runner.row("loss");
        }
    }
    Ok(())
}

/// Runs the selected tests of a frame size whose throughput is `rate` frames/s.
fn at_throughput(
    runner: &mut Runner<'_>,
    tests: &[Test],
    throughput: &ThroughputRow,
    rate: f64,
    tables: &mut Tables,
) -> Result<(), TrialError> {
    let (wants, size) = (|test| tests.contains(&test), throughput.size);
    if wants(Test::Latency) {
        tables.latency.push(latency(runner, size, rate)?);
        runner.row("latency");
    }
    if wants(Test::LatencyByLoad) {
        tables.latency_by_load.extend(latency_by_load(runner, size, rate)?);
    }
    if wants(Test::BackToBack) {
        let found = back_to_back(runner, throughput)?;
        runner.add("back_to_back", &mut tables.back_to_back, found);
    }
    if wants(Test::Recovery) {
        let found = recovery::from_overload(runner, throughput, rate)?;
        runner.add("recovery", &mut tables.recovery, found);
    }
    // Last, because the device loses its state.
    if wants(Test::Reset) {
        tables.reset = recovery::from_reset(runner, size, rate)?;
    }
    Ok(())
}

/// Throughput for a frame size. Rates are those of the first flow.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct ThroughputRow {
    /// Frame size in bytes, FCS included.
    pub size: u32,
    /// Highest rate without loss that was found; absent if there was none.
    pub frames_per_second: Option<f64>,
    /// Lowest rate with loss that was found; absent if there was none.
    pub loss_at: Option<f64>,
    /// Rate of a full line.
    pub line_frames_per_second: f64,
    /// Absent if the two rates are as close as configured.
    pub irregular: Option<Irregular>,
    /// True if the device paused the tester at the highest rate without loss.
    pub paused: bool,
    pub trials: u64,
}

impl ThroughputRow {
    /// Returns true if no load that the tester sends is lost, up to the line rate.
    #[must_use]
    pub fn is_line_rate(&self) -> bool {
        self.frames_per_second.is_some_and(|rate| rate >= self.line_frames_per_second)
    }
}

fn throughput(runner: &mut Runner<'_>, size: u32) -> Result<ThroughputRow, TrialError> {
    let plan = runner.plan;
    let mut paused = Vec::new();
    let (result, trials) = search::rfc2544(runner, plan.max_rate(size), |runner, trial| {
        let sample = runner.offer(size, trial.load, trial.duration)?;
        // Remembered by load: only the trials at the result say if it needs pauses.
        if sample.paused {
            paused.push(trial.load);
        }
        Ok((sample.intended, sample.forwarded))
    })?;
    let rate = result.lower.map(|bound| bound.load);
    Ok(ThroughputRow {
        size,
        frames_per_second: rate,
        loss_at: result.upper.map(|bound| bound.load),
        line_frames_per_second: plan.line_rate(0, size),
        irregular: result.irregular,
        paused: rate.is_some_and(|rate| paused.contains(&rate)),
        trials,
    })
}

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
fn latency(runner: &mut Runner<'_>, size: u32, load: f64) -> Result<LatencyRow, TrialError> {
    let (filo, lost) = repeated_latency(runner, size, load, runner.plan.latency)?;
    let [sent, received] = line_times(runner, size);
    // FILO ends with the last bit out: less the frame's time on the receiver's line it is the first bit out.
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
fn latency_by_load(
    runner: &mut Runner<'_>,
    size: u32,
    rate: f64,
) -> Result<Vec<LoadRow>, TrialError> {
    let once = Repeated { duration: runner.plan.trial, repeats: 1 };
    let mut rows = Vec::new();
    for share_percent in SHARES {
        let load = rate * f64::from(share_percent) / 100.0;
        let (filo, lost) = repeated_latency(runner, size, load, once)?;
        runner.row("latency_by_load");
        rows.push(LoadRow { size, share_percent, load, filo, lost });
    }
    Ok(rows)
}

/// Returns the latency at a load, and the number of lost frames.
fn repeated_latency(
    runner: &mut Runner<'_>,
    size: u32,
    load: f64,
    Repeated { duration, repeats }: Repeated,
) -> Result<(Latency, u64), TrialError> {
    let (mut all, mut lost) = (Vec::new(), 0);
    for _ in 0..repeats {
        let sample = runner.offer(size, load, duration)?;
        lost += sample.lost();
        // RFC 2544 reports the mean of the repetitions, whatever the number of their frames.
        all.extend(sample.latency.map(|latency| (1.0, latency)));
    }
    let together = Latency::of_all(&all)
        .ok_or_else(|| TrialError::Error(format!("{size} bytes: no frame arrived")))?;
    let mean = |value: fn(&Latency) -> f64| {
        all.iter().map(|(_, l)| value(l)).sum::<f64>() / all.len() as f64
    };
    // That goes for percentiles, too; minimum and maximum are those of all repetitions.
    Ok((Latency { p50_ns: mean(|l| l.p50_ns), p99_ns: mean(|l| l.p99_ns), ..together }, lost))
}

/// Returns the times of a frame on the lines of the first flow's sender and receiver, in
/// nanoseconds.
fn line_times(runner: &Runner<'_>, size: u32) -> [f64; 2] {
    let (from, to) = runner.plan.flows[0];
    [from, to].map(|port| {
        let rate = runner.plan.setup.port(port).rate;
        f64::from(size) * 8e9 / rate.get() as f64
    })
}

/// Loads in a row without loss that end the curve.
const CLEAN: u32 = 2;

/// The loss curve of a frame size.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LossRow {
    /// Frame size in bytes, FCS included.
    pub size: u32,
    /// By falling load.
    pub points: Vec<LossPoint>,
}

/// A point of a loss curve.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct LossPoint {
    /// Load in percent of the line.
    pub load_percent: f64,
    /// Lost frames in percent of the intended ones; frames that were held back because of pauses
    /// are lost, too.
    pub loss_percent: f64,
    /// Frames that were held back.
    pub held_back: u64,
    pub lost: u64,
}

fn loss(runner: &mut Runner<'_>, size: u32) -> Result<LossRow, TrialError> {
    let plan = runner.plan;
    let (mut points, mut clean) = (Vec::new(), 0);
    let mut load = plan.max_share(size);
    while load > 0.0 && clean < CLEAN {
        let sample = runner.offer(size, plan.line_rate(0, size) * load, plan.trial)?;
        points.push(LossPoint {
            load_percent: load * 100.0,
            loss_percent: sample.loss_ratio() * 100.0,
            held_back: sample.intended - sample.offered,
            lost: sample.lost(),
        });
        clean = if sample.loss_ratio() == 0.0 { clean + 1 } else { 0 };
        // The rounding of a sum of steps may leave a tiny load.
        load = ((load - plan.loss_step) * 1e9).round() / 1e9;
    }
    Ok(LossRow { size, points })
}

/// Trials of a burst before it counts as too long: a loss may come from outside the device
/// (binary search with loss verification).
const VERIFIED: u32 = 2;

/// Bursts for a frame size, in frames of each flow.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct BurstRow {
    /// Frame size in bytes, FCS included.
    pub size: u32,
    pub mean: f64,
    pub min: u32,
    pub max: u32,
    /// Standard deviation.
    pub deviation: f64,
    /// True if the longest burst that was tried lost nothing.
    pub at_limit: bool,
    /// Time of the mean burst at line rate, in microseconds: the implied buffer time.
    pub implied_us: f64,
    /// Buffer time without the frames that the device forwards meanwhile, in microseconds.
    pub corrected_us: f64,
    pub repeats: u32,
}

/// Searches for the longest burst; `None` for a device whose throughput is the line rate, of which
/// the burst says nothing (RFC 9004, section 4).
fn back_to_back(
    runner: &mut Runner<'_>,
    throughput: &ThroughputRow,
) -> Result<Option<BurstRow>, TrialError> {
    let size = throughput.size;
    let Some(rate) = throughput.frames_per_second else { return Ok(None) };
    if throughput.irregular.is_some() {
        let what = "back-to-back: not run for sizes whose throughput has no upper bound (RFC 9004)";
        runner.note(what);
        return Ok(None);
    }
    let line = throughput.line_frames_per_second;
    let plan = runner.plan.back_to_back;
    let longest = (line * plan.duration.as_secs_f64()).clamp(1.0, f64::from(u32::MAX)) as u32;
    let mut bursts = Vec::new();
    for _ in 0..plan.repeats {
        bursts.push(search::largest(longest, |frames| burst_passes(runner, size, frames))?);
    }
    let count = bursts.len() as f64;
    let mean = bursts.iter().map(|n| f64::from(*n)).sum::<f64>() / count;
    let variance = bursts.iter().map(|n| (f64::from(*n) - mean).powi(2)).sum::<f64>() / count;
    let implied_us = mean / line * 1e6;
    Ok(Some(BurstRow {
        size,
        mean,
        min: bursts.iter().copied().min().unwrap_or(0),
        max: bursts.iter().copied().max().unwrap_or(0),
        deviation: variance.sqrt(),
        at_limit: bursts.contains(&longest),
        implied_us,
        // The device forwards at its throughput while the burst arrives, and those frames need no buffer.
        corrected_us: implied_us - implied_us * rate / line,
        repeats: plan.repeats,
    }))
}

/// True if no frame of a burst is lost, in the first or in a verifying trial.
fn burst_passes(runner: &mut Runner<'_>, size: u32, frames: u32) -> Result<bool, TrialError> {
    for _ in 0..VERIFIED {
        if runner.burst(size, frames)?.loss_ratio() == 0.0 {
            return Ok(true);
        }
        // A virtual device does the same again.
        if runner.is_exact() {
            break;
        }
    }
    Ok(false)
}
