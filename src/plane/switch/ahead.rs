//! Memory of a switch that is polled soon, for drivers that know which frames arrive next.
//!
//! Each function brings into the caches what the one before leads to. None waits, and no result depends on them.

use super::Switch;
use super::port_state::PortState;
use super::shortcut::{Decision, Flow};
use contracts::frame::BURST;
use contracts::world::World;
use ground::memory::{fetch, fetch_item};
use ground::units::{PortId, Priority, TrafficClass};

impl<W: World> Switch<W> {
    /// The state of the whole switch.
    pub fn fetch(&self) {
        fetch(&self.max_frame);
        fetch(&self.tables);
        fetch(&self.index);
        fetch(&self.ports);
        fetch(&self.arena);
        fetch(&self.fdb);
        fetch(&self.spread);
        fetch(&self.router);
        fetch(&self.signals.filter);
        fetch(&self.exchange_at);
        fetch(&self.awake);
        fetch(&self.looked_at);
        self.ledger.fetch();
    }

    /// Memory for a frame that is queued.
    pub fn fetch_place(&self) {
        self.arena.fetch();
    }

    /// The state of a port.
    pub fn fetch_port(&self, id: PortId) {
        self.tables[id.index()].fetch();
        if let Some(at) = self.local(id) {
            self.ports[at].fetch();
        }
    }

    /// The cached decision for a frame that arrives at a port.
    pub fn fetch_way(&self, id: PortId, head: &[u8]) {
        let (Some(at), Some(flow)) = (self.local(id), Flow::of(head)) else { return };
        self.ports[at].shortcuts.fetch(&flow);
    }
}

impl<W: World> Switch<W> {
    /// Counters that a frame which arrives at a port changes there and where it leaves, by the cached decision.
    pub fn fetch_counts(&self, id: PortId, head: &[u8]) {
        let (Some(at), Some(flow)) = (self.local(id), Flow::of(head)) else { return };
        let Decision { egress, to, priority, group, .. } = self.ports[at].shortcuts.guess(&flow);
        self.ledger.fetch_group(id, group);
        fetch(&self.ports[at].counters.priorities[priority.index()]);
        let class = self.tables[egress.index()].class(priority);
        self.signals.fetch_floor(egress, class);
        self.ports[usize::from(to)].fetch_queue(priority, class);
    }
}

impl<W: World> PortState<W> {
    /// Fields of a frame's queue.
    fn fetch_queue(&self, priority: Priority, class: TrafficClass) {
        fetch(&self.limits[class.index()]);
        fetch(&self.marked_ahead[class.index()]);
        fetch(&self.counters.priorities[priority.index()]);
        self.scheduler.fetch_queue(class);
    }

    /// Fields that every frame needs.
    fn fetch(&self) {
        fetch(&self.id);
        fetch(&self.port);
        fetch(&self.up);
        fetch(&self.direct);
        fetch(&self.undated);
        fetch(&self.found_at);
        fetch(&self.deadline);
        fetch(&self.agents_due);
        fetch(&self.proxy_due);
        fetch(&self.shortcuts);
        fetch(&self.shaper);
        fetch(&self.counters.rx_frames);
        fetch(&self.counters.tx_bytes);
        fetch_item(&self.control, BURST);
        self.scheduler.fetch();
        self.staged.fetch();
        self.sender.fetch();
        self.receiver.fetch();
        self.watchdog.fetch();
    }
}
