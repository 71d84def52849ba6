//! Merges an object's fields over the defaults of its kind, key by key.
//!
//! A field that the object lacks is the default's. Of two mappings each key is merged in the same way. All
//! other values replace the default's as a whole, and so does a mapping of which exactly one key may be
//! there ([`CHOICES`]) if its key is another one; `roce` is short for `{roce: {}}` there.

use std::collections::BTreeSet;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{Flow, Host, Link, Switch};

/// Fields that are replaced as a whole: the keys, the suite and the salt of MACsec belong together.
const WHOLE: [&str; 1] = ["macsec"];

/// Fields whose mappings have one of several keys.
const CHOICES: [&str; 5] = ["transport", "duration", "rate", "bytes", "load"];

/// Implements `over` for each type: every named field that is unset is taken from the defaults.
macro_rules! over {
    ($($name:ident: $($field:ident),*;)*) => {$(
        impl $name {
            /// Returns a copy with what is unset taken from `defaults`. Names and ends have no
            /// defaults.
            pub fn over(&self, defaults: &Self) -> Self {
                let mut all = self.clone();
                $(all.$field = merged(stringify!($field), &self.$field, &defaults.$field);)*
                all
            }
        }
    )*};
}

over! {
    Switch: profile, clock, cpu, cut_through, control_frame;
    Host: obey, storms, backlog, clock, cpu, measurement, ptp, lldp, dcbx, macsec, sfc, qcn;
    Link: rate, length, ns_per_m, delay, phy, fec, response, errors, back, line_overhead, time_step,
        macsec;
    Flow: pattern, rate, size, duration, start, stagger, priority, dscp, ecn, transport, victim,
        on_off;
}

/// Returns a field with what is unset in it taken from the default.
fn merged<T: Clone + PartialEq + Serialize + DeserializeOwned>(
    name: &str,
    own: &Option<T>,
    default: &Option<T>,
) -> Option<T> {
    let (Some(value), Some(base)) = (own, default) else { return own.clone().or(default.clone()) };
    // Equal values need no merge, which takes two conversions.
    if value == base || WHOLE.contains(&name) {
        return own.clone();
    }
    // As JSON, so that one merge serves all types, those with a short form too.
    let (Ok(value), Ok(base)) = (serde_json::to_value(value), serde_json::to_value(base)) else {
        return own.clone();
    };
    let whole = merge(name, &value, &base, name, &mut BTreeSet::new());
    // Two valid values may be no valid one together, such as both ways to give a rate: the own one counts.
    serde_json::from_value(whole).ok().or_else(|| own.clone())
}

/// Merges a named value over a default, and adds the paths of all that is taken of the default.
fn merge(
    name: &str,
    own: &Value,
    default: &Value,
    path: &str,
    taken: &mut BTreeSet<String>,
) -> Value {
    let Value::Object(base) = default else { return own.clone() };
    let is_choice = CHOICES.contains(&name);
    let own = match own {
        Value::Object(own) => own.clone(),
        // The word for a key without parameters.
        Value::String(word) if is_choice && base.get(word).is_some_and(Value::is_object) => {
            Map::from_iter([(word.clone(), Value::Object(Map::new()))])
        }
        other => return other.clone(),
    };
    let mut all = own.clone();
    for (key, default) in base.iter().filter(|(_, value)| is_set(value)) {
        let path = format!("{path}.{key}");
        match own.get(key).filter(|value| is_set(value)) {
            Some(value) => {
                all.insert(key.clone(), merge(key, value, default, &path, taken));
            }
            // Another key of a choice: both together would be no valid value.
            None if is_choice => {}
            None => {
                leaves(default, &path, taken);
                all.insert(key.clone(), default.clone());
            }
        }
    }
    Value::Object(all)
}

fn is_set(value: &Value) -> bool {
    !value.is_null()
}

/// Adds the paths of all values that are set.
fn leaves(value: &Value, path: &str, all: &mut BTreeSet<String>) {
    match value {
        Value::Null => {}
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                leaves(value, &format!("{path}.{key}"), all);
            }
        }
        _ => {
            all.insert(path.to_owned());
        }
    }
}

