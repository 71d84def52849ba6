//! Fields of a lab file by their path, with the values that a study gives them.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value;
use zeroize::Zeroizing;

use super::path::{self, Written};
use super::range::{Range, is_range};
use config::quantity::{Length, Rate, Ratio, Size, Span};
use config::tree::{self, Key, Kind, Node};
use config::{Finding, Mark, unknown_name};

/// A field and its values.
///
/// The parts of a path are separated by dots: keys, entries of lists by `name` or by index from 0,
/// `*` for all of them, `**` for any number of levels. Names may contain dots. A path with `*` means
/// all fields that the file has or, if it has none, one below each mapping that could have it.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    path: String,
    /// Path as the file or the command names it: the short name of a [`Short`].
    key: String,
    /// Heading in tables.
    name: String,
    values: Values,
    /// True if the values stand for powers of two.
    is_alpha: bool,
    /// Place of the key in the lab file; `None` for an axis of a command.
    mark: Option<Mark>,
}

#[derive(Clone, PartialEq, Debug)]
enum Values {
    List(Vec<Entry>),
    /// With its place in the lab file.
    Range(Range, Mark),
}

/// A value of a list.
#[derive(Clone, PartialEq, Debug)]
struct Entry {
    /// As the field has it.
    written: Node,
    /// As it is shown.
    shown: String,
}

/// A field with a short name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Short {
    Kmin,
    Kmax,
    Pmax,
    /// Threshold of dynamic groups: a power of two, such as 1/8.
    Alpha,
    Xon,
    XonOffset,
}

impl Short {
    pub const ALL: [Self; 6] =
        [Self::Kmin, Self::Kmax, Self::Pmax, Self::Alpha, Self::Xon, Self::XonOffset];

    const fn path(self) -> &'static str {
        match self {
            // `**`: curves stand in profiles, in their queues and in defaults, and a study means all of them.
            Self::Kmin => "**.ecn.kmin",
            Self::Kmax => "**.ecn.kmax",
            Self::Pmax => "**.ecn.pmax",
            Self::Alpha => "**.buffer.profiles.*.shared.dynamic_th",
            Self::Xon => "**.buffer.profiles.*.lossless.xon",
            Self::XonOffset => "**.buffer.profiles.*.lossless.xon_offset",
        }
    }

    /// Returns the name, as sweeps and tables have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kmin => "kmin",
            Self::Kmax => "kmax",
            Self::Pmax => "pmax",
            Self::Alpha => "alpha",
            Self::Xon => "xon",
            Self::XonOffset => "xon_offset",
        }
    }

    /// Returns the axis of this field.
    ///
    /// # Errors
    /// No values, the same value twice, or an alpha that is no power of two from 1/256 to 256.
    pub fn axis(self, shown: &[String]) -> Result<Axis, String> {
        Axis::new(self.path(), shown)?.shortened(self)
    }
}

/// Returns the exponent of an alpha, which is a power of two.
fn exponent(text: &str) -> Result<i32, String> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let alpha = match text.split_once('/') {
        Some((over, under)) => number(over).zip(number(under)).map(|(over, under)| over / under),
        None => number(text),
    };
    // The file has exponents; powers of two are exact in `f64`, so they compare without a tolerance.
    let exponent = (-8..=8).find(|n| alpha == Some(2_f64.powi(*n)));
    exponent.ok_or_else(|| {
        format!("alpha: `{text}` is no power of two from 1/256 to 256; write 1/8, 0.5 or 2")
    })
}

/// Splits a list of values at commas that are in no brackets.
#[must_use]
pub fn split_values(text: &str) -> Vec<String> {
    let (mut depth, mut start, mut values) = (0_usize, 0, Vec::new());
    for (n, c) in text.char_indices() {
        match c {
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            // A comma within brackets belongs to a value that is a list or a mapping.
            ',' if depth == 0 => {
                values.push(text[start..n].trim().to_owned());
                start = n + 1;
            }
            _ => {}
        }
    }
    values.push(text[start..].trim().to_owned());
    values
}

