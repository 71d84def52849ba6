//! Headroom of a link that was measured, by either method of the P802.1Qdt proposals.
//!
//! [`measured`] takes the round trip of the request/response measurement (Qdt, S4):
//! `(t2 + reaction + peer's shim) - (t1 - invocation - PFC frame - own shim) + (t4 - t3) + 2 *
//! longest frame`. Its points lie above the MAC and mark last bits, so the delay of interfaces and
//! MACsec is in the measured part, and the serialization time of frames is not.
//!
//! [`by_peer_delay`] takes PTP's delay of the medium and adds the internal delays of both ends.
//!
//! [`Effect`] is that of an error of a measured delay on the headroom: the accuracy analysis of the
//! proposal (Qdt, S1), for any link and any error.

use serde::Serialize;

use super::delay::{DelayValue, Frames, Term, bits_in};
use ground::named;
use ground::time::Duration;
use ground::units::{BitsPerSec, Quanta};
use wire::headroom::Adjustment;

/// Source of the formulas.
const DRAFT: &str = "P802.1Qdt proposal";

/// Name of the term that limits what negative times take off; see [`is_limited`].
const LIMIT: &str = "limit of negative times";

/// Returns true if an adjustment or the peer's reaction takes off more than all delays of the link, so
/// that only the frames of the sum are left.
#[must_use]
pub fn is_limited(value: &DelayValue) -> bool {
    value.terms.iter().any(|term| term.name == LIMIT)
}

/// Delays of MACsec that the measured messages do not meet (the shim layers of the proposal). At
/// most 1 s each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shims {
    /// Transmit delay in the port that pauses, which the PFC frame meets.
    pub local: Duration,
    /// Delay in its peer (`r_tx_shim` of the formula). The name says its transmit layer, from which
    /// frames still come after the pause; the PFC frame itself meets the receive layer. Both
    /// readings can be configured.
    pub remote: Duration,
}

named! {
    /// Reading of the delay value of the request/response measurement.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Formula {
        /// The round trip without the turnaround, and the reaction and the shims of the peer (S4).
        #[default]
        Full = "full",
        /// t4 - t1 (S1): the turnaround of a request stands for the reaction to a pause.
        Short = "short",
    }
}

/// The peer's reaction to a pause: the time from its reception until the peer starts no further
/// frame, with its adjustment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reaction {
    picos: i64,
    source: &'static str,
}

impl Reaction {
    /// Creates a reaction that was configured here. At most 1 s.
    #[must_use]
    pub fn configured(time: Duration) -> Self {
        let picos = i64::try_from(time.as_picos()).expect("at most a second");
        Self { picos, source: DRAFT }
    }

    /// Creates a reaction that the peer states, in whole nanoseconds. If it is `configured` rounded
    /// up to them, that is used.
    #[must_use]
    pub fn told(told: Adjustment, source: &'static str, configured: Duration) -> Self {
        let picos = match Adjustment::at_least(configured) {
            // The peer rounds up to nanoseconds; where both say the same, the exact time is known.
            Some(rounded) if rounded == told => Self::configured(configured).picos,
            _ => i64::from(told.nanos()) * 1_000,
        };
        Self { picos, source }
    }
}

/// What every method adds to the delay that it measured: the two ends of the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkEnds {
    /// Link rate.
    pub rate: BitsPerSec,
    /// Adjustment of this port for the difference between the paths of MAC data and MAC control
    /// frames.
    pub adjustment: Adjustment,
    /// Time from the crossing of the threshold until the PFC frame is passed to the MAC, behind a
    /// frame that may have been begun. At most 1 s.
    pub invocation: Duration,
    /// MACsec delays, if frames are protected.
    pub shims: Option<Shims>,
    /// Frame parameters of the link; with MACsec including its overhead.
    pub frames: Frames,
}

