//! Documented defaults of a kind of file: what the descriptions of its schema state.

use std::collections::BTreeMap;

use serde_json::Value;

/// A field of a schema.
#[derive(Debug)]
pub struct Field {
    /// Type and field, as `Port.rate`.
    pub name: String,
    pub description: String,
    pub required: bool,
}

/// Returns every field of a schema whose root has this name.
pub fn fields(schema: &Value, root: &str) -> Vec<Field> {
    let definitions = schema["$defs"].as_object().unwrap().iter();
    let types = [(root, schema)].into_iter().chain(definitions.map(|(name, t)| (name.as_str(), t)));
    let mut all = Vec::new();
    for (name, t) in types {
        let is_required =
            |field: &str| t["required"].as_array().into_iter().flatten().any(|r| r == field);
        all.extend(t["properties"].as_object().into_iter().flatten().map(|(field, property)| {
            Field {
                name: format!("{name}.{field}"),
                description: property["description"].as_str().unwrap_or_default().to_owned(),
                required: is_required(field),
            }
        }));
    }
    all
}

/// Returns the defaults that descriptions state.
pub fn stated(fields: &[Field]) -> BTreeMap<String, String> {
    let default = |field: &Field| {
        let (_, rest) = field.description.split_once("Default: `")?;
        Some((field.name.clone(), rest.split('`').next()?.to_owned()))
    };
    fields.iter().filter_map(default).collect()
}

/// Returns a text with each `$Type.field` replaced by its default.
///
/// # Panics
/// A default is not in the text, or none is stated for a field in it.
pub fn spoken(text: &str, stated: &BTreeMap<String, String>) -> String {
    let mut spoken = text.to_owned();
    // Longer names first, because a name may be a prefix of another.
    for (field, value) in stated.iter().rev() {
        let name = format!("${field}");
        assert!(spoken.contains(&name), "{field} has the default {value}: add it to the text");
        spoken = spoken.replace(&name, value);
    }
    assert!(!spoken.contains('$'), "no default is documented for what is left here:\n{spoken}");
    spoken
}

/// Checks that each field has a description longer than `least`, and states its default where it is neither
/// required nor one of `exempt`: names of fields, and of types with a point at their end.
///
/// # Panics
/// A field has none.
pub fn hold_documented(fields: &[Field], least: usize, exempt: &str) {
    for Field { name, description, required } in fields {
        assert!(
            description.len() > least,
            "{name} has no description worth the name: {description:?}"
        );
        let is_exempt = exempt
            .split_whitespace()
            .any(|e| name == e || (e.ends_with('.') && name.starts_with(e)));
        let states = *required || is_exempt || description.contains("Default:");
        assert!(states, "{name} states no default: {description}");
    }
}
