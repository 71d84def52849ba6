//! Options that several headroom commands share: names of the models' choices, and the inputs of the
//! delay value of 802.1Q Annex N.

use clap::{Args, ValueEnum};

use crate::config::quantity::{Size, Span};
use crate::headroom::models::{ModelError, ieee, sonic};
use crate::headroom::{Extender, Fec, Phy, SoftwareTerms};
use crate::units::{BitsPerSec, Bytes};

/// A physical layer, or none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PhyChoice {
    None,
    Of(Phy),
}

/// Parses the name of a physical layer.
pub fn phy(text: &str) -> Result<PhyChoice, String> {
    if text == "none" {
        return Ok(PhyChoice::None);
    }
    // Names of 802.3, in upper or lower case.
    let named = Phy::ALL.into_iter().find(|phy| phy.to_string().eq_ignore_ascii_case(text));
    named.map(PhyChoice::Of).ok_or_else(|| {
        let names: Vec<_> = Phy::ALL.iter().map(ToString::to_string).collect();
        format!("there are none and {}", names.join(", "))
    })
}

/// Parses KiB with a fraction, as in SONiC's tables.
pub fn kib(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix("KiB").map(str::trim_end);
    // The parser of numbers would take an exponent, a sign or `inf`, too.
    let digits = |n: &&str| n.chars().all(|c| c.is_ascii_digit() || c == '.');
    let value = number.filter(digits).and_then(|n| n.parse().ok());
    value.ok_or_else(|| "write KiB, such as 0.8KiB".into())
}

/// MACsec overhead of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum MacsecOverhead {
    /// Without SCI.
    #[value(name = "24")]
    NoSci,
    /// With SCI.
    #[value(name = "32")]
    Sci,
}

/// Switch chips.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Asic {
    /// Spectrum.
    Spectrum1,
    /// Spectrum-2.
    Spectrum2,
    /// Spectrum-3.
    Spectrum3,
    /// Spectrum-4.
    Spectrum4,
    /// Spectrum-5.
    Spectrum5,
    /// Spectrum-6.
    Spectrum6,
    /// Tofino 2.
    Tofino2,
    /// Virtual switch.
    Vs,
}

impl Asic {
    /// Parameters in SONiC's tables.
    pub fn figures(self) -> sonic::Asic {
        match self {
            Self::Tofino2 => sonic::Asic::TOFINO_2,
            Self::Vs => sonic::Asic::VS,
            // By the order of the variants.
            spectrum => sonic::Asic::spectrum(spectrum as u8 - Self::Spectrum1 as u8 + 1)
                .expect("there are six generations"),
        }
    }
}

/// Options of the delay value.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Options of ieee")]
pub(super) struct IeeeArgs {
    /// Physical layer, such as 100GBASE-R, or none. Default: the BASE-R type of the rate.
    #[arg(long, value_parser = phy)]
    pub(super) phy: Option<PhyChoice>,
    /// Forward error correction, if optional: rs at 25G and 100G, base_r at 40G and 100G. Default:
    /// none.
    #[arg(long, value_enum)]
    pub(super) fec: Option<Fec>,
    /// Optional sublayer between MAC and PHY at 10G. Default: none.
    #[arg(long, value_enum)]
    pub(super) extender: Option<Extender>,
    /// Additional delay of one node's interfaces, transmit and receive together; with --phy none
    /// their whole delay. Default: 0.
    #[arg(long, value_name = "TIME")]
    pub(super) interface_delay: Option<Span>,
    /// MACsec protects frames; bytes of its SecTAG and ICV (32 with SCI).
    #[arg(long, value_enum, value_name = "OCTETS")]
    pub(super) macsec: Option<MacsecOverhead>,
    /// MACsec protects PFC frames, too.
    #[arg(long, requires = "macsec")]
    pub(super) macsec_pfc: bool,
    /// MACsec delay in one direction, transmit and receive together. Default: 0.
    #[arg(long, value_name = "TIME", requires = "macsec")]
    pub(super) shim_delay: Option<Span>,
}

/// Terms of a software switch and its peer.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Options of ieee")]
pub(super) struct SoftwareArgs {
    /// Software switch: longest time between two polls of the port. Default: unknown; the ring counts alone.
    #[arg(long, value_name = "TIME", requires = "cell")]
    pub(super) poll_gap: Option<Span>,
    /// Software switch: bytes in the port's receive ring. Default: unknown; the time between polls counts alone.
    #[arg(long, value_name = "SIZE", requires = "cell")]
    pub(super) rx_backlog: Option<Size>,
    /// Software switch: bytes in its transmit ring before a PFC frame. Default: 0.
    #[arg(long, value_name = "SIZE", requires = "cell")]
    pub(super) tx_committed: Option<Size>,
    /// Software peer: bytes that it still sends after it has read the PFC frame. Default: 0.
    #[arg(long, value_name = "SIZE", requires = "cell")]
    pub(super) peer_committed: Option<Size>,
}

impl SoftwareArgs {
    /// Terms that a software switch adds.
    pub(super) fn terms(&self) -> SoftwareTerms {
        let bytes = |size: Option<Size>| Bytes(size.map_or(0, |Size(n)| n));
        let terms = SoftwareTerms {
            tx_committed: bytes(self.tx_committed),
            peer_committed: bytes(self.peer_committed),
            ..SoftwareTerms::default()
        };
        terms.polled(self.rx_backlog.map(|Size(n)| Bytes(n)), self.poll_gap.map(|span| span.0))
    }
}

/// Parameters that other models have too.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct Shared {
    /// Longest frame. Default: 2000 bytes.
    #[arg(long, value_name = "SIZE")]
    pub(super) max_frame: Option<Size>,
    /// Propagation delay per metre. Default: 5ns.
    #[arg(long, value_name = "TIME")]
    pub(super) delay_per_metre: Option<Span>,
    /// Time from reception of a pause to the last frame start. Default: 614.4ns.
    #[arg(long, value_name = "TIME")]
    pub(super) reaction_delay: Option<Span>,
}

impl IeeeArgs {
    /// Inputs of the delay value for a link of `rate` with a cable of `length_mm`.
    ///
    /// # Errors
    /// Sublayers that do not exist together or at this rate.
    pub(super) fn inputs(
        &self,
        rate: BitsPerSec,
        length_mm: u64,
        shared: Shared,
    ) -> Result<ieee::Inputs, ModelError> {
        let phy = self.phy.map(|choice| match choice {
            PhyChoice::None => Phy::Virtual(rate),
            PhyChoice::Of(phy) => phy,
        });
        // The sublayers first: they decide the defaults that the other options replace.
        let link = ieee::Inputs::new(rate, length_mm).on(phy, self.fec(), self.extender())?;
        let Shared { max_frame, delay_per_metre, reaction_delay } = shared;
        Ok(ieee::Inputs {
            max_frame: max_frame.map_or(link.max_frame, |size| Bytes(size.0)),
            ps_per_metre: delay_per_metre.map_or(link.ps_per_metre, |s| s.0.as_picos()),
            reaction: reaction_delay.map_or(link.reaction, |s| s.0),
            interface_delay: self.interface_delay.unwrap_or_default().0,
            macsec: self.macsec.map(|octets| ieee::Macsec {
                sci: octets == MacsecOverhead::Sci,
                protects_pfc: self.macsec_pfc,
                shim: self.shim_delay.unwrap_or_default().0,
            }),
            ..link
        })
    }

    fn fec(&self) -> Fec {
        self.fec.unwrap_or_default()
    }

    fn extender(&self) -> Extender {
        self.extender.unwrap_or_default()
    }
}
