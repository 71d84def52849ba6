//! How many frames joined and left each queue, ever, which is all that order needs.

use crate::congestion::detect::Queue;
use crate::units::{PRIORITIES, PortId, TrafficClass};

/// What a frame in a congesting queue waits for: a class, whose queue of the same port it must not
/// overtake, and how many frames have to have left that queue, ever. In one word, because each frame
/// that is queued carries one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hold(u64);

/// The bits of a class.
const CLASS_BITS: u32 = 3;

// A hold has room for each class, and for more frames than ever pass a queue (2^61).
const _: () = assert!(PRIORITIES == 1 << CLASS_BITS);

impl Hold {
    /// Nothing to wait for.
    pub const NONE: Self = Self(0);

    /// To wait until `until` frames have left the queue of `class`.
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

/// One queue.
#[derive(Clone, Copy, Default, Debug)]
struct Passed {
    /// Frames that joined it, ever.
    joined: u64,
    /// Frames that left it, ever.
    left: u64,
}

/// All queues.
pub(super) struct Queues {
    passed: Box<[Passed]>,
    /// By port: frames in its queues that came with something to wait for.
    held: Box<[u32]>,
}

impl Queues {
    pub(super) fn new(ports: usize) -> Self {
        Self {
            passed: vec![Passed::default(); ports * PRIORITIES].into_boxed_slice(),
            held: vec![0; ports].into_boxed_slice(),
        }
    }

    /// Frames that joined a queue, ever.
    #[inline]
    pub(super) fn joined(&self, queue: Queue) -> u64 {
        self.passed[queue.index()].joined
    }

    /// Frames that left a queue, ever.
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

    /// Frames of a port that came with something to wait for.
    #[inline]
    pub(super) const fn held(&self, port: PortId) -> u32 {
        self.held[port.index()]
    }

    #[inline]
    pub(super) const fn may_leave(&self, port: PortId, hold: Hold) -> bool {
        self.passed[Queue { port, class: hold.class() }.index()].left >= hold.until()
    }
}
