//! Fields of a lab file by their path, with the values that an exploration gives them.

use config::tree::{self, Key, Kind, Node};

/// Part of a path that stands for any key or entry.
const ANY: &str = "*";
/// Part of a path that stands for any number of parts, none included.
const DEEP: &str = "**";

/// A field and its values.
///
/// The parts of a path are separated by dots: keys, entries of lists by `name` or by index from 0,
/// `*` for all of them, `**` for any number of levels. A path with `*` means all fields that the
/// file has or, if it has none, one below each mapping that could have it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axis {
    path: String,
    /// Heading in tables.
    name: String,
    /// As written in the file, and as shown.
    values: Vec<(String, String)>,
    shown: Vec<String>,
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
    const fn path(self) -> &'static str {
        match self {
            Self::Kmin => "**.ecn.kmin",
            Self::Kmax => "**.ecn.kmax",
            Self::Pmax => "**.ecn.pmax",
            Self::Alpha => "**.buffer.profiles.*.shared.dynamic_th",
            Self::Xon => "**.buffer.profiles.*.lossless.xon",
            Self::XonOffset => "**.buffer.profiles.*.lossless.xon_offset",
        }
    }

    const fn name(self) -> &'static str {
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
        let mut axis = Axis::new(self.path(), shown)?;
        axis.name = self.name().to_owned();
        if self == Self::Alpha {
            for (written, shown) in &mut axis.values {
                *written = exponent(shown)?.to_string();
            }
        }
        Ok(axis)
    }
}

/// Returns the exponent of an alpha, which is a power of two.
fn exponent(text: &str) -> Result<i32, String> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let alpha = match text.split_once('/') {
        Some((over, under)) => number(over).zip(number(under)).map(|(over, under)| over / under),
        None => number(text),
    };
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

impl Axis {
    /// Creates an axis.
    ///
    /// # Errors
    /// An empty part of the path, no values, or the same value twice.
    pub fn new(path: &str, values: &[String]) -> Result<Self, String> {
        let last = path.rsplit('.').next().unwrap_or_default();
        if path.split('.').any(str::is_empty) || last.starts_with(ANY) {
            return Err(format!(
                "`{path}` is no path; write profiles.tor.buffer.total, for instance"
            ));
        }
        let repeated = (1..values.len()).find(|n| values[..*n].contains(&values[*n]));
        match (values, repeated) {
            ([], _) => return Err(format!("{path}: no values")),
            (_, Some(n)) => return Err(format!("{path}: {} is there twice", values[n])),
            _ => {}
        }
        if let Some(empty) = values.iter().find(|value| value.trim().is_empty()) {
            return Err(format!("{path}: `{empty}` is no value"));
        }
        Ok(Self {
            path: path.to_owned(),
            name: last.to_owned(),
            values: values.iter().map(|value| (value.clone(), value.clone())).collect(),
            shown: values.to_vec(),
        })
    }

    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the heading in tables.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the values as they are shown.
    #[must_use]
    pub fn values(&self) -> &[String] {
        &self.shown
    }

    /// Writes a value, one of [`Self::values`], into a file's tree.
    ///
    /// # Errors
    /// The tree has no such field; names the part that is missing, and what there is.
    pub fn write(&self, root: &mut Node, value: &str) -> Result<(), String> {
        let found = self.values.iter().find(|(_, shown)| shown == value);
        let written = found.map_or(value, |(written, _)| written);
        let written = tree::read(written, "a value")
            .map_err(|finding| format!("{}: `{value}` is no value: {}", self.path, finding.what))?;
        let parts: Vec<&str> = self.path.split('.').collect();
        let is_one = !parts.iter().any(|part| part.starts_with(ANY));
        if set(root, &parts, &written, is_one) > 0 || set(root, &parts, &written, true) > 0 {
            return Ok(());
        }
        Err(match is_one {
            true => format!("the lab has no `{}`{}", self.path, missing(root, &parts)),
            false => format!("the lab has no {}: nothing in it is at `{}`", self.name, self.path),
        })
    }
}

/// Writes a value at all places of a path and returns their number. A field that is missing is
/// created if `create`, below a mapping that is there.
fn set(node: &mut Node, parts: &[&str], value: &Node, create: bool) -> usize {
    let [first, rest @ ..] = parts else { return 0 };
    if *first == DEEP {
        let here = set(node, rest, value, create);
        let below = children(node).map(|child| set(child, parts, value, create)).sum::<usize>();
        return here + below;
    }
    if *first == ANY {
        return children(node).map(|child| set(child, rest, value, create)).sum();
    }
    if !rest.is_empty() {
        return child(node, first).map_or(0, |child| set(child, rest, value, create));
    }
    let mark = node.mark;
    let Kind::Map(entries) = &mut node.kind else { return 0 };
    let new = |mark| {
        let mut new = value.clone();
        new.mark = mark;
        new
    };
    match entries.iter_mut().find(|(key, _)| key.name == *first) {
        Some((_, old)) => *old = new(old.mark),
        None if create => {
            // Errors about it name the line of the mapping.
            let name = (*first).to_owned().into();
            entries.push((Key { mark, name }, new(mark)));
        }
        None => return 0,
    }
    1
}

fn children(node: &mut Node) -> Box<dyn Iterator<Item = &mut Node> + '_> {
    match &mut node.kind {
        Kind::Map(entries) => Box::new(entries.iter_mut().map(|(_, value)| value)),
        Kind::Seq(items) => Box::new(items.iter_mut()),
        Kind::Scalar { .. } => Box::new(std::iter::empty()),
    }
}

/// Returns the child with a name: the value of a key, or an entry of a list by `name` or index.
fn child<'a>(node: &'a mut Node, name: &str) -> Option<&'a mut Node> {
    match &mut node.kind {
        Kind::Map(entries) => {
            entries.iter_mut().find(|(key, _)| key.name == *name).map(|(_, value)| value)
        }
        Kind::Seq(items) => {
            let named = items.iter().position(|item| text(item.get("name")) == Some(name));
            let at = named.or_else(|| name.parse().ok())?;
            items.get_mut(at)
        }
        Kind::Scalar { .. } => None,
    }
}

fn text(node: Option<&Node>) -> Option<&str> {
    match node.map(|node| &node.kind) {
        Some(Kind::Scalar { text, .. }) => Some(text),
        _ => None,
    }
}

/// Says where a path ends, and what there is.
fn missing(root: &mut Node, parts: &[&str]) -> String {
    let mut at = root;
    for part in parts {
        let names: Vec<String> = match &at.kind {
            Kind::Map(entries) => entries.iter().map(|(key, _)| key.name.to_string()).collect(),
            Kind::Seq(items) => (0..items.len())
                .map(|n| text(items[n].get("name")).map_or_else(|| n.to_string(), Into::into))
                .collect(),
            Kind::Scalar { .. } => return format!(": there is nothing below `{part}`"),
        };
        match child(at, part) {
            Some(next) => at = next,
            None => return format!(": no `{part}` there; there are {}", names.join(", ")),
        }
    }
    String::new()
}
