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
    runs: VecDeque<Run>,
    /// True if the port has queues by priority.
    has_queues: bool,
}

impl<F: Frame> Staging<F> {
    pub(super) fn new(has_queues: bool) -> Self {
        Self { frames: Burst::new(), runs: VecDeque::with_capacity(BURST), has_queues }
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
        let Some(last) = self.runs.back_mut() else {
            return self.begin(charge, ingress, priority, bytes);
        };
        if last.ingress != ingress || last.priority != priority {
            return self.begin(charge, ingress, priority, bytes);
        }
        match (&mut last.charge, charge) {
            (None, None) => {}
            (Some(sum), Some(charge)) => match sum.join(charge) {
                Ok(()) => {}
                Err(charge) => return self.begin(Some(charge), ingress, priority, bytes),
            },
            (_, charge) => return self.begin(charge, ingress, priority, bytes),
        }
        last.frames += 1;
        last.bytes += bytes;
    }

    #[inline(never)]
    fn begin(&mut self, charge: Option<Charge>, ingress: PortId, priority: Priority, bytes: u64) {
        self.runs.push_back(Run { charge, ingress, priority, frames: 1, bytes });
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
        let first = self.runs.front_mut().expect("every staged frame is in a run");
        if first.frames <= *taken {
            *taken -= first.frames;
            return self.runs.pop_front();
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
        self.runs.pop_front()
    }
}
