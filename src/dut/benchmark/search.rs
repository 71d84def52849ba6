//! Searches for throughputs on a device by trials: of one throughput as RFC 2544 wants it, and MLRsearch, the
//! throughputs of several goals for each frame size.

use ground::time::Duration;
use serde::Serialize;
use validate::bench::TrialError;

use crate::mlrsearch::{Config, Goal, GoalResult, Measured, Search};
use crate::plan::MlrSearch;
use crate::run::{Procedure, Run};
use crate::table;
use crate::trial::Runner;

/// Smallest load of a search, as a share of the largest.
const LEAST: f64 = 0.001;

/// Easier targets before a goal, as of CSIT.
const PRECEDING: u32 = 2;

/// A trial of a search.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Offer {
    /// Frames per second of the first flow.
    pub load: f64,
    pub duration: Duration,
}

/// Results of a search.
#[derive(Clone, PartialEq, Debug)]
pub struct Found {
    /// By goal.
    pub goals: Vec<GoalResult>,
    pub trials: u64,
    /// Reason why the search ended early.
    pub trouble: Option<TrialError>,
}

/// Runs a trial, and returns the frames that count, and how many of them were forwarded.
type Measure<'a> = dyn FnMut(&mut Runner<'_>, Offer) -> Result<(u64, u64), TrialError> + 'a;

/// Searches for the throughputs of goals up to `max_load` frames/s, as `how` says; without it the search has
/// no warm-up and no limit. `measure` runs a trial and returns the frames that count, and how many of them were
/// forwarded.
pub fn search(
    runner: &mut Runner<'_>,
    goals: Vec<Goal>,
    how: Option<MlrSearch>,
    max_load: f64,
    mut measure: impl FnMut(&mut Runner<'_>, Offer) -> Result<(u64, u64), TrialError>,
) -> Found {
    let config = Config {
        goals,
        min_load: max_load * LEAST,
        max_load,
        preceding_targets: PRECEDING,
        search_duration: how.map(|how| how.longest),
        warmup: how.map(|how| how.warmup).filter(|time| *time > Duration::ZERO),
    };
    // A disturbance matters only where it could move a trial across one of these.
    let limits = config.goals.iter().map(|goal| goal.loss_ratio).collect();
    runner.searching(limits, |runner| searched(runner, &config, &mut measure))
}

/// Runs the trials of a search.
fn searched(runner: &mut Runner<'_>, config: &Config, measure: &mut Measure<'_>) -> Found {
    let error = |error: &dyn std::error::Error| TrialError::Error(error.to_string());
    let mut search = match Search::new(config) {
        Ok(search) => search,
        Err(bad) => return Found { goals: Vec::new(), trials: 0, trouble: Some(error(&bad)) },
    };
    let (mut trouble, mut doubted) = (None, false);
    while let Some(trial) = search.next() {
        let offer = Offer { load: trial.load, duration: trial.duration };
        let recorded = measure(runner, offer).and_then(|(expected, forwarded)| {
            // More than all is no better than all, and the search would refuse it.
            let forwarded = forwarded.min(expected);
            let measured = Measured { duration: trial.duration, expected, forwarded };
            search.record(measured).map_err(|bad| error(&bad))
        });
        // The search takes doubtful frames for lost by the device; `confirm` clears the doubt at the end.
        doubted |= runner.doubt().is_some();
        if let Err(why) = recorded {
            trouble = Some(why);
            break;
        }
    }
    let (goals, trials) = (search.results(), search.trials());
    // Equal trials of a virtual device have equal results.
    if trouble.is_none() && (doubted || !runner.is_exact()) {
        let all = config.goals.iter().zip(&goals);
        let mut bounds = all.filter_map(|(goal, result)| Some((goal, result.upper?.load)));
        trouble = bounds
            .find_map(|(goal, upper)| confirm(runner, goal, upper, config.max_load, measure).err());
    }
    Found { goals, trials, trouble }
}

/// Repeats the trial that made a load the upper bound of a goal. If the device carries it now, or it is in
/// doubt who lost the frames, a load that is higher by twice the width of the search decides: if it is lost for
/// certain, the limit is between the bounds to that width. Else the loss was not for the load, and the result
/// of the search is too low.
fn confirm(
    runner: &mut Runner<'_>,
    goal: &Goal,
    upper: f64,
    max_load: f64,
    measure: &mut Measure<'_>,
) -> Result<(), TrialError> {
    let above = (upper * (1.0 + 2.0 * goal.width)).min(max_load);
    let (mut carried, mut doubts) = (Vec::new(), Vec::new());
    for load in [upper, above] {
        let offer = Offer { load, duration: goal.final_duration };
        let (expected, forwarded) = measure(runner, offer)?;
        let lost = expected - forwarded.min(expected);
        let is_lost = lost as f64 > goal.loss_ratio * expected as f64;
        match runner.doubt() {
            None if is_lost => return Ok(()),
            Some(why) if is_lost => doubts.push(why),
            None | Some(_) => carried.push(format!("{lost} of {expected} at {load:.0} frames/s")),
        }
    }
    // The largest load has none above it, so the result is that to the width.
    if above <= upper {
        return Ok(());
    }
    Err(TrialError::Disturbed(doubts.pop().unwrap_or_else(|| {
        format!(
            "trials at the same rate disagree: the search lost too many frames at {upper:.0} frames/s, and the \
             same trial lost {} later",
            carried.join(", ")
        )
    })))
}

/// Searches for one throughput by RFC 2544 with the durations and the width of the plan.
///
/// # Errors
/// The search ended early.
pub fn rfc2544(
    runner: &mut Runner<'_>,
    max_load: f64,
    measure: impl FnMut(&mut Runner<'_>, Offer) -> Result<(u64, u64), TrialError>,
) -> Result<(GoalResult, u64), TrialError> {
    let goal = Goal::rfc2544(runner.plan.trial, runner.plan.width);
    let Found { mut goals, trials, trouble } = search(runner, vec![goal], None, max_load, measure);
    match trouble {
        Some(trouble) => Err(trouble),
        None => Ok((goals.swap_remove(0), trials)),
    }
}

/// Returns the largest number up to `most` that passes, in frames or addresses; 0 if none does.
pub(crate) fn largest(
    most: u32,
    mut passes: impl FnMut(u32) -> Result<bool, TrialError>,
) -> Result<u32, TrialError> {
    // The largest first: a device that takes it needs no search.
    if passes(most)? {
        return Ok(most);
    }
    // None at all always passes, so 0 is a lower bound without a trial.
    let (mut good, mut bad) = (0, most);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        *(if passes(middle)? { &mut good } else { &mut bad }) = middle;
    }
    Ok(good)
}

/// Table of the search.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Tables {
    pub rows: Vec<MlrRow>,
}

