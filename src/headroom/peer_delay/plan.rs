//! What the peer delay of one port is told.

use crate::time::Duration;

/// The peer delay of one port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeerDelayPlan {
    /// How often this port asks, or nothing to answer only.
    pub interval: Option<Duration>,
    /// Whether requests of the peer are answered (with a Follow_Up, in two steps).
    pub respond: bool,
    /// The PTP domain, 0 to 239.
    pub domain: u8,
    /// The upper four bits of the first octet: 0 for IEEE 1588, 1 for IEEE 802.1AS.
    pub major_sdo_id: u8,
    /// Exchanges over which the delay is taken, 1 to 256.
    pub rounds: u16,
}

impl PeerDelayPlan {
    /// Once a second in domain 0 of IEEE 1588, over eight exchanges, and answers.
    pub const DEFAULT: Self = Self {
        interval: Some(Duration::from_secs(1)),
        respond: true,
        domain: 0,
        major_sdo_id: 0,
        rounds: 8,
    };
}
