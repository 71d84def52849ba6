//! Result of a measurement, as JSON shows it.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::drive::{Measured, PortEnd, Why};
use crate::inputs::{Inputs, RateFrom};

use contracts::port::StampSource;
use ground::statistics::Statistics;
use ground::time::Duration;
use ground::verdict::Verdict;
use headroom::{
    Accuracy, DelayValue, Frames, LinkEnds, MeasuredInputs, PeerDelayInputs, Reaction, Samples,
    Shims, SoftwareTerms, Term, by_peer_delay, is_limited, measured, required_of,
};
use link::{Failure, Method, PeerReaction, Sources};
use results::{SourcesSummary, StampsSummary};
use runtime::{Disturbance, GAP_COUNTED};

/// Bits of a pause quantum.
const QUANTUM_BITS: u64 = 512;

/// Failure of a measurement whose sum would be less than its frames.
const LIMITED: &str = "negative times take off more than the delay that was measured; give a smaller \
                       `--adjustment`, or a `--reaction` in place of what the peer says";

/// Result of `sluice headroom measure`.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Inconclusive if a signal ended it early.
    pub verdict: Verdict,
    /// `measured`, `failed`, `answered`, or `interrupted`.
    pub(crate) state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failure: Option<String>,
    /// True if it failed as no answer arrived.
    #[serde(skip)]
    pub(crate) is_unanswered: bool,
    /// Disturbance by the machine that makes it inconclusive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) disturbance: Option<String>,
    pub(crate) port: String,
    /// The other port, if it is in this process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) peer: Option<String>,
    /// Method of the last measurement, or the preferred one: `round_trip` or `ptp`.
    pub(crate) method: &'static str,
    /// Methods that could not be used, each with its reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) switched: Vec<String>,
    pub(crate) statistic: String,
    pub(crate) rate_bps: u64,
    /// `line`, `argument`, or `assumed`.
    pub(crate) rate_from: &'static str,
    pub(crate) max_frame: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cell: Option<u32>,
    /// Largest headroom of all measurements; `sluice headroom compare` reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) headroom: Option<Sum>,
    /// Largest headroom if MACsec protects frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) headroom_macsec: Option<Sum>,
    pub(crate) measurements: Vec<Measurement>,
    pub(crate) ports: Vec<PortCounts>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Measurement {
    pub(crate) rounds: u16,
    pub(crate) took_ms: f64,
    pub(crate) stamps: StampsSummary,
    pub(crate) sources: SourcesSummary,
    /// Round trip, or one-way mean path delay of PTP.
    pub(crate) delay_ns: Statistics<f64>,
    /// Turnaround time of the peer (t3 - t2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) turnaround_ns: Option<Statistics<f64>>,
    /// Delay that the headroom is calculated from.
    pub(crate) chosen_ns: f64,
    pub(crate) uncertainty_ns: f64,
    /// Longest time by which frames ahead in the transmit ring of this port make the delay longer; absent if it
    /// is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) in_ring_ns: Option<f64>,
    /// Unknown times that are part of the delay: they can only lengthen it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) not_counted: Vec<&'static str>,
    pub(crate) accuracy: Accuracy,
    /// Bits that pass during the measured delay: that of the medium and of the ports, or with PTP
    /// that of the medium in both directions.
    pub(crate) measured_bits: u64,
    pub(crate) headroom: Sum,
    pub(crate) terms: Vec<Term>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) headroom_macsec: Option<Sum>,
    /// True if negative times take off more than the delay, so that there is no headroom to show.
    #[serde(skip)]
    pub(crate) limited: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Sum {
    pub(crate) bytes: u64,
    pub(crate) bits: u64,
    pub(crate) quanta: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cells: Option<u64>,
}

/// Counters of a port of this process.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct PortCounts {
    pub(crate) port: String,
    pub(crate) measurement: BTreeMap<&'static str, u64>,
    pub(crate) ptp: BTreeMap<&'static str, u64>,
    pub(crate) other: BTreeMap<&'static str, u64>,
}

