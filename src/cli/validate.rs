//! `sluice validate`: tests of a device under test.

mod args;
mod files;
mod prove;

use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use serde::Serialize;

use super::dut;
use super::kind::Kind;
use super::outputs::Outputs;
use super::terminal::{self, Progress, say};
use super::{Format, bad_input, exit, stop_on_signals};
use crate::text::{Align, Table};
pub use args::ValidateArgs;
use files::Files;
pub(super) use files::stamp;
use lab::World;
use validate::catalogue;
use validate::evidence;
use validate::file::{self, Dut};
use validate::setup::{Keep, Setup};
use validate::suite::{self, Results, Selection};
use validate::test::{Level, Test};

/// Runs the tests and prints their results. The exit status is the verdict's.
///
/// # Errors
/// An error in the file or an argument.
pub fn run(args: &ValidateArgs) -> Result<ExitCode> {
    if !args.describe.is_empty() {
        return describe(&args.describe);
    }
    if args.prove {
        return prove::run(args);
    }
    let selection =
        Selection { level: args.level.into(), only: args.only.clone(), retry: args.retry };
    refuse_unknown("--only", &selection.unknown())?;
    let tests = selection.tests();
    let Some(path) = args.file.as_ref().filter(|_| !args.list) else {
        let all = if args.only.is_empty() { catalogue::TESTS.iter().collect() } else { tests };
        terminal::print(list(&all))?;
        return Ok(ExitCode::SUCCESS);
    };
    Kind::Dut.expect(path)?;
    let name = path.display().to_string();
    let (mut dut, warnings) = file::load(path).map_err(bad_input)?;
    warnings.iter().for_each(|warning| say!("warning: {}", warning.line(&name)));
    dut.setup.seed = args.seed.unwrap_or(dut.setup.seed);
    if args.world == Some(World::Virtual) && dut.lab.is_none() {
        return Err(bad_input(anyhow!("--world virtual: the device is not virtual; leave it out")));
    }
    let mut outputs = Outputs::new();
    outputs.input("the DUT file", path);
    let files = Files::open(args, &mut outputs)?;
    let is_virtual = dut.lab.is_some() && args.world != Some(World::Real);
    let least = (!is_virtual).then(|| least(suite::least_time(&dut.setup, &selection)));
    if args.dry_run {
        let least = least.map(|least| format!("\n{least}\n")).unwrap_or_default();
        terminal::print(planned(&selection, &dut.setup) + &least)?;
        return Ok(ExitCode::SUCCESS);
    }
    least.iter().for_each(|least| say!("{least}"));
    dut.setup.keep = match (&args.captures, &args.report) {
        (Some(_), _) => Keep::Frames,
        (None, Some(_)) => Keep::Traces,
        (None, None) => Keep::Nothing,
    };
    let setup = dut.setup.clone();
    let results = validate(args, dut, &selection)?;
    let (files, written) = files.write(args, &name, (&results, &setup));
    match args.format {
        Format::Json => terminal::print_json(&Printed { results: &results, files })?,
        Format::Table => terminal::print(evidence::table(&results))?,
    }
    if args.github {
        evidence::annotations(&results, &name).iter().for_each(|line| say!("{line}"));
    }
    // After the results are printed, so that a failed file does not lose them.
    written?;
    Ok(exit(results.verdict(args.strict)))
}

/// Results in JSON, and the sums of the files that were written with them.
#[derive(Serialize)]
struct Printed<'a> {
    #[serde(flatten)]
    results: &'a Results,
    files: Vec<evidence::File>,
}

