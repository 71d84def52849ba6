//! Channels between the workers of one switch: frames, learnt addresses, releases and link states.
//!
//! Every ordered pair of workers has a bounded single-producer single-consumer ring for frames and
//! one for learnt addresses (rtrb: wait-free, no read-modify-write); releases and the use of the
//! shared pool go through the [exchange](mod@exchange). Nothing allocates or blocks after
//! [`mesh`] returned.

pub mod exchange;
mod sync;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rtrb::{Consumer, Producer, PushError, RingBuffer};

use crate::frame::BURST;
use crate::world::{Handoff, Transit};
use exchange::{Member, exchange};
use ground::units::{BitsPerSec, Cells, Mac, PortId, PriorityGroup, Vid};

/// Capacity of the ring of learnt addresses. An address that does not fit is sent again with its
/// next frame, so this bounds memory and loses nothing.
const LEARNT_RING: usize = 1024;

type Learnt = (Vid, Mac, PortId);

/// Rings from and to one other worker.
struct Neighbour<F> {
    worker: usize,
    to: Producer<Transit<F>>,
    from: Consumer<Transit<F>>,
    learnt_to: Producer<Learnt>,
    learnt_from: Consumer<Learnt>,
}

/// One worker's end of the channels to all others. It is moved into the worker's thread.
pub struct Mesh<F> {
    member: Member,
    neighbours: Vec<Neighbour<F>>,
    /// Index in `neighbours` for each worker; the worker's own entry is never used.
    index: Vec<usize>,
    /// Neighbour whose frames are taken next, and the number of them taken in a row.
    turn: usize,
    in_a_row: usize,
    /// State of each port's link. A port's entry is stored to by its owner alone.
    up: Arc<[AtomicBool]>,
    downs: Arc<Downs>,
    /// What this worker has read of `downs.ports`.
    ports: Box<[u32]>,
}

/// How many times links went down.
struct Downs {
    /// By worker: if one did since it looked. One load finds that none did.
    news: Box<[AtomicBool]>,
    /// By port. A port's entry is changed by its owner alone.
    ports: Box<[AtomicU32]>,
}

/// Makes the ends for `workers` workers, where port n belongs to worker `owners[n]`. The ring of
/// each ordered pair holds `ring` frames; they count against the frame pool. Every link is up until
/// its owner sets it otherwise.
///
/// # Panics
/// If an owner is not below `workers`, or `ring` is 0.
#[must_use]
pub fn mesh<F>(owners: &[usize], workers: usize, ring: usize) -> Vec<Mesh<F>> {
    assert!(ring > 0, "a ring holds at least one frame");
    let up: Arc<[AtomicBool]> = owners.iter().map(|_| AtomicBool::new(true)).collect();
    let ports = owners.iter().map(|_| AtomicU32::new(0)).collect();
    let news = (0..workers).map(|_| AtomicBool::new(false)).collect();
    let downs = Arc::new(Downs { news, ports });
    let mut ends: Vec<_> = exchange(owners, workers)
        .into_iter()
        // A worker has no ring to itself, so the numbers above its own are one lower.
        .map(|member| Mesh {
            index: (0..workers).map(|w| if w > member.me() { w - 1 } else { w }).collect(),
            member,
            neighbours: Vec::with_capacity(workers - 1),
            turn: 0,
            in_a_row: 0,
            up: Arc::clone(&up),
            downs: Arc::clone(&downs),
            ports: vec![0; owners.len()].into(),
        })
        .collect();
    for a in 0..workers {
        for b in a + 1..workers {
            // Two rings for frames and two for addresses, one in each direction: a ring has one producer and one
            // consumer.
            let (there, at_b) = RingBuffer::new(ring);
            let (back, at_a) = RingBuffer::new(ring);
            let (learnt_there, learnt_at_b) = RingBuffer::new(LEARNT_RING);
            let (learnt_back, learnt_at_a) = RingBuffer::new(LEARNT_RING);
            ends[a].neighbours.push(Neighbour {
                worker: b,
                to: there,
                from: at_a,
                learnt_to: learnt_there,
                learnt_from: learnt_at_a,
            });
            ends[b].neighbours.push(Neighbour {
                worker: a,
                to: back,
                from: at_b,
                learnt_to: learnt_back,
                learnt_from: learnt_at_b,
            });
        }
    }
    for end in &ends {
        // The order of the loops above is that of `index`.
        debug_assert!(end.neighbours.iter().enumerate().all(|(i, n)| end.index[n.worker] == i));
    }
    ends
}

