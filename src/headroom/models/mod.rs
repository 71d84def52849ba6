//! The headroom of a link by every model in use: the standard's, Cisco's, SONiC's, and that of
//! NVIDIA's NIC driver.
//!
//! Each module has the inputs of one model with its published defaults, and `estimate`, a pure
//! function of them. An [`Estimate`] keeps every term by name, so that models can be compared term
//! by term. `bytes` is always the same question: how many octets may still arrive after XOFF.
//!
//! Terms are whole bits. Where a model has fractions, the sum is rounded up once, as a whole, and
//! terms are cut so that they add up to it.

pub mod cisco;
pub mod ieee;
pub mod mlx5;
pub mod sonic;

use core::fmt;

use thiserror::Error;

use super::delay::Term;
use super::phy::{InterfaceError, Phy};
use super::required::packed;
use crate::time::Duration;
use crate::units::{BitsPerSec, Bytes};

/// The shortest and the longest frame that a model is asked about, in octets.
const FRAME_OCTETS: core::ops::RangeInclusive<u64> = 64..=65_535;
/// The longest cable, in millimetres: 1000 km.
const LENGTH_MM_MAX: u64 = 1_000_000_000;

/// A way to reckon headroom.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Model {
    /// The delay value of 802.1Q Annex N.
    Ieee,
    /// Cisco's five factors.
    Cisco,
    /// SONiC's dynamic buffer model.
    Sonic,
    /// The driver of NVIDIA's (Mellanox's) ConnectX NICs in Linux.
    Mlx5,
}

impl Model {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Ieee, Self::Cisco, Self::Sonic, Self::Mlx5];
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ieee => "ieee",
            Self::Cisco => "cisco",
            Self::Sonic => "sonic",
            Self::Mlx5 => "mlx5",
        })
    }
}

/// What a model says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Estimate {
    /// The model that says it.
    pub model: Model,
    /// The model's sum, as a formula of its terms.
    pub formula: &'static str,
    /// The sum's terms.
    pub terms: Vec<Term>,
    /// What else the model gives, in octets, by its own names.
    pub figures: Vec<(&'static str, Bytes)>,
}

impl Estimate {
    /// The sum of the terms in bits.
    #[must_use]
    pub fn bits(&self) -> u64 {
        Term::sum(&self.terms)
    }

    /// The sum in octets, rounded up.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        Bytes(self.bits().div_ceil(8))
    }

    /// How many cells of `cell` octets (1 and more) hold that many octets.
    #[must_use]
    pub fn cells(&self, cell: u32) -> u64 {
        self.bytes().0.div_ceil(u64::from(cell))
    }

    /// Adds what frames of up to `max_frame` octets, of the length that wastes most, leave unused of
    /// cells of `cell` octets (1 and more): the sum is whole cells then.
    pub fn pack(&mut self, max_frame: Bytes, cell: u32) {
        self.terms.push(packed(&self.terms, max_frame, cell));
    }
}

/// Why a model has no answer.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ModelError {
    /// An input out of its range.
    #[error("must be {range}")]
    Range {
        /// The input.
        field: &'static str,
        /// What is possible.
        range: &'static str,
    },
    /// No delay table of 802.3 has this rate.
    #[error(
        "no delay table of 802.3 has {0}: choose 10G, 25G, 40G, 100G, 200G, 400G, 800G or 1.6T, or say \
         phy none and the interface delay"
    )]
    NoTable(BitsPerSec),
    /// The PHY runs at another rate than the link.
    #[error("{phy} runs at {}, but the link's rate is {rate}: {}", phy.rate(), phys_of(*rate))]
    OtherRate {
        /// The PHY.
        phy: Phy,
        /// The link's rate.
        rate: BitsPerSec,
    },
    /// An option that the PHY does not have.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// No reaction time is published for this rate.
    #[error(
        "no reaction time is published for {0}: say the reaction delay, or leave `complete` out"
    )]
    NoReaction(BitsPerSec),
    /// The buffer cannot hold what it must.
    #[error("{size} is too small: the headroom, a longest frame and a cell need {needed}")]
    Buffer {
        /// The buffer.
        size: Bytes,
        /// The least that would do.
        needed: Bytes,
    },
    /// The port's groups need more than a port may have.
    #[error("{max} is too small: the port's groups come to {needed}, which must be less")]
    Port {
        /// The most.
        max: Bytes,
        /// What they come to.
        needed: Bytes,
    },
}

