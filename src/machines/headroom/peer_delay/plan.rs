//! Configuration of the peer delay mechanism of one port.

use ground::time::Duration;

/// Peer delay mechanism of one port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeerDelayPlan {
    /// Interval between requests; `None` to respond only.
    pub interval: Option<Duration>,
    /// True if requests of the peer are answered (with a Follow_Up, in two steps).
    pub respond: bool,
    /// PTP domain, 0 to 239.
    pub domain: u8,
    /// Upper four bits of the first octet: 0 for IEEE 1588, 1 for IEEE 802.1AS.
    pub major_sdo_id: u8,
    /// Exchanges per set, 1 to 256.
    pub rounds: u16,
}

impl PeerDelayPlan {
    /// A request per second in domain 0 of IEEE 1588, sets of eight exchanges, responding enabled.
    pub const DEFAULT: Self = Self {
        interval: Some(Duration::from_secs(1)),
        respond: true,
        domain: 0,
        major_sdo_id: 0,
        rounds: 8,
    };
}