/// Runs the selected tests.
fn validate(args: &ValidateArgs, dut: Dut, selection: &Selection) -> Result<Results> {
    let stop = stop_on_signals()?;
    let setup = dut.setup.clone();
    let world = args.world.unwrap_or_default();
    let mut bench = dut::bench(dut, (world, args.machine), &stop)?;
    let every = Duration::from_secs(5);
    let all = selection.tests_of(&setup).len() as u64 + 1;
    let mut progress = Progress::new("{bar:30} {pos}/{len} {msg}", &setup.name, Some(all), every);
    let begun = Instant::now();
    let mut last = None;
    let results = suite::run(&setup, selection, &mut *bench, |n, all, test| {
        let again = if last.replace(n) == Some(n) { ", again" } else { "" };
        let left = left(begun.elapsed(), (n, all));
        let text = format!("{} {}{again}{left}", test.id, test.title);
        progress.update(n as u64, text, |text| format!("{n} of {all}: {text}"));
        !stop.load(Ordering::Relaxed)
    });
    progress.clear();
    Ok(results)
}

/// Returns the time left in words, by the mean time of the tests that are done; nothing before the first test of
/// the device is.
fn left(elapsed: Duration, (done, all): (usize, usize)) -> String {
    if done < 2 || all <= done {
        return String::new();
    }
    let seconds = elapsed.as_secs_f64() / done as f64 * (all - done) as f64;
    format!(" (about {} left)", rounded(seconds))
}

/// Returns a time in words.
fn rounded(seconds: f64) -> String {
    match seconds.ceil() as u64 {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

/// Returns the sentence about the time that a run takes at least.
fn least(time: ground::time::Duration) -> String {
    format!("the run takes at least {}: one trial of each test", rounded(time.as_secs_f64()))
}

/// Refuses names that no test has.
fn refuse_unknown(option: &str, names: &[&str]) -> Result<()> {
    match names {
        [] => Ok(()),
        names => {
            let names = names.join(" and ");
            Err(bad_input(anyhow!("{option}: there is no test {names}; see --list")))
        }
    }
}

/// Prints the pages of tests.
fn describe(names: &[String]) -> Result<ExitCode> {
    let is_own = |name: &str| name == catalogue::SELF_CHECK.id;
    let own = names.iter().any(|name| is_own(name)).then_some(&catalogue::SELF_CHECK);
    let selection = Selection { level: Level::Full, only: names.to_vec(), retry: 0 };
    let unknown: Vec<_> = selection.unknown().into_iter().filter(|name| !is_own(name)).collect();
    refuse_unknown("--describe", &unknown)?;
    let pages: Vec<_> = own.into_iter().chain(selection.tests()).map(catalogue::page).collect();
    terminal::print(pages.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Lists the tests that will run, and those that will be skipped with the reason.
fn planned(selection: &Selection, setup: &Setup) -> String {
    let skipped = |test: &Test| suite::skip_reason(setup, selection.level, test);
    let tests: Vec<_> = selection.tests_of(setup).into_iter().map(|t| (t, skipped(t))).collect();
    let run: Vec<_> = tests.iter().filter(|(_, why)| why.is_none()).map(|(t, _)| *t).collect();
    let mut out = list(&run).to_string();
    for (test, why) in &tests {
        if let Some(why) = why {
            out += &crate::printable::lines([format!("{} will be skipped: {why}", test.id)]);
        }
    }
    out
}

/// Returns a table of tests.
fn list(tests: &[&Test]) -> Table {
    let left = |name| (name, Align::Left);
    let mut table = Table::new(["test", "alias", "level", "title"].map(left));
    for test in tests {
        let (aliases, level) = (test.aliases.join(" "), test.level.to_string());
        table.row([test.id.into(), aliases, level, test.title.into()]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_the_mean_time_of_the_tests_that_are_left() {
        let of = |seconds, done, all| left(Duration::from_secs(seconds), (done, all));
        assert_eq!(of(5, 1, 21), "");
        assert_eq!(of(10, 2, 22), " (about 100 s left)");
        assert_eq!(of(60, 2, 22), " (about 10 min left)");
        assert_eq!(of(10, 22, 22), "");
    }

    #[test]
    fn a_run_in_real_time_says_how_long_it_takes_at_least() {
        let of = |seconds| least(ground::time::Duration::from_secs(seconds));
        assert_eq!(of(14), "the run takes at least 14 s: one trial of each test");
        assert_eq!(of(601), "the run takes at least 11 min: one trial of each test");
    }
}
