//! Faults by which the tests are proven: changes of good devices.
//!
//! They are in `knobs.yaml`, beside this file. A fault with a size has several values from the largest to
//! the smallest.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use crate::catalogue::TESTS;
use config::{ConfigError, de, tree};

/// The good devices, by the name of their file in `configs/validate`.
pub const GOOD: &[(&str, &str)] = &[
    ("virtual", include_str!("../../configs/validate/virtual.yaml")),
    ("pause", include_str!("../../configs/validate/pause.yaml")),
    ("dynamic", include_str!("../../configs/validate/dynamic.yaml")),
    ("dcbx", include_str!("../../configs/validate/dcbx.yaml")),
    ("sfc", include_str!("../../configs/validate/sfc.yaml")),
    ("sfc-proxy", include_str!("../../configs/validate/sfc-proxy.yaml")),
    ("macsec", include_str!("../../configs/validate/macsec.yaml")),
    ("nic", include_str!("../../configs/validate/nic.yaml")),
    ("ring", include_str!("../../configs/validate/ring.yaml")),
];

/// The faults.
const KNOBS: &str = include_str!("knobs.yaml");

/// Text in a change that stands for the value.
const VALUE: &str = "$value";

/// A fault that can be turned on.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Knob {
    /// Identifier; faults of one kind share its number.
    pub id: String,
    /// A line of a table.
    pub fault: String,
    /// Tests that must find it.
    pub caught_by: Vec<String>,
    /// Name of the good device that it is a change of. Default: `virtual`.
    #[serde(default = "first")]
    pub device: String,
    /// Change of the good device that the file tells as well: a configuration without the fault.
    #[serde(default)]
    pub told: Value,
    /// Change that makes the fault; the file does not tell it.
    pub change: Value,
    /// Values that stand for `$value` in the change, from the largest fault to the smallest.
    #[serde(default)]
    pub values: Vec<Value>,
    /// Unit of the values.
    #[serde(default)]
    pub unit: String,
    /// True if all values of the tests are needed.
    #[serde(default)]
    pub full: bool,
    /// True for behaviour that the standards leave open: the tests report it, and pass.
    #[serde(default)]
    pub open: bool,
}

fn first() -> String {
    GOOD[0].0.to_owned()
}

/// An error in the list of faults.
#[derive(Clone, Debug, thiserror::Error)]
pub enum KnobError {
    #[error(transparent)]
    File(#[from] ConfigError),
    #[error("{id}: there is no test {test}")]
    Test { id: String, test: String },
    #[error("{id}: there is no good device {device}")]
    Device { id: String, device: String },
}

/// Returns the faults.
///
/// # Errors
/// The list is wrong, or a fault in it names a test or device that does not exist.
pub fn knobs() -> Result<Vec<Knob>, KnobError> {
    let error = |finding| ConfigError::one("knobs.yaml", finding);
    let root = tree::read(KNOBS, "the list is empty").map_err(error)?;
    let knobs: Vec<Knob> = de::from_tree(&root).map_err(error)?;
    for knob in &knobs {
        let id = || knob.id.clone();
        for test in &knob.caught_by {
            if !TESTS.iter().any(|known| known.id == test) {
                return Err(KnobError::Test { id: id(), test: test.clone() });
            }
        }
        if !GOOD.iter().any(|(name, _)| *name == knob.device) {
            return Err(KnobError::Device { id: id(), device: knob.device.clone() });
        }
    }
    Ok(knobs)
}

/// Returns the tests that no fault proves.
#[must_use]
pub fn unproven(knobs: &[Knob]) -> Vec<&'static str> {
    let proven: BTreeSet<_> = knobs.iter().flat_map(|knob| &knob.caught_by).collect();
    let ids = TESTS.iter().map(|test| test.id);
    ids.filter(|id| !proven.iter().any(|proven| proven == id)).collect()
}

impl Knob {
    /// Returns the file of the device, in JSON. The fault is in the device, and not in what the file
    /// tells, by the order of the changes.
    #[must_use]
    pub fn file(&self, value: Option<&Value>) -> String {
        let (_, text) = GOOD.iter().find(|(name, _)| *name == self.device).expect("checked");
        let root = tree::read(text, "the file is empty").expect("a good device is YAML");
        let mut file: Value = de::from_tree(&root).expect("a good device is YAML");
        merge(&mut file, &self.told);
        let mut change = self.change.clone();
        if let Some(value) = value {
            substitute(&mut change, value);
        }
        merge(&mut file, &change);
        file.to_string()
    }
}

/// Changes a value as a JSON merge patch does (RFC 7396): `null` removes a field.
fn merge(value: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        if !patch.is_null() {
            *value = patch.clone();
        }
        return;
    };
    if !value.is_object() {
        *value = Value::Object(serde_json::Map::new());
    }
    let fields = value.as_object_mut().expect("it was made one");
    for (name, change) in patch {
        if change.is_null() {
            fields.remove(name);
        } else {
            merge(fields.entry(name.clone()).or_insert(Value::Null), change);
        }
    }
}

/// Replaces the text that stands for the value.
fn substitute(patch: &mut Value, value: &Value) {
    match patch {
        Value::String(text) if text == VALUE => *patch = value.clone(),
        Value::Array(all) => all.iter_mut().for_each(|one| substitute(one, value)),
        Value::Object(all) => all.values_mut().for_each(|one| substitute(one, value)),
        _ => {}
    }
}
