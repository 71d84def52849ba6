//! Detection of flows that congest an egress queue: messages to their sources are made in the same
//! poll from the frame that joins the queue.
//!
//! With many flows each lookup waits for memory. The flows of a group of frames are looked up together
//! before the first of them joins its queue, so that they wait at the same time.

use core::net::IpAddr;

use super::Signals;
use super::message::Cause;
use crate::shortcut::{Decision, Layout};
use crate::{Switch, UnknownHost};
use congestion::Queue;
use congestion::isolation::Hold;
use congestion::sfc::{Ahead, Fate};
use contracts::frame::{BURST, Frame};
use contracts::world::World;
use ground::time::Instant;
use ground::units::{Bytes, Mac, PortId, Priority, TrafficClass};
use wire::flow::{FiveTuple, PLAIN};
use wire::roce::{self, Opcode};

/// A frame that joins a queue above its floor.
#[derive(Clone, Copy)]
struct Joining {
    /// Local index of the egress port.
    to: usize,
    queue: Queue,
    priority: Priority,
    /// Length of the queue with the frame.
    length: Bytes,
    /// Length of the frame.
    octets: Bytes,
}

impl<W: World> Switch<W> {
    /// Reports that an admitted frame is about to join the queue of `class` at the port at `to`,
    /// whose length becomes `length` bytes.
    #[allow(
        clippy::too_many_arguments,
        reason = "plain values in registers, on the path of a frame"
    )]
    #[inline]
    pub(crate) fn joins(
        &mut self,
        now: Instant,
        to: usize,
        class: TrafficClass,
        priority: Priority,
        length: u64,
        frame: &W::Frame,
        hold: Hold,
    ) {
        let port = self.ports[to].id;
        if let Some(isolation) = &mut self.signals.isolation {
            // Every frame, isolated or not: the machine keeps the order of a flow by the frames that are queued
            // before.
            isolation.on_enqueued(Queue { port, class }, hold);
        }
        let octets = frame.wire_len();
        if length > self.signals.floor(port, class)
            && !self.is_quiet(now, to, class, length, octets)
        {
            self.congests(now, to, class, priority, length, frame);
        }
    }

    /// Handles a frame that joins a queue above its floor, if Source Flow Control alone watches the
    /// queue and it is certain that the frame causes no message. Returns false, without effect, if
    /// not.
    #[inline]
    fn is_quiet(
        &mut self,
        now: Instant,
        to: usize,
        class: TrafficClass,
        length: u64,
        octets: u32,
    ) -> bool {
        // Flows are looked up ahead only where nothing else watches.
        let Signals { sfc: Some(sfc), ahead, telling: false, .. } = &mut self.signals else {
            return false;
        };
        let (port, octets) = (self.ports[to].id, Bytes(octets.into()));
        sfc.point.is_quiet(now, Queue { port, class }, Bytes(length), octets, ahead)
    }

    /// As [`Self::joins`], for a queue above its floor.
    #[cold]
    fn congests(
        &mut self,
        now: Instant,
        to: usize,
        class: TrafficClass,
        priority: Priority,
        length: u64,
        frame: &W::Frame,
    ) {
        // A message that joins a queue while it is forwarded causes no other.
        if self.signals.telling {
            return;
        }
        let octets = Bytes(frame.wire_len().into());
        let length = Bytes(length);
        let queue = Queue { port: self.ports[to].id, class };
        let joining = Joining { to, queue, priority, length, octets };
        let Signals { sfc, notifier, quantizer, .. } = &self.signals;
        // The floor is the lowest of all machines; each has its own threshold above it.
        let signals_source = sfc.as_ref().is_some_and(|sfc| sfc.point.concerns(queue, length));
        let notifies =
            notifier.as_ref().is_some_and(|notifier| length > notifier.machine.floor(queue));
        let quantized = quantizer.is_some();
        if !(signals_source || notifies || quantized) {
            return;
        }
        self.signals.telling = true;
        let head = frame.head();
        // QCN samples by bytes and parses only the frame that it samples.
        if let Some(cause) = Some(head).filter(|_| signals_source || notifies).and_then(Cause::of) {
            if signals_source {
                self.tell_source(now, &joining, &cause);
            }
            if notifies {
                self.notify_source(now, &joining, &cause);
            }
        }
        if quantized {
            self.quantize(now, &joining, head);
        }
        self.signals.telling = false;
    }

    /// Sends a message to pause to the source of a frame, if one is due.
    fn tell_source(&mut self, now: Instant, joining: &Joining, cause: &Cause<'_>) {
        let Joining { to, queue, priority, length, octets } = *joining;
        let drain = self.ports[to].rate;
        let mac = self.port_mac(queue.port);
        let Some(sfc) = &mut self.signals.sfc else { return };
        let Some(signal) = sfc.on_enqueue(now, queue, length, drain, octets, cause) else { return };
        let draft = sfc.message(cause, &signal, priority, mac);
        let (priority, unknown) = (sfc.transmit_priority, sfc.unknown);
        let fate = match draft {
            Ok(draft) => self.originate(now, to, draft.octets(), priority, unknown),
            Err(_) => Fate::Unbuilt,
        };
        if let Some(sfc) = &mut self.signals.sfc {
            // Messages that were sent, lost and never built are counted apart.
            sfc.point.on_fate(queue, fate);
        }
    }

    /// Returns the source address of frames that a port sends itself.
    fn port_mac(&self, port: PortId) -> Mac {
        self.tables[port.index()].mac
    }

    /// Sends a CNP to the source of a RoCEv2 frame, if one is due.
    fn notify_source(&mut self, now: Instant, joining: &Joining, cause: &Cause<'_>) {
        let Joining { to, queue, length, .. } = *joining;
        let mac = self.port_mac(queue.port);
        let Some(notifier) = &mut self.signals.notifier else { return };
        let (Some(bth), Some(flow)) = (cause.roce(), cause.flow()) else { return };
        // Acknowledgements and CNPs carry no data of the flow, and notifications are never
        // notified.
        if matches!(bth.opcode(), Opcode::RC_ACKNOWLEDGE | Opcode::CNP) {
            return;
        }
        // `picks` draws a random number, so it is asked only above the floor.
        if length <= notifier.machine.floor(queue) || !notifier.machine.picks(queue, length) {
            return;
        }
        let Some(qp) = notifier.machine.on_picked(now, flow, bth.dest_qp()) else { return };
        let (priority, draft) = (notifier.priority, notifier.notification(cause, flow, qp, mac));
        let made = |fate| fate != Fate::Unbuilt;
        let unknown = UnknownHost::Drop;
        let sent = draft
            .is_ok_and(|draft| made(self.originate(now, to, draft.octets(), priority, unknown)));
        if let Some(notifier) = self.signals.notifier.as_mut().filter(|_| !sent) {
            notifier.unsent += 1;
        }
    }

    /// Samples a frame at the queue's congestion point, and sends the resulting CNM, if any.
    fn quantize(&mut self, now: Instant, joining: &Joining, head: &[u8]) {
        let Joining { to, queue, priority, length, octets } = *joining;
        let mac = self.port_mac(queue.port);
        let Some(quantizer) = &mut self.signals.quantizer else { return };
        let Some(feedback) = quantizer.on_enqueue(queue, length, octets) else { return };
        // Behind the sampling, which counts the bytes of every frame. A message about a message is never made.
        let Some(cause) = Cause::of(head).filter(|cause| !cause.is_message) else { return };
        let draft = quantizer.message(&cause, &feedback, queue, priority, mac);
        let priority = quantizer.priority;
        let made = |fate| fate != Fate::Unbuilt;
        let unknown = UnknownHost::Drop;
        let sent = draft
            .is_ok_and(|draft| made(self.originate(now, to, draft.octets(), priority, unknown)));
        if let Some(quantizer) = self.signals.quantizer.as_mut().filter(|_| !sent) {
            quantizer.unsent[queue.port.index()][queue.class.index()] += 1;
        }
    }
}

