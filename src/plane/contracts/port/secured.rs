//! Ports whose frames are protected by MACsec (802.1AE): the controlled port of a SecY, which also
//! carries MAC control.
//!
//! The user of a [`Secured`] port sees plain frames. Guarantees:
//! - **No frame that must be protected leaves plain.** A frame that cannot be protected (no
//!   association, no packet number left, not contiguous) is not sent, and is counted by the `SecY`.
//! - **Packet numbers leave in order, each once**: a frame gets its number when no frame with a
//!   later number can leave before it. If data is protected that is when the port accepts it, so
//!   frames that the device has no room for wait here, at most one burst, and are sent by the next
//!   call. If only MAC control is protected it is when a frame is created: data then passes
//!   untouched, and the caller keeps the order of frames.
//! - **No frame passes against the policy**: a plain pause that must be protected, a frame that
//!   fails validation, a replayed one.
//!
//! A frame that waits here leaves despite PFC: if data is protected, that is a burst more than the
//! device holds. Without a `SecY` a port costs one branch per burst.

use std::sync::Arc;

use arrayvec::ArrayVec;

use super::{Port, PortCaps, Source, Stamps};
use crate::frame::{BURST, Burst, Frame};
use ground::time::Instant;
use ground::units::PrioritySet;
use secure::{BATCH, Ciphers, Secy, SecyError, SecyPlan};

/// A port and its `SecY`, if it has one.
#[derive(Debug)]
pub struct Secured<P: Port> {
    port: P,
    entity: Option<Box<Entity<P::Frame>>>,
}

/// The `SecY` and the frames that wait behind it.
#[derive(Debug)]
struct Entity<F> {
    secy: Secy,
    /// True if data is protected; if not, only MAC control may be.
    data: bool,
    /// Frames accepted and protected, but not yet accepted by the device, in order.
    waiting: Burst<F>,
    /// Frames that were protected when created, and that the device has not accepted yet.
    ahead: u64,
    /// True if the last attempt could not protect any frame, and no key was changed since.
    stuck: bool,
    lost: Lost,
}

/// Frames dropped by a `SecY`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Lost {
    /// Accepted for transmission and not sent, because they could not be protected.
    pub sent: u64,
    /// Received and not delivered.
    pub received: u64,
}

/// Maximum number of bursts that one call reads while the `SecY` delivers no frame of them.
const BURSTS_MAX: usize = 4;

/// 0x88E5, `SecTAG` (802.1AE 9.8), and 0x8808, MAC control (802.3 31.4.1.3).
const MACSEC: [u8; 2] = [0x88, 0xe5];
const MAC_CONTROL: [u8; 2] = [0x88, 0x08];

const _: () = assert!(MACSEC[0] == MAC_CONTROL[0], "`concerns` looks at one octet first");

impl<P: Port> Secured<P> {
    /// Creates a port with the `SecY` of `plan`, or without one.
    ///
    /// # Errors
    /// Returns the error of the plan.
    pub fn new(port: P, plan: Option<&SecyPlan>) -> Result<Self, SecyError> {
        Self::with_ciphers(port, plan, None)
    }

    /// Creates a port as [`Self::new`] does, with external ciphers, if any.
    ///
    /// # Errors
    /// Returns the error of the plan.
    pub fn with_ciphers(
        port: P,
        plan: Option<&SecyPlan>,
        ciphers: Option<&Arc<dyn Ciphers>>,
    ) -> Result<Self, SecyError> {
        // Boxed, so that a port without MACsec carries a pointer and not the machine.
        let entity = plan.map(|plan| Entity::new(plan, ciphers)).transpose()?.map(Box::new);
        Ok(Self { port, entity })
    }

    /// Returns the underlying port.
    pub const fn port(&self) -> &P {
        &self.port
    }

    /// Returns the underlying port, for control operations.
    pub const fn port_mut(&mut self) -> &mut P {
        &mut self.port
    }

    /// Returns the underlying port. Frames that wait are dropped.
    pub fn into_port(self) -> P {
        self.port
    }

    /// Returns the frames dropped by its `SecY`.
    #[must_use]
    pub fn lost(&self) -> Lost {
        self.entity.as_ref().map_or_else(Lost::default, |entity| entity.lost)
    }

    /// Returns the number of frames accepted and not yet passed on.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.entity.as_ref().map_or(0, |entity| entity.waiting.len())
    }
}

impl<F: Frame> Entity<F> {
    fn new(plan: &SecyPlan, ciphers: Option<&Arc<dyn Ciphers>>) -> Result<Self, SecyError> {
        Ok(Self {
            secy: Secy::with_ciphers(plan, ciphers.cloned())?,
            data: plan.protect_data,
            waiting: Burst::new(),
            ahead: 0,
            stuck: false,
            lost: Lost::default(),
        })
    }

