//! The defects of one port, in a row, and what each of them may do.

use core::fmt;

use super::frame::{VECTOR, as_pause, as_pfc, is_pause, is_pfc};
use super::{Defect, forwarding, holding, obeying, protocols, sending};
use contracts::frame::Frame;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes, Priority};
use pfc::FlowControl;

/// Bytes of a pause quantum: 512 bit times (802.3 31B.2).
const QUANTUM: Bytes = Bytes(64);

/// Frames that defects add to lines and to other ports, in order.
#[derive(Debug)]
pub struct Lines<F> {
    /// For the port's line.
    pub line: Vec<F>,
    /// For the lines of all other ports of the node.
    pub others: Vec<F>,
    /// For reception by the node at all other ports.
    pub inward: Vec<F>,
}

/// The defects of a port: the first is next to the node.
///
/// At a port with 802.3x PAUSE a defect meets PFC of all priorities in place of PAUSE. What it leaves of that
/// is PAUSE again, or nothing if it names no priority any more.
#[derive(Debug)]
pub struct Stage<F> {
    quantum: Duration,
    /// True if the port's flow control is PAUSE.
    link_wide: bool,
    acts: Vec<Box<dyn Act<F>>>,
    /// Frames for another way than that of the call that made them.
    aside: Out<F>,
}

impl<F: Frame + fmt::Debug + Send + 'static> Stage<F> {
    /// Creates the stage of a port without a defect, at a line of this rate.
    pub fn new(rate: BitsPerSec, flow_control: FlowControl) -> Self {
        Self {
            quantum: rate.time_for(QUANTUM),
            link_wide: matches!(flow_control, FlowControl::Pause { .. }),
            acts: Vec::new(),
            aside: Out::default(),
        }
    }

    /// Adds a defect next to the line.
    pub fn add(&mut self, defect: Defect) {
        self.acts.push(match defect {
            Defect::Obeying(what) => Box::new(obeying::State::new(what)),
            Defect::Sending(what) => Box::new(sending::State::new(what)),
            Defect::Holding(what) => Box::new(holding::State::new(what)),
            Defect::Forwarding(what) => Box::new(forwarding::State::new(what)),
            Defect::Telling(what) => Box::new(what),
            Defect::Securing(what) => Box::new(protocols::SecuringState::new(what)),
            Defect::Storing(what) => Box::new(forwarding::Leaking::new(what)),
        });
    }

    /// Replaces the frames that the node sends by those that leave now.
    pub fn tx(&mut self, now: Instant, sent: &mut Vec<F>, make: &mut dyn Make<F>) {
        let Self { quantum, link_wide, acts, aside } = self;
        for act in acts {
            let mut cx = Context { now, quantum: *quantum, make, out: Out::default() };
            for frame in sent.drain(..) {
                apply(*link_wide, &mut cx, frame, |out| &mut out.line, |cx, f| act.tx(cx, f));
            }
            // What this defect lets pass is what the next one gets.
            *sent = cx.out.line;
            // Frames for another way wait until the caller takes them.
            aside.node.append(&mut cx.out.node);
            aside.others.append(&mut cx.out.others);
            aside.leaks.append(&mut cx.out.leaks);
        }
    }

    /// Replaces frames that have arrived by those that the node receives now.
    pub fn rx(&mut self, now: Instant, arrived: &mut Vec<F>, make: &mut dyn Make<F>) {
        let Self { quantum, link_wide, acts, aside } = self;
        // From the line to the node: the other way than `tx`.
        for act in acts.iter_mut().rev() {
            let mut cx = Context { now, quantum: *quantum, make, out: Out::default() };
            for frame in arrived.drain(..) {
                apply(*link_wide, &mut cx, frame, |out| &mut out.node, |cx, f| act.rx(cx, f));
            }
            *arrived = cx.out.node;
            aside.line.append(&mut cx.out.line);
            aside.others.append(&mut cx.out.others);
            aside.inward.append(&mut cx.out.inward);
        }
    }

    /// The link went down or came up. The frames are taken later.
    pub fn link(&mut self, now: Instant, up: bool, make: &mut dyn Make<F>) {
        self.each(now, make, |act, cx| act.link(cx, up));
    }

    /// A key of the port's MACsec was changed. The frames are taken later.
    pub fn rekeyed(&mut self, now: Instant, make: &mut dyn Make<F>) {
        self.each(now, make, |act, cx| act.rekeyed(cx));
    }

    /// Lets defects act whose time has come. Their frames are taken later.
    pub fn due(&mut self, now: Instant, make: &mut dyn Make<F>) {
        self.each(now, make, |act, cx| {
            // Several defects of a port have times of their own.
            if act.next_at() <= now {
                act.due(cx);
            }
        });
    }

    fn each(
        &mut self,
        now: Instant,
        make: &mut dyn Make<F>,
        mut call: impl FnMut(&mut dyn Act<F>, &mut Context<'_, F>),
    ) {
        let Self { quantum, link_wide, acts, aside } = self;
        for act in acts {
            let mut cx = Context { now, quantum: *quantum, make, out: Out::default() };
            call(act.as_mut(), &mut cx);
            if *link_wide {
                cx.out.each(|frames| link_wide_again(frames, 0));
            }
            aside.line.append(&mut cx.out.line);
            aside.node.append(&mut cx.out.node);
            aside.others.append(&mut cx.out.others);
        }
    }

    /// Takes the frames for the node that were made by another call than [`Self::rx`].
    pub fn take_for_node(&mut self) -> Vec<F> {
        core::mem::take(&mut self.aside.node)
    }

    /// Takes the frames for lines that were made by another call than [`Self::tx`].
    pub fn take_for_lines(&mut self) -> Lines<F> {
        let Out { line, others, inward, .. } = &mut self.aside;
        let (line, others) = (core::mem::take(line), core::mem::take(others));
        Lines { line, others, inward: core::mem::take(inward) }
    }

    /// Takes the losses of the node's buffer since the last call.
    pub fn take_leaks(&mut self) -> Vec<Leak> {
        core::mem::take(&mut self.aside.leaks)
    }

    /// Returns true if [`Self::take_for_node`] has frames.
    pub fn has_news(&self) -> bool {
        !self.aside.node.is_empty()
    }

    /// Returns the time of the next [`Self::due`].
    pub fn next_at(&self) -> Instant {
        self.acts.iter().map(|act| act.next_at()).min().unwrap_or(Instant::NEVER)
    }

    /// Returns the number of frames that leave at a later time.
    pub fn held(&self) -> usize {
        self.acts.iter().map(|act| act.held()).sum()
    }
}

