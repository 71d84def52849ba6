//! Trees of values that come from no file, such as messages of a client: what reads files reads them, too.

use serde_json::Value;
use zeroize::Zeroizing;

use super::error::Mark;
use super::tree::{Key, Kind, Node};

/// Place of all that is in no file.
const NOWHERE: Mark = Mark { line: 1, column: 1 };

impl From<&Value> for Node {
    fn from(value: &Value) -> Self {
        let scalar = |text: String, plain| Kind::Scalar { text: Zeroizing::new(text), plain };
        let kind = match value {
            Value::Null => scalar("null".to_owned(), true),
            Value::Bool(value) => scalar(value.to_string(), true),
            Value::Number(number) => scalar(number.to_string(), true),
            Value::String(text) => scalar(text.clone(), false),
            Value::Array(items) => Kind::Seq(items.iter().map(Self::from).collect()),
            Value::Object(fields) => {
                let key = |name: &String| Key { mark: NOWHERE, name: name.clone().into() };
                let field = |(name, value)| (key(name), Self::from(value));
                Kind::Map(fields.iter().map(field).collect())
            }
        };
        Self { mark: NOWHERE, kind }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::de::from_tree;

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