    /// Protects a frame if required. Returns false if it cannot be protected.
    #[inline]
    fn protect(&mut self, frame: &mut F) -> bool {
        if !self.secy.protects(frame.head()) {
            return true;
        }
        match widen(&mut self.secy, frame) {
            Some(room) => self.secy.protect(room).is_ok(),
            None => false,
        }
    }

    /// Protects a newly created frame, if it gets its number at that time. Returns `None` if it
    /// cannot be protected.
    #[inline]
    fn made(&mut self, mut frame: F) -> Option<F> {
        self.made_in(&mut frame).then_some(frame)
    }

    /// Protects the frames from `before` on, as [`Self::made`] does; drops the first that cannot be
    /// protected, and those after it. Returns the number of frames left of them.
    #[inline]
    fn made_many(&mut self, out: &mut Burst<F>, before: usize) -> usize {
        let mut kept = before;
        while kept < out.len() && self.made_in(&mut out[kept]) {
            kept += 1;
        }
        out.truncate(kept);
        kept - before
    }

    /// Protects a frame as [`Self::made`] does, in place.
    #[inline]
    fn made_in(&mut self, frame: &mut F) -> bool {
        if !self.secy.protects(frame.head()) {
            return true;
        }
        self.stuck = self.stuck || !self.protect(frame);
        self.ahead += u64::from(!self.stuck);
        !self.stuck
    }

    /// Passes on data, which is not protected, and frames that were protected when created.
    #[inline]
    fn send_as_made<P: Port<Frame = F>>(&mut self, port: &mut P, out: &mut Burst<F>) {
        let offered = out.len();
        port.tx_burst(out);
        let taken = (offered - out.len()) as u64;
        let protected = self.ahead.min(taken);
        self.ahead -= protected;
        self.secy.note_untagged(taken - protected);
    }

    /// Protects the frames in `out` and passes them on, after all that were waiting.
    fn send<P: Port<Frame = F>>(&mut self, port: &mut P, out: &mut Burst<F>) {
        // Frames with earlier numbers are still here. Later ones get theirs when those have left.
        if !self.pass_on(port) {
            return;
        }
        self.waiting.extend(out.drain(..));
        let refused = self.protect_waiting();
        if refused != 0 {
            self.lost.sent += u64::from(refused.count_ones());
            // A frame that cannot be protected is dropped here: it must not leave plain, nor hold the others.
            let mut bits = refused;
            self.waiting.retain(|_| {
                let keeps = bits & 1 == 0;
                bits >>= 1;
                keeps
            });
        }
        self.pass_on(port);
    }

    /// Protects the newly waiting frames that require it. Returns a bit mask of those that cannot
    /// be protected, the first in the lowest bit.
    fn protect_waiting(&mut self) -> u32 {
        const { assert!(BURST <= BATCH && BURST <= u32::BITS as usize) };
        let (mut given, mut refused) = (0_u32, 0_u32);
        let mut rooms: ArrayVec<&mut [u8], BURST> = ArrayVec::new();
        for (n, frame) in self.waiting.iter_mut().enumerate() {
            if !self.secy.protects(frame.head()) {
                continue;
            }
            match widen(&mut self.secy, frame) {
                Some(room) => {
                    given |= 1 << n;
                    rooms.push(room);
                }
                None => refused |= 1 << n,
            }
        }
        // All in one call, because a crypto device takes batches. Bit n of the result is the n-th room given, not the
        // n-th frame.
        let mut failed = self.secy.protect_all(&mut rooms);
        while failed != 0 {
            let first = given & given.wrapping_neg();
            refused |= if failed & 1 != 0 { first } else { 0 };
            given ^= first;
            failed >>= 1;
        }
        refused
    }

    /// Passes on the waiting frames. Returns true if none is left.
    #[inline]
    fn pass_on<P: Port<Frame = F>>(&mut self, port: &mut P) -> bool {
        if !self.waiting.is_empty() {
            port.tx_burst(&mut self.waiting);
        }
        self.waiting.is_empty()
    }

    /// Receives until a frame is delivered, or there are no more, or the limit is reached.
    fn receive<P: Port<Frame = F>>(&mut self, port: &mut P, out: &mut Burst<F>) {
        self.pass_on(port);
        let before = out.len();
        for _ in 0..BURSTS_MAX {
            port.rx_burst(out);
            let full = out.is_full();
            self.admit(out, before);
            // A burst of which nothing is delivered looks like an empty port, so the next one is read at once.
            if !full || out.len() > before {
                return;
            }
        }
    }

    /// Removes the frames from `before` on in `out` that are not delivered.
    #[inline]
    fn admit(&mut self, out: &mut Burst<F>, before: usize) {
        if self.data || out[before..].iter().any(|frame| concerns(frame.head())) {
            self.admit_each(out, before);
        }
    }

