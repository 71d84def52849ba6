//! Cisco's five factors: a longest frame each way, the cable, the transceivers, the reaction.
//!
//! The published example (10 Gb/s, 9216 octets, 300 m) adds up four of the five factors that it
//! lists: the reaction of 60 quanta is missing. Both sums are here, [`Sum::AsPrinted`] and
//! [`Sum::Complete`]. It also counts the cable one way, where the standard counts both.
//!
//! Octets are the unit of the publication: what 100 m of cable hold is cut to whole octets (641
//! for 513 ns at 10 Gb/s) before it is multiplied by the length.

use super::{Estimate, Model, ModelError, delay, frame, length, per_metre};
use crate::headroom::delay::Term;
use crate::time::Duration;
use crate::units::{BitsPerSec, Bytes};

/// Which sum of the factors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sum {
    /// The four that are added up in print.
    #[default]
    AsPrinted,
    /// All five that are listed.
    Complete,
}

/// What the factors depend on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inputs {
    /// The link's rate.
    pub rate: BitsPerSec,
    /// The cable's length, one way, in millimetres. At most 1000 km.
    pub length_mm: u64,
    /// How long a signal takes for one metre, in picoseconds. 3,300 to 100,000.
    pub ps_per_metre: u64,
    /// The longest frame of both ends. 64 to 65535 octets.
    pub max_frame: Bytes,
    /// The latency of the transceivers in one direction. At most 1 s.
    pub transceiver: Duration,
    /// From the pause to the end of sending; `None` is what is published for the rate.
    pub reaction: Option<Duration>,
    /// Whether the cable counts both ways, as the standard has it.
    pub both_ways: bool,
    /// Which sum.
    pub sum: Sum,
}

impl Inputs {
    /// 513 ns for 100 m of single-mode fibre, as printed; 100 m of copper take 476 ns.
    pub const PS_PER_METRE: u64 = 5_130;
    /// 9216 octets, as printed.
    pub const MAX_FRAME: Bytes = Bytes(9_216);
    /// 512 ns, which is 640 octets at 10 Gb/s, as printed.
    pub const TRANSCEIVER: Duration = Duration::from_nanos(512);

    /// The published assumptions.
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

/// The quanta that 802.3 31B.3.7 allows between a pause and the end of sending, as Cisco quotes
/// it; 200G is 31B's own, which the quotation does not have, and more than 400G an assumption.
const fn reaction_quanta(rate: BitsPerSec) -> Option<u64> {
    Some(match rate.get() {
        10_000_000_000 => 60,
        25_000_000_000 => 80,
        40_000_000_000 => 118,
        100_000_000_000 => 394,
        200_000_000_000 => 453,
        400_000_000_000 => 905,
        // Assumed: the time of 400G.
        800_000_000_000 => 2 * 905,
        1_600_000_000_000 => 4 * 905,
        _ => return None,
    })
}

/// Source of the reaction.
const fn reaction_source(rate: BitsPerSec) -> &'static str {
    match rate.get() {
        800_000_000_000 | 1_600_000_000_000 => "assumed: the time of 400G by 802.3 31B.3.7",
        _ => "802.3 31B.3.7",
    }
}

/// The octets that pass in `ps` picoseconds, and the rest of one.
fn octets_in(rate: BitsPerSec, ps: u64) -> (u64, bool) {
    let bits = u128::from(rate.get()) * u128::from(ps);
    let octet = 8 * 1_000_000_000_000;
    ((bits / octet) as u64, bits % octet > 0)
}

/// What the reaction takes, in octets.
fn reaction(inputs: &Inputs) -> Result<u64, ModelError> {
    if let Some(given) = inputs.reaction {
        let (whole, rest) = octets_in(inputs.rate, delay("reaction-delay", given)?);
        return Ok(whole + u64::from(rest));
    }
    let quanta = reaction_quanta(inputs.rate).ok_or(ModelError::NoReaction(inputs.rate))?;
    Ok(quanta * 512 / 8)
}

/// The sum of the factors, with both sums as figures where the reaction is known.
///
/// # Errors
/// An input out of its range, or a complete sum at a rate whose reaction is not published.
pub fn estimate(inputs: &Inputs) -> Result<Estimate, ModelError> {
    const PRINTED: &str = "Cisco, five factors";
    let max_frame = frame("max-frame", inputs.max_frame)?;
    let ways = if inputs.both_ways { 2 } else { 1 };
    let (hundred_metres, _) = octets_in(inputs.rate, per_metre(inputs.ps_per_metre)? * 100);
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
        Err(ModelError::NoReaction(_)) if inputs.sum == Sum::AsPrinted => {}
        Err(error) => return Err(error),
    }
    let formula = match inputs.sum {
        Sum::AsPrinted => "2 x longest frame + cable + 2 x transceivers (the reaction left out)",
        Sum::Complete => "2 x longest frame + cable + 2 x transceivers + reaction",
    };
    Ok(Estimate { model: Model::Cisco, formula, terms, figures })
}