/// Lets a defect act on a frame. At a port with PAUSE, PFC means nothing and goes its `way` as it is.
fn apply<F: Frame>(
    link_wide: bool,
    cx: &mut Context<'_, F>,
    mut frame: F,
    way: fn(&mut Out<F>) -> &mut Vec<F>,
    act: impl FnOnce(&mut Context<'_, F>, F),
) {
    if !link_wide {
        return act(cx, frame);
    }
    if is_pfc(frame.head()) {
        return way(&mut cx.out).push(frame);
    }
    if is_pause(frame.head()) {
        as_pfc(frame.head_mut());
    }
    // Only frames that the defect adds now are turned into PAUSE; the rest were before.
    let before = cx.out.lengths();
    act(cx, frame);
    let mut before = before.into_iter();
    cx.out.each(|frames| link_wide_again(frames, before.next().unwrap_or_default()));
}

/// Makes PAUSE of the PFC frames from an index on, and removes those that name no priority.
fn link_wide_again<F: Frame>(frames: &mut Vec<F>, from: usize) {
    let new = frames.split_off(from);
    frames.extend(new.into_iter().filter_map(|mut frame| {
        if is_pfc(frame.head()) {
            // PAUSE names all priorities or is not sent.
            if frame.head()[VECTOR] == 0 {
                return None;
            }
            as_pause(frame.head_mut());
        }
        Some(frame)
    }));
}

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
