//! Tests that error messages of every kind of file quote only a bounded part of the input: each key
//! and each value of valid and invalid texts, and each field of the schema, is replaced by a long
//! text.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::tree::{Kind, Node};
use ground::printable::{MESSAGE_MAX, SHOWN_MAX};

/// A character that occurs in no message itself.
const FILLER: char = '\u{416}';
/// Characters, far more than a message quotes.
const LONG: usize = 600;

/// Replacement texts for a key or a value: one word, words with spaces, quotation marks, and texts
/// that begin like a number, a list of numbers or a mapping.
fn fillers() -> [String; 6] {
    let filled = |text: &str| text.repeat(LONG / 2);
    [
        filled(&FILLER.to_string().repeat(2)),
        filled(&format!("{FILLER} ")),
        filled(&format!("{FILLER}` ")),
        format!("10{}", filled(&format!("{FILLER}_"))),
        format!("1-{}, 2", filled(&FILLER.to_string())),
        format!("net_{},iface=x", filled(&FILLER.to_string())),
    ]
}

/// Checks that all messages that `said` returns for changed texts are within the bound: those of a golden file of
/// refusals, and of the examples in a folder. `schema` is that of the file. More than `least` of the texts must be
/// refused.
///
/// # Panics
/// A message is longer, or too few texts are refused.
pub fn hold(
    golden: &str,
    folder: &str,
    schema: Option<&Value>,
    least: usize,
    said: impl Fn(&str) -> Vec<String>,
) {
    let examples = super::testexamples::all(folder).into_iter().map(|(_, text)| text);
    let mut seen = BTreeSet::new();
    let mut refused = 0;
    let mut look = |document: &Value, place: &str| {
        let lines = said(&document.to_string());
        refused += usize::from(!lines.is_empty());
        lines.iter().for_each(|line| check(line, place));
    };
    for text in examples.chain(super::testrefusals::texts(golden)) {
        let Ok(root) = super::tree::read(&text, "") else { continue };
        let whole = value(&root);
        changed(&whole, "", &mut |place, filler, make| {
            if seen.insert((place.to_owned(), filler)) {
                look(&make(&whole), place);
            }
        });
    }
    if let Some(schema) = schema {
        fields(schema, schema, &mut Vec::new(), &mut Vec::new(), &mut |place| {
            for filler in fillers() {
                let wrap = |inner: Value, key: &String| match key.as_str() {
                    "[]" => Value::Array(vec![inner]),
                    _ => Value::Object(Map::from_iter([(key.clone(), inner)])),
                };
                let document = place.iter().rev().fold(Value::String(filler), wrap);
                look(&document, &place.join("."));
            }
        });
    }
    assert!(refused > least, "{refused} of the texts are refused");
}

/// Checks the bound of a quotation, and that of the whole line.
fn check(line: &str, place: &str) {
    let is_filler = |c: char| c == FILLER || c == '_';
    let longest = line.split(|c| !is_filler(c)).map(|run| run.chars().count()).max();
    assert!(longest.unwrap_or(0) <= SHOWN_MAX, "{place}: {line}");
    let all = line.chars().filter(|c| *c == FILLER).count();
    // A path, and a message that may quote the text and a part of it; or a whole message if
    // backticks in the text end its quotation.
    let most = if line.contains(&format!("{FILLER}`")) { MESSAGE_MAX } else { 5 * SHOWN_MAX };
    assert!(all <= most, "{place}: {all} characters: {line}");
    assert!(line.chars().count() <= MESSAGE_MAX + 2 * SHOWN_MAX, "{place}: {line}");
}

/// Converts a node to JSON.
fn value(node: &Node) -> Value {
    match &node.kind {
        Kind::Scalar { text, plain: true } => {
            serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_string()))
        }
        Kind::Scalar { text, plain: false } => Value::String(text.to_string()),
        Kind::Seq(items) => items.iter().map(value).collect(),
        Kind::Map(entries) => {
            entries.iter().map(|(key, node)| (key.name.to_string(), value(node))).collect()
        }
    }
}

/// Derives a document from another.
type Make<'a> = &'a dyn Fn(&Value) -> Value;

/// Visits every way to put a long text into `part`, which is at `at` (a JSON pointer): in place of
/// each value and each key, with the field's path.
fn changed(part: &Value, at: &str, each: &mut dyn FnMut(&str, usize, Make<'_>)) {
    let bare: String = at.split('/').filter(|k| k.parse::<usize>().is_err()).collect();
    for (n, filler) in fillers().into_iter().enumerate() {
        each(&bare, n, &|whole| {
            let mut whole = whole.clone();
            *whole.pointer_mut(at).unwrap() = Value::String(filler.clone());
            whole
        });
    }
    match part {
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                changed(item, &format!("{at}/{n}"), each);
            }
        }
        Value::Object(entries) => {
            for (key, inner) in entries {
                let key_at = key.replace('~', "~0").replace('/', "~1");
                changed(inner, &format!("{at}/{key_at}"), each);
                for (n, filler) in fillers().into_iter().enumerate() {
                    each(&format!("{bare}{key} as a key"), n, &|whole| {
                        let mut whole = whole.clone();
                        let entries = whole.pointer_mut(at).unwrap().as_object_mut().unwrap();
                        let inner = entries.remove(key).unwrap();
                        entries.insert(filler.clone(), inner);
                        whole
                    });
                }
            }
        }
        _ => {}
    }
}

/// Collects the path of every field of a schema.
fn fields(
    root: &Value,
    schema: &Value,
    place: &mut Vec<String>,
    within: &mut Vec<String>,
    each: &mut impl FnMut(&[String]),
) {
    if let Some(name) = schema["$ref"].as_str() {
        // A recursive section.
        if within.iter().any(|above| above == name) {
            return;
        }
        within.push(name.to_owned());
        let inner = root.pointer(name.trim_start_matches('#')).unwrap();
        fields(root, inner, place, within, each);
        within.pop();
    }
    if !place.is_empty() {
        each(place);
    }
    let mut down = |key: &str, inner: &Value| {
        place.push(key.to_owned());
        fields(root, inner, place, within, each);
        place.pop();
    };
    for (key, inner) in schema["properties"].as_object().into_iter().flatten() {
        down(key, inner);
    }
    for (field, key) in [("items", "[]"), ("additionalProperties", "3")] {
        if schema[field].is_object() {
            down(key, &schema[field]);
        }
    }
    for choice in ["anyOf", "oneOf", "allOf"] {
        for inner in schema[choice].as_array().into_iter().flatten() {
            fields(root, inner, place, within, each);
        }
    }
}
