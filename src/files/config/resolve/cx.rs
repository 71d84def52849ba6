//! Places of fields, and the errors and warnings that a resolution collects.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::raw::Range;
use crate::tree::{Kind, Node};
use crate::{Finding, Mark, Warning};
use ground::printable::excerpt;
use ground::units::Mac;

/// A field and its place; for a field that is not in the file, the place of its section.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    node: Option<&'a Node>,
    mark: Option<Mark>,
    path: String,
}

impl<'a> Place<'a> {
    pub fn root(node: &'a Node) -> Self {
        Self { node: Some(node), mark: Some(node.mark), path: String::new() }
    }

    /// An empty place, for findings that are reported elsewhere or have no file.
    pub const fn nowhere() -> Self {
        Self { node: None, mark: None, path: String::new() }
    }

    /// True if this is a mapping with that field.
    pub fn has(&self, name: &str) -> bool {
        self.node.is_some_and(|n| n.get(name).is_some())
    }

    /// Place of a field of this mapping.
    pub fn key(&self, name: &str) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        let node = self.node.and_then(|n| n.get(name));
        // A field that is not in the file is reported where its section begins.
        let mark = node.map(|n| n.mark).or(self.mark);
        Self { node, mark, path: format!("{}{dot}{name}", self.path) }
    }

    /// Creates a finding at this place.
    pub fn finding(&self, what: impl Into<String>) -> Finding {
        Finding::new(self.mark, &self.path, &what.into())
    }

    /// Place of an item of this list.
    pub fn index(&self, i: usize) -> Self {
        let node = match self.node.map(|n| &n.kind) {
            Some(Kind::Seq(items)) => items.get(i),
            _ => None,
        };
        let mark = node.map(|n| n.mark).or(self.mark);
        Self { node, mark, path: format!("{}[{i}]", self.path) }
    }
}

/// Numbers of errors and warnings at some time.
#[derive(Clone, Copy, Default)]
pub(super) struct Found {
    errors: usize,
    warnings: usize,
}

/// Collects errors and warnings.
#[derive(Default)]
pub struct Cx {
    pub(super) errors: Vec<Finding>,
    pub(super) warnings: Vec<Warning>,
    /// Folder of the file; relative paths in it start there.
    pub(super) folder: PathBuf,
}

impl Cx {
    /// Creates a context for the file of that name.
    pub fn of_file(name: &str) -> Self {
        let folder = Path::new(name).parent().unwrap_or(Path::new(""));
        Self { folder: folder.to_owned(), ..Self::default() }
    }

    /// Returns the path of another file that the file names; a relative one starts at its folder.
    pub fn beside(&self, file: &Path) -> PathBuf {
        self.folder.join(file)
    }

    pub fn error(&mut self, place: &Place<'_>, what: impl Into<String>) {
        push(&mut self.errors, place, what.into());
    }

    pub fn warn(&mut self, place: &Place<'_>, what: impl Into<String>) {
        push(&mut self.warnings, place, what.into());
    }

