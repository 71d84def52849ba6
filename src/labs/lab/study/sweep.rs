//! Points of a study: the product of axes, of axes that go together, and of named points.
//!
//! A point is a number. Its values are calculated from it, so that a sweep of millions of points takes no
//! memory.

use serde_json::Value;

use super::RUNS_MAX;
use super::axis::Axis;
use super::path::{Places, Setter};
use config::Finding;
use config::tree::{self, Key, Kind, Node};

/// Name of the field in a lab file.
pub(crate) const FIELD: &str = "sweep";
/// Axes that go together.
const ZIP: &str = "zip";
/// Points with names; also the name of their column in rows.
const POINTS: &str = "points";
/// Path of the axis over which tables are grouped.
pub(super) const SEED: &str = "seed";

/// The axes of a study, the last one fastest.
#[derive(Clone, PartialEq, Debug)]
pub struct Sweep {
    dimensions: Vec<Dimension>,
    /// Product of the dimensions' lengths.
    len: u64,
}

/// A part of a sweep that is crossed with the others.
#[derive(Clone, PartialEq, Debug)]
enum Dimension {
    /// One axis, or several of the same length that go together.
    Axes(Vec<Axis>),
    /// Points by name, each with the fields that it sets.
    Points(Vec<(String, Vec<Axis>)>),
}

impl Dimension {
    fn len(&self) -> u64 {
        match self {
            Self::Axes(axes) => axes[0].len(),
            Self::Points(points) => points.len() as u64,
        }
    }

    /// Returns all axes, those of named points too.
    fn all(&mut self) -> Box<dyn Iterator<Item = &mut Axis> + '_> {
        match self {
            Self::Axes(axes) => Box::new(axes.iter_mut()),
            Self::Points(points) => Box::new(points.iter_mut().flat_map(|(_, axes)| axes)),
        }
    }
}

/// A column of tables of points.
#[derive(Clone, PartialEq, Debug)]
pub struct Column<'a> {
    /// Heading.
    pub name: &'a str,
    /// Path, by which rows name it.
    pub key: &'a str,
    /// Number of values.
    pub len: u64,
    /// True if all values are numbers without a unit.
    pub is_number: bool,
    /// Values in a few words.
    pub summary: String,
}

/// A point: a value of each axis.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a> {
    sweep: &'a Sweep,
    index: u64,
}

impl Sweep {
    /// Returns the product of axes.
    #[must_use]
    pub fn product(axes: &[Axis]) -> Self {
        Self::of(axes.iter().map(|axis| Dimension::Axes(vec![axis.clone()])).collect())
    }

    fn of(dimensions: Vec<Dimension>) -> Self {
        // Saturating: the limit is checked on the product, which may be beyond 64 bits.
        let len = dimensions.iter().fold(1_u64, |n, one| n.saturating_mul(one.len()));
        Self { dimensions, len }
    }

    /// Parses a sweep that is in no lab file: `{seed: 1..10}`. Errors of its values have the places of the
    /// fields that these replace.
    ///
    /// # Errors
    /// The text is not YAML, or no sweep.
    pub(crate) fn parse(text: &str) -> Result<Self, Finding> {
        let unplaced = |finding: Finding| Finding::new(None, &finding.path, &finding.what);
        let root = tree::read(text, "give axes by path").map_err(unplaced)?;
        let key = Key { mark: root.mark, name: FIELD.to_owned().into() };
        let mut sweep = Self::read(&key, &root).map_err(unplaced)?;
        // Lines of the text of a command are no lines of the lab file.
        sweep.dimensions.iter_mut().flat_map(Dimension::all).for_each(Axis::unplace);
        Ok(sweep)
    }

