//! The delay value of a link: the data that may still arrive after a port decides to pause its
//! peer.
//!
//! 802.1Q Annex N (Annex O of 802.1Qbb-2011), with equal nodes at both ends:
//! `DV = 2 * cable + 2 * interface + higher layer + 2 * longest frame + PFC frame`, in bit times of
//! the link. Every term has a name, so that an error message can list the terms of the sum.

use core::fmt;

use serde::Serialize;

use super::phy::Interface;
use ground::time::Duration;
use ground::units::{BitsPerSec, Bytes};

/// Preamble, start delimiter (8) and interpacket gap (12) of a frame (802.3 4.4.2).
const LINE_OVERHEAD_OCTETS: u64 = 20;

/// A PFC frame, FCS included.
const PFC_FRAME: Bytes = Bytes(64);

/// Inputs of the delay value of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DelayInputs {
    /// Sublayers at both ends, which also determine the rate.
    pub interface: Interface,
    /// Cable length, one way, in metres.
    pub cable_m: u32,
    /// Propagation delay of the cable, in picoseconds per metre.
    pub cable_ps_per_m: u32,
    /// Maximum frame size on the link, from destination address to FCS, of any priority: either
    /// side may have begun such a frame when the pause is decided, and when it takes effect.
    pub max_frame: Bytes,
    /// Time from reception of a pause until no further frame is started (the higher layer delay of
    /// the peer in 802.1Q).
    pub higher_layer: Duration,
    /// Bytes on the line per frame besides the frame: 20 on Ethernet. Other values are for
    /// comparison with simulators.
    pub line_overhead: u32,
    /// Size of a PFC frame, FCS included: 64 bytes. Other values are for comparison with simulators.
    pub pfc_frame: Bytes,
    /// MACsec overhead.
    pub macsec: MacsecOverhead,
}

/// MACsec overhead of the frames of a link with equal ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MacsecOverhead {
    /// Bytes of SecTAG and ICV in a data frame; 0 without protection.
    pub data_octets: u32,
    /// Bytes of SecTAG and ICV in a PFC frame; 0 without protection.
    pub pfc_octets: u32,
    /// Delay that MACsec adds to a data frame, transmit and receive together. At most 2 s.
    pub data_delay: Duration,
    /// Delay that MACsec adds to a PFC frame, transmit and receive together. At most 2 s.
    pub pfc_delay: Duration,
}

impl DelayInputs {
    /// 5 ns per metre, as in the 802.1Qdt proposals for fibre; copper is slower by a tenth.
    pub const PS_PER_METRE: u32 = 5_000;
    /// 614.4 ns, the allowance of 802.1Q at 10 Gb/s (6144 bit times). The 802.1Qdt proposals read
    /// it as the same time, not the same number of bits, at other rates.
    pub const HIGHER_LAYER: Duration = Duration::from_picos(614_400);
    /// Size of the 802.3as envelope frame, 2000 bytes.
    pub const MAX_FRAME: Bytes = Bytes(2_000);
    /// 100 m, the length in the standard's examples.
    pub const CABLE_M: u32 = 100;

    /// Returns the standard's assumptions for `interface`.
    #[must_use]
    pub const fn standard(interface: Interface) -> Self {
        Self {
            interface,
            cable_m: Self::CABLE_M,
            cable_ps_per_m: Self::PS_PER_METRE,
            max_frame: Self::MAX_FRAME,
            higher_layer: Self::HIGHER_LAYER,
            line_overhead: LINE_OVERHEAD_OCTETS as u32,
            pfc_frame: PFC_FRAME,
            macsec: MacsecOverhead {
                data_octets: 0,
                pfc_octets: 0,
                data_delay: Duration::ZERO,
                pfc_delay: Duration::ZERO,
            },
        }
    }

    /// Returns the rate of the link.
    #[must_use]
    pub const fn rate(&self) -> BitsPerSec {
        self.interface.phy().rate()
    }

    /// Returns the frame parameters of the link.
    #[must_use]
    pub const fn frames(&self) -> Frames {
        let MacsecOverhead { data_octets, pfc_octets, .. } = self.macsec;
        let (max, pfc, line_overhead) = (self.max_frame, self.pfc_frame, self.line_overhead);
        Frames { max, pfc, line_overhead, data_octets, pfc_octets }
    }
}

/// Frame parameters of a link that headroom depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frames {
    /// Maximum frame size, from destination address to FCS, of any priority.
    pub max: Bytes,
    /// Size of a PFC frame, FCS included.
    pub pfc: Bytes,
    /// Bytes on the line per frame besides the frame: 20 on Ethernet.
    pub line_overhead: u32,
    /// Bytes that MACsec adds to a data frame on the line.
    pub data_octets: u32,
    /// Bytes that MACsec adds to a PFC frame on the line.
    pub pfc_octets: u32,
}

