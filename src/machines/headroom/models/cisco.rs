//! Cisco's five factors: a longest frame each way, the cable, the transceivers, the reaction.
//!
//! The published example (10 Gb/s, 9216 bytes, 300 m) adds four of the five factors that it lists:
//! the reaction of 60 quanta is missing. Both sums are here, [`Sum::AsPrinted`] and
//! [`Sum::Complete`]. It also counts the cable one way, where the standard counts both.
//!
//! The unit of the publication is bytes: the bytes in 100 m of cable are truncated to a whole
//! number (641 for 513 ns at 10 Gb/s) before they are multiplied by the length.

use super::{Estimate, Model, ModelError, delay, frame, length, per_metre};
use crate::delay::Term;
use ground::time::Duration;
use ground::units::{BitsPerSec, Bytes};

/// Selection of the factors to add.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sum {
    /// The four that the publication adds.
    #[default]
    AsPrinted,
    /// All five that it lists.
    Complete,
}

/// Inputs of the factors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inputs {
    /// Link rate.
    pub rate: BitsPerSec,
    /// Cable length, one way, in millimetres. At most 1000 km.
    pub length_mm: u64,
    /// Propagation delay per metre, in picoseconds. 3,300 to 100,000.
    pub ps_per_metre: u64,
    /// Maximum frame size of both ends. 64 to 65535 bytes.
    pub max_frame: Bytes,
    /// Latency of the transceivers in one direction. At most 1 s.
    pub transceiver: Duration,
    /// Time from the pause to the end of sending; `None` for the published value of the rate.
    pub reaction: Option<Duration>,
    /// True to count the cable both ways, as the standard does.
    pub both_ways: bool,
    /// Factors to add.
    pub sum: Sum,
}

impl Inputs {
    /// 513 ns for 100 m of single-mode fibre, as printed; 100 m of copper take 476 ns.
    pub const PS_PER_METRE: u64 = 5_130;
    /// 9216 bytes, as printed.
    pub const MAX_FRAME: Bytes = Bytes(9_216);
    /// 512 ns, which is 640 bytes at 10 Gb/s, as printed.
    pub const TRANSCEIVER: Duration = Duration::from_nanos(512);

    /// Returns the published assumptions.
    #[must_use]
    pub const fn new(rate: BitsPerSec, length_mm: u64) -> Self {
        Self {
            rate,
            length_mm,
            ps_per_metre: Self::PS_PER_METRE,
            max_frame: Self::MAX_FRAME,
            transceiver: Self::TRANSCEIVER,
            reaction: None,
            both_ways: false,
            sum: Sum::AsPrinted,
        }
    }
}

/// Returns the quanta that 802.3 31B.3.7 allows between a pause and the end of sending, as quoted
/// by Cisco; 200G is from 31B itself, missing in the quotation, and above 400G is an assumption.
const fn reaction_quanta(rate: BitsPerSec) -> Option<u64> {
    Some(match rate.get() {
        10_000_000_000 => 60,
        25_000_000_000 => 80,
        40_000_000_000 => 118,
        100_000_000_000 => 394,
        200_000_000_000 => 453,
        400_000_000_000 => 905,
        // Assumed: the same time as at 400G.
        800_000_000_000 => 2 * 905,
        1_600_000_000_000 => 4 * 905,
        _ => return None,
    })
}

/// Returns the source of the reaction time.
const fn reaction_source(rate: BitsPerSec) -> &'static str {
    match rate.get() {
        800_000_000_000 | 1_600_000_000_000 => "assumed: the time of 400G by 802.3 31B.3.7",
        _ => "802.3 31B.3.7",
    }
}

/// Returns the whole bytes in `ps` picoseconds, and true if there is a remainder.
fn octets_in(rate: BitsPerSec, ps: u64) -> (u64, bool) {
    let bits = u128::from(rate.get()) * u128::from(ps);
    let octet = 8 * 1_000_000_000_000;
    ((bits / octet) as u64, bits % octet > 0)
}

/// Returns the reaction in bytes.
fn reaction(inputs: &Inputs) -> Result<u64, ModelError> {
    if let Some(given) = inputs.reaction {
        let (whole, rest) = octets_in(inputs.rate, delay("reaction-delay", given)?);
        return Ok(whole + u64::from(rest));
    }
    let quanta = reaction_quanta(inputs.rate).ok_or(ModelError::NoReaction(inputs.rate))?;
    Ok(quanta * 512 / 8)
}

/// Calculates the sum of the factors, with both sums as figures if the reaction is known.
///
/// # Errors
/// If an input is out of its range, or the complete sum is selected at a rate without a published
/// reaction.
pub fn estimate(inputs: &Inputs) -> Result<Estimate, ModelError> {
    const PRINTED: &str = "Cisco, five factors";
    let max_frame = frame("max-frame", inputs.max_frame)?;
    let ways = if inputs.both_ways { 2 } else { 1 };
    let (hundred_metres, _) = octets_in(inputs.rate, per_metre(inputs.ps_per_metre)? * 100);
    // Whole bytes per 100 m times millimetres, as the publication calculates.
    let cable = u128::from(hundred_metres) * u128::from(length(inputs.length_mm)?) * ways;
    let (whole, rest) = octets_in(inputs.rate, delay("transceiver-delay", inputs.transceiver)?);
    let transceiver = whole + u64::from(rest);
    let octets = |name, octets: u64, source| Term::new(name, octets * 8, source);
    let mut terms = vec![
        octets("longest frame of the receiver", max_frame, PRINTED),
        octets("cable", cable.div_ceil(100_000) as u64, "whole octets per 100 m"),
        octets("transceivers, both directions", 2 * transceiver, PRINTED),
        octets("longest frame of the sender", max_frame, PRINTED),
    ];
    let printed = Term::sum(&terms) / 8;
    let mut figures = vec![("as_printed", Bytes(printed))];
    match reaction(inputs) {
        Ok(reaction) => {
            figures.push(("complete", Bytes(printed + reaction)));
            if inputs.sum == Sum::Complete {
                terms.push(octets(
                    "reaction of the sender",
                    reaction,
                    reaction_source(inputs.rate),
                ));
            }
        }
        // The printed sum does without it.
        Err(ModelError::NoReaction(_)) if inputs.sum == Sum::AsPrinted => {}
        Err(error) => return Err(error),
    }
    let formula = match inputs.sum {
        Sum::AsPrinted => "2 x longest frame + cable + 2 x transceivers (the reaction left out)",
        Sum::Complete => "2 x longest frame + cable + 2 x transceivers + reaction",
    };
    Ok(Estimate { model: Model::Cisco, formula, terms, figures })
}
