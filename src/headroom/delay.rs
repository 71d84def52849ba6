//! The delay value of a link: what may still arrive after a port decides to pause its peer.
//!
//! 802.1Q Annex N (Annex O of 802.1Qbb-2011), with equal nodes at both ends:
//! `DV = 2 * cable + 2 * interface + higher layer + 2 * longest frame + PFC frame`, in bit times of
//! the link. Every term is kept by name, so that a refusal can say what the sum is made of.

use core::fmt;

use super::phy::Interface;
use crate::time::Duration;
use crate::units::{BitsPerSec, Bytes};

/// Preamble, start delimiter (8) and interpacket gap (12) of a frame (802.3 4.4.2).
const LINE_OVERHEAD_OCTETS: u64 = 20;

/// A PFC frame, FCS included.
const PFC_FRAME_OCTETS: u64 = 64;

/// What the delay value of a link depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DelayInputs {
    /// The sublayers at both ends; they say the rate too.
    pub interface: Interface,
    /// The length of the cable, one way, in metres.
    pub cable_m: u32,
    /// How long a signal takes for one metre of it, in picoseconds.
    pub cable_ps_per_m: u32,
    /// The longest frame on the link, from destination address to FCS, of any priority: either
    /// side may have begun one when the pause is decided, and when it takes effect.
    pub max_frame: Bytes,
    /// From a pause having been received to no further frame being started (802.1Q calls it the
    /// higher layer delay of the peer).
    pub higher_layer: Duration,
    /// Octets that every frame takes on the line besides itself: 20 on Ethernet. Others are for
    /// comparison with simulators.
    pub line_overhead: u32,
    /// What MACsec adds.
    pub shield: Shield,
}

/// What MACsec adds to the frames of a link, whose ends are taken to be alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shield {
    /// Octets of SecTAG and ICV in a frame of data; 0 where data is plain.
    pub data_octets: u32,
    /// The same in a PFC frame.
    pub pfc_octets: u32,
    /// What the layer takes on the way of a frame of data, to send and to receive. At most 2 s.
    pub data_delay: Duration,
    /// The same for a PFC frame.
    pub pfc_delay: Duration,
}

impl DelayInputs {
    /// 5 ns per metre, as the 802.1Qdt proposals reckon for fibre; copper is slower by a tenth.
    pub const PS_PER_METRE: u32 = 5_000;
    /// 614.4 ns: what 802.1Q allows at 10 Gb/s (6144 bit times). That it is the same time, not the
    /// same number of bits, at other rates is the reading of the 802.1Qdt proposals.
    pub const HIGHER_LAYER: Duration = Duration::from_picos(614_400);
    /// The 2000-octet envelope frame of 802.3as.
    pub const MAX_FRAME: Bytes = Bytes(2_000);
    /// 100 m, the length that the standard's examples have.
    pub const CABLE_M: u32 = 100;

    /// The standard's own assumptions for `interface`.
    #[must_use]
    pub const fn standard(interface: Interface) -> Self {
        Self {
            interface,
            cable_m: Self::CABLE_M,
            cable_ps_per_m: Self::PS_PER_METRE,
            max_frame: Self::MAX_FRAME,
            higher_layer: Self::HIGHER_LAYER,
            line_overhead: LINE_OVERHEAD_OCTETS as u32,
            shield: Shield {
                data_octets: 0,
                pfc_octets: 0,
                data_delay: Duration::ZERO,
                pfc_delay: Duration::ZERO,
            },
        }
    }

    /// The rate of the link.
    #[must_use]
    pub const fn rate(&self) -> BitsPerSec {
        self.interface.phy().rate()
    }

    /// The frames of the link.
    #[must_use]
    pub const fn frames(&self) -> Frames {
        let Shield { data_octets, pfc_octets, .. } = self.shield;
        Frames { max: self.max_frame, line_overhead: self.line_overhead, data_octets, pfc_octets }
    }
}

/// The frames of a link, as far as headroom asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frames {
    /// The longest, from destination address to FCS, of any priority.
    pub max: Bytes,
    /// Octets that every frame takes on the line besides itself: 20 on Ethernet.
    pub line_overhead: u32,
    /// Octets that MACsec adds to a frame of data on the line.
    pub data_octets: u32,
    /// Octets that MACsec adds to a PFC frame on the line.
    pub pfc_octets: u32,
}

impl Frames {
    /// Frames of Ethernet of up to `max` octets.
    #[must_use]
    pub const fn up_to(max: Bytes) -> Self {
        let line_overhead = LINE_OVERHEAD_OCTETS as u32;
        Self { max, line_overhead, data_octets: 0, pfc_octets: 0 }
    }

    /// The same without MACsec.
    #[must_use]
    pub const fn plain(self) -> Self {
        Self { data_octets: 0, pfc_octets: 0, ..self }
    }

    /// Octets that every frame of data takes on the line besides what is kept of it.
    pub(super) const fn around_data(self) -> u64 {
        self.line_overhead as u64 + self.data_octets as u64
    }

    /// The bits of those that no pause can stop: one of either side, and the PFC frame itself.
    #[must_use]
    pub const fn unstoppable(self) -> u64 {
        2 * self.longest() + self.pfc()
    }

