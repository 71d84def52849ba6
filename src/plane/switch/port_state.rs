//! State of one port of a worker, and the snapshot of its counters.

use super::Switch;
use super::classify::Tables;
use super::fdb::PortAddresses;
use super::shortcut::Shortcuts;
use super::staging::Staging;
use crate::PortPlan;
use buffer::{Charge, Ledger, SharedLimit};
use congestion::EcnPlan;
use congestion::isolation::Hold;
use contracts::frame::Burst;
use contracts::port::Port;
use contracts::stats::{Fdb, PortCounters, PortSnapshot, SharedPool, SwitchSnapshot};
use contracts::world::World;
use ground::time::Instant;
use ground::units::{
    BitsPerSec, Bytes, Cells, PRIORITIES, PortId, Priority, PriorityGroup, PrioritySet,
    TrafficClass,
};
use link::PortAgents;
use pfc::{Receiver, Sender, StormAction, Watchdog};
use schedule::{Arena, Scheduler, Shaper};
use wire::mac_control;

/// Placement of a frame at its egress port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    pub(super) class: TrafficClass,
    /// Condition for leaving the head of its queue.
    pub(super) hold: Hold,
    /// Group that accounts for the frame while it is below its limit, in preference to that of its
    /// priority.
    pub(super) group: Option<PriorityGroup>,
    /// True if CE was set on the frame.
    pub(super) marked: bool,
}

impl Placed {
    /// Placement in the frame's own class, without a hold.
    pub(super) const fn plain(class: TrafficClass) -> Self {
        Self { class, hold: Hold::NONE, group: None, marked: false }
    }
}

/// A frame in an egress queue with its charge.
#[derive(Debug)]
pub(super) struct Queued<F> {
    pub(super) frame: F,
    pub(super) charge: Charge,
    pub(super) ingress: PortId,
    /// True if this switch set CE on the frame.
    pub(super) marked: bool,
    /// Condition for leaving the head of its queue.
    pub(super) hold: Hold,
}

/// The state of one port.
pub(super) struct PortState<W: World> {
    pub(super) id: PortId,
    pub(super) port: W::Port,
    pub(super) up: bool,
    pub(super) rate: BitsPerSec,
    pub(super) scheduler: Scheduler,
    pub(super) shaper: Option<Shaper>,
    pub(super) limits: [SharedLimit; PRIORITIES],
    /// Cells of the frames in each queue, which `limits` bound.
    pub(super) cells: [u32; PRIORITIES],
    /// Bytes at the head of each queue whose frames are marked when they leave.
    pub(super) marked_ahead: [u64; PRIORITIES],
    /// Control frames that the port has not accepted yet; they precede all others.
    pub(super) control: Burst<W::Frame>,
    /// Frames dequeued, or never queued, that the port has not accepted yet.
    pub(super) staged: Staging<W::Frame>,
    /// Priorities whose frames may bypass an empty queue: no function needs to see them there.
    pub(super) direct: PrioritySet,
    /// Priorities whose pauses stop congesting classes; while one is paused, frames of all flows
    /// are queued.
    pub(super) guards: PrioritySet,
    /// True if frames that bypass the queue also bypass the ledger: the port obeys no pauses.
    pub(super) straight: bool,
    /// Cached forwarding decisions of recent flows received here.
    pub(super) shortcuts: Shortcuts,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    /// The pause received in the last poll: it arrived some time after that poll's `now`, so the
    /// next poll restarts it, and it never ends early.
    pub(super) undated: Option<mac_control::Repr>,
    pub(super) watchdog: Watchdog,
    pub(super) agents: Option<Box<PortAgents>>,
    /// Cached deadline of the link protocols; `NEVER` without any. Cached because calculating it
    /// touches too many places for every poll.
    pub(super) agents_due: Instant,
    /// Time of the proxy's next pause; `NEVER` without a proxy.
    pub(super) proxy_due: Instant,
    /// Time at which the first frame for the link protocols was found in the last burst; `None` if
    /// there was none. The clock is read for such a frame alone: a burst of data needs no time, and
    /// a later date lengthens the delay that is measured, which is the safe side.
    pub(super) found_at: Option<Instant>,
    /// Deadline last reported to a driver that polls ports by their deadlines.
    pub(super) deadline: Instant,
    pub(super) counters: PortCounters,
}

