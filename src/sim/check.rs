//! Checkers: what must hold in every network, judged from outside.
//!
//! They read the octets of frames on lines, by a few lines of their own, and the notes of the
//! switches; of what the switches keep themselves they read the totals of ledger and queues
//! alone, to compare them with their own, and, to search for deadlocks, which groups the frames in
//! a queue are charged to, at switches whose frames cannot be followed. A checker never changes
//! what happens.
//!
//! [`Checkers`] is a [`Witness`] with all of them but [`Shares`]; [`Checkers::finish`] says what
//! they found. It costs a few tens of nanoseconds for each frame on a line, and more at samples:
//! without `sample_every` in the plan, ledgers, idle lines and deadlocks are sampled once, at
//! the end.

mod conservation;
mod deadlock;
mod excuses;
mod facts;
mod finding;
mod idle;
mod lossless;
mod marks;
mod parsed;
mod passages;
mod pauses;
mod recent;
mod requests;
mod shares;
mod waiting;
mod witness;

pub use deadlock::Deadlock;
pub use excuses::{Cause, Excuse, ExcusedDrops};
pub use finding::{Check, Finding, KnownLosses};
pub use shares::Shares;

use serde::{Deserialize, Serialize};

use super::{LinkPlan, NetworkPlan, NodePlan, Nodes, Witness};
use conservation::{Cells, Frames};
use deadlock::{Deadlocks, Known};
use excuses::Lateness;
use facts::Facts;
use ground::counters;
use ground::time::{Duration, Instant};
use idle::{Idle, Starved};
use lossless::Lossless;
use marks::{EcnFirst, Marks};
use passages::Passages;
use pauses::Pauses;
use recent::Recent;
use requests::{Context, Requests};

/// See the module's head.
#[derive(Clone, Debug)]
pub struct Checkers {
    facts: Facts,
    lateness: Lateness,
    passages: Passages,
    frames: Frames,
    cells: Cells,
    lossless: Lossless,
    pauses: Pauses,
    requests: Requests,
    deadlocks: Deadlocks,
    starved: Starved,
    idle: Idle,
    ecn: EcnFirst,
    marks: Marks,
    recent: Recent,
    /// Destinations and sources of forged frames that a switch knows no port for.
    floods: Vec<(u64, u64)>,
    /// Forged frames, each with its priority at the switch that got it.
    strangers: Vec<(parsed::Kind, u8)>,
    totals: Totals,
    /// True if what happens at one node may excuse a loss at another: by a planned fault, an error of a
    /// line, a SecY, or a watchdog that ignores pauses.
    ordered: bool,
}

counters! {
    /// Events that the checkers counted in a run.
    #[derive(Serialize, Deserialize)]
    Totals {
        /// Pauses that switches sent, refreshes included.
        pauses,
        /// Resumes that switches sent.
        resumptions,
        /// Frames that switches marked.
        marks,
        /// Frames that switches dropped, for any reason.
        drops,
        /// Frames lost on lines.
        line_losses,
        /// Storms that watchdogs detected.
        watchdog_storms,
    }
}

impl Checkers {
    /// Checkers of a network that has not run yet.
    pub fn new(plan: &NetworkPlan) -> Self {
        let facts = Facts::new(plan);
        Self {
            lateness: Lateness::new(&facts),
            passages: Passages::new(&facts),
            frames: Frames::new(&facts),
            cells: Cells::default(),
            lossless: Lossless::new(&facts),
            pauses: Pauses::new(&facts),
            requests: Requests::new(&facts),
            deadlocks: Deadlocks::new(&facts),
            starved: Starved::new(&facts),
            idle: Idle::new(&facts),
            ecn: EcnFirst::new(&facts),
            marks: Marks::new(&facts),
            recent: Recent::new(&facts),
            floods: vec![],
            strangers: vec![],
            totals: Totals::default(),
            // A network without any of these may be divided, and its nodes need no common order.
            ordered: facts.ports.iter().any(|port| port.forwards != 0)
                || !plan.faults.is_empty()
                || plan.links.iter().any(LinkPlan::errs)
                || plan.nodes.iter().any(NodePlan::is_secured),
            facts,
        }
    }

    /// The deadlocks found so far, in the order of time.
    pub fn deadlocks(&self) -> &[Deadlock] {
        self.deadlocks.found()
    }

    /// The longest time for which a queue starves now because the flows isolated from it are strictly served
    /// before it.
    pub fn starved(&self) -> Duration {
        self.starved.longest()
    }

    /// Has everything told in the order of time, as if what happens at one node could excuse another: for
    /// tests that this makes no difference.
    #[cfg(any(test, feature = "rig"))]
    pub const fn keep_order(&mut self) {
        self.ordered = true;
    }

    /// Returns the events counted so far.
    pub const fn totals(&self) -> Totals {
        self.totals
    }

    /// Returns the frames of lossless priorities that switches dropped because the buffer was full:
    /// those without an excuse, and those with one.
    pub fn lossless_drops(&self) -> (u64, ExcusedDrops) {
        self.lossless.drops()
    }

    /// Samples the nodes for the last time and returns one finding for each check.
    #[must_use]
    pub fn finish(mut self, now: Instant, nodes: &mut Nodes) -> Vec<Finding> {
        // Without `sample_every` in the plan it is the only sample.
        self.sampled(now, nodes);
        let sent = self.frames.total();
        let Self { facts, passages, pauses, requests, .. } = &self;
        // One part at the end: a divided network is united before it is judged.
        let known = Known { facts, passages, pauses, requests, deadlocks: None };
        let deadlock = self.deadlocks.finish(&known, now, sent, &self.lateness, nodes);
        let cx = Context { facts: &self.facts, lateness: &self.lateness };
        let [pauses_sent, ends] = self.requests.finish(cx, now);
        let marks = self.marks.finish(&self.facts, &self.frames, now, nodes);
        vec![
            self.frames.finish(&self.facts, now, nodes),
            self.cells.finish(&self.facts, sent),
            self.lossless.finish(),
            self.pauses.finish(&self.facts),
            pauses_sent,
            ends,
            deadlock,
            self.idle.finish(sent),
            self.ecn.finish(&self.facts),
            marks,
        ]
    }
}

/// Replaces the entries for which `theirs` is true by those of another part's checker.
fn take<T>(to: &mut [T], from: Vec<T>, theirs: impl Fn(usize) -> bool) {
    for (n, (to, from)) in to.iter_mut().zip(from).enumerate() {
        if theirs(n) {
            *to = from;
        }
    }
}

#[cfg(test)]
mod tests;
