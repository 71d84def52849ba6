//! Paths of a lab file's tree: values written at them, and the places to which they lead.
//!
//! A path may have several names: an entry of a list has its `name` and its index, and `*` stands for all of them. So
//! whether two setters of a study and its command write over each other is decided by the places to which their paths
//! lead in the tree of a run, not by their text.

use std::collections::HashMap;

use super::axis::Axis;
use config::Finding;
use config::tree::{Key, Kind, Node};

/// Part of a path that stands for any key or entry.
const ANY: &str = "*";
/// Part of a path that stands for any number of parts, none included.
const DEEP: &str = "**";

/// Fields of a lab whose own fields have fixed names, so that a path below them is no name that nothing has.
const FIXED: [&str; 3] = ["defaults", "measure", "record"];

/// Mappings that have exactly one of some fields: one that is set takes the place of the other.
const ALTERNATIVES: [(&str, &[&str]); 3] = [
    ("shared", &["dynamic_th", "static_th", "unlimited"]),
    ("duration", &["frames", "seconds", "bytes"]),
    ("rate", &["percentage", "bps", "pps"]),
];

/// Refuses a path with an empty part, or one that ends with `*`.
pub(super) fn check(path: &str) -> Result<(), String> {
    let last = path.rsplit('.').next().unwrap_or_default();
    if path.split('.').any(str::is_empty) || last.starts_with(ANY) {
        return Err(format!("`{path}` is no path; write profiles.tor.buffer.total, for instance"));
    }
    Ok(())
}

/// A path that a tree does not have.
pub(super) struct Missing {
    /// False for a path with `*`.
    is_one: bool,
    /// Sentence with the part that is missing, and what there is.
    what: String,
}

impl Missing {
    /// Says what is missing; `name` is the heading of the axis.
    pub(super) fn message(self, path: &str, name: &str) -> String {
        match self.is_one {
            true => format!("the lab has no `{path}`{}", self.what),
            false => format!("the lab has no {name}: nothing in it is at `{path}`"),
        }
    }
}

/// Writes a value at all places of a path, and returns them. It keeps its mark if `placed`, and otherwise
/// gets that of what it replaces.
pub(super) fn write(
    root: &mut Node,
    path: &str,
    value: &Node,
    placed: bool,
) -> Result<Vec<Written>, Missing> {
    let parts: Vec<&str> = path.split('.').collect();
    let is_one = !parts.iter().any(|part| part.starts_with(ANY));
    let (place, written) = (Vec::new(), Vec::new());
    let mut value = Value { value, placed, create: false, place, written };
    // First only fields that the file has: `create` would add one below every mapping that `*` meets.
    if value.set(root, &parts) > 0 {
        return Ok(value.written);
    }
    value.create = true;
    // Elsewhere a missing part is more likely a wrong name than a mapping that is to be made.
    if is_one && FIXED.contains(&parts[0]) {
        grow(root, &parts[..parts.len() - 1]);
    }
    if value.set(root, &parts) > 0 {
        return Ok(value.written);
    }
    Err(Missing { is_one, what: if is_one { missing(root, &parts) } else { String::new() } })
}

/// A value on its way into a tree.
struct Value<'a> {
    value: &'a Node,
    placed: bool,
    /// True to create a field that is missing, below a mapping that is there.
    create: bool,
    /// Place of the node that [`Self::set`] looks at.
    place: Place,
    written: Vec<Written>,
}

