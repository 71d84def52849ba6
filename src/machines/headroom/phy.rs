//! Delay of the physical layer: 802.3's delay constraints, sublayer by sublayer.
//!
//! Each figure is the sum of transmit and receive of one node, in bit times, from the delay
//! constraint tables of 802.3 (44 for 10G, 105-3 for 25G, 80-4 for 40G, 80-5 for 100G, 116 for 200G
//! and 400G). They are maxima for a conforming device.
//!
//! 800G (802.3df-2024) and 1.6T (802.3dj, a draft) are estimates, because neither table was
//! available: their sublayers are assumed to take as long, in nanoseconds, as those of 400G, as
//! those of 400G take as long as those of 200G. The source of every such term says so.

use core::fmt;

use thiserror::Error;

use crate::Term;
use ground::named;
use ground::time::Duration;
use ground::units::BitsPerSec;

/// A physical layer, by its 802.3 name; the speed in the name is in Gb/s.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Phy {
    /// 10GBASE-R: SR, LR, ER and direct-attach copper.
    Base10R,
    /// 10GBASE-T.
    Base10T,
    /// 25GBASE-R.
    Base25R,
    /// 40GBASE-SR4 and 40GBASE-LR4.
    Base40R,
    /// 40GBASE-CR4.
    Base40Cr4,
    /// 100GBASE-R other than CR10.
    Base100R,
    /// 100GBASE-CR10.
    Base100Cr10,
    /// 200GBASE-R.
    Base200R,
    /// 400GBASE-R.
    Base400R,
    /// 800GBASE-R (802.3df), with the times of 400GBASE-R.
    Base800R,
    /// 1.6TBASE-R (802.3dj, a draft), with the times of 400GBASE-R.
    Base1600R,
    /// No PHY: a virtual link, or a link of a rate without a table, of this rate.
    Virtual(BitsPerSec),
}

named! {
    /// Forward error correction, if optional.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub enum Fec {
        /// None, or the mandatory one of the PCS (200G and 400G).
        #[default]
        None = "none",
        /// BASE-R FEC (clause 74, FireCode): 40G and 100G.
        BaseR = "base_r",
        /// RS-FEC (clause 91, 108): 25G and 100G.
        Rs = "rs",
    }
}

named! {
    /// A sublayer between MAC and PHY, optional at 10G.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub enum Extender {
        /// None.
        #[default]
        None = "none",
        /// XGXS and XAUI (clause 47).
        Xaui = "xaui",
        /// The WAN interface sublayer (clause 50).
        Wis = "wis",
    }
}

/// A valid combination of sublayers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Interface {
    phy: Phy,
    fec: Fec,
    extender: Extender,
}

/// A combination of sublayers without a delay table.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
pub enum InterfaceError {
    /// This PHY does not have this FEC.
    #[error("{phy} has no delay figure for FEC `{fec}`: choose one of {}", choices(*phy))]
    Fec {
        /// Selected PHY.
        phy: Phy,
        /// Selected FEC.
        fec: Fec,
    },
    /// This PHY does not have this extender.
    #[error("{phy} has no {extender}: that is an option of 10 Gb/s alone")]
    Extender {
        /// Selected PHY.
        phy: Phy,
        /// Selected extender.
        extender: Extender,
    },
}

impl Phy {
    /// All PHYs with a delay table, slowest first.
    pub const ALL: [Self; 11] = [
        Self::Base10R,
        Self::Base10T,
        Self::Base25R,
        Self::Base40R,
        Self::Base40Cr4,
        Self::Base100R,
        Self::Base100Cr10,
        Self::Base200R,
        Self::Base400R,
        Self::Base800R,
        Self::Base1600R,
    ];

