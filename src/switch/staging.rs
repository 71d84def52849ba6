//! Frames between the queues and the port, and their accounting once the port accepts them.
//!
//! Consecutive frames that came in by the same port with the same priority are accounted for
//! together, so a burst costs one release and one count instead of one per frame. If a port accepts
//! only part of a burst, the run at the cut is split in two.

use std::collections::VecDeque;

use buffer::{Charge, Ledger};
use contracts::frame::{BURST, Burst, Frame};
use contracts::port::Port;
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

/// At most one burst of frames, in the order of transmission.
#[derive(Debug)]
pub(super) struct Staging<F> {
    frames: Burst<F>,
    /// All runs but the last.
    runs: VecDeque<Run>,
    /// The last run: mostly the only one.
    last: Option<Run>,
    /// True if the port has queues by priority.
    has_queues: bool,
}

impl<F: Frame> Staging<F> {
    pub(super) fn new(has_queues: bool) -> Self {
        Self { frames: Burst::new(), runs: VecDeque::with_capacity(BURST), last: None, has_queues }
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
    #[inline]
    fn account(&mut self, mut run: Run) {
        let Some(last) = &mut self.last else { return self.begin(run) };
        if last.ingress != run.ingress || last.priority != run.priority {
            return self.begin(run);
        }
        match (&mut last.charge, run.charge) {
            (None, None) => {}
            (Some(sum), Some(charge)) => {
                if let Err(charge) = sum.join(charge) {
                    run.charge = Some(charge);
                    return self.begin(run);
                }
            }
            (_, charge) => {
                run.charge = charge;
                return self.begin(run);
            }
        }
        last.frames += run.frames;
        last.bytes += run.bytes;
    }

    #[inline]
    fn begin(&mut self, run: Run) {
        if let Some(last) = self.last.replace(run) {
            self.runs.push_back(last);
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
        let first = self.runs.front_mut().or(self.last.as_mut());
        let first = first.expect("every staged frame is in a run");
        if first.frames <= *taken {
            *taken -= first.frames;
            return self.first_run();
        }
        // The frames of this run that were not accepted are now the first staged ones.
        let (mut bytes, mut cells) = (0, 0);
        for frame in &self.frames[..(first.frames - *taken) as usize] {
            bytes += u64::from(frame.wire_len());
            cells += ledger.cells_for(frame.wire_len()).0;
        }
        let left = Run {
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
        self.first_run()
    }

    #[inline]
    fn first_run(&mut self) -> Option<Run> {
        if self.runs.is_empty() { self.last.take() } else { self.runs.pop_front() }
    }
}
