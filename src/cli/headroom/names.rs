//! Arguments that name choices of the models.

use clap::ValueEnum;

use crate::headroom::Phy;
use crate::headroom::models::sonic;

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
    let named = Phy::ALL.into_iter().find(|phy| phy.to_string().eq_ignore_ascii_case(text));
    named.map(PhyChoice::Of).ok_or_else(|| {
        let names: Vec<_> = Phy::ALL.iter().map(ToString::to_string).collect();
        format!("there are none and {}", names.join(", "))
    })
}

/// Parses KiB with a fraction, as in SONiC's tables.
pub fn kib(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix("KiB").map(str::trim_end);
    let digits = |n: &&str| n.chars().all(|c| c.is_ascii_digit() || c == '.');
    let value = number.filter(digits).and_then(|n| n.parse().ok());
    value.ok_or_else(|| "write KiB, such as 0.8KiB".into())
}

/// MACsec overhead of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum MacsecName {
    /// Without SCI.
    #[value(name = "24")]
    NoSci,
    /// With SCI.
    #[value(name = "32")]
    Sci,
}

/// Switch chips.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum AsicName {
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

impl AsicName {
    /// Parameters in SONiC's tables.
    pub fn figures(self) -> sonic::Asic {
        match self {
            Self::Tofino2 => sonic::Asic::TOFINO_2,
            Self::Vs => sonic::Asic::VS,
            spectrum => sonic::Asic::spectrum(spectrum as u8 - Self::Spectrum1 as u8 + 1)
                .expect("there are six generations"),
        }
    }
}
