//! Deserializes the YAML tree into the types of the raw model with serde. Every error has its field
//! and its place in the file.

use std::fmt;

use serde::de::value::{StrDeserializer, StringDeserializer};
use serde::de::{self, DeserializeSeed, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::error::{Finding, Mark, nearest};
use super::tree::{Key, Kind, Node};
use ground::printable::excerpt;

/// Path from the root of the tree to the current node, as a linked list on the stack.
#[derive(Clone, Copy)]
enum Path<'a> {
    Root,
    Key(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(Path::Root, name) => f.write_str(name),
            Self::Key(parent, name) => write!(f, "{parent}.{name}"),
            Self::Index(parent, i) => write!(f, "{parent}[{i}]"),
        }
    }
}

/// Serde's error message; the innermost node on its way out adds the place.
#[derive(Debug)]
struct DeError {
    what: String,
    place: Option<(Mark, String)>,
    /// True for a field that does not exist.
    unknown: bool,
}

impl fmt::Display for DeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for DeError {}

impl de::Error for DeError {
    fn custom<T: fmt::Display>(what: T) -> Self {
        Self { what: what.to_string(), place: None, unknown: false }
    }

    fn invalid_type(given: de::Unexpected<'_>, wanted: &dyn de::Expected) -> Self {
        let given = match given {
            de::Unexpected::Map => "a mapping".to_owned(),
            de::Unexpected::Seq => "a list".to_owned(),
            de::Unexpected::Unit => "nothing".to_owned(),
            de::Unexpected::Str(text) => format!("`{}`", excerpt(text)),
            de::Unexpected::Bool(b) => format!("`{b}`"),
            de::Unexpected::Unsigned(n) => format!("`{n}`"),
            de::Unexpected::Signed(n) => format!("`{n}`"),
            de::Unexpected::Float(n) => format!("`{n}`"),
            other => other.to_string(),
        };
        Self::custom(format!("{given} cannot be here; write {}", wanted_in_words(wanted)))
    }

    fn invalid_value(given: de::Unexpected<'_>, wanted: &dyn de::Expected) -> Self {
        Self::invalid_type(given, wanted)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self { unknown: true, ..Self::custom(unknown("field", field, expected)) }
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(unknown("value", variant, expected))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::custom(format!("`{field}` is missing; it has no default, so add `{field}: ...`"))
    }
}

/// Translates serde's expectation into words for authors of YAML.
fn wanted_in_words(wanted: &dyn de::Expected) -> String {
    let wanted = wanted.to_string();
    match wanted.as_str() {
        "a sequence" => "a list, such as `[3, 4]`".into(),
        "a map" => "a mapping, such as `{3: 4}`".into(),
        "a boolean" => "true or false".into(),
        "a string" => "a word or text".into(),
        "u8" => "a whole number from 0 to 255".into(),
        "i8" => "a whole number from -128 to 127".into(),
        "u16" => "a whole number from 0 to 65535".into(),
        "u32" => "a whole number from 0 to 4294967295".into(),
        "u64" | "usize" => "a whole number, 0 or more".into(),
        "i16" => "a whole number from -32768 to 32767".into(),
        "i32" => "a whole number from -2147483648 to 2147483647".into(),
        "i64" => "a whole number".into(),
        "f32" | "f64" => "a finite number, such as 0.5".into(),
        // The name of a Rust type means nothing to an author.
        other if other.starts_with("struct ") => "a mapping, such as `{field: value}`".into(),
        _ => wanted,
    }
}

/// Error message for a name that is not in `known`.
fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let shown = excerpt(name);
    // No field has such a name.
    if name.contains('=') {
        // YAML reads `{device: net_null0,size=64}` as two fields.
        return format!(
            "`{shown}` is no field; inside braces a comma ends the value, so put quotes around \
             the whole of it"
        );
    }
    let hint = match nearest(name, known.iter().copied()) {
        Some(k) => format!("did you mean `{k}`? "),
        None => String::new(),
    };
    // `on` and `off` of YAML 1.1 are accepted, but not suggested.
    let known: Vec<&str> =
        known.iter().copied().filter(|k| !matches!(*k, "true" | "false")).collect();
    format!("unknown {what} `{shown}`; {hint}known here: {}", known.join(", "))
}

impl DeError {
    fn with_place(mut self, mark: Mark, path: impl fmt::Display) -> Self {
        // Inner nodes are left first, and theirs is the exact place.
        self.place.get_or_insert_with(|| (mark, path.to_string()));
        self
    }
}

/// Reads a value of `T` from the tree.
///
/// # Errors
/// The first field that does not fit.
pub fn from_tree<'de, T: de::Deserialize<'de>>(root: &'de Node) -> Result<T, Finding> {
    read(root).map_err(Finding::from)
}

