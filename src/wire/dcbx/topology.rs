//! The topology recognition TLV (802.1Q D.2.16, by 802.1Qcz): position of a port in its network.

use core::fmt;

use serde::{Deserialize, Serialize};

use ground::named;

use crate::{WireError, room};

named! {
    /// Type of a system.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Device {
        /// End station.
        EndStation = "end_station",
        /// Bridge.
        Bridge = "bridge",
        /// Router.
        Router = "router",
        /// Unknown.
        // Also for reserved values.
        #[default]
        Unknown = "unknown",
    }
}

named! {
    /// Direction of a port.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Orientation {
        /// To a higher level.
        Uplink = "uplink",
        /// To a lower level.
        Downlink = "downlink",
        /// Within its level.
        Crosslink = "crosslink",
        /// Unknown.
        // Also for reserved values.
        #[default]
        Unknown = "unknown",
    }
}

/// Topology of a port, as in results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Topology {
    /// Device type of its system.
    pub device: Device,
    /// Level of the system: 0 at the edge, at most 254; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<u8>,
    /// Orientation of the port.
    pub orientation: Orientation,
}

/// Value for unknown in every field.
const UNKNOWN: u8 = 255;

impl Topology {
    /// Length after the subtype.
    pub const LEN: usize = 3;

    /// Parses the string after the subtype.
    ///
    /// # Errors
    /// [`WireError::Truncated`] below 3 bytes.
    pub fn parse(value: &[u8]) -> Result<Self, WireError> {
        let &[device, level, orientation] = value.first_chunk().ok_or(WireError::Truncated)?;
        let device = match device {
            0 => Device::EndStation,
            1 => Device::Bridge,
            2 => Device::Router,
            // 255 is unknown, and a reserved value says no more than that.
            _ => Device::Unknown,
        };
        let orientation = match orientation {
            0 => Orientation::Uplink,
            1 => Orientation::Downlink,
            2 => Orientation::Crosslink,
            _ => Orientation::Unknown,
        };
        Ok(Self { device, level: (level != UNKNOWN).then_some(level), orientation })
    }

    /// Returns the number of bytes that [`Topology::emit`] writes.
    #[must_use]
    pub const fn buffer_len(&self) -> usize {
        Self::LEN
    }

    /// Writes the string after the subtype.
    ///
    /// # Errors
    /// [`WireError::NoRoom`], [`WireError::OutOfRange`] for level 255.
    pub fn emit(&self, buf: &mut [u8]) -> Result<usize, WireError> {
        let out: &mut [u8; Self::LEN] = room(buf)?;
        // Receivers would take it for an unknown level.
        if self.level == Some(UNKNOWN) {
            return Err(WireError::OutOfRange);
        }
        out[0] = match self.device {
            Device::EndStation => 0,
            Device::Bridge => 1,
            Device::Router => 2,
            Device::Unknown => UNKNOWN,
        };
        out[1] = self.level.unwrap_or(UNKNOWN);
        out[2] = match self.orientation {
            Orientation::Uplink => 0,
            Orientation::Downlink => 1,
            Orientation::Crosslink => 2,
            Orientation::Unknown => UNKNOWN,
        };
        Ok(Self::LEN)
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { device, level, orientation } = self;
        write!(f, "{device:?}, ")?;
        match level {
            Some(level) => write!(f, "level {level}")?,
            None => f.write_str("level unknown")?,
        }
        write!(f, ", {orientation:?}")
    }
}
