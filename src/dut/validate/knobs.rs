//! Faults by which the tests are proven: changes of good devices.
//!
//! They are in `knobs.yaml`, beside this file. A fault with a size has several values from the largest to
//! the smallest. `features.yaml` has what devices have beside a fault.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::catalogue::TESTS;
use config::{ConfigError, de, tree};

/// The good devices, by the name of their file in `configs/validate`.
pub const GOOD: &[(&str, &str)] = &[
    ("virtual", include_str!("../../../configs/validate/virtual.yaml")),
    ("pause", include_str!("../../../configs/validate/pause.yaml")),
    ("dynamic", include_str!("../../../configs/validate/dynamic.yaml")),
    ("dcbx", include_str!("../../../configs/validate/dcbx.yaml")),
    ("sfc", include_str!("../../../configs/validate/sfc.yaml")),
    ("sfc-proxy", include_str!("../../../configs/validate/sfc-proxy.yaml")),
    ("macsec", include_str!("../../../configs/validate/macsec.yaml")),
    ("nic", include_str!("../../../configs/validate/nic.yaml")),
    ("ring", include_str!("../../../configs/validate/ring.yaml")),
];

/// The faults.
const KNOBS: &str = include_str!("knobs.yaml");

/// The features.
const FEATURES: &str = include_str!("features.yaml");

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
    #[error("{feature}: there is no fault {fault}")]
    Fault { feature: String, fault: String },
}

/// Something else that a device has and its file tells: no fault. A fault is found beside it, or not judged.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feature {
    /// A line of a table.
    pub name: String,
    /// Names of the good devices that have it in turn. Default: `virtual`.
    #[serde(default = "only_first")]
    pub devices: Vec<String>,
    /// Change of the good device.
    #[serde(default)]
    pub told: Value,
    /// Change of the lab that the device's profile is put into, for what a profile does not have.
    #[serde(default)]
    pub lab: Value,
    /// Faults that have no effect beside it, by their lines, with the reason.
    #[serde(default)]
    pub without: BTreeMap<String, String>,
}

fn only_first() -> Vec<String> {
    vec![first()]
}

/// Returns the features beside which the faults are tried.
///
/// # Errors
/// The list is wrong, or a feature in it names a fault or device that does not exist.
pub fn features(knobs: &[Knob]) -> Result<Vec<Feature>, KnobError> {
    let error = |finding| ConfigError::one("features.yaml", finding);
    let root = tree::read(FEATURES, "the list is empty").map_err(error)?;
    let features: Vec<Feature> = de::from_tree(&root).map_err(error)?;
    for Feature { name, devices, without, .. } in &features {
        let unknown = devices.iter().find(|device| !GOOD.iter().any(|(good, _)| good == device));
        if let Some(device) = unknown {
            return Err(KnobError::Device { id: name.clone(), device: device.clone() });
        }
        // A misspelt fault would silently not be tried.
        let unknown = without.keys().find(|fault| !knobs.iter().any(|knob| knob.fault == **fault));
        if let Some(fault) = unknown {
            return Err(KnobError::Fault { feature: name.clone(), fault: fault.clone() });
        }
    }
    Ok(features)
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
pub fn unproven(knobs: &[Knob]) -> Vec<&'static str> {
    let proven: BTreeSet<_> = knobs.iter().flat_map(|knob| &knob.caught_by).collect();
    let ids = TESTS.iter().map(|test| test.id);
    ids.filter(|id| !proven.iter().any(|proven| proven == id)).collect()
}

impl Knob {
    /// Returns the file of the device, in JSON. The fault is in the device, and not in what the file
    /// tells, by the order of the changes.
    pub fn file(&self, value: Option<&Value>) -> String {
        self.file_beside(None, value)
    }

    /// Returns the file of the device with a feature beside the fault.
    pub fn file_beside(&self, feature: Option<&Feature>, value: Option<&Value>) -> String {
        let mut file = good_file(&self.device);
        if let Some(feature) = feature {
            merge(&mut file, &feature.told);
        }
        merge(&mut file, &self.told);
        // The fault comes last: what the file tells must not undo it.
        let mut change = self.change.clone();
        if let Some(value) = value {
            substitute(&mut change, value);
        }
        merge(&mut file, &change);
        if let Some(feature) = feature {
            feature.put_into_lab(&mut file);
        }
        file.to_string()
    }
}

impl Feature {
    /// Returns the file of a good device with the feature, in JSON.
    pub fn file(&self, device: &str) -> String {
        let mut file = good_file(device);
        merge(&mut file, &self.told);
        self.put_into_lab(&mut file);
        file.to_string()
    }

    /// Puts the profile of a file into a lab of one switch, and changes that.
    fn put_into_lab(&self, file: &mut Value) {
        let profile = match &self.lab {
            Value::Null => None,
            _ => file["virtual"].as_object_mut().and_then(|device| device.remove("profile")),
        };
        let Some(profile) = profile else { return };
        let ports = file["ports"].as_array_mut().expect("the ports are a list");
        for (n, port) in ports.iter_mut().enumerate() {
            port["location"] = format!("h{}", n + 1).into();
        }
        // The same star that a profile stands for, so that only the feature makes a difference.
        let hosts = format!("h1..h{}", ports.len());
        let mut lab = json!({
            "nodes": {"switches": [{"name": "s1", "profile": "dut"}], "hosts": [hosts]},
            "profiles": {"dut": profile},
            "defaults": {"links": {"rate": file["rate"]}},
            "links": [{"from": hosts, "to": "s1"}],
        });
        merge(&mut lab, &self.lab);
        file["virtual"]["lab"] = lab;
    }
}

/// Returns the file of a good device.
fn good_file(device: &str) -> Value {
    let (_, text) = GOOD.iter().find(|(name, _)| *name == device).expect("checked");
    let root = tree::read(text, "the file is empty").expect("a good device is YAML");
    de::from_tree(&root).expect("a good device is YAML")
}

/// Changes a value as a JSON merge patch does (RFC 7396): `null` removes a field. Faults are added to others.
fn merge(value: &mut Value, patch: &Value) {
    // RFC 7396: a patch that is no object replaces the value as a whole; an absent one changes nothing.
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
        } else if let ("faults", Some(Value::Array(all)), Value::Array(more)) =
            (name.as_str(), fields.get_mut(name), change)
        {
            all.extend(more.iter().cloned());
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
