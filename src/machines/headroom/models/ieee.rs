//! The delay value of 802.1Q Annex N, with FEC and MACsec as options.
//!
//! `DV = 2 * cable + 2 * interface + higher layer + 2 * longest frame + PFC frame`. MACsec
//! (802.1AE) lengthens every protected frame by SecTAG and ICV, and delays it in both SecYs. A PFC
//! frame is either protected or bypasses them (the MBC bit of DCBX), which decides if this applies
//! to it too.
//!
//! With a [`Buffer`] it is the headroom of a lossless group of Sluice's switch, as configurations
//! are validated: plus the frame that triggers XOFF, the delays of software, and the unused space
//! in cells of short frames.

use super::{Estimate, Model, ModelError, delay, frame, length, per_metre};
use crate::delay::{DelayInputs, DelayValue, Frames, Term, bits_in, with_cable};
use crate::phy::{Extender, Fec, Interface, Phy};
use crate::required::{SoftwareTerms, required_of};
use ground::time::Duration;
use ground::units::{BitsPerSec, Bytes};

/// Inputs of the delay value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inputs {
    /// Link rate.
    pub rate: BitsPerSec,
    /// Cable length, one way, in millimetres. At most 1000 km.
    pub length_mm: u64,
    /// Propagation delay per metre, in picoseconds. 3,300 to 100,000.
    pub ps_per_metre: u64,
    /// Maximum frame size, from destination address to FCS, without MACsec. 64 to 65535 bytes.
    pub max_frame: Bytes,
    /// Sublayers of both ends.
    pub interface: Interface,
    /// Delay of the interfaces of one node, transmit and receive together, in addition to the delay
    /// tables. At most 1 s.
    pub interface_delay: Duration,
    /// Time from reception of a pause until no further frame is started. At most 1 s.
    pub reaction: Duration,
    /// MACsec, if frames are protected.
    pub macsec: Option<Macsec>,
    /// Buffer of the switch, for its headroom instead of the delay value alone.
    pub buffer: Option<Buffer>,
}

/// Buffer of a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Buffer {
    /// Bytes per cell. 1 to 65536.
    pub cell: u32,
    /// Terms of a software switch and its peer.
    pub software: SoftwareTerms,
}

/// MACsec on a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Macsec {
    /// True if the SecTAG has the SCI: 16 bytes instead of 8.
    pub sci: bool,
    /// True if PFC frames are protected too, instead of bypassing the SecY.
    pub protects_pfc: bool,
    /// Delay of the SecYs in one direction, the sender's and the receiver's together. At most 1 s.
    pub shim: Duration,
}

impl Macsec {
    /// Bytes of the ICV (802.1AE 14.1, GCM-AES).
    const ICV: u64 = 16;
    /// Bytes of a SecTAG (802.1AE 9.3) without SCI.
    const SECTAG: u64 = 8;
    /// Bytes of an SCI.
    const SCI: u64 = 8;

    /// Returns the bytes that protection adds to a frame.
    #[must_use]
    pub const fn octets(self) -> Bytes {
        Bytes(Self::SECTAG + Self::ICV + if self.sci { Self::SCI } else { 0 })
    }
}

impl Inputs {
    /// Returns the standard's assumptions for a link of `rate`, on the plain PHY of that rate.
    #[must_use]
    pub const fn new(rate: BitsPerSec, length_mm: u64) -> Self {
        Self {
            rate,
            length_mm,
            ps_per_metre: DelayInputs::PS_PER_METRE as u64,
            max_frame: DelayInputs::MAX_FRAME,
            interface: Interface::plain(Phy::of_rate(rate)),
            interface_delay: Duration::ZERO,
            reaction: DelayInputs::HIGHER_LAYER,
            macsec: None,
            buffer: None,
        }
    }

    /// Sets the sublayers of both ends; `None` selects the default PHY of the rate.
    ///
    /// # Errors
    /// If the rate has no delay table, the PHY has another rate, or the PHY does not have the
    /// option.
    pub fn on(self, phy: Option<Phy>, fec: Fec, extender: Extender) -> Result<Self, ModelError> {
        let rate = self.rate;
        let phy = match (phy, Phy::of_rate(rate)) {
            (None, Phy::Virtual(_)) => return Err(ModelError::NoTable(rate)),
            (phy, default) => phy.unwrap_or(default),
        };
        if phy.rate() != rate {
            return Err(ModelError::OtherRate { phy, rate });
        }
        Ok(Self { interface: Interface::new(phy, fec, extender)?, ..self })
    }
}

