//! Parses YAML into a tree with the place of every node.
//!
//! The parser returns events with marks. The tree keeps them, so that every later finding, about
//! syntax, types or arithmetic, has a line and a column. JSON is a subset of YAML and is read by
//! the same code. Deliberately unsupported: tags, which no field uses, and keys that are not
//! scalars. Size, depth and the expansion of aliases are bounded, so that hostile input cannot
//! exhaust memory or the stack.

use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use granit_parser::{Event, Parser, ScalarStyle, StrInput};
use zeroize::Zeroizing;

use super::error::{Finding, Mark};
use ground::printable::excerpt;

/// Deepest nesting that is accepted. The deepest field is eight levels down.
const DEPTH_MAX: usize = 64;

/// Largest number of nodes after aliases are expanded: far more than a switch with 1024 ports has,
/// and little memory.
const NODES_MAX: usize = 1_000_000;

/// Largest text in bytes after aliases and defaults are expanded.
const TEXT_MAX: usize = 64 << 20;

/// Largest value or key in bytes: more than any path or list of arguments has.
const VALUE_MAX: usize = 64 << 10;

#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// Place of its first character.
    pub mark: Mark,
    pub kind: Kind,
}

/// Type and contents of a node.
#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    /// A single value. Only a plain one (without quotes) may be read as a number, a boolean or
    /// null.
    Scalar {
        /// Value after escapes; wiped when it is dropped, because it may be a key.
        text: Zeroizing<String>,
        /// True if it was written without quotes.
        plain: bool,
    },
    Seq(Vec<Node>),
    /// Entries in the order of the file; keys are unique.
    Map(Vec<(Key, Node)>),
}

/// A key of a mapping.
#[derive(Clone, PartialEq, Debug)]
pub struct Key {
    /// Place of its first character.
    pub mark: Mark,
    pub name: Name,
}

impl Node {
    /// Removes the nodes at `mark`: entries whose key is there, otherwise entries and items that
    /// are there themselves. There are several if defaults were inherited. Returns true if there
    /// was one.
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

    /// Returns the value of a key, if this is a mapping that has it.
    pub fn get(&self, name: &str) -> Option<&Self> {
        match &self.kind {
            Kind::Map(entries) => entries.iter().find(|(k, _)| k.name == name).map(|(_, v)| v),
            _ => None,
        }
    }

    /// True for YAML's null: an empty value, `~` or `null`.
    pub fn is_null(&self) -> bool {
        matches!(&self.kind, Kind::Scalar { text, plain: true }
            if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// Merges `defaults` into this mapping. The mapping's own entries have precedence: mappings are
    /// merged key by key, other values are replaced as a whole. Every node keeps its own mark.
    pub fn inherit(&mut self, defaults: &Self) {
        let (Kind::Map(own), Kind::Map(inherited)) = (&mut self.kind, &defaults.kind) else {
            return;
        };
        // By hash, as a search for each key would take quadratic time.
        let places = own.iter().enumerate().map(|(place, (key, _))| (key.name.clone(), place));
        let places: HashMap<Name, usize> = places.collect();
        for (key, value) in inherited {
            match places.get(&key.name) {
                Some(place) => own[*place].1.inherit(value),
                None => own.push((key.clone(), value.clone())),
            }
        }
    }

    /// Levels, its own included.
    fn depth(&self) -> usize {
        1 + match &self.kind {
            Kind::Scalar { .. } => 0,
            Kind::Seq(items) => items.iter().map(Self::depth).max().unwrap_or(0),
            Kind::Map(entries) => entries.iter().map(|(_, v)| v.depth()).max().unwrap_or(0),
        }
    }

    /// Number of nodes, and bytes of their text.
    pub fn size(&self) -> Size {
        let own = Size { nodes: 1, bytes: 0 };
        match &self.kind {
            Kind::Scalar { text, .. } => own.and(Size { nodes: 0, bytes: text.len() }),
            Kind::Seq(items) => items.iter().map(Self::size).fold(own, Size::and),
            Kind::Map(entries) => entries.iter().fold(own, |size, (key, node)| {
                size.and(node.size()).and(Size { nodes: 0, bytes: key.name.len() })
            }),
        }
    }
}

/// Memory use of nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Size {
    pub nodes: usize,
    pub bytes: usize,
}

impl Size {
    fn and(self, other: Self) -> Self {
        Self {
            nodes: self.nodes.saturating_add(other.nodes),
            bytes: self.bytes.saturating_add(other.bytes),
        }
    }