/// Description of the values of an axis, for errors.
const VALUES: &str = "needs a list of values, such as `[5m, 100m]`, or a range, such as `1..100`, \
                      `5m..500m step 5m` or `{from: 5m, to: 500m, count: 12}`";

/// Fields that are the same for all runs of a lab.
const OUTER: [&str; 4] = ["name", "variants", "sweep", "search"];

impl Axis {
    /// Creates an axis of a command, whose values are texts: a path, or the name of a [`Short`].
    ///
    /// # Errors
    /// An empty part of the path, no values, or the same value twice.
    pub fn new(path: &str, values: &[String]) -> Result<Self, String> {
        if let Some(short) = Short::ALL.into_iter().find(|short| short.name() == path) {
            return short.axis(values);
        }
        let entry = |shown: &String| {
            if shown.trim().is_empty() {
                return Err(format!("{path}: `{shown}` is no value"));
            }
            let written = tree::read(shown, "a value")
                .map_err(|finding| format!("{path}: `{shown}` is no value: {}", finding.what))?;
            Ok(Entry { written, shown: shown.clone() })
        };
        path::check(path)?;
        let values = Values::List(values.iter().map(entry).collect::<Result<_, _>>()?);
        Self::of(path, values, None).map_err(|why| format!("{path}: {why}"))
    }

    /// Reads an axis of a lab file: its path, or the name of a [`Short`], with its values.
    pub(super) fn read(key: &Key, node: &Node, within: &str) -> Result<Self, Finding> {
        let at =
            |mark, what: String| Finding::new(Some(mark), &format!("{within}.{}", key.name), &what);
        let values = match &node.kind {
            Kind::Seq(items) => Values::List(items.iter().map(Entry::of).collect()),
            // A quoted text is a value even if it has dots.
            Kind::Scalar { text, plain: true } if is_range(text) => {
                Values::Range(Range::parse(text).map_err(|why| at(node.mark, why))?, node.mark)
            }
            Kind::Map(_) => {
                Values::Range(long_range(node).map_err(|(mark, why)| at(mark, why))?, node.mark)
            }
            Kind::Scalar { .. } => return Err(at(node.mark, VALUES.into())),
        };
        Self::placed(key, values).map_err(|why| at(key.mark, why))
    }

    /// Reads an assignment of a named point: a path with one value of any form.
    pub(super) fn assignment(key: &Key, node: &Node, within: &str) -> Result<Self, Finding> {
        let at =
            |what: String| Finding::new(Some(key.mark), &format!("{within}.{}", key.name), &what);
        Self::placed(key, Values::List(vec![Entry::of(node)])).map_err(at)
    }

    fn placed(key: &Key, values: Values) -> Result<Self, String> {
        let first = key.name.split('.').next().unwrap_or_default();
        if OUTER.contains(&first) {
            return Err(format!("a sweep cannot set `{first}`; take it out"));
        }
        let short = Short::ALL.into_iter().find(|short| key.name == *short.name());
        let path: &str = match short {
            Some(short) => short.path(),
            None => &key.name,
        };
        path::check(path)?;
        let axis = Self::of(path, values, Some(key.mark))?;
        short.map_or(Ok(axis.clone()), |short| axis.shortened(short))
    }

    fn of(path: &str, values: Values, mark: Option<Mark>) -> Result<Self, String> {
        if let Values::List(entries) = &values {
            if entries.is_empty() {
                return Err("no values".into());
            }
            let mut known = HashSet::new();
            // Two equal values would be two runs with one name.
            if let Some(entry) = entries.iter().find(|entry| !known.insert(&entry.shown)) {
                return Err(format!("{} is there twice", entry.shown));
            }
        }
        let name = path.rsplit('.').next().unwrap_or(path).to_owned();
        Ok(Self { path: path.into(), key: path.into(), name, values, is_alpha: false, mark })
    }

    /// Makes the axis one of a field with a short name; values of alpha become exponents.
    fn shortened(mut self, short: Short) -> Result<Self, String> {
        self.name = short.name().to_owned();
        self.key.clone_from(&self.name);
        self.is_alpha = short == Short::Alpha;
        if self.is_alpha {
            // All values are checked now: a sweep would otherwise fail in the middle.
            for n in 0..self.len() {
                exponent(&self.shown(n))?;
            }
        }
        Ok(self)
    }