impl<W: World> PortState<W> {
    pub(super) fn new(id: PortId, port: W::Port, plan: &PortPlan, shortcuts: usize) -> Self {
        let agents = plan.agents.as_ref();
        let agents = agents.map(|agents| Box::new(PortAgents::new(agents, port.stamps())));
        let agents_due = agents.as_ref().map_or(Instant::NEVER, |agents| agents.next_deadline());
        let has_queues = port.has_queues();
        Self {
            id,
            port,
            up: true,
            rate: plan.rate,
            scheduler: Scheduler::new(&plan.schedule),
            shaper: plan
                .shaped
                .then(|| Shaper::new(plan.rate, plan.schedule.shaper_burst, plan.protected_line())),
            limits: plan.queue_limits,
            cells: [0; PRIORITIES],
            marked_ahead: [0; PRIORITIES],
            control: Burst::new(),
            staged: Staging::new(has_queues),
            direct: direct(plan),
            guards: PrioritySet::EMPTY,
            straight: plan.pfc.mode.obeys().is_empty(),
            shortcuts: Shortcuts::new(shortcuts),
            sender: Sender::new(plan.pfc, plan.rate),
            receiver: Receiver::new(plan.pfc.mode, plan.rate),
            undated: None,
            watchdog: Watchdog::new(&plan.watchdog),
            agents,
            agents_due,
            proxy_due: Instant::NEVER,
            found_at: None,
            deadline: Instant::ZERO,
            counters: PortCounters::default(),
        }
    }

    /// Returns true if a frame of `priority` that arrives now would be sent at the end of this
    /// poll: nothing is queued before it, the port is not shaped, and the peer has not paused it.
    #[inline]
    pub(super) fn is_idle_for(&mut self, now: Instant, priority: Priority) -> bool {
        self.direct.contains(priority)
            && self.up
            && self.scheduler.is_empty()
            && !self.staged.is_full()
            && !self.watchdog.any_stormed()
            && !self.port.held().contains(priority)
            // While a guard is paused the frame's flow may be one that isolation holds, so it has to be placed.
            && self.receiver.paused(now).0 & (PrioritySet::of(priority).0 | self.guards.0) == 0
    }

    /// Returns false if nothing but data can be sent or observed now: no queue is watched, no control
    /// frame waits, and no pause or frame of a link protocol is due.
    #[inline(always)]
    pub(super) fn has_duties(&self, now: Instant) -> bool {
        self.watchdog.is_configured()
            || !self.control.is_empty()
            || self.sender.is_due(now)
            || now >= self.proxy_due
            || now >= self.agents_due
    }

    /// Returns the number of frames dequeued but not accepted by the port yet.
    pub(super) fn in_hand(&self) -> usize {
        self.control.len() + self.staged.len()
    }

    /// Returns true if the link is free for a frame to start.
    #[inline]
    pub(super) fn link_free(&self, now: Instant) -> bool {
        self.shaper.as_ref().is_none_or(|s| s.ready(now))
    }

    /// Records that a frame starts on the line now.
    #[inline]
    pub(super) fn occupy_link(&mut self, now: Instant, wire_len: u32) {
        if let Some(shaper) = &mut self.shaper {
            shaper.charge(now, wire_len);
        }
    }

    /// Returns the priorities that may not send now: those the peer paused, less those whose queue
    /// is stormed and whose watchdog ignores pauses.
    #[inline]
    pub(super) fn held_back(
        &mut self,
        now: Instant,
        of_class: impl Fn(TrafficClass) -> PrioritySet,
    ) -> PrioritySet {
        let mut paused = self.receiver.paused(now);
        // A stormed queue whose action is `forward` ignores pauses (SONiC's pfcwd).
        if !paused.is_empty() && self.watchdog.any_stormed() {
            for class in TrafficClass::ALL {
                if self.watchdog.action(class) == Some(StormAction::Forward) {
                    paused = PrioritySet(paused.0 & !of_class(class).0);
                }
            }
        }
        paused
    }

    /// Returns the time of the port's next event that needs no frame to arrive.
    pub(super) fn next_deadline(&self, now: Instant) -> Instant {
        let mut deadline = self.watchdog.next_deadline();
        let pause = self.sender.due(now).is_some();
        let busy = !self.link_free(now);
        if busy && (pause || !self.scheduler.is_empty()) {
            deadline = deadline.min(self.shaper.as_ref().map_or(Instant::NEVER, Shaper::free_at));
        }
        // A pause that is due waits for the link, not for its due time.
        if !(busy && pause) {
            deadline = deadline.min(self.sender.next_deadline());
        }
        // So do frames of link protocols and pauses of the proxy.
        let free = self.shaper.as_ref().map_or(Instant::ZERO, Shaper::free_at);
        // The proxy's pause also waits for the control frames before it.
        let says = self.up && self.control.is_empty();
        let due = self.agents_due.min(if says { self.proxy_due } else { Instant::NEVER });
        deadline = deadline.min(if busy { due.max(free) } else { due });
        // The end of a pause releases a queued frame. With empty queues it has no effect, and the
        // receiver would keep reporting a deadline that has passed.
        if self.scheduler.is_empty() {
            deadline
        } else {
            deadline.min(self.receiver.next_deadline())
        }
    }
}

