//! Trees that come from no file: written as YAML in block style, with the values as the file has them, and made of
//! values such as messages of a client, so that what reads files reads these, too.

use serde_json::Value;
use zeroize::Zeroizing;

use super::error::Mark;
use super::tree::{Key, Kind, Name, Node};

/// Place of nodes that are in no file.
const NOWHERE: Mark = Mark { line: 0, column: 0 };

impl Node {
    /// Creates a plain value, such as a number or a word.
    pub fn plain(text: impl Into<String>) -> Self {
        let kind = Kind::Scalar { text: Zeroizing::new(text.into()), plain: true };
        Self { mark: NOWHERE, kind }
    }

    /// Creates a text, whatever it looks like.
    pub fn text(text: impl Into<String>) -> Self {
        let kind = Kind::Scalar { text: Zeroizing::new(text.into()), plain: false };
        Self { mark: NOWHERE, kind }
    }

    /// Creates a sequence.
    pub const fn sequence(items: Vec<Self>) -> Self {
        Self { mark: NOWHERE, kind: Kind::Seq(items) }
    }

    /// Creates an empty mapping.
    pub const fn mapping() -> Self {
        Self { mark: NOWHERE, kind: Kind::Map(Vec::new()) }
    }

    /// Returns the node of a key, created as an empty mapping where it is missing. A node that is no
    /// mapping becomes one.
    pub fn enter(&mut self, name: &str) -> &mut Self {
        if !matches!(self.kind, Kind::Map(_)) {
            self.kind = Kind::Map(Vec::new());
        }
        let Kind::Map(entries) = &mut self.kind else { unreachable!("it was made one") };
        let found = entries.iter().position(|(key, _)| key.name == *name);
        let index = found.unwrap_or_else(|| {
            let key = Key { mark: NOWHERE, name: Name::from(name.to_owned()) };
            entries.push((key, Self::mapping()));
            entries.len() - 1
        });
        &mut entries[index].1
    }

    /// Removes a key and returns its node.
    pub fn take(&mut self, name: &str) -> Option<Self> {
        let Kind::Map(entries) = &mut self.kind else { return None };
        let index = entries.iter().position(|(key, _)| key.name == *name)?;
        Some(entries.remove(index).1)
    }

    /// Returns an item of a sequence.
    pub fn item(&mut self, n: usize) -> Option<&mut Self> {
        match &mut self.kind {
            Kind::Seq(items) => items.get_mut(n),
            _ => None,
        }
    }

    /// Replaces the value of every key of this name below, a secret, by a number in as many hexadecimal digits,
    /// each by another one, and wipes it. Returns true if there was one.
    pub fn replace_below(&mut self, name: &str) -> bool {
        let mut replaced = 0;
        self.replace(name, &mut replaced);
        replaced > 0
    }

    fn replace(&mut self, name: &str, replaced: &mut usize) {
        match &mut self.kind {
            Kind::Scalar { .. } => {}
            Kind::Seq(items) => items.iter_mut().for_each(|item| item.replace(name, replaced)),
            Kind::Map(entries) => {
                for (key, node) in entries {
                    match &mut node.kind {
                        Kind::Scalar { text, .. } if key.name == *name => {
                            *replaced += 1;
                            // As long as the secret, so that checks of its length pass.
                            let number = format!("{replaced:0digits$x}", digits = text.len());
                            node.kind = Kind::Scalar { text: number.into(), plain: false };
                        }
                        _ => node.replace(name, replaced),
                    }
                }
            }
        }
    }

    /// Writes the tree as a YAML document, which [`read`](super::tree::read) reads back as the same.
    pub fn to_yaml(&self) -> String {
        let mut out = String::new();
        self.write(0, &mut out);
        out
    }

    /// Writes the node behind a key or a dash that is already written.
    fn write(&self, depth: usize, out: &mut String) {
        let indent = "  ".repeat(depth);
        match &self.kind {
            Kind::Scalar { text, plain: true } => *out += &format!("{}\n", text.as_str()),
            Kind::Scalar { text, plain: false } => *out += &format!("{}\n", quoted(text)),
            Kind::Seq(items) if items.is_empty() => *out += "[]\n",
            Kind::Map(entries) if entries.is_empty() => *out += "{}\n",
            Kind::Seq(items) => {
                start_block(depth, out);
                for item in items {
                    *out += &format!("{indent}- ");
                    item.write_inner(depth, out);
                }
            }
            Kind::Map(entries) => {
                start_block(depth, out);
                for (key, node) in entries {
                    *out += &format!("{indent}{}: ", quoted(&key.name));
                    node.write_inner(depth, out);
                }
            }
        }
    }

    fn write_inner(&self, depth: usize, out: &mut String) {
        self.write(depth + 1, out);
    }
}