    /// Reads the `sweep` of a lab file.
    pub(crate) fn read(key: &Key, node: &Node) -> Result<Self, Finding> {
        let at = |mark, path: &str, what: &str| Finding::new(Some(mark), path, what);
        let entries = match &node.kind {
            Kind::Map(entries) if !entries.is_empty() => entries,
            _ => {
                let what = "needs axes by path, such as `{defaults.links.length: [5m, 100m], \
                            seed: 1..10}`; `zip` and `points` may be among them";
                return Err(at(key.mark, FIELD, what));
            }
        };
        let mut dimensions = Vec::new();
        for (key, node) in entries {
            match &*key.name {
                ZIP => zip(key, node, &mut dimensions)?,
                POINTS => dimensions.push(points(key, node)?),
                _ => dimensions.push(Dimension::Axes(vec![Axis::read(key, node, FIELD)?])),
            }
        }
        let mut sweep = Self::of(dimensions);
        if sweep.len > RUNS_MAX {
            let what = format!("{} points; a sweep has {RUNS_MAX} at most", sweep.len);
            return Err(at(key.mark, FIELD, &what));
        }
        sweep.check_paths()?;
        sweep.name_apart();
        Ok(sweep)
    }

    /// Refuses a field that two parts of the sweep set.
    fn check_paths(&self) -> Result<(), Finding> {
        let mut before: Vec<&str> = Vec::new();
        for dimension in &self.dimensions {
            let own: Vec<&Axis> = match dimension {
                Dimension::Axes(axes) => axes.iter().collect(),
                Dimension::Points(points) => points.iter().flat_map(|(_, axes)| axes).collect(),
            };
            // The names of a mapping are unique, but a short name stands for a path.
            let twice = |n: usize, axis: &Axis| {
                let zipped = matches!(dimension, Dimension::Axes(_));
                before.contains(&axis.path())
                    || zipped && own[..n].iter().any(|other| other.path() == axis.path())
            };
            if let Some((_, axis)) = own.iter().enumerate().find(|(n, axis)| twice(*n, axis)) {
                let path = format!("{FIELD}.{}", axis.key());
                let what = "another part of the sweep sets the same field; leave out one of them";
                return Err(Finding::new(axis.mark(), &path, what));
            }
            before.extend(own.iter().map(|axis| axis.path()));
        }
        Ok(())
    }

    /// Makes the headings of axes different: each gets as many parts of its path as it needs.
    fn name_apart(&mut self) {
        let all: Vec<(String, String)> =
            self.axes().map(|axis| (axis.key().to_owned(), axis.name().to_owned())).collect();
        for axis in self.dimensions.iter_mut().flat_map(|dimension| match dimension {
            Dimension::Axes(axes) => axes.as_mut_slice(),
            Dimension::Points(_) => &mut [],
        }) {
            let others = || all.iter().filter(|(key, _)| key != axis.key());
            // From the last part of the path on, a part more each time, until no other axis ends in it.
            let ends = axis.key().rmatch_indices('.').map(|(n, _)| &axis.key()[n + 1..]);
            let is_own = |end: &&str| {
                others().all(|(key, name)| name != end && !key.ends_with(&format!(".{end}")))
            };
            let name = [axis.name()].into_iter().chain(ends).find(is_own);
            let name = name.unwrap_or(axis.key()).to_owned();
            axis.rename(&name);
        }
    }

    /// Axes that have a column each, without the fields of named points.
    fn axes(&self) -> impl Iterator<Item = &Axis> {
        self.dimensions.iter().flat_map(|dimension| match dimension {
            Dimension::Axes(axes) => axes.as_slice(),
            Dimension::Points(_) => &[],
        })
    }