    /// Multiplies by `n`, saturating.
    pub fn times(self, n: usize) -> Self {
        Self { nodes: self.nodes.saturating_mul(n), bytes: self.bytes.saturating_mul(n) }
    }

    /// Checks the limits of a file.
    pub fn check(self, at: Mark) -> Result<(), Finding> {
        let Self { nodes, bytes } = self;
        if nodes > NODES_MAX {
            return Err(finding(at, format!("more than {NODES_MAX} values in one file")));
        }
        if bytes > TEXT_MAX {
            let what = format!("{bytes} bytes of text once aliases and defaults are written out");
            return Err(finding(at, format!("{what}; a file has {TEXT_MAX} at most")));
        }
        Ok(())
    }
}

/// A collection that is not complete yet.
struct Open {
    node: Node,
    anchor: usize,
    key: Option<Key>,
    /// Line of each key so far.
    names: HashMap<Name, u32>,
}

/// Reads one YAML document; `empty` is the error text for an empty document.
///
/// # Errors
/// The first syntax error or unsupported feature.
pub fn read(text: &str, empty: &str) -> Result<Node, Finding> {
    let mut builder = Builder::default();
    let mut documents = 0;
    for next in Parser::new_from_str(text) as Parser<'_, StrInput<'_>> {
        let (event, span) =
            next.map_err(|e| finding(mark(e.marker()), format!("not YAML: {}", e.info())))?;
        let at = mark(&span.start);
        match event {
            Event::DocumentStart(..) => {
                // A stream may have several documents; a configuration is one.
                documents += 1;
                if documents > 1 {
                    return Err(finding(at, "a second document; put it into another file"));
                }
            }
            Event::Scalar(value, style, anchor, tag) => {
                untagged(tag.is_some(), at)?;
                let plain = style == ScalarStyle::Plain;
                let kind = Kind::Scalar { text: Zeroizing::new(value.into_owned()), plain };
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
            // The ends of the stream and the document, and unused metadata.
            _ => {}
        }
    }
    builder.root.filter(|n| !n.is_null()).ok_or_else(|| Finding::new(None, "", empty))
}

/// Builds nodes from events.
#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    /// Size of all nodes that were built, copies for aliases included.
    size: Size,
    root: Option<Node>,
}

impl Builder {
    fn open(&mut self, node: Node, anchor: usize) -> Result<(), Finding> {
        // Later passes over the tree are recursive, so the depth is bounded here for all of them.
        if self.open.len() >= DEPTH_MAX {
            return Err(finding(node.mark, format!("nested more than {DEPTH_MAX} levels deep")));
        }
        self.open.push(Open { node, anchor, key: None, names: HashMap::new() });
        Ok(())
    }

    fn close(&mut self) -> Result<(), Finding> {
        // The parser matches starts and ends; it reports an extra end itself.
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
        // Checked before the copy is made.
        let size = node.size();
        self.size = self.size.and(size);
        self.size.check(at)?;
        let node = node.clone();
        self.add(node, 0)
    }

    fn grow(&mut self, by: Size, at: Mark) -> Result<(), Finding> {
        self.size = self.size.and(by);
        self.size.check(at)
    }