    /// Returns the default PHY of a link of `rate`.
    #[must_use]
    pub const fn of_rate(rate: BitsPerSec) -> Self {
        match rate.get() {
            10_000_000_000 => Self::Base10R,
            25_000_000_000 => Self::Base25R,
            40_000_000_000 => Self::Base40R,
            100_000_000_000 => Self::Base100R,
            200_000_000_000 => Self::Base200R,
            400_000_000_000 => Self::Base400R,
            800_000_000_000 => Self::Base800R,
            1_600_000_000_000 => Self::Base1600R,
            _ => Self::Virtual(rate),
        }
    }

    /// Returns the longest cable in metres for which 802.3 defines a PHY of this kind: ER or ZR where there
    /// is optics, CR and T for copper. `None` without a PHY.
    #[must_use]
    pub const fn longest_m(self) -> Option<u64> {
        match self {
            Self::Base10T => Some(100),
            Self::Base40Cr4 | Self::Base100Cr10 => Some(7),
            Self::Base10R | Self::Base25R | Self::Base40R => Some(40_000),
            // 100GBASE-ZR (802.3ct).
            Self::Base100R => Some(80_000),
            Self::Base200R | Self::Base400R | Self::Base800R => Some(40_000),
            // 1.6TBASE-DR8-2 of the draft.
            Self::Base1600R => Some(2_000),
            Self::Virtual(_) => None,
        }
    }

    /// Returns the rate.
    #[must_use]
    pub const fn rate(self) -> BitsPerSec {
        match self {
            Self::Base10R | Self::Base10T => BitsPerSec::gbps(10),
            Self::Base25R => BitsPerSec::gbps(25),
            Self::Base40R | Self::Base40Cr4 => BitsPerSec::gbps(40),
            Self::Base100R | Self::Base100Cr10 => BitsPerSec::gbps(100),
            Self::Base200R => BitsPerSec::gbps(200),
            Self::Base400R => BitsPerSec::gbps(400),
            Self::Base800R => BitsPerSec::gbps(800),
            Self::Base1600R => BitsPerSec::gbps(1_600),
            Self::Virtual(rate) => rate,
        }
    }

    /// Returns the delay of MAC control, MAC and RS; PCS; PMA; PMD. In bit times, 0 if it is
    /// included in the sublayer before.
    const fn sublayers(self) -> ([u64; 4], &'static str) {
        match self {
            Self::Base10R => ([8_192, 3_584, 0, 512], "802.3 clause 44"),
            Self::Base10T => ([8_192, 25_600, 0, 0], "802.3 clause 44"),
            Self::Base25R => ([8_192, 3_584, 4_096, 512], "802.3 table 105-3"),
            // 32 + 22 + 8 + 2 quanta; with FEC and the PMD of CR4 the sum is the 118 quanta of 31B.3.7.
            Self::Base40R => ([16_384, 11_264, 4_096, 1_024], "802.3 table 80-4"),
            Self::Base40Cr4 => ([16_384, 11_264, 4_096, 4_096], "802.3 table 80-4"),
            Self::Base100R => ([24_576, 35_328, 9_216, 2_048], "802.3 table 80-5"),
            Self::Base100Cr10 => ([24_576, 35_328, 9_216, 9_728], "802.3 table 80-5"),
            Self::Base200R => ([49_152, 160_256, 18_432, 4_096], "802.3 clause 116"),
            Self::Base400R => ([98_304, 320_000, 36_864, 8_192], "802.3 clause 116"),
            Self::Base800R => (
                [196_608, 640_000, 73_728, 16_384],
                "assumed: the times of 400GBASE-R, not 802.3df's table",
            ),
            Self::Base1600R => (
                [393_216, 1_280_000, 147_456, 32_768],
                "assumed: the times of 400GBASE-R; 802.3dj is a draft",
            ),
            Self::Virtual(_) => ([0; 4], "no PHY, so no interface delay"),
        }
    }