impl Value<'_> {
    /// Writes the value at all places of a path and returns their number.
    fn set(&mut self, node: &mut Node, parts: &[&str]) -> usize {
        let [first, rest @ ..] = parts else { return 0 };
        if *first == DEEP {
            // `**` also stands for no part at all.
            let here = self.set(node, rest);
            return here + self.set_children(node, parts);
        }
        if *first == ANY {
            return self.set_children(node, rest);
        }
        // A name may contain dots; the shortest one that leads on is taken.
        for names in 1..=parts.len() {
            let name = parts[..names].join(".");
            let rest = &parts[names..];
            let written = match rest {
                [] => self.put(node, &name, names == 1),
                _ => match child(node, &name) {
                    Some((step, child)) => self.within(step, |value| value.set(child, rest)),
                    None => 0,
                },
            };
            if written > 0 {
                return written;
            }
            // A name that goes on with `*` would be no name; longer joins only repeat that.
            if rest.first().is_some_and(|part| part.starts_with(ANY)) {
                break;
            }
        }
        0
    }

    fn set_children(&mut self, node: &mut Node, parts: &[&str]) -> usize {
        children(node).map(|(step, child)| self.within(step, |value| value.set(child, parts))).sum()
    }

    /// Calls `set` for the node at a step from this one.
    fn within(&mut self, step: Step, set: impl FnOnce(&mut Self) -> usize) -> usize {
        self.place.push(step);
        let number = set(self);
        self.place.pop();
        number
    }

    /// Returns the fields, the field itself included, of which the mapping at this place has exactly one.
    fn alternatives(&self, field: &str) -> &'static [&'static str] {
        let Some(Step::Key(parent)) = self.place.last() else { return &[] };
        let of = |(mapping, fields): &(&str, &[&str])| mapping == parent && fields.contains(&field);
        ALTERNATIVES.into_iter().find(of).map_or(&[], |(_, fields)| fields)
    }

    /// Writes the value of a key of a mapping, or an entry of a list.
    fn put(&mut self, node: &mut Node, name: &str, plain: bool) -> usize {
        let mark = node.mark;
        let new = |mark| {
            let mut new = self.value.clone();
            if !self.placed {
                new.mark = mark;
            }
            new
        };
        let (mut step, mut is_new) = (Step::Key(name.to_owned()), false);
        // Before `node` is borrowed: it depends on the place alone.
        let others = self.alternatives(name);
        match &mut node.kind {
            Kind::Map(entries) => match entries.iter_mut().find(|(key, _)| key.name == *name) {
                Some((_, old)) => *old = new(old.mark),
                // Errors about it name the line of the value, or of the mapping.
                None if self.create && plain => {
                    // A place that is cleared is set as well: an axis that has it would do nothing.
                    entries.retain(|(key, _)| {
                        let is_kept = !others.contains(&&*key.name);
                        if !is_kept {
                            let place = [&self.place[..], &[Step::Key(key.name.to_string())]];
                            self.written.push(Written { place: place.concat(), is_new: false });
                        }
                        is_kept
                    });
                    let mark = if self.placed { self.value.mark } else { mark };
                    entries.push((Key { mark, name: name.to_owned().into() }, new(mark)));
                    is_new = true;
                }
                None => return 0,
            },
            Kind::Seq(_) => match child(node, name) {
                Some((index, old)) => {
                    step = index;
                    *old = new(old.mark);
                }
                None => return 0,
            },
            Kind::Scalar { .. } => return 0,
        }
        let mut place = self.place.clone();
        place.push(step);
        self.written.push(Written { place, is_new });
        1
    }
}

/// Adds the mappings of a path that are missing.
fn grow(mut node: &mut Node, parts: &[&str]) {
    for part in parts {
        let mark = node.mark;
        let Kind::Map(entries) = &mut node.kind else { return };
        let place = entries.iter().position(|(key, _)| key.name == **part);
        let place = place.unwrap_or_else(|| {
            let key = Key { mark, name: (*part).to_owned().into() };
            entries.push((key, Node { mark, kind: Kind::Map(Vec::new()) }));
            entries.len() - 1
        });
        node = &mut entries[place].1;
    }
}

fn children(node: &mut Node) -> Box<dyn Iterator<Item = (Step, &mut Node)> + '_> {
    match &mut node.kind {
        Kind::Map(entries) => Box::new(
            entries.iter_mut().map(|(key, value)| (Step::Key(key.name.to_string()), value)),
        ),
        Kind::Seq(items) => {
            Box::new(items.iter_mut().enumerate().map(|(n, item)| (Step::Index(n), item)))
        }
        Kind::Scalar { .. } => Box::new(std::iter::empty()),
    }
}

/// Returns the child with a name: the value of a key, or an entry of a list by `name` or index.
fn child<'a>(node: &'a mut Node, name: &str) -> Option<(Step, &'a mut Node)> {
    match &mut node.kind {
        Kind::Map(entries) => {
            let found = entries.iter_mut().find(|(key, _)| key.name == *name);
            found.map(|(_, value)| (Step::Key(name.to_owned()), value))
        }
        Kind::Seq(items) => {
            // A name has precedence over an index: entries may be called `0`.
            let named = items.iter().position(|item| text(item.get("name")) == Some(name));
            let place = named.or_else(|| name.parse().ok())?;
            items.get_mut(place).map(|item| (Step::Index(place), item))
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
    let mut node = root;
    for part in parts {
        let names: Vec<String> = match &node.kind {
            Kind::Map(entries) => entries.iter().map(|(key, _)| key.name.to_string()).collect(),
            Kind::Seq(items) => (0..items.len())
                .map(|n| text(items[n].get("name")).map_or_else(|| n.to_string(), Into::into))
                .collect(),
            Kind::Scalar { .. } => return format!(": there is nothing below `{part}`"),
        };
        match child(node, part) {
            Some((_, next)) => node = next,
            None => return format!(": no `{part}` there; there are {}", names.join(", ")),
        }
    }
    String::new()
}

/// A place of a tree: the keys and indices that lead to it.
pub(crate) type Place = Vec<Step>;

/// A key of a mapping, or the index of an entry of a list.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

/// A place to which a value was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Written {
    pub(super) place: Place,
    /// True if the tree had no value there.
    is_new: bool,
}

/// The part of a study that sets a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Setter {
    /// An option of the command.
    Command,
    Sweep,
    Search,
}