impl ModelError {
    /// The input that is wrong, by its name in the inputs.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        match self {
            Self::Range { field, .. } => field,
            Self::NoTable(_) | Self::NoReaction(_) => "rate",
            Self::OtherRate { .. } => "phy",
            Self::Interface(InterfaceError::Fec { .. }) => "fec",
            Self::Interface(InterfaceError::Extender { .. }) => "extender",
            Self::Buffer { .. } => "buffer",
            Self::Port { .. } => "max-headroom",
        }
    }
}

/// The PHYs of a rate, for messages.
fn phys_of(rate: BitsPerSec) -> String {
    let names: Vec<_> =
        Phy::ALL.iter().filter(|phy| phy.rate() == rate).map(ToString::to_string).collect();
    match &names[..] {
        [] => "that rate has none in the delay tables".into(),
        _ => format!("choose {}", names.join(" or ")),
    }
}

/// The octets of a frame, if a frame can have them.
fn frame(field: &'static str, octets: Bytes) -> Result<u64, ModelError> {
    let range = "64 to 65535 octets";
    let fits = FRAME_OCTETS.contains(&octets.0);
    if fits { Ok(octets.0) } else { Err(ModelError::Range { field, range }) }
}

/// A delay, if any buffer could hold what arrives in it.
fn delay(field: &'static str, delay: Duration) -> Result<u64, ModelError> {
    let range = "at most a second; no buffer holds more";
    let fits = delay <= Duration::from_secs(1);
    if fits { Ok(delay.as_picos()) } else { Err(ModelError::Range { field, range }) }
}

/// A cable's length in millimetres, if PFC can span it.
fn length(mm: u64) -> Result<u64, ModelError> {
    let range = "at most 1000 km";
    let fits = mm <= LENGTH_MM_MAX;
    if fits { Ok(mm) } else { Err(ModelError::Range { field: "length", range }) }
}

/// What a signal takes for a metre, in picoseconds, if anything is that slow.
fn per_metre(ps: u64) -> Result<u64, ModelError> {
    let range = "more than 3.3 ns, which is the speed of light, and at most 100 ns";
    let fits = (3_300..=100_000).contains(&ps);
    if fits { Ok(ps) } else { Err(ModelError::Range { field: "delay-per-metre", range }) }
}

/// A sum of fractions over one denominator, whose terms are whole bits and add up to the sum
/// rounded up.
struct Exact {
    /// What the numerators are fractions of.
    denominator: u128,
    numerator: u128,
    terms: Vec<Term>,
}

impl Exact {
    const fn over(denominator: u128) -> Self {
        Self { denominator, numerator: 0, terms: Vec::new() }
    }

    /// Adds `numerator / denominator` bits.
    fn add(&mut self, name: &'static str, numerator: u128, source: &'static str) {
        let before = self.numerator.div_ceil(self.denominator);
        self.numerator += numerator;
        let bits = (self.numerator.div_ceil(self.denominator) - before) as u64;
        self.terms.push(Term::new(name, bits, source));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_add_up_to_the_sum_rounded_up_once() {
        let mut sum = Exact::over(3);
        for n in [1, 1, 2] {
            sum.add("third", n, "test");
        }
        // 4/3 of a bit are 2 bits; each rounded up alone would be 3.
        assert_eq!(Term::sum(&sum.terms), 2);
    }

    #[test]
    fn what_short_frames_waste_of_cells_is_a_term() {
        let terms = vec![Term::new("all", 8 * 1_000 + 1, "test")];
        let mut e = Estimate { model: Model::Ieee, formula: "", terms, figures: vec![] };
        assert_eq!((e.bytes(), e.cells(208)), (Bytes(1_001), 5));
        // A frame of 64 octets has a cell for every 84 octets of the line.
        e.pack(Bytes(1_500), 208);
        assert_eq!((e.bytes(), e.cells(208)), (Bytes(12 * 208), 12));
    }
}
