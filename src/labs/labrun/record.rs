//! Records a run for results and plots.
//!
//! A [`Recorder`] receives events: pauses at their receivers, threshold crossings, marks and drops,
//! losses on lines. Its memory is bounded for any number of pauses. [`Looks`] holds samples of
//! queues and rates at regular times. Neither changes the network, and both see only frames on the
//! lines and notes of switches.

mod capture;
mod counts;
mod parts;
mod pauses;
mod series;

pub use capture::CaptureError;
pub use counts::{Counts, FirstDrop, LineLosses, Moment, Onset};
pub use pauses::{FRAMES_MAX, FrameAt, PIECES_MAX, PauseFrames, Piece, Timeline};
pub use series::{Looks, MOMENTS_MAX, Place, SERIES_MAX, Series, SeriesSet};

pub(super) use capture::Captures;
pub(crate) use counts::priority;

use super::LabPlan;
use buffer::GroupKind;
use contracts::frame::Frame;
use contracts::stats::DropReason;
use contracts::world::Events;
use ground::time::{Duration, Instant};
use ground::units::{Mac, PRIORITIES, PauseVector, PortId, Priority, PriorityGroup};
use host::{Latency, probe_of};
use pauses::{Frames, Receiver};
use pfc::FlowControl;
use runtime::LossWatch;
use sim::{
    ClockPlan, Direction, LinkId, LinkPlan, Loss, NetworkPlan, NodeId, NodeKind, Note, Partition,
    VirtualFrame, Witness,
};
use switch::{Change, ClassifyPlan};
use wire::mac_control;

/// Level of detail of the recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Detail {
    /// True to record data for plots: pauses with their times, and [`Looks`].
    pub plots: bool,
}

/// Far end of a direction.
#[derive(Clone, Debug)]
struct Towards {
    node: NodeId,
    /// Destination of PAUSE frames to the port's individual address.
    mac: Mac,
    host: bool,
    response: Duration,
    /// Index in `groups` of a recorded switch port.
    groups: Option<u32>,
    receiver: Receiver,
    frames: Frames,
}

impl Towards {
    /// Returns the pause times of a frame that the far end obeys.
    fn pause(&self, head: &[u8]) -> Option<PauseVector> {
        let frame = mac_control::Repr::parse(head, self.mac).ok()?;
        let is_pfc = matches!(frame, mac_control::Repr::Pfc(_));
        // A port obeys PFC or PAUSE, whichever it is configured for, and ignores the other.
        (is_pfc == self.receiver.pfc).then(|| frame.vector())
    }
}

/// Recorded groups of one port.
#[derive(Clone, Debug)]
struct Groups {
    node: NodeId,
    classify: ClassifyPlan,
    onsets: [Onset; PRIORITIES],
}

/// A planned change of a group's kind.
#[derive(Clone, Debug)]
struct KindChange {
    at: Instant,
    node: NodeId,
    port: PortId,
    group: PriorityGroup,
    kind: GroupKind,
}

/// Latency between hosts whose clocks differ from network time.
#[derive(Clone, Debug)]
struct Clocks {
    from: ClockPlan,
    latency: Latency,
}

/// Records the events of a run.
#[derive(Debug)]
pub struct Recorder {
    detail: Detail,
    counts: Counts,
    towards: Vec<Towards>,
    groups: Vec<Groups>,
    /// By node: index of its first port in `ports`.
    first_port: Vec<u32>,
    /// By port of every node: index in `groups`.
    ports: Vec<Option<u32>>,
    losses: Vec<Option<LossWatch>>,
    changes: Vec<KindChange>,
    /// By flow number.
    clocks: Vec<Option<Box<Clocks>>>,
    captures: Captures,
    /// Times at which the last data frame and the last pause arrived or were lost.
    last: [Instant; 2],
    /// Pause frames of each direction and kind whose times are recorded.
    frames_most: usize,
}

