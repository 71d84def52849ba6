//! Queues that starve behind the flows that are isolated from them: their frames wait while the queue of the
//! isolated flows, which is strictly served before them, always has frames and sends.
//!
//! The file of such a switch is warned of. As long as senders repeat what does not arrive, a queue may starve
//! without an end, which is not judged.
//!
//! The time ends with the first sample at which either queue is empty. It counts up to the last frame that the
//! line sent of theirs, so a port that sends nothing starves none.

use super::deadlock::Deadlocks;
use super::facts::Facts;
use super::unite::take;
use crate::{Direction, Node, Nodes};
use ground::time::{Duration, Instant};
use ground::units::TrafficClass;

#[derive(Clone, Debug)]
pub(super) struct Starved {
    queues: Vec<Queue>,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    port: Direction,
    /// The class that may starve, and that of the flows isolated from it.
    class: TrafficClass,
    first: TrafficClass,
    /// Time of the first of the samples at which it starves, and the time from then to the last frame.
    since: Option<Instant>,
    time: Duration,
}

impl Starved {
    pub(super) fn new(facts: &Facts) -> Self {
        let of_port = |port: Direction| {
            let of = facts.from(port);
            let starves = move |class: &TrafficClass| of.starving >> class.get() & 1 == 1;
            TrafficClass::ALL.into_iter().filter(starves).map(move |class| Queue {
                port,
                class,
                first: TrafficClass::ALL[usize::from(of.congesting[class.index()])],
                since: None,
                time: Duration::ZERO,
            })
        };
        Self { queues: facts.directions().flat_map(of_port).collect() }
    }

    /// Looks at these queues of every switch, after all that happens at `at`.
    pub(super) fn sample(
        &mut self,
        facts: &Facts,
        deadlocks: &Deadlocks,
        at: Instant,
        nodes: &mut Nodes,
    ) {
        for queue in self.queues.iter_mut().filter(|queue| facts.has_port(queue.port)) {
            let of = facts.from(queue.port);
            let Node::Switch(switch) = nodes.get_mut(of.node) else { continue };
            let waits = |class: TrafficClass| switch.queue_bytes(of.port, class) > 0;
            // Frames of isolated flows count as those of the class that they came for.
            let sent = deadlocks.last_sent(queue.port, queue.class.get());
            let starves = waits(queue.class) && waits(queue.first);
            queue.since = starves.then(|| queue.since.unwrap_or(at));
            queue.time = queue.since.map_or(Duration::ZERO, |since| sent.since(since));
        }
    }

    /// The longest time for which a queue starves now.
    pub(super) fn longest(&self) -> Duration {
        self.queues.iter().map(|queue| queue.time).max().unwrap_or(Duration::ZERO)
    }

    /// Adds what another part has seen at its ports.
    pub(super) fn unite(&mut self, other: Self, theirs: &Facts) {
        let ports: Vec<Direction> = self.queues.iter().map(|queue| queue.port).collect();
        take(&mut self.queues, other.queues, |n| theirs.has_port(ports[n]));
    }
}
