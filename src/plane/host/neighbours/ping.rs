//! Pings that a station sends on request.

use core::net::IpAddr;

use ground::time::{Duration, Instant};

/// Maximum number of pings kept, completed ones included.
pub const PINGS_MAX: usize = 64;

/// Interval between the requests of a ping. A choice, the same as ping's.
pub const PING_EVERY: Duration = Duration::from_millis(1_000);

/// Requests of a ping before it is lost. A choice.
pub const PING_TRIES: u32 = 3;

/// State of a ping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PingState {
    /// No reply yet.
    Waiting,
    /// Answered, with the round-trip time.
    Answered(Duration),
    /// No reply to [`PING_TRIES`] requests.
    Lost,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ping {
    /// Number of the ping; the station's pings are numbered from 0.
    pub number: u16,
    pub interface: String,
    pub dst: IpAddr,
    pub state: PingState,
}

/// Reason for not sending a ping.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PingError {
    #[error("there is no interface {0}")]
    NoInterface(String),
    /// The interface has no address of that IP version, or no route to the destination.
    #[error("interface {0} has no address on the link of {1}, and no gateway that leads there")]
    NoRoute(String, IpAddr),
    /// All kept pings are still waiting, or there are too many neighbours.
    #[error("{PINGS_MAX} pings are waiting for answers, or too many neighbours are known")]
    Busy,
}

/// A ping with its internal state.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) ping: Ping,
    pub(super) interface: usize,
    /// Source address.
    pub(super) src: IpAddr,
    /// Index of the next hop in the table.
    pub(super) by: usize,
    /// Requests made, including those without a resolved next hop.
    pub(super) tries: u32,
    /// Time of the last request sent.
    pub(super) sent: Option<Instant>,
    /// Time of the next request, or of giving up.
    pub(super) due: Instant,
}

impl Asking {
    /// Handles a reply with this ping's number from `src`. Returns true if the ping waited for it.
    pub(super) fn on_reply(&mut self, now: Instant, src: IpAddr) -> bool {
        let Some(sent) = self.sent else { return false };
        if self.ping.state != PingState::Waiting || src != self.ping.dst {
            return false;
        }
        self.ping.state = PingState::Answered(now.since(sent));
        self.due = Instant::NEVER;
        true
    }
}
