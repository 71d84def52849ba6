//! The switch: one poll receives frames, decides on them, and transmits frames.
//!
//! [`Switch::poll`] is the whole data plane of one worker. It owns its ports, never blocks, reads
//! no clock, and allocates nothing once it is built. A frame takes one straight path: receive,
//! classify, forward, admit (`ingress`), queue, schedule, transmit (`egress`); flow control runs
//! beside it (`control`). Every received frame is transmitted, held, or dropped under a
//! [`DropReason`](contracts::stats::DropReason): [`Switch::snapshot`] shows the sums.
//!
//! Poll invariance: polling more often than [`Next`](contracts::world::Next) requires never changes
//! the result.
//!
//! Two ports in memory, one switch, a frame through:
//!
//! ```
//! use buffer::{BufferPlan, GroupKind, GroupPlan, SharedLimit};
//! use contracts::frame::Frame;
//! use contracts::memory::{MemFrame, MemPort, frame};
//! use contracts::world::{Alone, World};
//! use ground::time::Instant;
//! use ground::units::{BitsPerSec, Cells, Mac, PortId};
//! use switch::{PortPlan, Switch, SwitchPlan};
//!
//! struct Memory;
//! impl World for Memory {
//!     type Frame = MemFrame;
//!     type Port = MemPort;
//!     type Events = ();
//!     type Handoff = Alone;
//! }
//!
//! let [a, b] = [0, 1].map(|n| PortId::new(n).unwrap());
//! let port = |n| PortPlan::new(format!("p{n}"), Mac([2, 0, 0, 0, 0, n]), BitsPerSec::gbps(10));
//! let lossy =
//!     GroupPlan { reserved: Cells(0), limit: SharedLimit::Unlimited, kind: GroupKind::Lossy };
//! let groups = vec![[lossy; 8]; 2];
//! let buffer = BufferPlan { cell_bytes: 64, total: Cells(4096), groups, slack: Cells(0) };
//! let plan = SwitchPlan::new("switch", vec![port(0), port(1)], buffer);
//! let ports = vec![(a, MemPort::endless()), (b, MemPort::endless())];
//! let mut switch: Switch<Memory> = Switch::new(&plan, ports, Alone::default(), ()).unwrap();
//!
//! // The destination is unknown, so the frame is flooded: it leaves by the other port, unchanged.
//! let sent = frame(Mac([2, 0, 0, 0, 1, 2]), Mac([2, 0, 0, 0, 1, 1]), None, 60);
//! switch.port_mut(a).unwrap().rx.push_back(MemFrame::new(&sent));
//! switch.poll(Instant::ZERO);
//! let received = &switch.port_mut(b).unwrap().tx;
//! assert_eq!(received.len(), 1);
//! assert_eq!(received[0].head(), sent);
//! assert!(switch.snapshot(Instant::ZERO).balance().holds());
//! ```

mod admit;
mod change;
mod classify;
mod congestion_plan;
mod control;
mod dependencies;
mod egress;
mod fdb;
mod forward;
mod groups;
mod ingress;
pub mod managed;
mod plan;
mod poll;
mod port_state;
mod reconcile;
pub mod rig;
mod route;
mod shortcut;
mod signals;
mod staging;
#[cfg(test)]
mod tests;

pub use change::{Change, ChangeError, Refused};
pub use congestion_plan::*;
pub use dependencies::Blockers;
pub use fdb::{Fdb, Key, Learnt, PortAddresses};
pub use plan::*;
pub use reconcile::{Headroom, Reconciler, Step, StepKind, calculate_headroom, delay_found};

use buffer::{BufferError, Ledger};
use classify::Tables;
use contracts::port::{FRAME_MIN, Port};
use contracts::stats::TakenOver;
use contracts::world::{Events, World};
use forward::Spread;
use ground::rand::Rng;
use ground::time::Instant;
use ground::units::{Cells, PortId, Priority, TrafficClass};
use pfc::Watchdog;
use poll::Awake;
use port_state::{PortState, Queued};
use route::Router;
use schedule::Arena;
use secure::{ChangeRefused, SecyChange};
use signals::Signals;

/// One worker's part of a switch; the whole switch if there is only one worker.
pub struct Switch<W: World> {
    name: String,
    max_frame: u32,
    /// By [`PortId`], for all ports of the switch.
    tables: Vec<Tables>,
    /// By [`PortId`]: index in `ports` if this worker owns the port.
    index: Vec<Option<u16>>,
    ports: Vec<PortState<W>>,
    ledger: Ledger,
    arena: Arena<Queued<W::Frame>>,
    fdb: Fdb,
    spread: Spread,
    router: Router,
    signals: Signals,
    rng: Rng,
    handoff: W::Handoff,
    events: W::Events,
    draining: bool,
    given: u64,
    taken: u64,
    /// By [`PortId`]: frames of ports of other workers that no queue here took.
    taken_over: Vec<TakenOver>,
    exchange_at: Instant,
    /// Ports with pending work, and those already visited in this poll.
    awake: Awake,
    visited: Awake,
    /// Ports whose link protocols have events that were not read.
    unread: Awake,
    /// For tests: frames are forwarded one by one.
    #[cfg(test)]
    one_by_one: bool,
}

