//! Studies: the runs that a lab file describes by its `variants` and its `sweep`, and their rows.
//!
//! A run has a number, from which its variant (the outermost axis) and its point are calculated; nothing
//! is kept for a run that is not running. [`in_order`] runs any points on all cores and hands over their
//! results in order, so results depend on the file and the seed alone. A finished run becomes a [`Row`],
//! one line of a file of rows, from which an interrupted study goes on ([`RowFile`]) and shards are joined.
//! Exploration and fuzzing use the same axes, threads and files.

mod axis;
mod columns;
mod edge;
mod path;
mod range;
mod row;
mod row_file;
mod run;
mod search;
mod summary;
mod sweep;
#[cfg(test)]
mod tests;

pub use axis::{Axis, Short, split_values};
pub use columns::{field, fields};
pub(crate) use columns::{latency, rate};
pub(crate) use path::{Places, Setter};
pub use row::Row;
pub use row_file::{RowError, RowFile, Shard, each_line, each_row};
pub use run::{in_order, jobs, try_in_order};
pub(crate) use search::FIELD as SEARCH_FIELD;
pub use search::{Failed, Found, Search, Searched, Tried, Wanted, share_at_least};
pub use summary::{AxisName, Group, Part, SHOWN_MAX, SameTrace, Spread, Studied, Traced};
use sweep::Unwritten;
pub use sweep::{Column, Point, Sweep};
pub(crate) use sweep::{FIELD, is_name};

use std::ops::{ControlFlow, Range};
use std::sync::atomic::AtomicBool;
use std::time::Instant as Wall;

use xxhash_rust::xxh3::xxh3_64;

use crate::file::{examine_tree, raw_lab};
use crate::swarm::as_yaml;
use crate::{LabFile, LabPlan, Options, Progress, Resolved, Run, RunError, Runner, World, raw};
use config::quantity::Span;
use config::tree::Node;
use config::{ConfigError, Finding, Warning};

/// Most runs of a sweep. A choice: ten million runs of 10 ms take a day on one core.
pub const RUNS_MAX: u64 = 10_000_000;

/// Options of a command that change the results of every run of a lab.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Changes {
    /// Fields instead of the file's.
    pub seed: Option<u64>,
    pub shuffle: Option<u64>,
    pub duration: Option<Span>,
    /// World of the runs, and how much slower than real time the real one is.
    pub world: World,
    pub slow_down: Option<u64>,
}

impl Changes {
    /// Adds the fields that are set to the places that the command sets.
    fn claim(&self, places: &mut Places) -> Result<(), Finding> {
        let Self { seed, shuffle, duration, .. } = self;
        let fields = [
            ("seed", seed.is_some()),
            ("shuffle", shuffle.is_some()),
            ("duration", duration.is_some()),
        ];
        fields
            .into_iter()
            .filter(|(_, is_set)| *is_set)
            .try_for_each(|(field, _)| places.claim_field(field))
    }

    /// Sets the fields.
    pub fn apply(&self, lab: &mut raw::Lab) {
        lab.seed = self.seed.unwrap_or(lab.seed);
        lab.shuffle = self.shuffle.or(lab.shuffle);
        lab.duration = self.duration.or(lab.duration);
    }
}

/// Returns a digest of a text: 16 hexadecimal digits.
#[must_use]
pub fn digest(text: &str) -> String {
    format!("{:016x}", xxh3_64(text.as_bytes()))
}

/// The runs of a lab file.
#[derive(Clone, Debug)]
pub struct Study {
    file: LabFile,
    changes: Changes,
    /// One without a name in a file without variants.
    variants: Vec<Variant>,
    digest: String,
}

/// A variant of the file, with the fields of the command.
#[derive(Clone, Debug)]
struct Variant {
    name: Option<String>,
    tree: Node,
    /// Places that the command sets.
    places: Places,
}

/// A run of a study.
#[derive(Clone, Debug)]
pub struct StudyRun<'a> {
    /// Number, from 0, in the order of variants and points.
    pub n: u64,
    pub variant: Option<&'a str>,
    /// `None` in a file without a sweep.
    pub point: Option<Point<'a>>,
}

impl StudyRun<'_> {
    /// Returns the name of the point; empty without a sweep.
    #[must_use]
    pub fn point_name(&self) -> String {
        self.point.map_or(String::new(), |point| point.name())
    }

    /// Returns the name of the run in its lab: `pfc length=100m`.
    #[must_use]
    pub fn name(&self) -> String {
        let point = self.point_name();
        let parts = [self.variant.unwrap_or_default(), &point];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

/// Reason why a run of a study has no result.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// Errors of the file with the values of the run.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The run, and the reason why it cannot run.
    #[error("run {0}: {1}")]
    Run(String, RunError),
}

