//! Validates the runs of a study before the first one: all of them, or a sample.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use super::sweep::spread;
use super::{Study, in_order};
use crate::Resolved;
use config::{ConfigError, Finding, Warning};

/// Most findings that a check of many runs reports.
const FINDINGS_MAX: usize = 20;

/// A run that the file refuses, and the reason.
pub type Impossible = (u64, String);

impl Study {
    /// Resolves runs until `most` of them are: all of them, or those in which every value of every axis
    /// occurs, and others evenly spread. `fits` may refuse a resolved run. Returns the number of resolved
    /// runs, and their warnings, each once.
    ///
    /// # Errors
    /// The errors of all these runs, each once.
    pub fn check(
        &self,
        most: u64,
        jobs: usize,
        fits: impl Fn(&Resolved) -> Result<(), ConfigError> + Sync,
    ) -> Result<(u64, Vec<Warning>), ConfigError> {
        self.check_these(&self.sample(most), jobs, fits)
    }

    /// Resolves these runs, so that a bad value is found before the first of them runs. Returns the runs
    /// that are possible, and those that the file refuses although each of their values is possible in
    /// another run, with the reason.
    ///
    /// # Errors
    /// Those of the runs with a value that is possible in no run, each once.
    pub fn possible(
        &self,
        numbers: &[u64],
        jobs: usize,
    ) -> Result<(Vec<u64>, Vec<Impossible>), ConfigError> {
        let (mut good, mut refused) = (Vec::new(), Vec::new());
        let first = |error: ConfigError| {
            error.findings.first().map_or_else(String::new, |finding| finding.what.clone())
        };
        let work = |n: &u64| Some(self.resolve(*n).map(|_| ()).map_err(first));
        in_order(numbers.iter().copied(), jobs, &AtomicBool::new(false), work, |n, result| {
            match result {
                Ok(()) => good.push(n),
                Err(why) => refused.push((n, why)),
            }
            ControlFlow::Continue(())
        });
        let values = |n: u64| self.run(n).point.map_or_else(Vec::new, |point| point.shown());
        let known: BTreeSet<(usize, String)> =
            good.iter().flat_map(|n| values(*n).into_iter().enumerate()).collect();
        let is_wrong =
            |n: &u64| values(*n).into_iter().enumerate().any(|value| !known.contains(&value));
        let wrong: Vec<u64> = refused.iter().map(|(n, _)| *n).filter(is_wrong).collect();
        self.check_these(&wrong, jobs, |_| Ok(()))?;
        Ok((good, refused))
    }

    fn check_these(
        &self,
        all: &[u64],
        jobs: usize,
        fits: impl Fn(&Resolved) -> Result<(), ConfigError> + Sync,
    ) -> Result<(u64, Vec<Warning>), ConfigError> {
        let (mut warnings, mut findings) = (Vec::<Warning>::new(), Vec::<Finding>::new());
        let work = |n: &u64| {
            let resolved = self.resolve(*n).and_then(|(resolved, warnings)| {
                fits(&resolved).map_err(|error| Self::told(&self.run(*n), error))?;
                Ok(warnings)
            });
            Some(resolved)
        };
        in_order(all.iter().copied(), jobs, &AtomicBool::new(false), work, |_, result| {
            let new = match &result {
                Ok(warnings) => warnings,
                Err(error) => &error.findings,
            };
            let known = if result.is_ok() { &mut warnings } else { &mut findings };
            for finding in new {
                // The same value is wrong in many runs.
                let is_same = |other: &Finding| {
                    let text = |what: &str| what.split(" (run ").next().map(str::to_owned);
                    (other.mark, &other.path) == (finding.mark, &finding.path)
                        && text(&other.what) == text(&finding.what)
                };
                if !known.iter().any(is_same) {
                    known.push(finding.clone());
                }
            }
            match findings.len() < FINDINGS_MAX {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
        if findings.is_empty() {
            return Ok((all.len() as u64, warnings));
        }
        Err(ConfigError { file: self.file.name().to_owned(), findings })
    }

    /// Returns the numbers of at most about `most` runs: see [`Self::check`].
    fn sample(&self, most: u64) -> Vec<u64> {
        let len = self.len();
        if len <= most {
            return (0..len).collect();
        }
        let points = self.points();
        let variants = self.variants.len() as u64;
        let columns = self.sweep().map_or(1, |sweep| sweep.columns().len() as u64);
        let each = most / (2 * variants * columns).max(1);
        let covering = self.sweep().map_or(vec![0], |sweep| sweep.covering(each));
        let mut all: Vec<u64> = (0..variants)
            .flat_map(|variant| covering.iter().map(move |point| variant * points + point))
            .collect();
        all.extend((0..most / 2).map(|n| spread(n, most / 2, len)));
        all.sort_unstable();
        all.dedup();
        all
    }
}