    const fn fec_bits(self, fec: Fec) -> Option<u64> {
        match (self, fec) {
            // 48 quanta at 25G and 40G; 240 and 80 at 100G (802.3 tables 105-3, 80-4 and 80-5).
            (_, Fec::None) => Some(0),
            (Self::Base25R, Fec::Rs) | (Self::Base40R | Self::Base40Cr4, Fec::BaseR) => {
                Some(24_576)
            }
            (Self::Base100R | Self::Base100Cr10, Fec::BaseR) => Some(122_880),
            (Self::Base100R, Fec::Rs) => Some(40_960),
            _ => None,
        }
    }

    const fn extender_bits(self, extender: Extender) -> Option<u64> {
        match (self, extender) {
            // XAUI has 8 quanta and WIS 28 (802.3 clause 44).
            (_, Extender::None) => Some(0),
            (Self::Base10R | Self::Base10T, Extender::Xaui) => Some(4_096),
            (Self::Base10R, Extender::Wis) => Some(14_336),
            _ => None,
        }
    }
}

impl fmt::Display for Phy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Base10R => "10GBASE-R",
            Self::Base10T => "10GBASE-T",
            Self::Base25R => "25GBASE-R",
            Self::Base40R => "40GBASE-R",
            Self::Base40Cr4 => "40GBASE-CR4",
            Self::Base100R => "100GBASE-R",
            Self::Base100Cr10 => "100GBASE-CR10",
            Self::Base200R => "200GBASE-R",
            Self::Base400R => "400GBASE-R",
            Self::Base800R => "800GBASE-R",
            Self::Base1600R => "1.6TBASE-R",
            Self::Virtual(rate) => return write!(f, "a virtual link of {rate}"),
        };
        f.write_str(name)
    }
}

/// Returns the FEC options of a PHY, for messages.
fn choices(phy: Phy) -> String {
    let all = [Fec::None, Fec::BaseR, Fec::Rs];
    let has = all.into_iter().filter(|fec| phy.fec_bits(*fec).is_some());
    has.map(|fec| fec.to_string()).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Fec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::BaseR => "base_r",
            Self::Rs => "rs",
        })
    }
}

impl fmt::Display for Extender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "extender",
            Self::Xaui => "XAUI",
            Self::Wis => "WIS",
        })
    }
}

impl Interface {
    /// Creates the plain interface of a PHY: no optional FEC, no extender.
    #[must_use]
    pub const fn plain(phy: Phy) -> Self {
        Self { phy, fec: Fec::None, extender: Extender::None }
    }

    /// Creates an interface.
    ///
    /// # Errors
    /// If the PHY does not have the option.
    pub fn new(phy: Phy, fec: Fec, extender: Extender) -> Result<Self, InterfaceError> {
        phy.fec_bits(fec).ok_or(InterfaceError::Fec { phy, fec })?;
        phy.extender_bits(extender).ok_or(InterfaceError::Extender { phy, extender })?;
        Ok(Self { phy, fec, extender })
    }

    /// Returns the PHY.
    #[must_use]
    pub const fn phy(self) -> Phy {
        self.phy
    }

    /// Returns the FEC, if it is an option of the PHY.
    #[must_use]
    pub const fn fec(self) -> Fec {
        self.fec
    }

    /// Returns the sublayer between MAC and PHY.
    #[must_use]
    pub const fn extender(self) -> Extender {
        self.extender
    }

    /// Returns the interface delay of one node, transmit and receive together: the delay of the
    /// interfaces in one direction of a link with equal ends.
    #[must_use]
    pub fn delay(self) -> Duration {
        let bits: i64 = self.sublayers().iter().map(|s| s.bits).sum();
        self.phy.rate().time_for_bits(bits.unsigned_abs())
    }

