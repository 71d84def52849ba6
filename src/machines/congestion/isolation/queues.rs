//! Totals of frames that joined and left each queue, the only state that order needs.

use crate::detect::Queue;
use ground::units::{PRIORITIES, PortId, TrafficClass};

/// Condition for dequeuing a frame from a congesting queue: a class, whose queue of the same port
/// it must not overtake, and the total of frames that must have left that queue. Packed into one
/// word, because each queued frame carries one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hold(u64);

/// Number of bits of a class.
const CLASS_BITS: u32 = 3;

// A hold holds each class, and for more frames than can pass a queue (2^61).
const _: () = assert!(PRIORITIES == 1 << CLASS_BITS);

impl Hold {
    /// No condition.
    pub const NONE: Self = Self(0);

    /// Holds until `until` frames have left the queue of `class`.
    pub(super) const fn new(class: TrafficClass, until: u64) -> Self {
        Self(until << CLASS_BITS | class.get() as u64)
    }

    #[inline]
    const fn class(self) -> TrafficClass {
        TrafficClass::ALL[(self.0 & ((1 << CLASS_BITS) - 1)) as usize]
    }

    #[inline]
    const fn until(self) -> u64 {
        self.0 >> CLASS_BITS
    }
}

/// Totals of one queue.
#[derive(Clone, Copy, Default, Debug)]
struct Passed {
    /// Total of frames that joined.
    joined: u64,
    /// Total of frames that left.
    left: u64,
}

/// Totals of all queues.
pub(super) struct Queues {
    passed: Box<[Passed]>,
    /// By port: queued frames with a hold.
    held: Box<[u32]>,
}

impl Queues {
    pub(super) fn new(ports: usize) -> Self {
        Self {
            passed: vec![Passed::default(); ports * PRIORITIES].into_boxed_slice(),
            held: vec![0; ports].into_boxed_slice(),
        }
    }

    /// Returns the total of frames that joined a queue.
    #[inline]
    pub(super) fn joined(&self, queue: Queue) -> u64 {
        self.passed[queue.index()].joined
    }

    /// Returns the total of frames that left a queue.
    #[inline]
    pub(super) fn left(&self, queue: Queue) -> u64 {
        self.passed[queue.index()].left
    }

    #[inline]
    pub(super) fn join(&mut self, queue: Queue, hold: Hold) {
        self.passed[queue.index()].joined += 1;
        if hold != Hold::NONE {
            self.held[queue.port.index()] += 1;
        }
    }

    #[inline]
    pub(super) fn leave(&mut self, queue: Queue, hold: Hold) {
        let passed = &mut self.passed[queue.index()];
        passed.left += 1;
        assert!(passed.left <= passed.joined, "a frame left that never joined");
        if hold != Hold::NONE {
            self.held[queue.port.index()] -= 1;
        }
    }

    /// Returns the number of queued frames of a port with a hold.
    #[inline]
    pub(super) const fn held(&self, port: PortId) -> u32 {
        self.held[port.index()]
    }

    #[inline]
    pub(super) const fn may_leave(&self, port: PortId, hold: Hold) -> bool {
        self.passed[Queue { port, class: hold.class() }.index()].left >= hold.until()
    }
}