impl Recorder {
    /// Returns a recorder for a run that has not started.
    pub(super) fn new(plan: &LabPlan, detail: Detail, captures: Captures) -> Self {
        let network = &plan.network;
        let mut groups = Vec::new();
        let (mut first_port, mut ports) = (Vec::new(), Vec::new());
        for (id, node) in (0u32..).map(NodeId).zip(&network.nodes) {
            first_port.push(ports.len() as u32);
            for port in 0..node.ports() {
                ports.push(watched(&node.kind, port).map(|classify| {
                    let (classify, onsets) = (classify.clone(), Default::default());
                    groups.push(Groups { node: id, classify, onsets });
                    groups.len() as u32 - 1
                }));
            }
        }
        let place =
            |node: NodeId, port: PortId| ports[first_port[node.index()] as usize + port.index()];
        let towards = network.links.iter().zip(0u32..).flat_map(|(link, n)| {
            [LinkId(n).ab(), LinkId(n).ba()].map(|d| towards(network, link, d, &place))
        });
        let towards = towards.collect();
        // Only switches drop, and each knows the kinds of its own groups.
        let losses = network.nodes.iter().map(|node| match &node.kind {
            NodeKind::Switch(plan) => Some(LossWatch::new(plan)),
            NodeKind::Host(_) => None,
        });
        Self {
            detail,
            counts: Counts::default(),
            towards,
            losses: losses.collect(),
            changes: changes(network),
            clocks: clocks(plan),
            groups,
            first_port,
            ports,
            captures,
            last: [Instant::ZERO; 2],
            frames_most: pauses::most(2 * network.links.len()),
        }
    }

    /// Ends the recording: ends all pauses and closes the files.
    pub(super) fn end(&mut self, at: Instant) -> Result<(), CaptureError> {
        for towards in &mut self.towards {
            towards.receiver.end(at, self.detail.plots);
        }
        self.captures.finish()
    }

    /// Returns the time at which the last data frame arrived or was lost; without data frames, that
    /// of the last pause.
    pub fn last(&self) -> Instant {
        let [data, pause] = self.last;
        // Pauses go on after the traffic: refreshes would only lengthen the run.
        if data == Instant::ZERO { pause } else { data }
    }

    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Returns the frames of lossless groups that a switch dropped because of congestion.
    pub fn lossless_lost(&self, node: NodeId) -> u64 {
        self.losses[node.index()].as_ref().map_or(0, |watch| watch.lost().congestion)
    }

    /// Returns the first pause and drop of the groups of a switch's port, if any group is lossless.
    pub fn onsets(&self, node: NodeId, port: PortId) -> Option<&[Onset; PRIORITIES]> {
        let place = self.ports[self.first_port[node.index()] as usize + port.index()]?;
        Some(&self.groups[place as usize].onsets)
    }

    /// Returns the priorities that were paused at the far end of a direction.
    pub fn pauses(&self, direction: Direction) -> impl Iterator<Item = (Priority, &Timeline)> {
        self.towards[direction.index()].receiver.lines()
    }

    /// Returns the times of the pause frames of a direction, the first [`FRAMES_MAX`] of each kind; `None` if
    /// there were none.
    pub fn pause_frames(&self, direction: Direction) -> Option<&PauseFrames> {
        self.towards[direction.index()].frames.get()
    }

    /// Returns the latency of a flow in network time, if its hosts' clocks differ from that.
    pub(super) fn latency(&self, flow: u32) -> Option<&Latency> {
        self.clocks.get(flow as usize)?.as_ref().map(|c| &c.latency)
    }

    fn control(&mut self, at: Instant, direction: Direction, head: &[u8]) {
        let towards = &mut self.towards[direction.index()];
        let keep = self.detail.plots;
        let Some(pause) = towards.pause(head) else { return };
        let begun = towards.receiver.take(at, pause.enabled, |p| pause.time[p.index()], keep);
        if keep {
            let named = towards.receiver.obeys;
            towards.frames.obeyed(at, &pause, named, self.frames_most);
        }
        if towards.host && !begun.is_empty() {
            // A frame is reported when it is obeyed, which is a response time after its last bit.
            let last_bit = at.saturating_sub(towards.response);
            note_first(&mut self.counts.first_at_host, last_bit);
        }
    }

    /// Records a pause frame that starts on its line.
    fn pause_left(&mut self, at: Instant, direction: Direction, head: &[u8]) {
        let towards = &mut self.towards[direction.index()];
        let Some(pause) = towards.pause(head) else { return };
        let named = towards.receiver.obeys;
        towards.frames.sent(at, &pause, named, self.frames_most);
    }

