//! Notifications of a running switch: each as a line for people and as an RFC 7951 notification of
//! a YANG module for programs.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::measurements::{Delays, MeasurementRow};
use ground::printable;
use ground::units::Cells;
use link::{Failure, Method};
use switch::StepKind;

/// Module of the notifications about measurements.
const MEASUREMENT: &str = "sluice-headroom-measurement";
/// Module of all others.
const SWITCH: &str = "sluice-switch";

/// A notification.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notification {
    /// Number, from 1, without gaps.
    pub number: u64,
    /// Time since the switch started.
    pub at_ns: u64,
    pub port: Option<String>,
    /// One line for people.
    pub text: String,
    /// An object with one member, whose name is the module's and the notification's.
    pub notification: Value,
}

/// Notifications after the last one that a client has.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notifications {
    pub notifications: Vec<Notification>,
    /// Number of those that the switch no longer keeps.
    pub lost: u64,
    /// Number of the last notification.
    pub last: u64,
}

impl Notification {
    fn new(port: Option<&str>, text: String, (module, name): (&str, &str), body: Value) -> Self {
        let mut body = body;
        if let (Some(port), Some(map)) = (port, body.as_object_mut()) {
            map.insert("port".into(), port.into());
        }
        let notification = Value::Object(Map::from_iter([(format!("{module}:{name}"), body)]));
        Self { number: 0, at_ns: 0, port: port.map(Into::into), text, notification }
    }

    /// Returns the notification about a measurement that ended.
    #[must_use]
    pub fn measured(row: &MeasurementRow) -> Self {
        let mut body = json!({"number": row.number.to_string(), "rounds": row.rounds});
        if let Some(method) = &row.method {
            body["method"] = method.as_str().into();
        }
        match (&row.delays, &row.failure) {
            (Some(delays), _) => {
                body["delays"] = delays_tree(delays);
                let (ns, rounds) = (delays.chosen_ps as f64 / 1e3, row.rounds);
                let text = format!("measured {} over {rounds} rounds", ::text::delay(ns));
                Self::new(Some(&row.port), text, (MEASUREMENT, "measurement-completed"), body)
            }
            (None, failure) => {
                let why = failure.clone().unwrap_or_default();
                body["reason"] = why.as_str().into();
                let text = format!("not measured: {why}");
                Self::new(Some(&row.port), text, (MEASUREMENT, "measurement-failed"), body)
            }
        }
    }

    /// Returns the notification about a step that followed from a port's link protocols; `None`
    /// for the end of a measurement, which is told with its number.
    #[must_use]
    pub fn step(port: &str, step: &StepKind) -> Option<Self> {
        let text = step.to_string();
        let (name, body) = match step {
            StepKind::Found(_) | StepKind::Failed(_) => return None,
            StepKind::Measuring(method) => {
                ((MEASUREMENT, "measurement-started"), json!({"method": method.name()}))
            }
            StepKind::Switched { from, to, why } => {
                ((MEASUREMENT, "method-changed"), changed(*from, *to, why))
            }
            StepKind::Set { group, from, to, cell, .. } => {
                let octets = |cells: &Cells| (u64::from(cells.0) * u64::from(*cell)).to_string();
                let body = json!({
                    "priority-group": group.get(), "old": octets(from), "new": octets(to)
                });
                ((MEASUREMENT, "headroom-changed"), body)
            }
            _ => ((SWITCH, "reconciled"), json!({"text": text})),
        };
        Some(Self::new(Some(port), text, name, body))
    }

    /// Returns the notification about an object that a client set.
    #[must_use]
    pub fn set(name: &str, port: Option<&str>, class: Option<u8>, value: &str) -> Self {
        let mut body = json!({"name": name, "value": value});
        if let Some(class) = class {
            body["traffic-class"] = class.into();
        }
        Self::new(port, format!("{name} is {value}"), (SWITCH, "object-changed"), body)
    }

    /// Returns the line for people.
    #[must_use]
    pub fn line(&self) -> String {
        let port = self.port.as_ref().map_or(String::new(), |port| format!("{port}: "));
        let line = format!("{:>10.3} s  {port}{}", self.at_ns as f64 / 1e9, self.text);
        printable::lines([line])
    }
}

fn changed(from: Method, to: Method, why: &Failure) -> Value {
    json!({"old": from.name(), "new": to.name(), "reason": why.to_string()})
}

/// Returns the figures of delays as the modules have them: 64-bit numbers are strings.
pub(super) fn delays_tree(delays: &Delays) -> Value {
    let all = [
        ("minimum", Some(delays.min_ps)),
        ("mean", Some(delays.mean_ps)),
        ("percentile-50", delays.p50_ps),
        ("percentile-90", delays.p90_ps),
        ("percentile-99", Some(delays.p99_ps)),
        ("maximum", Some(delays.max_ps)),
        ("chosen", Some(delays.chosen_ps)),
        ("uncertainty", Some(delays.uncertainty_ps)),
    ];
    let known = all.into_iter().filter_map(|(name, ps)| Some((name.to_owned(), ps?)));
    known.map(|(name, ps)| (name, Value::String(ps.to_string()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ground::units::PriorityGroup;

    #[test]
    fn notifications_have_their_module_and_their_port() {
        let (from, to) = (Method::RoundTrip, Method::PeerDelay);
        let switched = StepKind::Switched { from, to, why: Failure::PeerCannot };
        let told = Notification::step("a", &switched).unwrap();
        let body = &told.notification["sluice-headroom-measurement:method-changed"];
        assert_eq!((&body["old"], &body["new"]), (&json!("round_trip"), &json!("ptp")));
        assert_eq!(body["port"], "a");
        let set = StepKind::Set {
            group: PriorityGroup::ALL[3],
            from: Cells(1),
            to: Cells(2),
            cell: 256,
            sum: String::new(),
        };
        let told = Notification::step("a", &set).unwrap();
        let body = &told.notification["sluice-headroom-measurement:headroom-changed"];
        assert_eq!((&body["old"], &body["new"]), (&json!("256"), &json!("512")));
        assert!(told.line().contains("a: group 3: headroom 512 B"), "{}", told.line());
        assert_eq!(Notification::step("a", &StepKind::Failed(Failure::PeerCannot)), None);
        let told = Notification::set("sfcMaxSFCM", None, None, "4");
        assert_eq!(told.notification["sluice-switch:object-changed"]["value"], "4");
    }
}
