//! Pauses of a station: those that it sends by plan, and those that arrive in other queues of its port.
//!
//! A port with several queues has a station for each. A pause arrives in one queue, and holds the data
//! of all. So the station that received it publishes it, and the others take it over in their next
//! poll, before they send. Of each priority the last pause counts, as on the line: a pause replaces the
//! one before. Nothing waits, and nothing is lost however late a station is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Demand;
use super::plan::PausePlan;
use ground::time::{Duration, Instant};
use ground::units::{Mac, PRIORITIES, PauseVector, Priority, PrioritySet, Quanta};
use wire::{group, mac_control, pause, pfc};

/// A planned sequence of pauses.
#[derive(Debug)]
pub(super) struct PauseSource {
    pub(super) octets: [u8; mac_control::FRAME_LEN],
    pub(super) due: Instant,
    pub(super) every: Duration,
    pub(super) left: u64,
}

impl PauseSource {
    /// Prepares the pauses of a validated plan.
    pub(super) fn new(plan: &PausePlan, mac: Mac) -> Self {
        let mut octets = [0; mac_control::FRAME_LEN];
        let repr = match plan.ask {
            Demand::Pfc(vector) => {
                let mut repr = pfc::Repr::new(mac);
                for p in vector.enabled.iter() {
                    // A time of 0 enables the priority, too: it resumes it.
                    repr.set(p, vector.time[p.index()]);
                }
                mac_control::Repr::Pfc(repr)
            }
            Demand::Pause(time) => {
                mac_control::Repr::Pause(pause::Repr { dst: group::MAC_CONTROL, src: mac, time })
            }
        };
        repr.emit(&mut octets).expect("the buffer has the length of the frame");
        Self { octets, due: plan.start, every: plan.every, left: plan.frames }
    }
}

/// Place of PAUSE, behind those of the priorities.
const PAUSE: usize = PRIORITIES;

/// Bits of a word below the number of its pause: those of the queue, and of the pause time.
const NUMBER: u32 = 24;
const QUEUE: u32 = 16;

/// The last pause of each priority that arrived in any queue of a port.
#[derive(Debug, Default)]
pub struct SharedPauses {
    /// Number of publications; changes after the words did.
    published: AtomicU64,
    /// Number of the last pause.
    number: AtomicU64,
    /// By priority, then of PAUSE: the number of its last pause, the queue, and the pause time.
    last: [AtomicU64; PRIORITIES + 1],
}

/// The part of a station in the pauses of its port.
#[derive(Debug)]
pub(super) struct Share {
    all: Arc<SharedPauses>,
    queue: u8,
    /// Publications that it has taken over.
    taken: u64,
    /// Words that it has taken over.
    words: [u64; PRIORITIES + 1],
}

/// Pauses that arrived in other queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Heard {
    pub(super) pfc: PauseVector,
    pub(super) pause: Option<Quanta>,
}

impl Share {
    pub(super) const fn new(all: Arc<SharedPauses>, queue: u8) -> Self {
        Self { all, queue, taken: 0, words: [0; PRIORITIES + 1] }
    }

    /// Publishes a PFC frame.
    pub(super) fn publish_pfc(&self, pause: &PauseVector) {
        for p in pause.enabled.iter() {
            self.store(p.index(), pause.time[p.index()]);
        }
        // After the words, so that a station that sees the number finds them.
        self.all.published.fetch_add(1, Ordering::Release);
    }

    /// Publishes a PAUSE frame.
    pub(super) fn publish_pause(&self, time: Quanta) {
        self.store(PAUSE, time);
        self.all.published.fetch_add(1, Ordering::Release);
    }

    fn store(&self, place: usize, time: Quanta) {
        // Numbers tell equal pauses apart. Of two that arrive in two queues at the same time either
        // may be the last.
        let number = self.all.number.fetch_add(1, Ordering::Relaxed) + 1;
        let word = number << NUMBER | u64::from(self.queue) << QUEUE | u64::from(time.0);
        self.all.last[place].store(word, Ordering::Relaxed);
    }

    /// Returns the pauses that arrived in other queues since the last call.
    #[inline]
    pub(super) fn take(&mut self) -> Option<Heard> {
        let published = self.all.published.load(Ordering::Acquire);
        (published != self.taken).then(|| self.take_new(published))
    }

    #[cold]
    fn take_new(&mut self, published: u64) -> Heard {
        self.taken = published;
        let mut heard = Heard::default();
        for p in Priority::ALL {
            if let Some(time) = self.newer(p.index()) {
                heard.pfc.enabled.insert(p);
                heard.pfc.time[p.index()] = time;
            }
        }
        // PAUSE and PFC exclude each other on a port, but a tester may send both.
        heard.pause = self.newer(PAUSE);
        heard
    }

    /// Returns the last pause of a place if it is new, and from another queue.
    fn newer(&mut self, place: usize) -> Option<Quanta> {
        let word = self.all.last[place].load(Ordering::Relaxed);
        let before = core::mem::replace(&mut self.words[place], word);
        let queue = (word >> QUEUE) as u8;
        // The queue that received it has obeyed it already.
        (word != before && queue != self.queue).then_some(Quanta(word as u16))
    }
}

impl Heard {
    /// Returns the priorities with a pause or a resume.
    pub(super) fn priorities(&self) -> PrioritySet {
        if self.pause.is_some() { PrioritySet::ALL } else { self.pfc.enabled }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pfc(p: u8, time: u16) -> PauseVector {
        let mut vector = PauseVector::default();
        let p = Priority::new(p).unwrap();
        vector.enabled.insert(p);
        vector.time[p.index()] = Quanta(time);
        vector
    }

    #[test]
    fn the_last_pause_of_each_priority_reaches_the_other_queues_once() {
        let all = Arc::new(SharedPauses::default());
        let [mut a, mut b, mut c] = [0, 1, 2].map(|queue| Share::new(all.clone(), queue));
        assert_eq!(b.take(), None);
        a.publish_pfc(&pfc(3, 100));
        a.publish_pfc(&pfc(4, 7));
        a.publish_pfc(&pfc(3, 0));
        let heard = b.take().unwrap();
        assert_eq!(heard.pfc.enabled, PrioritySet(0b1_1000));
        assert_eq!(
            (heard.pfc.time[3], heard.pfc.time[4], heard.pause),
            (Quanta(0), Quanta(7), None)
        );
        assert_eq!(b.take(), None);
        // An equal pause counts again; of its own there is nothing to hear.
        b.publish_pfc(&pfc(4, 7));
        assert_eq!(b.take().map(|heard| heard.priorities()), Some(PrioritySet::EMPTY));
        assert_eq!(a.take().map(|heard| heard.pfc.enabled), Some(PrioritySet(0b1_0000)));
        // A late station hears the last of each.
        a.publish_pause(Quanta(9));
        let heard = c.take().unwrap();
        assert_eq!((heard.pfc.enabled, heard.pause), (PrioritySet(0b1_1000), Some(Quanta(9))));
        assert_eq!(heard.priorities(), PrioritySet::ALL);
    }
}