impl Frames {
    /// Returns the parameters of Ethernet frames of up to `max` bytes.
    #[must_use]
    pub const fn up_to(max: Bytes) -> Self {
        let line_overhead = LINE_OVERHEAD_OCTETS as u32;
        Self { max, pfc: PFC_FRAME, line_overhead, data_octets: 0, pfc_octets: 0 }
    }

    /// Returns the parameters without MACsec.
    #[must_use]
    pub const fn plain(self) -> Self {
        Self { data_octets: 0, pfc_octets: 0, ..self }
    }

    /// Returns the bytes of a data frame on the line that are not buffered.
    pub(super) const fn around_data(self) -> u64 {
        self.line_overhead as u64 + self.data_octets as u64
    }

    /// Returns the bits that no pause can stop: one longest frame of either side, and the PFC frame
    /// itself.
    #[must_use]
    pub const fn unstoppable(self) -> u64 {
        self.begun() + self.pfc() + self.longest()
    }

    /// Returns the bits of the longest frame that a PFC frame may have to wait for: of data, or an earlier PFC
    /// frame.
    pub(super) const fn begun(self) -> u64 {
        if self.pfc() > self.longest() { self.pfc() } else { self.longest() }
    }

    /// Returns the bits of the longest frame on the line.
    pub(super) const fn longest(self) -> u64 {
        (self.max.0 + self.around_data()) * 8
    }

    /// Returns the bits of a PFC frame on the line.
    pub(super) const fn pfc(self) -> u64 {
        (self.pfc.0 + self.line_overhead as u64 + self.pfc_octets as u64) * 8
    }
}

/// A named term of a sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Term {
    /// Name of the term.
    pub name: &'static str,
    /// Size in bit times of the link. Negative if a buffer stores less than arrives on the line.
    pub bits: i64,
    /// Source of the figure.
    pub source: &'static str,
}

impl Term {
    /// Creates a term of `bits`, limited to more than any buffer has, so that sums cannot overflow.
    #[must_use]
    pub const fn new(name: &'static str, bits: u64, source: &'static str) -> Self {
        const MOST: u64 = 1 << 58;
        Self { name, bits: if bits > MOST { MOST } else { bits } as i64, source }
    }

    /// Returns the sum of terms, in bit times of the link.
    #[must_use]
    pub fn sum(terms: &[Self]) -> u64 {
        terms.iter().map(|t| t.bits).sum::<i64>().max(0) as u64
    }
}

/// A delay value and its terms.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DelayValue {
    /// Terms in the order of the round trip.
    pub terms: Vec<Term>,
}

impl DelayValue {
    /// Returns the sum in bit times of the link.
    #[must_use]
    pub fn bits(&self) -> u64 {
        Term::sum(&self.terms)
    }

    /// Returns the sum in bytes, rounded up.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        Bytes(self.bits().div_ceil(8))
    }
}

impl fmt::Display for DelayValue {
    /// Writes the sum in bytes and its terms: `42096 B = 12500 B 2 x cable + ...`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} =", self.bytes())?;
        for (i, t) in self.terms.iter().enumerate() {
            let sign = match (i, t.bits < 0) {
                (_, true) => " -",
                (0, false) => "",
                (_, false) => " +",
            };
            write!(f, "{sign} {} B {}", t.bits.unsigned_abs() as f64 / 8.0, t.name)?;
        }
        Ok(())
    }
}

/// Returns the bit times of a link of `rate` in `ps` picoseconds, rounded up.
pub(super) const fn bits_in(rate: BitsPerSec, ps: u64) -> u64 {
    (ps as u128 * rate.get() as u128).div_ceil(1_000_000_000_000) as u64
}

/// Calculates the delay value of a link with equal ends.
#[must_use]
pub fn delay_value(inputs: &DelayInputs) -> DelayValue {
    let cable_ps = u64::from(inputs.cable_m) * u64::from(inputs.cable_ps_per_m);
    // Both ways: the pause travels to the peer while data is still coming.
    with_cable(inputs, bits_in(inputs.rate(), 2 * cable_ps))
}

