//! A search for throughputs on a device: MLRsearch with trials.

use validate::bench::Trouble;

use crate::mlrsearch::{Config, Goal, GoalResult, Measured, Search, Trial};
use crate::plan::MlrSearch;
use crate::trial::Runner;

/// Smallest load of a search, as a share of the largest.
const LEAST: f64 = 0.001;

/// Easier targets before a goal, as of CSIT.
const PRECEDING: u32 = 2;

/// Results of a search.
#[derive(Clone, PartialEq, Debug)]
pub struct Found {
    /// By goal.
    pub goals: Vec<GoalResult>,
    pub trials: u64,
    /// Reason why the search ended early.
    pub trouble: Option<Trouble>,
}

/// Searches for the throughputs of goals up to `max_load` frames/s, as `how` says. `measure` runs a trial and
/// returns the frames that count, and how many of them were forwarded.
pub fn search(
    runner: &mut Runner<'_>,
    (goals, how): (Vec<Goal>, MlrSearch),
    max_load: f64,
    mut measure: impl FnMut(&mut Runner<'_>, Trial) -> Result<(u64, u64), Trouble>,
) -> Found {
    let config = Config {
        goals,
        min_load: max_load * LEAST,
        max_load,
        preceding_targets: PRECEDING,
        search_duration: how.longest,
        warmup: how.warmup,
    };
    let error = |error: &dyn std::error::Error| Trouble::Error(error.to_string());
    let mut search = match Search::new(&config) {
        Ok(search) => search,
        Err(bad) => return Found { goals: Vec::new(), trials: 0, trouble: Some(error(&bad)) },
    };
    let mut trouble = None;
    while let Some(trial) = search.next() {
        let told = measure(runner, trial).and_then(|(expected, forwarded)| {
            let forwarded = forwarded.min(expected);
            let measured = Measured { duration: trial.duration, expected, forwarded };
            search.told(measured).map_err(|bad| error(&bad))
        });
        if let Err(why) = told {
            trouble = Some(why);
            break;
        }
    }
    Found { goals: search.results(), trials: search.trials(), trouble }
}

/// Searches for one throughput by RFC 2544 with the durations and the width of the plan.
///
/// # Errors
/// The search ended early.
pub fn rfc2544(
    runner: &mut Runner<'_>,
    max_load: f64,
    measure: impl FnMut(&mut Runner<'_>, Trial) -> Result<(u64, u64), Trouble>,
) -> Result<(GoalResult, u64), Trouble> {
    let goal = Goal::rfc2544(runner.plan.trial, runner.plan.width);
    let Found { mut goals, trials, trouble } =
        search(runner, (vec![goal], MlrSearch::default()), max_load, measure);
    match trouble {
        Some(trouble) => Err(trouble),
        None => Ok((goals.swap_remove(0), trials)),
    }
}
