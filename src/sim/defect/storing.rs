//! Defects of the buffer. The port observes when memory is lost; the engine takes it from the switch.

use super::act::{Act, Context};
use super::frame::{enabled, is_pfc, paused};
use contracts::frame::Frame;
use ground::units::PrioritySet;

/// A defect of the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Storing {
    /// Cells of the headroom of some priorities are lost with each pause that the port has resumed.
    LeaksHeadroom { cells: u32, priorities: PrioritySet },
}

/// The state of such a defect.
#[derive(Debug)]
pub(super) struct State {
    what: Storing,
    /// Priorities that the port pauses.
    paused: u8,
}

impl State {
    pub(super) const fn new(what: Storing) -> Self {
        Self { what, paused: 0 }
    }
}

impl<F: Frame> Act<F> for State {
    fn tx(&mut self, cx: &mut Context<'_, F>, frame: F) {
        if is_pfc(frame.head()) {
            let Storing::LeaksHeadroom { cells, priorities } = self.what;
            let (named, now) = (enabled(frame.head()), paused(frame.head()));
            let resumed = self.paused & named & !now;
            self.paused = self.paused & !named | now;
            let resumed = PrioritySet(resumed & priorities.0);
            cx.out.leaks.extend(resumed.iter().map(|priority| (priority, cells)));
        }
        cx.out.line.push(frame);
    }
}
