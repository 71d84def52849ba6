//! Writes a value at a path of a lab file's tree.

use config::tree::{Key, Kind, Node};

/// Part of a path that stands for any key or entry.
const ANY: &str = "*";
/// Part of a path that stands for any number of parts, none included.
const DEEP: &str = "**";

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
    pub(super) fn said(self, path: &str, name: &str) -> String {
        match self.is_one {
            true => format!("the lab has no `{path}`{}", self.what),
            false => format!("the lab has no {name}: nothing in it is at `{path}`"),
        }
    }
}

/// Writes a value at all places of a path. It keeps its mark if `placed`, and otherwise gets that of what
/// it replaces.
pub(super) fn write(
    root: &mut Node,
    path: &str,
    value: &Node,
    placed: bool,
) -> Result<(), Missing> {
    let parts: Vec<&str> = path.split('.').collect();
    let is_one = !parts.iter().any(|part| part.starts_with(ANY));
    let mut value = Value { value, placed, create: false };
    if value.set(root, &parts) > 0 {
        return Ok(());
    }
    value.create = true;
    if value.set(root, &parts) > 0 {
        return Ok(());
    }
    Err(Missing { is_one, what: if is_one { missing(root, &parts) } else { String::new() } })
}

/// A value on its way into a tree.
struct Value<'a> {
    value: &'a Node,
    placed: bool,
    /// True to create a field that is missing, below a mapping that is there.
    create: bool,
}

impl Value<'_> {
    /// Writes the value at all places of a path and returns their number.
    fn set(&self, node: &mut Node, parts: &[&str]) -> usize {
        let [first, rest @ ..] = parts else { return 0 };
        if *first == DEEP {
            let here = self.set(node, rest);
            let below = children(node).map(|child| self.set(child, parts)).sum::<usize>();
            return here + below;
        }
        if *first == ANY {
            return children(node).map(|child| self.set(child, rest)).sum();
        }
        // A name may contain dots; the shortest one that leads on is taken.
        for names in 1..=parts.len() {
            let name = parts[..names].join(".");
            let rest = &parts[names..];
            let written = match rest {
                [] => self.put(node, &name, names == 1),
                _ => child(node, &name).map_or(0, |child| self.set(child, rest)),
            };
            if written > 0 {
                return written;
            }
            if rest.first().is_some_and(|part| part.starts_with(ANY)) {
                break;
            }
        }
        0
    }

    /// Writes the value of a key of a mapping, or an entry of a list.
    fn put(&self, node: &mut Node, name: &str, plain: bool) -> usize {
        let mark = node.mark;
        let new = |mark| {
            let mut new = self.value.clone();
            if !self.placed {
                new.mark = mark;
            }
            new
        };
        match &mut node.kind {
            Kind::Map(entries) => match entries.iter_mut().find(|(key, _)| key.name == *name) {
                Some((_, old)) => *old = new(old.mark),
                // Errors about it name the line of the value, or of the mapping.
                None if self.create && plain => {
                    let mark = if self.placed { self.value.mark } else { mark };
                    entries.push((Key { mark, name: name.to_owned().into() }, new(mark)));
                }
                None => return 0,
            },
            Kind::Seq(_) => match child(node, name) {
                Some(old) => *old = new(old.mark),
                None => return 0,
            },
            Kind::Scalar { .. } => return 0,
        }
        1
    }
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
            let place = named.or_else(|| name.parse().ok())?;
            items.get_mut(place)
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
            Some(next) => node = next,
            None => return format!(": no `{part}` there; there are {}", names.join(", ")),
        }
    }
    String::new()
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
        let missing = write(&mut root, "p.q.x", &value, false).err().unwrap().said("p.q.x", "x");
        assert_eq!(missing, "the lab has no `p.q.x`: no `q` there; there are a.b, a");
    }
}
