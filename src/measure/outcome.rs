//! Result of a measurement, as JSON shows it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::drive::{Measured, PortEnd, Why};
use super::inputs::{Inputs, RateFrom};
use crate::headroom::{
    Accuracy, DelayValue, Frames, MeasuredInputs, PeerDelayInputs, Samples, Shims, SoftwareTerms,
    by_peer_delay, measured, required_of,
};
use crate::link::{Method, Statistic};
use crate::port::{StampSource, Stamps};
use crate::runtime::{Disturbance, GAP_COUNTED};
use crate::time::Duration;
use crate::verdict::Verdict;

/// Bits of a pause quantum.
const QUANTUM_BITS: u64 = 512;

/// Result of `sluice headroom measure`.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Outcome {
    /// Inconclusive if a signal ended it early.
    pub(super) verdict: Verdict,
    /// `measured`, `failed`, `answered`, or `interrupted`.
    pub(super) state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) failure: Option<String>,
    /// Disturbance by the machine that makes it inconclusive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) disturbance: Option<String>,
    pub(super) port: String,
    /// The other port, if it is in this process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) peer: Option<String>,
    /// `round_trip` or `ptp`.
    pub(super) method: &'static str,
    pub(super) statistic: String,
    pub(super) rate_bps: u64,
    /// `line`, `argument`, or `assumed`.
    pub(super) rate_from: &'static str,
    pub(super) max_frame: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cell: Option<u32>,
    /// Largest headroom of all measurements; `sluice headroom compare` reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) headroom: Option<Sum>,
    /// Largest headroom if MACsec protects frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) headroom_macsec: Option<Sum>,
    pub(super) measurements: Vec<Measurement>,
    pub(super) ports: Vec<PortCounts>,
}

/// One measurement.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Measurement {
    pub(super) rounds: u16,
    pub(super) took_ms: f64,
    pub(super) stamps: StampsOut,
    /// Round trip, or one-way mean path delay of PTP.
    pub(super) delay_ns: Spread,
    /// Turnaround time of the peer (t3 - t2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) turnaround_ns: Option<Spread>,
    /// Delay that the headroom is calculated from.
    pub(super) chosen_ns: f64,
    pub(super) uncertainty_ns: f64,
    pub(super) accuracy: AccuracyOut,
    /// Bits that pass during the measured delay: that of the medium and of the ports, or with PTP
    /// that of the medium in both directions.
    pub(super) measured_bits: u64,
    pub(super) headroom: Sum,
    pub(super) terms: Vec<TermOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) headroom_macsec: Option<Sum>,
}

/// Source and resolution of timestamps.
#[derive(Clone, Debug, Serialize)]
pub(super) struct StampsOut {
    /// `nic`, `software`, `exact` or `poll`.
    pub(super) source: &'static str,
    pub(super) resolution_ns: f64,
}

/// Distribution of times in nanoseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Spread {
    pub(super) min: f64,
    pub(super) mean: f64,
    pub(super) p50: f64,
    pub(super) p90: f64,
    pub(super) p99: f64,
    pub(super) max: f64,
}

/// Uncertainty on this link, in either direction.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct AccuracyOut {
    pub(super) quanta: f64,
    pub(super) max_frames: f64,
}

/// A headroom.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(super) struct Sum {
    pub(super) bytes: u64,
    pub(super) bits: u64,
    pub(super) quanta: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cells: Option<u64>,
}

/// A term of a sum.
#[derive(Clone, Debug, Serialize)]
pub(super) struct TermOut {
    pub(super) name: &'static str,
    pub(super) bits: i64,
    pub(super) source: &'static str,
}

/// Counters of a port of this process.
#[derive(Clone, Debug, Serialize)]
pub(super) struct PortCounts {
    pub(super) port: String,
    pub(super) measurement: BTreeMap<&'static str, u64>,
    pub(super) ptp: BTreeMap<&'static str, u64>,
    pub(super) other: BTreeMap<&'static str, u64>,
}

