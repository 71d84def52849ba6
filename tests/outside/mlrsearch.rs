//! The search for throughputs beside the Python library of FD.io CSIT, on the same virtual devices
//! with known loss curves.

use benchmark::mlrsearch::{Config, Goal, Measured, Search};
use serde::Deserialize;
use sluice::time::Duration;

use crate::snappi;

/// Devices, each with a seed of its own.
const DEVICES: u64 = 100;

/// A search of either side.
#[derive(Deserialize)]
struct Found {
    seed: u64,
    trials: u64,
    /// Lower and upper bound of each goal, in frames/s.
    goals: Vec<(f64, f64)>,
}

/// SplitMix64 of a value.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// A device with a loss curve: sharp, soft, or with a loss in an eighth of the trials. The same as
/// in `judges/mlrsearch_judge.py`.
struct Device {
    seed: u64,
    capacity: f64,
    trials: u64,
}

impl Device {
    fn new(seed: u64) -> Self {
        Self { seed, capacity: 20_000.0 + (mix(seed) % 14_000_000) as f64, trials: 0 }
    }

    /// Returns the share of frames that the next trial at a load loses.
    fn loss_ratio(&self, load: f64) -> f64 {
        let mut lost = if load <= self.capacity { 0.0 } else { 1.0 - self.capacity / load };
        let soft = 0.95 * self.capacity;
        if self.seed % 3 == 1 && load > soft {
            lost = f64::max(lost, 0.1 * (load / soft - 1.0));
        }
        if self.seed % 3 == 2 && mix(self.seed * 1_000_003 + self.trials) % 8 == 0 {
            lost += 0.01;
        }
        f64::min(lost, 1.0)
    }

    fn measure(&mut self, duration: Duration, load: f64) -> Measured {
        let expected = (load * (duration.as_picos() as f64 / 1e12)) as u64;
        let lost = (expected as f64 * self.loss_ratio(load) + 0.5) as u64;
        self.trials += 1;
        Measured { duration, expected, forwarded: expected - lost }
    }
}

/// The width of CSIT's goals.
const WIDTH: f64 = 0.005;

fn search(seed: u64) -> Found {
    let second = Duration::from_millis(1000);
    let goal = |loss_ratio| Goal {
        loss_ratio,
        exceed_ratio: 0.5,
        width: WIDTH,
        initial_duration: second,
        final_duration: second,
        duration_sum: Duration::from_millis(21_000),
    };
    let goals = vec![goal(0.0), goal(0.005)];
    let (min_load, max_load) = (9001.0, 14_880_952.0);
    let config = Config {
        goals,
        min_load,
        max_load,
        preceding_targets: 2,
        search_duration: None,
        warmup: None,
    };
    let mut search = Search::new(&config).unwrap();
    let mut device = Device::new(seed);
    while let Some(trial) = search.next() {
        search.record(device.measure(trial.duration, trial.load)).unwrap();
    }
    let bounds = search.results().into_iter().map(|result| {
        assert_eq!(result.irregular, None, "seed {seed}");
        (result.lower.unwrap().load, result.upper.unwrap().load)
    });
    Found { seed, trials: search.trials(), goals: bounds.collect() }
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}

#[test]
fn bounds_agree_with_those_of_csit_and_need_no_more_trials() {
    let Some(python) = snappi::python() else { return };
    let said = snappi::run(&python, "mlrsearch_judge.py", &[&DEVICES.to_string()]);
    let theirs: Vec<Found> =
        said.lines().map(|line| serde_json::from_str(line).expect("a search")).collect();
    assert_eq!(theirs.len() as u64, DEVICES);
    let ours: Vec<Found> = theirs.iter().map(|found| search(found.seed)).collect();
    for (a, b) in ours.iter().zip(&theirs) {
        assert_eq!(a.goals.len(), b.goals.len());
        for (n, ((a_low, a_high), (b_low, b_high))) in a.goals.iter().zip(&b.goals).enumerate() {
            let apart = |x: &f64, y: &f64| (x - y).abs() / x.max(*y);
            let both = [apart(a_low, b_low), apart(a_high, b_high)];
            let seed = a.seed;
            assert!(
                both.iter().all(|apart| *apart <= WIDTH),
                "seed {seed}, goal {n}: {a_low} to {a_high} here, {b_low} to {b_high} there"
            );
        }
    }
    let trials = |found: &[Found]| median(found.iter().map(|f| f.trials).collect());
    let (here, there) = (trials(&ours), trials(&theirs));
    println!("median of trials over {DEVICES} devices: {here} here, {there} there");
    assert!(here <= there, "{here} trials here, {there} there");
}
