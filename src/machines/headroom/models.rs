//! Headroom of a link by every model in use: the standard's, Cisco's, SONiC's, and that of NVIDIA's
//! NIC driver.
//!
//! Each module has the inputs of one model with its published defaults, and `estimate`, a pure
//! function of them. An [`Estimate`] has every term by name, so that models can be compared term by
//! term. `bytes` has the same meaning in all: the bytes that may still arrive after XOFF.
//!
//! [`reach`] is the inverse of [`ieee`]: the longest cable for a headroom. It searches for the length with
//! [`ieee::estimate`] itself, so that it is exact and cannot differ from the sum that configurations are
//! validated with.
//!
//! Terms are whole bits. If a model has fractions, the sum is rounded up once, as a whole, and
//! terms are truncated so that they add up to it.

pub mod cisco;
pub mod ieee;
pub mod mlx5;
pub mod sonic;

use core::fmt;

use thiserror::Error;

use super::delay::Term;
use super::phy::{InterfaceError, Phy};
use super::required::packed;
use ground::named;
use ground::time::Duration;
use ground::units::{BitsPerSec, Bytes};

/// Range of frame sizes in bytes.
const FRAME_OCTETS: core::ops::RangeInclusive<u64> = 64..=65_535;
/// Maximum cable length, in millimetres: 1000 km.
const LENGTH_MM_MAX: u64 = 1_000_000_000;

named! {
    /// A model of headroom.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
    pub enum Model {
        /// Delay value of IEEE 802.1Q Annex N.
        Ieee = "ieee",
        /// Cisco's five factors.
        Cisco = "cisco",
        /// SONiC's dynamic buffer model.
        Sonic = "sonic",
        /// The driver of NVIDIA's ConnectX NICs.
        Mlx5 = "mlx5",
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Result of a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Estimate {
    /// Model of this result.
    pub model: Model,
    /// Formula of the sum.
    pub formula: &'static str,
    /// Terms of the sum.
    pub terms: Vec<Term>,
    /// Other results of the model in bytes, by the model's names.
    pub figures: Vec<(&'static str, Bytes)>,
}

impl Estimate {
    /// Returns the sources of values that are assumed, because no table has them.
    #[must_use]
    pub fn assumed(&self) -> Vec<&'static str> {
        let sources = self.terms.iter().map(|term| term.source);
        let mut assumed: Vec<_> = sources.filter(|source| source.starts_with("assumed")).collect();
        assumed.dedup();
        assumed
    }

    /// Returns the sum of the terms in bits.
    #[must_use]
    pub fn bits(&self) -> u64 {
        Term::sum(&self.terms)
    }

    /// Returns the sum in bytes, rounded up.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        Bytes(self.bits().div_ceil(8))
    }

    /// Returns the number of cells of `cell` bytes (1 or more) for that many bytes.
    #[must_use]
    pub fn cells(&self, cell: u32) -> u64 {
        self.bytes().0.div_ceil(u64::from(cell))
    }

    /// Adds the unused space in cells of `cell` bytes (1 or more) for frames of up to `max_frame`
    /// bytes, of the most wasteful size: the sum is then whole cells.
    pub fn pack(&mut self, max_frame: Bytes, cell: u32) {
        self.terms.push(packed(&self.terms, max_frame, cell));
    }
}

/// Error of a model.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum ModelError {
    /// An input is out of its range.
    #[error("must be {range}")]
    Range {
        /// Name of the input.
        field: &'static str,
        /// Valid range.
        range: &'static str,
    },
    /// No delay table of 802.3 has this rate.
    #[error(
        "no delay table of 802.3 has {0}: choose 10G, 25G, 40G, 100G, 200G, 400G, 800G or 1.6T, or say \
         phy none and the interface delay"
    )]
    NoTable(BitsPerSec),
    /// The PHY has another rate than the link.
    #[error("{phy} runs at {}, but the link's rate is {rate}: {}", phy.rate(), phys_of(*rate))]
    OtherRate {
        /// Selected PHY.
        phy: Phy,
        /// Link rate.
        rate: BitsPerSec,
    },
    /// The PHY does not have the option.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// No reaction time is published for this rate.
    #[error(
        "no reaction time is published for {0}: say the reaction delay, or leave `complete` out"
    )]
    NoReaction(BitsPerSec),
    /// The buffer is too small.
    #[error("{size} is too small: the headroom, a longest frame and a cell need {needed}")]
    Buffer {
        /// Size of the buffer.
        size: Bytes,
        /// Minimum size.
        needed: Bytes,
    },
    /// The port's groups need more than the maximum of a port.
    #[error("{max} is too small: the port's groups take {needed}, which must be less")]
    Port {
        /// Maximum of a port.
        max: Bytes,
        /// Total of its groups.
        needed: Bytes,
    },
}