/// All places that were set so far, in the tree of one run.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Places {
    all: HashMap<Place, Owner>,
}

/// The setter of a place, or of one below it.
#[derive(Clone, PartialEq, Debug)]
struct Owner {
    setter: Setter,
    path: String,
    /// False if only places below this one are set.
    is_whole: bool,
}

impl Places {
    /// Adds a field of the lab that an option of the command sets.
    ///
    /// # Errors
    /// It is set already.
    pub(super) fn claim_field(&mut self, field: &str) -> Result<(), Finding> {
        let written = Written { place: vec![Step::Key(field.into())], is_new: false };
        self.claim(&[written], Setter::Command, field)
            .map_err(|what| Finding::new(None, &format!("--{field}"), &what))
    }

    /// Adds the places to which an axis was written.
    ///
    /// # Errors
    /// Another setter has written one of them, or a value within it.
    pub(crate) fn claim_axis(
        &mut self,
        axis: &Axis,
        written: &[Written],
        setter: Setter,
    ) -> Result<(), Finding> {
        self.claim(written, setter, axis.key()).map_err(|mut what| {
            if setter == Setter::Sweep && axis.mark().is_none() {
                // Axes of a command are no part of a file.
                what = what.replacen("another part of the sweep", "another axis", 1);
            }
            let within = match (setter, axis.mark()) {
                (Setter::Sweep, Some(_)) => "sweep.",
                (Setter::Search, Some(_)) => "search.",
                _ => "",
            };
            Finding::new(axis.mark(), &format!("{within}{}", axis.key()), &what)
        })
    }

    fn claim(&mut self, written: &[Written], setter: Setter, path: &str) -> Result<(), String> {
        let taken = written.iter().find_map(|written| self.owner(written));
        if let Some(owner) = taken {
            let part = match (owner.setter, setter) {
                (Setter::Command, _) => "the command",
                (Setter::Sweep, Setter::Sweep) => "another part of the sweep",
                (Setter::Sweep, _) => "the sweep",
                (Setter::Search, _) => "the search",
            };
            let (what, own) = ("sets the same field", &owner.path);
            return Err(format!("{part} {what} by `{own}`; leave out one of them"));
        }
        for Written { place, .. } in written {
            // The places above are noted too, so that a later setter of a whole mapping meets this value.
            for len in 1..=place.len() {
                let is_whole = len == place.len();
                let owner = Owner { setter, path: path.to_owned(), is_whole };
                let known = self.all.entry(place[..len].to_vec());
                known.and_modify(|known| known.is_whole |= is_whole).or_insert(owner);
            }
        }
        Ok(())
    }

    /// Returns the setter of a value that this one replaces: of the same place, of a place below it, or of
    /// one above it that had a value here.
    fn owner(&self, written: &Written) -> Option<&Owner> {
        let Written { place, is_new } = written;
        let above = (1..place.len()).filter_map(|len| self.all.get(&place[..len]));
        // A field that is new below a mapping that another setter wrote adds to it and replaces nothing.
        let above = above.filter(|owner| owner.is_whole && !is_new);
        self.all.get(place).into_iter().chain(above).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::{de, tree};

    #[test]
    fn names_may_contain_dots_and_the_shortest_that_leads_on_is_taken() {
        let text = "{p: {a.b: {c: 1}, a: {d: 2}}, l: [{name: x.y, v: 3}, {v: 4}]}";
        let mut root = tree::read(text, "").unwrap();
        let value = tree::read("9", "").unwrap();
        for path in ["p.a.b.c", "p.a.d", "l.x.y.v", "l.1.v"] {
            assert!(write(&mut root, path, &value, false).is_ok(), "{path}");
        }
        let shown = serde_json::to_string(&de::from_tree::<serde_json::Value>(&root).unwrap());
        let wanted = r#"{"l":[{"name":"x.y","v":9},{"v":9}],"p":{"a":{"d":9},"a.b":{"c":9}}}"#;
        assert_eq!(shown.unwrap(), wanted);
        assert!(write(&mut root, "p.a.x", &value, false).is_ok(), "created");
        assert!(root.get("p").unwrap().get("a").unwrap().get("x").is_some());
        let missing = write(&mut root, "p.q.x", &value, false).err().unwrap().message("p.q.x", "x");
        assert_eq!(missing, "the lab has no `p.q.x`: no `q` there; there are a.b, a");
    }
}