/// Error of building a switch.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// The buffer cannot satisfy the reservations.
    #[error(transparent)]
    Buffer(#[from] BufferError),
    /// The buffer plan and the port list disagree.
    #[error("the buffer plan has {groups} ports and the switch {ports}; each port needs one entry")]
    PortCount {
        /// Ports in the buffer plan.
        groups: usize,
        /// Ports in the switch plan.
        ports: usize,
    },
    /// A port given to this worker is not in the plan, or was given twice.
    #[error("port {0} is not in the plan, or was given twice")]
    Port(PortId),
    /// More static entries than the table holds.
    #[error("bridge.table_size: {0} static entries do not fit; raise it above their number")]
    StaticEntries(usize),
}

/// Reason for refusing a change of a `SecY`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SecyRefused {
    /// This worker does not own the port.
    #[error("port {0} is not there")]
    Port(PortId),
    /// The port has no `SecY`.
    #[error("port {0} has no SecY; give it `macsec` in the file")]
    NoSecy(PortId),
    /// The `SecY` refuses the change.
    #[error(transparent)]
    Refused(#[from] ChangeRefused),
}

impl<W: World> Switch<W> {
    /// Builds a switch, or one worker's part of it: `ports` are the ports that this worker owns.
    ///
    /// # Errors
    /// [`SwitchError`] if the plan contradicts itself; a plan from `config` never does.
    pub fn new(
        plan: &SwitchPlan,
        ports: Vec<(PortId, W::Port)>,
        handoff: W::Handoff,
        events: W::Events,
    ) -> Result<Self, SwitchError> {
        if plan.buffer.groups.len() != plan.ports.len() {
            let (groups, ports) = (plan.buffer.groups.len(), plan.ports.len());
            return Err(SwitchError::PortCount { groups, ports });
        }
        let fdb = Fdb::new(&plan.bridge, plan.ports.len(), plan.seed)
            .ok_or(SwitchError::StaticEntries(plan.bridge.statics.len()))?;
        let spread = Spread::new(&plan.bridge, plan.seed);
        let signals = Signals::new(plan);
        let mut index = vec![None; plan.ports.len()];
        let mut owned = Vec::with_capacity(ports.len());
        for (id, port) in ports {
            // A port that the plan lacks and one that is given twice have no free slot, so both are one error.
            let slot = index.get_mut(id.index()).filter(|slot| slot.is_none());
            *slot.ok_or(SwitchError::Port(id))? = Some(owned.len() as u16);
            // The TLVs of the congestion functions follow from the plan of the switch, not from that of the port.
            let port_plan =
                PortPlan { agents: plan.agents_advertised(id), ..plan.ports[id.index()].clone() };
            let mut state = PortState::new(id, port, &port_plan, plan.bridge.shortcuts);
            // Not by the port's plan alone: a congesting class has the watchdog of the class whose flows it takes.
            state.watchdog = Watchdog::new(&signals.watchdogs(&plan.ports[id.index()].watchdog));
            let none = state.watchdog.set_enabled(plan.congestion.watches(id)).count();
            assert_eq!(none, 0, "no queue is stormed before the first frame");
            // A queue that a congestion function monitors must see its frames, so they never bypass it.
            let class = |p: Priority| plan.ports[id.index()].classify.class[p.index()];
            state.direct.0 &= signals.unwatched(id, class, plan.max_frame).0;
            owned.push(state);
        }
        let count = owned.len();
        let mut switch = Self {
            name: plan.name.clone(),
            max_frame: plan.max_frame,
            // Every worker has the tables of all ports, because any of them may be the egress of a frame.
            tables: core::iter::zip(&plan.ports, &plan.buffer.groups)
                .map(|(port, groups)| Tables::new(port, groups))
                .collect(),
            index,
            ports: owned,
            ledger: Ledger::new(&plan.buffer)?,
            // Sized for the whole buffer in the smallest frames: no frame that is queued allocates.
            arena: Arena::with_capacity(most_frames(plan)),
            fdb,
            spread,
            router: Router::new(&plan.routing),
            signals,
            rng: Rng::new(plan.seed),
            handoff,
            events,
            draining: false,
            given: 0,
            taken: 0,
            taken_over: vec![TakenOver::default(); plan.ports.len()],
            exchange_at: Instant::ZERO,
            awake: Awake::none(count),
            visited: Awake::none(count),
            unread: Awake::none(count),
            #[cfg(test)]
            one_by_one: false,
        };
        // Guards follow from the tables and from the isolation machine, so both have to be there.
        switch.note_guards();
        Ok(switch)
    }

