//! Pings that a station sends when it is told to.

use core::net::IpAddr;

use crate::time::{Duration, Instant};

/// How many pings are kept, those that have ended among them.
pub const PINGS_MAX: usize = 64;

/// From one question of a ping to the next. A choice, ping's own.
pub const PING_EVERY: Duration = Duration::from_millis(1_000);

/// How many questions a ping asks before it is lost. A choice.
pub const PING_TRIES: u32 = 3;

/// What came of a ping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PingState {
    /// Nothing yet.
    Waiting,
    /// An answer, so long after the question.
    Answered(Duration),
    /// [`PING_TRIES`] questions and no answer.
    Lost,
}

/// A ping.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ping {
    /// Its number: the station's pings are numbered from 0.
    pub number: u16,
    /// The interface that asks.
    pub interface: String,
    /// Whom it asks.
    pub dst: IpAddr,
    /// What came of it.
    pub state: PingState,
}

/// Why a ping cannot be sent.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PingError {
    /// No interface has this name.
    #[error("there is no interface {0}")]
    NoInterface(String),
    /// The interface has no address of that version, or neither link nor gateway leads there.
    #[error("interface {0} has no address on the link of {1}, and no gateway that leads there")]
    NoRoute(String, IpAddr),
    /// All pings that are kept are still waiting, or there are too many neighbours.
    #[error("{PINGS_MAX} pings are waiting for answers, or too many neighbours are known")]
    Busy,
}

/// A ping as its station has it.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) ping: Ping,
    pub(super) interface: usize,
    /// The address that it asks from.
    pub(super) src: IpAddr,
    /// Whose Ethernet address it goes to: the place in the table.
    pub(super) by: usize,
    /// Questions asked, those among them that did not know where to go.
    pub(super) tries: u32,
    /// When the last one left.
    pub(super) sent: Option<Instant>,
    /// When to ask, or to give up.
    pub(super) due: Instant,
}

impl Asking {
    /// Its number's answer came from `src`. Says whether it waited for that.
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
