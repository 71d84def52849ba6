//! A poll of all ports of a worker, and one of the ports with pending work only.
//!
//! A driver that knows where frames arrived and which deadlines expired (the virtual world does)
//! need not visit every port at every event, so the cost of a poll does not grow with the number of
//! ports. Poll invariance guarantees that the result is the same; a property test compares both.
//!
//! Such a driver also knows which frames arrive next: the `fetch` functions bring the memory that a
//! poll will need into the caches, each what the one before leads to. None waits, and no result
//! depends on them.

use super::Switch;
use super::fdb::Key;
use super::port_state::PortState;
use super::shortcut::{Decision, Flow};
use contracts::frame::BURST;
use contracts::world::{Handoff, Next, World};
use ground::memory::{fetch, fetch_item};
use ground::time::{Duration, Instant};
use ground::units::{PortId, Priority, TrafficClass};

/// Interval at which a worker reports its use of the shared pool to the others while it admits
/// nothing; after a poll that admitted frames it reports at once (`contracts::mesh::exchange` relies on
/// that).
const EXCHANGE_EVERY: Duration = Duration::from_micros(1);

impl<W: World> Switch<W> {
    /// Receives what has arrived, decides, and transmits what is allowed. `now` never goes back.
    pub fn poll(&mut self, now: Instant) -> Next {
        let mut progressed = self.take_over(now);
        // All ports receive before any sends: a pause that has arrived holds back frames of this same poll.
        for slot in 0..self.ports.len() {
            progressed |= self.receive(now, slot) > 0;
        }
        for slot in 0..self.ports.len() {
            progressed |= self.transmit(now, slot);
        }
        // The sweep frees memory and does nothing else: a lookup never returns an aged entry.
        if now >= self.fdb.next_deadline() {
            self.fdb.sweep(now);
        }
        // After progress the caller polls again at once, so the deadline need not be calculated.
        let deadline = if progressed { now } else { self.next_deadline(now) };
        Next { progressed, deadline }
    }

    /// Processes messages of other workers: credits, addresses, frames.
    fn take_over(&mut self, now: Instant) -> bool {
        let Self { handoff, ledger, fdb, exchange_at, .. } = self;
        // Due at once after a poll that received frames, because the slack of the shared pool covers the admissions
        // of one poll.
        if now >= *exchange_at {
            ledger.set_elsewhere(handoff.exchange_shared(ledger.shared_used()));
            *exchange_at = now.saturating_add(EXCHANGE_EVERY);
        }
        while let Some((vid, mac, port)) = handoff.next_learnt() {
            // An address that does not fit costs flooding, and the table counts it.
            let _ = fdb.learn(now, Key::new(vid, mac), port);
        }
        // After the addresses: those learnt before the link went down are among them.
        while let Some(port) = handoff.next_down() {
            fdb.flush(Some(port));
        }
        self.collect_credits(now);
        let mut progressed = false;
        // At most one burst, so that the frames of other workers do not keep this one from its own ports.
        for _ in 0..BURST {
            let Some(item) = self.handoff.take() else { break };
            self.taken += 1;
            self.accept(now, item);
            progressed = true;
        }
        progressed
    }

    /// Returns the time of the next event that needs no frame to arrive.
    fn next_deadline(&self, now: Instant) -> Instant {
        let ports = self.ports.iter().map(|p| p.next_deadline(now));
        ports.fold(self.fdb.next_deadline(), Instant::min)
    }

    /// Polls until nothing more happens at `now`, visiting only the ports in `due` (with arrived
    /// frames or an expired deadline) and those that become active meanwhile. Calls `after` with
    /// the next deadline of each active port. Returns the next deadline of the switch as a whole,
    /// at which this is called with an empty `due`.
    ///
    /// Equivalent to repeating [`Self::poll`] until it makes no progress. For a single worker only:
    /// frames handed over by another worker belong to no port in `due`.
    pub fn poll_ports(
        &mut self,
        now: Instant,
        due: &[PortId],
        mut after: impl FnMut(PortId, Instant, &mut W::Port),
    ) -> Instant {
        for id in due {
            let slot = self.local(*id).expect("a port that is due is one of this switch");
            // A burst that is not full was the last one.
            while self.receive(now, slot) == BURST {}
            // No time has passed since the pause was received.
            self.ports[slot].undated = None;
            // A port without a frame may have a pause to send or one that ended.
            if self.ports[slot].deadline <= now {
                self.awake.insert(slot);
            }
        }
        let mut from = 0;
        loop {
            // In the order of `poll`: upwards, then again from the first port for those that were woken meanwhile.
            let Some(slot) = self.awake.pop_from(from) else {
                if from == 0 {
                    break;
                }
                from = 0;
                continue;
            };
            self.visited.insert(slot);
            from = slot + 1;
            // `poll` is repeated after progress, so the port is visited again. A busy link has its own deadline.
            if self.transmit(now, slot) && self.ports[slot].link_free(now) {
                self.awake.insert(slot);
            }
            if self.awake.is_none() {
                break;
            }
        }
        let mut next = 0;
        while let Some(slot) = self.visited.pop_from(next) {
            let port = &mut self.ports[slot];
            // At the end and once per port, because every visit may have moved it.
            port.deadline = port.next_deadline(now);
            after(port.id, port.deadline, &mut port.port);
            next = slot + 1;
            if self.visited.is_none() {
                break;
            }
        }
        if now >= self.fdb.next_deadline() {
            self.fdb.sweep(now);
        }
        self.fdb.next_deadline()
    }