    /// Records the latency of a data frame between hosts whose clocks differ.
    fn time(&mut self, at: Instant, head: &[u8]) {
        let Some(probe) = probe_of(head) else { return };
        if let Some(Some(clocks)) = self.clocks.get_mut(probe.flow.0 as usize) {
            // A probe has the lower part of the sender's time; the receiver's time gives the rest.
            let sent = probe.sent.near(clocks.from.local(at));
            clocks.latency.record(at.since(clocks.from.network(sent)));
        }
    }

    fn dropped(
        &mut self,
        at: Instant,
        node: NodeId,
        port: PortId,
        priority: Option<Priority>,
        reason: DropReason,
    ) {
        // Losses are judged by the kind that the group has at the time of the drop.
        while self.changes.last().is_some_and(|change| change.at <= at) {
            let Some(c) = self.changes.pop() else { break };
            if let Some(watch) = &mut self.losses[c.node.index()] {
                watch.set_kind(c.port, c.group, c.kind);
            }
        }
        self.counts.drops.count(reason);
        let first = FirstDrop { at, node, port, priority, reason };
        // Parts of a network run at the same time, so drops do not come in the order of time; nodes break ties.
        let earlier = |old: &FirstDrop| (old.at, old.node) <= (at, node);
        if !self.counts.first_drop.as_ref().is_some_and(earlier) {
            self.counts.first_drop = Some(first);
        }
        if let Some(watch) = &mut self.losses[node.index()] {
            watch.dropped(at, port, priority, reason);
        }
        if let (Some(p), Some(groups)) = (priority, self.groups_of(node, port)) {
            groups.onsets[groups.classify.group[p.index()].index()].drop(at);
        }
    }

    #[inline]
    fn groups_of(&mut self, node: NodeId, port: PortId) -> Option<&mut Groups> {
        let place = self.ports[self.first_port[node.index()] as usize + port.index()]?;
        let groups = &mut self.groups[place as usize];
        debug_assert_eq!(groups.node, node);
        Some(groups)
    }
}

impl Witness for Recorder {
    /// A capture has its frames in the order of time.
    fn is_ordered(&self) -> bool {
        !self.captures.is_empty()
    }

    fn is_divisible(&self) -> bool {
        self.captures.is_empty()
    }

    fn divide(&mut self, partition: &Partition) -> Vec<Self> {
        self.divide_into(partition.parts())
    }

    fn unite(&mut self, others: Vec<Self>, partition: &Partition) {
        for (other, part) in others.into_iter().zip(1..) {
            self.unite_with(other, part, partition);
        }
    }

    #[inline]
    fn sent(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame, _: Instant) {
        self.captures.sent(at, direction, frame);
        // Times of frames are for plots alone; pauses are counted at their receivers in any case.
        if self.detail.plots && frame.is_control() {
            self.pause_left(at, direction, frame.head());
        }
    }

    #[inline]
    fn arrived(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame) {
        let head = frame.head();
        if frame.is_control() {
            self.last[1] = self.last[1].max(at);
            return self.control(at, direction, head);
        }
        self.last[0] = self.last[0].max(at);
        let towards = &self.towards[direction.index()];
        if let Some(place) = towards.groups {
            let groups = &mut self.groups[place as usize];
            let p = counts::priority(&groups.classify, head);
            // Counted before the switch may drop or pause for it, so an event's frame is among those counted.
            groups.onsets[groups.classify.group[p.index()].index()].frames += 1;
        } else if towards.host && !self.clocks.is_empty() {
            self.time(at, head);
        }
    }

    fn lost(&mut self, at: Instant, _: Direction, frame: &VirtualFrame, cause: Loss) {
        // A lost frame ends its flow's traffic as an arrival would.
        let last = &mut self.last[usize::from(frame.is_control())];
        *last = (*last).max(at);
        let count = match cause {
            Loss::Damaged | Loss::Defect => &mut self.counts.line_losses.damaged,
            Loss::Fault => &mut self.counts.line_losses.lost,
            Loss::LinkDown => &mut self.counts.line_losses.link_down,
            Loss::Secy => &mut self.counts.line_losses.secy,
        };
        *count += 1;
    }

    fn fended_off(&mut self, _: Instant, _: Direction, _: &VirtualFrame) {
        self.counts.line_losses.secy += 1;
    }