impl StudyError {
    /// True if the lab is invalid, false for errors of the machine.
    #[must_use]
    pub const fn is_bad_input(&self) -> bool {
        match self {
            Self::Config(_) => true,
            Self::Run(_, error) => error.is_bad_input(),
        }
    }
}

impl Study {
    /// Returns the runs of a lab file with fields changed.
    ///
    /// # Errors
    /// A field is changed that an option of the command, the sweep or the search sets, too.
    pub fn new(file: LabFile, changes: Changes) -> Result<Self, ConfigError> {
        // A file without variants is one variant without a name, so that runs need no second case.
        let names: Vec<Option<&str>> = match file.variants().len() {
            0 => vec![None],
            _ => file.variants().map(Some).collect(),
        };
        let variant = |name: Option<&str>| {
            let (tree, mut places) = file.merged(name)?;
            // Options of the command are claimed first: an error then names the sweep or search that sets the field
            // again.
            changes.claim(&mut places).map_err(|f| ConfigError::one(file.name(), f))?;
            Ok(Variant { name: name.map(Into::into), tree, places })
        };
        let variants = names.into_iter().map(variant).collect::<Result<_, ConfigError>>()?;
        // Rows of runs with other options are rows of another study: `--resume` refuses them by this digest.
        let digest = digest(&format!("{} {changes:?}", file.digest()));
        let study = Self { file, changes, variants, digest };
        study.refuse_twice().map_err(|f| ConfigError::one(study.file.name(), f))?;
        Ok(study)
    }

    /// Refuses a field that is set twice in a run of a sample, so that most of them are found before a
    /// run is resolved; [`Self::resolve`] refuses all.
    fn refuse_twice(&self) -> Result<(), Finding> {
        // Enough to meet every value of an ordinary axis, and bounded for axes with millions.
        const EACH: u64 = 16;
        let Some(sweep) = self.sweep() else { return Ok(()) };
        let numbers = sweep.covering(EACH);
        for (variant, n) in self.variants.iter().flat_map(|v| numbers.iter().map(move |n| (v, *n)))
        {
            let (mut root, mut places) = (variant.tree.clone(), variant.places.clone());
            if let Err(Unwritten::Taken(finding)) = sweep.point(n).write(&mut root, &mut places) {
                return Err(finding);
            }
        }
        Ok(())
    }

    /// Returns the lab file.
    #[must_use]
    pub const fn file(&self) -> &LabFile {
        &self.file
    }

    /// Returns the digest of the lab's text, of all files that it names and of the changes, which rows have.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns the sweep, if the file has one.
    #[must_use]
    pub const fn sweep(&self) -> Option<&Sweep> {
        self.file.sweep()
    }

    /// Returns the search, if the file has one.
    #[must_use]
    pub const fn searches(&self) -> Option<&Search> {
        self.file.search()
    }

