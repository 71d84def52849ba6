//! The effects of a defect, and its surroundings.

use core::fmt;

use ground::time::{Duration, Instant};
use ground::units::Priority;

/// Operations that a defect needs of a port beside its frames' bytes.
pub trait Make<F> {
    /// Returns a frame with these bytes; `None` while there is no memory for it.
    fn control(&mut self, octets: &[u8]) -> Option<F>;

    /// Gives a frame a wrong FCS on the line.
    fn damage(&mut self, frame: &mut F);
}

/// Frames that a defect lets pass or adds, in order.
#[derive(Debug)]
pub(super) struct Out<F> {
    /// To be sent on the port's line.
    pub(super) line: Vec<F>,
    /// To be received by the node.
    pub(super) node: Vec<F>,
    /// To be sent on the lines of all other ports of the node.
    pub(super) others: Vec<F>,
    /// To be received by the node at all other ports.
    pub(super) inward: Vec<F>,
    pub(super) leaks: Vec<Leak>,
}

impl<F> Out<F> {
    /// Calls `change` with the frames of each way, in the order of [`Self::lengths`].
    pub(super) fn each(&mut self, change: impl FnMut(&mut Vec<F>)) {
        let Self { line, node, others, inward, leaks: _ } = self;
        [line, node, others, inward].into_iter().for_each(change);
    }

    /// Returns the number of frames of each way.
    pub(super) fn lengths(&self) -> [usize; 4] {
        [&self.line, &self.node, &self.others, &self.inward].map(|frames| frames.len())
    }
}

/// Cells that the headroom of a priority loses.
pub type Leak = (Priority, u32);

/// Surroundings of a defect in one call.
pub(super) struct Context<'a, F> {
    pub(super) now: Instant,
    /// Pause quantum at the rate of the line.
    pub(super) quantum: Duration,
    pub(super) make: &'a mut dyn Make<F>,
    pub(super) out: Out<F>,
}

impl<F> Default for Out<F> {
    fn default() -> Self {
        Self {
            line: Vec::new(),
            node: Vec::new(),
            others: Vec::new(),
            inward: Vec::new(),
            leaks: Vec::new(),
        }
    }
}

/// The effect of one defect. By default all frames pass unchanged.
pub(super) trait Act<F>: fmt::Debug + Send {
    /// The node sends a frame.
    fn tx(&mut self, cx: &mut Context<'_, F>, frame: F) {
        cx.out.line.push(frame);
    }

    /// A frame has arrived for the node.
    fn rx(&mut self, cx: &mut Context<'_, F>, frame: F) {
        cx.out.node.push(frame);
    }

    /// The link went down or came up.
    fn link(&mut self, _cx: &mut Context<'_, F>, _up: bool) {}

    /// A key of the port's MACsec was changed.
    fn rekeyed(&mut self, _cx: &mut Context<'_, F>) {}

    /// The time of [`Act::next_at`] has come.
    fn due(&mut self, _cx: &mut Context<'_, F>) {}

    /// Time at which the defect acts without a frame.
    fn next_at(&self) -> Instant {
        Instant::NEVER
    }

    /// Number of frames that leave at a later time.
    fn held(&self) -> usize {
        0
    }
}