    /// Adds a finished node to the innermost open collection.
    fn add(&mut self, node: Node, anchor: usize) -> Result<(), Finding> {
        // Collections were counted when their items were added.
        let bytes = if let Kind::Scalar { text, .. } = &node.kind { text.len() } else { 0 };
        if bytes > VALUE_MAX {
            let what = format!("a value of {bytes} bytes; one has {VALUE_MAX} at most");
            return Err(finding(node.mark, what));
        }
        self.grow(Size { nodes: 1, bytes }, node.mark)?;
        if anchor != 0 {
            // The copy that an alias may ask for later takes as much memory as the node itself.
            self.grow(node.size(), node.mark)?;
            self.anchors.insert(anchor, node.clone());
        }
        let Some(parent) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match (&mut parent.node.kind, parent.key.take()) {
            (Kind::Map(entries), Some(key)) => entries.push((key, node)),
            // Keys and values of a mapping arrive in turn.
            (Kind::Map(_), None) => parent.key = Some(key_of(node, &mut parent.names)?),
            (Kind::Seq(items), _) => items.push(node),
            (Kind::Scalar { .. }, _) => unreachable!("only collections are opened"),
        }
        Ok(())
    }
}

/// Converts a scalar to a key that the mapping does not have yet; `names` has the mapping's keys,
/// so that reading n keys takes linear time.
fn key_of(node: Node, names: &mut HashMap<Name, u32>) -> Result<Key, Finding> {
    let Kind::Scalar { mut text, .. } = node.kind else {
        return Err(finding(node.mark, "a key must be a plain word or number"));
    };
    // Moved out, because the wiping container cannot be taken apart.
    let name = Name::from(std::mem::take(&mut *text));
    match names.entry(name) {
        Entry::Occupied(first) => {
            let (name, line) = (excerpt(first.key()), first.get());
            Err(finding(node.mark, format!("`{name}` is given twice, first in line {line}")))
        }
        Entry::Vacant(free) => {
            let name = free.key().clone();
            free.insert(node.mark.line);
            Ok(Key { mark: node.mark, name })
        }
    }
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
    // The parser counts columns from 0.
    Mark { line: clamp(m.line()), column: clamp(m.col()).saturating_add(1) }
}

fn finding(mark: Mark, what: impl Into<String>) -> Finding {
    Finding::new(Some(mark), "", &what.into())
}

/// Text of a key. All comparisons use one function, so that tests can count them.
#[derive(Clone, Debug)]
pub struct Name(String);

#[cfg(test)]
thread_local! {
    static COMPARED: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
}

impl Name {
    fn is(&self, other: &str) -> bool {
        #[cfg(test)]
        COMPARED.with(|n| n.set(n.get() + 1));
        self.0 == other
    }

    /// Number of name comparisons in this thread.
    #[cfg(test)]
    fn compared() -> usize {
        COMPARED.with(core::cell::Cell::get)
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.is(&other.0)
    }
}

impl Eq for Name {}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.is(other)
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.is(other)
    }
}

// Equal names have equal hashes, as `Hash` requires.
impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
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
    fn aliases_and_anchors_are_bounded_by_their_text() {
        let long = "x".repeat(60_000);
        let many = |n| format!("a: &a {long}\nb: [{}]\n", vec!["*a"; n].join(","));
        assert!(read(&many(100)).is_ok());
        let why = read(&many(2_000)).unwrap_err();
        assert!(why.what.contains("bytes of text") && why.what.contains("67108864"), "{why:?}");
        // An anchor keeps a copy of all nodes below it.
        let items = vec![long.as_str(); 50].join(",");
        let mut nested = format!("[{items}]");
        for n in 0..40 {
            nested = format!("&a{n} [{nested}]");
        }
        assert!(read(&nested).unwrap_err().what.contains("bytes of text"));
        let why = read(&format!("a: {}\n", "x".repeat(VALUE_MAX + 1))).unwrap_err();
        assert!(why.what.contains("a value of 65537 bytes"), "{why:?}");
    }

    #[test]
    fn many_keys_take_linear_time() {
        // At most one comparison of names per key; a search would compare it with all others.
        let text = |n: usize| (0..n).map(|i| format!("k{i}: \n")).collect::<String>();
        let (n, more) = (20_000, 40_000);
        let compared = Name::compared();
        let (mut root, other) = (read(&text(n)).unwrap(), read(&text(more)).unwrap());
        let reading = Name::compared() - compared;
        assert!(reading <= n + more, "{reading} comparisons");
        root.inherit(&other);
        let inheriting = Name::compared() - compared - reading;
        assert!((n..=n + more).contains(&inheriting), "{inheriting} comparisons");
        assert!(matches!(&root.kind, Kind::Map(entries) if entries.len() == more));
        let twice = text(n) + "k19999: \n";
        assert!(read(&twice).unwrap_err().what.contains("given twice, first in line 20000"));
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
