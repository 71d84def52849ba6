//! One buffer ledger for the workers of a switch, without locks or read-modify-write atomics.
//!
//! The worker that owns an ingress port counts the frames it admits; the worker that sends a frame
//! counts the frames it releases. Every number that two workers share has exactly one writer, has
//! its own cache lines, and is a copy of a private total of its writer. The file guarantees two
//! properties, which `tests/data_plane/loom_exchange.rs` (compiles this file against loom's atomics) and
//! `tests/outside/exchange_soak.rs` check:
//!
//! **No release is lost or counted twice, and none is seen before the frame is gone.** A counter
//! only grows, and its reader credits the difference to the total it credited before, so a value
//! that is skipped or read twice has no effect. It is stored with Release after the frame was
//! handed over or freed, and loaded with Acquire.
//!
//! **The shared pool is never overdrawn by more than [`slack_cells`].** Each worker, once per poll,
//! publishes its use of the pool, executes a SeqCst fence, and reads the values that the others
//! published; until its next exchange it admits only frames that fit beside that reading. Call the
//! worker's growth between two exchanges its burst B. Proof: take any moment, and for each worker
//! the last frame that it admitted into the pool before that moment and the exchange that preceded
//! that admission. The fences of these exchanges have a total order; let worker u's be the last.
//! Every other worker v had published before its fence, so before u's fence, so u read that value
//! or a later one of v's. The use of v at the moment is at most the value that u read plus one
//! burst of v: if u read the value of v's chosen exchange, v has grown by at most B since; if a
//! later one, v has admitted nothing more after it. Since u's admission fitted beside its reading,
//! the sum over all workers is at most the limit plus the bursts of all workers but u. That sum is
//! subtracted from the pool at start, so stale values can never use up headroom. Without the fence,
//! two workers could each miss the other's latest value (a store may be overtaken by a later load,
//! on x86 too), any number of times in theory; the loom test shows the overdraft that follows.

use super::sync::{Arc, AtomicU64, Ordering, fence};
use crossbeam::utils::CachePadded;
use ground::units::{Cells, PRIORITIES, PortId, PriorityGroup};

/// Cells to subtract from the shared pool (`BufferPlan::slack`) for the use that workers do not yet
/// know of each other: the bursts of all workers but one, 0 for a single worker.
///
/// `frames_per_poll` is the most frames that any one worker charges to the pool between two
/// exchanges: its ports times [`crate::frame::BURST`], and that times the copies of a flooded frame
/// where copies are charged. `max_frame_cells` is the size of the longest frame.
///
/// # Panics
/// If the slack is more than `u32::MAX` cells; no buffer is that large.
#[must_use]
pub fn slack_cells(workers: usize, frames_per_poll: usize, max_frame_cells: Cells) -> Cells {
    let cells =
        workers.saturating_sub(1) as u128 * frames_per_poll as u128 * u128::from(max_frame_cells.0);
    Cells(u32::try_from(cells).expect("the slack is larger than any buffer"))
}

/// Counters of one port's groups that one worker writes, in their own cache line.
type Line = CachePadded<[AtomicU64; PRIORITIES]>;

/// Memory shared between the workers. Rows are by writer; no other worker stores to them.
struct Board {
    /// `[writer][ingress port]`: cells of each group that the writer released since the start.
    released: Vec<Vec<Line>>,
    /// `[writer][owner]`: incremented after the writer stored counters of ports of that owner, so
    /// that an owner without news reads one line and not all of them.
    turns: Vec<Vec<CachePadded<AtomicU64>>>,
    /// `[writer]`: cells of the shared pool that the writer's groups hold.
    shared: Vec<CachePadded<AtomicU64>>,
}

/// Values of another worker's counters at the last read.
struct Peer {
    worker: usize,
    turn: u64,
    /// Totals credited so far, for each port that the reader owns.
    credited: Vec<(PortId, [u64; PRIORITIES])>,
}

/// One worker's end of the exchange. It is moved into the worker's thread.
pub struct Member {
    board: Arc<Board>,
    me: usize,
    /// Owning worker of each port.
    owners: Vec<usize>,
    /// By ingress port: the private copy of the counters that this worker writes.
    published: Vec<[u64; PRIORITIES]>,
    /// By owner: the private copy of the turns that this worker writes.
    turns: Vec<u64>,
    /// By ingress port: the groups, bit n for group n, whose counters are ahead of the board.
    ahead: Vec<u8>,
    /// Ports with a bit in `ahead`, each once.
    ahead_ports: Vec<u16>,
    peers: Vec<Peer>,
}

/// Makes the ends for `workers` workers; port n belongs to worker `owners[n]`.
///
/// # Panics
/// If an owner is not below `workers`, or there are more ports than a [`PortId`] can name.
#[must_use]
pub fn exchange(owners: &[usize], workers: usize) -> Vec<Member> {
    assert!(owners.iter().all(|o| *o < workers), "every port belongs to a worker");
    assert!(owners.len() <= PortId::MAX.index() + 1, "ports have a PortId");
    // A line per writer and port: a store must not take a line from a worker that writes another.
    let line = || CachePadded::new(std::array::from_fn(|_| AtomicU64::new(0)));
    let zero = || CachePadded::new(AtomicU64::new(0));
    let board = Arc::new(Board {
        released: (0..workers).map(|_| owners.iter().map(|_| line()).collect()).collect(),
        turns: (0..workers).map(|_| (0..workers).map(|_| zero()).collect()).collect(),
        shared: (0..workers).map(|_| zero()).collect(),
    });
    (0..workers).map(|me| Member::new(Arc::clone(&board), me, owners)).collect()
}

