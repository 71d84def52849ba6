//! YAML text to a tree that remembers where everything stood.
//!
//! The parser gives events with marks; keeping those in a tree of our own is what lets every later
//! finding, about syntax, types or arithmetic, name its line and column. JSON is read by the same
//! code, being a subset of YAML. Left out on purpose: tags, which no field uses, and keys that are
//! not scalars. Size, depth and the growth by aliases are bounded, so no text, however hostile,
//! takes the process down.

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, StrInput};

use super::error::{Finding, Mark};

/// How deep a file may nest. The deepest field that exists is eight levels down.
const DEPTH_MAX: usize = 64;

/// How many nodes a file may have once its aliases are written out: far above a switch with 1024
/// ports, far below what would hurt.
const NODES_MAX: usize = 1_000_000;

/// A node of the tree.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// Where it starts.
    pub mark: Mark,
    /// What it is.
    pub kind: Kind,
}

/// What a node is.
#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    /// A single value. Only a plain one (no quotes) may be read as a number, a boolean or null.
    Scalar {
        /// The value after escapes.
        text: String,
        /// Whether it stood without quotes.
        plain: bool,
    },
    /// A list.
    Seq(Vec<Node>),
    /// A mapping, in the order of the file, no key twice.
    Map(Vec<(Key, Node)>),
}

/// A key of a mapping.
#[derive(Clone, PartialEq, Debug)]
pub struct Key {
    /// Where it stands.
    pub mark: Mark,
    /// Its text.
    pub name: String,
}

impl Node {
    /// Takes out what stands at `mark`, wherever it is: entries by the place of their keys, or else
    /// entries and items by their own. There are several where defaults were inherited. Says whether
    /// there was one.
    pub fn remove(&mut self, mark: Mark) -> bool {
        self.remove_where(&|key, _| key.is_some_and(|key| key.mark == mark))
            || self.remove_where(&|_, node| node.mark == mark)
    }

    fn remove_where(&mut self, is_meant: &impl Fn(Option<&Key>, &Self) -> bool) -> bool {
        let mut found = false;
        match &mut self.kind {
            Kind::Scalar { .. } => {}
            Kind::Seq(items) => items.retain_mut(|item| {
                let meant = is_meant(None, item);
                found |= meant || item.remove_where(is_meant);
                !meant
            }),
            Kind::Map(entries) => entries.retain_mut(|(key, node)| {
                let meant = is_meant(Some(key), node);
                found |= meant || node.remove_where(is_meant);
                !meant
            }),
        }
        found
    }

    /// The value of a key, if this is a mapping that has it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        match &self.kind {
            Kind::Map(entries) => entries.iter().find(|(k, _)| k.name == name).map(|(_, v)| v),
            _ => None,
        }
    }

    /// Whether this is YAML's null: nothing at all, `~` or `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(&self.kind, Kind::Scalar { text, plain: true }
            if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// Puts what `defaults` says under what this mapping says itself: mappings are merged key by
    /// key, everything else is replaced as a whole. Every node keeps its own mark.
    pub fn inherit(&mut self, defaults: &Self) {
        let (Kind::Map(own), Kind::Map(inherited)) = (&mut self.kind, &defaults.kind) else {
            return;
        };
        for (key, value) in inherited {
            match own.iter_mut().find(|(k, _)| k.name == key.name) {
                Some((_, mine)) => mine.inherit(value),
                None => own.push((key.clone(), value.clone())),
            }
        }
    }

    /// Its own level and those below it.
    fn depth(&self) -> usize {
        1 + match &self.kind {
            Kind::Scalar { .. } => 0,
            Kind::Seq(items) => items.iter().map(Self::depth).max().unwrap_or(0),
            Kind::Map(entries) => entries.iter().map(|(_, v)| v.depth()).max().unwrap_or(0),
        }
    }

    /// How many nodes it is made of.
    fn count(&self) -> usize {
        1 + match &self.kind {
            Kind::Scalar { .. } => 0,
            Kind::Seq(items) => items.iter().map(Self::count).sum(),
            Kind::Map(entries) => entries.iter().map(|(_, v)| v.count()).sum(),
        }
    }
}

