//! An interface of the kernel as a [`Port`] of the data plane.
//!
//! It receives from a ring that the kernel fills, without a system call, and sends all frames of a burst in one
//! call. Large segments are cut before anybody sees them ([`cut`](crate::Cut)), and frames of one flow that leave
//! together are handed over as one packet.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrayvec::ArrayVec;
use contracts::frame::{BURST, Burst, FCS_BYTES, Frame};
use contracts::port::{FRAME_MIN, Port, PortCaps, Source, StampSource, Stamps};
use ground::time::{Duration, Instant};
use ground::units::Bytes;

use crate::control::{KernelControl, Shared};
use crate::cut::Cut;
use crate::memory::Memory;
use crate::merge::{HEADERS_MAX, Run, is_right};
use crate::offload::{HEADER_LEN, Offload};
use crate::ring::{Slot, Tag};
use crate::socket::{Opened, SocketOptions};
use crate::sys::Messages;
use crate::{OpenError, control};

/// Environment variable: uptime in seconds of a clock when it is made. Tests use it to simulate
/// months of operation.
pub const UPTIME: &str = "SLUICE_CLOCK_UPTIME";

/// The clock of the threads that poll ports.
pub trait Clock {
    /// Returns the current time. It never goes back in one thread.
    fn now(&self) -> Instant;

    /// Resolution of its times.
    fn resolution(&self) -> Duration;
}

/// The system's monotonic clock, for processes without DPDK.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    started: std::time::Instant,
    /// Picoseconds that it shows then.
    first: u128,
}

impl SystemClock {
    /// A clock that starts at zero now, or by as many seconds later as the environment says, for tests of long runs.
    pub fn start() -> Self {
        let uptime = std::env::var(UPTIME).ok().and_then(|seconds| seconds.parse::<f64>().ok());
        let first = (uptime.unwrap_or(0.0) * 1e12) as u128;
        Self { started: std::time::Instant::now(), first }
    }
}

impl Clock for SystemClock {
    #[inline]
    fn now(&self) -> Instant {
        Instant::from_picos(self.first + self.started.elapsed().as_nanos() * 1_000)
    }

    fn resolution(&self) -> Duration {
        Duration::from_nanos(1)
    }
}

/// Settings of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelOptions {
    /// Longest frame in octets, FCS and tags included.
    pub max_frame: u32,
    /// Least number of packets that the receive ring holds. Each has 65 KiB of memory, as it may be a large segment.
    pub slots: usize,
    /// Receives frames to any address, as a switch must.
    pub promiscuous: bool,
    /// Hands frames of one flow that leave together over as one packet. Not for a tester, whose frames are sent as they
    /// are.
    pub merges: bool,
}

/// A port on an interface of the kernel.
#[derive(Debug)]
pub struct KernelPort<M, C> {
    shared: Arc<Shared>,
    opened: Opened,
    options: KernelOptions,
    /// How far the oldest packet in the ring is cut.
    cutting: Option<Cut>,
    memory: M,
    /// Memory of MAC control frames.
    control: M,
    clock: C,
    caps: PortCaps,
}

impl<M: Memory, C: Clock> KernelPort<M, C> {
    /// Opens the interface of this name. Frames come from `memory`, MAC control frames from `control`.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(
        name: &str,
        options: &KernelOptions,
        memory: M,
        control: M,
        clock: C,
    ) -> Result<Self, OpenError> {
        let socket = SocketOptions {
            slots: options.slots,
            longest: (options.max_frame - FCS_BYTES) as usize,
            promiscuous: options.promiscuous,
        };
        let (shared, opened) = control::open(name, socket)?;
        let packets = opened.ring.size().slots() as u64;
        let caps = PortCaps {
            link_rate: None,
            rx_backlog_max: Bytes(packets * u64::from(options.max_frame)),
            tx_committed_max: Bytes(0),
        };
        let (cutting, options) = (None, *options);
        Ok(Self { shared, opened, options, cutting, memory, control, clock, caps })
    }

    /// Returns a handle for other threads: counters, link and address, but no frames.
    pub fn control(&self) -> KernelControl {
        KernelControl::new(&self.shared)
    }

    /// The setup in words.
    pub fn info(&self) -> String {
        let KernelOptions { max_frame, merges, .. } = self.options;
        let slots = self.opened.ring.size().slots();
        let sent = if merges { "handed over together" } else { "sent one by one" };
        format!(
            "packet socket, a ring of {slots} packets, large segments are cut, frames up to {max_frame} B, frames of a \
             flow are {sent}"
        )
    }

    /// Takes over the socket of an interface that was created again.
    #[cold]
    fn renew(&mut self) {
        if let Some(opened) = self.shared.take_renewed() {
            self.opened = opened;
            self.cutting = None;
        }
    }

    /// Sends the first frames of a burst in one call; nothing where the kernel takes no more now.
    fn send_some(&mut self, out: &mut Burst<M::Frame>, merges: bool) -> Option<()> {
        let mut packets: ArrayVec<Outgoing, BURST> = ArrayVec::new();
        let mut headers: ArrayVec<[u8; HEADERS_MAX], BURST> = ArrayVec::new();
        plan::<M>(out, merges, &mut packets, &mut headers);
        let mut messages = Messages::default();
        let (mut frames, mut runs) = (out.iter(), headers.iter());
        for packet in &packets {
            messages.part(&packet.offload);
            let skipped = packet.headers;
            if skipped > 0 {
                messages.part(&runs.next().expect("each run has its headers")[..skipped]);
            }
            for frame in frames.by_ref().take(packet.frames) {
                messages.part(&M::octets(frame)[skipped..]);
            }
            messages.end();
        }
        let counts = &self.shared.counts;
        let sent = messages.send(&self.opened.socket);
        drop(messages);
        match sent {
            Ok(sent) => {
                let frames: usize = packets[..sent].iter().map(|packet| packet.frames).sum();
                counts.tx_frames.fetch_add(frames as u64, Ordering::Relaxed);
                drop(out.drain(..frames));
                Some(())
            }
            Err(error) if is_full(&error) => None,
            Err(_) if packets[0].frames > 1 => self.send_some(out, false),
            Err(error) => {
                // The kernel does not take this one frame, as one longer than the interface's MTU.
                self.shared.refused(&error);
                drop(out.remove(0));
                Some(())
            }
        }
    }
}