/// Calculates the delay value with `cable_bits` in the cable both ways, instead of the inputs'
/// cable.
pub(super) fn with_cable(inputs: &DelayInputs, cable_bits: u64) -> DelayValue {
    const ANNEX_N: &str = "802.1Q Annex N";
    let rate = inputs.rate();
    let frames = inputs.frames();
    let term = Term::new;
    let mut terms = vec![
        term("frame begun before the PFC frame", frames.begun(), ANNEX_N),
        term("PFC frame", frames.pfc(), ANNEX_N),
        term("cable both ways", cable_bits, "length and velocity"),
    ];
    for s in inputs.interface.sublayers() {
        // A table has transmit and receive of one node; the PFC frame and the data each cross both nodes once.
        terms.push(Term { bits: 2 * s.bits, ..s });
    }
    let higher = bits_in(rate, inputs.higher_layer.as_picos());
    terms.push(term("higher layer of the peer", higher, ANNEX_N));
    // A frame that has begun when the pause takes effect is completed.
    terms.push(term("frame begun by the peer", frames.longest(), ANNEX_N));
    for (name, delay) in [
        ("MACsec shims, PFC frame", inputs.macsec.pfc_delay),
        ("MACsec shims, data", inputs.macsec.data_delay),
    ] {
        if delay > Duration::ZERO {
            let source = "shim delay, transmit and receive";
            terms.push(term(name, bits_in(rate, delay.as_picos()), source));
        }
    }
    DelayValue { terms }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Extender, Fec, Phy};

    fn inputs(phy: Phy, fec: Fec, extender: Extender, cable_m: u32) -> DelayInputs {
        let interface = Interface::new(phy, fec, extender).unwrap();
        DelayInputs { cable_m, ..DelayInputs::standard(interface) }
    }

    /// The table of the 802.1Qdt proposal, the rows with FEC, and the other speeds: 2000-byte
    /// frames, 5 ns/m, 614.4 ns.
    #[test]
    fn the_published_delay_values_come_out() {
        use {Extender as E, Fec as F, Phy as P};
        for (phy, fec, extender, metres, expected) in [
            (P::Base100R, F::None, E::None, 20, 32_096),
            (P::Base100R, F::None, E::None, 100, 42_096),
            (P::Base100R, F::None, E::None, 500, 92_096),
            (P::Base100R, F::Rs, E::None, 100, 52_336),
            (P::Base10R, F::None, E::None, 100, 9_214),
            (P::Base10T, F::None, E::Xaui, 100, 15_614),
            (P::Base25R, F::None, E::None, 100, 13_265),
            (P::Base25R, F::Rs, E::None, 100, 19_409),
            (P::Base40R, F::None, E::None, 100, 20_388),
            (P::Base200R, F::None, E::None, 100, 102_468),
            (P::Base400R, F::None, E::None, 100, 200_684),
        ] {
            let value = delay_value(&inputs(phy, fec, extender, metres));
            assert_eq!(value.bytes(), Bytes(expected), "{phy} {fec:?} {metres} m: {value}");
            assert!(value.terms.iter().all(|t| t.bits > 0 && !t.source.is_empty()));
        }
    }

    #[test]
    fn the_parts_are_those_of_the_table() {
        let value = delay_value(&inputs(Phy::Base100R, Fec::None, Extender::None, 100));
        let part = |names: &[&str]| -> i64 {
            value.terms.iter().filter(|t| names.contains(&t.name)).map(|t| t.bits).sum()
        };
        let fixed = ["frame begun before the PFC frame", "PFC frame", "frame begun by the peer"];
        assert_eq!(part(&fixed), 32_992);
        let cable = part(&["cable both ways"]);
        assert_eq!(cable, 100_000);
        assert_eq!(value.bits() as i64 - 32_992 - cable, 203_776);
        // Jumbo frames of 9216 bytes add 14,432 bytes.
        let mut jumbo = inputs(Phy::Base100R, Fec::None, Extender::None, 100);
        jumbo.max_frame = Bytes(9_216);
        assert_eq!(delay_value(&jumbo).bytes(), Bytes(42_096 + 14_432));
    }

    #[test]
    fn what_macsec_adds_is_counted_once_for_each_frame_and_once_for_each_way() {
        let plain = inputs(Phy::Base100R, Fec::None, Extender::None, 100);
        let bytes = |macsec| delay_value(&DelayInputs { macsec, ..plain }).bytes().0 - 42_096;
        let none = MacsecOverhead::default();
        // A quantum of 100G is 5.12 ns, 64 bytes.
        let quantum = Duration::from_picos(5_120);
        for (macsec, more) in [
            (none, 0),
            (MacsecOverhead { pfc_octets: 24, ..none }, 24),
            (MacsecOverhead { data_octets: 32, ..none }, 64),
            (MacsecOverhead { data_octets: 24, pfc_octets: 24, ..none }, 72),
            (MacsecOverhead { pfc_delay: quantum, ..none }, 64),
            (MacsecOverhead { data_delay: quantum, pfc_delay: quantum, ..none }, 128),
        ] {
            assert_eq!(bytes(macsec), more, "{macsec:?}");
        }
    }

    #[test]
    fn a_virtual_link_says_that_it_has_no_interface_delay() {
        let rate = BitsPerSec::gbps(1);
        let virt = DelayInputs {
            cable_m: 0,
            higher_layer: Duration::ZERO,
            ..DelayInputs::standard(Interface::plain(Phy::of_rate(rate)))
        };
        let value = delay_value(&virt);
        assert_eq!(value.bits(), 32_992);
        let named = value.terms.iter().find(|t| t.name == "interface").unwrap();
        assert_eq!((named.bits, named.source), (0, "no PHY, so no interface delay"));
        assert!(value.to_string().starts_with("4124 B = 2020 B frame begun before"), "{value}");
    }
}
