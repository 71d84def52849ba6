//! The ledger exchange under real threads: three workers that admit, hand over and send frames as
//! fast as they can, for a bounded number of frames. `tests/data_plane/loom_exchange.rs` proves the small
//! model; this runs the real sizes on the machine's own memory order.
//!
//! Beside the ledgers a witness counts every cell in use with one atomic counter per group. It
//! exists only in the test, and the ledgers are checked against it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::thread;

use rtrb::{Consumer, Producer, PushError, RingBuffer};
use sluice::frame::BURST;
use sluice::runtime::exchange::{Member, exchange, slack_cells};
use sluice::units::{Cells, PRIORITIES, PortId, PriorityGroup};

const WORKERS: usize = 3;
const PORTS: usize = 2 * WORKERS;
const FRAMES_PER_WORKER: u32 = 200_000;
const MAX_CELLS: u32 = 8;
/// A few bursts, so that the pool is full most of the time.
const POOL: u32 = 2_000;
const RING: usize = 64;

/// Cells in use: by group, and of the pool as a whole. A frame's cells are removed when it is
/// dropped.
#[derive(Default)]
struct Witness {
    groups: [[AtomicI64; PRIORITIES]; PORTS],
    pool: AtomicI64,
    /// Workers that still admit frames or wait for releases.
    unfinished: AtomicI64,
}

struct TestFrame {
    port: PortId,
    group: PriorityGroup,
    cells: u32,
    witness: Arc<Witness>,
}

impl Drop for TestFrame {
    fn drop(&mut self) {
        let cells = i64::from(self.cells);
        self.witness.groups[self.port.index()][self.group.index()].fetch_sub(cells, SeqCst);
        self.witness.pool.fetch_sub(cells, SeqCst);
    }
}

/// xorshift64*: sufficient to mix sizes and ports.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % u64::from(n)) as u32
    }
}

struct Worker {
    member: Member,
    ports: [PortId; 2],
    to: Vec<(usize, Producer<TestFrame>)>,
    from: Vec<Consumer<TestFrame>>,
    queue: VecDeque<TestFrame>,
    ledger: [[i64; PRIORITIES]; PORTS],
    witness: Arc<Witness>,
    rng: Rng,
    to_admit: u32,
    /// The fault: other workers' frames are reported as released before they are gone.
    early: bool,
    faults: u64,
}

impl Worker {
    fn own(&self) -> u32 {
        u32::try_from(self.ledger.iter().flatten().sum::<i64>()).unwrap()
    }

    fn poll(&mut self) {
        let Self { member, ledger, witness, faults, .. } = self;
        member.collect(|port, group, cells| {
            let (p, g) = (port.index(), group.index());
            ledger[p][g] -= i64::from(cells.0);
            assert!(ledger[p][g] >= 0, "port {p} group {g} was credited more than it holds");
            // Cells that the ledger reports as free are free: the witness may only be lower.
            if witness.groups[p][g].load(SeqCst) > ledger[p][g] {
                *faults += 1;
            }
        });
        let own = self.own();
        let others = self.member.exchange_shared(Cells(own)).0;
        self.admit(own, others);
        for n in 0..self.from.len() {
            for _ in 0..BURST {
                let Ok(frame) = self.from[n].pop() else { break };
                self.queue.push_back(frame);
            }
        }
        for _ in 0..self.rng.below(3 * BURST as u32) {
            let Some(frame) = self.queue.pop_front() else { break };
            self.send(frame);
        }
    }

    /// Admits a burst from every port, as far as it fits beside the cells of the others.
    fn admit(&mut self, mut own: u32, others: u32) {
        let slack = slack_cells(WORKERS, 2 * BURST, Cells(MAX_CELLS)).0;
        let limit = POOL - slack;
        for port in self.ports {
            for _ in 0..BURST {
                let cells = 1 + self.rng.below(MAX_CELLS);
                if self.to_admit == 0 || own + others + cells > limit {
                    break;
                }
                self.to_admit -= 1;
                own += cells;
                let group = PriorityGroup::ALL[self.rng.below(8) as usize];
                let (p, g) = (port.index(), group.index());
                self.ledger[p][g] += i64::from(cells);
                self.witness.groups[p][g].fetch_add(i64::from(cells), SeqCst);
                let pool = self.witness.pool.fetch_add(i64::from(cells), SeqCst) + i64::from(cells);
                assert!(pool <= i64::from(POOL), "the pool of {POOL} cells holds {pool}");
                let witness = Arc::clone(&self.witness);
                self.forward(TestFrame { port, group, cells, witness });
            }
        }
    }

