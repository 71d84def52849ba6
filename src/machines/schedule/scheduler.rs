//! The eight queues of one port and their transmission selection (802.1Q 8.6.8): strict classes
//! from the highest down, then deficit weighted round robin over the rest.
//!
//! A queue stops while the priority of its first frame is paused; the others continue. The caller
//! sends control frames first.

use super::arena::{Arena, Fifo};
use super::{ClassPlan, Meter, SchedulePlan};
use ground::memory::fetch;
use ground::units::{PRIORITIES, Priority, PrioritySet, TrafficClass};

/// Minimum quantum in bytes of the class with the highest weight. Small, so that classes alternate
/// finely; shares are exact for any value.
const ROUND_BYTES: u32 = 2048;

/// Cost of a frame whose length does not count, in bytes.
const FRAME_BYTES: u32 = 1024;

/// A dequeued item, with its metadata.
#[derive(Debug, PartialEq, Eq)]
pub struct Popped<H> {
    /// The item.
    pub item: H,
    /// Bytes, as given when it was pushed.
    pub len: u32,
    /// Priority, as given when it was pushed.
    pub priority: Priority,
    /// Traffic class of its queue.
    pub class: TrafficClass,
}

/// The scheduler of one port.
#[derive(Debug)]
pub struct Scheduler {
    queues: [Fifo; PRIORITIES],
    peaks: [u64; PRIORITIES],
    backlog: u8,
    strict: u8,
    meter: Meter,
    quantum: [u32; PRIORITIES],
    deficit: [u64; PRIORITIES],
    /// Class whose turn it is, and true if it has received its quantum in this turn.
    turn: usize,
    served: bool,
}

impl Scheduler {
    /// Creates a scheduler with empty queues.
    #[must_use]
    pub fn new(plan: &SchedulePlan) -> Self {
        let (strict, quantum) = shares(&plan.classes);
        Self {
            queues: [Fifo::EMPTY; PRIORITIES],
            peaks: [0; PRIORITIES],
            backlog: 0,
            strict,
            meter: Meter::Bytes,
            quantum,
            deficit: [0; PRIORITIES],
            turn: 0,
            served: false,
        }
    }

    /// Replaces the transmission selection. Queued items stay in their queues.
    pub fn set_classes(&mut self, classes: &[ClassPlan; PRIORITIES]) {
        (self.strict, self.quantum) = shares(classes);
        // Deficits of the old weights would distort the first round of the new ones.
        self.deficit = [0; PRIORITIES];
        self.served = false;
    }

    /// Sets the unit of the shares of DWRR classes; at first these are of bytes.
    pub fn set_meter(&mut self, meter: Meter) {
        self.meter = meter;
        // A deficit in the other unit means nothing.
        self.deficit = [0; PRIORITIES];
        self.served = false;
    }

    /// Brings what every frame needs into the caches.
    #[inline]
    pub fn fetch(&self) {
        fetch(&self.backlog);
        fetch(&self.turn);
    }

    /// Brings a queue into the caches.
    #[inline]
    pub fn fetch_queue(&self, class: TrafficClass) {
        let i = class.index();
        fetch(&self.queues[i]);
        fetch(&self.peaks[i]);
        fetch(&self.deficit[i]);
    }

