//! Frames between the queues and the port, and their accounting once the port accepts them.
//!
//! Consecutive frames that came in by the same port with the same priority are accounted for
//! together, so a burst costs one release and one count instead of one per frame. If a port accepts
//! only part of a burst, the run at the cut is split in two. Mostly there is one run: it is kept apart
//! from the queue of those behind it.

use std::collections::VecDeque;

use buffer::{Charge, Ledger};
use contracts::frame::{BURST, Burst, Frame};
use contracts::port::Port;
use ground::memory::{fetch, fetch_item};
use ground::units::{PortId, Priority};

/// Frames of a burst that are moved one by one.
const FEW: usize = 8;

/// Consecutive frames that are accounted for together.
#[derive(Debug)]
pub(super) struct Run {
    /// Their charge; `None` if they bypassed the buffer.
    pub(super) charge: Option<Charge>,
    pub(super) ingress: PortId,
    pub(super) priority: Priority,
    pub(super) frames: u32,
    pub(super) bytes: u64,
}

impl Run {
    /// No frames.
    const EMPTY: Self =
        Self { charge: None, ingress: PortId::MIN, priority: Priority::MIN, frames: 0, bytes: 0 };

    /// Adds a run; returns it if the two are not accounted for together.
    #[inline(always)]
    fn join(&mut self, mut run: Self) -> Result<(), Self> {
        // Counters are by priority, and cells return to the group of the ingress port.
        if self.ingress != run.ingress || self.priority != run.priority {
            return Err(run);
        }
        match (&mut self.charge, run.charge.take()) {
            (None, None) => {}
            (Some(sum), Some(charge)) => {
                // Of another group: isolation may have charged it elsewhere.
                if let Err(charge) = sum.join(charge) {
                    run.charge = Some(charge);
                    return Err(run);
                }
            }
            // One of the two bypassed the ledger.
            (_, charge) => {
                run.charge = charge;
                return Err(run);
            }
        }
        self.frames += run.frames;
        self.bytes += run.bytes;
        Ok(())
    }
}

/// At most one burst of frames, in the order of transmission.
#[derive(Debug)]
pub(super) struct Staging<F> {
    frames: Burst<F>,
    /// The first run; without frames if there is none.
    first: Run,
    /// The runs behind it.
    more: VecDeque<Run>,
    /// True if the port has queues by priority.
    has_queues: bool,
}

impl<F: Frame> Staging<F> {
    pub(super) fn new(has_queues: bool) -> Self {
        let more = VecDeque::with_capacity(BURST);
        Self { frames: Burst::new(), first: Run::EMPTY, more, has_queues }
    }

    /// Brings what a single frame needs into the caches.
    #[inline]
    pub(super) fn fetch(&self) {
        fetch(&self.frames);
        fetch_item(&self.frames, BURST);
        fetch(&self.first);
        fetch(&self.more);
        fetch(&self.has_queues);
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.frames.is_full()
    }

    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    pub(super) fn frames(&self) -> &[F] {
        &self.frames
    }

    /// Returns the number of frames that it has room for.
    #[inline]
    pub(super) fn room(&self) -> usize {
        self.frames.remaining_capacity()
    }

    /// Adds a frame. There must be room.
    #[inline]
    pub(super) fn push(
        &mut self,
        mut frame: F,
        charge: Option<Charge>,
        ingress: PortId,
        priority: Priority,
    ) {
        let bytes = u64::from(frame.wire_len());
        if self.has_queues {
            // The device does PFC by transmit queue, so each priority has its own.
            frame.set_queue(priority.get());
        }
        self.frames.push(frame);
        self.account(Run { charge, ingress, priority, frames: 1, bytes });
    }

    /// Adds the frames of a run. There must be room.
    #[inline]
    pub(super) fn push_all(&mut self, frames: impl Iterator<Item = F>, run: Run) {
        let before = self.frames.len();
        self.frames.extend(frames);
        self.add(before, run);
    }

    /// As [`Self::push_all`], for a whole burst, which is empty then.
    #[inline]
    pub(super) fn push_burst(&mut self, burst: &mut Burst<F>, run: Run) {
        let before = self.frames.len();
        // To exchange the bursts takes as long as to move some frames.
        if before == 0 && burst.len() >= FEW {
            core::mem::swap(&mut self.frames, burst);
        } else if burst.len() == 1 {
            self.frames.extend(burst.pop());
        } else {
            self.frames.extend(burst.drain(..));
        }
        self.add(before, run);
    }

    /// Accounts for the frames from `before` on.
    #[inline(always)]
    fn add(&mut self, before: usize, run: Run) {
        debug_assert_eq!(self.frames.len() - before, run.frames as usize);
        if self.has_queues {
            let queue = run.priority.get();
            self.frames[before..].iter_mut().for_each(|frame| frame.set_queue(queue));
        }
        self.account(run);
    }

    /// Adds a run to the last one if they are accounted for together.
    #[inline(always)]
    fn account(&mut self, run: Run) {
        if self.first.frames == 0 {
            self.first = run;
        } else if self.more.is_empty() {
            // Only the last run may grow, or the order of transmission would be lost.
            if let Err(run) = self.first.join(run) {
                self.more.push_back(run);
            }
        } else {
            self.account_behind(run);
        }
    }

    #[inline(never)]
    fn account_behind(&mut self, run: Run) {
        let last = self.more.back_mut().expect("a run behind the first");
        if let Err(run) = last.join(run) {
            self.more.push_back(run);
        }
    }

    /// Offers the frames to the port; returns the number that it accepted.
    #[inline]
    pub(super) fn offer<P: Port<Frame = F>>(&mut self, port: &mut P) -> u32 {
        let before = self.frames.len();
        port.tx_burst(&mut self.frames);
        (before - self.frames.len()) as u32
    }

    /// Returns the next run of the `taken` accepted frames that are not accounted for yet, and
    /// subtracts it from `taken`.
    pub(super) fn finished_run(&mut self, taken: &mut u32, ledger: &Ledger) -> Option<Run> {
        if *taken == 0 {
            return None;
        }
        let first = &mut self.first;
        assert!(first.frames > 0, "every staged frame is in a run");
        if first.frames <= *taken {
            *taken -= first.frames;
            return self.pop();
        }
        // The frames of this run that were not accepted are now the first staged ones.
        let (mut bytes, mut cells) = (0, 0);
        for frame in &self.frames[..(first.frames - *taken) as usize] {
            bytes += u64::from(frame.wire_len());
            cells += ledger.cells_for(frame.wire_len()).0;
        }
        let left = Run {
            // The cells of the frames that stay, rounded up for each as they were charged.
            charge: first.charge.as_mut().map(|sum| sum.split(cells)),
            ingress: first.ingress,
            priority: first.priority,
            frames: first.frames - *taken,
            bytes,
        };
        let mut run = core::mem::replace(first, left);
        run.frames = *taken;
        run.bytes -= bytes;
        *taken = 0;
        Some(run)
    }

    /// Drops all frames; returns their runs, one per call.
    pub(super) fn abandon(&mut self) -> Option<Run> {
        self.frames.clear();
        self.pop()
    }

    /// Removes the first run.
    #[inline(always)]
    fn pop(&mut self) -> Option<Run> {
        // The test spares the code of the queue in the usual case of one run.
        let next = if self.more.is_empty() { None } else { self.more.pop_front() };
        let run = core::mem::replace(&mut self.first, next.unwrap_or(Run::EMPTY));
        (run.frames > 0).then_some(run)
    }
}