impl Member {
    fn new(board: Arc<Board>, me: usize, owners: &[usize]) -> Self {
        let mine: Vec<_> = (0u16..)
            .zip(owners)
            .filter(|(_, owner)| **owner == me)
            .map(|(n, _)| (PortId::new(n).expect("checked by exchange()"), [0; PRIORITIES]))
            .collect();
        let workers = board.shared.len();
        let peers = (0..workers)
            .filter(|worker| *worker != me)
            .map(|worker| Peer { worker, turn: 0, credited: mine.clone() })
            .collect();
        Self {
            board,
            me,
            owners: owners.to_vec(),
            published: vec![[0; PRIORITIES]; owners.len()],
            turns: vec![0; workers],
            ahead: vec![0; owners.len()],
            ahead_ports: Vec::with_capacity(owners.len()),
            peers,
        }
    }

    /// Worker that owns `port`.
    #[inline]
    #[must_use]
    pub fn owner(&self, port: PortId) -> usize {
        self.owners[port.index()]
    }

    /// Index of this worker.
    #[inline]
    #[must_use]
    pub fn me(&self) -> usize {
        self.me
    }

    /// Counts `cells` of a group of another worker's port as released. Must be called when the
    /// frame is gone. The owner sees it after this worker's next [`collect`](Self::collect) or
    /// [`exchange_shared`](Self::exchange_shared): one store per group and poll, not per frame.
    #[inline]
    pub fn released(&mut self, port: PortId, group: PriorityGroup, cells: Cells) {
        let n = port.index();
        debug_assert_ne!(self.owners[n], self.me, "a worker credits its own ports itself");
        // In private memory; the board is written one time per poll.
        self.published[n][group.index()] += u64::from(cells.0);
        if self.ahead[n] == 0 {
            self.ahead_ports.push(port.get());
        }
        self.ahead[n] |= 1 << group.get();
    }

    /// Stores the counters that are ahead of the board.
    #[inline]
    pub(super) fn publish_released(&mut self) {
        if self.ahead_ports.is_empty() {
            return;
        }
        let board = &*self.board;
        for port in &self.ahead_ports {
            let n = usize::from(*port);
            // All counters before any turn: an owner that sees the turn must find the counters behind it.
            let groups = std::mem::take(&mut self.ahead[n]);
            for g in (0..PRIORITIES).filter(|g| groups & (1 << g) != 0) {
                board.released[self.me][n][g].store(self.published[n][g], Ordering::Release);
            }
        }
        for port in self.ahead_ports.drain(..) {
            let owner = self.owners[usize::from(port)];
            self.turns[owner] += 1;
            board.turns[self.me][owner].store(self.turns[owner], Ordering::Release);
        }
    }

    /// Publishes the releases of this worker, and passes the releases of this worker's groups by
    /// others since the last call to `credit`.
    #[inline]
    pub fn collect(&mut self, mut credit: impl FnMut(PortId, PriorityGroup, Cells)) {
        self.publish_released();
        for peer in &mut self.peers {
            let turn = self.board.turns[peer.worker][self.me].load(Ordering::Acquire);
            // The usual case reads one line per other worker.
            if turn == peer.turn {
                continue;
            }
            peer.turn = turn;
            for (port, credited) in &mut peer.credited {
                let line = &self.board.released[peer.worker][port.index()];
                for group in PriorityGroup::ALL {
                    let total = line[group.index()].load(Ordering::Acquire);
                    // Counters only grow, so a value that was skipped is in the next difference.
                    let new = total - credited[group.index()];
                    if new > 0 {
                        credited[group.index()] = total;
                        let cells = u32::try_from(new).expect("no more than was admitted");
                        credit(*port, group, Cells(cells));
                    }
                }
            }
        }
    }

    /// Publishes that this worker's groups hold `own` of the shared pool, and returns the cells
    /// that those of all others hold. Until the next call the worker may admit frames that fit
    /// beside that.
    #[inline]
    pub fn exchange_shared(&mut self, own: Cells) -> Cells {
        self.publish_released();
        // A single worker knows the whole use already.
        if self.peers.is_empty() {
            return Cells(0);
        }
        self.publish_shared(own);
        fence(Ordering::SeqCst);
        self.shared_of_others()
    }

    /// First half of the exchange; without the fence between the halves nothing is guaranteed.
    #[inline]
    pub(super) fn publish_shared(&mut self, own: Cells) {
        self.board.shared[self.me].store(u64::from(own.0), Ordering::Relaxed);
    }

    /// Second half of the exchange.
    #[inline]
    pub(super) fn shared_of_others(&self) -> Cells {
        let of = |p: &Peer| self.board.shared[p.worker].load(Ordering::Relaxed);
        let sum: u64 = self.peers.iter().map(of).sum();
        // Too many rather than too few: the worker then admits nothing more.
        Cells(u32::try_from(sum).unwrap_or(u32::MAX))
    }
}
