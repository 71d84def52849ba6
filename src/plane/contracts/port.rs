//! Ports as the data plane sees them: receive and transmit bursts, and guarantees.
//!
//! A [`Tapped`] port has an observer, which sees each burst that was received and each that is to be
//! sent; the port's frames and guarantees are unchanged.

mod secured;
#[cfg(test)]
mod tests;

pub use secured::{Lost, Secured};

use core::fmt;

use crate::frame::{Burst, Frame};
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes, PrioritySet, Quanta};
use secure::Secy;

/// Capabilities and limits of a port, determined when it was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortCaps {
    /// Link rate: negotiated if there is a NIC, else unknown.
    pub link_rate: Option<BitsPerSec>,
    /// Maximum bytes of data frames (FCS included) that may wait in the receive ring before the
    /// switch polls it: they have crossed the link but are not yet in the ledger, so they are a
    /// term of the headroom.
    pub rx_backlog_max: Bytes,
    /// Maximum bytes that leave despite PFC once `tx_burst` took them.
    pub tx_committed_max: Bytes,
}

/// A link's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// True if frames can be sent and received.
    pub up: bool,
    /// Its rate, where the driver names one. Virtual devices name one that means nothing.
    pub rate: Option<BitsPerSec>,
    /// True if it is full duplex, which PFC requires.
    pub full_duplex: bool,
}

/// Settings of the device's PFC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HardwarePfc {
    /// Priorities for which it sends and obeys PFC.
    pub priorities: PrioritySet,
    /// Pause time of the frames it sends.
    pub pause: Quanta,
}

/// Source of the timestamps of a port's frames.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum StampSource {
    /// Virtual world: every time is exact.
    Exact,
    /// The device: the start of the frame, behind the start delimiter (IEEE 1588-2019, 7.3.4.1).
    Nic,
    /// The processor's counter, read when a frame is found in a burst that was received, and after
    /// the call that hands one over.
    Software,
    /// Time of the poll.
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

/// Accuracy of the timestamps of a port's frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamps {
    /// Source of the timestamps.
    pub source: StampSource,
    /// Resolution.
    pub resolution: Duration,
    /// Maximum further error of the difference of two timestamps, in either direction.
    pub uncertainty: Duration,
    /// True if a frame takes its serialization time at the link's rate after it is passed to the
    /// port: its last bit then leaves that much after the transmit time.
    pub serializes: bool,
}

/// Minimum Ethernet frame size, FCS included (802.3 4A.2.3.2.4).
pub const FRAME_MIN: u32 = 64;

/// Maximum frame size that a switch or a station can be configured for, FCS included. A choice.
pub const FRAME_MAX: u32 = 16_384;

/// Maximum size of a frame from [`Port::control_frame`], FCS included. MAC control frames are 64
/// bytes (802.3 31.4.1.3); testers also send longer ones, up to the maximum tagged frame (3.2.7).
pub const CONTROL_FRAME_MAX: u32 = 1_522;

/// A full-duplex port. Calls never block and make no system call beyond the driver's own.
pub trait Port {
    /// Frame type of this port.
    type Frame: Frame;

    /// Receives the frames that have arrived, in order, into the empty `out`.
    fn rx_burst(&mut self, out: &mut Burst<Self::Frame>);

    /// Sends frames from the front of `out`, in order; those that do not fit stay in `out`, in
    /// order. That is not an error: the device may accept fewer.
    fn tx_burst(&mut self, out: &mut Burst<Self::Frame>);

    /// Returns a frame with these bytes from memory that data frames cannot exhaust, for MAC
    /// control frames. `None` while all of it is waiting to be sent: retry in the next poll.
    fn control_frame(&mut self, octets: &[u8]) -> Option<Self::Frame>;

    /// Returns a frame with these bytes, padded to the Ethernet minimum, for a message that is
    /// queued as data. `None` while there is no memory for data. By default from the memory of
    /// control frames, for ports whose memory is unlimited.
    fn message_frame(&mut self, octets: &[u8]) -> Option<Self::Frame> {
        self.control_frame(octets)
    }

    /// Returns the capabilities of the port.
    fn caps(&self) -> &PortCaps;

    /// Returns the arrival time of a received frame by the port's timestamp; `None` from ports
    /// without timestamps, whose frames arrived no later than the poll that received them.
    #[inline]
    fn rx_stamp(&self, _frame: &Self::Frame) -> Option<Instant> {
        None
    }

    /// Asks the device to timestamp a frame of [`Self::control_frame`] when it leaves. There is place for one
    /// timestamp: an earlier one that was not read is lost. Returns false if the device cannot. Default: it
    /// cannot.
    fn stamp_when_sent(&mut self, _frame: &mut Self::Frame) -> bool {
        false
    }

    /// Returns the time at which the last such frame began to leave by the device's timestamp, once; `None`
    /// while the device has none.
    fn sent_stamp(&mut self) -> Option<Instant> {
        None
    }

    /// Returns the time now, by the clock that gave `now` at the start of the poll. `now` itself
    /// from ports in worlds where time does not advance within a poll.
    #[inline]
    fn clock(&self, now: Instant) -> Instant {
        now
    }

    /// Recalibrates a timestamping device's clock against the host's, if the last calibration is
    /// more than a second ago; to be called before timestamps that matter. Takes some microseconds
    /// then.
    fn refresh_clock(&mut self) {}