/// Reads a value of `T` from the tree and reports all unknown fields together with the first error,
/// because an author who got one name wrong often got several.
///
/// # Errors
/// The first field that does not fit, and all unknown fields, in the order of the file.
pub fn from_tree_all<T: de::DeserializeOwned>(root: &Node) -> Result<T, Vec<Finding>> {
    /// Limit of the findings, which bounds the work for a file in which nothing fits.
    const MOST: usize = 20;
    let mut error = match read(root) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let mut rest = root.clone();
    let (mut findings, mut misfit) = (Vec::new(), false);
    for _ in 0..MOST {
        let mark = error.place.as_ref().map(|(mark, _)| *mark);
        // After the first misfit, a further one may be due to the fields that were removed.
        if error.unknown || !misfit {
            misfit |= !error.unknown;
            findings.push(Finding::from(error));
        }
        // Without the field that was reported, reading comes to the next one.
        let removed = mark.is_some_and(|mark| rest.remove(mark));
        match read::<T>(&rest) {
            Err(next) if removed => error = next,
            _ => break,
        }
    }
    findings.sort_by_key(|finding| finding.mark);
    Err(findings)
}

fn read<'de, T: de::Deserialize<'de>>(root: &'de Node) -> Result<T, DeError> {
    T::deserialize(Cursor { node: root, path: &Path::Root })
}

impl From<DeError> for Finding {
    fn from(error: DeError) -> Self {
        let (mark, path) = error.place.map_or((None, String::new()), |(m, p)| (Some(m), p));
        Self::new(mark, &path, &error.what)
    }
}

/// A node and the path to it.
#[derive(Clone, Copy)]
struct Cursor<'de, 'p> {
    node: &'de Node,
    path: &'p Path<'p>,
}

/// Resolves a plain scalar (YAML 1.2.2, 10.3.2, without octal, infinities and NaN, which no field
/// takes).
fn visit_plain<'de, V: Visitor<'de>>(text: &'de str, visitor: V) -> Result<V::Value, DeError> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return visitor.visit_unit(),
        "true" | "True" | "TRUE" => return visitor.visit_bool(true),
        "false" | "False" | "FALSE" => return visitor.visit_bool(false),
        _ => {}
    }
    if let Some(hex) = text.strip_prefix("0x") {
        if let Ok(n) = u64::from_str_radix(hex, 16) {
            return visitor.visit_u64(n);
        }
    }
    // Rust's parser accepts more than YAML's (`inf`, but not `1_0`), so a number must start with a
    // digit.
    if text.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        if let Ok(n) = text.parse::<u64>() {
            return visitor.visit_u64(n);
        }
        if let Ok(n) = text.parse::<i64>() {
            return visitor.visit_i64(n);
        }
        if let Ok(n) = text.parse::<f64>() {
            return visitor.visit_f64(n);
        }
    }
    visitor.visit_borrowed_str(text)
}

impl<'de> Cursor<'de, '_> {
    fn place(self, e: DeError) -> DeError {
        e.with_place(self.node.mark, self.path)
    }

    fn visit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        match &self.node.kind {
            Kind::Scalar { text, plain: true } => visit_plain(text, visitor),
            Kind::Scalar { text, plain: false } => visitor.visit_borrowed_str(text),
            Kind::Seq(items) => {
                visitor.visit_seq(Items { items: items.iter().enumerate(), path: self.path })
            }
            Kind::Map(entries) => {
                visitor.visit_map(Entries { entries: entries.iter(), value: None, path: self.path })
            }
        }
    }
}

