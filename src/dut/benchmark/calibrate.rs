//! The limits of the tester itself: a benchmark must not report them as the device's.

use ground::time::Duration;
use validate::bench::{Bench, TrialError};
use validate::trial::{Flow, Limit, Obeys, Port, Rate, Trial};

use crate::plan::{Plan, TesterLimit};
use crate::trial::ATTEMPTS;

/// Time of traffic of a trial.
const TIME: Duration = Duration::from_millis(300);

/// Part of the measured rate that the tester is taken to carry: it is not the same each time. A choice.
const SURE: f64 = 0.9;

/// Share of the intended frames from which on the tester keeps the rate of the line.
const KEEPS: f64 = 0.999;

/// Measures how many frames per second the tester carries by itself, for each frame size, and limits the
/// plan's loads to that. Testers in virtual time have no limits.
///
/// `progress` is called before each trial with its description, and ends the run by returning false.
///
/// # Errors
/// The tester cannot be trusted, the machine disturbed it repeatedly, or the user ended the run.
pub fn calibrate(
    plan: &mut Plan,
    bench: &mut dyn Bench,
    progress: &mut dyn FnMut(&str) -> bool,
) -> Result<(), TrialError> {
    if bench.world() == "virtual" {
        return Ok(());
    }
    for size in plan.sizes.clone() {
        let mut trial = Trial::new(format!("{size} bytes, the tester alone"), TIME + TIME.div(2));
        let flow = Flow::new((Port(0), Port(1)), plan.priority, Limit::Time(TIME)).size(size);
        trial.flow(flow.rate(Rate::Line(plan.max_load)));
        // Pauses of the device must not pass for a limit of the tester.
        trial.obeys.push((Port(0), Obeys::Nothing));
        let mut attempt = 1;
        let limit = loop {
            if !progress(&trial.name) {
                return Err(TrialError::Interrupted);
            }
            match bench.limit(&trial) {
                Err(TrialError::Disturbed(_)) if attempt < ATTEMPTS => attempt += 1,
                other => break other?,
            }
        };
        // A bench without limits has none for any size.
        let Some(frames) = limit else { return Ok(()) };
        if frames == 0 {
            let what = format!("the tester alone carries no frame of {size} bytes");
            return Err(TrialError::Error(what));
        }
        let rate = frames as f64 / TIME.as_secs_f64();
        // Only a tester that is clearly short of the line limits the plan, and then with a margin.
        if rate < plan.max_rate(size) * KEEPS {
            plan.tester.push(TesterLimit { size, frames_per_second: rate * SURE });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use validate::observation::Observation;

    /// A tester that carries at most this number of frames in a trial.
    struct Slow(u64);

    impl Bench for Slow {
        fn run(&mut self, _: &Trial) -> Result<Observation, TrialError> {
            unreachable!("benchmarks count")
        }

        fn run_on_cable(&mut self, _: &Trial) -> Result<Observation, TrialError> {
            unreachable!("benchmarks count")
        }

        fn limit(&mut self, trial: &Trial) -> Result<Option<u64>, TrialError> {
            assert_eq!(trial.flows.len(), 1);
            Ok(Some(self.0))
        }

        fn world(&self) -> &'static str {
            "real"
        }
    }

    #[test]
    fn loads_are_no_higher_than_the_tester_carries() {
        let (mut plan, mut virtual_bench) = crate::tests::example("benchmark/rfc2544.yaml");
        let line = plan.clone();
        calibrate(&mut plan, &mut virtual_bench, &mut |_| true).unwrap();
        assert_eq!(plan, line, "virtual testers have no limits");
        let frames = 3_000_000;
        calibrate(&mut plan, &mut Slow(frames), &mut |_| true).unwrap();
        // 10 M frames/s are less than the line with 64 and 512 bytes, and more with 1,518.
        let sizes: Vec<_> = plan.tester.iter().map(|limit| limit.size).collect();
        assert_eq!(sizes, [64, 512]);
        assert!((plan.max_rate(64) - 9e6).abs() < 1e-3);
        assert!(plan.max_share(64) < 0.07 && plan.max_share(1518) == plan.max_load);
        assert_eq!(plan.max_rate(1518), line.max_rate(1518));
        assert!(plan.to_string().contains("tester alone"), "{plan}");
        let end = calibrate(&mut line.clone(), &mut Slow(frames), &mut |_| false);
        assert_eq!(end, Err(TrialError::Interrupted));
        let nothing = calibrate(&mut line.clone(), &mut Slow(0), &mut |_| true);
        assert!(matches!(nothing, Err(TrialError::Error(why)) if why.contains("64 bytes")));
    }
}