impl ModelError {
    /// Returns the name of the invalid input.
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

/// Returns the PHYs of a rate, for messages.
fn phys_of(rate: BitsPerSec) -> String {
    let names: Vec<_> =
        Phy::ALL.iter().filter(|phy| phy.rate() == rate).map(ToString::to_string).collect();
    match &names[..] {
        [] => "that rate has none in the delay tables".into(),
        _ => format!("choose {}", names.join(" or ")),
    }
}

/// Returns the bytes of a frame, if in range.
fn frame(field: &'static str, octets: Bytes) -> Result<u64, ModelError> {
    let range = "64 to 65535 octets";
    let fits = FRAME_OCTETS.contains(&octets.0);
    if fits { Ok(octets.0) } else { Err(ModelError::Range { field, range }) }
}

/// Returns a delay in picoseconds, if a buffer could absorb it.
fn delay(field: &'static str, delay: Duration) -> Result<u64, ModelError> {
    let range = "at most a second; no buffer holds more";
    let fits = delay <= Duration::from_secs(1);
    if fits { Ok(delay.as_picos()) } else { Err(ModelError::Range { field, range }) }
}

/// Returns a cable length in millimetres, if in range of PFC.
fn length(mm: u64) -> Result<u64, ModelError> {
    let range = "at most 1000 km";
    let fits = mm <= LENGTH_MM_MAX;
    if fits { Ok(mm) } else { Err(ModelError::Range { field: "length", range }) }
}

/// Returns the propagation delay per metre in picoseconds, if plausible.
fn per_metre(ps: u64) -> Result<u64, ModelError> {
    let range = "more than 3.3 ns, which is the speed of light, and at most 100 ns";
    let fits = (3_300..=100_000).contains(&ps);
    if fits { Ok(ps) } else { Err(ModelError::Range { field: "delay-per-metre", range }) }
}

/// A sum of fractions with one denominator, whose terms are whole bits and add up to the sum
/// rounded up.
struct Exact {
    /// Common denominator.
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
        // A term is the growth of the rounded sum, so that the terms add up to it.
        let before = self.numerator.div_ceil(self.denominator);
        self.numerator += numerator;
        let bits = (self.numerator.div_ceil(self.denominator) - before) as u64;
        self.terms.push(Term::new(name, bits, source));
    }
}

/// Cable length that a headroom suffices for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// No cable: with a length of 0 the link needs more.
    None {
        /// Headroom of the link without a cable.
        needed: Bytes,
    },
    /// Cables of up to this length.
    UpTo {
        /// Length, one way, in millimetres.
        length_mm: u64,
    },
    /// All lengths that the models accept, 1000 km.
    Unlimited,
}

/// Returns the longest cable with which a link of `inputs`, whose own length is not used, needs no
/// more than `headroom`.
///
/// # Errors
/// If another input is out of its range.
pub fn reach(inputs: &ieee::Inputs, headroom: Bytes) -> Result<Reach, ModelError> {
    let needs = |length_mm| {
        ieee::estimate(&ieee::Inputs { length_mm, ..*inputs }).map(|estimate| estimate.bytes())
    };
    let needed = needs(0)?;
    if needed > headroom {
        return Ok(Reach::None { needed });
    }
    if needs(LENGTH_MM_MAX)? <= headroom {
        return Ok(Reach::Unlimited);
    }
    // The sum never falls with the length: `fits` suffices and `too_long` does not.
    let (mut fits, mut too_long) = (0, LENGTH_MM_MAX);
    while too_long - fits > 1 {
        let middle = fits + (too_long - fits) / 2;
        if needs(middle)? <= headroom {
            fits = middle;
        } else {
            too_long = middle;
        }
    }
    Ok(Reach::UpTo { length_mm: fits })
}