    /// Returns the whole path, also of a field with a short name.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the path, or the short name, by which rows name the axis.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the heading in tables.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Replaces the heading, such as by one that no other axis has.
    pub(super) fn rename(&mut self, name: &str) {
        name.clone_into(&mut self.name);
    }

    /// Forgets the place, of an axis that is in no lab file.
    pub(super) const fn unplace(&mut self) {
        self.mark = None;
    }

    /// Place of the key in the lab file; `None` for an axis of a command.
    pub(super) const fn mark(&self) -> Option<Mark> {
        self.mark
    }

    /// Returns the number of values, at least 1.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "no axis is empty")]
    pub fn len(&self) -> u64 {
        match &self.values {
            Values::List(entries) => entries.len() as u64,
            Values::Range(range, _) => range.len(),
        }
    }

    /// Returns a value as it is shown, by its number from 0.
    ///
    /// # Panics
    /// The number is not below [`Self::len`].
    #[must_use]
    pub fn shown(&self, n: u64) -> Cow<'_, str> {
        match &self.values {
            Values::List(entries) => Cow::Borrowed(&entries[n as usize].shown),
            Values::Range(range, _) => Cow::Owned(range.value(n)),
        }
    }

    /// Returns a value as rows have it: a number or a truth value where it is one, an alpha as a number,
    /// other values as text.
    #[must_use]
    pub fn value(&self, n: u64) -> Value {
        let shown = self.shown(n);
        match exponent(&shown) {
            Ok(exponent) if self.is_alpha => return 2_f64.powi(exponent).into(),
            _ => {}
        }
        // A quoted number in the file is text, and stays text in rows.
        let plain = match &self.values {
            Values::List(entries) => {
                matches!(entries[n as usize].written.kind, Kind::Scalar { plain: true, .. })
            }
            Values::Range(..) => true,
        };
        // JSON would also read `null`, or a text in quotes.
        let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        match &*shown {
            "true" if plain => true.into(),
            "false" if plain => false.into(),
            text if plain && is_number(text) => {
                serde_json::from_str::<Value>(text).unwrap_or_else(|_| text.into())
            }
            text => text.into(),
        }
    }

    /// True if all values are numbers without a unit.
    pub(super) fn is_number(&self) -> bool {
        match &self.values {
            // All have the same unit.
            Values::Range(..) => self.value(0).is_number(),
            Values::List(entries) => (0..entries.len() as u64).all(|n| self.value(n).is_number()),
        }
    }

    /// Writes a value, by its number, into a file's tree, and returns the places to which it was written.
    ///
    /// # Errors
    /// The tree has no such field; names the part that is missing, and what there is.
    pub(crate) fn write(&self, root: &mut Node, n: u64) -> Result<Vec<Written>, String> {
        let place = self.mark.unwrap_or(Mark { line: 1, column: 1 });
        let scalar = |text: String, mark| Node {
            mark,
            kind: Kind::Scalar { text: Zeroizing::new(text), plain: true },
        };
        let made;
        let written = match &self.values {
            _ if self.is_alpha => {
                let mark = self.value_mark(n).unwrap_or(place);
                made = scalar(exponent(&self.shown(n))?.to_string(), mark);
                &made
            }
            Values::List(entries) => &entries[n as usize].written,
            Values::Range(range, mark) => {
                made = scalar(range.value(n), *mark);
                &made
            }
        };
        // A value of a command has no place in the file: errors have that of the field.
        let keep_mark = self.mark.is_some();
        path::write(root, &self.path, written, keep_mark)
            .map_err(|missing| missing.message(&self.path, &self.name))
    }

    /// Returns the first two neighbours, with the place of the second, that are not in ascending order as
    /// quantities. Values that are none, such as words, have the order in which they are written.
    pub(super) fn out_of_order(&self) -> Option<(&str, &str, Option<Mark>)> {
        let entries = match &self.values {
            // Its first end is the smaller one.
            Values::Range(..) => return None,
            Values::List(entries) => entries,
        };
        let magnitude = |entry: &Entry| match &entry.written.kind {
            Kind::Scalar { text, .. } if self.is_alpha => {
                exponent(text).ok().map_or([None; KINDS], |n| [Some(i128::from(n)); KINDS])
            }
            Kind::Scalar { text, .. } => magnitudes(text),
            _ => [None; KINDS],
        };
        let pair = entries.windows(2).find(|pair| {
            let (first, second) = (magnitude(&pair[0]), magnitude(&pair[1]));
            // A text may be several kinds of quantity; only the kinds that both values can be are compared.
            first.into_iter().zip(second).any(|pair| matches!(pair, (Some(a), Some(b)) if a >= b))
        })?;
        Some((&pair[0].shown, &pair[1].shown, self.mark.map(|_| pair[1].written.mark)))
    }

    fn value_mark(&self, n: u64) -> Option<Mark> {
        self.mark?;
        Some(match &self.values {
            Values::List(entries) => entries[n as usize].written.mark,
            Values::Range(_, mark) => *mark,
        })
    }

    /// Describes the values in a few words: `1..100`, or `5m, 100m`.
    #[must_use]
    pub fn summary(&self) -> String {
        const SHOWN: usize = 6;
        match &self.values {
            Values::Range(range, _) => range.to_string(),
            Values::List(entries) => {
                let first = entries.iter().take(SHOWN).map(|entry| entry.shown.as_str());
                let more = if entries.len() > SHOWN { ", ..." } else { "" };
                first.collect::<Vec<_>>().join(", ") + more
            }
        }
    }
}

