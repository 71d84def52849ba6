//! PFC: the configuration in both of its forms (802.1Q D.2.10 and the P802.1Qdt proposal), and the
//! proposal's informational TLV.

use core::fmt;

use crate::{WireError, room};
use ground::time::Duration;
use ground::units::PrioritySet;

/// Octets behind the subtype of the published form.
const PUBLISHED_LEN: usize = 2;
/// Octets behind the subtype of the proposed form.
const PROPOSED_LEN: usize = 3;

const WILLING: u8 = 1 << 7;
const MACSEC_BOUND: u8 = 1 << 6;
/// Reserved in the published form.
const MACSEC_CAPABLE: u8 = 1 << 5;
const CAPABILITY: u8 = 0xf;
const ROUND_TRIP: u8 = 1 << 7;
const PTP: u8 = 1 << 6;

/// What the proposed form says beside the published one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Proposed {
    /// Whether the port measures by requests and responses.
    pub round_trip: bool,
    /// Whether it measures by PTP's peer delay.
    pub ptp: bool,
    /// Whether its PFC frames can be protected by MACsec.
    pub macsec: bool,
}

/// The PFC of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Configuration {
    /// Whether it takes the peer's.
    pub willing: bool,
    /// MBC: set when its PFC frames can NOT bypass MACsec.
    pub macsec_bound: bool,
    /// How many traffic classes may have PFC at a time, 0 to 15; 0 means all eight.
    pub capability: u8,
    /// The priorities that have it.
    pub enable: PrioritySet,
    /// What only the proposed form says.
    pub proposed: Option<Proposed>,
}

impl Configuration {
    /// Reads what follows the subtype. Two octets are the published form, more are the proposed one.
    ///
    /// # Errors
    /// [`WireError::Truncated`] below 2 octets.
    pub fn parse(value: &[u8]) -> Result<Self, WireError> {
        let &[flags, enable] = value.first_chunk().ok_or(WireError::Truncated)?;
        let proposed = value.get(PUBLISHED_LEN).map(|methods| Proposed {
            round_trip: methods & ROUND_TRIP != 0,
            ptp: methods & PTP != 0,
            macsec: flags & MACSEC_CAPABLE != 0,
        });
        Ok(Self {
            willing: flags & WILLING != 0,
            macsec_bound: flags & MACSEC_BOUND != 0,
            capability: flags & CAPABILITY,
            enable: PrioritySet(enable),
            proposed,
        })
    }

    /// Octets that [`Configuration::emit`] writes.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        if self.proposed.is_some() { PROPOSED_LEN } else { PUBLISHED_LEN }
    }

    /// Writes what follows the subtype.
    ///
    /// # Errors
    /// [`WireError::NoRoom`], [`WireError::OutOfRange`] for a capability above 15.
    pub fn emit(&self, buf: &mut [u8]) -> Result<usize, WireError> {
        if self.capability > CAPABILITY {
            return Err(WireError::OutOfRange);
        }
        let out = buf.get_mut(..self.buffer_len()).ok_or(WireError::NoRoom)?;
        let bit = |set: bool, mask: u8| if set { mask } else { 0 };
        out[0] = bit(self.willing, WILLING) | bit(self.macsec_bound, MACSEC_BOUND);
        out[0] |= self.capability;
        out[1] = self.enable.0;
        if let Some(Proposed { round_trip, ptp, macsec }) = self.proposed {
            out[0] |= bit(macsec, MACSEC_CAPABLE);
            out[2] = bit(round_trip, ROUND_TRIP) | bit(ptp, PTP);
        }
        Ok(out.len())
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let willing = if self.willing { "willing, " } else { "" };
        write!(f, "PFC {willing}{:?} of {}", self.enable, self.capability)?;
        if self.macsec_bound {
            f.write_str(", bound to MACsec")?;
        }
        if let Some(Proposed { round_trip, ptp, macsec }) = self.proposed {
            write!(f, ", round trip {round_trip}, PTP {ptp}, MACsec {macsec}")?;
        }
        Ok(())
    }
}

/// The informational TLV of the P802.1Qdt proposal: what a peer that measures by PTP has to add.
///
/// The proposal names the TLV and lays none of it out. Four octets of nanoseconds, which span 4.29 s,
/// are this project's reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Information {
    /// The sender's internal delay, from the last bit of a PFC frame received to the queue standing
    /// still, in whole nanoseconds on the wire; rounded up, which is the safe side.
    pub internal_delay: Duration,
}

impl Information {
    /// Octets behind the subtype.
    pub const LEN: usize = 4;
    /// The longest delay that fits.
    pub const MAX: Duration = Duration::from_nanos(u32::MAX as u64);

    /// Reads what follows the subtype.
    ///
    /// # Errors
    /// [`WireError::Truncated`] below 4 octets.
    pub fn parse(value: &[u8]) -> Result<Self, WireError> {
        let &octets = value.first_chunk().ok_or(WireError::Truncated)?;
        Ok(Self { internal_delay: Duration::from_nanos(u32::from_be_bytes(octets).into()) })
    }

    /// Octets that [`Information::emit`] writes.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        Self::LEN
    }

    /// Writes what follows the subtype.
    ///
    /// # Errors
    /// [`WireError::NoRoom`], [`WireError::OutOfRange`] for a delay above [`Information::MAX`].
    pub fn emit(&self, buf: &mut [u8]) -> Result<usize, WireError> {
        let nanos = self.internal_delay.as_picos().div_ceil(1_000);
        let nanos = u32::try_from(nanos).map_err(|_| WireError::OutOfRange)?;
        let out: &mut [u8; Self::LEN] = room(buf)?;
        *out = nanos.to_be_bytes();
        Ok(Self::LEN)
    }
}

impl fmt::Display for Information {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "internal delay {}", self.internal_delay)
    }
}
