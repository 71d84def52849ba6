//! What one end of a link sees: how many frames come and go, and every pause that comes in.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::log::{Happening, Log};
use crate::frame::{Burst, Frame};
use crate::port::{Port, PortCaps, Source};
use crate::sim::Direction;
use crate::time::Instant;

/// EtherType 0x8808, MAC control (802.3 31.4.1.3).
const MAC_CONTROL: [u8; 2] = [0x88, 0x08];

/// Octets of a pause up to its last time.
pub const PAUSE_OCTETS: usize = 34;

/// The time of a node's poll, for what it calls.
#[derive(Debug, Default)]
pub(super) struct Moment(AtomicU64);

impl Moment {
    #[inline]
    pub(super) fn set(&self, now: Instant) {
        self.0.store(now.as_picos(), Ordering::Relaxed);
    }

    fn get(&self) -> Instant {
        Instant::from_picos(self.0.load(Ordering::Relaxed))
    }
}

/// A port that is watched.
#[derive(Debug)]
pub(super) struct Tap<P> {
    port: P,
    arriving: Direction,
    moment: Arc<Moment>,
    /// Frames that came in and went out.
    pub(super) received: u64,
    pub(super) sent: u64,
    pub(super) log: Log,
}

impl<P> Tap<P> {
    /// Watches `port`, at which a direction of a link ends, by the time in `moment`.
    pub(super) fn new(port: P, arriving: Direction, moment: &Arc<Moment>) -> Self {
        let (moment, log) = (moment.clone(), Log::default());
        Self { port, arriving, moment, received: 0, sent: 0, log }
    }

    #[cold]
    fn note(&mut self, head: &[u8]) {
        let mut octets = [0; PAUSE_OCTETS];
        let known = head.len().min(PAUSE_OCTETS);
        octets[..known].copy_from_slice(&head[..known]);
        let what = Happening::Arrived { direction: self.arriving, octets };
        self.log.push(self.moment.get(), what);
    }
}

impl<P: Port> Port for Tap<P> {
    type Frame = P::Frame;

    #[inline]
    fn rx_burst(&mut self, out: &mut Burst<P::Frame>) {
        self.port.rx_burst(out);
        self.received += out.len() as u64;
        for frame in out.iter() {
            let head = frame.head();
            if head.get(12..14) == Some(&MAC_CONTROL) {
                self.note(head);
            }
        }
    }

    #[inline]
    fn tx_burst(&mut self, out: &mut Burst<P::Frame>) {
        let before = out.len();
        self.port.tx_burst(out);
        self.sent += (before - out.len()) as u64;
    }

    fn control_frame(&mut self, octets: &[u8]) -> Option<P::Frame> {
        self.port.control_frame(octets)
    }

    fn caps(&self) -> &PortCaps {
        self.port.caps()
    }
}

impl<P: Source> Source for Tap<P> {
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