    fn forward(&mut self, frame: TestFrame) {
        let egress = self.rng.below(WORKERS as u32) as usize;
        match self.to.iter_mut().find(|(worker, _)| *worker == egress) {
            None => self.queue.push_back(frame),
            Some((_, ring)) => {
                if let Err(PushError::Full(frame)) = ring.push(frame) {
                    self.send(frame);
                }
            }
        }
    }

    fn send(&mut self, frame: TestFrame) {
        let (port, group, cells) = (frame.port, frame.group, frame.cells);
        if self.ports.contains(&port) {
            drop(frame);
            self.ledger[port.index()][group.index()] -= i64::from(cells);
        } else if self.early {
            self.member.released(port, group, Cells(cells));
            self.member.collect(|p, g, c| self.ledger[p.index()][g.index()] -= i64::from(c.0));
            thread::yield_now();
            drop(frame);
        } else {
            drop(frame);
            self.member.released(port, group, Cells(cells));
        }
    }
}

/// Runs three workers to the end and returns the number of times that a ledger was ahead of the
/// witness.
fn soak(seed: u64, early: bool) -> u64 {
    println!("seed {seed:#x}");
    let witness = Arc::new(Witness { unfinished: (WORKERS as i64).into(), ..Witness::default() });
    let owners: Vec<usize> = (0..PORTS).map(|p| p / 2).collect();
    let mut rings: Vec<Vec<_>> = (0..WORKERS).map(|_| Vec::new()).collect();
    let mut froms: Vec<Vec<_>> = (0..WORKERS).map(|_| Vec::new()).collect();
    for (a, rings) in rings.iter_mut().enumerate() {
        for b in (0..WORKERS).filter(|b| *b != a) {
            let (to, from) = RingBuffer::new(RING);
            rings.push((b, to));
            froms[b].push(from);
        }
    }
    let threads: Vec<_> = exchange(&owners, WORKERS)
        .into_iter()
        .zip(rings.into_iter().zip(froms))
        .enumerate()
        .map(|(n, (member, (to, from)))| {
            let mut worker = Worker {
                member,
                ports: [2 * n, 2 * n + 1].map(|p| PortId::new(p as u16).unwrap()),
                to,
                from,
                queue: VecDeque::new(),
                ledger: [[0; PRIORITIES]; PORTS],
                witness: Arc::clone(&witness),
                rng: Rng(seed + n as u64 + 1),
                to_admit: FRAMES_PER_WORKER,
                early,
                faults: 0,
            };
            thread::spawn(move || {
                let _guard = StopOnPanic(Arc::clone(&worker.witness));
                let mut finished = false;
                while worker.witness.unfinished.load(SeqCst) > 0 {
                    worker.poll();
                    // Every frame it admitted is gone, and the releases were reported to it.
                    if !finished && worker.to_admit == 0 && worker.own() == 0 {
                        finished = true;
                        worker.witness.unfinished.fetch_sub(1, SeqCst);
                    }
                    thread::yield_now();
                }
                assert!(worker.queue.is_empty() && worker.from.iter().all(Consumer::is_empty));
                worker.faults
            })
        })
        .collect();
    let faults = threads.into_iter().map(|t| t.join().unwrap()).sum();
    assert_eq!(witness.pool.load(SeqCst), 0, "cells are in use and no frame is left");
    faults
}

/// Ends the run for all when one worker panics, so that the test fails and does not hang.
struct StopOnPanic(Arc<Witness>);

impl Drop for StopOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.unfinished.store(i64::MIN, SeqCst);
        }
    }
}

#[test]
fn ledgers_and_witness_agree_and_the_pool_is_never_overdrawn() {
    for seed in [0x51c1ce, 0xfeed] {
        assert_eq!(soak(seed, false), 0, "a ledger was credited before the frame was gone");
    }
}

#[test]
fn a_credit_before_the_frame_is_gone_is_noticed() {
    assert!(soak(0x51c1ce, true) > 0, "the soak would not notice a broken exchange");
}
