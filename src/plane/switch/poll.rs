//! A poll of all ports of a worker, and one of the ports with pending work only.
//!
//! A driver that knows where frames arrived and which deadlines expired (the virtual world does)
//! need not visit every port at every event, so the cost of a poll does not grow with the number of
//! ports. Poll invariance guarantees that the result is the same; a property test compares both.

use super::Switch;
use super::fdb::Key;
use contracts::frame::BURST;
use contracts::world::{Handoff, Next, World};
use ground::time::{Duration, Instant};
use ground::units::PortId;

/// Interval at which a worker reports its use of the shared pool to the others while it admits
/// nothing; after a poll that admitted frames it reports at once (`contracts::mesh::exchange` relies on
/// that).
const EXCHANGE_EVERY: Duration = Duration::from_micros(1);

impl<W: World> Switch<W> {
    /// Receives what has arrived, decides, and transmits what is allowed. `now` never goes back.
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
        // After progress the caller polls again at once, so the deadline need not be calculated.
        let deadline = if progressed { now } else { self.next_deadline(now) };
        Next { progressed, deadline }
    }

    /// Processes messages of other workers: credits, addresses, frames.
    fn take_over(&mut self, now: Instant) -> bool {
        let Self { handoff, ledger, fdb, exchange_at, .. } = self;
        if now >= *exchange_at {
            ledger.set_elsewhere(handoff.exchange_shared(ledger.shared_used()));
            *exchange_at = now.saturating_add(EXCHANGE_EVERY);
        }
        while let Some((vid, mac, port)) = handoff.next_learnt() {
            let _ = fdb.learn(now, Key::new(vid, mac), port);
        }
        // After the addresses: those learnt before the link went down are among them.
        while let Some(port) = handoff.next_down() {
            fdb.flush(Some(port));
        }
        self.collect_credits(now);
        let mut progressed = false;
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
            let at = self.local(*id).expect("a port that is due is one of this switch");
            while self.receive(now, at) == BURST {}
            // No time has passed since the pause was received.
            self.ports[at].undated = None;
            if self.ports[at].deadline <= now {
                self.awake.insert(at);
            }
        }
        let mut from = 0;
        loop {
            let Some(at) = self.awake.pop_from(from) else {
                if from == 0 {
                    break;
                }
                from = 0;
                continue;
            };
            self.looked_at.insert(at);
            from = at + 1;
            if self.transmit(now, at) && self.ports[at].link_free(now) {
                self.awake.insert(at);
            }
            if self.awake.is_none() {
                break;
            }
        }
        let mut next = 0;
        while let Some(at) = self.looked_at.pop_from(next) {
            let port = &mut self.ports[at];
            port.deadline = port.next_deadline(now);
            after(port.id, port.deadline, &mut port.port);
            next = at + 1;
            if self.looked_at.is_none() {
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
        for at in 0..self.ports.len() {
            self.awake.insert(at);
        }
    }
}