    /// Returns the number of points, at least 1; at most [`RUNS_MAX`] for the sweep of a file.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "no sweep is empty")]
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Returns a point by its number from 0.
    ///
    /// # Panics
    /// The number is not below [`Self::len`].
    #[must_use]
    pub fn point(&self, index: u64) -> Point<'_> {
        assert!(index < self.len, "point {index} of {}", self.len);
        Point { sweep: self, index }
    }

    /// Returns the columns of tables of points, in the order of [`Point::shown`].
    #[must_use]
    pub fn columns(&self) -> Vec<Column<'_>> {
        let mut columns = Vec::new();
        for dimension in &self.dimensions {
            match dimension {
                Dimension::Axes(axes) => columns.extend(axes.iter().map(|axis| Column {
                    name: axis.name(),
                    key: axis.key(),
                    len: axis.len(),
                    is_number: axis.is_number(),
                    summary: axis.summary(),
                })),
                Dimension::Points(points) => {
                    let names: Vec<&str> = points.iter().map(|(name, _)| &**name).collect();
                    let (name, len) = ("point", names.len() as u64);
                    columns.push(Column {
                        name,
                        key: POINTS,
                        len,
                        is_number: false,
                        summary: config::names(&names),
                    });
                }
            }
        }
        columns
    }

    /// True if seeds are an axis.
    #[must_use]
    pub fn has_seeds(&self) -> bool {
        self.axes().any(|axis| axis.path() == SEED)
    }

    /// Returns numbers of points in which every value of every axis occurs: each value beside the first
    /// values of the others, at most `most` of an axis, evenly spread.
    pub(super) fn covering(&self, most: u64) -> Vec<u64> {
        let mut all = vec![0];
        // The number of points between two values of the dimension: the product of those behind it.
        let mut scale = self.len;
        for dimension in &self.dimensions {
            let len = dimension.len();
            scale /= len;
            let taken = len.min(most.max(1));
            all.extend((0..taken).map(|n| scale * spread(n, taken, len)));
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Returns the `n`th of `taken` numbers below `len`, evenly spread, with both ends.
pub(super) fn spread(n: u64, taken: u64, len: u64) -> u64 {
    if taken < 2 {
        return 0;
    }
    (u128::from(n) * u128::from(len - 1) / u128::from(taken - 1)) as u64
}

/// Reads axes that go together: a mapping, or a list of them.
fn zip(key: &Key, node: &Node, dimensions: &mut Vec<Dimension>) -> Result<(), Finding> {
    let path = format!("{FIELD}.{ZIP}");
    let groups = match &node.kind {
        Kind::Seq(groups) => groups.as_slice(),
        _ => std::slice::from_ref(node),
    };
    for group in groups {
        let entries = match &group.kind {
            Kind::Map(entries) if !entries.is_empty() => entries,
            _ => {
                let what = "needs axes of the same length that go together, such as \
                            `{defaults.links.rate: [100G, 400G], defaults.links.length: [5m, 100m]}`";
                return Err(Finding::new(Some(key.mark), &path, what));
            }
        };
        let read = entries.iter().map(|(key, node)| Axis::read(key, node, &path));
        let axes = read.collect::<Result<Vec<Axis>, _>>()?;
        if let Some(other) = axes.iter().find(|axis| axis.len() != axes[0].len()) {
            let what = format!(
                "{} values, and {} has {}; axes that go together have as many",
                other.len(),
                axes[0].key(),
                axes[0].len()
            );
            return Err(Finding::new(other.mark(), &format!("{path}.{}", other.key()), &what));
        }
        dimensions.push(Dimension::Axes(axes));
    }
    Ok(())
}

/// Reads named points.
fn points(key: &Key, node: &Node) -> Result<Dimension, Finding> {
    let path = format!("{FIELD}.{POINTS}");
    let entries = match &node.kind {
        Kind::Map(entries) if !entries.is_empty() => entries,
        _ => {
            let what = "needs names of points, each with values by path, such as `{short: \
                        {defaults.links.length: 5m}, plain: {}}`";
            return Err(Finding::new(Some(key.mark), &path, what));
        }
    };
    let mut points = Vec::new();
    for (key, node) in entries {
        let path = format!("{path}.{}", key.name);
        if !is_name(&key.name) {
            let what = "a name is letters, digits, `_`, `-`, `+` and `.`";
            return Err(Finding::new(Some(key.mark), &path, what));
        }
        let sets = match &node.kind {
            Kind::Map(sets) => sets.as_slice(),
            // A point without fields is the lab as it is, to compare others with.
            _ if node.is_null() => &[],
            _ => {
                let what = "needs values by path, such as `{defaults.links.length: 5m}`, or `{}`";
                return Err(Finding::new(Some(node.mark), &path, what));
            }
        };
        let read = sets.iter().map(|(key, node)| Axis::assignment(key, node, &path));
        points.push((key.name.to_string(), read.collect::<Result<_, _>>()?));
    }
    Ok(Dimension::Points(points))
}

/// True for a name of a point or a variant.
pub(crate) fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-+.".contains(c);
    !name.is_empty() && name.chars().all(plain)
}

impl<'a> Point<'a> {
    /// Returns the number of the point, from 0.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.index
    }

    /// Returns each dimension with the number of its value.
    fn values(&self) -> impl Iterator<Item = (&'a Dimension, u64)> + use<'a> {
        // The last dimension is fastest.
        let mut rest = self.index;
        let numbers = self.sweep.dimensions.iter().rev().map(|dimension| {
            let n = rest % dimension.len();
            rest /= dimension.len();
            n
        });
        let numbers: Vec<u64> = numbers.collect();
        self.sweep.dimensions.iter().zip(numbers.into_iter().rev())
    }

    /// Returns the values as they are shown, one for each of [`Sweep::columns`].
    #[must_use]
    pub fn shown(&self) -> Vec<String> {
        let mut shown = Vec::new();
        for (dimension, n) in self.values() {
            match dimension {
                Dimension::Axes(axes) => {
                    shown.extend(axes.iter().map(|axis| axis.shown(n).into_owned()));
                }
                Dimension::Points(points) => shown.push(points[n as usize].0.clone()),
            }
        }
        shown
    }

    /// Returns the name: `alpha=1/8,length=100m`, with the bare name of a named point.
    #[must_use]
    pub fn name(&self) -> String {
        let named = self.sweep.columns().into_iter().zip(self.shown());
        let named = named.map(|(column, value)| match column.key {
            POINTS => value,
            _ => format!("{}={}", column.name, ground::printable::excerpt(&value)),
        });
        named.collect::<Vec<_>>().join(",")
    }

    /// Returns the values by path, as rows have them; of a named point the fields that it sets, too.
    #[must_use]
    pub fn fields(&self) -> Vec<(String, Value)> {
        let mut fields = Vec::new();
        let field = |axis: &Axis, n| (axis.key().to_owned(), axis.value(n));
        for (dimension, n) in self.values() {
            match dimension {
                Dimension::Axes(axes) => fields.extend(axes.iter().map(|axis| field(axis, n))),
                Dimension::Points(points) => {
                    let (name, sets) = &points[n as usize];
                    fields.push((POINTS.to_owned(), name.as_str().into()));
                    fields.extend(sets.iter().map(|axis| field(axis, 0)));
                }
            }
        }
        fields
    }

    /// Writes the values into a file's tree, and adds their places to those that are set.
    ///
    /// # Errors
    /// The tree has no such field, or it is set already.
    pub(super) fn write(&self, root: &mut Node, places: &mut Places) -> Result<(), Unwritten> {
        let missing = |axis: &Axis, what: String| {
            let path = axis.mark().map_or(String::new(), |_| format!("{FIELD}.{}", axis.key()));
            Unwritten::Missing(Finding::new(axis.mark(), &path, &what))
        };
        for (dimension, n) in self.values() {
            let (axes, n) = match dimension {
                Dimension::Axes(axes) => (axes, n),
                // Each field of a named point is an axis with one value.
                Dimension::Points(points) => (&points[n as usize].1, 0),
            };
            for axis in axes {
                let written = axis.write(root, n).map_err(|what| missing(axis, what))?;
                let claimed = places.claim_axis(axis, &written, Setter::Sweep);
                claimed.map_err(Unwritten::Taken)?;
            }
        }
        Ok(())
    }
}

/// Why the values of a point are not in a tree.
pub(super) enum Unwritten {
    /// The tree has no such field.
    Missing(Finding),
    /// It is set already.
    Taken(Finding),
}

impl Unwritten {
    pub(super) fn finding(self) -> Finding {
        match self {
            Self::Missing(finding) | Self::Taken(finding) => finding,
        }
    }
}
