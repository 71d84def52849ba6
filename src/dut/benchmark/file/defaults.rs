//! Defaults of a plan: functions of the device, virtual or real, and its rate.

use ground::time::Duration;
use ground::units::{Bytes, Priority};
use validate::file::Dut;
use validate::setup::{Setup, Times};
use validate::trial::Port;

use crate::mlrsearch::Goal;
use crate::plan::{Learning, MlrSearch, Plan, Repeated, Resets, SIZES, Soak};

/// Bytes of a trial of a virtual device. The first trials of MLRsearch have a tenth of them.
const VIRTUAL: u64 = 20_000_000;

/// Trials at a load that decide about it, of CSIT's goals.
const SUM: u64 = 21;

/// Parts of a soak of a virtual device.
pub(super) const PARTS: u64 = 10;

impl Plan {
    /// Returns the plan of a device with the defaults of all parameters but the duration of a trial, if that is
    /// known.
    pub(super) fn with_defaults(dut: &Dut, trial: Option<Duration>) -> Self {
        let seconds = Duration::from_secs;
        let repeated = |duration, repeats| Repeated { duration, repeats };
        let setup = &dut.setup;
        let real = Self {
            flows: (0..setup.ports.len() / 2).map(|n| (Port(2 * n), Port(2 * n + 1))).collect(),
            priority: setup.lossy.iter().next().unwrap_or(Priority::ALL[0]),
            sizes: sizes(setup),
            max_load: 1.0,
            trial: trial.unwrap_or(seconds(60)),
            drain: Times::REAL_DRAIN,
            rest: seconds(5),
            width: 0.001,
            latency: repeated(seconds(120), 20),
            loss_step: 0.1,
            back_to_back: repeated(seconds(2), 50),
            recovery: repeated(seconds(60), 3),
            reset: Resets { steady: seconds(15), longest: seconds(120), repeats: 3 },
            snake: 1,
            bursts: vec![1],
            burst_target: 100_000,
            // 802.1Q's 300 s, and some more.
            learning: Learning { addresses: 16_384, rate: 1_000, ageing: seconds(310) },
            soak: Soak { load: 0.8, duration: seconds(24 * 60 * 60), interval: seconds(60) },
            search: MlrSearch { warmup: seconds(1), longest: seconds(1_200) },
            goals: csit(first_trial(dut)),
            setup: setup.clone(),
            tester: Vec::new(),
        };
        if dut.lab.is_none() {
            return real;
        }
        // A virtual device is exact: it shows in one short trial what others show in many long ones.
        let trial = trial.unwrap_or_else(|| virtual_trial(dut));
        let once = repeated(trial, 1);
        let longest = dut.resets.values().max().copied().unwrap_or(trial);
        Self {
            trial,
            drain: setup.times.drain,
            rest: Duration::ZERO,
            latency: once,
            back_to_back: once,
            recovery: once,
            reset: Resets { steady: trial, longest: longest.saturating_mul(2), repeats: 1 },
            soak: Soak { duration: trial.saturating_mul(PARTS), interval: trial, ..real.soak },
            search: MlrSearch { warmup: Duration::ZERO, ..real.search },
            ..real
        }
    }
}

/// Returns the duration of a trial of a virtual device, whose slowest port decides.
fn virtual_trial(dut: &Dut) -> Duration {
    let rates = dut.setup.ports.iter().map(|port| port.rate);
    rates.min().unwrap_or(dut.setup.rate).time_for(Bytes(VIRTUAL))
}

/// Returns the duration of a goal's first trials.
pub(super) fn first_trial(dut: &Dut) -> Duration {
    match dut.lab {
        Some(_) => virtual_trial(dut).div(10),
        None => Duration::from_secs(1),
    }
}

/// Returns the frame sizes of RFC 2544 that a device forwards; the shortest are made as long as its shortest.
fn sizes(setup: &Setup) -> Vec<u32> {
    let least = setup.shortest();
    SIZES.map(|size| size.max(least)).into_iter().filter(|size| *size <= setup.max_frame).collect()
}

/// Returns the goals of FD.io CSIT.
fn csit(first: Duration) -> Vec<(String, Goal)> {
    let without_loss = goal(first, first);
    let partial = Goal { loss_ratio: 0.005, ..without_loss };
    vec![("NDR".to_owned(), without_loss), ("PDR".to_owned(), partial)]
}

/// Returns a goal with these durations of the first trials, and of the full-length ones.
pub(super) fn goal(initial_duration: Duration, final_duration: Duration) -> Goal {
    Goal {
        loss_ratio: 0.0,
        exceed_ratio: 0.5,
        width: 0.005,
        initial_duration,
        final_duration,
        duration_sum: final_duration.saturating_mul(SUM),
    }
}