/// A collection whose end has not come yet.
struct Open {
    node: Node,
    anchor: usize,
    key: Option<Key>,
}

/// Reads one YAML document; `empty` is what is said about a text that has none.
///
/// # Errors
/// The first thing that is not YAML, or not YAML as it is used here.
pub fn read(text: &str, empty: &str) -> Result<Node, Finding> {
    let mut builder = Builder::default();
    let mut documents = 0;
    for next in Parser::new_from_str(text) as Parser<'_, StrInput<'_>> {
        let (event, span) =
            next.map_err(|e| finding(mark(e.marker()), format!("not YAML: {}", e.info())))?;
        let at = mark(&span.start);
        match event {
            Event::DocumentStart(..) => {
                documents += 1;
                if documents > 1 {
                    return Err(finding(at, "a second document; put it into a file of its own"));
                }
            }
            Event::Scalar(value, style, anchor, tag) => {
                untagged(tag.is_some(), at)?;
                let plain = style == ScalarStyle::Plain;
                let kind = Kind::Scalar { text: value.into_owned(), plain };
                builder.add(Node { mark: at, kind }, anchor)?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                untagged(tag.is_some(), at)?;
                builder.open(Node { mark: at, kind: Kind::Seq(Vec::new()) }, anchor)?;
            }
            Event::MappingStart(_, anchor, tag) => {
                untagged(tag.is_some(), at)?;
                builder.open(Node { mark: at, kind: Kind::Map(Vec::new()) }, anchor)?;
            }
            Event::SequenceEnd | Event::MappingEnd => builder.close()?,
            Event::Alias(id) => builder.alias(id, at)?,
            // The rest are the ends of the stream and of the document, and metadata that is not
            // asked for.
            _ => {}
        }
    }
    let nothing = Finding { mark: None, path: String::new(), what: empty.into() };
    builder.root.filter(|n| !n.is_null()).ok_or(nothing)
}

/// Puts nodes together in the order of their events.
#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    root: Option<Node>,
}