impl<F> Mesh<F> {
    #[inline]
    fn pass_on(&mut self) {
        self.in_a_row = 0;
        self.turn = if self.turn + 1 < self.neighbours.len() { self.turn + 1 } else { 0 };
    }

    /// Returns a port of another worker whose link went down.
    #[cold]
    fn find_down(&mut self) -> Option<PortId> {
        // First, so that a link that goes down after its port was looked at is news again. A store could overtake
        // the loads below. The swap costs a cache line where a link went down, and frames do not come here.
        let news = &self.downs.news[self.member.me()];
        news.swap(false, Ordering::AcqRel);
        for (n, downs) in self.downs.ports.iter().enumerate() {
            let downs = downs.load(Ordering::Acquire);
            let port = PortId::new(n as u16).expect("a port of the switch");
            let is_own = self.member.owner(port) == self.member.me();
            // A number that differs, not a flag: two times down between two polls is one flush, and none is lost.
            if core::mem::replace(&mut self.ports[n], downs) != downs && !is_own {
                // There may be more.
                news.store(true, Ordering::Release);
                return Some(port);
            }
        }
        None
    }
}

impl<F> Handoff<F> for Mesh<F> {
    #[inline]
    fn owns(&self, port: PortId) -> bool {
        self.member.owner(port) == self.member.me()
    }

    #[inline]
    fn give(&mut self, item: Transit<F>) -> Result<(), Transit<F>> {
        // Never the own worker: its frames are queued directly.
        let i = self.index[self.member.owner(item.egress)];
        match self.neighbours[i].to.push(item) {
            Ok(()) => Ok(()),
            Err(PushError::Full(item)) => Err(item),
        }
    }

    #[inline]
    fn take(&mut self) -> Option<Transit<F>> {
        // A burst of one neighbour at a time: its frames are contiguous in memory, and no neighbour
        // starves another.
        for _ in 0..=self.neighbours.len() {
            if self.in_a_row == BURST {
                self.pass_on();
            }
            if let Ok(item) = self.neighbours.get_mut(self.turn)?.from.pop() {
                self.in_a_row += 1;
                return Some(item);
            }
            self.pass_on();
        }
        None
    }

    #[inline]
    fn released(&mut self, port: PortId, group: PriorityGroup, cells: Cells) {
        self.member.released(port, group, cells);
    }

    #[inline]
    fn collect(&mut self, credit: impl FnMut(PortId, PriorityGroup, Cells)) {
        self.member.collect(credit);
    }

    #[inline]
    fn exchange_shared(&mut self, own: Cells) -> Cells {
        self.member.exchange_shared(own)
    }

    fn tell_learnt(&mut self, vid: Vid, mac: Mac, port: PortId) -> bool {
        // All are tried: a worker that is told twice learns the same address again.
        let mut all = true;
        for n in &mut self.neighbours {
            all &= n.learnt_to.push((vid, mac, port)).is_ok();
        }
        all
    }

    #[inline]
    fn next_learnt(&mut self) -> Option<(Vid, Mac, PortId)> {
        self.neighbours.iter_mut().find_map(|n| n.learnt_from.pop().ok())
    }

    fn tell_link(&mut self, port: PortId, up: bool, _: BitsPerSec) {
        debug_assert!(self.owns(port), "only the owner of a port tells its link state");
        // No swap: the owner of the port is the only writer.
        let was_up = self.up[port.index()].load(Ordering::Relaxed);
        self.up[port.index()].store(up, Ordering::Release);
        if was_up && !up {
            // In this order: a worker that finds news finds the port.
            let downs = &self.downs.ports[port.index()];
            downs.store(downs.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
            self.downs.news.iter().for_each(|news| news.store(true, Ordering::Release));
        }
    }

    #[inline]
    fn next_down(&mut self) -> Option<PortId> {
        // A load, so that the line stays shared between the workers while no link changes.
        let is_news = self.downs.news[self.member.me()].load(Ordering::Acquire);
        if is_news { self.find_down() } else { None }
    }

    #[inline]
    fn is_up(&self, port: PortId) -> bool {
        self.up[port.index()].load(Ordering::Acquire)
    }
}
