//! Events of a running switch: the measurements of links that it remembers, as a table and as a latency distribution,
//! and its notifications, each as a line for people and as an RFC 7951 notification of a YANG module for programs.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use ::text::{Column, Table, columns, count, delay};
use ground::printable;
use ground::time::Duration;
use ground::units::Cells;
use headroom::Samples;
use link::{Failure, Found, Method};
use switch::StepKind;
use tester::Measured;
use tester::report::Latency;

/// A measurement of a link that ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasurementRow {
    /// Number among the measurements of all ports, from 1.
    pub number: u64,
    /// Time of its end since the switch started.
    pub at_ns: u64,
    pub port: String,
    /// `round_trip` or `ptp`; absent if neither could be tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Reason why it has no result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    pub rounds: u16,
    /// Absent after a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delays: Option<Delays>,
    /// All delays in ascending order, if they were requested and are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples_ps: Vec<u64>,
}

/// Figures of the delays of a measurement, in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delays {
    pub min_ps: u64,
    pub mean_ps: u64,
    /// Absent if the single delays are not known, as the next one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ps: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_ps: Option<u64>,
    pub p99_ps: u64,
    pub max_ps: u64,
    /// The figure from which headroom is calculated.
    pub chosen_ps: u64,
    /// Largest error of the figures, either way.
    pub uncertainty_ps: u64,
}

/// Measurements of links, the oldest first.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurements {
    pub measurements: Vec<MeasurementRow>,
    /// Number of earlier ones, which are no longer kept.
    pub before: u64,
}

impl Delays {
    /// Returns the figures of a measurement, whose single delays are known or not.
    #[must_use]
    pub fn new(found: &Found, is_each_known: bool) -> Self {
        let delay = found.delay.map(Duration::as_picos);
        Self {
            min_ps: delay.min,
            mean_ps: delay.mean,
            // Clients are promised these two together with the single delays, and not without.
            p50_ps: is_each_known.then_some(delay.p50),
            p90_ps: is_each_known.then_some(delay.p90),
            p99_ps: delay.p99,
            max_ps: delay.max,
            chosen_ps: found.chosen.as_picos(),
            uncertainty_ps: found.uncertainty.as_picos(),
        }
    }
}

impl MeasurementRow {
    /// Returns the row of a completed measurement. `last` are the delays of the port's last one; those of
    /// another measurement are left out.
    #[must_use]
    pub fn found(
        number: u64,
        at_ns: u64,
        port: &str,
        found: &Found,
        last: Option<&Samples>,
    ) -> Self {
        let samples = last.filter(|all| {
            // The samples have no number, so those of another measurement are recognized by their figures.
            let its = (usize::from(found.rounds), found.delay.min, found.delay.max);
            (all.count(), all.min(), all.max()) == its
        });
        let all = samples.map_or(&[][..], Samples::sorted);
        Self {
            number,
            at_ns,
            port: port.to_owned(),
            method: Some(found.method.name().to_owned()),
            failure: None,
            rounds: found.rounds,
            delays: Some(Delays::new(found, samples.is_some())),
            samples_ps: all.iter().map(|delay| delay.as_picos()).collect(),
        }
    }

    /// Returns the row of a measurement without a result.
    #[must_use]
    pub fn failed(number: u64, at_ns: u64, port: &str, failure: &link::Failure) -> Self {
        use link::Failure::{Late, NoAnswer, NoPeerDelay, PeerCannot};
        // Only round trips count their rounds.
        let (method, rounds) = match failure {
            NoAnswer { rounds, .. } | Late { rounds, .. } => (Some(Method::RoundTrip), *rounds),
            NoPeerDelay => (Some(Method::PeerDelay), 0),
            PeerCannot => (None, 0),
        };
        Self {
            number,
            at_ns,
            port: port.to_owned(),
            method: method.map(|method| method.name().to_owned()),
            failure: Some(failure.to_string()),
            rounds,
            delays: None,
            samples_ps: Vec::new(),
        }
    }
}

