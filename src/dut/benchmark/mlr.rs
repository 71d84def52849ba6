//! MLRsearch of a device: the throughputs of several goals, for each frame size.

use serde::Serialize;
use validate::bench::{Bench, Trouble};

use crate::mlrsearch::GoalResult;
use crate::plan::Plan;
use crate::run::Run;
use crate::search;
use crate::trial::Runner;

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

/// Searches for the throughputs. `progress` is called before each trial with its description, and
/// ends the run by returning false.
pub fn run(
    plan: &Plan,
    bench: &mut dyn Bench,
    progress: &mut dyn FnMut(&str) -> bool,
) -> (Run<Tables>, Option<Trouble>) {
    Run::of(Runner::new(plan, bench, progress), |runner, tables: &mut Tables| {
        for size in runner.plan.sizes.clone() {
            let (rows, ended) = search_size(runner, size);
            runner.rows("rows", rows.len());
            tables.rows.extend(rows);
            ended.map_or(Ok(()), Err)?;
        }
        Ok(())
    })
}

fn search_size(runner: &mut Runner<'_>, size: u32) -> (Vec<MlrRow>, Option<Trouble>) {
    let plan = runner.plan;
    let goals = plan.goals.iter().map(|(_, goal)| *goal).collect();
    let found =
        search::search(runner, (goals, Some(plan.search)), plan.max_rate(size), |runner, trial| {
            let sample = runner.at(size, trial.load, trial.duration)?;
            Ok((sample.intended, sample.forwarded))
        });
    let line = plan.line_rate(0, size);
    // The bounds of a search that ended early are no results.
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