impl LinkEnds {
    /// Returns the sum of what a method measured and of the ends. `shims_measured` stands for both
    /// MACsec shims.
    fn around(
        &self,
        shims_measured: Option<Duration>,
        measured: impl IntoIterator<Item = Term>,
    ) -> DelayValue {
        let Self { rate, frames, .. } = *self;
        let mut terms = vec![
            // In the order of the formula (S4): invocation, PFC frame, both ways, reaction, longest frame.
            bits("frame begun before the PFC frame", frames.longest()),
            span("invocation of the PFC frame", rate, self.invocation, DRAFT),
        ];
        match (self.shims, shims_measured) {
            (Some(_), Some(both)) => {
                // The PFC frame has the octets of its protection already.
                let octets = frames.pfc() - frames.plain().pfc();
                let bits = bits_in(rate, both.as_picos()).saturating_sub(octets);
                let source = "measured, protected and plain";
                terms.push(Term::new("MACsec shims of both ends", bits, source));
            }
            (Some(shims), None) => {
                terms.push(span("MACsec shim of this port", rate, shims.local, DRAFT));
            }
            (None, _) => {}
        }
        terms.push(bits("PFC frame", frames.pfc()));
        terms.extend(measured);
        if let (Some(shims), None) = (self.shims, shims_measured) {
            terms.push(span("MACsec shim of the peer", rate, shims.remote, DRAFT));
        }
        terms.extend(adjustment(rate, self.adjustment));
        terms.push(bits("frame begun by the peer", frames.longest()));
        // A delay is never below zero, whatever signed times say: the frames arrive in any case.
        let least = i64::try_from(2 * frames.longest() + frames.pfc()).expect("three frames");
        let missing = least - terms.iter().map(|term| term.bits).sum::<i64>();
        if missing > 0 {
            terms.push(Term::new(LIMIT, missing.unsigned_abs(), "a delay is not below zero"));
        }
        DelayValue { terms }
    }
}

/// Inputs of the headroom of a measured link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MeasuredInputs {
    /// Both ends of the link.
    pub ends: LinkEnds,
    /// Reading of the delay value.
    pub formula: Formula,
    /// The measured `(t2 - t1) + (t4 - t3)`, or `t4 - t1` for the short form.
    pub round_trip: Duration,
    /// The peer's reaction; not used by the short form.
    pub reaction: Reaction,
    /// Delay of MACsec that a protected frame met on its way to the peer, which stands for both shims.
    pub shims_measured: Option<Duration>,
}

/// Calculates the headroom of a link from its measured round trip.
#[must_use]
pub fn measured(inputs: &MeasuredInputs) -> DelayValue {
    let rate = inputs.ends.rate;
    let of_link = match inputs.formula {
        Formula::Full => {
            let Reaction { picos, source } = inputs.reaction;
            let source_of_link = "measured, request and response";
            vec![
                span("round trip", rate, inputs.round_trip, source_of_link),
                signed("reaction of the peer", rate, picos, source),
            ]
        }
        // S1: t4 - t1 stands for both directions and for the reaction.
        Formula::Short => {
            vec![span("t4 - t1", rate, inputs.round_trip, "measured, with the peer's turnaround")]
        }
    };
    inputs.ends.around(inputs.shims_measured, of_link)
}

/// Term of an adjustment, if there is one.
fn adjustment(rate: BitsPerSec, adjustment: Adjustment) -> Option<Term> {
    let picos = i64::from(adjustment.nanos()) * 1_000;
    (picos != 0).then(|| signed("adjustment of this port", rate, picos, "configured"))
}

/// Term of a signed time. Rounded up, so a negative one takes off no more than it is.
fn signed(name: &'static str, rate: BitsPerSec, picos: i64, source: &'static str) -> Term {
    let size = picos.unsigned_abs();
    if picos >= 0 {
        return Term::new(name, bits_in(rate, size), source);
    }
    let whole = u128::from(size) * u128::from(rate.get()) / 1_000_000_000_000;
    let Term { bits, .. } = Term::new(name, u64::try_from(whole).unwrap_or(u64::MAX), source);
    Term { name, bits: -bits, source }
}

/// Inputs of the headroom of a link whose medium PTP has measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeerDelayInputs {
    /// Both ends of the link.
    pub ends: LinkEnds,
    /// Mean path delay, one way.
    pub path: Duration,
    /// Internal delay of this port's interface, transmit and receive together. At most 1 s.
    pub own_internal: Duration,
    /// Internal delay advertised by the peer: its interface, transmit and receive together, and its
    /// reaction. At most 1 s.
    pub peer_internal: Duration,
}

/// Calculates the headroom of a link whose medium PTP has measured.
#[must_use]
pub fn by_peer_delay(inputs: &PeerDelayInputs) -> DelayValue {
    let rate = inputs.ends.rate;
    // PTP measures the mean of both directions.
    let path = inputs.path.saturating_mul(2);
    let of_link = [
        span("medium both ways", rate, path, "measured, PTP peer delay"),
        span("internal delay of this port", rate, inputs.own_internal, "configured"),
        span("internal delay of the peer", rate, inputs.peer_internal, "as the peer says by DCBX"),
    ];
    inputs.ends.around(None, of_link)
}

