//! PFC: the configuration in both formats (802.1Q D.2.10 and the P802.1Qdt proposal), and the
//! proposal's informational TLV.

use core::fmt;

use crate::headroom::Adjustment;
use crate::{WireError, room};
use ground::time::Duration;
use ground::units::PrioritySet;

/// Length of the published format after the subtype.
const PUBLISHED_LEN: usize = 2;
/// Length of the proposed format after the subtype.
const PROPOSED_LEN: usize = 3;

const WILLING: u8 = 1 << 7;
const MACSEC_BOUND: u8 = 1 << 6;
/// Reserved in the published format.
const MACSEC_CAPABLE: u8 = 1 << 5;
const CAPABILITY: u8 = 0xf;
const ROUND_TRIP: u8 = 1 << 7;
const PTP: u8 = 1 << 6;

/// Fields of the proposed format beyond the published one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Proposed {
    /// True if the port supports the request/response measurement.
    pub round_trip: bool,
    /// True if it supports PTP's peer delay.
    pub ptp: bool,
    /// True if MACsec can protect its PFC frames.
    pub macsec: bool,
}

/// PFC configuration of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Configuration {
    /// True if it accepts the peer's setting.
    pub willing: bool,
    /// MBC: set when its PFC frames can NOT bypass MACsec.
    pub macsec_bound: bool,
    /// Maximum number of traffic classes with PFC, 0 to 15; 0 means all eight.
    pub capability: u8,
    /// Priorities with PFC.
    pub enable: PrioritySet,
    /// Fields of the proposed format.
    pub proposed: Option<Proposed>,
}

impl Configuration {
    /// Parses the string after the subtype. Two octets are the published format, more are the
    /// proposed one.
    ///
    /// # Errors
    /// [`WireError::Truncated`] below 2 bytes.
    pub fn parse(value: &[u8]) -> Result<Self, WireError> {
        let &[flags, enable] = value.first_chunk().ok_or(WireError::Truncated)?;
        // A third byte makes it the format of the proposal, 7 octets instead of 6 (Qdt, S4).
        let proposed = value.get(PUBLISHED_LEN).map(|methods| Proposed {
            round_trip: methods & ROUND_TRIP != 0,
            ptp: methods & PTP != 0,
            // Reserved in the published format, where it is not read.
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

    /// Returns the number of bytes that [`Configuration::emit`] writes.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        if self.proposed.is_some() { PROPOSED_LEN } else { PUBLISHED_LEN }
    }

    /// Writes the string after the subtype.
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

/// The informational TLV of the P802.1Qdt proposal: the internal delay that a peer adds to PTP's
/// measurement, and the compensation that it adds to that of the round trip.
///
/// The proposal names the TLV without a layout. Four octets of nanoseconds, which span 4.29 s, and
/// four more of signed nanoseconds, are our interpretation. A receiver that knows the first four
/// alone ignores the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Information {
    /// Internal delay of the sender, from the last bit of a received PFC frame until the queue
    /// stops, in whole nanoseconds on the wire; rounded up, to be safe.
    pub internal_delay: Duration,
    /// Time from the last bit of a received PFC frame to the last frame start, from above the MAC,
    /// with the sender's adjustment.
    pub compensation: Option<Adjustment>,
}

impl Information {
    /// Length after the subtype, without the compensation.
    pub const LEN: usize = 4;
    /// Length after the subtype, with the compensation.
    pub const COMPENSATED_LEN: usize = 8;
    /// Maximum delay.
    pub const MAX: Duration = Duration::from_nanos(u32::MAX as u64);

    /// Parses the string after the subtype.
    ///
    /// # Errors
    /// [`WireError::Truncated`] below 4 bytes.
    pub fn parse(value: &[u8]) -> Result<Self, WireError> {
        let (&octets, rest) = value.split_first_chunk().ok_or(WireError::Truncated)?;
        let compensation = rest.first_chunk().map(|octets| i32::from_be_bytes(*octets));
        Ok(Self {
            internal_delay: Duration::from_nanos(u32::from_be_bytes(octets).into()),
            // The least number stands for none.
            compensation: compensation.and_then(Adjustment::from_nanos),
        })
    }

    /// Returns the number of bytes that [`Information::emit`] writes.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        if self.compensation.is_some() { Self::COMPENSATED_LEN } else { Self::LEN }
    }

    /// Writes the string after the subtype.
    ///
    /// # Errors
    /// [`WireError::NoRoom`], [`WireError::OutOfRange`] for a delay above [`Information::MAX`].
    pub fn emit(&self, buf: &mut [u8]) -> Result<usize, WireError> {
        // Rounded up: with less the peer's headroom would be too small.
        let nanos = self.internal_delay.as_picos().div_ceil(1_000);
        let nanos = u32::try_from(nanos).map_err(|_| WireError::OutOfRange)?;
        if let Some(compensation) = self.compensation {
            let out: &mut [u8; Self::COMPENSATED_LEN] = room(buf)?;
            out[Self::LEN..].copy_from_slice(&compensation.nanos().to_be_bytes());
        }
        let out: &mut [u8; Self::LEN] = room(buf)?;
        *out = nanos.to_be_bytes();
        Ok(self.buffer_len())
    }
}

impl fmt::Display for Information {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "internal delay {}", self.internal_delay)?;
        self.compensation.map_or(Ok(()), |time| write!(f, ", compensation {time}"))
    }
}
