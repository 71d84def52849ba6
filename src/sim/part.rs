//! A part of a network: nodes whose events are handled one after the other.
//!
//! A network has one part, or several that run at the same time. Each has its nodes, their lines inside
//! of the part, and an observer. Frames for nodes of other parts are mail, which the engine exchanges
//! when no part runs. A part runs up to the time at which mail may arrive: the least time from an event of
//! another part to an arrival in this one.
//!
//! The engine reads no clock and starts no thread. The crates above give it an [`Executor`], which may
//! run the parts on threads.

use super::body::{Spares, adopt, give};
use super::node::NodeState;
use super::plan::Direction;
use super::wire::Flight;
use super::wires::Wires;
use super::witness::Witness;
use ground::time::{Duration, Instant};
use ground::units::PortId;

/// Nodes in a window from which on their memory is behind the near caches: those of a tree of 208 nodes gain
/// by steps ahead, some 40 active ones among 152 lose.
const NODES_MIN: usize = 96;

/// A part without its nodes.
pub(super) struct Part<W> {
    pub(super) wires: Wires,
    pub(super) witness: W,
    /// Nodes whose events are being handled; empty between windows.
    due: Vec<u32>,
    /// By part: its mail for this one.
    pub(super) inbox: Vec<Mail>,
    /// By part: frames that came from there, less those that went there and memory that was returned.
    owed: Vec<i64>,
    /// All events before this time were handled.
    reached: Instant,
    /// The next run ends before this time.
    pub(super) until: Instant,
}

impl<W: Witness> Part<W> {
    /// Creates one of `parts` parts, before its first event.
    pub(super) fn new(wires: Wires, witness: W, parts: usize) -> Self {
        Self {
            wires,
            witness,
            due: Vec::new(),
            inbox: (0..parts).map(|_| Mail::EMPTY).collect(),
            owed: vec![0; parts],
            reached: Instant::ZERO,
            until: Instant::ZERO,
        }
    }

    /// A time not later than that of the first event, arrivals of mail included.
    pub(super) fn bound(&self) -> Instant {
        let mail = self.inbox.iter().map(|mail| mail.first);
        mail.fold(self.wires.agenda.bound(), Instant::min)
    }

    /// Brings mail to its receivers.
    pub(super) fn receive(&mut self, nodes: &mut [NodeState]) {
        for (mail, owed) in self.inbox.iter_mut().zip(&mut self.owed) {
            // Both are bodies that the other part's thread has to replace.
            *owed += (mail.letters.len() + mail.spares.len()) as i64;
            adopt(&mut mail.spares);
            for Letter { parcel, end } in mail.letters.drain(..) {
                let direction = parcel.direction(nodes);
                // A frame from the past would mean that this part ran too far, and that the trace depends on the
                // division.
                assert!(
                    parcel.flight.arrival >= self.reached,
                    "a frame arrives in the past: {direction:?}"
                );
                self.witness.taken_over(direction, &parcel.flight.frame, end);
                self.wires.bring(nodes, parcel);
            }
            mail.first = Instant::NEVER;
        }
    }

    /// Handles all events before [`Self::until`].
    pub(super) fn run(&mut self, nodes: &mut [NodeState]) {
        self.receive(nodes);
        let is_ordered = self.witness.is_ordered();
        loop {
            let at = self.wires.agenda.bound();
            if at >= self.until {
                break;
            }
            let window = match is_ordered {
                // One picosecond: an observer of the order of time sees all nodes at one time.
                true => at.saturating_add(Duration::from_picos(1)),
                false => at.saturating_add(self.wires.lookahead),
            };
            self.run_window(nodes, window.min(self.until));
        }
        self.reached = self.until;
        for (mail, owed) in self.wires.mail.iter_mut().zip(&mut self.owed) {
            *owed -= mail.letters.len() as i64;
            if *owed > 0 {
                // Bodies go back to the thread that would have to allocate new ones.
                *owed -= give(*owed as usize, &mut mail.spares) as i64;
            }
        }
    }

    /// Handles all events before `end`, node by node in the order of their numbers, so that simultaneous
    /// events of different nodes have one order in any division of time. No node sends another of this
    /// part anything that arrives before then.
    fn run_window(&mut self, nodes: &mut [NodeState], end: Instant) {
        let Self { wires, due, witness, .. } = self;
        wires.horizon = end;
        wires.agenda.take(end, due);
        let ahead = if due.len() >= NODES_MIN { NodeState::STEPS } else { 0 };
        // Longer by the steps, as each node is handled when all of them were done for it.
        for n in 0..due.len() + ahead {
            for step in 0..ahead {
                if let Some(node) = n.checked_sub(step).and_then(|n| due.get(n)) {
                    nodes[*node as usize].fetch(step, end);
                }
            }
            if let Some(node) = n.checked_sub(ahead).map(|n| due[n] as usize) {
                let next = nodes[node].run(end, wires, witness);
                wires.agenda.set(node, next);
            }
        }
        due.clear();
        wires.deliver(nodes);
    }
}

/// Work of one part: its events up to the time at which a frame of another part may arrive.
pub struct Job<W: Witness> {
    pub(super) nodes: Vec<NodeState>,
    pub(super) part: Box<Part<W>>,
}

impl<W: Witness> Task for Job<W> {
    fn run(&mut self) {
        self.part.run(&mut self.nodes);
    }
}

impl<W: Witness> core::fmt::Debug for Job<W> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "a part of {} nodes until {:?}", self.nodes.len(), self.part.until)
    }
}

/// A frame on its way to its receiver's end of the line.
#[derive(Debug)]
pub(super) struct Parcel {
    /// Index of the receiver among the nodes of its part.
    pub(super) index: u32,
    pub(super) port: PortId,
    /// True for a pause: what a frame is like is not looked at where it is only moved.
    pub(super) is_control: bool,
    pub(super) flight: Flight,
}

impl Parcel {
    /// Direction that it takes, to one of `nodes`.
    pub(super) fn direction(&self, nodes: &[NodeState]) -> Direction {
        nodes[self.index as usize].inlets[self.port.index()].direction
    }
}

/// A frame on its way to a node of another part.
#[derive(Debug)]
pub(super) struct Letter {
    pub(super) parcel: Parcel,
    /// Time at which it leaves its line.
    pub(super) end: Instant,
}

/// Frames from one part to another, and memory of frames that came the other way.
#[derive(Debug)]
pub(super) struct Mail {
    pub(super) letters: Vec<Letter>,
    /// The earliest arrival.
    pub(super) first: Instant,
    pub(super) spares: Spares,
}

impl Mail {
    pub(super) const EMPTY: Self =
        Self { letters: Vec::new(), first: Instant::NEVER, spares: Vec::new() };

    /// Adds a frame.
    pub(super) fn post(&mut self, letter: Letter) {
        self.first = self.first.min(letter.parcel.flight.arrival);
        self.letters.push(letter);
    }
}

/// Work that needs nothing that other work of the same call changes.
pub trait Task {
    /// Does it.
    fn run(&mut self);
}

/// Runs several tasks and returns when all are done.
pub trait Executor<T> {
    /// Runs every task once, in any order or at the same time, and leaves them in their order.
    ///
    /// # Panics
    /// If a task panics.
    fn run(&mut self, tasks: &mut Vec<T>);
}

/// Runs tasks one after the other on the caller's thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct InTurn;

impl<T: Task> Executor<T> for InTurn {
    fn run(&mut self, tasks: &mut Vec<T>) {
        tasks.iter_mut().for_each(Task::run);
    }
}
