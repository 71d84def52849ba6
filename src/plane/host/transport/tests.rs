//! The transport machines alone, on a network with loss, reordering and duplication.

mod cuts;
mod roce;
mod tcp;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::plan::{FlowId, Message, Tag, Transport, TransportPlan, Work};
use ground::rand::Rng;
use ground::time::{Duration, Instant};
use ground::units::{Dscp, Mac, Pcp, Priority};
use wire::ip::Ecn;

/// Transmission time of a frame.
const FRAME: Duration = Duration::from_nanos(100);

/// A flow of frames with 1000 bytes of payload.
fn plan(message: Option<Message>, kind: Transport) -> TransportPlan {
    let mut plan = TransportPlan {
        id: FlowId(7),
        src: Mac([2, 0, 0, 0, 0, 1]),
        dst: Mac([2, 0, 0, 0, 0, 2]),
        src_ip: [10, 0, 0, 1].into(),
        dst_ip: [10, 0, 0, 2].into(),
        tag: Some(Tag { vid: None, pcp: Pcp::new(3).unwrap() }),
        priority: Priority::new(3).unwrap(),
        dscp: Dscp::new(26).unwrap(),
        ecn: Ecn::Ect0,
        size: 0,
        rate: None,
        start: Instant::ZERO,
        stop: Instant::NEVER,
        message,
        work: Work::default(),
        kind,
    };
    plan.size = plan.overhead() + 1000;
    plan.check().unwrap();
    plan
}

/// Impairments of a network.
#[derive(Clone, Copy, Debug)]
struct Network {
    seed: u64,
    /// Percentages of lost and of duplicated frames.
    lost: u32,
    twice: u32,
    /// Maximum additional delay of a frame, in nanoseconds.
    jitter: u64,
    /// Minimum delay of a frame, in nanoseconds.
    delay: u64,
}

const QUIET: Network = Network { seed: 1, lost: 0, twice: 0, jitter: 0, delay: 1_000 };

/// Frames in flight.
struct Wire<F> {
    network: Network,
    rng: Rng,
    /// Arrival time of a frame, its number, and its index in `frames`.
    queue: BinaryHeap<Reverse<(Instant, usize)>>,
    frames: Vec<F>,
    lost: u64,
}

impl<F: Copy> Wire<F> {
    fn new(network: Network, salt: u64) -> Self {
        let rng = Rng::new(network.seed.wrapping_mul(2).wrapping_add(salt));
        Self { network, rng, queue: BinaryHeap::new(), frames: vec![], lost: 0 }
    }

    fn send(&mut self, now: Instant, frame: F) {
        let Network { lost, twice, .. } = self.network;
        let copies = match self.rng.next_u16() % 100 {
            n if n < lost => 0,
            n if n < lost + twice => 2,
            _ => 1,
        };
        self.lost += u64::from(copies == 0);
        for _ in 0..copies {
            let late = u64::from(self.rng.next_u16()) % (self.network.jitter + 1);
            let at = now + Duration::from_nanos(self.network.delay + late);
            self.queue.push(Reverse((at, self.frames.len())));
            self.frames.push(frame);
        }
    }

    fn next_at(&self) -> Instant {
        self.queue.peek().map_or(Instant::NEVER, |Reverse((at, _))| *at)
    }

    /// Loses the frame that was sent last.
    fn lose_last(&mut self) {
        let last = self.frames.len() - 1;
        self.queue.retain(|Reverse((_, n))| *n != last);
    }

    fn receive(&mut self, now: Instant) -> Option<F> {
        if self.next_at() > now {
            return None;
        }
        let Reverse((_, n)) = self.queue.pop()?;
        Some(self.frames[n])
    }
}

/// Two machines and the network between them.
trait Flow {
    /// Time at which the sender has something to send.
    fn ready_at(&self) -> Instant;
    /// Time at which its timer expires.
    fn deadline(&self) -> Instant;
    /// Time of the next arrival at either end.
    fn arrival(&self) -> Instant;
    fn send(&mut self, now: Instant);
    fn on_timeout(&mut self, now: Instant);
    fn receive(&mut self, now: Instant);
    fn is_done(&self) -> bool;
}

/// Runs until the sender is done, at most until `end`; returns the final time.
fn run(flow: &mut impl Flow, end: Instant) -> Instant {
    let (mut now, mut free) = (Instant::ZERO, Instant::ZERO);
    loop {
        flow.receive(now);
        if flow.is_done() || now >= end {
            return now;
        }
        if flow.deadline() <= now {
            flow.on_timeout(now);
        }
        if flow.ready_at() <= now && free <= now {
            flow.send(now);
            free = now + FRAME;
        }
        let send = flow.ready_at().max(free);
        now = now.max(flow.arrival().min(flow.deadline()).min(send));
    }
}

/// Runs until the sender is done, with a frame in each slot; `send` sends it and may lose it.
fn run_in_slots<F: Flow>(mut flow: F, mut send: impl FnMut(&mut F, Instant)) -> F {
    let mut now = Instant::ZERO;
    while !flow.is_done() {
        flow.receive(now);
        if flow.deadline() <= now {
            flow.on_timeout(now);
        }
        if flow.ready_at() <= now {
            send(&mut flow, now);
        }
        now += FRAME;
    }
    flow
}
