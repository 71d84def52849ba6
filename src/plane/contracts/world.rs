//! Interface between a world and the data plane, and its observers.

use crate::frame::Frame;
use crate::port::Port;
use crate::stats::DropReason;
use buffer::Charge;
use ground::time::Instant;
use ground::units::{
    BitsPerSec, Cells, Mac, PRIORITIES, PortId, Priority, PriorityGroup, PrioritySet, TrafficClass,
    Vid,
};

/// A world: the types that the data plane is compiled for. Everything is static dispatch.
pub trait World {
    /// Frame type.
    type Frame: Frame;
    /// Port type.
    type Port: Port<Frame = Self::Frame>;
    /// Observer: `()` in production.
    type Events: Events;
    /// Connection to the other workers of the same switch: [`Alone`] with one worker.
    type Handoff: Handoff<Self::Frame>;
}

/// Result of a poll.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Next {
    /// True if a frame was received or sent, or any state changed: poll again at the same time.
    pub progressed: bool,
    /// Latest time of the next poll if no frame arrives.
    pub deadline: Instant,
}

/// Observers of the data plane. All methods default to empty and then cost nothing.
#[allow(unused_variables)]
pub trait Events {
    /// A data frame was received and classified.
    #[inline]
    fn received(&mut self, now: Instant, port: PortId, priority: Priority, wire_len: u32) {}
    /// Data frames of one priority were received one after the other; `wire_lens` are their
    /// lengths.
    #[inline]
    fn received_all(
        &mut self,
        now: Instant,
        port: PortId,
        priority: Priority,
        wire_lens: impl Iterator<Item = u32>,
    ) {
        wire_lens.for_each(|wire_len| self.received(now, port, priority, wire_len));
    }
    /// A frame was dropped. `priority` is `None` for frames that were not classified.
    #[inline]
    fn dropped(
        &mut self,
        now: Instant,
        port: PortId,
        priority: Option<Priority>,
        reason: DropReason,
    ) {
    }
    /// A data frame joined an egress queue that now holds `queue_bytes`.
    #[inline]
    fn enqueued(&mut self, now: Instant, port: PortId, class: TrafficClass, queue_bytes: u64) {}
    /// A data frame was passed to the port for transmission.
    #[inline]
    fn sent(&mut self, now: Instant, port: PortId, priority: Priority, wire_len: u32) {}
    /// Data frames of one priority were passed to the port for transmission one after the other.
    #[inline]
    fn sent_all(
        &mut self,
        now: Instant,
        port: PortId,
        priority: Priority,
        wire_lens: impl Iterator<Item = u32>,
    ) {
        wire_lens.for_each(|wire_len| self.sent(now, port, priority, wire_len));
    }
    /// A frame leaves with CE set by this switch.
    #[inline]
    fn marked(&mut self, now: Instant, port: PortId, class: TrafficClass) {}
    /// An ingress group crossed its limit: `xoff` true for XOFF, false for XON.
    #[inline]
    fn crossed(&mut self, now: Instant, port: PortId, group: PriorityGroup, xoff: bool) {}
    /// An ingress group has new thresholds from now on; no `headroom` if it is lossy.
    #[inline]
    fn regrouped(
        &mut self,
        now: Instant,
        port: PortId,
        group: PriorityGroup,
        headroom: Option<Cells>,
    ) {
    }
    /// PFC is enabled for other priorities from now on, as the port negotiated with its peer.
    #[inline]
    fn pfc_changed(&mut self, now: Instant, port: PortId, send: PrioritySet, obey: PrioritySet) {}
    /// The priorities of frames that arrive are queued in other traffic classes from now on.
    #[inline]
    fn classes_changed(&mut self, now: Instant, port: PortId, map: [TrafficClass; PRIORITIES]) {}
    /// A PFC or PAUSE frame was sent; `paused` are the priorities it pauses, of those enabled in
    /// `named`.
    #[inline]
    fn pause_sent(&mut self, now: Instant, port: PortId, named: PrioritySet, paused: PrioritySet) {}
    /// The set of priorities paused by the peer changed.
    #[inline]
    fn pause_obeyed(&mut self, now: Instant, port: PortId, paused: PrioritySet) {}
    /// The watchdog detected (`true`) or restored (`false`) a stormed queue.
    #[inline]
    fn storm(&mut self, now: Instant, port: PortId, class: TrafficClass, detected: bool) {}
}