/// Kinds of quantities that a text may be.
const KINDS: usize = 6;

/// Returns a text as each kind of quantity, in its smallest unit: a bare number is several of them, which
/// have the same order.
fn magnitudes(text: &str) -> [Option<i128>; KINDS] {
    let size = text.parse::<Size>().ok().map(|Size(n)| i128::from(n));
    let rate = text.parse::<Rate>().ok().map(|Rate(rate)| i128::from(rate.get()));
    let time = text.parse::<Span>().ok().map(|Span(time)| i128::from(time.as_picos()));
    let share = text.parse::<Ratio>().ok().map(|Ratio(n)| i128::from(n));
    let length = text.parse::<Length>().ok().map(|Length(n)| i128::from(n));
    [size, rate, time, share, length, super::range::number(text)]
}

impl Entry {
    fn of(node: &Node) -> Self {
        Self { written: node.clone(), shown: flow(node) }
    }
}

/// Formats a value on one line, as YAML has it.
fn flow(node: &Node) -> String {
    match &node.kind {
        Kind::Scalar { text, .. } => text.to_string(),
        Kind::Seq(items) => {
            format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", "))
        }
        Kind::Map(entries) => {
            let members =
                entries.iter().map(|(key, value)| format!("{}: {}", key.name, flow(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Reads `{from: 5m, to: 500m, count: 12}`.
fn long_range(node: &Node) -> Result<Range, (Mark, String)> {
    const KNOWN: [&str; 5] = ["from", "to", "step", "factor", "count"];
    let Kind::Map(entries) = &node.kind else { return Err((node.mark, VALUES.into())) };
    let text = |node: &Node| match &node.kind {
        Kind::Scalar { text, .. } => Ok(text.to_string()),
        _ => Err((node.mark, "write a number, or a number with a unit".to_owned())),
    };
    if let Some((key, _)) = entries.iter().find(|(key, _)| !KNOWN.contains(&&*key.name)) {
        return Err((key.mark, unknown_name("field of a range", &key.name, &KNOWN)));
    }
    let (Some(from), Some(to)) = (node.get("from"), node.get("to")) else {
        return Err((node.mark, VALUES.into()));
    };
    let mut by = None;
    // The three words behind `from` and `to` exclude each other.
    for word in &KNOWN[2..] {
        if let Some(n) = node.get(word) {
            if by.replace((*word, text(n)?)).is_some() {
                return Err((n.mark, "give one of `step`, `factor` and `count`".into()));
            }
        }
    }
    let by = by.as_ref().map(|(word, n)| (*word, n.as_str()));
    Range::new(&text(from)?, &text(to)?, by).map_err(|why| (node.mark, why))
}