/// A packet of one frame or several.
struct Outgoing {
    offload: [u8; HEADER_LEN],
    frames: usize,
    /// Octets of the headers of a run, which stand for those of its frames. 0 for a single frame.
    headers: usize,
}

/// Divides frames into packets.
#[inline]
fn plan<M: Memory>(
    frames: &[M::Frame],
    merges: bool,
    packets: &mut ArrayVec<Outgoing, BURST>,
    headers: &mut ArrayVec<[u8; HEADERS_MAX], BURST>,
) {
    // Not verified before there is a second frame that may follow.
    let is_good = |frame: &M::Frame| M::is_checked(frame) || is_right(M::octets(frame));
    let mut at = 0;
    while at < frames.len() {
        let first = M::octets(&frames[at]);
        let mut run = if merges && at + 1 < frames.len() { Run::begin(first) } else { None };
        if let Some(run) = &mut run {
            for frame in &frames[at + 1..] {
                let continues = (run.frames() > 1 || is_good(&frames[at]))
                    && run.takes(first, M::octets(frame), || is_good(frame));
                if !continues {
                    break;
                }
            }
        }
        match run.filter(|run| run.frames() > 1) {
            None => {
                packets.push(Outgoing { offload: [0; HEADER_LEN], frames: 1, headers: 0 });
                at += 1;
            }
            Some(run) => {
                let mut written = [0; HEADERS_MAX];
                let offload = run.write(first, &mut written).emit();
                headers.push(written);
                let frames = usize::from(run.frames());
                packets.push(Outgoing { offload, frames, headers: run.payload() });
                at += frames;
            }
        }
    }
}

/// True if the kernel would take the frame later: it has no room now, or the interface is down.
fn is_full(error: &io::Error) -> bool {
    let passing = [
        libc::EAGAIN,
        libc::ENOBUFS,
        libc::ENOMEM,
        libc::ENETDOWN,
        libc::ENXIO,
        libc::ENODEV,
        libc::EINTR,
    ];
    error.raw_os_error().is_some_and(|code| passing.contains(&code))
}

/// Checks the oldest packet of the ring.
fn examine(slot: &Slot<'_>, longest: usize) -> Result<Cut, Unusable> {
    if slot.is_cut_off {
        return Err(Unusable::TooLong);
    }
    let offload =
        Offload::parse(&slot.offload).map_err(|unknown| Unusable::Lie(unknown.to_string()))?;
    let cut = Cut::new(slot.octets, &offload).map_err(|lie| Unusable::Lie(lie.to_string()))?;
    let tag = if slot.vlan.is_some() { wire::vlan::TAG_LEN } else { 0 };
    match cut.next_len() {
        Some(len) if len + tag > longest => Err(Unusable::TooLong),
        Some(len) if len >= wire::ethernet::HEADER_LEN => Ok(cut),
        _ => Err(Unusable::Lie("it ends within its header".into())),
    }
}

/// Reason why a packet gives no frames.
enum Unusable {
    TooLong,
    Lie(String),
}

/// Puts a tag behind the addresses of a frame.
fn insert_tag<F: Frame>(frame: &mut F, tag: Tag) -> bool {
    const ADDRESSES: usize = 12;
    let fits = frame.prepend(wire::vlan::TAG_LEN);
    if fits {
        let head = frame.head_mut();
        head.copy_within(wire::vlan::TAG_LEN..wire::vlan::TAG_LEN + ADDRESSES, 0);
        let ([a, b], [c, d]) = (tag.tpid.to_be_bytes(), tag.tci.to_be_bytes());
        head[ADDRESSES..][..wire::vlan::TAG_LEN].copy_from_slice(&[a, b, c, d]);
    }
    fits
}