/// Starts a block behind a key or a dash on a new line.
fn start_block(depth: usize, out: &mut String) {
    if depth > 0 {
        // The space behind the key or the dash would end the line.
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
}

/// Returns a text in double quotes, or as it is where every reader takes it for the same text.
fn quoted(text: &str) -> String {
    let is_name = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic()) && is_name;
    // YAML 1.1 reads these words as booleans or null.
    let special = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    if is_word && !special.contains(&text.to_ascii_lowercase().as_str()) {
        return text.to_owned();
    }
    serde_json::Value::from(text).to_string()
}

/// Place of values of a client, which are in no file: findings about them have a line and a column all the same.
const FIRST: Mark = Mark { line: 1, column: 1 };

impl From<&Value> for Node {
    fn from(value: &Value) -> Self {
        let scalar = |text: String, plain| Kind::Scalar { text: Zeroizing::new(text), plain };
        let kind = match value {
            // Plain, as only a plain scalar may be read as null, a boolean or a number.
            Value::Null => scalar("null".to_owned(), true),
            Value::Bool(value) => scalar(value.to_string(), true),
            Value::Number(number) => scalar(number.to_string(), true),
            Value::String(text) => scalar(text.clone(), false),
            Value::Array(items) => Kind::Seq(items.iter().map(Self::from).collect()),
            Value::Object(fields) => {
                let key = |name: &String| Key { mark: FIRST, name: name.clone().into() };
                let field = |(name, value)| (key(name), Self::from(value));
                Kind::Map(fields.iter().map(field).collect())
            }
        };
        Self { mark: FIRST, kind }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::tree::read;
    use super::*;
    use crate::de::from_tree;

    const TEXT: &str = r#"
switch: {name: "a: b", seed: 7}
on: ["1", 1, 'x # y', "tab\t\u00e4\"", null, []]
ports:
  - {device: "net_null0,iface=v0", queues: {3-4: {weight: 5}, "6": {}}}
  - [a, [b, c]]
empty:
text: plain words, with: none
"#;

    /// The same tree without places; keys of any style are text.
    fn bare(node: &Node) -> Node {
        let kind = match &node.kind {
            Kind::Scalar { text, plain } => {
                Kind::Scalar { text: text.clone(), plain: *plain && quoted(text) != **text }
            }
            Kind::Seq(items) => Kind::Seq(items.iter().map(bare).collect()),
            Kind::Map(entries) => {
                let entry = |(key, node): &(Key, Node)| {
                    (Key { mark: NOWHERE, name: key.name.clone() }, bare(node))
                };
                Kind::Map(entries.iter().map(entry).collect())
            }
        };
        Node { mark: NOWHERE, kind }
    }

    #[test]
    fn what_is_written_is_read_as_the_same() {
        let text = TEXT.replace("text: plain words, with: none\n", "text: plain words\n");
        let tree = read(&text, "").unwrap();
        let again = read(&tree.to_yaml(), "").unwrap();
        assert_eq!(bare(&again), bare(&tree), "{}", tree.to_yaml());
        assert!(tree.to_yaml().contains("device: \"net_null0,iface=v0\""), "{}", tree.to_yaml());
    }

    #[test]
    fn nodes_are_made_on_the_way_and_taken_away() {
        let mut tree = read(TEXT.lines().nth(1).unwrap(), "").unwrap();
        *tree.enter("sfc").enter("queues").enter("3") = Node::plain("5");
        let yaml = "switch:\n  name: \"a: b\"\n  seed: 7\nsfc:\n  queues:\n    \"3\": 5\n";
        assert_eq!(tree.to_yaml(), yaml);
        let mut secrets = tree.clone();
        assert!(secrets.replace_below("seed") && secrets.replace_below("3"));
        assert!(!secrets.replace_below("queues"), "a mapping is no secret");
        assert_eq!(secrets.to_yaml(), yaml.replace(" 7", " \"1\"").replace(" 5", " \"1\""));
        assert!(tree.take("sfc").is_some());
        assert!(tree.take("sfc").is_none() && tree.item(0).is_none());
    }

    fn a_value() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            "[ -~]{0,8}".prop_map(Value::from),
            Just(Value::from("7")),
            Just(Value::from("null")),
        ];
        scalar.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("[a-z.]{0,3}", inner, 0..4)
                    .prop_map(|map| map.into_iter().collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn a_tree_has_the_value_that_it_was_made_of(value in a_value()) {
            prop_assert_eq!(from_tree::<Value>(&Node::from(&value)).unwrap(), value);
        }
    }

    #[test]
    fn what_does_not_fit_is_named_by_its_path() {
        let node = Node::from(&json!({ "a": [{ "b": [1, 2, 300] }] }));
        type Map<T> = std::collections::BTreeMap<String, T>;
        let error = from_tree::<Map<Vec<Map<Vec<u8>>>>>(&node).unwrap_err();
        assert_eq!(error.path, "a[0].b[2]");
    }
}
