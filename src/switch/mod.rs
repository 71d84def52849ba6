//! The switch: one poll takes frames in, decides, and sends frames out.
//!
//! [`Switch::poll`] is the whole data plane of one worker. It owns its ports, never blocks, reads
//! no clock, and allocates nothing once it is built. A frame goes through it in one straight line:
//! receive, classify, forward, admit (`ingress`), queue, schedule, send (`egress`); pauses are
//! made and obeyed beside it (`control`). Every frame that comes in goes out, is held, or ends
//! under a [`DropReason`](crate::stats::DropReason): [`Switch::snapshot`] shows the sums.
//!
//! Poll invariance: polling more often than [`Next`] asks for never changes what happens.

mod agents;
mod awake;
mod change;
mod classify;
mod congested;
mod control;
mod egress;
mod fdb;
mod forward;
mod ingress;
pub mod managed;
mod plan;
mod port_state;
mod route;
mod settle;
mod shortcut;
mod snapshot;
mod staging;
mod tables;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod testworld;

pub use change::{Change, ChangeError};
pub use fdb::{Fdb, Key, Learnt, PortAddresses};
pub use plan::*;
pub use settle::{Headroom, Refused, Settler, Step, StepKind, delay_found, reckon};

use crate::buffer::{BufferError, Ledger};
use crate::congestion::Dice;
use crate::pfc::Watchdog;
use crate::port::Port;
use crate::schedule::Arena;
use crate::secure::{ChangeRefused, SecyChange};
use crate::time::{Duration, Instant};
use crate::units::{Cells, PortId, Priority, TrafficClass};
use crate::world::{Events, Handoff, Next, World};
use awake::Awake;
use congested::Congested;
use port_state::{PortState, Queued};
use route::Router;
use tables::Tables;

/// How often a worker tells the others what it uses of the shared pool while it admits nothing;
/// after a poll in which it did, it tells them at once (`runtime::exchange` relies on that).
const EXCHANGE_EVERY: Duration = Duration::from_micros(1);

/// One worker's part of a switch: all of it where there is one worker.
pub struct Switch<W: World> {
    name: String,
    max_frame: u32,
    /// By [`PortId`], for all ports of the switch.
    tables: Vec<Tables>,
    /// By [`PortId`]: where in `ports` it is, if this worker owns it.
    index: Vec<Option<u16>>,
    ports: Vec<PortState<W>>,
    ledger: Ledger,
    arena: Arena<Queued<W::Frame>>,
    fdb: Fdb,
    router: Router,
    congested: Congested,
    dice: Dice,
    handoff: W::Handoff,
    events: W::Events,
    draining: bool,
    given: u64,
    taken: u64,
    exchange_at: Instant,
    /// Ports to which something happened, and those that the present poll has looked at.
    awake: Awake,
    looked_at: Awake,
}

/// Why a switch could not be built.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// The buffer's arithmetic does not close.
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

/// Why a `SecY` was not changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SecyRefused {
    /// The port is none of this worker's.
    #[error("port {0} is not there")]
    Port(PortId),
    /// Its frames are not protected at all.
    #[error("port {0} has no SecY; give it `macsec` in the file")]
    NoSecy(PortId),
    /// Its `SecY` refuses.
    #[error(transparent)]
    Refused(#[from] ChangeRefused),
}