    /// Stops or restarts reception, so that held frames can drain.
    pub const fn set_draining(&mut self, on: bool) {
        self.draining = on;
    }

    /// Returns the number of frames that are queued or staged: neither sent nor dropped yet.
    pub fn held(&self) -> u64 {
        // Frames that the scheduler released and the device did not accept yet are in no queue any more.
        let hands: usize = self.ports.iter().map(PortState::in_hand).sum();
        u64::from(self.arena.used()) + hands as u64
    }

    /// Iterates over the held data frames, in no particular order. Slow: not for the data path.
    pub fn held_frames(&self) -> impl Iterator<Item = &W::Frame> {
        let hands = self.ports.iter().flat_map(|port| port.staged.frames());
        self.arena.items().map(|queued| &queued.frame).chain(hands)
    }

    /// Returns a port if this worker owns it.
    pub fn port_mut(&mut self, id: PortId) -> Option<&mut W::Port> {
        let slot = self.local(id)?;
        Some(&mut self.ports[slot].port)
    }

    /// Returns the ports that this worker owns, in the order in which it got them. Frames that it holds are
    /// given up.
    pub fn into_ports(self) -> Vec<(PortId, W::Port)> {
        self.ports.into_iter().map(|state| (state.id, state.port)).collect()
    }

    /// Changes the MACsec state of an owned port. Not a [`Change`], because it carries keys.
    ///
    /// # Errors
    /// The reason; nothing was changed then.
    pub fn change_secy(&mut self, id: PortId, change: &SecyChange) -> Result<(), SecyRefused> {
        let slot = self.local(id).ok_or(SecyRefused::Port(id))?;
        // A pause that could not be protected before may be sent now.
        self.awake.insert(slot);
        let secy = self.ports[slot].port.secy_mut().ok_or(SecyRefused::NoSecy(id))?;
        Ok(secy.change(change)?)
    }

    pub const fn events_mut(&mut self) -> &mut W::Events {
        &mut self.events
    }

    /// Returns the buffer's ledger, for reading.
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Returns the length of one queue of an owned port in bytes, FCS included.
    pub fn queue_bytes(&self, id: PortId, class: TrafficClass) -> u64 {
        self.local(id).map_or(0, |slot| self.ports[slot].scheduler.bytes(class))
    }

    /// Returns the number of frames of a priority that an owned port has sent marked CE.
    pub fn ecn_marked(&self, id: PortId, priority: Priority) -> u64 {
        let marked =
            |slot: usize| self.ports[slot].counters.priorities[priority.index()].ecn_marked;
        self.local(id).map_or(0, marked)
    }

    /// Returns the index of a port in `ports` if this worker owns it.
    #[inline]
    fn local(&self, id: PortId) -> Option<usize> {
        self.index.get(id.index()).copied().flatten().map(usize::from)
    }

    /// Counts a drop of a frame received by (or queued at) the owned port `slot`.
    #[inline]
    fn count_drop(
        &mut self,
        now: Instant,
        slot: usize,
        priority: Option<Priority>,
        reason: contracts::stats::DropReason,
    ) {
        let port = &mut self.ports[slot];
        port.counters.drops.count(reason);
        if let Some(p) = priority {
            port.counters.priorities[p.index()].dropped += 1;
        }
        self.events.dropped(now, port.id, priority, reason);
    }

    /// Counts a drop of a frame received by `ingress`, of this worker or another.
    fn count_drop_of(
        &mut self,
        now: Instant,
        ingress: PortId,
        priority: Option<Priority>,
        reason: contracts::stats::DropReason,
    ) {
        if let Some(slot) = self.local(ingress) {
            return self.count_drop(now, slot, priority, reason);
        }
        // The counters of a port have one writer, its owner. Those of other workers are added in results.
        self.taken_over[ingress.index()].drop(priority, reason);
        self.events.dropped(now, ingress, priority, reason);
    }
}

/// Returns the maximum number of frames that the ledger can have admitted: the whole buffer in the
/// smallest frames, each of which takes at least one cell, as do the shorter ones that only a
/// virtual device delivers.
fn most_frames(plan: &SwitchPlan) -> usize {
    let Cells(total) = plan.buffer.total;
    let smallest = plan.buffer.cells_for(FRAME_MIN).0.max(1);
    (total / smallest) as usize + 1
}