    /// The bits of the longest on the line.
    pub(super) const fn longest(self) -> u64 {
        (self.max.0 + self.around_data()) * 8
    }

    /// The bits of a PFC frame on the line.
    pub(super) const fn pfc(self) -> u64 {
        (PFC_FRAME_OCTETS + self.line_overhead as u64 + self.pfc_octets as u64) * 8
    }
}

/// One named part of a sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Term {
    /// What it is.
    pub name: &'static str,
    /// Size in bit times of the link. Negative where a buffer keeps less than the line brings.
    pub bits: i64,
    /// Where the figure comes from.
    pub source: &'static str,
}

impl Term {
    /// A term of `bits`; more than any buffer has is cut, so that sums cannot overflow.
    #[must_use]
    pub const fn new(name: &'static str, bits: u64, source: &'static str) -> Self {
        const MOST: u64 = 1 << 58;
        Self { name, bits: if bits > MOST { MOST } else { bits } as i64, source }
    }

    /// The sum of terms, in bit times of the link.
    #[must_use]
    pub fn sum(terms: &[Self]) -> u64 {
        terms.iter().map(|t| t.bits).sum::<i64>().max(0) as u64
    }
}

/// A delay value and what it is made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DelayValue {
    /// Its terms, in the order of the way round.
    pub terms: Vec<Term>,
}

impl DelayValue {
    /// The sum, in bit times of the link.
    #[must_use]
    pub fn bits(&self) -> u64 {
        Term::sum(&self.terms)
    }

    /// The sum in octets, rounded up.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        Bytes(self.bits().div_ceil(8))
    }
}

impl fmt::Display for DelayValue {
    /// The sum in octets and its terms: `42096 B = 12500 B 2 x cable + ...`.
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

/// The bit times of a link of `rate` that pass in `ps` picoseconds, rounded up.
pub(super) const fn bits_in(rate: BitsPerSec, ps: u64) -> u64 {
    (ps as u128 * rate.get() as u128).div_ceil(1_000_000_000_000) as u64
}

/// The delay value of a link with equal ends.
#[must_use]
pub fn delay_value(inputs: &DelayInputs) -> DelayValue {
    let cable_ps = u64::from(inputs.cable_m) * u64::from(inputs.cable_ps_per_m);
    with_cable(inputs, bits_in(inputs.rate(), 2 * cable_ps))
}

/// The same with a cable that holds `cable_bits` both ways, whatever the inputs say of it.
pub(super) fn with_cable(inputs: &DelayInputs, cable_bits: u64) -> DelayValue {
    const ANNEX_N: &str = "802.1Q Annex N";
    let rate = inputs.rate();
    let frame = inputs.frames().longest();
    let term = Term::new;
    let mut terms = vec![
        term("frame begun before the PFC frame", frame, ANNEX_N),
        term("PFC frame", inputs.frames().pfc(), ANNEX_N),
        term("cable both ways", cable_bits, "length and velocity"),
    ];
    for s in inputs.interface.sublayers() {
        terms.push(term(s.name, 2 * s.bits, s.source));
    }
    let higher = bits_in(rate, inputs.higher_layer.as_picos());
    terms.push(term("higher layer of the peer", higher, ANNEX_N));
    terms.push(term("frame begun by the peer", frame, ANNEX_N));
    for (name, delay) in [
        ("MACsec shims, PFC frame", inputs.shield.pfc_delay),
        ("MACsec shims, data", inputs.shield.data_delay),
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
    use crate::headroom::{Extender, Fec, Phy};

    fn inputs(phy: Phy, fec: Fec, extender: Extender, cable_m: u32) -> DelayInputs {
        let interface = Interface::new(phy, fec, extender).unwrap();
        DelayInputs { cable_m, ..DelayInputs::standard(interface) }
    }

    /// The table of the 802.1Qdt proposal, the rows with FEC, and the other speeds: 2000-octet
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
        // Jumbo frames of 9216 octets add 14,432 octets.
        let mut jumbo = inputs(Phy::Base100R, Fec::None, Extender::None, 100);
        jumbo.max_frame = Bytes(9_216);
        assert_eq!(delay_value(&jumbo).bytes(), Bytes(42_096 + 14_432));
    }

    #[test]
    fn what_macsec_adds_is_counted_once_for_each_frame_and_once_for_each_way() {
        let plain = inputs(Phy::Base100R, Fec::None, Extender::None, 100);
        let bytes = |shield| delay_value(&DelayInputs { shield, ..plain }).bytes().0 - 42_096;
        let none = Shield::default();
        // A quantum of 100G is 5.12 ns, 64 octets.
        let quantum = Duration::from_picos(5_120);
        for (shield, more) in [
            (none, 0),
            (Shield { pfc_octets: 24, ..none }, 24),
            (Shield { data_octets: 32, ..none }, 64),
            (Shield { data_octets: 24, pfc_octets: 24, ..none }, 72),
            (Shield { pfc_delay: quantum, ..none }, 64),
            (Shield { data_delay: quantum, pfc_delay: quantum, ..none }, 128),
        ] {
            assert_eq!(bytes(shield), more, "{shield:?}");
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