impl<M: Memory, C: Clock> Port for KernelPort<M, C> {
    type Frame = M::Frame;

    #[inline]
    fn rx_burst(&mut self, out: &mut Burst<M::Frame>) {
        if self.shared.is_renewed() {
            self.renew();
        }
        let before = out.len();
        let Self { opened: Opened { ring, .. }, cutting, memory, shared, .. } = self;
        let longest = memory.longest();
        while !out.is_full() {
            let Some(slot) = ring.first() else { break };
            let mut cut = match cutting.take().map_or_else(|| examine(&slot, longest), Ok) {
                Ok(cut) => cut,
                Err(unusable) => {
                    shared.unusable(unusable.why());
                    ring.give_back();
                    continue;
                }
            };
            let is_done = frames_of(&slot, &mut cut, memory, out);
            match is_done {
                true => ring.give_back(),
                false => *cutting = Some(cut),
            }
            if !is_done && !out.is_full() {
                // No memory: what waits in the ring is not lost.
                break;
            }
        }
        if out.len() > before {
            let new = (out.len() - before) as u64;
            self.shared.counts.rx_frames.fetch_add(new, Ordering::Relaxed);
        }
    }

    #[inline]
    fn tx_burst(&mut self, out: &mut Burst<M::Frame>) {
        // What a driver chained has to be one piece for the kernel; pools have room for whole frames, so none is.
        if !out.iter().all(M::is_whole) {
            let before = out.len();
            out.retain(|frame| M::is_whole(frame));
            let chained = (before - out.len()) as u64;
            self.shared.counts.refused.fetch_add(chained, Ordering::Relaxed);
        }
        while !out.is_empty() {
            if self.send_some(out, self.options.merges).is_none() {
                break;
            }
        }
    }

    fn control_frame(&mut self, octets: &[u8]) -> Option<M::Frame> {
        padded(&mut self.control, octets)
    }

    fn message_frame(&mut self, octets: &[u8]) -> Option<M::Frame> {
        padded(&mut self.memory, octets)
    }

    fn caps(&self) -> &PortCaps {
        &self.caps
    }

    #[inline]
    fn clock(&self, _now: Instant) -> Instant {
        self.clock.now()
    }

    fn stamps(&self) -> Stamps {
        Stamps {
            source: StampSource::Software,
            resolution: self.clock.resolution(),
            uncertainty: Duration::ZERO,
            serializes: false,
        }
    }
}

impl<M: Memory, C: Clock> Source for KernelPort<M, C> {
    fn data_frame(&mut self, head: &[u8], wire_len: u32) -> Option<M::Frame> {
        filled(&mut self.memory, head, (wire_len - FCS_BYTES) as usize)
    }

    fn frame_min(&self) -> u32 {
        // An interface without a MAC pads nothing; one with a MAC pads by itself.
        wire::ethernet::HEADER_LEN as u32 + FCS_BYTES
    }
}

/// Appends frames of a packet to `out`; returns true if there are no more.
#[inline]
fn frames_of<M: Memory>(
    slot: &Slot<'_>,
    cut: &mut Cut,
    memory: &mut M,
    out: &mut Burst<M::Frame>,
) -> bool {
    while let Some(len) = cut.next_len() {
        if out.is_full() {
            return false;
        }
        let Some(mut frame) = memory.frame(len) else { return false };
        cut.write(slot.octets, M::octets_mut(&mut frame));
        if cut.is_checked() {
            M::set_checked(&mut frame);
        }
        let has_tag = slot.vlan.is_none_or(|tag| insert_tag(&mut frame, tag));
        debug_assert!(has_tag, "a fresh frame has room for a tag");
        out.push(frame);
    }
    true
}

/// A frame of these octets, padded to the minimum.
fn padded<M: Memory>(memory: &mut M, octets: &[u8]) -> Option<M::Frame> {
    filled(memory, octets, octets.len().max((FRAME_MIN - FCS_BYTES) as usize))
}

/// A frame of `len` octets: these, and zeroes.
fn filled<M: Memory>(memory: &mut M, head: &[u8], len: usize) -> Option<M::Frame> {
    let mut frame = memory.frame(len)?;
    let (front, rest) = M::octets_mut(&mut frame).split_at_mut(head.len());
    front.copy_from_slice(head);
    // The memory still has the octets of an earlier frame.
    rest.fill(0);
    Some(frame)
}

impl Unusable {
    fn why(&self) -> &str {
        match self {
            Self::TooLong => "it is longer than frames of the switch may be",
            Self::Lie(why) => why,
        }
    }
}