/// Result of a goal for a frame size.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct MlrRow {
    /// Frame size in bytes, FCS included.
    pub size: u32,
    /// Name of the goal.
    pub goal: String,
    /// Rate of a full line, in frames/s.
    pub line_frames_per_second: f64,
    #[serde(flatten)]
    pub result: GoalResult,
}

impl Procedure for Tables {
    const NAME: &'static str = "mlrsearch";
    type Test = ();

    fn fill(&mut self, runner: &mut Runner<'_>, _: &[()]) -> Result<(), TrialError> {
        for size in runner.plan.sizes.clone() {
            let (rows, ended) = search_size(runner, size);
            runner.add("rows", &mut self.rows, rows);
            ended.map_or(Ok(()), Err)?;
        }
        Ok(())
    }

    fn text(run: &Run<Self>) -> String {
        table::mlrsearch(run)
    }
}

fn search_size(runner: &mut Runner<'_>, size: u32) -> (Vec<MlrRow>, Option<TrialError>) {
    let plan = runner.plan;
    let goals = plan.goals.iter().map(|(_, goal)| *goal).collect();
    let found = search(runner, goals, Some(plan.search), plan.max_rate(size), |runner, trial| {
        let sample = runner.offer(size, trial.load, trial.duration)?;
        Ok((sample.intended, sample.forwarded))
    });
    let line = plan.line_rate(0, size);
    // The bounds of a search that ended early are no results; goals that were settled before are.
    let ended = found.trouble.is_some();
    let is_whole = |result: &GoalResult| !ended || result.irregular.is_none();
    let all = plan.goals.iter().zip(found.goals).filter(|(_, result)| is_whole(result));
    let rows = all.map(|((name, _), result)| MlrRow {
        size,
        goal: name.clone(),
        line_frames_per_second: line,
        result,
    });
    (rows.collect(), found.trouble)
}