/// Term of a time.
fn span(name: &'static str, rate: BitsPerSec, time: Duration, source: &'static str) -> Term {
    Term::new(name, bits_in(rate, time.as_picos()), source)
}

fn bits(name: &'static str, bits: u64) -> Term {
    Term::new(name, bits, DRAFT)
}

/// Uncertainty of a time in units of the link. The proposal requires accuracy to be stated, and not
/// in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Accuracy {
    /// In pause quanta of the link.
    pub quanta: f64,
    /// In longest frames on the line.
    pub max_frames: f64,
}

impl Accuracy {
    /// Converts `uncertainty` for a link of `rate` that carries `frames`.
    #[must_use]
    pub fn of(uncertainty: Duration, rate: BitsPerSec, frames: Frames) -> Self {
        let in_units =
            |unit: Duration| uncertainty.as_picos() as f64 / unit.as_picos().max(1) as f64;
        Self {
            quanta: in_units(Quanta(1).at(rate)),
            max_frames: in_units(rate.time_for_bits(frames.longest())),
        }
    }
}

/// Effect of an error on a headroom.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Effect {
    /// Bits that the link carries in the time of the error, rounded up.
    pub bits: u64,
    /// The same in bytes, rounded up.
    pub bytes: u64,
    /// Cells that the headroom takes more with the error added; 0 if the last cell absorbs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cells: Option<u64>,
    /// Error in percent of the headroom.
    pub percent: f64,
    /// Error in the units that the proposal asks for.
    #[serde(flatten)]
    pub accuracy: Accuracy,
}