impl<'de> de::Deserializer<'de> for Cursor<'de, '_> {
    type Error = DeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        self.visit(visitor).map_err(|e| self.place(e))
    }

    // A string field takes any scalar as text: `name: 7` gives the name `7`.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        match &self.node.kind {
            Kind::Scalar { text, .. } if !self.node.is_null() => {
                visitor.visit_borrowed_str(text).map_err(|e| self.place(e))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeError> {
        if self.node.is_null() {
            // An empty value is one that is not given, so that lines can be commented out.
            return visitor.visit_none();
        }
        visitor.visit_some(self).map_err(|e| self.place(e))
    }

    // A section whose lines are all commented out is an empty section.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeError> {
        if self.node.is_null() {
            let nothing = Entries { entries: [].iter(), value: None, path: self.path };
            return visitor.visit_map(nothing).map_err(|e| self.place(e));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeError> {
        visitor.visit_newtype_struct(self).map_err(|e| self.place(e))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeError> {
        // All enums of files are words without content.
        let Kind::Scalar { text, .. } = &self.node.kind else {
            let what = format!("one of these words is needed: {}", variants.join(", "));
            return Err(self.place(de::Error::custom(what)));
        };
        let word: StrDeserializer<'_, DeError> = text.as_str().into_deserializer();
        de::Deserializer::deserialize_enum(word, name, variants, visitor).map_err(|e| self.place(e))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct
        seq tuple tuple_struct map identifier ignored_any
    }
}

struct Items<'de, 'p> {
    items: std::iter::Enumerate<std::slice::Iter<'de, Node>>,
    path: &'p Path<'p>,
}

impl<'de> de::SeqAccess<'de> for Items<'de, '_> {
    type Error = DeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DeError> {
        let Some((i, node)) = self.items.next() else { return Ok(None) };
        let path = Path::Index(self.path, i);
        let cursor = Cursor { node, path: &path };
        seed.deserialize(cursor).map(Some).map_err(|e| cursor.place(e))
    }
}

struct Entries<'de, 'p> {
    entries: std::slice::Iter<'de, (Key, Node)>,
    value: Option<&'de (Key, Node)>,
    path: &'p Path<'p>,
}

impl<'de> de::MapAccess<'de> for Entries<'de, '_> {
    type Error = DeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DeError> {
        self.value = self.entries.next();
        let Some((key, _)) = self.value else { return Ok(None) };
        let text: StringDeserializer<DeError> = key.name.to_string().into_deserializer();
        let path = Path::Key(self.path, &key.name);
        // An unknown field is reported where its name stands, not its value.
        seed.deserialize(text).map(Some).map_err(|e| e.with_place(key.mark, path))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, DeError> {
        let (key, node) = self.value.take().expect("serde asks for a key before its value");
        let path = Path::Key(self.path, &key.name);
        let cursor = Cursor { node, path: &path };
        seed.deserialize(cursor).map_err(|e| cursor.place(e))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tree;
    use super::*;
    use serde::Deserialize;

    #[derive(Deserialize, Debug, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Thing {
        name: String,
        #[serde(default)]
        counts: Vec<u8>,
        on: Option<bool>,
        sub: Option<Box<Thing>>,
    }

    #[test]
    fn all_unknown_fields_are_told_and_what_does_not_fit_without_them() {
        let all = |text: &str| {
            let root = tree::read(text, "").unwrap();
            let findings = from_tree_all::<Thing>(&root).unwrap_err();
            findings.iter().map(|f| f.path.clone()).collect::<Vec<_>>()
        };
        assert_eq!(all("name: a\nx: 1\nsub: {name: b, y: 2}\nz: 3"), ["x", "sub.y", "z"]);
        assert_eq!(all("name: a\nx: 1\non: 7\nz: 3"), ["x", "on", "z"]);
        assert_eq!(all("name: a\ncounts: [1, x, 3]\nz: 3"), ["counts[1]", "z"]);
        assert_eq!(all("x: 1"), ["x", ""]);
        let many: String = (0..100).map(|n| format!("x{n}: 1\n")).collect();
        assert_eq!(all(&many).len(), 20);
        assert!(from_tree_all::<Thing>(&tree::read("name: a", "").unwrap()).is_ok());
    }

    fn fails(text: &str) -> String {
        let e = from_tree::<Thing>(&tree::read(text, "").unwrap()).unwrap_err();
        e.line("f")
    }

    #[test]
    fn values_are_read_by_what_the_field_is() {
        let text = "name: 12\ncounts: [1, 0x10]\non: ~\nsub: {name: 'true', on: true}";
        let root = tree::read(text, "").unwrap();
        let thing: Thing = from_tree(&root).unwrap();
        assert_eq!((thing.name.as_str(), thing.counts, thing.on), ("12", vec![1, 16], None));
        assert_eq!(thing.sub.unwrap().on, Some(true));
    }

    #[test]
    fn errors_name_the_place_the_field_and_what_was_probably_meant() {
        assert_eq!(
            fails("name: a\nsub:\n  nmae: b\n"),
            "f:3:3: sub.nmae: unknown field `nmae`; did you mean `name`? \
             known here: name, counts, on, sub"
        );
        assert_eq!(
            fails("name: a\ncounts: [1, 256]\n"),
            "f:2:13: counts[1]: `256` cannot be here; write a whole number from 0 to 255"
        );
        assert_eq!(
            fails("name: a\nsub: {on: yes}\n"),
            "f:2:11: sub.on: `yes` cannot be here; write true or false"
        );
        assert!(fails("counts: []\n").starts_with("f:1:1: `name` is missing"));
    }
}
