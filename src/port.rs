//! What the data plane knows of a port: bursts in, bursts out, and what it promises.

mod secured;
mod tapped;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod testsecy;

pub use secured::{Lost, Secured};
pub use tapped::{Tap, Tapped};

use core::fmt;

use crate::frame::{Burst, Frame};
use crate::secure::Secy;
use crate::time::{Duration, Instant};
use crate::units::{BitsPerSec, Bytes};

/// What a port can do and what it holds, as found out when it was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortCaps {
    /// The rate of the link: negotiated where there is a NIC, else unknown.
    pub link_rate: Option<BitsPerSec>,
    /// The most octets of data frames (FCS included) that may be waiting in the receive ring when
    /// the switch looks: they are on this side of the link but not yet in the ledger, so they are
    /// a term of the headroom.
    pub rx_backlog_max: Bytes,
    /// The most octets that leave whatever PFC says once `tx_burst` took them.
    pub tx_committed_max: Bytes,
}

/// Where the times of a port's frames come from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StampSource {
    /// The virtual world: every time is exact.
    Exact,
    /// The device stamps what it receives; what is sent is dated beside the burst call.
    Nic,
    /// The processor's counter, read beside the burst calls.
    Software,
    /// The time of the poll.
    Poll,
}

impl fmt::Display for StampSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exact => "exact",
            Self::Nic => "NIC",
            Self::Software => "TSC",
            Self::Poll => "poll",
        })
    }
}

/// What the times of a port's frames are worth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamps {
    /// Where they come from.
    pub source: StampSource,
    /// The smallest step between two of them.
    pub resolution: Duration,
    /// How far the difference of two of them may be off besides, either way.
    pub uncertainty: Duration,
    /// Whether a frame, once handed over, takes its time on a line of the link's rate: then its last
    /// bit leaves that much after the time at which it is handed over.
    pub serializes: bool,
}

/// The shortest frame that Ethernet allows, FCS included (802.3 4A.2.3.2.4).
pub const FRAME_MIN: u32 = 64;

/// The longest frame that [`Port::control_frame`] takes, FCS included. MAC control frames are 64
/// octets (802.3 31.4.1.3); testers send longer ones, too, up to the longest tagged frame (3.2.7).
pub const CONTROL_FRAME_MAX: u32 = 1_522;

/// A full-duplex port. Calls never block and make no system call beyond the driver's own.
pub trait Port {
    /// The frames this port carries.
    type Frame: Frame;

    /// Takes the frames that have arrived, in order, into the empty `out`.
    fn rx_burst(&mut self, out: &mut Burst<Self::Frame>);

    /// Hands over frames from the front of `out`, in order; what does not fit stays in `out`, in
    /// order. That is no error: the other side decides how fast it takes.
    fn tx_burst(&mut self, out: &mut Burst<Self::Frame>);

    /// A frame with the given octets from memory that data frames can never use up, for MAC
    /// control frames. Nothing while all of it is still waiting to be sent: ask again next poll.
    fn control_frame(&mut self, octets: &[u8]) -> Option<Self::Frame>;

    /// A frame with the given octets, padded to the shortest that Ethernet allows, for a message that
    /// is queued as data is. Nothing while there is no memory for data. By default from where control
    /// frames are, for ports whose memory does not run out.
    fn message_frame(&mut self, octets: &[u8]) -> Option<Self::Frame> {
        self.control_frame(octets)
    }

    /// What the port can do.
    fn caps(&self) -> &PortCaps;

    /// When a frame that the port received arrived, by the port's own stamp; nothing from ports
    /// that have none, whose frames came at the latest in the poll that found them.
    #[inline]
    fn rx_stamp(&self, _frame: &Self::Frame) -> Option<Instant> {
        None
    }

    /// The time now, by the clock of which `now` was read at the start of the poll. `now` itself from
    /// ports in worlds where time stands still within a poll.
    #[inline]
    fn clock(&self, now: Instant) -> Instant {
        now
    }

    /// Looks again how the device's clock runs beside ours, where it stamps by one and was not looked at
    /// for a second: before times are taken that matter. Takes some microseconds then.
    fn refresh_clock(&mut self) {}

    /// Hands on what the port has taken and could not hand on: receiving does so too. Nothing waits in
    /// most ports.
    #[inline]
    fn pass_on(&mut self) {}

    /// Its `SecY`, if its frames are protected by MACsec.
    fn secy(&self) -> Option<&Secy> {
        None
    }

    /// Its `SecY`, to change its associations.
    fn secy_mut(&mut self) -> Option<&mut Secy> {
        None
    }

    /// What the times are worth that [`Port::clock`] and [`Port::rx_stamp`] give.
    fn stamps(&self) -> Stamps {
        Stamps {
            source: StampSource::Poll,
            resolution: Duration::from_picos(1),
            uncertainty: Duration::ZERO,
            serializes: false,
        }
    }
}

/// A port that new data frames can be made for: what an end station needs and a switch does not.
pub trait Source: Port {
    /// A frame of `wire_len` octets (FCS included) from the memory of data frames, that starts
    /// with `head` and is zero from there on. Nothing while that memory is used up. `head` is not
    /// longer than the frame without its FCS.
    fn data_frame(&mut self, head: &[u8], wire_len: u32) -> Option<Self::Frame>;

    /// Up to `n` such frames behind those in `out`, which has room for them; says how many, fewer
    /// when the memory is used up. Each is changed by `edit`, which gets its first octets: all of
    /// `head`, or at least 128.
    #[inline]
    fn data_frames(
        &mut self,
        n: usize,
        head: &[u8],
        wire_len: u32,
        out: &mut Burst<Self::Frame>,
        mut edit: impl FnMut(&mut [u8]),
    ) -> usize {
        for made in 0..n {
            let Some(mut frame) = self.data_frame(head, wire_len) else { return made };
            edit(frame.head_mut());
            out.push(frame);
        }
        n
    }

    /// The shortest frame, FCS included, that leaves as it was made. Default: [`FRAME_MIN`]; less
    /// where runts can be sent.
    fn frame_min(&self) -> u32 {
        FRAME_MIN
    }
}