impl Effect {
    /// Returns the effect of `error` on a headroom of `headroom_bits` (1 or more) of a link of
    /// `rate` that carries `frames`, in a buffer with cells of `cell` bytes (1 or more).
    #[must_use]
    pub fn of(
        error: Duration,
        rate: BitsPerSec,
        frames: Frames,
        headroom_bits: u64,
        cell: Option<u32>,
    ) -> Self {
        assert!(headroom_bits > 0, "a headroom has at least one frame");
        let bits = bits_in(rate, error.as_picos());
        let cells = |cell: u32| {
            let cells_for = |bits: u64| bits.div_ceil(8).div_ceil(u64::from(cell));
            cells_for(headroom_bits + bits) - cells_for(headroom_bits)
        };
        Self {
            bits,
            bytes: bits.div_ceil(8),
            cells: cell.map(cells),
            percent: bits as f64 / headroom_bits as f64 * 100.0,
            accuracy: Accuracy::of(error, rate, frames),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::ieee::{Inputs, estimate};
    use crate::{DelayInputs, Interface, Phy};
    use ground::units::Bytes;

    const RATE: BitsPerSec = BitsPerSec::gbps(100);

    /// The link of the proposal's table: 100G, 5 ns per metre, 2000-byte frames.
    fn link(metres: u64) -> MeasuredInputs {
        let interfaces = Interface::plain(Phy::Base100R).delay().saturating_mul(2);
        MeasuredInputs {
            ends: ends(),
            formula: Formula::Full,
            round_trip: Duration::from_nanos(2 * 5 * metres) + interfaces,
            reaction: Reaction::configured(DelayInputs::HIGHER_LAYER),
            shims_measured: None,
        }
    }

    fn ends() -> LinkEnds {
        LinkEnds {
            rate: RATE,
            adjustment: Adjustment::default(),
            invocation: Duration::ZERO,
            shims: None,
            frames: Frames::up_to(DelayInputs::MAX_FRAME),
        }
    }

    /// PTP's measurement of that link.
    fn path(metres: u64) -> PeerDelayInputs {
        let interface = Interface::plain(Phy::Base100R).delay();
        PeerDelayInputs {
            ends: ends(),
            path: Duration::from_nanos(5 * metres),
            own_internal: interface,
            peer_internal: interface + DelayInputs::HIGHER_LAYER,
        }
    }

    #[test]
    fn the_measured_round_trip_gives_the_published_sums() {
        for (metres, octets) in [(20, 32_096), (100, 42_096), (500, 92_096)] {
            let value = measured(&link(metres));
            assert_eq!(value.bytes(), Bytes(octets), "{metres} m: {value}");
            let of = |name| value.terms.iter().find(|t| t.name == name).unwrap().bits;
            assert_eq!(of("round trip") as u64, metres * 1_000 + 2 * 71_168);
            assert_eq!(of("reaction of the peer"), 61_440);
        }
    }

    #[test]
    fn a_quantum_of_reaction_or_invocation_is_64_octets() {
        let (base, quantum) = (link(100), Quanta(1).at(RATE));
        for k in 0..100 {
            let more = quantum.saturating_mul(k);
            let reaction = Reaction::configured(DelayInputs::HIGHER_LAYER + more);
            let slow = MeasuredInputs { reaction, ..base };
            assert_eq!(measured(&slow).bytes(), Bytes(42_096 + 64 * k));
            let late = LinkEnds { invocation: more, ..ends() };
            let late = MeasuredInputs { ends: late, ..base };
            assert_eq!(measured(&late).bytes(), Bytes(42_096 + 64 * k));
        }
    }

    #[test]
    fn every_method_and_form_adds_all_of_both_ends() {
        let us = Duration::from_micros;
        let shims = Some(Shims { local: us(2), remote: us(4) });
        let adjustment = Adjustment::from_nanos(8_000).unwrap();
        let whole = LinkEnds { adjustment, invocation: us(1), shims, ..ends() };
        let sums = |ends: LinkEnds| {
            let full = MeasuredInputs { ends, ..link(100) };
            let short = MeasuredInputs { formula: Formula::Short, ..full };
            let by_path = by_peer_delay(&PeerDelayInputs { ends, ..path(100) });
            [measured(&full), measured(&short), by_path]
        };
        // 1 + 2 + 4 + 8 us: each is there, and once.
        for (with, without) in sums(whole).iter().zip(sums(ends())) {
            assert_eq!(with.bits() - without.bits(), 1_500_000, "{with}");
        }
    }

    #[test]
    fn both_shims_are_added_where_macsec_is_and_not_named_where_it_is_not() {
        let plain = measured(&link(100));
        assert!(plain.terms.iter().all(|t| !t.name.contains("MACsec")));
        let shims = Shims { local: Duration::from_nanos(80), remote: Duration::from_nanos(160) };
        let base = MeasuredInputs { ends: LinkEnds { shims: Some(shims), ..ends() }, ..link(100) };
        let with = measured(&base);
        // Measured, their sum is one term; without protection there is none.
        let both = Some(Duration::from_nanos(240));
        let found = measured(&MeasuredInputs { shims_measured: both, ..base });
        assert_eq!(found.bits(), with.bits());
        let named = found.terms.iter().filter(|term| term.name.contains("MACsec")).count();
        assert_eq!(named, 1);
        let plain = measured(&MeasuredInputs { shims_measured: both, ..link(100) });
        assert_eq!(plain.bits(), measured(&link(100)).bits());
        assert_eq!(with.bytes(), Bytes(42_096 + 1_000 + 2_000));
        assert_eq!(with.terms.len(), plain.terms.len() + 2);
    }

    #[test]
    fn the_short_form_has_the_turnaround_in_place_of_the_reaction() {
        let base = link(100);
        // A peer whose turnaround is as long as its reaction: both forms are the same.
        let elapsed = base.round_trip + DelayInputs::HIGHER_LAYER;
        let short = MeasuredInputs { formula: Formula::Short, round_trip: elapsed, ..base };
        assert_eq!(measured(&short).bytes(), measured(&base).bytes());
        let slow = Reaction::configured(Duration::from_micros(9));
        assert_eq!(measured(&MeasuredInputs { reaction: slow, ..short }), measured(&short));
        assert!(measured(&short).terms.iter().any(|t| t.name == "t4 - t1"));
    }

    #[test]
    fn what_the_peer_says_and_signed_adjustments_count() {
        let base = link(100);
        let ns = |n| Adjustment::from_nanos(n).unwrap();
        let says = |told| {
            let reaction = Reaction::told(ns(told), "test", DelayInputs::HIGHER_LAYER);
            measured(&MeasuredInputs { reaction, ..base }).bits()
        };
        // 614.4 ns are 615 on the wire, and 100 bits are a nanosecond.
        assert_eq!(says(615), measured(&base).bits());
        assert_eq!(says(616), measured(&base).bits() + 160);
        assert_eq!(says(-100), measured(&base).bits() - 61_440 - 10_000);
        let adjusted = |n| {
            let ends = LinkEnds { adjustment: ns(n), ..ends() };
            measured(&MeasuredInputs { ends, ..base })
        };
        assert_eq!(adjusted(50).bits(), measured(&base).bits() + 5_000);
        assert_eq!(adjusted(-50).bits(), measured(&base).bits() - 5_000);
        assert_eq!(adjusted(0), measured(&base));
        assert!(adjusted(-50).to_string().contains("- 625 B adjustment of this port"));
    }

    #[test]
    fn negative_times_take_off_no_more_than_the_delays() {
        let frames = 2 * ends().frames.longest() + ends().frames.pfc();
        for nanos in [-500_000_000, -1_000_000_000] {
            let adjustment = Adjustment::from_nanos(nanos).unwrap();
            let told = Reaction::told(adjustment, "test", DelayInputs::HIGHER_LAYER);
            let value = measured(&MeasuredInputs {
                ends: LinkEnds { adjustment, ..ends() },
                reaction: told,
                ..link(100)
            });
            assert!(is_limited(&value) && value.bits() == frames, "{value}");
        }
        assert!(!is_limited(&measured(&link(100))));
    }

    #[test]
    fn the_peer_delay_of_the_same_link_gives_the_same_sum() {
        for (metres, octets) in [(20, 32_096), (100, 42_096), (500, 92_096)] {
            let value = by_peer_delay(&path(metres));
            assert_eq!(value.bytes(), Bytes(octets), "{metres} m: {value}");
        }
    }

    #[test]
    fn accuracy_is_in_quanta_and_longest_frames() {
        // 100 ns are 10,000 bits at 100 Gb/s: 19.53 quanta, 0.619 frames of 2020 bytes.
        let of = Accuracy::of(Duration::from_nanos(100), RATE, ends().frames);
        assert!((of.quanta - 19.531_25).abs() < 1e-9, "{of:?}");
        assert!((of.max_frames - 10_000.0 / 16_160.0).abs() < 1e-5, "{of:?}");
        let none = Accuracy::of(Duration::ZERO, RATE, ends().frames);
        assert_eq!(none, Accuracy { quanta: 0.0, max_frames: 0.0 });
    }

    fn effect(metres: u64, error_ns: u64, cell: Option<u32>) -> Effect {
        let bits = estimate(&Inputs::new(RATE, metres * 1_000)).unwrap().bits();
        let frames = Frames::up_to(DelayInputs::MAX_FRAME);
        Effect::of(Duration::from_nanos(error_ns), RATE, frames, bits, cell)
    }

    /// All six rows of the table; the proposal gives its percentages with one digit.
    #[test]
    fn the_published_table_of_mismatches() {
        for (metres, error_ns, bytes, percent) in [
            (500, 10, 125, "0.1"),
            (500, 100, 1_250, "1"),
            (100, 10, 125, "0.3"),
            (100, 100, 1_250, "3"),
            (20, 10, 125, "0.4"),
            (20, 100, 1_250, "4"),
        ] {
            let effect = effect(metres, error_ns, None);
            let shown = match error_ns {
                10 => format!("{:.1}", effect.percent),
                _ => format!("{:.0}", effect.percent),
            };
            assert_eq!(
                (effect.bytes, shown.as_str()),
                (bytes, percent),
                "{metres} m {error_ns} ns"
            );
        }
    }

    #[test]
    fn an_error_takes_a_cell_only_if_the_last_one_has_no_room() {
        // 42096 bytes are 263.1 cells of 160: 144 bytes are free in the last one.
        assert_eq!(effect(100, 10, Some(160)).cells, Some(0));
        assert_eq!(effect(100, 11, Some(160)).cells, Some(0));
        assert_eq!(effect(100, 12, Some(160)).cells, Some(1));
        // 1250 bytes are 7.8 cells.
        assert_eq!(effect(100, 100, Some(160)).cells, Some(7));
        assert_eq!(effect(100, 0, Some(160)).cells, Some(0));
    }

    #[test]
    fn no_error_has_no_effect() {
        let none = effect(100, 0, None);
        assert_eq!((none.bits, none.bytes, none.percent), (0, 0, 0.0));
        assert_eq!((none.accuracy.quanta, none.cells), (0.0, None));
    }
}