    /// Returns the number of runs: of variants times that of points.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.variants.len() as u64 * self.points()
    }

    /// True if there is no run; a file has at least one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the numbers of the runs of a variant, or of all runs.
    ///
    /// # Errors
    /// There is no such variant.
    pub fn of_variant(&self, variant: Option<&str>) -> Result<Range<u64>, ConfigError> {
        let Some(name) = variant else { return Ok(0..self.len()) };
        let found = self.variants.iter().position(|own| own.name.as_deref() == Some(name));
        match found {
            Some(n) => Ok(n as u64 * self.points()..(n as u64 + 1) * self.points()),
            // The file says which variants there are.
            None => self.file.merged(Some(name)).map(|_| 0..0),
        }
    }

    fn points(&self) -> u64 {
        self.sweep().map_or(1, Sweep::len)
    }

    /// Returns a run by its number.
    ///
    /// # Panics
    /// The number is not below [`Self::len`].
    #[must_use]
    pub fn run(&self, n: u64) -> StudyRun<'_> {
        // The variant is the outermost axis, so all runs of a variant are one range of numbers.
        let (variant, point) = (n / self.points(), n % self.points());
        StudyRun {
            n,
            variant: self.variants[variant as usize].name.as_deref(),
            point: self.sweep().map(|sweep| sweep.point(point)),
        }
    }

    /// Returns the tree of a run, with the values of its point, and the places that are set in it.
    fn tree(&self, run: &StudyRun<'_>) -> Result<(Node, Places), ConfigError> {
        let variant = &self.variants[(run.n / self.points()) as usize];
        let (mut root, mut places) = (variant.tree.clone(), variant.places.clone());
        if let Some(point) = run.point {
            let written = point.write(&mut root, &mut places);
            written.map_err(|why| ConfigError::one(self.file.name(), why.finding()))?;
        }
        Ok((root, places))
    }

    /// Adds the name of a run to the errors about it.
    fn with_name(run: &StudyRun<'_>, mut error: ConfigError) -> ConfigError {
        if run.point.is_some() {
            for finding in &mut error.findings {
                let what = format!("{} (run {}: {})", finding.what, run.n, run.name());
                *finding = Finding::new(finding.mark, &finding.path, &what);
            }
        }
        error
    }

    /// Resolves a run.
    ///
    /// # Errors
    /// All errors of the file with the values of the run, each with its name.
    pub fn resolve(&self, n: u64) -> Result<(Resolved, Vec<Warning>), ConfigError> {
        let run = self.run(n);
        let resolve = || {
            let (root, _) = self.tree(&run)?;
            examine_tree(self.file.name(), &root, |lab| self.changes.apply(lab))
        };
        let (mut resolved, warnings) = resolve().map_err(|error| Self::with_name(&run, error))?;
        resolved.plan.variant = run.variant.map(Into::into);
        Ok((resolved, warnings))
    }

    /// Returns a complete lab file of a run as YAML, which repeats it with the same trace.
    ///
    /// # Errors
    /// All errors of the file with the values of the run.
    pub fn lab_file(&self, n: u64) -> Result<String, ConfigError> {
        let run = self.run(n);
        let name = self.resolve(n)?.0.plan.name;
        // The raw model and not the plan: the plan has lost the names and units of the file.
        let mut lab = raw_lab(self.file.name(), &self.tree(&run)?.0)?;
        self.changes.apply(&mut lab);
        // The name of a lab is in its results, and would otherwise be that of the new file.
        lab.name = Some(name);
        Ok(as_yaml(&lab))
    }

    /// Runs a run by `runner` and returns its row, and what `of` makes of it; `None` if a signal
    /// ended it early. `progress` is called from time to time.
    ///
    /// # Errors
    /// The values of the run are invalid, or the world cannot run it.
    pub fn row<T>(
        &self,
        n: u64,
        runner: &mut Runner,
        options: Options<'_>,
        progress: impl FnMut(Progress),
        of: impl FnOnce(&Row, &LabPlan, Run) -> T,
    ) -> Result<Option<(Row, T)>, StudyError> {
        // The wall time of a row covers the resolution of the lab as well.
        let begun = Wall::now();
        let (resolved, _) = self.resolve(n)?;
        let run = runner.run(&resolved.plan, options, progress);
        let run = run.map_err(|error| StudyError::Run(self.run(n).name(), error))?;
        // Part of a run is no result: its row would say less, and `--resume` would never run it again.
        if run.outcome.interrupted {
            return Ok(None);
        }
        let row = Row::new(&run.outcome, begun.elapsed()).with_headroom(&resolved);
        let row = self.named(n, row);
        let made = of(&row, &resolved.plan, run);
        Ok(Some((row, made)))
    }

    /// Adds the number, the point and the digest to the row of a run.
    #[must_use]
    pub fn named(&self, n: u64, row: Row) -> Row {
        let run = self.run(n);
        Row {
            n,
            runs: self.len(),
            point: run.point_name(),
            axes: run.point.map_or_else(Vec::new, |point| point.fields()),
            study: self.digest.clone(),
            ..row
        }
    }

    /// Runs `numbers` in the virtual world on `jobs` threads, and hands over each row in order. Ends with
    /// the first error, or if `stop` is set, after which finished runs are handed over; `done` may break.
    ///
    /// # Errors
    /// The values of a run are invalid, or it cannot run.
    pub fn rows(
        &self,
        numbers: impl Iterator<Item = u64> + Send,
        jobs: usize,
        stop: &AtomicBool,
        mut done: impl FnMut(Row) -> ControlFlow<()>,
    ) -> Result<(), StudyError> {
        let options = Options { stop: Some(stop), ..Options::default() };
        let work =
            |n: &u64| self.row(*n, &mut Runner::new(World::Virtual), options, |_| (), |_, _, _| ());
        try_in_order(numbers, jobs, stop, work, |_, (row, ())| done(row))
    }
}