impl Builder {
    fn open(&mut self, node: Node, anchor: usize) -> Result<(), Finding> {
        if self.open.len() >= DEPTH_MAX {
            return Err(finding(node.mark, format!("nested more than {DEPTH_MAX} levels deep")));
        }
        self.open.push(Open { node, anchor, key: None });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Finding> {
        // The parser pairs the ends with the starts; an end too many would be its own error.
        let Some(done) = self.open.pop() else { return Ok(()) };
        self.add(done.node, done.anchor)
    }

    fn alias(&mut self, id: usize, at: Mark) -> Result<(), Finding> {
        let Some(node) = self.anchors.get(&id) else {
            return Err(finding(at, "an alias inside the very thing that it stands for"));
        };
        if self.open.len() + node.depth() > DEPTH_MAX {
            return Err(finding(at, format!("nested more than {DEPTH_MAX} levels deep")));
        }
        self.nodes += node.count();
        let node = node.clone();
        self.add(node, 0)
    }

    /// Adds a finished node to the innermost open collection.
    fn add(&mut self, node: Node, anchor: usize) -> Result<(), Finding> {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            return Err(finding(node.mark, format!("more than {NODES_MAX} values in one file")));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        let Some(parent) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match (&mut parent.node.kind, parent.key.take()) {
            (Kind::Map(entries), Some(key)) => entries.push((key, node)),
            (Kind::Map(entries), None) => parent.key = Some(key_of(node, entries)?),
            (Kind::Seq(items), _) => items.push(node),
            (Kind::Scalar { .. }, _) => unreachable!("only collections are opened"),
        }
        Ok(())
    }
}

/// The key that a scalar is, if the mapping does not have it yet.
fn key_of(node: Node, entries: &[(Key, Node)]) -> Result<Key, Finding> {
    let Kind::Scalar { text: name, .. } = node.kind else {
        return Err(finding(node.mark, "a key must be a plain word or number"));
    };
    if let Some((first, _)) = entries.iter().find(|(k, _)| k.name == name) {
        let line = first.mark.line;
        return Err(finding(node.mark, format!("`{name}` is given twice, first in line {line}")));
    }
    Ok(Key { mark: node.mark, name })
}

fn untagged(tagged: bool, at: Mark) -> Result<(), Finding> {
    if tagged {
        Err(finding(at, "YAML tags (`!...`) are not used here; take it out"))
    } else {
        Ok(())
    }
}

fn mark(m: &granit_parser::Marker) -> Mark {
    let clamp = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Mark { line: clamp(m.line()), column: clamp(m.col()).saturating_add(1) }
}

fn finding(mark: Mark, what: impl Into<String>) -> Finding {
    Finding { mark: Some(mark), path: String::new(), what: what.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Node, Finding> {
        super::read(text, "empty")
    }

    #[test]
    fn every_node_knows_its_line_and_column() {
        let root = read("ports:\n  - device: a\n  - {device: b, rate: 10G}\n").unwrap();
        let Kind::Seq(ports) = &root.get("ports").unwrap().kind else { panic!() };
        let rate = ports[1].get("rate").unwrap();
        assert_eq!(rate.mark, Mark { line: 3, column: 23 });
    }

    #[test]
    fn json_is_read_as_yaml() {
        let a = read("ports: [{device: a}]").unwrap();
        let b = read("{\"ports\": [\n\t{\"device\": \"a\"}\n]}").unwrap();
        assert_eq!(a.get("ports").map(|_| 1), b.get("ports").map(|_| 1));
    }

    #[test]
    fn what_is_not_used_here_is_refused_with_its_place() {
        for (text, line, part) in [
            ("a: 1\na: 2\n", 2, "twice"),
            ("a: !!str 1\n", 1, "tags"),
            ("a: 1\n---\nb: 1\n", 2, "second document"),
            ("a: [1\nb: 2\n", 2, "not YAML"),
            ("? [1, 2]\n: 3\n", 1, "key"),
        ] {
            let e = read(text).unwrap_err();
            assert!(e.what.contains(part), "{text:?} gave {e:?}");
            assert_eq!(e.mark.unwrap().line, line, "{text:?} gave {e:?}");
        }
        assert!(read("").unwrap_err().what.contains("empty"));
        assert!(read("# only a comment\n").unwrap_err().what.contains("empty"));
    }

    #[test]
    fn aliases_cannot_blow_up_or_nest_without_end() {
        let mut laughs = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
        let mut chain = String::from("c0: &c0 [x]\n");
        for i in 1..100 {
            let p = i - 1;
            let ten = vec![format!("*a{p}"); 10].join(",");
            laughs.push_str(&format!("a{i}: &a{i} [{ten}]\n"));
            chain.push_str(&format!("c{i}: &c{i} [*c{p}]\n"));
        }
        assert!(read(&laughs).unwrap_err().what.contains("values"));
        assert!(read(&chain).unwrap_err().what.contains("deep"));
        assert!(read("a: &a [*a]\n").is_err());
    }

    #[test]
    fn defaults_go_under_what_is_said() {
        let mut port = read("pfc: {enable: [3]}\n").unwrap();
        port.inherit(&read("pfc: {enable: [1, 2], quanta: 7}\nrate: 1G\n").unwrap());
        let pfc = port.get("pfc").unwrap();
        assert!(matches!(&pfc.get("enable").unwrap().kind, Kind::Seq(s) if s.len() == 1));
        assert!(pfc.get("quanta").is_some() && port.get("rate").is_some());
    }
}