/// Calculates [`PortState::direct`].
fn direct(plan: &PortPlan) -> PrioritySet {
    let passes = |p: &Priority| {
        let class = plan.classify.class[p.index()].index();
        plan.queue_limits[class] == SharedLimit::Unlimited
            && plan.ecn[class].is_none_or(|ecn| passes_empty_queues(&ecn))
    };
    // A shaped port decides by its queue when the next frame may start.
    if plan.shaped {
        PrioritySet::EMPTY
    } else {
        Priority::ALL.into_iter().filter(passes).collect()
    }
}

/// Returns true if a marking curve passes every frame that finds an empty queue.
pub(super) fn passes_empty_queues(plan: &EcnPlan) -> bool {
    plan.kmin > Bytes(0)
}

impl<W: World> Switch<W> {
    /// Returns the counters of this worker's ports at `now`.
    pub fn snapshot(&mut self, now: Instant) -> SwitchSnapshot {
        let held = self.held();
        let octets = |cells: Cells| u64::from(cells.0) * u64::from(self.ledger.cell_bytes());
        let [used_bytes, peak_bytes] =
            [self.ledger.shared_used(), self.ledger.shared_peak()].map(octets);
        let congestion = self.congestion_snapshot();
        let Self { ports, tables, ledger, fdb, arena, taken_over, .. } = self;
        SwitchSnapshot {
            name: self.name.clone(),
            at: now,
            ports: ports
                .iter_mut()
                .map(|port| {
                    let addresses = fdb.of_port(port.id);
                    let waiting = waiting(now, port, arena);
                    let tables = &tables[port.id.index()];
                    port_snapshot(now, port, tables, ledger, addresses, waiting)
                })
                .collect(),
            taken_over: taken_over.clone(),
            held,
            given: self.given,
            taken: self.taken,
            shared_pool: SharedPool { used_bytes, peak_bytes },
            fdb: Fdb { entries: self.fdb.len() as u64, full: self.fdb.refused() },
            congestion,
        }
    }
}

fn port_snapshot<W: World>(
    now: Instant,
    port: &mut PortState<W>,
    tables: &Tables,
    ledger: &Ledger,
    addresses: PortAddresses,
    waiting: [Option<PortId>; PRIORITIES],
) -> PortSnapshot {
    let mut counters = port_counters(now, port, tables, ledger);
    // Kept by the address table and the pause machine, not counted here.
    counters.addresses = addresses.held.into();
    counters.addresses_refused = addresses.refused;
    counters.paused = port.receiver.paused(now);
    PortSnapshot {
        name: tables.name.clone(),
        up: port.up,
        rate_bps: port.rate.get(),
        counters,
        waiting,
        secy: port.port.secy().map(|secy| Box::new(secy.snapshot())),
    }
}

/// Returns the ingress port of the first frame of each queue that the peer has paused.
fn waiting<W: World>(
    now: Instant,
    port: &mut PortState<W>,
    arena: &Arena<Queued<W::Frame>>,
) -> [Option<PortId>; PRIORITIES] {
    let paused = port.receiver.paused(now);
    let mut waiting = [None; PRIORITIES];
    for class in TrafficClass::ALL {
        // The frames behind the first one wait for it, not for the peer.
        let head = port.scheduler.head_priority(class).filter(|head| paused.contains(*head));
        if let (Some(priority), Some(item)) = (head, port.scheduler.head(arena, class)) {
            waiting[priority.index()] = Some(item.ingress);
        }
    }
    waiting
}

/// Returns the counters of a port, with those that its machines keep filled in.
fn port_counters<W: World>(
    now: Instant,
    port: &PortState<W>,
    tables: &Tables,
    ledger: &Ledger,
) -> PortCounters {
    let octets = |cells: Cells| u64::from(cells.0) * u64::from(ledger.cell_bytes());
    let mut counters = port.counters.clone();
    for p in Priority::ALL {
        let c = &mut counters.priorities[p.index()];
        let group = ledger.usage(port.id, tables.group(p));
        c.buffer_bytes = octets(group.used) + octets(group.headroom);
        c.buffer_peak_bytes = octets(group.peak);
        c.headroom_peak_bytes = octets(group.headroom_peak);
        // Priorities of one class share its queue, and each of them shows all of it.
        let class = tables.class(p);
        c.queue_bytes = port.scheduler.bytes(class);
        c.queue_peak_bytes = port.scheduler.peak(class);
        c.pfc_rx_paused = port.receiver.paused_time(now, p);
        c.pfc_tx_paused = port.sender.paused_time(now, p);
        c.pfc_rx_transitions = port.receiver.transitions(p);
        c.pfc_tx_transitions = port.sender.transitions(p);
    }
    counters
}