    #[inline(never)]
    fn admit_each(&mut self, out: &mut Burst<F>, before: usize) {
        let mut kept = before;
        for at in before..out.len() {
            if self.passes(&mut out[at]) {
                // Moves the frames that are kept forwards; their order stays, as all before `kept` are delivered.
                out.swap(kept, at);
                kept += 1;
            }
        }
        self.lost.received += (out.len() - kept) as u64;
        out.truncate(kept);
    }

    /// Returns true if a received frame is delivered; it is plain then.
    #[inline]
    fn passes(&mut self, frame: &mut F) -> bool {
        (!self.data && !concerns(frame.head())) || self.validates(frame)
    }

    fn validates(&mut self, frame: &mut F) -> bool {
        let is_protected = frame.head().get(12..14) == Some(&MACSEC[..]);
        let accepted = match frame.whole_mut() {
            Some(octets) => self.secy.accept(octets),
            None if is_protected => {
                self.secy.note_overrun();
                return false;
            }
            // The first bytes of a plain frame are sufficient.
            None => self.secy.accept(frame.head_mut()),
        };
        match accepted {
            // SecTAG in front, ICV behind.
            Ok(took) if took.front > 0 => {
                frame.trim_front(took.front) && frame.trim_back(took.back)
            }
            Ok(_) => true,
            Err(_) => false,
        }
    }
}

/// Makes room around a frame for SecTAG and ICV. Returns `None`, and counts the frame, if there is
/// none.
#[inline]
fn widen<'a, F: Frame>(secy: &mut Secy, frame: &'a mut F) -> Option<&'a mut [u8]> {
    // A frame for which this fails is dropped by the caller, so it need not be restored.
    let whole =
        frame.whole_mut().is_some() && frame.prepend(secy.front()) && frame.append(Secy::BACK);
    let room = frame.whole_mut().filter(|_| whole);
    if room.is_none() {
        secy.note_too_long();
    }
    room
}

/// Returns true if a `SecY` that does not protect data has to process a received frame: nearly all
/// are excluded by the first octet of their EtherType.
#[inline(always)]
fn concerns(head: &[u8]) -> bool {
    head.first_chunk::<14>()
        .is_some_and(|h| h[12] == MACSEC[0] && [MACSEC[1], MAC_CONTROL[1]].contains(&h[13]))
}

impl<P: Port> Port for Secured<P> {
    type Frame = P::Frame;

    #[inline]
    fn rx_burst(&mut self, out: &mut Burst<P::Frame>) {
        match &mut self.entity {
            None => self.port.rx_burst(out),
            Some(entity) => entity.receive(&mut self.port, out),
        }
    }

    #[inline]
    fn tx_burst(&mut self, out: &mut Burst<P::Frame>) {
        match &mut self.entity {
            None => self.port.tx_burst(out),
            Some(entity) if entity.data => entity.send(&mut self.port, out),
            Some(entity) => entity.send_as_made(&mut self.port, out),
        }
    }

    #[inline]
    fn pass_on(&mut self) {
        self.port.pass_on();
        if let Some(entity) = &mut self.entity {
            entity.pass_on(&mut self.port);
        }
    }

    fn control_frame(&mut self, octets: &[u8]) -> Option<P::Frame> {
        let frame = self.port.control_frame(octets)?;
        match &mut self.entity {
            Some(entity) if !entity.data => entity.made(frame),
            _ => Some(frame),
        }
    }

    fn message_frame(&mut self, octets: &[u8]) -> Option<P::Frame> {
        let frame = self.port.message_frame(octets)?;
        match &mut self.entity {
            Some(entity) if !entity.data => entity.made(frame),
            _ => Some(frame),
        }
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

    fn stamps(&self) -> Stamps {
        self.port.stamps()
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
        self.entity.as_ref().map(|entity| &entity.secy)
    }

    fn secy_mut(&mut self) -> Option<&mut Secy> {
        let entity = self.entity.as_mut()?;
        // The caller may install a key, so protection is tried again.
        entity.stuck = false;
        Some(&mut entity.secy)
    }
}

impl<P: Source> Source for Secured<P> {
    #[inline]
    fn data_frame(&mut self, head: &[u8], wire_len: u32) -> Option<P::Frame> {
        let frame = self.port.data_frame(head, wire_len)?;
        match &mut self.entity {
            Some(entity) if !entity.data => entity.made(frame),
            _ => Some(frame),
        }
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
        let before = out.len();
        let made = self.port.data_frames(n, head, wire_len, out, edit);
        match &mut self.entity {
            Some(entity) if !entity.data => entity.made_many(out, before),
            _ => made,
        }
    }

    fn frame_min(&self) -> u32 {
        self.port.frame_min()
    }
}