    fn noted(&mut self, at: Instant, node: NodeId, note: &Note) {
        let c = &mut self.counts;
        match *note {
            Note::Dropped { port, priority, reason } => {
                self.dropped(at, node, port, priority, reason);
            }
            Note::Marked { .. } => {
                c.marks += 1;
                note_first(&mut c.first_mark, at);
            }
            Note::Crossed { port, group, xoff: true } => {
                c.xoffs += 1;
                note_first(&mut c.first_xoff, at);
                if let Some(groups) = self.groups_of(node, port) {
                    groups.onsets[group.index()].pause(at);
                }
            }
            Note::Crossed { xoff: false, .. } => c.xons += 1,
            Note::PauseSent { .. } => c.pauses_sent += 1,
            Note::PauseObeyed { .. }
            | Note::Regrouped { .. }
            | Note::PfcChanged { .. }
            | Note::ClassesChanged { .. } => {}
            Note::Storm { detected: true, .. } => c.storms.detected += 1,
            Note::Storm { detected: false, .. } => c.storms.restored += 1,
        }
    }

    fn link(&mut self, at: Instant, link: LinkId, _: bool) {
        for direction in [link.ab(), link.ba()] {
            // A link that goes down, or comes up again, has forgotten its pauses.
            self.towards[direction.index()].receiver.end(at, self.detail.plots);
        }
    }
}

/// Records the time of an event, unless there was an earlier one: those of different nodes may come in
/// any order.
fn note_first(first: &mut Option<Instant>, at: Instant) {
    *first = Some(first.map_or(at, |old| old.min(at)));
}

/// Returns the classifier plan of a switch port, if any of its groups is lossless.
fn watched(kind: &NodeKind, port: usize) -> Option<&ClassifyPlan> {
    let NodeKind::Switch(plan) = kind else { return None };
    let lossless = |g: &buffer::GroupPlan| matches!(g.kind, GroupKind::Lossless { .. });
    plan.buffer.groups[port].iter().any(lossless).then(|| &plan.ports[port].classify)
}

fn towards(
    network: &NetworkPlan,
    link: &LinkPlan,
    direction: Direction,
    place: &impl Fn(NodeId, PortId) -> Option<u32>,
) -> Towards {
    let end = link.to(direction);
    let (mac, mode, host) = match &network.nodes[end.node.index()].kind {
        NodeKind::Switch(plan) => {
            let port = &plan.ports[end.port.index()];
            (port.mac, port.pfc.mode, false)
        }
        NodeKind::Host(plan) => (plan.mac, plan.flow_control, true),
    };
    let pfc = matches!(mode, FlowControl::Pfc { .. });
    // Directions of a link are numbered in pairs: even from `a` to `b`, odd back.
    let dir = if direction.0 % 2 == 0 { link.ab } else { link.ba };
    Towards {
        node: end.node,
        mac,
        host,
        response: dir.response,
        groups: place(end.node, end.port),
        receiver: Receiver::new(mode.obeys(), pfc, link.rate),
        frames: Frames::default(),
    }
}

/// Returns the groups that faults change, the first one last.
fn changes(network: &NetworkPlan) -> Vec<KindChange> {
    let mut changes: Vec<_> = network
        .faults
        .iter()
        .filter_map(|fault| match fault.kind.change()? {
            (node, &Change::Group { port, group, plan }) => {
                Some(KindChange { at: fault.at, node, port, group, kind: plan.kind })
            }
            // Only a change of a group changes its kind.
            _ => None,
        })
        .collect();
    changes.sort_by_key(|change| change.at);
    changes.reverse();
    changes
}

/// Returns clock records by flow number, for flows whose hosts' clocks differ from network time;
/// empty if there are none.
fn clocks(plan: &LabPlan) -> Vec<Option<Box<Clocks>>> {
    let clock = |node: NodeId| plan.network.nodes[node.index()].clock;
    let differ = plan.flows.iter().filter(|f| !clock(f.from).is_exact() || !clock(f.to).is_exact());
    let mut clocks = Vec::new();
    for flow in differ {
        let place = flow.id.0 as usize;
        if clocks.len() <= place {
            clocks.resize_with(place + 1, || None);
        }
        let from = clock(flow.from);
        clocks[place] = Some(Box::new(Clocks { from, latency: Latency::default() }));
    }
    clocks
}