    /// Marks every port as active.
    pub(super) fn wake_all(&mut self) {
        for slot in 0..self.ports.len() {
            self.awake.insert(slot);
        }
    }
}

/// Set of ports, by their local index in this worker.
#[derive(Clone, Debug)]
pub(super) struct Awake {
    /// Bit words: one for up to 64 ports.
    words: Box<[u64]>,
}

impl Awake {
    pub(super) fn none(ports: usize) -> Self {
        Self { words: vec![0; ports.div_ceil(64).max(1)].into_boxed_slice() }
    }

    /// Adds a port; returns true if it was not in the set.
    #[inline(always)]
    pub(super) fn insert(&mut self, slot: usize) -> bool {
        let word = &mut self.words[slot / 64];
        let new = *word & 1 << (slot % 64) == 0;
        *word |= 1 << (slot % 64);
        new
    }

    /// Returns true if the set of a worker with up to 64 ports is empty. A larger one is not looked through.
    #[inline(always)]
    pub(super) fn is_none(&self) -> bool {
        matches!(*self.words, [0])
    }

    /// Returns true if the set is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Removes and returns the first port at or after `from`.
    #[inline(always)]
    pub(super) fn pop_from(&mut self, from: usize) -> Option<usize> {
        if let [word] = &mut *self.words {
            // A shift by the whole width would overflow.
            let found = if from < 64 { *word & u64::MAX << from } else { 0 };
            // Clears the lowest bit of `found`, if there is one.
            *word ^= found & found.wrapping_neg();
            return (found != 0).then_some(found.trailing_zeros() as usize);
        }
        self.pop_from_several(from)
    }

    #[inline(never)]
    fn pop_from_several(&mut self, from: usize) -> Option<usize> {
        let mut mask = u64::MAX << (from % 64);
        for (word, bits) in self.words.iter_mut().enumerate().skip(from / 64) {
            let found = *bits & mask;
            if found != 0 {
                let bit = found.trailing_zeros() as usize;
                *bits &= !(1 << bit);
                return Some(word * 64 + bit);
            }
            mask = u64::MAX;
        }
        None
    }
}

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
        fetch(&self.visited);
        self.ledger.fetch();
    }

    /// Memory for a frame that is queued.
    pub fn fetch_place(&self) {
        self.arena.fetch();
    }

    /// The state of a port.
    pub fn fetch_port(&self, id: PortId) {
        self.tables[id.index()].fetch();
        if let Some(slot) = self.local(id) {
            self.ports[slot].fetch();
        }
    }

    /// The cached decision for a frame that arrives at a port.
    pub fn fetch_way(&self, id: PortId, head: &[u8]) {
        let (Some(slot), Some(flow)) = (self.local(id), Flow::of(head)) else { return };
        self.ports[slot].shortcuts.fetch(&flow);
    }
}

impl<W: World> Switch<W> {
    /// Counters that a frame which arrives at a port changes there and where it leaves, by the cached decision.
    pub fn fetch_counts(&self, id: PortId, head: &[u8]) {
        let (Some(slot), Some(flow)) = (self.local(id), Flow::of(head)) else { return };
        // The slot may have another flow, or an old decision. A wrong guess costs a useless fetch.
        let Decision { egress, to, priority, group, .. } = self.ports[slot].shortcuts.guess(&flow);
        self.ledger.fetch_group(id, group);
        fetch(&self.ports[slot].counters.priorities[priority.index()]);
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