#[cfg(test)]
mod tests {
    use super::ieee::{Buffer, Inputs, Macsec};
    use super::*;
    use crate::{Extender, Fec, SoftwareTerms};
    use proptest::prelude::*;

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
        // A 64-byte frame uses a cell for every 84 bytes on the line.
        e.pack(Bytes(1_500), 208);
        assert_eq!((e.bytes(), e.cells(208)), (Bytes(12 * 208), 12));
    }

    fn of(rate: u64, fec: Fec, headroom: u64) -> Reach {
        let link = Inputs::new(BitsPerSec::gbps(rate), 0).on(None, fec, Extender::None).unwrap();
        reach(&link, Bytes(headroom)).unwrap()
    }

    /// The published table backwards: 92, 42 and 32 KB are for 500, 100 and 20 m of 100G.
    #[test]
    fn the_published_headrooms_reach_the_published_lengths() {
        for (rate, fec, headroom, metres) in [
            (100, Fec::None, 92_096, 500),
            (100, Fec::None, 42_096, 100),
            (100, Fec::None, 32_096, 20),
            (100, Fec::Rs, 52_336, 100),
            (10, Fec::None, 9_214, 100),
            (400, Fec::None, 200_684, 100),
        ] {
            let Reach::UpTo { length_mm } = of(rate, fec, headroom) else { panic!("{rate}") };
            // A byte is 8 bits, which are 8 mm at 100G and 80 mm at 10G.
            let slack = 800 / rate;
            assert!((metres * 1_000..metres * 1_000 + slack).contains(&length_mm), "{length_mm}");
        }
    }

    #[test]
    fn a_headroom_below_the_fixed_delays_reaches_nothing_and_says_what_is_needed() {
        // 32992 bits fixed and 203776 internal.
        let needed = Bytes((32_992 + 203_776) / 8);
        assert_eq!(of(100, Fec::None, needed.0 - 1), Reach::None { needed });
        assert_ne!(of(100, Fec::None, needed.0), Reach::None { needed });
        assert_eq!(of(10, Fec::None, u64::from(u32::MAX)), Reach::Unlimited);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// One millimetre more needs more than the headroom, for any link.
        #[test]
        fn the_reach_is_the_longest_cable(
            rate in prop::sample::select(vec![10_u64, 25, 40, 100, 200, 400]),
            headroom in 1_000_u64..2_000_000,
            frame in 64_u64..9_217,
            sci in any::<bool>(),
            protects_pfc in any::<bool>(),
            shim_ns in 0_u64..1_000,
            secured in any::<bool>(),
            cell in prop::option::of(1_u32..512),
        ) {
            let shim = Duration::from_nanos(shim_ns);
            let software = SoftwareTerms::default();
            let link = Inputs {
                max_frame: Bytes(frame),
                macsec: secured.then_some(Macsec { sci, protects_pfc, shim }),
                buffer: cell.map(|cell| Buffer { cell, software }),
                ..Inputs::new(BitsPerSec::gbps(rate), 7)
            };
            let needs = |length_mm| {
                ieee::estimate(&Inputs { length_mm, ..link }).unwrap().bytes()
            };
            match reach(&link, Bytes(headroom)).unwrap() {
                Reach::None { needed } => {
                    prop_assert!(needed == needs(0) && needed > Bytes(headroom));
                }
                Reach::UpTo { length_mm } => {
                    prop_assert!(needs(length_mm) <= Bytes(headroom));
                    prop_assert!(needs(length_mm + 1) > Bytes(headroom));
                }
                Reach::Unlimited => prop_assert!(needs(LENGTH_MM_MAX) <= Bytes(headroom)),
            }
        }
    }
}