/// Returns a figure of a measurement's delays.
fn figure(row: &MeasurementRow, of: fn(&Delays) -> Option<u64>) -> Option<String> {
    row.delays.as_ref().and_then(of).map(|ps| delay(ps as f64 / 1e3))
}

/// Prints measurements as a table, and the reasons of failures below it.
#[must_use]
pub fn measurements_text(measurements: &Measurements) -> String {
    if measurements.measurements.is_empty() {
        return "no measurement of a link has ended so far\n".into();
    }
    let columns: [Column<MeasurementRow>; 9] = columns! { row =>
        Printed ["no"] = row.number.to_string();
        Printed ["at"] = format!("{:.1} s", row.at_ns as f64 / 1e9);
        Text ["port"] = &*row.port;
        Printed ["rounds"] = row.rounds.to_string();
        Printed ["min"] = figure(row, |d| Some(d.min_ps));
        Printed ["p50"] = figure(row, |d| d.p50_ps);
        Printed ["p90"] = figure(row, |d| d.p90_ps);
        Printed ["p99"] = figure(row, |d| Some(d.p99_ps));
        Printed ["max"] = figure(row, |d| Some(d.max_ps));
    };
    let mut out = Table::of(&measurements.measurements, &columns).to_string();
    // Reasons are sentences, so they stand below the table, under the number of their row.
    for row in &measurements.measurements {
        if let Some(failure) = &row.failure {
            out += &ground::printable::lines([format!("{}: not measured: {failure}", row.number)]);
        }
    }
    if measurements.before > 0 {
        out += &format!("and {} before these\n", count(measurements.before));
    }
    out
}

