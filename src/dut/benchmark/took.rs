//! Durations of measurements: each row has the time that its trials took.

use serde::Serialize;
use serde_json::Value;

/// Field of a row with its duration in seconds: of virtual time for a virtual device, else of the clock, with
/// rests and repeated trials. The points of a row share it.
pub const FIELD: &str = "took_s";

/// Duration of a row of a table.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Took {
    pub table: &'static str,
    pub seconds: f64,
}

/// Returns results as JSON, each row with its duration.
///
/// # Errors
/// As of `serde_json`.
pub fn value(results: &impl Serialize) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(results)?;
    let Some(run) = value.as_object_mut() else { return Ok(value) };
    let Some(Value::Array(all)) = run.remove("took") else { return Ok(value) };
    let tables: Vec<String> = run.keys().cloned().collect();
    for table in tables {
        let mut own = all.iter().filter(|took| took["table"] == *table);
        for row in run.get_mut(&table).and_then(Value::as_array_mut).into_iter().flatten() {
            let (Value::Object(row), Some(took)) = (row, own.next()) else { continue };
            row.insert(FIELD.to_owned(), took["seconds"].clone());
        }
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rows_have_their_own_times_in_order() {
        let took = |table, seconds| Took { table, seconds };
        let run = json!({
            "a": [{"size": 64}, {"size": 128}], "b": [{"size": 64}], "c": [{"size": 1}], "trials": 3,
            "took": [took("a", 1.0), took("b", 2.5), took("a", 3.0), took("gone", 9.0)],
        });
        let rows = json!({
            "a": [{"size": 64, "took_s": 1.0}, {"size": 128, "took_s": 3.0}],
            "b": [{"size": 64, "took_s": 2.5}],
            // Without a measured time there is none.
            "c": [{"size": 1}],
            "trials": 3,
        });
        assert_eq!(value(&run).unwrap(), rows);
    }
}