impl<W: World> Switch<W> {
    /// A switch, or one worker's part of it: `ports` are the ports that this worker owns.
    ///
    /// # Errors
    /// [`SwitchError`] when the plan contradicts itself; a plan from `config` does not.
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
        let congested = Congested::new(plan);
        let mut index = vec![None; plan.ports.len()];
        let mut owned = Vec::with_capacity(ports.len());
        for (id, port) in ports {
            let slot = index.get_mut(id.index()).filter(|slot| slot.is_none());
            *slot.ok_or(SwitchError::Port(id))? = Some(owned.len() as u16);
            let port_plan =
                PortPlan { agents: plan.agents_told(id), ..plan.ports[id.index()].clone() };
            let mut state = PortState::new(id, port, &port_plan, plan.bridge.shortcuts);
            state.watchdog = Watchdog::new(&congested.watchdogs(&plan.ports[id.index()].watchdog));
            let none = state.watchdog.set_enabled(plan.congestion.watches(id)).count();
            assert_eq!(none, 0, "no queue is stormed before the first frame");
            let class = |p: Priority| plan.ports[id.index()].classify.class[p.index()];
            state.direct.0 &= congested.unwatched(id, class, plan.max_frame).0;
            owned.push(state);
        }
        let count = owned.len();
        let mut switch = Self {
            name: plan.name.clone(),
            max_frame: plan.max_frame,
            tables: core::iter::zip(&plan.ports, &plan.buffer.groups)
                .map(|(port, groups)| Tables::new(port, groups))
                .collect(),
            index,
            ports: owned,
            ledger: Ledger::new(&plan.buffer)?,
            arena: Arena::with_capacity(most_frames(plan)),
            fdb,
            router: Router::new(&plan.routing),
            congested,
            dice: Dice::new(plan.seed),
            handoff,
            events,
            draining: false,
            given: 0,
            taken: 0,
            exchange_at: Instant::ZERO,
            awake: Awake::none(count),
            looked_at: Awake::none(count),
        };
        switch.note_guards();
        Ok(switch)
    }

    /// One turn: takes what has arrived, decides, and sends what may be sent. `now` never goes
    /// back.
    pub fn poll(&mut self, now: Instant) -> Next {
        let mut progressed = self.take_over(now);
        for at in 0..self.ports.len() {
            progressed |= self.receive(now, at) > 0;
        }
        for at in 0..self.ports.len() {
            progressed |= self.transmit(now, at);
        }
        if now >= self.fdb.next_deadline() {
            self.fdb.sweep(now);
        }
        // Whoever polls again at once need not know until when it could have waited.
        let deadline = if progressed { now } else { self.next_deadline(now) };
        Next { progressed, deadline }
    }

    /// Takes over what other workers sent: credits, addresses, frames.
    fn take_over(&mut self, now: Instant) -> bool {
        let Self { handoff, ledger, fdb, exchange_at, .. } = self;
        if now >= *exchange_at {
            ledger.set_elsewhere(handoff.exchange_shared(ledger.shared_used()));
            *exchange_at = now.saturating_add(EXCHANGE_EVERY);
        }
        while let Some((vid, mac, port)) = handoff.next_learnt() {
            let _ = fdb.learn(now, Key::new(vid, mac), port);
        }
        self.collect_credits(now);
        let mut progressed = false;
        for _ in 0..crate::frame::BURST {
            let Some(item) = self.handoff.take() else { break };
            self.taken += 1;
            self.accept(now, item);
            progressed = true;
        }
        progressed
    }

    /// When something happens without a frame arriving.
    fn next_deadline(&self, now: Instant) -> Instant {
        let ports = self.ports.iter().map(|p| p.next_deadline(now));
        ports.fold(self.fdb.next_deadline(), Instant::min)
    }

    /// Stops (or starts again) receiving, so that what is held can drain.
    pub const fn set_draining(&mut self, on: bool) {
        self.draining = on;
    }

    /// Frames in queues and in hands, which are neither sent nor dropped yet.
    #[must_use]
    pub fn held(&self) -> u64 {
        let hands: usize = self.ports.iter().map(PortState::in_hand).sum();
        u64::from(self.arena.used()) + hands as u64
    }

    /// The data frames that it holds, in no particular order: to look at when nothing is in a
    /// hurry.
    pub fn held_frames(&self) -> impl Iterator<Item = &W::Frame> {
        let hands = self.ports.iter().flat_map(|port| port.staged.frames());
        self.arena.items().map(|queued| &queued.frame).chain(hands)
    }

    /// A port that this worker owns.
    pub fn port_mut(&mut self, id: PortId) -> Option<&mut W::Port> {
        let at = self.local(id)?;
        Some(&mut self.ports[at].port)
    }

    /// Changes what an owned port protects, or is to accept; keys make this no [`Change`].
    ///
    /// # Errors
    /// Why nothing was changed.
    pub fn change_secy(&mut self, id: PortId, change: &SecyChange) -> Result<(), SecyRefused> {
        let at = self.local(id).ok_or(SecyRefused::Port(id))?;
        // A pause that could not be protected may be now.
        self.awake.insert(at);
        let secy = self.ports[at].port.secy_mut().ok_or(SecyRefused::NoSecy(id))?;
        Ok(secy.change(change)?)
    }

    /// The observer.
    pub const fn events_mut(&mut self) -> &mut W::Events {
        &mut self.events
    }

    /// The buffer's ledger, to look at.
    pub const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Octets that wait in one queue of an owned port, FCS included.
    #[must_use]
    pub fn queue_bytes(&self, id: PortId, class: TrafficClass) -> u64 {
        self.local(id).map_or(0, |at| self.ports[at].scheduler.bytes(class))
    }

    /// Where a port is in `ports`, if this worker owns it.
    #[inline]
    fn local(&self, id: PortId) -> Option<usize> {
        self.index.get(id.index()).copied().flatten().map(usize::from)
    }

    /// Drops a frame that came in by (or was to leave by) the owned port `at`.
    #[inline]
    fn count_drop(
        &mut self,
        now: Instant,
        at: usize,
        priority: Option<Priority>,
        reason: crate::stats::DropReason,
    ) {
        let port = &mut self.ports[at];
        port.counters.drops.count(reason);
        if let Some(p) = priority {
            port.counters.priorities[p.index()].dropped += 1;
        }
        self.events.dropped(now, port.id, priority, reason);
    }
}

/// The most frames the ledger can have admitted at once: the whole buffer in the smallest frames,
/// each of which takes at least one cell.
fn most_frames(plan: &SwitchPlan) -> usize {
    let Cells(total) = plan.buffer.total;
    let smallest = plan.buffer.cells_for(MIN_FRAME_BYTES).0.max(1);
    (total / smallest) as usize + 1
}

/// The shortest Ethernet frame, FCS included (802.3 4.4.2). A shorter one, which only a virtual
/// device delivers, takes no less of a cell.
const MIN_FRAME_BYTES: u32 = 64;