    /// Sends the frames that the port accepted and could not pass on yet; receiving does so too.
    /// Most ports have none.
    #[inline]
    fn pass_on(&mut self) {}

    /// Returns true if a frame leaves by the queue of its priority, which [`Frame::set_queue`] names.
    #[inline]
    fn has_queues(&self) -> bool {
        false
    }

    /// Returns the priorities of which the device takes no more frames now.
    #[inline]
    fn held(&self) -> PrioritySet {
        PrioritySet::EMPTY
    }

    /// Returns its `SecY`, if its frames are protected by MACsec.
    fn secy(&self) -> Option<&Secy> {
        None
    }

    /// Returns its `SecY`, for changes of its associations.
    fn secy_mut(&mut self) -> Option<&mut Secy> {
        None
    }

    /// Returns the accuracy of [`Port::clock`] and [`Port::rx_stamp`].
    fn stamps(&self) -> Stamps {
        Stamps {
            source: StampSource::Poll,
            resolution: Duration::from_picos(1),
            uncertainty: Duration::ZERO,
            serializes: false,
        }
    }
}

/// A port that can allocate data frames: needed by an end station but not by a switch.
pub trait Source: Port {
    /// Returns a frame of `wire_len` bytes (FCS included) from the memory of data frames, with
    /// `head` at its start and zeros after it. `None` while that memory is exhausted. `head` is not
    /// longer than the frame without its FCS.
    fn data_frame(&mut self, head: &[u8], wire_len: u32) -> Option<Self::Frame>;

    /// Appends up to `n` such frames to `out`, which has room for them; returns their number, fewer
    /// than `n` if the memory is exhausted. `edit` changes each and gets its first bytes: all of
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
            // The frames made so far are kept.
            let Some(mut frame) = self.data_frame(head, wire_len) else { return made };
            edit(frame.head_mut());
            out.push(frame);
        }
        n
    }

    /// Returns the minimum size, FCS included, of a frame that leaves without padding. Default:
    /// [`FRAME_MIN`]; less if runts can be sent.
    fn frame_min(&self) -> u32 {
        FRAME_MIN
    }
}

/// Observer of a port.
pub trait Tap<P: Port> {
    /// Called with the frames that the port has received.
    fn received(&mut self, port: &P, frames: &[P::Frame]);

    /// Sends the frames in `out` by the port, as [`Port::tx_burst`] does.
    fn send(&mut self, port: &mut P, out: &mut Burst<P::Frame>);

    /// Returns the accuracy of the port's timestamps as seen by the observer.
    fn stamps(&self, port: &P) -> Stamps {
        port.stamps()
    }
}

/// A port with an observer.
#[derive(Debug)]
pub struct Tapped<P, T> {
    /// Port that frames pass through.
    pub port: P,
    /// Observer of its bursts.
    pub tap: T,
}

impl<P: Port, T: Tap<P>> Port for Tapped<P, T> {
    type Frame = P::Frame;

    #[inline]
    fn rx_burst(&mut self, out: &mut Burst<P::Frame>) {
        let before = out.len();
        self.port.rx_burst(out);
        // Only the new ones: `out` need not be empty for a port that calls another.
        self.tap.received(&self.port, &out[before..]);
    }

    #[inline]
    fn tx_burst(&mut self, out: &mut Burst<P::Frame>) {
        self.tap.send(&mut self.port, out);
    }

    fn control_frame(&mut self, octets: &[u8]) -> Option<P::Frame> {
        self.port.control_frame(octets)
    }

    fn message_frame(&mut self, octets: &[u8]) -> Option<P::Frame> {
        self.port.message_frame(octets)
    }

    #[inline]
    fn caps(&self) -> &PortCaps {
        self.port.caps()
    }

    #[inline]
    fn rx_stamp(&self, frame: &P::Frame) -> Option<Instant> {
        self.port.rx_stamp(frame)
    }

    fn stamp_when_sent(&mut self, frame: &mut P::Frame) -> bool {
        self.port.stamp_when_sent(frame)
    }

    fn sent_stamp(&mut self) -> Option<Instant> {
        self.port.sent_stamp()
    }

    #[inline]
    fn clock(&self, now: Instant) -> Instant {
        self.port.clock(now)
    }

    fn refresh_clock(&mut self) {
        self.port.refresh_clock();
    }

    #[inline]
    fn pass_on(&mut self) {
        self.port.pass_on();
    }

    #[inline]
    fn has_queues(&self) -> bool {
        self.port.has_queues()
    }

    #[inline]
    fn held(&self) -> PrioritySet {
        self.port.held()
    }

    fn secy(&self) -> Option<&Secy> {
        self.port.secy()
    }

    fn secy_mut(&mut self) -> Option<&mut Secy> {
        self.port.secy_mut()
    }

    fn stamps(&self) -> Stamps {
        self.tap.stamps(&self.port)
    }
}

impl<P: Source, T: Tap<P>> Source for Tapped<P, T> {
    #[inline]
    fn data_frame(&mut self, head: &[u8], wire_len: u32) -> Option<P::Frame> {
        self.port.data_frame(head, wire_len)
    }

    #[inline]
    fn data_frames(
        &mut self,
        n: usize,
        head: &[u8],
        wire_len: u32,
        out: &mut Burst<P::Frame>,
        edit: impl FnMut(&mut [u8]),
    ) -> usize {
        self.port.data_frames(n, head, wire_len, out, edit)
    }

    fn frame_min(&self) -> u32 {
        self.port.frame_min()
    }
}