impl Outcome {
    /// Creates an empty result.
    pub(super) fn new(inputs: &Inputs, ports: &[String], responds: bool) -> Self {
        Self {
            verdict: Verdict::Inconclusive,
            state: if responds { "answered" } else { "interrupted" },
            failure: None,
            disturbance: None,
            port: ports[0].clone(),
            peer: ports.get(1).cloned(),
            method: match inputs.method {
                Method::RoundTrip => "round_trip",
                Method::PeerDelay => "ptp",
            },
            statistic: match inputs.statistic {
                Statistic::Max => "max".into(),
                Statistic::Mean => "mean".into(),
                Statistic::Percentile(n) => format!("p{n}"),
            },
            rate_bps: inputs.rate.get(),
            rate_from: match inputs.rate_from {
                RateFrom::Line => "line",
                RateFrom::Argument => "argument",
                RateFrom::Assumed => "assumed",
            },
            max_frame: inputs.frames.max.0,
            cell: inputs.cell,
            headroom: None,
            headroom_macsec: None,
            measurements: Vec::new(),
            ports: Vec::new(),
        }
    }

    /// Adds a measurement.
    pub(super) fn add(&mut self, inputs: &Inputs, measured: &Measured) {
        let one = Measurement::new(inputs, measured);
        let most = |a: Option<Sum>, b: Option<Sum>| a.into_iter().chain(b).max_by_key(|s| s.bits);
        self.headroom = most(self.headroom, Some(one.headroom));
        self.headroom_macsec = most(self.headroom_macsec, one.headroom_macsec);
        self.measurements.push(one);
    }

    /// Completes the result. Returns the verdict, which is inconclusive if gaps between polls
    /// explain the result: a failure, if a gap was longer than a request waits for its response
    /// (`waits`), and a delay, if a gap was as long as the delay itself.
    pub(super) fn end(
        &mut self,
        why: Why,
        ends: &[PortEnd],
        disturbance: Disturbance,
        waits: Duration,
    ) -> Verdict {
        self.ports = ends.iter().map(PortCounts::new).collect();
        match why {
            Why::Failed(failure) => {
                self.state = "failed";
                self.failure = Some(failure.to_string());
            }
            Why::Done if self.state != "answered" => self.state = "measured",
            Why::Done | Why::Stopped => {}
        }
        self.verdict = match self.state {
            "measured" => Verdict::unless(!self.is_a_gap(disturbance), true),
            "answered" => Verdict::of_judged(true, self.answered()),
            "failed" => Verdict::unless(false, disturbance.longest > waits),
            _ => Verdict::Inconclusive,
        };
        if self.verdict == Verdict::Inconclusive && why != Why::Stopped {
            self.disturbance = Some(disturbance.to_string());
        }
        self.verdict
    }
}

impl Outcome {
    /// Responses sent to peers, by either method.
    fn answered(&self) -> u64 {
        let of = |port: &PortCounts| {
            let sent = |counts: &BTreeMap<_, u64>| counts.get("responses_sent").copied();
            sent(&port.measurement).unwrap_or(0) + sent(&port.ptp).unwrap_or(0)
        };
        self.ports.iter().map(of).sum()
    }

    /// True if a measured delay is no longer than a gap in which no thread polled.
    fn is_a_gap(&self, disturbance: Disturbance) -> bool {
        let longest = disturbance.longest.as_nanos_f64();
        longest > 0.0
            && self
                .measurements
                .iter()
                .any(|m| m.chosen_ns >= GAP_COUNTED.as_nanos_f64().min(longest))
    }
}

impl Measurement {
    fn new(inputs: &Inputs, m: &Measured) -> Self {
        let (found, frames) = (&m.found, inputs.frames);
        let chosen = found.delay.chosen;
        let plain = sum_of(inputs, m, chosen, frames, None);
        let with = inputs.shims.map(|s| sum_of(inputs, m, chosen, inputs.protected(), Some(s)));
        // A switch's buffer needs more than the draft's sum: see `required_of`.
        let cells = |value: &DelayValue, frames| {
            let software = SoftwareTerms::default();
            let needs = |cell| required_of(value.clone(), inputs.rate, frames, &software, cell);
            inputs.cell.map(|cell| u64::from(needs(cell).cells.0))
        };
        let sum = |value: &DelayValue, frames| Sum::new(value.bits(), cells(value, frames));
        let accuracy = Accuracy::of(found.uncertainty, inputs.rate, frames);
        let both_ways = match found.method {
            Method::RoundTrip => chosen,
            Method::PeerDelay => chosen.saturating_mul(2),
        };
        let bits = u128::from(both_ways.as_picos()) * u128::from(inputs.rate.get());
        Self {
            rounds: found.rounds,
            took_ms: m.took.as_secs_f64() * 1e3,
            stamps: StampsOut::new(&m.stamps),
            delay_ns: Spread::new(&m.delay),
            turnaround_ns: m.turnaround.as_ref().map(Spread::new),
            chosen_ns: chosen.as_nanos_f64(),
            uncertainty_ns: found.uncertainty.as_nanos_f64(),
            accuracy: AccuracyOut { quanta: accuracy.quanta, max_frames: accuracy.max_frames },
            measured_bits: bits.div_ceil(1_000_000_000_000) as u64,
            headroom: sum(&plain, frames),
            terms: plain.terms.iter().map(TermOut::new).collect(),
            headroom_macsec: with.as_ref().map(|with| sum(with, inputs.protected())),
        }
    }
}