impl Events for () {}

/// A frame in transit from the worker that admitted it to the worker that sends it.
#[derive(Debug)]
pub struct Transit<F> {
    /// The frame.
    pub frame: F,
    /// Its charge of the buffer; credited when it leaves.
    pub charge: Charge,
    /// Egress port.
    pub egress: PortId,
    /// Ingress port, where its drops are counted.
    pub ingress: PortId,
    /// Its priority.
    pub priority: Priority,
}

/// Connection between the workers of one switch. Bounded, lock-free, and never blocking.
pub trait Handoff<F> {
    /// Returns true if the worker owns this port.
    fn owns(&self, port: PortId) -> bool;

    /// Passes a frame to the worker that owns its egress port.
    ///
    /// # Errors
    /// The frame itself, if the ring is full.
    fn give(&mut self, item: Transit<F>) -> Result<(), Transit<F>>;

    /// Receives a frame from another worker.
    fn take(&mut self) -> Option<Transit<F>>;

    /// Reports to the owner of an ingress port that `cells` of its group were released here.
    fn released(&mut self, port: PortId, group: PriorityGroup, cells: Cells);

    /// Calls `credit` for the cells of this worker's groups that others released since the last
    /// call.
    fn collect(&mut self, credit: impl FnMut(PortId, PriorityGroup, Cells));

    /// Publishes this worker's shared-pool use and returns that of all others.
    fn exchange_shared(&mut self, own: Cells) -> Cells;

    /// Reports to the other workers where an address was learnt. Returns false if one could not be
    /// reached now.
    fn tell_learnt(&mut self, vid: Vid, mac: Mac, port: PortId) -> bool;

    /// Returns an address that another worker learnt.
    fn next_learnt(&mut self) -> Option<(Vid, Mac, PortId)>;

    /// Reports to the other workers that the link of an owned port went up or down, and its rate.
    fn tell_link(&mut self, port: PortId, up: bool, rate: BitsPerSec);

    /// Returns a port of another worker whose link went down since the last call for it.
    fn next_down(&mut self) -> Option<PortId>;

    /// Returns true if a port of any worker is up, as last reported.
    fn is_up(&self, port: PortId) -> bool;
}

/// A single worker that owns every port: no frame is handed over.
#[derive(Clone, Debug, Default)]
pub struct Alone {
    down: Vec<PortId>,
}

impl<F> Handoff<F> for Alone {
    #[inline]
    fn owns(&self, _: PortId) -> bool {
        true
    }
    #[inline]
    fn give(&mut self, item: Transit<F>) -> Result<(), Transit<F>> {
        Err(item)
    }
    #[inline]
    fn take(&mut self) -> Option<Transit<F>> {
        None
    }
    #[inline]
    fn released(&mut self, _: PortId, _: PriorityGroup, _: Cells) {
        unreachable!("a worker that is alone owns every ingress port");
    }
    #[inline]
    fn collect(&mut self, _: impl FnMut(PortId, PriorityGroup, Cells)) {}
    #[inline]
    fn exchange_shared(&mut self, _: Cells) -> Cells {
        Cells(0)
    }
    #[inline]
    fn tell_learnt(&mut self, _: Vid, _: Mac, _: PortId) -> bool {
        true
    }
    #[inline]
    fn next_learnt(&mut self) -> Option<(Vid, Mac, PortId)> {
        None
    }
    fn tell_link(&mut self, port: PortId, up: bool, _: BitsPerSec) {
        self.down.retain(|p| *p != port);
        if !up {
            self.down.push(port);
        }
    }
    #[inline]
    fn next_down(&mut self) -> Option<PortId> {
        None
    }
    #[inline]
    fn is_up(&self, port: PortId) -> bool {
        // The first test spares the search in the usual case.
        self.down.is_empty() || !self.down.contains(&port)
    }
}