    /// Returns the delay of each sublayer of one node, transmit and receive together. Sublayers
    /// without delay are omitted, except that a virtual link has a single entry of 0.
    pub(super) fn sublayers(self) -> Vec<Term> {
        let ([mac, pcs, pma, pmd], source) = self.phy.sublayers();
        let whole_phy = matches!(self.phy, Phy::Base10T);
        let entry = |name, bits| Term::new(name, bits, source);
        if let Phy::Virtual(_) = self.phy {
            return vec![entry("interface", 0)];
        }
        let fec = self.phy.fec_bits(self.fec).expect("checked by the constructor");
        let extender = self.phy.extender_bits(self.extender).expect("checked by the constructor");
        // From the MAC down to the medium; XAUI or WIS stands above the PCS.
        let all = [
            entry("MAC control, MAC and RS", mac),
            entry(if matches!(self.extender, Extender::Wis) { "WIS" } else { "XAUI" }, extender),
            entry(if whole_phy { "PHY" } else { "PCS" }, pcs),
            entry(if matches!(self.fec, Fec::Rs) { "RS-FEC" } else { "BASE-R FEC" }, fec),
            entry("PMA", pma),
            entry("PMD", pmd),
        ];
        all.into_iter().filter(|s| s.bits > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quanta(phy: Phy, fec: Fec, extender: Extender) -> i64 {
        let one_node = Interface::new(phy, fec, extender).unwrap().sublayers();
        one_node.iter().map(|s| s.bits).sum::<i64>() / 512
    }

    /// The worst PHY of each speed adds up to the reaction time that 802.3 31B.3.7 allows, in
    /// quanta, as quoted by SONiC.
    #[test]
    fn the_worst_phy_of_a_speed_is_the_limit_of_31b() {
        use {Extender as E, Fec as F};
        assert_eq!(quanta(Phy::Base10R, F::None, E::Wis) + 8, 60, "WIS and XAUI together");
        assert_eq!(quanta(Phy::Base10T, F::None, E::Xaui), 74);
        assert_eq!(quanta(Phy::Base25R, F::Rs, E::None), 80);
        assert_eq!(quanta(Phy::Base40Cr4, F::BaseR, E::None), 118);
        assert_eq!(quanta(Phy::Base100Cr10, F::BaseR, E::None), 394);
        assert_eq!(quanta(Phy::Base200R, F::None, E::None), 453);
        assert_eq!(quanta(Phy::Base400R, F::None, E::None), 905);
    }

    #[test]
    fn rates_above_400g_take_the_times_of_400g_and_say_that_this_is_assumed() {
        let known = Interface::plain(Phy::Base400R).delay();
        for phy in [Phy::Base800R, Phy::Base1600R] {
            let interface = Interface::plain(phy);
            assert_eq!(interface.delay(), known, "{phy}");
            assert!(interface.sublayers().iter().all(|s| s.source.starts_with("assumed")));
        }
        assert_eq!(Phy::of_rate(BitsPerSec::gbps(800)), Phy::Base800R);
    }

    #[test]
    fn the_interfaces_of_100g_take_711_nanoseconds_one_way() {
        let delay = |phy| Interface::plain(phy).delay();
        assert_eq!(delay(Phy::Base100R), Duration::from_picos(711_680));
        assert_eq!(delay(Phy::of_rate(BitsPerSec::gbps(1))), Duration::ZERO);
    }

    #[test]
    fn combinations_that_do_not_exist_are_refused() {
        let e = Interface::new(Phy::Base40R, Fec::Rs, Extender::None).unwrap_err().to_string();
        assert!(e.contains("40GBASE-R") && e.contains("none, base_r"), "{e}");
        let e = Interface::new(Phy::Base25R, Fec::None, Extender::Xaui).unwrap_err().to_string();
        assert!(e.contains("10 Gb/s alone"), "{e}");
        let virt = Phy::of_rate(BitsPerSec::gbps(1));
        assert!(Interface::new(virt, Fec::Rs, Extender::None).is_err());
    }

    #[test]
    fn a_rate_has_the_phy_of_that_rate() {
        for n in [1, 10, 25, 40, 50, 100, 200, 400, 800] {
            assert_eq!(Phy::of_rate(BitsPerSec::gbps(n)).rate(), BitsPerSec::gbps(n));
        }
    }
}