/// Headroom by one method's formula.
fn sum_of(
    inputs: &Inputs,
    m: &Measured,
    chosen: Duration,
    frames: Frames,
    shims: Option<Shims>,
) -> DelayValue {
    match m.found.method {
        Method::RoundTrip => measured(&MeasuredInputs {
            rate: inputs.rate,
            round_trip: chosen,
            reaction: inputs.reaction,
            invocation: inputs.invocation,
            shims,
            frames,
        }),
        Method::PeerDelay => {
            let said = inputs.peer_internal.or(m.found.peer_internal);
            let source = match (inputs.peer_internal, m.found.peer_internal) {
                (Some(_), _) => "--internal",
                (None, Some(_)) => "as the peer says by DCBX",
                (None, None) => "not told by DCBX: the PHY of the rate, and --reaction",
            };
            let shim = |of: fn(&Shims) -> Duration| shims.as_ref().map_or(Duration::ZERO, of);
            let mut value = by_peer_delay(&PeerDelayInputs {
                rate: inputs.rate,
                path: chosen,
                own_internal: inputs.own_internal + inputs.invocation + shim(|s| s.local),
                peer_internal: said.unwrap_or_else(|| inputs.usual_peer()) + shim(|s| s.remote),
                frames,
            });
            for term in &mut value.terms {
                match term.name {
                    name if name.ends_with("of the peer") => term.source = source,
                    name if name.ends_with("of this port") && term.bits == 0 => {
                        term.source = "in the path: stamps are above the MAC";
                    }
                    _ => {}
                }
            }
            value
        }
    }
}

impl Sum {
    fn new(bits: u64, cells: Option<u64>) -> Self {
        Self { bytes: bits.div_ceil(8), bits, quanta: bits.div_ceil(QUANTUM_BITS), cells }
    }
}

impl TermOut {
    fn new(term: &crate::headroom::Term) -> Self {
        Self { name: term.name, bits: term.bits, source: term.source }
    }
}

impl StampsOut {
    fn new(stamps: &Stamps) -> Self {
        let source = match stamps.source {
            StampSource::Exact => "exact",
            StampSource::Nic => "nic",
            StampSource::Software => "software",
            StampSource::Poll => "poll",
        };
        Self { source, resolution_ns: stamps.resolution.as_nanos_f64() }
    }
}

impl Spread {
    fn new(samples: &Samples) -> Self {
        let at = |n| samples.percentile(n).as_nanos_f64();
        Self {
            min: samples.min().as_nanos_f64(),
            mean: samples.mean().as_nanos_f64(),
            p50: at(50),
            p90: at(90),
            p99: at(99),
            max: samples.max().as_nanos_f64(),
        }
    }
}

impl PortCounts {
    fn new(end: &PortEnd) -> Self {
        let snapshot = &end.snapshot;
        let measure = snapshot.measure.iter().flat_map(|m| m.counters.iter());
        let ptp = snapshot.path_delay.iter().flat_map(|p| p.counters.iter());
        let other = [
            ("malformed", snapshot.counters.malformed),
            ("unwanted", snapshot.counters.unwanted),
            ("unsent", snapshot.counters.unsent),
            ("frames_of_others", end.others),
        ];
        Self {
            port: end.name.clone(),
            measurement: measure.collect(),
            ptp: ptp.collect(),
            other: other.into(),
        }
    }
}
