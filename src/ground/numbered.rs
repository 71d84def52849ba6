//! Values by priority as a list in JSON, each with its `priority`.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::units::PRIORITIES;

#[derive(Serialize, Deserialize)]
struct Numbered<T> {
    priority: usize,
    #[serde(flatten)]
    value: T,
}

/// Writes the list.
///
/// # Errors
/// Those of the serialiser.
pub fn serialize<T: Serialize, S: Serializer>(
    values: &[T; PRIORITIES],
    to: S,
) -> Result<S::Ok, S::Error> {
    to.collect_seq(values.iter().enumerate().map(|(priority, value)| Numbered { priority, value }))
}

/// Reads the list; absent priorities have the default.
///
/// # Errors
/// An element has no priority from 0 to 7, or no value.
pub fn deserialize<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(
    from: D,
) -> Result<[T; PRIORITIES], D::Error> {
    let mut values = <[T; PRIORITIES]>::default();
    for Numbered { priority, value } in Vec::<Numbered<T>>::deserialize(from)? {
        // A list need not be in order or complete.
        let place = values.get_mut(priority);
        *place.ok_or_else(|| D::Error::custom("a priority is a number from 0 to 7"))? = value;
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(PartialEq, Debug, Serialize, Deserialize)]
    struct Row {
        #[serde(with = "super")]
        priorities: [Sent; PRIORITIES],
    }

    #[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
    struct Sent {
        frames: u64,
    }

    #[test]
    fn a_list_reads_back_as_it_was_and_has_no_ninth_priority() {
        let mut row = Row { priorities: Default::default() };
        row.priorities[3].frames = 5;
        let json = serde_json::to_string(&row).unwrap();
        assert!(json.contains(r#"{"priority":3,"frames":5},{"priority":4,"frames":0}"#), "{json}");
        assert_eq!(serde_json::from_str::<Row>(&json).unwrap(), row);
        let one = r#"{"priorities": [{"priority": 3, "frames": 5}]}"#;
        assert_eq!(serde_json::from_str::<Row>(one).unwrap(), row);
        assert!(serde_json::from_str::<Row>(&one.replace('3', "8")).is_err());
    }
}