/// Returns the paths of defaults of flows that no flow takes, because each has its own value.
pub fn untaken(defaults: &Flow, flows: &[Flow]) -> Vec<String> {
    let mut given = BTreeSet::new();
    let Ok(Value::Object(base)) = serde_json::to_value(defaults) else { return Vec::new() };
    for (field, value) in &base {
        leaves(value, field, &mut given);
    }
    for flow in flows {
        let Ok(Value::Object(own)) = serde_json::to_value(flow) else { continue };
        let mut taken = BTreeSet::new();
        for (field, default) in base.iter().filter(|(_, default)| is_set(default)) {
            match own.get(field).filter(|value| is_set(value)) {
                Some(value) => {
                    merge(field, value, default, field, &mut taken);
                }
                // A flow without the field takes the default as a whole.
                None => leaves(default, field, &mut taken),
            }
        }
        given.retain(|path| !taken.contains(path));
    }
    given.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn flow(value: &Value) -> Flow {
        serde_json::from_value(value.clone()).unwrap()
    }

    /// Returns the fields of a flow over defaults, and the defaults that it does not take.
    fn over(own: Value, default: Value) -> (Value, Vec<String>) {
        let (own, default) = (flow(&own), flow(&default));
        let mut whole = serde_json::to_value(own.over(&default)).unwrap();
        whole.as_object_mut().unwrap().retain(|_, value| is_set(value));
        (sparse(whole), untaken(&default, &[own]))
    }

    fn sparse(value: Value) -> Value {
        match value {
            Value::Object(map) => {
                let set = map.into_iter().filter(|(_, value)| is_set(value));
                set.map(|(key, value)| (key, sparse(value))).collect::<Map<_, _>>().into()
            }
            other => other,
        }
    }

    #[test]
    fn mappings_are_merged_key_by_key_and_all_else_is_replaced() {
        let dcqcn = json!({"roce": {"dcqcn": {"preset": "ns3", "recoveries": 3}}});
        for (own, default, whole, left) in [
            // The reaction of the default reaches a flow with parameters of its own.
            (
                json!({"transport": {"roce": {"ack_every": 8}}}),
                json!({"transport": dcqcn}),
                json!({"transport": {"roce": {"ack_every": 8, "dcqcn": {"preset": "ns3", "recoveries": 3}}}}),
                &[][..],
            ),
            (
                json!({"transport": {"roce": {"dcqcn": {"recoveries": 5}}}}),
                json!({"transport": dcqcn}),
                json!({"transport": {"roce": {"dcqcn": {"preset": "ns3", "recoveries": 5}}}}),
                &["transport.roce.dcqcn.recoveries"],
            ),
            (
                json!({"transport": "roce"}),
                json!({"transport": dcqcn}),
                json!({"transport": dcqcn}),
                &[],
            ),
            (
                json!({"transport": "udp"}),
                json!({"transport": dcqcn}),
                json!({"transport": "udp"}),
                &["transport.roce.dcqcn.preset", "transport.roce.dcqcn.recoveries"],
            ),
            // One of two keys may be there.
            (
                json!({"transport": {"tcp": {}}, "duration": {"frames": 5}}),
                json!({"transport": dcqcn, "duration": {"seconds": "1ms"}}),
                json!({"transport": {"tcp": {}}, "duration": {"frames": 5}}),
                &[
                    "duration.seconds",
                    "transport.roce.dcqcn.preset",
                    "transport.roce.dcqcn.recoveries",
                ],
            ),
            (json!({}), json!({"priority": 3}), json!({"priority": 3}), &[]),
            (json!({"priority": 4}), json!({"priority": 3}), json!({"priority": 4}), &["priority"]),
        ] {
            let found = over(own.clone(), default);
            assert_eq!(found, (whole, left.iter().map(ToString::to_string).collect()), "{own}");
        }
    }

    #[test]
    fn a_default_is_taken_if_one_flow_takes_it() {
        let default = flow(&json!({"priority": 3, "ecn": "ect0"}));
        let both = [flow(&json!({"priority": 1})), flow(&json!({"ecn": "not_ect"}))];
        assert_eq!(untaken(&default, &both), [""; 0]);
        assert_eq!(untaken(&default, &both[..1]), ["priority"]);
        assert_eq!(untaken(&default, &[]), ["ecn", "priority"]);
    }
}