const _: () = assert!(BURST <= Ahead::MOST, "a group is at most a burst");

impl<W: World> Switch<W> {
    /// Looks up the flows of frames that are about to join the queue of `decision` one after the
    /// other, `bytes` in all, if the queue may become so long that their sources are paused. The
    /// caller names each frame with [`Self::set_turn`], and calls [`Self::looked_ahead`] at the end.
    #[inline]
    pub(crate) fn look_ahead(
        &mut self,
        now: Instant,
        decision: &Decision,
        layout: Layout,
        bytes: u64,
        frames: &[W::Frame],
    ) {
        if self.signals.sfc.is_some() {
            self.look_ahead_of_sfc(now, decision, layout, bytes, frames);
        }
    }

    #[inline(never)]
    fn look_ahead_of_sfc(
        &mut self,
        now: Instant,
        decision: &Decision,
        layout: Layout,
        bytes: u64,
        frames: &[W::Frame],
    ) {
        // The other functions parse each frame in any case, which finds its flow.
        let Signals { sfc: Some(sfc), notifier: None, quantizer: None, ahead, .. } =
            &mut self.signals
        else {
            return;
        };
        let port = decision.egress;
        let class = self.tables[port.index()].class(decision.priority);
        let queue = Queue { port, class };
        let to = &self.ports[usize::from(decision.to)];
        let (before, drain) = (to.scheduler.bytes(class), to.rate);
        // Even with the whole group the queue stays at its floor: no flow is needed.
        if before + bytes <= sfc.point.floor(queue).0 {
            return;
        }
        let l3 = match layout {
            Layout::Ipv4 => 14,
            Layout::TaggedIpv4 => 18,
            Layout::Other => return,
        };
        for frame in frames {
            match data_flow(frame.head(), l3) {
                Some(FiveTuple {
                    src: IpAddr::V4(src),
                    dst: IpAddr::V4(dst),
                    protocol,
                    src_port,
                    dst_port,
                }) => {
                    let addresses = (src.to_bits(), dst.to_bits());
                    ahead.push(queue, addresses, protocol, (src_port, dst_port));
                }
                // Each frame of the group has its turn, so one without a flow takes a place, too.
                _ => ahead.push_other(),
            }
        }
        sfc.point.look_ahead(now, queue, drain, ahead);
    }

    /// Sets the number of the frame of the group that comes next.
    #[inline(always)]
    pub(crate) fn set_turn(&mut self, turn: usize) {
        self.signals.ahead.set_turn(turn);
    }

    /// Forgets the flows of the last group.
    #[inline(always)]
    pub(crate) fn looked_ahead(&mut self) {
        self.signals.ahead.clear();
    }
}

/// Returns the flow of a frame with an IPv4 header without options at `l3`, if it is certain to be no
/// congestion message.
#[inline(always)]
fn data_flow(head: &[u8], l3: usize) -> Option<FiveTuple> {
    let packet = head.get(l3..)?.first_chunk::<{ PLAIN + 1 }>()?;
    let flow = FiveTuple::of_plain(packet.first_chunk()?)?;
    // A CNP is a message, whose flow is never paused.
    let is_cnp = flow.dst_port == roce::UDP_PORT && Opcode(packet[PLAIN]) == Opcode::CNP;
    (!is_cnp).then_some(flow)
}