    /// Returns `value` if it is in `range`; otherwise reports an error and returns `instead`.
    pub fn ranged<T>(&mut self, place: &Place<'_>, value: T, range: (T, T), instead: T) -> T
    where
        T: PartialOrd + std::fmt::Display,
    {
        if value >= range.0 && value <= range.1 {
            return value;
        }
        self.error(place, format!("{value} is out of range; choose {} to {}", range.0, range.1));
        instead
    }

    /// Returns the warnings, or the errors if there are any, in the order of their lines.
    pub fn finish(mut self) -> Result<Vec<Warning>, Vec<Finding>> {
        let found = if self.errors.is_empty() { &mut self.warnings } else { &mut self.errors };
        // The sort is stable: findings about one place stay in the order in which they were made.
        found.sort_by_key(|f| f.mark);
        if self.errors.is_empty() { Ok(self.warnings) } else { Err(self.errors) }
    }

    /// Number of findings so far.
    pub(super) fn found(&self) -> Found {
        Found { errors: self.errors.len(), warnings: self.warnings.len() }
    }

    /// Merges the findings since `before` that differ only in the port, of those with these names: the first
    /// one stays. Findings at different places are merged where there are more than [`ALIKE_MAX`].
    pub(super) fn merge_alike(&mut self, before: Found, names: &[&str]) {
        // A set, as labs have thousands of ports and each finding is looked up.
        let names: HashSet<&str> = names.iter().copied().collect();
        // The texts differ in the name of the port, too, so they are compared without it.
        let bare = |what: &str| {
            let parts = what.split_once("port ").and_then(|(a, b)| Some((a, b.split_once(' ')?)));
            match parts {
                Some((before, (name, rest))) if names.contains(name) => format!("{before}{rest}"),
                _ => what.to_owned(),
            }
        };
        let lists = [(&mut self.errors, before.errors), (&mut self.warnings, before.warnings)];
        for (list, from) in lists {
            let new = list.split_off(from);
            let cause = |f: &Finding| (of_any_port(&f.path), bare(&f.what));
            let (mut places, mut counts) = (HashSet::new(), HashMap::new());
            // Counted before any is kept: the first of many says how many others there are.
            for finding in &new {
                if places.insert((finding.mark, cause(finding))) {
                    *counts.entry(cause(finding)).or_insert(0) += 1;
                }
            }
            let (mut listed, mut causes) = (HashSet::new(), HashSet::new());
            for mut finding in new {
                let (mark, cause) = (finding.mark, cause(&finding));
                let count = counts[&cause];
                let is_first = causes.insert(cause.clone());
                if count > ALIKE_MAX && is_first {
                    finding.what += &format!(" (and at {} other places)", count - 1);
                }
                // Of many places the first stands for all; of few, each place is listed once.
                if listed.insert((mark, cause)) && (count <= ALIKE_MAX || is_first) {
                    list.push(finding);
                }
            }
        }
    }

    /// Number of errors so far.
    pub fn count(&self) -> usize {
        self.errors.len()
    }

    /// Parses the MAC address of a station. All zeros is valid, because null devices have it.
    pub(super) fn mac(&mut self, place: &Place<'_>, text: &str) -> Option<Mac> {
        match text.parse::<Mac>() {
            Ok(mac) if mac.is_multicast() => {
                self.error(place, format!("{mac} is no address of a single station"));
                None
            }
            Ok(mac) => Some(mac),
            Err(why) => {
                self.error(place, format!("`{}`: {why}", excerpt(text)));
                None
            }
        }
    }
}

/// Most findings of one cause at different places that are listed one by one.
const ALIKE_MAX: usize = 3;

/// Returns a path without the number of the port.
fn of_any_port(path: &str) -> String {
    let rest = path.strip_prefix("ports[").and_then(|rest| rest.split_once(']'));
    rest.map_or_else(|| path.to_owned(), |(_, rest)| format!("ports[]{rest}"))
}

/// Adds a finding unless it is already there: an error in `defaults` occurs at every port.
fn push(list: &mut Vec<Finding>, place: &Place<'_>, what: String) {
    let finding = place.finding(what);
    if !list.iter().any(|f| f.mark == finding.mark && f.what == finding.what) {
        list.push(finding);
    }
}

/// Expands a map with numbers and ranges as keys; single numbers have precedence over ranges.
/// Reports numbers above `max` and numbers in two ranges.
pub(super) fn by_number<'m, T>(
    cx: &mut Cx,
    place: &Place<'_>,
    map: &'m BTreeMap<Range, T>,
    max: u16,
) -> BTreeMap<u16, (Range, &'m T)> {
    let mut out: BTreeMap<u16, (Range, &T)> = BTreeMap::new();
    for (range, value) in map {
        let here = place.key(&range.to_string());
        // None of its numbers is used, not even those in range: the author meant something else.
        if range.last > max {
            cx.error(&here, format!("{range} is out of range; choose 0 to {max}"));
            continue;
        }
        for n in range.iter() {
            match out.get(&n) {
                // The number itself was given, which has precedence over any range.
                Some((other, _)) if other.is_single() => {}
                Some((other, _)) if !range.is_single() => {
                    cx.error(&here, format!("{other} and {range} both claim {n}"));
                    break;
                }
                _ => {
                    out.insert(n, (*range, value));
                }
            }
        }
    }
    out
}