/// Calculates the delay value.
///
/// # Errors
/// If an input is out of its range.
pub fn estimate(inputs: &Inputs) -> Result<Estimate, ModelError> {
    let rate = inputs.rate;
    let max_frame = Bytes(frame("max-frame", inputs.max_frame)?);
    delay("reaction-delay", inputs.reaction)?;
    let own = delay("interface-delay", inputs.interface_delay)?;
    let link = DelayInputs {
        max_frame,
        higher_layer: inputs.reaction,
        cable_m: 0,
        ..DelayInputs::standard(inputs.interface)
    };
    // Both ways; in femtoseconds, because the delay of a millimetre is not a whole number of
    // picoseconds.
    let fs =
        2 * u128::from(length(inputs.length_mm)?) * u128::from(per_metre(inputs.ps_per_metre)?);
    let cable_bits = (fs * u128::from(rate.get())).div_ceil(1_000_000_000_000_000) as u64;
    let mut terms = with_cable(&link, cable_bits).terms;
    let mut add = |name, bits, source| {
        if bits > 0 {
            terms.push(Term::new(name, bits, source));
        }
    };
    add("interfaces, as given", 2 * bits_in(rate, own), "interface delay, both directions");
    if let Some(macsec) = inputs.macsec {
        const SOURCE: &str = "802.1AE: SecTAG and ICV";
        // The frames follow one another, so the delay of the SecYs counts once for all data.
        let shim = bits_in(rate, delay("shim-delay", macsec.shim)?);
        let octets = macsec.octets().0;
        add("MACsec on both longest frames", 2 * octets * 8, SOURCE);
        add("MACsec shim, data", shim, "shim delay, transmit and receive");
        // A PFC frame that bypasses the SecY (MBC is 0) is neither longer nor later.
        if macsec.protects_pfc {
            add("MACsec on the PFC frame", octets * 8, SOURCE);
            add("MACsec shim, PFC frame", shim, "shim delay, transmit and receive");
        }
    }
    let mut formula = "2 x cable + 2 x interface + higher layer + 2 x longest frame + PFC frame";
    if let Some(buffer) = inputs.buffer {
        formula = "2 x cable + 2 x interface + higher layer + 2 x longest frame + PFC frame + frame that \
                   sends XOFF + software + what short frames waste of cells";
        if buffer.software.poll_gap != SoftwareTerms::UNKNOWN_GAP {
            delay("poll-gap", buffer.software.poll_gap)?;
        }
        let octets = |macsec: Macsec| macsec.octets().0 as u32;
        let frames = Frames {
            data_octets: inputs.macsec.map_or(0, octets),
            pfc_octets: inputs.macsec.filter(|m| m.protects_pfc).map_or(0, octets),
            ..link.frames()
        };
        let delay = DelayValue { terms };
        terms = required_of(delay, rate, frames, &buffer.software, buffer.cell).sum.terms;
    }
    Ok(Estimate { model: Model::Ieee, formula, terms, figures: vec![] })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(inputs: Inputs) -> u64 {
        estimate(&inputs).unwrap().bytes().0
    }

    #[test]
    fn macsec_costs_its_octets_and_its_shims() {
        let plain = Inputs::new(BitsPerSec::gbps(100), 100_000);
        let with = |sci, protects_pfc, shim_ns| {
            let shim = Duration::from_nanos(shim_ns);
            bytes(Inputs { macsec: Some(Macsec { sci, protects_pfc, shim }), ..plain })
        };
        let base = bytes(plain);
        assert_eq!(with(false, false, 0), base + 2 * 24);
        assert_eq!(with(true, true, 0), base + 3 * 32);
        // 80 ns at 100 Gb/s are 1000 bytes, added for the pause only if it is protected.
        assert_eq!(with(false, false, 80), base + 2 * 24 + 1_000);
        assert_eq!(with(false, true, 80), base + 3 * 24 + 2_000);
    }

    #[test]
    fn a_quantum_of_reaction_is_64_octets() {
        let plain = Inputs::new(BitsPerSec::gbps(100), 100_000);
        for k in 0..10 {
            let reaction = plain.reaction + Duration::from_picos(k * 5_120);
            assert_eq!(bytes(Inputs { reaction, ..plain }), bytes(plain) + 64 * k);
        }
    }

    #[test]
    fn a_rate_without_a_table_needs_its_interface_delay() {
        let plain = Inputs::new(BitsPerSec::gbps(50), 100_000);
        let error = plain.on(None, Fec::None, Extender::None).unwrap_err();
        assert!(error.field() == "rate" && error.to_string().contains("phy none"), "{error}");
        let none = plain.on(Some(Phy::Virtual(plain.rate)), Fec::None, Extender::None).unwrap();
        let delay = Duration::from_nanos(100);
        // 100 ns at 50 Gb/s are 625 bytes, at both ends.
        assert_eq!(bytes(Inputs { interface_delay: delay, ..none }), bytes(none) + 1_250);
        let error = plain.on(Some(Phy::Base40R), Fec::None, Extender::None).unwrap_err();
        assert!(error.to_string().contains("has none"), "{error}");
    }
}
