//! Measurements of links that a running switch remembers: as a table, and as a latency distribution.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use ::text::Align::{Left, Right};
use ::text::{Table, count, delay};
use ground::time::Duration;
use headroom::Samples;
use link::{Found, Method, Spread};
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
    /// All delays in ascending order, if they were asked for and are known.
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
    /// Returns the figures of a measurement with these delays.
    #[must_use]
    pub fn new(spread: &Spread, uncertainty: Duration, samples: Option<&Samples>) -> Self {
        let at = |percent| samples.map(|samples| samples.percentile(percent).as_picos());
        Self {
            min_ps: spread.min.as_picos(),
            mean_ps: spread.mean.as_picos(),
            p50_ps: at(50),
            p90_ps: at(90),
            p99_ps: spread.p99.as_picos(),
            max_ps: spread.max.as_picos(),
            chosen_ps: spread.chosen.as_picos(),
            uncertainty_ps: uncertainty.as_picos(),
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
            delays: Some(Delays::new(&found.delay, found.uncertainty, samples)),
            samples_ps: all.iter().map(|delay| delay.as_picos()).collect(),
        }
    }

    /// Returns the row of a measurement without a result.
    #[must_use]
    pub fn failed(number: u64, at_ns: u64, port: &str, failure: &link::Failure) -> Self {
        use link::Failure::{Late, NoAnswer, NoPeerDelay, PeerCannot};
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

/// Prints measurements as a table, and the reasons of failures below it.
#[must_use]
pub fn measurements_text(measurements: &Measurements) -> String {
    if measurements.measurements.is_empty() {
        return "no measurement of a link has ended so far\n".into();
    }
    let mut table = Table::new([
        ("no", Right),
        ("at", Right),
        ("port", Left),
        ("rounds", Right),
        ("min", Right),
        ("p50", Right),
        ("p90", Right),
        ("p99", Right),
        ("max", Right),
    ]);
    for row in &measurements.measurements {
        let of = |figure: fn(&Delays) -> Option<u64>| {
            let ps = row.delays.as_ref().and_then(figure);
            ps.map_or("-".into(), |ps| delay(ps as f64 / 1e3))
        };
        table.row([
            row.number.to_string(),
            format!("{:.1} s", row.at_ns as f64 / 1e9),
            row.port.clone(),
            row.rounds.to_string(),
            of(|d| Some(d.min_ps)),
            of(|d| d.p50_ps),
            of(|d| d.p90_ps),
            of(|d| Some(d.p99_ps)),
            of(|d| Some(d.max_ps)),
        ]);
    }
    let mut out = table.to_string();
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

#[cfg(test)]
mod tests {
    use super::*;
    use contracts::port::StampSource;

    fn found(delays: &Samples) -> Found {
        let (min, max) = (delays.min(), delays.max());
        Found {
            method: Method::RoundTrip,
            rounds: delays.count() as u16,
            delay: Spread { min, mean: min, p99: max, max, chosen: max },
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
}