    /// Returns true if all queues are empty.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.backlog == 0
    }

    /// Returns the bytes queued in a class.
    #[inline]
    #[must_use]
    pub const fn bytes(&self, class: TrafficClass) -> u64 {
        self.queues[class.index()].bytes()
    }

    /// Returns the frames queued in a class.
    #[must_use]
    pub const fn frames(&self, class: TrafficClass) -> u32 {
        self.queues[class.index()].frames()
    }

    /// Returns the maximum of bytes ever queued in a class.
    #[must_use]
    pub const fn peak(&self, class: TrafficClass) -> u64 {
        self.peaks[class.index()]
    }

    /// Resets the peaks to the present lengths.
    pub fn clear_peaks(&mut self) {
        for class in TrafficClass::ALL {
            self.peaks[class.index()] = self.bytes(class);
        }
    }

    /// Returns the priority of a class's first frame.
    #[must_use]
    pub fn head_priority(&self, class: TrafficClass) -> Option<Priority> {
        self.queues[class.index()].peek().map(|(_, priority)| priority)
    }

    /// Returns the first item of a class.
    #[must_use]
    pub fn head<'a, H>(&self, arena: &'a Arena<H>, class: TrafficClass) -> Option<&'a H> {
        self.queues[class.index()].first(arena)
    }

    /// Adds an item of `len` bytes to the end of a class's queue.
    #[inline]
    pub fn push<H>(
        &mut self,
        arena: &mut Arena<H>,
        class: TrafficClass,
        priority: Priority,
        len: u32,
        item: H,
    ) {
        let i = class.index();
        self.queues[i].push(arena, item, len, priority);
        self.backlog |= 1 << i;
        self.peaks[i] = self.peaks[i].max(self.queues[i].bytes());
    }

    /// Returns the first item of a class.
    #[inline]
    #[must_use]
    pub fn first<'a, H>(&self, arena: &'a Arena<H>, class: TrafficClass) -> Option<&'a H> {
        self.queues[class.index()].first(arena)
    }

    /// Returns all items of a class, from the first on; slow.
    pub fn items<'a, H>(
        &self,
        arena: &'a Arena<H>,
        class: TrafficClass,
    ) -> impl Iterator<Item = &'a H> + use<'a, H> {
        self.queues[class.index()].items(arena)
    }

    /// Dequeues the next item, given the paused priorities and a bit mask of the classes that are
    /// blocked for another reason.
    #[inline]
    pub fn next<H>(
        &mut self,
        arena: &mut Arena<H>,
        paused: PrioritySet,
        held: u8,
    ) -> Option<Popped<H>> {
        let ready = self.ready(paused) & !held;
        if ready == 0 {
            return None;
        }
        // Transmission selection of 802.1Q 8.6.8: strict classes from the highest down, then the shares.
        let strict = ready & self.strict;
        let class = if strict != 0 {
            7 - strict.leading_zeros() as usize
        } else if ready & (ready - 1) == 0 {
            self.alone(ready.trailing_zeros() as usize)
        } else {
            self.round_robin(ready)
        };
        self.take(arena, TrafficClass::ALL[class])
    }

    /// Dequeues the first item of a class out of turn, to empty the queue.
    pub fn take<H>(&mut self, arena: &mut Arena<H>, class: TrafficClass) -> Option<Popped<H>> {
        let i = class.index();
        let (item, len, priority) = self.queues[i].pop(arena)?;
        if self.queues[i].frames() == 0 {
            self.backlog &= !(1 << i);
            // An idle class accumulates no deficit (DRR, Shreedhar and Varghese).
            self.deficit[i] = 0;
            if self.turn == i {
                self.served = false;
                self.turn = (i + 1) % PRIORITIES;
            }
        }
        Some(Popped { item, len, priority, class })
    }

    /// Returns a bit mask of the classes that may send now.
    #[inline]
    fn ready(&self, paused: PrioritySet) -> u8 {
        if paused.is_empty() {
            return self.backlog;
        }
        let mut ready = 0;
        for class in TrafficClass::ALL {
            if let Some(priority) = self.head_priority(class) {
                // The first frame decides for its queue: the frames behind it must not overtake it.
                ready |= u8::from(!paused.contains(priority)) << class.get();
            }
        }
        ready
    }

    /// Selects the only DWRR class with a frame to send, whatever its deficit: no other class
    /// waits. Its deficit is spent as in its turn, but never falls below zero.
    #[inline]
    fn alone(&mut self, class: usize) -> usize {
        // A class that was alone for a while owes nothing when others come.
        self.deficit[class] = self.deficit[class].saturating_sub(self.cost(class));
        class
    }

    /// Returns the part of a class's deficit that its first frame takes.
    #[inline]
    fn cost(&self, class: usize) -> u64 {
        let len = self.queues[class].peek().map_or(0, |(len, _)| len);
        u64::from(match self.meter {
            Meter::Bytes => len,
            Meter::Frames => FRAME_BYTES,
        })
    }

    /// Selects a class by deficit round robin from the `ready` classes (at least two): a class gets
    /// its quantum once per turn and sends while its deficit covers the next frame.
    fn round_robin(&mut self, ready: u8) -> usize {
        self.skip_idle_rounds(ready);
        loop {
            let i = self.turn;
            if ready & (1 << i) != 0 {
                // Once per turn: a class whose frame does not fit keeps its deficit for the next round.
                if !self.served {
                    self.deficit[i] += u64::from(self.quantum[i]);
                    self.served = true;
                }
                let cost = self.cost(i);
                if cost <= self.deficit[i] {
                    self.deficit[i] -= cost;
                    return i;
                }
            }
            self.turn = (i + 1) % PRIORITIES;
            self.served = false;
        }
    }

    /// If no class can send within one more round, adds the quanta of all rounds in between at
    /// once, so that a small weight does not cost a loop per round.
    fn skip_idle_rounds(&mut self, ready: u8) {
        let classes = (0..PRIORITIES).filter(|i| ready & (1 << i) != 0);
        let short = |i: usize, s: &Self| {
            s.cost(i).saturating_sub(s.deficit[i]).div_ceil(u64::from(s.quantum[i]))
        };
        // The class that needs the fewest rounds will send next. All get the rounds before the last; the loop does
        // that one.
        let rounds = classes.clone().map(|i| short(i, self)).min().unwrap_or(0);
        if rounds > 1 {
            for i in classes {
                self.deficit[i] += (rounds - 1) * u64::from(self.quantum[i]);
            }
        }
    }
}

/// Returns a bit mask of the strict classes, and the quantum of each of the others.
fn shares(classes: &[ClassPlan; PRIORITIES]) -> (u8, [u32; PRIORITIES]) {
    let weight = |c: &ClassPlan| match c {
        ClassPlan::Strict => 0,
        ClassPlan::Dwrr { weight } => u32::from(*weight).max(1),
    };
    let heaviest = classes.iter().map(weight).max().unwrap_or(0).max(1);
    // A quantum is a weight times the same unit, so the shares are exact however this is rounded.
    let unit = (ROUND_BYTES / heaviest).max(1);
    let mut strict = 0;
    let mut quantum = [0; PRIORITIES];
    for (i, class) in classes.iter().enumerate() {
        match class {
            ClassPlan::Strict => strict |= 1 << i,
            ClassPlan::Dwrr { .. } => quantum[i] = weight(class) * unit,
        }
    }
    (strict, quantum)
}

#[cfg(test)]
mod tests;
