//! The longest cable for which a headroom suffices: the delay value of 802.1Q Annex N, solved for
//! the length of the cable.
//!
//! The length is searched for with [`ieee::estimate`] itself, so that it is exact and cannot differ
//! from the sum that configurations are validated with.

use super::{LENGTH_MM_MAX, ModelError, ieee};
use ground::units::Bytes;

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
    use super::super::ieee::{Buffer, Inputs, Macsec};
    use super::*;
    use crate::{Extender, Fec, SoftwareTerms};
    use ground::time::Duration;
    use ground::units::BitsPerSec;
    use proptest::prelude::*;

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