/// Returns the distribution of all delays of measurements in the form of [`hgrm`](super::hgrm), in
/// microseconds; `None` if no single delay is known.
#[must_use]
pub fn measurements_hgrm(measurements: &Measurements) -> Option<String> {
    let all = || measurements.measurements.iter().flat_map(|row| &row.samples_ps).copied();
    let (least, most, number) = (all().min()?, all().max()?, all().count());
    // Bounds of the histogram in nanoseconds; it needs room for two octaves.
    let mut histogram = Histogram::new_with_bounds(1, (most / 1_000 + 1).max(2), 3).ok()?;
    // Rounded up, so that no delay is shown shorter than it was.
    all().for_each(|ps| histogram.saturating_record(ps.div_ceil(1_000)));
    let mean = all().map(|ps| ps as f64).sum::<f64>() / number as f64;
    let of = |ps: f64| Measured::new(ps / 1e3, 0.0);
    let latency = Latency {
        min_ns: of(least as f64),
        mean_ns: of(mean),
        max_ns: of(most as f64),
        ..Latency::default()
    };
    Some(super::hgrm(&latency, &histogram))
}

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
    fn new(port: Option<&str>, text: String, module: &str, name: &str, body: Value) -> Self {
        let mut body = body;
        if let (Some(port), Some(map)) = (port, body.as_object_mut()) {
            map.insert("port".into(), port.into());
        }
        let notification = Value::Object(Map::from_iter([(format!("{module}:{name}"), body)]));
        // The log gives number and time when it takes the notification.
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
                Self::new(Some(&row.port), text, MEASUREMENT, "measurement-completed", body)
            }
            (None, failure) => {
                let why = failure.clone().unwrap_or_default();
                body["reason"] = why.as_str().into();
                let text = format!("not measured: {why}");
                Self::new(Some(&row.port), text, MEASUREMENT, "measurement-failed", body)
            }
        }
    }

    /// Returns the notification about a step that followed from a port's link protocols; `None`
    /// for the end of a measurement, which is reported with its number.
    #[must_use]
    pub fn step(port: &str, step: &StepKind) -> Option<Self> {
        let text = step.to_string();
        // The end of a measurement has a number in the history, which a step does not know.
        let (module, name, body) = match step {
            StepKind::Found(_) | StepKind::Failed(_) => return None,
            StepKind::Measuring(method) => {
                (MEASUREMENT, "measurement-started", json!({"method": method.name()}))
            }
            StepKind::Switched { from, to, why } => {
                (MEASUREMENT, "method-changed", changed(*from, *to, why))
            }
            StepKind::Set { group, from, to, cell, .. } => {
                let octets = |cells: &Cells| (u64::from(cells.0) * u64::from(*cell)).to_string();
                let body = json!({
                    "priority-group": group.get(), "old": octets(from), "new": octets(to)
                });
                (MEASUREMENT, "headroom-changed", body)
            }
            // Other steps have no data that a program could use, only their text.
            _ => (SWITCH, "reconciled", json!({"text": text})),
        };
        Some(Self::new(Some(port), text, module, name, body))
    }

    /// Returns the notification about an object that a client set.
    #[must_use]
    pub fn set(name: &str, port: Option<&str>, class: Option<u8>, value: &str) -> Self {
        let mut body = json!({"name": name, "value": value});
        if let Some(class) = class {
            body["traffic-class"] = class.into();
        }
        Self::new(port, format!("{name} is {value}"), SWITCH, "object-changed", body)
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
    // Leaves of unknown figures are absent, as the module says.
    let known = all.into_iter().filter_map(|(name, ps)| Some((name.to_owned(), ps?)));
    known.map(|(name, ps)| (name, Value::String(ps.to_string()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use contracts::port::StampSource;
    use ground::units::PriorityGroup;

    fn found(delays: &Samples) -> Found {
        Found {
            method: Method::RoundTrip,
            rounds: delays.count() as u16,
            delay: delays.figures(),
            chosen: delays.max(),
            sources: link::Sources { t1: StampSource::Exact, t4: StampSource::Exact },
            in_ring: Some(Duration::ZERO),
            shims: None,
            uncertainty: Duration::from_nanos(4),
            peer_internal: None,
            peer_reaction: None,
            repeated: false,
        }
    }

    fn micros(all: core::ops::RangeInclusive<u64>) -> Samples {
        let mut samples = Samples::default();
        all.for_each(|n| samples.add(Duration::from_micros(n)));
        samples.finish();
        samples
    }

    #[test]
    fn percentiles_are_of_the_samples_and_those_of_another_measurement_are_unknown() {
        let all = micros(1..=100);
        let row = MeasurementRow::found(7, 5, "a", &found(&all), Some(&all));
        let delays = row.delays.unwrap();
        assert_eq!((delays.p50_ps, delays.p90_ps), (Some(50_000_000), Some(90_000_000)));
        assert_eq!(row.samples_ps.len(), 100);
        let other = MeasurementRow::found(8, 6, "a", &found(&all), Some(&micros(2..=100)));
        assert_eq!((other.delays.unwrap().p50_ps, other.samples_ps.len()), (None, 0));
        let (measurements, before) = (vec![row, other], 3);
        let text = measurements_text(&Measurements { measurements, before });
        assert!(text.contains("50.00 us") && text.contains(" - "), "{text}");
        assert!(text.contains("and 3 before these"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn a_failure_says_why_and_has_no_figures() {
        let failure = link::Failure::NoAnswer { rounds: 3, requests: 200 };
        let row = MeasurementRow::failed(1, 0, "a", &failure);
        assert_eq!((row.method.as_deref(), row.rounds, row.delays), (Some("round_trip"), 3, None));
        let measurements = Measurements { measurements: vec![row], before: 0 };
        let text = measurements_text(&measurements);
        assert!(text.contains("1: not measured: 3 answers to 200 requests"), "{text}");
        assert_eq!(measurements_hgrm(&measurements), None);
    }

    #[test]
    fn the_distribution_has_all_samples() {
        let all = micros(1..=100);
        let row = MeasurementRow::found(1, 0, "a", &found(&all), Some(&all));
        let both = Measurements { measurements: vec![row.clone(), row], before: 0 };
        let text = measurements_hgrm(&both).unwrap();
        assert!(
            text.contains("#[Max     =      100.000, Total count    =          200]"),
            "{text}"
        );
        let half = text.lines().find(|line| line.contains(" 0.500000000000 ")).unwrap();
        assert!(half.trim_start().starts_with("50.0"), "{half}");
    }

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