impl Outcome {
    /// Creates an empty result.
    pub(crate) fn new(inputs: &Inputs, ports: &[String], responds: bool) -> Self {
        Self {
            verdict: Verdict::Inconclusive,
            state: if responds { "answered" } else { "interrupted" },
            failure: None,
            is_unanswered: false,
            disturbance: None,
            port: ports[0].clone(),
            peer: ports.get(1).cloned(),
            method: inputs.methods.first().name(),
            switched: Vec::new(),
            statistic: inputs.statistic.to_string(),
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

    pub(crate) fn add(&mut self, inputs: &Inputs, measured: &Measured) {
        let one = Measurement::new(inputs, measured);
        self.method = measured.found.method.name();
        // The largest of all measurements counts: headroom must suffice for the worst of them.
        let most = |a: Option<Sum>, b: Option<Sum>| a.into_iter().chain(b).max_by_key(|s| s.bits);
        self.headroom = most(self.headroom, Some(one.headroom));
        self.headroom_macsec = most(self.headroom_macsec, one.headroom_macsec);
        self.measurements.push(one);
    }

    /// Adds that another method is tried.
    pub(crate) fn switch(&mut self, from: Method, to: Method, why: Failure) {
        self.method = to.name();
        self.switched.push(format!("the {to} instead of the {from}: {why}"));
    }

    /// Completes the result with its verdict, which is inconclusive if gaps between polls
    /// explain the result: a failure, if this end was late with its requests or a gap was longer
    /// than a request waits for its response (`waits`), and a delay, if a gap was as long as the
    /// delay itself.
    pub(crate) fn end(
        &mut self,
        why: Why,
        ends: &[PortEnd],
        disturbance: Disturbance,
        waits: Duration,
    ) {
        self.ports = ends.iter().map(PortCounts::new).collect();
        match why {
            Why::Failed(failure) => {
                self.state = "failed";
                self.failure = Some(failure.to_string());
                self.is_unanswered = match failure {
                    Failure::NoAnswer { rounds, .. } | Failure::Late { rounds, .. } => rounds == 0,
                    Failure::NoPeerDelay => true,
                    Failure::PeerCannot => false,
                };
            }
            Why::Done if self.state != "answered" => self.state = "measured",
            Why::Done | Why::Stopped => {}
        }
        // A sum that was limited at zero would be a headroom that is too small.
        if self.measurements.iter().any(|measurement| measurement.limited) {
            self.state = "failed";
            self.failure = Some(LIMITED.into());
            (self.headroom, self.headroom_macsec) = (None, None);
        }
        self.verdict = match self.state {
            // A gap as long as the delay may be the delay, so the headroom is an upper limit and no result.
            "measured" => Verdict::unless(!self.is_a_gap(disturbance), true),
            "answered" => Verdict::of_judged(true, self.answered()),
            "failed" => {
                // Late requests are this end's fault and say nothing about the peer.
                let late = matches!(why, Why::Failed(Failure::Late { .. }));
                Verdict::unless(false, late || disturbance.longest > waits)
            }
            _ => Verdict::Inconclusive,
        };
        if self.verdict == Verdict::Inconclusive && why != Why::Stopped {
            self.disturbance = Some(disturbance.to_string());
        }
    }

    /// Responses sent to peers, by either method.
    fn answered(&self) -> u64 {
        let answers = |port: &PortCounts| {
            let sent = |counts: &BTreeMap<_, u64>| counts.get("responses_sent").copied();
            sent(&port.measurement).unwrap_or(0) + sent(&port.ptp).unwrap_or(0)
        };
        self.ports.iter().map(answers).sum()
    }

    /// True if a measured delay is no longer than a gap in which no thread polled.
    fn is_a_gap(&self, disturbance: Disturbance) -> bool {
        let longest = disturbance.longest.as_nanos_f64();
        longest > 0.0
            && self
                .measurements
                .iter()
                // Gaps below the counted length are unknown, so none of them can be told from a delay of that length.
                .any(|m| m.chosen_ns >= GAP_COUNTED.as_nanos_f64().min(longest))
    }
}

impl Measurement {
    fn new(inputs: &Inputs, m: &Measured) -> Self {
        let (found, frames) = (&m.found, inputs.frames);
        let chosen = found.chosen;
        let plain = sum_of(inputs, m, chosen, frames, None);
        let with = inputs.shims.map(|s| sum_of(inputs, m, chosen, inputs.protected(), Some(s)));
        // A switch's buffer needs more than the draft's sum: see `required_of`.
        let cells = |value: &DelayValue, frames| {
            let software = SoftwareTerms::default();
            let needs = |cell| required_of(value.clone(), inputs.rate, frames, &software, cell);
            inputs.cell.map(|cell| u64::from(needs(cell).cells.0))
        };
        let sum = |value: &DelayValue, frames| Sum::new(value.bits(), cells(value, frames));
        // A peer delay is one way (802.1AS), a round trip both.
        let both_ways = match found.method {
            Method::RoundTrip => chosen,
            Method::PeerDelay => chosen.saturating_mul(2),
        };
        // Picoseconds times bits per second: 64 bits overflow from 184 us on at 100 Gb/s.
        let bits = u128::from(both_ways.as_picos()) * u128::from(inputs.rate.get());
        Self {
            rounds: found.rounds,
            took_ms: m.took.as_secs_f64() * 1e3,
            stamps: StampsSummary::new(&m.stamps),
            sources: SourcesSummary::new(found.sources),
            delay_ns: nanos(&m.delay),
            turnaround_ns: m.turnaround.as_ref().map(nanos),
            chosen_ns: chosen.as_nanos_f64(),
            uncertainty_ns: found.uncertainty.as_nanos_f64(),
            in_ring_ns: found.in_ring.map(Duration::as_nanos_f64),
            not_counted: not_counted(found.sources, found.in_ring.is_some()),
            accuracy: Accuracy::of(found.uncertainty, inputs.rate, frames),
            measured_bits: bits.div_ceil(1_000_000_000_000) as u64,
            headroom: sum(&plain, frames),
            limited: is_limited(&plain),
            terms: plain.terms,
            headroom_macsec: with.as_ref().map(|with| sum(with, inputs.protected())),
        }
    }
}

/// Returns the unknown times that are part of a delay. `ring` is true if that of the transmit ring is known.
fn not_counted(Sources { t1, t4 }: Sources, ring: bool) -> Vec<&'static str> {
    let by_software = |source| matches!(source, StampSource::Software | StampSource::Poll);
    let all = [
        (!ring, "frames that wait in this port's driver"),
        (t4 != StampSource::Exact, "the wait of the peer's response after its t3"),
        (by_software(t1) || by_software(t4), "the way between software and the wire"),
    ];
    all.into_iter().filter_map(|(is_part, what)| is_part.then_some(what)).collect()
}

/// Headroom by one method's formula.
fn sum_of(
    inputs: &Inputs,
    m: &Measured,
    chosen: Duration,
    frames: Frames,
    shims: Option<Shims>,
) -> DelayValue {
    let ends = LinkEnds {
        rate: inputs.rate,
        adjustment: inputs.adjustment,
        invocation: inputs.invocation,
        shims,
        frames,
    };
    match m.found.method {
        Method::RoundTrip => measured(&MeasuredInputs {
            ends,
            formula: inputs.formula,
            round_trip: chosen,
            // A reaction of the command line overrides what the peer advertises.
            reaction: match m.found.peer_reaction.filter(|_| !inputs.reaction_given) {
                Some(PeerReaction { time, from }) => {
                    Reaction::told(time, from.describe(), inputs.reaction)
                }
                None => Reaction::configured(inputs.reaction),
            },
            shims_measured: None,
        }),
        Method::PeerDelay => {
            // The option has precedence over DCBX, and the assumed peer comes last.
            let internal = inputs.peer_internal.or(m.found.peer_internal);
            let source = match (inputs.peer_internal, m.found.peer_internal) {
                (Some(_), _) => "--internal",
                (None, Some(_)) => "as the peer says by DCBX",
                (None, None) => "not in the peer's DCBX: the PHY of the rate, and --reaction",
            };
            let mut value = by_peer_delay(&PeerDelayInputs {
                ends,
                path: chosen,
                own_internal: inputs.own_internal,
                peer_internal: internal.unwrap_or_else(|| inputs.usual_peer()),
            });
            // The model does not know where these two values come from.
            for term in &mut value.terms {
                match term.name {
                    "internal delay of the peer" => term.source = source,
                    "internal delay of this port" if term.bits == 0 => {
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

/// Returns the figures of times in nanoseconds.
pub(crate) fn nanos(samples: &Samples) -> Statistics<f64> {
    samples.figures().map(Duration::as_nanos_f64)
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

#[cfg(test)]
mod tests {
    use super::*;
    use contracts::port::Stamps;
    use ground::time::Instant;
    use ground::units::{BitsPerSec, Bytes, Mac};
    use headroom::measure::MeasurePlan;
    use link::{AgentsPlan, Found, PortAgents};
    use wire::headroom::{Adjustment, Dialect};

    /// Time that a request waits for its response.
    const WAITS: Duration = Duration::from_micros(500);

    fn inputs() -> Inputs {
        let inputs = Inputs::usual(BitsPerSec::gbps(10), RateFrom::Assumed, Method::RoundTrip);
        Inputs { frames: Frames::up_to(Bytes(2_000)), ..inputs }
    }

    fn stamps() -> Stamps {
        let (source, resolution) = (StampSource::Exact, Duration::ZERO);
        Stamps { source, resolution, uncertainty: Duration::ZERO, serializes: false }
    }

    /// End of a port that has sent this number of responses.
    fn port(responses: u64) -> PortEnd {
        let measure = MeasurePlan {
            respond: true,
            initiate: None,
            dialect: Dialect::default(),
            compensation: None,
        };
        let plan = AgentsPlan {
            mac: Mac([2; 6]),
            rate: BitsPerSec::gbps(10),
            lldp: None,
            dcbx: None,
            measure: Some(measure),
            peer_delay: None,
            auto: None,
        };
        let mut snapshot = PortAgents::new(&plan, stamps()).snapshot(Instant::ZERO);
        snapshot.measure.as_mut().unwrap().counters.responses_sent = responses;
        PortEnd { name: "p".into(), snapshot, others: 0 }
    }

    fn measured(micros: u64) -> Measured {
        let mut delay = Samples::default();
        delay.add(Duration::from_micros(micros));
        delay.finish();
        let found = Found {
            method: Method::RoundTrip,
            rounds: 1,
            delay: delay.figures(),
            chosen: delay.max(),
            sources: Sources { t1: StampSource::Exact, t4: StampSource::Exact },
            uncertainty: Duration::ZERO,
            in_ring: Some(Duration::ZERO),
            peer_internal: None,
            peer_reaction: None,
            shims: None,
            repeated: false,
        };
        Measured { found, delay, turnaround: None, stamps: stamps(), took: WAITS }
    }

    #[test]
    fn negative_times_are_shown_with_their_sign_and_refused_where_they_exceed_the_delay() {
        let with = |nanos| {
            let adjustment = Adjustment::from_nanos(nanos).unwrap();
            let inputs = Inputs { adjustment, ..inputs() };
            let mut outcome = Outcome::new(&inputs, &["p".into()], false);
            outcome.add(&inputs, &measured(10));
            outcome.end(Why::Done, &[port(0)], Disturbance::default(), WAITS);
            outcome
        };
        let small = with(-100);
        assert_eq!((small.verdict, small.state), (Verdict::Pass, "measured"));
        let text = crate::text(&small);
        assert!(text.contains(" -1,000 ") && text.contains("headroom, by"), "{text}");
        let large = with(-1_000_000_000);
        assert_eq!((large.verdict, large.headroom), (Verdict::Fail, None));
        let text = crate::text(&large);
        assert!(text.contains("smaller `--adjustment`") && !text.contains("check that"), "{text}");
        assert!(!text.contains("headroom, by"), "{text}");
    }

    /// Outcome of a run with a longest gap of `gap` microseconds between polls. `responses` is the
    /// number of responses of a port that only answers.
    fn ended(why: Why, delay: Option<u64>, responses: Option<u64>, gap: u64) -> Outcome {
        let inputs = inputs();
        let mut outcome = Outcome::new(&inputs, &["p".into()], responses.is_some());
        delay.into_iter().for_each(|micros| outcome.add(&inputs, &measured(micros)));
        let longest = Duration::from_micros(gap);
        let disturbance = Disturbance { longest, ..Disturbance::default() };
        outcome.end(why, &[port(responses.unwrap_or(0))], disturbance, WAITS);
        outcome
    }

    #[test]
    fn unknown_times_are_named() {
        use StampSource::{Exact, Nic, Software};
        let named = |t1, t4, ring| not_counted(Sources { t1, t4 }, ring).len();
        let all = [named(Exact, Exact, true), named(Nic, Nic, true), named(Software, Nic, true)];
        assert_eq!((all, named(Software, Software, false)), ([0, 1, 2], 3));
    }

    #[test]
    fn a_delay_counts_unless_a_gap_between_polls_is_in_it() {
        let verdict = |micros, gap| ended(Why::Done, Some(micros), None, gap).verdict;
        assert_eq!([verdict(10, 0), verdict(10, 50)], [Verdict::Pass; 2]);
        let disturbed = ended(Why::Done, Some(60), None, 50);
        assert_eq!((disturbed.verdict, disturbed.state), (Verdict::Inconclusive, "measured"));
        assert!(disturbed.disturbance.is_some());
    }

    #[test]
    fn a_silent_peer_fails_unless_this_machine_was_late() {
        let silent = Why::Failed(Failure::NoAnswer { rounds: 0, requests: 200 });
        let failed = ended(silent, None, None, 500);
        assert!(crate::text(&failed).contains("check that"));
        assert_eq!((failed.verdict, failed.disturbance), (Verdict::Fail, None));
        assert!(failed.failure.unwrap().contains("0 answers to 200 requests"));
        assert_eq!(ended(silent, None, None, 501).verdict, Verdict::Inconclusive);
        let late = Why::Failed(Failure::Late { rounds: 68, requests: 68 });
        let late = ended(late, None, None, 0);
        assert_eq!(late.verdict, Verdict::Inconclusive);
        // Every request was answered, so the peer is not the cause.
        assert!(!crate::text(&late).contains("check that"));
    }

    /// The other end, the way to it and the dialect are right where any answer arrived.
    #[test]
    fn a_failed_measurement_gives_advice_on_the_peer_only_where_nothing_was_answered() {
        let asks = |failure| {
            let text = crate::text::text(&ended(Why::Failed(failure), None, None, 0));
            text.contains("check that") || text.contains("dialect")
        };
        assert!(asks(Failure::NoAnswer { rounds: 0, requests: 200 }));
        assert!(asks(Failure::Late { rounds: 0, requests: 200 }));
        assert!(asks(Failure::NoPeerDelay));
        assert!(!asks(Failure::Late { rounds: 7, requests: 7 }));
        assert!(!asks(Failure::Late { rounds: 7, requests: 9 }));
        assert!(!asks(Failure::NoAnswer { rounds: 3, requests: 200 }));
        assert!(!asks(Failure::PeerCannot));
    }

    #[test]
    fn an_end_that_answered_nothing_is_not_judged() {
        let verdict = |responses| ended(Why::Stopped, None, Some(responses), 0).verdict;
        assert_eq!([verdict(0), verdict(1)], [Verdict::NotJudged, Verdict::Pass]);
        let stopped = ended(Why::Stopped, Some(10), None, 0);
        assert_eq!((stopped.verdict, stopped.state), (Verdict::Inconclusive, "interrupted"));
        assert_eq!(stopped.disturbance, None);
    }
}
