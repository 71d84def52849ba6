//! Finds a number in the results by the names on its path.

use serde_json::Value;

/// Keys whose number names an entry of a list.
const NUMBERED: [&str; 2] = ["priority", "group"];

/// Returns the value at `path`, whose parts are separated by dots: fields of objects by name,
/// entries of lists by their `name`, by their `priority` or `group`, or else by index from 0. Names
/// may contain dots.
///
/// # Errors
/// A sentence with the longest valid part of the path, and the names that follow it.
pub fn find<'a>(root: &'a Value, path: &str) -> Result<&'a Value, String> {
    let mut furthest = (root, path);
    search(root, path, &mut furthest).ok_or_else(|| {
        let (at, rest) = furthest;
        let part = rest.split('.').next().unwrap_or(rest);
        format!("there is no `{part}` in `{path}`{}", choices(at))
    })
}

/// Tries every split of `path` from here, shortest names first.
fn search<'a, 'p>(
    at: &'a Value,
    path: &'p str,
    furthest: &mut (&'a Value, &'p str),
) -> Option<&'a Value> {
    if path.is_empty() {
        return Some(at);
    }
    if path.len() < furthest.1.len() {
        *furthest = (at, path);
    }
    let ends = path.match_indices('.').map(|(n, _)| n).chain([path.len()]);
    ends.filter_map(|end| {
        let inner = step(at, &path[..end])?;
        search(inner, path.get(end + 1..).unwrap_or(""), furthest)
    })
    .next()
}

/// Returns the child of a value by its key.
fn step<'a>(at: &'a Value, key: &str) -> Option<&'a Value> {
    match at {
        Value::Object(fields) => fields.get(key),
        Value::Array(list) => {
            let number = key.parse::<u64>().ok();
            let named = |v: &&Value| v.get("name").and_then(Value::as_str) == Some(key);
            let numbered = |v: &&Value| {
                number.is_some()
                    && NUMBERED.iter().any(|k| v.get(k).and_then(Value::as_u64) == number)
            };
            let has_numbers = list.iter().any(|v| NUMBERED.iter().any(|k| v.get(k).is_some()));
            let by_place = || number.filter(|_| !has_numbers).and_then(|n| list.get(n as usize));
            list.iter().find(named).or_else(|| list.iter().find(numbered)).or_else(by_place)
        }
        _ => None,
    }
}

/// Lists the children of a value, for an error.
fn choices(at: &Value) -> String {
    const SHOWN: usize = 12;
    let names: Vec<String> = match at {
        Value::Object(fields) => fields.keys().cloned().collect(),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .map(|(n, v)| match v.get("name").and_then(Value::as_str) {
                Some(name) => name.to_owned(),
                None => {
                    NUMBERED.iter().find_map(|k| v.get(k)).map_or(n.to_string(), Value::to_string)
                }
            })
            .collect(),
        _ => return ", which ends before that".into(),
    };
    let more = if names.len() > SHOWN { ", ..." } else { "" };
    let shown = names[..names.len().min(SHOWN)].join(", ");
    if shown.is_empty() {
        "; nothing is there".into()
    } else {
        format!("; there are {shown}{more}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tree() -> Value {
        json!({
            "pauses": {"first_ns": 148_079, "xons": null},
            "flows": [{"name": "a"}, {"name": "d.1", "payload_bps": 5}],
            "nodes": {"s1": {"ports": [{"name": "to_h1", "priorities": [{"priority": 3, "peak": 9}]}]}},
            "list": [7, 8],
        })
    }

    #[test]
    fn paths_lead_by_name_by_number_and_by_place() {
        let tree = tree();
        for (path, value) in [
            ("pauses.first_ns", json!(148_079)),
            ("flows.d.1.payload_bps", json!(5)),
            ("flows.0.name", json!("a")),
            ("nodes.s1.ports.to_h1.priorities.3.peak", json!(9)),
            ("nodes.s1.ports.0.name", json!("to_h1")),
            ("list.1", json!(8)),
            ("pauses.xons", Value::Null),
        ] {
            assert_eq!(find(&tree, path), Ok(&value), "{path}");
        }
    }

    #[test]
    fn a_wrong_path_says_where_it_goes_wrong_and_what_there_is() {
        let tree = tree();
        let error = |path| find(&tree, path).unwrap_err();
        assert_eq!(
            error("pauses.frist_ns"),
            "there is no `frist_ns` in `pauses.frist_ns`; there are first_ns, xons"
        );
        assert!(error("flows.b.payload_bps").ends_with("there are a, d.1"));
        assert!(error("nodes.s1.ports.to_h1.priorities.0.peak").ends_with("there are 3"));
        assert!(error("list.0.x").ends_with("which ends before that"));
    }
}
