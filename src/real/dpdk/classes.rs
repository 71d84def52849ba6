//! Queues of a port by priority, for devices that do PFC themselves.
//!
//! A device that obeys PFC stops a queue. With one queue the pause of one priority would stop all of
//! them, so each priority has a transmit queue of its own, and control frames have one more, which
//! no pause stops. Towards the switch, each lossless priority has a receive queue whose filling lets
//! the device pause that priority alone, and all others share the first.
//!
//! A paused queue fills up. Frames that it does not take wait here, at most a burst for each
//! priority, so that they do not hold up those of other priorities; the switch schedules no further
//! frames of such a priority ([`Port::held`](contracts::port::Port::held)).

use super::hot;
use super::mbuf::Mbuf;
use contracts::frame::Burst;
use ground::units::{PRIORITIES, Priority, PrioritySet};

/// Transmit queue of control frames, behind those of the priorities.
pub(super) const CONTROL_QUEUE: u8 = PRIORITIES as u8;
/// Number of transmit queues.
pub(super) const TX_QUEUES: u16 = PRIORITIES as u16 + 1;

/// Receive queue of a priority: those of `lossless` have one each, in their order.
pub(super) fn rx_queue(lossless: PrioritySet, priority: Priority) -> u16 {
    let own = lossless.iter().position(|p| p == priority);
    own.map_or(0, |n| n as u16 + 1)
}

/// Number of receive queues.
pub(super) fn rx_queues(lossless: PrioritySet) -> u16 {
    lossless.iter().count() as u16 + 1
}

/// State of a port with queues by priority.
#[derive(Debug)]
pub(super) struct Classes {
    rx_queues: u16,
    /// Receive queue to poll next.
    next: u16,
    /// Frames that their queue did not take.
    waiting: [Burst<Mbuf>; PRIORITIES + 1],
    held: PrioritySet,
}

impl Classes {
    pub(super) fn new(lossless: PrioritySet) -> Self {
        Self {
            rx_queues: rx_queues(lossless),
            next: 0,
            waiting: core::array::from_fn(|_| Burst::new()),
            held: PrioritySet::EMPTY,
        }
    }

    /// Priorities whose queue is full.
    #[inline]
    pub(super) const fn held(&self) -> PrioritySet {
        self.held
    }

    /// Receives from the next queue that has frames.
    ///
    /// # Safety
    /// As [`hot::rx_burst`], for all receive queues of the port.
    pub(super) unsafe fn rx_burst(&mut self, port: u16, out: &mut Burst<Mbuf>) {
        for _ in 0..self.rx_queues {
            let queue = self.next;
            self.next = (self.next + 1) % self.rx_queues;
            // SAFETY: by contract.
            unsafe { hot::receive((port, queue), out) };
            if !out.is_empty() {
                return;
            }
        }
    }

    /// Takes frames from the front of `out`, as long as their queues have room here, and passes on
    /// what the device takes.
    ///
    /// # Safety
    /// As [`hot::tx_burst`], for all transmit queues of the port.
    pub(super) unsafe fn tx_burst(&mut self, port: u16, out: &mut Burst<Mbuf>) {
        let mut left = Burst::new();
        for frame in out.drain(..) {
            let waiting = &mut self.waiting[usize::from(frame.queue().min(CONTROL_QUEUE))];
            // Order is kept: behind a frame that stays, all stay.
            if !left.is_empty() || waiting.is_full() {
                left.push(frame);
            } else {
                waiting.push(frame);
            }
        }
        *out = left;
        // SAFETY: by contract.
        unsafe { self.pass_on(port) };
    }

    /// Passes on what waits.
    ///
    /// # Safety
    /// As [`hot::tx_burst`], for all transmit queues of the port.
    pub(super) unsafe fn pass_on(&mut self, port: u16) {
        let mut held = 0;
        for (queue, waiting) in self.waiting.iter_mut().enumerate() {
            if waiting.is_empty() {
                continue;
            }
            // SAFETY: by contract.
            unsafe { hot::send((port, queue as u16), waiting) };
            if !waiting.is_empty() && queue < PRIORITIES {
                held |= 1 << queue;
            }
        }
        self.held = PrioritySet(held);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lossless_priorities_have_a_receive_queue_each_and_others_share_the_first() {
        let lossless = PrioritySet(0b0101_1000);
        let queues = Priority::ALL.map(|priority| rx_queue(lossless, priority));
        assert_eq!(queues, [0, 0, 0, 1, 2, 0, 3, 0]);
        assert_eq!((rx_queues(lossless), rx_queues(PrioritySet::EMPTY)), (4, 1));
    }
}
